"""A worker: finds runs that nobody goes on with, and brings each as far as it comes.

Rules of this module:

* A run is the worker's only under a lease, which a thread keeps alive; what a worker that lost it still has to say is
  refused by the database. So of several workers one goes on with a run.
* A run that fails is tried again after a while, and parked when it fails in the same way too often, or at once when
  trying again cannot help. A run that waits for a person, or for an action in flight, has not failed.
* Told to stop, it takes no more runs, lets each finish the step in progress, and hands it over.
* Upkeep runs beside the runs. What fails there is told and holds up nothing.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Durability

from dalsegno.contracts import CardExtractor, Op, Store
from dalsegno.core.asking import asks_for
from dalsegno.core.failures import named
from dalsegno.core.standing import Standing
from dalsegno.errors import (
    ActionInFlight,
    DalsegnoError,
    LeaseLost,
    Misuse,
    StoreError,
    ThreadDeleted,
    ThreadNotFound,
)
from dalsegno.langgraph.binding import bound
from dalsegno.langgraph.breakpoints import stops_before
from dalsegno.langgraph.cards import Cards
from dalsegno.langgraph.checkpointer import DalsegnoSaver
from dalsegno.langgraph.config import FENCE
from dalsegno.langgraph.extractor import extractor_of
from dalsegno.langgraph.failing import failure_of
from dalsegno.langgraph.keeping import Keeping
from dalsegno.langgraph.resume import aresume
from dalsegno.services import orphans, runs
from dalsegno.services.orphans import Taken
from dalsegno.services.threads_row import Scope

__all__ = ["Told", "Upkeep", "Worker"]

R = TypeVar("R")

_TOLD = 200
"""At most so many characters of a question are told."""

_LOST_GRACE = timedelta(seconds=10)
"""How long a run that lost its lease may take to end when it is cancelled."""


class HasRuns(Protocol):
    """What an open database is here."""

    @property
    def checkpointer(self) -> DalsegnoSaver: ...
    @property
    def store_backend(self) -> Store: ...
    def scope(self) -> Scope: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """Something a worker does every so often besides going on with runs.

    Every worker does it; what must not be done twice has to be safe to repeat.

    Attributes:
        name: for what is told.
        every: how long from one start to the next.
        do: a function or coroutine function that takes the open database.
    """

    name: str
    every: timedelta
    do: Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One thing that a worker has to say.

    Attributes:
        what: `took`, `finished`, `waiting`, `answered` (it was about to wait), `failed`, `parked`, `put off`,
            `handed over`, `lost`, `gone`, `upkeep`, `upkeep failed` or `unavailable`.
        thread_id: whose run; "" where it is about none.
        why: the error, what is waited for, or what was done.
        attempts: how many equal failures there were.
        seconds: how long the run, or the wait for the next attempt, takes.
    """

    what: str
    thread_id: str = ""
    why: str = ""
    attempts: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Running:
    control: RunControl = field(default_factory=RunControl)
    task: asyncio.Task[None] | None = None


class Worker:
    """Goes on with orphaned runs of one tenant, with one graph."""

    def __init__(
        self,
        ds: HasRuns,
        graph: Any,
        *,
        concurrency: int = 4,
        poll: timedelta = timedelta(seconds=1),
        lease: timedelta = timedelta(seconds=60),
        attempts: int = 3,
        backoff: timedelta = timedelta(seconds=1),
        idle: timedelta | None = None,
        name: str | None = None,
        durability: Durability = "sync",
        config: RunnableConfig | None = None,
        upkeep: Sequence[Upkeep] = (),
        extractor: CardExtractor | Runnable[Any, Any] | None = None,
        cards: timedelta = timedelta(seconds=30),
        tell: Callable[[Told], None] | None = None,
    ) -> None:
        """Take the database and the graph.

        Args:
            ds: an open database.
            graph: a compiled graph, with the checkpointer of this database or without one. Its nodes may be functions
                or coroutine functions.
            concurrency: how many runs at once.
            poll: how long to wait before looking again where nothing was found.
            lease: how long a run stays with a worker that died; kept alive while the worker lives.
            attempts: after so many equal failures in a row a run is parked.
            backoff: how long to wait after the first failure; each further one doubles it.
            idle: also go on with runs that have no lease, when nothing was written for so long. Nothing tells such a
                run from one that is alive and slow, so it is off if left out.
            name: who holds the leases, for messages; host, process id and a random part if left out.
            durability: when supersteps are written. Anything but `sync` may run a node again whose step was over.
            config: further settings of each run (callbacks, metadata, recursion limit).
            upkeep: what else to do every so often.
            extractor: a model that looks at what was said lately, for handover cards; the database's own (`connect`)
                if left out. Without either, cards are the rules' alone.
            cards: how long from one such look to the next.
            tell: called with each thing there is to say, from the event loop; it must not block.

        Raises:
            Misuse: an argument is wrong, or the graph cannot be used with this database.
        """
        for what, number in (("concurrency", concurrency), ("attempts", attempts)):
            if type(number) is not int or number < 1:
                msg = f"{what}={number!r}: give a whole number from 1"
                raise Misuse(msg)
        for what, span in (("poll", poll), ("lease", lease), ("backoff", backoff), ("idle", idle), ("cards", cards)):
            if not (what == "idle" and span is None) and not (isinstance(span, timedelta) and span > timedelta(0)):
                msg = f"{what}={span!r}: give a timedelta longer than nothing, such as timedelta(seconds=30)"
                raise Misuse(msg)
        self.ds = ds
        self.graph = bound(graph, ds.checkpointer, idle=idle is not None)
        self.name = name or f"{socket.gethostname()}:{os.getpid()}/{secrets.token_hex(4)}"
        self._concurrency, self._poll, self._lease, self._idle = concurrency, poll, lease, idle
        self._attempts, self._backoff = attempts, backoff
        self._durability: Durability = durability
        self._config: RunnableConfig = config or {}
        self._upkeep = tuple(upkeep)
        model = extractor_of(extractor) or getattr(ds, "extractor", None)
        self._beside: tuple[tuple[int, ...], ...] = (tuple(range(len(self._upkeep))),)
        if model is not None:  # beside the rest: a slow model holds up no other upkeep
            self._beside = (*self._beside, (len(self._upkeep),))
            self._upkeep = (*self._upkeep, Upkeep(name="cards", every=cards, do=Cards(model).keep))
        self._next = dict.fromkeys(range(len(self._upkeep)), 0.0)
        self._tell = tell or (lambda told: None)
        self._running: dict[str, _Running] = {}
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()

    # --- from outside

    def run(self, *, once: bool = False) -> None:
        """Work until told to stop; with `once`, until nothing is left to do at the moment."""
        asyncio.run(self.arun(once=once))

    def stop(self) -> None:
        """Take no more runs, let each finish the step in progress, hand it over, and end. From any thread."""
        self._stopping.set()
        for running in list(self._running.values()):
            running.control.request_drain("the worker was told to stop")
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake.set)

    async def arun(self, *, once: bool = False) -> None:
        """Async face of `run`."""
        self._loop, self._wake = asyncio.get_running_loop(), asyncio.Event()
        # Nodes that are plain functions run in threads: one for each run, and some to spare for what they do besides.
        self._loop.set_default_executor(ThreadPoolExecutor(4 * self._concurrency + 4, "dalsegno-worker"))
        tasks: set[asyncio.Task[None]] = set()
        upkeep: dict[tuple[int, ...], asyncio.Task[None]] = {}
        try:
            while not self._stopping.is_set():
                for numbers in self._beside:
                    if numbers not in upkeep or upkeep[numbers].done():
                        upkeep[numbers] = asyncio.create_task(self._keep_up(numbers))
                found = await self._found(self._concurrency - len(tasks))
                tasks |= {self._begin(taken) for taken in found}
                if once and not found and not tasks:
                    break
                if len(found) < self._concurrency or len(tasks) >= self._concurrency:
                    tasks = await self._pause(tasks)
            while tasks:
                _, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if upkeep:
                for keeping in upkeep.values():
                    if not once:
                        keeping.cancel()
                await asyncio.wait(upkeep.values())

    # --- finding

    async def _found(self, free: int) -> list[Taken]:
        if free < 1:
            return []
        try:
            found = await self._write(
                lambda scope: orphans.take(scope, self.name, self._lease, free, self._idle), thread=None
            )
        except StoreError as error:
            self._tell(Told(what="unavailable", why=str(error)))
            return []
        return found

    def _begin(self, taken: Taken) -> asyncio.Task[None]:
        running = self._running[taken.thread_id] = _Running()
        if self._stopping.is_set():  # told to stop between finding and beginning
            running.control.request_drain("the worker was told to stop")
        running.task = asyncio.create_task(self._one(taken, running))
        return running.task

    async def _pause(self, tasks: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
        """Wait until a run has ended, someone says stop, or it is time to look again; returns the runs that go on."""
        woken = asyncio.ensure_future(self._wake.wait())
        try:
            await asyncio.wait({*tasks, woken}, timeout=self._poll.total_seconds(), return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
        for task in tasks:
            if task.done():
                task.result()
        return {task for task in tasks if not task.done()}

    # --- one run

    async def _one(self, taken: Taken, running: _Running) -> None:
        began = time.monotonic()
        self._tell(Told(what="took", thread_id=taken.thread_id))
        try:
            told = await self._ended(taken, running)
        except LeaseLost as error:
            gone = isinstance(error.__cause__, (ThreadDeleted, ThreadNotFound))
            told = Told(what="gone" if gone else "lost", why=str(error))
        except (ThreadDeleted, ThreadNotFound) as error:
            told = Told(what="gone", why=str(error))
        except StoreError as error:
            told = Told(what="unavailable", why=str(error))  # the lease runs out, and then someone goes on
        finally:
            del self._running[taken.thread_id]
        seconds = told.seconds or time.monotonic() - began
        self._tell(
            Told(what=told.what, thread_id=taken.thread_id, why=told.why, attempts=told.attempts, seconds=seconds)
        )

    async def _ended(self, taken: Taken, running: _Running) -> Told:
        """Go on with a run and write down what became of it."""
        name, token = taken.thread_id, taken.token
        try:
            waits = await self._kept(taken, running)
        except (LeaseLost, ThreadDeleted, ThreadNotFound):
            raise
        except GraphDrained:
            await self._write(lambda scope: runs.hand_over(scope, name, token), thread=name)
            return Told(what="handed over")
        except ActionInFlight as error:
            wait, why = timedelta(seconds=error.seconds), failure_of(error)
            await self._write(lambda scope: orphans.put_off(scope, name, token, why, wait), thread=name)
            return Told(what="put off", why=str(error), seconds=error.seconds)
        except StoreError:
            await self._write(lambda scope: runs.hand_over(scope, name, token), thread=name)
            raise
        except Exception as error:  # noqa: BLE001 - whatever a graph raises is written down with its run
            failed = failure_of(error)
            count, pause = await self._write(
                lambda scope: orphans.fail(scope, name, token, failed, attempts=self._attempts, base=self._backoff),
                thread=name,
            )
            seconds = 0.0 if pause is None else pause.total_seconds()
            what = "parked" if pause is None else "failed"
            return Told(what=what, why=failed.told, attempts=count, seconds=seconds)
        closed = waits is None
        stands = await self._write(lambda scope: orphans.settle(scope, name, token, closed=closed), thread=name)
        if stands == Standing.ANSWERED:
            return Told(what="answered")
        if stands == Standing.CLOSED:
            return Told(what="finished")
        return Told(what="waiting", why="; ".join(f"for {each}" for each in waits or ()))

    async def _kept(self, taken: Taken, running: _Running) -> list[str] | None:
        """Go on with a run while its lease is kept; what it asks for, or None when its head has nothing to run."""
        loop, name, token = asyncio.get_running_loop(), taken.thread_id, taken.token
        run = asyncio.create_task(self._gone_on(taken, running))

        def lost(_: DalsegnoError) -> None:
            loop.call_soon_threadsafe(run.cancel)

        keeping = Keeping(
            lambda: self.ds.store_backend.run(
                self._op(lambda scope: runs.renew(scope, name, self.name, token, self._lease)),
                write=True,
                key=(self.ds.scope().tenant, name),
            ),
            lambda: self._write(lambda scope: runs.renew(scope, name, self.name, token, self._lease), thread=name),
            self._lease,
            # What it would still write is refused; what it would still spend is saved.
            on_loss=lost,
        )
        keeping.__enter__()  # in a thread: a node that blocks the event loop must not cost the lease
        try:
            await asyncio.wait([run])
        finally:
            if not run.done():
                run.cancel()
                await asyncio.wait([run], timeout=_LOST_GRACE.total_seconds())
            await asyncio.to_thread(keeping.end)
        if keeping.lost is not None and (run.cancelled() or run.exception() is not None):
            raise keeping.lost
        return run.result()

    async def _gone_on(self, taken: Taken, running: _Running) -> list[str] | None:
        config: RunnableConfig = {
            **self._config,
            "configurable": {**self._config.get("configurable", {}), "thread_id": taken.thread_id, FENCE: taken.token},
        }
        waits = await self.ds.checkpointer.awaiting(config)
        if not waits:
            return None
        if stops_before(self.graph, waits):
            return [f"someone to go on at the breakpoint before {' and '.join(waits)}"]
        state = await aresume(
            self.graph, taken.thread_id, config=config, durability=self._durability, control=running.control
        )
        questions = state.get("__interrupt__", ()) if isinstance(state, dict) else ()
        return [asks_for(getattr(each, "value", each))[:_TOLD] for each in questions]

    # --- upkeep

    async def _keep_up(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            part = self._upkeep[number]
            now = time.monotonic()
            if self._stopping.is_set() or now < self._next[number]:
                continue
            self._next[number] = now + part.every.total_seconds()
            try:
                done = part.do(self.ds) if inspect.iscoroutinefunction(part.do) else None
                done = await done if done is not None else await asyncio.to_thread(part.do, self.ds)
            except Exception as error:  # noqa: BLE001 - what fails here is told, and holds up no run
                self._tell(Told(what="upkeep failed", why=f"{part.name}: {named(error)}"))
            else:
                self._tell(Told(what="upkeep", why=part.name if done is None else f"{part.name}: {done}"))

    # --- the database

    def _op(self, make: Callable[[Scope], Op[R]]) -> Callable[[], Op[R]]:
        scope = self.ds.scope()
        return lambda: make(scope)

    async def _write(self, make: Callable[[Scope], Op[R]], *, thread: str | None) -> R:
        key = None if thread is None else (self.ds.scope().tenant, thread)
        return await self.ds.store_backend.arun(self._op(make), write=True, key=key)
