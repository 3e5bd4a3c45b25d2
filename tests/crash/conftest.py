"""Processes that can be killed, and what is there afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dalsegno
from dalsegno.connect import open_store
from dalsegno.testing import connect_over

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg


@dataclass(frozen=True)
class Ended:
    """A process of the nursery that is no more: its exit code or minus its signal, and what it said."""

    status: int
    report: list[Any]

    @property
    def killed(self) -> bool:
        return self.status == -9


class Nursery:
    """Starts one process at a time and waits for its end; see nursery.py."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program

    def run(self, job: str, *, seconds: float | None = None, **arguments: Any) -> Ended:
        """Run a job in a process of its own, killed after so many seconds; one that fails by itself fails the test."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(json.dumps({"job": job, "arguments": arguments, "seconds": seconds}) + "\n")
        self._program.stdin.flush()
        ended = Ended(**json.loads(self._program.stdout.readline()))
        assert ended.status in (0, -9), f"{job} {arguments} failed by itself; its traceback is in the captured stderr"
        return ended


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """A warm process that forks."""
    program = [sys.executable, str(Path(__file__).with_name("nursery.py"))]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        yield Nursery(running)
        assert running.stdin is not None
        running.stdin.close()


@pytest.fixture
def swift_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: what a killed process leaves does not depend on the disk's flushes."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="dalsegno-crash-", dir=memory) as folder:
        yield Path(folder)


class Scene:
    """A database in which processes die, and the way to look at it afterwards.

    A SQLite file is opened anew each time, so that it has to recover; a PostgreSQL server recovered by itself when the
    dead process's session is gone, which `after` waits for, so one pool serves all looks at it.
    """

    def __init__(self, url: str, admin: psycopg.Connection | None) -> None:
        self._url, self._admin = url, admin
        self._store = None if admin is None else open_store(url)

    @property
    def url(self) -> str:
        """For the process that dies."""
        return (
            self._url
            if self._admin is None
            else f"{self._url}{'&' if '?' in self._url else '?'}application_name=mortal"
        )

    @contextlib.contextmanager
    def after(self, tenant: str = "default") -> Iterator[dalsegno.Dalsegno]:
        """Open it once more, now that the process is dead."""
        if self._store is None:
            with dalsegno.connect(self._url, tenant=tenant) as ds:
                yield ds
            return
        for _ in range(2000):
            (mortals,) = self._admin.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mortal'"
            ).fetchone()
            if not mortals:
                break
            time.sleep(0.001)
        else:
            raise AssertionError("the killed process's session is still there after two seconds")
        yield connect_over(self._store, tenant=tenant)

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


@pytest.fixture(params=["sqlite", "postgres"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    """A store of each kind that outlives a process."""
    if request.param == "sqlite":
        found = Scene(f"sqlite:///{request.getfixturevalue('swift_path') / 'agents.db'}", None)
    else:
        found = Scene(request.getfixturevalue("postgres_url"), request.getfixturevalue("postgres_admin"))
    yield found
    found.close()
