"""Writing what a reader read into a thread.

Rules of this module:

* The target is a thread that holds nothing; everything is written in one transaction, or nothing is.
* A transcript becomes one checkpoint of a `messages` channel, so that any graph over messages can go on with it, and
  one journal event for each message. A stock thread keeps every checkpoint, namespace, parent and pending write.
* Messages without an id get one made from thread and position: importing twice gives the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from uuid import NAMESPACE_URL, uuid5

from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.base.id import uuid6

from dalsegno.connect import Dalsegno
from dalsegno.errors import TranscriptError
from dalsegno.imports.langgraph_db import StockThread, is_sqlite, read_postgres, read_sqlite
from dalsegno.imports.transcript import Transcript, read_transcript
from dalsegno.langgraph.checkpointer import Recorded

__all__ = ["Imported", "import_file", "import_stock", "import_transcript"]

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import wrote.

    Attributes:
        format: `openai`, `langchain`, `langgraph-sqlite` or `langgraph-postgres`.
        thread_id: the thread written to.
        messages: messages in its newest state.
        events, checkpoints: how many it has.
    """

    format: str
    thread_id: str
    messages: int
    events: int
    checkpoints: int


def import_file(
    ds: Dalsegno, source: str | Path, thread_id: str, *, index: int | None = None, progress: Progress | None = None
) -> Imported:
    """Read a transcript or a LangGraph checkpoint database into a new thread.

    Args:
        ds: the database to write to.
        source: a file, or the URL of a PostgreSQL database of LangGraph's checkpoints.
        thread_id: the thread to write; it must hold nothing.
        index: which conversation (or which stock thread) of several, from 0.
        progress: told (done, of how many).

    Raises:
        TranscriptError: the source is not something this version can read; nothing was written.
        ThreadExists: the thread holds something.
    """
    text = str(source)
    if text.startswith(("postgresql://", "postgres://")):
        threads, kind = read_postgres(text), "langgraph-postgres"
    elif is_sqlite(source):
        threads, kind = read_sqlite(source), "langgraph-sqlite"
    else:
        return import_transcript(ds, read_transcript(source, index), thread_id, progress=progress)
    return import_stock(ds, _chosen(threads, index, text), thread_id, kind=kind, progress=progress)


def import_transcript(
    ds: Dalsegno, transcript: Transcript, thread_id: str, *, progress: Progress | None = None
) -> Imported:
    """Write a transcript into a new thread."""
    messages = [
        message
        if message.id
        else message.model_copy(update={"id": str(uuid5(NAMESPACE_URL, f"dalsegno:{thread_id}:{place}"))})
        for place, message in enumerate(transcript.messages)
    ]
    now = datetime.now(UTC).isoformat()
    checkpoint: dict[str, Any] = {
        "v": 4,
        "id": str(uuid6(clock_seq=-1)),
        "ts": now,
        "channel_values": {"messages": messages},
        "channel_versions": {"messages": 1},
        "versions_seen": {},
        "updated_channels": ["messages"],
    }
    metadata = {"source": "update", "step": 0, "parents": {}, "imported": transcript.format}
    entry = Recorded(
        config={"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}},
        checkpoint=cast("Checkpoint", checkpoint),
        metadata=cast("CheckpointMetadata", metadata),
        new_versions={"messages": 1},
        times={str(message.id): at for message, at in zip(messages, transcript.times, strict=True) if at is not None},
    )
    ds.checkpointer.put_history(lambda: iter([entry]))
    if progress is not None:
        progress(len(messages), len(messages))
    return _imported(ds, thread_id, transcript.format)


def import_stock(
    ds: Dalsegno, thread: StockThread, thread_id: str, *, kind: str, progress: Progress | None = None
) -> Imported:
    """Write a thread of one of LangGraph's own savers into a new thread, with its whole history."""

    def history() -> Iterator[Recorded]:
        for done, stored in enumerate(thread.checkpoints(), 1):
            by_task: dict[tuple[str, str], list[tuple[str, Any]]] = {}
            for write in stored.writes:
                by_task.setdefault((write.task_id, write.task_path), []).append((write.channel, write.value))
            conf = {"thread_id": thread_id, "checkpoint_ns": stored.ns}
            if stored.parent_id is not None:
                conf["checkpoint_id"] = stored.parent_id
            yield Recorded(
                config={"configurable": conf},
                checkpoint=cast("Checkpoint", stored.checkpoint),
                metadata=cast("CheckpointMetadata", stored.metadata),
                new_versions=stored.checkpoint["channel_versions"],
                writes=[(task, path, writes) for (task, path), writes in by_task.items()],
            )
            if progress is not None:
                progress(done, thread.count)

    ds.checkpointer.put_history(history)
    return _imported(ds, thread_id, kind)


def _chosen(threads: tuple[StockThread, ...], index: int | None, source: str) -> StockThread:
    if not threads:
        raise TranscriptError(
            f"{source}: the database has no thread; nothing was written. Check that it is the right one."
        )
    if index is None and len(threads) > 1:
        raise TranscriptError(
            f"{source}: the database has {len(threads)} threads; choose one with --index 0 to {len(threads) - 1} "
            f"(0 is {threads[0].thread_id!r}). Nothing was written."
        )
    if (index or 0) >= len(threads):
        raise TranscriptError(
            f"{source}: no thread {index}; the last one is --index {len(threads) - 1}. Nothing was written."
        )
    return threads[index or 0]


def _imported(ds: Dalsegno, thread_id: str, kind: str) -> Imported:
    thread = ds.threads.get(thread_id)
    tree = ds.threads.tree(thread_id)
    messages = max((len(part) for part in tree.values() if isinstance(part, list) and _has_messages(part)), default=0)
    return Imported(
        format=kind, thread_id=thread_id, messages=messages, events=thread.events, checkpoints=thread.checkpoints
    )


def _has_messages(part: list[Any]) -> bool:
    return any(isinstance(item, dict) and "$m" in item for item in part)
