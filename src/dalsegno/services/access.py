"""Whether a thread that was found may be used so, and what of that is put on record.

Rules of this module:

* Every operation on a thread comes through here, with the right it needs. A statement that finds a thread is told whose
  threads may be seen, so that another's does not even leave the database: it is not there, in as many statements as one
  that never was.
* The owner costs nothing more. Only for a thread that is not the caller's own its share is asked for.
* A right that a share does not give is refused with the role's name: the thread is known to who asks.
* What an admin does with another's thread goes on record in the thread's audit, once for each call, in the transaction
  that does it. So even what he reads is read in a transaction that writes.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core import codec
from dalsegno.core.rights import Right, Role, may
from dalsegno.errors import NotPermitted, ThreadNotFound
from dalsegno.services import audit
from dalsegno.services.ids import pack_name
from dalsegno.services.scope import Scope, ThreadRow, row_of_thread

__all__ = ["absent", "admit", "admit_all", "admit_one", "on_record"]

_MARK_BYTES = 8
_TAKES: Final = {Right.READ: "a reader", Right.WRITE: "a writer", Right.DISPOSE: "its owner or an admin"}


def absent(name: str) -> ThreadNotFound:
    """What there is to say of a thread that does not exist, and of another's."""
    return ThreadNotFound(f"no thread {name!r}; check the id (`dalsegno threads` lists them)")


def on_record(scope: Scope, act: str) -> Scope:
    """The scope of one call of an admin, whose acts on others' threads are put on record under this name."""
    return replace(scope, act=act, call=secrets.token_hex(_MARK_BYTES))


def admit(scope: Scope, name: str, thread: int, owner: str | None, right: Right) -> Op[None]:
    """Let an operation go on with a thread that was found, or refuse it.

    Args:
        scope: tenant and user.
        name: the thread's id.
        thread: its number.
        owner: whose it is.
        right: what the operation needs.

    Raises:
        ThreadNotFound: it is another user's, who does not share it with this one.
        NotPermitted: it is shared, as less than the operation needs.
    """
    if scope.user is None or owner == scope.user:
        return
    if scope.admin:
        yield from _record(scope, name)
        return
    rows = yield Step("share_find", {"tenant": scope.tenant, "thread": thread, "member": scope.user})
    if not rows:
        raise absent(name)
    role = Role(rows[0][0])
    if not may(role, right):
        raise NotPermitted(name, user=scope.user, role=role, takes=_TAKES[right])


def admit_one(scope: Scope, name: str, right: Right = Right.READ) -> Op[bool]:
    """The same as `admit` for a thread by its id, a deleted one too; False when there is none that this user sees."""
    rows = yield Step("thread_find", {"tenant": scope.tenant, "name": pack_name(name), "owner": scope.whose})
    if not rows:
        return False
    yield from admit(scope, name, rows[0][0], rows[0][1], right)
    return True


def admit_all(scope: Scope, names: Sequence[str]) -> Op[None]:
    """Put on record that an admin saw what several threads hold. They are locked in the order of their ids first."""
    if not scope.admin:
        return
    found = []
    for name in sorted(set(names)):
        rows = yield Step("thread_lock", {"tenant": scope.tenant, "name": pack_name(name), "owner": None})
        row = row_of_thread(scope, name, rows)
        if row is not None and row.owner != scope.user:
            found.append(row)
    for row in found:
        yield from _note(scope, row)


def _record(scope: Scope, name: str) -> Op[None]:
    rows = yield Step("thread_lock", {"tenant": scope.tenant, "name": pack_name(name), "owner": None})
    row = row_of_thread(scope, name, rows)
    if row is not None:
        yield from _note(scope, row)


def _note(scope: Scope, row: ThreadRow) -> Op[None]:
    """One row of the audit for one call, however often the call comes by."""
    head = yield Step("audit_head", row.key)
    last = (yield Step("audit_row", {**row.key, "seq": head[0][0]})) if head else []
    if last and last[0][0] is not None and orjson.loads(last[0][0]).get("call") == scope.call:
        return
    told = {"thread": codec.encode(row.name), "move": "admin", "act": scope.act, "by": codec.encode(scope.user)}
    yield from audit.add(row, [{**told, "call": scope.call}])
