"""Where a call is made: its thread, its step, and whether a person can be asked there.

Rules of this module:

* Inside a LangGraph run the run's config says which thread and task it is. A tool call's own id is the better step: the
  tool node and the middleware set it, or the function takes it as an injected argument.
* Outside of a run, `within` says it. What is said closest to the call counts.
* Everything read here is LangGraph's public word, but for the keys of `configurable` that name task and scratchpad.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config
from langgraph._internal._constants import CONFIG_KEY_CHECKPOINTER, CONFIG_KEY_SCRATCHPAD, CONFIG_KEY_TASK_ID
from langgraph.types import interrupt

from dalsegno.langgraph.config import fence_of
from dalsegno.services.ids import thread_name

__all__ = ["Place", "ask", "here", "within"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a call is made.

    Attributes:
        thread: the thread's id; None when nobody said.
        step: id of the tool call or task; None when there is none.
        task: LangGraph's id of the task, the same each time its step is run again; None outside of a run.
        fence: fencing token of the run's lease.
        can_ask: whether the run can be interrupted for a person's answer.
    """

    thread: str | None = None
    step: str | None = None
    task: str | None = None
    fence: int | None = None
    can_ask: bool = False


_SAID: ContextVar[Place | None] = ContextVar("dalsegno_place", default=None)
_TURNS = threading.Lock()


def here(tool_call_id: str | None = None) -> Place:
    """The place of a call that is made now."""
    conf: dict[str, Any] = (var_child_runnable_config.get() or {}).get("configurable") or {}
    found = Place()
    if conf.get("thread_id") is not None:
        task = conf.get(CONFIG_KEY_TASK_ID)
        found = Place(
            thread=thread_name(conf["thread_id"]),
            step=None if task is None else f"task {task}",
            task=None if task is None else str(task),
            fence=fence_of(conf),
            can_ask=conf.get(CONFIG_KEY_SCRATCHPAD) is not None and bool(conf.get(CONFIG_KEY_CHECKPOINTER)),
        )
    said = _SAID.get()
    if said is not None:
        found = replace(
            found,
            thread=said.thread or found.thread,
            step=said.step or found.step,
            fence=found.fence if said.fence is None else said.fence,
        )
    return found if tool_call_id is None else replace(found, step=f"call {tool_call_id}")


@contextmanager
def within(thread: str | None = None, *, step: str | None = None, fence: int | None = None) -> Iterator[None]:
    """Say where the calls inside are made."""
    outer = _SAID.get() or Place()
    inner = Place(thread=thread or outer.thread, step=step or outer.step, fence=outer.fence if fence is None else fence)
    token = _SAID.set(inner)
    try:
        yield
    finally:
        _SAID.reset(token)


def ask(question: dict[str, Any]) -> Any:
    """Interrupt the run with a question, or return the answer that it was resumed with.

    Calls of one task take turns, because LangGraph counts its answers and does not expect several threads at it.
    """
    with _TURNS:
        return interrupt(question)
