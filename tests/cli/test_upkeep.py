"""What takes something away is asked for first, or said with --yes; it is gone then, and nothing else is."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from datetime import timedelta

import pytest

import dalsegno


def ids(run):
    return [each["thread_id"] for each in run("threads", "--json").json]


def test_a_deleted_thread_is_gone_until_it_is_reopened(run, talk, url):
    answer = run("delete", "t-1", "--yes")
    assert answer.code == 0
    assert "4 events and 6 checkpoints" in answer.err
    assert "dalsegno reopen t-1 --store" in answer.err
    assert "t-1" not in ids(run)
    assert run("delete", "t-1", "--yes").code == 3
    with dalsegno.connect(url) as ds, pytest.raises(dalsegno.errors.ThreadDeleted) as caught:
        talk(ds, "t-1", "late")
    assert caught.value.for_a_shell.endswith("reopen it with `dalsegno reopen`")
    assert run("reopen", "t-1").code == 0
    with dalsegno.connect(url) as ds:
        talk(ds, "t-1", "new")
    assert [event["seq"] for event in run("show", "t-1", "--json").json["events"]] == [5, 6]


def test_programs_get_json(run):
    assert run("delete", "t-1", "--yes", "--json").json == {
        "thread_id": "t-1", "deleted": True, "events": 4, "checkpoints": 6,
    }  # fmt: skip
    assert run("reopen", "t-1", "--json").json == {"thread_id": "t-1", "reopened": True}
    assert run("reopen", "t-1", "--json").json == {"thread_id": "t-1", "reopened": False}
    assert run("prune", "hostile", "--yes", "--json").json == {"thread_id": "hostile", "dropped": 5, "checkpoints": 1}


@pytest.mark.parametrize("words", [("delete", "t-1"), ("prune", "t-1"), ("prune", "t-1", "--json")])
def test_a_program_that_does_not_say_yes_changes_nothing(run, words):
    before = run("checkpoints", "t-1", "--json").out
    answer = run(*words)
    assert answer.code == 2
    assert "--yes" in answer.err
    assert answer.err.count("\n") == 1
    assert run("checkpoints", "t-1", "--json").out == before


@pytest.mark.parametrize(("said", "code", "left"), [("n\n", 1, True), ("\n", 1, True), ("y\n", 0, False)])
def test_a_person_is_asked(run, url, said, code, left):
    leader, follower = pty.openpty()
    os.write(leader, said.encode())
    words = [sys.executable, "-c", "from dalsegno.cli.app import main; main()", "delete", "t-1", "--store", url]
    done = subprocess.run(words, stdin=follower, capture_output=True, text=True, timeout=60, check=False)
    os.close(leader)
    os.close(follower)
    assert "Delete thread 't-1' with its 4 events and 6 checkpoints? This cannot be undone." in done.stderr
    assert (done.returncode, done.stdout) == (code, "")
    assert ("t-1" in ids(run)) is left


def test_pruning_keeps_the_newest_and_the_journal(run):
    events = run("show", "t-1", "--json").json["events"]
    state = run("state", "t-1", "--json").out
    newest = run("checkpoints", "t-1", "--json").json
    answer = run("prune", "t-1", "--keep", 2, "--yes")
    assert "dropped 4 checkpoints of thread t-1; 2 stay" in answer.err
    left = run("checkpoints", "t-1", "--json").json
    assert [each["checkpoint_id"] for each in left] == [each["checkpoint_id"] for each in newest[:2]]
    assert run("state", "t-1", "--json").out == state
    assert [event["payload"] for event in run("show", "t-1", "--json").json["events"]] == [
        event["payload"] for event in events
    ]
    assert run("check", "t-1").code == 0


WRONG = [
    (("delete", "nobody", "--yes"), 3, "no thread 'nobody'"),
    (("reopen", "nobody"), 3, "no thread 'nobody'"),
    (("prune", "nobody", "--yes"), 3, "no thread 'nobody'"),
    (("delete", " ", "--yes"), 2, "blank"),
]


@pytest.mark.parametrize(("words", "code", "said"), WRONG)
def test_what_is_wrong_is_one_line(run, words, code, said):
    answer = run(*words)
    assert (answer.code, answer.out, answer.err.count("\n")) == (code, "", 1)
    assert said in answer.err


def test_a_thread_that_a_run_holds_is_left_alone(run, url):
    with dalsegno.connect(url) as ds, ds.runs.lease("t-1", timedelta(seconds=60), holder="worker-3"):
        for words in (("delete", "t-1", "--yes"), ("prune", "t-1", "--yes")):
            answer = run(*words)
            assert answer.code == 4
            assert "worker-3" in answer.err
            assert "lease.config" not in answer.err
        table = run("threads").out
        assert "running: worker-3" in table
        assert [each["status"] for each in run("threads", "--json").json] == ["finished", "finished", "running"]
    run("delete", "t-1", "--yes")
    assert [each["status"] for each in run("threads", "--deleted", "--json").json][-1] == "deleted"


def test_a_difference_is_told_without_notes_of_the_codec(run, talk, url):
    first, second = (
        each["checkpoint_id"] for each in run("checkpoints", "t-1", "--json").json if each["step"] in {1, 4}
    )
    with dalsegno.connect(url) as ds:
        ds.journal.append("t-1", "note", "me", "x")
    document = run("diff", first, second, "--thread", "t-1", "--json")
    assert document.json["changes"]
    assert '"$keys"' not in document.out
    added = [
        each["after"] or each["before"] for each in document.json["changes"] if each["path"].startswith("messages")
    ]
    assert added
    plan = run("diff", "t-1", "hostile@" + run("checkpoints", "hostile", "--json").json[-1]["checkpoint_id"], "--json")
    (whole,) = [each["before"] for each in plan.json["changes"] if each["path"] == "plan"]
    assert list(whole) == ["turns", "due date"]  # in the program's order, which the stored tree notes apart


def test_older_checkpoints_than_a_subgraphs_are_listed(run, url):
    from langgraph.graph import START, MessagesState, StateGraph

    inner = StateGraph(MessagesState).add_node("inside", lambda state: {"messages": [("ai", "in")]})
    inner.add_edge(START, "inside")
    outer = StateGraph(MessagesState).add_node("sub", inner.compile()).add_edge(START, "sub")
    with dalsegno.connect(url) as ds:
        outer.compile(checkpointer=ds.checkpointer).invoke(
            {"messages": [("user", "hi")]}, {"configurable": {"thread_id": "nested"}}
        )
        every = ds.threads.checkpoints("nested")
        place, edge = next((place, each) for place, each in enumerate(every) if each.ns)
        assert ds.threads.checkpoints("nested", before=edge.checkpoint_id) == every[place + 1 :]
    listed = run("checkpoints", "nested", "--before", edge.checkpoint_id, "--json").json
    assert [each["checkpoint_id"] for each in listed] == [each.checkpoint_id for each in every[place + 1 :]]
