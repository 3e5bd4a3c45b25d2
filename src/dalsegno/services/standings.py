"""Noting where a run stands, in the transaction that makes it so.

Rules of this module:

* A checkpoint that becomes the root graph's head says whether steps wait; a question among the writes of the head says
  that an answer does; an answer that is kept says that steps do.
* Writes that come before their checkpoint say nothing yet: nobody can see their question. The checkpoint says it then.
* Whoever writes to a run that a worker has given up, or without the lease that a dead one left, has taken the run over:
  the parking is off, the dead lease is let go, and workers do not touch it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from dalsegno.contracts import Step
from dalsegno.core.standing import Standing
from dalsegno.services.threads_row import ThreadRow

__all__ = ["ANSWER", "NOBODYS", "QUESTION", "after_writes", "asks_still", "taken_over"]

QUESTION, ANSWER = -3, -4
"""LangGraph's fixed slots of a question and of an answer among a task's writes."""

NOBODYS = "00000000-0000-0000-0000-000000000000"
"""LangGraph's id of the task that stands for the run's own input."""


def taken_over(row: ThreadRow, fence: int | None) -> Iterator[Step]:
    """The steps that note that someone goes on with a run; changes `row.stands` in place."""
    if row.stands in (Standing.RETRY, Standing.PARKED):
        row.stands = Standing.OPEN
        yield Step("wipe_runs", row.key)
    if fence is None and row.lease_until is not None:
        yield Step("wipe_runs", row.key)
        yield Step("thread_lease", {**row.key, "fence": row.fence, "holder": None, "until": None})


def asks_still(writes: Mapping[str, Collection[int]]) -> bool:
    """Whether a question waits among a head's writes (slots by task): one that has no answer, or was asked again."""
    answered = ANSWER in writes.get(NOBODYS, ())
    return any(QUESTION in slots and (not answered or ANSWER in slots) for slots in writes.values())


def after_writes(stands: int, task: str, slots: Iterable[int]) -> int:
    """Where a run stands after a task of the root graph has written to these slots."""
    slots = set(slots)
    if QUESTION in slots:
        return Standing.ASKED
    return Standing.OPEN if task == NOBODYS and ANSWER in slots else stands
