"""Lists, tuples, sets, dicts and their kin.

Rules of this module:

* A dict is an object when its keys are plain strings that do not start with `$`; else it is a list of pairs.
* An object's `$keys` gives the order its keys were in, as places in stored order; left out when that is the order.
* A set's elements are written in the order of their JSON text: equal sets have equal trees.
* A `defaultdict` keeps its factory only when that is a class the registry knows; a function is refused.
"""

from __future__ import annotations

from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping
from operator import is_
from typing import Any

from dalsegno.core.tree import Json, canonical, is_plain_text, permutation, stored_order
from dalsegno.core.walk import (
    CLONERS,
    DECODERS,
    ENCODERS,
    Refusal,
    damaged,
    dec,
    deeper,
    dup,
    listed,
    only,
    part,
)

__all__ = ["items", "mapping"]


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


# --- dicts ----------------------------------------------------------------------------------------

_ORDERS: dict[tuple[str, ...], list[int] | None] = {}
"""Orders of keys seen before, all of them plain; short ones only, emptied when full."""
_ORDERS_LIMIT, _ORDERS_KEYS, _ORDERS_TEXT = 4096, 24, 400


def _order(keys: tuple[str, ...]) -> list[int] | None:
    order = permutation(keys)
    if len(keys) <= _ORDERS_KEYS and sum(map(len, keys)) <= _ORDERS_TEXT:
        if len(_ORDERS) >= _ORDERS_LIMIT:
            _ORDERS.clear()
        _ORDERS[keys] = order
    return order


def _is_plain_key(key: str) -> bool:
    return key[:1] != "$" and is_plain_text(key)


def mapping(value: dict[Any, Any], depth: int) -> Json:
    """Encode a dict's entries: an object when every key is plain text, else pairs."""
    for key in value:
        if type(key) is not str:
            return _pairs(value, depth)
    keys = tuple(value)
    try:
        order = _ORDERS[keys]
    except KeyError:
        if not all(map(_is_plain_key, keys)):
            return _pairs(value, depth)
        order = _order(keys)
    depth = deeper(value, depth)
    out: dict[str, Json] = {} if order is None else {"$keys": list(order)}
    key = None
    try:
        for key, item in value.items():
            out[key] = ENCODERS[type(item)](item, depth)
    except Refusal as refusal:
        refusal.within(key, value)
        raise
    return out


def _pairs(value: dict[Any, Any], depth: int) -> Json:
    depth = deeper(value, depth + 2)
    return {"$map": [[part(key, key, value, depth), part(key, item, value, depth)] for key, item in value.items()]}


def _ordered(tree: dict[str, Json]) -> dict[str, object]:
    order = tree["$keys"]
    keys = [key for key in tree if key != "$keys"]
    if any(key[:1] == "$" for key in keys):
        raise damaged("$keys", "no other key starting with $", tree)
    if type(order) is not list or [*map(type, order)] != [int] * len(keys):
        raise damaged("$keys", f"{len(keys)} places", order)
    keys = stored_order(keys)
    ordered = [keys[place] for place in order if type(place) is int and place >= 0]
    if len(set(ordered)) != len(keys):
        raise damaged("$keys", f"a permutation of {len(keys)} keys", order)
    return {key: dec(tree[key]) for key in ordered}


def _paired(tree: dict[str, Json]) -> dict[object, object]:
    out: dict[object, object] = {}
    pairs = listed(tree, "$map")
    for pair in pairs:
        if type(pair) is not list:
            raise damaged("$map", "pairs of key and value", pair)
        key, item = pair
        out[dec(key)] = dec(item)
    if len(out) != len(pairs):
        raise damaged("$map", "keys that differ", pairs)
    return out


def clone_entries(value: dict[Any, Any]) -> dict[Any, Any]:
    """Clone the entries of a dict."""
    return {
        key if type(key) is str else dup(key): item if type(item) is str else CLONERS[type(item)](item)
        for key, item in value.items()
    }


ENCODERS[dict] = mapping
DECODERS["$keys"] = _ordered
DECODERS["$map"] = _paired
CLONERS[dict] = clone_entries


# --- kin of dict ----------------------------------------------------------------------------------


def entries(tree: Json, tag: str) -> dict[Any, Any]:
    """Decode a part of an envelope, which must be a plain dict."""
    found = dec(tree)
    if type(found) is not dict:
        raise damaged(tag, "a dict", found)
    return found


def _factory(value: defaultdict[object, object], depth: int) -> Json:
    factory = value.default_factory
    if factory is not None and not isinstance(factory, type):
        hint = "its default_factory is a function, and code is not state: use a class such as list, or a plain dict"
        raise Refusal(value, hint)
    return part("default_factory", factory, value, depth)


def _defaultdict(value: defaultdict[object, object], depth: int) -> Json:
    return {"$defaultdict": mapping(value, depth + 1), "factory": _factory(value, depth + 1)}


def _clone_defaultdict(value: defaultdict[Any, Any]) -> defaultdict[Any, Any]:
    _factory(value, 1)
    return defaultdict(value.default_factory, clone_entries(value))


def _defaulted(tree: dict[str, Json]) -> defaultdict[Any, Any]:
    factory = dec(tree["factory"])
    if factory is not None and not isinstance(factory, type):
        raise damaged("$defaultdict", "a class as factory", tree["factory"])
    return defaultdict(factory, entries(only(tree, "$defaultdict", "factory"), "$defaultdict"))


def _filled(target: Any, source: dict[Any, Any]) -> Any:
    dict.update(target, source)
    return target


def _bare(value: Any, depth: int) -> Json:
    if vars(value):
        raise Refusal(value, f"has attributes of its own ({', '.join(vars(value))}): keep them beside it")
    return mapping(value, depth)


def _chained(tree: dict[str, Json]) -> ChainMap[Any, Any]:
    maps = [dec(each) for each in listed(tree, "$chainmap")]
    if not maps or not all(isinstance(each, Mapping) for each in maps):
        raise damaged("$chainmap", "one or more mappings", maps)
    return ChainMap(*maps)


ENCODERS[defaultdict] = _defaultdict
ENCODERS[Counter] = lambda value, depth: {"$counter": _bare(value, depth + 1)}
ENCODERS[OrderedDict] = lambda value, depth: {"$ordereddict": _bare(value, depth + 1)}
ENCODERS[ChainMap] = lambda value, depth: {"$chainmap": items(value.maps, depth + 1)}
DECODERS["$defaultdict"] = _defaulted
DECODERS["$counter"] = lambda tree: _filled(Counter(), entries(only(tree, "$counter"), "$counter"))
DECODERS["$ordereddict"] = lambda tree: OrderedDict(entries(only(tree, "$ordereddict"), "$ordereddict"))
DECODERS["$chainmap"] = _chained
CLONERS[defaultdict] = _clone_defaultdict
CLONERS[Counter] = lambda value: _filled(Counter(), clone_entries(value))
CLONERS[OrderedDict] = lambda value: OrderedDict(clone_entries(value))
CLONERS[ChainMap] = lambda value: ChainMap(*map(dup, value.maps))
