"""How far a model has looked for entries that the rules missed, and how that went.

Rules of this module:

* Its cursor is its own: the last event that the model was shown, or that was passed over after failing too often. So
  each event is shown once, and what it costs grows with the conversation and not with its square.
* A failure leaves the cursor where it is, and is told until the next success. After `ATTEMPTS` failures at one place
  the events there are passed over; the rules have heard them.
* Plain JSON both ways.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from dalsegno.errors import Damaged

__all__ = ["ATTEMPTS", "Extraction", "extraction_from_json"]

ATTEMPTS = 3
"""After so many failures at one place the events there are passed over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What is known of a model's work on a card.

    Attributes:
        by: which model.
        cursor: the last event that it was shown.
        failed: why it failed the last time; empty where it did not.
        attempts: how many failures in a row there were at this place.
        admitted: how many of its proposals passed the gate the last time.
        refused: how many did not.
        why: why not, some of the reasons.
        until: until when a process is at it, in microseconds since 1970; 0 for none.
    """

    by: str
    cursor: int = 0
    failed: str = ""
    attempts: int = 0
    admitted: int = 0
    refused: int = 0
    why: str = ""
    until: int = 0

    def __str__(self) -> str:
        if self.failed:
            return f"{self.by} failed, the card is the rules' own from #{self.cursor + 1} on: {self.failed}"
        told = (
            f"{self.by} looked up to #{self.cursor}, {self.admitted} of {self.admitted + self.refused} proposals taken"
        )
        return f"{told}; refused: {self.why}" if self.refused else told

    def to_json(self) -> dict[str, Any]:
        """As plain JSON, without what is empty."""
        return {name: value for name in _TYPES if (value := getattr(self, name)) or name == "by"}

    def failing(self, why: str, last: int) -> Extraction:
        """After a failure.

        Args:
            why: what happened.
            last: number of the last event that was shown.
        """
        if self.attempts + 1 < ATTEMPTS:
            return replace(self, failed=why, attempts=self.attempts + 1, admitted=0, refused=0, why="", until=0)
        return Extraction(by=self.by, cursor=max(last, self.cursor), failed=f"{why}; passed over up to #{last}")


_TYPES = {one.name: {"str": str, "int": int}[str(one.type)] for one in fields(Extraction)}


def extraction_from_json(tree: Any) -> Extraction | None:
    """What `to_json` wrote; None for None. Fields of a later version are passed over.

    Raises:
        Damaged: the tree is nothing of the kind.
    """
    if tree is None:
        return None
    try:
        known = {name: tree[name] for name in _TYPES if name in tree}
        wrong = {name: value for name, value in known.items() if type(value) is not _TYPES[name]}
        found = None if wrong else Extraction(**known)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Damaged("extraction of a card", expected="fields as JSON", found=repr(error)) from error
    if found is None:
        raise Damaged("extraction of a card", expected="fields as JSON", found=repr(wrong)[:80])
    return found
