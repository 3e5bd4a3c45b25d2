"""Keeping a lease alive while its run is busy.

Rules of this module:

* It is renewed every third of its length, by a thread (`with`) or a task of the event loop (`async with`).
* A database that is away for a moment is asked again. A lease that is gone is not taken anew: the keeping ends, whoever
  waits for it is told at once, and leaving the block raises `LeaseLost` unless an error of its own is on its way.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from types import TracebackType
from typing import Self

from dalsegno.errors import Conflict, DalsegnoError, Missing, Refused

__all__ = ["Keeping"]

_BEATS = 3
"""How often a lease is renewed in its length."""

_GONE = (Conflict, Missing, Refused)


class Keeping:
    """Renews a lease until the block is left.

    Attributes:
        lost: why the lease is gone; None while it is kept.
    """

    def __init__(
        self,
        renew: Callable[[], None],
        arenew: Callable[[], Awaitable[None]],
        ttl: timedelta,
        on_loss: Callable[[DalsegnoError], None] | None = None,
    ) -> None:
        """Take how to renew, how long a lease lasts, and whom to tell when it is gone."""
        self.lost: DalsegnoError | None = None
        self._renew, self._arenew, self._on_loss = renew, arenew, on_loss
        self._every = ttl.total_seconds() / _BEATS
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._task: asyncio.Task[None] | None = None

    def _lose(self, error: DalsegnoError) -> None:
        self.lost = error
        if self._on_loss is not None:
            self._on_loss(error)

    def _beat(self) -> None:
        while not self._over.wait(self._every):
            try:
                self._renew()
            except _GONE as error:
                self._lose(error)
                return
            except DalsegnoError:
                continue

    async def _abeat(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            try:
                await self._arenew()
            except _GONE as error:
                self._lose(error)
                return
            except DalsegnoError:
                continue

    def _left(self, error: BaseException | None) -> None:
        if self.lost is None:
            return
        if error is None:
            raise self.lost
        error.add_note(f"and its lease was lost on the way: {self.lost}")

    def __enter__(self) -> Self:
        """Begin."""
        self._over.clear()
        self._thread = threading.Thread(target=self._beat, name="dalsegno-lease", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, and wait for a renewal that is under way.

        Raises:
            LeaseLost: the lease was lost.
        """
        self.end()
        self._left(error)

    def end(self) -> None:
        """Stop the thread, and wait for a renewal that is under way."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    async def __aenter__(self) -> Self:
        """Begin."""
        self._task = asyncio.create_task(self._abeat())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop.

        Raises:
            LeaseLost: the lease was lost.
        """
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._left(error)
