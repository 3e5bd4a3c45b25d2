"""Pending writes: what a task wrote, kept until the checkpoint that applies it.

A write may come before its checkpoint (LangGraph saves them side by side); it waits under an announced number and
belongs to the checkpoint as soon as that is put.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.items import Plan
from dalsegno.core.split import Split
from dalsegno.errors import Damaged
from dalsegno.services.ids import is_packed, pack_id, pack_path
from dalsegno.services.placing import announced_number, namespace
from dalsegno.services.sound import sound
from dalsegno.services.storing import find_pool, store_items
from dalsegno.services.threads_row import Scope, lock_thread, save_thread

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
    ns, _, _ = yield from namespace(row, request.ns)
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
    split = Split(pool=pool, next_pool=row.pool + 1, next_lane=row.lanes + 1, tails={}, old={}, own_lanes=True)
    merged = {**kept, **fresh}
    writes = [[slot, *merged[slot]] for slot in sorted(merged)]
    odd: dict[str, Any] = {}
    if not is_packed(request.task):
        odd["task"] = request.task.encode("utf-8", "surrogatepass").hex()
    path = pack_path(request.path)
    if path is None:
        odd["path"] = request.path.encode("utf-8", "surrogatepass").hex()
    text = split.body_of({**odd, "writes": writes} if odd else writes).decode()
    row.pool = split.next_pool - 1
    yield (
        *steps,
        *store_items(row, split),
        Step("write_save", {**key, "path": path or "", "body": text}),
        save_thread(row),
    )


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
