"""On whose behalf an operation runs, and the row of the thread it is about.

Rules of this module:

* A connection without a user is the program itself: it has every right to every thread of its tenant, and nothing of it
  is put on record. An admin has the same rights, is somebody, and is on record.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dalsegno.contracts import Rows
from dalsegno.core.rights import Role

__all__ = ["NOBODY", "Scope", "ThreadRow", "row_of_thread"]


NOBODY = -1
"""Number of a tenant this database does not know; it has no threads and may make none."""


@dataclass(frozen=True, slots=True)
class Scope:
    """On whose behalf an operation runs.

    Attributes:
        tenant: the tenant's number in this database.
        user: who it is, and who owns the threads he makes; None is the program itself.
        seal_key: key that the ends of the audit's chains are sealed with; None leaves them without.
        admin: whether the user comes as an admin of the tenant.
        act: what an admin is about to do, in words for the record, such as `journal.read`.
        call: mark of that one call, so that it is put on record once.
    """

    tenant: int
    user: str | None
    seal_key: bytes | None = field(default=None, repr=False)
    admin: bool = False
    act: str = ""
    call: str = ""

    @property
    def whose(self) -> str | None:
        """Whose threads may be seen; None sees the whole tenant. Every statement that finds a thread is given it."""
        return None if self.admin else self.user

    def role(self, owner: str | None, share: str | None) -> Role:
        """As whom this scope comes to a thread that it sees."""
        if self.user is None or owner == self.user:
            return Role.OWNER
        return Role.ADMIN if self.admin or share is None else Role(share)


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
    seal_key: bytes | None = field(default=None, repr=False)

    @property
    def key(self) -> dict[str, int]:
        """The columns every table of a thread leads with."""
        return {"tenant": self.tenant, "thread": self.thread}

    @property
    def leased(self) -> bool:
        """Whether a run holds the thread now."""
        return self.lease_until is not None and self.lease_until > self.now


def row_of_thread(scope: Scope, name: str, rows: Rows) -> ThreadRow | None:
    """The row that was found, if one was, for an operation that may write to the audit."""
    if not rows:
        return None
    row = ThreadRow(scope.tenant, name, *rows[0])
    row.seal_key = scope.seal_key
    return row
