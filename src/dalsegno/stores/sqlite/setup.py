"""Making and upgrading a SQLite database.

Rules of this module:

* A fresh file gets the whole schema in one transaction; any number of processes may open it at once.
* An older format is upgraded step by step, in one transaction; a newer one is refused untouched. A file is looked at
  through a connection that may only read, since the last one to close a file that it may write folds its log back.
* A file with other people's tables is fine: ours all begin with `ds_` (and one view, `graph_checkpoints`).
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path
from urllib.parse import quote

from dalsegno import errors
from dalsegno.stores.statements import load_script, migrations

__all__ = ["FORMAT", "look", "prepare"]

FORMAT = 1
_PACKAGE = "dalsegno.stores.sqlite"
_PAGE_BYTES = 8192
"""Pages hold several messages each; at 4 KB, rows of a kilobyte and a half would waste a third of every page."""


def look(path: Path, *, create: bool) -> None:
    """Refuse a file that is there and is not for this program, before anything can change it.

    Raises:
        SchemaNewer: written by a newer version.
        NoDatabase: it holds nothing of dalsegno's and `create` is False.
        sqlite3.Error: the file cannot be used; the caller translates it.
    """
    place = f"file:{quote(str(path.absolute()))}?mode=ro"
    with contextlib.closing(sqlite3.connect(place, uri=True, isolation_level=None)) as connection:
        _refuse(_format_of(connection), create=create)


def prepare(connection: sqlite3.Connection, *, in_memory: bool, create: bool = True) -> None:
    """Bring a database to this format, or refuse it.

    Raises:
        SchemaNewer: written by a newer version.
        NoDatabase: it holds nothing of dalsegno's and `create` is False.
        sqlite3.Error: the file cannot be used; the caller translates it.
    """
    found = _format_of(connection)
    if found == FORMAT:
        return
    _refuse(found, create=create)
    if not in_memory:
        if found is None:
            connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        _into_wal(connection)
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = _format_of(connection)
        for number, script in migrations(_PACKAGE):
            if number > (found or 0):
                _run_script(connection, script)
        connection.execute(
            "INSERT INTO ds_meta (name, value) VALUES ('format', ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (str(FORMAT),),
        )
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _refuse(found: int | None, *, create: bool) -> None:
    if found is None and not create:
        msg = "this SQLite file holds no dalsegno tables"
        raise errors.NoDatabase(msg, step="nothing was changed. Check the path")


def _format_of(connection: sqlite3.Connection) -> int | None:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'ds_meta'").fetchone():
        return None
    row = connection.execute("SELECT value FROM ds_meta WHERE name = 'format'").fetchone()
    if row is None or not str(row[0]).isdigit():
        raise errors.Damaged("ds_meta", expected="the number of this database's format", found=row and row[0])
    found = int(row[0])
    if found > FORMAT:
        msg = f"the database has format {found}, this dalsegno knows {FORMAT}; nothing was changed. Upgrade dalsegno"
        raise errors.SchemaNewer(msg)
    return found


def _into_wal(connection: sqlite3.Connection) -> None:
    # Changing the journal mode ignores the busy timeout, so several first openers have to take turns here.
    for attempt in range(200):
        try:
            if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal":
                return
        except sqlite3.OperationalError as error:
            if (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
        time.sleep(min(0.1, 0.005 * (attempt + 1)))
    msg = "the database could not be switched to WAL; another process keeps it locked"
    raise errors.StoreUnavailable(msg)


def _run_script(connection: sqlite3.Connection, script: str) -> None:
    # sqlite3.executescript commits first; statements are fed one by one to stay inside the transaction.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""


def schema() -> str:
    """The schema of this format, as one script (what all migrations add up to)."""
    return load_script(_PACKAGE, "schema.sql")
