"""New items on their way into the database, shared by checkpoints, pending writes and direct events."""

from __future__ import annotations

from typing import Any

from dalsegno.contracts import Op, Step
from dalsegno.core.items import Plan
from dalsegno.core.split import NewItem, Split
from dalsegno.services.loading import json_text
from dalsegno.services.threads_row import ThreadRow

__all__ = ["find_pool", "store_items"]


def find_pool(row: ThreadRow, plan: Plan) -> Op[dict[bytes, int]]:
    """Which of the plan's parts the pool holds already."""
    digests = [part.digest.hex() for part in plan.digests.values() if not part.blob]
    if not digests:
        return {}
    rows = yield Step("pool_find", {**row.key, "digests": json_text(digests)})
    return {bytes(digest): pos for digest, pos in rows}


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
