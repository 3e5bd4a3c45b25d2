"""The checkpointer: LangGraph's state, pending writes and history in a dalsegno database.

Rules of this module:

* One object serves `invoke` and `ainvoke`; both faces make the same request and run the same operation.
* A value is encoded before the call returns and never looked at again: the caller may change it at once.
* What cannot be stored exactly is refused when written, with its path.
* Versions are small integers.
* A checkpoint read by its id may be continued as a fork; one read as the head must still be the head when written.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.pregel._loop import PregelLoop

from dalsegno.contracts import Op, OpFactory, Store
from dalsegno.core.schema import StateSchema
from dalsegno.core.summary import evicted_in
from dalsegno.errors import Misuse
from dalsegno.langgraph import types as _types
from dalsegno.langgraph.authors import Authors
from dalsegno.langgraph.barriers import part_barriers
from dalsegno.langgraph.caller import calling_channels, calling_loop, live_channels
from dalsegno.langgraph.config import FENCE, FORK, conf_of
from dalsegno.langgraph.deltas import heard_of, standing_in
from dalsegno.langgraph.going import Going
from dalsegno.langgraph.history import History
from dalsegno.langgraph.opening import OnInput, Opening, waiting
from dalsegno.langgraph.owning import Contract, Told
from dalsegno.langgraph.pages import Listing, page_of
from dalsegno.langgraph.rebuild import Rebuilder, Rebuilt
from dalsegno.langgraph.requests import Recorded, Requests
from dalsegno.langgraph.shared import alone, named
from dalsegno.langgraph.steps import Steps
from dalsegno.services import checkpoints, reading, upkeep
from dalsegno.services import writes as pending
from dalsegno.services.checkpoints import Put, PutDone
from dalsegno.services.heard import put_heard
from dalsegno.services.ids import thread_name
from dalsegno.services.memo import Memo
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope

__all__ = ["FENCE", "FORK", "DalsegnoSaver", "OnInput", "Recorded"]

R = TypeVar("R")

_MEMORY = "memory://"
"""What every database in memory is called, each being one of its own."""


class DalsegnoSaver(BaseCheckpointSaver[int]):
    """A LangGraph checkpointer over a dalsegno store; made by `dalsegno.connect`, as `ds.checkpointer`."""

    def __init__(
        self,
        store: Store,
        scope: Callable[[], Scope],
        *,
        schema: StateSchema | None = None,
        on_input_over_unfinished: OnInput = "warn",
    ) -> None:
        """Take the store and on whose behalf to work.

        Args:
            store: where everything is kept.
            scope: tenant and user.
            schema: versions and migrations of the root graph's state.
            on_input_over_unfinished: what to do when a new input would discard steps that still wait.
        """
        super().__init__()
        self._store = store
        self._scope = scope
        self._memo = Memo()
        self._going = Going()
        self._steps = Steps()
        self.schema = schema
        self._contract = Contract(schema)
        authors = Authors()
        self._requests = Requests(self._memo, authors, schema)
        self._opening = Opening(self._memo, authors, on_input_over_unfinished)
        self._rebuilder = Rebuilder(self._memo, schema)
        self._classes = _types.Classes()

    def shares(self, other: DalsegnoSaver) -> bool:
        """Whether another saver keeps the same threads: the same tenant of the same database."""
        same = self._store is other._store or (self._store.url == other._store.url != _MEMORY)
        return same and self._scope().tenant == other._scope().tenant

    @property
    def told(self) -> str:
        """Which threads these are, for messages."""
        return f"{self._store.url}, tenant number {self._scope().tenant}"

    # --- reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read the head of a thread's namespace, or the checkpoint the config names; None when there is none.

        What a cancelled run of this process has begun to write is waited for first, in whichever loop it goes on.

        Raises:
            GraphChanged: a run asks in order to go on, and its graph lacks a node that waits.
            InputOverUnfinished: a run asks in order to apply an input over waiting steps, and that is set to raise.
            StateFromFuture, StateShapeError: the state does not fit the schema.
            UnknownType: the state holds a type this process has not registered.
        """
        loop = calling_loop()
        self._classes.learn(calling_channels())
        conf = conf_of(config)
        if not conf.get("checkpoint_ns"):
            self._going.over_here(self._scope().tenant, thread_name(conf.get("thread_id")))
        found = self._store.run(self._read(config, own=loop is not None), write=False)
        return self._hand_out(config, found, loop)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async face of `get_tuple`."""
        loop = calling_loop()
        self._classes.learn(calling_channels())
        conf = conf_of(config)
        if not conf.get("checkpoint_ns"):
            await self._going.over(self._scope().tenant, thread_name(conf.get("thread_id")))
        found = await self._store.arun(self._read(config, own=loop is not None), write=False)
        return self._hand_out(config, found, loop)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """List checkpoints, newest first, page by page: a bounded number of statements for each page.

        Args:
            config: thread, namespace and checkpoint to look at; None lists all threads, those written last first.
            filter: metadata that must be there and equal, type included (`1` is not `True`).
            before: only checkpoints put before this one.
            limit: at most so many.
        """
        forks = calling_loop() is not None
        self._classes.learn(calling_channels())
        for name in self._names(config):
            cursor: int | None = None
            while limit is None or limit > 0:
                page, cursor = self._store.run(
                    self._page(Listing.of(name, config, before, filter), limit, cursor), write=False
                )
                for found in page:
                    yield self._tuple(found, found.config(forks=forks))
                limit = None if limit is None else limit - len(page)
                if cursor is None:
                    break

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async face of `list`."""
        forks = calling_loop() is not None
        self._classes.learn(calling_channels())
        for name in await self._anames(config):
            cursor: int | None = None
            while limit is None or limit > 0:
                page, cursor = await self._store.arun(
                    self._page(Listing.of(name, config, before, filter), limit, cursor), write=False
                )
                for found in page:
                    yield self._tuple(found, found.config(forks=forks))
                limit = None if limit is None else limit - len(page)
                if cursor is None:
                    break

    def waiting(self, config: RunnableConfig) -> Sequence[str]:
        """Names of the nodes that a stored checkpoint waits for, whatever graph is at hand; none when there is none."""
        found = self._store.run(self._read(config, own=False), write=False)
        return [] if found is None else waiting(found)

    async def awaiting(self, config: RunnableConfig) -> Sequence[str]:
        """Async face of `waiting`."""
        found = await self._store.arun(self._read(config, own=False), write=False)
        return [] if found is None else waiting(found)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What each delta channel needs to be rebuilt: writes along the parents, and the value they start from."""
        if not channels:
            return {}
        return self._store.run(self._history(config, channels), write=False)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Async face of `get_delta_channel_history`."""
        if not channels:
            return {}
        return await self._store.arun(self._history(config, channels), write=False)

    # --- writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and the journal events it brings, in one transaction; durable on return.

        Raises:
            HeadMoved: another writer was first; nothing was stored.
            SubgraphShared: the same within a subgraph compiled with `checkpointer=True`.
            StateShapeError: the state is not what the schema says of its fields; nothing was stored.
            NotSerializable: a value cannot be stored exactly; nothing was stored.
            ThreadDeleted, LeaseHeld, LeaseLost: the thread takes no writes from here.
        """
        loop, channels = calling_loop(), live_channels()
        told = self._contract.told(loop, checkpoint, conf_of(config).get("checkpoint_id"))
        config, checkpoint, metadata = self._contract.checkpoint(config, checkpoint, metadata)
        request, marks = self._requests.put(
            config,
            checkpoint,
            metadata,
            new_versions,
            loop,
            by_graph=calling_channels() is not None,
            written=self._steps.written(loop, channels, checkpoint["id"]),
        )
        op = self._put(request, channels, checkpoint, loop, told)
        with named(request.place.ns):
            done = self._store.run(op, write=True, key=(self._scope().tenant, request.thread))
        self._steps.stored(loop, channels, checkpoint["id"])
        return self._requests.stored(request, marks, done)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Async face of `put`."""
        loop, channels = calling_loop(), live_channels()
        told = self._contract.told(loop, checkpoint, conf_of(config).get("checkpoint_id"))
        config, checkpoint, metadata = self._contract.checkpoint(config, checkpoint, metadata)
        request, marks = self._requests.put(
            config,
            checkpoint,
            metadata,
            new_versions,
            loop,
            by_graph=calling_channels() is not None,
            written=self._steps.written(loop, channels, checkpoint["id"]),
        )
        op = self._put(request, channels, checkpoint, loop, told)
        tenant = self._scope().tenant
        with named(request.place.ns), self._going.write(tenant, request.thread):
            done = await self._store.arun(op, write=True, key=(tenant, request.thread))
        self._steps.stored(loop, channels, checkpoint["id"])
        return self._requests.stored(request, marks, done)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store a task's writes, all or none; durable on return. They may come before their checkpoint.

        Raises:
            NotOwner: the task's node does not own a field; nothing was stored.
            StateShapeError: a value is not what the schema says of its field; nothing was stored.
            NotSerializable: a value cannot be stored exactly; nothing was stored.
            ThreadDeleted, LeaseHeld, LeaseLost: the thread takes no writes from here.
        """
        writes = self._contract.writes(config, writes, task_id, task_path)
        request = self._requests.writes(config, writes, task_id, task_path)
        scope = self._scope()
        self._store.run(lambda: pending.put_writes(scope, request), write=True, key=(scope.tenant, request.thread))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Async face of `put_writes`."""
        writes = self._contract.writes(config, writes, task_id, task_path)
        request = self._requests.writes(config, writes, task_id, task_path)
        scope = self._scope()
        with self._going.write(scope.tenant, request.thread):
            await self._store.arun(
                lambda: pending.put_writes(scope, request), write=True, key=(scope.tenant, request.thread)
            )

    def put_history(self, make: Callable[[], Iterator[Recorded]]) -> int:
        """Store a recorded history, all or none: checkpoints oldest first, each with its pending writes.

        Args:
            make: gives the history anew each time it is called. Each entry may name any earlier checkpoint as its
                parent.

        Returns:
            How many checkpoints were stored.

        Raises:
            ThreadExists: the thread holds something already.
            NotSerializable: a value cannot be stored exactly.
        """
        scope = self._scope()

        def op() -> Op[int]:
            count, past = 0, History()
            for count, entry in enumerate(make(), 1):
                conf = conf_of(entry.config)
                if count == 1:
                    yield from upkeep.require_empty(scope, thread_name(conf.get("thread_id")))
                config, checkpoint, metadata = self._contract.bare(entry.config, entry.checkpoint, entry.metadata)
                entry = replace(entry, config=config, checkpoint=checkpoint, metadata=metadata)  # noqa: PLW2901 - itself, bare
                request = self._requests.recorded(entry)
                place = request.place
                written = self._requests.written_on(request.thread, place.parent)
                heard = past.heard(place.ns, entry.checkpoint, entry.metadata, place.parent, written)
                yield from put_heard(scope, request, heard) if heard else checkpoints.put(scope, request)
                past.wrote(place.ns, place.id, entry.writes)
                there: RunnableConfig = {"configurable": {**conf, "checkpoint_id": entry.checkpoint["id"]}}
                for task_id, task_path, writes in entry.writes:
                    bare = self._contract.bare_writes(writes)
                    waiting_writes = self._requests.writes(there, bare, task_id, task_path)
                    yield from pending.put_writes(scope, waiting_writes)
            return count

        return self._store.run(op, write=True)

    # --- upkeep

    def delete_thread(self, thread_id: str) -> None:
        """Delete everything of a thread; a tombstone stays, so that a late write cannot bring it back."""
        self._run(lambda scope: upkeep.delete_thread(scope, thread_name(thread_id)))
        self._memo.forget(thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        """Async face of `delete_thread`."""
        await self._arun(lambda scope: upkeep.delete_thread(scope, thread_name(thread_id)))
        self._memo.forget(thread_id)

    def forget(self, thread_id: str) -> None:
        """Drop what this process remembers of a thread; nothing stored is touched."""
        self._memo.forget(thread_id)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints and writes of some runs, in all threads; the journal keeps what happened.

        Raises:
            Refused: a delta channel of a checkpoint that stays is rebuilt from what would go; nothing was deleted.
        """
        self._run(lambda scope: upkeep.delete_for_runs(scope, _listed(run_ids, "run_ids")))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async face of `delete_for_runs`."""
        await self._arun(lambda scope: upkeep.delete_for_runs(scope, _listed(run_ids, "run_ids")))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its whole history into a new one.

        Raises:
            ThreadNotFound: there is no such source.
            ThreadExists: the target holds something.
        """
        self._run(lambda scope: upkeep.copy_thread(scope, thread_name(source_thread_id), thread_name(target_thread_id)))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Async face of `copy_thread`."""
        await self._arun(
            lambda scope: upkeep.copy_thread(scope, thread_name(source_thread_id), thread_name(target_thread_id))
        )

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Drop old checkpoints: all but the newest of each namespace (`keep_latest`), or all (`delete`).

        Ancestors that a delta channel of the newest is rebuilt from are kept. The journal keeps what happened.
        """
        for name in map(thread_name, _listed(thread_ids, "thread_ids")):
            self._run(partial(upkeep.prune, name=name, strategy=strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Async face of `prune`."""
        for name in map(thread_name, _listed(thread_ids, "thread_ids")):
            await self._arun(partial(upkeep.prune, name=name, strategy=strategy))

    # --- LangGraph's other questions

    def get_next_version(self, current: str | float | None, channel: None) -> int:  # noqa: ARG002 - LangGraph's signature
        """The next version of a channel: one more than the last, also after a version written by another saver."""
        part_barriers()
        self._steps.catch()
        self._contract.applied()
        if current is None:
            return 1
        if isinstance(current, str):
            return int(current.split(".", 1)[0]) + 1
        return int(current) + 1

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> DalsegnoSaver:
        """Register the types of a compiled graph, so that its states can be read; the same saver comes back."""
        _types.register_allowlist(extra_allowlist)
        return self

    # --- operations

    def _put(
        self,
        request: Put,
        channels: Mapping[str, Any] | None,
        checkpoint: Checkpoint,
        loop: PregelLoop | None,
        told: Sequence[Told],
    ) -> OpFactory[PutDone]:
        """Storing a checkpoint, with what its delta channels and the fields that are told bring to the journal."""
        scope, place = self._scope(), request.place
        heard = heard_of(self._steps, loop, channels, checkpoint, place.parent, is_root=place.ns == "")
        heard = self._contract.heard(heard, told)
        # What a summary of the state took out is gone for room alone; nobody deleted it.
        evicted = frozenset[str]().union(*map(evicted_in, checkpoint["channel_values"].values()))
        request = replace(request, elsewhere=standing_in(self._steps, loop, channels, place.id) | evicted)

        def op() -> Op[PutDone]:
            yield from alone(scope, request.thread, place)
            if heard is None:
                return (yield from checkpoints.put(scope, request))
            return (yield from put_heard(scope, request, heard))

        return op

    def _run(self, make: Callable[[Scope], Op[R]]) -> R:
        scope = self._scope()
        return self._store.run(lambda: make(scope), write=True, key=None)

    async def _arun(self, make: Callable[[Scope], Op[R]]) -> R:
        scope = self._scope()
        return await self._store.arun(lambda: make(scope), write=True, key=None)

    def _read(self, config: RunnableConfig, *, own: bool) -> OpFactory[Rebuilt | None]:
        conf = conf_of(config)
        thread, ns = thread_name(conf.get("thread_id")), conf.get("checkpoint_ns") or ""
        checkpoint_id = conf.get("checkpoint_id") or None
        scope = self._scope()

        @sound
        def op() -> Op[Rebuilt | None]:
            row = yield from reading.find(scope, thread, ns, checkpoint_id)
            if row is None:
                return None
            return (yield from self._rebuilder.one(row, own=own))

        return op

    def referring(self, config: RunnableConfig) -> OpFactory[dict[str, Any] | None]:
        """Read a checkpoint's values with `blob://` references in place of very long texts; for `ds.threads`."""
        conf = conf_of(config)
        thread, ns = thread_name(conf.get("thread_id")), conf.get("checkpoint_ns") or ""
        scope = self._scope()

        @sound
        def op() -> Op[dict[str, Any] | None]:
            row = yield from reading.find(scope, thread, ns, conf.get("checkpoint_id") or None, writes=False)
            return None if row is None else (yield from self._rebuilder.referring(row))

        return op

    def _hand_out(
        self, config: RunnableConfig, found: Rebuilt | None, loop: PregelLoop | None
    ) -> CheckpointTuple | None:
        self._contract.opened(loop, () if found is None else (task for task, _, _ in found.writes))
        if found is None:
            return None
        if loop is not None:
            self._opening.hand(found, loop)
        return self._tuple(found, found.config(forks=bool(conf_of(config).get("checkpoint_id"))))

    def _tuple(self, found: Rebuilt, config: RunnableConfig) -> CheckpointTuple:
        return CheckpointTuple(
            config=config,
            checkpoint=cast("Checkpoint", found.checkpoint),
            metadata=cast("CheckpointMetadata", found.metadata),
            parent_config=found.parent_config(),
            pending_writes=list(found.writes),
        )

    def _names(self, config: RunnableConfig | None) -> Sequence[str]:
        if config is not None:
            return [thread_name(conf_of(config).get("thread_id"))]
        scope = self._scope()
        return self._store.run(lambda: upkeep.names(scope), write=False)

    async def _anames(self, config: RunnableConfig | None) -> Sequence[str]:
        if config is not None:
            return [thread_name(conf_of(config).get("thread_id"))]
        scope = self._scope()
        return await self._store.arun(lambda: upkeep.names(scope), write=False)

    def _page(
        self, listing: Listing, limit: int | None, cursor: int | None
    ) -> OpFactory[tuple[Sequence[Rebuilt], int | None]]:
        scope = self._scope()
        return lambda: page_of(scope, self._rebuilder, listing, limit, cursor)

    def _history(self, config: RunnableConfig, channels: Sequence[str]) -> OpFactory[Mapping[str, DeltaChannelHistory]]:
        conf = conf_of(config)
        thread, ns = thread_name(conf.get("thread_id")), conf.get("checkpoint_ns") or ""
        checkpoint_id = conf.get("checkpoint_id") or None
        scope = self._scope()

        @sound
        def op() -> Op[Mapping[str, DeltaChannelHistory]]:
            row = yield from reading.find(scope, thread, ns, checkpoint_id, writes=False)
            if row is None:
                return {channel: {"writes": []} for channel in channels}
            return (yield from self._rebuilder.history(row, channels))

        return op


def _listed(ids: Sequence[str], name: str) -> list[str]:
    """Ids as a list; one text alone is a list of letters to Python, and most likely a mistake."""
    if isinstance(ids, str):
        msg = f"{name} is a list of ids; write [{ids!r}]"
        raise Misuse(msg)
    return list(ids)
