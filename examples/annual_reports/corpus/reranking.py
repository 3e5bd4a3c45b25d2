"""Who reads the candidates and keeps the best.

Rules of this module:

* A reranker sees the question and the texts, and gives a score for each. Any model can be one: it needs the one method.
* By rules, a text is worth: how both searches ranked it (they know what is rare in all the reports); how much of the
  question's words stand close together in it, and how much anywhere, the rare ones among the candidates weighing more;
  whether it names the metrics asked for, and the fiscal years asked for apart from the question; whether it is a table
  when a figure is asked for, or text when a reason is. The weights are round numbers and not fitted to a collection.
* Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Protocol

from examples.annual_reports.corpus.metrics import asks_for_figure, asks_for_reason, metrics_of, years_of
from examples.annual_reports.corpus.passages import Passage
from examples.annual_reports.corpus.words import asked, terms

__all__ = ["Reranker", "RuleReranker"]

_WINDOW = 40
_FUSED, _CLOSE, _COVER, _METRIC, _YEAR, _KIND = 2.0, 1.0, 0.5, 0.5, 0.25, 0.25


class Reranker(Protocol):
    """Whoever reads the candidates."""

    def score(
        self, query: str, passages: Sequence[Passage], *, fused: Sequence[float], years: Sequence[int]
    ) -> Sequence[float]:
        """How well each passage answers; the higher, the better.

        Args:
            query: the question or search words.
            passages: the candidates, best of the two searches first.
            fused: what the two searches gave each, from 0 to 1.
            years: the fiscal years asked for; empty where none was said.
        """


class RuleReranker:
    """The reranker without a model."""

    def score(
        self, query: str, passages: Sequence[Passage], *, fused: Sequence[float], years: Sequence[int]
    ) -> Sequence[float]:
        """The sum of what the rules give; from 0 to 4.5."""
        wanted = asked(query)
        texts = [list(terms(passage.text)) for passage in passages]
        bags = [set(text) for text in texts]
        weights = {term: log(1 + len(bags) / (1 + sum(term in bag for bag in bags))) for term in wanted}
        total = sum(weights.values()) or 1.0
        metrics = metrics_of(query)
        apart = {str(year) for year in set(years) - set(years_of(query))}  # those of the query are words of it
        kind = "table" if asks_for_figure(query) else "text" if asks_for_reason(query) else None
        scores = []
        for passage, text, bag, share in zip(passages, texts, bags, fused, strict=True):
            score = _FUSED * share + _COVER * sum(weights[term] for term in wanted if term in bag) / total
            score += _CLOSE * _closest(text, weights) / total
            if metrics:
                score += _METRIC * len(metrics & metrics_of(passage.text)) / len(metrics)
            if apart & bag:
                score += _YEAR
            if passage.kind == kind:
                score += _KIND
            scores.append(score)
        return scores


def _closest(text: Sequence[str], weights: dict[str, float]) -> float:
    """The most that the query's terms weigh within forty neighbouring terms, each counted once."""
    places = [(at, term) for at, term in enumerate(text) if term in weights]
    best = 0.0
    first = 0
    inside: dict[str, int] = {}
    for at, term in places:
        inside[term] = inside.get(term, 0) + 1
        while at - places[first][0] > _WINDOW:
            gone = places[first][1]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        best = max(best, sum(weights[each] for each in inside))
    return best
