"""What the journal holds of a conversation that is due, and the summary written down beside it.

Rules of this module:

* A run may be ahead of its own checkpoints (LangGraph saves them beside the next step). What is due waits for the
  journal as long as it keeps growing, half a second at most; what it still lacks then stays in the list.
* A summary that cannot be written down is no reason to stop a run: the state has it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from langchain_core.runnables import RunnableConfig

from dalsegno.core.compaction import Settled
from dalsegno.core.journal import Event
from dalsegno.core.summary import Summary
from dalsegno.errors import DalsegnoError, Misuse, ThreadNotFound
from dalsegno.langgraph.config import fence_of

__all__ = [
    "HasJournal",
    "aoriginals",
    "arecord",
    "originals",
    "record",
    "thread_of",
]

_log = logging.getLogger("dalsegno.compaction")

Lacks: TypeAlias = Callable[[Sequence[Event]], bool]


class ReadsEvents(Protocol):
    """The part of a journal that is needed here; `ds.journal` is one."""

    def read(self, thread_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """Events of the head's lineage after a number, oldest first."""

    def aread(self, thread_id: str, after: int = 0, limit: int | None = None) -> Awaitable[list[Event]]:
        """Async face of `read`."""


class HasJournal(Protocol):
    """An open database, or anything with a journal to read; one with `summaries` gets each summary to keep."""

    @property
    def journal(self) -> ReadsEvents:
        """Its journal."""


def thread_of(config: RunnableConfig) -> str:
    """The thread a node runs in.

    Raises:
        Misuse: the run has none.
    """
    thread = (config.get("configurable") or {}).get("thread_id")
    if not thread:
        raise Misuse("the run has no thread_id, so no journal can be read; invoke the graph with one, or leave ds out.")
    return str(thread)


def originals(ds: HasJournal, thread_id: str, summary: Summary, lacks: Lacks) -> list[Event]:
    """Events of a thread that a summary does not stand for yet; none where the thread is not stored yet.

    Args:
        ds: the open database.
        thread_id: the thread.
        summary: what was taken out before.
        lacks: tells whether these events are still too few.
    """
    waiting = _Waiting(lacks)
    while True:
        try:
            events = ds.journal.read(thread_id, after=_after(summary))
        except ThreadNotFound:
            events = []
        pause = waiting.pause(events)
        if pause is None:
            return events
        time.sleep(pause)


async def aoriginals(ds: HasJournal, thread_id: str, summary: Summary, lacks: Lacks) -> list[Event]:
    """Async face of `originals`."""
    waiting = _Waiting(lacks)
    while True:
        try:
            events = await ds.journal.aread(thread_id, after=_after(summary))
        except ThreadNotFound:
            events = []
        pause = waiting.pause(events)
        if pause is None:
            return events
        await asyncio.sleep(pause)


class _Waiting:
    """How long to wait for a journal that is being written."""

    _PAUSES = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.2)
    _PATIENCE = 0.04

    def __init__(self, lacks: Lacks) -> None:
        self._lacks = lacks
        self._pauses = iter(self._PAUSES)
        self._last = 0.0
        self._seen = -1

    def pause(self, events: Sequence[Event]) -> float | None:
        """Seconds until the next look, or None when this one was the last."""
        if not self._lacks(events) or (len(events) == self._seen and self._last >= self._PATIENCE):
            return None
        self._seen, self._last = len(events), next(self._pauses, 0.0)
        return self._last or None


def _after(summary: Summary) -> int:
    """The number up to which everything is covered."""
    covered = summary.covered
    return covered[0][1] if covered and covered[0][0] == 1 else 0


def record(ds: HasJournal | None, config: RunnableConfig, settled: Settled | None) -> None:
    """Write a summary down beside the journal; what cannot be written is logged, and the state has it all the same."""
    kept = getattr(ds, "summaries", None)
    if kept is not None and settled is not None:
        try:
            kept.keep(thread_of(config), settled, lease=fence_of(config.get("configurable") or {}))
        except DalsegnoError as error:
            _log.warning("a summary was not written down, the state alone has it: %s", error)


async def arecord(ds: HasJournal | None, config: RunnableConfig, settled: Settled | None) -> None:
    """Async face of `record`."""
    kept = getattr(ds, "summaries", None)
    if kept is not None and settled is not None:
        try:
            await kept.akeep(thread_of(config), settled, lease=fence_of(config.get("configurable") or {}))
        except DalsegnoError as error:
            _log.warning("a summary was not written down, the state alone has it: %s", error)
