"""The outside world: a post office that keeps what was sent, in a SQLite file of its own.

Rules of this module:

* It knows nothing of agents. It keeps the idempotency key that comes with a letter, and tells what it has under one.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

__all__ = ["Post"]

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS letters (number INTEGER PRIMARY KEY, recipient TEXT, subject TEXT, body TEXT, key TEXT)"
)


class Post:
    """A post office in a file."""

    def __init__(self, file: Path) -> None:
        """Open the file, or begin it."""
        self._file = file
        with closing(self._open()) as books, books:
            books.execute(_SCHEMA)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, timeout=10)

    def send(self, recipient: str, subject: str, body: str, key: str) -> str:
        """Send a letter; its number."""
        with closing(self._open()) as books, books:
            letter = (recipient, subject, body, key)
            done = books.execute("INSERT INTO letters (recipient, subject, body, key) VALUES (?, ?, ?, ?)", letter)
            return f"L-{done.lastrowid}"

    def under(self, key: str) -> str | None:
        """The number of the letter that was sent under a key."""
        with closing(self._open()) as books:
            row = books.execute("SELECT number FROM letters WHERE key = ?", (key,)).fetchone()
        return None if row is None else f"L-{row[0]}"

    def recipients(self) -> list[str]:
        """Whom letters were sent to, in order."""
        with closing(self._open()) as books:
            return [row[0] for row in books.execute("SELECT recipient FROM letters ORDER BY number")]
