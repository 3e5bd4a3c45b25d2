"""Pending writes: what a task wrote, kept until the checkpoint that applies it.

A write may come before its checkpoint (LangGraph saves them side by side); it waits under an announced number and
belongs to the checkpoint as soon as that is put. A large value names the items that the state has of it already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.items import Plan, elements_of
from dalsegno.core.split import Split, is_large
from dalsegno.errors import Damaged
from dalsegno.services.forms import sound_form
from dalsegno.services.frames import read_state
from dalsegno.services.ids import is_packed, pack_id, pack_path
from dalsegno.services.loading import Loaded, load
from dalsegno.services.placing import ROOT, announced_number, namespace
from dalsegno.services.sound import sound
from dalsegno.services.standings import after_writes, taken_over
from dalsegno.services.storing import find_pool, store_items
from dalsegno.services.threads_row import Scope, ThreadRow, lock_thread, save_thread

__all__ = ["Writes", "listed", "put_writes"]


@dataclass(frozen=True, slots=True)
class Writes:
    """A task's pending writes to store.

    Attributes:
        thread, ns, id: the checkpoint they belong to.
        task: task id. path: its path.
        writes: (slot, channel, lifted tree); a negative slot is a fixed one that is replaced, others are kept once
            written.
        plan: the parts of them that stand apart.
        fence: fencing token of the run's lease.
    """

    thread: str
    ns: str
    id: str
    task: str
    path: str
    writes: Sequence[tuple[int, str, Any]]
    plan: Plan
    fence: int | None


@sound
def put_writes(scope: Scope, request: Writes) -> Op[None]:
    """Store a task's pending writes, all or none.

    Raises:
        ThreadDeleted, LeaseHeld, LeaseLost: see `lock_thread`.
    """
    row = yield from lock_thread(scope, request.thread, create=True, fence=request.fence)
    ns, head, head_id = yield from namespace(row, request.ns)
    found = yield Step("checkpoint_branch", {**row.key, "ns": ns, "id": pack_id(request.id)})
    steps: list[Step] = []
    if found:
        ckpt = found[0][1]
    else:
        ckpt = yield from announced_number(row)
        steps.append(
            Step(
                "checkpoint_announce",
                {**row.key, "ckpt": ckpt, "ns": ns, "id": pack_id(request.id), "created_at": row.now},
            )
        )
    key = {**row.key, "ckpt": ckpt, "task": pack_id(request.task)}
    before = yield Step("write_find", key)
    kept = {slot: (channel, tree) for slot, channel, tree in listed(orjson.loads(before[0][1]))} if before else {}
    fresh = {slot: (channel, tree) for slot, channel, tree in request.writes if slot < 0 or slot not in kept}
    pool = yield from find_pool(row, request.plan)
    bases, old = yield from _bases(
        row, ns, request, head_id, [channel for channel, tree in fresh.values() if is_large(tree)]
    )
    split = Split(pool=pool, next_pool=row.pool + 1, next_lane=row.lanes + 1, tails={}, old=old.bodies, own_lanes=False)
    fresh = {
        slot: (channel, split.node(tree, bases[channel]) if slot >= 0 and _is_in(bases, channel) else tree)
        for slot, (channel, tree) in fresh.items()
    }
    merged = {**kept, **fresh}
    writes = [[slot, *merged[slot]] for slot in sorted(merged)]
    odd: dict[str, Any] = {}
    if not is_packed(request.task):
        odd["task"] = request.task.encode("utf-8", "surrogatepass").hex()
    path = pack_path(request.path)
    if path is None:
        odd["path"] = request.path.encode("utf-8", "surrogatepass").hex()
    text = split.body_of({**odd, "writes": writes} if odd else writes).decode()
    row.pool, row.lanes = split.next_pool - 1, split.next_lane - 1
    over = tuple(taken_over(row, request.fence))
    if ns == ROOT and ckpt == head:
        row.stands = after_writes(row.stands, request.task, fresh)
    yield (
        *over,
        *steps,
        *store_items(row, split),
        Step("write_save", {**key, "path": path or "", "body": text}),
        save_thread(row),
    )


def _bases(
    row: ThreadRow, ns: int, request: Writes, head_id: str | None, channels: Sequence[Any]
) -> Op[tuple[dict[str, Any], Loaded]]:
    """Nodes that large values are compared with, by channel, and their items.

    They are those of the checkpoint that is written on or, where that is not there yet, of the newest one.
    """
    if not channels:
        return {}, Loaded()
    own = pack_id(request.id)
    named = {**row.key, "ns": ns, "id": own, "parent": own if head_id is None else pack_id(head_id), "digests": "[]"}
    rows = yield Step("checkpoints_named", named)
    states = {
        bytes(columns[1]) == own: read_state(columns[4], sound_form(columns[7], columns[8]))
        for columns in rows
        if columns[4] is not None
    }
    state = states.get(True, states.get(False, {}))
    bases = {name: state[name] for name in channels if _is_in(state, name) and elements_of(state[name]) is not None}
    return bases, (yield from load(row.tenant, row.thread, bases.values()))


def _is_in(nodes: dict[str, Any], channel: Any) -> bool:
    """Whether there is a node for a channel; an odd name of a write is an envelope, and no state has one."""
    return isinstance(channel, str) and channel in nodes


def listed(body: Any) -> list[Any]:
    """The writes in a body: a list, or an object beside ids that their columns could not hold."""
    writes = body["writes"] if isinstance(body, dict) else body
    if not isinstance(writes, list) or not all(_is_write(write) for write in writes):
        raise Damaged("pending writes", expected="[[slot, channel, value], ...]", found=str(body)[:100])
    return writes


def _is_write(part: Any) -> bool:
    return (
        isinstance(part, list) and len(part) == 3 and isinstance(part[0], int) and isinstance(part[1], (str, dict))  # noqa: PLR2004 - [slot, channel, value]
    )
