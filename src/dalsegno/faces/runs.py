"""`ds.runs`: leases, so that one run at a time writes a thread."""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from dalsegno.contracts import Op
from dalsegno.faces.face import Face
from dalsegno.services import runs
from dalsegno.services.ids import thread_name
from dalsegno.services.threads_row import Scope

__all__ = ["Lease", "Runs"]

_TTL = timedelta(seconds=60)


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
    """Leases on threads."""

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

    def _release(self, lease: Lease) -> None:
        self._run(lambda scope: runs.release(scope, lease.thread_id, lease.token), write=True, key=lease.thread_id)

    async def _arelease(self, lease: Lease) -> None:
        await self._arun(
            lambda scope: runs.release(scope, lease.thread_id, lease.token), write=True, key=lease.thread_id
        )

    def _renewal(self, scope: Scope, lease: Lease) -> Op[None]:
        return runs.renew(scope, lease.thread_id, lease.holder, lease.token, lease.ttl)
