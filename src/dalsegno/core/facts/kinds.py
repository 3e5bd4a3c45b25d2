"""Kinds of facts, and one fact as it stands in a text.

Rules of this module:

* A fact's `text` is verbatim; its `value` is canonical, so that two spellings of one thing are equal: `五万元` and
  `RMB 50,000` are `CNY 50000`, `May 15, 2024` and `2024年5月15日` are `2024-05-15`, `3:30 PM` and `下午三点半` are
  `15:30`.
* Every kind is protected except a bare number, which is kept so that an invented one can be told.
* *Atoms* (amounts, dates, ids, …) do not overlap one another: the longest reading wins. *Wordings* (quotes, commands,
  commitments, approvals) may contain atoms and each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["ATOMS", "FIGURES", "WORDINGS", "Fact", "Kind"]


class Kind(StrEnum):
    """What a fact is."""

    AMOUNT = "amount"
    DATE = "date"
    TIME = "time"
    PERCENT = "percent"
    QUANTITY = "quantity"
    ID = "id"
    URL = "url"
    EMAIL = "email"
    PHONE = "phone"
    PATH = "path"
    COMMAND = "command"
    VERSION = "version"
    QUOTE = "quote"
    COMMITMENT = "commitment"
    APPROVAL = "approval"
    NUMBER = "number"


WORDINGS = frozenset({Kind.COMMAND, Kind.QUOTE, Kind.COMMITMENT, Kind.APPROVAL})
"""Kinds that are stretches of wording; others are listed inside them as well."""

ATOMS = frozenset(Kind) - WORDINGS
"""Kinds that never overlap one another."""

FIGURES = frozenset({Kind.AMOUNT, Kind.QUANTITY, Kind.PERCENT, Kind.NUMBER})
"""Kinds whose value is a number with or without a unit; a correction may name one without its unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact of a text.

    Attributes:
        kind: what it is.
        text: verbatim, as it stands in the text.
        value: canonical form; equal for two spellings of the same thing.
        start: offset of its first character in the text, in Python characters.
        end: offset after its last character; `text[start:end]` of the source is `text`.
    """

    kind: Kind
    text: str
    value: str
    start: int
    end: int

    @property
    def protected(self) -> bool:
        """Whether compaction must keep it: true of every kind but the bare number."""
        return self.kind is not Kind.NUMBER
