"""Faults that were found once stay mended: each test is one of them, and fails where it returns."""

from __future__ import annotations

import asyncio
import contextlib
import json
import operator
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from typing import Annotated, Any, TypedDict
from urllib.parse import urlsplit, urlunsplit

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

import dalsegno
from dalsegno.errors import Damaged, HeadMoved, Misuse

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


class Rows(TypedDict, total=False):
    rows: Annotated[list[Any], operator.add]


class Talk(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    last: Any


def graph(ds: Any, state: Any = MessagesState, node: Any = lambda _: {}) -> Any:
    """A graph of one node."""
    return StateGraph(state).add_node("n", node).add_edge(START, "n").compile(checkpointer=ds.checkpointer)


def with_query(url: str, query: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, query)))))


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "large",
    [
        [{"type": "text", "text": f"the same long instruction number {n}"} for n in range(30)],
        {f"k{n}": "v" * 60 for n in range(30)},
        [0] * 600,
    ],
    ids=["blocks", "mapping", "numbers"],
)
def test_a_list_of_pairs_that_begin_alike_reads_back_and_grows_turn_after_turn(ds, large):
    app = graph(ds, Rows, lambda _: {"rows": [["assistant", large]]})
    for turn in range(1, 5):
        app.invoke({"rows": [["user", large]]}, CONFIG)
        read = ds.threads.state("t")["rows"]
        assert read == [["user", large], ["assistant", large]] * turn
    assert ds.threads.check().clean


def test_a_put_of_many_long_strings_takes_a_bounded_number_of_statements(ds, put, monkeypatch):
    asked: list[str] = []
    store, begin = ds.store_backend, type(ds.store_backend)._step_with

    def counting(*args: Any) -> Any:
        run = begin(*args)

        def step(given: Any) -> Any:
            asked.extend(one.name for one in ([given] if hasattr(given, "name") else given))
            return run(given)

        return step

    monkeypatch.setattr(store, "_step_with", counting.__get__(store), raising=True)
    put(ds, "t", docs={f"k{n}": f"{n} " + "q" * 300 for n in range(500)})
    assert asked.count("pool_find") == 1


# --- who began, who goes on -----------------------------------------------------------------------


def test_of_two_first_runs_on_a_new_thread_that_store_at_their_end_one_is_refused(ds):
    both, outcome = threading.Barrier(2, timeout=20), {}

    def node(state: Any) -> Any:
        both.wait()
        return {"messages": [AIMessage("re " + state["messages"][-1].text)]}

    app = graph(ds, node=node)

    def run(word: str) -> None:
        try:
            outcome[word] = app.invoke({"messages": [("user", word)]}, CONFIG, durability="exit")
        except HeadMoved as error:
            outcome[word] = error

    together(run)
    (stored,) = [word for word, result in outcome.items() if not isinstance(result, HeadMoved)]
    assert len(outcome) == 2
    assert [message.text for message in ds.threads.state("t")["messages"]] == [stored, f"re {stored}"]


def test_of_two_updates_of_an_empty_thread_one_is_refused(ds, monkeypatch):
    both, outcome = threading.Barrier(2, timeout=20), {}
    look = ds.checkpointer.get_tuple

    def looked(config: Any) -> Any:
        found = look(config)
        both.wait()
        return found

    app = graph(ds)

    def update(word: str) -> None:
        try:
            outcome[word] = app.update_state(CONFIG, {"messages": [("user", word)]}, as_node="n")
        except HeadMoved as error:
            outcome[word] = error

    with monkeypatch.context() as patched:
        patched.setattr(ds.checkpointer, "get_tuple", looked)
        together(update)
    (stored,) = [word for word, result in outcome.items() if not isinstance(result, HeadMoved)]
    assert len(outcome) == 2
    assert [message.text for message in ds.threads.state("t")["messages"]] == [stored]


def together(work: Any) -> None:
    threads = [threading.Thread(target=work, args=(word,)) for word in "AB"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)


def _delete_and_reopen(ds: Any) -> None:
    ds.checkpointer.delete_thread("t")
    ds.threads.reopen("t")


@pytest.mark.parametrize(
    "end",
    [_delete_and_reopen, lambda ds: ds.checkpointer.prune(["t"], strategy="delete")],
    ids=["delete and reopen", "prune"],
)
def test_a_run_does_not_bring_back_a_conversation_that_was_deleted_meanwhile(ds, end):
    def node(state: Any) -> Any:
        if state["messages"][-1].text == "go":
            end(ds)
        return {"messages": [AIMessage("re")]}

    app = graph(ds, node=node)
    app.invoke({"messages": [("user", "PRIVATE")]}, CONFIG, durability="sync")
    with pytest.raises(HeadMoved):
        app.invoke({"messages": [("user", "go")]}, CONFIG, durability="sync")
    assert ds.checkpointer.get_tuple(CONFIG) is None
    assert end is not _delete_and_reopen or ds.journal.read("t") == []  # pruning keeps the journal


def test_a_writer_without_a_schema_keeps_the_version_that_is_stamped(sqlite_url):
    schema = dalsegno.StateSchema(version=2, migrations=[dalsegno.Drop("rows", since=2)])
    with dalsegno.connect(sqlite_url, schema=schema) as ds:
        graph(ds, Rows).invoke({"rows": ["what version 2 means by it"]}, CONFIG)
    with dalsegno.connect(sqlite_url) as ds:
        graph(ds, Rows).update_state(CONFIG, {"rows": ["more"]}, as_node="n")
    with dalsegno.connect(sqlite_url, schema=schema) as ds:
        assert ds.threads.state("t") == {"rows": ["what version 2 means by it", "more"]}


# --- the journal ----------------------------------------------------------------------------------

ONE = HumanMessage("hi", id="a")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"messages": [ONE]}, {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]}),
        ({"messages": [ONE]}, {"messages": [RemoveMessage("a")]}),
        ({"last": [ONE]}, {"last": []}),
        ({"last": [ONE]}, {"last": None}),
    ],
    ids=["all removed", "the only one removed", "set to an empty list", "set to None"],
)
def test_a_list_that_loses_its_last_message_says_so_and_its_return_is_said_too(ds, before, after):
    app = graph(ds, Talk)
    for update in (before, after, before):
        app.update_state(CONFIG, update, as_node="n")
    assert [(str(event.kind), event.text) for event in ds.journal.read("t")][::2] == [("message", "hi")] * 2
    assert [str(event.kind) for event in ds.journal.read("t")] == ["message", "delete", "message"]


# --- interruptions --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_run_is_resumed_at_once_after_it_was_cancelled(request, kind):
    async def node(_: Any) -> Any:
        return {"messages": [AIMessage("a" * 500)]}

    async def rounds(url: str) -> int:
        cancelled = 0
        async with dalsegno.connect(url, on_input_over_unfinished="allow") as ds:
            app = (
                StateGraph(MessagesState)
                .add_sequence([("a", node), ("b", node), ("c", node)])
                .add_edge(START, "a")
                .compile(checkpointer=ds.checkpointer)
            )
            await app.ainvoke({"messages": [("user", "begin")]}, CONFIG)
            for turn in range(20):
                durability = ("sync", "async")[turn % 2]
                told = {"messages": [("user", str(turn))]}
                run = asyncio.create_task(app.ainvoke(told, CONFIG, durability=durability))
                await asyncio.sleep(0.002 * (turn + 1))
                run.cancel()
                try:
                    await run
                except asyncio.CancelledError:
                    cancelled += 1
                await app.ainvoke(None, CONFIG)
        return cancelled

    assert asyncio.run(rounds(request.getfixturevalue(f"{kind}_url"))) > 0


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_cancelled_write_is_over_when_its_cancellation_is_seen(request, kind, monkeypatch):
    async def write(url: str) -> tuple[int, int]:
        async with dalsegno.connect(url) as ds:
            store, going, finished = ds.store_backend, asyncio.Event(), []
            loop = asyncio.get_running_loop()
            if kind == "sqlite":
                group = store._commits._run_group

                def slow(outcomes: Any) -> None:
                    loop.call_soon_threadsafe(going.set)
                    time.sleep(0.2)
                    group(outcomes)
                    finished.append(1)

                monkeypatch.setattr(store._commits, "_run_group", slow)
            else:
                transact = store._atransact

                async def aslow(*args: Any, **kwargs: Any) -> None:
                    going.set()
                    await asyncio.sleep(0.2)
                    await transact(*args, **kwargs)
                    finished.append(1)

                monkeypatch.setattr(store, "_atransact", aslow)
            task = asyncio.create_task(ds.journal.aappend("t", "note", "me", "said"))
            await going.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            seen = len(finished)
            monkeypatch.undo()
            return seen, len(await ds.journal.aread("t"))

    assert asyncio.run(write(request.getfixturevalue(f"{kind}_url"))) == (1, 1)


def test_a_writer_interrupted_while_it_waits_does_not_write_later(sqlite_url):
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with dalsegno.connect(sqlite_url) as ds:
        ds.journal.append("t", "note", "me", "first")
        other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        leader = threading.Thread(target=ds.journal.append, args=("t", "note", "leader", "led"))
        leader.start()
        while not any(line.busy for line in list(ds.store_backend._commits._lines.values())):
            time.sleep(0.01)
        before = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            with pytest.raises(KeyboardInterrupt):
                ds.journal.append("t", "note", "me", "INTERRUPTED")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        other.execute("ROLLBACK")
        other.close()
        leader.join(30)
        ds.journal.append("t", "note", "me", "last")
        assert [event.payload for event in ds.journal.read("t")] == ["first", "led", "last"]


# --- connections ----------------------------------------------------------------------------------


def test_event_loops_that_have_ended_keep_no_connections(postgres_url, postgres_admin):
    name = urlsplit(postgres_url).path.removeprefix("/")

    def connections(most: int) -> int:
        for _ in range(100):  # the server takes a moment to see a hung up connection
            (count,) = postgres_admin.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = %s", (name,)
            ).fetchone()
            if count <= most:
                break
            time.sleep(0.02)
        return count

    ds = dalsegno.connect(postgres_url)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        for _ in range(12):
            asyncio.run(ds.checkpointer.aget_tuple(CONFIG))
        assert connections(5) <= 5
        ds.close()
        assert connections(0) == 0


FORKS = """
import functools, os, sqlite3, sys
closed = []
class Watched(sqlite3.Connection):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.maker = os.getpid()
    def close(self):
        closed.append(self.maker)
        super().close()
    def __del__(self):
        closed.append(self.maker)
sqlite3.connect = functools.partial(sqlite3.connect, factory=Watched)
import dalsegno
ds = dalsegno.connect(sys.argv[1])
ds.journal.append("t", "note", "me", "parent")
ds.journal.read("t")
parent, child = os.getpid(), os.fork()
if child == 0:
    del closed[:]
    ds.journal.append("t", "note", "me", "child")
    ds.close()
    os._exit(3 if parent in closed else 0 if os.getpid() in closed else 4)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), [event.payload for event in ds.journal.read("t")])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_does_not_close_its_parents_connections(sqlite_url):
    run = [sys.executable, "-c", FORKS, sqlite_url]
    done = subprocess.run(run, check=False, capture_output=True, text=True, timeout=60)
    assert done.stdout == "0 ['parent', 'child']\n", done.stderr


def test_a_write_that_waits_while_the_store_closes_opens_no_connection(ds, monkeypatch):
    store = ds.store_backend
    run = store._commits.run

    def late(*args: Any) -> Any:
        ds.close()
        return run(*args)

    monkeypatch.setattr(store._commits, "run", late)
    with pytest.raises(Misuse, match="closed"):
        ds.journal.append("t", "note", "me", "late")
    assert getattr(store, "_writer", None) is None
    assert getattr(store, "_pool", None) is None


@pytest.mark.parametrize("special", ["/x", "#x", "?x", "[x", "@/x"])
def test_a_password_with_unquoted_characters_is_refused_and_not_shown(special):
    with pytest.raises(Misuse) as caught:
        dalsegno.connect(f"postgresql://me:s3cr3t{special}@127.0.0.1:1/db")
    error: BaseException | None = caught.value
    while error is not None:
        assert "s3cr3t" not in f"{error} {error!r}"
        error = error.__cause__ or error.__context__


def test_settings_of_the_driver_with_spaces_reach_the_server(postgres_url):
    with dalsegno.connect(with_query(postgres_url, "options=-c%20work_mem%3D8MB")) as ds:
        ds.journal.append("t", "note", "me", "said")
        with ds.store_backend._ready().connection() as connection:
            assert connection.execute("SHOW work_mem").fetchone() == ("8MB",)


# --- what another hand wrote ----------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 300])
def test_a_planted_range_of_millions_is_found_and_not_walked(sqlite_url, times):
    with dalsegno.connect(sqlite_url) as ds:
        app = graph(ds, Talk)
        app.invoke({"last": "here", "messages": [("user", "a" * 300)]}, CONFIG)
        path = sqlite_url.removeprefix("sqlite:///")
        with sqlite3.connect(path) as other:
            (ckpt, state), *_ = other.execute("SELECT ckpt, state FROM ds_checkpoints ORDER BY ckpt DESC LIMIT 1")
            planted = [{"$list": [[7, 1, 9_900_000]]}] * times
            body = json.dumps([planted[0] if times == 1 else planted, *json.loads(state)[1:]])
            other.execute("UPDATE ds_checkpoints SET state = ? WHERE ckpt = ?", (body, ckpt))
        other.close()
        began = time.monotonic()
        report = ds.threads.check()
        assert "dangling" in {finding.kind for finding in report.findings}
        with contextlib.suppress(Damaged):  # a refusal is an answer too
            ds.checkpointer.prune(["t"], strategy="keep_latest")
        assert time.monotonic() - began < 2
