"""A PostgreSQL session that is cut at any point leaves all or nothing, says so in the right family, and is replaced."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

import dalsegno
from dalsegno.connect import open_store
from dalsegno.errors import Conflict, Refused, StoreUnavailable
from dalsegno.testing import OPERATIONS, CutConnections, FaultyStore, connect_over, differences, prepare, snapshot

NAMES = ["put announced", "append", "copy", "delete", "prune all"]


def cut_everywhere(store: FaultyStore, url: str, name: str, act: Any) -> list[str]:
    """Cut at each point of an operation, each time on a thread of its own; say what became of it."""
    one = OPERATIONS[name]
    calm = connect_over(store, tenant="calm")
    prepare(calm)
    before = [snapshot(calm, thread) for thread in one.threads]
    store.arm()
    act(one, calm)
    store.disarm()
    after = [snapshot(calm, thread) for thread in one.threads]
    outcome = []
    for point in store.trail:
        ds = connect_over(store, tenant=f"cut at {point.number}")
        prepare(ds)
        store.arm(point.number, CutConnections(url))
        try:
            act(one, ds)
        except StoreUnavailable:
            outcome.append("unavailable")
        else:
            outcome.append("done")
        assert store.struck
        store.disarm()
        found = [snapshot(ds, thread) for thread in one.threads]
        assert ds.threads.check().findings == []
        if outcome[-1] == "unavailable":
            assert found in (before, after)
            act(one, ds)
            found = [snapshot(ds, thread) for thread in one.threads]
        assert [differences(*pair) for pair in zip(found, after, strict=True)] == [[]] * len(after)
    return outcome


def mended(outcome: list[str]) -> bool:
    """Whether all is done but where the cut met the commit itself: at the last statement's end, and before COMMIT."""
    return outcome[-1] == "done" and outcome[-3:-1] == ["unavailable"] * 2 and set(outcome[:-3]) == {"done"}


@pytest.mark.parametrize(
    ("name", "split"), [*((name, True) for name in NAMES), ("put", False), ("delete_for_runs", False)]
)
def test_a_cut_anywhere_before_the_commit_is_mended_unseen(name, split, postgres_url):
    store = FaultyStore(open_store(postgres_url), split=split)
    outcome = cut_everywhere(store, postgres_url, name, lambda one, ds: one.act(ds))
    store.close()
    assert mended(outcome)


@pytest.mark.parametrize("name", ["put", "put_writes early", "delete"])
def test_the_async_face_mends_it_too(name, postgres_url):
    store = FaultyStore(open_store(postgres_url), split=False)
    with asyncio.Runner() as runner:
        try:
            outcome = cut_everywhere(store, postgres_url, name, lambda one, ds: runner.run(one.aact(ds)))
        finally:
            runner.run(store.aclose())
    assert mended(outcome)


def fill_the_pool(ds: dalsegno.Dalsegno, size: int) -> None:
    """Make the pool open `size` sessions, all at work at once."""
    together = threading.Barrier(size)

    def hold() -> Any:
        together.wait(20)
        yield from ()

    with ThreadPoolExecutor(size) as threads:
        for done in [threads.submit(ds.store_backend.run, hold, write=False) for _ in range(size)]:
            done.result()


def test_a_pool_whose_sessions_were_all_cut_serves_the_next_call(postgres_url):
    with dalsegno.connect(f"{postgres_url}&max_size=6") as ds:
        ds.journal.append("t", "note", "me", "one")
        fill_the_pool(ds, 6)
        CutConnections(postgres_url)(None)
        assert [event.seq for event in ds.journal.read("t")] == [1]
        CutConnections(postgres_url)(None)
        assert ds.journal.append("t", "note", "me", "two").seq == 2


async def test_the_async_pool_does_so_too(postgres_url):
    async with dalsegno.connect(f"{postgres_url}&max_size=6") as ds:
        await ds.journal.aappend("t", "note", "me", "one")
        gate = asyncio.Event()

        def hold() -> Any:
            yield from ()

        async def one() -> None:
            await gate.wait()
            await asyncio.gather(*(ds.store_backend.arun(hold, write=False) for _ in range(6)))

        tasks = [asyncio.create_task(one()) for _ in range(6)]
        gate.set()
        await asyncio.gather(*tasks)
        await asyncio.to_thread(CutConnections(postgres_url), None)
        assert (await ds.journal.aappend("t", "note", "me", "two")).seq == 2


def test_writers_in_one_commit_keep_their_own_outcomes_when_it_is_cut(postgres_url):
    """Several threads write one thread while sessions are cut again and again: numbers stay whole, nothing is lost."""
    with dalsegno.connect(postgres_url) as ds:
        ds.journal.append("t", "note", "me", "0")
        stop = threading.Event()
        done: list[str] = []
        unknown: list[str] = []

        def write(name: str) -> None:
            for number in range(25):
                text = f"{name}-{number}"
                try:
                    ds.journal.append("t", "note", "me", text)
                except StoreUnavailable:
                    unknown.append(text)
                else:
                    done.append(text)

        def cut() -> None:
            while not stop.wait(0.03):
                CutConnections(postgres_url)(None)

        cutter = threading.Thread(target=cut)
        cutter.start()
        with ThreadPoolExecutor(4) as threads:
            for finished in [threads.submit(write, name) for name in "abcd"]:
                finished.result()
        stop.set()
        cutter.join()
        events = ds.journal.read("t")
        said = [event.text for event in events]
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert len(set(said)) == len(said)
        assert set(done) <= set(said)
        assert set(said) - set(done) - {"0"} <= set(unknown)
        assert ds.threads.check().findings == []


@pytest.mark.parametrize("error", [psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure])
def test_what_the_server_rolled_back_is_run_once_more(error, postgres_url):
    from dalsegno.testing import RaiseError

    store = FaultyStore(open_store(postgres_url))
    with connect_over(store) as ds:
        store.arm(4, RaiseError(lambda: error("made up")))
        assert ds.journal.append("t", "note", "me", "one").seq == 1
        assert store.struck


def test_a_refusal_stays_a_refusal_after_a_cut(postgres_url):
    store = FaultyStore(open_store(postgres_url))
    with connect_over(store) as ds:
        prepare(ds)
        OPERATIONS["copy"].act(ds)
        store.arm(3, CutConnections(postgres_url))
        with pytest.raises((Refused, Conflict)):
            OPERATIONS["copy"].act(ds)
