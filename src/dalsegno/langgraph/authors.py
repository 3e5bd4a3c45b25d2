"""Which node wrote a message, where the step itself was not seen: remembered from the pending writes.

A task's writes are saved before or beside the checkpoint that merges them; a message keeps its identity on the way (and
gets its id there). Sends are known by their place in the checkpoint's task list. What a run was seen to write (`steps`)
comes first: these writes may be saved too late to tell.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Overwrite

__all__ = ["Authors", "messages_in", "writer_of"]

_MOST = 512
_LATE = re.compile(r"~~[0-9]{10}")
"""What LangGraph puts before the path of a task whose step was not saved (`durability="exit"`)."""


class Authors:
    """Messages in pending writes, with the node of the task that wrote them; bounded."""

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._lock = threading.Lock()
        self._written: OrderedDict[tuple[str, str], list[tuple[BaseMessage, str]]] = OrderedDict()  # with their paths
        self._sends: OrderedDict[tuple[str, str], list[str]] = OrderedDict()
        self._applied: OrderedDict[tuple[str, str], None] = OrderedDict()

    def note_sends(self, thread: str, checkpoint_id: str, nodes: list[str]) -> None:
        """Remember which node each waiting `Send` of a checkpoint is for."""
        if nodes:
            with self._lock:
                _keep(self._sends, (thread, checkpoint_id), nodes)

    def note(self, thread: str, checkpoint_id: str, path: str, writes: Iterable[tuple[str, Any]]) -> None:
        """Remember the messages in a task's writes.

        Args:
            thread: thread id.
            checkpoint_id: the checkpoint the task runs on.
            path: the task's path (`~__pregel_pull, model`, `~__pregel_push, 0000000001`).
            writes: (channel, value) pairs.
        """
        messages = [message for _, value in writes for message in messages_in(value)]
        if not messages:
            return
        with self._lock:
            if (thread, checkpoint_id) in self._applied:
                return  # stored late, after the checkpoint that merged it: nobody asks any more
            known = self._written.get((thread, checkpoint_id), [])
            _keep(self._written, (thread, checkpoint_id), known + [(message, path) for message in messages])

    def of(self, thread: str, parent_id: str | None) -> list[tuple[BaseMessage, str]]:
        """Messages written on a checkpoint, with their nodes.

        Asked for when the next checkpoint is put: this one is stored by then, so its sends are known.
        """
        if parent_id is None:
            return []
        with self._lock:
            written = self._written.get((thread, parent_id), [])
            named = [(message, self._node(thread, parent_id, path)) for message, path in written]
        return [(message, node) for message, node in named if node is not None]

    def applied(self, thread: str, parent_id: str | None) -> None:
        """Forget what was written on a checkpoint: the next one is stored and has merged it."""
        if parent_id is not None:
            with self._lock:
                self._written.pop((thread, parent_id), None)
                _keep(self._applied, (thread, parent_id), None)

    def _node(self, thread: str, checkpoint_id: str, path: str) -> str | None:
        kind, _, rest = _LATE.sub("", path).removeprefix("~").partition(", ")
        if kind == "__pregel_pull":
            return rest or None
        if kind == "__pregel_push" and rest[:10].isdigit():
            nodes = self._sends.get((thread, checkpoint_id), [])
            index = int(rest[:10])
            return nodes[index] if index < len(nodes) else None
        return None


def writer_of(message: Any, written: Sequence[tuple[BaseMessage, str]]) -> str | None:
    """The node that wrote a message: the same object, or the same id."""
    for candidate, node in written:
        if candidate is message:
            return node
    wanted = getattr(message, "id", None)
    if wanted:
        for candidate, node in written:
            if candidate.id == wanted:
                return node
    return None


def messages_in(value: Any) -> list[BaseMessage]:
    """The messages of a write: one alone, or those of a list, also under an `Overwrite`."""
    if isinstance(value, Overwrite):
        value = value.value
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, (list, tuple)):
        return [item for item in value if isinstance(item, BaseMessage)]
    return []


def _keep(where: OrderedDict[tuple[str, str], Any], key: tuple[str, str], value: Any) -> None:
    where[key] = value
    where.move_to_end(key)
    while len(where) > _MOST:
        where.popitem(last=False)
