"""Back to what was said: the event behind a coordinate, and a summary written again from its events.

Rules of this module:

* A coordinate leads back to its event, whatever was taken out of the state.
* A summary can be thrown away and written again from its events, under another policy or by another writer. It is
  never written from an older summary's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalsegno.core.compaction import CompactionPolicy, Cut, Kept, Plan, Prepared, Settled
from dalsegno.core.journal import Event, Kind
from dalsegno.core.summary import Summary
from dalsegno.core.tokens import Count, estimate
from dalsegno.errors import Missing, Misuse
from dalsegno.langgraph.options import check_count, check_database, check_policy
from dalsegno.langgraph.originals import HasJournal
from dalsegno.langgraph.turns import turn_of_event
from dalsegno.services.compaction import Writing, acarry_out, carry_out

__all__ = ["aregenerate", "awho_said", "regenerate", "who_said"]

_NOT_SAID = frozenset({Kind.DELETE, Kind.ACTION})


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
        writing: who writes it. Left out, the summarizer that `dalsegno.connect` was given; without one, the events' own
            words.
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
    return carry_out(prepared, writing or _writing_of(ds), count)


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
    return await acarry_out(prepared, writing or _writing_of(ds), count)


def _writing_of(ds: Any) -> Writing:
    return Writing(summarizer=getattr(ds, "summarizer", None))


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
