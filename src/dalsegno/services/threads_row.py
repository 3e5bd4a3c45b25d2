"""A thread's row under lock: its counters, its tombstone, its lease.

Rules of this module:

* Every write to a thread starts here. The row lock makes writers of one thread queue, on every store and machine.
* A deleted thread takes no write; only `threads.reopen` clears the tombstone. Nor does the id of an erased thread, for
  as long as the erasure keeps it closed: the id is not stored any more, so it is known by a salted digest.
* While a lease is live, only writes that carry its fencing token pass; a token that is no longer the newest never
  passes. The database's clock decides what is live.
* Counters only grow, so that a number once given is never given again, not even after a deletion.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dalsegno.contracts import Op, Step
from dalsegno.core.chain import framed
from dalsegno.core.rights import Right
from dalsegno.errors import LeaseHeld, LeaseLost, Misuse, ThreadDeleted
from dalsegno.services.access import absent, admit
from dalsegno.services.ids import pack_name
from dalsegno.services.scope import NOBODY, Scope, ThreadRow, row_of_thread

__all__ = [
    "NOBODY",
    "Closed",
    "Scope",
    "ThreadRow",
    "erased_until",
    "find_thread",
    "lock_thread",
    "name_digest",
    "owner_digest",
    "row_of_thread",
    "save_thread",
]


def lock_thread(
    scope: Scope,
    name: str,
    *,
    create: bool,
    fence: int | None = None,
    right: Right = Right.WRITE,
    beside: bool = False,
) -> Op[ThreadRow]:
    """Lock a thread for writing.

    Args:
        scope: tenant and user.
        name: the thread's id.
        create: make the thread when there is none.
        fence: the writer's fencing token, when it runs under a lease.
        right: what the writer is going to do.
        beside: whether the write concerns nothing that a run writes, so that another's live lease does not matter.

    Raises:
        ThreadNotFound: there is none and `create` is False, or it is another user's.
        NotPermitted: it is shared with this user, as less than that takes.
        ThreadDeleted: it has a tombstone.
        LeaseHeld: another run holds its lease.
        LeaseLost: the token is not the newest.
    """
    if create and scope.tenant == NOBODY:
        msg = "this tenant is unknown to the database, which was opened with create=False; check its name"
        raise Misuse(msg)
    packed = pack_name(name)
    asked = {"tenant": scope.tenant, "name": packed, "owner": scope.whose}
    rows = yield Step("thread_lock", asked)
    if not rows and create:
        if (closed := (yield from erased_until(scope, name))) is not None:
            if closed.foreign:
                raise absent(name)
            msg = f"thread {name!r} was erased; this write is refused, so that a late one cannot bring it back"
            raise ThreadDeleted(
                msg,
                step=f"use a new id, or reopen this one with ds.threads.reopen(); it is free on {_day(closed.until)}",
                command=f"use a new id, or reopen this one with `dalsegno reopen`; it is free on {_day(closed.until)}",
            )
        clock = yield Step("now", {})
        yield Step("thread_add", {"tenant": scope.tenant, "name": packed, "owner": scope.user, "now": clock[0][0]})
        rows = yield Step("thread_lock", asked)
    row = row_of_thread(scope, name, rows)
    if row is None:
        raise absent(name)
    yield from admit(scope, name, row.thread, row.owner, right)
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
    if fence is None and row.leased and not beside:
        msg = (
            f"thread {name!r} is leased to {row.lease_holder!r} for another "
            f"{((row.lease_until or 0) - row.now) / 1_000_000:.1f} s"
        )
        raise LeaseHeld(
            msg,
            step="wait for it, or write under it (lease.config)",
            command="wait until it ends, or stop the program that holds it",
        )
    return row


@dataclass(frozen=True, slots=True)
class Closed:
    """The id of an erased thread that may not be used yet.

    Attributes:
        digest: what is kept of the id.
        thread: the thread's number.
        until: when it is free.
        foreign: whether the thread was another user's; to this one it never was.
    """

    digest: bytes
    thread: int
    until: int
    foreign: bool


def name_digest(salt: bytes, name: str) -> bytes:
    """What is kept of the id of an erased thread while it is closed."""
    return hashlib.sha256(framed([b"dalsegno erased 1", salt, name.encode("utf-8", "surrogatepass")])).digest()


def owner_digest(salt: bytes, name: str, owner: str | None) -> bytes:
    """What is kept of whose thread it was, beside `name_digest`; it tells nobody who does not know the id."""
    told = b"" if owner is None else b"=" + owner.encode("utf-8", "surrogatepass")
    return hashlib.sha256(
        framed([b"dalsegno erased owner 1", salt, name.encode("utf-8", "surrogatepass"), told])
    ).digest()


def erased_until(scope: Scope, name: str) -> Op[Closed | None]:
    """Whether an id is that of a thread which was erased, and is kept closed."""
    now = (yield Step("now", {}))[0][0]
    for (salt,) in (yield Step("erasure_salts", {"tenant": scope.tenant, "now": now})):
        digest = name_digest(bytes(salt), name)
        rows = yield Step("erasure_find", {"tenant": scope.tenant, "digest": digest, "now": now})
        if rows:
            thread, until, owned = rows[0]
            own = scope.whose is None or bytes(owned) == owner_digest(bytes(salt), name, scope.whose)
            return Closed(digest, thread, until, foreign=not own)
    return None


def _day(micros: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)).strftime("%Y-%m-%d %H:%M:%SZ")


def find_thread(scope: Scope, name: str, right: Right = Right.READ) -> Op[ThreadRow]:
    """Read a thread's row without locking it; a deleted one and another user's read as missing.

    Raises:
        ThreadNotFound: no such thread.
        NotPermitted: it is shared with this user, as less than is needed.
    """
    rows = yield Step("thread_find", {"tenant": scope.tenant, "name": pack_name(name), "owner": scope.whose})
    row = row_of_thread(scope, name, rows)
    if row is None or row.deleted_at is not None:
        raise absent(name)
    yield from admit(scope, name, row.thread, row.owner, right)
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
