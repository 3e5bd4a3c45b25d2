"""Claim: a step that changes the state in place while the checkpoint before it is being saved leaves no trace in that one."""

from __future__ import annotations

import time
from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    plan: dict[str, list[str]]
    count: int


class Interrupted(Exception):
    pass


@pytest.fixture
def graph(ds: Any) -> Any:
    """Makes a plan, counts, and adds to the plan in place; fails at that the first time."""
    failed: list[bool] = []

    def count(state: State) -> State:
        time.sleep(0.3)  # the plan is saved by then, as a channel that was written
        return {"count": 1}

    def add(state: State) -> State:
        state["plan"]["items"].append("done once")
        time.sleep(0.05)
        if not failed:
            failed.append(True)
            raise Interrupted
        return {"plan": state["plan"]}

    builder = StateGraph(State)
    builder.add_node("make", lambda _: {"plan": {"items": []}})
    builder.add_node(count)
    builder.add_node(add)
    builder.add_edge(START, "make").add_edge("make", "count").add_edge("count", "add")
    return builder.compile(checkpointer=ds.checkpointer)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_what_a_failed_step_changed_in_place_is_not_done_twice(graph, call, durability):
    config = {"configurable": {"thread_id": "t"}}
    with pytest.raises(Interrupted):
        await call(graph, "invoke", {"count": 0}, config, durability=durability)
    if durability != "exit":
        states = [state async for state in graph.aget_state_history(config)]
        assert [state.values["plan"] for state in states[:2]] == [{"items": []}] * 2
    if durability != "exit":
        assert (await call(graph, "invoke", None, config))["plan"] == {"items": ["done once"]}
