"""Rows of LangGraph's own checkpoint databases, on SQLite and PostgreSQL.

Rules of this module:

* Read only: SQLite by `query_only` or `mode=ro`, PostgreSQL by a read-only transaction. One opening sees one snapshot.
* Both give the same rows. Bodies and values stay as they are stored; rebuilding them is not done here.
* Driver errors end here: a database that does not answer is a `StoreUnavailable`, what is no LangGraph checkpoint
  database is a `TranscriptError`.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

import psycopg
from psycopg.types.json import Jsonb

from dalsegno.errors import StoreUnavailable, TranscriptError
from dalsegno.stores.statements import load_statements

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

__all__ = ["Row", "Rows", "Stored", "WriteRow", "is_sqlite", "postgres", "sqlite", "where"]

SQL: Final = load_statements("dalsegno.imports")

Stored = tuple[str | None, bytes | None]
"""A value as it is stored: the tag of its kind, and its bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One checkpoint.

    Attributes:
        ns: checkpoint namespace; "" for the root graph.
        id: checkpoint id.
        parent: id of the checkpoint it came from, or None.
        body: the checkpoint as it is stored: a value, or JSON that lacks the larger values of channels.
        metadata: JSON, as text or read already; None where there is none.
        values: by channel, those that the body lacks.
    """

    ns: str
    id: str
    parent: str | None
    body: Stored | dict[str, Any]
    metadata: bytes | str | dict[str, Any] | None
    values: dict[str, Stored]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRow:
    """One pending write of a task."""

    task: str
    path: str
    idx: int
    channel: str
    value: Stored


class Rows(Protocol):
    """An open database."""

    def threads(self) -> list[tuple[str, int]]:
        """Thread ids with their number of checkpoints, by the time of their first."""

    def checkpoints(self, thread: str) -> Iterator[Row]:
        """A thread's checkpoints over all namespaces, oldest first."""

    def writes(self, thread: str, ns: str, checkpoint: str) -> list[WriteRow]:
        """The writes that wait at a checkpoint, in the order in which LangGraph applies them."""


def is_sqlite(path: str | PathLike[str]) -> bool:
    """Whether a file is a SQLite database, of whatever program."""
    try:
        with Path(path).open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _in_order(rows: Iterator[Any] | list[Any]) -> list[WriteRow]:
    writes = [
        WriteRow(task=task, path=path, idx=idx, channel=channel, value=(kind, data))
        for task, path, idx, channel, kind, data in rows
    ]
    return sorted(writes, key=lambda write: (write.path, write.task, write.idx))


def _check_tables(source: str, found: set[tuple[str, str]], writes: str) -> str:
    """Refuse a database of something else; return the suffix of the statement that reads its writes."""
    needed = {
        *(("checkpoints", name) for name in ("thread_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id")),
        *((writes, name) for name in ("thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel")),
    }
    missing = sorted(f"{table}.{column}" for table, column in needed - found)
    if missing:
        raise TranscriptError(
            f"{source}: no LangGraph checkpoint database, it lacks {', '.join(missing)}; "
            f"name the database that LangGraph's saver writes to, nothing was written."
        )
    return "writes" if (writes, "task_path") in found else "writes_before_paths"


# --- SQLite -----------------------------------------------------------------------------------------


@contextmanager
def sqlite(path: str | PathLike[str]) -> Iterator[Rows]:
    """Open a SQLite file.

    Raises:
        TranscriptError: there is no such file, or it is no LangGraph checkpoint database.
        StoreUnavailable: it is locked.
    """
    file = Path(path)
    with _sqlite_boundary(file):
        if not is_sqlite(file):
            what = "is not a SQLite database" if file.is_file() else "there is no such file"
            raise TranscriptError(f"{file}: {what}; name the database that LangGraph's saver writes to.")
        # A log that is there stays as it is; one that reading makes has to go again, which takes the right to write.
        mode = "ro" if file.with_name(f"{file.name}-wal").exists() else "rw"
        address = f"{file.absolute().as_uri()}?mode={mode}"
        with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            yield _Sqlite(file, connection)


class _Sqlite:
    def __init__(self, file: Path, connection: sqlite3.Connection) -> None:
        self._connection = connection
        found = set(connection.execute(SQL["sqlite_columns"]))
        self._writes = SQL[f"sqlite_{_check_tables(str(file), found, 'writes')}"]

    def threads(self) -> list[tuple[str, int]]:
        return self._connection.execute(SQL["sqlite_threads"]).fetchall()

    def checkpoints(self, thread: str) -> Iterator[Row]:
        for ns, name, parent, kind, body, metadata in self._connection.execute(
            SQL["sqlite_checkpoints"], {"thread": thread}
        ):
            yield Row(ns=ns, id=name, parent=parent or None, body=(kind, body), metadata=metadata, values={})

    def writes(self, thread: str, ns: str, checkpoint: str) -> list[WriteRow]:
        found = self._connection.execute(self._writes, {"thread": thread, "ns": ns, "checkpoint": checkpoint})
        return _in_order(found)


@contextmanager
def _sqlite_boundary(file: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise StoreUnavailable(f"{file}: locked by another program; try again when it is done.") from error
        raise TranscriptError(
            f"{file}: cannot be read as a SQLite database ({error}); check the file, and its folder's rights."
        ) from error


# --- PostgreSQL -------------------------------------------------------------------------------------


@contextmanager
def postgres(url: str) -> Iterator[Rows]:
    """Open a PostgreSQL database.

    Raises:
        TranscriptError: it is no LangGraph checkpoint database, or the URL cannot be read.
        StoreUnavailable: it cannot be reached, or went away.
    """
    with _postgres_boundary(url), psycopg.connect(url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        yield _Postgres(url, connection)


def where(url: str) -> str:
    """A database's URL without what is secret in it."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"


class _Postgres:
    def __init__(self, url: str, connection: psycopg.Connection) -> None:
        self._connection = connection
        found = {(table, column) for table, column in connection.execute(SQL["postgres_columns"])}
        self._writes = SQL[f"postgres_{_check_tables(where(url), found, 'checkpoint_writes')}"]

    def threads(self) -> list[tuple[str, int]]:
        return self._connection.execute(SQL["postgres_threads"]).fetchall()

    def checkpoints(self, thread: str) -> Iterator[Row]:
        with self._connection.cursor(name="checkpoints") as cursor:
            cursor.itersize = 50
            for ns, name, parent, body, metadata in cursor.execute(SQL["postgres_checkpoints"], {"thread": thread}):
                values = self._values(thread, ns, body)
                yield Row(ns=ns, id=name, parent=parent or None, body=body, metadata=metadata, values=values)

    def _values(self, thread: str, ns: str, body: Any) -> dict[str, Stored]:
        versions = Jsonb(body.get("channel_versions") or {})
        found = self._connection.execute(SQL["postgres_blobs"], {"thread": thread, "ns": ns, "versions": versions})
        return {channel: (kind, data) for channel, kind, data in found if kind != "empty"}

    def writes(self, thread: str, ns: str, checkpoint: str) -> list[WriteRow]:
        found = self._connection.execute(self._writes, {"thread": thread, "ns": ns, "checkpoint": checkpoint})
        return _in_order(found.fetchall())


@contextmanager
def _postgres_boundary(url: str) -> Iterator[None]:
    try:
        yield
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"{where(url)}: {error}; check that the server runs and takes this user.") from error
    except psycopg.Error as error:
        raise TranscriptError(
            f"{where(url)}: cannot be read as a LangGraph checkpoint database ({error}); nothing was written."
        ) from error
