"""Calibration: which of an embedder's numbers are safe, found out on pairs of questions of which one knows the answer.

Rules of this module:

* No line of a cosine tells two years, metrics or negations apart; the guards do. So the line of hits is drawn among
  pairs that pass the guards: as low as the lowest true pair, and above every false one. The line of references is drawn
  among all pairs, where it tells true from false best (Youden 1950).
* Lines are drawn on one half of the pairs and measured on the other, which they have not seen. Halves are made by a
  digest of the pairs, so that the order in a file changes nothing.
* The rate of false hits is that of all false pairs of the second half which would have been hits. Its interval is
  Clopper and Pearson's (1934), exact, at 95 %: of no false hits in n it goes up to about 3.7 / n.
* Pure: no clock, no I/O.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dalsegno.core.answers.forms import form_of
from dalsegno.core.answers.guards import difference
from dalsegno.core.answers.scoring import Lines
from dalsegno.errors import Misuse

__all__ = ["MIN_PAIRS", "Findings", "Pair", "calibrated", "clopper_pearson", "pairs_of"]

MIN_PAIRS = 20
"""How many pairs of each kind it takes at the least."""

_ALPHA = 0.05
_SAFE = 2.0
_STEP = 1e-6
_YES = frozenset(("1", "true", "yes", "same", "y", "t", "duplicate", "是", "相同"))
_NO = frozenset(("0", "false", "no", "not", "n", "f", "different", "否", "不同"))
_FIRST = ("question", "a", "question1", "origin", "one")
_SECOND = ("other", "b", "question2", "similar", "two")
_VERDICT = ("same", "is_duplicate", "label")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two questions, and whether one answer serves both."""

    question: str
    other: str
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a calibration found.

    Attributes:
        lines: where the bands begin.
        same, different: how many pairs the measuring half had of each kind.
        hits: of `same`, how many would be hits.
        references: of `same`, how many would be references at least.
        false_hits: of `different`, how many would be hits.
        false_alone: of `different`, how many would be hits by the line of hits alone, without guards.
        false_references: of `different`, how many would be references at least.
        low, high: the interval of the rate of false hits at 95 %.
    """

    lines: Lines
    same: int
    different: int
    hits: int
    references: int
    false_hits: int
    false_alone: int
    false_references: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """The rate of false hits."""
        return self.false_hits / self.different


@dataclass(frozen=True, slots=True)
class _Measured:
    score: float
    same: bool
    passed: bool


def calibrated(pairs: Sequence[Pair], measure: Callable[[Sequence[Pair]], Sequence[float]]) -> Findings:
    """Draw the lines on one half of the pairs and measure them on the other.

    Args:
        pairs: at least `MIN_PAIRS` of each kind.
        measure: how near the questions of each pair are, between 0 and 1.

    Raises:
        Misuse: too few pairs.
    """
    unique = sorted(dict.fromkeys(pairs), key=_digest)
    for kind in (True, False):
        count = sum(pair.same is kind for pair in unique)
        if count < MIN_PAIRS:
            told = "say the same" if kind else "say something else"
            raise Misuse(f"{count} pairs that {told}; a calibration takes {MIN_PAIRS} of each kind at the least")
    scores = measure(unique)
    measured = [
        _Measured(score, pair.same, difference(form_of(pair.question), form_of(pair.other)) is None)
        for pair, score in zip(unique, scores, strict=True)
    ]
    halves = [
        [one for kind in (True, False) for one in [each for each in measured if each.same is kind][first::2]]
        for first in (0, 1)
    ]
    return _findings(_lines(halves[0]), halves[1])


def _digest(pair: Pair) -> bytes:
    return hashlib.sha256(f"{pair.question}\x1f{pair.other}".encode("utf-8", "surrogatepass")).digest()


def _lines(half: Sequence[_Measured]) -> Lines:
    reference = _best([one.score for one in half if one.same], [one.score for one in half if not one.same])
    true = [one.score for one in half if one.same and one.passed]
    false = [one.score for one in half if not one.same and one.passed]
    hit = max(reference, min(true, default=max(one.score for one in half if one.same)))
    if false and max(false) >= hit:
        hit = max(false) + _STEP
    return Lines(hit=hit if hit <= 1 else _SAFE, reference=reference)


def _best(true: Sequence[float], false: Sequence[float]) -> float:
    """The line that tells true from false best; of equal ones the highest."""
    ranked = sorted([(score, True) for score in true] + [(score, False) for score in false], reverse=True)
    best, line, above, wrong = -1.0, 1.0, 0, 0
    for place, (score, same) in enumerate(ranked):
        above, wrong = above + same, wrong + (not same)
        if place + 1 < len(ranked) and ranked[place + 1][0] == score:
            continue
        gain = above / len(true) - wrong / len(false)
        if gain > best:
            best, line = gain, score
    return max(line, _STEP)


def _findings(lines: Lines, half: Sequence[_Measured]) -> Findings:
    same = [one for one in half if one.same]
    different = [one for one in half if not one.same]
    false_hits = sum(one.passed and one.score >= lines.hit for one in different)
    low, high = clopper_pearson(false_hits, len(different))
    return Findings(
        lines=lines,
        same=len(same),
        different=len(different),
        hits=sum(one.passed and one.score >= lines.hit for one in same),
        references=sum(one.score >= lines.reference for one in same),
        false_hits=false_hits,
        false_alone=sum(one.score >= lines.hit for one in different),
        false_references=sum(one.score >= lines.reference for one in different),
        low=low,
        high=high,
    )


def clopper_pearson(found: int, total: int) -> tuple[float, float]:
    """The exact interval of a rate at 95 %.

    Args:
        found: how often it was seen.
        total: of how many; more than 0.
    """
    low = 0.0 if found == 0 else _solve(lambda rate: 1 - _at_most(found - 1, total, rate))
    high = 1.0 if found == total else 1 - _solve(lambda rest: 1 - _at_most(total - found - 1, total, rest))
    return low, high


def _solve(rising: Callable[[float], float]) -> float:
    """Where a rising function of a rate passes half of what is left out."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < _ALPHA / 2 else (low, middle)
    return (low + high) / 2


def _at_most(found: int, total: int, rate: float) -> float:
    """The chance of seeing something at most so often."""
    if rate <= 0:
        return 1.0
    if rate >= 1:
        return float(found >= total)
    sure, never = math.log(rate), math.log1p(-rate)
    whole = math.lgamma(total + 1)
    return math.fsum(
        math.exp(whole - math.lgamma(k + 1) - math.lgamma(total - k + 1) + k * sure + (total - k) * never)
        for k in range(found + 1)
    )


# --- files ----------------------------------------------------------------------------------------


def pairs_of(text: str, name: str = "the file") -> list[Pair]:
    """Pairs from a file's text.

    JSON lines or one JSON array of objects with two questions (`question` and `other`, or `a` and `b`, or
    `question1` and `question2`) and `same` (true or false); or CSV or TSV of question, question, `same` or `not`,
    with or without a header. `origin` and `similar` name two questions that say the same.

    Raises:
        Misuse: a line is neither; the message names it.
    """
    stripped = text.lstrip("\ufeff").strip()
    if stripped[:1] in ("[", "{"):
        return list(_from_json(stripped, name))
    return list(_from_table(stripped, name))


def _from_json(text: str, name: str) -> Iterator[Pair]:
    try:
        rows = (
            json.loads(text)
            if text.startswith("[")
            else [json.loads(line) for line in text.splitlines() if line.strip()]
        )
    except ValueError as error:
        raise Misuse(f"{name}: {error}; give JSON lines, a JSON array, CSV or TSV") from None
    for place, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise Misuse(f"{name}, pair {place}: an object with two questions and `same`, not {str(row)[:60]!r}")
        one, other = (_named(row, names) for names in (_FIRST, _SECOND))
        verdict = _named(row, _VERDICT)
        if verdict is None and "similar" in row:
            verdict = True
        yield _pair(one, other, verdict, f"{name}, pair {place}")


def _named(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((row[name] for name in names if name in row), None)


def _from_table(text: str, name: str) -> Iterator[Pair]:
    mark = "\t" if "\t" in text.partition("\n")[0] else ","
    for place, row in enumerate(csv.reader(io.StringIO(text), delimiter=mark), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (place == 1 and len(cells) > 2 and _verdict(cells[2]) is None):  # noqa: PLR2004 - a header
            continue
        if len(cells) < 3:  # noqa: PLR2004 - two questions and what they are
            raise Misuse(f"{name}, line {place}: question, question, same or not; found {len(cells)} cells")
        yield _pair(cells[0], cells[1], cells[2], f"{name}, line {place}")


def _pair(one: Any, other: Any, verdict: Any, place: str) -> Pair:
    same = _verdict(verdict)
    if not isinstance(one, str) or not isinstance(other, str) or not one.strip() or not other.strip() or same is None:
        raise Misuse(f"{place}: two questions and `same` or `not`, not {[one, other, verdict]!r:.120}")
    return Pair(question=one, other=other, same=same)


def _verdict(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    told = str(value).strip().lower()
    return True if told in _YES else False if told in _NO else None
