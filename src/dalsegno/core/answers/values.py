"""What the answer cache hands out.

Rules of this module:

* A `Lookup` says which band it is in, and why it is in no better one. What another scope or user may not see, and what
  rests on other versions of its sources, is never in one.
* Times are aware UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

__all__ = ["Answer", "Band", "Calibration", "Lookup", "Removed", "Stats", "Stored", "Use"]

Band: TypeAlias = Literal["hit", "reference", "miss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """What the cache has for a question.

    Attributes:
        band: `hit`: the answer may be given as it is. `reference`: an earlier answer to a question like it, which
            may help to write a new one, and is not the answer. `miss`: nothing.
        answer, question: the earlier answer and its question; None on a miss.
        sources: what that answer rests on, versions by id.
        score: how near the two questions are; 0 on a miss without any candidate.
        reason: why it is no hit, in one word; `same` for a hit.
        why: the same in words.
        asked: the question as it was looked up, completed by its context.
        id: of the earlier answer; None on a miss.
        stored_at: when that was stored.
    """

    band: Band
    answer: str | None = None
    question: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    score: float = 0.0
    reason: str
    why: str
    asked: str
    id: str | None = None
    stored_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What became of an answer that was to be kept.

    Attributes:
        stored: whether it was.
        id: of the entry; None when it was refused.
        reason: one word for why not; `stored` or `replaced` when it was.
        why: the same in words.
        question: the question it is kept under, completed by its context.
    """

    stored: bool
    id: str | None
    reason: str
    why: str
    question: str

    def __bool__(self) -> bool:
        """Whether it was stored."""
        return self.stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One time an answer was handed out.

    Attributes:
        answer: id of the answer.
        band: `hit` or `reference`.
        asked: the question it was handed out for.
        thread_id, coordinate: where, as the caller said.
        user: for whom; None for a connection that is nobody's.
        at: when.
    """

    answer: str
    band: str
    asked: str
    thread_id: str | None
    coordinate: str | None
    user: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer in the cache.

    Attributes:
        id: its name.
        question, answer: the two.
        scope: the scope its caller chose.
        user: whose it is; None for one that is shared.
        by: the user whose connection stored it.
        thread_id: the thread it was written in, as the caller said.
        sources: what it rests on, versions by id; None for nothing that changes.
        entities, periods, numbers, units: what its question names.
        derived_from: ids of answers that helped to write it.
        stored_at, expires_at: since and until when.
        hits, references: how often it was handed out.
        calibration: number of the calibration its vector belongs to; None for one without a vector.
        uses: where it was handed out; filled in by `find` and `remove`.
    """

    id: str
    question: str
    answer: str
    scope: str
    user: str | None
    by: str | None
    thread_id: str | None
    sources: Mapping[str, str] | None
    entities: tuple[str, ...]
    periods: tuple[str, ...]
    numbers: tuple[str, ...]
    units: tuple[str, ...]
    derived_from: tuple[str, ...]
    stored_at: datetime
    expires_at: datetime | None
    hits: int
    references: int
    calibration: int | None
    uses: tuple[Use, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What went when answers were removed.

    Attributes:
        answers: the answers, those derived from them included.
        uses: every time one of them was handed out, the last first: where a wrong answer has been said.
    """

    answers: tuple[Answer, ...]
    uses: tuple[Use, ...]

    @property
    def threads(self) -> tuple[str, ...]:
        """The threads in which one of them was handed out."""
        return tuple(dict.fromkeys(use.thread_id for use in self.uses if use.thread_id is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The lines of an embedder, and how they were found.

    Attributes:
        number: which calibration of the tenant.
        embedder, dims: the embedder's name, and how many numbers its vectors have; `words` and 0 for the words alone.
        hit, reference: where the bands begin, in its own numbers; a `hit` above 1: no line is safe.
        same, different: pairs it was measured on.
        hits, references: of `same`.
        false_hits, false_alone, false_references: of `different`; `false_alone` without the guards.
        low, high: the interval of the rate of false hits at 95 %, by Clopper and Pearson.
        at: when.
    """

    number: int
    embedder: str
    dims: int
    hit: float
    reference: float
    same: int
    different: int
    hits: int
    references: int
    false_hits: int
    false_alone: int
    false_references: int
    low: float
    high: float
    at: datetime

    @property
    def rate(self) -> float:
        """The rate of false hits."""
        return self.false_hits / self.different if self.different else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The cache in numbers.

    Attributes:
        answers: that may be handed out.
        expired: that have expired and are not swept yet.
        outdated: whose vectors belong to an older calibration.
        hits, references: how often the answers that are there were handed out.
        scopes: answers by scope.
        sources: answers by source.
        size_bytes: bytes of questions and answers.
        calibration: the newest; None where there is none.
    """

    answers: int
    expired: int
    outdated: int
    hits: int
    references: int
    scopes: Mapping[str, int]
    sources: Mapping[str, int]
    size_bytes: int
    calibration: Calibration | None
