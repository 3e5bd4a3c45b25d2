"""`ds.runs`: who runs which thread, and where each run stands."""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeAlias

from dalsegno.contracts import Op
from dalsegno.core.standing import RunStatus
from dalsegno.errors import Misuse
from dalsegno.faces.arguments import a_count, a_text
from dalsegno.faces.face import Face
from dalsegno.langgraph.keeping import Keeping
from dalsegno.services import orphans, run_rows, runs
from dalsegno.services.ids import thread_name
from dalsegno.services.run_rows import Run
from dalsegno.services.threads_row import Scope

__all__ = ["Lease", "Run", "RunStatus", "Runs"]

_TTL = timedelta(seconds=60)

Found: TypeAlias = list[Run]


class Lease:
    """A held lease. Use it with `with`, which lets it go at the end.

    Attributes:
        thread_id: the thread.
        holder: who holds it.
        token: fencing token; higher than every earlier one of the thread.
        ttl: how long it lasts after taking and after each renewal.
    """

    def __init__(self, face: Runs, thread_id: str, holder: str, token: int, ttl: timedelta) -> None:
        """Made by `Runs.lease`."""
        self._face = face
        self.thread_id = thread_id
        self.holder = holder
        self.token = token
        self.ttl = ttl

    @property
    def config(self) -> dict[str, Any]:
        """A run's config: `graph.invoke(input, lease.config)` writes under this lease."""
        return {"configurable": {"thread_id": self.thread_id, "dalsegno_fence": self.token}}

    def renew(self) -> None:
        """Keep the lease for another `ttl` from now.

        Raises:
            LeaseLost: it has run out or passed on; stop writing.
        """
        self._face._renew(self)  # noqa: SLF001 - one pair of classes

    def keep(self) -> Keeping:
        """Renew the lease in the background: `with lease.keep():` in a thread, `async with lease.keep():` in a task.

        Leaving the block raises `LeaseLost` when the lease was lost meanwhile; every write since was refused.
        """
        return Keeping(self.renew, self.arenew, self.ttl)

    def hand_over(self) -> None:
        """End the lease so that a worker goes on with the run at once, as it would when the lease ran out."""
        self._face._hand_over(self)  # noqa: SLF001 - one pair of classes

    async def ahand_over(self) -> None:
        """Async face of `hand_over`."""
        await self._face._ahand_over(self)  # noqa: SLF001 - one pair of classes

    def release(self) -> None:
        """Let the lease go."""
        self._face._release(self)  # noqa: SLF001 - one pair of classes

    async def arenew(self) -> None:
        """Async face of `renew`."""
        await self._face._arenew(self)  # noqa: SLF001 - one pair of classes

    async def arelease(self) -> None:
        """Async face of `release`."""
        await self._face._arelease(self)  # noqa: SLF001 - one pair of classes

    async def __aenter__(self) -> Self:
        """The lease is held already."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the lease go."""
        await self.arelease()

    def __enter__(self) -> Self:
        """The lease is held already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the lease go."""
        self.release()


class Runs(Face):
    """Leases on threads, and where their runs stand."""

    def list(
        self, status: RunStatus | str | None = None, *, limit: int | None = None, after: str | None = None
    ) -> list[Run]:
        """Runs by their thread's id, each with its lease and its failures.

        Args:
            status: `running`, `orphaned`, `waiting`, `parked`, `unfinished` or `finished`; None lists all.
            limit: at most so many.
            after: only those after this thread in the list.

        Raises:
            Misuse: an unknown status.
        """
        wanted = self._page(status, limit, after)
        return self._run(lambda scope: run_rows.list_runs(scope, status=wanted, limit=limit, after=after))

    async def alist(
        self, status: RunStatus | str | None = None, *, limit: int | None = None, after: str | None = None
    ) -> Found:
        """Async face of `list`."""
        wanted = self._page(status, limit, after)
        return await self._arun(lambda scope: run_rows.list_runs(scope, status=wanted, limit=limit, after=after))

    @staticmethod
    def _page(status: object, limit: object, after: object) -> RunStatus | None:
        a_count("limit", limit, optional=True)
        a_text("after", after, optional=True)
        if status is None:
            return None
        try:
            return RunStatus(str(status))
        except ValueError:
            msg = f"status={str(status)!r:.80}: use one of {', '.join(RunStatus)}"
            raise Misuse(msg) from None

    def get(self, thread_id: str) -> Run:
        """One thread's run.

        Raises:
            ThreadNotFound: there is no such thread.
        """
        name = thread_name(thread_id)
        return self._run(lambda scope: run_rows.get_run(scope, name))

    async def aget(self, thread_id: str) -> Run:
        """Async face of `get`."""
        name = thread_name(thread_id)
        return await self._arun(lambda scope: run_rows.get_run(scope, name))

    def unpark(self, thread_id: str) -> None:
        """Let workers go on with a parked run at once, with all its attempts before it.

        What a person decided against in its step is asked anew.

        Raises:
            Refused: it is not parked, and no attempt is due.
            LeaseHeld: someone runs it.
        """
        name = thread_name(thread_id)
        self._run(lambda scope: orphans.unpark(scope, name), write=True, key=name)

    async def aunpark(self, thread_id: str) -> None:
        """Async face of `unpark`."""
        name = thread_name(thread_id)
        await self._arun(lambda scope: orphans.unpark(scope, name), write=True, key=name)

    def lease(self, thread_id: str, ttl: timedelta = _TTL, *, holder: str | None = None) -> Lease:
        """Take the lease of a thread; while it is live, writes without its token are refused.

        Args:
            thread_id: the thread; made if there is none.
            ttl: how long the lease lasts unless renewed, by the database's clock.
            holder: who takes it, for messages; host and process id if left out.

        Raises:
            LeaseHeld: another lease is live.
            ThreadDeleted: the thread has a tombstone.
        """
        name = thread_name(thread_id)
        who = holder or f"{socket.gethostname()}:{os.getpid()}"
        token = self._run(lambda scope: runs.acquire(scope, name, who, ttl), write=True, key=name)
        return Lease(self, name, who, token, ttl)

    async def alease(self, thread_id: str, ttl: timedelta = _TTL, *, holder: str | None = None) -> Lease:
        """Async face of `lease`."""
        name = thread_name(thread_id)
        who = holder or f"{socket.gethostname()}:{os.getpid()}"
        token = await self._arun(lambda scope: runs.acquire(scope, name, who, ttl), write=True, key=name)
        return Lease(self, name, who, token, ttl)

    def _renew(self, lease: Lease) -> None:
        self._run(lambda scope: self._renewal(scope, lease), write=True, key=lease.thread_id)

    async def _arenew(self, lease: Lease) -> None:
        await self._arun(lambda scope: self._renewal(scope, lease), write=True, key=lease.thread_id)

    def _hand_over(self, lease: Lease) -> None:
        self._run(lambda scope: runs.hand_over(scope, lease.thread_id, lease.token), write=True, key=lease.thread_id)

    async def _ahand_over(self, lease: Lease) -> None:
        await self._arun(
            lambda scope: runs.hand_over(scope, lease.thread_id, lease.token), write=True, key=lease.thread_id
        )

    def _release(self, lease: Lease) -> None:
        self._run(lambda scope: runs.release(scope, lease.thread_id, lease.token), write=True, key=lease.thread_id)

    async def _arelease(self, lease: Lease) -> None:
        await self._arun(
            lambda scope: runs.release(scope, lease.thread_id, lease.token), write=True, key=lease.thread_id
        )

    def _renewal(self, scope: Scope, lease: Lease) -> Op[None]:
        return runs.renew(scope, lease.thread_id, lease.holder, lease.token, lease.ttl)
