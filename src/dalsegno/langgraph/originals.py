"""Back to what was said: the journal's events for a summary, word for word.

Rules of this module:

* A coordinate leads back to its event, whatever was taken out of the state.
* A run may be ahead of its own checkpoints (LangGraph saves them beside the next step). What is due waits for the
  journal as long as it keeps growing, half a second at most; what it still lacks then stays in the list.
* A summary can be thrown away and written again from its events, under another policy or by another writer. It is
  never written from an older summary's words.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeAlias

from langchain_core.runnables import RunnableConfig

from dalsegno.core.compaction import CompactionPolicy, Cut, Kept, Plan, Prepared, Settled
from dalsegno.core.journal import Event, Kind
from dalsegno.core.summary import Summary
from dalsegno.core.tokens import Count, estimate
from dalsegno.errors import DalsegnoError, Missing, Misuse, ThreadNotFound
from dalsegno.langgraph.config import fence_of
from dalsegno.langgraph.options import check_count, check_database, check_policy
from dalsegno.langgraph.turns import turn_of_event
from dalsegno.services.compaction import Writing, acarry_out, carry_out

__all__ = [
    "HasJournal",
    "aoriginals",
    "arecord",
    "aregenerate",
    "awho_said",
    "originals",
    "record",
    "regenerate",
    "thread_of",
    "who_said",
]

_log = logging.getLogger("dalsegno.compaction")

Lacks: TypeAlias = Callable[[Sequence[Event]], bool]

_NOT_SAID = frozenset({Kind.DELETE, Kind.ACTION})


class ReadsEvents(Protocol):
    """The part of a journal that is needed here; `ds.journal` is one."""

    def read(self, thread_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """Events of the head's lineage after a number, oldest first."""

    def aread(self, thread_id: str, after: int = 0, limit: int | None = None) -> Awaitable[list[Event]]:
        """Async face of `read`."""


class HasJournal(Protocol):
    """An open database, or anything with a journal to read; one with `summaries` gets each summary to keep."""

    @property
    def journal(self) -> ReadsEvents:
        """Its journal."""


def thread_of(config: RunnableConfig) -> str:
    """The thread a node runs in.

    Raises:
        Misuse: the run has none.
    """
    thread = (config.get("configurable") or {}).get("thread_id")
    if not thread:
        raise Misuse("the run has no thread_id, so no journal can be read; invoke the graph with one, or leave ds out.")
    return str(thread)


def originals(ds: HasJournal, thread_id: str, summary: Summary, lacks: Lacks) -> list[Event]:
    """Events of a thread that a summary does not stand for yet; none where the thread is not stored yet.

    Args:
        ds: the open database.
        thread_id: the thread.
        summary: what was taken out before.
        lacks: tells whether these events are still too few.
    """
    waiting = _Waiting(lacks)
    while True:
        try:
            events = ds.journal.read(thread_id, after=_after(summary))
        except ThreadNotFound:
            events = []
        pause = waiting.pause(events)
        if pause is None:
            return events
        time.sleep(pause)


async def aoriginals(ds: HasJournal, thread_id: str, summary: Summary, lacks: Lacks) -> list[Event]:
    """Async face of `originals`."""
    waiting = _Waiting(lacks)
    while True:
        try:
            events = await ds.journal.aread(thread_id, after=_after(summary))
        except ThreadNotFound:
            events = []
        pause = waiting.pause(events)
        if pause is None:
            return events
        await asyncio.sleep(pause)


class _Waiting:
    """How long to wait for a journal that is being written."""

    _PAUSES = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.2)
    _PATIENCE = 0.04

    def __init__(self, lacks: Lacks) -> None:
        self._lacks = lacks
        self._pauses = iter(self._PAUSES)
        self._last = 0.0
        self._seen = -1

    def pause(self, events: Sequence[Event]) -> float | None:
        """Seconds until the next look, or None when this one was the last."""
        if not self._lacks(events) or (len(events) == self._seen and self._last >= self._PATIENCE):
            return None
        self._seen, self._last = len(events), next(self._pauses, 0.0)
        return self._last or None


def _after(summary: Summary) -> int:
    """The number up to which everything is covered."""
    covered = summary.covered
    return covered[0][1] if covered and covered[0][0] == 1 else 0


def record(ds: HasJournal | None, config: RunnableConfig, settled: Settled | None) -> None:
    """Write a summary down beside the journal; what cannot be written is logged, and the state has it all the same."""
    kept = getattr(ds, "summaries", None)
    if kept is not None and settled is not None:
        try:
            kept.keep(thread_of(config), settled, lease=fence_of(config.get("configurable") or {}))
        except DalsegnoError as error:
            _log.warning("a summary was not written down, the state alone has it: %s", error)


async def arecord(ds: HasJournal | None, config: RunnableConfig, settled: Settled | None) -> None:
    """Async face of `record`."""
    kept = getattr(ds, "summaries", None)
    if kept is not None and settled is not None:
        try:
            await kept.akeep(thread_of(config), settled, lease=fence_of(config.get("configurable") or {}))
        except DalsegnoError as error:
            _log.warning("a summary was not written down, the state alone has it: %s", error)


def who_said(ds: HasJournal, thread_id: str, number: int) -> Event:
    """The event a coordinate points to: who said what at `#n`, in full.

    Raises:
        Misuse: no database, or no number.
        Missing: the head's lineage has no such event.
        ThreadNotFound: no such thread, or another user's.
    """
    _check_number(ds, number)
    return _the_one(ds.journal.read(thread_id, after=number - 1, limit=1), thread_id, number)


async def awho_said(ds: HasJournal, thread_id: str, number: int) -> Event:
    """Async face of `who_said`."""
    _check_number(ds, number)
    return _the_one(await ds.journal.aread(thread_id, after=number - 1, limit=1), thread_id, number)


def _check_number(ds: Any, number: Any) -> None:
    check_database(ds)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise Misuse(f"number={number!r}: give the number of an event, from 1; 12 for #12.")


def _the_one(events: Sequence[Event], thread_id: str, number: int) -> Event:
    if not events or events[0].seq != number:
        raise Missing(
            f"thread {thread_id!r} has no event #{number} on the way to its head; `dalsegno show` lists them."
        )
    return events[0]


def regenerate(
    ds: HasJournal,
    thread_id: str,
    span: tuple[int, int],
    policy: CompactionPolicy | None = None,
    *,
    writing: Writing | None = None,
    count: Count = estimate,
) -> Settled | Kept:
    """Write the summary of a span again, from its events.

    Args:
        ds: the open database.
        thread_id: the thread.
        span: first and last number, both included.
        policy: the budget it is written under.
        writing: who writes it; the events' own words when left out.
        count: tokens of a text.

    Returns:
        The new summary with its report, or why there is none. Nothing is stored.

    Raises:
        Misuse: the span is no span, or another argument of the wrong kind.
        Missing: no event of the head's lineage is in it.
        ThreadNotFound: no such thread, or another user's.
    """
    first, last = _checked(ds, span, writing, count)
    prepared = _whole(ds.journal.read(thread_id, after=first - 1), last, thread_id, policy, count)
    return carry_out(prepared, writing or Writing(), count)


async def aregenerate(
    ds: HasJournal,
    thread_id: str,
    span: tuple[int, int],
    policy: CompactionPolicy | None = None,
    *,
    writing: Writing | None = None,
    count: Count = estimate,
) -> Settled | Kept:
    """Async face of `regenerate`."""
    first, last = _checked(ds, span, writing, count)
    prepared = _whole(await ds.journal.aread(thread_id, after=first - 1), last, thread_id, policy, count)
    return await acarry_out(prepared, writing or Writing(), count)


def _checked(ds: Any, span: Any, writing: Any, count: Any) -> tuple[int, int]:
    check_database(ds)
    check_count(count)
    if writing is not None and not isinstance(writing, Writing):
        raise Misuse(f"writing={type(writing).__name__}: wrap the summarizer, as in Writing(summarizer=…).")
    pair = tuple(span) if isinstance(span, (tuple, list)) else ()
    if len(pair) != 2 or any(type(number) is not int for number in pair) or not 1 <= pair[0] <= pair[1]:  # noqa: PLR2004
        raise Misuse(f"span={span!r}: give the first and the last number as a pair, from 1; such as (1, 12).")
    return pair[0], pair[1]


def _whole(
    events: Sequence[Event], last: int, thread_id: str, policy: CompactionPolicy | None, count: Count
) -> Prepared:
    """All events up to a number, as a compaction that takes out every one of them."""
    turns = tuple(turn_of_event(event, count) for event in events if event.seq <= last and event.kind not in _NOT_SAID)
    if not turns:
        raise Missing(f"thread {thread_id!r} has no such events on the way to its head; `dalsegno show` lists them.")
    tokens = sum(turn.tokens for turn in turns)
    return Prepared(
        turns=turns,
        summary=Summary(),
        policy=check_policy(policy),
        plan=Plan(
            cut=Cut(kept=(), evicted=tuple(range(len(turns)))), by=(), tokens=tokens, evicted_tokens=tokens, saving=None
        ),
    )
