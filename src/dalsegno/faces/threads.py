"""`ds.threads`: what threads there are, what they hold, and whether it is sound."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn

from dalsegno.contracts import Op, Store
from dalsegno.core.items import put_back
from dalsegno.core.tree import Json
from dalsegno.errors import CheckpointNotFound, Damaged
from dalsegno.faces.arguments import a_count, a_text
from dalsegno.faces.checkpoints import CheckpointInfo, infos
from dalsegno.faces.doctor import Diagnosis, diagnose
from dalsegno.faces.face import Face
from dalsegno.faces.status import Status, statuses
from dalsegno.langgraph.checkpointer import DalsegnoSaver
from dalsegno.langgraph.searchable import texts_of
from dalsegno.services import inspect, reading, upkeep
from dalsegno.services import tags as tagging
from dalsegno.services.answer_check import check_answers
from dalsegno.services.blobs import blob_of
from dalsegno.services.ids import thread_name
from dalsegno.services.inspect import Finding, Thread, Verdict
from dalsegno.services.loading import Loaded
from dalsegno.services.memory_check import check_memories
from dalsegno.services.sound import sound
from dalsegno.services.tags import check_tags
from dalsegno.services.threads_row import Scope

__all__ = ["CheckpointInfo", "Diagnosis", "Report", "Status", "Threads"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The verdict over one or all threads.

    Attributes:
        findings: everything that should not be; empty means sound.
        threads, checkpoints, items, events, writes, blobs: how many were read.
    """

    findings: list[Finding] = field(default_factory=list)
    threads: int = 0
    checkpoints: int = 0
    items: int = 0
    events: int = 0
    writes: int = 0
    blobs: int = 0

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


class Threads(Face):
    """Threads of a tenant (and user)."""

    def __init__(self, store: Store, scope: Callable[[], Scope], saver: DalsegnoSaver) -> None:
        """Take the store, the scope, and the checkpointer that turns rows into values."""
        super().__init__(store, scope)
        self._saver = saver

    def list(
        self, limit: int | None = None, after: str | None = None, *, deleted: bool = False, tag: str | None = None
    ) -> builtins.list[Thread]:
        """Threads by id.

        Args:
            limit: at most so many.
            after: only ids after this one, for the next page.
            deleted: with the tombstones of deleted threads.
            tag: only threads with this tag.
        """
        return self._run(lambda scope: _listed(scope, limit, after, deleted=deleted, tag=tag))

    def get(self, thread_id: str) -> Thread:
        """One thread.

        Raises:
            ThreadNotFound: no such thread, or another user's.
        """
        return self._run(lambda scope: inspect.get_thread(scope, thread_name(thread_id)))

    def status(self, *thread_ids: str) -> dict[str, Status]:
        """Where some threads stand, by id: whether a run is over, waits, or is under way.

        Raises:
            ThreadNotFound: there is no such thread, or it is another user's; a deleted one is `Status.DELETED`.
        """
        return self._run(lambda scope: statuses(scope, list(map(thread_name, thread_ids))))

    def bytes(self, thread_id: str) -> int:
        """Bytes of what a thread stores (bodies; the database's own overhead is not in it)."""
        return self._run(lambda scope: inspect.thread_bytes(scope, thread_name(thread_id)))

    def delete(self, thread_id: str) -> None:
        """Delete everything of a thread; a tombstone stays, so that a late write cannot bring it back."""
        self.get(thread_id)
        self._saver.delete_thread(thread_id)

    def reopen(self, thread_id: str) -> None:
        """Let a deleted thread's id be used again. What was deleted stays deleted.

        Raises:
            ThreadNotFound: there never was such a thread.
        """
        self._run(lambda scope: upkeep.reopen_thread(scope, thread_name(thread_id)), write=True, key=thread_id)

    def tag(self, thread_id: str, *tags: str) -> None:
        """Put tags on a thread: words to find it by, and to say how long it is kept. A run's lease does not matter.

        Raises:
            ThreadNotFound: no such thread, or another user's.
            Misuse: a tag is blank, too long, or no text.
        """
        words = check_tags(tags)
        self._run(lambda scope: tagging.tag(scope, thread_name(thread_id), words), write=True, key=thread_id)

    def untag(self, thread_id: str, *tags: str) -> None:
        """Take tags off a thread; one that it does not have is no error.

        Raises:
            ThreadNotFound: no such thread, or another user's.
        """
        words = check_tags(tags)
        self._run(lambda scope: tagging.untag(scope, thread_name(thread_id), words), write=True, key=thread_id)

    def prune(self, thread_id: str, keep: int = 1) -> int:
        """Drop old checkpoints; the journal keeps what happened.

        Args:
            thread_id: the thread.
            keep: how many of the newest stay in each namespace, with what their delta channels are rebuilt from.

        Returns:
            How many checkpoints went.

        Raises:
            ThreadNotFound: no such thread.
            LeaseHeld: a run holds it.
        """
        self.get(thread_id)
        return self._run(lambda scope: upkeep.prune(scope, thread_name(thread_id), "keep_latest", keep), write=True)

    def copy(self, source: str, target: str) -> None:
        """Copy a thread with history and journal.

        Raises:
            ThreadNotFound: no such source.
            ThreadExists: the target holds something.
        """
        self._saver.copy_thread(source, target)

    def state(
        self, thread_id: str, checkpoint_id: str | None = None, ns: str = "", *, references: bool = False
    ) -> dict[str, Any]:
        """Values of a checkpoint's channels (the head's, without an id), LangGraph's own channels included.

        Args:
            thread_id: the thread.
            checkpoint_id: a checkpoint of it.
            ns: namespace of a subgraph.
            references: do not read texts of 32 KB and more: `blob://…` stands for each, and for bytes or an array of
                that size. `blob` fetches one.

        Raises:
            ThreadNotFound, CheckpointNotFound: there is nothing to show.
        """
        config = _config(thread_id, checkpoint_id, ns)
        if references:
            values = self._store.run(self._saver.referring(config), write=False)
        else:
            found = self._saver.get_tuple(config)
            values = None if found is None else dict(found.checkpoint["channel_values"])
        if values is None:
            self._missing(thread_id, checkpoint_id)
        return values

    def tree(
        self, thread_id: str, checkpoint_id: str | None = None, ns: str = "", *, references: bool = False
    ) -> dict[str, Json]:
        """The same as JSON trees, as they are stored: nothing is decoded, so no type has to be registered."""
        found = self._run(lambda scope: _tree(scope, thread_name(thread_id), ns, checkpoint_id, references=references))
        if found is None:
            self._missing(thread_id, checkpoint_id)
        return found

    def blob(self, thread_id: str, reference: str) -> str:
        """The text that a `blob://` reference of a thread stands for; of bytes and arrays, their base64.

        Raises:
            ThreadNotFound: no such thread, or another user's.
            BlobNotFound: the thread has no such blob.
            Misuse: it is no reference.
        """
        return self._run(lambda scope: blob_of(scope, thread_name(thread_id), reference))

    def checkpoints(
        self, thread_id: str, limit: int | None = None, before: str | None = None, ns: str | None = None
    ) -> builtins.list[CheckpointInfo]:
        """Checkpoints of a thread, newest first.

        Args:
            thread_id: the thread.
            limit: at most so many.
            before: only those put before this checkpoint, of whichever namespace.
            ns: only this namespace.

        Raises:
            ThreadNotFound, CheckpointNotFound: there is no such thread, or nothing to begin before.
        """
        return self._run(lambda scope: _infos(scope, thread_name(thread_id), limit, before, ns))

    def check(self, thread_id: str | None = None, progress: Callable[[int, int], None] | None = None) -> Report:
        """Re-read one thread, or all, and report everything that should not be, in unreadable threads too.

        Args:
            thread_id: the thread; None checks all, what deleted threads may have left behind, and long-term memory.
            progress: told (threads done, threads in all) after each.
        """
        names = [thread_name(thread_id)] if thread_id is not None else [thread.thread_id for thread in self.list()]
        totals: dict[str, Any] = asdict(Report())
        for done, name in enumerate(names, 1):
            verdict = self._verdict(name)
            for key in ("checkpoints", "items", "events", "writes", "blobs"):
                totals[key] += getattr(verdict, key)
            totals["findings"] += verdict.findings
            totals["threads"] += 1
            if progress is not None:
                progress(done, len(names))
        if thread_id is None:
            totals["findings"] += self._run(inspect.check_remains)
            totals["findings"] += self._run(lambda scope: check_memories(scope, texts_of))
            totals["findings"] += self._run(check_answers)
        return Report(**totals)

    def doctor(self, thread_id: str) -> Diagnosis:
        """Say what is wrong with how a thread is used, with evidence and the next step.

        Reads the newest 60 checkpoints, 400 events and 200 actions in a bounded number of statements; writes nothing.
        `check` is the other question: whether what is stored is sound.

        Raises:
            ThreadNotFound: no such thread, or another user's.
        """
        return self._run(lambda scope: diagnose(scope, thread_name(thread_id)))

    # --- the same for event loops

    async def alist(
        self, limit: int | None = None, after: str | None = None, *, deleted: bool = False, tag: str | None = None
    ) -> builtins.list[Thread]:
        """Async face of `list`."""
        return await self._arun(lambda scope: _listed(scope, limit, after, deleted=deleted, tag=tag))

    async def aget(self, thread_id: str) -> Thread:
        """Async face of `get`."""
        return await self._arun(lambda scope: inspect.get_thread(scope, thread_name(thread_id)))

    async def astatus(self, *thread_ids: str) -> dict[str, Status]:
        """Async face of `status`."""
        return await self._arun(lambda scope: statuses(scope, list(map(thread_name, thread_ids))))

    async def abytes(self, thread_id: str) -> int:
        """Async face of `bytes`."""
        return await self._arun(lambda scope: inspect.thread_bytes(scope, thread_name(thread_id)))

    async def adelete(self, thread_id: str) -> None:
        """Async face of `delete`."""
        await self.aget(thread_id)
        await self._saver.adelete_thread(thread_id)

    async def areopen(self, thread_id: str) -> None:
        """Async face of `reopen`."""
        await self._arun(lambda scope: upkeep.reopen_thread(scope, thread_name(thread_id)), write=True, key=thread_id)

    async def atag(self, thread_id: str, *tags: str) -> None:
        """Async face of `tag`."""
        words = check_tags(tags)
        await self._arun(lambda scope: tagging.tag(scope, thread_name(thread_id), words), write=True, key=thread_id)

    async def auntag(self, thread_id: str, *tags: str) -> None:
        """Async face of `untag`."""
        words = check_tags(tags)
        await self._arun(lambda scope: tagging.untag(scope, thread_name(thread_id), words), write=True, key=thread_id)

    async def aprune(self, thread_id: str, keep: int = 1) -> int:
        """Async face of `prune`."""
        await self.aget(thread_id)
        return await self._arun(
            lambda scope: upkeep.prune(scope, thread_name(thread_id), "keep_latest", keep), write=True
        )

    async def acopy(self, source: str, target: str) -> None:
        """Async face of `copy`."""
        await self._saver.acopy_thread(source, target)

    async def astate(
        self, thread_id: str, checkpoint_id: str | None = None, ns: str = "", *, references: bool = False
    ) -> dict[str, Any]:
        """Async face of `state`."""
        config = _config(thread_id, checkpoint_id, ns)
        if references:
            values = await self._store.arun(self._saver.referring(config), write=False)
        else:
            found = await self._saver.aget_tuple(config)
            values = None if found is None else dict(found.checkpoint["channel_values"])
        if values is None:
            await self.aget(thread_id)
            raise _absent(thread_id, checkpoint_id)
        return values

    async def ablob(self, thread_id: str, reference: str) -> str:
        """Async face of `blob`."""
        return await self._arun(lambda scope: blob_of(scope, thread_name(thread_id), reference))

    async def atree(
        self, thread_id: str, checkpoint_id: str | None = None, ns: str = "", *, references: bool = False
    ) -> dict[str, Json]:
        """Async face of `tree`."""
        found = await self._arun(
            lambda scope: _tree(scope, thread_name(thread_id), ns, checkpoint_id, references=references)
        )
        if found is None:
            await self.aget(thread_id)
            raise _absent(thread_id, checkpoint_id)
        return found

    async def acheckpoints(
        self, thread_id: str, limit: int | None = None, before: str | None = None, ns: str | None = None
    ) -> builtins.list[CheckpointInfo]:
        """Async face of `checkpoints`."""
        return await self._arun(lambda scope: _infos(scope, thread_name(thread_id), limit, before, ns))

    async def acheck(self, thread_id: str | None = None, progress: Callable[[int, int], None] | None = None) -> Report:
        """Async face of `check`, in a worker thread: it reads everything."""
        return await asyncio.to_thread(self.check, thread_id, progress)

    async def adoctor(self, thread_id: str) -> Diagnosis:
        """Async face of `doctor`."""
        return await self._arun(lambda scope: diagnose(scope, thread_name(thread_id)))

    # --- parts

    def _verdict(self, name: str) -> Verdict:
        try:
            return self._run(lambda scope: inspect.check_thread(scope, name))
        except Damaged as error:
            finding = Finding(
                thread_id=name,
                kind="unreadable",
                place=error.place,
                expected=str(error.expected)[:200],
                found=str(error.found)[:200],
            )
            return Verdict(findings=[finding])

    def _missing(self, thread_id: str, checkpoint_id: str | None) -> NoReturn:
        self.get(thread_id)
        raise _absent(thread_id, checkpoint_id)


def _absent(thread_id: str, checkpoint_id: str | None) -> CheckpointNotFound:
    if checkpoint_id is not None:
        return CheckpointNotFound(
            f"thread {thread_id!r} has no checkpoint {checkpoint_id!r}; `dalsegno checkpoints` lists them"
        )
    return CheckpointNotFound(f"thread {thread_id!r} has no checkpoint yet")


def _config(thread_id: str, checkpoint_id: str | None, ns: str) -> Any:
    a_text("checkpoint_id", checkpoint_id, optional=True)
    a_text("ns", ns)
    conf = {"thread_id": thread_id, "checkpoint_ns": ns}
    if checkpoint_id is not None:
        conf["checkpoint_id"] = checkpoint_id
    return {"configurable": conf}


def _listed(scope: Scope, limit: int | None, after: str | None, *, deleted: bool, tag: str | None) -> Op[list[Thread]]:
    a_count("limit", limit, optional=True)
    a_text("after", after, optional=True)
    a_text("tag", tag, optional=True)
    return inspect.list_threads(scope, after=after, limit=limit, deleted=deleted, tag=tag)


def _infos(scope: Scope, name: str, limit: int | None, before: str | None, ns: str | None) -> Op[list[CheckpointInfo]]:
    a_count("limit", limit, optional=True)
    a_text("before", before, optional=True)
    a_text("ns", ns, optional=True)
    return infos(scope, name, limit, before, ns)


def _tree(
    scope: Scope, name: str, ns: str, checkpoint_id: str | None, *, references: bool
) -> Op[dict[str, Json] | None]:
    _config(name, checkpoint_id, ns)
    return _tree_of(scope, name, ns, checkpoint_id, references=references)


@sound
def _tree_of(
    scope: Scope, name: str, ns: str, checkpoint_id: str | None, *, references: bool
) -> Op[dict[str, Json] | None]:
    row = yield from reading.find(scope, name, ns, checkpoint_id, writes=False)
    if row is None:
        return None
    loaded = yield from reading.contents([row], Loaded(references=references))
    return {channel: put_back(node, loaded.trees, loaded.blobs) for channel, node in row.state.items()}
