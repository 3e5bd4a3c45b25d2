"""Reading items: from nodes to whole trees in a bounded number of rounds.

Rules of this module:

* One round fetches everything the trees at hand point to. Splits are at most `items.MAX_DEPTH` deep and what the pool
  holds under a digest points nowhere, so there are at most `ROUNDS` rounds, whatever the size of the state.
* Ranges are asked for merged, each item once.
* What is stored under its digest is believed only when the digest is its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.items import MAX_DEPTH, Place, Range, digest_of_pooled, needs_of, places_of, size_of
from dalsegno.core.references import reference_to
from dalsegno.errors import Damaged

__all__ = ["ROUNDS", "Loaded", "json_text", "load", "merged"]

ROUNDS = MAX_DEPTH + 2


@dataclass(slots=True)
class Loaded:
    """Items and blobs read so far."""

    trees: dict[Place, Any] = field(default_factory=dict)
    bodies: dict[Place, bytes] = field(default_factory=dict)
    blobs: dict[bytes, str] = field(default_factory=dict)
    references: bool = False
    """Whether blobs are not read: a reference stands for each."""


def load(tenant: int, thread: int, roots: Iterable[Any], loaded: Loaded | None = None) -> Op[Loaded]:
    """Fetch every item and blob reachable from some nodes.

    Args:
        tenant: tenant's number.
        thread: thread's number.
        roots: nodes or trees.
        loaded: what is known already; added to and returned.
    """
    known = loaded or Loaded()
    front = list(roots)
    for _ in range(ROUNDS):
        ranges: list[Range] = []
        blobs: set[bytes] = set()
        for tree in front:
            needs_of(tree, ranges, blobs)
        yield from _load_blobs(tenant, blobs, known)
        wanted = merged(ranges, known.trees)
        if not wanted:
            return known
        rows = yield Step("items_in", {"tenant": tenant, "thread": thread, "ranges": json_text(wanted)})
        if len(rows) < size_of(wanted):
            there = {(lane, pos) for lane, pos, _, _ in rows}
            lane, pos = next(place for place in places_of(wanted) if place not in there)
            raise Damaged(f"item {lane}:{pos}", expected="an item", found=None)
        front = []
        for lane, pos, body, digest in rows:
            raw = body.encode() if isinstance(body, str) else body
            tree = orjson.loads(raw)
            if digest is not None and digest_of_pooled(tree) != bytes(digest):
                raise _changed(f"item {lane}:{pos}", bytes(digest), digest_of_pooled(tree))
            known.bodies[lane, pos] = raw
            known.trees[lane, pos] = tree
            if b'"$' in raw:
                front.append(tree)
    raise Damaged("a state", expected=f"at most {ROUNDS} levels of items", found="more")


def _load_blobs(tenant: int, blobs: set[bytes], known: Loaded) -> Op[None]:
    if known.references:
        known.blobs.update((digest, reference_to(digest)) for digest in blobs)
        return
    unknown = sorted(digest.hex() for digest in blobs - known.blobs.keys())
    if not unknown:
        return
    for digest, body in (yield Step("blobs_in", {"tenant": tenant, "digests": json_text(unknown)})):
        real = hashlib.sha256(body.encode()).digest()
        if real != bytes(digest):
            raise _changed(f"blob {bytes(digest).hex()}", bytes(digest), real)
        known.blobs[bytes(digest)] = body


def _changed(place: str, digest: bytes, found: bytes) -> Damaged:
    return Damaged(place, expected=f"a body of digest {digest.hex()}", found=found.hex())


def merged(ranges: list[Range], known: dict[Place, Any]) -> list[Range]:
    """Ranges sorted, overlaps joined, without what is known (whole ranges are dropped; parts are asked again)."""
    out: list[Range] = []
    for lane, first, last in sorted(ranges):
        if out and out[-1][0] == lane and first <= out[-1][2] + 1:
            out[-1][2] = max(out[-1][2], last)
        else:
            out.append([lane, first, last])
    return [part for part in out if any((part[0], pos) not in known for pos in range(part[1], part[2] + 1))]


def json_text(value: Any) -> str:
    """A JSON parameter."""
    return orjson.dumps(value).decode()
