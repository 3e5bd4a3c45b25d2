"""Checkpoints as lists show them: what waits, what finished, what was asked.

Rules of this module:

* Nothing of a state is decoded but what tells which node runs next, so no type has to be registered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.types import Send

from dalsegno.contracts import Op, Step
from dalsegno.core import codec
from dalsegno.core.items import put_back
from dalsegno.core.tree import Json
from dalsegno.errors import CheckpointNotFound
from dalsegno.langgraph.pending import TASKS, pending_nodes
from dalsegno.services import reading
from dalsegno.services.frames import from_micros, read_frame
from dalsegno.services.ids import pack_id
from dalsegno.services.loading import Loaded, load
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope, find_thread

__all__ = ["CheckpointInfo", "infos", "infos_of"]

_ERROR = "__error__"
_CONTROL = frozenset({_ERROR, "__error_source_node__", INTERRUPT, "__resume__"})
"""Channels of writes that say what happened to a task, not what it produced (LangGraph's rule)."""

_NOBODYS_TASK = "00000000-0000-0000-0000-000000000000"
"""LangGraph's task id of writes that are an input to the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointInfo:
    """A checkpoint as lists show it.

    Attributes:
        checkpoint_id, parent_id: ids; a root has no parent.
        ns: namespace, "" for the root graph.
        step, source: LangGraph's metadata.
        created_at: aware UTC.
        branch: 0 is the thread's first.
        next: nodes that wait to run.
        writes: tasks with pending writes.
        finished: of these, tasks that have finished; they are not run again.
        failed: tasks that raised, and run again when the thread goes on.
        interrupts: questions that wait for an answer, each as the tree it is stored as.
        is_head: whether it is the newest of its namespace.
    """

    checkpoint_id: str
    parent_id: str | None
    ns: str
    step: int | None
    source: str | None
    created_at: datetime
    branch: int
    next: list[str]
    writes: int
    finished: int
    failed: int
    interrupts: list[Json]
    is_head: bool


def _decides(channel: str) -> bool:
    """Whether what runs next depends on the channel's value, not only on its version."""
    return channel == TASKS or channel.startswith("join:")


def _bare_send(tree: Json) -> Send | None:
    node = tree.get("node") if isinstance(tree, dict) else None
    return Send(node, None) if isinstance(node, str) else None


@sound
def infos(scope: Scope, name: str, limit: int | None, before: str | None, ns: str | None) -> Op[list[CheckpointInfo]]:
    """Checkpoints of a thread, newest first; see `Threads.checkpoints`."""
    thread = yield from find_thread(scope, name)
    cursor = None
    if before is not None:
        edge = yield Step("checkpoint_anywhere", {**thread.key, "id": pack_id(before)})
        if not edge:
            msg = f"thread {name!r} has no checkpoint {before!r}; `dalsegno checkpoints` lists them"
            raise CheckpointNotFound(msg)
        cursor = edge[0][0]
    rows = yield from reading.page(scope, name, ns=ns, before=cursor, limit=2**31 if limit is None else limit)
    yield from reading.writes_of(rows)
    return (yield from infos_of(rows))


def infos_of(rows: Sequence[reading.Row]) -> Op[list[CheckpointInfo]]:
    """Checkpoints of one thread, read with their writes, as lists show them."""
    if not rows:
        return []
    nodes = [node for row in rows for name, node in row.state.items() if _decides(name)]
    asked = [write.tree for row in rows for write in row.writes if write.channel == INTERRUPT]
    loaded = yield from load(rows[0].tenant, rows[0].thread, nodes + asked)
    return [_info(row, loaded) for row in rows]


def _info(row: reading.Row, loaded: Loaded) -> CheckpointInfo:
    finished = {write.task for write in row.writes if write.channel not in _CONTROL and write.task != _NOBODYS_TASK}
    return CheckpointInfo(
        checkpoint_id=row.id,
        parent_id=row.parent_id,
        ns=row.ns,
        step=row.step,
        source=row.source,
        created_at=from_micros(row.created_at),
        branch=row.branch,
        next=_next(row, loaded),
        writes=len({write.task for write in row.writes}),
        finished=len(finished),
        failed=len({write.task for write in row.writes if write.channel == _ERROR} - finished),
        interrupts=[
            question
            for write in row.writes
            if write.channel == INTERRUPT and write.task not in finished
            for question in _questions(put_back(write.tree, loaded.trees, loaded.blobs))
        ],
        is_head=row.is_head,
    )


def _questions(tree: Json) -> list[Json]:
    """The values in a stored write of interrupts: one, or a list or tuple of them."""
    inner = tree.get("$tuple", tree) if isinstance(tree, dict) else tree
    parts = inner if isinstance(inner, list) else [inner]
    return [part.get("value") if isinstance(part, dict) else part for part in parts]


def _next(row: reading.Row, loaded: Loaded) -> list[str]:
    checkpoint = read_frame(row.frame, row.shape, packed_id=row.id, created_at=row.created_at)
    values: dict[str, Any] = dict(row.state)
    for name in filter(_decides, values):
        tree = put_back(values[name], loaded.trees, loaded.blobs)
        # A Send's argument may be of a type that is not registered here; only where it goes is asked for.
        values[name] = list(map(_bare_send, tree)) if isinstance(tree, list) else codec.decode(tree)
    checkpoint["channel_values"] = values
    return pending_nodes(checkpoint, orjson.loads(row.graph) if row.graph is not None else None)
