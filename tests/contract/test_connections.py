"""A database connection that was killed is replaced: what had not been sent is done again, nothing is done twice."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

import dalsegno
from dalsegno import Kind
from dalsegno.contracts import Step
from dalsegno.errors import Misuse, StoreError, StoreUnavailable
from dalsegno.services import journal
from dalsegno.services.journal import NewEvent

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


@pytest.fixture
def kill(postgres_admin: psycopg.Connection, postgres_url: str) -> Any:
    """End every session in this test's database; says how many there were."""

    def end() -> int:
        return postgres_admin.execute(
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = %s",
            [urlsplit(postgres_url).path.removeprefix("/")],
        ).fetchone()[0]

    return end


def compiled(ds: Any, node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    return builder.compile(checkpointer=ds.checkpointer)


async def test_a_connection_killed_between_operations_is_replaced(postgres_url, kill, call, checkpoint):
    async with dalsegno.connect(postgres_url) as ds:
        config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        for n in range(3):
            made = checkpoint(n=n)
            config = await call(ds.checkpointer, "put", config, made, {}, {"n": 1})
            assert kill() >= 1
            found = await call(ds.checkpointer, "get_tuple", CONFIG)
            assert found.checkpoint["channel_values"] == {"n": n}
            kill()
        kill()
        assert (await call(ds.journal, "append", "t", "note", "someone", "still here")).seq == 1
        assert len(ds.threads.checkpoints("t")) == 3
        assert ds.threads.check().clean


async def test_a_run_lives_through_a_kill_in_every_node(postgres_url, kill, call):
    def node(state: Any) -> Any:
        kill()
        return {"messages": [AIMessage(f"answer {len(state['messages'])}")]}

    async with dalsegno.connect(postgres_url) as ds:
        graph = compiled(ds, node)
        for n in range(4):
            asked = {"messages": [HumanMessage(f"question {n}")]}
            # Each write is over when the node begins; one that is cut in its commit has no outcome that is known.
            answer = await call(graph, "invoke", asked, CONFIG, durability="sync")
        assert len(answer["messages"]) == 8
        assert (await call(graph, "get_state", CONFIG)).values == answer
        assert [event.seq for event in ds.journal.read("t")] == list(range(1, 9))
        assert ds.threads.check().clean


@pytest.mark.parametrize("at", range(6))
async def test_a_write_killed_at_any_step_is_done_once(postgres_url, kill, face, at):
    async with dalsegno.connect(postgres_url) as ds:
        ds.journal.append("t", "note", "someone", "first")
        killed = []

        def op() -> Any:
            inner = journal.append(
                ds.scope(),
                "t",
                [NewEvent(kind=Kind.NOTE, author="someone", tree="second", text="second")],
                create=True,
                fence=None,
            )
            answer, step = None, 0
            try:
                while True:
                    request = inner.send(answer)
                    if step == at and not killed:
                        killed.append(kill())
                    step += 1
                    answer = yield request
            except StopIteration as end:
                return end.value

        store = ds.store_backend
        numbers = store.run(op, write=True) if face == "sync" else await store.arun(op, write=True)
        assert numbers == [2]
        assert [event.text for event in ds.journal.read("t")] == ["first", "second"]
        assert ds.threads.check().clean


async def test_sessions_that_join_the_pool_dead_are_let_go(postgres_url, kill, call, monkeypatch):
    """A session that was being opened when all were killed comes to the pool after the idle ones were looked at."""
    async with dalsegno.connect(f"{postgres_url}{'&' if '?' in postgres_url else '?'}min_size=4") as ds:
        await call(ds.journal, "append", "t", "note", "someone", "first")
        for pool in ("ConnectionPool", "AsyncConnectionPool"):
            looked = (lambda self: None) if pool == "ConnectionPool" else _look_at_nothing
            monkeypatch.setattr(f"psycopg_pool.{pool}.check", looked)
        await asyncio.sleep(0.5)  # all four are there
        assert kill() >= 4
        assert (await call(ds.journal, "append", "t", "note", "someone", "second")).seq == 2
        kill()
        assert [event.text for event in await call(ds.journal, "read", "t")] == ["first", "second"]


async def _look_at_nothing(pool: Any) -> None:
    """Find no dead session."""


async def test_a_kill_in_the_commit_itself_is_told_as_an_unknown_outcome(postgres_url, call):
    """A trigger that ends its own session at commit time stands for a server that dies there."""
    async with dalsegno.connect(postgres_url) as ds:
        ds.journal.append("t", "note", "someone", "first")
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute("CREATE SEQUENCE deaths")  # counts on although its transaction is lost: only the first dies
            admin.execute(
                "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "IF nextval('deaths') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); END IF; "
                "RETURN NULL; END $$"
            )
            admin.execute(
                "CREATE CONSTRAINT TRIGGER die AFTER INSERT ON ds_events DEFERRABLE INITIALLY DEFERRED "
                "FOR EACH ROW EXECUTE FUNCTION die()"
            )
            with pytest.raises(StoreUnavailable, match="read before repeating"):
                await call(ds.journal, "append", "t", "note", "someone", "second")
            admin.execute("DROP TRIGGER die ON ds_events")
        assert [event.text for event in ds.journal.read("t")] == ["first"]
        assert ds.journal.append("t", "note", "someone", "second").seq == 2


def test_threads_share_a_pool_that_is_killed_under_them(postgres_url, kill):
    stop = threading.Event()

    def killing() -> None:
        while not stop.wait(0.05):
            kill()

    with dalsegno.connect(postgres_url) as ds, ThreadPoolExecutor(5) as pool:
        pool.submit(killing)

        def appending(name: str) -> tuple[int, int]:
            done = unknown = 0
            for n in range(15):
                try:
                    ds.journal.append(name, "note", "someone", str(n))
                    done += 1
                except StoreUnavailable:
                    unknown += 1
            return done, unknown

        try:
            outcomes = list(pool.map(appending, "abc"))
        finally:
            stop.set()
    with dalsegno.connect(postgres_url) as ds:
        for name, (done, unknown) in zip("abc", outcomes, strict=True):
            texts = [event.text for event in ds.journal.read(name)] if done else []
            assert done <= len(texts) <= done + unknown
            assert len(set(texts)) == len(texts)
        assert ds.threads.check().clean


async def test_a_server_that_is_away_is_told_within_seconds_and_comes_back(
    postgres_url, postgres_admin, call, monkeypatch
):
    monkeypatch.setattr("dalsegno.stores.postgres.store._CONNECT_SECONDS", 1.5)
    name = urlsplit(postgres_url).path.removeprefix("/")
    async with dalsegno.connect(postgres_url) as ds:
        await call(ds.journal, "append", "t", "note", "someone", "first")
        postgres_admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        postgres_admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", [name]
        )
        with pytest.raises(StoreError):
            await asyncio.wait_for(call(ds.journal, "read", "t"), 40)
        postgres_admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        for _ in range(20):
            try:
                found = await call(ds.journal, "read", "t")
                break
            except StoreUnavailable:
                await asyncio.sleep(0.5)
        assert [event.text for event in found] == ["first"]


def test_an_idle_store_holds_no_transaction_open(postgres_url, postgres_admin, put):
    with dalsegno.connect(postgres_url) as ds:
        put(ds, "t", x=1)
        ds.threads.state("t")
        with pytest.raises(Exception, match="thread_id"):
            ds.checkpointer.get_tuple({"configurable": {}})
        states = postgres_admin.execute(
            "SELECT state FROM pg_stat_activity WHERE datname = %s", [urlsplit(postgres_url).path.removeprefix("/")]
        ).fetchall()
        assert {state for (state,) in states} == {"idle"}
    for _ in range(50):  # the server takes a moment to see them leave
        (left,) = postgres_admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s", [urlsplit(postgres_url).path.removeprefix("/")]
        ).fetchone()
        if not left:
            break
        time.sleep(0.1)
    assert left == 0


async def test_a_closed_connection_says_so(ads, call):
    await ads.aclose()
    ads.close()
    with pytest.raises(Misuse, match="closed"):
        await call(ads.journal, "append", "t", "note", "someone", "x")
    with pytest.raises(Misuse, match="closed"):
        await call(ads.checkpointer, "get_tuple", CONFIG)


async def test_one_object_serves_several_event_loops_and_threads(store_url):
    ds = dalsegno.connect(store_url)

    async def turn(name: str) -> None:
        for n in range(3):
            await ds.journal.aappend(name, "note", "someone", str(n))

    threads = [threading.Thread(target=lambda name=name: asyncio.run(turn(name))) for name in "ab"]
    for each in threads:
        each.start()
    await turn("main")
    ds.journal.append("sync", "note", "someone", "0")
    for each in threads:
        await asyncio.to_thread(each.join)
    assert {thread.thread_id: thread.events for thread in ds.threads.list()} == {"a": 3, "b": 3, "main": 3, "sync": 1}
    await ds.aclose()


async def test_a_cancelled_writer_neither_stops_nor_fails_the_others(ads):
    async def append(n: int) -> int:
        return (await ads.journal.aappend("t", "note", "someone", str(n))).seq

    tasks = [asyncio.create_task(append(n)) for n in range(10)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, int) for result in results[1::2])
    events = await ads.journal.aread("t")
    assert {event.text for event in events} >= {str(n) for n in range(1, 10, 2)}
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert ads.threads.check().clean


@pytest.mark.parametrize("url", ["?prepare=off", "?min_size=0&max_size=2", "?application_name=mine"])
def test_settings_of_the_url_are_taken(postgres_url, url, put):
    with dalsegno.connect(postgres_url + ("&" if "?" in postgres_url else "?") + url[1:]) as ds:
        put(ds, "t", x=1)
        assert ds.threads.state("t") == {"x": 1}


def test_a_failing_write_in_a_group_does_not_take_the_others_along(ds, put):
    """Writes that queue up share a commit; each still succeeds or fails alone."""
    started, go_on = threading.Event(), threading.Event()

    def slow() -> Any:
        rows = yield Step("now", {})
        started.set()
        go_on.wait(10)
        return rows

    def one(n: int) -> Any:
        return ds.journal.append("t", "note", "someone", str(n)) if n % 2 else ds.runs.lease("t", timedelta(0))

    key = (ds.scope().tenant, "t")
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(ds.store_backend.run, slow, write=True, key=key)
        started.wait(10)
        waiting = [pool.submit(one, n) for n in range(6)]
        go_on.set()
        first.result(10)
        outcomes = [each.exception(20) for each in waiting]
    assert [outcome is None for outcome in outcomes] == [False, True] * 3
    assert len(ds.journal.read("t")) == 3


SHORT = """
import asyncio, sys
import dalsegno
from dalsegno.stores.postgres import store

real = store._aconfigure

async def slow(connection):
    await asyncio.sleep(1)
    await real(connection)

async def main():
    ds = dalsegno.connect(sys.argv[1])
    await asyncio.gather(ds.threads.alist(), ds.threads.alist())  # the second one has the pool open a session
    store._aconfigure = slow
    loop = await ds.store_backend._loop()
    loop.pool._configure = slow
    work = [asyncio.create_task(ds.threads.alist()) for _ in range(4)]
    await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)

asyncio.run(main())
"""


def test_a_program_ends_although_a_session_is_being_opened(postgres_url):
    program = [sys.executable, "-c", SHORT, postgres_url]
    ended = subprocess.run(program, timeout=30, capture_output=True, text=True, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr  # the pool logs its attempt
