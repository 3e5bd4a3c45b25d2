"""Splitting: from a value's tree to its node and the items that are new.

Rules of this module:

* Nothing is asked of the store here: what the pool and the parent's lists hold comes in, new items come out.
* An element that stands in the parent's list keeps its place; a new one goes to the end of the list's own lane, so
  that a growing list stays one range. A list on a new branch grows in a lane of its own.
* A list that edits have broken into many ranges is written out once more in one piece: ranges stay short, and the
  cost of that is spread over the edits that led to it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import orjson

from dalsegno.core.items import (
    CHUNK,
    DICT_BYTES,
    INLINE_BYTES,
    MAX_DEPTH,
    POOL,
    Long,
    Place,
    Range,
    digest_of,
    elements_of,
    is_message,
    places_of,
    ranges_over,
)
from dalsegno.core.tree import Json, stored_order

__all__ = ["NewItem", "Split"]

_LEAST_RANGES = 32


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to store."""

    lane: int
    pos: int
    body: bytes
    digest: bytes | None = None


class Split:
    """One put's splitting: nodes out, new items collected.

    The store's answers come in through the constructor and `old`; the object itself asks nothing.
    """

    def __init__(
        self,
        *,
        pool: Mapping[bytes, int],
        next_pool: int,
        next_lane: int,
        tails: Mapping[int, int],
        old: Mapping[Place, bytes],
        own_lanes: bool,
    ) -> None:
        """Take what is known.

        Args:
            pool: positions of strings the pool holds, by digest.
            next_pool: first free position of the pool.
            next_lane: first free lane.
            tails: last position used in each lane the parent's lists stand in.
            old: bodies of the parent's elements (of the lists being split), by place.
            own_lanes: False when this put starts a branch: its lists grow in lanes of their own.
        """
        self.items: list[NewItem] = []
        self.blobs: dict[bytes, str] = {}
        self.next_pool = next_pool
        self.next_lane = next_lane
        self._pool = dict(pool)
        self._tails = dict(tails)
        self._old = old
        self._own_lanes = own_lanes
        self._trees: dict[Place, Any] = {}

    # --- strings

    def body_of(self, tree: Any) -> bytes:
        """JSON of a lifted tree; its long strings get their place on the way."""
        return orjson.dumps(tree, default=self._resolve, option=orjson.OPT_PASSTHROUGH_DATACLASS)

    def _resolve(self, value: object) -> Json:
        if not isinstance(value, Long):
            msg = f"not a part of a tree: {type(value).__name__}"
            raise TypeError(msg)
        if value.blob:
            self.blobs[value.digest] = value.text
            return {"$blob": value.digest.hex()}
        pos = self._pool.get(value.digest)
        if pos is None:
            pos = self._pool[value.digest] = self.add_pool(orjson.dumps(value.text), value.digest)
        return {"$ref": pos}

    def add_pool(self, body: bytes, digest: bytes | None = None) -> int:
        """Put a body into the pool and return its position."""
        pos = self.next_pool
        self.next_pool += 1
        self.items.append(NewItem(POOL, pos, body, digest))
        return pos

    # --- values

    def node(self, tree: Any, old: Any, depth: int = 0) -> Any:
        """Split a lifted tree.

        Args:
            tree: the new value.
            old: the parent's node for the same value, or None.
            depth: how many splits stand above this one.

        Returns:
            The node, all its parts plain JSON.
        """
        if isinstance(tree, Long):
            return self._resolve(tree)
        body = self.body_of(tree)
        if depth < MAX_DEPTH:
            if isinstance(tree, list) and (len(body) > INLINE_BYTES or any(map(is_message, tree))):
                return {"$list": self._ranges(_chunked(tree), old, depth)}
            if isinstance(tree, dict) and len(body) > DICT_BYTES and _is_plain(tree):
                pairs = [[key, tree[key]] for key in _keys_in_order(tree)]
                return {"$dict": self._ranges(pairs, old, depth, keyed=True)}
        if len(body) > INLINE_BYTES and depth == 0:
            return {"$ref": self._whole(body, old)}
        return orjson.loads(body)

    def _whole(self, body: bytes, old: Any) -> int:
        if isinstance(old, dict) and len(old) == 1 and "$ref" in old:
            pos: int = old["$ref"]
            before = self._old.get((POOL, pos))
            if before is not None and digest_of(before) == digest_of(body):
                return pos
        return self.add_pool(body)

    def append(self, ranges: list[Range], elements: Sequence[Any]) -> list[Range]:
        """Ranges for a list that is the old one plus new elements (which are not compared with anything)."""
        grown = [list(part) for part in ranges]
        lane = self._lane_for(grown)
        for element in elements:
            pos = self._add_element(lane, self._element_body(element, None, 0))
            if grown and grown[-1][0] == lane and grown[-1][2] + 1 == pos:
                grown[-1][2] = pos
            else:
                grown.append([lane, pos, pos])
        return grown

    def _ranges(self, elements: list[Any], old: Any, depth: int, *, keyed: bool = False) -> list[Range]:
        old_ranges = elements_of(old) or []
        old_places = list(places_of(old_ranges))
        old_digests = [digest_of(self._old[place]) if place in self._old else b"" for place in old_places]
        where: defaultdict[bytes, deque[int]] = defaultdict(deque)
        for index, digest in enumerate(old_digests):
            where[digest].append(index)
        free = [True] * len(old_places)
        placed: list[Place | bytes] = []  # where an element stands already, or what it is
        cursor = 0
        by_key = self._by_key(old_places) if keyed else {}
        for index, element in enumerate(elements):
            if keyed:
                before = by_key.get(element[0])
            else:
                before = self._tree(old_places[index]) if index < len(old_places) else None
                if before is not None and _is_pair(element) and _is_pair(before):
                    before = before[1]
            body = self._element_body(element, before, depth)
            digest = digest_of(body)
            if cursor < len(old_places) and old_digests[cursor] == digest and free[cursor]:
                found: int | None = cursor
            else:
                options = where.get(digest, deque())
                while options and not free[options[0]]:
                    options.popleft()
                found = options[0] if options else None
            if found is None:
                placed.append(body)
            else:
                free[found] = False
                placed.append(old_places[found])
                cursor = found + 1
        if _pieces(placed) > max(_LEAST_RANGES, len(elements) // 8):
            # Broken up by edits: write it out once more in one piece, so that ranges stay short.
            placed = [part if isinstance(part, bytes) else self._old[part] for part in placed]
            old_ranges = []
        lane = self._lane_for(old_ranges) if any(isinstance(part, bytes) for part in placed) else 0
        return ranges_over(
            (lane, self._add_element(lane, part)) if isinstance(part, bytes) else part for part in placed
        )

    def _element_body(self, element: Any, old: Any, depth: int) -> bytes:
        if _is_pair(element) and depth + 1 < MAX_DEPTH:
            part = self.node(element[1], old, depth + 1) if _is_large(element[1]) else element[1]
            return self.body_of([element[0], part])
        if isinstance(element, dict) and depth + 1 < MAX_DEPTH and not _is_chunk(element):
            split = {
                key: self.node(part, old.get(key) if isinstance(old, dict) else None, depth + 1)
                if isinstance(part, list) and _is_large(part)
                else part
                for key, part in element.items()
            }
            return self.body_of(split)
        return self.body_of(element)

    def _by_key(self, places: list[Place]) -> dict[str, Any]:
        return {tree[0]: tree[1] for tree in map(self._tree, places) if _is_pair(tree)}

    def _tree(self, place: Place) -> Any:
        if place not in self._trees:
            body = self._old.get(place)
            self._trees[place] = orjson.loads(body) if body is not None else None
        return self._trees[place]

    def _lane_for(self, ranges: Sequence[Range]) -> int:
        if self._own_lanes and ranges:
            lane = ranges[-1][0]
            if lane in self._tails:
                return lane
        return self._new_lane()

    def _new_lane(self) -> int:
        lane = self.next_lane
        self.next_lane += 1
        self._tails[lane] = 0
        return lane

    def _add_element(self, lane: int, body: bytes) -> int:
        pos = self._tails[lane] + 1
        self._tails[lane] = pos
        self.items.append(NewItem(lane, pos, body))
        return pos


def _is_plain(tree: Mapping[str, Any]) -> bool:
    return all(not key.startswith("$") or key == "$keys" for key in tree)


def _pieces(placed: Sequence[Place | bytes]) -> int:
    """How many ranges a list takes, when all that is new in it goes to one lane."""
    joined = sum(
        isinstance(one, bytes) and isinstance(two, bytes)
        if isinstance(one, bytes) or isinstance(two, bytes)
        else one[0] == two[0] and one[1] + 1 == two[1]
        for one, two in pairwise(placed)
    )
    return len(placed) - joined


def _is_pair(tree: Any) -> bool:
    return isinstance(tree, list) and len(tree) == 2 and isinstance(tree[0], str)  # noqa: PLR2004 - [key, value]


def _is_chunk(tree: Mapping[str, Any]) -> bool:
    return len(tree) == 1 and "$chunk" in tree


def _is_large(tree: Any) -> bool:
    if not isinstance(tree, (list, dict)) or (isinstance(tree, dict) and not _is_plain(tree)):
        return False
    return len(orjson.dumps(tree, default=lambda _: 0, option=orjson.OPT_PASSTHROUGH_DATACLASS)) > DICT_BYTES


def _chunked(tree: list[Any]) -> list[Any]:
    if len(tree) < CHUNK or any(isinstance(part, (list, dict, Long)) for part in tree):
        return tree
    return [{"$chunk": tree[at : at + CHUNK]} for at in range(0, len(tree), CHUNK)]


def _keys_in_order(tree: Mapping[str, Any]) -> list[str]:
    keys = [key for key in tree if key != "$keys"]
    order = tree.get("$keys")
    if order is None:
        return keys
    ordered = stored_order(keys)
    return [ordered[place] for place in order]
