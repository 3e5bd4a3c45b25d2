"""Envelopes of scalars JSON lacks and of the built-in containers.

Rules of this module:

* The encoder of a type and the decoder of its tag stand side by side.
* A set's elements are written in the order of their JSON text: equal sets have equal trees.
* A `defaultdict` keeps its factory only when that is a class the registry knows; a function is refused.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from math import isnan
from struct import pack, unpack
from typing import Any

from dalsegno.core.tree import INT_MAX, INT_MIN, Json, canonical, escape, is_plain_float, is_plain_text, unescape
from dalsegno.core.walk import (
    CLONERS,
    DECODERS,
    ENCODERS,
    Refusal,
    damaged,
    dec,
    dup,
    enc,
    items,
    listed,
    mapping,
    only,
)

__all__: list[str] = []

_DECIMAL_BITS = 4096
"""Longer integers are written in hexadecimal: reading decimal text takes time quadratic in its length."""
_NAN = pack(">d", float("nan"))
_FLOAT = re.compile(r"-?inf|-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?")
_INT = re.compile(r"-?(0x[0-9a-f]+|[0-9]+)")


# --- scalars --------------------------------------------------------------------------------------


def _same(value: Any, _depth: int) -> Json:
    return value  # type: ignore[no-any-return]


def text(value: str, _depth: int = 0) -> Json:
    """A string as it is, or escaped in an envelope."""
    if is_plain_text(value):
        return value
    return {"$str": escape(value)}


def _text(tree: dict[str, Json]) -> str:
    return unescape(only(tree, "$str"))


def integer(value: int, _depth: int = 0) -> Json:
    """An integer as it is within 64 bits, else as text."""
    if INT_MIN <= value <= INT_MAX:
        return value
    return {"$int": str(value) if value.bit_length() <= _DECIMAL_BITS else hex(value)}


def _integer(tree: dict[str, Json]) -> int:
    written = only(tree, "$int")
    if not _INT.fullmatch(written):
        raise damaged("$int", "an integer as text", written)
    return int(written, 16 if "x" in written else 10)


def number(value: float, _depth: int = 0) -> Json:
    """A float as it is when jsonb keeps it, else as text; a NaN with a payload as its bits."""
    if is_plain_float(value):
        return value
    if isnan(value) and (bits := pack(">d", value)) != _NAN:
        return {"$float": f"nan:{bits.hex()}"}
    return {"$float": repr(value)}


def _number(tree: dict[str, Json]) -> float:
    written = only(tree, "$float")
    if written == "nan":
        return float("nan")
    if written[:4] == "nan:":
        (value,) = unpack(">d", bytes.fromhex(written[4:]))
        return value  # type: ignore[no-any-return]
    if not _FLOAT.fullmatch(written):
        raise damaged("$float", "a float as text", written)
    return float(written)


def _complex(value: complex, _depth: int) -> Json:
    return {"$complex": [number(value.real), number(value.imag)]}


def _complexed(tree: dict[str, Json]) -> complex:
    real, imaginary = map(dec, listed(tree, "$complex"))
    if type(real) is not float or type(imaginary) is not float:
        raise damaged("$complex", "two floats", tree["$complex"])
    return complex(real, imaginary)


def _bytes(value: bytes, _depth: int) -> Json:
    return {"$bytes": b64encode(value).decode()}


def _bytearray(value: bytearray, _depth: int) -> Json:
    return {"$bytearray": b64encode(value).decode()}


ENCODERS.update({type(None): _same, bool: _same, str: text, int: integer, float: number, complex: _complex})
ENCODERS.update({bytes: _bytes, bytearray: _bytearray})
DECODERS.update({"$str": _text, "$int": _integer, "$float": _number, "$complex": _complexed})
DECODERS["$bytes"] = lambda tree: b64decode(only(tree, "$bytes"), validate=True)
DECODERS["$bytearray"] = lambda tree: bytearray(b64decode(only(tree, "$bytearray"), validate=True))
for _kind in (type(None), bool, int, float, str, bytes, complex):
    CLONERS[_kind] = lambda value: value
CLONERS[bytearray] = bytearray


# --- sequences and sets ---------------------------------------------------------------------------


def unordered(value: Iterable[object], depth: int) -> list[Json]:
    """Encode the elements of a set, ordered by their JSON text."""
    out: list[Json] = []
    element: object = None
    try:
        for element in value:
            out.append(enc(element, depth + 1))
    except Refusal as refusal:
        refusal.within(element, value)
        raise
    return sorted(out, key=canonical)


def elements(tree: dict[str, Json], tag: str) -> list[object]:
    """The elements of a set's envelope, which must differ."""
    found = [dec(element) for element in listed(tree, tag)]
    if len(set(found)) != len(found):
        raise damaged(tag, "elements that differ", tree[tag])
    return found


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
    parts = [dup(part) for part in value]
    if all(map(_is, parts, value)):
        return value
    return tuple(parts)


def _is(one: object, other: object) -> bool:
    return one is other


def _clone_frozenset(value: frozenset[object]) -> frozenset[object]:
    parts = [dup(part) for part in value]
    if all(map(_is, parts, value)):
        return value
    return frozenset(parts)


ENCODERS[list] = items
ENCODERS[tuple] = lambda value, depth: {"$tuple": items(value, depth + 1)}
ENCODERS[set] = lambda value, depth: {"$set": unordered(value, depth + 1)}
ENCODERS[frozenset] = lambda value, depth: {"$frozenset": unordered(value, depth + 1)}
ENCODERS[deque] = _deque
DECODERS["$tuple"] = lambda tree: tuple([dec(part) for part in listed(tree, "$tuple")])
DECODERS["$set"] = lambda tree: set(elements(tree, "$set"))
DECODERS["$frozenset"] = lambda tree: frozenset(elements(tree, "$frozenset"))
DECODERS["$deque"] = _dequeued
CLONERS[list] = lambda value: [CLONERS[type(part)](part) for part in value]
CLONERS[tuple] = _clone_tuple
CLONERS[set] = lambda value: set(map(dup, value))
CLONERS[frozenset] = _clone_frozenset
CLONERS[deque] = lambda value: deque(map(dup, value), value.maxlen)


# --- mappings -------------------------------------------------------------------------------------


def entries(tree: Json, tag: str) -> dict[Any, Any]:
    """Decode a part of an envelope, which must be a plain dict."""
    found = dec(tree)
    if type(found) is not dict:
        raise damaged(tag, "a dict", found)
    return found


def _clone_entries(value: dict[object, object]) -> dict[object, object]:
    return {dup(key): dup(item) for key, item in value.items()}


def _defaultdict(value: defaultdict[object, object], depth: int) -> Json:
    factory = value.default_factory
    if factory is not None and not isinstance(factory, type):
        hint = "its default_factory is a function, and code is not state: use a class such as list, or a plain dict"
        raise Refusal(value, hint)
    try:
        written = enc(factory, depth + 1)
    except Refusal as refusal:
        refusal.within("default_factory", value)
        raise
    return {"$defaultdict": mapping(value, depth + 1), "factory": written}


def _defaulted(tree: dict[str, Json]) -> defaultdict[Any, Any]:
    factory = dec(tree["factory"])
    if factory is not None and not isinstance(factory, type):
        raise damaged("$defaultdict", "a class as factory", tree["factory"])
    return defaultdict(factory, entries(only(tree, "$defaultdict", "factory"), "$defaultdict"))


def _chained(tree: dict[str, Json]) -> ChainMap[Any, Any]:
    return ChainMap(*map(dec, listed(tree, "$chainmap")))


def _counted(tree: dict[str, Json]) -> Counter[Any]:
    return _filled(Counter(), entries(only(tree, "$counter"), "$counter"))


def _filled(target: Any, source: dict[Any, Any]) -> Any:
    dict.update(target, source)
    return target


ENCODERS[dict] = mapping
ENCODERS[defaultdict] = _defaultdict
ENCODERS[Counter] = lambda value, depth: {"$counter": mapping(value, depth + 1)}
ENCODERS[OrderedDict] = lambda value, depth: {"$ordereddict": mapping(value, depth + 1)}
ENCODERS[ChainMap] = lambda value, depth: {"$chainmap": items(value.maps, depth + 1)}
DECODERS["$defaultdict"] = _defaulted
DECODERS["$counter"] = _counted
DECODERS["$ordereddict"] = lambda tree: OrderedDict(entries(only(tree, "$ordereddict"), "$ordereddict"))
DECODERS["$chainmap"] = _chained
CLONERS[dict] = _clone_entries
CLONERS[defaultdict] = lambda value: defaultdict(value.default_factory, _clone_entries(value))
CLONERS[Counter] = lambda value: _filled(Counter(), _clone_entries(value))
CLONERS[OrderedDict] = lambda value: OrderedDict(_clone_entries(value))
CLONERS[ChainMap] = lambda value: ChainMap(*map(dup, value.maps))
