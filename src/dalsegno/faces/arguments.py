"""Arguments that come from outside: a wrong one is the caller's mistake and must not look like damage.

Rules of this module:

* Each check names the argument, shows what was given, and says what to give.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from dalsegno.errors import Misuse

__all__ = ["a_count", "a_text", "an_aware_time"]

_SHOWN = 80


def a_text(name: str, value: object, *, optional: bool = False) -> None:
    """Check that an argument is text (or None, where it may be left out).

    Raises:
        Misuse: it is not.
    """
    if not isinstance(value, str) and not (optional and value is None):
        msg = f"{name}={_shown(value)} is {type(value).__name__}; give text" + (" or leave it out" if optional else "")
        raise Misuse(msg)


def a_count(name: str, value: object, *, optional: bool = False) -> None:
    """Check that an argument is a whole number from 0 (or None, where it may be left out).

    Raises:
        Misuse: it is not.
    """
    if optional and value is None:
        return
    if type(value) is not int or value < 0:
        msg = f"{name}={_shown(value)}: give a whole number from 0" + (", or None for no limit" if optional else "")
        raise Misuse(msg)


def an_aware_time(name: str, value: object) -> None:
    """Check that an argument, where it is given, is a time with a zone.

    Raises:
        Misuse: it is not.
    """
    if value is not None and not (isinstance(value, datetime) and value.utcoffset() is not None):
        msg = f"{name}={_shown(value)} is no aware time; give one with a zone, such as datetime.now(UTC)"
        raise Misuse(msg)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
