"""The SQLite store: one file that several threads and processes share, or one database in memory.

Rules of this module:

* WAL, `synchronous=FULL`: a commit that returned survives a power cut. Writers take `BEGIN IMMEDIATE`, so two
  processes queue on the file's lock instead of failing half-way.
* One connection writes, guarded by group commit; readers have their own, each operation on one snapshot.
* Driver errors end here: every one becomes a `dalsegno.errors.StoreError` or `Damaged` with its cause chained.
* A file that is not a database, or one of a newer format, is refused untouched.
"""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from dalsegno import errors
from dalsegno.contracts import Batch, OpFactory, Rows, Step
from dalsegno.stores.commits import Commits, Outcome, settled
from dalsegno.stores.drive import drive
from dalsegno.stores.sqlite.setup import look, prepare
from dalsegno.stores.sqlite.vectors import add_functions
from dalsegno.stores.statements import load_statements

__all__ = ["SqliteStore"]

R = TypeVar("R")

_BUSY_SECONDS = 60.0
_PARENTS: list[object] = []
"""Connections of the process this one was forked from: held for ever, since letting one go would close it."""

_SPECIAL = re.compile(r"[%#?\x00-\x1f\x7f]")

DURABLY = "commit_durably"
"""Statement of an operation whose commit has to be on disk when it returns, whatever the setting."""

_READERS = 8
"""Idle connections kept for readers."""


class SqliteStore:
    """A `dalsegno.contracts.Store` over one SQLite file.

    Args:
        path: file to open or create; None keeps everything in memory until `close`.
        create: False refuses a file that does not exist.
        synchronous: SQLite's setting for commits, `FULL` (default: durable on return) or `NORMAL`
            (a power cut may lose the newest commits, never damage the file).
    """

    def __init__(self, path: Path | None, *, create: bool = True, synchronous: str = "FULL") -> None:
        if synchronous not in ("FULL", "NORMAL"):
            msg = f"synchronous={synchronous!r}: use FULL or NORMAL"
            raise errors.Misuse(msg)
        self._path = None if path is None else path.absolute()  # the program may change its folder
        self._url = "memory://" if path is None else f"sqlite:///{_quoted(str(path))}"
        self._synchronous = synchronous
        self._statements = load_statements("dalsegno.stores.sqlite")
        self._commits = Commits(self._run_group)
        self._lock = threading.RLock()
        self._idle = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._readers: list[sqlite3.Connection] = []
        self._pid = os.getpid()
        self._closed = False
        self._flush_due = False
        if path is not None:
            _check_place(path, create=create)
        with self._boundary():
            self._writer = self._open()
            try:
                prepare(self._writer, in_memory=path is None, create=create)
            except BaseException:
                self._writer.close()
                raise

    @property
    def url(self) -> str:
        """The URL this store answers to."""
        return self._url

    def run(self, factory: OpFactory[R], *, write: bool, key: Hashable = None) -> R:  # noqa: ARG002 - one writer: one line
        """Run an operation; see `dalsegno.contracts.Store.run`."""
        self._alive()
        if write:
            result: R = self._commits.run(factory, None)
            return result
        if self._path is None:
            with self._lock, self._boundary():
                return drive(factory(), self._step_with(self._main()))
        return self._read(factory)

    async def arun(self, factory: OpFactory[R], *, write: bool, key: Hashable = None) -> R:
        """Run an operation in a worker thread; see `dalsegno.contracts.Store.arun`."""
        work = asyncio.ensure_future(asyncio.to_thread(self.run, factory, write=write, key=key))
        return await settled(work) if write else await work

    def confine(self, *, tenant: int | None, name: str) -> None:
        """Nothing: a file has no walls in it."""

    def rewrite(self) -> None:
        """Rewrite the file and empty its log; see `dalsegno.contracts.Store.rewrite`.

        Takes the file's write lock and, while it lasts, room for a second copy of the file.
        """
        self._alive()
        if self._path is None:
            with self._lock, self._boundary():
                self._main().execute("VACUUM")
            return
        with self._lock, self._boundary():
            connection = self._open()
            try:
                connection.execute("PRAGMA temp_store = DEFAULT")  # a copy of the file may not fit into memory
                connection.execute("VACUUM")
                self._empty_log(connection)
            finally:
                connection.close()

    def _empty_log(self, connection: sqlite3.Connection) -> None:
        """Bring the log into the file and cut it to nothing; whoever reads an older state has to end first."""
        until = time.monotonic() + _BUSY_SECONDS
        while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > until:
                msg = (
                    f"{self.url}: another process reads an older state of the file, so the old bytes are still there; "
                    "end it"
                )
                raise errors.StoreUnavailable(
                    msg, step="then repeat ds.erasure.rewrite()", command="then repeat with `dalsegno erase --rewrite`"
                )
            time.sleep(0.02)

    def close(self) -> None:
        """Close every connection; the last one to close a file folds its WAL back."""
        self._leave_parents()
        with self._lock, self._idle:
            self._closed = True
            for connection in (*self._readers, *([self._writer] if self._writer else [])):
                connection.close()
            self._readers.clear()
            self._writer = None

    async def aclose(self) -> None:
        """Close every connection."""
        await asyncio.to_thread(self.close)

    # --- transactions

    def _read(self, factory: OpFactory[R]) -> R:
        with self._boundary():
            connection = self._borrow()
            try:
                connection.execute("BEGIN")
                result = drive(factory(), self._step_with(connection))
                connection.execute("COMMIT")
            except BaseException:
                connection.close()
                raise
            with self._idle:
                if self._closed or len(self._readers) >= _READERS:
                    connection.close()
                else:
                    self._readers.append(connection)
            return result

    def _run_group(self, group: list[Outcome]) -> None:
        with self._lock, self._boundary():
            connection = self._main()
            step = self._step_with(connection)
            connection.execute("BEGIN IMMEDIATE")
            try:
                for outcome in group:
                    if len(group) > 1:
                        connection.execute("SAVEPOINT one")
                    try:
                        outcome.result = drive(outcome.factory(), step)
                    except sqlite3.Error as error:
                        if len(group) == 1 or not connection.in_transaction:
                            raise
                        outcome.error = _translate(error, self.url)
                        outcome.error.__cause__ = error
                    except Exception as error:  # noqa: BLE001 - kept as this write's own outcome and raised by its caller
                        outcome.error = error
                    if len(group) > 1:
                        connection.execute("ROLLBACK TO one" if outcome.error else "RELEASE one")
                if len(group) == 1 and group[0].error is not None:
                    connection.execute("ROLLBACK")
                else:
                    connection.execute("COMMIT")
                    self._flush()
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _flush(self) -> None:
        """Bring a commit to disk that asked for it, where the setting would not."""
        if not self._flush_due:
            return
        self._flush_due = False
        if self._path is None or self._synchronous == "FULL":
            return
        try:
            log = os.open(f"{self._path}-wal", os.O_RDONLY)
            try:
                os.fsync(log)
            finally:
                os.close(log)
        except OSError as error:
            msg = f"{self.url}: the disk failed ({error.strerror}); read before repeating a write."
            raise errors.StoreUnavailable(msg) from error

    def _step_with(self, connection: sqlite3.Connection) -> Any:
        statements = self._statements

        def execute(step: Step) -> Rows:
            sql = statements[step.name]
            if step.name == DURABLY:
                self._flush_due = True
            if isinstance(step.params, (list, tuple)):
                connection.executemany(sql, step.params)
                return []
            return connection.execute(sql, step.params).fetchall()

        def run(step: Step | Batch) -> Rows:
            if isinstance(step, Step):
                return execute(step)
            for one in step:
                execute(one)
            return []

        return run

    # --- connections

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            ":memory:" if self._path is None else self._path,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.create_function("ds_unhex", 1, bytes.fromhex, deterministic=True)
            add_functions(connection)
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA cache_size = -16384")
        except UnicodeDecodeError as error:  # the driver's, over a message that quotes a garbled schema
            connection.close()
            raise errors.Damaged(self.url, expected="a sound SQLite file", found=error.reason) from error
        except BaseException:
            connection.close()
            raise
        return connection

    def _main(self) -> sqlite3.Connection:
        self._open_still()
        if self._writer is None:
            self._writer = self._open()
        return self._writer

    def _borrow(self) -> sqlite3.Connection:
        with self._idle:
            if self._readers:
                return self._readers.pop()
        return self._open()

    def _open_still(self) -> None:
        if self._closed:
            msg = f"{self.url} is closed; connect again"
            raise errors.Misuse(msg)

    def _alive(self) -> None:
        self._open_still()
        self._leave_parents()

    def _leave_parents(self) -> None:
        """In a forked child: leave the parent's connections alone, without even closing them, and begin afresh."""
        if self._pid != os.getpid() and self._path is not None:
            self._pid = os.getpid()
            self._lock, self._idle = threading.RLock(), threading.Lock()
            self._commits = Commits(self._run_group)
            _PARENTS.append((self._writer, self._readers))
            self._writer, self._readers = None, []

    @contextmanager
    def _boundary(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _translate(error, self.url) from error


def _check_place(path: Path, *, create: bool) -> None:
    try:
        head = _head_of(path, create=create)
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror}); check the owner and mode of the file and its folders"
        raise errors.NotADatabase(msg) from error
    if head and head != b"SQLite format 3\x00":
        msg = f"{path} is not an SQLite database; nothing was changed. Check the path"
        raise errors.NotADatabase(msg)
    if head:
        with suppress(sqlite3.Error, UnicodeDecodeError):  # what else is wrong with it, opening it will tell
            look(path, create=create)


def _head_of(path: Path, *, create: bool) -> bytes:
    """How a file begins; nothing when it is not there and may be made."""
    if path.is_dir():
        msg = f"{path} is a folder; give the database a file name, such as {path / 'agents.db'}"
        raise errors.NotADatabase(msg)
    if not path.exists():
        if not create:
            msg = f"{path} does not exist"
            raise errors.NoDatabase(
                msg,
                step="check the path, or connect with create=True to make a new database",
                command="check the path, or make a new database with `dalsegno import`",
            )
        if not path.parent.is_dir():
            msg = f"{path.parent} does not exist; create the folder first"
            raise errors.NotADatabase(msg)
        return b""
    with path.open("rb") as file:
        return file.read(16)


def _quoted(path: str) -> str:
    """A path as it stands in a URL: quoted where it would mean something else there, and readable otherwise."""
    return _SPECIAL.sub(lambda found: quote(found[0], safe=""), path)


def _translate(error: sqlite3.Error, url: str = "the database") -> errors.DalsegnoError:
    """Turn a driver error into the family that says what to do."""
    code = getattr(error, "sqlite_errorcode", 0) or 0
    match code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return errors.StoreFull(
                f"{url}: the disk is full; nothing of this write was kept. Free space and repeat it."
            )
        case sqlite3.SQLITE_CORRUPT:
            return errors.Damaged(url, expected="a sound SQLite file", found=str(error))
        case sqlite3.SQLITE_NOTADB:
            return errors.NotADatabase(
                f"{url} is not an SQLite database ({error}); nothing was changed. Check the path."
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return errors.StoreUnavailable(
                f"{url}: another process has held the write lock for {_BUSY_SECONDS:.0f} s; nothing was written. "
                "Look for a stuck writer and repeat."
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return errors.StoreError(f"{url} is read-only; nothing was written. Check the owner and mode of the file.")
        case sqlite3.SQLITE_CANTOPEN:
            return errors.StoreUnavailable(f"{url} cannot be opened ({error}); check the path and its folder's mode.")
        case sqlite3.SQLITE_IOERR:
            return errors.StoreUnavailable(f"{url}: the disk failed ({error}); read before repeating a write.")
    if code == 0 and "decode to UTF-8" in str(error):  # the driver's own, which quotes the whole text
        return errors.Damaged(url, expected="text in UTF-8", found=str(error)[:200])
    return errors.StoreError(f"{url}: {type(error).__name__}: {error}; run `dalsegno check` if it persists.")
