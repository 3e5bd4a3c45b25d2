"""Who plays the script of an action: a driver that waits and one that awaits.

Rules of this module:

* While an effect runs, its lease is renewed every third of its length, by a thread or a task of its own. A database
  that is away for a moment is tried again; an action that was called lost meanwhile is kept no more.
* A reconciler is given its time and no more. One that hangs is left behind; what it says later is not heard.
* A person is asked by LangGraph's interrupt, which is an error that passes through everything on its way up.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import secrets
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from typing import Any

from dalsegno.contracts import Op, Store
from dalsegno.core.action_policy import ActionPolicy, call_of
from dalsegno.core.arguments import key_of
from dalsegno.errors import ActionMoved, DalsegnoError, Misuse
from dalsegno.langgraph.place import Place, ask
from dalsegno.services.actions import keep
from dalsegno.services.performing import Ask, Effect, Job, Look, Script, Transact, Work, performing
from dalsegno.services.threads_row import Scope

__all__ = ["Actor", "Pulse"]


class Actor:
    """Does actions on behalf of one tenant and user."""

    def __init__(self, store: Store, scope: Callable[[], Scope], *, tenant: str, user: str | None) -> None:
        """Take the store and on whose behalf to act."""
        self.store = store
        self.scope = scope
        self.tenant = tenant
        self.user = user

    def job(self, policy: ActionPolicy, name: str, arguments: Mapping[str, Any], place: Place) -> Job:
        """The job that a call makes at a place.

        Raises:
            Misuse: the thread, the step, the business key or the recipient is missing.
            NotCanonical: an argument has no canonical form.
        """
        if place.thread is None:
            msg = f"action {name!r}: no thread is known here; call it in a run, or within ds.actions.within(thread_id)"
            raise Misuse(msg)
        call = call_of(policy, name, arguments, place.step)
        return Job(
            thread=place.thread,
            call=call,
            key=key_of(self.tenant, place.thread, call),
            policy=policy,
            ask=policy.asks(arguments),
            holder=f"{socket.gethostname()}:{os.getpid()}/{secrets.token_hex(4)}",
            fence=place.fence,
            user=self.user,
            can_ask=place.can_ask,
            task=place.task if place.can_ask else None,
        )

    def perform(self, job: Job, effect: Callable[[], Any]) -> Any:
        """Do an action, or return what it came back with when it was done."""
        return self.play(performing(job), job, effect)

    async def aperform(self, job: Job, effect: Callable[[], Awaitable[Any]]) -> Any:
        """Async face of `perform`."""
        return await self.aplay(performing(job), job, effect)

    # --- drivers

    def play(self, script: Script, job: Job, effect: Callable[[], Any] | None = None) -> Any:
        """Play a script to its end, waiting."""
        send, given = script.send, None
        while True:
            try:
                work: Work = send(given)
            except StopIteration as end:
                return end.value
            try:
                send, given = script.send, self._done(work, job, effect)
            except BaseException as error:  # noqa: BLE001 - the script decides what it means
                send, given = script.throw, error

    async def aplay(self, script: Script, job: Job, effect: Callable[[], Awaitable[Any]] | None = None) -> Any:
        """Play a script to its end, awaiting."""
        send, given = script.send, None
        while True:
            try:
                work: Work = send(given)
            except StopIteration as end:
                return end.value
            try:
                send, given = script.send, await self._adone(work, job, effect)
            except BaseException as error:  # noqa: BLE001 - the script decides what it means
                send, given = script.throw, error

    def _done(self, work: Work, job: Job, effect: Callable[[], Any] | None) -> Any:
        match work:
            case Transact(make):
                return self.transact(make, job.thread)
            case Effect(token) if effect is not None:
                with Pulse(self, job, token):
                    return effect()
            case Look(action, within):
                return _looked(job, action, within.total_seconds())
            case Ask(question):
                return ask(question)
        raise AssertionError(work)

    async def _adone(self, work: Work, job: Job, effect: Callable[[], Awaitable[Any]] | None) -> Any:
        match work:
            case Transact(make):
                return await self.atransact(make, job.thread)
            case Effect(token) if effect is not None:
                async with Pulse(self, job, token):
                    return await effect()
            case Look(action, within):
                return await _alooked(job, action, within.total_seconds())
            case Ask(question):
                return ask(question)
        raise AssertionError(work)

    def transact(self, make: Callable[[Scope], Op[Any]], thread: str) -> Any:
        """Run an operation of the ledger."""
        scope = self.scope()
        return self.store.run(lambda: make(scope), write=True, key=(scope.tenant, thread))

    async def atransact(self, make: Callable[[Scope], Op[Any]], thread: str) -> Any:
        """Async face of `transact`."""
        scope = self.scope()
        return await self.store.arun(lambda: make(scope), write=True, key=(scope.tenant, thread))


class Pulse:
    """Keeps the lease of a running action alive, in a thread (`with`) or a task (`async with`)."""

    def __init__(self, actor: Actor, job: Job, token: int) -> None:
        """Take whose lease it is."""
        self._actor = actor
        self._job = job
        self._token = token
        self._every = job.policy.lease.total_seconds() / 3
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._task: asyncio.Task[None] | None = None

    def _keep(self, scope: Scope) -> Op[None]:
        return keep(scope, self._job.thread, self._job.key, self._token, self._job.policy.lease, fence=self._job.fence)

    def _beat(self) -> None:
        while not self._over.wait(self._every):
            try:
                self._actor.transact(self._keep, self._job.thread)
            except ActionMoved:
                return
            except DalsegnoError:
                continue

    async def _abeat(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            try:
                await self._actor.atransact(self._keep, self._job.thread)
            except ActionMoved:
                return
            except DalsegnoError:
                continue

    def __enter__(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._beat, name="dalsegno-pulse", daemon=True)
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        """Stop, and wait for a renewal that is under way."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    async def __aenter__(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._abeat())

    async def __aexit__(self, *error: object) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


# --- reconcilers


def _looked(job: Job, action: Any, seconds: float) -> Any:
    """What a reconciler says within its time; one that is a coroutine runs in a loop of its own."""
    reconcile: Any = job.policy.reconcile
    said: list[Any] = []
    failed: list[BaseException] = []

    def look() -> None:
        try:
            found = reconcile(action)
            said.append(asyncio.run(_awaited(found)) if inspect.isawaitable(found) else found)
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            failed.append(error)

    thread = threading.Thread(target=copy_context().run, args=(look,), name="dalsegno-reconciler", daemon=True)
    thread.start()
    thread.join(seconds)
    if failed and isinstance(failed[0], Exception):
        raise failed[0]
    if failed:
        raise _stopped(failed[0])
    if not said:
        raise _late(seconds)
    return said[0]


async def _alooked(job: Job, action: Any, seconds: float) -> Any:
    reconcile: Any = job.policy.reconcile
    if not inspect.iscoroutinefunction(reconcile):
        return await asyncio.to_thread(_looked, job, action, seconds)
    looking = asyncio.ensure_future(_guarded(reconcile, action))
    try:
        done, _ = await asyncio.wait([looking], timeout=seconds)
    except asyncio.CancelledError:
        looking.cancel()
        raise
    if not done:
        looking.cancel()
        raise _late(seconds)
    if looking.cancelled():
        raise _stopped(asyncio.CancelledError())
    return looking.result()


async def _guarded(reconcile: Any, action: Any) -> Any:
    """A task that ends with what ends a program takes the event loop along; so it ends with an error instead."""
    try:
        return await reconcile(action)
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:
        raise _stopped(error) from error


def _late(seconds: float) -> TimeoutError:
    return TimeoutError(f"it has not answered within {seconds:g} s")


def _stopped(error: BaseException) -> RuntimeError:
    """What would end a whole program, out of a reconciler: there it only means that it has no answer."""
    return RuntimeError(f"it ended with {type(error).__name__}")


async def _awaited(found: Awaitable[Any]) -> Any:
    return await found
