"""Ranking texts for a query: BM25 over candidates, and the fusion of two rankings.

Rules of this module:

* Terms are those of `core/search.py`: words, numbers, and overlapping pairs of characters where a script is not
  written in words. A text's length is its number of terms, repeated ones included.
* BM25 with k1 = 1.2 and b = 0.75 and the idf that is never negative (Robertson and Zaragoza 2009, in Lucene's form).
  How many texts hold a term is counted over the whole collection, whatever part of it is scored.
* A text that has none of the terms scores 0 and is no answer. A text that holds the very wording is lifted above its
  equals by half of what the whole query is worth.
* Rankings of different kinds are fused by reciprocal ranks, 1 / (60 + rank) summed (Cormack, Clarke and Buettcher
  2009), as a share of what a text that leads every ranking would get.
* Pure: no clock, no I/O.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dalsegno.core.search import Query, fold, occurrences

__all__ = ["Collection", "Scorer", "fused", "size_of"]

K = TypeVar("K", bound=Hashable)

_K1, _B = 1.2, 0.75
_RRF = 60
_WORDING_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """What BM25 needs to know of all texts.

    Attributes:
        texts: how many there are.
        mean_size: their mean length in terms.
        holding: in how many of them each term stands.
    """

    texts: int
    mean_size: float
    holding: Mapping[str, int]

    def weight(self, term: str) -> float:
        """The idf of a term."""
        held = min(self.holding.get(term, 0), self.texts)
        return math.log(1 + (self.texts - held + 0.5) / (held + 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """Scores texts for one query against one collection."""

    query: Query
    collection: Collection

    def score(self, text: str) -> float:
        """How well a text answers; 0.0 when it has none of the terms."""
        if self.query.blank:
            return 0.0
        folded = fold(text)
        if not self.query.words:
            return 1.0 if self.query.text in folded else 0.0
        found = Counter(occurrences(text))
        size = max(sum(found.values()), 1)
        norm = _K1 * (1 - _B + _B * size / max(self.collection.mean_size, 1.0))
        score = 0.0
        for word in self.query.words:
            count = found[word] or (word in folded if len(word) == 1 else 0)
            if count:
                score += self.collection.weight(word) * count * (_K1 + 1) / (count + norm)
        if score and self.query.text in folded:
            score += _WORDING_SHARE * sum(map(self.collection.weight, self.query.words))
        return score


def size_of(text: str) -> int:
    """A text's length in terms."""
    return len(occurrences(text))


def fused(rankings: Sequence[Sequence[K]]) -> list[tuple[K, float]]:
    """Several rankings as one.

    Args:
        rankings: each a sequence of keys, best first, without repetition.

    Returns:
        Every key with a score between 0 and 1, best first; equals in the order in which they were met.
    """
    scores: dict[K, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (_RRF + rank)
    most = len(rankings) / (_RRF + 1)
    return sorted(((key, score / most) for key, score in scores.items()), key=lambda pair: -pair[1])
