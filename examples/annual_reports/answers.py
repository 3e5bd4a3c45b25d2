"""Answers that were given before, in dalsegno's answer cache.

Rules of this module:

* An answer is kept under the completed question, with the versions of the documents it cites; a report that was read in
  anew takes its answers along.
* What may be kept at all is decided before (`graph.py`); the library's own gate has the last word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from examples.annual_reports.state import Cached

__all__ = ["Answers", "NoAnswers"]


class Answers(Protocol):
    """Where answers are kept."""

    def lookup(self, question: str, companies: Sequence[str], years: Sequence[int]) -> Cached:
        """What was answered to this question, or to one like it."""

    def store(
        self,
        question: str,
        answer: str,
        companies: Sequence[str],
        years: Sequence[int],
        passages: Sequence[str],
        confidence: str,
    ) -> str:
        """Keep an answer.

        Returns:
            Why it was not kept; nothing where it was.
        """


class NoAnswers:
    """Keeps nothing."""

    def lookup(self, question: str, companies: Sequence[str], years: Sequence[int]) -> Cached:  # noqa: ARG002 - the shape of a cache
        """Nothing is known."""
        return Cached(band="miss", answer="", question="", score=0.0, why="no answers are kept")

    def store(self, *given: Any) -> str:  # noqa: ARG002 - the shape of a cache
        """Nothing is kept."""
        return "no answers are kept"


class DalsegnoAnswers:
    """Kept by `ds.cache`."""

    @classmethod
    def of(cls, ds: Any, corpus: Any) -> Answers:
        """The cache of a database."""
        return NoAnswers()
