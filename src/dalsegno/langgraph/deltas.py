"""The values of delta channels, which no checkpoint holds, caught for the journal as they are at each checkpoint.

Rules of this module:

* A delta channel leaves nothing in a checkpoint but, now and then, a snapshot; LangGraph rebuilds its value from the
  writes of the ancestors. What was said in it is told by the value before a step and the value after it.
* A checkpoint is often put while the next step is already being applied. LangGraph asks for the next version right
  before it applies a step's writes: at that moment the lists are copied, under the id of the checkpoint whose values
  they are. A put takes its values from there, and from the channels themselves when nothing was applied since.
* Channels are found in the frames that ask (see `caller`). Where they are not, nothing is heard and nothing made up.
* What is kept is bounded, and let go once the next checkpoint is put.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from langchain_core.messages import BaseMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.pregel._loop import PregelLoop

from dalsegno.core import codec
from dalsegno.core.items import Plan, lift
from dalsegno.langgraph.authors import messages_in, writer_of
from dalsegno.langgraph.said import said_of
from dalsegno.services.heard import Heard, Spoken

__all__ = ["Deltas"]

_ASKS = "apply_writes"
_MOST_RUNS = 32
_FIRST_AND_LAST = 2

Lists: TypeAlias = dict[str, list[Any]]
"""Values of delta channels that are lists, by channel."""


@dataclass(slots=True)
class _Run:
    """What was caught of one run: its channels, its lists by checkpoint id in order, and who wrote which message."""

    channels: Mapping[str, Any]
    caught: OrderedDict[str, Lists] = field(default_factory=OrderedDict)
    written: dict[str, list[tuple[BaseMessage, str]]] = field(default_factory=dict)


class Deltas:
    """Delta channels of the runs under way."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._runs: OrderedDict[int, _Run] = OrderedDict()

    def catch(self) -> None:
        """Keep the lists as they are before the step that is about to be applied, and what that step writes."""
        frame = sys._getframe(2)  # noqa: SLF001 - see `caller`
        if frame.f_code.co_name != _ASKS:
            return
        channels, checkpoint, tasks = map(frame.f_locals.get, ("channels", "checkpoint", "tasks"))
        if not isinstance(channels, Mapping) or not isinstance(checkpoint, Mapping) or not _deltas(channels):
            return
        asking = frame.f_back.f_locals.get("self") if frame.f_back is not None else None
        in_run = isinstance(asking, PregelLoop)
        at_exit = isinstance(asking, PregelLoop) and asking.durability == "exit"
        with self._lock:
            run = self._runs.setdefault(id(channels), _Run(channels))
            self._runs.move_to_end(id(channels))
            if at_exit and len(run.caught) >= _FIRST_AND_LAST and checkpoint["id"] not in run.caught:
                run.caught.popitem()  # never put: only the first and the last step's are
            run.caught.setdefault(checkpoint["id"], _lists(channels))
            run.written.setdefault(checkpoint["id"], []).extend(_written(tasks, _deltas(channels), by_node=in_run))
            while len(self._runs) > _MOST_RUNS:
                self._runs.popitem(last=False)

    def heard(
        self,
        channels: Mapping[str, Any] | None,
        checkpoint: Mapping[str, Any],
        parent: str | None,
        loop: PregelLoop | None,
        *,
        is_root: bool,
    ) -> Heard | None:
        """What a checkpoint brings to the journal from its delta channels; None when that is nothing.

        Args:
            channels: those of the run or update that puts it, as they are now.
            checkpoint: as LangGraph gives it.
            parent: id of the checkpoint it continues from.
            loop: the run, if it is one.
            is_root: whether it is the root graph's: a message gone from there is a deletion.

        Raises:
            NotSerializable: a message cannot be stored exactly.
        """
        if channels is None or not _deltas(channels):
            return None
        now = _lists(channels)  # before what was caught is asked: once a step is caught, it may be applied
        id_ = checkpoint["id"]
        with self._lock:
            run = self._runs.get(id(channels))
            after = run.caught.get(id_) if run is not None else None
            before = {} if parent is None else run.caught.get(parent) if run is not None else None
            written = _since(run, id_)
        if after is None:
            if loop is not None and loop.checkpoint["id"] != id_:
                return None
            after = now
        standing = [
            *after.values(),
            *(part for part in checkpoint["channel_values"].values() if isinstance(part, list)),
        ]
        return _difference(before, after, written, standing if is_root else None)

    def stored(self, channels: Mapping[str, Any] | None, checkpoint_id: str) -> None:
        """Let go of what came before a checkpoint that is stored."""
        with self._lock:
            run = self._runs.get(id(channels))
            if run is None:
                return
            if checkpoint_id in run.caught:
                while next(iter(run.caught)) != checkpoint_id:
                    run.written.pop(run.caught.popitem(last=False)[0], None)
            else:
                del self._runs[id(channels)]


def _deltas(channels: Mapping[str, Any]) -> list[str]:
    return [name for name, channel in channels.items() if isinstance(channel, DeltaChannel)]


def _lists(channels: Mapping[str, Any]) -> Lists:
    """Copies of the delta channels' lists; other values hold no messages that a journal knows of."""
    values = {name: channels[name].value for name in _deltas(channels)}
    return {name: list(value) for name, value in values.items() if isinstance(value, list)}


def _written(tasks: Any, names: Sequence[str], *, by_node: bool) -> list[tuple[BaseMessage, str]]:
    """The messages that tasks write to some channels, with the tasks' nodes; an update's node is often only guessed."""
    return [
        (message, task.name if by_node else "")
        for task in (tasks if isinstance(tasks, Iterable) else ())
        for channel, value in task.writes
        if channel in names
        for message in messages_in(value)
    ]


def _since(run: _Run | None, checkpoint_id: str) -> list[tuple[BaseMessage, str]]:
    """What was written before a checkpoint and after the one put last."""
    written: list[tuple[BaseMessage, str]] = []
    for id_, part in run.written.items() if run is not None else ():
        if id_ == checkpoint_id:
            break
        written += part
    return written


def _difference(
    before: Lists | None, after: Lists, written: Sequence[tuple[BaseMessage, str]], standing: Sequence[list[Any]] | None
) -> Heard | None:
    """Messages that are new or written again, and ids that are gone.

    Args:
        before: the parent's lists; None when they are not known: then all messages are looked up, and none is gone.
        after: this checkpoint's lists.
        written: what the step wrote, with its node.
        standing: every list of the checkpoint, where what is gone counts.
    """
    had = [message for part in (before or {}).values() for message in part]
    has = {id(message) for part in after.values() for message in part}
    old = {id(message) for message in had} - {id(message) for message, _ in written}
    plan = Plan()
    spoken: list[Spoken] = []
    moved = [codec.encode(message, "state") for message in had if id(message) not in has and _is_nameless(message)]
    for name, part in after.items():
        for place, message in enumerate(part):
            said = said_of(message, writer_of(message, written)) if id(message) not in old else None
            if said is None:
                continue
            tree = codec.encode(message, f"state.{name}[{place}]")
            if said.id is None and tree in moved:
                moved.remove(tree)
                continue
            spoken.append(Spoken(said=said, tree=tree, lifted=lift(tree, plan)))
    gone: list[str] = []
    if standing is not None and before is not None and (lost := _ids(m for m in had if id(m) not in has)):
        still = _ids(message for part in standing for message in part)
        gone = [id_ for id_ in lost if id_ not in still]
    return Heard(spoken=spoken, gone=gone, plan=plan) if spoken or gone else None


def _is_nameless(message: Any) -> bool:
    return isinstance(message, BaseMessage) and not message.id


def _ids(messages: Iterable[Any]) -> dict[str, None]:
    """Ids of messages, each once, in order."""
    return {message.id: None for message in messages if isinstance(message, BaseMessage) and message.id}
