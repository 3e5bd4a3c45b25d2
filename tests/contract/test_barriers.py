"""What a join has seen is stored as of its checkpoint, however late that is written, so that it runs after its parts."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

import dalsegno
from dalsegno.connect import open_store
from dalsegno.testing import connect_over

CONFIG = {"configurable": {"thread_id": "t"}}


class Slow:
    """A store whose commits take so long that a run is a step ahead of them."""

    def __init__(self) -> None:
        self.store = open_store("memory://")
        self.url = self.store.url

    def run(self, factory: Any, *, write: bool, key: Any = None) -> Any:
        time.sleep(0.03 if write else 0)
        return self.store.run(factory, write=write, key=key)

    async def arun(self, factory: Any, *, write: bool, key: Any = None) -> Any:
        await asyncio.sleep(0.03 if write else 0)
        return await self.store.arun(factory, write=write, key=key)

    def confine(self, *, tenant: int | None, name: str) -> None:
        """One tenant is as good as another here."""

    def close(self) -> None:
        self.store.close()

    async def aclose(self) -> None:
        await self.store.aclose()


def joined(saver: Any, *, staggered: bool, deferred: bool) -> Any:
    """`c` waits for `a` and `b`, which come in one step or in two."""
    builder = StateGraph(MessagesState)
    for name in ("a", "between", "b", "c"):
        builder.add_node(
            name,
            lambda state, name=name: {"messages": [AIMessage(name, id=f"{name}{len(state['messages'])}")]},
            defer=deferred and name == "c",
        )
    builder.add_edge(START, "a")
    if staggered:
        builder.add_edge(START, "between")
        builder.add_edge("between", "b")
    else:
        builder.add_edge(START, "b")
    builder.add_edge(["a", "b"], "c")
    builder.add_edge("c", END)
    return builder.compile(checkpointer=saver)


def stored(ds: Any) -> list[Any]:
    """Steps with what the join has seen, oldest first."""
    history = [
        (
            found.metadata["step"],
            found.checkpoint["channel_values"].get("join:a+b:c"),
            found.checkpoint["channel_versions"].get("join:a+b:c"),
        )
        for found in ds.checkpointer.list(CONFIG)
    ]
    return history[::-1]


@pytest.mark.parametrize("deferred", [False, True], ids=["plain", "deferred"])
@pytest.mark.parametrize("staggered", [False, True], ids=["in one step", "in two steps"])
async def test_a_late_write_stores_what_an_early_one_would(staggered, deferred, call):
    histories = []
    for durability in ("sync", "async"):
        with connect_over(Slow()) as ds:
            graph = joined(ds.checkpointer, staggered=staggered, deferred=deferred)
            for turn in range(3):
                question = {"messages": [HumanMessage("q", id=f"q{turn}")]}
                await call(graph, "invoke", question, CONFIG, durability=durability)
            histories.append(stored(ds))
    assert histories[0] == histories[1]
    assert len({str(seen) for _, seen, _ in histories[0]}) > 2


@pytest.mark.parametrize("staggered", [False, True], ids=["in one step", "in two steps"])
def test_a_run_resumed_from_any_of_its_checkpoints_joins_after_the_parts(staggered, tmp_path):
    """Each checkpoint is taken for the last thing a dead process wrote: what comes after it is the same as then."""
    with connect_over(Slow()) as ds:
        graph = joined(ds.checkpointer, staggered=staggered, deferred=False)
        for turn in range(2):
            graph.invoke({"messages": [HumanMessage("q", id=f"q{turn}")]}, CONFIG, durability="async")
        whole = [message.id for message in graph.get_state(CONFIG).values["messages"]]
        for found in list(ds.checkpointer.list(CONFIG)):
            if found.metadata["step"] > len(stored(ds)) // 2 - 1:
                again = dalsegno.fork(graph, "t", found.config["configurable"]["checkpoint_id"])
                assert [message.id for message in again["messages"]] == whole
