"""A thread is written by whoever holds its lease: tokens rise, old ones are refused, and the database's clock decides."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from datetime import datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

import dalsegno
from dalsegno.errors import LeaseHeld, LeaseLost, Misuse, ThreadDeleted, ThreadNotFound
from dalsegno.testing import snapshot

LONG, SHORT = timedelta(seconds=60), timedelta(milliseconds=80)


def run_out() -> None:
    """Let a short lease end."""
    time.sleep(SHORT.total_seconds() + 0.05)


def chat(ds: Any, meanwhile: Any = lambda: None) -> Any:
    """A graph with a subgraph that answers once and then does something else in its last node."""
    inner = StateGraph(MessagesState)
    inner.add_node(
        "think", lambda state: {"messages": [HumanMessage("thought", id=f"thought{len(state['messages'])}")]}
    )
    inner.add_edge(START, "think")
    outer = StateGraph(MessagesState)
    outer.add_node("inner", inner.compile())
    outer.add_node(
        "last", lambda state: meanwhile() or {"messages": [HumanMessage("last", id=f"l{len(state['messages'])}")]}
    )
    outer.add_edge(START, "inner")
    outer.add_edge("inner", "last")
    return outer.compile(checkpointer=ds.checkpointer)


def said(ds: Any) -> list[str]:
    return [message.content for message in ds.threads.state("t").get("messages", [])]


ONE = {"messages": [HumanMessage("one", id="1")]}


# --- taking, keeping, letting go


async def test_a_lease_is_taken_kept_and_let_go(ads, call):
    lease = await call(ads.runs, "lease", "t", LONG, holder="first")
    assert (lease.thread_id, lease.holder, lease.token, lease.ttl) == ("t", "first", 1, LONG)
    assert ads.threads.get("t").leased_to == "first"
    await call(lease, "renew")
    await call(lease, "release")
    assert ads.threads.get("t").leased_to is None
    await call(lease, "release")  # once more is fine


async def test_a_live_lease_is_held_against_everyone_without_its_token(ads, call, put):
    config = put(ads, "t", text="before")
    await call(ads.runs, "lease", "t", LONG, holder="first")
    before = snapshot(ads, "t")
    with pytest.raises(LeaseHeld, match="'first'"):
        await call(ads.runs, "lease", "t", LONG, holder="first")
    with pytest.raises(LeaseHeld):
        put(ads, "t", config, text="after")
    with pytest.raises(LeaseHeld):
        await call(ads.checkpointer, "put_writes", config, [("text", "after")], "task")
    with pytest.raises(LeaseHeld):
        await call(ads.journal, "append", "t", "note", "me", "after")
    with pytest.raises(LeaseHeld):
        await call(ads.checkpointer, "delete_thread", "t")
    with pytest.raises(LeaseHeld):
        await call(ads.checkpointer, "prune", ["t"])
    assert snapshot(ads, "t") == before
    assert ads.threads.state("t") == {"text": "before"}  # reading needs no lease


async def test_tokens_rise_over_taking_running_out_and_deleting(ads, call):
    tokens = []
    for _ in range(2):
        lease = await call(ads.runs, "lease", "t", LONG)
        tokens.append(lease.token)
        await call(lease, "release")
    tokens.append((await call(ads.runs, "lease", "t", SHORT)).token)
    await asyncio.to_thread(run_out)
    late = await call(ads.runs, "lease", "t", LONG)
    tokens.append(late.token)
    await call(late, "release")
    await call(ads.checkpointer, "delete_thread", "t")
    ads.threads.reopen("t")
    tokens.append((await call(ads.runs, "lease", "t", LONG)).token)
    assert tokens == [1, 2, 3, 4, 5]


async def test_a_lease_that_ran_out_cannot_be_renewed_and_one_in_time_can(ads, call):
    lease = await call(ads.runs, "lease", "t", timedelta(milliseconds=600))
    for _ in range(4):
        await asyncio.sleep(0.25)
        await call(lease, "renew")
    assert ads.threads.get("t").leased_to == lease.holder
    short = await call(ads.runs, "lease", "other", SHORT)
    await asyncio.to_thread(run_out)
    assert ads.threads.get("other").leased_to is None
    with pytest.raises(LeaseLost, match="token 1"):
        await call(short, "renew")


async def test_a_loser_releases_nothing(ads, call):
    loser = await call(ads.runs, "lease", "t", SHORT, holder="loser")
    await asyncio.to_thread(run_out)
    winner = await call(ads.runs, "lease", "t", LONG, holder="winner")
    await call(loser, "release")
    assert ads.threads.get("t").leased_to == "winner"
    with pytest.raises(LeaseLost):
        await call(loser, "renew")
    await call(winner, "renew")


async def test_letting_go_of_a_thread_that_is_gone_is_fine(ads, call):
    lease = await call(ads.runs, "lease", "t", SHORT)
    await asyncio.to_thread(run_out)
    await call(ads.checkpointer, "delete_thread", "t")
    await call(lease, "release")
    with pytest.raises(ThreadDeleted):
        await call(ads.runs, "lease", "t", LONG)


async def test_the_end_of_a_with_lets_go_after_an_error_too(ads):
    with pytest.raises(ZeroDivisionError), ads.runs.lease("t", LONG):
        raise ZeroDivisionError
    assert ads.threads.get("t").leased_to is None
    async with await ads.runs.alease("t", LONG) as lease:
        assert ads.threads.get("t").leased_to == lease.holder
    assert ads.threads.get("t").leased_to is None


@pytest.mark.parametrize("ttl", [timedelta(0), timedelta(seconds=-1), 30, None])
def test_a_lease_lasts_longer_than_nothing(ds, ttl):
    with pytest.raises(Misuse, match="ttl"):
        ds.runs.lease("t", ttl)
    with pytest.raises(ThreadNotFound):
        ds.threads.get("t")


def test_another_users_thread_cannot_be_leased(ds, store_url):
    theirs = dalsegno.connect(store_url, user="other") if store_url != "memory://" else None
    if theirs is None:
        pytest.skip("every connection to memory is a database of its own")
    with theirs:
        theirs.journal.append("t", "note", "other", "mine")
        mine = dalsegno.connect(store_url, user="me")
        with mine, pytest.raises(ThreadNotFound):
            mine.runs.lease("t", LONG)


# --- runs under a lease


async def test_a_run_under_its_lease_writes_and_another_is_refused(ads, call):
    graph = chat(ads)
    lease = await call(ads.runs, "lease", "t", LONG)
    await call(graph, "invoke", ONE, lease.config)
    assert said(ads) == ["one", "thought", "last"]
    with pytest.raises(LeaseHeld):
        await call(graph, "invoke", {"messages": [HumanMessage("two")]}, {"configurable": {"thread_id": "t"}})
    assert said(ads) == ["one", "thought", "last"]
    assert ads.threads.check().clean


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_a_run_that_lost_its_lease_on_the_way_is_refused_and_leaves_the_winners_thread(ads, call, durability):
    taken: list[Any] = []

    def meanwhile() -> None:
        lease.release()
        taken.append(ads.runs.lease("t", LONG, holder="winner"))

    lease = await call(ads.runs, "lease", "t", LONG, holder="loser")
    with pytest.raises(LeaseLost, match="Stop this run"):
        await call(chat(ads, meanwhile), "invoke", ONE, lease.config, durability=durability)
    assert "last" not in (said(ads) if durability != "exit" else [])
    await call(dalsegno, "resume", chat(ads), "t", config=taken[0].config) if durability != "exit" else None
    assert durability == "exit" or said(ads) == ["one", "thought", "last"]
    assert ads.threads.check().clean


async def test_a_resume_and_a_fork_run_under_a_lease(ads, call):
    builder = StateGraph(MessagesState)
    builder.add_node("ask", lambda state: {"messages": [HumanMessage(interrupt("name?"), id="answer")]})
    builder.add_edge(START, "ask")
    graph = builder.compile(checkpointer=ads.checkpointer)
    lease = await call(ads.runs, "lease", "t", LONG)
    await call(graph, "invoke", ONE, lease.config)
    with pytest.raises(LeaseHeld):
        await call(dalsegno, "resume", graph, "t", "Mara")
    await call(dalsegno, "resume", graph, "t", "Mara", config=lease.config)
    assert said(ads) == ["one", "Mara"]
    start = ads.threads.checkpoints("t")[-1].checkpoint_id
    with pytest.raises(LeaseHeld):
        await call(dalsegno, "fork", graph, "t", start)
    await call(dalsegno, "fork", graph, "t", start, config=lease.config)


def test_old_and_expired_and_invented_tokens_are_refused(ds, put, checkpoint):
    config = put(ds, "t", text="before")
    old = ds.runs.lease("t", SHORT)
    run_out()
    before = snapshot(ds, "t")

    def attempts(token: Any) -> None:
        under = {"configurable": {**config["configurable"], "dalsegno_fence": token}}
        made = checkpoint(text="after")
        with pytest.raises(LeaseLost):
            ds.checkpointer.put(under, made, {"source": "loop", "step": 2}, made["channel_versions"])
        with pytest.raises(LeaseLost):
            ds.checkpointer.put_writes(under, [("text", "after")], "task")
        assert snapshot(ds, "t") == before

    attempts(old.token)  # run out, though nobody took it since
    attempts(old.token + 1)
    new = ds.runs.lease("t", LONG)
    before = snapshot(ds, "t")
    attempts(old.token)
    attempts(new.token + 1)
    with pytest.raises(LeaseLost):
        ds.journal.append("t", "note", "me", "after", lease=old)
    assert ds.journal.append("t", "note", "me", "after", lease=new).text == "after"


@pytest.mark.parametrize("token", ["1", 1.0, True, b"1", [1]])
def test_a_token_that_is_no_number_is_no_token(ds, put, checkpoint, token):
    config = put(ds, "t", text="before")
    under = {"configurable": {**config["configurable"], "dalsegno_fence": token}}
    made = checkpoint(text="after")
    with pytest.raises(Misuse, match="dalsegno_fence"):
        ds.checkpointer.put(under, made, {"source": "loop", "step": 2}, made["channel_versions"])
    with pytest.raises(Misuse, match="dalsegno_fence"):
        ds.checkpointer.put_writes(under, [("text", "after")], "task")


def test_the_token_is_not_kept_in_the_state(ds):
    with ds.runs.lease("t", LONG) as lease:
        chat(ds).invoke(ONE, lease.config)
    for found in ds.checkpointer.list({"configurable": {"thread_id": "t"}}):
        assert "fence" not in str(found.metadata)


# --- the clock


def test_the_clock_of_the_client_decides_nothing(ds, monkeypatch):
    """A client whose clock is a day ahead neither loses its lease nor takes another's."""
    lease = ds.runs.lease("t", LONG)
    real_time, real_now = time.time, datetime.now

    class Ahead(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return real_now(tz) + timedelta(days=1)

    monkeypatch.setattr(time, "time", lambda: real_time() + 86_400)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("dalsegno") and getattr(module, "datetime", None) is datetime:
            monkeypatch.setattr(module, "datetime", Ahead)
    with pytest.raises(LeaseHeld):
        ds.runs.lease("t", LONG)
    assert ds.threads.get("t").leased_to == lease.holder
    chat(ds).invoke(ONE, lease.config)
    lease.renew()
    monkeypatch.undo()
    assert said(ds) == ["one", "thought", "last"]


def test_a_lease_ends_when_the_database_says_so(ds):
    started = time.monotonic()
    ds.runs.lease("t", timedelta(milliseconds=700))
    while True:
        try:
            ds.runs.lease("t", LONG)
        except LeaseHeld:
            time.sleep(0.02)
        else:
            break
    assert 0.6 < time.monotonic() - started < 5


# --- racing processes

RACE = """
import os, random, sys, time
import dalsegno
from datetime import timedelta
from dalsegno.errors import LeaseHeld, LeaseLost

def child(number):
    dice = random.Random(number)
    end = time.monotonic() + 3
    with dalsegno.connect(sys.argv[1]) as ds:
        while time.monotonic() < end:
            try:
                lease = ds.runs.lease("t", timedelta(milliseconds=dice.choice((30, 60, 500))), holder=str(number))
            except LeaseHeld:
                time.sleep(dice.uniform(0, 0.01))
                continue
            try:
                for _ in range(dice.randint(1, 4)):
                    ds.journal.append("t", "note", str(number), lease.token, lease=lease)
                    time.sleep(dice.choice((0, 0, 0.02, 0.1)))
                lease.release()
            except LeaseLost:
                pass

children = []
for number in range(4):
    pid = os.fork()
    if pid == 0:
        try:
            child(number)
        except BaseException as error:
            print(type(error).__name__, error, file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    children.append(pid)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))
"""


@pytest.mark.parametrize("url", ["sqlite_url", "postgres_url"])
def test_of_racing_processes_one_at_a_time_writes(url: str, request: pytest.FixtureRequest):
    where = request.getfixturevalue(url)
    ended = subprocess.run([sys.executable, "-c", RACE, where], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    with dalsegno.connect(where) as ds:
        events = ds.journal.read("t")
        tokens = [event.payload for event in events]
        assert tokens == sorted(tokens)
        assert len({(event.payload, event.author) for event in events}) == len(set(tokens))
        assert len(set(tokens)) > 10
        assert len({event.author for event in events}) > 1
        assert ds.threads.check().clean


async def test_a_lease_that_went_with_its_thread_is_lost(ds, call):
    lease = await call(ds.runs, "lease", "t", LONG)
    with pytest.raises(LeaseHeld, match="nothing was deleted; stop that run and let its lease go"):
        await call(ds.threads, "delete", "t")
    ds.erasure.thread("t", force=True, rewrite=False)
    with pytest.raises(LeaseLost, match="is gone") as caught:
        await call(lease, "renew")
    assert isinstance(caught.value.__cause__, (ThreadNotFound, ThreadDeleted))
    await call(lease, "release")  # fine: there is nothing to let go


def test_leaving_what_kept_a_lease_that_went_with_its_thread_says_it_is_lost(ds):
    lease = ds.runs.lease("t", timedelta(milliseconds=300))

    def leave() -> None:
        with lease.keep() as keeping:
            ds.erasure.thread("t", force=True, rewrite=False)
            while keeping.lost is None:
                time.sleep(0.005)

    with pytest.raises(LeaseLost, match="is gone"):
        leave()
