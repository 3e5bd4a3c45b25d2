"""LangGraph's own checkpoint databases, thread by thread.

Rules of this module:

* A thread comes whole or not at all: its checkpoints over all namespaces, oldest first, each with the values of all
  channels, its metadata and the writes that wait at it. What cannot be rebuilt is a `TranscriptError` with its place.
* Values are what LangGraph's saver would give, with two differences: versions of channels, which it writes as text such
  as `00000000000000000000000000000002.0.24…`, become the integers in front, which keep their order within a thread; and
  `Send`s that older formats kept at the parent stand in their channel.
* Nothing is written, and nothing is held open between two calls. Each reading of a thread sees one snapshot.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from langgraph.checkpoint.serde.types import TASKS

from dalsegno.errors import TranscriptError
from dalsegno.imports import stock_rows
from dalsegno.imports.stock_rows import is_sqlite
from dalsegno.imports.stock_values import Decoder, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from os import PathLike

    from dalsegno.imports.stock_rows import Row, Rows, Stored

    Opener = Callable[[], AbstractContextManager[Rows]]

__all__ = ["StockCheckpoint", "StockThread", "StockWrite", "is_sqlite", "read_postgres", "read_sqlite"]

_SENDS_IN_CHANNEL: Final = 4
"""The checkpoint format since which pending `Send`s stand in a channel of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StockWrite:
    """A write that waits at a checkpoint.

    Attributes:
        task_id: the task that made it.
        task_path: where the task stands in its step; "" where that was not recorded.
        idx: its number among the task's writes; below 0 for LangGraph's own channels.
        channel: where it goes.
        value: what is written.
    """

    task_id: str
    task_path: str
    idx: int
    channel: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StockCheckpoint:
    """A checkpoint.

    Attributes:
        ns: checkpoint namespace; "" for the root graph.
        checkpoint_id: its id, which sorts by time.
        parent_id: id of the checkpoint it came from, or None. A pruned database may no longer hold that one.
        checkpoint: as LangGraph's `Checkpoint`, with all channel values, versions as integers.
        metadata: as LangGraph's `CheckpointMetadata`.
        writes: what waits at it, in the order in which LangGraph applies it.
    """

    ns: str
    checkpoint_id: str
    parent_id: str | None
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    writes: tuple[StockWrite, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StockThread:
    """A thread of a stock database.

    Attributes:
        source: the database, for messages.
        thread_id: its id.
        count: how many checkpoints it had when the database was listed.
    """

    source: str
    thread_id: str
    count: int
    _open: Opener = field(repr=False, compare=False)
    _types: Sequence[type] = field(default=(), repr=False, compare=False)

    def checkpoints(self) -> Iterator[StockCheckpoint]:
        """Read the thread, oldest checkpoint first, in constant memory; each call reads it anew.

        Raises:
            TranscriptError: a value cannot be rebuilt, or the database is damaged.
            StoreUnavailable: the database cannot be reached or is locked.
        """
        decoder = Decoder(self._types)
        with self._open() as rows:
            for row in rows.checkpoints(self.thread_id):
                yield _Reading(self, rows, row, decoder).checkpoint()


def read_sqlite(path: str | PathLike[str], types: Sequence[type] = ()) -> tuple[StockThread, ...]:
    """List the threads of a database written by LangGraph's `SqliteSaver` or `AsyncSqliteSaver`.

    Args:
        path: the file.
        types: the program's own classes that stand in its states; anything unknown is refused.

    Returns:
        By the time of their first checkpoint.

    Raises:
        TranscriptError: there is no such file, or it is no LangGraph checkpoint database.
        StoreUnavailable: it is locked.
    """
    return _listed(str(path), partial(stock_rows.sqlite, path), types)


def read_postgres(url: str, types: Sequence[type] = ()) -> tuple[StockThread, ...]:
    """List the threads of a database written by LangGraph's `PostgresSaver` or `AsyncPostgresSaver`.

    Args:
        url: `postgresql://…`.
        types: the program's own classes that stand in its states; anything unknown is refused.

    Returns:
        By the time of their first checkpoint.

    Raises:
        TranscriptError: it is no LangGraph checkpoint database. The shallow saver's, which keeps no history, is none.
        StoreUnavailable: it cannot be reached.
    """
    return _listed(stock_rows.where(url), partial(stock_rows.postgres, url), types)


def _listed(source: str, opener: Opener, types: Sequence[type]) -> tuple[StockThread, ...]:
    with opener() as rows:
        found = rows.threads()
    return tuple(
        StockThread(source=source, thread_id=name, count=count, _open=opener, _types=tuple(types))
        for name, count in found
    )


class _Reading:
    """One checkpoint being read; knows its place for errors."""

    def __init__(self, thread: StockThread, rows: Rows, row: Row, decoder: Decoder) -> None:
        self._thread = thread
        self._rows = rows
        self._row = row
        self._decoder = decoder

    def checkpoint(self) -> StockCheckpoint:
        row = self._row
        return StockCheckpoint(
            ns=row.ns,
            checkpoint_id=row.id,
            parent_id=row.parent,
            checkpoint=self._body(),
            metadata=self._metadata(),
            writes=tuple(self._writes(row.id)),
        )

    def _body(self) -> dict[str, Any]:
        row = self._row
        body = dict(self._object("", row.body if isinstance(row.body, dict) else self._value("", row.body)))
        values = {name: self._value(f".channel_values.{name}", stored) for name, stored in row.values.items()}
        body["channel_values"] = {**self._object(".channel_values", body.get("channel_values") or {}), **values}
        body["channel_versions"] = self._versions(".channel_versions", body.get("channel_versions"))
        seen = self._object(".versions_seen", body.get("versions_seen") or {})
        body["versions_seen"] = {node: self._versions(f".versions_seen.{node}", seen[node]) for node in seen}
        if body.get("v", 1) < _SENDS_IN_CHANNEL:
            self._move_sends(body)
        return body

    def _move_sends(self, body: dict[str, Any]) -> None:
        """Put the `Send`s of an older format where newer ones have them."""
        sends = body.pop("pending_sends", None)
        if not sends and self._row.parent:
            sends = [write.value for write in self._writes(self._row.parent) if write.channel == TASKS]
        if sends and TASKS not in body["channel_values"]:
            body["channel_values"][TASKS] = list(sends)
            body["channel_versions"][TASKS] = max(body["channel_versions"].values(), default=1)

    def _metadata(self) -> dict[str, Any]:
        stored = self._row.metadata
        try:
            found = json.loads(stored or "{}") if isinstance(stored, (bytes, str)) else stored or {}
        except ValueError as error:
            raise self._error(".metadata", f"is not JSON ({error}); restore the database from a backup") from error
        return dict(self._object(".metadata", found))

    def _writes(self, checkpoint: str) -> Iterator[StockWrite]:
        for write in self._rows.writes(self._thread.thread_id, self._row.ns, checkpoint):
            yield StockWrite(
                task_id=write.task,
                task_path=write.path,
                idx=write.idx,
                channel=write.channel,
                value=self._value(f", write {write.idx} of task {write.task} to {write.channel}", write.value),
            )

    def _value(self, place: str, stored: Stored) -> Any:
        try:
            return self._decoder.decode(*stored)
        except Unreadable as reason:
            raise self._error(place, str(reason)) from reason

    def _object(self, place: str, found: Any) -> dict[str, Any]:
        if not isinstance(found, dict):
            raise self._error(place, f"is {type(found).__name__}, not an object; restore the database from a backup")
        return found

    def _versions(self, place: str, found: Any) -> dict[str, int]:
        """Versions as integers: the part in front of the point, which LangGraph counts up."""
        try:
            return {
                channel: int(version.partition(".")[0]) if isinstance(version, str) else int(version)
                for channel, version in self._object(place, found or {}).items()
            }
        except (TypeError, ValueError) as error:
            raise self._error(place, f"holds what is no version ({error})") from error

    def _error(self, place: str, reason: str) -> TranscriptError:
        at = f"checkpoint {self._row.id}{f' in {self._row.ns}' if self._row.ns else ''}"
        return TranscriptError(
            f"{self._thread.source}: thread {self._thread.thread_id!r}, {at}{place}: {reason}. Nothing was written."
        )
