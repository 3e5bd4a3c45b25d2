"""Where a thread stands is one word, the same on every store: what to do next is read off it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

import dalsegno
from dalsegno.errors import Misuse, ThreadNotFound
from dalsegno.faces.threads import Status


def config(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


def agent(saver: Any, *, nested: bool = False, **settings: Any) -> Any:
    """One node that asks, fails or answers, as the message says; in a subgraph if `nested`."""

    def node(state: MessagesState) -> dict[str, Any]:
        text = state["messages"][-1].content
        if text == "ask":
            return {"messages": [AIMessage(str(interrupt("sure?")))]}
        if text == "fail":
            raise RuntimeError(text)
        return {"messages": [AIMessage("done")]}

    builder = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node")
    if nested:
        builder = StateGraph(MessagesState).add_node("outer", builder.compile()).add_edge(START, "outer")
    return builder.compile(checkpointer=saver, **settings)


async def test_a_word_for_each_state_of_a_thread(ads, call):
    graph, nested = agent(ads.checkpointer), agent(ads.checkpointer, nested=True)
    stopping = agent(ads.checkpointer, interrupt_before=["node"])
    for thread, runs, text in (
        ("over", graph, "hi"), ("asks", graph, "ask"), ("asks inside", nested, "ask"), ("stops", stopping, "hi"),
    ):  # fmt: skip
        await call(runs, "invoke", {"messages": [("user", text)]}, config(thread))
    with pytest.raises(RuntimeError):
        await call(graph, "invoke", {"messages": [("user", "fail")]}, config("fails"))
    await call(ads.journal, "append", "noted", "note", "me", "x")
    await call(graph, "invoke", {"messages": [("user", "hi")]}, config("gone"))
    await call(ads.threads, "delete", "gone")
    await call(graph, "invoke", {"messages": [("user", "ask")]}, config("runs"))
    lease = await call(ads.runs, "lease", "runs", timedelta(seconds=60))
    expected = {
        "over": Status.FINISHED, "asks": Status.INTERRUPTED, "asks inside": Status.INTERRUPTED,
        "stops": Status.UNFINISHED, "fails": Status.FAILED, "noted": Status.EMPTY, "gone": Status.DELETED,
        "runs": Status.RUNNING,
    }  # fmt: skip
    assert await call(ads.threads, "status", *expected) == expected
    await call(lease, "release")
    assert await call(ads.threads, "status", "runs") == {"runs": "interrupted"}
    await call(dalsegno, "resume", graph, "asks", "yes")
    assert await call(ads.threads, "status", "asks") == {"asks": "finished"}
    assert await call(ads.threads, "status") == {}
    with pytest.raises(ThreadNotFound):
        await call(ads.threads, "status", "over", "unknown")


def test_another_users_thread_has_no_status(store_url):
    if store_url == "memory://":
        pytest.skip("every connection to memory is a database of its own")
    with dalsegno.connect(store_url, user="ann") as ds:
        ds.journal.append("hers", "note", "ann", "x")
        ds.threads.delete("hers")
    with dalsegno.connect(store_url, user="bob") as ds, pytest.raises(ThreadNotFound):
        ds.threads.status("hers")


async def test_pruning_keeps_as_many_as_asked_for(ads, call):
    graph = agent(ads.checkpointer, nested=True)
    for _ in range(3):
        await call(graph, "invoke", {"messages": [("user", "hi")]}, config("t"))
    before = await call(ads.threads, "checkpoints", "t")
    assert await call(ads.threads, "prune", "t", 3) == sum(
        max(0, sum(each.ns == ns for each in before) - 3) for ns in {each.ns for each in before}
    )
    left = await call(ads.threads, "checkpoints", "t")
    assert [each.checkpoint_id for each in left if not each.ns] == [
        each.checkpoint_id for each in before if not each.ns
    ][:3]
    assert len(await call(ads.journal, "read", "t")) == 6
    assert ads.threads.check().clean
    for wrong in (0, -1, True, "2"):
        with pytest.raises(Misuse):
            await call(ads.threads, "prune", "t", wrong)
    with pytest.raises(ThreadNotFound):
        await call(ads.threads, "prune", "unknown")
