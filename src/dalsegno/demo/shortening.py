"""The end of the performance: the conversation is compacted, and what the summary keeps is checked.

Rules of this module:

* No model: the digest is made of the messages' own words. What a model writes is checked in the same way.
* The report is the one that compaction acts on; nothing is counted here a second time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalsegno.core.compaction import CompactionPolicy
from dalsegno.langgraph.compaction import compact

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["POLICY", "Shortened", "shortened"]

POLICY = CompactionPolicy(max_messages=10, keep_recent=4)
"""Tighter than the default, so that a short transcript is long enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """A compaction and its verification report.

    Attributes:
        messages, messages_after: of the conversation, and those that stay word for word.
        evicted: how many the summary stands for.
        covered: how many of these its lines name, with number and author.
        facts: protected facts in them (amounts, dates, ids, commitments, …).
        facts_kept: how many of these the summary keeps verbatim, each with the number of its message.
        invented: figures, dates or ids in the summary that nobody said.
        tokens, tokens_after: of the whole request, by estimate.
        line: one line of the summary.
        holds: whether everything is covered, every fact is kept and nothing is invented.
    """

    messages: int
    messages_after: int
    evicted: int
    covered: int
    facts: int
    facts_kept: int
    invented: int
    tokens: int
    tokens_after: int
    line: str
    holds: bool


def shortened(messages: Sequence[Any]) -> Shortened | None:
    """Compact a conversation; None when it is too short for that."""
    done = compact(list(messages), POLICY)
    if done.report is None or not done.changed:
        return None
    report = done.report
    return Shortened(
        messages=len(messages),
        messages_after=len(done.messages),
        evicted=len(done.evicted),
        covered=sum(last - first + 1 for first, last in report.covered),
        facts=report.facts,
        facts_kept=report.in_table,
        invented=len(report.invented),
        tokens=done.tokens,
        tokens_after=done.tokens_after,
        line=next((str(line) for line in done.summary.lines if line.text), ""),
        holds=report.holds,
    )
