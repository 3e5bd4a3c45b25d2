"""`ds.erasure`: every trace of a thread or a user, gone.

Rules of this module:

* Each thread goes in a transaction of its own; then the database is rewritten once, so that not even its file holds
  what went. An erasure that was killed in between is finished by the next one, or by `rewrite`.
* Nothing is said to be gone before it is: `Erasure.rewritten` is true only when the store has said so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from dalsegno.contracts import Op, Store
from dalsegno.errors import Misuse, ThreadNotFound
from dalsegno.faces.face import Face
from dalsegno.langgraph.checkpointer import DalsegnoSaver
from dalsegno.services import answers, erasing
from dalsegno.services.erasing import Erased
from dalsegno.services.ids import thread_name
from dalsegno.services.remembering import forget_user, memories_of
from dalsegno.services.threads_row import Scope

__all__ = ["Erasure", "ErasureReport"]

_CLOSED = timedelta(days=7)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReport:
    """What an erasure took, or would take.

    Attributes:
        threads: each thread with its rows and bytes.
        dry_run: whether nothing was changed.
        rewritten: whether the database was rewritten, so that its files hold none of it any more.
        memories: facts and items of a user that go besides what rests on the threads.
        answers: answers of a user in the cache, and those derived from them.
    """

    threads: tuple[Erased, ...]
    dry_run: bool
    rewritten: bool
    memories: int = 0
    answers: int = 0

    @property
    def size_bytes(self) -> int:
        """Bytes of all bodies that go."""
        return sum(each.size_bytes for each in self.threads)


class Erasure(Face):
    """Erases threads of a tenant (and user)."""

    def __init__(self, store: Store, scope: Callable[[], Scope], saver: DalsegnoSaver) -> None:
        """Take the store, the scope, and the checkpointer whose memory forgets too."""
        super().__init__(store, scope)
        self._saver = saver

    def thread(
        self,
        thread_id: str,
        *,
        dry_run: bool = False,
        force: bool = False,
        rewrite: bool = True,
        closed_for: timedelta = _CLOSED,
    ) -> ErasureReport:
        """Erase a thread: state, events, search signatures, blobs, summaries, actions, the texts of its audit.

        Args:
            thread_id: the thread; a deleted one too, of which id and audit are left.
            dry_run: only say what would go.
            force: although a run holds it or an action of it is running.
            rewrite: rewrite the database afterwards, which takes time and room in proportion to all of it; False leaves
                that to a later `rewrite`.
            closed_for: how long the id takes no write, so that a late one cannot bring the thread back.

        Raises:
            ThreadNotFound: there never was such a thread, or it is another user's.
            LeaseHeld: a run holds it.
            Refused: an action of it is running.
            StoreUnavailable: the thread is erased, but the database could not be rewritten yet; repeat `rewrite`.
        """
        return self._erase([thread_name(thread_id)], dry_run, force, rewrite, closed_for, None)

    def user(
        self,
        user: str | None = None,
        *,
        dry_run: bool = False,
        force: bool = False,
        rewrite: bool = True,
        closed_for: timedelta = _CLOSED,
        progress: Progress | None = None,
    ) -> ErasureReport:
        """Erase every thread that a user owns, deleted ones included, with that user's long-term memory and answers.

        Args:
            user: the owner; the connection's own if left out.
            dry_run: only say what would go.
            force: as in `thread`.
            rewrite: as in `thread`; once, after all of them.
            closed_for: as in `thread`.
            progress: told (threads done, threads in all) after each.

        Raises:
            Misuse: no user is named, or another than the connection's.
            LeaseHeld, Refused: one of the threads cannot go; this is looked for before any is touched.
            StoreUnavailable: the threads are erased, but the database could not be rewritten yet; repeat `rewrite`.
        """
        owner = self._owner(user)
        names = self._run(lambda scope: erasing.of_owner(scope, owner))
        if not dry_run:
            for name in names:
                self._run(lambda scope, name=name: erasing.survey(scope, name, force=force))  # type: ignore[misc]
        memories, cached = self._run(lambda scope: _of_user(scope, owner, dry_run=dry_run), write=not dry_run)
        report = self._erase(names, dry_run, force, rewrite, closed_for, progress)
        if (memories or cached) and rewrite and not names and not dry_run:
            self._store.rewrite()
        return replace(report, memories=memories, answers=cached)

    def rewrite(self) -> bool:
        """Finish erasures whose bytes may still be in the database's files; returns whether there were any.

        Raises:
            StoreUnavailable: something holds on to the old bytes; the message says what, and how to go on.
        """
        threads = self._run(erasing.due, write=True)
        if not threads:
            return False
        self._store.rewrite()
        self._run(lambda scope: erasing.finished(scope, threads), write=True)
        return True

    # --- the same for event loops

    async def athread(
        self,
        thread_id: str,
        *,
        dry_run: bool = False,
        force: bool = False,
        rewrite: bool = True,
        closed_for: timedelta = _CLOSED,
    ) -> ErasureReport:
        """Async face of `thread`, in a worker thread: it rewrites the database."""
        return await asyncio.to_thread(
            self.thread, thread_id, dry_run=dry_run, force=force, rewrite=rewrite, closed_for=closed_for
        )

    async def auser(
        self,
        user: str | None = None,
        *,
        dry_run: bool = False,
        force: bool = False,
        rewrite: bool = True,
        closed_for: timedelta = _CLOSED,
        progress: Progress | None = None,
    ) -> ErasureReport:
        """Async face of `user`, in a worker thread: it rewrites the database."""
        return await asyncio.to_thread(
            self.user, user, dry_run=dry_run, force=force, rewrite=rewrite, closed_for=closed_for, progress=progress
        )

    async def arewrite(self) -> bool:
        """Async face of `rewrite`, in a worker thread."""
        return await asyncio.to_thread(self.rewrite)

    # --- parts

    def _owner(self, user: str | None) -> str:
        own = self._scope().user
        owner = own if user is None else user
        if not isinstance(owner, str) or not owner.strip():
            msg = 'say whose threads to erase: erasure.user("…")'
            raise Misuse(msg)
        if own is not None and owner != own:
            msg = f"this connection is {own!r}'s and cannot erase threads of {owner!r}; connect without a user"
            raise Misuse(msg)
        return owner

    def _erase(
        self,
        names: Sequence[str],
        dry_run: bool,  # noqa: FBT001 - passed on as it came
        force: bool,  # noqa: FBT001 - passed on as it came
        rewrite: bool,  # noqa: FBT001 - passed on as it came
        closed_for: timedelta,
        progress: Progress | None,
    ) -> ErasureReport:
        given: object = closed_for  # checked for callers without a type checker
        if not isinstance(given, timedelta) or given < timedelta(0):
            msg = f"closed_for={closed_for!r}: give a timedelta, such as timedelta(days=7), or timedelta(0)"
            raise Misuse(msg)
        done: list[Erased] = []
        for name in names:
            done.append(self._one(name, dry_run=dry_run, force=force, closed_for=closed_for))
            if progress is not None:
                progress(len(done), len(names))
        if rewrite and not dry_run:
            self.rewrite()
        return ErasureReport(threads=tuple(done), dry_run=dry_run, rewritten=rewrite and not dry_run)

    def _one(self, name: str, *, dry_run: bool, force: bool, closed_for: timedelta) -> Erased:
        if dry_run:
            return self._run(lambda scope: erasing.survey(scope, name, force=force))
        try:
            found = self._run(
                lambda scope: erasing.erase(scope, name, force=force, closed_for=closed_for), write=True, key=name
            )
        except ThreadNotFound:
            self.rewrite()  # an erasure of this very id may have been killed before it was finished
            raise
        self._saver.forget(name)
        return found


def _of_user(scope: Scope, owner: str, *, dry_run: bool) -> Op[tuple[int, int]]:
    """What a user has besides threads: memories and cached answers, counted, and deleted unless it is a dry run."""
    if dry_run:
        return (yield from memories_of(scope, owner)), len((yield from answers.said_by(scope, owner)))
    return (yield from forget_user(scope, owner)), (yield from answers.forget_user(scope, owner))
