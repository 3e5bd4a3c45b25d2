"""Dicts and their kin.

Rules of this module:

* A dict is an object when its keys are plain strings that do not start with `$`; else it is a list of pairs.
* An object's `$keys` gives the order its keys were in, as places in stored order; left out when that is the order.
* A `defaultdict` keeps its factory only when that is a class the registry knows; a function is refused.
* Orders are remembered by keys, because the dicts of a program have few shapes.
"""

from __future__ import annotations

from collections import ChainMap, Counter, OrderedDict, defaultdict
from collections.abc import Mapping
from typing import Any

from dalsegno.core.containers import items
from dalsegno.core.tree import Json, is_plain_text, order_note, read_order
from dalsegno.core.walk import (
    CLONERS,
    DECODERS,
    ENCODERS,
    LEAVES,
    Refusal,
    damaged,
    dec,
    deeper,
    dup,
    listed,
    only,
    part,
)

__all__ = ["clone_entries", "mapping"]

# --- dicts ----------------------------------------------------------------------------------------

_ORDERS: dict[tuple[str, ...], Json] = {}
"""Orders of keys seen before, all of them plain; short ones only, emptied when full."""
_ORDERS_LIMIT, _ORDERS_KEYS, _ORDERS_TEXT = 4096, 24, 400


def _order(keys: tuple[str, ...]) -> Json:
    order = order_note(keys)
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
    out: dict[str, Json] = {} if order is None else {"$keys": order}
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


_ORDERED: dict[tuple[Any, Any], list[str]] = {}
"""Keys in their order, by an object's keys and its `$keys`; emptied when full."""


def _in_order(keys: list[str], order: Json) -> list[str]:
    if any(key[:1] == "$" for key in keys):
        raise damaged("$keys", "no other key starting with $", keys)
    ordered = read_order(order, keys)
    if ordered is None:
        raise damaged("$keys", f"a permutation of {len(keys)} places", order)
    return ordered


def _ordered(tree: dict[str, Json]) -> dict[str, object]:
    order = tree["$keys"]
    known = (tuple(tree), order if type(order) is str else repr(order))
    keys = _ORDERED.get(known)
    if keys is None:
        keys = _in_order([key for key in tree if key != "$keys"], order)
        if len(keys) <= _ORDERS_KEYS and sum(map(len, keys)) <= _ORDERS_TEXT:
            if len(_ORDERED) >= _ORDERS_LIMIT:
                _ORDERED.clear()
            _ORDERED[known] = keys
    return {key: item if type(item := tree[key]) in LEAVES else dec(item) for key in keys}


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
