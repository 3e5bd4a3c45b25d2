"""An interrupted run is gone on with from what the database holds: nothing that finished runs again, nothing is skipped."""

from __future__ import annotations

import contextlib
import operator
import time
import warnings
from collections import Counter
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

import dalsegno
from dalsegno.errors import (
    CheckpointNotFound,
    GraphChanged,
    InputOnResume,
    InputOverUnfinished,
    Misuse,
    ThreadNotFound,
    UnfinishedWarning,
)

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    word: str


class Boom(Exception):
    """A node that breaks."""


class Runs(Counter[str]):
    """How often each node ran, and which of them are broken or ask."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: set[str] = set()
        self.asking: set[str] = set()

    def node(self, name: str, **update: Any) -> Any:
        def work(state: Any) -> Any:
            self[name] += 1
            if name in self.broken:
                time.sleep(0.1)  # what runs beside it has finished by then
                raise Boom(name)
            said = f" {interrupt(f'{name}?')}" if name in self.asking else ""
            told = f" {state['word']}" if isinstance(state, dict) and set(state) == {"word"} else ""
            return {"log": [f"{name}{told}{said}"], **update}

        return work


def parallel(ds: Any, runs: Runs, *, rename: dict[str, str] | None = None) -> Any:
    """start → (left, right) → join, and join sends to two workers."""
    names = {name: (rename or {}).get(name, name) for name in ("first", "left", "right", "join", "worker", "last")}
    builder = StateGraph(State)
    for name in ("first", "left", "right", "worker", "last"):
        builder.add_node(names[name], runs.node(name))
    builder.add_node(names["join"], runs.node("join"))
    builder.add_edge(START, names["first"])
    builder.add_edge(names["first"], names["left"])
    builder.add_edge(names["first"], names["right"])
    builder.add_edge([names["left"], names["right"]], names["join"])
    builder.add_conditional_edges(
        names["join"], lambda _: [Send(names["worker"], {"word": word}) for word in ("one", "two")], [names["worker"]]
    )
    builder.add_edge(names["worker"], names["last"])
    builder.add_edge(names["last"], END)
    return builder.compile(checkpointer=ds.checkpointer)


WHOLE = ["first", "left", "right", "join", "worker one", "worker two", "last"]


def restarted(store_url: str, ds: Any) -> Any:
    """A new connection, as a new process would have; the same one where the database lives in this object."""
    if store_url == "memory://":
        return ds
    ds.close()
    return dalsegno.connect(store_url)


# --- what finished stays finished


@pytest.mark.parametrize(
    ("durability", "broken"), [("sync", "worker"), ("async", "left"), ("async", "last"), ("exit", "right")]
)
async def test_only_what_had_not_finished_runs_again(ads, call, durability, broken):
    runs = Runs()
    runs.broken.add(broken)
    with pytest.raises(Boom):
        await call(parallel(ads, runs), "invoke", {"log": []}, CONFIG, durability=durability)
    before = dict(runs)
    runs.broken.clear()
    graph = parallel(ads, runs)
    unfinished = {task.name for task in (await call(graph, "get_state", CONFIG)).tasks}
    answer = await call(graph, "invoke", None, CONFIG, durability=durability)
    assert sorted(answer["log"]) == sorted(WHOLE)
    assert answer["log"][-1] == "last"
    again = {name for name in before if runs[name] > before[name]}
    if broken == "worker":  # both workers broke
        assert runs["worker"] == before["worker"] + 2
    assert again == {broken} | ({"last"} & unfinished)
    assert ads.threads.check().clean


def test_a_finished_sibling_of_an_interrupted_branch_is_kept(store_url):
    ds = dalsegno.connect(store_url)
    runs = Runs()
    runs.asking.add("right")
    parallel(ds, runs).invoke({"log": []}, CONFIG)
    assert (runs["left"], runs["right"]) == (1, 1)
    ds = restarted(store_url, ds)
    graph = parallel(ds, runs)
    snapshot = graph.get_state(CONFIG)
    assert {task.name: bool(task.interrupts) for task in snapshot.tasks} == {"left": False, "right": True}
    assert {task.name: task.result for task in snapshot.tasks}["left"] == {"log": ["left"]}
    answer = dalsegno.resume(graph, "t", "yes")
    assert sorted(answer["log"]) == sorted([*WHOLE[:2], "right yes", *WHOLE[3:]])
    assert (runs["left"], runs["right"], runs["first"], runs["join"]) == (1, 2, 1, 1)
    ds.close()


def test_waiting_sends_are_there_with_their_arguments_after_reopening(store_url):
    ds = dalsegno.connect(store_url)
    runs = Runs()
    graph = parallel(ds, runs)
    graph.invoke({"log": []}, CONFIG, interrupt_before=["worker"])
    ds = restarted(store_url, ds)
    graph = parallel(ds, runs)
    (sends,) = [ds.threads.state("t")["__pregel_tasks"]]
    assert sends == [Send("worker", {"word": "one"}), Send("worker", {"word": "two"})]
    assert graph.get_state(CONFIG).next == ("worker", "worker")
    assert ds.threads.checkpoints("t", limit=1)[0].next == ["worker", "worker"]
    assert dalsegno.resume(graph, "t")["log"][-3:] == ["worker one", "worker two", "last"]
    assert dict(runs) == {"first": 1, "left": 1, "right": 1, "join": 1, "worker": 2, "last": 1}
    ds.close()


# --- writes and their checkpoint


async def test_writes_that_come_before_their_checkpoint_are_kept_for_it(ads, checkpoint, call):
    made = checkpoint(log=["a"])
    named = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": made["id"]}}
    await call(ads.checkpointer, "put_writes", named, [("log", ["early"])], "task 1", "path 1")
    assert await call(ads.checkpointer, "get_tuple", CONFIG) is None
    assert list(ads.checkpointer.list(CONFIG)) == []
    assert ads.threads.check().clean
    await call(ads.checkpointer, "put", {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, made, {}, {"log": 1})
    await call(ads.checkpointer, "put_writes", named, [("log", ["late"])], "task 2", "path 2")
    found = await call(ads.checkpointer, "get_tuple", CONFIG)
    assert found.pending_writes == [("task 1", "log", ["early"]), ("task 2", "log", ["late"])]
    assert ads.threads.check().clean


def test_writes_that_come_before_their_checkpoint_survive_a_restart_and_others_puts(store_url, checkpoint, put):
    ds = dalsegno.connect(store_url)
    first = put(ds, "t", log=[])
    made = checkpoint(log=["next"])
    ds.checkpointer.put_writes(
        {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": made["id"]}},
        [("log", ["early"])],
        "task",
    )
    put(ds, "t", ns="sub", x=1)
    ds = restarted(store_url, ds)
    ds.checkpointer.put(first, made, {"step": 1}, {"log": 2})
    found = ds.checkpointer.get_tuple(CONFIG)
    assert found.checkpoint["id"] == made["id"]
    assert found.pending_writes == [("task", "log", ["early"])]
    assert [
        each.checkpoint["id"]
        for each in ds.checkpointer.list(CONFIG)
        if each.config["configurable"]["checkpoint_ns"] == ""
    ] == [made["id"], first["configurable"]["checkpoint_id"]]
    assert ds.threads.check().clean
    ds.close()


def test_a_tasks_write_stands_once_it_is_written_and_special_ones_are_replaced(ds, put):
    config = put(ds, "t", log=[])
    ds.checkpointer.put_writes(config, [("log", ["first"]), ("__interrupt__", ["asks"])], "task")
    ds.checkpointer.put_writes(config, [("log", ["second"]), ("more", 1), ("__interrupt__", ["asks again"])], "task")
    found = ds.checkpointer.get_tuple(CONFIG).pending_writes
    assert sorted(found, key=repr) == sorted(
        [("task", "log", ["first"]), ("task", "more", 1), ("task", "__interrupt__", ["asks again"])], key=repr
    )


# --- a graph that changed


@pytest.mark.parametrize("stop", ["before", "after", "asks", "broken"])
async def test_a_renamed_node_is_an_error_on_resume(ads, call, face, stop):
    runs = Runs()
    if stop == "asks":
        runs.asking.add("right")
    elif stop == "broken":
        runs.broken.add("right")
    graph = parallel(ads, runs)
    settings: dict[str, Any] = {"before": {"interrupt_before": ["right"]}, "after": {"interrupt_after": ["first"]}}.get(
        stop, {}
    )
    with contextlib.suppress(Boom):
        await call(graph, "invoke", {"log": []}, CONFIG, **settings)
    runs.broken.clear()
    changed = parallel(ads, runs, rename={"right": "to_the_right"})
    before = dict(runs)
    for way in (
        lambda: call(changed, "invoke", None, CONFIG),
        lambda: call(changed, "invoke", Command(resume="yes"), CONFIG),
        lambda: through(face, "resume", changed, "t", "yes" if stop == "asks" else None),
    ):
        with pytest.raises(GraphChanged, match="'right'"):
            await way()
    assert dict(runs) == before
    answer = await call(graph, "invoke", Command(resume="yes") if stop == "asks" else None, CONFIG)
    assert sorted(answer["log"]) == sorted([*WHOLE[:2], "right yes" if stop == "asks" else "right", *WHOLE[3:]])


async def test_a_renamed_target_of_a_waiting_send_is_an_error_on_resume(ads, call):
    runs = Runs()
    await call(parallel(ads, runs), "invoke", {"log": []}, CONFIG, interrupt_before=["worker"])
    changed = parallel(ads, runs, rename={"worker": "labourer"})
    with pytest.raises(GraphChanged, match="'worker'"):
        await call(changed, "invoke", None, CONFIG)
    with pytest.raises(GraphChanged, match="'worker'"):
        dalsegno.resume(changed, "t")
    assert runs["worker"] == 0


def test_a_renamed_node_behind_a_join_is_an_error_on_resume(ds):
    runs = Runs()
    parallel(ds, runs).invoke({"log": []}, CONFIG, interrupt_before=["join"])
    with pytest.raises(GraphChanged, match="'join'"):
        parallel(ds, runs, rename={"join": "meet"}).invoke(None, CONFIG)


def test_a_node_that_does_not_wait_may_be_renamed(ds):
    runs = Runs()
    parallel(ds, runs).invoke({"log": []}, CONFIG, interrupt_before=["last"])
    changed = parallel(ds, runs, rename={"first": "primo", "left": "sinistra", "worker": "operaio"})
    assert dalsegno.resume(changed, "t")["log"][-1] == "last"


def nested(ds: Any, runs: Runs, inner: str = "inner", *, persistent: bool = False) -> Any:
    sub = StateGraph(State)
    sub.add_node("ahead", runs.node("ahead"))
    sub.add_node(inner, runs.node("inner"))
    sub.add_edge(START, "ahead")
    sub.add_edge("ahead", inner)
    builder = StateGraph(State)
    builder.add_node("child", sub.compile(checkpointer=True if persistent else None))
    builder.add_node("after", runs.node("after"))
    builder.add_edge(START, "child")
    builder.add_edge("child", "after")
    return builder.compile(checkpointer=ds.checkpointer)


@pytest.mark.parametrize("persistent", [False, True])
async def test_a_renamed_node_of_a_subgraph_is_an_error_on_resume(ads, call, persistent):
    runs = Runs()
    runs.asking.add("inner")
    graph = nested(ads, runs, persistent=persistent)
    await call(graph, "invoke", {"log": ["in"]}, CONFIG)
    for given in (None, Command(resume="yes")):
        with pytest.raises(GraphChanged, match="'inner'"):
            await call(nested(ads, runs, "renamed", persistent=persistent), "invoke", given, CONFIG)
    assert (runs["ahead"], runs["inner"]) == (1, 1)
    answer = await call(graph, "invoke", Command(resume="yes"), CONFIG)
    assert answer["log"][-2:] == ["inner yes", "after"]
    assert (runs["ahead"], runs["inner"], runs["after"]) == (1, 2, 1)


# --- resume and fork


async def through(face: str, name: str, *args: Any, **kwargs: Any) -> Any:
    if face == "sync":
        return getattr(dalsegno, name)(*args, **kwargs)
    return await getattr(dalsegno, f"a{name}")(*args, **kwargs)


async def test_a_resume_takes_no_input(ads, call, face):
    runs = Runs()
    runs.asking.add("right")
    graph = parallel(ads, runs)
    await call(graph, "invoke", {"log": []}, CONFIG)
    for wrong in (
        {"input": {"log": ["again"]}},
        {"value": Command(update={"log": ["again"]})},
        {"value": Command(goto="last")},
        {"value": Command(resume="yes", update={"log": ["again"]})},
    ):
        with pytest.raises(InputOnResume, match="takes no input"):
            await through(face, "resume", graph, "t", **wrong)
    assert runs["right"] == 1
    answer = await through(face, "resume", graph, "t", Command(resume="yes"))
    assert "right yes" in answer["log"]


async def test_several_interrupts_are_answered_by_id(store_url, face):
    ds = dalsegno.connect(store_url)
    runs = Runs()
    runs.asking |= {"left", "right"}
    graph = parallel(ds, runs)
    graph.invoke({"log": []}, CONFIG)
    ds = restarted(store_url, ds)
    graph = parallel(ds, runs)
    waiting = {each.value: each.id for each in graph.get_state(CONFIG).interrupts}
    assert set(waiting) == {"left?", "right?"}
    with pytest.raises(Misuse, match="2 interrupts wait; answer by id"):
        await through(face, "resume", graph, "t", "yes")
    assert (runs["left"], runs["right"]) == (1, 1)
    await through(face, "resume", graph, "t", {waiting["left?"]: "L"})
    assert {each.value for each in graph.get_state(CONFIG).interrupts} == {"right?"}
    ds = restarted(store_url, ds)
    graph = parallel(ds, runs)
    answer = await through(face, "resume", graph, "t", {waiting["right?"]: "R"})
    assert sorted(answer["log"]) == sorted(["first", "left L", "right R", *WHOLE[3:]])
    assert runs["first"] == 1
    await ds.aclose()


async def test_a_mapping_that_names_no_interrupt_is_the_answer_itself(ads, face):
    runs = Runs()
    runs.asking.add("right")
    graph = parallel(ads, runs)
    graph.invoke({"log": []}, CONFIG)
    answer = await through(face, "resume", graph, "t", {"approved": True})
    assert "right {'approved': True}" in answer["log"]


async def test_falsy_answers_are_answers(ads, face):
    for number, value in enumerate((False, 0, "", [])):
        runs = Runs()
        runs.asking.add("right")
        graph = parallel(ads, runs)
        graph.invoke({"log": []}, {"configurable": {"thread_id": f"t{number}"}})
        answer = await through(face, "resume", graph, f"t{number}", value)
        assert f"right {value}" in answer["log"]


async def test_an_answer_that_nobody_waits_for_is_refused(ads, face):
    runs = Runs()
    graph = parallel(ads, runs)
    graph.invoke({"log": []}, CONFIG, interrupt_before=["last"])
    with pytest.raises(Misuse, match="no interrupt waits"):
        await through(face, "resume", graph, "t", "yes")
    assert runs["last"] == 0
    with pytest.raises(ThreadNotFound, match="no checkpoint"):
        await through(face, "resume", graph, "unknown")
    assert ads.threads.list(deleted=True)[0].thread_id == "t"
    assert len(ads.threads.list(deleted=True)) == 1


async def test_a_finished_thread_is_resumed_to_its_end_state(ads, face):
    runs = Runs()
    graph = parallel(ads, runs)
    done = graph.invoke({"log": []}, CONFIG)
    before = dict(runs)
    assert (await through(face, "resume", graph, "t")) in (done, None)
    assert dict(runs) == before


async def test_a_fork_needs_a_checkpoint_of_the_thread(ads, face):
    graph = parallel(ads, Runs())
    graph.invoke({"log": []}, CONFIG)
    for blank in (None, "", "  ", 7):
        with pytest.raises(Misuse, match="fork needs a checkpoint_id"):
            await through(face, "fork", graph, "t", blank)
    with pytest.raises(CheckpointNotFound, match="has no checkpoint"):
        await through(face, "fork", graph, "t", "00000000-0000-0000-0000-000000000000")
    assert len(ads.threads.checkpoints("t")) == len(list(graph.get_state_history(CONFIG)))


async def test_a_fork_goes_on_from_its_checkpoint_and_leaves_the_rest(store_url, face):
    ds = dalsegno.connect(store_url)
    runs = Runs()
    graph = parallel(ds, runs)
    done = graph.invoke({"log": []}, CONFIG)
    history = list(graph.get_state_history(CONFIG))
    old_ids = [each.config["configurable"]["checkpoint_id"] for each in history]
    (point,) = [each for each in history if each.next == ("left", "right")]
    ds = restarted(store_url, ds)
    graph = parallel(ds, runs)
    at = point.config["configurable"]["checkpoint_id"]
    answer = await through(face, "fork", graph, "t", at, {"log": ["forked"]}, as_node="first")
    assert answer["log"] == ["first", "forked", *WHOLE[1:]]
    assert (runs["first"], runs["left"]) == (1, 2)
    infos = ds.threads.checkpoints("t")
    assert {info.branch for info in infos} == {0, 1}
    assert [info.checkpoint_id for info in infos if info.branch == 0] == old_ids
    assert graph.get_state({"configurable": {"thread_id": "t", "checkpoint_id": old_ids[0]}}).values == done
    assert ds.threads.check().clean
    again = await through(face, "fork", graph, "t", at)
    assert again["log"] == WHOLE
    assert {info.branch for info in ds.threads.checkpoints("t")} == {0, 1, 2}
    assert ds.threads.check().clean
    await ds.aclose()


# --- an input over unfinished steps


@pytest.mark.parametrize("setting", ["warn", "raise", "allow"])
async def test_a_new_input_over_waiting_steps_is_reported(store_url, call, setting):
    async with dalsegno.connect(store_url, on_input_over_unfinished=setting) as ds:
        runs = Runs()
        graph = parallel(ds, runs)
        await call(graph, "invoke", {"log": []}, CONFIG, interrupt_before=["last"])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if setting == "raise":
                with pytest.raises(InputOverUnfinished, match="the step with 'last' is not over"):
                    await call(graph, "invoke", {"log": ["new"]}, CONFIG)
            else:
                answer = await call(graph, "invoke", {"log": ["new"]}, CONFIG)
                assert answer["log"].count("last") == 1
        told = [each for each in caught if each.category is UnfinishedWarning]
        assert len(told) == (setting == "warn")
        if setting == "raise":
            assert (await call(graph, "get_state", CONFIG)).next == ("last",)
            assert (await call(graph, "invoke", None, CONFIG))["log"] == WHOLE


@pytest.mark.filterwarnings("error")
async def test_an_input_to_a_finished_thread_or_a_new_one_is_not_reported(ads, call):
    graph = parallel(ads, Runs())
    for _ in range(3):
        await call(graph, "invoke", {"log": []}, CONFIG)
    child = nested(ads, Runs())
    for _ in range(2):
        await call(child, "invoke", {"log": []}, {"configurable": {"thread_id": "u"}})


def test_an_unknown_setting_is_refused():
    with pytest.raises(Misuse, match="use 'warn', 'raise' or 'allow'"):
        dalsegno.connect("memory://", on_input_over_unfinished="shout")
