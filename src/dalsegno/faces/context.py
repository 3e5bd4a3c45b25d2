"""`ds.context`: what each model call was given."""

from __future__ import annotations

from dalsegno.core.context.manifest import Manifest
from dalsegno.errors import Misuse
from dalsegno.faces.arguments import a_count
from dalsegno.faces.face import Face
from dalsegno.faces.runs import Lease
from dalsegno.services import manifests
from dalsegno.services.ids import thread_name
from dalsegno.services.manifests import Call, ManifestRow

__all__ = ["Contexts"]


class Contexts(Face):
    """Manifests by thread: for every declared call what went in, at what fidelity, and what was left out and why."""

    def manifests(self, thread_id: str, limit: int | None = None, after: int = 0) -> list[ManifestRow]:
        """Manifests of a thread, oldest first.

        Args:
            thread_id: the thread.
            limit: how many at most; None for all.
            after: only those after this number.

        Raises:
            ThreadNotFound: no such thread, or another user's.
            Misuse: an argument is none.
        """
        name = _page(thread_id, limit, after)
        return self._run(lambda scope: manifests.manifests(scope, name, after, limit))

    async def amanifests(self, thread_id: str, limit: int | None = None, after: int = 0) -> list[ManifestRow]:
        """Async face of `manifests`."""
        name = _page(thread_id, limit, after)
        return await self._arun(lambda scope: manifests.manifests(scope, name, after, limit))

    def record(self, thread_id: str, call: Call, manifest: Manifest, *, lease: Lease | int | None = None) -> None:
        """Write down what a call is given. Nodes declared with `call` do it themselves.

        Args:
            thread_id: the thread; made when there is none yet.
            call: where the call is made.
            manifest: what it is given.
            lease: the lease to write under, or its token, while one is live.

        Raises:
            ThreadDeleted, LeaseHeld, LeaseLost: the thread takes no writes from here.
            Misuse: an argument is none.
        """
        name, fence = _told(thread_id, call, manifest), _token(lease)
        self._run(lambda scope: manifests.record(scope, name, call, manifest, fence=fence), write=True, key=name)

    async def arecord(
        self, thread_id: str, call: Call, manifest: Manifest, *, lease: Lease | int | None = None
    ) -> None:
        """Async face of `record`."""
        name, fence = _told(thread_id, call, manifest), _token(lease)
        await self._arun(lambda scope: manifests.record(scope, name, call, manifest, fence=fence), write=True, key=name)


def _page(thread_id: str, limit: object, after: object) -> str:
    a_count("limit", limit, optional=True)
    a_count("after", after)
    return thread_name(thread_id)


def _told(thread_id: str, call: object, manifest: object) -> str:
    if not isinstance(call, Call) or not isinstance(manifest, Manifest):
        raise Misuse("give a Call and the manifest of a request, such as request.manifest.")
    return thread_name(thread_id)


def _token(lease: Lease | int | None) -> int | None:
    return lease.token if isinstance(lease, Lease) else lease
