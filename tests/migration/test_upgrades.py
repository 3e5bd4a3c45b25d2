"""Claim: making or upgrading a database is one step, whoever is killed in it or races for it; a newer one is not touched."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

import dalsegno
from dalsegno.errors import SchemaNewer
from dalsegno.stores.postgres import setup as postgres
from dalsegno.stores.sqlite import setup as sqlite
from dalsegno.stores.statements import load_statements

PROGRAM = """
import importlib, os, signal, sys
import dalsegno

url, store, what, count = sys.argv[1:5]
setup = importlib.import_module(f"dalsegno.stores.{store}.setup")
released = setup.migrations(setup._PACKAGE)
slow = "SELECT pg_sleep(0.5);\\n" if store == "postgres" else ""  # so that others come while it is under way
further = (setup.FORMAT + 1, slow + "ALTER TABLE ds_threads ADD COLUMN mood text;\\nUPDATE ds_threads SET mood = 'calm';\\n")

def dying(package):
    for number, script in (*released, *([further] if what == "upgrade" else [])):
        yield number, script
    os.kill(os.getpid(), signal.SIGKILL)

if what == "upgrade":
    setup.FORMAT += 1
    setup.migrations = lambda package: (*released, further)
if count == "die":
    setup.migrations = dying
    dalsegno.connect(url)
children = []
for number in range(int(count)):
    pid = os.fork()
    if pid == 0:
        try:
            with dalsegno.connect(url) as ds:
                ds.journal.append(f"t{number}", "note", "me", "here")
        except BaseException as error:
            print(type(error).__name__, error, file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    children.append(pid)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))
"""


def run(url: str, what: str, count: str) -> subprocess.CompletedProcess[str]:
    store = "sqlite" if url.startswith("sqlite") else "postgres"
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, url, store, what, count], capture_output=True, text=True, check=False
    )


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


def format_of(url: str) -> list[Any]:
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as db:
            rows = db.execute("SELECT value FROM ds_meta WHERE name = 'format'").fetchall()
        db.close()
        return rows
    with psycopg.connect(url) as db:
        return db.execute("SELECT value FROM ds_meta WHERE name = 'format'").fetchall()


def test_a_database_whose_maker_was_killed_is_made_by_the_next(url: str):
    assert run(url, "make", "die").returncode == -9
    with dalsegno.connect(url) as ds:
        ds.journal.append("t", "note", "me", "here")
        assert ds.threads.check().findings == []


def test_an_upgrade_that_was_killed_is_done_by_the_next(url: str):
    with dalsegno.connect(url) as ds:
        ds.journal.append("t", "note", "me", "kept")
    assert run(url, "upgrade", "die").returncode == -9
    assert format_of(url) == [("1",)]
    with dalsegno.connect(url) as ds:  # this program's format still, with nothing of the other's
        assert [event.text for event in ds.journal.read("t")] == ["kept"]
    ended = run(url, "upgrade", "1")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert format_of(url) == [("2",)]


def test_of_many_openers_one_upgrades_and_all_go_on(url: str):
    with dalsegno.connect(url) as ds:
        for number in range(200):
            ds.journal.append(f"old{number}", "note", "me", "kept")
    ended = run(url, "upgrade", "6")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert format_of(url) == [("2",)]


def test_a_newer_file_that_was_not_closed_keeps_its_bytes(tmp_path: Path):
    """Its log is another program's business: it is neither folded back nor removed."""
    first = tmp_path / "first.db"
    dalsegno.connect(f"sqlite:///{first}").close()
    writer = sqlite3.connect(first)
    writer.execute("UPDATE ds_meta SET value = '2' WHERE name = 'format'")
    writer.commit()
    newer = tmp_path / "newer.db"
    for ending in ("", "-wal"):
        shutil.copy(f"{first}{ending}", f"{newer}{ending}")
    writer.close()
    before = {ending: Path(f"{newer}{ending}").read_bytes() for ending in ("", "-wal")}
    assert len(before["-wal"]) > 0
    with pytest.raises(SchemaNewer):
        dalsegno.connect(f"sqlite:///{newer}")
    assert {ending: Path(f"{newer}{ending}").read_bytes() for ending in ("", "-wal")} == before


# --- statements


@pytest.mark.parametrize("name", sorted(load_statements("dalsegno.stores.sqlite")))
def test_a_statement_compiles_on_sqlite(name: str):
    with dalsegno.connect("memory://") as ds:
        connection = ds.store_backend._writer
        text = load_statements("dalsegno.stores.sqlite")[name]
        rows = connection.execute(f"EXPLAIN {text}", _Anything()).fetchall()
        assert rows


class _Anything(dict[str, None]):
    def __missing__(self, key: str) -> None:
        return None


@pytest.fixture(scope="module")
def prepared(postgres_server: str) -> Any:
    """A session in a schema of its own that has the tables."""
    with psycopg.connect(postgres_server, autocommit=True) as session:
        session.execute("CREATE SCHEMA compiled")
        session.execute("SET search_path TO compiled")
        session.execute(postgres.schema())
        if session.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone():
            session.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA compiled")
        yield session
        session.execute("DROP SCHEMA compiled CASCADE")


SAVEPOINTS = ("part_begin", "part_undo", "part_end")
"""They have no plan; the suite for stores runs them."""


@pytest.mark.parametrize("name", sorted(load_statements("dalsegno.stores.postgres").keys() - set(SAVEPOINTS)))
def test_a_statement_compiles_on_postgres(name: str, prepared: Any):
    """Parsed, typed and planned by the server, with every parameter null."""
    text = load_statements("dalsegno.stores.postgres")[name]
    if "::vector" in text and not prepared.execute("SELECT to_regtype('vector')").fetchone()[0]:
        pytest.skip("this server has no pgvector; the statement is not used on it")
    assert prepared.execute(f"EXPLAIN {text}", _Anything()).fetchall()


def test_both_stores_have_one_format():
    assert sqlite.FORMAT == postgres.FORMAT
