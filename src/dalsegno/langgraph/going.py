"""Writes of this process that are still going on, so that who begins to run a thread may wait for them.

Rules of this module:

* LangGraph hands checkpoints to tasks in the background. A cancelled run does not wait for those: the next one would
  load the thread, and then see its head move.
* A write belongs to the event loop it goes on in, and is waited for there: in that loop, from another loop, or from a
  thread without one. When it is over, a checkpoint that waited for it begins a few turns of the loop later; so a write
  counts as going on for these turns too.
* Nobody waits for what cannot come: for a loop that does not run, for the loop whose own thread asks in a blocking way,
  or longer than `PATIENCE` for a loop that is itself held up. Then the head may move, and the database says so.
* A run of another process is never waited for: it may be anywhere, and it may be dead.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

__all__ = ["Going"]

PATIENCE = 10.0
"""Seconds to wait for the writes of another loop."""

_TICKS = 5
"""Turns of the event loop after which a checkpoint that waited for the one before has begun to be written."""
_ROUNDS = 50
"""Writers that never pause are not waited for without end."""

_Place: TypeAlias = tuple[int, str]
_Writes: TypeAlias = dict[asyncio.AbstractEventLoop, set[asyncio.Future[None]]]


class Going:
    """The writes under way, by tenant and thread, and by the loop they go on in."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._writes: dict[_Place, _Writes] = {}

    @contextmanager
    def write(self, tenant: int, thread: str) -> Iterator[None]:
        """While a write of the running loop goes on."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()
        with self._lock:
            self._writes.setdefault((tenant, thread), {}).setdefault(loop, set()).add(over)
        try:
            yield
        finally:
            over.set_result(None)
            self._forget((tenant, thread), loop, over, _TICKS)

    async def over(self, tenant: int, thread: str) -> None:
        """Wait until no write to this thread goes on or waits for another."""
        here = asyncio.get_running_loop()
        place = (tenant, thread)
        for loop in self._loops(place):
            if loop is here:
                await self._ended(place, loop)
            elif (work := _begin(self._ended(place, loop), loop)) is not None:
                _, late = await asyncio.wait([asyncio.wrap_future(work)], timeout=PATIENCE)
                if late:
                    work.cancel()

    def over_here(self, tenant: int, thread: str) -> None:
        """The same for a caller that blocks its thread."""
        place = (tenant, thread)
        for loop in self._loops(place):
            if loop is not _running() and (work := _begin(self._ended(place, loop), loop)) is not None:
                try:
                    work.result(PATIENCE)
                except (TimeoutError, concurrent.futures.CancelledError):
                    work.cancel()

    def _loops(self, place: _Place) -> list[asyncio.AbstractEventLoop]:
        """The loops with writes to a thread; of loops that are closed nothing is kept."""
        with self._lock:
            if not self._writes:
                return []
            for where, writes in list(self._writes.items()):
                for loop in [loop for loop in writes if loop.is_closed()]:
                    del writes[loop]
                if not writes:
                    del self._writes[where]
            return list(self._writes.get(place, ()))

    async def _ended(self, place: _Place, loop: asyncio.AbstractEventLoop) -> None:
        """Wait, in a loop, until none of its writes to a thread goes on."""
        for _ in range(_ROUNDS):
            with self._lock:
                under_way = list(self._writes.get(place, {}).get(loop, ()))
            if not under_way:
                return
            await asyncio.wait(under_way)
            for _ in range(_TICKS):
                await asyncio.sleep(0)

    def _forget(self, place: _Place, loop: asyncio.AbstractEventLoop, over: asyncio.Future[None], ticks: int) -> None:
        if ticks and not loop.is_closed():
            loop.call_soon(self._forget, place, loop, over, ticks - 1)
            return
        with self._lock:
            writes = self._writes.get(place, {})
            left = writes.get(loop, set())
            left.discard(over)
            if not left:
                writes.pop(loop, None)
            if not writes:
                self._writes.pop(place, None)


def _running() -> asyncio.AbstractEventLoop | None:
    """The loop that runs in this thread, if one does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _begin(
    waiting: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop
) -> concurrent.futures.Future[None] | None:
    """Wait in another loop; None when that does not run."""
    if loop.is_running():
        with suppress(RuntimeError):  # closed in this moment
            return asyncio.run_coroutine_threadsafe(waiting, loop)
    waiting.close()
    return None
