"""A checkpoint's small print: versions, what each node has seen, and whatever else LangGraph keeps in it.

Rules of this module:

* Names of channels and nodes repeat in every checkpoint; they stand once, in a *shape*, which is a form. The *frame*
  holds only numbers in the shape's order, and the *state* only nodes. Versions are written as how far they lie behind
  the newest.
* Keys of the checkpoint or its metadata that this version does not know are kept in `extra` and come back.
* A time is kept as microseconds when that gives back the same text, else the text is kept too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import orjson

from dalsegno.core import codec
from dalsegno.core.tree import Json
from dalsegno.services.ids import is_packed

__all__ = [
    "SOURCES",
    "Frame",
    "from_micros",
    "micros_of",
    "read_frame",
    "read_state",
    "split_metadata",
    "to_micros",
    "write_frame",
]

SOURCES = ("input", "loop", "update", "fork")

_KNOWN = {"v", "id", "ts", "channel_values", "channel_versions", "versions_seen", "updated_channels"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Frame:
    """A checkpoint's frame and shape as JSON bodies, and the columns taken out of it."""

    frame: bytes
    shape: bytes
    created_at: int


def write_frame(checkpoint: Mapping[str, Any], *, now: int) -> Frame:
    """Split a LangGraph checkpoint (without its values) into frame and shape.

    Args:
        checkpoint: as LangGraph hands it over.
        now: the database's time in microseconds, used when the checkpoint names none.
    """
    versions: Mapping[str, Any] = checkpoint.get("channel_versions") or {}
    seen: Mapping[str, Mapping[str, Any]] = checkpoint.get("versions_seen") or {}
    values: Mapping[str, Any] = checkpoint.get("channel_values") or {}
    channels = sorted({*versions, *values, *(name for part in seen.values() for name in part)})
    index = {name: place for place, name in enumerate(channels)}
    shape: list[Json] = [
        [codec.encode(name, "channel_versions") for name in channels],
        [[codec.encode(node, "versions_seen"), [index[name] for name in part]] for node, part in seen.items()],
        [index[name] for name in versions],
        [index[name] for name in values],
    ]
    updated = checkpoint.get("updated_channels")
    marks: Json = None
    if updated is not None:
        marks = [index[name] if name in index else codec.encode(name, "updated_channels") for name in updated]
    ts = checkpoint.get("ts")
    created_at, exact = micros_of(ts) if isinstance(ts, str) else (now, ts is None)
    extra = {key: value for key, value in checkpoint.items() if key not in _KNOWN and value != []}
    if not exact:
        extra["ts"] = ts
    if not is_packed(checkpoint["id"]):
        extra["id"] = checkpoint["id"]
    newest = _newest(versions, seen)
    body: list[Json] = [
        codec.encode(checkpoint.get("v"), "v"),
        newest,
        [_version(version, newest) for version in versions.values()],
        [[_version(version, newest) for version in part.values()] for part in seen.values()],
        marks,
    ]
    if extra:
        body.append(codec.encode(extra, "checkpoint"))
    return Frame(orjson.dumps(body), orjson.dumps(shape), created_at)


def read_frame(frame: str | bytes, shape: str | bytes, *, packed_id: str, created_at: int) -> dict[str, Any]:
    """Rebuild a LangGraph checkpoint from frame and shape, all but its values."""
    v, newest, versions, seen, marks, *rest = orjson.loads(frame)
    names, nodes, order, _ = orjson.loads(shape)
    channels = [codec.decode(name) if isinstance(name, dict) else name for name in names]
    extra: Any = codec.decode(rest[0]) if rest else {}
    checkpoint: dict[str, Any] = {
        "v": codec.decode(v),
        "id": extra.pop("id", packed_id),
        "ts": extra.pop("ts", None) or from_micros(created_at).isoformat(),
        "channel_values": {},
        "channel_versions": {
            channels[place]: _unversion(version, newest) for place, version in zip(order, versions, strict=True)
        },
        "versions_seen": {
            (codec.decode(node) if isinstance(node, dict) else node): {
                channels[place]: _unversion(version, newest) for place, version in zip(places, part, strict=True)
            }
            for (node, places), part in zip(nodes, seen, strict=True)
        },
        "updated_channels": None
        if marks is None
        else [
            channels[mark] if isinstance(mark, int) else codec.decode(mark) if isinstance(mark, dict) else mark
            for mark in marks
        ],
    }
    checkpoint.update(extra)
    return checkpoint


def read_state(state: str | bytes, shape: str | bytes) -> dict[str, Any]:
    """Nodes by channel, from the nodes alone and the shape that names them."""
    names, _, _, present = orjson.loads(shape)
    return {names[place]: node for place, node in zip(present, orjson.loads(state), strict=True)}


def split_metadata(metadata: Mapping[str, Any]) -> tuple[int | None, int | None, str | None, dict[str, Any]]:
    """Take source, step and run out of metadata.

    Returns:
        Source's number, step, run id, and the rest; a value that does not fit its column stays in the rest.
    """
    rest = dict(metadata)
    source = step = run = None
    if rest.get("source") in SOURCES:
        source = SOURCES.index(rest.pop("source"))
    if type(rest.get("step")) is int and abs(rest["step"]) < 2**31:
        step = rest.pop("step")
    candidate = rest.get("run_id")
    if isinstance(candidate, str) and "\x00" not in candidate and candidate.isprintable():
        run = rest.pop("run_id")
    return source, step, run, rest


def micros_of(ts: str) -> tuple[int, bool]:
    """Microseconds of an ISO time, and whether they alone give the text back."""
    try:
        at = datetime.fromisoformat(ts)
    except ValueError:
        return 0, False
    if at.tzinfo is None:
        return (at.replace(tzinfo=UTC) - _EPOCH) // _MICRO, False
    micros = to_micros(at)
    return micros, from_micros(micros).isoformat() == ts


def to_micros(at: datetime) -> int:
    """Microseconds since 1970 of an aware time."""
    return (at - _EPOCH) // _MICRO


def from_micros(micros: int) -> datetime:
    """An aware UTC time from microseconds since 1970."""
    return _EPOCH + micros * _MICRO


_MICRO = datetime.resolution


def _newest(versions: Mapping[str, Any], seen: Mapping[str, Mapping[str, Any]]) -> int | None:
    """The highest version, or None when one of them is no plain number."""
    every = [*versions.values(), *(version for part in seen.values() for version in part.values())]
    return max(every, default=0) if all(type(version) is int and abs(version) < _PLAIN for version in every) else None


def _version(value: Any, newest: int | None) -> Json:
    return codec.encode(value, "channel_versions") if newest is None else newest - int(value)


def _unversion(tree: Json, newest: int | None) -> Any:
    return codec.decode(tree) if newest is None else newest - cast("int", tree)


_PLAIN = 2**53
