r"""The JSON tree: what may stand in it, and the bytes it becomes.

Rules of this module:

* A tree is made of `None`, `bool`, `int`, `float`, `str`, `list` and `dict` with `str` keys, and is the same
  after a trip through `orjson`, a PostgreSQL `jsonb` column, or both.
* `jsonb` forgets the order of an object's keys and keeps them by length in UTF-8 bytes, then bytewise. That
  order is called *stored order* here; an order that differs is written down as a permutation of it.
* `jsonb` keeps numbers as decimals: it writes exponents out and knows no -0.0. A plain float has neither.
* `jsonb` refuses NUL, and UTF-8 refuses lone surrogates. Text with either is escaped as `\uXXXX`, the
  backslash included, inside an envelope.
* A tree is at most about `MAX_DEPTH` levels deep, well below where orjson and PostgreSQL stop.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import copysign
from typing import Any, TypeAlias, cast

import orjson

from dalsegno.errors import Damaged

__all__ = [
    "MAX_DEPTH",
    "Json",
    "canonical",
    "digest",
    "dumps",
    "escape",
    "is_blank",
    "is_plain_float",
    "is_plain_object",
    "is_plain_text",
    "is_utf8",
    "loads",
    "order_note",
    "read_order",
    "stored_order",
    "unescape",
]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u180b\u180c\u180d\u180f") | {
    chr(each) for each in range(0xFE00, 0xFE10)
}
"""Letters and marks that show nothing; the others that show nothing are format characters or white space."""

MAX_DEPTH = 128
"""The level down to which a list or object may hold others; a scalar's envelope may add a few. orjson writes 253."""

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
_SMALL, _LARGE = 1e-4, 1e16
"""From the one up to below the other, the shortest text of a float has no exponent."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_ESCAPED = re.compile("[\x00\\\\\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(u[0-9a-f]{4})?")


def is_blank(text: str) -> bool:
    """Whether nothing of a text is seen: white space and characters that no one sees, such as zero-width ones."""
    return all(char.isspace() or char in _FILLERS or unicodedata.category(char) == "Cf" for char in text)


def is_plain_text(text: str) -> bool:
    """Whether a string survives as it is: no NUL and no lone surrogate."""
    return "\0" not in text and is_utf8(text)


def is_utf8(text: str) -> bool:
    """Whether a string can be written as UTF-8: it has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_plain_float(number: float) -> bool:
    """Whether a float is written without an exponent and keeps its sign: 0.0, or 1e-4 <= |x| < 1e16."""
    return _SMALL <= abs(number) < _LARGE or (number == 0 and copysign(1, number) > 0)


def is_plain_object(tree: Mapping[str, Json]) -> bool:
    """Whether an object is a dict with text keys, and no envelope."""
    return all(key[:1] != "$" or key == "$keys" for key in tree)


def escape(text: str) -> str:
    r"""Write backslash, NUL and lone surrogates as `\uXXXX`."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def unescape(text: str) -> str:
    """Undo `escape`.

    Raises:
        ValueError: a backslash does not start an escape.
    """

    def character(found: re.Match[str]) -> str:
        if found[1] is None:
            msg = "a backslash that starts no escape"
            raise ValueError(msg)
        return chr(int(found[1][1:], 16))

    return _ESCAPE.sub(character, text)


def _stored(key: str) -> tuple[int, bytes]:
    raw = key.encode()
    return len(raw), raw


def stored_order(keys: Sequence[str]) -> list[str]:
    """The keys in the order a `jsonb` object keeps them."""
    if all(map(str.isascii, keys)):
        return sorted(sorted(keys), key=len)
    return sorted(keys, key=_stored)


def order_note(keys: Sequence[str]) -> Json:
    """Where each key stands in stored order, or None when the keys are in stored order already.

    A place of up to 36 keys is one character, a digit or a letter from `a`, and the note a string of them: it stands in
    nearly every object, and `jsonb` takes 12 bytes for a number. Of more keys it is a list of places.
    """
    ordered = stored_order(keys)
    if ordered == list(keys):
        return None
    place = {key: index for index, key in enumerate(ordered)}
    places = [place[key] for key in keys]
    return "".join(map(_DIGITS.__getitem__, places)) if len(places) <= len(_DIGITS) else cast("Json", places)


def read_order(note: Json, keys: Sequence[str]) -> list[str] | None:
    """The keys in the order that a note gives them, or None when it is no note on these keys."""
    if isinstance(note, str):
        if len(keys) > len(_DIGITS):
            return None
        places: list[Any] = [_DIGITS.find(digit) for digit in note]
    elif isinstance(note, list):
        places = note
    else:
        return None
    if any(type(place) is not int for place in places) or sorted(places) != list(range(len(keys))):
        return None
    ordered = stored_order(keys)
    return [ordered[place] for place in places]


def dumps(tree: Json) -> bytes:
    """A tree as compact UTF-8 JSON, keys in the order given."""
    return orjson.dumps(tree)


def canonical(tree: Json) -> bytes:
    """A tree as the one text a digest is taken over: keys sorted, the same before and after `jsonb`.

    Read values from `dumps`, not from here: the sorted order is not the stored order.
    """
    return orjson.dumps(tree, option=orjson.OPT_SORT_KEYS)


def digest(tree: Json) -> bytes:
    """SHA-256 over `canonical(tree)`: 32 bytes."""
    return sha256(orjson.dumps(tree, option=orjson.OPT_SORT_KEYS)).digest()


def loads(data: bytes | bytearray | memoryview | str) -> Json:
    """The tree in a JSON text.

    Raises:
        Damaged: the text is not JSON, or is nested deeper than any value that was written.
    """
    try:
        tree: Json = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Damaged("stored JSON", expected="JSON text", found=str(error)) from error
    return tree
