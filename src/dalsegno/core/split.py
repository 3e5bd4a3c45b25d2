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
from typing import Any, cast

import orjson

from dalsegno.core.items import (
    DICT_BYTES,
    INLINE_BYTES,
    MAX_DEPTH,
    POOL,
    WHOLE_BYTES,
    Apart,
    Place,
    Range,
    digest_of,
    elements_of,
    is_message,
    places_of,
    ranges_over,
)
from dalsegno.core.tree import Json, is_plain_object, read_order

__all__ = ["NewItem", "Split", "is_large"]

_LEAST_RANGES = 32
_PATIENCE = 1000
"""Comparisons with chunks that may fail in one list."""


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
            pool: positions of the items the pool holds, by digest.
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

    # --- parts that stand apart

    def body_of(self, tree: Any) -> bytes:
        """JSON of a lifted tree; the parts that stand apart get their place on the way."""
        return orjson.dumps(tree, default=self._resolve, option=orjson.OPT_PASSTHROUGH_DATACLASS)

    def _resolve(self, value: object) -> Json:
        if not isinstance(value, Apart):
            msg = f"not a part of a tree: {type(value).__name__}"
            raise TypeError(msg)
        if value.blob:
            self.blobs[value.digest] = str(value.tree)
            return {"$blob": value.digest.hex()}
        pos = self._pool.get(value.digest)
        if pos is None:
            pos = self._pool[value.digest] = self.add_pool(orjson.dumps(value.tree), value.digest)
        return {"$ref": pos}

    def add_pool(self, body: bytes, digest: bytes | None = None) -> int:
        """Put a body into the pool and return its position."""
        pos = self.next_pool
        self.next_pool += 1
        self.items.append(NewItem(POOL, pos, body, digest))
        return pos

    # --- values

    def node(self, tree: Any, old: Any, depth: int = 0, *, told: bool = False) -> Any:
        """Split a lifted tree.

        Args:
            tree: the new value.
            old: the parent's node for the same value, or None.
            depth: how many splits stand above this one.
            told: whether events point to the elements of this list, so that each has an item of its own.

        Returns:
            The node, all its parts plain JSON.
        """
        grows = False
        if isinstance(tree, Apart):
            # A list that the pool does not hold and that has changed will change again: its elements are shared.
            grows = isinstance(tree.tree, list) and tree.digest not in self._pool and self._is_list(old)
            if not grows:
                return self._resolve(tree)
            tree = tree.tree
        body = self.body_of(tree)
        if depth < MAX_DEPTH:
            if isinstance(tree, list) and (grows or told or len(body) > WHOLE_BYTES or any(map(is_message, tree))):
                return {"$list": self._ranges(tree, old, depth, told=told)}
            if isinstance(tree, dict) and len(body) > DICT_BYTES and is_plain_object(tree):
                pairs = [[key, tree[key]] for key in _keys_in_order(tree)]
                return {"$dict": self._ranges(pairs, old, depth, keyed=True)}
        if len(body) > INLINE_BYTES and depth == 0:
            return {"$ref": self._whole(body, old)}
        return orjson.loads(body)

    def inline(self, tree: Any) -> Any:
        """The node of a lifted tree that stands where it is, whatever its size; only parts of it stand apart."""
        return orjson.loads(self.body_of(tree))

    def _is_list(self, node: Any) -> bool:
        if isinstance(node, dict) and len(node) == 1 and "$ref" in node:
            node = self._tree((POOL, node["$ref"]))
        return isinstance(node, list) or (isinstance(node, dict) and "$list" in node)

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

    def _ranges(
        self, elements: list[Any], old: Any, depth: int, *, keyed: bool = False, told: bool = False
    ) -> list[Range]:
        ranges = elements_of(old) or []
        alone = keyed or told or any(map(is_message, elements))  # events point to a message's item, keys to a pair's
        before = _Before([(place, self._old[place]) for place in places_of(ranges) if place in self._old], alone=alone)
        by_key = before.by_key() if keyed else {}
        small = [None if alone else self._small(element) for element in elements]
        placed: list[Place | bytes] = []  # where an element stands already, or what it is
        run: list[bytes] = []  # texts of small elements that are new
        index = 0
        while index < len(elements):
            text, count = small[index], 1
            if text is None:
                hint = by_key.get(elements[index][0]) if keyed else before.hint(elements[index])
                body = self._element_body(elements[index], hint, depth)
                part: Place | bytes | None = before.take(digest_of(body)) or body
            else:
                part, count = before.take_small(small, index)
            if part is None:
                run.append(cast("bytes", text))
            else:
                placed += [*_packages(run), part]
                run = []
            index += count
        placed += _packages(run)
        if _pieces(placed) > max(_LEAST_RANGES, len(placed) // 8):
            # Broken up by edits: write it out once more in one piece, so that ranges stay short.
            placed = [part if isinstance(part, bytes) else self._old[part] for part in placed]
            ranges = []
        lane = self._lane_for(ranges) if any(isinstance(part, bytes) for part in placed) else 0
        return ranges_over(
            (lane, self._add_element(lane, part)) if isinstance(part, bytes) else part for part in placed
        )

    def _small(self, element: Any) -> bytes | None:
        return _small(self._resolve(element) if isinstance(element, Apart) else element)

    def _element_body(self, element: Any, old: Any, depth: int) -> bytes:
        if _is_pair(element) and depth + 1 < MAX_DEPTH:
            part = self.node(element[1], old, depth + 1) if is_large(element[1]) else element[1]
            return self.body_of([element[0], part])
        if isinstance(element, dict) and depth + 1 < MAX_DEPTH:
            split = {
                key: self.node(part, old.get(key) if isinstance(old, dict) else None, depth + 1)
                if isinstance(part, list) and is_large(part)
                else part
                for key, part in element.items()
            }
            return self.body_of(split)
        return self.body_of(element)

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


class _Before:
    """The elements of the parent's list, each taken at most once: the next in order if it fits, else any that does.

    Small elements are known by their text, others by the digest of their body.
    """

    def __init__(self, items: list[tuple[Place, bytes]], *, alone: bool) -> None:
        self._places = [place for place, _ in items]
        self._trees = [orjson.loads(body) for _, body in items]
        self._texts = [[] if alone else _texts(tree) for tree in self._trees]
        self._digests = [b"" if texts else digest_of(body) for texts, (_, body) in zip(self._texts, items, strict=True)]
        self._free = [True] * len(items)
        self._where: defaultdict[bytes, deque[int]] = defaultdict(deque)
        self._starts: defaultdict[bytes, deque[int]] = defaultdict(deque)
        self._next = 0
        self._patience = _PATIENCE + 4 * len(items)
        for index, texts in enumerate(self._texts):
            if texts:
                self._starts[texts[0]].append(index)
            else:
                self._where[self._digests[index]].append(index)

    def by_key(self) -> dict[str, Any]:
        """Values by key, where the elements are pairs."""
        return {tree[0]: tree[1] for tree in self._trees if _is_pair(tree)}

    def hint(self, element: Any) -> Any:
        """The element that would be next: what a changed one most likely was."""
        tree = self._trees[self._next] if self._next < len(self._trees) else None
        return tree[1] if tree is not None and _is_pair(element) and _is_pair(tree) else tree

    def take(self, digest: bytes) -> Place | None:
        """The place of an element of that digest."""
        if self._next < len(self._places) and self._free[self._next] and self._digests[self._next] == digest:
            return self._taken(self._next)
        options = self._left(self._where, digest)
        return self._taken(options[0]) if options else None

    def take_small(self, small: list[bytes | None], start: int) -> tuple[Place | None, int]:
        """The place of a small element, or of a chunk that the elements from `start` on begin with; and its length."""
        options = self._left(self._starts, cast("bytes", small[start]))
        for index in (self._next, *options) if self._next in options else options:
            texts = self._texts[index]
            if self._free[index] and small[start : start + len(texts)] == texts:
                return self._taken(index), len(texts)
            self._patience -= 1
            if self._patience < 0:  # equal elements in ever other numbers: what is not found is stored again
                break
        return None, 1

    def _left(self, options: Mapping[bytes, deque[int]], key: bytes) -> Sequence[int]:
        found = options.get(key)
        while found and not self._free[found[0]]:
            found.popleft()
        return found or ()

    def _taken(self, index: int) -> Place:
        self._free[index] = False
        self._next = index + 1
        return self._places[index]


def _small(element: Any) -> bytes | None:
    """Text of a scalar or a reference that is so small that it may share an item; None for any other element.

    Records keep items of their own: one of them changes at a time.
    """
    if isinstance(element, list) or (isinstance(element, dict) and not _is_reference(element)):
        return None
    text = orjson.dumps(element)
    return text if len(text) <= INLINE_BYTES else None


def _is_reference(tree: dict[str, Any]) -> bool:
    return len(tree) == 1 and ("$ref" in tree or "$blob" in tree)


def _texts(tree: Any) -> list[bytes]:
    """Texts of the small elements that an item holds; none for an item that is no such element."""
    parts = tree["$chunk"] if isinstance(tree, dict) and len(tree) == 1 and "$chunk" in tree else [tree]
    texts = [text for part in parts if (text := _small(part)) is not None]
    return texts if len(texts) == len(parts) else []


def _packages(texts: list[bytes]) -> list[bytes]:
    """Bodies of items that hold small elements, up to `WHOLE_BYTES` of them in each."""
    packages: list[list[bytes]] = []
    room = 0
    for text in texts:
        if len(text) + 1 > room:
            packages.append([])
            room = WHOLE_BYTES
        packages[-1].append(text)
        room -= len(text) + 1
    return [package[0] if len(package) == 1 else b'{"$chunk":[' + b",".join(package) + b"]}" for package in packages]


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


def is_large(tree: Any) -> bool:
    """Whether a lifted list or plain object is large enough to be stored in elements."""
    if not isinstance(tree, (list, dict)) or (isinstance(tree, dict) and not is_plain_object(tree)):
        return False
    return len(orjson.dumps(tree, default=lambda _: 0, option=orjson.OPT_PASSTHROUGH_DATACLASS)) > DICT_BYTES


def _keys_in_order(tree: Mapping[str, Any]) -> list[str]:
    keys = [key for key in tree if key != "$keys"]
    return (read_order(tree["$keys"], keys) or keys) if "$keys" in tree else keys
