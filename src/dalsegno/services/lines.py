"""Lineage in the database: which events belong to a head, and which messages it has heard already."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.items import Place, digest_of
from dalsegno.core.journal import Kind, Span, lineage, spans_contain
from dalsegno.services.loading import json_text
from dalsegno.services.threads_row import ThreadRow

__all__ = ["Known", "known_messages", "mark_of", "spans_of"]


@dataclass(frozen=True, slots=True)
class Known:
    """A message the lineage has an event for: the body it had last, who it was by, and where the body stands."""

    body: bytes | None
    author: str
    place: Place | None = None

    def same(self, body: bytes | None) -> bool:
        """Whether a body says exactly the same."""
        return body is not None and self.body is not None and digest_of(body) == digest_of(self.body)


def spans_of(row: ThreadRow, branch: int, ckpt: int) -> Op[list[Span]]:
    """The lineage of a point of a thread, as spans of branches."""
    branches: dict[int, tuple[int, int] | None] = {}
    if row.branches:
        rows = yield Step("branches_of", row.key)
        branches = {number: (parent, forked_at) if parent is not None else None for number, parent, forked_at in rows}
    return lineage(branches, branch, ckpt)


def known_messages(row: ThreadRow, ids: AbstractSet[str], spans: list[Span]) -> Op[dict[str, Known]]:
    """Of some message ids, those whose last event in a lineage is not a deletion, with that event's body."""
    marks = sorted(map(mark_of, ids))
    rows = yield Step("events_marked", {**row.key, "marks": json_text(marks)})
    known: dict[str, Known] = {}
    for _seq, kind, author, branch, ckpt, _mark, lane, pos, body in rows:
        if not spans_contain(spans, branch, ckpt or 0):
            continue
        raw = body.encode() if isinstance(body, str) else body
        tree: Any = orjson.loads(raw) if raw is not None else None
        id_ = tree.get("id") if isinstance(tree, dict) else None
        if not isinstance(id_, str) or id_ not in ids:
            continue
        if kind == Kind.DELETE.code:
            known.pop(id_, None)
        else:
            known[id_] = Known(raw, author, None if lane is None else (lane, pos))
    return known


def mark_of(message_id: str) -> int:
    """A small number by which a message id is looked up; equal marks are compared by the id itself."""
    return crc32(message_id.encode("utf-8", "surrogatepass")) - 2**31
