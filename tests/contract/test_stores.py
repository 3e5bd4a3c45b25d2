"""Claim: the suite for stores passes on ours, and each of its cases catches a store that breaks its claim."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from psycopg import sql

from dalsegno.connect import open_store
from dalsegno.contracts import Step
from dalsegno.errors import Misuse
from dalsegno.testing import (
    CASES,
    OPERATIONS,
    FaultyStore,
    Moment,
    RaiseError,
    check_store,
    connect_over,
    differences,
    prepare,
    snapshot,
)
from dalsegno.testing.operations import SONG

NAMES = [case.name for case in CASES]


@pytest.fixture
def open_empty(store_url: str, tmp_path: Any, request: pytest.FixtureRequest) -> Iterator[Callable[[], Any]]:
    """Opens stores of each kind in turn, each on an empty database of its own."""
    numbers, made = itertools.count(), []

    def opener() -> Any:
        if store_url == "memory://":
            return open_store(store_url)
        if store_url.startswith("sqlite"):
            return open_store(f"sqlite:///{tmp_path / f'{next(numbers)}.db'}?synchronous=NORMAL")
        name = f"{urlsplit(store_url).path[1:]}_{next(numbers)}"
        admin = request.getfixturevalue("postgres_admin")
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        made.append(name)
        return open_store(urlunsplit(urlsplit(store_url)._replace(path=f"/{name}")))

    yield opener
    for name in made:
        request.getfixturevalue("postgres_admin").execute(
            sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        )


@pytest.mark.parametrize("name", NAMES)
def test_our_stores_pass(name: str, open_empty):
    report = check_store(open_empty, only=name)
    assert report.passed, report
    assert str(report) == "all 1 claims hold"


def test_an_unknown_case_is_misuse():
    with pytest.raises(Misuse, match="own outcome"):
        check_store(lambda: open_store("memory://"), only="no such case")


# --- stores that break a claim


class Broken:
    """Hands everything on to a store in memory; each subclass breaks one thing."""

    def __init__(self) -> None:
        self.inner = open_store("memory://")

    @property
    def url(self) -> str:
        return self.inner.url

    def run(self, factory: Any, *, write: bool, key: Any = None) -> Any:
        return self.inner.run(self.changed(factory), write=write, key=key)

    async def arun(self, factory: Any, *, write: bool, key: Any = None) -> Any:
        return await self.inner.arun(self.changed(factory), write=write, key=key)

    def changed(self, factory: Any) -> Any:
        return factory

    def confine(self, *, tenant: int | None, name: str) -> None:
        """One tenant is as good as another here."""

    def close(self) -> None:
        self.inner.close()

    async def aclose(self) -> None:
        await self.inner.aclose()


class CommitsEachStep(Broken):
    """No transaction: each step is one of its own."""

    def run(self, factory: Any, *, write: bool, key: Any = None) -> Any:
        op = factory()
        rows = None
        while True:
            try:
                step = op.send(rows)
            except StopIteration as end:
                return end.value

            def one(step: Any = step) -> Any:
                return (yield step)

            rows = self.inner.run(one, write=write, key=key)


class LosesAStatement(Broken):
    """Forgets the references to blobs."""

    def changed(self, factory: Any) -> Any:
        def op() -> Any:
            inner, rows = factory(), None
            while True:
                try:
                    asked = inner.send(rows)
                except StopIteration as end:
                    return end.value
                steps = (asked,) if isinstance(asked, Step) else asked
                rows = yield (
                    asked if isinstance(asked, Step) else tuple(one for one in steps if one.name != "blob_ref_add")
                )

        return op


class ForgetsToAwait(Broken):
    async def arun(self, factory: Any, *, write: bool, key: Any = None) -> Any:
        if write:
            return None
        return await self.inner.arun(factory, write=write, key=key)


class SharesFate(Broken):
    """Fails every write that is under way when one fails."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: BaseException | None = None
        self.underway = threading.Barrier(6)

    def run(self, factory: Any, *, write: bool, key: Any = None) -> Any:
        if key != "same":
            return self.inner.run(factory, write=write, key=key)
        try:
            return self.inner.run(factory, write=write, key=key)
        except Exception as error:  # noqa: BLE001 - the fault of this store
            self.failure = error
        finally:
            self.underway.wait(30)
            if self.failure is not None:
                raise self.failure


class AnswersOtherwise(Broken):
    def changed(self, factory: Any) -> Any:
        def op() -> Any:
            inner, rows = factory(), None
            while True:
                try:
                    asked = inner.send(rows)
                except StopIteration as end:
                    return end.value
                found = yield asked
                rows = [list(row) for row in found] if found else None

        return op


class CountsSeconds(Broken):
    def changed(self, factory: Any) -> Any:
        def op() -> Any:
            inner, rows = factory(), None
            while True:
                try:
                    asked = inner.send(rows)
                except StopIteration as end:
                    return end.value
                rows = yield asked
                if isinstance(asked, Step) and asked.name == "now":
                    rows = [(rows[0][0] / 1e6,)]

        return op


class NeverCloses(Broken):
    def close(self) -> None:
        pass

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize(
    ("store", "caught"),
    [
        (CommitsEachStep, "all or nothing"),
        (CommitsEachStep, "snapshot"),
        (CommitsEachStep, "queue"),
        (LosesAStatement, "operations"),
        (ForgetsToAwait, "async"),
        (SharesFate, "own outcome"),
        (AnswersOtherwise, "answers"),
        (CountsSeconds, "clock"),
        (NeverCloses, "closing"),
    ],
)
def test_a_store_that_breaks_a_claim_is_caught(store: type[Broken], caught: str):
    for _ in range(5):  # some faults show only when threads meet
        report = check_store(store, only=caught)
        if not report.passed:
            break
    assert not report.passed
    assert caught in str(report)
    assert "Traceback" in str(report)


# --- points and snapshots


def test_points_are_counted_alike_on_every_store(open_empty):
    store = FaultyStore(open_empty())
    with connect_over(store) as ds:
        prepare(ds)
        store.arm()
        OPERATIONS["append"].act(ds)
        store.disarm()
        places = [point.place for point in store.trail]
        assert places[:3] == ["before BEGIN", "after BEGIN", "after thread_lock"]
        assert places[-2:] == ["before COMMIT", "after COMMIT"]
        assert [point.number for point in store.trail] == list(range(1, len(places) + 1))
        assert all(point.write for point in store.trail)
    with connect_over(FaultyStore(open_store("memory://"))) as ds:
        prepare(ds)
        ds.store_backend.arm()
        OPERATIONS["append"].act(ds)
        assert [point.place for point in ds.store_backend.trail] == places


def test_whole_batches_count_once():
    store = FaultyStore(open_store("memory://"), split=False)
    with connect_over(store) as ds:
        prepare(ds)
        store.arm()
        OPERATIONS["append"].act(ds)
        event, card = [point for point in store.trail if "+" in point.step]
        assert event.step.split("+")[0] == "item_add"
        assert event.step.split("+")[-1] == "part_begin"  # the card's own part of the transaction
        assert card.step.split("+")[-1] == "part_end"
        assert {event.moment, card.moment} == {Moment.AFTER_STEP}


def test_a_fault_happens_once_and_reads_count_when_asked():
    store = FaultyStore(open_store("memory://"), reads=True)
    with connect_over(store) as ds:
        ds.journal.append("t", "note", "me", "one")
        store.arm(2, RaiseError(lambda: ZeroDivisionError("planted")))
        with pytest.raises(ZeroDivisionError, match="planted"):
            ds.journal.read("t")
        assert store.struck
        assert [event.text for event in ds.journal.read("t")] == ["one"]
        assert not store.trail[0].write


@pytest.mark.parametrize(("at", "fault"), [(1, None), (None, print), (0, print), (-1, print)])
def test_arming_needs_a_point_and_a_fault(at, fault):
    with pytest.raises(Misuse, match="from 1 on"):
        FaultyStore(open_store("memory://")).arm(at, fault)


def test_a_snapshot_tells_what_differs(ds):
    prepare(ds)
    before = snapshot(ds, SONG)
    assert before == snapshot(ds, SONG)
    assert snapshot(ds, "nobody") is None
    assert differences(None, before) == ["left has no such thread"]
    assert differences(before, before) == []
    OPERATIONS["append"].act(ds)
    told = differences(before, snapshot(ds, SONG))
    assert any(line.startswith("events: only right") for line in told)
    assert any(line.startswith("row: ") for line in told)
    assert not any(line.startswith("checkpoints") for line in told)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_repeated_says_the_same(name: str, ds):
    """A caller that does not know whether its write was done may repeat it; `again` says what that comes to."""
    one = OPERATIONS[name]
    prepare(ds)
    one.act(ds)
    first = [snapshot(ds, thread) for thread in one.threads]
    if one.again == "refused":
        from dalsegno.errors import Conflict, Refused

        with pytest.raises((Refused, Conflict)):
            one.act(ds)
    else:
        one.act(ds)
    second = [snapshot(ds, thread) for thread in one.threads]
    assert ds.threads.check().findings == []
    for left, right in zip(first, second, strict=True):
        if left is None or right is None:  # erased, and not there by its name any more
            assert (left, right, name) == (None, None, "erase")
            continue
        more = one.again == "more"
        assert len(right["events"]) == len(left["events"]) + more
        said = [[row[:7] for row in sorted(table["events"], key=lambda row: row[0])] for table in (left, right)]
        assert said[1][: len(said[0])] == said[0]
        assert right["states"] == left["states"]
        assert [row[:3] for row in right["writes"]] == [row[:3] for row in left["writes"]]
