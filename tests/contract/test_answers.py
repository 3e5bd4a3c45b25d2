"""An answer that was given is not asked for again, and an answer is never taken for another."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt
from typing_extensions import TypedDict

import dalsegno


class State(TypedDict):
    log: Annotated[list, operator.add]


class Crash(BaseException):
    """Stands for a process that ends: nothing catches it."""


def two(ds: Any, crash: set[str]) -> Any:
    def ask(task: dict[str, str]) -> dict[str, Any]:
        answer = interrupt(f"Ship {task['what']}?")
        if task["what"] in crash:
            raise Crash
        return {"log": [(task["what"], answer)]}

    builder = StateGraph(State).add_node(ask)
    builder.add_conditional_edges(START, lambda _: [Send("ask", {"what": "A"}), Send("ask", {"what": "B"})], ["ask"])
    return builder.compile(checkpointer=ds.checkpointer)


CONFIG = {"configurable": {"thread_id": "t"}}


def test_a_call_repeated_after_a_crash_uses_the_answers_that_still_wait(ds):
    crash = {"B"}
    graph = two(ds, crash)
    waiting = graph.invoke({"log": []}, CONFIG)["__interrupt__"]
    answers = {one.id: "yes" if "A" in one.value else "no" for one in waiting}
    with pytest.raises(Crash):
        dalsegno.resume(graph, "t", answers)
    crash.clear()
    done = dalsegno.resume(two(ds, set()), "t", answers)
    assert sorted(done["log"]) == [("A", "yes"), ("B", "no")]


def test_ids_of_no_waiting_interrupt_are_no_answer(ds):
    graph = two(ds, set())
    waiting = graph.invoke({"log": []}, CONFIG)["__interrupt__"]
    with pytest.raises(dalsegno.errors.Misuse, match="none of these interrupts waits"):
        dalsegno.resume(graph, "t", {"0" * 32: "yes"})
    dalsegno.resume(graph, "t", {waiting[0].id: "yes"})
    with pytest.raises(dalsegno.errors.Misuse, match="none of these interrupts waits"):
        dalsegno.resume(graph, "t", {"0" * 32: "yes"})
    assert len(dalsegno.resume(graph, "t", {"free": "form"})["log"]) == 2


def test_a_single_answer_survives_a_crash_of_the_node_it_went_to(ds):
    crash = [True]

    def ask(_: State) -> dict[str, Any]:
        answer = interrupt("Approve?")
        if crash:
            raise Crash
        return {"log": [answer]}

    graph = StateGraph(State).add_node(ask).add_edge(START, "ask").compile(checkpointer=ds.checkpointer)
    graph.invoke({"log": []}, CONFIG)
    with pytest.raises(Crash):
        dalsegno.resume(graph, "t", "yes")
    crash.clear()
    assert dalsegno.resume(graph, "t")["log"] == ["yes"]
