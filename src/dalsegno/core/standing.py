"""Where a run stands: what is noted with each write, and the word for it that people and programs are told.

Rules of this module:

* What is noted says what is to be done next, as far as the writes of a run tell: nothing, steps, an answer, another
  attempt, or a person's look at why it cannot go on.
* A lease that was let go says nothing about its run. One that ran out says that a process died.
* Steps that wait without a lease may belong to a run that goes on without one. Nothing tells that from a dead one, so
  it is a word of its own.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

__all__ = ["RunStatus", "Standing", "status_of"]


class Standing(IntEnum):
    """What is to be done next with a thread's run.

    Attributes:
        CLOSED: nothing waits to run.
        OPEN: the head has steps to run.
        ASKED: a question of the head waits for an answer.
        RETRY: a worker's run failed; another attempt is due at a time.
        PARKED: it failed too often, or in a way that trying again cannot mend.
        ANSWERED: a question of the head was answered beside the run; a worker goes on with it.
    """

    CLOSED = 0
    OPEN = 1
    ASKED = 2
    RETRY = 3
    PARKED = 4
    ANSWERED = 5


class RunStatus(StrEnum):
    """Where a run stands, for `ds.runs` and `dalsegno runs`.

    Attributes:
        RUNNING: someone holds a live lease.
        ORPHANED: its lease ran out, it was handed over, another attempt is due, or what it waited for was answered
            elsewhere; a worker goes on with it.
        WAITING: a question waits for an answer.
        PARKED: workers leave it alone until someone looks at its error.
        UNFINISHED: steps wait and there is no lease: it goes on without one, or was left by a run that had none or let
            its own go.
        FINISHED: nothing waits to run.
    """

    RUNNING = "running"
    ORPHANED = "orphaned"
    WAITING = "waiting"
    PARKED = "parked"
    UNFINISHED = "unfinished"
    FINISHED = "finished"


_WORDS = {
    Standing.CLOSED: RunStatus.FINISHED,
    Standing.ASKED: RunStatus.WAITING,
    Standing.RETRY: RunStatus.ORPHANED,
    Standing.PARKED: RunStatus.PARKED,
    Standing.ANSWERED: RunStatus.ORPHANED,
}


def status_of(standing: int, lease_until: int | None, now: int) -> RunStatus:
    """The word for a run.

    Args:
        standing: what is noted with its thread.
        lease_until: end of the last lease that was not let go.
        now: the database's time.
    """
    if lease_until is not None and lease_until > now:
        return RunStatus.RUNNING
    if standing == Standing.OPEN:
        return RunStatus.UNFINISHED if lease_until is None else RunStatus.ORPHANED
    return _WORDS[Standing(standing)]
