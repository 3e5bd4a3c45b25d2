"""Finding runs that nobody goes on with, and what becomes of them.

Rules of this module:

* Finding and taking is one transaction: a run is locked, judged and leased, or it is left for another. Rows that
  someone else has locked are passed over. What was found is judged again under the lock.
* A run is taken when its lease ran out or was handed over, when another attempt is due, when it was answered from
  elsewhere, and, only where the caller says so, when steps wait without a lease and nothing has been written for so
  long. Parked runs and questions are not.
* A run that is over, failed or put off lets its lease go in the transaction that says so.
* Every time is the database's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from dalsegno.contracts import Op, Step
from dalsegno.core.failures import Failure, backoff, fingerprint, told_safely
from dalsegno.core.standing import Standing, status_of
from dalsegno.errors import Refused
from dalsegno.services.access import admit_all
from dalsegno.services.actions import ask_anew
from dalsegno.services.ids import unpack_name
from dalsegno.services.run_rows import RunRow, load_run, save_run
from dalsegno.services.runs import micros
from dalsegno.services.threads_row import Scope, ThreadRow, lock_thread

__all__ = ["DEATHS", "Taken", "fail", "put_off", "settle", "take", "unpark"]

_REACH = 8
"""How many candidates are looked at for each that is wanted: others lock some of them."""

DEATHS = 10
"""A run whose process dies so often in a row in the same step is parked: most likely it is what kills it."""

_PATIENCE = 3
"""How many times the attempts of one failure a run may fail in ever other ways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A run that is the caller's now.

    Attributes:
        thread_id: its thread.
        token: fencing token of its lease.
    """

    thread_id: str
    token: int


def take(scope: Scope, holder: str, ttl: timedelta, limit: int, idle: timedelta | None) -> Op[list[Taken]]:
    """Lease up to `limit` runs that nobody goes on with."""
    length = micros(ttl)
    clock = yield Step("now", {})
    now = clock[0][0]
    since = None if idle is None else now - micros(idle)
    asked = {"tenant": scope.tenant, "owner": scope.whose, "now": now, "idle": since}
    rows = yield Step("runs_due", {**asked, "limit": limit, "reach": limit * _REACH})
    found = []
    for name, thread, stands, fence, until, updated_at, checkpoints in rows:
        key = {"tenant": scope.tenant, "thread": thread}
        if stands in (Standing.ASKED, Standing.PARKED):
            if until is not None:  # its holder is dead, and there is nothing for a worker to do
                yield _lease(key, fence)
            continue
        run = yield from load_run(key)
        if until is None and not _due(run, stands, now, since, updated_at):
            continue
        if until is not None and (yield from _died(key, run, fence, now, checkpoints)):
            continue
        yield (_lease(key, fence + 1, holder, now + length), Step("run_taken", key))
        if stands in (Standing.RETRY, Standing.ANSWERED):
            yield Step("thread_stands", {**key, "stands": int(Standing.OPEN)})
        found.append(Taken(thread_id=unpack_name(name), token=fence + 1))
    yield from admit_all(scope, [each.thread_id for each in found])
    return found


def _died(key: dict[str, int], run: RunRow, fence: int, now: int, checkpoints: int) -> Op[bool]:
    """Count that a run's process died; True when it does so again and again, and is parked."""
    run.deaths = run.deaths + 1 if run.taken_at == checkpoints else 1
    run.taken_at = checkpoints
    if run.deaths <= DEATHS:
        yield save_run(key, run)
        return False
    run.attempts, run.due, run.failed_at, run.parked_at, run.place = DEATHS, None, now, now, ""
    run.error = f"its process died {DEATHS} times in a row in the middle of the same step"
    stands = Step("thread_stands", {**key, "stands": int(Standing.PARKED)})
    yield (save_run(key, run), stands, _lease(key, fence))
    return True


def _due(run: RunRow, stands: int, now: int, since: int | None, updated_at: int) -> bool:
    """Whether a run without a lease may be taken, by what its rows say under the lock."""
    if stands in (Standing.RETRY, Standing.ANSWERED):
        return run.due is not None and run.due <= now
    return stands == Standing.OPEN and since is not None and updated_at <= since


def settle(scope: Scope, name: str, token: int, *, closed: bool) -> Op[int]:
    """Let a run go that has come as far as it comes; returns where it stands.

    Args:
        scope: tenant and user.
        name: the thread.
        token: fencing token of its lease.
        closed: whether its head was looked at and has nothing to run.
    """
    row = yield from lock_thread(scope, name, create=False, fence=token)
    stands = Standing.CLOSED if closed else row.stands
    if stands == Standing.ANSWERED:  # answered before its question was written down, as its row says
        yield _let_go(row)
        return stands
    yield (Step("wipe_runs", row.key), Step("thread_stands", {**row.key, "stands": int(stands)}), _let_go(row))
    return stands


def fail(
    scope: Scope, name: str, token: int, failure: Failure, *, attempts: int, base: timedelta
) -> Op[tuple[int, timedelta | None]]:
    """Write down that a run failed: try again later, or park it.

    Args:
        scope: tenant and user.
        name: the thread.
        token: fencing token of its lease.
        failure: how it failed.
        attempts: after so many equal failures in a row it is parked.
        base: how long to wait after the first; each further one doubles it.

    Returns:
        How many equal failures there were, and how long to wait; None when it is parked.
    """
    row = yield from lock_thread(scope, name, create=False, fence=token)
    run = yield from load_run(row.key)
    print_ = fingerprint(failure)
    same = run.fingerprint is not None and bytes(run.fingerprint) == print_
    run.attempts, run.failures = (run.attempts + 1 if same else 1), run.failures + 1
    parked = failure.hopeless or run.attempts >= attempts or run.failures >= attempts * _PATIENCE
    wait = None if parked else backoff(base, run.attempts)
    run.fingerprint, run.error, run.place, run.failed_at = print_, failure.told, failure.place, row.now
    run.parked_at = row.now if parked else None
    run.due = None if wait is None else row.now + wait // timedelta(microseconds=1)
    stands = Standing.PARKED if parked else Standing.RETRY
    yield (save_run(row.key, run), Step("thread_stands", {**row.key, "stands": int(stands)}), _let_go(row))
    return run.attempts, wait


def put_off(scope: Scope, name: str, token: int, why: Failure, wait: timedelta) -> Op[None]:
    """Let a run go that has to wait for something; that is no failure."""
    row = yield from lock_thread(scope, name, create=False, fence=token)
    run = yield from load_run(row.key)
    run.error, run.place, run.failed_at = told_safely(f"put off: {why.told}"), None, None
    run.due = row.now + wait // timedelta(microseconds=1)
    yield (save_run(row.key, run), Step("thread_stands", {**row.key, "stands": int(Standing.RETRY)}), _let_go(row))


def unpark(scope: Scope, name: str) -> Op[None]:
    """Let workers try a run again at once, with all attempts before it; what a person decided against is asked anew.

    Raises:
        Refused: it is not parked and no attempt is due.
        LeaseHeld: someone runs it.
    """
    row = yield from lock_thread(scope, name, create=False)
    if row.stands not in (Standing.RETRY, Standing.PARKED):
        word = status_of(row.stands, row.lease_until, row.now)
        told = f"is {word}, not parked" if row.checkpoints else "has never run, so there is nothing to try again"
        msg = f"thread {name!r} {told}; nothing was changed"
        raise Refused(
            msg,
            step="ds.runs.list(status='parked') shows what is parked",
            command="`dalsegno runs --status parked` shows what is parked",
        )
    found = yield from load_run(row.key)
    found.attempts = found.failures = found.deaths = 0
    found.fingerprint, found.parked_at, found.due = None, None, row.now
    yield from ask_anew(scope, row)
    yield (save_run(row.key, found), Step("thread_stands", {**row.key, "stands": int(Standing.RETRY)}))


def _let_go(row: ThreadRow) -> Step:
    return _lease(row.key, row.fence)


def _lease(key: dict[str, int], fence: int, holder: str | None = None, until: int | None = None) -> Step:
    return Step("thread_lease", {**key, "fence": fence, "holder": holder, "until": until})
