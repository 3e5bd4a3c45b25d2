"""What a run or an update does between two checkpoints, caught in the moment: who writes what, delta channels' values.

Rules of this module:

* A checkpoint is often put while the next step is already being applied, and the writes of its own step may be stored
  after it. LangGraph asks for the next version right before it applies a step's writes, in the thread of the run: at
  that moment the writes, their tasks and the lists of the delta channels are caught, under the id of the checkpoint
  they follow. A put takes them from there.
* Channels are found in the frames that ask (see `caller`). Where they are not, nothing is caught and nothing made up.
* What is kept is let go once the next checkpoint is put, or with the run.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from langchain_core.messages import BaseMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.pregel._loop import PregelLoop

from dalsegno.langgraph.authors import messages_in

__all__ = ["Lists", "Steps", "Written", "delta_lists"]

_ASKS = "apply_writes"
_MOST_UPDATES = 32
_FIRST_AND_LAST = 2

Lists: TypeAlias = dict[str, list[Any]]
"""Values of delta channels that are lists, by channel."""

Written: TypeAlias = Sequence[tuple[BaseMessage, str]]
"""Messages with the nodes that wrote them; "" where a person's update did."""


@dataclass(slots=True)
class _Caught:
    """What was caught of one run or update, by the id of the checkpoint it follows, in order."""

    lists: OrderedDict[str, Lists] = field(default_factory=OrderedDict)
    written: dict[str, list[tuple[BaseMessage, str]]] = field(default_factory=dict)


class Steps:
    """The steps of the runs and updates under way."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._runs: WeakKeyDictionary[PregelLoop, _Caught] = WeakKeyDictionary()
        self._updates: OrderedDict[int, tuple[Mapping[str, Any], _Caught]] = OrderedDict()

    def catch(self) -> None:
        """Keep what the step that is about to be applied writes, and the lists as they are before it."""
        frame = sys._getframe(2)  # noqa: SLF001 - see `caller`
        if frame.f_code.co_name != _ASKS:
            return
        channels, checkpoint, tasks = map(frame.f_locals.get, ("channels", "checkpoint", "tasks"))
        if not isinstance(channels, Mapping) or not isinstance(checkpoint, Mapping):
            return
        asking = frame.f_back.f_locals.get("self") if frame.f_back is not None else None
        loop = asking if isinstance(asking, PregelLoop) else None
        written = _written(tasks, by_node=loop is not None)
        lists = delta_lists(channels)
        if not written and not lists:
            return
        id_ = checkpoint["id"]
        with self._lock:
            caught = self._of(loop, channels)
            if caught is None:
                caught = self._begin(loop, channels)
            if loop is not None and loop.durability == "exit" and len(caught.lists) >= _FIRST_AND_LAST:
                caught.lists.pop(next(reversed(caught.lists)))  # never put: only the first and the last step's are
            caught.lists.setdefault(id_, lists)
            caught.written.setdefault(id_, []).extend(written)

    def written(self, loop: PregelLoop | None, channels: Mapping[str, Any] | None, checkpoint_id: str) -> Written:
        """What was written after the checkpoint put last and up to this one."""
        written: list[tuple[BaseMessage, str]] = []
        with self._lock:
            caught = self._of(loop, channels)
            for id_, part in caught.written.items() if caught is not None else ():
                if id_ == checkpoint_id:
                    break
                written += part
        return written

    def lists(
        self, loop: PregelLoop | None, channels: Mapping[str, Any] | None, checkpoint_id: str | None
    ) -> Lists | None:
        """The delta channels' lists at a checkpoint, if the step after it was caught; none of no checkpoint."""
        if checkpoint_id is None:
            return {}
        with self._lock:
            caught = self._of(loop, channels)
            return None if caught is None else caught.lists.get(checkpoint_id)

    def stored(self, loop: PregelLoop | None, channels: Mapping[str, Any] | None, checkpoint_id: str) -> None:
        """Let go of what came before a checkpoint that is stored."""
        with self._lock:
            caught = self._of(loop, channels)
            if caught is None:
                return
            for part in (caught.lists, caught.written):
                for id_ in list(part):
                    if id_ == checkpoint_id:
                        break
                    del part[id_]
            if not caught.lists and not caught.written:
                if loop is not None:
                    del self._runs[loop]
                else:
                    self._updates.pop(id(channels), None)

    def _of(self, loop: PregelLoop | None, channels: Mapping[str, Any] | None) -> _Caught | None:
        if loop is not None:
            return self._runs.get(loop)
        found = self._updates.get(id(channels))
        return found[1] if found is not None else None

    def _begin(self, loop: PregelLoop | None, channels: Mapping[str, Any]) -> _Caught:
        caught = _Caught()
        if loop is not None:
            self._runs[loop] = caught
            return caught
        self._updates[id(channels)] = (channels, caught)  # held, so that no other mapping gets its number
        while len(self._updates) > _MOST_UPDATES:
            self._updates.popitem(last=False)
        return caught


def delta_lists(channels: Mapping[str, Any]) -> Lists:
    """Copies of the delta channels' lists; other values hold no messages that a journal knows of."""
    values = {name: channel.value for name, channel in channels.items() if isinstance(channel, DeltaChannel)}
    return {name: list(value) for name, value in values.items() if isinstance(value, list)}


def _written(tasks: Any, *, by_node: bool) -> list[tuple[BaseMessage, str]]:
    """The messages that tasks write, with the tasks' nodes; an update's node is often only guessed."""
    return [
        (message, task.name if by_node else "")
        for task in (tasks if isinstance(tasks, Iterable) else ())
        for _, value in task.writes
        for message in messages_in(value)
    ]
