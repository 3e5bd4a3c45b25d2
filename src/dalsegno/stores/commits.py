"""Group commit: writes that queue up while a commit is under way share the next one.

Rules of this module:

* The first writer of a key that finds nobody committing *leads*: it takes everything that is queued under that key
  and runs it in one transaction. Writers that arrive meanwhile wait; one of them leads next.
* Each write keeps its own outcome: one that fails is undone alone (a savepoint), the others commit.
* When the commit itself fails, every write of the group gets that error.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dalsegno.contracts import OpFactory

__all__ = ["AsyncCommits", "Commits", "Outcome", "settled"]

T = TypeVar("T")


@dataclass(slots=True)
class Outcome:
    """One queued write and what became of it."""

    factory: OpFactory[Any]
    result: Any = None
    error: BaseException | None = None
    done: bool = False

    def get(self) -> Any:
        """Return the result or raise the write's own error."""
        if self.error is not None:
            raise self.error
        return self.result


@dataclass(slots=True)
class _Line:
    waiting: deque[Outcome] = field(default_factory=deque)
    busy: bool = False


class Commits:
    """Leader and followers among threads."""

    def __init__(self, run_group: Callable[[list[Outcome]], None]) -> None:
        """Take the function that runs a group in one transaction and fills in each outcome."""
        self._run_group = run_group
        self._changed = threading.Condition()
        self._lines: dict[Hashable, _Line] = {}

    def run(self, factory: OpFactory[Any], key: Hashable) -> Any:
        """Queue a write and return its result once its commit is durable."""
        mine = Outcome(factory)
        with self._changed:
            line = self._lines.setdefault(key, _Line())
            line.waiting.append(mine)
            try:
                while line.busy and not mine.done:
                    self._changed.wait()
            except BaseException:
                # Interrupted while it waited: a write nobody waits for any more must not happen later.
                if mine in line.waiting:
                    line.waiting.remove(mine)
                raise
            if mine.done:
                return mine.get()
            line.busy = True
            group = list(line.waiting)
            line.waiting.clear()
        try:
            self._run_group(group)
        except BaseException as error:
            for outcome in group:
                outcome.error = outcome.error or error
            raise
        finally:
            with self._changed:
                line.busy = False
                for outcome in group:
                    outcome.done = True
                if not line.waiting:
                    self._lines.pop(key, None)
                self._changed.notify_all()
        return mine.get()


async def settled(work: asyncio.Future[T]) -> T:
    """Wait for a write to its end, also when cancelled meanwhile: who goes on then must find it done or not done."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
        except BaseException:  # noqa: BLE001 - the write's own error; it is raised below
            break
    if cancelled is not None:
        if not work.cancelled():
            work.exception()
        raise cancelled
    return work.result()


class AsyncCommits:
    """Leader and followers among tasks of one event loop.

    The group runs in a task of its own, so that cancelling one writer neither stops the commit nor fails the others.
    """

    def __init__(self, run_group: Callable[[list[Outcome]], Awaitable[None]]) -> None:
        """Take the function that runs a group in one transaction and fills in each outcome."""
        self._run_group = run_group
        self._lines: dict[Hashable, deque[tuple[Outcome, asyncio.Future[None]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, factory: OpFactory[Any], key: Hashable) -> Any:
        """Queue a write and return its result once its commit is durable."""
        mine = Outcome(factory)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = deque()
            line.append((mine, done))
            task = asyncio.create_task(self._drain(key, line))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            line.append((mine, done))
        await settled(done)
        return mine.get()

    async def _drain(self, key: Hashable, line: deque[tuple[Outcome, asyncio.Future[None]]]) -> None:
        try:
            while line:
                group = list(line)
                line.clear()
                outcomes = [outcome for outcome, _ in group]
                try:
                    await self._run_group(outcomes)
                except BaseException as error:  # noqa: BLE001 - every writer of the group gets it and raises it
                    for outcome in outcomes:
                        outcome.error = outcome.error or error
                for outcome, done in group:
                    outcome.done = True
                    if not done.done():
                        done.set_result(None)
        finally:
            self._lines.pop(key, None)
