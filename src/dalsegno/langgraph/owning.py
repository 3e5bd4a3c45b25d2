"""Holding a graph's nodes to the schema's fields, from within the checkpointer.

Rules of this module:

* What a task writes is looked at twice: where it is stored (`writes`), and in the run's own thread right before it is
  applied (`applied`). The first refusal keeps it out of the database, the second stops the run before its next step.
* A task is known by its path, and where that names only a `Send`'s place, by the run that is under way. What was stored
  before the run began was held to the rules of its time, and is not looked at again.
* Owners are those of the root graph. A subgraph is one node of it. It hands back all that it shares with the graph
  above; a value that it was given and did not change is no write of it.
* A field of one run is taken out of everything that is stored, in every namespace: states, inputs, the arguments of
  `Send`s, pending writes, and the run's own settings that LangGraph notes beside a checkpoint.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langgraph.channels import LastValue
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.pregel._loop import PregelLoop
from langgraph.types import Overwrite, Send

from dalsegno.core import codec, fields
from dalsegno.core.items import Plan, lift
from dalsegno.core.journal import Kind
from dalsegno.core.ownership import MISSING, OUTSIDE
from dalsegno.core.schema import INPUT, StateSchema
from dalsegno.langgraph.config import conf_of
from dalsegno.langgraph.pending import TASKS
from dalsegno.langgraph.said import text_of_value
from dalsegno.services.arrivals import Said
from dalsegno.services.heard import Heard, Spoken

__all__ = ["Contract", "Told", "check_write"]

C = TypeVar("C", bound=Mapping[str, Any])

_ASKS = "apply_writes"
_NO_WRITES = "__no_writes__"
_PULL = "~__pregel_pull, "
_BY_INPUT, _BY_PERSON = "input", "person"


Told: TypeAlias = tuple[str, str, Any]
"""A write to a field: the field, the node that wrote it, the value."""

Wrote: TypeAlias = OrderedDict[str, list[Told]]


@dataclass(slots=True)
class _Run:
    """A run under way: what was stored before it began, and writes to fields, by the checkpoint they followed."""

    stored: frozenset[str] = frozenset()
    written: Wrote = field(default_factory=OrderedDict)


class Contract:
    """Applies a schema's fields to what runs write; without fields it lets everything pass."""

    def __init__(self, schema: StateSchema | None) -> None:
        """Take the schema."""
        self._schema = schema if schema is not None and schema.fields else None
        self._run_fields = schema.run_fields if schema is not None else frozenset()
        self._told = frozenset(each.name for each in (schema.fields if schema is not None else ()) if each.journal)
        self._lock = threading.Lock()
        self._runs: WeakKeyDictionary[PregelLoop, _Run] = WeakKeyDictionary()
        self._updated: Wrote = OrderedDict()

    def opened(self, loop: PregelLoop | None, stored: Iterable[str] = ()) -> None:
        """Note a run that begins or goes on, and the tasks whose writes are stored already."""
        if self._schema is not None and loop is not None and not loop.is_nested:
            with self._lock:
                self._runs.setdefault(loop, _Run()).stored = frozenset(stored)

    # --- what tasks write

    def writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, path: str
    ) -> Sequence[tuple[str, Any]]:
        """Check a task's writes before they are stored, and take out what is not to be.

        Raises:
            NotOwner: its node does not own a field.
            StateShapeError: a value is of another shape than its field.
        """
        if self._schema is None:
            return writes
        if not conf_of(config).get("checkpoint_ns"):
            node, channels = self._task(task_id, path)
            self._check(node, writes, channels)
        return self.bare_writes(writes)

    def applied(self) -> None:
        """Check the writes that the run or update a few frames up is about to apply, and note who wrote what.

        Raises:
            NotOwner, StateShapeError: as for `writes`.
        """
        if self._schema is None:
            return
        frame = sys._getframe(2)  # noqa: SLF001 - see `caller`
        if frame.f_code.co_name != _ASKS:
            return
        tasks, checkpoint = frame.f_locals.get("tasks"), frame.f_locals.get("checkpoint")
        asking = frame.f_back.f_locals.get("self") if frame.f_back is not None else None
        loop = asking if isinstance(asking, PregelLoop) else None
        if not isinstance(tasks, Iterable) or not isinstance(checkpoint, Mapping) or (loop and loop.is_nested):
            return
        with self._lock:
            run = self._runs.get(loop, _Run()) if loop is not None else _Run()
            noted = run.written if loop is not None else self._updated
        channels = frame.f_locals.get("channels") or {}
        for task in tasks:
            if getattr(task, "id", None) not in run.stored:
                self._check(task.name if loop is not None else None, task.writes, channels)
                self._check_input(task.writes, checkpoint, channels)
            if self._told:
                by = task.name if loop is not None else _BY_PERSON
                by = _BY_INPUT if by in OUTSIDE else by
                wrote = [(channel, by, _plain(value)) for channel, value in task.writes if channel in self._told]
                with self._lock:
                    noted.setdefault(checkpoint["id"], []).extend(wrote)
                    while loop is None and len(noted) > 64:  # noqa: PLR2004 - updates have no end to be forgotten at
                        noted.popitem(last=False)

    def _check(self, node: str | None, writes: Iterable[tuple[str, Any]], channels: Mapping[str, Any]) -> None:
        if self._schema is not None:
            for channel, value in writes:
                check_write(self._schema, node, channel, value, channels)

    def _check_input(self, writes: Iterable[tuple[str, Any]], checkpoint: Any, channels: Mapping[str, Any]) -> None:
        """Check a run's input, which is one write until the first step takes it apart."""
        if self._schema is None:
            return
        for channel, given in writes:
            if channel != INPUT:
                continue
            got = {each.name: fields.get(given, each.name) for each in self._schema.fields}
            self._check(None, [(name, value) for name, value in got.items() if value is not MISSING], {})
            self._schema.check_due(
                lambda name, got=got: got[name] not in (None, MISSING) or _holds(channels.get(name)),  # type: ignore[misc]
                _ran(checkpoint),
            )

    def _task(self, task_id: str, path: str) -> tuple[str | None, Mapping[str, Any]]:
        """The node of a task, None where it is none or unknown, and the channels it reads from, if they are known."""
        with self._lock:
            loops = list(self._runs)
        for loop in loops:
            task = getattr(loop, "tasks", {}).get(task_id)
            if task is not None:
                return task.name, loop.channels
        return path.partition(_PULL)[2] or None, {}

    # --- what is stored

    def checkpoint(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> tuple[RunnableConfig, Checkpoint, CheckpointMetadata]:
        """A checkpoint to be stored, checked and without the fields of one run.

        Raises:
            StateShapeError: it lacks a field that is due, or a reducer has made something else than the schema says.
        """
        if self._schema is None:
            return config, checkpoint, metadata
        values = checkpoint["channel_values"]
        if not conf_of(config).get("checkpoint_ns"):
            for each in self._schema.fields:
                if each.name in values and each.reducer is not None:
                    each.check_container(values[each.name])
            if INPUT not in values:
                self._schema.check_due(lambda name: values.get(name) is not None, _ran(checkpoint))
        return self.bare(config, checkpoint, metadata)

    def bare(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> tuple[RunnableConfig, Checkpoint, CheckpointMetadata]:
        """A checkpoint to be stored, without the fields of one run."""
        if not self._run_fields:
            return config, checkpoint, metadata
        values = checkpoint["channel_values"]
        kept = {name: self._bare(name, value) for name, value in values.items() if name not in self._run_fields}
        told: dict[str, Any] = {**config}
        for part in ("metadata", "configurable"):
            if told.get(part):
                told[part] = self._without(told[part])
        return (
            cast("RunnableConfig", told),
            cast("Checkpoint", {**checkpoint, "channel_values": kept}),
            self._without(metadata),
        )

    def bare_writes(self, writes: Sequence[tuple[str, Any]]) -> Sequence[tuple[str, Any]]:
        """A task's writes to be stored, without those to fields of one run."""
        kept = [(channel, self._bare(channel, value)) for channel, value in writes if channel not in self._run_fields]
        return kept or [(_NO_WRITES, None)] if writes else writes

    def _bare(self, channel: str, value: Any) -> Any:
        """What stands in one of LangGraph's own channels, without the fields of one run."""
        if not self._run_fields or channel not in (INPUT, TASKS):
            return value
        if isinstance(value, list):
            return [self._bare(channel, each) for each in value]
        if isinstance(value, Send):
            arg = self._without_any(value.arg)
            return value if arg is value.arg else Send(value.node, arg, **_settings(value))
        return self._without_any(value)

    def _without_any(self, holder: Any) -> Any:
        if isinstance(holder, Mapping):
            return self._without(holder)
        for name in self._run_fields:
            if fields.get(holder, name) is not MISSING:
                holder = fields.put(holder, name, None)
        return holder

    def _without(self, holder: C) -> C:
        if not any(name in holder for name in self._run_fields):
            return holder
        return cast("C", {key: value for key, value in holder.items() if key not in self._run_fields})

    # --- what the journal is told

    def told(self, loop: PregelLoop | None, checkpoint: Checkpoint, parent: str | None) -> list[Told]:
        """The writes to fields that a checkpoint brings, in the order they were applied in."""
        if not self._told:
            return []
        told: list[Told] = []
        with self._lock:
            run = self._runs.get(loop) if loop is not None else None
            if run is not None:
                for id_ in list(run.written):
                    if id_ == checkpoint["id"]:
                        break
                    told += run.written.pop(id_)
            elif loop is None and parent is not None:
                told = self._updated.pop(parent, [])
        return told

    def heard(self, heard: Heard | None, told: Sequence[Told]) -> Heard | None:
        """What a checkpoint brings to the journal besides its messages.

        Raises:
            NotSerializable: a value cannot be stored exactly.
        """
        if not told:
            return heard
        plan = Plan() if heard is None else heard.plan
        spoken = list(heard.spoken) if heard is not None else []
        for name, author, value in told:
            written = {name: value}
            tree = codec.encode(written, "write")
            said = Said(id=None, kind=Kind.FIELD, author=author, text=text_of_value(written))
            spoken.append(Spoken(said=said, tree=tree, lifted=lift(tree, plan)))
        return Heard(spoken=spoken, gone=(), plan=plan) if heard is None else replace(heard, spoken=spoken)


def check_write(schema: StateSchema, node: str | None, channel: str, value: Any, channels: Mapping[str, Any]) -> None:
    """Hold one write to the schema.

    Args:
        schema: what it is held to.
        node: who writes; None for the outside.
        channel: where to.
        value: what is written.
        channels: of the graph, as they are before; empty where they are not known.

    Raises:
        NotOwner: another node owns the field.
        StateShapeError: the field holds something else.
    """
    field = schema.field(channel)
    if field is None or _is_given_back(channels.get(channel), value):
        return
    field.check_owner(node)
    whole = isinstance(value, Overwrite)
    field.check(value.value if whole else value, whole=True if whole else None)


def _is_given_back(channel: Any, value: Any) -> bool:
    """Whether a write changes nothing: the channel keeps the last value and has this one."""
    if not isinstance(channel, LastValue) or not channel.is_available():
        return False
    held = channel.get()
    if held is value:
        return True
    try:
        return type(held) is type(value) and bool(held == value)
    except Exception:  # noqa: BLE001 - a value's own comparison; what cannot be compared counts as changed
        return False


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Overwrite) else value


def _holds(channel: Any) -> bool:
    """Whether a live channel has a value that is not None."""
    available: Callable[[], bool] | None = getattr(channel, "is_available", None)
    return available is not None and available() and channel.get() is not None


def _ran(checkpoint: Any) -> frozenset[str]:
    """The nodes that have run by a checkpoint."""
    return frozenset(name for name, seen in (checkpoint.get("versions_seen") or {}).items() if seen)


def _settings(send: Send) -> dict[str, Any]:
    timeout = getattr(send, "timeout", None)
    return {} if timeout is None else {"timeout": timeout}
