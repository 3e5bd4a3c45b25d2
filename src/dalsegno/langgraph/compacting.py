"""Message lists, compacted.

Rules of this module:

* A list that is given is never changed. Messages that stay are the very objects that were in it.
* The summary is a value beside the list; no message is put in its place.
* Nothing to do, or a digest that does not hold: the answer is the list as it was, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Unpack

from dalsegno.contracts import TokenCounter
from dalsegno.core.compaction import CompactionPolicy, Kept, Prepared, Settled, Turn, prepare, triggers
from dalsegno.core.journal import Event
from dalsegno.core.rendering import render
from dalsegno.core.summary import Summary
from dalsegno.core.tokens import MESSAGE_TOKENS, estimate, schema_tokens
from dalsegno.core.verification import Report
from dalsegno.langgraph.options import (
    How,
    check_how,
    check_messages,
    check_options,
    check_policy,
    check_request,
    check_tokens,
    summary_of,
)
from dalsegno.langgraph.summarizer import summarizer_of
from dalsegno.langgraph.turns import turns_of, with_numbers
from dalsegno.services.compaction import Writing, acarry_out, carry_out

__all__ = ["Compacted", "Compaction", "acompact", "compact", "render_summary"]


_FRAME_TOKENS = 500
"""More than the words around a summary ever cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A message list after a compaction, or as it was.

    Attributes:
        messages: what stays, the very objects that were given, in their order.
        evicted: what was taken out, in its order; empty when nothing was.
        summary: what stands for everything taken out so far.
        report: what was checked, repaired and dropped; None when no digest was written.
        settled: the compaction that was carried out, or None.
        reason: why everything stays as it was, where a compaction was due and not taken.
        tokens: of the whole request before, by estimate.
        tokens_after: of the whole request now, the summary as it is shown included.
    """

    messages: list[Any]
    evicted: list[Any]
    summary: Summary
    report: Report | None = None
    settled: Settled | None = None
    reason: str = ""
    tokens: int = 0
    tokens_after: int = 0

    @property
    def changed(self) -> bool:
        """Whether anything was taken out."""
        return bool(self.evicted)


class Compaction:
    """When, where and by whom conversations are compacted; used by the function, the node and the middleware."""

    def __init__(self, policy: CompactionPolicy | None = None, **how: Unpack[How]) -> None:
        """Take the policy and the writer.

        Args:
            policy: limits and amounts; the defaults of `CompactionPolicy` when left out.
            how: who writes digests and how messages are counted.

        Raises:
            Misuse: a value of the wrong kind.
        """
        check_how(how)
        self.policy = check_policy(policy)
        self.count: TokenCounter = how.get("count", estimate)
        self._pending = how.get("pending")
        self._writing = Writing(
            summarizer=summarizer_of(how.get("summarizer")),
            timeout=how.get("timeout", timedelta(seconds=60)),
            fallback=how.get("fallback", False),
        )

    def turns(self, messages: Sequence[Any], events: Sequence[Event] | None = None) -> tuple[Turn, ...]:
        """The messages as turns, numbered by their events where there are any."""
        turns = turns_of(messages, self.count, self._pending)
        return turns if events is None else with_numbers(turns, events)

    def quiet(self, messages: Sequence[Any], other_tokens: int = 0) -> bool:
        """Whether nothing can be due, whatever the summary says; told without reading it, for most calls are so."""
        policy = self.policy
        tokens = other_tokens + sum(turn.tokens for turn in self.turns(messages))
        most = tokens + policy.digest_tokens + policy.fact_tokens + _FRAME_TOKENS
        return not triggers(policy, messages=len(messages), tokens=most)

    def due(
        self,
        messages: Sequence[Any],
        summary: Summary,
        *,
        other_tokens: int = 0,
        events: Sequence[Event] | None = None,
        force: bool = False,
    ) -> Prepared | None:
        """What is to be done, or None for nothing."""
        return prepare(
            self.turns(messages, events),
            summary,
            self.policy,
            other_tokens=other_tokens,
            force=force,
            count=self.count,
        )

    def lacks(self, messages: Sequence[Any], prepared: Prepared) -> Callable[[Sequence[Event]], bool]:
        """Tells of events whether one of the messages to take out is not among them."""

        def lack(events: Sequence[Event]) -> bool:
            turns = self.turns(messages, events)
            return any(turns[at].number == 0 for at in prepared.plan.cut.evicted)

        return lack

    def run(self, messages: Sequence[Any], summary: Summary, prepared: Prepared | None) -> Compacted:
        """Carry out what is due."""
        if prepared is None:
            return _unchanged(messages, summary)
        return _outcome(messages, summary, prepared, carry_out(prepared, self._writing, self.count))

    async def arun(self, messages: Sequence[Any], summary: Summary, prepared: Prepared | None) -> Compacted:
        """Async face of `run`."""
        if prepared is None:
            return _unchanged(messages, summary)
        return _outcome(messages, summary, prepared, await acarry_out(prepared, self._writing, self.count))

    def other_tokens(self, system: str, tools: Sequence[Any]) -> int:
        """Tokens of a request beside messages and summary.

        Raises:
            Misuse: instructions that are no text, tools that are no list.
        """
        check_request(system, tools)
        return (self.count(system) + MESSAGE_TOKENS if system else 0) + schema_tokens(tools, self.count)


def _unchanged(messages: Sequence[Any], summary: Summary) -> Compacted:
    return Compacted(messages=list(messages), evicted=[], summary=summary)


def _outcome(messages: Sequence[Any], summary: Summary, prepared: Prepared, outcome: Settled | Kept) -> Compacted:
    before = prepared.plan.tokens
    if isinstance(outcome, Kept):
        return Compacted(
            messages=list(messages),
            evicted=[],
            summary=summary,
            report=outcome.report,
            reason=outcome.reason,
            tokens=before,
            tokens_after=before,
        )
    return Compacted(
        messages=[messages[at] for at in outcome.kept],
        evicted=[messages[at] for at in prepared.plan.cut.evicted],
        summary=outcome.summary,
        report=outcome.report,
        settled=outcome,
        tokens=outcome.tokens,
        tokens_after=outcome.tokens_after,
    )


# --- over message lists -----------------------------------------------------------------------------


def compact(
    messages: Sequence[Any],
    policy: CompactionPolicy | None = None,
    *,
    summary: Summary | Mapping[str, Any] | None = None,
    system: str = "",
    tools: Sequence[Any] = (),
    force: bool = False,
    **how: Unpack[How],
) -> Compacted:
    """Compact a message list, if it is due.

    Args:
        messages: LangChain messages, or mappings with `role` and `content`, oldest first. Not changed.
        policy: limits and amounts.
        summary: of what was taken out before, as a `Summary` or as its JSON.
        system: instructions that go with the messages; they count.
        tools: tool schemas that go with them; they count.
        force: compact without a trigger.
        how: who writes digests and how messages are counted; see `How`.

    Returns:
        What stays, what went, and the summary with its report; everything as it was when nothing is due or the
        digest does not hold.

    Raises:
        Misuse: an element is no message, `summary` no summary, or an option not one of these.
        Damaged: `summary` is a summary that cannot be read.
    """
    check_options(compact, how)
    check_messages(messages)
    work = Compaction(policy, **how)
    before = summary_of(summary)
    due = work.due(messages, before, other_tokens=work.other_tokens(system, tools), force=force)
    return work.run(messages, before, due)


async def acompact(
    messages: Sequence[Any],
    policy: CompactionPolicy | None = None,
    *,
    summary: Summary | Mapping[str, Any] | None = None,
    system: str = "",
    tools: Sequence[Any] = (),
    force: bool = False,
    **how: Unpack[How],
) -> Compacted:
    """Async face of `compact`."""
    check_options(acompact, how)
    check_messages(messages)
    work = Compaction(policy, **how)
    before = summary_of(summary)
    due = work.due(messages, before, other_tokens=work.other_tokens(system, tools), force=force)
    return await work.arun(messages, before, due)


def render_summary(summary: Summary | Mapping[str, Any] | None, fact_tokens: int = 1000) -> str:
    """A summary, or the JSON in a state's field, as text for a model; empty when there is none.

    Raises:
        Misuse: it is no summary.
        Damaged: it is one that cannot be read.
    """
    check_tokens("fact_tokens", fact_tokens)
    return render(summary_of(summary), fact_tokens)
