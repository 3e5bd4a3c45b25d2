"""Envelopes of the scalars that JSON or jsonb cannot hold as they are.

Rules of this module:

* Text, integers and floats stand in a tree as themselves whenever `jsonb` keeps them; the envelope is for the rest.
* An integer outside 64 bits is decimal text, a very long one hexadecimal: decimal takes quadratic time to read.
* A NaN is one NaN, except one that carries bits of its own.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from math import isnan
from struct import pack, unpack
from typing import Any

from dalsegno.core.tree import INT_MAX, INT_MIN, Json, escape, is_plain_float, is_plain_text, unescape
from dalsegno.core.walk import ATOMS, CLONERS, DECODERS, ENCODERS, damaged, dec, listed, only

__all__ = ["integer", "text"]

_DECIMAL_BITS = 4096
_NAN = pack(">d", float("nan"))
_FLOAT = re.compile(r"-?inf|-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?")
_NAN_BITS = re.compile("nan:[0-9a-f]{16}")
_INT = re.compile(r"-?([0-9]+|0x[0-9a-f]+)")


def _same(value: Any, _depth: int) -> Json:
    return value  # type: ignore[no-any-return] # None and bool, by the table


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
    """A float as it is when jsonb keeps it, else as text."""
    if is_plain_float(value):
        return value
    if isnan(value) and (bits := pack(">d", value)) != _NAN:
        return {"$float": f"nan:{bits.hex()}"}
    return {"$float": repr(value)}


def _number(tree: dict[str, Json]) -> float:
    written = only(tree, "$float")
    if written == "nan":
        return float("nan")
    if _NAN_BITS.fullmatch(written):
        value: float = unpack(">d", bytes.fromhex(written[4:]))[0]
        return value
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


def base64_of(tree: dict[str, Json], tag: str, *also: str) -> bytes:
    """The bytes an envelope holds as base64."""
    return b64decode(only(tree, tag, *also), validate=True)


ENCODERS.update({type(None): _same, bool: _same, str: text, int: integer, float: number, complex: _complex})
ENCODERS[bytes] = lambda value, depth: {"$bytes": b64encode(value).decode()}
ENCODERS[bytearray] = lambda value, depth: {"$bytearray": b64encode(value).decode()}
DECODERS.update({"$str": _text, "$int": _integer, "$float": _number, "$complex": _complexed})
DECODERS["$bytes"] = lambda tree: base64_of(tree, "$bytes")
DECODERS["$bytearray"] = lambda tree: bytearray(base64_of(tree, "$bytearray"))
CLONERS[bytearray] = bytearray
ATOMS.update((type(None), bool, int, float, str, bytes, complex))
