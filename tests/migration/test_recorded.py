"""Claim: a database that an earlier release wrote opens, reads as it did, and is written on.

`data/` holds a database of each format as SQL, written down by `record.py` when that format was released. A format that is
not released yet may change; then its files are recorded anew.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pytest

import dalsegno
from dalsegno.stores.sqlite.setup import FORMAT
from dalsegno.testing import OPERATIONS, differences, prepare, snapshot
from dalsegno.testing.operations import ETUDE, GONE, SONG

DATA = Path(__file__).with_name("data")
RECORDED = sorted(DATA.glob("format_*.sql"))


def number(file: Path) -> int:
    return int(file.name.split(".")[0].removeprefix("format_"))


@pytest.fixture(params=RECORDED, ids=lambda file: file.name)
def url(request: pytest.FixtureRequest) -> str:
    """URL of a database as it was recorded."""
    file: Path = request.param
    store = file.name.split(".")[1]
    found: str = request.getfixturevalue(f"{store}_url")
    script = file.read_text(encoding="utf-8")
    if store == "sqlite":
        with contextlib.closing(sqlite3.connect(found.removeprefix("sqlite:///"))) as db:
            db.executescript(script)
    else:
        with psycopg.connect(found) as db:
            db.execute(script)
    return found


def told(ds: dalsegno.Dalsegno) -> dict[str, Any]:
    """What a user sees of the thread: states, pending writes, metadata and events, all decoded, without the clock."""
    history = [
        (found.config["configurable"], found.checkpoint, found.metadata, found.pending_writes)
        for found in ds.checkpointer.list({"configurable": {"thread_id": SONG}})
    ]
    events = [(event.seq, event.kind, event.author, event.text, event.branch) for event in ds.journal.read(SONG)]
    return {"history": history, "events": events, "found": [event.seq for event in ds.journal.search(SONG, "发票")]}


def test_every_format_is_recorded_on_both_databases():
    assert [file.name for file in RECORDED] == [
        f"format_{n}.{store}.sql" for n in range(1, FORMAT + 1) for store in ("postgres", "sqlite")
    ]


def test_a_recorded_database_reads_as_it_did(url: str):
    with dalsegno.connect("memory://") as fresh:
        prepare(fresh)
        expected = told(fresh)
    with dalsegno.connect(url) as ds:
        assert ds.threads.check().findings == []
        assert told(ds) == expected
        assert [thread.thread_id for thread in ds.threads.list(deleted=True)] == [GONE, SONG, ETUDE]


def test_a_recorded_database_is_written_on(url: str):
    with dalsegno.connect("memory://") as fresh:
        prepare(fresh)
        for name in ("put", "append", "copy", "prune", "reopen"):
            OPERATIONS[name].act(fresh)
        expected = told(fresh)
    with dalsegno.connect(url) as ds:
        for name in ("put", "append", "copy", "prune", "reopen"):
            OPERATIONS[name].act(ds)
        assert told(ds) == expected
        assert ds.threads.check().findings == []
        ds.threads.delete(SONG)
        assert ds.threads.check().findings == []


def test_a_database_of_this_format_has_the_rows_that_are_written_today(url: str, request: pytest.FixtureRequest):
    """When this fails for a format that is not released, record it anew; for a released one, the format has changed."""
    if f"format_{FORMAT}." not in request.node.callspec.id:
        pytest.skip("an older format")
    with dalsegno.connect(url) as ds, dalsegno.connect("memory://") as fresh:
        prepare(fresh)
        assert differences(snapshot(ds, SONG), snapshot(fresh, SONG)) == []
