"""A run with one tool call that does something to a world of its own, for processes that are killed in it.

The world is an SQLite file beside the database under test. An effect is one row, which is there or not there: that is
what the reconciler asks, and what the tests count.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
from datetime import timedelta
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from dalsegno import ActionPolicy, Happened, NotHappened
from dalsegno.langgraph.tools import ActionToolNode

LEASE = timedelta(milliseconds=150)
CONFIG: Any = {"configurable": {"thread_id": "act 行"}}
CALL = {"name": "refund", "args": {"order": "A-1", "amount": 12.5}, "id": "call-1"}


def effects(world: str, of: str) -> int:
    """How often the world was changed on behalf of someone."""
    with contextlib.closing(sqlite3.connect(world)) as db:
        db.execute("CREATE TABLE IF NOT EXISTS effects (of TEXT, what TEXT)")
        return int(db.execute("SELECT count(*) FROM effects WHERE of = ?", (of,)).fetchone()[0])


def play(ds: Any, world: str, *, die: str | None, looks: bool, answer: Any, face: str, seen: list[Any]) -> list[Any]:
    """Bring the run as far as it comes; `["asked", question]` or `["done", answers]`."""

    def change(order: str, amount: float) -> str:
        seen.append(order)
        with contextlib.closing(sqlite3.connect(world, timeout=60)) as db:
            db.execute("CREATE TABLE IF NOT EXISTS effects (of TEXT, what TEXT)")
            db.execute("INSERT INTO effects VALUES (?, ?)", (ds.tenant, order))
            if die == "in":
                os.kill(os.getpid(), signal.SIGKILL)
            db.commit()
            if die == "after":
                os.kill(os.getpid(), signal.SIGKILL)
        return f"refunded {amount} for {order}"

    @tool
    def refund(order: str, amount: float) -> str:
        """Refund an order."""
        return change(order, amount)

    def look(action: Any) -> Any:
        return Happened(result="refunded, says the world") if effects(world, ds.tenant) else NotHappened()

    policy = ActionPolicy(kind="update", lease=LEASE, reconcile=look if looks else None)
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ActionToolNode([refund], ds=ds, actions={"refund": policy}))
    builder.add_edge(START, "tools")
    graph = builder.compile(checkpointer=ds.checkpointer)
    first = {"messages": [HumanMessage("refund A-1", id="h"), AIMessage("", tool_calls=[CALL], id="a")]}

    def given(state: Any) -> Any:
        return Command(resume=answer) if answer else None if state.tasks else first

    if face == "async":

        async def arun() -> Any:
            state = await graph.aget_state(CONFIG)
            return state.values if _over(state) else await graph.ainvoke(given(state), CONFIG, durability="sync")

        found = asyncio.run(arun())
    else:
        state = graph.get_state(CONFIG)
        found = state.values if _over(state) else graph.invoke(given(state), CONFIG, durability="sync")
    if asked := found.get("__interrupt__"):
        return ["asked", asked[0].value]
    return ["done", [message.content for message in found["messages"] if isinstance(message, ToolMessage)]]


def _over(state: Any) -> bool:
    return not state.tasks and any(isinstance(message, ToolMessage) for message in state.values.get("messages", []))
