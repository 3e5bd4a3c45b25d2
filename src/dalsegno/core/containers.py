"""Lists, tuples, deques and sets.

Rules of this module:

* A list is a list; every other container is an envelope.
* A set's elements are written in the order of their JSON text: equal sets have equal trees.
* A tuple or frozenset whose parts cannot change is its own clone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from operator import is_
from typing import Any

from dalsegno.core.tree import Json, canonical
from dalsegno.core.walk import CLONERS, DECODERS, ENCODERS, Refusal, damaged, dec, deeper, dup, listed, part

__all__ = ["items"]

# --- sequences ------------------------------------------------------------------------------------


def items(value: Any, depth: int) -> list[Json]:
    """Encode the elements of a sequence."""
    depth = deeper(value, depth)
    out: list[Json] = []
    try:
        for item in value:
            out.append(ENCODERS[type(item)](item, depth))  # noqa: PERF401 - a failing element is found by len(out)
    except Refusal as refusal:
        refusal.within(len(out), value)
        raise
    return out


def _deque(value: deque[object], depth: int) -> Json:
    tree: dict[str, Json] = {"$deque": items(value, depth + 1)}
    if value.maxlen is not None:
        tree["maxlen"] = value.maxlen
    return tree


def _dequeued(tree: dict[str, Json]) -> deque[object]:
    found = listed(tree, "$deque", "maxlen")
    maxlen = tree.get("maxlen")
    if maxlen is not None and (type(maxlen) is not int or maxlen < len(found)):
        raise damaged("$deque", f"a maxlen of {len(found)} or more", maxlen)
    return deque(map(dec, found), maxlen)


def _clone_tuple(value: tuple[object, ...]) -> tuple[object, ...]:
    parts = [dup(each) for each in value]
    return value if all(map(is_, parts, value)) else tuple(parts)


ENCODERS[list] = items
ENCODERS[tuple] = lambda value, depth: {"$tuple": items(value, depth + 1)}
ENCODERS[deque] = _deque
DECODERS["$tuple"] = lambda tree: tuple([dec(each) for each in listed(tree, "$tuple")])
DECODERS["$deque"] = _dequeued
CLONERS[list] = lambda value: [CLONERS[type(each)](each) for each in value]
CLONERS[tuple] = _clone_tuple
CLONERS[deque] = lambda value: deque(map(dup, value), value.maxlen)


# --- sets -----------------------------------------------------------------------------------------


def unordered(value: Iterable[object], depth: int) -> list[Json]:
    """Encode the elements of a set, ordered by their JSON text."""
    depth = deeper(value, depth)
    return sorted([part(element, element, value, depth) for element in value], key=canonical)


def _elements(tree: dict[str, Json], tag: str) -> list[object]:
    found = [dec(element) for element in listed(tree, tag)]
    if len(set(found)) != len(found):
        raise damaged(tag, "elements that differ", tree[tag])
    return found


def _clone_frozenset(value: frozenset[object]) -> frozenset[object]:
    parts = [dup(each) for each in value]
    return value if all(map(is_, parts, value)) else frozenset(parts)


ENCODERS[set] = lambda value, depth: {"$set": unordered(value, depth + 1)}
ENCODERS[frozenset] = lambda value, depth: {"$frozenset": unordered(value, depth + 1)}
DECODERS["$set"] = lambda tree: set(_elements(tree, "$set"))
DECODERS["$frozenset"] = lambda tree: frozenset(_elements(tree, "$frozenset"))
CLONERS[set] = lambda value: set(map(dup, value))
CLONERS[frozenset] = _clone_frozenset
