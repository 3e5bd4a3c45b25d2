"""`ds.summaries`: what was written about the spans that compaction took out of states."""

from __future__ import annotations

from dalsegno.core.compaction import Kept, Settled
from dalsegno.errors import Misuse
from dalsegno.faces.face import Face
from dalsegno.faces.runs import Lease
from dalsegno.services import summaries
from dalsegno.services.ids import thread_name
from dalsegno.services.summaries import SummaryRow

__all__ = ["Summaries"]


class Summaries(Face):
    """Digests by thread, each with its writer, policy and facts; the journal keeps what they tell of."""

    def keep(self, thread_id: str, settled: Settled, *, lease: Lease | int | None = None) -> None:
        """Write down what one compaction said. Compaction nodes and middleware do it themselves.

        Args:
            thread_id: the thread.
            settled: the compaction, as `regenerate` gives it.
            lease: the lease to write under, or its token, while one is live.

        Raises:
            Misuse: there is no summary to keep.
            ThreadNotFound: no such thread, or another user's.
            ThreadDeleted, LeaseHeld, LeaseLost: the thread takes no writes from here.
        """
        name = thread_name(thread_id)
        _check(settled)
        self._run(
            lambda scope: summaries.keep(scope, name, settled, fence=_token(lease)),
            write=True,
            key=name,
        )

    async def akeep(self, thread_id: str, settled: Settled, *, lease: Lease | int | None = None) -> None:
        """Async face of `keep`."""
        name = thread_name(thread_id)
        _check(settled)
        await self._arun(
            lambda scope: summaries.keep(scope, name, settled, fence=_token(lease)),
            write=True,
            key=name,
        )

    def of(self, thread_id: str) -> list[SummaryRow]:
        """Everything that was written on the head's lineage, oldest first, each as it was written.

        Raises:
            ThreadNotFound: no such thread, or another user's.
        """
        return self._run(lambda scope: summaries.kept(scope, thread_name(thread_id)))

    async def aof(self, thread_id: str) -> list[SummaryRow]:
        """Async face of `of`."""
        return await self._arun(lambda scope: summaries.kept(scope, thread_name(thread_id)))


def _check(given: object) -> None:
    if isinstance(given, Kept):
        raise Misuse(f"there is no summary to keep, for {given.reason}; keep what `regenerate` gives when it succeeds.")
    if not isinstance(given, Settled):
        raise Misuse(
            f"{type(given).__name__} is no summary to keep; give what `regenerate` or `Compacted.settled` gives."
        )


def _token(lease: Lease | int | None) -> int | None:
    return lease.token if isinstance(lease, Lease) else lease
