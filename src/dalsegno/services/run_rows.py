"""What is known of runs beside their checkpoints: who runs them, how they failed, when another attempt is due.

Rules of this module:

* A row of `ds_runs` is there only while a run has failed, was put off, or was answered from outside, and has not come
  to its end since. It goes with the run's end, with its thread, and when someone takes the run over.
* A list reads its page in one statement (three for orphaned runs) and decodes nothing: where a run stands is noted by
  its own writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dalsegno.contracts import Op, Step
from dalsegno.core.failures import told_safely
from dalsegno.core.rights import Right
from dalsegno.core.standing import RunStatus, Standing, status_of
from dalsegno.services.access import absent, admit
from dalsegno.services.frames import from_micros
from dalsegno.services.ids import pack_name, unpack_name
from dalsegno.services.threads_row import Scope, ThreadRow

__all__ = ["Run", "RunRow", "get_run", "list_runs", "load_run", "make_due", "save_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A thread's run as lists show it.

    Attributes:
        thread_id: the thread.
        status: where it stands.
        owner: the user it belongs to, if any.
        holder: who holds its lease, or held it until it ran out.
        updated_at: when something was last written to the thread; aware UTC.
        attempts: how often in a row it has failed in the same way; 0 when it has not.
        error: what the last failure said.
        note: what else a worker goes by: the answer that was given, or what the run was put off for. No failure.
        place: `module:function` that raised it.
        failed_at: when.
        parked_at: since when workers leave it alone.
        retry_at: when the next attempt is due.
    """

    thread_id: str
    status: RunStatus
    owner: str | None
    holder: str | None
    updated_at: datetime
    attempts: int
    error: str | None
    note: str | None
    place: str | None
    failed_at: datetime | None
    parked_at: datetime | None
    retry_at: datetime | None


@dataclass(slots=True)
class RunRow:
    """One row of `ds_runs`, its fields in the order of `run_find`.

    Attributes:
        attempts: equal failures in a row.
        failures: failures in a row, of whatever kind.
        deaths: how often in a row a worker's process died before the next checkpoint.
        taken_at: the thread's last checkpoint number when a worker took it over.
        error: what the last failure said; where `failed_at` is None it is a note of what a worker goes by.
        due: when a worker may take it.
    """

    attempts: int = 0
    failures: int = 0
    deaths: int = 0
    taken_at: int = 0
    fingerprint: bytes | None = None
    error: str | None = None
    place: str | None = None
    failed_at: int | None = None
    parked_at: int | None = None
    due: int | None = None


def load_run(key: Mapping[str, int]) -> Op[RunRow]:
    """The row of a thread, or an empty one."""
    rows = yield Step("run_find", key)
    return RunRow(*rows[0]) if rows else RunRow()


def save_run(key: Mapping[str, int], row: RunRow) -> Step:
    """The step that writes a row."""
    return Step("run_save", {**key, **{name: getattr(row, name) for name in RunRow.__slots__}})


def make_due(thread: ThreadRow, note: str) -> Op[None]:
    """Let a worker go on with a run that waited, at once."""
    row = yield from load_run(thread.key)
    row.error, row.place, row.failed_at, row.parked_at, row.due = told_safely(note), None, None, None, thread.now
    thread.stands = Standing.ANSWERED
    stands = Step("thread_stands", {**thread.key, "stands": int(thread.stands)})
    yield (save_run(thread.key, row), stands)


def get_run(scope: Scope, name: str) -> Op[Run]:
    """One run.

    Raises:
        ThreadNotFound: no such thread.
    """
    clock = yield Step("now", {})
    rows = yield Step("runs_one", {"tenant": scope.tenant, "name": pack_name(name), "owner": scope.whose})
    if not rows:
        raise absent(name)
    thread, *columns = rows[0]
    yield from admit(scope, name, thread, columns[1], Right.READ)
    return _run(columns, clock[0][0])


def list_runs(scope: Scope, *, status: RunStatus | None, limit: int | None, after: str | None) -> Op[list[Run]]:
    """Runs by their thread's id, those after `after`; threads without a checkpoint have none."""
    clock = yield Step("now", {})
    now = clock[0][0]
    page = {
        "tenant": scope.tenant,
        "owner": scope.whose,
        "after": None if after is None else pack_name(after),
        "limit": 2**62 if limit is None else limit,
    }
    rows: list[tuple[Any, ...]] = []
    for step in _reads(status, page, now):
        rows += yield step
    rows.sort(key=lambda columns: columns[0].encode("utf-8", "surrogatepass"))
    return [_run(columns, now) for columns in rows[:limit]]


def _reads(status: RunStatus | None, page: dict[str, Any], now: int) -> Sequence[Step]:
    timed = {**page, "now": now}
    match status:
        case None:
            return [Step("runs_page", page)]
        case RunStatus.FINISHED:
            return [Step("runs_finished", timed)]
        case RunStatus.RUNNING:
            return [Step("runs_leased", timed)]
        case RunStatus.ORPHANED:
            due = [
                Step("runs_standing", {**timed, "stands": int(each)}) for each in (Standing.RETRY, Standing.ANSWERED)
            ]
            return [Step("runs_left", timed), *due]
        case RunStatus.WAITING:
            return [Step("runs_standing", {**timed, "stands": int(Standing.ASKED)})]
        case RunStatus.PARKED:
            return [Step("runs_standing", {**timed, "stands": int(Standing.PARKED)})]
        case RunStatus.UNFINISHED:
            return [Step("runs_standing", {**timed, "stands": int(Standing.OPEN)})]


def _run(columns: Sequence[Any], now: int) -> Run:
    name, owner, updated_at, stands, holder, until, attempts, error, place, failed_at, parked_at, due = columns
    return Run(
        thread_id=unpack_name(name),
        status=status_of(stands, until, now),
        owner=owner,
        holder=holder,
        updated_at=from_micros(updated_at),
        attempts=attempts or 0,
        error=None if failed_at is None else error,
        note=error if failed_at is None else None,
        place=place,
        failed_at=_time(failed_at),
        parked_at=_time(parked_at),
        retry_at=_time(due),
    )


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
