"""A summary that stays within its budget: a new span is added as it is, older ones make room.

Rules of this module:

* A new span is written from what was said, never from an older summary. It gets at least half of the budget when it
  needs it.
* Older spans become one when the whole outgrows the budget. They lose words, never coordinates, and the words that
  stay are theirs: nothing is rewritten. Each line is held against the lines it was made of, and loses its text where
  it would state what they do not.
* The table of facts is not touched by any of this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dalsegno.core.digest import condense, cost
from dalsegno.core.facts import FactIndex, FactTable, invented
from dalsegno.core.summary import Line, Span, Summary, numbers_in
from dalsegno.core.tokens import Count, estimate

__all__ = ["add", "merge"]


def add(
    summary: Summary,
    lines: Sequence[Line],
    facts: FactTable,
    *,
    by: str,
    policy: Mapping[str, Any],
    budget_tokens: int,
    count: Count = estimate,
) -> Summary:
    """A summary with another span.

    Args:
        summary: what there is.
        lines: the span's verified lines.
        facts: the table with the span's facts.
        by: who wrote the lines.
        policy: the policy they were written under.
        budget_tokens: what the text of the whole may cost.
        count: tokens of a text.
    """
    span = Span(lines=tuple(lines), by=by, policy=policy)
    return replace(merge(summary.with_spans([*summary.spans, span]), budget_tokens, count), facts=facts)


def merge(summary: Summary, budget_tokens: int, count: Count = estimate) -> Summary:
    """A summary whose text fits; one that fits already comes back as it is."""
    *older, newest = summary.spans or (None,)
    if newest is None or cost(summary.lines, count) <= budget_tokens:
        return summary
    if not older:
        return summary.with_spans([_condensed([newest], budget_tokens, count)])
    old = _ordered(older)
    wanted = cost(old, count)
    room = max(budget_tokens // 2, budget_tokens - wanted)
    newest = _condensed([newest], room, count)
    left = budget_tokens - cost(newest.lines, count)
    spans = list(older) if wanted <= left else [_condensed(older, left, count)]
    return summary.with_spans([*spans, newest])


def _condensed(spans: Sequence[Span], budget_tokens: int, count: Count) -> Span:
    """Several spans as one that fits, in their own words."""
    before = _ordered(spans)
    lines = tuple(_held(line, before) for line in condense(before, budget_tokens, count))
    if len(spans) == 1:
        return replace(spans[0], lines=lines)
    writers = dict.fromkeys(name for span in spans for name in span.by.split(", "))
    return Span(
        lines=lines,
        by=", ".join(writers),
        policy=spans[-1].policy,
        merged=sum(span.merged for span in spans),
    )


def _ordered(spans: Sequence[Span]) -> tuple[Line, ...]:
    return Summary(spans=tuple(spans)).lines


def _held(line: Line, before: Sequence[Line]) -> Line:
    """A line as it is, or without its text where that states what the lines it was made of do not."""
    if not line.text or line in before:
        return line
    numbers = set(numbers_in(line.numbers))
    source = FactIndex.of(old.text for old in before if numbers.intersection(numbers_in(old.numbers)))
    return replace(line, text="") if invented(line.text, source) else line
