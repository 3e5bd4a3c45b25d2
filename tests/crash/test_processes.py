"""Several processes on one database: they wait for each other's locks, survive each other's forks, and lose nothing."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import pytest


def test_a_writer_waits_for_a_lock_that_another_process_holds(nursery, scene):
    with scene.after() as ds:
        ds.journal.append("t", "note", "me", "first")
        holder: list[Any] = []
        job = {"url": scene.url, "thread": "t", "hold": 1.5}
        other = threading.Thread(target=lambda: holder.append(nursery.run("hold_lock", **job)))
        other.start()
        started = time.monotonic()
        waited = 0.0
        while other.is_alive() and waited < 0.5:  # until one append has met the lock
            assert len(ds.journal.read("t")) >= 1
            read = time.monotonic()
            ds.journal.append("t", "note", "me", "more")
            waited = time.monotonic() - read
            time.sleep(0.02)
        other.join()
        assert waited > 0.5
        assert time.monotonic() - started < 30
        texts = [event.text for event in ds.journal.read("t")]
        assert texts.count("held") == 1
        assert texts[-2:] == ["held", "more"]
        assert ds.threads.check().findings == []


def test_readers_and_other_threads_do_not_wait_for_it_on_postgres(nursery, scene):
    """SQLite has one writer for the file, so there only readers go on; PostgreSQL locks the one thread's row."""
    with scene.after() as ds:
        ds.journal.append("t", "note", "me", "first")
        job = {"url": scene.url, "thread": "t", "hold": 2.0}
        other = threading.Thread(target=lambda: nursery.run("hold_lock", **job))
        other.start()
        time.sleep(0.7)
        started = time.monotonic()
        assert [event.text for event in ds.journal.read("t")] == ["first"]
        assert ds.threads.check().findings == []
        if scene.url.startswith("postgresql"):
            ds.journal.append("other", "note", "me", "meanwhile")
        assert other.is_alive()
        assert time.monotonic() - started < 1.2
        other.join()


def test_a_connection_may_be_used_on_both_sides_of_a_fork(nursery, scene):
    ended = nursery.run("forks", url=scene.url, thread="t")
    *children, texts, broken = ended.report
    assert children == [0, 0, 0]
    assert broken == 0
    assert texts == ["before", *(f"{side} {n}" for n in range(3) for side in ("child", "parent"))]
    with scene.after() as ds:
        assert ds.threads.check().findings == []


@pytest.mark.parametrize("seed", range(3))
def test_what_a_killed_process_was_told_is_written_is_there(seed, nursery, scene):
    """Killed at any instant, in the middle of a commit too: each append that returned is there, at most one more is."""
    dice = random.Random(seed)
    told = 0
    for _ in range(6):
        how = {"url": scene.url, "thread": "t", "first": told, "count": 5000}
        ended = nursery.run("write_many", seconds=dice.uniform(0.05, 0.4), **how)
        with scene.after() as ds:
            events = ds.journal.read("t") if ds.threads.list() else []
            assert [event.payload["number"] for event in events] == list(range(len(events)))
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            told = max([told, *(number + 1 for number in ended.report)])
            assert told <= len(events) <= told + 1
            told = len(events)
            assert ds.threads.check().findings == []
