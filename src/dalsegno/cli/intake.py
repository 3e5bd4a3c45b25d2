"""Bring a recorded conversation into a thread, from where a graph can go on with it.

Rules of this module:

* What is to be imported is read whole before anything is written, and the thread is there whole or not at all: a
  transcript is one checkpoint; the many of a LangGraph database are put under a name of their own and copied to the
  wanted one in one transaction.
* A thread is never imported into: the id must be new.
* A LangGraph thread keeps its checkpoints' ids, parents, metadata and waiting writes, so that a run that was
  interrupted there is resumed here.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from langgraph.checkpoint.base import empty_checkpoint

from dalsegno.errors import DalsegnoError, Missing, ThreadExists, ThreadNotFound, TranscriptError
from dalsegno.imports import is_sqlite, read_postgres, read_sqlite, read_transcript
from dalsegno.langgraph.checkpointer import FORK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import RunnableConfig

    import dalsegno
    from dalsegno.imports import StockCheckpoint, StockThread

__all__ = ["Imported", "bring_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What was brought in.

    Attributes:
        format: `openai`, `langchain` or `langgraph`.
        source: the file or database, and the place in it.
        thread_id: the thread that was made.
        checkpoints: how many it has.
        events: how many its journal has.
    """

    format: str
    source: str
    thread_id: str
    checkpoints: int
    events: int


def bring_in(
    ds: dalsegno.Dalsegno,
    source: str,
    thread_id: str,
    *,
    index: int | None = None,
    origin: str | None = None,
    progress: Callable[[int, int | None], None] = lambda _done, _total: None,
) -> Imported:
    """Import a file or database.

    Args:
        ds: where to.
        source: path of a transcript or of a SQLite database of LangGraph's saver, or the URL of a PostgreSQL one.
        thread_id: the thread to make.
        index: which conversation of a transcript that holds several.
        origin: which thread of a database that holds several.
        progress: told (checkpoints done, in all).

    Raises:
        TranscriptError: it cannot be read, or holds several and none was named; nothing was written.
        ThreadExists: the thread is not new; nothing was written.
    """
    with suppress(ThreadNotFound):
        ds.threads.get(thread_id)
        raise ThreadExists(f"thread {thread_id!r} holds something already; import under another id (--thread).")
    if source.startswith(("postgresql://", "postgres://")):
        stock = _one(read_postgres(source), origin, thread_id)
    elif is_sqlite(source):
        stock = _one(read_sqlite(source), origin, thread_id)
    else:
        transcript = read_transcript(Path(source), index=index)
        _put_transcript(ds, thread_id, transcript.messages)
        return _imported(ds, transcript.format, transcript.source, thread_id)
    _put_thread(ds, thread_id, stock, progress)
    return _imported(ds, "langgraph", f"{stock.source} thread {stock.thread_id!r}", thread_id)


def _one(threads: Sequence[StockThread], origin: str | None, thread_id: str) -> StockThread:
    """The thread that was named; the one of the same id; or the only one there is."""
    by_id = {thread.thread_id: thread for thread in threads}
    if origin is not None and origin not in by_id:
        raise Missing(f"no thread {origin!r} in this database; it holds {_some(by_id)} (--from).")
    named = origin or (thread_id if thread_id in by_id else None)
    if named is not None:
        return by_id[named]
    if len(threads) != 1:
        raise TranscriptError(f"this database holds {len(threads)} threads ({_some(by_id)}); choose one with --from.")
    return threads[0]


def _some(ids: dict[str, StockThread], most: int = 5) -> str:
    shown = ", ".join(map(repr, list(ids)[:most]))
    return shown + (f" and {len(ids) - most} more" if len(ids) > most else "") if ids else "none"


def _put_transcript(ds: dalsegno.Dalsegno, thread_id: str, messages: Sequence[BaseMessage]) -> None:
    named = [message if message.id else message.model_copy(update={"id": str(uuid.uuid4())}) for message in messages]
    checkpoint = empty_checkpoint() | {
        "channel_values": {"messages": named},
        "channel_versions": {"messages": 1},
        "updated_channels": ["messages"],
    }
    config: RunnableConfig = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    ds.checkpointer.put(
        config, cast("Any", checkpoint), {"source": "update", "step": 0, "parents": {}}, {"messages": 1}
    )


def _put_thread(
    ds: dalsegno.Dalsegno, thread_id: str, stock: StockThread, progress: Callable[[int, int | None], None]
) -> None:
    for _ in stock.checkpoints():
        pass  # whatever cannot be read is found before the first write
    staging = f"import of {thread_id} {uuid.uuid4()}"
    try:
        known: set[tuple[str, str]] = set()
        for done, checkpoint in enumerate(stock.checkpoints(), start=1):
            _put_checkpoint(ds, staging, checkpoint, known)
            progress(done, stock.count)
        ds.threads.copy(staging, thread_id)
    finally:
        with suppress(DalsegnoError):  # the first error tells more
            ds.threads.delete(staging)


def _put_checkpoint(ds: dalsegno.Dalsegno, thread_id: str, stock: StockCheckpoint, known: set[tuple[str, str]]) -> None:
    place: dict[str, Any] = {"thread_id": thread_id, "checkpoint_ns": stock.ns}
    parent = stock.parent_id if (stock.ns, stock.parent_id) in known else None  # a pruned database lacks some
    whence = place if parent is None else {**place, "checkpoint_id": parent, FORK: parent}
    versions = stock.checkpoint["channel_versions"]
    ds.checkpointer.put({"configurable": whence}, cast("Any", stock.checkpoint), cast("Any", stock.metadata), versions)
    known.add((stock.ns, stock.checkpoint_id))
    here: RunnableConfig = {"configurable": {**place, "checkpoint_id": stock.checkpoint_id}}
    tasks: dict[tuple[str, str], list[tuple[str, Any]]] = {}
    for write in stock.writes:
        tasks.setdefault((write.task_id, write.task_path), []).append((write.channel, write.value))
    for (task, path), writes in tasks.items():
        ds.checkpointer.put_writes(here, writes, task, path)


def _imported(ds: dalsegno.Dalsegno, form: str, source: str, thread_id: str) -> Imported:
    thread = ds.threads.get(thread_id)
    return Imported(
        format=form, source=source, thread_id=thread_id, checkpoints=thread.checkpoints, events=thread.events
    )
