"""When two failures are the same, and when another attempt is due.

Rules of this module:

* A failure is the same as another when error class, place and message are, where numbers, hexadecimal ids and quoted
  words in the message do not count: they name the moment and not the reason.
* The place is the function that raised, without line numbers, so that it survives an edit elsewhere in its file.
* Waiting doubles with each attempt, up to an hour.
* An error may be of anyone's making, and its text a call that fails. It is told all the same.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import timedelta

__all__ = ["Failure", "backoff", "fingerprint", "gist", "named", "told_safely", "wording"]

_LONGEST = timedelta(hours=1)
_SHOWN = 2000
_COMPARED = 500
_VARIES = re.compile(
    r"""0x[0-9a-fA-F]+ | \b[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\b | \b(?=[a-f]*[0-9])[0-9a-f]{8,}\b
      | "[^"]*" | '[^']*' | [0-9]+(?:[.,:][0-9]+)*""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a run failed.

    Attributes:
        kind: name of the error's class, with its module.
        place: `module:function` that raised.
        message: what it said.
        hopeless: True when another attempt cannot end otherwise.
    """

    kind: str
    place: str
    message: str
    hopeless: bool = False

    @property
    def told(self) -> str:
        """The failure in words, for people."""
        return told_safely(f"{self.kind.rpartition('.')[2]}: {self.message}")


def wording(error: BaseException) -> str:
    """What an error says, also where its own text is a call that fails."""
    try:
        return str(error)
    except Exception as failed:  # noqa: BLE001 - a program's `__str__`
        return f"its own text cannot be had ({type(failed).__name__})"


def named(error: BaseException) -> str:
    """An error's class and what it says."""
    return f"{type(error).__name__}: {wording(error)}"


def told_safely(text: str) -> str:
    """A text at the length it is kept in, in characters that every store takes."""
    return text[:_SHOWN].encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def gist(message: str) -> str:
    """A message without what differs from one time to the next."""
    return " ".join(_VARIES.sub("#", message).split())[:_COMPARED]


def fingerprint(failure: Failure) -> bytes:
    """What two equal failures have in common, in 16 bytes."""
    text = "\0".join((failure.kind, failure.place, gist(failure.message)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def backoff(base: timedelta, attempts: int) -> timedelta:
    """How long to wait after so many equal failures."""
    return min(base * (1 << min(attempts - 1, 20)), max(base, _LONGEST))
