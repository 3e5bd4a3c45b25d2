"""Claim: where a run stands is what its stored checkpoints and writes say, whatever order they were stored in and wherever it died."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.base import uuid6
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, interrupt

import dalsegno
from dalsegno.connect import open_store
from dalsegno.testing import FaultyStore, connect_over

NOBODY = "00000000-0000-0000-0000-000000000000"
QUESTION = [("__interrupt__", (Interrupt(value="?", id="q"),))]
WAITS = {"branch:to:b": None}
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


def at(checkpoint_id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": checkpoint_id}}


def status(ds: Any) -> str:
    return str(ds.runs.get("t").status)


def test_a_question_stored_before_its_checkpoint_waits_with_it_and_not_before(ds, put):
    """LangGraph saves the two side by side (`durability="async"`, its default); nobody sees the question until both are there."""
    second = str(uuid6())
    first = put(ds, "t", **WAITS)
    ds.checkpointer.put_writes(at(second), QUESTION, "task-b")
    assert status(ds) == "unfinished"
    put(ds, "t", first, checkpoint_id=second, **WAITS)
    assert status(ds) == "waiting"


def test_a_question_stored_before_two_checkpoints_is_not_forgotten(ds, put):
    first, second = str(uuid6()), str(uuid6())
    ds.checkpointer.put_writes(at(second), QUESTION, "task-b")
    config = put(ds, "t", checkpoint_id=first, **WAITS)
    assert status(ds) == "unfinished"
    put(ds, "t", config, checkpoint_id=second, **WAITS)
    assert status(ds) == "waiting"


def test_after_its_head_is_deleted_a_run_stands_where_the_one_before_says(ds, put):
    def newer(config: dict[str, Any], run: str) -> None:
        put(ds, "t", config, metadata={"source": "loop", "step": 2, "run_id": run}, **WAITS)
        ds.checkpointer.delete_for_runs([run])

    first = put(ds, "t", **WAITS)
    ds.checkpointer.put_writes(first, QUESTION, "task-b")
    newer(first, "r1")
    assert status(ds) == "waiting"
    ds.checkpointer.put_writes(first, [("__resume__", "yes")], NOBODY)
    newer(first, "r2")
    assert status(ds) == "unfinished"
    ds.checkpointer.put_writes(first, [*QUESTION, ("__resume__", ["yes"])], "task-b")
    newer(first, "r3")
    assert status(ds) == "waiting"


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def graph_of(ds: Any, *, nested: bool) -> Any:
    """Asks beside a node that does not: twice, or once in a subgraph with a checkpointer of its own."""

    def ask(state: State) -> State:
        return {"log": [str(interrupt("first?")), "" if nested else str(interrupt("second?"))]}

    builder = StateGraph(State).add_node("ask", ask).add_node("beside", lambda state: {"log": ["beside"]})
    builder.add_edge(START, "ask").add_edge(START, "beside")
    if nested:
        builder = StateGraph(State).add_node("inner", builder.compile(checkpointer=True)).add_edge(START, "inner")
    builder.add_node("after", lambda state: {"log": ["after"]}).add_edge("inner" if nested else "ask", "after")
    return builder.compile(checkpointer=ds.checkpointer)


WALK: list[Callable[..., Any]] = [
    lambda graph, **how: graph.invoke({"log": ["go"]}, CONFIG, **how),
    lambda graph, **how: graph.invoke(Command(resume="1"), CONFIG, **how),
    lambda graph, **how: graph.update_state(CONFIG, {"log": ["by hand"]}),
    lambda graph, **how: graph.invoke(None, CONFIG, **how),
    lambda graph, **how: dalsegno.fork(graph, "t", next(iter(ds_history(graph))), update={"log": ["fork"]}),
    lambda graph, **how: graph.invoke(Command(goto="after"), CONFIG, **how),
]


def ds_history(graph: Any) -> list[str]:
    return [found.config["configurable"]["checkpoint_id"] for found in graph.get_state_history(CONFIG)][1:]


class Died(Exception):
    """The process is gone: nothing that it still tries reaches the database."""


class Mortal(FaultyStore):
    """Takes so many writing operations and no more."""

    lives = 10**9

    def run(self, factory: Any, *, write: bool, key: Any = None) -> Any:
        if write:
            if self.lives <= 0:
                raise Died
            self.lives -= 1
        return super().run(factory, write=write, key=key)


def told(graph: Any) -> str | None:
    """What the stored checkpoint and its writes say, by LangGraph's own reading of them."""
    found, state = graph.checkpointer.get_tuple(CONFIG), graph.get_state(CONFIG)
    if found is None or not state.tasks:
        return None if found is None else "finished"
    written: dict[str, dict[str, Any]] = {}
    for task, channel, value in found.pending_writes:
        written.setdefault(task, {})[channel] = value
    answer = written.pop(NOBODY, {}).get("__resume__")
    for channels in written.values():
        over = set(channels) - {"__interrupt__", "__resume__", "__error__"}
        taken = answer is None or (channels.get("__resume__") or [None])[-1] == answer
        if "__interrupt__" in channels and not over and taken:
            return "waiting"
    return "unfinished"


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
def test_wherever_a_run_dies(nested, durability):
    """A process that dies between any two transactions; what happens within one is all or nothing (`tests/crash`)."""
    lives, over = 0, False
    while not over:
        inner = open_store("memory://")
        store = Mortal(inner)
        with connect_over(store, on_input_over_unfinished="allow") as ds:
            graph = graph_of(ds, nested=nested)
            store.lives = lives
            try:
                for step in WALK:
                    step(graph, durability=durability)
                    expected = told(graph)
                    assert expected is None or status(ds) == expected, (lives, WALK.index(step))
                over = True
            except Died:
                with connect_over(inner) as again:
                    expected = told(graph_of(again, nested=nested))
                    assert expected is None or status(again) == expected, lives
        lives += 1
    assert lives > len(WALK)
