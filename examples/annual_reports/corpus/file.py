"""The file of an index: how it is opened, and whose vectors it holds.

Rules of this module:

* Only `ingest` writes; a reader's connection cannot.
* A file that is no index, of another format, or with another's vectors is refused before anything is read from it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from langchain_core.embeddings import Embeddings

from examples.annual_reports.corpus.passages import IndexMismatch
from examples.annual_reports.corpus.vectors import HashedEmbeddings, name_of

__all__ = ["embedded_by", "reading", "writing"]

FORMAT = "2"
"""Goes up with every change of the schema, or of what is made of a document."""

_TIMEOUT = 30.0


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that may write; begins a new index where there is none.

    Raises:
        IndexMismatch: the file is something else, or cannot be written: no folder, no room, another's lock.
    """
    try:
        connection = sqlite3.connect(path, timeout=_TIMEOUT, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise IndexMismatch(f"{path} cannot be used as an index: {error}") from error
    try:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.executescript((files(__package__) / "schema.sql").read_text("utf-8"))
            connection.execute("INSERT OR IGNORE INTO facts VALUES ('format', ?)", (FORMAT,))
        except sqlite3.DatabaseError as error:
            raise IndexMismatch(f"{path} cannot be used as an index: {error}") from error
        _check(connection, path)
        try:
            yield connection
        except sqlite3.OperationalError as error:
            raise IndexMismatch(f"{path} cannot be written: {error}; what was ingested before stays") from error
    finally:
        connection.close()


def reading(path: Path) -> sqlite3.Connection:
    """A connection that only reads, for use by several threads one after the other.

    Raises:
        FileNotFoundError: there is no such file.
        IndexMismatch: the file is something else.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no index; make one with: python -m examples.annual_reports ingest DIR")
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=_TIMEOUT, isolation_level=None, check_same_thread=False
    )
    try:
        _check(connection, path)
    except IndexMismatch:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    try:
        row = connection.execute("SELECT value FROM facts WHERE name = 'format'").fetchone()
    except sqlite3.DatabaseError as error:
        raise IndexMismatch(f"{path} is no index: {error}") from error
    if row is None or row[0] != FORMAT:
        raise IndexMismatch(f"{path} has format {row and row[0]}, not {FORMAT}: ingest into a new file")


def embedded_by(connection: sqlite3.Connection, embeddings: Embeddings | None) -> Embeddings:
    """Whoever makes this index's vectors: the one given, else the offline counterpart.

    Raises:
        IndexMismatch: the index has another's.
    """
    chosen = embeddings or HashedEmbeddings()
    row = connection.execute("SELECT value FROM facts WHERE name = 'embeddings'").fetchone()
    if row is not None and row[0] != name_of(chosen):
        raise IndexMismatch(
            f"the index has vectors of {row[0]}, not of {name_of(chosen)}: open it with "
            "that one, or ingest into a new file"
        )
    return chosen
