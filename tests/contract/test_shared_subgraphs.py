"""A subgraph with one history for a thread takes one call at a time; two at once are refused in its own words."""

from __future__ import annotations

import operator
import time
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from dalsegno.errors import HeadMoved, SubgraphShared

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    ways: int


class Job(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    number: int


def graph(saver: Any, *, depth: int = 1, **settings: Any) -> Any:
    """A fan-out by `Send` into one subgraph, which may stand in another one."""
    inner = StateGraph(Job)
    inner.add_node("write", lambda state: time.sleep(0.05) or {"log": [f"written {state['number']}"]})
    inner.add_node("sign", lambda state: {"log": [f"signed {state['number']}"]})
    inner.add_edge(START, "write").add_edge("write", "sign")
    outer = StateGraph(State, output_schema=TypedDict("Out", {"log": Annotated[list[str], operator.add]}))
    outer.add_node("clerk", lambda state, config: {"log": compiled.invoke(state, config)["log"]})
    outer.add_conditional_edges(
        START, lambda state: [Send("clerk", {"number": n, "log": []}) for n in range(state["ways"])], ["clerk"]
    )
    compiled = inner.compile(**settings)
    if depth > 1:
        middle = StateGraph(State)
        middle.add_node("office", outer.compile())
        middle.add_edge(START, "office")
        return middle.compile(checkpointer=saver)
    return outer.compile(checkpointer=saver)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("depth", [1, 2])
async def test_two_calls_at_once_into_one_history_are_refused(ads, call, depth, durability):
    app = graph(ads.checkpointer, depth=depth, checkpointer=True)
    with pytest.raises(SubgraphShared) as caught:
        await call(app, "invoke", {"ways": 3, "log": []}, CONFIG, durability=durability)
    error = caught.value
    assert error.ns.rpartition("|")[2] == "clerk"
    for part in ("'t'", "'clerk'" if depth == 1 else "clerk'", "checkpointer=True", "`Send`"):
        assert part in str(error)
    assert isinstance(error, HeadMoved)
    assert ads.threads.check().clean


async def test_one_call_after_another_goes_on_in_one_history(ads, call):
    app = graph(ads.checkpointer, checkpointer=True)
    for _ in range(2):
        found = await call(app, "invoke", {"ways": 1, "log": []}, CONFIG)
    assert found["log"] == ["written 0", "signed 0"] * 3  # the second call gives back what the first one left, too


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_going_back_before_the_first_call_begins_the_history_anew(ds, durability):
    app = graph(ds.checkpointer, checkpointer=True)
    app.invoke({"ways": 1, "log": []}, CONFIG, durability="sync")
    (start,) = [each for each in app.get_state_history(CONFIG) if each.next == ("clerk",)]
    for _ in range(2):
        assert app.invoke(None, start.config, durability=durability)["log"] == ["written 0", "signed 0"]
    assert app.invoke({"ways": 1, "log": []}, CONFIG, durability=durability)["log"] == ["written 0", "signed 0"] * 3
    assert ds.threads.check().clean


async def test_many_calls_at_once_with_a_history_each_are_fine(ads, call):
    app = graph(ads.checkpointer)
    found = await call(app, "invoke", {"ways": 5, "log": []}, CONFIG)
    assert sorted(found["log"]) == sorted([f"{done} {n}" for n in range(5) for done in ("written", "signed")])
    assert ads.threads.check().clean


def test_a_root_graphs_moved_head_is_no_subgraphs(ds, put):
    config = put(ds, "t", n=1)
    put(ds, "t", config, n=2)
    with pytest.raises(HeadMoved) as caught:
        put(ds, "t", config, n=3)
    assert type(caught.value) is HeadMoved
