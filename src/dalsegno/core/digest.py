"""A digest without a model: what was said, in its own words, as much of it as there is room for.

Rules of this module:

* Words are taken, never made: a line's text is stretches of what was said, in order, with `…` where something was
  left out. The cut never runs through a fact, so that no half of a number is ever stated.
* Every message has a line, or stands in the range of one. So all are covered however little room there is.
* What goes first when room is short: tool results, then answers, then users' words; within a text, stretches without
  facts, questions or a place at either end of it; of two equal lines the older.
* Deterministic, and stable: what fits is returned as it is. The bound holds for any input.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from dalsegno.core.cuts import Turn
from dalsegno.core.facts import Kind, facts_in
from dalsegno.core.summary import Line, numbers_in, ranges_of
from dalsegno.core.tokens import Count, estimate

__all__ = ["condense", "cost", "digest", "extract", "line_of", "weight_of"]

_WEIGHTS = {"user": 3, "human": 3, "assistant": 2, "ai": 2, "tool": 1, "function": 1}
_WEIGHTY = frozenset({Kind.APPROVAL, Kind.COMMITMENT})
_GAP = " … "
_LONGEST_LINE = 600
_SHORTEST_LINE = 12
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


def digest(turns: Sequence[Turn], budget_tokens: int, count: Count = estimate) -> tuple[Line, ...]:
    """Tell what was said.

    Args:
        turns: what is taken out, oldest first, each with its number.
        budget_tokens: what the lines may cost together.
        count: tokens of a text.

    Returns:
        Lines that cover every turn. They cost no more than the budget, or are one line that says no more than who
        spoke from where to where.
    """
    return condense(tuple(line_of(turn, _LONGEST_LINE, count) for turn in turns), budget_tokens, count)


def line_of(turn: Turn, budget_tokens: int, count: Count = estimate) -> Line:
    """One turn as one line of at most so many tokens."""
    return Line(
        numbers=((turn.number, turn.number),),
        authors=(turn.author or turn.role,),
        text=extract(turn.text, budget_tokens, count),
        weight=weight_of(turn),
    )


def weight_of(turn: Turn) -> int:
    """How much a turn's line matters when there is no room for all."""
    return _WEIGHTS.get(turn.role, 2)


def cost(lines: Sequence[Line], count: Count = estimate) -> int:
    """Tokens of some lines, one under the other."""
    return sum(count(str(line)) + 1 for line in lines)


# --- a text shortened -------------------------------------------------------------------------------


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
    gap = count(_GAP)
    room = budget_tokens - gap
    taken: list[int] = []
    for at in ranked:
        price = count(pieces[at].text) + gap
        if price <= room:
            room -= price
            taken.append(at)
    return _joined([piece.text for piece in pieces], sorted(taken))


class _Stretch(NamedTuple):
    """Part of a text, with the kinds of facts in it."""

    text: str
    kinds: frozenset[Kind]

    def worth(self, at: int, last: int) -> float:
        """How much it matters: its facts, a question, its place; a long one has to say more."""
        return (
            min(4.0, 2.0 * len(self.kinds - {Kind.NUMBER}))
            + (3.0 if self.kinds & _WEIGHTY else 0.0)
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
    for (_, start), (end, _) in itertools.pairwise(ends):
        kinds = set()
        while at < len(facts) and facts[at].start < end:
            kinds.add(facts[at].kind)
            at += 1
        if piece := " ".join(text[start:end].split()):
            pieces.append(_Stretch(piece, frozenset(kinds)))
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


def _joined(pieces: Sequence[str], taken: Sequence[int]) -> str:
    parts: list[str] = []
    before = -1
    for at in taken:
        parts.append(" " if at == before + 1 and parts else _GAP if parts or at else "")
        parts.append(pieces[at])
        before = at
    if taken and taken[-1] != len(pieces) - 1:
        parts.append(" …")
    return "".join(parts).strip()


# --- lines shortened --------------------------------------------------------------------------------


def condense(lines: Sequence[Line], budget_tokens: int, count: Count = estimate) -> tuple[Line, ...]:
    """Make lines fit: first shorten them by their weight, then put neighbours into one range.

    Args:
        lines: oldest first.
        budget_tokens: what they may cost together.
        count: tokens of a text.

    Returns:
        Lines that tell of the same messages by the same authors. What fits already comes back as it is.
    """
    if cost(lines, count) <= budget_tokens:
        return tuple(lines)
    for most in (len(lines), max(1, budget_tokens // 40), max(1, budget_tokens // 80), 1):
        gathered = _gathered(lines, most) if most < len(lines) else tuple(lines)
        shortened = _shortened(gathered, budget_tokens, count)
        if shortened is not None:
            return shortened
    return (replace(_merged(lines), text=""),)


def _shortened(lines: Sequence[Line], budget_tokens: int, count: Count) -> tuple[Line, ...] | None:
    """Lines with texts cut to fit, or None when the room would leave too little of them."""
    heads = cost([replace(line, text="") for line in lines], count)
    room = budget_tokens - heads
    if room < 0 or (len(lines) > 1 and room < _SHORTEST_LINE * sum(1 for line in lines if line.text)):
        return None
    wants = [count(line.text) if line.text else 0 for line in lines]
    shares = _shares(wants, [line.weight for line in lines], room)
    return tuple(
        replace(line, text=line.text if want <= share else extract(line.text, share, count))
        for line, want, share in zip(lines, wants, shares, strict=True)
    )


def _shares(wants: Sequence[int], weights: Sequence[int], room: int) -> list[int]:
    """Room dealt out by weight, none getting more than it wants; what one leaves goes to the others."""
    shares = [0] * len(wants)
    left = room
    hungry = sorted(range(len(wants)), key=lambda at: wants[at] / weights[at])
    weight = sum(weights)
    for at in hungry:
        shares[at] = min(wants[at], left * weights[at] // weight) if weight else 0
        left -= shares[at]
        weight -= weights[at]
    return shares


def _gathered(lines: Sequence[Line], most: int) -> tuple[Line, ...]:
    """At most about `most` lines: those that matter most keep a line of their own, stretches between become one."""
    if most <= 1:
        return (_merged(lines),)
    alone = set(sorted(range(len(lines)), key=lambda at: (-_standing(lines[at]), -at))[: most // 2])
    found: list[Line] = []
    between: list[Line] = []
    for at, line in enumerate(lines):
        if at in alone:
            found += [_merged(between, silent=True)] if between else []
            found.append(line)
            between = []
        else:
            between.append(line)
    return (*found, *([_merged(between, silent=True)] if between else ()))


def _standing(line: Line) -> float:
    """How much a line deserves one of its own."""
    kinds = {fact.kind for fact in facts_in(line.text) if fact.protected}
    return line.weight * 2 + len(kinds) + (3 if kinds & _WEIGHTY else 0) if line.text else 0


def _merged(lines: Sequence[Line], *, silent: bool = False) -> Line:
    """Several lines as one; a single one stays as it is."""
    if len(lines) == 1:
        return lines[0]
    text = "" if silent else _GAP.join(line.text for line in lines if line.text)
    return Line(
        numbers=ranges_of(number for line in lines for number in numbers_in(line.numbers)),
        authors=tuple(dict.fromkeys(author for line in lines for author in line.authors)),
        text=text,
        weight=max(line.weight for line in lines),
    )
