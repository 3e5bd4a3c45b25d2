"""Reading checkpoints: one, a page, or what a delta channel needs.

Rules of this module:

* A checkpoint is read in a bounded number of statements whatever its size, a page of them in hardly more: what they
  share is fetched once.
* Bodies stay JSON here; `langgraph` turns them into values, so that a caller may also look without decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core import codec
from dalsegno.core.rights import Right
from dalsegno.errors import Damaged
from dalsegno.services.access import admit
from dalsegno.services.forms import sound_form
from dalsegno.services.frames import SOURCES, read_state
from dalsegno.services.ids import pack_id, pack_name, unpack_id, unpack_name, unpack_path
from dalsegno.services.loading import Loaded, json_text, load
from dalsegno.services.threads_row import Scope
from dalsegno.services.writes import listed

__all__ = ["Row", "StoredWrite", "contents", "find", "full_id", "lineage_of", "page", "stored_writes", "writes_of"]


@dataclass(frozen=True, slots=True)
class StoredWrite:
    """One pending write, its value still a tree with references."""

    task: str
    path: str
    slot: int
    channel: str
    tree: Any


@dataclass(slots=True)
class Row:
    """A checkpoint as its row says.

    Attributes:
        state: nodes by channel; `contents` fetches what they point to.
        is_head: whether it is the newest of its namespace.
    """

    tenant: int
    name: str
    thread: int
    ns: str
    ns_number: int
    ckpt: int
    id: str
    packed: bytes
    parent: int | None
    parent_id: str | None
    branch: int
    created_at: int
    source: str | None
    step: int | None
    version: int | None
    run: str | None
    frame: str
    shape: str
    meta: str | None
    graph: str | None
    state: dict[str, Any]
    is_head: bool
    writes: list[StoredWrite] = field(default_factory=list)


def find(scope: Scope, name: str, ns: str, checkpoint_id: str | None, *, writes: bool = True) -> Op[Row | None]:
    """The head of a namespace, or the checkpoint of an id; None when there is none (or it is another user's)."""
    params = {"tenant": scope.tenant, "name": pack_name(name), "ns": pack_name(ns), "owner": scope.whose}
    if checkpoint_id is None:
        rows = yield Step("checkpoint_head", params)
    else:
        rows = yield Step("checkpoint_by_id", {**params, "id": pack_id(checkpoint_id)})
    if not rows:
        return None
    yield from admit(scope, name, rows[0][0], rows[0][1], Right.READ)
    row = _row(scope, rows[0])
    if writes:
        yield from _add_writes([row])
    return row


def page(scope: Scope, name: str, *, ns: str | None, before: int | None, limit: int) -> Op[list[Row]]:
    """Checkpoints of a thread, newest first, without their writes.

    Args:
        scope: tenant and user.
        name: thread id.
        ns: namespace, or None for all.
        before: only checkpoints put before this number.
        limit: at most so many.
    """
    rows = yield Step(
        "checkpoints_page",
        {
            "tenant": scope.tenant,
            "name": pack_name(name),
            "owner": scope.whose,
            "ns": None if ns is None else pack_name(ns),
            "before": before,
            "limit": limit,
        },
    )
    if rows:
        yield from admit(scope, name, rows[0][0], rows[0][1], Right.READ)
    return [_row(scope, columns) for columns in rows]


def contents(rows: Sequence[Row], known: Loaded | None = None) -> Op[Loaded]:
    """Everything the states and writes of some checkpoints of one thread point to."""
    if not rows:
        return known or Loaded()
    roots: list[Any] = [node for row in rows for node in row.state.values()]
    roots += [write.tree for row in rows for write in row.writes]
    roots += [orjson.loads(row.meta) for row in rows if row.meta is not None]
    return (yield from load(rows[0].tenant, rows[0].thread, roots, known))


def writes_of(rows: Sequence[Row]) -> Op[None]:
    """Fill in the pending writes of some checkpoints of one thread."""
    yield from _add_writes(rows)


def lineage_of(row: Row, limit: int, ckpt: int | None = None) -> Op[list[tuple[int, int | None, dict[str, Any]]]]:
    """Ancestors of a checkpoint, nearest first: number, parent's number, nodes by channel.

    Args:
        row: the checkpoint.
        limit: at most so many in one call.
        ckpt: start after this ancestor instead (for the next page).
    """
    rows = yield Step(
        "checkpoints_lineage",
        {"tenant": row.tenant, "thread": row.thread, "ckpt": ckpt or row.ckpt, "limit": limit},
    )
    return [
        (number, parent, read_state(state, sound_form(shape, digest)))
        for number, parent, state, shape, digest in rows[1:]
    ]


def _add_writes(rows: Sequence[Row]) -> Op[None]:
    if not rows:
        return
    by_number = {row.ckpt: row for row in rows}
    found = yield Step(
        "writes_of",
        {"tenant": rows[0].tenant, "thread": rows[0].thread, "ckpts": json_text(sorted(by_number))},
    )
    for ckpt, task, path, body in found:
        by_number[ckpt].writes.extend(stored_writes(bytes(task), path, body))
    for row in rows:
        row.writes.sort(key=lambda write: (write.path, write.task, write.slot))


def stored_writes(task: bytes, path: str, body: str | bytes) -> list[StoredWrite]:
    """The writes in one row."""
    tree = orjson.loads(body)
    odd = tree if isinstance(tree, dict) else {}
    task_id = _from_hex(odd["task"]) if "task" in odd else unpack_id(task)
    path = _from_hex(odd["path"]) if "path" in odd else unpack_path(path)
    return [StoredWrite(task_id, path, slot, _named(channel), value) for slot, channel, value in listed(tree)]


def _named(channel: Any) -> str:
    """A channel's name; an odd one stands in an envelope."""
    name = channel if isinstance(channel, str) else codec.decode(channel)
    if not isinstance(name, str):
        raise Damaged("pending writes", expected="a channel's name", found=str(channel)[:100])
    return name


def _from_hex(text: str) -> str:
    return bytes.fromhex(text).decode("utf-8", "surrogatepass")


def _row(scope: Scope, columns: Sequence[Any]) -> Row:
    (
        thread, _owner, ckpt, id_, parent, branch, created_at, source, step, version, run,
        frame, state, meta, shape, parent_id, parent_frame, head, _meta_pos, _shape_pos, graph, ns_number, ns, name,
        digest,
    ) = columns  # fmt: skip
    return Row(
        tenant=scope.tenant,
        name=unpack_name(name),
        thread=thread,
        ns=unpack_name(ns),
        ns_number=ns_number,
        ckpt=ckpt,
        id=full_id(bytes(id_), frame),
        packed=bytes(id_),
        parent=parent,
        parent_id=None if parent_id is None else full_id(bytes(parent_id), parent_frame),
        branch=branch,
        created_at=created_at,
        source=None if source is None else SOURCES[source],
        step=step,
        version=version,
        run=run,
        frame=frame,
        shape=shape,
        meta=meta,
        graph=graph,
        state=read_state(state, sound_form(shape, digest)),
        is_head=ckpt == head,
    )


def full_id(packed: bytes, frame: str | bytes | None) -> str:
    """A checkpoint's id: the UUID of its 16 bytes, or the text its frame keeps."""
    if frame is not None and ('"id"' in frame if isinstance(frame, str) else b'"id"' in frame):
        body = orjson.loads(frame)
        extra = body[5] if len(body) > 5 else {}  # noqa: PLR2004 - the frame's optional sixth part
        found = codec.decode(extra["id"]) if isinstance(extra, dict) and "id" in extra else None
        if isinstance(found, str):
            return found
    return unpack_id(packed)
