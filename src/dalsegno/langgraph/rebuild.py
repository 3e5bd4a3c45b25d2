"""From rows to LangGraph's values.

Rules of this module:

* Messages are decoded once per process and kept as private templates; every reader gets clones.
* A state of another schema version is migrated on the way out; the stored one is never touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, cast

import orjson
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import DeltaChannelHistory, PendingWrite
from langgraph.checkpoint.serde.types import ERROR
from langgraph.types import Send

from dalsegno.contracts import Op
from dalsegno.core import codec
from dalsegno.core.bulk import collector_paused
from dalsegno.core.items import elements_of, is_chunk, is_message, places_of, put_back
from dalsegno.core.references import laid_open
from dalsegno.core.schema import StateSchema
from dalsegno.errors import StateShapeError, UnknownType
from dalsegno.langgraph.config import config_of
from dalsegno.langgraph.pending import TASKS
from dalsegno.services import reading
from dalsegno.services.frames import read_frame
from dalsegno.services.loading import Loaded, load
from dalsegno.services.memo import MISSING, ListPrint, Memo, ValuePrint
from dalsegno.services.reading import Row

__all__ = ["Rebuilder", "Rebuilt"]

_CHAIN = 256


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A checkpoint as LangGraph wants it."""

    row: Row
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    writes: list[PendingWrite]
    migrated: bool
    prints: dict[str, ListPrint | ValuePrint]

    def config(self, *, forks: bool) -> RunnableConfig:
        """Its config; with `forks`, one that may be continued although it is no longer the head."""
        return config_of(self.row.name, self.row.ns, self.row.id, forks=forks)

    def parent_config(self) -> RunnableConfig | None:
        """Its parent's config."""
        parent_id = self.row.parent_id
        return None if parent_id is None else config_of(self.row.name, self.row.ns, parent_id)


class Rebuilder:
    """Turns rows into values, with the help of the process's memory."""

    def __init__(self, memo: Memo, schema: StateSchema | None) -> None:
        """Take the memory of templates and the schema that states are read with."""
        self._memo = memo
        self._schema = schema

    def one(self, row: Row, *, own: bool = False) -> Op[Rebuilt]:
        """Rebuild one checkpoint (its writes are read already).

        Args:
            row: the checkpoint.
            own: True for a run, which may be handed the very objects an earlier run left, when nobody else has them.
        """
        left = self._memo.take(row.name, row.ns, row.id) if own else None
        lists = {
            name: kept
            for name, kept in (left.prints if left is not None else {}).items()
            if isinstance(kept, ListPrint)
            and name in row.state
            and left is not None
            and left.nodes.get(name) == row.state[name]
            and kept.is_sole()
            and kept.kept(kept.objects)
        }
        (found,) = yield from self._rebuild([row], lists)
        return found

    def many(self, rows: Sequence[Row]) -> Op[list[Rebuilt]]:
        """Rebuild checkpoints of one thread, writes included."""
        yield from reading.writes_of(rows)
        return (yield from self._rebuild(rows))

    def matching(self, rows: Sequence[Row], wanted: Mapping[str, Any]) -> Op[list[Row]]:
        """Rows whose metadata has every wanted key with an equal value of the same type."""
        metas = [orjson.loads(row.meta) for row in rows if row.meta is not None]
        if not rows:
            return []
        loaded = yield from load(rows[0].tenant, rows[0].thread, metas)
        out = []
        for row in rows:
            metadata = metadata_of(row, loaded)
            if all(key in metadata and same(metadata[key], value) for key, value in wanted.items()):
                out.append(row)
        return out

    def referring(self, row: Row) -> Op[dict[str, Any]]:
        """Values of a checkpoint's channels with references in place of blobs; private to the caller."""
        loaded = yield from load(row.tenant, row.thread, row.state.values(), Loaded(references=True))
        trees = {name: laid_open(put_back(node, loaded.trees, loaded.blobs)) for name, node in row.state.items()}
        if self._is_older(row):
            frame = read_frame(row.frame, row.shape, packed_id=row.id, created_at=row.created_at)
            return self._migrated(row, trees, frame)
        return {name: codec.decode(tree) for name, tree in trees.items()}

    def history(self, row: Row, channels: Sequence[str]) -> Op[Mapping[str, DeltaChannelHistory]]:
        """Writes and seed of delta channels along the parents; statements grow with the chain's length / 256."""
        open_channels = set(channels)
        writes: dict[str, list[list[PendingWrite]]] = {channel: [] for channel in channels}
        seeds: dict[str, Any] = {}
        cursor: int | None = row.ckpt
        while cursor is not None and open_channels:
            line = yield from reading.lineage_of(row, _CHAIN, cursor)
            ancestors = [
                _bare(row, ckpt, {k: v for k, v in state.items() if k in open_channels}) for ckpt, _, state in line
            ]
            yield from reading.writes_of(ancestors)
            for ancestor in ancestors:
                ancestor.writes = [write for write in ancestor.writes if write.channel in open_channels]
            loaded = yield from reading.contents(ancestors)
            for ancestor in ancestors:
                for channel in list(open_channels):
                    mine = [
                        (write.task, write.channel, codec.decode(put_back(write.tree, loaded.trees, loaded.blobs)))
                        for write in ancestor.writes
                        if write.channel == channel
                    ]
                    writes[channel].append(mine)
                    if channel in ancestor.state:
                        seeds[channel] = codec.decode(put_back(ancestor.state[channel], loaded.trees, loaded.blobs))
                        open_channels.discard(channel)
            cursor = line[-1][0] if len(line) == _CHAIN else None
        history: dict[str, DeltaChannelHistory] = {}
        for channel in channels:
            entry: DeltaChannelHistory = {
                "writes": [write for ancestor in reversed(writes[channel]) for write in ancestor]
            }
            if channel in seeds:
                entry["seed"] = seeds[channel]
            history[channel] = entry
        return history

    def _rebuild(self, rows: Sequence[Row], lists: Mapping[str, ListPrint] | None = None) -> Op[list[Rebuilt]]:
        lists = lists or {}
        if not rows:
            return []
        thread = rows[0].thread
        roots: list[Any] = []
        for row in rows:
            whole = self._is_older(row)
            for name, node in row.state.items():
                if name in lists and not whole:
                    continue
                ranges = elements_of(node)
                if whole or ranges is None or "$dict" in node:
                    roots.append(node)
                else:
                    _, holes = self._memo.known(thread, ranges)
                    roots.append({"$list": holes})
            roots += [write.tree for write in row.writes]
            if row.meta is not None:
                roots.append(orjson.loads(row.meta))
        loaded = yield from load(rows[0].tenant, thread, roots)
        with collector_paused():
            return [self._value_of(row, loaded, lists) for row in rows]

    def _value_of(self, row: Row, loaded: Loaded, lists: Mapping[str, ListPrint]) -> Rebuilt:
        checkpoint = read_frame(row.frame, row.shape, packed_id=row.id, created_at=row.created_at)
        migrated = self._is_older(row)
        if migrated:
            trees = {name: put_back(node, loaded.trees, loaded.blobs) for name, node in row.state.items()}
            checkpoint["channel_values"] = self._migrated(row, trees, checkpoint)
        else:
            checkpoint["channel_values"] = {
                name: list(lists[name].objects) if name in lists else self._channel(row, node, loaded)
                for name, node in row.state.items()
            }
            if self._schema is not None and row.ns == "":
                self._schema.require(checkpoint["channel_values"], row.version)
        if self._schema is not None and row.ns == "":
            filled = self._schema.fill(checkpoint["channel_values"])
            migrated = migrated or filled is not checkpoint["channel_values"]
            checkpoint["channel_values"] = filled
        return Rebuilt(
            row=row,
            checkpoint=checkpoint,
            metadata=metadata_of(row, loaded),
            writes=[
                (write.task, channel, value)
                for write in row.writes
                for channel, value in self._write(write, loaded, row.version, migrated=migrated)
            ],
            migrated=migrated,
            prints=dict(lists),
        )

    def _is_older(self, row: Row) -> bool:
        """Whether a state is of another version than the code's; an unstamped one counts as version 1."""
        return self._schema is not None and row.ns == "" and (row.version or 1) != self._schema.version

    def _migrated(self, row: Row, trees: dict[str, Any], checkpoint: dict[str, Any]) -> dict[str, Any]:
        """The values of an older state, migrated as trees, so that a class may have changed its fields."""
        schema = cast("StateSchema", self._schema)
        new, renamed, dropped = schema.migrate(trees, row.version, trees=True)
        values = {name: codec.decode(tree) for name, tree in new.items()}
        if isinstance(values.get(TASKS), list):
            values[TASKS] = [_migrated_send(schema, send, row.version) for send in values[TASKS]]
        schema.require(values, row.version)
        _rename_versions(checkpoint, renamed, dropped)
        _add_versions(checkpoint, values)
        return values

    def _write(
        self, write: reading.StoredWrite, loaded: Loaded, version: int | None, *, migrated: bool
    ) -> list[tuple[str, Any]]:
        channel, tree = write.channel, put_back(write.tree, loaded.trees, loaded.blobs)
        if channel == ERROR:
            return [(channel, _raised(tree))]
        if not migrated:
            return [(channel, codec.decode(tree))]
        schema = cast("StateSchema", self._schema)
        if channel == TASKS:
            return [(channel, _migrated_send(schema, codec.decode(tree), version))]
        read = schema.read_write(channel, tree, version, trees=True)
        return [] if read is None else [(read[0], codec.decode(read[1]))]

    def _channel(self, row: Row, node: Any, loaded: Loaded) -> Any:
        ranges = elements_of(node)
        if ranges is None or "$dict" in node:
            return codec.decode(put_back(node, loaded.trees, loaded.blobs))
        known, holes = self._memo.known(row.thread, ranges)
        missing = list(places_of(holes))
        if missing:
            trees = [loaded.trees.get(place) for place in missing]
            if len(missing) == len(known) and not all(map(is_message, trees)):
                return codec.decode(put_back(node, loaded.trees, loaded.blobs))
            if any(map(is_chunk, trees)):  # a list that lost its messages: not every place is one element
                return self._piecewise(node, known, loaded)
            fresh = [codec.decode(put_back(tree, loaded.trees, loaded.blobs)) for tree in trees]
            self._memo.learn(row.thread, zip(missing, fresh, strict=True))
            templates = iter(fresh)
            known = [next(templates) if template is MISSING else template for template in known]
        return codec.clone_list(known)

    def _piecewise(self, node: Any, known: Sequence[Any], loaded: Loaded) -> list[Any]:
        """A list of which some places have templates, and some others hold several elements."""
        out: list[Any] = []
        for place, template in zip(places_of(elements_of(node) or []), known, strict=True):
            if template is MISSING:
                part = put_back({"$list": [[place[0], place[1], place[1]]]}, loaded.trees, loaded.blobs)
                out.extend(codec.decode(part))
            else:
                out.extend(codec.clone_list([template]))
        return out


def metadata_of(row: Row, loaded: Loaded) -> dict[str, Any]:
    """A checkpoint's metadata, whole."""
    metadata: dict[str, Any] = {}
    if row.source is not None:
        metadata["source"] = row.source
    if row.step is not None:
        metadata["step"] = row.step
    if row.meta is None:
        metadata["parents"] = {}
    else:
        rest = codec.decode(put_back(orjson.loads(row.meta), loaded.trees, loaded.blobs))
        if isinstance(rest, dict):
            metadata.update(rest)
    if row.run is not None:
        metadata["run_id"] = row.run
    return metadata


def same(left: Any, right: Any) -> bool:
    """Equality that does not take `True` for `1`, at any depth; whole numbers equal their float."""
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    return bool(left == right)


def _raised(tree: Any) -> Any:
    """What a node raised; an error that tells of it where its class is not known in this process.

    A failed step is run again, so nothing hangs on the class; a thread that could not be read for it would be lost to
    every process but the one that failed.
    """
    try:
        return codec.decode(tree)
    except (UnknownType, StateShapeError) as unknown:
        name = str(tree.get("$error", "")) if isinstance(tree, dict) else ""
        said = tree.get("args", []) if isinstance(tree, dict) else []
        words = ", ".join(each for each in said if isinstance(each, str)) if isinstance(said, list) else ""
        name = name.rpartition(":")[2]
        return RuntimeError(f"{name}: {words} (told as text, for its class cannot be read here: {unknown})")


def _migrated_send(schema: StateSchema, send: Any, version: int | None) -> Any:
    return Send(send.node, schema.read_part(send.arg, version)) if isinstance(send, Send) else send


def _add_versions(checkpoint: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Give channels that a migration added a version, seen by every node: LangGraph drops what has none."""
    versions: dict[str, Any] = checkpoint["channel_versions"]
    newest = max(versions.values(), default=1)
    for name in values.keys() - versions.keys():
        for table in (versions, *checkpoint["versions_seen"].values()):
            table[name] = newest


def _rename_versions(checkpoint: dict[str, Any], renamed: Mapping[str, str], dropped: AbstractSet[str]) -> None:
    """Move the versions of renamed channels along, so that LangGraph keeps their values."""
    tables = [checkpoint["channel_versions"], *checkpoint["versions_seen"].values()]
    for table in tables:
        for old, new in renamed.items():
            if old in table:
                table.setdefault(new, table[old])
                del table[old]
        for name in dropped:
            table.pop(name, None)


def _bare(row: Row, ckpt: int, state: dict[str, Any]) -> Row:
    return Row(
        tenant=row.tenant, name=row.name, thread=row.thread, ns=row.ns, ns_number=row.ns_number, ckpt=ckpt, id="",
        packed=b"", parent=None, parent_id=None, branch=0, created_at=0, source=None, step=None, version=None, run=None,
        frame="", shape="", meta=None, graph=None, state=state, is_head=False,
    )  # fmt: skip
