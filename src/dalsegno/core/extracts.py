"""A text said shorter, in its own words.

Rules of this module:

* Words are taken, never made: what comes out is stretches of what was said, in order, with `…` where something was
  left out. The cut never runs through a fact, so that no half of a number is ever stated.
* What goes first: stretches without facts, questions or a place at either end; of two equal ones the later.
* Deterministic. What fits is returned whole, on one line.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dalsegno.core.facts import Kind, facts_in
from dalsegno.core.tokens import Count, estimate

__all__ = ["GAP", "WEIGHTY", "extract"]

WEIGHTY = frozenset({Kind.APPROVAL, Kind.COMMITMENT})
"""Kinds of facts that are kept before all others."""
GAP = " … "
"""Stands where something was left out."""
_BREAKS = (
    (re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\s*[\n…]+\s*"), 0),
    (re.compile(r"(?<=[,;，、}\]])\s+|(?<=[，、])|(?<=[}\]],)"), 40),
    (re.compile(r"\s+"), 120),
)
"""Where a text may be cut: at its sentences; a long one at its clauses; a long clause, such as tool output, at blanks.
Beside each how far apart the cuts are at least, in characters."""
_MARKER = re.compile(r"^[ \t]*\d{1,3}[.)、][ \t]+", re.MULTILINE)
"""The number of an entry in a list; on one line with the others it would read as a figure."""
_LONG_SENTENCE = 200
_SCANNED = 20_000
"""Of a longer text only so many characters at each end are looked at for a line; its facts go to the table anyway."""


def extract(text: str, budget_tokens: int, count: Count = estimate) -> str:
    """Take the stretches of a text that matter most, in their order.

    Returns:
        One line of at most `budget_tokens`; the whole text where it fits, nothing where not even one stretch does.
    """
    text = _MARKER.sub("- ", text)
    if len(text) <= 2 * _SCANNED:
        whole = " ".join(text.split())
        if count(whole) <= budget_tokens:
            return whole
    pieces = _stretches(text)
    last = len(pieces) - 1
    ranked = sorted(range(len(pieces)), key=lambda at: (-pieces[at].worth(at, last), at))
    gap = count(GAP)
    room = budget_tokens - gap
    taken: list[int] = []
    for at in ranked:
        price = count(pieces[at].text) + gap
        if price <= room:
            room -= price
            taken.append(at)
    while (said := _joined(pieces, sorted(taken))) and count(said) > budget_tokens:
        taken.pop()  # a counter need not be additive
    return said


class _Stretch(NamedTuple):
    """Part of a text, with the kinds of facts in it, and whether a blank stood before it."""

    text: str
    kinds: frozenset[Kind]
    apart: bool = True

    def worth(self, at: int, last: int) -> float:
        """How much it matters: its facts, a question, its place; a long one has to say more."""
        return (
            min(4.0, 2.0 * len(self.kinds - {Kind.NUMBER}))
            + (3.0 if self.kinds & WEIGHTY else 0.0)
            + (1.5 if self.text.endswith(("?", "？")) else 0.0)
            + (2.0 if at == 0 else 1.0 if at == last else 0.0)
            - len(self.text) / 400
        )


def _stretches(text: str) -> list[_Stretch]:
    """A text cut at its sentences, lines and clauses, never through a fact."""
    if len(text) > 2 * _SCANNED:
        head, tail = _whole_words(text[:_SCANNED], end=True), _whole_words(text[-_SCANNED:], end=False)
        return [*_stretches(head), *_stretches(tail)]
    facts = facts_in(text)
    shut = _united((fact.start, fact.end) for fact in facts)
    ends = [(0, 0)]
    at = 0
    for first, after in _breaks(text, 0, len(text)):
        while at < len(shut) and shut[at][1] <= first:
            at += 1
        if at == len(shut) or after <= shut[at][0]:
            ends.append((first, after))
    ends.append((len(text), len(text)))
    pieces = []
    at = 0
    for (gone, start), (end, _) in itertools.pairwise(ends):
        kinds = set()
        while at < len(facts) and facts[at].start < end:
            kinds.add(facts[at].kind)
            at += 1
        if piece := " ".join(text[start:end].split()):
            pieces.append(_Stretch(piece, frozenset(kinds), apart=start > gone or text[start].isspace()))
    return pieces


def _breaks(text: str, start: int, end: int, level: int = 0) -> Iterator[tuple[int, int]]:
    """Places where part of a text may be cut, each with the white space that falls away."""
    pattern, apart = _BREAKS[level]
    before = start
    for found in (*pattern.finditer(text, start, end), None):
        at = end if found is None else found.start()
        if found is not None and at - before < apart:
            continue
        if at - before > _LONG_SENTENCE and level + 1 < len(_BREAKS):
            yield from _breaks(text, before, at, level + 1)
        if found is not None:
            yield found.span()
            before = found.end()


def _united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches of a text, those that overlap as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _whole_words(text: str, *, end: bool) -> str:
    """A text cut anywhere, without the line that was cut through at that end."""
    if end:
        return text[: max(text.rfind("\n"), text.rfind(" "), text.rfind("。")) + 1]
    places = [at for at in (text.find("\n"), text.find(" "), text.find("。")) if at >= 0]
    return text[min(places) + 1 :] if places else ""


def _joined(pieces: Sequence[_Stretch], taken: Sequence[int]) -> str:
    parts: list[str] = []
    before = -1
    for at in taken:
        if at == before + 1 and parts:
            parts.append(" " if pieces[at].apart else "")
        elif parts or at:
            parts.append(GAP)
        parts.append(pieces[at].text)
        before = at
    if taken and taken[-1] != len(pieces) - 1:
        parts.append(" …")
    return "".join(parts).strip()
