"""A run that goes on, or on from earlier, is written as often as its caller asks."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

import dalsegno

CONFIG = {"configurable": {"thread_id": "t"}}


def asking(saver: Any) -> Any:
    """Asks a question, then takes three steps."""
    builder = StateGraph(MessagesState)
    builder.add_node("ask", lambda state: {"messages": [("human", interrupt("name?"))]})
    previous = "ask"
    for name in ("one", "two", "three"):
        builder.add_node(name, lambda state, name=name: {"messages": [("ai", name)]})
        builder.add_edge(previous, name)
        previous = name
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize(("durability", "more"), [("sync", 4), ("async", 4), (None, 4), ("exit", 1)])
async def test_a_resume_and_a_fork_take_the_durability_of_their_caller(durability, more, ads, call):
    graph = asking(ads.checkpointer)
    await call(graph, "invoke", {"messages": [("human", "hello")]}, CONFIG, durability="sync")
    stands = ads.threads.checkpoints("t")
    await call(dalsegno, "resume", graph, "t", "Mara", durability=durability)
    assert len(ads.threads.checkpoints("t")) == len(stands) + more
    waits = ads.threads.checkpoints("t")[-len(stands)].checkpoint_id
    answered = ads.threads.checkpoints("t")[-len(stands) - 1].checkpoint_id if more > 1 else None
    if answered is not None:
        before = len(ads.threads.checkpoints("t"))
        await call(dalsegno, "fork", graph, "t", answered, durability="exit")
        assert len(ads.threads.checkpoints("t")) == before + 1
    assert waits == stands[0].checkpoint_id
