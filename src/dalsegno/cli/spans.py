"""Lengths of time as people write them: `500ms`, `30s`, `5m`, `2h`, `1d`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from dalsegno.errors import Misuse

__all__ = ["span", "told"]

_UNITS: Final = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
_FORM: Final = re.compile(rf"([0-9]+(?:\.[0-9]+)?)({'|'.join(_UNITS)})")


def span(option: str, text: str) -> timedelta:
    """The length that a text names.

    Raises:
        Misuse: it names none, or one that is nothing or longer than anyone waits.
    """
    match = _FORM.fullmatch(text.strip())
    try:
        found = float(match[1]) * _UNITS[match[2]] if match else timedelta(0)
    except OverflowError:
        found = timedelta(0)
    if found <= timedelta(0):
        msg = f"{option} {text}: give a length of time, such as 500ms, 30s, 5m, 2h or 1d"
        raise Misuse(msg)
    return found


def told(seconds: float) -> str:
    """A length of time, for people."""
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"  # noqa: PLR2004 - two minutes
