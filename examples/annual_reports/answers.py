"""Answers that were given before, in dalsegno's answer cache.

Rules of this module:

* An answer is kept under the completed question, with the versions of the documents it cites. A report that was
  read in anew has another version, and what rested on the old one is not handed out.
* What may be kept at all is decided before (`graph.py`); the library's own gate has the last word, with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from dalsegno import Dalsegno
from examples.annual_reports.answering import read
from examples.annual_reports.ports import Corpus
from examples.annual_reports.state import Cached

__all__ = ["Answers", "DalsegnoAnswers", "Draft", "NoAnswers"]

SCOPE = "annual_reports"
TTL = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A clean answer that is to be kept.

    Attributes:
        question: completed.
        companies, years: what it is about.
        text: the answer with its sources and chart, without a warning.
        passages: what it cites.
        finish_reason: how its writer ended.
    """

    question: str
    companies: Sequence[str]
    years: Sequence[int]
    text: str
    passages: Sequence[str]
    finish_reason: str = "stop"


class Answers(Protocol):
    """Where answers are kept."""

    def lookup(self, question: str, companies: Sequence[str], years: Sequence[int]) -> Cached:
        """What was answered to this question, or to one like it."""

    def store(self, draft: Draft) -> str:
        """Keep an answer.

        Returns:
            Why it was not kept; nothing where it was.
        """


class NoAnswers:
    """Keeps nothing."""

    def lookup(self, question: str, companies: Sequence[str], years: Sequence[int]) -> Cached:  # noqa: ARG002
        """Nothing is known."""
        return _miss("no answers are kept")

    def store(self, draft: Draft) -> str:  # noqa: ARG002 - the shape of a cache
        """Nothing is kept."""
        return "no answers are kept"


class DalsegnoAnswers:
    """Kept by `ds.cache`: a hit from 0.95 on, a reference from 0.80 on."""

    def __init__(self, ds: Dalsegno, corpus: Corpus) -> None:
        """Take the database, and the reports whose versions count."""
        self._cache, self._corpus = ds.cache, corpus

    def lookup(self, question: str, companies: Sequence[str], years: Sequence[int]) -> Cached:
        """A hit or a reference, as long as every document it rests on is still the same."""
        now = {source: version for each in companies for source, version in self._corpus.sources(each).items()}
        found = self._cache.lookup(question, scope=SCOPE, sources=now, context=_context(companies, years))
        if found.band == "miss" or not found.answer:
            return _miss(found.why, found.score)
        if not self._all_there(found.answer):
            return _miss("a passage that it cites is gone", found.score)
        return Cached(
            band=found.band, answer=found.answer, question=found.question or "", score=found.score, why=found.why
        )

    def _all_there(self, answer: str) -> bool:
        _, sources, _ = read(answer)
        try:
            return all(self._corpus.passage(each["id"]) for each in sources)
        except KeyError:
            return False

    def store(self, draft: Draft) -> str:
        """Keep it, if the library's gate lets it pass."""
        passages = [self._corpus.passage(each) for each in draft.passages]
        kept = self._cache.store(
            draft.question,
            draft.text,
            scope=SCOPE,
            sources={each.source: self._corpus.version(each.source) for each in passages},
            entities=list(draft.companies),
            quality=True,
            groundedness=True,
            finish_reason=draft.finish_reason,
            complete=True,
            ttl=TTL,
            context=_context(draft.companies, draft.years),
        )
        return "" if kept.stored else kept.why


def _context(companies: Sequence[str], years: Sequence[int]) -> Mapping[str, Any]:
    """What completes a question that leans on its conversation."""
    return {"entity": list(companies), "period": [f"FY{year}" for year in years]}


def _miss(why: str, score: float = 0.0) -> Cached:
    return Cached(band="miss", answer="", question="", score=score, why=why)
