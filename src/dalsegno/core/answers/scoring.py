"""How near two questions are, and the bands this makes.

Rules of this module:

* A score stands between 0 and 1 and means the same whatever measured it: from `HIT` on the questions may be one, from
  `REFERENCE` on the earlier answer may help to write a new one. A measure's own numbers are mapped so that its two
  lines (`Lines`) come to stand there.
* By words: the share of words, figures and pairs of characters that two forms have in common (Dice). Forms that differ
  never reach `HIT`.
* By vectors: the cosine, mapped by the lines that calibration found for this embedder. Without them a cosine means
  nothing, and words decide.
* Pure: no clock, no I/O.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from dalsegno.core.answers.forms import Form

__all__ = ["HIT", "LEXICAL", "REFERENCE", "WORDS", "Lines", "likeness"]

HIT = 0.95
REFERENCE = 0.80

LEXICAL = "words"
"""What the measure by words is called where an embedder's name would stand."""

_BELOW = 0.9499


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Where a measure's two bands begin, in its own numbers.

    Attributes:
        hit: from here on two questions may be one; above 1 where no line is safe.
        reference: from here on an earlier answer may help.
    """

    hit: float
    reference: float

    def score(self, measured: float) -> float:
        """The score of what was measured."""
        measured = min(max(measured, 0.0), 1.0)
        if measured >= self.hit:
            return HIT + (1 - HIT) * _share(measured, self.hit, 1.0)
        if measured >= self.reference:
            return min(REFERENCE + (HIT - REFERENCE) * _share(measured, self.reference, self.hit), _BELOW)
        return min(REFERENCE * _share(measured, 0.0, self.reference), REFERENCE - 1e-4)


WORDS = Lines(hit=HIT, reference=REFERENCE)
"""The lines of the measure by words."""


def _share(value: float, low: float, high: float) -> float:
    return 1.0 if high <= low else min((value - low) / (high - low), 1.0)


def likeness(one: Form, other: Form) -> float:
    """How much of their wording two forms share; 1.0 for equal ones alone."""
    if one.tokens == other.tokens:
        return 1.0
    a, b = Counter(_pieces(one)), Counter(_pieces(other))
    shared = sum((a & b).values())
    total = sum(a.values()) + sum(b.values())
    return min(2 * shared / total, _BELOW) if total else 0.0


def _pieces(form: Form) -> Iterator[str]:
    """Words and figures, and of scripts without blanks the pairs of characters."""
    yield from (token for token in form.tokens if _is_word(token))
    for one, other in pairwise(form.tokens):
        if not _is_word(one) and not _is_word(other):
            yield one + other
    if form.tokens and not any(_is_word(token) for token in form.tokens) and len(form.tokens) == 1:
        yield form.tokens[0]


def _is_word(token: str) -> bool:
    return token.startswith("#") or token[:1].isascii() or len(token) > 1
