"""Facts beyond the session: what one is, and what becomes of older ones when a newer is written.

Rules of this module:

* A fact holds from a time on, up to another or until further notice. Facts about the same subject and the same
  attribute follow one another; nothing is ever rewritten, only its end is set. Facts about other things stay.
* A newer fact ends the one that holds when it begins. One that is learned late, but is older than what is known, holds
  up to the next known; it takes nothing back.
* An attribute of which there may be several at once (`several=True`: allergies, children) ends nothing.
* Subjects and attributes are the same when they are after folding: case, width and blanks do not tell them apart.
* Pure: no clock, no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = ["Evidence", "Held", "Memory", "Placing", "place"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Where something was said.

    Attributes:
        thread_id: the thread.
        seq, author: number and author of the event.
    """

    thread_id: str
    seq: int
    author: str

    @property
    def coordinate(self) -> str:
        """Number and author: `#12 user`."""
        return f"#{self.seq} {self.author}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A fact that holds beyond the session.

    Attributes:
        id: its name, also its key in `ds.store`.
        subject, attribute, value: what is the case, as it was given.
        text: the value in words.
        user: whose it is; None for the tenant's own.
        evidence: what was said that it rests on.
        source: where else it is from; "" if from nowhere else.
        confidence: between 0 and 1, or None when nobody said.
        valid_from, valid_to: since when and up to when it holds, aware UTC; None for until further notice.
        recorded_at: when it was first written.
        score: how well it answers a query; None where there was none.
    """

    id: str
    subject: str
    attribute: str
    value: Any
    text: str
    user: str | None
    evidence: tuple[Evidence, ...]
    source: str
    confidence: float | None
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    score: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether it holds until further notice."""
        return self.valid_to is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An older fact about the same subject and attribute.

    Attributes:
        number: which one.
        start, end: microseconds; None for until further notice.
        same: whether its value is that of the newer one.
    """

    number: int
    start: int
    end: int | None
    same: bool

    def at(self, moment: int) -> bool:
        """Whether it holds at a moment."""
        return self.start <= moment and (self.end is None or self.end > moment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """What becomes of a newer fact and of the older ones.

    Attributes:
        repeats: the older fact that says the same already; nothing is written then.
        ended: older facts that end where the newer one begins.
        end: where the newer one ends.
    """

    repeats: int | None
    ended: tuple[int, ...]
    end: int | None


def place(older: Sequence[Held], *, start: int, end: int | None, several: bool) -> Placing:
    """Find the place of a newer fact among older ones about the same subject and attribute.

    Args:
        older: those that are known.
        start: when the newer one begins.
        end: when it ends, if that is known.
        several: whether there may be several at once.
    """
    for held in older:
        if held.same and held.at(start) and end in (None, held.end):
            return Placing(repeats=held.number, ended=(), end=held.end)
    if several:
        return Placing(repeats=None, ended=(), end=end)
    later = [held.start for held in older if held.start > start]
    ends = [moment for moment in (end, *later) if moment is not None]
    ended = tuple(held.number for held in older if held.at(start))
    return Placing(repeats=None, ended=ended, end=min(ends, default=None))
