"""A digest without a model: what was said, in its own words, as much of it as there is room for.

Rules of this module:

* Words are taken, never made (`core/extracts.py`).
* Every message has a line, or stands in the range of one. So all are covered however little room there is.
* What goes first when room is short: tool results, then answers, then users' words; of two equal lines the older.
* Deterministic, and stable: what fits is returned as it is. The bound holds for any input.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dalsegno.core.cuts import Turn
from dalsegno.core.extracts import GAP, WEIGHTY, extract
from dalsegno.core.facts import facts_in
from dalsegno.core.summary import Line, numbers_in, ranges_of
from dalsegno.core.tokens import Count, estimate

__all__ = ["condense", "cost", "digest", "line_of", "weight_of"]

_WEIGHTS = {"user": 3, "human": 3, "assistant": 2, "ai": 2, "tool": 1, "function": 1}
_LONGEST_LINE = 600
_SHORTEST_LINE = 12
_JOINT = 2
"""What a head and its text may cost together beyond what they cost alone: a counter need not be additive."""


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
    for most in (len(lines), *(max(1, budget_tokens // each) for each in (20, 30, 45, 80)), 1):
        gathered = _gathered(lines, most) if most < len(lines) else tuple(lines)
        shortened = _shortened(gathered, budget_tokens, count)
        if shortened is not None:
            return shortened
    return (replace(_merged(lines), text=""),)


def _shortened(lines: Sequence[Line], budget_tokens: int, count: Count) -> tuple[Line, ...] | None:
    """Lines with texts cut to fit, or None when the room would leave too little of them."""
    heads = cost([replace(line, text="") for line in lines], count)
    room = budget_tokens - heads - _JOINT * len(lines)
    if room < 0 or (len(lines) > 1 and room < _SHORTEST_LINE * sum(1 for line in lines if line.text)):
        return None
    wants = [count(line.text) if line.text else 0 for line in lines]
    shares = _shares(wants, [line.weight for line in lines], room)
    texts = [
        line.text if want <= share else extract(line.text, share, count)
        for line, want, share in zip(lines, wants, shares, strict=True)
    ]
    _fill(texts, lines, room, count)
    fitted = _quiet(replace(line, text=text) for line, text in zip(lines, texts, strict=True))
    return fitted if cost(fitted, count) <= budget_tokens else None


def _fill(texts: list[str], lines: Sequence[Line], room: int, count: Count) -> None:
    """Give room that short shares left unused to the lines that matter most."""
    costs = [count(text) for text in texts]
    left = room - sum(costs)
    short = [at for at, line in enumerate(lines) if texts[at] != line.text]
    for at in sorted(short, key=lambda at: (-_standing(lines[at]), -at)):
        if left < _SHORTEST_LINE:
            return
        text = extract(lines[at].text, costs[at] + left, count)
        left += costs[at] - count(text)
        texts[at] = text


def _quiet(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Lines in which neighbours that say nothing are one."""
    found: list[Line] = []
    for line in lines:
        if found and not line.text and not found[-1].text:
            found[-1] = _merged([found[-1], line])
        else:
            found.append(line)
    return tuple(found)


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
    return line.weight * 2 + len(kinds) + (3 if kinds & WEIGHTY else 0) if line.text else 0


def _merged(lines: Sequence[Line], *, silent: bool = False) -> Line:
    """Several lines as one; a single one stays as it is."""
    if len(lines) == 1:
        return lines[0]
    text = "" if silent else GAP.join(line.text for line in lines if line.text)
    return Line(
        numbers=ranges_of(number for line in lines for number in numbers_in(line.numbers)),
        authors=tuple(dict.fromkeys(author for line in lines for author in line.authors)),
        text=text,
        weight=max(line.weight for line in lines),
    )
