"""A thread that waits says so: which nodes are still to run, which of them are done, and what is asked."""

from __future__ import annotations

from typing import Annotated

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

import dalsegno


class State(TypedDict, total=False):
    seen: Annotated[list, lambda old, new: old + new]


@pytest.fixture
def waiting(url) -> None:
    """`alone` asks in its only node; `pair` asks in one of two, and the other has finished; `nested` asks below."""

    def ask(state: State):
        return {"seen": [interrupt({"question": "Refund 78?", "amount": 78})]}

    def work(state: State):
        return {"seen": ["worked"]}

    def played(ds, thread_id: str, **nodes) -> None:
        graph = StateGraph(State)
        for name, node in nodes.items():
            graph.add_node(name, node)
            graph.add_edge(START, name)
        graph = graph.compile(checkpointer=ds.checkpointer)
        graph.invoke({"seen": ["hello"]}, {"configurable": {"thread_id": thread_id}})

    with dalsegno.connect(url) as ds:
        played(ds, "alone", ask=ask)
        played(ds, "pair", ask=ask, work=work)
        inner = StateGraph(State)
        inner.add_node("ask", ask)
        inner.add_edge(START, "ask")
        played(ds, "nested", inner=inner.compile())


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize("command", ["checkpoints", "state"])
def test_the_question_is_shown(run, command):
    out = run(command, "alone").out
    assert out.count("asks: ") == 1
    assert "Refund 78?" in out
    assert "next: ask" in out
    assert "finished and kept" not in out


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize("command", ["checkpoints", "state"])
def test_only_what_finished_is_counted_as_finished(run, command):
    out = run(command, "pair").out
    assert out.count("(1 of them finished and kept)") == 1
    assert out.count("Refund 78?") == 1


@pytest.mark.usefixtures("waiting")
def test_a_program_reads_the_question(run):
    head = run("checkpoints", "pair", "--json").json[0]
    assert head["finished"] == 1
    assert [question["question"] for question in head["interrupts"]] == ["Refund 78?"]


def test_a_thread_that_waits_for_nothing_says_nothing(run):
    assert "next: " not in run("state", "t-1").out
    assert "asks: " not in run("checkpoints", "t-1").out


@pytest.mark.usefixtures("waiting")
def test_a_checkpoint_of_a_subgraph_is_looked_at_like_any_other(run):
    every = run("checkpoints", "nested", "--json").json
    inner = [each["checkpoint_id"] for each in every if each["ns"]]
    assert len(inner) == 2
    state = run("state", "nested", "--checkpoint", inner[0])
    assert state.code == 0
    assert "next: ask" in state.out
    assert run("diff", *inner, "--thread", "nested").code == 0
    for place, each in enumerate(every, 1):
        older = run("checkpoints", "nested", "--before", each["checkpoint_id"], "--limit", 1, "--json").json
        assert older == every[place : place + 1]


@pytest.mark.usefixtures("waiting")
def test_events_are_not_those_of_a_subgraph(run):
    inner = next(each for each in run("checkpoints", "nested", "--json").json if each["ns"])
    answer = run("show", "nested", "--checkpoint", inner["checkpoint_id"])
    assert answer.code == 3
    assert f"belongs to the subgraph '{inner['ns']}'" in answer.err
