"""Actions are listed, shown and decided on at a shell; the audit is verified, and the exit code is the verdict."""

from __future__ import annotations

import sqlite3
import time
from datetime import timedelta

import pytest

import dalsegno
from dalsegno.errors import ApprovalRequired


@pytest.fixture
def acted(url):
    """One action that is done, one that waits for approval, one whose process died."""
    with dalsegno.connect(url) as ds:

        @ds.action(kind="update")
        def refund(order: str) -> str:
            return f"refunded {order}"

        @ds.action(kind="send", recipient="to", approve=True)
        def mail(to: str, text: str) -> None:
            """Sends."""

        with ds.actions.within("t-1", step="c1"):
            refund("A-1")
            with pytest.raises(ApprovalRequired):
                mail("ana", "\x1b[2Jhello")
        lost = ds.actions.perform(
            "book", {"seat": 4}, kind="create", lease=timedelta(milliseconds=20), thread_id="t-1", step="c"
        )
        lost._actor.play(dalsegno.services.performing.opening(lost._job), lost._job)
        time.sleep(0.05)
        with pytest.raises(dalsegno.errors.ActionOutcomeUnknown):
            lost.__enter__()
        return {action.name: action.action_id for action in ds.actions.list()}


def test_actions_are_listed_and_filtered(run, acted):
    assert {each["name"]: each["state"] for each in run("actions", "list", "--json").json} == {
        "refund": "succeeded", "mail": "awaiting_approval", "book": "unknown",
    }  # fmt: skip
    table = run("actions", "list").out
    assert all(acted[name][:12] in table for name in acted)
    assert "\x1b" not in table
    assert [each["name"] for each in run("actions", "list", "--state", "unknown", "--json").json] == ["book"]
    assert len(run("actions", "list", "--thread", "t-1", "--limit", "2", "--json").json) == 2
    assert run("actions", "list", "--thread", "other").err == "no actions\n"
    assert run("actions", "list", "--state", "done").code == 2


def test_one_is_shown_whole(run, acted):
    answer = run("actions", "show", acted["refund"][:10])
    assert "refunded A-1" in answer.out
    assert run("actions", "show", acted["refund"], "--json").json["result"] == "refunded A-1"
    assert run("actions", "show", "feed").code == 3


def test_one_is_approved_or_rejected(run, acted):
    short = acted["mail"][:12]
    assert run("actions", "approve", short).code == 2  # nobody said who
    assert run("actions", "approve", short, "--by", "mara", "--json").json["approved_by"] == "mara"
    assert run("actions", "approve", short, "--by", "mara").code == 5
    assert run("actions", "approve", acted["book"], "--by", "mara", "--reject").code == 5


@pytest.mark.parametrize(("outcome", "state"), [("succeeded", "succeeded"), ("failed", "failed"), ("retry", "pending")])
def test_an_unknown_one_is_resolved(run, acted, outcome, state):
    answer = run("actions", "resolve", acted["book"][:12], outcome, "--by", "mara", "--why", "asked them", "--json")
    assert answer.json["state"] == state
    assert run("actions", "resolve", acted["book"][:12], outcome, "--by", "mara").code == 5


def test_an_outcome_that_is_none_is_refused(run, acted):
    assert run("actions", "resolve", acted["book"], "approve", "--by", "mara").code == 2


def test_one_is_reconciled_by_a_function_that_the_command_names(run, acted, tmp_path, monkeypatch):
    (tmp_path / "outside_1.py").write_text(
        "from dalsegno import Happened\ndef look(action): return Happened(result=action.arguments['seat'])\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for wrong in ("outside_1", "outside_1:nothing", "no.such:look", "outside_1:__name__"):
        assert run("actions", "reconcile", acted["book"], "--using", wrong).code == 2
    answer = run("actions", "reconcile", acted["book"][:12], "--using", "outside_1:look", "--json")
    assert (answer.json["state"], answer.json["result"]) == ("succeeded", 4)


def test_the_audit_is_verified(run, acted, database):
    assert run("audit", "verify").out == "sound: 8 rows in 1 chain\n"
    with sqlite3.connect(database) as db:
        db.execute("UPDATE ds_audit SET body = replace(body, 'refund', 'refuse') WHERE seq = 2")
    db.close()
    answer = run("audit", "verify", "--json")
    assert (answer.code, answer.json["sound"]) == (1, False)
    assert [(each["kind"], each["seq"]) for each in answer.json["breaks"]] == [("text", 2)]
    assert run("audit", "verify").code == 1
