"""At a shell: what would go is shown before it goes, a program says --yes, and what was erased is not called done too early."""

from __future__ import annotations

import json

import pytest

import dalsegno

POLICY = """
[[policy]]
name = "short"
tags = ["support"]
keep_latest = 1
[[policy]]
name = "long"
keep_latest = 100
"""


def test_a_plan_shows_what_goes_and_why_and_changes_nothing(run, tmp_path):
    file = tmp_path / "policies.toml"
    file.write_text(POLICY, encoding="utf-8")
    assert "t-1: support, 客服" in run("tag", "t-1", "support", "客服").err
    answer = run("retention", "plan", "--policy", file)
    assert answer.code == 0
    assert "t-1" in answer.out
    assert "short" in answer.out
    assert "5 beyond the newest 1" in answer.out
    assert "would go" in answer.err
    assert run("threads", "--json").json[2]["checkpoints"] == 6
    told = run("retention", "plan", "--policy", file, "--json").json
    assert (told["dry_run"], told["checkpoints"], told["expired"], told["looked_at"]) == (True, 5, 0, 3)
    assert len(told["threads"][0]["drops"]) == 5
    assert run("retention", "run", "--policy", file, "--yes", "--json").json["checkpoints"] == 5
    assert run("threads", "--tag", "support", "--json").json[0]["checkpoints"] == 1
    assert run("retention", "run", "--policy", file, "--yes", "--json").json["checkpoints"] == 0
    assert run("tag", "t-1", "support", "--remove", "--json").json == {"thread_id": "t-1", "tags": ["客服"]}


@pytest.mark.parametrize(
    "words",
    [
        ("plan",), ("plan", "--max-age", "soon"), ("plan", "--thin", "often"), ("run", "--keep-latest", 1),
        ("plan", "--policy", "nowhere.toml"), ("plan", "--tag", "x"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_changes_nothing(run, words):
    before = run("checkpoints", "t-1", "--json").out
    answer = run("retention", *words)
    assert answer.code != 0
    assert answer.err.count("\n") == 1
    assert run("checkpoints", "t-1", "--json").out == before


def test_a_file_or_options_but_not_both(run, tmp_path):
    file = tmp_path / "policies.json"
    file.write_text(json.dumps({"policy": {"keep_latest": 2}}), encoding="utf-8")
    assert run("retention", "plan", "--policy", file).code == 0
    answer = run("retention", "plan", "--policy", file, "--keep-latest", 2)
    assert (answer.code, "not both" in answer.err or "beside it" in answer.err) == (2, True)


def test_a_thread_is_erased_when_it_was_counted_and_agreed_to(run):
    plan = run("erase", "--thread", "t-1", "--dry-run", "--json").json
    assert (plan["dry_run"], plan["rewritten"]) == (True, False)
    assert plan["threads"][0]["rows"]["ds_events"] == 4
    refused = run("erase", "--thread", "t-1")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert "t-1" in run("threads").out
    answer = run("erase", "--thread", "t-1", "--yes")
    assert answer.code == 0
    assert "erased, and the database rewritten" in answer.err
    assert "t-1" not in run("threads", "--deleted").out
    assert "erased before" in run("erase", "--thread", "t-1", "--yes").out
    assert run("erase", "--thread", "never", "--yes").code == 3
    assert run("check").code == 0


def test_what_is_left_for_later_is_finished_later(run):
    answer = run("erase", "--thread", "t-1", "--yes", "--no-rewrite")
    assert "dalsegno erase --rewrite --store" in answer.err
    assert run("erase", "--rewrite", "--json").json == {"threads": [], "dry_run": False, "rewritten": True}
    assert "every erasure is finished" in run("erase", "--rewrite").err


def test_a_user_is_erased_only_when_the_command_line_names_one(run, url, talk):
    with dalsegno.connect(url, user="mara") as ds:
        talk(ds, "hers", "hello")
        talk(ds, "hers too", "hello")
    answer = run("erase", "--yes", DALSEGNO_USER="mara")
    assert (answer.code, "--thread ID, or --user NAME" in answer.err) == (2, True)
    assert "hers" in run("threads").out
    assert [each["thread_id"] for each in run("erase", "--user", "mara", "--yes", "--json").json["threads"]] == [
        "hers",
        "hers too",
    ]
    assert "hers" not in run("threads", "--deleted").out
    again = run("erase", "--user", "mara", "--yes")
    assert (again.code, again.out) == (0, "")  # what is asked for is so
    assert "nothing of user 'mara' was found" in again.err
    assert run("erase", "--user", "nobody", "--yes", "--json").json["found"] is False


def test_a_user_with_memories_alone_is_erased_too(run, url):
    with dalsegno.connect(url, user="ida") as ds:
        ds.store.put(("notes",), "one", {"text": "green tea"})
    assert run("erase", "--user", "ida", "--dry-run", "--json").json["memories"] == 1
    answer = run("erase", "--user", "ida", "--yes")
    assert (answer.code, "ds_memories 1" in answer.err) == (0, True)
    assert "nothing of user 'ida' was found" in run("erase", "--user", "ida", "--yes").err


def test_a_thread_in_use_is_left_alone(run, url):
    with dalsegno.connect(url) as ds, ds.runs.lease("t-1", holder="worker 9"):
        answer = run("erase", "--thread", "t-1", "--yes")
        assert (answer.code, "worker 9" in answer.err, "--force" in answer.err) == (4, True, True)
        assert "held: a run holds it (worker 9)" in run("retention", "plan", "--keep-latest", 1).out
        assert run("erase", "--thread", "t-1", "--yes", "--force").code == 0


def test_the_audit_is_compared_with_what_was_kept(run, url, tmp_path):
    with (
        dalsegno.connect(url, audit_key="0123456789abcdef") as ds,
        ds.actions.perform("act", {}, kind="create", scope="thread", thread_id="t-1"),
    ):
        pass
    kept = tmp_path / "kept.json"
    kept.write_text(run("audit", "verify", "--json").out, encoding="utf-8")
    assert run("audit", "verify", "--against", kept).code == 0
    assert run("audit", "verify", DALSEGNO_AUDIT_KEY="0123456789abcdef").code == 0
    wrong = run("audit", "verify", DALSEGNO_AUDIT_KEY="another key, of 16")
    assert (wrong.code, "seal" in wrong.out) == (1, True)
    assert run("audit", "verify", DALSEGNO_AUDIT_KEY="short").code == 2
    kept.write_text(
        kept.read_text(encoding="utf-8").replace('"heads": {', '"heads": {"99": [1, "00"], '), encoding="utf-8"
    )
    assert run("audit", "verify", "--against", kept).code == 1
    kept.write_text("[]", encoding="utf-8")
    assert run("audit", "verify", "--against", kept).code == 2
