"""Finding runs that nobody goes on with, and what becomes of them.

Rules of this module:

* Finding and taking is one transaction: a run is locked, judged and leased, or it is left for another. Rows that
  someone else has locked are passed over. What was found is judged again under the lock.
* A run is taken when its lease ran out or was handed over, when another attempt is due, and, only where the caller says
  so, when steps wait without a lease and nothing has been written for so long. Parked runs and questions are not.
* A run that is over, failed or put off lets its lease go in the transaction that says so.
* Every time is the database's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dalsegno.contracts import Op, Step
from dalsegno.core.failures import Failure, backoff, fingerprint
from dalsegno.core.standing import Standing
from dalsegno.services.ids import unpack_name
from dalsegno.services.runs import micros
from dalsegno.services.threads_row import Scope, ThreadRow, lock_thread

__all__ = ["Taken", "fail", "put_off", "settle", "take"]

_REACH = 8
"""How many candidates are looked at for each that is wanted: others lock some of them."""

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
    asked = {"tenant": scope.tenant, "owner": scope.user, "now": now, "idle": since}
    rows = yield Step("runs_due", {**asked, "limit": limit, "reach": limit * _REACH})
    found = []
    for name, thread, stands, fence, until, updated_at in rows:
        key = {"tenant": scope.tenant, "thread": thread}
        if stands in (Standing.ASKED, Standing.PARKED):
            if until is not None:  # its holder is dead, and there is nothing for a worker to do
                yield Step("thread_lease", {**key, "fence": fence, "holder": None, "until": None})
            continue
        if until is None and not (yield from _due(key, stands, now, since, updated_at)):
            continue
        lease = {"fence": fence + 1, "holder": holder, "until": now + length}
        yield (Step("thread_lease", {**key, **lease}), Step("run_taken", key))
        if stands == Standing.RETRY:
            yield Step("thread_stands", {**key, "stands": int(Standing.OPEN)})
        found.append(Taken(thread_id=unpack_name(name), token=fence + 1))
    return found


def _due(key: dict[str, int], stands: int, now: int, since: int | None, updated_at: int) -> Op[bool]:
    """Whether a run without a lease may be taken, by what its rows say under the lock."""
    if stands == Standing.RETRY:
        rows = yield Step("run_find", key)
        return bool(rows) and rows[0][-1] is not None and rows[0][-1] <= now
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
    rows = yield Step("run_find", row.key)
    before = rows[0] if rows else (0, 0, None)
    print_ = fingerprint(failure)
    same = before[2] is not None and bytes(before[2]) == print_
    count, failures = (before[0] + 1 if same else 1), before[1] + 1
    parked = failure.hopeless or count >= attempts or failures >= attempts * _PATIENCE
    wait = None if parked else backoff(base, count)
    saved: dict[str, Any] = {
        **row.key,
        "attempts": count,
        "failures": failures,
        "fingerprint": print_,
        "error": failure.told,
        "place": failure.place,
        "failed_at": row.now,
        "parked_at": row.now if parked else None,
        "due": None if wait is None else row.now + wait // timedelta(microseconds=1),
    }
    stands = Standing.PARKED if parked else Standing.RETRY
    yield (Step("run_save", saved), Step("thread_stands", {**row.key, "stands": int(stands)}), _let_go(row))
    return count, wait


def put_off(scope: Scope, name: str, token: int, why: Failure, wait: timedelta) -> Op[None]:
    """Let a run go that has to wait for something; that is no failure."""
    row = yield from lock_thread(scope, name, create=False, fence=token)
    rows = yield Step("run_find", row.key)
    attempts, failures, print_ = rows[0][:3] if rows else (0, 0, None)
    saved: dict[str, Any] = {
        **row.key,
        "attempts": attempts,
        "failures": failures,
        "fingerprint": print_,
        "error": why.told,
        "place": why.place,
        "failed_at": row.now,
        "parked_at": None,
        "due": row.now + wait // timedelta(microseconds=1),
    }
    yield (Step("run_save", saved), Step("thread_stands", {**row.key, "stands": int(Standing.RETRY)}), _let_go(row))


def _let_go(row: ThreadRow) -> Step:
    return Step("thread_lease", {**row.key, "fence": row.fence, "holder": None, "until": None})
