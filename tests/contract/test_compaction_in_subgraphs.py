"""What a subgraph takes out comes back with its parent's list: nothing is told twice, every number is the journal's, and the log says why the list stays long."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from dalsegno.core.compaction import CompactionPolicy
from dalsegno.core.summary import Summary, numbers_in
from dalsegno.langgraph.compaction import compact, compaction_node, who_said

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}
POLICY = CompactionPolicy(max_messages=6, keep_recent=2)


class State(MessagesState):
    summary: dict[str, Any]


def nested(ds: Any, node: Any, *, own: bool) -> Any:
    """A graph whose only node is a graph that answers and compacts."""
    inner = StateGraph(State)
    inner.add_node("answer", lambda state: {"messages": [AIMessage(f"Order A-{len(state['messages'])} is noted.")]})
    inner.add_node("compact", node)
    inner.add_edge(START, "answer")
    inner.add_edge("answer", "compact")
    outer = StateGraph(State)
    outer.add_node("inner", inner.compile(checkpointer=True if own else None))
    outer.add_edge(START, "inner")
    return outer.compile(checkpointer=ds.checkpointer)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("with_ds", [True, False])
def test_what_comes_back_from_the_parent_is_not_told_again(ds, with_ds, own, caplog) -> None:
    graph = nested(ds, compaction_node(POLICY, ds=ds if with_ds else None), own=own)
    state: dict[str, Any] = {}
    for at in range(12):
        state = graph.invoke({"messages": [HumanMessage(f"Chair {at} costs ${at}.50.")]}, CONFIG)
    assert len(state["messages"]) == 24
    summary = Summary.from_json(state["summary"])
    kept = summary.facts.history()
    prices = [row.said.fact.text for row in kept if row.said.fact.text.startswith("$")]
    assert prices
    assert len(prices) == len(set(prices))
    if with_ds:
        told = set(numbers_in(summary.covered))
        assert told == set(range(1, len(told) + 1))
        for row in kept:
            event = who_said(ds, "t", int(row.said.coordinate.split()[0][1:]))
            assert event.coordinate == row.said.coordinate
            assert row.said.fact.text in event.text
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "Compact in the graph that holds them" in warnings[0].getMessage()


def test_no_warning_where_the_graph_that_holds_the_messages_compacts(ds, caplog) -> None:
    inner = StateGraph(MessagesState).add_node("answer", lambda _: {"messages": [AIMessage("noted")]})
    outer = StateGraph(State)
    outer.add_node("inner", inner.add_edge(START, "answer").compile())
    outer.add_node("compact", compaction_node(POLICY, ds=ds))
    outer.add_edge(START, "inner")
    outer.add_edge("inner", "compact")
    graph = outer.compile(checkpointer=ds.checkpointer)
    for at in range(12):
        state = graph.invoke({"messages": [HumanMessage(f"Chair {at} costs ${at}.50.")]}, CONFIG)
    assert len(state["messages"]) <= 6
    assert not caplog.records


def test_a_whole_history_given_again_with_its_summary_is_told_once() -> None:
    messages = [HumanMessage(f"Chair {at} costs ${at}.50.", id=f"m{at}") for at in range(12)]
    first = compact(messages, POLICY)
    more = [*messages, *(HumanMessage(f"Lamp {at} costs ${at}.75.", id=f"n{at}") for at in range(12))]
    second = compact(more, POLICY, summary=first.summary)
    assert second.changed
    assert not {message.id for message in second.evicted} & {message.id for message in first.evicted}
    texts = [row.said.fact.text for row in second.summary.facts.history()]
    assert len(texts) == len(set(texts))
    third = compact(
        [*more, *(HumanMessage(f"Bed {at}", id=f"o{at}") for at in range(9))], POLICY, summary=second.summary
    )
    assert not {message.id for message in third.evicted} & {message.id for message in [*first.evicted, *second.evicted]}
