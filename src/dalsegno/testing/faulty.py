"""A store that fails where you say, to prove that what stands on it survives.

Rules of this module:

* `FaultyStore` stands before any `dalsegno.contracts.Store` and hands everything on. It counts the points (see
  `faults`) that operations pass. Armed with a number and a fault, it lets the fault happen at the point of that number,
  once.
* What is counted is what the operation does, not what a driver does with it, so the same number means the same point
  on every store. A batch counts statement by statement (`split=True`, the default), so that every write is a point
  of its own; with `split=False` the store receives batches and many-row statements whole, as in earnest, and each
  counts once.

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

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from dalsegno.connect import Dalsegno
from dalsegno.contracts import Batch, Op, OpFactory, Rows, Step, StepFailed, Store
from dalsegno.core.schema import StateSchema
from dalsegno.errors import Misuse
from dalsegno.langgraph.checkpointer import OnInput
from dalsegno.testing.faults import Fault, Moment, Point

__all__ = ["FaultyStore", "connect_over"]

R = TypeVar("R")


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

    def rewrite(self) -> None:
        """Let the other store rewrite its database."""
        self._pass(Moment.BEFORE_REWRITE, write=True)
        self.store.rewrite()
        self._pass(Moment.AFTER_REWRITE, write=True)

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
        try:
            asked = next(op)
            while True:
                try:
                    rows = yield from self._done(asked, write=write)
                except StepFailed as failed:
                    asked = op.throw(failed)
                except Exception as error:  # noqa: BLE001 - a fault; the operation is told of it as of a driver's
                    asked = op.throw(StepFailed(error))
                else:
                    asked = op.send(rows)
        except StopIteration as end:
            self._pass(Moment.BEFORE_COMMIT, write=write)
            result: R = end.value
            return result
        finally:
            op.close()

    def _done(self, asked: Step | Batch, *, write: bool) -> Op[Rows]:
        rows: Rows = []
        for step in self._parts(asked):
            rows = yield step
            self._pass(Moment.AFTER_STEP, write=write, step=_name(step))
        return rows if isinstance(asked, Step) else []

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
