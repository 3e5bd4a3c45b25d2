"""Which calls are the same call: canonical arguments, and the key made from them.

Rules of this module:

* Two calls are the same when a reader would say so: the order of keys, a number written 1, 1.0 or `Decimal("1.00")`,
  the Unicode form of a text, an argument left at its default, a tuple in place of a list, a set's order, an enum in
  place of its value, a moment told in another time zone, a model in place of its fields. `True` is not 1, and
  `"1"` is not 1.
* What has no such form is refused with its path; a call that cannot be told apart is not run on trust.
* A key is a SHA-256 over its parts, each with its length before it, so that no two lists of parts read the same.
* Pure values: no clock, no I/O.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from math import isfinite
from typing import Any, Final
from uuid import UUID

from dalsegno.core import codec
from dalsegno.core.chain import framed
from dalsegno.core.tree import MAX_DEPTH, Json, canonical, stored_order
from dalsegno.errors import Misuse, NotCanonical, NotSerializable

__all__ = ["ActionScope", "Call", "call_arguments", "canonical_tree", "key_of"]

_AS_THEY_ARE: Final = (type(None), bool, date, time, timedelta, UUID)
_WHOLE_DIGITS = 400
"""A whole number of up to so many digits is an integer; a longer one, which only a Decimal says shortly, stays one."""


class ActionScope(StrEnum):
    """What two equal calls share that makes them one action."""

    STEP = "step"
    THREAD = "thread"
    KEY = "key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call as the ledger knows it.

    Attributes:
        name: the action's name.
        scope: what makes an equal call the same action.
        anchor: the step's id or the caller's business key; None under scope `thread`.
        arguments: canonical tree of the arguments by name.
        recipient: canonical tree of who gets it, wrapped in a list; None where there is no recipient.
    """

    name: str
    scope: ActionScope
    anchor: str | None
    arguments: Json
    recipient: list[Json] | None


def key_of(tenant: str, thread: str, call: Call) -> bytes:
    """The idempotency key of a call: 32 bytes.

    Under scope `key` the arguments are left out, so that one business key with other arguments is noticed. The
    recipient never is.
    """
    parts: list[bytes | None] = [
        b"dalsegno action 1",
        _bytes(tenant),
        _bytes(thread),
        _bytes(call.scope),
        None if call.anchor is None else _bytes(call.anchor),
        _bytes(call.name),
        None if call.scope is ActionScope.KEY else canonical(call.arguments),
        None if call.recipient is None else canonical(call.recipient),
    ]
    return hashlib.sha256(framed(parts)).digest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def call_arguments(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], *, without: Collection[str] = ()
) -> dict[str, Any]:
    """The arguments of a call by parameter, defaults filled in.

    Args:
        function: what is called.
        args: what it is called with, by place.
        kwargs: what it is called with, by name.
        without: parameters that are no part of what is asked for, such as the idempotency key.

    Raises:
        Misuse: the function does not take these arguments.
    """
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        msg = f"{getattr(function, '__name__', 'the function')} cannot be called so: {error}; nothing was recorded"
        raise Misuse(msg) from error
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if name not in without}


def canonical_tree(value: Any, path: str = "arguments") -> Json:
    """The canonical tree of a value.

    Args:
        value: any value; it is read, never changed.
        path: what the value is called in an error.

    Raises:
        NotCanonical: something in it has no canonical form; names its path and type.
    """
    try:
        return codec.encode(_plain(value, path, 1), path)
    except NotCanonical:
        raise
    except NotSerializable as error:
        raise NotCanonical(
            error.path, error.type_name, "an action's arguments are plain data; pass an id in its place"
        ) from error


def _plain(value: Any, path: str, depth: int) -> Any:
    """A value in the one form that all equal values have."""
    if depth > MAX_DEPTH:
        raise NotCanonical(path[:200], type(value).__name__, "nested too deeply, or contains itself; pass an id")
    if isinstance(value, Enum):
        return _plain(value.value, path, depth + 1)
    if isinstance(value, Mapping):
        return _mapping(list(value.items()), path, depth)
    if isinstance(value, list | tuple):
        return [_plain(part, f"{path}[{at}]", depth + 1) for at, part in enumerate(value)]
    if isinstance(value, set | frozenset):
        return _set(value, path, depth)
    fields = _fields(value)
    return _scalar(value) if fields is None else _mapping(fields, path, depth)


def _scalar(value: Any) -> Any:
    """A value without parts; one of a type unknown here is left to the codec."""
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, str):
        return unicodedata.normalize("NFC", str.__str__(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float | Decimal):
        return _number(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.utcoffset() is not None else value.replace(fold=0)
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else value


def _number(value: float | Decimal) -> Any:
    """A number by what it amounts to: whole ones are integers, the rest floats where a float says it exactly."""
    if isinstance(value, float) and not isfinite(value):
        return float(value)
    exact = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    if not exact.is_finite():
        return float(exact) if not exact.is_snan() else float("nan")
    sign, digits, exponent = exact.as_tuple()
    power = int(exponent)
    while len(digits) > 1 and digits[-1] == 0:
        digits, power = digits[:-1], power + 1
    if digits in ((0,), ()):
        return 0
    shortest = Decimal((sign, digits, power))
    if power >= 0 and len(digits) + power <= _WHOLE_DIGITS:
        return int(shortest)
    near = float(shortest)
    return near if isfinite(near) and Decimal(repr(near)) == shortest else shortest


def _mapping(items: Sequence[tuple[Any, Any]], path: str, depth: int) -> dict[Any, Any]:
    """A dict in the order that is stored without a note, or by the keys' own forms where they are not text."""
    found: dict[Any, Any] = {}
    for key, value in items:
        place = f"{path}.{key}" if isinstance(key, str) and key.isidentifier() else f"{path}[{key!r:.60}]"
        plain = _plain(key, place, depth + 1)
        try:
            twice = plain in found
        except TypeError:
            raise NotCanonical(place, type(key).__name__, "keys are text or numbers; make it a list of pairs") from None
        if twice:
            raise NotCanonical(place, type(key).__name__, "two keys that read the same; keep one of them")
        found[plain] = _plain(value, place, depth + 1)
    if all(type(key) is str for key in found):
        try:
            return {key: found[key] for key in stored_order(list(found))}
        except UnicodeEncodeError:
            pass
    return dict(sorted(found.items(), key=lambda item: canonical(codec.encode(item[0], path))))


def _set(value: set[Any] | frozenset[Any], path: str, depth: int) -> list[Any]:
    parts = [_plain(part, f"{path}{{{part!r:.40}}}", depth + 1) for part in value]
    return sorted(parts, key=lambda part: canonical(codec.encode(part, path)))


def _fields(value: Any) -> list[tuple[str, Any]] | None:
    """The fields of a dataclass or a pydantic model; None for anything else."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return [(each.name, getattr(value, each.name)) for each in dataclasses.fields(value)]
    named = getattr(type(value), "model_fields", None)
    if isinstance(named, Mapping):
        extra = getattr(value, "model_extra", None)
        return [(name, getattr(value, name)) for name in named] + list((extra or {}).items())
    return None
