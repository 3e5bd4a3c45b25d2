"""Erasing: every trace of a thread goes, and what has to stay says nothing of anyone.

Rules of this module:

* A thread is erased in one transaction: its rows in every table (see `traces`), its blobs, the texts of its audit. What
  stays is a row with counters and times under a pseudonym made by chance, and hashes that cannot be guessed back, since
  the salts went with the texts.
* Forms say the names of channels and nodes, which may be someone's. Those that no checkpoint uses any more go once all
  threads are erased: deleting and pruning leave them, so that nobody can say whose they were.
* The id is closed for a while, so that a run which does not know cannot write the thread anew. Until then a salted
  digest of it is kept, which someone who holds the database can try ids against; then nothing is.
* What a database file holds of rows that were deleted is the store's to rewrite. Until that is done the erasure is on
  record as not finished, and whoever comes next finishes it.
* A thread that a run holds, or one with an action under way, is erased only by force.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from dalsegno.contracts import Op, Step
from dalsegno.core.actions import State
from dalsegno.errors import LeaseHeld, Refused, ThreadNotFound
from dalsegno.services import audit
from dalsegno.services.answers import forget_said_in, said_in
from dalsegno.services.forms import drop_unused
from dalsegno.services.ids import pack_name, unpack_name
from dalsegno.services.remembering import forget_what_was_said
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope, ThreadRow, erased_until, name_digest, row_of_thread
from dalsegno.services.traces import wipe

__all__ = ["Erased", "due", "erase", "finished", "of_owner", "survey"]

_SALT_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What an erasure takes of one thread.

    Attributes:
        thread_id: the id it had.
        rows: rows that go, by table; of `ds_audit` the texts.
        size_bytes: bytes of their bodies, very long texts that only this thread points to included.
        unsettled: its actions that have not ended or whose end is unknown, by state; their record goes too.
        already: whether it had been erased before, so that nothing was left to do.
    """

    thread_id: str
    rows: Mapping[str, int]
    size_bytes: int
    unsettled: Mapping[str, int]
    already: bool = False


@sound
def survey(scope: Scope, name: str, *, force: bool) -> Op[Erased]:
    """What `erase` would take, and whether it may; nothing is changed.

    Raises:
        ThreadNotFound: there never was such a thread, or it is another user's.
        LeaseHeld, Refused: see `erase`.
    """
    row = yield from _row(scope, name, "thread_find")
    if row is None:
        return _already(name)
    unsettled = yield from _held(row, force=force)
    return (yield from _measured(row, unsettled))


@sound
def erase(scope: Scope, name: str, *, force: bool, closed_for: timedelta) -> Op[Erased]:
    """Erase a thread, or what is left of a deleted one.

    Args:
        scope: tenant and user.
        name: its id.
        force: whatever a run or an action is doing with it.
        closed_for: how long the id takes no write; nothing of it is kept when that is no time at all.

    Raises:
        ThreadNotFound: there never was such a thread, or it is another user's.
        LeaseHeld: a run holds it.
        Refused: an action of it is running.
    """
    row = yield from _row(scope, name, "thread_lock")
    if row is None:
        return _already(name)
    unsettled = yield from _held(row, force=force)
    found = yield from _measured(row, unsettled)
    pseudonym = f"erased-{secrets.token_hex(_SALT_BYTES)}"
    yield from forget_what_was_said(row.tenant, row.thread)
    yield from forget_said_in(row.tenant, name)
    yield from wipe(row)
    yield from audit.erase(row, pseudonym)
    salt, digest, until = yield from _closing(row, closed_for)
    yield (
        Step("thread_erase", {**row.key, "pseudonym": pseudonym, "now": row.now}),
        Step("erasure_add", {**row.key, "at": row.now, "salt": salt, "digest": digest, "closed_until": until}),
        Step("erasures_forget", {"tenant": row.tenant, "now": row.now}),
    )
    return found


def _row(scope: Scope, name: str, statement: str) -> Op[ThreadRow | None]:
    """The thread's row, also a deleted one's; None when it has been erased."""
    rows = yield Step(statement, {"tenant": scope.tenant, "name": pack_name(name)})
    row = row_of_thread(scope, name, rows)
    if row is None and (yield from erased_until(scope, name)) is not None:
        return None
    if row is None or (scope.user is not None and row.owner != scope.user):
        msg = f"no thread {name!r}; check the id (`dalsegno threads --deleted` lists deleted ones too)"
        raise ThreadNotFound(msg)
    return None if (yield Step("erasure_of", row.key)) else row


def _already(name: str) -> Erased:
    return Erased(thread_id=name, rows={}, size_bytes=0, unsettled={}, already=True)


def _held(row: ThreadRow, *, force: bool) -> Op[dict[str, int]]:
    """Actions that are not settled, by state; refuses a thread that something is going on in."""
    unsettled: dict[str, int] = {}
    running = 0
    for state, until in (yield Step("actions_open", row.key)):
        unsettled[state] = unsettled.get(state, 0) + 1
        running += state == State.RUNNING and (until or 0) > row.now
    if row.leased and not force:
        msg = f"thread {row.name!r} is leased to {row.lease_holder!r}: a run would lose what it works on"
        raise LeaseHeld(
            msg, step="stop the run and let go of its lease, or erase with force=True",
            command="stop the run, or erase with --force",
        )  # fmt: skip
    if running and not force:
        msg = f"thread {row.name!r} has {running} action(s) running, whose end would not be on record any more"
        raise Refused(
            msg, step="wait until they have ended (ds.actions.list shows them), or erase with force=True",
            command="wait until they have ended (`dalsegno actions list`), or erase with --force",
        )  # fmt: skip
    return unsettled


def _measured(row: ThreadRow, unsettled: Mapping[str, int]) -> Op[Erased]:
    sizes = [(table, count, int(size)) for table, count, size in (yield Step("thread_sizes", row.key))]
    blobs = yield Step("blobs_alone", row.key)
    texts = yield Step("audit_size", row.key)
    sizes += [("ds_blobs", len(blobs), sum(size for _, size in blobs)), ("ds_audit", texts[0][0], int(texts[0][1]))]
    said = yield Step("evidence_of_thread", row.key)
    sizes.append(("ds_memories", sum(not others for _, others in said), 0))
    sizes.append(("ds_answers", len((yield from said_in(row.tenant, row.name))), 0))
    return Erased(
        thread_id=row.name,
        rows={table: count for table, count, _ in sizes if count},
        size_bytes=sum(size for _, _, size in sizes),
        unsettled=unsettled,
    )


def _closing(row: ThreadRow, closed_for: timedelta) -> Op[tuple[bytes | None, bytes | None, int | None]]:
    """Salt and digest of the id, and until when they are kept. The ids of a tenant share a salt while one is closed."""
    micros = closed_for // timedelta(microseconds=1)
    if micros <= 0:
        return None, None, None
    salts = yield Step("erasure_salts", {"tenant": row.tenant, "now": row.now})
    salt = bytes(salts[0][0]) if salts else secrets.token_bytes(_SALT_BYTES)
    return salt, name_digest(salt, row.name), row.now + micros


def of_owner(scope: Scope, owner: str) -> Op[list[str]]:
    """Ids of a user's threads, deleted ones too."""
    rows = yield Step("owned_threads", {"tenant": scope.tenant, "owner": owner})
    return [unpack_name(name) for (name,) in rows]


def due(scope: Scope) -> Op[list[int]]:
    """Erased threads whose bytes are not rewritten yet; takes away what no thread of the tenant uses any more."""
    threads = [thread for (thread,) in (yield Step("erasures_due", {"tenant": scope.tenant}))]
    if threads:
        yield from drop_unused(scope.tenant)
    return threads


def finished(scope: Scope, threads: Sequence[int]) -> Op[None]:
    """Put on record that the store was rewritten after these threads were erased; forget ids that are free again."""
    now = (yield Step("now", {}))[0][0]
    for thread in threads:
        yield Step("erasure_rewritten", {"tenant": scope.tenant, "thread": thread, "at": now})
    yield Step("erasures_forget", {"tenant": scope.tenant, "now": now})
