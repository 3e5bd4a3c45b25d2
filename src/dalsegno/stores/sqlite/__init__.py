"""SQLite: one file, several threads and processes."""

from dalsegno.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
