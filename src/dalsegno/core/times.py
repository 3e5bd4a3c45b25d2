"""Dates, times and zones.

Rules of this module:

* A time in a named zone is written as wall time and zone, which is what it holds; never as an instant.
* A zone is read only when this machine's list of zones has it; its name is never used to find a file or a module.
* Text is read by the type's own parser and must be what the type writes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from dalsegno.core.scalars import text
from dalsegno.core.tree import Json
from dalsegno.core.walk import ATOMS, DECODERS, ENCODERS, Refusal, damaged, dec, integers, listed, only, part
from dalsegno.errors import UnknownType

__all__ = ["written"]


def written(tree: Json, tag: str, read: Callable[[str], Any], write: Callable[[Any], str] = str) -> Any:
    """The value of a text that must be what the value's type writes."""
    if type(tree) is not str:
        raise damaged(tag, "text", tree)
    value = read(tree)
    if write(value) != tree:
        raise damaged(tag, write(value), tree)
    return value


# --- zones ----------------------------------------------------------------------------------------


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _zone_key(zone: ZoneInfo) -> str:
    key: str | None = zone.key
    if key not in _zones():
        raise Refusal(zone, "only zones of the tz database are stored: build it as ZoneInfo('Area/City')")
    return str(key)


def _zone(key: Json) -> ZoneInfo:
    if type(key) is not str:
        raise damaged("zone", "the name of a time zone", key)
    if key not in _zones():
        msg = f"time zone {key!r} is not on this machine: install the `tzdata` package, then read again"
        raise UnknownType(msg)
    return ZoneInfo(key)


def _parts(zone: timezone) -> tuple[timedelta, *tuple[str, ...]]:
    """Offset, and the name if it was given one."""
    return zone.__getinitargs__()  # type: ignore[attr-defined, no-any-return] # undocumented, but what copying uses


def _below_a_second(zone: timezone) -> bool:
    """Whether the offset has microseconds only, which Python's own parser of times takes for none at all."""
    return timedelta() != zone.utcoffset(None) and abs(zone.utcoffset(None)) < timedelta(seconds=1)


def _timezone(value: timezone, _depth: int) -> Json:
    offset, *name = _parts(value)
    return {"$timezone": [offset.days, offset.seconds, offset.microseconds, *map(text, name)]}


def _fixed(tree: dict[str, Json]) -> timezone:
    days, seconds, microseconds, *name = map(dec, listed(tree, "$timezone"))
    if any(type(each) is not int for each in (days, seconds, microseconds)):
        raise damaged("$timezone", "an offset as integers", tree["$timezone"])
    return timezone(timedelta(days, seconds, microseconds), *name)


ENCODERS[timezone] = _timezone
ENCODERS[ZoneInfo] = lambda value, depth: {"$zone": _zone_key(value)}
DECODERS["$timezone"] = _fixed
DECODERS["$zone"] = lambda tree: _zone(only(tree, "$zone"))


# --- dates and times ------------------------------------------------------------------------------


def _moment(tag: str, value: Any, depth: int) -> Json:
    zone: tzinfo | None = value.tzinfo
    plain = zone is None or (type(zone) is timezone and len(_parts(zone)) == 1 and not _below_a_second(zone))
    tree: dict[str, Json] = {tag: value.isoformat() if plain else value.replace(tzinfo=None).isoformat()}
    if type(zone) is ZoneInfo:
        tree["zone"] = _zone_key(zone)
    elif not plain:
        tree["tz"] = part("tzinfo", zone, value, depth + 1)
    if value.fold:
        tree["fold"] = 1
    return tree


def _read_moment(tree: dict[str, Json], tag: str, kind: Any) -> Any:
    value = written(only(tree, tag, "zone", "tz", "fold"), tag, kind.fromisoformat, kind.isoformat)
    if "zone" in tree:
        value = value.replace(tzinfo=_zone(tree["zone"]))
    elif "tz" in tree:
        value = value.replace(tzinfo=dec(tree["tz"]))
    if "fold" in tree:
        value = value.replace(fold=tree["fold"])
    return value


ENCODERS[datetime] = lambda value, depth: _moment("$datetime", value, depth)
ENCODERS[time] = lambda value, depth: _moment("$time", value, depth)
ENCODERS[date] = lambda value, depth: {"$date": value.isoformat()}
ENCODERS[timedelta] = lambda value, depth: {"$timedelta": [value.days, value.seconds, value.microseconds]}
DECODERS["$datetime"] = lambda tree: _read_moment(tree, "$datetime", datetime)
DECODERS["$time"] = lambda tree: _read_moment(tree, "$time", time)
DECODERS["$date"] = lambda tree: written(only(tree, "$date"), "$date", date.fromisoformat)
DECODERS["$timedelta"] = lambda tree: timedelta(*integers(tree, "$timedelta", 3))
ATOMS.update((datetime, date, time, timedelta, timezone, ZoneInfo))
