"""New items on their way into the database, shared by checkpoints, pending writes and direct events."""

from __future__ import annotations

from typing import Any

from dalsegno.contracts import Op, Step
from dalsegno.core.items import Plan
from dalsegno.core.split import NewItem, Split
from dalsegno.services.threads_row import ThreadRow

__all__ = ["find_pool", "store_items"]

_SLOTS = 8


def find_pool(row: ThreadRow, plan: Plan) -> Op[dict[bytes, int]]:
    """Which of the plan's long strings the pool holds already."""
    found: dict[bytes, int] = {}
    digests = [long.digest for long in plan.digests.values() if not long.blob]
    for at in range(0, len(digests), _SLOTS):
        some = digests[at : at + _SLOTS]
        slots = {f"d{n}": some[n] if n < len(some) else some[0] for n in range(_SLOTS)}
        rows = yield Step("pool_find", {**row.key, **slots})
        found.update((bytes(digest), pos) for digest, pos in rows)
    return found


def store_items(row: ThreadRow, split: Split) -> list[Step]:
    """The steps that store what a split found to be new."""
    steps: list[Step] = []
    if split.items:
        steps.append(Step("item_add", [{**row.key, **_columns(item)} for item in split.items]))
    for digest, text in split.blobs.items():
        steps.append(Step("blob_add", {"tenant": row.tenant, "digest": digest, "body": text}))
        steps.append(Step("blob_ref_add", {**row.key, "digest": digest}))
    return steps


def _columns(item: NewItem) -> dict[str, Any]:
    return {"lane": item.lane, "pos": item.pos, "digest": item.digest, "body": item.body.decode()}
