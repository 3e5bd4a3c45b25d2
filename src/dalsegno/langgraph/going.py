"""Writes of this process that are still going on, so that who begins to run a thread may wait for them.

LangGraph hands checkpoints to tasks in the background. A cancelled run does not wait for those: the next one would
load the thread, and then see its head move.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

__all__ = ["Going"]

_TICKS = 5
"""Turns of the event loop after which a checkpoint that waited for the one before has begun to be written."""
_ROUNDS = 50
"""Writers that never pause are not waited for without end."""

_Key: TypeAlias = tuple[int, int, str]


class Going:
    """The writes under way, by event loop, tenant and thread."""

    def __init__(self) -> None:
        """Begin with none."""
        self._writes: dict[_Key, set[asyncio.Future[None]]] = {}

    @contextmanager
    def write(self, tenant: int, thread: str) -> Iterator[None]:
        """While a write of the running loop goes on."""
        loop = asyncio.get_running_loop()
        key = (id(loop), tenant, thread)
        over: asyncio.Future[None] = loop.create_future()
        self._writes.setdefault(key, set()).add(over)
        try:
            yield
        finally:
            over.set_result(None)
            left = self._writes[key]
            left.discard(over)
            if not left:
                del self._writes[key]

    async def over(self, tenant: int, thread: str) -> None:
        """Wait until no write of the running loop to this thread goes on or waits for another."""
        key = (id(asyncio.get_running_loop()), tenant, thread)
        for _ in range(_ROUNDS):
            under_way = self._writes.get(key)
            if not under_way:
                return
            await asyncio.wait(list(under_way))
            for _ in range(_TICKS):
                await asyncio.sleep(0)
