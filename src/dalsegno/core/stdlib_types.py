"""Envelopes of the standard library's value types: times, numbers, ids, paths, patterns, addresses.

Rules of this module:

* Only the type itself: a subclass (a `Timestamp`, a `FakeDatetime`) is refused by the walk.
* A time with a named zone is written as wall time and zone, which is what it holds; never as an instant.
* A zone is read only when this machine's list of zones has it; its name is never used to find a file or module.
* Text is parsed by the type's own parser and must be what that type would write.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from functools import cache
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from dalsegno.core.containers import integer, text
from dalsegno.core.tree import Json
from dalsegno.core.walk import ATOMS, CLONERS, DECODERS, ENCODERS, Refusal, damaged, dec, dup, enc, items, listed, only
from dalsegno.errors import UnknownType

__all__: list[str] = []


# --- times ----------------------------------------------------------------------------------------


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _zone_key(zone: ZoneInfo) -> str:
    key = zone.key
    if key not in _zones():
        raise Refusal(zone, "only zones of the tz database are stored: build it as ZoneInfo('Area/City')")
    return key


def _zone(key: Json) -> ZoneInfo:
    if type(key) is not str:
        raise damaged("zone", "the name of a time zone", key)
    if key not in _zones():
        msg = f"time zone {key!r} is not on this machine: install the `tzdata` package, then read again"
        raise UnknownType(msg)
    return ZoneInfo(key)


def _timezone(value: timezone, _depth: int = 0) -> Json:
    offset, *name = value.__getinitargs__()  # type: ignore[attr-defined]
    return {"$timezone": [offset.days, offset.seconds, offset.microseconds, *map(text, name)]}


def _fixed(tree: dict[str, Json]) -> timezone:
    days, seconds, microseconds, *name = map(dec, listed(tree, "$timezone"))
    return timezone(timedelta(days, seconds, microseconds), *name)


def _with_zone(tag: str, value: Any, zone: tzinfo | None, depth: int) -> Json:
    tree: dict[str, Json] = {tag: value.isoformat()}
    if zone is not None and type(zone) is ZoneInfo:
        tree = {tag: value.replace(tzinfo=None).isoformat(), "zone": _zone_key(zone)}
    elif zone is not None and (type(zone) is not timezone or len(zone.__getinitargs__()) > 1):  # type: ignore[attr-defined]
        tree = {tag: value.replace(tzinfo=None).isoformat(), "tz": enc(zone, depth + 1)}
    if value.fold:
        tree["fold"] = 1
    return tree


def _zoned(tree: dict[str, Json], tag: str, kind: Any) -> Any:
    written = only(tree, tag, "zone", "tz", "fold")
    value = kind.fromisoformat(written)
    if value.isoformat() != written:
        raise damaged(tag, value.isoformat(), written)
    if "zone" in tree:
        value = value.replace(tzinfo=_zone(tree["zone"]))
    elif "tz" in tree:
        value = value.replace(tzinfo=dec(tree["tz"]))
    if "fold" in tree:
        value = value.replace(fold=tree["fold"])
    return value


def _date(tree: dict[str, Json]) -> date:
    return date.fromisoformat(only(tree, "$date"))


def _timedelta(tree: dict[str, Json]) -> timedelta:
    days, seconds, microseconds = map(dec, listed(tree, "$timedelta"))
    return timedelta(days, seconds, microseconds)


ENCODERS[datetime] = lambda value, depth: _with_zone("$datetime", value, value.tzinfo, depth)
ENCODERS[time] = lambda value, depth: _with_zone("$time", value, value.tzinfo, depth)
ENCODERS[date] = lambda value, depth: {"$date": value.isoformat()}
ENCODERS[timedelta] = lambda value, depth: {"$timedelta": [value.days, value.seconds, value.microseconds]}
ENCODERS[timezone] = _timezone
ENCODERS[ZoneInfo] = lambda value, depth: {"$zone": _zone_key(value)}
DECODERS["$datetime"] = lambda tree: _zoned(tree, "$datetime", datetime)
DECODERS["$time"] = lambda tree: _zoned(tree, "$time", time)
DECODERS["$date"] = _date
DECODERS["$timedelta"] = _timedelta
DECODERS["$timezone"] = _fixed
DECODERS["$zone"] = lambda tree: _zone(only(tree, "$zone"))


# --- numbers, ids, ranges -------------------------------------------------------------------------


def _fraction(tree: dict[str, Json]) -> Fraction:
    numerator, denominator = map(dec, listed(tree, "$fraction"))
    if type(numerator) is not int or type(denominator) is not int:
        raise damaged("$fraction", "two integers", tree["$fraction"])
    return Fraction(numerator, denominator)


def _whole(tree: dict[str, Json]) -> range:
    start, stop, step = map(dec, listed(tree, "$range"))
    return range(start, stop, step)


def _slice(tree: dict[str, Json]) -> Any:
    start, stop, step = map(dec, listed(tree, "$slice"))
    return slice(start, stop, step)


def _decimal(tree: dict[str, Json]) -> Decimal:
    written = only(tree, "$decimal")
    if type(written) is not str:
        raise damaged("$decimal", "a decimal as text", written)
    return Decimal(written)


ENCODERS[Decimal] = lambda value, depth: {"$decimal": str(value)}
ENCODERS[Fraction] = lambda value, depth: {"$fraction": [integer(value.numerator), integer(value.denominator)]}
ENCODERS[UUID] = lambda value, depth: {"$uuid": str(value)}
ENCODERS[range] = lambda value, depth: {"$range": [*map(integer, (value.start, value.stop, value.step))]}
ENCODERS[slice] = lambda value, depth: {"$slice": items((value.start, value.stop, value.step), depth + 1)}
DECODERS["$decimal"] = _decimal
DECODERS["$fraction"] = _fraction
DECODERS["$uuid"] = lambda tree: UUID(only(tree, "$uuid"))
DECODERS["$range"] = _whole
DECODERS["$slice"] = _slice
CLONERS[slice] = lambda value: slice(*map(dup, (value.start, value.stop, value.step)))


# --- paths, patterns, addresses -------------------------------------------------------------------

_PATHS: dict[str, type[PurePath]] = {"posix": PurePosixPath, "windows": PureWindowsPath}


def _path(value: PurePath, _depth: int = 0) -> Json:
    cls = type(value)
    if cls(str(value)) != value:
        raise Refusal(value, "its text reads as another path: keep it as a string")
    if isinstance(value, Path):
        return {"$path": text(str(value))}
    return {"$purepath": text(str(value)), "kind": "posix" if cls is PurePosixPath else "windows"}


def _pure(tree: dict[str, Json]) -> PurePath:
    return _PATHS[tree["kind"]](dec(only(tree, "$purepath", "kind")))  # type: ignore[index]


def _pattern(value: re.Pattern[Any], depth: int) -> Json:
    if value.flags & re.DEBUG:
        raise Refusal(value, "a pattern compiled with re.DEBUG prints when it is read: compile it without")
    return {"$pattern": enc(value.pattern, depth + 1), "flags": value.flags}


def _compiled(tree: dict[str, Json]) -> re.Pattern[Any]:
    flags = tree["flags"]
    pattern = dec(only(tree, "$pattern", "flags"))
    if type(flags) is not int or flags & re.DEBUG or type(pattern) not in (str, bytes):
        raise damaged("$pattern", "a pattern and its flags", tree)
    return re.compile(pattern, flags)


def _address(tag: str, four: Any, six: Any) -> None:
    def decode(tree: dict[str, Json]) -> object:
        written = only(tree, tag)
        if type(written) is not str:
            raise damaged(tag, "an address as text", written)
        return six(written) if ":" in written else four(written)

    DECODERS[tag] = decode
    for kind in (four, six):
        ENCODERS[kind] = lambda value, depth: {tag: str(value)}
        ATOMS.add(kind)


_NATIVE = type(Path())
ENCODERS.update({_NATIVE: _path, PurePosixPath: _path, PureWindowsPath: _path, re.Pattern: _pattern})
DECODERS["$path"] = lambda tree: Path(dec(only(tree, "$path")))
DECODERS["$purepath"] = _pure
DECODERS["$pattern"] = _compiled
_address("$ip", IPv4Address, IPv6Address)
_address("$interface", IPv4Interface, IPv6Interface)
_address("$network", IPv4Network, IPv6Network)

ATOMS.update({datetime, date, time, timedelta, timezone, ZoneInfo, Decimal, Fraction, UUID, range})
ATOMS.update({_NATIVE, PurePosixPath, PureWindowsPath, re.Pattern})
CLONERS.update(dict.fromkeys(ATOMS, lambda value: value))
