"""Whether a digest may stand for what was said, and what code does where it may not.

Rules of this module:

* A draft is judged line by line (`core/judging.py`); a line that breaks a rule is dropped, and the report says which.
* A message that no line tells of is told in its own words (`core/digest.py`). Every protected fact goes to the table,
  verbatim, with its coordinate, whether the text has it or not.
* So the guarantee comes from code: whatever a summarizer returns, what is accepted covers every message, holds every
  protected fact and states none that was not said.
* A draft of which no line stands is a failure of the summarizer, not a digest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dalsegno.core.cuts import Turn
from dalsegno.core.digest import line_of
from dalsegno.core.facts import FactIndex, FactTable, Said, said_in
from dalsegno.core.judging import Judge, Why, lines_in
from dalsegno.core.summary import Line, Ranges, numbers_in, ranges_of
from dalsegno.core.tokens import Count, estimate

__all__ = ["Dropped", "Report", "verify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A line that was not accepted.

    Attributes:
        text: the line.
        why: the rule it broke.
        what: the fact, name or number that broke it.
    """

    text: str
    why: Why
    what: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was checked, what was repaired and what was dropped.

    Attributes:
        messages: how many messages the span has.
        covered: their numbers that the accepted lines tell of.
        lines: lines accepted, the repaired ones included.
        repaired: numbers told of by code because no accepted line did.
        dropped: lines of the draft that were not accepted.
        facts: protected facts said in the span.
        in_text: how many of them the accepted lines state.
        in_table: how many of them the table holds verbatim, with their coordinate.
        invented: facts the accepted lines state that were not said; none, or the digest is not accepted.
    """

    messages: int
    covered: Ranges
    lines: int
    repaired: Ranges = ()
    dropped: tuple[Dropped, ...] = ()
    facts: int = 0
    in_text: int = 0
    in_table: int = 0
    invented: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every message is covered, every protected fact is kept, and nothing is invented."""
        told = sum(last - first + 1 for first, last in self.covered)
        return told == self.messages and self.in_table == self.facts and not self.invented

    def __str__(self) -> str:
        kinds = Counter(dropped.why for dropped in self.dropped)
        parts = [
            f"{sum(last - first + 1 for first, last in self.covered)} of {self.messages} messages covered",
            f"{self.in_table} of {self.facts} protected facts kept ({self.in_text} in the text)",
            f"{len(self.invented)} invented",
        ]
        parts += [f"{sum(1 for _ in numbers_in(self.repaired))} told by code"] if self.repaired else []
        parts += [f"{count} dropped: {why}" for why, count in kinds.items()]
        return "; ".join(parts)


# --- a whole draft ----------------------------------------------------------------------------------


def verify(
    draft: str | Sequence[Line], turns: Sequence[Turn], facts: FactTable, *, repair_tokens: int, count: Count = estimate
) -> tuple[tuple[Line, ...], FactTable, Report]:
    """Accept of a draft what may stand, and repair the rest.

    Args:
        draft: a summarizer's text, or lines that code has taken from the messages.
        turns: what it is to stand for, oldest first, each with a number of its own.
        facts: the table so far.
        repair_tokens: what the text of a message that no line tells of may cost.
        count: tokens of a text.

    Returns:
        The accepted lines, in the order of their first message; the table with the span's facts; the report. No lines
        when not one line of a draft stands: that is a failed summarizer, and the table is as it was.
    """
    judge = Judge(turns)
    accepted: list[Line] = []
    dropped: list[Dropped] = []
    for text, judged in _judged(judge, draft):
        if isinstance(judged, Line):
            accepted.append(judged)
        else:
            dropped.append(Dropped(text=text, why=judged[0], what=judged[1]))
    if turns and not accepted and isinstance(draft, str):
        return (), facts, Report(messages=len(turns), covered=(), lines=0, dropped=tuple(dropped))
    told = {number for line in accepted for number in numbers_in(line.numbers)}
    missing = [turn for turn in turns if turn.number not in told]
    # A message's own words, cut short, may read as a figure that it does not state; then it is told without words.
    own = [line_of(turn, repair_tokens, count) for turn in missing]
    accepted += [replace(line, text="") if judge.stands(line) else line for line in own]
    accepted.sort(key=lambda line: line.numbers[0])
    said = [one for turn in turns for one in said_in(turn.text, coordinate=turn.coordinate, author=turn.author)]
    table = facts.add(*said)
    protected = [one for one in said if one.fact.protected]
    return tuple(accepted), table, _report(judge, accepted, table, protected, missing, dropped)


def _judged(judge: Judge, draft: str | Sequence[Line]) -> Iterator[tuple[str, Line | tuple[Why, str]]]:
    if isinstance(draft, str):
        for text, claim in lines_in(draft):
            yield text, judge.judge(claim)
    else:
        for line in draft:
            yield str(line), judge.stands(line) or line


def _report(
    judge: Judge,
    lines: Sequence[Line],
    table: FactTable,
    protected: Sequence[Said],
    missing: Sequence[Turn],
    dropped: Sequence[Dropped],
) -> Report:
    """Look at the result once more, from nothing but what it is."""
    text = FactIndex.of(line.text for line in lines)
    held = {(row.said.coordinate, row.said.fact.kind, row.said.fact.text) for row in table.history()}
    told = {number for line in lines for number in numbers_in(line.numbers)} & set(judge.turns)
    return Report(
        messages=len(judge.turns),
        covered=ranges_of(told),
        lines=len(lines),
        repaired=ranges_of(turn.number for turn in missing),
        dropped=tuple(dropped),
        facts=len(protected),
        in_text=sum(text.states(one.fact) for one in protected),
        in_table=sum((one.coordinate, one.fact.kind, one.fact.text) in held for one in protected),
        invented=tuple(broken[1] for line in lines if (broken := judge.stands(line))),
    )
