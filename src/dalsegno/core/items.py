"""A state split into items: each value stored once, lists as ranges, reading as one rebuild.

Rules of this module:

* A channel's value is a JSON tree (see `codec`). Splitting turns it into a small *node* that stands in the
  checkpoint and *items* that stand apart. An item lives at `(lane, pos)`: lane 0 is the thread's *pool* (long strings,
  shapes), every other lane is the element sequence of one list.
* A string of `LONG_BYTES` or more goes to the pool, once per thread, found again by its digest; one of `BLOB_BYTES` or
  more becomes a blob, once per tenant. So a text keeps one copy, whoever holds it: the raw input, the message made
  from it, a pending write, the arguments of a `Send`.
* A list whose value is larger than `INLINE_BYTES` becomes `{"$list": [[lane, first, last], ...]}`; elements that were
  in the parent's list keep their place, new ones are appended to a lane of the list's own, so that a growing list
  stays one range. Lists of many scalars are cut into chunks of `CHUNK` first.
* A plain object larger than `DICT_BYTES` becomes `{"$dict": ranges}` over `[key, value]` elements, in insertion order.
* Elements may hold split lists and dicts of their own, down to `MAX_DEPTH`; reading any state therefore takes a
  bounded number of rounds.
* Pure: operations that need the store hand their questions to the caller as data.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson

from dalsegno.core.tree import Json, permutation, stored_order
from dalsegno.errors import Damaged

__all__ = [
    "BLOB_BYTES",
    "LONG_BYTES",
    "POOL",
    "Long",
    "NewItem",
    "Place",
    "Plan",
    "Range",
    "Split",
    "digest_of",
    "elements_of",
    "is_message",
    "last_places",
    "lift",
    "needs_of",
    "places_of",
    "put_back",
    "ranges_over",
    "size_of",
]

POOL = 0
LONG_BYTES = 256
BLOB_BYTES = 32 * 1024
INLINE_BYTES = 128
DICT_BYTES = 1024
CHUNK = 64
MAX_DEPTH = 3
_LEAST_RANGES = 32

Place: TypeAlias = tuple[int, int]
"""Where an item stands: (lane, pos)."""

Range: TypeAlias = list[int]
"""`[lane, first, last]`: neighbouring items of one lane, both ends included."""


@dataclass(frozen=True, slots=True)
class Long:
    """A long string on its way to the pool, or a very long one on its way to the blobs."""

    text: str
    digest: bytes
    blob: bool


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to store."""

    lane: int
    pos: int
    body: bytes
    digest: bytes | None = None


@dataclass(slots=True)
class Plan:
    """What has to be known from the store before a split can be finished."""

    digests: dict[bytes, Long] = field(default_factory=dict)
    """Long strings by digest: which of them does the pool hold already?"""


def lift(tree: Json, plan: Plan) -> Any:
    """Replace every long string of a tree by a `Long` and note it in the plan. Other parts are shared, not copied."""
    if isinstance(tree, str):
        return _lift_string(tree, plan) if len(tree) * 4 >= LONG_BYTES else tree
    if isinstance(tree, list):
        out: list[Any] | None = None
        for index, part in enumerate(tree):
            if isinstance(part, (str, list, dict)) and (new := lift(part, plan)) is not part:
                out = out or list(tree)
                out[index] = new
        return tree if out is None else out
    if isinstance(tree, dict):
        changed = {
            key: new
            for key, part in tree.items()
            if isinstance(part, (str, list, dict)) and (new := lift(part, plan)) is not part
        }
        return {**tree, **changed} if changed else tree
    return tree


def _lift_string(text: str, plan: Plan) -> Any:
    raw = text.encode()
    if len(raw) < LONG_BYTES:
        return text
    blob = len(raw) >= BLOB_BYTES
    digest = hashlib.sha256(raw).digest()
    digest = digest if blob else digest[:16]
    return plan.digests.setdefault(digest, Long(text, digest, blob))


def digest_of(body: bytes) -> bytes:
    """Digest (16 bytes) of an element's body, the same whatever order a database returns its keys in."""
    return hashlib.sha256(orjson.dumps(orjson.loads(body), option=orjson.OPT_SORT_KEYS)).digest()[:16]


def ranges_over(places: Iterable[Place]) -> list[Range]:
    """Write a sequence of places as ranges; neighbours in one lane join."""
    ranges: list[Range] = []
    for lane, pos in places:
        if ranges and ranges[-1][0] == lane and ranges[-1][2] + 1 == pos:
            ranges[-1][2] = pos
        else:
            ranges.append([lane, pos, pos])
    return ranges


def size_of(ranges: Sequence[Range]) -> int:
    """How many items ranges name."""
    return sum(last - first + 1 for _, first, last in ranges)


def places_of(ranges: Sequence[Range]) -> Iterator[Place]:
    """The places that ranges name, in order."""
    for lane, first, last in ranges:
        for pos in range(first, last + 1):
            yield lane, pos


def last_places(ranges: Sequence[Range], count: int) -> list[Place]:
    """The last places that ranges name, in order."""
    places: list[Place] = []
    for lane, first, last in reversed(ranges):
        take = min(count - len(places), last - first + 1)
        places.extend((lane, last - offset) for offset in range(take))
        if len(places) == count:
            break
    return places[::-1]


def elements_of(node: Any) -> list[Range] | None:
    """The ranges of a split list or dict, or None for any other node."""
    if isinstance(node, dict) and len(node) == 1:
        found = node.get("$list")
        if found is None:
            found = node.get("$dict")
        return found if isinstance(found, list) else None
    return None


def needs_of(tree: Any, ranges: list[Range], blobs: set[bytes]) -> None:
    """Collect what a stored tree points to: items (as ranges) and blobs (by digest)."""
    if isinstance(tree, dict):
        if len(tree) == 1:
            ((key, value),) = tree.items()
            if key == "$ref":
                ranges.append([POOL, value, value])
                return
            if key in ("$list", "$dict"):
                ranges.extend(value)
                return
            if key == "$blob":
                blobs.add(bytes.fromhex(value))
                return
        for part in tree.values():
            if isinstance(part, (dict, list)):
                needs_of(part, ranges, blobs)
    elif isinstance(tree, list):
        for part in tree:
            if isinstance(part, (dict, list)):
                needs_of(part, ranges, blobs)


def put_back(tree: Any, items: Mapping[Place, Any], blobs: Mapping[bytes, str]) -> Json:
    """Rebuild a tree from its node: the reverse of splitting.

    Args:
        tree: a node, or the tree of an item.
        items: parsed trees of every item reachable from it; themselves not yet rebuilt.
        blobs: texts by digest.

    Raises:
        Damaged: an item or blob is missing.
    """
    if isinstance(tree, dict):
        if len(tree) == 1:
            ((key, value),) = tree.items()
            if key == "$ref":
                return put_back(_item(items, (POOL, value)), items, blobs)
            if key == "$list":
                return list(_elements(value, items, blobs))
            if key == "$dict":
                return _dict_from(list(_elements(value, items, blobs)))
            if key == "$blob":
                try:
                    return blobs[bytes.fromhex(value)]
                except KeyError:
                    raise Damaged(f"blob {value}", expected="its text", found=None) from None
        return {
            key: put_back(part, items, blobs) if isinstance(part, (dict, list)) else part
            for key, part in tree.items()
        }
    if isinstance(tree, list):
        return [put_back(part, items, blobs) if isinstance(part, (dict, list)) else part for part in tree]
    return tree  # type: ignore[no-any-return]


def _item(items: Mapping[Place, Any], place: Place) -> Any:
    try:
        return items[place]
    except KeyError:
        raise Damaged(f"item {place[0]}:{place[1]}", expected="an item", found=None) from None


def _elements(ranges: Sequence[Range], items: Mapping[Place, Any], blobs: Mapping[bytes, str]) -> Iterator[Json]:
    for place in places_of(ranges):
        element = _item(items, place)
        if isinstance(element, dict) and len(element) == 1 and "$chunk" in element:
            yield from element["$chunk"]
        else:
            yield put_back(element, items, blobs)


def _dict_from(pairs: list[Any]) -> Json:
    tree: dict[str, Json] = dict(pairs)
    order = permutation([key for key, _ in pairs])
    if order is not None:
        tree["$keys"] = order  # type: ignore[assignment]  # a list of ints is Json; lists are invariant
    return tree


def _keys_in_order(tree: Mapping[str, Any]) -> list[str]:
    keys = [key for key in tree if key != "$keys"]
    order = tree.get("$keys")
    if order is None:
        return keys
    ordered = stored_order(keys)
    return [ordered[place] for place in order]


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
                return {"$dict": self._ranges(pairs, old, depth)}
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

    def _ranges(self, elements: list[Any], old: Any, depth: int) -> list[Range]:
        old_ranges = elements_of(old) or []
        old_places = list(places_of(old_ranges))
        old_digests = [digest_of(self._old[place]) if place in self._old else b"" for place in old_places]
        where: defaultdict[bytes, deque[int]] = defaultdict(deque)
        for index, digest in enumerate(old_digests):
            where[digest].append(index)
        lane = 0
        places: list[Place] = []
        cursor = 0
        by_key = self._by_key(old_places) if any(map(_is_pair, elements)) else {}
        for index, element in enumerate(elements):
            if _is_pair(element):
                before = by_key.get(element[0])
            else:
                before = self._tree(old_places[index]) if index < len(old_places) else None
            body = self._element_body(element, before, depth)
            digest = digest_of(body)
            if cursor < len(old_places) and old_digests[cursor] == digest:
                found: int | None = cursor
            else:
                options = where.get(digest)
                found = options[0] if options else None
            if found is None:
                lane = lane or self._lane_for(old_ranges)
                places.append((lane, self._add_element(lane, body)))
            else:
                where[digest].remove(found)
                places.append(old_places[found])
                cursor = found + 1
        ranges = ranges_over(places)
        if len(ranges) > max(_LEAST_RANGES, len(elements) // 8):
            # Broken up by edits: write it out once more in one piece, so that ranges stay short.
            lane = self._new_lane()
            bodies = {item_place(item): item.body for item in self.items}
            fresh = [bodies[place] if place in bodies else self._old[place] for place in places]
            return ranges_over((lane, self._add_element(lane, body)) for body in fresh)
        return ranges

    def _element_body(self, element: Any, old: Any, depth: int) -> bytes:
        if _is_pair(element) and depth + 1 < MAX_DEPTH:
            part = self.node(element[1], old, depth + 1) if _is_large(element[1]) else element[1]
            return self.body_of([element[0], part])
        if isinstance(element, dict) and depth + 1 < MAX_DEPTH:
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


def item_place(item: NewItem) -> Place:
    """Where a new item stands."""
    return item.lane, item.pos


def _is_plain(tree: Mapping[str, Any]) -> bool:
    return all(not key.startswith("$") or key == "$keys" for key in tree)


def is_message(tree: Any) -> bool:
    """Whether a tree is a chat message's (the codec's `$m` envelope)."""
    return isinstance(tree, dict) and "$m" in tree


def _is_pair(tree: Any) -> bool:
    return isinstance(tree, list) and len(tree) == 2 and isinstance(tree[0], str)  # noqa: PLR2004 - [key, value]


def _is_large(tree: Any) -> bool:
    if not isinstance(tree, (list, dict)) or (isinstance(tree, dict) and not _is_plain(tree)):
        return False
    return len(orjson.dumps(tree, default=lambda _: 0, option=orjson.OPT_PASSTHROUGH_DATACLASS)) > DICT_BYTES


def _chunked(tree: list[Any]) -> list[Any]:
    if len(tree) < CHUNK or any(isinstance(part, (list, dict, Long)) for part in tree):
        return tree
    return [{"$chunk": tree[at : at + CHUNK]} for at in range(0, len(tree), CHUNK)]
