"""Shares: threads that other users than the owner may read, or write to.

Rules of this module:

* A share is given and taken back by the thread's owner or an admin, and each of it is put on record in the thread's
  audit. Whoever holds the thread's lease, it holds at once.
* It is for one user and one thread. A copy or a fork into another thread has none; a deleted thread has none any more.
* Who is to be erased loses his shares. That is not put on record, since it would say his name.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dalsegno.contracts import Op, Step
from dalsegno.core import codec
from dalsegno.core.rights import GRANTED, Right, Role
from dalsegno.core.tree import is_blank, is_plain_text
from dalsegno.errors import Misuse
from dalsegno.services import audit
from dalsegno.services.access import absent, admit
from dalsegno.services.frames import from_micros
from dalsegno.services.ids import MAX_NAME_BYTES, pack_name
from dalsegno.services.scope import Scope, ThreadRow, row_of_thread
from dalsegno.services.threads_row import find_thread

__all__ = ["Share", "check_member", "check_role", "forget_member", "share", "shares", "unshare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Another user's right to a thread.

    Attributes:
        user: who has it.
        role: `reader` or `writer`.
        granted_by: who gave it; None for the program itself, and for someone who was erased.
        at: when, aware UTC.
    """

    user: str
    role: Role
    granted_by: str | None
    at: datetime


def check_member(user: object) -> str:
    """Check the name of a user that came from outside.

    Raises:
        Misuse: it is no text, blank, too long, or text that no database holds.
    """
    if not isinstance(user, str) or is_blank(user):
        msg = f"{user!r} is no user; give the name he connects with"
        raise Misuse(msg)
    if not is_plain_text(user) or len(user.encode()) > MAX_NAME_BYTES:
        msg = f"a user is named by plain text of at most {MAX_NAME_BYTES} bytes, not by {user[:40]!r}…"
        raise Misuse(msg)
    return user


def check_role(role: object) -> Role:
    """Check the role of a share that came from outside.

    Raises:
        Misuse: it is none that a share gives.
    """
    if role not in GRANTED:
        msg = f"role={role!r}: a thread is shared with a {' or a '.join(GRANTED)}"
        raise Misuse(msg)
    return Role(str(role))


def share(scope: Scope, name: str, member: str, role: Role) -> Op[None]:
    """Share a thread with a user, or change the role he has.

    Raises:
        ThreadNotFound: no such thread, or another user's, or a deleted one.
        NotPermitted: it is itself only shared with this user.
        Misuse: the thread is that user's own.
    """
    row = yield from _own(scope, name)
    if row.owner == member:
        msg = f"thread {name!r} belongs to {member!r}, who needs no share"
        raise Misuse(msg)
    had = yield Step("share_find", {**row.key, "member": member})
    if had and had[0][0] == role:
        return
    yield Step("share_save", {**row.key, "member": member, "role": role, "granted_by": scope.user, "at": row.now})
    yield from _note(scope, row, "share", member, role)


def unshare(scope: Scope, name: str, member: str) -> Op[None]:
    """Take a user's share back; one that he does not have is no error.

    Raises:
        ThreadNotFound, NotPermitted: as `share`.
    """
    row = yield from _own(scope, name)
    had = yield Step("share_find", {**row.key, "member": member})
    if had:
        yield Step("share_drop", {**row.key, "member": member})
        yield from _note(scope, row, "unshare", member, Role(had[0][0]))


def shares(scope: Scope, name: str) -> Op[list[Share]]:
    """With whom a thread is shared, by name.

    Raises:
        ThreadNotFound, NotPermitted: as `share`.
    """
    row = yield from find_thread(scope, name, Right.DISPOSE)
    return [
        Share(user=member, role=Role(role), granted_by=granted_by, at=from_micros(at))
        for member, role, granted_by, at in (yield Step("shares_of", row.key))
    ]


def forget_member(scope: Scope, user: str) -> Op[int]:
    """Take back every share that a user has, and his name off those that he gave; returns how many he had."""
    rows = yield Step("shares_with", {"tenant": scope.tenant, "member": user})
    named = {"tenant": scope.tenant, "member": user}
    yield (Step("shares_forget", named), Step("shares_unsign", named))
    return len(rows)


def _own(scope: Scope, name: str) -> Op[ThreadRow]:
    """A thread's row under lock, whoever has its lease."""
    rows = yield Step("thread_lock", {"tenant": scope.tenant, "name": pack_name(name), "owner": scope.whose})
    row = row_of_thread(scope, name, rows)
    if row is None or row.deleted_at is not None:
        raise absent(name)
    yield from admit(scope, name, row.thread, row.owner, Right.DISPOSE)
    return row


def _note(scope: Scope, row: ThreadRow, move: str, member: str, role: Role) -> Op[None]:
    told = {"thread": codec.encode(row.name), "move": move, "member": member, "role": str(role), "by": scope.user}
    yield from audit.add(row, [told])
