"""A state in items: each value stored once, lists as ranges, reading as one rebuild.

Rules of this module:

* A channel's value is a JSON tree (see `codec`). Splitting turns it into a small *node* that stands in the
  checkpoint and *items* that stand apart. An item lives at `(lane, pos)`: lane 0 is the thread's *pool* (long strings,
  shapes), every other lane is the element sequence of one list.
* A string of `LONG_BYTES` or more goes to the pool, once per thread, found again by its digest; one of `BLOB_BYTES` or
  more becomes a blob, once per tenant. So a text keeps one copy, whoever holds it: the raw input, the message made
  from it, a pending write, the arguments of a `Send`.
* A channel's value of more than `INLINE_BYTES` and up to `WHOLE_BYTES` goes there whole, in the same way: the input,
  the write and the states that hold it share one item. What is smaller costs less where it stands than an item's row.
* A list that is larger than that, holds messages, or has changed since its parent becomes
  `{"$list": [[lane, first, last], ...]}`; elements that were in the parent's list keep their place, new ones are
  appended to a lane of the list's own, so that a growing list stays one range. Scalars of up to `INLINE_BYTES` and
  references that come together share an item, a chunk of up to `WHOLE_BYTES`; records keep items of their own.
* A plain object larger than `DICT_BYTES` becomes `{"$dict": ranges}` over `[key, value]` elements, in insertion order.
* Elements may hold split lists and dicts of their own, down to `MAX_DEPTH`; reading any state therefore takes a
  bounded number of rounds.
* `split` takes values apart, this module names the parts and puts them back. Both are pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import orjson

from dalsegno.core.tree import Json, canonical, order_note
from dalsegno.errors import Damaged

__all__ = [
    "BLOB_BYTES",
    "DICT_BYTES",
    "INLINE_BYTES",
    "LONG_BYTES",
    "MAX_DEPTH",
    "POOL",
    "WHOLE_BYTES",
    "Apart",
    "Place",
    "Plan",
    "Range",
    "digest_of",
    "digest_of_pooled",
    "elements_of",
    "is_chunk",
    "is_message",
    "last_places",
    "lift",
    "lift_input",
    "lift_value",
    "needs_of",
    "places_of",
    "put_back",
    "ranges_over",
    "size_of",
]

POOL = 0
LONG_BYTES = 96
BLOB_BYTES = 32 * 1024
INLINE_BYTES = 96
WHOLE_BYTES = 1024
DICT_BYTES = 1024
_MOST_ELEMENTS = 10_000_000
MAX_DEPTH = 3

_SHARING = 2 ** (MAX_DEPTH + 1)
"""How many times over a tree may name the items behind it."""

Place: TypeAlias = tuple[int, int]
"""Where an item stands: (lane, pos)."""

Range: TypeAlias = list[int]
"""`[lane, first, last]`: neighbouring items of one lane, both ends included."""


@dataclass(frozen=True, slots=True)
class Apart:
    """A part on its way to the pool, or a very long string on its way to the blobs.

    Attributes:
        tree: a string, or a whole value without parts of its own that stand apart.
        digest: what it is found by: 16 bytes in the pool, 32 for a blob.
        blob: whether it goes to the blobs.
    """

    tree: Json
    digest: bytes
    blob: bool = False


@dataclass(slots=True)
class Plan:
    """What has to be known from the store before a split can be finished."""

    digests: dict[bytes, Apart] = field(default_factory=dict)
    """Parts by digest: which of them does the pool hold already?"""


def lift_value(tree: Json, plan: Plan) -> Any:
    """Lift a channel's value: whole when it is small, else its long strings; see the module's rules.

    The same value is found by the same digest wherever it stands, so input, pending write and state share an item. A
    list of messages is taken apart whatever its size: events point to its elements.
    """
    if isinstance(tree, str):
        return _lift_string(tree, plan)
    if isinstance(tree, (list, dict)) and not is_message(tree):
        if isinstance(tree, list) and any(map(is_message, tree)):
            return lift(tree, plan)
        if len(tree) <= WHOLE_BYTES and INLINE_BYTES < len(orjson.dumps(tree)) <= WHOLE_BYTES:
            digest = _digest_of_tree(canonical(tree))
            return plan.digests.setdefault(digest, Apart(tree, digest))
    return lift(tree, plan)


def lift_input(tree: dict[str, Json], plan: Plan) -> Any:
    """Lift a run's raw input, a plain dict of channels' values: each like a value of its own."""
    return {key: part if key == "$keys" else lift_value(part, plan) for key, part in tree.items()}


def lift(tree: Json, plan: Plan) -> Any:
    """Replace every long string of a tree by an `Apart` and note it in the plan. Other parts are shared, not copied."""
    if isinstance(tree, str):
        return _lift_string(tree, plan)
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
        if "id" in changed and ("$m" in tree or "$type" in tree):
            del changed["id"]  # a message is known by it, in the item as it stands
        return {**tree, **changed} if changed else tree
    return tree


def _lift_string(text: str, plan: Plan) -> Any:
    if len(text) * 4 < LONG_BYTES:
        return text
    raw = text.encode()
    if len(raw) < LONG_BYTES:
        return text
    blob = len(raw) >= BLOB_BYTES
    digest = hashlib.sha256(raw).digest()
    digest = digest if blob else digest[:16]
    return plan.digests.setdefault(digest, Apart(text, digest, blob))


def digest_of_pooled(tree: Json) -> bytes:
    """The digest (16 bytes) that a pooled item is found by: a string's, or a whole value's."""
    return hashlib.sha256(tree.encode()).digest()[:16] if isinstance(tree, str) else _digest_of_tree(canonical(tree))


def _digest_of_tree(body: bytes) -> bytes:
    # A zero byte in front, which no text has: no string has the digest of another value's JSON.
    return hashlib.sha256(b"\0" + body).digest()[:16]


def digest_of(body: bytes) -> bytes:
    """Digest (16 bytes) of an element's body, the same whatever order a database returns its keys in."""
    return hashlib.sha256(canonical(orjson.loads(body))).digest()[:16]


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
        key = next(iter(node))
        if key in ("$list", "$dict"):
            return _ranges(node[key])
    return None


def _ranges(value: Any) -> list[Range]:
    """Ranges as a writer makes them, so that whoever counts through them comes to an end."""
    count = 0
    for part in value if isinstance(value, list) else [value]:
        if not (isinstance(part, list) and len(part) == 3 and all(map(_is_number, part)) and part[1] <= part[2]):  # noqa: PLR2004 - [lane, first, last]
            raise Damaged("a list's ranges", expected="[[lane, first, last], ...]", found=str(value)[:100])
        count += part[2] - part[1] + 1
    if count > _MOST_ELEMENTS:
        raise Damaged("a list's ranges", expected=f"at most {_MOST_ELEMENTS} elements", found=count)
    return cast("list[Range]", value)


def _pool_pos(value: Any) -> int:
    if not _is_number(value):
        raise Damaged("a reference", expected="a position in the pool", found=str(value)[:100])
    return cast("int", value)


def _digest(value: Any) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise Damaged("a blob's digest", expected="hexadecimal digits", found=str(value)[:100]) from None


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 < value < 2**31


def needs_of(tree: Any, ranges: list[Range], blobs: set[bytes]) -> None:
    """Collect what a stored tree points to: items (as ranges) and blobs (by digest)."""
    parts: Iterable[Any] = ()
    if isinstance(tree, dict):
        key = next(iter(tree)) if len(tree) == 1 else ""
        if key == "$ref":
            pos = _pool_pos(tree[key])
            ranges.append([POOL, pos, pos])
        elif key in ("$list", "$dict"):
            ranges.extend(_ranges(tree[key]))
        elif key == "$blob":
            blobs.add(_digest(tree[key]))
        else:
            parts = tree.values()
    elif isinstance(tree, list):
        parts = tree
    for part in parts:
        if isinstance(part, (dict, list)):
            needs_of(part, ranges, blobs)


def put_back(tree: Any, items: Mapping[Place, Any], blobs: Mapping[bytes, str]) -> Json:
    """Rebuild a tree from its node: the reverse of splitting.

    Args:
        tree: a node, or the tree of an item.
        items: parsed trees of every item reachable from it; themselves not yet rebuilt.
        blobs: texts by digest.

    Raises:
        Damaged: an item or blob is missing, or items name each other in a circle or many times over.
    """
    return _Rebuild(items, blobs).tree(tree)


class _Rebuild:
    """One tree on its way back.

    Parts of a tree may share items: one that was moved whole and one that was compared with it, at each level. More
    than `_SHARING` times over is no writer's work, and is refused before it fills the memory.
    """

    __slots__ = ("_blobs", "_items", "_left")

    def __init__(self, items: Mapping[Place, Any], blobs: Mapping[bytes, str]) -> None:
        self._items = items
        self._blobs = blobs
        self._left = _SHARING * len(items) + _SHARING

    def tree(self, tree: Any) -> Json:
        if isinstance(tree, dict):
            if len(tree) == 1:
                ((key, value),) = tree.items()
                if key == "$ref":
                    found = _item(self._items, (POOL, _pool_pos(value)))
                    if isinstance(found, str):
                        return found
                    self._take(1)
                    return self.tree(found)
                if key == "$list":
                    return list(self._elements(value))
                if key == "$dict":
                    return _dict_from(list(self._elements(value)))
                if key == "$blob":
                    try:
                        return self._blobs[_digest(value)]
                    except KeyError:
                        raise Damaged(f"blob {value}", expected="its text", found=None) from None
            return {key: self.tree(part) if isinstance(part, (dict, list)) else part for key, part in tree.items()}
        if isinstance(tree, list):
            return [self.tree(part) if isinstance(part, (dict, list)) else part for part in tree]
        return tree  # type: ignore[no-any-return]

    def _take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise Damaged("a state's items", expected="each named once", found="items that name others many times over")

    def _elements(self, value: Any) -> Iterator[Json]:
        ranges = _ranges(value)
        self._take(size_of(ranges))
        for place in places_of(ranges):
            element = _item(self._items, place)
            if is_chunk(element):
                if not isinstance(element["$chunk"], list):
                    raise Damaged(f"item {place[0]}:{place[1]}", expected="a chunk of a list", found=element)
                for part in element["$chunk"]:
                    yield self.tree(part) if isinstance(part, (dict, list)) else part
            else:
                yield self.tree(element)


def _item(items: Mapping[Place, Any], place: Place) -> Any:
    try:
        return items[place]
    except KeyError:
        raise Damaged(f"item {place[0]}:{place[1]}", expected="an item", found=None) from None


def _dict_from(pairs: list[Any]) -> Json:
    tree: dict[str, Json] = dict(pairs)
    order = order_note([key for key, _ in pairs])
    if order is not None:
        tree["$keys"] = order
    return tree


def is_chunk(tree: Any) -> bool:
    """Whether an item holds several elements of a list."""
    return isinstance(tree, dict) and len(tree) == 1 and "$chunk" in tree


def is_message(tree: Any) -> bool:
    """Whether a tree is a chat message's (the codec's `$m` envelope)."""
    return isinstance(tree, dict) and "$m" in tree
