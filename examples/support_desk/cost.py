"""What a request of six checkpoints costs: with attachment references, and with a 384 KB image put into the state.

The same graph runs on dalsegno and on LangGraph's own savers, side by side, each in a new database; what is compared is
by how much it grew. The ledger's own database is not counted on any side.
"""

from __future__ import annotations

import base64
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

import dalsegno
from examples.support_desk.graph import build
from examples.support_desk.mind import Rules
from examples.support_desk.shop import Shop
from examples.support_desk.state import SCHEMA

__all__ = ["Row", "measure", "tell"]

IMAGE_BYTES = 384 * 1024
_WISH = "订单 SO20260902 现在什么状态？物流到哪了？"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One saver's costs for a request.

    Attributes:
        saver: which.
        bytes_by_reference, ms_by_reference: with the attachments' addresses in the state.
        bytes_with_body, ms_with_body: with an image's body in place of one address.
        checkpoints: how many a request has.
    """

    saver: str
    bytes_by_reference: float
    ms_by_reference: float
    bytes_with_body: float
    ms_with_body: float
    checkpoints: int


def measure(requests: int, postgres: str | None = None) -> list[Row]:
    """Run requests on every saver that is here."""
    rows = []
    for saver, opened in _savers(postgres):
        found = []
        for image, count in ((False, requests), (True, max(2, requests // 10))):
            with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as (kept, size):
                found.append(_grown(kept, size, Path(folder), count, image=image))
        (by_reference, ms, checkpoints), (with_body, ms_body, _) = found
        rows.append(
            Row(
                saver=saver,
                bytes_by_reference=by_reference,
                ms_by_reference=ms,
                bytes_with_body=with_body,
                ms_with_body=ms_body,
                checkpoints=checkpoints,
            )
        )
    return rows


_Opened = Callable[[Path], Any]


def _grown(
    saver: BaseCheckpointSaver[Any], size: Callable[[], int], folder: Path, count: int, *, image: bool
) -> tuple[float, float, int]:
    with dalsegno.connect("memory://") as ledger:
        graph = build(ledger, Shop(folder / "shop.db"), Rules(), checkpointer=saver)
        _ask(graph, "warm", 0, image=image)
        before, began = size(), time.perf_counter()
        for number in range(count):
            _ask(graph, f"t-{number}", number + 1, image=image)
        ms = (time.perf_counter() - began) * 1000 / count
        checkpoints = len(list(graph.get_state_history({"configurable": {"thread_id": "t-0"}})))
    return (size() - before) / count, ms, checkpoints


def _ask(graph: Any, thread_id: str, seed: int, *, image: bool) -> None:
    attachments = [
        {"id": f"a{number}", "kind": "image", "ref": f"blob://tickets/{seed}/{number}.png", "caption": "照片"}
        for number in range(3)
    ]
    if image:
        attachments[0]["ref"] = base64.b64encode(random.Random(seed).randbytes(IMAGE_BYTES * 3 // 4)).decode()  # noqa: S311 - no secret
    graph.invoke(
        {"messages": [HumanMessage(_WISH)], "attachments": attachments}, {"configurable": {"thread_id": thread_id}}
    )


def _savers(postgres: str | None) -> Iterator[tuple[str, _Opened]]:
    yield "dalsegno, SQLite", _dalsegno_sqlite
    try:
        import langgraph.checkpoint.sqlite  # noqa: PLC0415 - measured where it is installed
    except ImportError:
        pass
    else:
        yield "LangGraph's SqliteSaver", _stock_sqlite
    if postgres is not None:
        yield "dalsegno, PostgreSQL", lambda _: _dalsegno_postgres(postgres)
        try:
            import langgraph.checkpoint.postgres  # noqa: F401, PLC0415 - measured where it is installed
        except ImportError:
            return
        yield "LangGraph's PostgresSaver", lambda _: _stock_postgres(postgres)


def _file_size(file: Path) -> Callable[[], int]:
    def size() -> int:
        with closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return sum(part.stat().st_size for part in file.parent.glob(f"{file.name}*"))

    return size


@contextmanager
def _dalsegno_sqlite(folder: Path) -> Iterator[Any]:
    file = folder / "dalsegno.db"
    with dalsegno.connect(f"sqlite:///{file}", schema=SCHEMA) as ds:
        yield ds.checkpointer, _file_size(file)


@contextmanager
def _stock_sqlite(folder: Path) -> Iterator[Any]:
    from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415 - as above

    file = folder / "stock.db"
    with SqliteSaver.from_conn_string(str(file)) as saver:
        yield saver, _file_size(file)


@contextmanager
def _dalsegno_postgres(url: str) -> Iterator[Any]:
    with ExitStack() as stack:
        ds = stack.enter_context(dalsegno.connect(url, schema=SCHEMA))
        yield ds.checkpointer, _database_size(url)


@contextmanager
def _stock_postgres(url: str) -> Iterator[Any]:
    from langgraph.checkpoint.postgres import PostgresSaver  # noqa: PLC0415 - as above

    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        yield saver, _database_size(url)


def _database_size(url: str) -> Callable[[], int]:
    import psycopg  # noqa: PLC0415 - for PostgreSQL only

    def size() -> int:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM")
            row = connection.execute(
                "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = "
                "'public'::regnamespace"
            ).fetchone()
        return int(row[0]) if row else 0

    return size


def tell(rows: list[Row]) -> int:
    """Print the table."""
    print("| saver | checkpoints | by reference | | with a 384 KB image in the state | |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        cells = (
            row.saver,
            str(row.checkpoints),
            f"{row.bytes_by_reference / 1024:,.1f} KB",
            f"{row.ms_by_reference:.1f} ms",
            f"{row.bytes_with_body / 1024:,.0f} KB",
            f"{row.ms_with_body:.1f} ms",
        )
        print(f"| {' | '.join(cells)} |")
    return 0
