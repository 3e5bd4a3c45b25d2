"""A store that fails where you say, to prove that what stands on it survives.

Rules of this module:

* `FaultyStore` stands before any `dalsegno.contracts.Store` and hands everything on. It counts the *points* that an
  operation passes: before and after its BEGIN, after each statement, before and after its COMMIT. Armed with a number
  and a fault, it lets the fault happen at the point of that number, once.
* What is counted is what the operation does, not what a driver does with it, so the same number means the same point
  on every store. A batch counts statement by statement (`split=True`, the default), so that every write is a point
  of its own; with `split=False` the store receives batches and many-row statements whole, as in earnest, and each
  counts once.
* A fault is any callable that takes the `Point`. One that raises does what a driver's error would; one that does not
  come back (`Kill`) does what a power cut would; one that does nothing is a count.

```python
from dalsegno.connect import open_store
from dalsegno.testing import FaultyStore, Kill, connect_over

store = FaultyStore(open_store("sqlite:///agents.db"))
ds = connect_over(store)
store.arm()                       # count only
ds.journal.append("thread", "note", "me", "hello")
print([point.place for point in store.trail])
store.arm(3, Kill())              # this process dies at the third point of what comes next
```
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias, TypeVar

import psycopg

from dalsegno.connect import Dalsegno
from dalsegno.contracts import Batch, Op, OpFactory, Rows, Step, Store
from dalsegno.core.schema import StateSchema
from dalsegno.errors import Misuse
from dalsegno.langgraph.opening import OnInput

__all__ = ["CutConnections", "Fault", "FaultyStore", "Kill", "Moment", "Point", "RaiseError", "Sleep", "connect_over"]

R = TypeVar("R")


class Moment(StrEnum):
    """Where in an operation a point lies."""

    BEFORE_BEGIN = "before BEGIN"
    AFTER_BEGIN = "after BEGIN"
    AFTER_STEP = "after a statement"
    BEFORE_COMMIT = "before COMMIT"
    AFTER_COMMIT = "after COMMIT"


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


class FaultyStore:
    """A `dalsegno.contracts.Store` that passes everything on to another, and fails where it was told to.

    Unarmed it only passes on. One thread at a time should be armed for: points of several threads share one count.
    """

    def __init__(self, store: Store, *, split: bool = True, reads: bool = False) -> None:
        """Stand before a store.

        Args:
            store: the store that does the work.
            split: hand batches and many-row statements on one statement at a time; see the module's rules.
            reads: count the points of reading operations too.
        """
        self.store = store
        self.trail: list[Point] = []
        self._split = split
        self._reads = reads
        self._lock = threading.Lock()
        self._armed = False
        self._at: int | None = None
        self._fault: Fault | None = None

    def arm(self, at: int | None = None, fault: Fault | None = None) -> None:
        """Begin a new count; `trail` starts empty.

        Args:
            at: number of the point at which the fault happens; None only counts.
            fault: what happens there.

        Raises:
            Misuse: only one of the two was given, or points are not counted from 1.
        """
        if (at is None) != (fault is None) or (at is not None and at < 1):
            msg = f"at={at!r}, fault={fault!r}: give the number of a point, from 1 on, and what happens there"
            raise Misuse(msg)
        with self._lock:
            self.trail = []
            self._armed, self._at, self._fault = True, at, fault

    def disarm(self) -> None:
        """Stop counting and failing; `trail` stays as it is."""
        with self._lock:
            self._armed = False

    @property
    def struck(self) -> bool:
        """Whether the fault has happened since the store was armed."""
        return self._at is not None and len(self.trail) >= self._at

    # --- the contract

    @property
    def url(self) -> str:
        """The other store's URL."""
        return self.store.url

    def run(self, factory: OpFactory[R], *, write: bool, key: Hashable = None) -> R:
        """Run an operation; see `dalsegno.contracts.Store.run`."""
        with self._around(write=write):
            return self.store.run(lambda: self._counted(factory, write=write), write=write, key=key)

    async def arun(self, factory: OpFactory[R], *, write: bool, key: Hashable = None) -> R:
        """Run an operation; see `dalsegno.contracts.Store.arun`."""
        with self._around(write=write):
            return await self.store.arun(lambda: self._counted(factory, write=write), write=write, key=key)

    def close(self) -> None:
        """Close the other store."""
        self.store.close()

    async def aclose(self) -> None:
        """Close the other store."""
        await self.store.aclose()

    # --- points

    @contextmanager
    def _around(self, *, write: bool) -> Iterator[None]:
        self._pass(Moment.BEFORE_BEGIN, write=write)
        yield
        self._pass(Moment.AFTER_COMMIT, write=write)

    def _counted(self, factory: OpFactory[R], *, write: bool) -> Op[R]:
        self._pass(Moment.AFTER_BEGIN, write=write)
        op = factory()
        rows: Rows | None = None
        try:
            while True:
                try:
                    asked = next(op) if rows is None else op.send(rows)
                except StopIteration as end:
                    self._pass(Moment.BEFORE_COMMIT, write=write)
                    result: R = end.value
                    return result
                rows = []
                for step in self._parts(asked):
                    rows = yield step
                    self._pass(Moment.AFTER_STEP, write=write, step=_name(step))
                if not isinstance(asked, Step):
                    rows = []
        finally:
            op.close()

    def _parts(self, asked: Step | Batch) -> Iterator[Step | Batch]:
        if not self._split:
            yield asked
            return
        for step in (asked,) if isinstance(asked, Step) else asked:
            if isinstance(step.params, (list, tuple)):
                for params in step.params:
                    yield Step(step.name, [params])
            else:
                yield step

    def _pass(self, moment: Moment, *, write: bool, step: str = "") -> None:
        with self._lock:
            if not self._armed or not (write or self._reads):
                return
            point = Point(number=len(self.trail) + 1, moment=moment, step=step, write=write)
            self.trail.append(point)
            fault = self._fault if point.number == self._at else None
        if fault is not None:
            fault(point)


def _name(step: Step | Batch) -> str:
    return step.name if isinstance(step, Step) else "+".join(one.name for one in step)


def connect_over(
    store: Store,
    *,
    tenant: str = "default",
    user: str | None = None,
    schema: StateSchema | None = None,
    on_input_over_unfinished: OnInput = "warn",
) -> Dalsegno:
    """What `dalsegno.connect` gives, over a store that you opened yourself: one of your own, or one with faults.

    Raises:
        Misuse: an argument is wrong.
    """
    return Dalsegno(store, tenant=tenant, user=user, schema=schema, on_input_over_unfinished=on_input_over_unfinished)
