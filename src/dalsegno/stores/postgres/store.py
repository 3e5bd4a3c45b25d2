"""The PostgreSQL store: pooled connections, one transaction an operation, many processes and machines.

Rules of this module:

* Nothing needs a session to stay open: no temporary tables, no session settings, no advisory lock outlives its
  transaction. With `?prepare=off` no prepared statement does either (for poolers that hand out another session each
  time).
* Writers of one thread queue on its row; writes of this process to one thread share commits.
* A connection that the server killed is replaced. An operation whose transaction was rolled back by that is run again
  once, after the idle connections were looked at, since one cut seldom comes alone; when the connection broke during
  the commit itself, the outcome is unknown and `StoreUnavailable` says so.
* Driver errors end here.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, LiteralString, TypeVar, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Literal
from psycopg.types.string import TextLoader
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from dalsegno import errors
from dalsegno.contracts import Batch, OpFactory, Rows, Step
from dalsegno.stores.commits import AsyncCommits, Commits, Outcome
from dalsegno.stores.drive import adrive, drive
from dalsegno.stores.postgres.attempts import Attempts, Stage
from dalsegno.stores.postgres.setup import prepare
from dalsegno.stores.statements import load_statements

__all__ = ["PostgresStore"]

R = TypeVar("R")

_Pool = ConnectionPool[psycopg.Connection[tuple[Any, ...]]]
_AsyncPool = AsyncConnectionPool[psycopg.AsyncConnection[tuple[Any, ...]]]

_READ: LiteralString = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE: LiteralString = "BEGIN"
_CONNECT_SECONDS = 10.0
_PATIENCE_SECONDS = 60.0
"""How long rewriting waits for those who use what it rewrites."""
_PARENTS: list[object] = []
"""Pools of the process this one was forked from: held for ever, since letting one go would close it."""


class PostgresStore:
    """A `dalsegno.contracts.Store` over one PostgreSQL database.

    Args:
        url: `postgresql://user@host/db`; `min_size` (1), `max_size` (10) and `prepare` (`on`) may stand in its query
            besides the driver's own settings.
        create: False refuses a database without dalsegno's tables.
    """

    def __init__(self, url: str, *, create: bool = True) -> None:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        self._shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self._min = _number(self._shown, options.pop("min_size", "1"))
        self._max = max(_number(self._shown, options.pop("max_size", "10")), self._min, 1)
        self._prepare = options.pop("prepare", "on") != "off"
        self._conninfo = urlunsplit(
            (parts.scheme, parts.netloc, parts.path, urlencode(options, quote_via=quote), parts.fragment)
        )
        _check_conninfo(self._conninfo, self._shown, [parts.password or "", options.get("password", "")])
        self._statements = load_statements("dalsegno.stores.postgres")
        self._confine = load_statements("dalsegno.stores.postgres", "confine.sql")["confine"]
        self._name: str | None = None
        self._read, self._write = _READ.encode(), _WRITE.encode()
        self._lock = threading.Lock()
        self._pool: ConnectionPool[psycopg.Connection[tuple[Any, ...]]] | None = None
        self._apools: dict[int, _Loop] = {}
        self._commits = Commits(self._run_group)
        self._pid = os.getpid()
        self._closed = False
        with self._boundary():
            try:
                connection = psycopg.connect(self._conninfo, autocommit=True, connect_timeout=10)
            except psycopg.OperationalError as error:
                raise _unreachable(error, self._shown) from error
            with connection:
                prepare(connection, create=create)

    @property
    def url(self) -> str:
        """Where the database is, without user and password."""
        return self._shown

    def run(self, factory: OpFactory[R], *, write: bool, key: Hashable = None) -> R:
        """Run an operation; see `dalsegno.contracts.Store.run`."""
        self._alive()
        if write:
            result: R = self._commits.run(factory, key if key is not None else object())
            return result
        outcome = Outcome(factory)
        self._transact([outcome], read=True)
        return cast("R", outcome.get())

    async def arun(self, factory: OpFactory[R], *, write: bool, key: Hashable = None) -> R:
        """Run an operation; see `dalsegno.contracts.Store.arun`."""
        self._alive()
        loop = await self._loop()
        if write:
            result: R = await loop.commits.run(factory, key if key is not None else object())
            return result
        outcome = Outcome(factory)
        await self._atransact(loop, [outcome], read=True)
        return cast("R", outcome.get())

    def confine(self, *, tenant: int | None, name: str) -> None:
        """Name the tenant that row-level security lets through; see `dalsegno.contracts.Store.confine`."""
        self._name = name if tenant is None else None
        # One message to the server: what a transaction begins with costs no round trip more.
        wall = SQL("") if tenant is None else SQL("; SET LOCAL dalsegno.tenant = {}").format(Literal(tenant))
        self._read, self._write = (SQL(_READ) + wall).as_bytes(), (SQL(_WRITE) + wall).as_bytes()

    def rewrite(self) -> None:
        """Rewrite every table; see `dalsegno.contracts.Store.rewrite`.

        Locks one table after another against all use, and takes room for a second copy of the largest.
        """
        self._alive()
        statements = load_statements("dalsegno.stores.postgres", "rewrite.sql")
        with self._boundary(), psycopg.connect(self._conninfo, **self._settings()) as connection:
            connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{_PATIENCE_SECONDS:.0f}s",))
            (horizon,) = connection.execute(statements["horizon"]).fetchone() or ("0",)
            self._outwait(connection, statements["holders"], str(horizon))
            skipped: list[str] = []
            connection.add_notice_handler(
                lambda told: (
                    skipped.append(str(told.message_primary)) if told.severity_nonlocalized == "WARNING" else None
                )
            )
            connection.execute(statements["vacuum"])
        if skipped:  # the server only warns of a table that it leaves alone
            msg = f"{self._shown}: {skipped[0]}; the old bytes may still be there. Ask the tables' owner to repeat it"
            raise errors.StoreError(msg, step="with ds.erasure.rewrite()", command="with `dalsegno erase --rewrite`")

    def _outwait(self, connection: psycopg.Connection[Any], holders_sql: LiteralString, horizon: str) -> None:
        """Wait for transactions that may still see the rows that are gone: what they see is not taken out."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while holders := connection.execute(holders_sql, {"horizon": horizon}).fetchall():
            if time.monotonic() > until:
                pid, name, database = holders[0]
                known = f"process {pid}, {name or 'unnamed'}, database {database}"
                who = known if pid else "of another role or prepared"
                msg = (
                    f"{self._shown}: a transaction from before is still open ({who}), "
                    "so the old bytes are still there; end it"
                )
                raise errors.StoreUnavailable(
                    msg, step="then repeat ds.erasure.rewrite()", command="then repeat with `dalsegno erase --rewrite`"
                )
            time.sleep(0.05)

    def close(self) -> None:
        """Close every pool. One whose event loop runs elsewhere is closed there, soon after."""
        self._leave_parents()
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
            loops, self._apools = list(self._apools.values()), {}
        if pool is not None:
            pool.close()
        for loop in loops:
            loop.end()

    async def aclose(self) -> None:
        """Close every pool that belongs to the running loop, and the process's own."""
        self._leave_parents()
        loop = self._apools.pop(id(asyncio.get_running_loop()), None)
        if loop is not None:
            await loop.close()
        await asyncio.to_thread(self.close)

    # --- transactions

    def _run_group(self, group: list[Outcome]) -> None:
        self._transact(group, read=False)

    def _transact(self, group: list[Outcome], *, read: bool) -> None:
        attempts = Attempts(self._max)
        while True:
            attempts.stage = Stage.AWAY
            try:
                with self._boundary(), self._ready().connection(timeout=_CONNECT_SECONDS) as connection:
                    attempts.stage = Stage.TAKEN
                    step = self._step_with(connection)
                    connection.execute(self._read if read else self._write)
                    if self._name is not None:
                        connection.execute(self._confine, {"name": self._name})
                    attempts.stage = Stage.BEGUN
                    for outcome in group:
                        self._one(connection, outcome, step, alone=len(group) == 1)
                    attempts.stage = Stage.BEGUN if read else Stage.COMMITTING
                    failed = len(group) == 1 and group[0].error is not None
                    connection.execute("ROLLBACK" if failed or read else "COMMIT")
            except errors.StoreUnavailable:
                if not attempts.again():
                    raise
                self._ready().check()  # whoever ended this session may have ended the idle ones too
                for outcome in group:
                    outcome.result = outcome.error = None
            else:
                return

    def _one(
        self,
        connection: psycopg.Connection[tuple[Any, ...]],
        outcome: Outcome,
        step: Callable[[Step | Batch], Rows],
        *,
        alone: bool,
    ) -> None:
        if not alone:
            connection.execute("SAVEPOINT one")
        try:
            outcome.result = drive(outcome.factory(), step)
        except psycopg.Error as error:
            if alone or connection.closed:
                raise
            outcome.error = _translate(error, self._shown)
            outcome.error.__cause__ = error
        except Exception as error:  # noqa: BLE001 - kept as this write's own outcome and raised by its caller
            outcome.error = error
        if not alone:
            connection.execute("ROLLBACK TO one" if outcome.error else "RELEASE one")

    async def _atransact(self, loop: _Loop, group: list[Outcome], *, read: bool) -> None:
        attempts = Attempts(self._max)
        while True:
            attempts.stage = Stage.AWAY
            try:
                with self._boundary():
                    async with loop.pool.connection(timeout=_CONNECT_SECONDS) as connection:
                        attempts.stage = Stage.TAKEN
                        step = self._astep_with(connection)
                        await connection.execute(self._read if read else self._write)
                        if self._name is not None:
                            await connection.execute(self._confine, {"name": self._name})
                        attempts.stage = Stage.BEGUN
                        for outcome in group:
                            await self._aone(connection, outcome, step, alone=len(group) == 1)
                        attempts.stage = Stage.BEGUN if read else Stage.COMMITTING
                        failed = len(group) == 1 and group[0].error is not None
                        await connection.execute("ROLLBACK" if failed or read else "COMMIT")
            except errors.StoreUnavailable:
                if not attempts.again():
                    raise
                await loop.pool.check()  # whoever ended this session may have ended the idle ones too
                for outcome in group:
                    outcome.result = outcome.error = None
            else:
                return

    async def _aone(
        self,
        connection: psycopg.AsyncConnection[tuple[Any, ...]],
        outcome: Outcome,
        step: Callable[[Step | Batch], Awaitable[Rows]],
        *,
        alone: bool,
    ) -> None:
        if not alone:
            await connection.execute("SAVEPOINT one")
        try:
            outcome.result = await adrive(outcome.factory(), step)
        except psycopg.Error as error:
            if alone or connection.closed:
                raise
            outcome.error = _translate(error, self._shown)
            outcome.error.__cause__ = error
        except Exception as error:  # noqa: BLE001 - kept as this write's own outcome and raised by its caller
            outcome.error = error
        if not alone:
            await connection.execute("ROLLBACK TO one" if outcome.error else "RELEASE one")

    # --- steps

    def _step_with(self, connection: psycopg.Connection[tuple[Any, ...]]) -> Callable[[Step | Batch], Rows]:
        statements = self._statements

        def execute(step: Step) -> Rows:
            with connection.cursor() as cursor:
                if isinstance(step.params, (list, tuple)):
                    cursor.executemany(statements[step.name], step.params)
                    return []
                cursor.execute(statements[step.name], step.params)
                return cursor.fetchall() if cursor.description is not None else []

        def run(step: Step | Batch) -> Rows:
            if isinstance(step, Step):
                return execute(step)
            with connection.pipeline():
                for one in step:
                    with connection.cursor() as cursor:
                        if isinstance(one.params, (list, tuple)):
                            cursor.executemany(statements[one.name], one.params)
                        else:
                            cursor.execute(statements[one.name], one.params)
            return []

        return run

    def _astep_with(
        self, connection: psycopg.AsyncConnection[tuple[Any, ...]]
    ) -> Callable[[Step | Batch], Awaitable[Rows]]:
        statements = self._statements

        async def execute(step: Step) -> Rows:
            async with connection.cursor() as cursor:
                if isinstance(step.params, (list, tuple)):
                    await cursor.executemany(statements[step.name], step.params)
                    return []
                await cursor.execute(statements[step.name], step.params)
                return await cursor.fetchall() if cursor.description is not None else []

        async def run(step: Step | Batch) -> Rows:
            if isinstance(step, Step):
                return await execute(step)
            async with connection.pipeline():
                for one in step:
                    async with connection.cursor() as cursor:
                        if isinstance(one.params, (list, tuple)):
                            await cursor.executemany(statements[one.name], one.params)
                        else:
                            await cursor.execute(statements[one.name], one.params)
            return []

        return run

    # --- connections

    def _ready(self) -> ConnectionPool[psycopg.Connection[tuple[Any, ...]]]:
        with self._lock:
            self._open_still()
            if self._pool is None:
                self._pool = ConnectionPool(
                    self._conninfo,
                    min_size=self._min,
                    max_size=self._max,
                    kwargs=self._settings(),
                    configure=_configure,
                    check=ConnectionPool.check_connection if self._pid != os.getpid() else None,
                    open=True,
                    name="dalsegno",
                )
            return self._pool

    async def _loop(self) -> _Loop:
        running = asyncio.get_running_loop()
        found = self._apools.get(id(running))
        if found is None or found.loop is not running:
            self._reap()
            pool: AsyncConnectionPool[psycopg.AsyncConnection[tuple[Any, ...]]] = AsyncConnectionPool(
                self._conninfo,
                min_size=self._min,
                max_size=self._max,
                kwargs=self._settings(),
                configure=_aconfigure,
                open=False,
                name="dalsegno",
            )
            found = self._apools[id(running)] = _Loop(self, pool, running)
            await pool.open()
            try:
                with self._boundary():
                    await pool.wait(timeout=_CONNECT_SECONDS)  # who asked sooner would make it open a second session
            except errors.StoreUnavailable:
                if self._apools.get(id(running)) is found:
                    del self._apools[id(running)]
                await found.close()
                raise
        return found

    def _reap(self) -> None:
        """Let go of the connections of event loops that have ended without closing them (`asyncio.run` does that)."""
        for key, entry in list(self._apools.items()):
            if entry.loop.is_closed():
                self._apools.pop(key, None)
                entry.end()

    def _settings(self) -> dict[str, Any]:
        return {
            "autocommit": True,
            "prepare_threshold": 5 if self._prepare else None,
            "connect_timeout": int(_CONNECT_SECONDS),
        }

    def _open_still(self) -> None:
        if self._closed:
            msg = f"{self._shown} is closed; connect again"
            raise errors.Misuse(msg)

    def _alive(self) -> None:
        self._open_still()
        self._leave_parents()

    def _leave_parents(self) -> None:
        """In a forked child: leave the parent's sessions alone, without even ending them, and begin afresh."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._lock = threading.Lock()
            self._commits = Commits(self._run_group)
            _PARENTS.append((self._pool, self._apools))
            self._pool = None
            self._apools = {}

    @contextmanager
    def _boundary(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise _translate(error, self._shown) from error


class _Loop:
    """What belongs to one event loop: its pool and its queue of writes.

    The pool goes with the loop. `asyncio.run` cancels all tasks in the end and waits for them, and a worker of the pool
    that is opening a session takes that for a failed attempt and lives on: the program would never end. So a task of
    our own waits to be cancelled, and then closes the pool, which ends its workers.
    """

    def __init__(self, store: PostgresStore, pool: _AsyncPool, loop: asyncio.AbstractEventLoop) -> None:
        self.pool = pool
        self.loop = loop

        async def run_group(group: list[Outcome]) -> None:
            await store._atransact(self, group, read=False)  # noqa: SLF001 - one pair of classes

        self.commits = AsyncCommits(run_group)
        self._goes_with = loop.create_task(_closed_in_the_end(pool), name="dalsegno-closing")

    async def close(self) -> None:
        """Close the pool, inside its loop."""
        self._goes_with.cancel()
        await self.pool.close()

    def end(self) -> None:
        """Close the pool: in its loop where that still runs, else by hanging up its idle connections."""
        if self.loop.is_running():
            asyncio.run_coroutine_threadsafe(self.close(), self.loop)
            return
        for connection in list(self.pool._pool):  # noqa: SLF001 - no loop is left to close them in
            connection.pgconn.finish()


async def _closed_in_the_end(pool: _AsyncPool) -> None:
    try:
        await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError:
        idle = list(pool._pool)  # noqa: SLF001 - closing ends at the first worker that was cancelled
        with suppress(asyncio.CancelledError):
            await pool.close()
        for connection in idle:
            await connection.close()
        raise


def _configure(connection: psycopg.Connection[Any]) -> None:
    # Bodies are handed up as JSON text; whoever needs a tree parses it once.
    connection.adapters.register_loader("jsonb", TextLoader)


async def _aconfigure(connection: psycopg.AsyncConnection[Any]) -> None:
    connection.adapters.register_loader("jsonb", TextLoader)


def _number(url: str, text: str) -> int:
    if not text.isdigit():
        msg = f"{url}: min_size and max_size are whole numbers, not {text!r}"
        raise errors.Misuse(msg)
    return int(text)


def _check_conninfo(conninfo: str, shown: str, secrets: Sequence[str]) -> None:
    """Refuse a URL the driver cannot read, before anything is tried with it."""
    try:
        int(conninfo_to_dict(conninfo).get("port") or 0)
    except (psycopg.ProgrammingError, ValueError) as error:
        told = _line(error)
        for secret in filter(None, [*secrets, *map(unquote, secrets)]):
            told = told.replace(secret, "…")
        msg = f"{shown}: {told}; write postgresql://user@host:port/db?setting=value"
        raise errors.Misuse(msg) from None


_WAIT = ("too many", "starting up", "shutting down", "recovery", "not currently accepting", "terminating")
"""What a server says that refuses for a while; anything else it says on connecting is about who asks for what."""


def _unreachable(error: psycopg.OperationalError, url: str) -> errors.StoreError:
    """Turn a failure to connect into the family that says what to do; the driver gives no code here, only words."""
    told = _line(error)
    if "FATAL" in told and not any(word in told for word in _WAIT):
        return errors.NotADatabase(f"{url}: {told}; check database name, user and password.")
    return errors.StoreUnavailable(
        f"{url}: {told}; nothing was read or written. Check the host, and that the server runs."
    )


def _translate(error: psycopg.Error, url: str) -> errors.DalsegnoError:
    """Turn a driver error into the family that says what to do."""
    if isinstance(error, (pg.DiskFull, pg.OutOfMemory)):
        return errors.StoreFull(
            f"{url}: the server is out of space; nothing of this write was kept. Free space and repeat it."
        )
    if isinstance(error, (pg.DataCorrupted, pg.IndexCorrupted)):
        return errors.Damaged(url, expected="a sound database", found=str(error).strip())
    if isinstance(error, (pg.InvalidCatalogName, pg.InvalidPassword, pg.InvalidAuthorizationSpecification)):
        return errors.NotADatabase(f"{url}: {_line(error)}; check database name, user and password.")
    if isinstance(error, (pg.InsufficientPrivilege, pg.ReadOnlySqlTransaction)):
        return errors.StoreError(f"{url}: {_line(error)}; nothing was written. Ask for the right to this schema.")
    if isinstance(error, PoolTimeout) or error.sqlstate is None or error.sqlstate[:2] in ("08", "53", "57"):
        return errors.StoreUnavailable(
            f"{url}: {_line(error)}; the outcome of a write is unknown: read before repeating it. Is the server up?"
        )
    if isinstance(error, pg.LockNotAvailable):
        return errors.StoreUnavailable(f"{url}: {_line(error)}; a table is in use for too long. Repeat it later.")
    if isinstance(error, (pg.SerializationFailure, pg.DeadlockDetected)):
        return errors.StoreUnavailable(f"{url}: {_line(error)}; nothing was written. Repeat it.")
    return errors.StoreError(f"{url}: {type(error).__name__}: {_line(error)}; run `dalsegno check` if it persists.")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
