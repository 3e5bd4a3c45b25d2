"""Claim: retention lets go what its policies say and nothing that is in use, says beforehand what and how much, and may be
killed, repeated and run by several at once."""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

import dalsegno
from dalsegno import RetentionPolicy
from dalsegno.errors import Misuse, ThreadNotFound

DAY = timedelta(days=1)
LATEST = RetentionPolicy(keep_latest=2)
EXPIRE = RetentionPolicy(expire_after=30 * DAY)


def talk(ds: Any, thread: str, turns: int = 4, answer: Any = None) -> Any:
    def model(state: Any) -> Any:
        return {"messages": [AIMessage(answer() if answer else f"answer {len(state['messages'])} " * 40)]}

    builder = StateGraph(MessagesState).add_node("model", model).add_edge(START, "model")
    graph = builder.compile(checkpointer=ds.checkpointer)
    for turn in range(turns):
        graph.invoke({"messages": [("user", f"turn {turn}")]}, {"configurable": {"thread_id": thread}})
    return graph


def age(ds: Any, execute: Any, days: int, thread: str | None = None) -> None:
    """Let a thread, or all, look as if it had been left so many days ago."""
    where = "" if thread is None else f" WHERE name = '{thread}'"
    execute(f"UPDATE ds_threads SET updated_at = updated_at - {days * 86_400_000_000}{where}")


def ids(ds: Any) -> list[str]:
    return [each.thread_id for each in ds.threads.list()]


def test_what_is_planned_is_what_goes(ds):
    talk(ds, "a")
    talk(ds, "b", turns=1)
    newest = [each.checkpoint_id for each in ds.threads.checkpoints("a")][:2]
    state, events = ds.threads.state("a"), [(event.seq, event.text) for event in ds.journal.read("a")]
    before = ds.threads.get("a").updated_at
    plan = ds.retention.plan(LATEST)
    assert (plan.dry_run, plan.looked_at, plan.checkpoints, plan.expired, plan.held) == (True, 2, 11, 0, 0)
    assert dict(plan.threads[0].reasons) == {"beyond the newest 2": 10}
    assert len(ds.threads.checkpoints("a")) == 12
    seen: list[Any] = []
    done = ds.retention.run(LATEST, progress=lambda *each: seen.append(each))
    assert done.threads == plan.threads
    assert seen == [(1, 2), (2, 2)]
    assert [each.checkpoint_id for each in ds.threads.checkpoints("a")] == newest
    assert (ds.threads.state("a"), [(event.seq, event.text) for event in ds.journal.read("a")]) == (state, events)
    assert ds.threads.get("a").updated_at == before  # being looked after is no use
    assert ds.retention.run(LATEST).threads == ()
    assert ds.threads.check().clean


def test_a_thread_that_was_left_goes_whole(ds, execute):
    talk(ds, "old")
    talk(ds, "new")
    age(ds, execute, 31, "old")
    plan = ds.retention.plan(EXPIRE)
    assert [(each.thread_id, each.expires) for each in plan.threads] == [("old", "idle for 31 days")]
    assert plan.size_bytes >= ds.threads.bytes("old")
    ds.retention.run(EXPIRE)
    assert ids(ds) == ["new"]
    assert [each.thread_id for each in ds.threads.list(deleted=True)] == ["new", "old"]
    assert ds.threads.check().clean


def test_a_thread_that_was_left_for_hours_is_told_by_the_second(ds, execute):
    talk(ds, "old")
    execute("UPDATE ds_threads SET updated_at = updated_at - 7200123456")
    (found,) = ds.retention.plan(RetentionPolicy(expire_after=timedelta(hours=1))).threads
    assert re.fullmatch(r"idle for 2:00:\d\d", found.expires or "")


def ask(ds: Any, thread: str) -> Any:
    builder = (
        StateGraph(MessagesState).add_node("ask", lambda _: {"messages": [interrupt("may I?")]}).add_edge(START, "ask")
    )
    graph = builder.compile(checkpointer=ds.checkpointer)
    graph.invoke({"messages": [("user", "go")]}, {"configurable": {"thread_id": thread}})
    return graph


def fail(ds: Any, thread: str) -> None:
    def raises() -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        talk(ds, thread, 1, raises)


def unknown(ds: Any, thread: str) -> None:
    @ds.action(kind="create", unclear=(OSError,))
    def act() -> None:
        raise OSError

    talk(ds, thread)
    with ds.actions.within(thread, step="s"), pytest.raises(OSError):
        act()


def waiting(ds: Any, thread: str) -> None:
    @ds.action(kind="create", approve=True)
    def act() -> None: ...

    talk(ds, thread)
    with ds.actions.within(thread, step="s"), pytest.raises(dalsegno.errors.ApprovalRequired):
        act()


IN_USE = {"interrupted": ask, "failed": fail, "1 unknown": unknown, "1 awaiting_approval": waiting}


@pytest.mark.parametrize("why", IN_USE)
def test_what_is_in_use_is_left_alone(why, ds, execute):
    IN_USE[why](ds, "t")
    age(ds, execute, 99)
    before = [each.checkpoint_id for each in ds.threads.checkpoints("t")]
    for policy in (RetentionPolicy(keep_latest=1), EXPIRE):
        report = ds.retention.run(policy)
        (plan,) = report.threads
        assert why in (plan.held or "")
        assert (report.held, report.size_bytes, plan.drops, plan.expires) == (1, 0, (), None)
    assert [each.checkpoint_id for each in ds.threads.checkpoints("t")] == before


def test_a_thread_that_a_run_holds_is_left_alone(ds, execute):
    talk(ds, "t")
    age(ds, execute, 99)
    with ds.runs.lease("t", holder="worker 3"):
        assert "worker 3" in str(ds.retention.run([EXPIRE]).threads[0].held)
    assert ids(ds) == ["t"]
    assert ds.retention.run(EXPIRE).expired == 1


def test_steps_of_an_unknown_graph_that_have_ended_hold_a_thread(ds, execute):
    saver = ds.checkpointer
    graph = talk(ds, "t")
    head = graph.get_state({"configurable": {"thread_id": "t"}}).config
    saver.put_writes(head, [("messages", AIMessage("half a step"))], str(uuid4()), "")
    age(ds, execute, 99)
    assert ds.retention.run(EXPIRE).held == 1


def test_an_answered_question_holds_nothing(ds):
    graph = ask(ds, "t")
    graph.invoke(Command(resume="yes"), {"configurable": {"thread_id": "t"}})
    assert ds.retention.run(RetentionPolicy(keep_latest=1)).checkpoints > 0
    assert len(ds.threads.checkpoints("t")) == 1


def test_forks_keep_their_root_and_their_tips(ds):
    graph = talk(ds, "t")
    (root,) = [each for each in ds.threads.checkpoints("t") if each.step == 4]
    dalsegno.fork(graph, "t", root.checkpoint_id, update={"messages": [("user", "other way")]})
    tips = {each.branch: each.checkpoint_id for each in reversed(ds.threads.checkpoints("t"))}
    assert len(tips) == 2
    histories = {tip: [event.seq for event in ds.journal.read("t", checkpoint_id=tip)] for tip in tips.values()}
    ds.retention.run(RetentionPolicy(keep_latest=1))
    assert {each.checkpoint_id for each in ds.threads.checkpoints("t")} == {*tips.values(), root.checkpoint_id}
    for tip, seqs in histories.items():
        assert [event.seq for event in ds.journal.read("t", checkpoint_id=tip)] == seqs
    assert ds.threads.check().clean


def test_tags_say_which_policy_holds(ds):
    for name in ("a", "b", "c"):
        talk(ds, name)
    ds.threads.tag("a", "support", "客服")
    ds.threads.tag("b", "keep")
    policies = [
        RetentionPolicy(name="support", tags={"客服"}, keep_latest=1),
        RetentionPolicy(name="rest", without_tags={"keep"}, keep_latest=4),
    ]
    done = ds.retention.run(policies)
    assert {each.thread_id: each.policy for each in done.threads} == {"a": "support", "c": "rest"}
    assert Counter({name: len(ds.threads.checkpoints(name)) for name in "abc"}) == {"a": 1, "b": 12, "c": 4}


def test_tags_are_found_taken_off_copied_and_deleted(ds):
    ds.journal.append("t", "note", "me", "hello")
    before = ds.threads.get("t").updated_at
    with ds.runs.lease("t"):
        ds.threads.tag("t", "b", "a", "b", "\x00nul")
    assert ds.threads.get("t").tags == ("\x00nul", "a", "b")
    assert ds.threads.get("t").updated_at == before
    ds.threads.copy("t", "u")
    ds.threads.untag("t", "b", "never")
    assert [each.thread_id for each in ds.threads.list(tag="b")] == ["u"]
    assert [each.thread_id for each in ds.threads.list(tag="a")] == ["t", "u"]
    assert ds.threads.list(tag="\x00nul")[0].tags == ("\x00nul", "a")
    ds.threads.delete("u")
    assert ds.threads.list(tag="b", deleted=True) == []
    for wrong in ("", "  ", 3, "x" * 300):
        with pytest.raises(Misuse):
            ds.threads.tag("t", wrong)
    with pytest.raises(ThreadNotFound):
        ds.threads.tag("u", "b")


def test_other_users_threads_are_not_looked_at(store_url):
    if store_url == "memory://":
        pytest.skip("another connection is another database")
    with dalsegno.connect(store_url, user="ana") as ana, dalsegno.connect(store_url, user="bo") as bo:
        talk(ana, "a")
        talk(bo, "b")
        assert ana.retention.run(LATEST).looked_at == 1
        assert len(bo.threads.checkpoints("b")) == 12
        with pytest.raises(ThreadNotFound):
            bo.threads.tag("a", "mine")


@pytest.mark.parametrize("policy", [None, [], "keep 5", [LATEST, "x"], {"keep_latest": 3}])
def test_what_is_no_policy_is_misuse(ds, policy):
    with pytest.raises(Misuse, match="policy"):
        ds.retention.run(policy)


async def test_the_async_face_does_the_same(ads):
    await ads.journal.aappend("t", "note", "me", "hello")
    await ads.threads.atag("t", "a", "b")
    await ads.threads.auntag("t", "b")
    assert (await ads.threads.alist(tag="a"))[0].tags == ("a",)
    assert (await ads.retention.aplan(LATEST)).looked_at == 1
    assert (await ads.retention.arun(LATEST)).dry_run is False


def test_two_at_once_do_no_harm(store_url):
    if store_url == "memory://":
        pytest.skip("another connection is another database")
    with dalsegno.connect(store_url) as one, dalsegno.connect(store_url) as two:
        for number in range(6):
            talk(one, f"t{number}", turns=3)
        with ThreadPoolExecutor(2) as pool:
            reports = list(pool.map(lambda ds: ds.retention.run(LATEST), (one, two)))
        went = Counter(drop.checkpoint_id for report in reports for each in report.threads for drop in each.drops)
        assert sum(went.values()) == len(went) == 6 * 7  # each of them went once
        assert one.threads.check().clean


def _bytes(path: Path) -> int:
    """Bytes of the file's pages that hold something, once it is rewritten."""
    import sqlite3

    with sqlite3.connect(path) as db:
        db.execute("VACUUM")
        found = db.execute("PRAGMA page_count").fetchone()[0] * db.execute("PRAGMA page_size").fetchone()[0]
    db.close()
    return int(found)


@pytest.mark.parametrize("policy", [RetentionPolicy(keep_latest=1), EXPIRE])
def test_the_estimate_is_near_what_the_file_gives_back(policy, sqlite_url, tmp_path):
    path = tmp_path / "agents.db"
    with dalsegno.connect(sqlite_url) as ds:
        for number in range(4):
            talk(ds, f"t{number}", turns=60)
        ds.store_backend._main().execute("UPDATE ds_threads SET updated_at = 1")
        before = _bytes(path)
        plan = ds.retention.plan(policy)
        ds.retention.run(policy)
        freed = before - _bytes(path)
    assert 0.85 < plan.disk_bytes / freed < 1.15, (plan.size_bytes, plan.disk_bytes, freed)


def test_the_time_of_a_checkpoint_is_told_by_itself(ds):
    """Ages are those of checkpoints, as their writers' clocks said."""
    graph = talk(ds, "t")
    assert ds.retention.plan(RetentionPolicy(max_age=DAY)).threads == ()
    newest = graph.get_state({"configurable": {"thread_id": "t"}})
    assert datetime.fromisoformat(newest.created_at) > datetime.now(UTC) - DAY
