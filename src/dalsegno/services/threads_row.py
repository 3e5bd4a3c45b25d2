"""A thread's row under lock: its counters, its tombstone, its lease.

Rules of this module:

* Every write to a thread starts here. The row lock makes writers of one thread queue, on every store and machine.
* A deleted thread takes no write; only `threads.reopen` clears the tombstone.
* While a lease is live, only writes that carry its fencing token pass; a token that is no longer the newest never
  passes. The database's clock decides what is live.
* Counters only grow, so that a number once given is never given again, not even after a deletion.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalsegno.contracts import Op, Step
from dalsegno.errors import LeaseHeld, LeaseLost, Misuse, ThreadDeleted, ThreadNotFound
from dalsegno.services.ids import pack_name

__all__ = ["NOBODY", "Scope", "ThreadRow", "find_thread", "lock_thread", "save_thread"]


NOBODY = -1
"""Number of a tenant this database does not know; it has no threads and may make none."""


@dataclass(frozen=True, slots=True)
class Scope:
    """On whose behalf an operation runs.

    Attributes:
        tenant: the tenant's number in this database.
        user: owner whose threads may be seen; None sees the whole tenant.
    """

    tenant: int
    user: str | None


@dataclass(slots=True)
class ThreadRow:
    """One row of `ds_threads`; the counters are changed in place and written back by `save_thread`.

    `events` is the number of the last event, `wiped` that of the last one which went with a deletion of the thread.
    `stands` is a `core.standing.Standing`.
    """

    tenant: int
    name: str
    thread: int
    owner: str | None
    deleted_at: int | None
    events: int
    wiped: int
    pool: int
    lanes: int
    checkpoints: int
    branches: int
    namespaces: int
    fence: int
    lease_holder: str | None
    lease_until: int | None
    stands: int
    now: int

    @property
    def key(self) -> dict[str, int]:
        """The columns every table of a thread leads with."""
        return {"tenant": self.tenant, "thread": self.thread}

    @property
    def leased(self) -> bool:
        """Whether a run holds the thread now."""
        return self.lease_until is not None and self.lease_until > self.now


def lock_thread(scope: Scope, name: str, *, create: bool, fence: int | None = None) -> Op[ThreadRow]:
    """Lock a thread for writing.

    Args:
        scope: tenant and user.
        name: the thread's id.
        create: make the thread when there is none.
        fence: the writer's fencing token, when it runs under a lease.

    Raises:
        ThreadNotFound: there is none (or it is another user's) and `create` is False.
        ThreadDeleted: it has a tombstone.
        LeaseHeld: another run holds its lease.
        LeaseLost: the token is not the newest.
    """
    if create and scope.tenant == NOBODY:
        msg = "this tenant is unknown to the database, which was opened with create=False; check its name"
        raise Misuse(msg)
    packed = pack_name(name)
    rows = yield Step("thread_lock", {"tenant": scope.tenant, "name": packed})
    if not rows and create:
        clock = yield Step("now", {})
        yield Step("thread_add", {"tenant": scope.tenant, "name": packed, "owner": scope.user, "now": clock[0][0]})
        rows = yield Step("thread_lock", {"tenant": scope.tenant, "name": packed})
    row = ThreadRow(scope.tenant, name, *rows[0]) if rows else None
    if row is None or (scope.user is not None and row.owner != scope.user):
        msg = f"no thread {name!r}; check the id (`dalsegno threads` lists them)"
        raise ThreadNotFound(msg)
    if row.deleted_at is not None:
        msg = f"thread {name!r} was deleted; this write is refused"
        raise ThreadDeleted(
            msg,
            step="use a new id, or reopen it with ds.threads.reopen()",
            command="use a new id, or reopen it with `dalsegno reopen`",
        )
    if fence is not None and (fence != row.fence or not row.leased):
        msg = (
            f"thread {name!r}: this run's lease (token {fence}) has ended (newest token: {row.fence}); its writes are "
            "refused. Stop this run; another one may have taken over"
        )
        raise LeaseLost(msg)
    if fence is None and row.leased:
        msg = (
            f"thread {name!r} is leased to {row.lease_holder!r} for another "
            f"{((row.lease_until or 0) - row.now) / 1_000_000:.1f} s"
        )
        raise LeaseHeld(msg, step="wait for it, or write under it (lease.config)", command="wait for it")
    return row


def find_thread(scope: Scope, name: str) -> Op[ThreadRow]:
    """Read a thread's row without locking it; a deleted one and another user's read as missing.

    Raises:
        ThreadNotFound: no such thread.
    """
    rows = yield Step("thread_find", {"tenant": scope.tenant, "name": pack_name(name)})
    row = ThreadRow(scope.tenant, name, *rows[0]) if rows else None
    if row is None or row.deleted_at is not None or (scope.user is not None and row.owner != scope.user):
        msg = f"no thread {name!r}; check the id (`dalsegno threads` lists them)"
        raise ThreadNotFound(msg)
    return row


def save_thread(row: ThreadRow) -> Step:
    """The step that writes the counters back."""
    return Step(
        "thread_save",
        {
            **row.key,
            "events": row.events,
            "wiped": row.wiped,
            "pool": row.pool,
            "lanes": row.lanes,
            "checkpoints": row.checkpoints,
            "branches": row.branches,
            "namespaces": row.namespaces,
            "stands": int(row.stands),
            "now": row.now,
        },
    )
