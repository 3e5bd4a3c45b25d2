"""Play a script to its end on a thread, from wherever the thread stands.

Rules of this module:

* Where to go on is read from the thread and nowhere else: no side file, no counter. A thread with steps to run is
  resumed without an input; after that the number of its messages says which user turn comes next.
* A node execution has *finished* when its result is in the store. That is what a thread still knows after its process
  is gone, and it is read from the head: the messages in the state, and the results kept beside it for siblings whose
  superstep is not over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, ToolMessage

from dalsegno.demo.script import MODEL, TOOL, Script
from dalsegno.langgraph.resume import resume

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.types import PregelTask, StateSnapshot

__all__ = ["Head", "head_of", "play"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a thread stands.

    Attributes:
        messages: the conversation up to the last superstep that is over.
        open: whether the last superstep is unfinished. That may be so with nothing pending: the process was killed
            when all results were in the store, and the checkpoint that takes them up was not.
        pending: names of the nodes still to run, one for each execution.
        finished: (node, position) of every execution whose result is in the store, in the order of the transcript.
        siblings: those of `finished` whose superstep is not over: they wait for the pending ones.
        step: the last superstep that is over; None for a thread that does not exist.
    """

    messages: tuple[BaseMessage, ...]
    open: bool
    pending: tuple[str, ...]
    finished: tuple[tuple[str, int], ...]
    siblings: tuple[tuple[str, int], ...]
    step: int | None


def head_of(graph: CompiledStateGraph[Any, Any, Any, Any], thread_id: str) -> Head:
    """Read where a thread stands; a thread that does not exist stands before its first message."""
    snapshot = graph.get_state(_config(thread_id))
    results = [task for task in snapshot.tasks if task.result is not None]
    shown: tuple[BaseMessage, ...] = tuple(snapshot.values.get("messages", ()))
    messages = shown[: len(shown) - len(results)]  # a snapshot shows results before their superstep is over
    siblings = tuple((task.name, _position(task, len(messages))) for task in results)
    finished = [
        (MODEL if isinstance(message, AIMessage) else TOOL, position)
        for position, message in enumerate(messages)
        if isinstance(message, AIMessage | ToolMessage)
    ]
    if messages and not snapshot.tasks and not isinstance(messages[-1], AIMessage):
        finished.append((MODEL, len(messages)))  # it ran and had nothing to say, which ended the turn
    return Head(
        messages=messages,
        open=bool(snapshot.tasks),
        pending=tuple(task.name for task in snapshot.tasks if task.result is None),
        finished=(*finished, *siblings),
        siblings=siblings,
        step=_step(snapshot),
    )


def play(
    graph: CompiledStateGraph[Any, Any, Any, Any],
    script: Script,
    thread_id: str,
    *,
    at_rest: Callable[[int], None] = lambda _position: None,
    siblings: int = 0,
) -> None:
    """Play on to the end of the script.

    Args:
        graph: the agent.
        script: what is said.
        thread_id: the thread; it may be new, idle, in mid-turn or at its end.
        at_rest: told after each turn how many messages the thread holds.
        siblings: how many errands of one step may have to wait for each other; gives each of them a worker.

    Raises:
        Misuse: the thread was played from another transcript.
    """
    config = _config(thread_id) | {
        "recursion_limit": 2 * len(script) + 10,
        "max_concurrency": siblings + 8,
    }
    if head_of(graph, thread_id).open:
        resume(graph, thread_id, config=config)
    while incoming := script.turn_at(script.follow(head_of(graph, thread_id).messages)):
        graph.invoke({"messages": list(incoming)}, config, durability="sync")
        at_rest(len(head_of(graph, thread_id).messages))


def _config(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}


def _position(task: PregelTask, count: int) -> int:
    """Index of the message that a task yields: the model's comes next, an errand's is as far on as its place."""
    return count + (int(str(task.path[1])) if task.name == TOOL else 0)


def _step(snapshot: StateSnapshot) -> int | None:
    return (snapshot.metadata or {}).get("step")
