"""What was written about each span is kept beside the journal: by whom, under which policy, on which branch; and goes with its thread."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

import dalsegno
from dalsegno.core.compaction import CompactionPolicy, Settled
from dalsegno.core.summary import Summary, numbers_in, ranges_of
from dalsegno.errors import LeaseHeld, ThreadNotFound
from dalsegno.langgraph.compaction import compaction_node, regenerate
from dalsegno.testing import differences, snapshot

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}
POLICY = CompactionPolicy(max_messages=10, keep_recent=4)


class State(MessagesState):
    summary: dict[str, Any]


def graph_of(ds: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("answer", lambda state: {"messages": [AIMessage(f"Noted as A-{len(state['messages'])}.")]})
    builder.add_node("compact", compaction_node(POLICY, ds=ds))
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "compact")
    return builder.compile(checkpointer=ds.checkpointer)


def talk(graph: Any, turns: int, config: Any = CONFIG) -> Any:
    state = None
    for at in range(turns):
        state = graph.invoke({"messages": [HumanMessage(f"Order {at} chairs at ${at}.50, 预算五万元.")]}, config)
    return state


def test_each_compaction_leaves_a_row(ds) -> None:
    state = talk(graph_of(ds), 15)
    rows = ds.summaries.of("t")
    assert len(rows) >= 2
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    covered = ranges_of(number for row in rows for number in numbers_in(row.covered))
    assert covered == Summary.from_json(state["summary"]).covered
    for row in rows:
        assert (row.first, row.last) == (row.covered[0][0], row.covered[-1][1])
        assert row.writer == "extract"
        assert CompactionPolicy.from_json(row.policy) == POLICY
        assert abs(datetime.now(UTC) - row.at) < timedelta(minutes=5)
        assert "Order" in row.text
    said = [row.said for entry in rows for row in entry.facts.history()]
    assert said == [row.said for row in Summary.from_json(state["summary"]).facts.history()]


async def test_the_same_in_an_async_graph(ads) -> None:
    graph = graph_of(ads)
    for at in range(8):
        await graph.ainvoke({"messages": [HumanMessage(f"Order {at} chairs.")]}, CONFIG)
    assert len(await ads.summaries.aof("t")) >= 1


def test_one_written_again_is_another_row(ds) -> None:
    talk(graph_of(ds), 8)
    before = ds.summaries.of("t")
    again = regenerate(ds, "t", (1, 4), CompactionPolicy(digest_tokens=200))
    assert isinstance(again, Settled)
    ds.summaries.keep("t", again)
    *kept, new = ds.summaries.of("t")
    assert kept == before
    assert (new.first, new.last) == (1, 4)
    assert new.policy["digest_tokens"] == 200


def test_a_fork_has_the_rows_of_its_lineage(ds) -> None:
    graph = graph_of(ds)
    talk(graph, 6)
    early = len(ds.summaries.of("t"))
    checkpoint = graph.get_state(CONFIG).config["configurable"]["checkpoint_id"]
    talk(graph, 8)
    assert len(ds.summaries.of("t")) > early
    dalsegno.fork(graph, "t", checkpoint, {"messages": [HumanMessage("Another way.")]})
    assert len(ds.summaries.of("t")) == early


def test_they_go_with_their_thread_and_into_its_copy(ds) -> None:
    talk(graph_of(ds), 8)
    rows = ds.summaries.of("t")
    ds.threads.copy("t", "copy")
    assert ds.summaries.of("copy") == rows
    assert differences(snapshot(ds, "t"), snapshot(ds, "copy")) == []
    ds.threads.delete("t")
    with pytest.raises(ThreadNotFound):
        ds.summaries.of("t")
    left = snapshot(ds, "t")
    assert left is not None
    assert left["summaries"] == []
    assert ds.threads.check().clean


def test_another_users_are_not_there(store_url) -> None:
    if store_url == "memory://":
        pytest.skip("a database in memory has one connection")
    with dalsegno.connect(store_url, user="ana") as mine, dalsegno.connect(store_url, user="bo") as theirs:
        talk(graph_of(mine), 8)
        assert mine.summaries.of("t")
        with pytest.raises(ThreadNotFound):
            theirs.summaries.of("t")


def test_under_a_lease_they_are_written_with_its_token(ds) -> None:
    graph = graph_of(ds)
    talk(graph, 1)
    with ds.runs.lease("t", timedelta(seconds=60)) as lease:
        talk(graph, 8, lease.config)
        assert ds.summaries.of("t")
        again = regenerate(ds, "t", (1, 4))
        assert isinstance(again, Settled)
        with pytest.raises(LeaseHeld):
            ds.summaries.keep("t", again)
        ds.summaries.keep("t", again, lease=lease)


def test_one_that_cannot_be_written_down_is_logged_and_the_run_goes_on(ds, monkeypatch, caplog) -> None:
    def refuse(*args: Any, **settings: Any) -> None:
        raise LeaseHeld("another run")

    monkeypatch.setattr(ds.summaries, "keep", refuse)
    with caplog.at_level(logging.WARNING, "dalsegno.compaction"):
        state = talk(graph_of(ds), 8)
    assert len(state["messages"]) <= 10
    assert "another run" in caplog.text
    assert ds.summaries.of("t") == []
