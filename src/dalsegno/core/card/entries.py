"""What a handover card says, entry by entry, each with where it was said.

Rules of this module:

* An entry without evidence is no entry. Evidence is the coordinate of an event, or a place in a state.
* A decision was decided by someone who may decide; what was merely suggested is a proposal and stands apart.
* What was replaced, withdrawn or rests on words that were edited since stays in `history`, with what replaced it.
* A card is a value. It is derived: it can be thrown away and made again from the journal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from dalsegno.core.card.extraction import Extraction
from dalsegno.core.card.findings import Finding
from dalsegno.errors import Misuse

__all__ = ["Card", "Entry", "Evidence", "Modality"]


class Modality(StrEnum):
    """How far a matter has come."""

    PROPOSED = "proposed"
    DECIDED = "decided"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Where something was said.

    Attributes:
        number: of the event; 0 for what stands in a state.
        author: who said it.
        place: for what stands in a state: which part of it, such as `attachments[0]`.
    """

    number: int
    author: str
    place: str = ""

    @property
    def coordinate(self) -> str:
        """`#126 user`, or the place in the state."""
        return f"#{self.number} {self.author}" if self.number else self.place

    def __str__(self) -> str:
        return self.coordinate


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that whoever goes on has to know.

    Attributes:
        text: in the words in which it was said; no number and no date in it that its evidence lacks.
        evidence: where it was said; the first is where it was decided, promised or demanded.
        modality: of decisions and proposals; None for all others.
        owner: who has promised it, or was asked to do it.
        due: until when, in the words that were used.
        subject: what a fact or a constraint is about.
        status: of an action its state, of a todo where it stands.
        key: idempotency key of an action, in hexadecimal; reference of an artifact.
        at: when an action ended or moved last.
        superseded_by: coordinate of what replaced, withdrew or finished it; empty while it stands.
        supersedes: coordinates of what it replaced.
        stale: whether the words it rests on were edited or deleted since.
        by: which model proposed it, past the gate; empty for what the rules heard.
    """

    text: str
    evidence: tuple[Evidence, ...]
    modality: Modality | None = None
    owner: str = ""
    due: str = ""
    subject: str = ""
    status: str = ""
    key: str = ""
    at: datetime | None = None
    superseded_by: str = ""
    supersedes: tuple[str, ...] = ()
    stale: bool = False
    by: str = ""

    def __post_init__(self) -> None:
        if not self.evidence:
            raise Misuse(f"an entry of a card needs evidence; {self.text!r} has none, so leave it out.")

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Where it was said, such as `("#12 user", "#11 assistant")`."""
        return tuple(one.coordinate for one in self.evidence)

    def to_json(self) -> dict[str, Any]:
        """The entry as plain JSON, without what is empty."""
        found: dict[str, Any] = {"text": self.text, "evidence": list(self.coordinates)}
        if self.modality is not None:
            found["modality"] = str(self.modality)
        for name in ("owner", "due", "subject", "status", "key", "superseded_by", "by"):
            if value := getattr(self, name):
                found[name] = value
        if self.at is not None:
            found["at"] = self.at.isoformat()
        if self.supersedes:
            found["supersedes"] = list(self.supersedes)
        if self.stale:
            found["stale"] = True
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Where a conversation stands, for whoever takes it over.

    Attributes:
        goal: what it is about, in the words of who asked; None before anyone asked for anything.
        decisions: what was decided and stands, oldest first.
        pending: what was promised or asked for and is not done.
        artifacts: files and other attachments.
        actions: what was done to the world on this lineage, and what is under way, from the ledger.
        facts: the latest values that were said, each with its subject.
        constraints: what must, must not, or may only be.
        last_event_id: the last event that was taken in; later ones are the delta.
        version: how often the card was written.
        proposals: what was suggested and not decided.
        history: what stood once: replaced, withdrawn, done, or stale.
        elsewhere: actions of other branches of the thread. They are no part of this lineage, but the world has seen
            them.
        findings: what was heard, from which the rest is made.
        forgotten: how many findings had to make room for newer ones; the journal has them.
        extraction: how far a model has looked for more, and how that went; None where none was asked. No part of what
            makes two cards equal.
    """

    goal: Entry | None = None
    decisions: tuple[Entry, ...] = ()
    pending: tuple[Entry, ...] = ()
    artifacts: tuple[Entry, ...] = ()
    actions: tuple[Entry, ...] = ()
    facts: tuple[Entry, ...] = ()
    constraints: tuple[Entry, ...] = ()
    last_event_id: int = 0
    version: int = 0
    proposals: tuple[Entry, ...] = ()
    history: tuple[Entry, ...] = ()
    elsewhere: tuple[Entry, ...] = ()
    findings: tuple[Finding, ...] = field(default=(), repr=False)
    forgotten: int = 0
    extraction: Extraction | None = field(default=None, compare=False)

    @property
    def entries(self) -> Iterator[Entry]:
        """Every entry that stands, the goal first."""
        if self.goal is not None:
            yield self.goal
        for part in (self.decisions, self.constraints, self.pending, self.actions, self.artifacts, self.facts):
            yield from part

    def to_json(self) -> dict[str, Any]:
        """The card as plain JSON."""
        return {
            "goal": None if self.goal is None else self.goal.to_json(),
            **{
                name: [entry.to_json() for entry in getattr(self, name)]
                for name in (
                    "decisions",
                    "pending",
                    "artifacts",
                    "actions",
                    "facts",
                    "constraints",
                    "proposals",
                    "elsewhere",
                    "history",
                )
            },
            "last_event_id": self.last_event_id,
            "version": self.version,
            **({} if self.extraction is None else {"extraction": self.extraction.to_json()}),
        }
