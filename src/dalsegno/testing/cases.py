"""The claims about stores, each with the trial that would show it wrong.

Rules of this module:

* A case tries its claim on fresh, empty stores that the caller opens. It knows `dalsegno.contracts` and nothing of how
  a store works; what a write should leave is what the store in memory leaves.
* A trial raises when the claim does not hold, and says what it found.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from dalsegno.connect import Dalsegno, open_store
from dalsegno.contracts import Op, Step, StepFailed, Store
from dalsegno.errors import DalsegnoError
from dalsegno.testing.faults import RaiseError
from dalsegno.testing.faulty import FaultyStore, connect_over
from dalsegno.testing.operations import OPERATIONS, Operation, prepare
from dalsegno.testing.snapshots import Snapshot, differences, snapshot

__all__ = ["CASES", "Case", "OpenStore"]

OpenStore: TypeAlias = Callable[[], Store]
"""Opens a new store on an empty database of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One claim about a store.

    Attributes:
        name: a word or two to pick it by.
        claim: what it says, in a sentence.
        run: tries it; raises when it does not hold.
    """

    name: str
    claim: str
    run: Callable[[OpenStore], None]


def _require(holds: object, why: str) -> None:
    if not holds:
        raise AssertionError(why)


@contextmanager
def _opened(open_empty: OpenStore) -> Iterator[Dalsegno]:
    ds = connect_over(open_empty())
    try:
        yield ds
    finally:
        ds.close()


def _seen(ds: Dalsegno, operation: Operation) -> list[Snapshot | None]:
    return [snapshot(ds, thread) for thread in operation.threads]


def _same(found: list[Snapshot | None], expected: list[Snapshot | None], when: str) -> None:
    unlike = [line for pair in zip(found, expected, strict=True) for line in differences(*pair)]
    _require(not unlike, f"{when}: " + "; ".join(unlike[:5]))


def _expected(operation: Operation) -> tuple[list[Snapshot | None], list[Snapshot | None]]:
    """How the store in memory stands before and after an operation."""
    with _opened(lambda: open_store("memory://")) as ds:
        prepare(ds)
        before = _seen(ds, operation)
        operation.act(ds)
        return before, _seen(ds, operation)


def _every_operation(open_empty: OpenStore) -> None:
    for operation in OPERATIONS.values():
        before, after = _expected(operation)
        with _opened(open_empty) as ds:
            prepare(ds)
            _same(_seen(ds, operation), before, f"before {operation.name!r}")
            operation.act(ds)
            _same(_seen(ds, operation), after, f"after {operation.name!r}")
            _require(ds.threads.check().clean, f"a check finds something after {operation.name!r}")


def _every_operation_async(open_empty: OpenStore) -> None:
    async def run(operation: Operation) -> None:
        _, after = _expected(operation)
        ds = connect_over(open_empty())
        try:
            prepare(ds)
            await operation.aact(ds)
            _same(_seen(ds, operation), after, f"after {operation.name!r}, async")
        finally:
            await ds.aclose()

    for operation in OPERATIONS.values():
        if operation.twin:
            asyncio.run(run(operation))


class _Planted(Exception):
    """Raised by the suite in the middle of an operation."""


class _Ended(BaseException):
    """Ends an operation wherever it is; no part of it is undone alone."""


def _all_or_nothing(open_empty: OpenStore) -> None:
    for operation in OPERATIONS.values():
        store = FaultyStore(open_empty())
        with _opened(lambda store=store: store) as ds:  # type: ignore[misc]
            prepare(ds)
            before = _seen(ds, operation)
            for number in range(2, 1000):
                store.arm(number, RaiseError(_Ended))
                try:
                    operation.act(ds)
                except _Ended:
                    store.disarm()
                    if store.trail[-1].place == "after COMMIT":
                        break
                    _same(_seen(ds, operation), before, f"{operation.name!r} failed {store.trail[-1].place}")
            _require(ds.threads.check().clean, f"a check finds something after failures of {operation.name!r}")


def _counted(store: Store, count: int) -> None:
    """Append from several threads at once, and see that each number was given once."""
    ds = connect_over(store)
    with ThreadPoolExecutor(8) as threads:
        done = [threads.submit(ds.journal.append, "t", "note", "me", str(n)) for n in range(count)]
        numbers = sorted(future.result().seq for future in done)
    _require(numbers == list(range(1, count + 1)), f"{count} appends were numbered {numbers}")
    _require(len(ds.journal.read("t")) == count, "an append that returned is not there")


def _writers_queue(open_empty: OpenStore) -> None:
    with _opened(open_empty) as ds:
        _counted(ds.store_backend, 60)


def _own_outcome(open_empty: OpenStore) -> None:
    with _opened(open_empty) as ds:
        scope = ds.scope()
        together = threading.Barrier(6)

        def write(number: int) -> object:
            def op() -> Op[int]:
                yield Step("thread_lock", {"tenant": scope.tenant, "name": f"t{number}"})
                yield Step("thread_add", {"tenant": scope.tenant, "name": f"t{number}", "owner": None, "now": 1})
                if number % 2:
                    raise _Planted(number)
                return number

            together.wait(30)
            try:
                return ds.store_backend.run(op, write=True, key="same")
            except _Planted as error:
                return error

        with ThreadPoolExecutor(6) as threads:
            results = list(threads.map(write, range(6)))
        for number, result in enumerate(results):
            expected = isinstance(result, _Planted) and result.args == (number,) if number % 2 else result == number
            _require(expected, f"write {number} of six under one key came back with {result!r}")
        there = [thread.thread_id for thread in ds.threads.list()]
        _require(there == ["t0", "t2", "t4"], f"of six writes under one key, three of them failing, {there} are there")


def _part_alone(open_empty: OpenStore) -> None:
    with _opened(open_empty) as ds:
        scope = ds.scope()

        def add(name: str, thread: int = 1) -> Step:
            return Step("namespace_add", {"tenant": scope.tenant, "thread": thread, "ns": thread, "name": name})

        def op() -> Op[str]:
            failed = ""
            yield (add("a"), Step("part_begin", {}))
            try:
                yield (add("b", 2), add("twice"), add("c", 3))
            except StepFailed as error:
                failed = str(error)
                yield Step("part_undo", {})
            yield (add("d", 4), Step("part_end", {}))
            return failed

        _require(bool(ds.store_backend.run(op, write=True)), "an operation was not told of a step that failed")
        there = []
        for thread in range(1, 5):
            asked = {"tenant": scope.tenant, "thread": thread}
            there += ds.store_backend.run(lambda asked=asked: (yield Step("namespaces_of", asked)), write=False)  # type: ignore[misc]
        _require(len(there) == 2, f"of a part that was undone and what stood around it, {there} is there")  # noqa: PLR2004


def _one_snapshot(open_empty: OpenStore) -> None:
    with _opened(open_empty) as ds:
        ds.journal.append("t", "note", "me", "one")
        scope = ds.scope()
        writers: list[threading.Thread] = []

        def read() -> Op[tuple[int, int]]:
            step = Step("thread_find", {"tenant": scope.tenant, "name": "t"})
            first = yield step
            writers.append(threading.Thread(target=ds.journal.append, args=("t", "note", "me", "two")))
            writers[-1].start()
            writers[-1].join(1.0)  # a store may make the writer wait instead
            second = yield step
            return first[0][3], second[0][3]

        first, second = ds.store_backend.run(read, write=False)
        for writer in writers:
            writer.join()
        _require(first == second, f"one read saw {first} events, then {second}")
        _require(len(ds.journal.read("t")) >= 2, "the write that came during a read was lost")  # noqa: PLR2004


def _result_and_rows(open_empty: OpenStore) -> None:
    with _opened(open_empty) as ds:
        scope = ds.scope()

        def op() -> Op[object]:
            add = {"tenant": scope.tenant, "owner": None, "now": 7}
            none = yield (Step("thread_add", {**add, "name": "a"}), Step("thread_add", {**add, "name": "b"}))
            many = yield Step("thread_add", [{**add, "name": name} for name in ("c", "d")])
            found = yield Step("thread_find", {"tenant": scope.tenant, "name": "d"})
            return none, many, len(found), isinstance(found[0], tuple)

        result = ds.store_backend.run(op, write=True)
        _require(result == ([], [], 1, True), f"batch, many rows, one row: {result!r}")
        _require([one.thread_id for one in ds.threads.list()] == ["a", "b", "c", "d"], "rows of a batch are missing")


def _clock(open_empty: OpenStore) -> None:
    with _opened(open_empty) as ds:

        def op() -> Op[list[int]]:
            times = []
            for _ in range(3):
                rows = yield Step("now", {})
                times.append(rows[0][0])
            return times

        times = ds.store_backend.run(op, write=True)
        _require(all(isinstance(time, int) for time in times), f"the clock says {times!r}, not whole microseconds")
        _require(times == sorted(times), f"the clock went back: {times!r}")


def _closing(open_empty: OpenStore) -> None:
    def close(store: Store) -> None:
        store.close()

    def aclose(store: Store) -> None:
        asyncio.run(store.aclose())

    for end in (close, aclose):
        store = open_empty()
        ds = connect_over(store)
        ds.journal.append("t", "note", "me", "one")
        end(store)
        end(store)
        try:
            ds.journal.read("t")
        except DalsegnoError:
            continue
        msg = "a closed store still answers"
        raise AssertionError(msg)


CASES: tuple[Case, ...] = (
    Case(
        name="operations",
        claim="each kind of write leaves what the store in memory leaves, and a check finds nothing",
        run=_every_operation,
    ),
    Case(name="async", claim="the async face does the same", run=_every_operation_async),
    Case(
        name="all or nothing",
        claim="an operation that ends at any of its points leaves nothing, and what ended it comes back as it is",
        run=_all_or_nothing,
    ),
    Case(name="queue", claim="writers of one thread queue: none is lost, no number is given twice", run=_writers_queue),
    Case(
        name="part",
        claim="an operation is told of a step that failed, may undo the part that it has begun, and goes on",
        run=_part_alone,
    ),
    Case(
        name="own outcome",
        claim="writes under one key may share a commit, and each succeeds or fails alone",
        run=_own_outcome,
    ),
    Case(name="snapshot", claim="a read sees one moment, whatever is written meanwhile", run=_one_snapshot),
    Case(
        name="answers",
        claim="a step answers with rows as tuples, a batch or a step of many rows with an empty list",
        run=_result_and_rows,
    ),
    Case(name="clock", claim="the database's clock counts whole microseconds and does not go back", run=_clock),
    Case(name="closing", claim="closing twice is fine, and a closed store says so", run=_closing),
)
"""Every case, in the order they run."""
