"""Who may do what with a thread.

Rules of this module:

* Three rights, each holding those below it: to read a thread, to write to it, and to dispose of it, which is to delete,
  prune, share and erase it, and to say how long it is kept.
* A thread's owner and an admin have all of them. What another user has, a share says: a reader reads, a writer writes
  too. Nobody else has any; to him the thread does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Final

__all__ = ["GRANTED", "MAY", "Right", "Role", "may"]


class Right(IntEnum):
    """What is to be done with a thread.

    Attributes:
        READ: look at it.
        WRITE: add to it: run, append, act.
        DISPOSE: delete, prune, tag, share or erase it.
    """

    READ = 1
    WRITE = 2
    DISPOSE = 3


class Role(StrEnum):
    """As whom someone comes to a thread.

    Attributes:
        READER, WRITER: through a share.
        OWNER: it is his, or the program works on nobody's behalf.
        ADMIN: on behalf of the tenant, and on record.
    """

    READER = "reader"
    WRITER = "writer"
    OWNER = "owner"
    ADMIN = "admin"


MAY: Final[Mapping[Role, Right]] = {
    Role.READER: Right.READ,
    Role.WRITER: Right.WRITE,
    Role.OWNER: Right.DISPOSE,
    Role.ADMIN: Right.DISPOSE,
}

GRANTED: Final = (Role.READER, Role.WRITER)
"""Roles that a share gives."""


def may(role: Role, right: Right) -> bool:
    """Whether a role has a right."""
    return MAY[role] >= right
