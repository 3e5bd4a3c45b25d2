"""The run that is killed: parallel branches, sends, a subgraph, two turns; every node says so when it starts.

A node's message carries an id made of its own name, its argument and the turn. So the messages of a run tell which
nodes' writes are in the database, and the log tells which nodes have started, how often and in which process.

Whether a run is unfinished is asked of `state.tasks`: LangGraph's `state.next` leaves out tasks whose writes are there
already, so it is empty for a run that died between its last task's writes and the checkpoint that takes them in.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send

import dalsegno

TURNS = 2
_MOST = 6


def build(saver: Any, log: Path) -> Any:
    """The graph, writing the start of each node to the log."""

    def speak(node: str, turn: int, argument: str = "") -> dict[str, list[AnyMessage]]:
        name = ":".join(filter(None, (node, argument, str(turn))))
        with log.open("ab", buffering=0) as file:
            file.write(f"{os.getpid()} {name}\n".encode())
        return {"messages": [AIMessage(f"{name} 说: " + "noted, 已记录. " * 30, id=name)]}

    def turn_of(state: MessagesState) -> int:
        return sum(isinstance(message, HumanMessage) for message in state["messages"])

    def plain(node: str) -> Any:
        return lambda state: speak(node, turn_of(state))

    def spread(state: MessagesState) -> list[Send]:
        return [Send("worker", {"argument": f"a{n}", "turn": turn_of(state)}) for n in range(3)]

    inner = StateGraph(MessagesState)
    inner.add_node("read", plain("read"))
    inner.add_node("write", plain("write"))
    inner.add_edge(START, "read")
    inner.add_edge("read", "write")

    outer = StateGraph(MessagesState)
    outer.add_node("left", plain("left"))
    outer.add_node("right", plain("right"))
    outer.add_node("plan", plain("plan"))
    outer.add_node("worker", lambda task: speak("worker", task["turn"], task["argument"]))
    outer.add_node("inner", inner.compile())
    outer.add_node("close", plain("close"))
    outer.add_edge(START, "left")
    outer.add_edge(START, "right")
    outer.add_edge(["left", "right"], "plan")
    outer.add_conditional_edges("plan", spread, ["worker"])
    outer.add_edge("worker", "inner")
    outer.add_edge("inner", "close")
    outer.add_edge("close", END)
    return outer.compile(checkpointer=saver)


def play(ds: dalsegno.Dalsegno, thread: str, log: Path, face: str, durability: str) -> list[list[Any]]:
    """Bring the thread to the end of its last turn from wherever it stands, and return its messages."""
    graph = build(ds.checkpointer, log)
    if face == "async":
        return asyncio.run(_aplay(graph, thread, durability))
    config = {"configurable": {"thread_id": thread}}
    for _ in range(_MOST):
        state = graph.get_state(config)
        if state.tasks:
            dalsegno.resume(graph, thread, config={"metadata": {"way": "resumed"}}, durability=durability)
            continue
        turn = _turns(state) + 1
        if turn > TURNS:
            return _said(state)
        graph.invoke(_question(turn), config, durability=durability)
    raise AssertionError(f"the run does not come forward: {state}")


async def _aplay(graph: Any, thread: str, durability: str) -> list[list[Any]]:
    config = {"configurable": {"thread_id": thread}}
    for _ in range(_MOST):
        state = await graph.aget_state(config)
        if state.tasks:
            await dalsegno.aresume(graph, thread, config={"metadata": {"way": "resumed"}}, durability=durability)
            continue
        turn = _turns(state) + 1
        if turn > TURNS:
            return _said(state)
        await graph.ainvoke(_question(turn), config, durability=durability)
    raise AssertionError(f"the run does not come forward: {state}")


def _question(turn: int) -> dict[str, list[AnyMessage]]:
    return {"messages": [HumanMessage(f"turn {turn}: what differs? 有何不同?", id=f"question:{turn}")]}


def _turns(state: Any) -> int:
    return sum(isinstance(message, HumanMessage) for message in state.values.get("messages", []))


def _said(state: Any) -> list[list[Any]]:
    return [[message.type, message.id, message.content] for message in state.values["messages"]]
