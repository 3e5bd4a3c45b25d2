"""Numbers, ids, ranges, paths, patterns and addresses of the standard library.

Rules of this module:

* Only the type itself: a subclass is refused by the walk.
* Text is read by the type's own parser and must be what the type writes.
* A path of this machine is written as such, and is a path of the reading machine's kind when read.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any
from uuid import UUID

from dalsegno.core.containers import items
from dalsegno.core.scalars import integer, text
from dalsegno.core.times import written
from dalsegno.core.tree import Json
from dalsegno.core.walk import (
    ATOMS,
    CLONERS,
    DECODERS,
    ENCODERS,
    Refusal,
    damaged,
    dec,
    dup,
    integers,
    listed,
    only,
    part,
)

__all__: list[str] = []

# --- numbers, ids, ranges -------------------------------------------------------------------------


def _slice(tree: dict[str, Json]) -> Any:
    start, stop, step = map(dec, listed(tree, "$slice"))
    return slice(start, stop, step)


ENCODERS[Decimal] = lambda value, depth: {"$decimal": str(value)}
ENCODERS[Fraction] = lambda value, depth: {"$fraction": [integer(value.numerator), integer(value.denominator)]}
ENCODERS[UUID] = lambda value, depth: {"$uuid": str(value)}
ENCODERS[range] = lambda value, depth: {"$range": [*map(integer, (value.start, value.stop, value.step))]}
ENCODERS[slice] = lambda value, depth: {"$slice": items((value.start, value.stop, value.step), depth + 1)}
DECODERS["$decimal"] = lambda tree: written(only(tree, "$decimal"), "$decimal", Decimal)
DECODERS["$fraction"] = lambda tree: Fraction(*integers(tree, "$fraction", 2))
DECODERS["$uuid"] = lambda tree: written(only(tree, "$uuid"), "$uuid", UUID)
DECODERS["$range"] = lambda tree: range(*integers(tree, "$range", 3))
DECODERS["$slice"] = _slice
CLONERS[slice] = lambda value: slice(*map(dup, (value.start, value.stop, value.step)))
ATOMS.update((Decimal, Fraction, UUID, range))

# --- paths ----------------------------------------------------------------------------------------

_NATIVE = type(Path())
_PURE: dict[str, type[PurePath]] = {"posix": PurePosixPath, "windows": PureWindowsPath}


def _path(value: PurePath, _depth: int) -> Json:
    cls = type(value)
    if cls(str(value)) != value:
        raise Refusal(value, "its text reads as another path: keep it as a string")
    if cls is _NATIVE:
        return {"$path": text(str(value))}
    return {"$purepath": text(str(value)), "kind": "posix" if cls is PurePosixPath else "windows"}


def _pure(tree: dict[str, Json]) -> PurePath:
    kind = tree["kind"]
    if type(kind) is not str or kind not in _PURE:
        raise damaged("$purepath", "kind posix or windows", kind)
    return _PURE[kind](dec(only(tree, "$purepath", "kind")))


ENCODERS.update({_NATIVE: _path, PurePosixPath: _path, PureWindowsPath: _path})
DECODERS["$path"] = lambda tree: Path(dec(only(tree, "$path")))
DECODERS["$purepath"] = _pure
ATOMS.update((_NATIVE, PurePosixPath, PureWindowsPath))

# --- patterns -------------------------------------------------------------------------------------


def _pattern(value: re.Pattern[Any], depth: int) -> Json:
    if value.flags & re.DEBUG:
        raise Refusal(value, "a pattern compiled with re.DEBUG prints when it is read: compile it without")
    return {"$pattern": part("pattern", value.pattern, value, depth + 1), "flags": value.flags}


def _compiled(tree: dict[str, Json]) -> re.Pattern[Any]:
    flags = tree["flags"]
    pattern = dec(only(tree, "$pattern", "flags"))
    if type(flags) is not int or flags & re.DEBUG or type(pattern) not in (str, bytes):
        raise damaged("$pattern", "a pattern and its flags", tree)
    return re.compile(pattern, flags)


ENCODERS[re.Pattern] = _pattern
DECODERS["$pattern"] = _compiled
ATOMS.add(re.Pattern)

# --- addresses ------------------------------------------------------------------------------------


def _address(tag: str, four: Any, six: Any) -> None:
    def read(address: str) -> object:
        return six(address) if ":" in address else four(address)

    DECODERS[tag] = lambda tree: written(only(tree, tag), tag, read)
    for kind in (four, six):
        ENCODERS[kind] = lambda value, depth: {tag: str(value)}
        ATOMS.add(kind)


_address("$ip", IPv4Address, IPv6Address)
_address("$interface", IPv4Interface, IPv6Interface)
_address("$network", IPv4Network, IPv6Network)
