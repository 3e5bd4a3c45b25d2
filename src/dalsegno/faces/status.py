"""Where a thread stands: one word for people and programs that look over many.

Rules of this module:

* The word tells what is to be done next. It is read off the thread's row and the root graph's head, whose writes hold
  a subgraph's questions too; nothing of a state is decoded.
* A run that is under way without a lease cannot be told from one whose process died: both are `UNFINISHED`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from dalsegno.contracts import Op
from dalsegno.faces.checkpoints import CheckpointInfo, infos_of
from dalsegno.services import inspect, reading
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope

__all__ = ["Status", "statuses"]


class Status(StrEnum):
    """Where a thread stands.

    Attributes:
        FINISHED: nothing waits to run; the next input begins a turn.
        INTERRUPTED: a question waits for an answer (`dalsegno.resume` with a value).
        FAILED: a node raised; it runs again on `dalsegno.resume`.
        UNFINISHED: nodes wait to run: the run was stopped, or goes on without a lease.
        RUNNING: a run holds a live lease.
        EMPTY: there is no checkpoint, at most a journal.
        DELETED: only the tombstone is left.
    """

    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    UNFINISHED = "unfinished"
    RUNNING = "running"
    EMPTY = "empty"
    DELETED = "deleted"


@sound
def statuses(scope: Scope, names: Sequence[str]) -> Op[dict[str, Status]]:
    """Where threads stand; see `Threads.status`. Reads a few rows of each."""
    found = {}
    for name in names:
        thread = yield from inspect.any_thread(scope, name)
        if thread.deleted:
            found[name] = Status.DELETED
            continue
        row = yield from reading.find(scope, name, "", None)
        infos = yield from infos_of([] if row is None else [row])
        found[name] = Status.RUNNING if thread.leased_to else _of(infos)
    return found


def _of(infos: Sequence[CheckpointInfo]) -> Status:
    if not infos:
        return Status.EMPTY
    (head,) = infos
    if head.interrupts:
        return Status.INTERRUPTED
    if not head.next:
        return Status.FINISHED
    return Status.FAILED if head.failed else Status.UNFINISHED
