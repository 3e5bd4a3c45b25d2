"""A thread has one head and one writer at a time: whoever comes second is told so, and nothing is lost silently."""

from __future__ import annotations

import asyncio
import operator
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph

import dalsegno
from dalsegno.errors import Conflict, HeadMoved, ThreadDeleted, ThreadExists

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def graph_of(ds: Any, node: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    return builder.compile(checkpointer=ds.checkpointer)


def race(*jobs: Any) -> list[Any]:
    """Run jobs at the same time; each one's result, or the error it raised."""

    def run(job: Any) -> Any:
        try:
            return job()
        except Exception as error:  # noqa: BLE001 - the outcome is what is looked at
            return error

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


# --- by hand


async def test_of_two_writers_from_one_head_exactly_one_wins(ads, checkpoint, call):
    config = await call(
        ads.checkpointer,
        "put",
        {"configurable": {"thread_id": "t", "checkpoint_ns": ""}},
        checkpoint(log=["a"]),
        {"step": 0},
        {"log": 1},
    )
    first, second = checkpoint(log=["a", "first"]), checkpoint(log=["a", "second"])
    await call(ads.checkpointer, "put", config, first, {"step": 1}, {"log": 2})
    with pytest.raises(HeadMoved) as told:
        await call(ads.checkpointer, "put", config, second, {"step": 1}, {"log": 2})
    assert isinstance(told.value, Conflict)
    assert (told.value.thread_id, told.value.expected, told.value.found) == (
        "t",
        config["configurable"]["checkpoint_id"],
        first["id"],
    )
    head = await call(ads.checkpointer, "get_tuple", CONFIG)
    assert head.checkpoint["channel_values"] == {"log": ["a", "first"]}
    assert ads.threads.check().clean


def test_racing_writers_leave_one_line_and_every_loser_is_told(ds, put):
    config = put(ds, "t", log=[])
    results = race(*(lambda n=n: put(ds, "t", config, log=[n]) for n in range(8)))
    losers = [result for result in results if isinstance(result, HeadMoved)]
    winners = [result for result in results if not isinstance(result, Exception)]
    assert (len(winners), len(losers)) == (1, 7)
    line = list(ds.checkpointer.list(CONFIG))
    assert [found.config["configurable"]["checkpoint_id"] for found in line] == [
        winners[0]["configurable"]["checkpoint_id"],
        config["configurable"]["checkpoint_id"],
    ]
    assert ds.threads.check().clean


def test_a_thread_begins_once(ds, put):
    begin = {"source": "input", "step": -1}
    results = race(*(lambda n=n: put(ds, "t", metadata=begin, log=[n]) for n in range(4)))
    assert sorted(type(result).__name__ for result in results) == ["HeadMoved"] * 3 + ["dict"]
    assert len(list(ds.checkpointer.list(CONFIG))) == 1


def test_a_losers_pending_writes_are_seen_by_nobody(ds, put, checkpoint):
    config = put(ds, "t", log=[])
    put(ds, "t", config, log=["winner"])
    lost = checkpoint(log=["loser"])
    mine = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": lost["id"]}}
    ds.checkpointer.put_writes(mine, [("log", ["loser"])], "task-of-the-loser")
    with pytest.raises(HeadMoved):
        ds.checkpointer.put(config, lost, {"step": 1}, {"log": 2})
    assert [found.pending_writes for found in ds.checkpointer.list(CONFIG)] == [[], []]
    assert ds.checkpointer.get_tuple(CONFIG).checkpoint["channel_values"] == {"log": ["winner"]}
    assert ds.threads.check().clean


def test_a_put_repeated_after_an_unclear_answer_changes_nothing(ds, put, checkpoint):
    config = put(ds, "t", log=[])
    again = checkpoint(log=["x"])
    first = ds.checkpointer.put(config, again, {"step": 1}, {"log": 2})
    assert ds.checkpointer.put(config, again, {"step": 1}, {"log": 2}) == first
    assert len(list(ds.checkpointer.list(CONFIG))) == 2
    assert ds.threads.check().clean


def test_an_id_that_is_taken_is_not_put_under_another_parent(ds, put, checkpoint):
    first = put(ds, "t", log=[])
    second = put(ds, "t", first, log=["second"])
    made = checkpoint(second["configurable"]["checkpoint_id"], log=["elsewhere"])
    with pytest.raises(HeadMoved):
        ds.checkpointer.put(second, made, {"step": 2}, {"log": 3})
    assert ds.threads.state("t") == {"log": ["second"]}
    assert ds.threads.check().clean


def test_the_second_of_two_users_of_one_head_through_two_connections_is_told(store_url, put):
    if store_url == "memory://":
        pytest.skip("a database in memory has one connection")
    with dalsegno.connect(store_url) as one, dalsegno.connect(store_url) as two:
        config = put(one, "t", log=[])
        assert two.checkpointer.get_tuple(CONFIG).checkpoint["channel_values"] == {"log": []}
        put(one, "t", config, log=["one"])
        with pytest.raises(HeadMoved):
            put(two, "t", config, log=["two"])
        assert two.checkpointer.get_tuple(CONFIG).checkpoint["channel_values"] == {"log": ["one"]}


# --- through graphs


@pytest.mark.filterwarnings("ignore::dalsegno.errors.UnfinishedWarning")
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_of_two_runs_on_one_thread_one_ends_and_the_other_is_told(ds, durability):
    def node(state: State) -> State:
        time.sleep(0.1)
        return {"log": [f"done {state['log'][-1]}"]}

    graph = graph_of(ds, node)
    graph.invoke({"log": ["start"]}, CONFIG)
    results = race(*(lambda name=name: graph.invoke({"log": [name]}, CONFIG, durability=durability) for name in "AB"))
    assert sorted(type(result).__name__ for result in results) == ["HeadMoved", "dict"]
    (kept,) = [result for result in results if isinstance(result, dict)]
    log = graph.get_state(CONFIG).values["log"]
    assert log == kept["log"]
    assert log[-1] == f"done {log[-2]}"
    assert [line for line in log if line.startswith("done")] == ["done start", log[-1]]
    assert ds.threads.check().clean


@pytest.mark.filterwarnings("ignore::dalsegno.errors.UnfinishedWarning")
async def test_of_two_runs_on_one_event_loop_one_ends_and_the_other_is_told(ads):
    async def node(state: State) -> State:
        await asyncio.sleep(0.05)
        return {"log": [f"done {state['log'][-1]}"]}

    graph = graph_of(ads, node)
    await graph.ainvoke({"log": ["start"]}, CONFIG)
    results = await asyncio.gather(
        graph.ainvoke({"log": ["A"]}, CONFIG), graph.ainvoke({"log": ["B"]}, CONFIG), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in results) == ["HeadMoved", "dict"]
    (kept,) = [result for result in results if isinstance(result, dict)]
    assert (await graph.aget_state(CONFIG)).values == kept


@pytest.mark.filterwarnings("ignore::dalsegno.errors.UnfinishedWarning")
def test_of_two_runs_that_begin_one_new_thread_one_ends(ds):
    graph = graph_of(ds, lambda state: {"log": [f"done {state['log'][-1]}"]})
    gate = threading.Barrier(2)

    def begin(name: str) -> Any:
        gate.wait()
        return graph.invoke({"log": [name]}, CONFIG)

    for _ in range(5):
        results = race(lambda: begin("A"), lambda: begin("B"))
        log = graph.get_state(CONFIG).values["log"]
        if all(isinstance(result, dict) for result in results):
            assert len(log) == 4  # one had ended before the other began
        else:
            assert sorted(type(result).__name__ for result in results) == ["HeadMoved", "dict"]
            assert log in (["A", "done A"], ["B", "done B"], ["A", "B", "done B"], ["B", "A", "done A"])
            (kept,) = [result for result in results if isinstance(result, dict)]
            assert log == kept["log"]  # the other's input is kept where it was there before, and its run is told
        ds.threads.delete("t")
        ds.threads.reopen("t")


RUN = """
import operator, os, sys, time
from typing import Annotated, TypedDict
from langgraph.graph import START, StateGraph
import dalsegno

class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]

begin, go = os.pipe()
children = {}
for name in "AB":
    child = os.fork()
    if child == 0:
        os.close(go)
        os.read(begin, 1)

        def node(state):
            time.sleep(0.3)
            return {"log": ["done " + name]}

        builder = StateGraph(State)
        builder.add_node("work", node)
        builder.add_edge(START, "work")
        with dalsegno.connect(sys.argv[1], on_input_over_unfinished="allow") as ds:
            graph = builder.compile(checkpointer=ds.checkpointer)
            try:
                graph.invoke({"log": [name]}, {"configurable": {"thread_id": "t"}})
            except dalsegno.errors.HeadMoved:
                print(name, "HeadMoved", flush=True)
            else:
                print(name, "done", flush=True)
        os._exit(0)
    children[name] = child
os.close(go)
for child in children.values():
    os.waitpid(child, 0)
"""


def test_of_two_processes_on_one_thread_one_ends_and_the_other_is_told(store_url):
    if store_url == "memory://":
        pytest.skip("a database in memory has one process")
    with dalsegno.connect(store_url) as ds:
        graph = graph_of(ds, lambda _: {"log": ["begun"]})
        graph.invoke({"log": ["start"]}, CONFIG)
        done = subprocess.run(
            [sys.executable, "-c", RUN, store_url], capture_output=True, text=True, timeout=120, check=False
        )
        answers = dict(line.split() for line in done.stdout.splitlines())
        assert sorted(answers.values()) == ["HeadMoved", "done"], done.stderr
        (winner,) = [name for name, answer in answers.items() if answer == "done"]
        log = graph.get_state(CONFIG).values["log"]
        assert log[:2] == ["start", "begun"]
        assert log[-2:] == [winner, f"done {winner}"]
        assert len([line for line in log if line.startswith("done")]) == 1  # the loser's input may stand, its work not
        assert ds.threads.check().clean


# --- tombstones


async def test_a_late_write_does_not_bring_a_deleted_thread_back(ads, checkpoint, call):
    made = checkpoint(log=["a"])
    config = await call(
        ads.checkpointer, "put", {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, made, {}, {"log": 1}
    )
    await call(ads.checkpointer, "delete_thread", "t")
    with pytest.raises(ThreadDeleted, match="reopen"):
        await call(ads.checkpointer, "put", config, checkpoint(log=["b"]), {}, {"log": 2})
    with pytest.raises(ThreadDeleted):
        await call(ads.checkpointer, "put_writes", config, [("log", ["b"])], "task")
    with pytest.raises(ThreadDeleted):
        await call(ads.journal, "append", "t", "note", "someone", "late")
    assert await call(ads.checkpointer, "get_tuple", CONFIG) is None
    assert ads.threads.list() == []
    assert [thread.thread_id for thread in ads.threads.list(deleted=True)] == ["t"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_run_whose_thread_is_deleted_meanwhile_is_told_and_leaves_nothing(ds, durability):
    graph_of(ds, lambda _: {"log": ["before"]}).invoke({"log": ["start"]}, CONFIG)

    def node(state: State) -> State:
        ds.threads.delete("t")
        return {"log": ["late"]}

    with pytest.raises(ThreadDeleted):
        graph_of(ds, node).invoke({"log": ["start"]}, CONFIG, durability=durability)
    assert ds.checkpointer.get_tuple(CONFIG) is None
    assert ds.threads.list() == []


def test_a_reopened_thread_begins_empty_and_works(ds):
    graph = graph_of(ds, lambda state: {"log": [f"done {state['log'][-1]}"]})
    graph.invoke({"log": ["old"]}, CONFIG)
    ds.journal.append("t", "note", "someone", "before")
    ds.threads.delete("t")
    ds.threads.reopen("t")
    assert ds.checkpointer.get_tuple(CONFIG) is None
    assert ds.journal.read("t") == []
    assert graph.invoke({"log": ["new"]}, CONFIG) == {"log": ["new", "done new"]}
    ds.journal.append("t", "note", "someone", "after")
    assert [event.text for event in ds.journal.read("t")] == ["after"]
    assert ds.threads.check().findings == []


def test_a_copy_goes_to_an_id_that_was_never_used(ds):
    graph = graph_of(ds, lambda state: {"log": [f"done {state['log'][-1]}"]})
    graph.invoke({"log": ["other"]}, {"configurable": {"thread_id": "source"}})
    graph.invoke({"log": ["old"]}, CONFIG)
    with pytest.raises(ThreadExists, match="another id"):
        ds.threads.copy("source", "t")
    ds.threads.delete("t")
    with pytest.raises(ThreadDeleted):
        ds.threads.copy("source", "t")
    ds.threads.reopen("t")
    with pytest.raises(ThreadExists, match="another id"):
        ds.threads.copy("source", "t")
    ds.threads.copy("source", "u")
    assert ds.threads.state("u")["log"] == ["other", "done other"]
    assert ds.threads.check().clean


# --- opening

OPEN = """
import os, sys
import dalsegno

children = []
begin, go = os.pipe()
for n in range(8):
    child = os.fork()
    if child == 0:
        os.close(go)
        os.read(begin, 1)  # all wait here for the end of this pipe
        try:
            with dalsegno.connect(sys.argv[1]) as ds:
                ds.journal.append("shared", "note", f"p{n}", "here")
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            os._exit(1)
        os._exit(0)
    children.append(child)
os.close(go)
for child in children:
    os.waitpid(child, 0)
"""


def test_eight_processes_open_a_fresh_database_at_once(store_url):
    if store_url == "memory://":
        pytest.skip("a database in memory has one process")
    done = subprocess.run(
        [sys.executable, "-c", OPEN, store_url], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr) == ("", "")
    with dalsegno.connect(store_url) as ds:
        assert sorted(event.author for event in ds.journal.read("shared")) == [f"p{n}" for n in range(8)]
        assert ds.threads.check().clean


def test_eight_threads_open_a_fresh_database_at_once(store_url):
    if store_url == "memory://":
        pytest.skip("every connection to memory is a database of its own")

    def open_and_write(n: int) -> int:
        with dalsegno.connect(store_url) as ds:
            return ds.journal.append("t", "note", f"p{n}", "here").seq

    assert sorted(race(*(lambda n=n: open_and_write(n) for n in range(8)))) == list(range(1, 9))


def test_a_fresh_file_that_another_keeps_locked_for_a_moment_is_waited_for(tmp_path):
    """What two first openers do to each other, at a moment of our choice."""
    path = tmp_path / "fresh.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    later = threading.Timer(0.5, lambda: other.execute("ROLLBACK"))
    later.start()
    try:
        with dalsegno.connect(f"sqlite:///{path}") as ds:
            assert ds.journal.append("t", "note", "late", "here").seq == 1
    finally:
        later.join()
        other.close()
