"""Leases: one running writer for a thread, with a fencing token in each of its writes.

Rules of this module:

* A lease is taken, kept and let go under the thread's lock; the database's clock decides whether it is live.
* Every taking gives a higher token. A write with a token that is not the newest, or whose lease has run out, is
  refused, however sure the writer is.
* A lease ends in one of three ways. Let go: the thread is free, and whoever let it go answers for its run. Run out: its
  holder is taken for dead, and a worker goes on. Handed over: the same, at once.
"""

from __future__ import annotations

from datetime import timedelta

from dalsegno.contracts import Op, Step
from dalsegno.core.standing import Standing
from dalsegno.errors import LeaseLost, Misuse, ThreadDeleted, ThreadNotFound
from dalsegno.services.threads_row import Scope, lock_thread

__all__ = ["acquire", "hand_over", "micros", "release", "renew"]


def acquire(scope: Scope, name: str, holder: str, ttl: timedelta) -> Op[int]:
    """Take the lease of a thread (made if there is none) and return its token.

    Raises:
        LeaseHeld: another holder's lease is live.
    """
    length = micros(ttl)
    row = yield from lock_thread(scope, name, create=True)
    fence = row.fence + 1
    if row.lease_until is not None and row.stands not in (Standing.RETRY, Standing.PARKED, Standing.ANSWERED):
        yield Step("wipe_runs", row.key)  # what workers found out about a run that is someone else's now
    yield Step("thread_lease", {**row.key, "fence": fence, "holder": holder, "until": row.now + length})
    return fence


def renew(scope: Scope, name: str, holder: str, token: int, ttl: timedelta) -> Op[None]:
    """Keep a lease for another `ttl` from now.

    Raises:
        LeaseLost: it has run out or passed on, or went with its thread.
    """
    length = micros(ttl)
    try:
        row = yield from lock_thread(scope, name, create=False, fence=token)
    except (ThreadDeleted, ThreadNotFound) as error:
        msg = f"thread {name!r} is gone, and this run's lease (token {token}) with it; its writes are refused. Stop it"
        raise LeaseLost(msg) from error
    yield Step("thread_lease", {**row.key, "fence": token, "holder": holder, "until": row.now + length})


def release(scope: Scope, name: str, token: int) -> Op[None]:
    """Let a lease go; one that is gone already is fine, with its thread or without."""
    try:
        row = yield from lock_thread(scope, name, create=False, fence=token)
    except (LeaseLost, ThreadDeleted, ThreadNotFound):
        return
    yield Step("thread_lease", {**row.key, "fence": token, "holder": None, "until": None})


def hand_over(scope: Scope, name: str, token: int) -> Op[None]:
    """End a lease now, as if it had run out, so that a worker goes on; one that is gone already is fine."""
    try:
        row = yield from lock_thread(scope, name, create=False, fence=token)
    except (LeaseLost, ThreadDeleted, ThreadNotFound):
        return
    yield Step("thread_lease", {**row.key, "fence": token, "holder": row.lease_holder, "until": row.now})


def micros(ttl: object) -> int:
    """A lease's length in microseconds.

    Raises:
        Misuse: it is no timedelta, or no longer than nothing.
    """
    if not isinstance(ttl, timedelta) or ttl <= timedelta(0):
        msg = f"ttl={ttl!r}: a lease lasts a timedelta longer than nothing, such as timedelta(seconds=30)"
        raise Misuse(msg)
    return ttl // timedelta(microseconds=1)
