"""Claim: `schema.sql` is the sum of the migrations, and a database of an older format is upgraded whole or not at all."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pytest

import dalsegno
from dalsegno.errors import DalsegnoError, SchemaNewer
from dalsegno.stores.postgres import setup as postgres
from dalsegno.stores.sqlite import setup as sqlite
from dalsegno.stores.statements import migrations

COLUMN = "SELECT mood FROM ds_threads"
ADD = "ALTER TABLE ds_threads ADD COLUMN mood text;\nUPDATE ds_threads SET mood = 'calm ' || name;\n"
"""What a second migration might say: a column, and values for the rows that are there."""


def shell(url: str) -> Any:
    """The database's own connection."""
    if url.startswith("sqlite"):
        return contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///")))
    return contextlib.closing(psycopg.connect(url, autocommit=True))


def told(url: str) -> list[Any]:
    """What a database says it holds: tables with their columns, keys, defaults, indexes, views, functions."""
    with shell(url) as db:
        if url.startswith("sqlite"):
            rows = db.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
            return sorted((kind, name, re.sub(r"\s+", " ", text or "")) for kind, name, text in rows)
        asked = (
            (
                "SELECT c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage,"
                " a.attcompression, pg_get_expr(d.adbin, d.adrelid), c.reloptions FROM pg_attribute a"
                " JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum"
                " WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped"
            ),
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
            (
                "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint"
                " WHERE connamespace = 'public'::regnamespace"
            ),
            "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'",
            "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
        )
        return [sorted(map(repr, db.execute(question).fetchall())) for question in asked]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@pytest.fixture
def setup(url: str) -> Any:
    return sqlite if url.startswith("sqlite") else postgres


@pytest.fixture
def next_format(setup: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Teach the store further migrations, as its next releases would bring them."""

    def teach(*scripts: str) -> None:
        known = migrations(setup._PACKAGE)
        further = tuple(enumerate(scripts, setup.FORMAT + 1))
        monkeypatch.setattr(setup, "migrations", lambda package: (*known, *further))
        monkeypatch.setattr(setup, "FORMAT", setup.FORMAT + len(scripts))

    return teach


def test_the_schema_is_the_sum_of_the_migrations(url: str, setup: Any, tmp_path: Path) -> None:
    """Both are run, and the two databases are asked what they hold."""
    dalsegno.connect(url).close()
    made = told(url)
    with shell(url) as db:
        if url.startswith("sqlite"):
            url = f"sqlite:///{tmp_path / 'whole.db'}"
        else:
            db.execute("DROP SCHEMA public CASCADE")
            db.execute("CREATE SCHEMA public")
    with shell(url) as db:
        db.executescript(setup.schema()) if url.startswith("sqlite") else db.execute(setup.schema())
    assert told(url) == made
    assert len(made) >= 5


def test_the_newest_migration_has_the_number_of_the_format(setup: Any) -> None:
    assert [number for number, _ in migrations(setup._PACKAGE)] == list(range(1, setup.FORMAT + 1))


def test_an_older_database_is_upgraded_with_what_it_holds(url: str, setup: Any, next_format: Any) -> None:
    with dalsegno.connect(url) as ds:
        ds.journal.append("t-1", "note", "ana", "kept")
    next_format(ADD)
    for _ in range(2):  # the second opening finds nothing to do
        with dalsegno.connect(url) as ds:
            assert [event.text for event in ds.journal.read("t-1")] == ["kept"]
            assert ds.threads.check().clean
        with shell(url) as db:
            assert db.execute(COLUMN).fetchall() == [("calm t-1",)]
            assert db.execute("SELECT value FROM ds_meta WHERE name = 'format'").fetchall() == [(str(setup.FORMAT),)]


def test_a_fresh_database_gets_every_migration(url: str, next_format: Any) -> None:
    next_format(ADD)
    with dalsegno.connect(url) as ds:
        ds.journal.append("t-1", "note", "ana", "new")
    with shell(url) as db:
        assert db.execute(COLUMN).fetchall() == [(None,)]


def test_an_upgrade_that_fails_leaves_the_database_as_it_was(
    url: str, next_format: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dalsegno.connect(url) as ds:
        ds.journal.append("t-1", "note", "ana", "kept")
    before = told(url)
    next_format(ADD, "UPDATE ds_no_such_table SET x = 1;\n")
    with pytest.raises(DalsegnoError):
        dalsegno.connect(url)
    assert told(url) == before
    monkeypatch.undo()
    with dalsegno.connect(url) as ds:
        assert [event.text for event in ds.journal.read("t-1")] == ["kept"]


def test_an_upgraded_database_is_refused_by_the_older_program(
    url: str, next_format: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    next_format(ADD)
    dalsegno.connect(url).close()
    before = told(url)
    monkeypatch.undo()
    with pytest.raises(SchemaNewer):
        dalsegno.connect(url)
    assert told(url) == before
