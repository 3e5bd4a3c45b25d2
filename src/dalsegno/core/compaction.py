"""A compaction from beginning to end, without whoever writes the digest.

Rules of this module:

* Two steps with the writing between them: `prepare` decides what goes, `settle` takes a draft in. Both are pure, so a
  compaction can be tried, compared and done again from the same originals.
* A conversation's messages are numbered once. What the journal numbered keeps its number; where there is no journal,
  a message is known by its id, or by its place among those that stayed.
* What was taken out and is in the list again (another graph holds it) is not told a second time: it stays.
* Nothing of the outcome is taken unless it holds (`core/verification.py`) and saves what it was run for. Otherwise the
  answer says why, and the caller leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from dalsegno.core.cuts import Cut, Turn, cut
from dalsegno.core.digest import digest
from dalsegno.core.facts import FactTable
from dalsegno.core.merging import add
from dalsegno.core.policy import CompactionPolicy, Plan, Trigger, plan, triggers
from dalsegno.core.rendering import render
from dalsegno.core.summary import Span, Summary, numbers_in
from dalsegno.core.tokens import Count, estimate
from dalsegno.core.verification import Report, verify

__all__ = [
    "EXTRACT",
    "CompactionPolicy",
    "Cut",
    "Kept",
    "Plan",
    "Prepared",
    "Settled",
    "Trigger",
    "Turn",
    "cut",
    "numbered",
    "plan",
    "prepare",
    "settle",
    "triggers",
]

EXTRACT = "extract"
"""Who wrote a digest that code took from the messages' own words."""

_SHARE_OF_EVICTED = 3
_LEAST_DIGEST = 400
_REPAIR_TOKENS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A compaction that is due and worth it.

    Attributes:
        turns: the whole conversation, numbered.
        summary: what was taken out before.
        policy: the policy.
        plan: what called for it, what stays and what goes.
    """

    turns: tuple[Turn, ...]
    summary: Summary
    policy: CompactionPolicy
    plan: Plan

    @property
    def evicted(self) -> tuple[Turn, ...]:
        """What is taken out, oldest first."""
        return tuple(self.turns[at] for at in self.plan.cut.evicted)

    @property
    def budget_tokens(self) -> int:
        """What the digest of this span may cost: a third of what it stands for, or a few lines, within the policy."""
        least = min(_LEAST_DIGEST, self.policy.digest_tokens)
        return max(least, min(self.policy.digest_tokens, self.plan.evicted_tokens // _SHARE_OF_EVICTED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A compaction that may be carried out.

    Attributes:
        summary: what stands for everything taken out so far.
        span: what stands for what was taken out now, before older spans made room or it did.
        facts: what was said in that span alone.
        kept: positions of the messages that stay.
        report: what was checked, repaired and dropped.
        tokens: of the whole request before.
        tokens_after: of the whole request with the new summary.
    """

    summary: Summary
    span: Span
    facts: FactTable
    kept: tuple[int, ...]
    report: Report
    tokens: int
    tokens_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Why everything stays as it was.

    Attributes:
        reason: one sentence.
        report: what was found wrong with the draft, where there was one.
    """

    reason: str
    report: Report | None = None


def numbered(turns: Sequence[Turn], summary: Summary) -> tuple[Turn, ...]:
    """Give each turn its number in the conversation.

    Args:
        turns: the list as it stands; a turn that has a number keeps it.
        summary: what was taken out of it before.

    Returns:
        The turns, each with a number. One that came with a number keeps it, and none that came without gets the same;
        one known by its id gets the number it had; one without an id takes the next number that is neither covered nor
        known; what is new gets numbers above all others.
    """
    theirs = {turn.number for turn in turns if turn.number}
    taken = {*numbers_in(summary.covered), *summary.numbers.values(), *theirs}
    gaps = iter([number for number in range(1, summary.last + 1) if number not in taken])
    last = max([summary.last, *theirs])
    given = set(theirs)
    found: list[Turn] = []
    for turn in turns:
        known = turn.number
        if not known:
            known = summary.numbers.get(turn.id, 0) if turn.id is not None else next(gaps, 0)
            if not known or known in given:
                last += 1
                known = last
            given.add(known)
        found.append(replace(turn, number=known))
    return tuple(found)


def prepare(
    turns: Sequence[Turn],
    summary: Summary,
    policy: CompactionPolicy,
    *,
    other_tokens: int = 0,
    force: bool = False,
    count: Count = estimate,
) -> Prepared | None:
    """Decide whether to compact, and number the conversation.

    Args:
        turns: the whole conversation, each with its tokens.
        summary: what was taken out before; its text counts as part of the request.
        policy: limits and amounts.
        other_tokens: of the request beside messages and summary: instructions and tool schemas.
        force: compact without a trigger, as when a person asks for it.
        count: tokens of a text.

    Returns:
        What is to be done, or None for nothing.
    """
    turns = _not_again(turns, summary)
    shown = count(render(summary, policy.fact_tokens, count))
    found = plan(turns, policy, other_tokens=other_tokens + shown, force=force)
    if found is None:
        return None
    return Prepared(turns=numbered(turns, summary), summary=summary, policy=policy, plan=found)


def _not_again(turns: Sequence[Turn], summary: Summary) -> tuple[Turn, ...]:
    """The turns; those wait that the summary stands for already. What the journal numbered since was said anew."""
    told = set(summary.evicted)
    return tuple(replace(turn, pending=True) if turn.id in told and not turn.number else turn for turn in turns)


def _back(stay: Sequence[Turn], summary: Summary) -> tuple[str, ...]:
    """Ids of messages that were taken out before and stay now that they are in the list again."""
    told = set(summary.evicted)
    return tuple(turn.id for turn in stay if turn.id is not None and turn.id in told)


def settle(
    prepared: Prepared, draft: str | None = None, *, by: str = EXTRACT, count: Count = estimate
) -> Settled | Kept:
    """Take a digest in, verified and repaired.

    Args:
        prepared: what is taken out.
        draft: a summarizer's text, its pieces one under the other; None for the messages' own words.
        by: who wrote it.
        count: tokens of a text.
    """
    summary, policy, evicted = prepared.summary, prepared.policy, prepared.evicted
    lines, facts, report = verify(
        digest(evicted, prepared.budget_tokens, count) if draft is None else draft,
        evicted,
        summary.facts,
        repair_tokens=_REPAIR_TOKENS,
        count=count,
    )
    if not lines:
        return Kept(reason=f"not one line of the digest by {by} can stand for what was said", report=report)
    if not report.holds:
        return Kept(reason=f"the digest by {by} does not hold: {report}", report=report)
    after = add(summary, lines, facts, by=by, policy=policy.to_json(), budget_tokens=policy.digest_tokens, count=count)
    stay = [prepared.turns[at] for at in prepared.plan.cut.kept]
    after = replace(
        after,
        last=max([summary.last, *(turn.number for turn in prepared.turns)]),
        numbers=MappingProxyType({turn.id: turn.number for turn in stay if turn.id is not None}),
        evicted=tuple(turn.id for turn in evicted if turn.id is not None) + _back(stay, summary),
    )
    before_shown = count(render(summary, policy.fact_tokens, count))
    tokens_after = (
        prepared.plan.tokens
        - prepared.plan.evicted_tokens
        - before_shown
        + count(render(after, policy.fact_tokens, count))
    )
    if prepared.plan.saving is not None and prepared.plan.tokens - tokens_after < prepared.plan.saving:
        return Kept(
            reason=f"it would save {prepared.plan.tokens - tokens_after} of {prepared.plan.tokens} tokens",
            report=report,
        )
    places = {turn.coordinate for turn in evicted}
    return Settled(
        summary=after,
        span=Span(lines=lines, by=by, policy=policy.to_json()),
        facts=FactTable().add(*(row.said for row in facts.history() if row.said.coordinate in places)),
        kept=prepared.plan.cut.kept,
        report=report,
        tokens=prepared.plan.tokens,
        tokens_after=tokens_after,
    )
