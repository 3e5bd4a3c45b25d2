"""Each command shows a person a table and a program one JSON document of the same facts."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

import dalsegno

COMMANDS = [
    ("threads",),
    ("show", "t-1"),
    ("checkpoints", "forked"),
    ("state", "t-1"),
    ("diff", "t-1", "forked"),
    ("check",),
]


# --- both faces -------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_json_is_one_document_and_nothing_else(run, words):
    answer = run(*words, "--json")
    assert answer.code == 0
    assert isinstance(answer.json, dict | list)
    assert answer.err == ""


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_person_sees_no_control_character(run, words):
    """Also of the thread whose messages try to clear the screen."""
    words = [word.replace("t-1", "hostile") for word in words]
    for answer in (run(*words), run(*words, "--json")):
        assert answer.code == 0
        assert answer.out.isprintable() or all(c.isprintable() for c in answer.out.replace("\n", ""))


def test_options_may_stand_before_the_command(run, url):
    assert run("--json", "--store", url, "threads", store=None).json == run("threads", "--json").json


def test_what_stands_after_the_command_wins(run, url):
    assert run("--store", "sqlite:///nowhere.db", "threads", "--json").json == run("threads", "--json").json


def test_the_store_may_come_from_the_environment(run, url):
    assert run("threads", "--json", store=None, DALSEGNO_STORE=url).json == run("threads", "--json").json


def test_tenants_and_users_are_kept_apart(run, url):
    dalsegno.connect(url, tenant="acme").close()
    assert run("threads", "--json", "--tenant", "acme").json == []
    assert run("threads", "--json", DALSEGNO_TENANT="acme").json == []
    with dalsegno.connect(url, user="u-7") as ds:
        ds.journal.append("theirs", "note", "u-7", "hello")
    mine = run("threads", "--json", "--user", "u-8").json
    assert "theirs" not in [thread["thread_id"] for thread in mine]
    assert run("show", "theirs", "--user", "u-8").code == 3
    assert run("show", "theirs", DALSEGNO_USER="u-7").code == 0


@pytest.mark.parametrize("words", [("--user", ""), ("--tenant", "")])
@pytest.mark.parametrize("command", [("threads",), ("card", "t-1"), ("mcp", "--thread", "t-1")])
def test_an_empty_name_is_nobodys_and_not_the_programs(run, command, words):
    for answer in (run(*command, *words), run(*command, **{f"DALSEGNO_{words[0][2:].upper()}": ""})):
        assert (answer.code, answer.out) == (2, "")
        assert "is blank" in answer.err


# --- threads ----------------------------------------------------------------------------------------


def test_threads_are_listed_in_pages(run):
    answer = run("threads", "--json", "--limit", 2)
    assert [thread["thread_id"] for thread in answer.json] == ["forked", "hostile"]
    answer = run("threads", "--json", "--after", "hostile")
    assert [thread["thread_id"] for thread in answer.json] == ["t-1"]
    answer = run("threads", "--limit", 2)
    assert "t-1" not in answer.out
    assert "--after hostile" in answer.err


def test_a_deleted_thread_is_shown_only_when_asked_for(run, url):
    with dalsegno.connect(url) as ds:
        ds.threads.delete("t-1")
    assert "t-1" not in run("threads").out
    answer = run("show", "t-1")
    assert answer.code == 3
    assert "'t-1' was deleted" in answer.err
    assert [each["deleted"] for each in run("threads", "--deleted", "--json").json] == [False, False, True]


# --- show -------------------------------------------------------------------------------------------


def test_events_are_shown_with_their_coordinates(run):
    answer = run("show", "t-1")
    for expected in ("#1 user", "退款 78 元", "#4 answer", "heard: please book", "message"):
        assert expected in answer.out


def test_a_narrow_terminal_leaves_room_for_the_text(run):
    lines = run("show", "t-1", COLUMNS="60").out.splitlines()
    assert max(map(len, lines)) <= 60
    assert any("#4 answer" in line and "heard: please book" in line for line in lines)


def test_events_come_in_pages(run):
    first = run("show", "t-1", "--limit", 3, "--json").json
    assert [event["seq"] for event in first["events"]] == [1, 2, 3]
    rest = run("show", "t-1", "--after", first["next_after"], "--json").json
    assert [event["coordinate"] for event in rest["events"]] == ["#4 answer"]
    assert rest["next_after"] is None
    assert "--after 3" in run("show", "t-1", "--limit", 3).err


def test_the_events_of_a_checkpoint_are_those_that_led_to_it(run):
    early = next(each for each in run("checkpoints", "t-1", "--json").json if each["step"] == 1)
    answer = run("show", "t-1", "--checkpoint", early["checkpoint_id"], "--json")
    assert [event["seq"] for event in answer.json["events"]] == [1, 2]


def test_a_fork_shows_its_own_lineage(run):
    texts = [event["text"] for event in run("show", "forked", "--json").json["events"]]
    assert "other way" in texts
    assert "second" not in texts


def test_hostile_text_is_shown_as_text(run):
    answer = run("show", "hostile")
    assert r"\x1b[2J[red]not red[/red] \u202eevil\x07" in answer.out


def test_a_long_text_is_cut_unless_asked_for(run):
    assert "(+4,600 characters)" in run("show", "hostile").out
    full = run("show", "hostile", "--full").out
    assert "characters)" not in full
    assert full.count("x") >= 10_000


# --- checkpoints ------------------------------------------------------------------------------------


def test_a_fork_indents_and_a_chain_does_not(run):
    lines = run("checkpoints", "forked").out.splitlines()
    assert sum("way " in line for line in lines) == 2
    assert sum("way 1 of 2, branch 0" in line for line in lines) == 1
    at_root = [line for line in lines if line.startswith(("├── 1", "└── 1"))]
    below = [line for line in lines if line.startswith(("│   ", "    "))]
    assert len(at_root) == 3
    assert len(below) == 4
    assert sum(line.rstrip().endswith("head") for line in lines) == 1


def test_the_order_of_ways_is_that_of_time(run):
    out = run("checkpoints", "forked").out
    assert out.index("way 1 of 2, branch 0") < out.index("way 2 of 2, branch 1")


def test_checkpoints_come_in_pages_newest_first(run):
    every = run("checkpoints", "t-1", "--json").json
    page = run("checkpoints", "t-1", "--json", "--limit", 2).json
    assert page == every[:2]
    rest = run("checkpoints", "t-1", "--json", "--before", page[-1]["checkpoint_id"]).json
    assert rest == every[2:]


def test_a_long_chain_is_one_level(run, url):
    with dalsegno.connect(url) as ds:
        config = {"configurable": {"thread_id": "long", "checkpoint_ns": ""}}
        for step in range(1200):
            config = ds.checkpointer.put(config, _empty(), {"source": "loop", "step": step, "parents": {}}, {})
    lines = run("checkpoints", "long", "--limit", 2000).out.splitlines()
    assert len(lines) == 1201
    assert max(map(len, lines)) < 200


def _empty():
    from langgraph.checkpoint.base import empty_checkpoint

    return empty_checkpoint()


# --- state and diff ---------------------------------------------------------------------------------


def test_a_state_is_shown_channel_by_channel(run):
    out = run("state", "t-1").out
    assert "messages (4)" in out
    assert "[0]  user: 退款 78 元" in out
    assert '"due date": "please book"' in out


def test_the_state_of_a_checkpoint(run):
    early = next(each for each in run("checkpoints", "t-1", "--json").json if each["step"] == 1)
    tree = run("state", "t-1", "--checkpoint", early["checkpoint_id"], "--json").json
    assert [message["content"] for message in tree["messages"]] == ["退款 78 元", "heard: 退款 78 元"]


def test_a_state_of_types_that_are_not_registered_here_is_shown(run, url, tmp_path):
    """A program's own classes need not be known to look at its threads."""
    program = f"""
import dataclasses, dalsegno
from langgraph.checkpoint.base import empty_checkpoint
@dalsegno.register
@dataclasses.dataclass
class Ticket:
    number: int
with dalsegno.connect({url!r}) as ds:
    checkpoint = empty_checkpoint() | {{"channel_values": {{"ticket": Ticket(7)}}, "channel_versions": {{"ticket": 1}}}}
    config = {{"configurable": {{"thread_id": "typed", "checkpoint_ns": ""}}}}
    ds.checkpointer.put(config, checkpoint, {{"source": "loop", "step": 1, "parents": {{}}}}, {{"ticket": 1}})
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    answer = run("state", "typed")
    assert answer.code == 0
    assert "Ticket" in answer.out
    assert "7" in answer.out


def test_two_checkpoints_of_a_thread_are_compared(run):
    newest, *_, early = (each for each in run("checkpoints", "t-1", "--json").json if each["step"] in {1, 4})
    sides = early["checkpoint_id"], newest["checkpoint_id"]
    answer = run("diff", *sides, "--thread", "t-1", "--json").json
    assert [(change["kind"], change["path"]) for change in answer["changes"]] == [
        ("added", "messages[2]"),
        ("added", "messages[3]"),
        ("changed", "plan.turns"),
        ("changed", 'plan["due date"]'),
    ]
    out = run("diff", *sides, "--thread", "t-1").out
    assert "+ messages[3]: assistant: heard: please book" in out
    assert "- plan.turns: 1\n+ plan.turns: 3" in out


def test_a_side_may_be_a_checkpoint_of_any_thread(run):
    newest = run("checkpoints", "t-1", "--json").json[0]["checkpoint_id"]
    assert run("diff", f"t-1@{newest}", "t-1", "--json").json["changes"] == []


def test_a_thread_id_may_hold_an_at_sign(run, url):
    with dalsegno.connect(url) as ds:
        ds.threads.copy("t-1", "a@b")
    assert run("diff", "t-1", "a@b", "--json").json["changes"] == []


def test_differing_is_an_exit_code_when_asked_for(run):
    assert run("diff", "t-1", "t-1", "--exit-code").code == 0
    assert run("diff", "t-1", "forked").code == 0
    assert run("diff", "t-1", "forked", "--exit-code").code == 1


def test_the_same_conversation_of_another_run_differs_in_ids_only(run, url, talk):
    with dalsegno.connect(url) as ds:
        talk(ds, "t-2", "退款 78 元", "please book")
    answer = run("diff", "t-1", "t-2")
    assert answer.out == ""
    assert "no difference" in answer.err
    assert "4 messages have other ids" in answer.err
    assert run("diff", "t-1", "t-2", "--ids").out.count("messages[") == 8


# --- check ------------------------------------------------------------------------------------------


def test_a_sound_database_is_clean(run):
    answer = run("check")
    assert answer.code == 0
    assert "clean: 3 threads" in answer.out
    assert run("check", "t-1", "--json").json["threads"] == 1


def test_a_missing_item_is_found_and_the_exit_code_says_so(run, database):
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("DELETE FROM ds_items WHERE rowid IN (SELECT min(rowid) FROM ds_items WHERE lane > 0)")
    answer = run("check")
    assert answer.code == 1
    assert "forked" in answer.out or "hostile" in answer.out or "t-1" in answer.out
    verdict = run("check", "--json")
    assert verdict.code == 1
    assert verdict.json["clean"] is False
    assert {"thread_id", "kind", "place", "expected", "found"} <= verdict.json["findings"][0].keys()


# --- export -----------------------------------------------------------------------------------------


def test_every_event_is_one_line(run):
    lines = run("export", "t-1").out.splitlines()
    assert [json.loads(line)["coordinate"] for line in lines] == ["#1 user", "#2 answer", "#3 user", "#4 answer"]


def test_messages_are_exported_as_chat(run):
    assert run("export", "t-1", "--format", "openai").json == [
        {"role": "user", "content": "退款 78 元"},
        {"role": "assistant", "content": "heard: 退款 78 元"},
        {"role": "user", "content": "please book"},
        {"role": "assistant", "content": "heard: please book"},
    ]


def test_an_export_to_a_file_is_the_same_bytes(run, tmp_path):
    answer = run("export", "t-1", "-o", tmp_path / "out.jsonl")
    assert answer.out == ""
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == run("export", "t-1").out


def test_a_failed_export_leaves_the_old_file(run, tmp_path):
    target = tmp_path / "out.jsonl"
    target.write_text("before")
    assert run("export", "nobody", "-o", target).code == 3
    assert target.read_text() == "before"
    assert list(tmp_path.glob(".out*")) == []


def test_an_export_may_go_to_a_pipe(run, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True, encoding="utf-8") as reader:
        assert run("export", "t-1", "-o", pipe).code == 0
        assert reader.stdout.read() == run("export", "t-1").out
    assert pipe.is_fifo()


def test_an_export_keeps_links_and_modes(run, tmp_path):
    target, link = tmp_path / "out.jsonl", tmp_path / "link.jsonl"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    assert run("export", "t-1", "-o", link).code == 0
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == run("export", "t-1").out
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_thread_longer_than_a_page_is_exported_whole(run, url):
    with dalsegno.connect(url) as ds:
        for number in range(1203):
            ds.journal.append("notes", "note", "me", f"note {number}")
    assert [json.loads(line)["seq"] for line in run("export", "notes").out.splitlines()] == list(range(1, 1204))


def test_a_thread_without_messages_has_no_chat(run, url):
    with dalsegno.connect(url) as ds:
        ds.journal.append("notes", "note", "me", "a note")
    answer = run("export", "notes", "--format", "openai")
    assert answer.code == 3
