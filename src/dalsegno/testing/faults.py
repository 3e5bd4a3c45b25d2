"""What may go wrong, and where.

Rules of this module:

* A *point* is a place in an operation where a fault may happen: before and after its BEGIN, after each statement,
  before and after its COMMIT; before and after the database is rewritten.
* A fault is any callable that takes the `Point`. One that raises does what a driver's error would; one that does not
  come back (`Kill`) does what a power cut would; one that does nothing is a count.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

import psycopg

__all__ = ["CutConnections", "Fault", "Kill", "Moment", "Point", "RaiseError", "Sleep"]


class Moment(StrEnum):
    """Where in an operation a point lies."""

    BEFORE_BEGIN = "before BEGIN"
    AFTER_BEGIN = "after BEGIN"
    AFTER_STEP = "after a statement"
    BEFORE_COMMIT = "before COMMIT"
    AFTER_COMMIT = "after COMMIT"
    BEFORE_REWRITE = "before rewriting"
    AFTER_REWRITE = "after rewriting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A place where a fault may happen.

    Attributes:
        number: counted from 1 since the store was armed.
        moment: where in the operation it lies.
        step: name of the statement just done; the batch's names joined by `+` when it went whole; "" at other moments.
        write: whether the operation writes.
    """

    number: int
    moment: Moment
    step: str
    write: bool

    @property
    def place(self) -> str:
        """The point in words, such as `after item_add` or `before COMMIT`."""
        return f"after {self.step}" if self.moment is Moment.AFTER_STEP else str(self.moment)


Fault: TypeAlias = Callable[[Point], None]
"""What happens at a point; see the module's rules."""


@dataclass(frozen=True, slots=True)
class Kill:
    """End this process at once: no handler, no `finally`, no flush; what was not committed never was."""

    def __call__(self, point: Point) -> None:  # noqa: ARG002 - a fault may look where it strikes
        """Send SIGKILL to this process; it does not come back."""
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class RaiseError:
    """Raise an error made for the occasion, as a driver would at this point.

    Attributes:
        make: makes the error, such as `lambda: sqlite3.OperationalError("disk I/O error")`.
    """

    make: Callable[[], BaseException]

    def __call__(self, point: Point) -> None:  # noqa: ARG002 - a fault may look where it strikes
        """Raise it."""
        raise self.make()


@dataclass(frozen=True, slots=True)
class Sleep:
    """Stand still, with the transaction open and its locks held; in an async operation the event loop stands too.

    Attributes:
        duration: how long.
    """

    duration: timedelta

    def __call__(self, point: Point) -> None:  # noqa: ARG002 - a fault may look where it strikes
        """Wait."""
        time.sleep(self.duration.total_seconds())


@dataclass(frozen=True, slots=True)
class CutConnections:
    """End every other session on a PostgreSQL database, as a restart or a failing network would.

    Attributes:
        url: the database; its role must be allowed to end the sessions.
    """

    url: str

    def __call__(self, point: Point) -> None:  # noqa: ARG002 - a fault may look where it strikes
        """End them, and come back when they are gone."""
        with psycopg.connect(self.url, autocommit=True) as admin:
            cut = admin.execute(
                "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            ).fetchall()
            pids = [pid for pid, _ in cut]
            while admin.execute("SELECT 1 FROM pg_stat_activity WHERE pid = ANY(%s) LIMIT 1", (pids,)).fetchone():
                time.sleep(0.001)
