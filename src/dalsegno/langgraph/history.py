"""Delta channels of a recorded history: what was said in them, told without the graph that recorded it.

Rules of this module:

* A recorded checkpoint names its delta channels: in its snapshots, and in its count of updates since the last one.
* Their reducer stands in a graph that is not at hand. Between snapshots, writes are taken as LangGraph's own reducer
  for messages takes them: appended, replaced by id, removed. The next snapshot corrects what another reducer did.
* The journal alone is told from this; what is stored of the channels is what was recorded.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, cast

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph.message import _messages_delta_reducer

from dalsegno.langgraph.deltas import difference
from dalsegno.langgraph.steps import Lists, Written
from dalsegno.services.heard import Heard

__all__ = ["History"]

_COUNTS = "counters_since_delta_snapshot"
_MOST = 256
"""Checkpoints whose values are kept; a fork from further back is told by its snapshot."""

_Key = tuple[str, str]


class History:
    """The delta channels of one thread's history, checkpoint by checkpoint."""

    def __init__(self) -> None:
        """Begin before the first checkpoint."""
        self._values: OrderedDict[_Key, Lists] = OrderedDict()
        self._writes: defaultdict[_Key, list[tuple[str, str, Any]]] = defaultdict(list)

    def wrote(self, ns: str, checkpoint_id: str, writes: Iterable[tuple[str, str, Iterable[tuple[str, Any]]]]) -> None:
        """Take the writes on a checkpoint: task id, task path, and (channel, value) pairs."""
        for task, _, pairs in sorted(writes, key=lambda part: (part[1], part[0])):
            self._writes[ns, checkpoint_id] += [(task, channel, value) for channel, value in pairs]

    def heard(
        self, ns: str, checkpoint: Mapping[str, Any], metadata: Mapping[str, Any], parent: str | None, written: Written
    ) -> Heard | None:
        """What a checkpoint brings; None when that is nothing.

        Args:
            ns: its namespace.
            checkpoint: as it was recorded.
            metadata: the same.
            parent: id of the checkpoint it continues from.
            written: messages written on the parent, with their nodes.
        """
        values = checkpoint["channel_values"]
        before: Lists | None = {} if parent is None else self._values.get((ns, parent))
        snapshots = {name: value.value for name, value in values.items() if isinstance(value, _DeltaSnapshot)}
        after: Lists = {name: list(value) for name, value in snapshots.items() if isinstance(value, list)}
        for name in {*(metadata.get(_COUNTS) or ()), *(before or ())} - values.keys():
            if before is not None and parent is not None:
                after[name] = self._folded(name, before.get(name, []), (ns, parent))
        self._values[ns, checkpoint["id"]] = after
        while len(self._values) > _MOST:
            self._writes.pop(self._values.popitem(last=False)[0], None)
        kept = [part for part in values.values() if isinstance(part, list)]
        return difference(before, after, written, [*after.values(), *kept] if ns == "" else None)

    def _folded(self, name: str, value: list[Any], on: _Key) -> list[Any]:
        writes = [write for write in self._writes.get(on, ()) if write[1] == name]
        channel: Any = cast("Any", DeltaChannel)(_messages_delta_reducer, list).from_checkpoint(list(value))
        try:
            channel.replay_writes(writes)
        except Exception:  # noqa: BLE001 - a reducer of another kind took these writes; the next snapshot tells
            return value
        return list(channel.value) if isinstance(channel.value, list) else value
