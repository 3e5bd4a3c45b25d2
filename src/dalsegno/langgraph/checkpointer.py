"""The checkpointer: LangGraph's state, pending writes and history in a dalsegno database.

Rules of this module:

* One object serves `invoke` and `ainvoke`; both faces make the same request and run the same operation.
* A value is encoded before the call returns and never looked at again: the caller may change it at once.
* What cannot be stored exactly is refused when written, with its path.
* Versions are small integers.
* A checkpoint read by its id may be continued as a fork; one read as the head must still be the head when written.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar, cast

import orjson
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    EXCLUDED_METADATA_KEYS,
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.pregel._loop import PregelLoop
from langgraph.types import Command, Send

from dalsegno.contracts import Op, OpFactory, Store
from dalsegno.core import codec
from dalsegno.core.bulk import collector_paused
from dalsegno.core.items import Plan, elements_of, last_places, lift
from dalsegno.core.schema import StateSchema
from dalsegno.core.tree import is_plain_text
from dalsegno.errors import GraphChanged, InputOverUnfinished, Misuse, NotSerializable
from dalsegno.langgraph import types as _types  # noqa: F401 - registers LangChain's and LangGraph's types
from dalsegno.langgraph.authors import Authors, writer_of
from dalsegno.langgraph.caller import calling_loop, graph_of
from dalsegno.langgraph.pending import TASKS, pending_nodes
from dalsegno.langgraph.rebuild import Rebuilt, Rebuilder
from dalsegno.langgraph.said import has_messages, said_of
from dalsegno.services import checkpoints, reading, upkeep
from dalsegno.services.frames import split_metadata, write_frame
from dalsegno.services.ids import thread_name
from dalsegno.services.memo import Held, ListPrint, Memo, ValuePrint, print_of
from dalsegno.services.threads_row import Scope

__all__ = ["FORK", "DalsegnoSaver", "OnInput", "Recorded", "UnfinishedWarning"]

R = TypeVar("R")

OnInput = Literal["warn", "raise", "allow"]

FORK = "__dalsegno_fork"
"""Key in a config's `configurable` that says: this checkpoint was addressed by its id."""

FENCE = "dalsegno_fence"
"""Key in a config's `configurable` for the fencing token of the run's lease."""

_PAGE = 64


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
        if on_input_over_unfinished not in ("warn", "raise", "allow"):
            msg = f"on_input_over_unfinished={on_input_over_unfinished!r}: use 'warn', 'raise' or 'allow'"
            raise Misuse(msg)
        self._store = store
        self._scope = scope
        self._schema = schema
        self._on_input = on_input_over_unfinished
        self._memo = Memo()
        self._authors = Authors()
        self._rebuilder = Rebuilder(self._memo, schema)

    # --- reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read the head of a thread's namespace, or the checkpoint the config names; None when there is none.

        Raises:
            GraphChanged: a run asks in order to go on, and its graph lacks a node that waits.
            InputOverUnfinished: a run asks in order to apply an input over waiting steps, and that is set to raise.
            StateFromFuture, StateShapeError: the state does not fit the schema.
            UnknownType: the state holds a type this process has not registered.
        """
        loop = calling_loop()
        found = self._store.run(self._read(config, own=loop is not None), write=False)
        return self._hand_out(config, found, loop)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async face of `get_tuple`."""
        loop = calling_loop()
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
        for name in self._names(config, limit):
            cursor: int | None = None
            while limit is None or limit > 0:
                page, cursor = self._store.run(
                    self._page(name, config, filter, before, limit, cursor), write=False
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
        for name in await self._anames(config, limit):
            cursor: int | None = None
            while limit is None or limit > 0:
                page, cursor = await self._store.arun(
                    self._page(name, config, filter, before, limit, cursor), write=False
                )
                for found in page:
                    yield self._tuple(found, found.config(forks=forks))
                limit = None if limit is None else limit - len(page)
                if cursor is None:
                    break

    def waiting(self, config: RunnableConfig) -> Sequence[str]:
        """Names of the nodes that a stored checkpoint waits for, whatever graph is at hand; none when there is none."""
        found = self._store.run(self._read(config, own=False), write=False)
        return [] if found is None else _waiting(found)

    async def awaiting(self, config: RunnableConfig) -> Sequence[str]:
        """Async face of `waiting`."""
        found = await self._store.arun(self._read(config, own=False), write=False)
        return [] if found is None else _waiting(found)

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
            NotSerializable: a value cannot be stored exactly; nothing was stored.
            ThreadDeleted, LeaseHeld, LeaseLost: the thread takes no writes from here.
        """
        request, marks = self._request(config, checkpoint, metadata, new_versions, calling_loop())
        scope = self._scope()
        done = self._store.run(
            lambda: checkpoints.put(scope, request), write=True, key=(scope.tenant, request.thread)
        )
        return self._after_put(request, marks, done)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Async face of `put`."""
        request, marks = self._request(config, checkpoint, metadata, new_versions, calling_loop())
        scope = self._scope()
        done = await self._store.arun(
            lambda: checkpoints.put(scope, request), write=True, key=(scope.tenant, request.thread)
        )
        return self._after_put(request, marks, done)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store a task's writes, all or none; durable on return. They may come before their checkpoint.

        Raises:
            NotSerializable: a value cannot be stored exactly; nothing was stored.
            ThreadDeleted, LeaseHeld, LeaseLost: the thread takes no writes from here.
        """
        request = self._writes(config, writes, task_id, task_path)
        scope = self._scope()
        self._store.run(
            lambda: checkpoints.put_writes(scope, request), write=True, key=(scope.tenant, request.thread)
        )

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Async face of `put_writes`."""
        request = self._writes(config, writes, task_id, task_path)
        scope = self._scope()
        await self._store.arun(
            lambda: checkpoints.put_writes(scope, request), write=True, key=(scope.tenant, request.thread)
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
            count = 0
            for entry in make():
                if count == 0:
                    yield from upkeep.require_empty(scope, thread_name(_conf(entry.config).get("thread_id")))
                request, _ = self._request(entry.config, entry.checkpoint, entry.metadata, entry.new_versions, None)
                yield from checkpoints.put(scope, replace(request, forks=True, begins=False))
                config: RunnableConfig = {
                    "configurable": {**_conf(entry.config), "checkpoint_id": entry.checkpoint["id"]}
                }
                for task_id, task_path, writes in entry.writes:
                    request_ = self._writes(config, writes, task_id, task_path)
                    yield from checkpoints.put_writes(scope, request_)
                count += 1
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

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints and writes of some runs, in all threads; the journal keeps what happened.

        Raises:
            Refused: a delta channel of a checkpoint that stays is rebuilt from what would go; nothing was deleted.
        """
        self._run(lambda scope: upkeep.delete_for_runs(scope, list(run_ids)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async face of `delete_for_runs`."""
        await self._arun(lambda scope: upkeep.delete_for_runs(scope, list(run_ids)))

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
        for thread_id in thread_ids:
            self._run(lambda scope, name=thread_name(thread_id): upkeep.prune(scope, name, strategy))  # type: ignore[misc]

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Async face of `prune`."""
        for thread_id in thread_ids:
            await self._arun(lambda scope, name=thread_name(thread_id): upkeep.prune(scope, name, strategy))  # type: ignore[misc]

    # --- LangGraph's other questions

    def get_next_version(self, current: int | str | float | None, channel: None) -> int:  # noqa: ARG002 - LangGraph's signature
        """The next version of a channel: one more than the last, also after a version written by another saver."""
        if current is None:
            return 1
        if isinstance(current, str):
            return int(current.split(".", 1)[0]) + 1
        return int(current) + 1

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> DalsegnoSaver:
        """Register the types of a compiled graph, so that its states can be read; the same saver comes back."""
        _types.register_allowlist(extra_allowlist)
        return self

    # --- requests

    def _run(self, make: Callable[[Scope], Op[R]]) -> R:
        scope = self._scope()
        return self._store.run(lambda: make(scope), write=True, key=None)

    async def _arun(self, make: Callable[[Scope], Op[R]]) -> R:
        scope = self._scope()
        return await self._store.arun(lambda: make(scope), write=True, key=None)

    def _request(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
        loop: PregelLoop | None,
    ) -> tuple[checkpoints.Put, _Marks]:
        conf = _conf(config)
        thread, ns, parent = thread_name(conf.get("thread_id")), conf.get("checkpoint_ns") or "", conf.get("checkpoint_id")
        plan = Plan()
        merged = _metadata(config, metadata)
        source, step, run, rest = split_metadata(merged)
        with collector_paused():
            values, marks = self._values(thread, ns, parent, checkpoint["channel_values"], new_versions, plan)
        parents: Mapping[str, str] = metadata.get("parents") or {}
        request = checkpoints.Put(
            thread=thread,
            ns=ns,
            id=checkpoint["id"],
            parent=parent,
            forks=(parent is not None and conf.get(FORK) == parent) or metadata.get("source") == "fork",
            begins=step is not None and step < 0,
            values=values,
            plan=plan,
            frame=write_frame(checkpoint, now=int(datetime.now(UTC).timestamp() * 1_000_000)),
            source=source,
            step=step,
            run=run,
            meta=lift(codec.encode(rest, "metadata"), plan) if rest and rest != {"parents": {}} else None,
            graph=orjson.dumps(graph_of(loop)) if loop is not None else None,
            version=self._schema.version if self._schema is not None and ns == "" else None,
            root_parent=parents.get(""),
            fence=_fence(conf),
        )
        return request, marks

    def _values(
        self,
        thread: str,
        ns: str,
        parent: str | None,
        values: Mapping[str, Any],
        new_versions: Mapping[str, Any],
        plan: Plan,
    ) -> tuple[dict[str, Any], _Marks]:
        held = self._memo.held(thread, ns, parent)
        written = self._authors.of(thread, parent)
        out: dict[str, Any] = {}
        marks = _Marks(sends=_send_nodes(values))
        prints = marks.prints
        for name, value in values.items():
            if not is_plain_text(name):
                raise NotSerializable(f"state[{name!r}]", "str", "a channel's name has no NUL or lone surrogates; rename it")
            before = held.prints.get(name) if held is not None else None

            def whole(name: str = name, value: Any = value) -> checkpoints.Whole:
                tree = lift(codec.encode(value, f"state.{name}"), plan)
                said = [said_of(item, writer_of(item, written)) for item in value] if has_messages(value) else None
                return checkpoints.Whole(tree, said)

            if isinstance(before, ListPrint) and type(value) is list and before.kept(value):
                tail = value[len(before) :]
                if not tail:
                    prints[name] = before
                    out[name] = checkpoints.Unchanged(whole)
                    continue
                out[name] = checkpoints.Appended(
                    [
                        lift(codec.encode(item, f"state.{name}[{len(before) + place}]"), plan)
                        for place, item in enumerate(tail)
                    ],
                    [said_of(item, writer_of(item, written)) for item in tail],
                    whole,
                )
                _add_print(prints, name, lambda before=before, tail=tail: before.extended(tail))  # type: ignore[misc]
                marks.templates[name] = codec.clone_list(tail)
                continue
            if isinstance(before, ValuePrint) and before.kept(value):
                prints[name] = before
                out[name] = checkpoints.Unchanged(whole)
                continue
            if before is None and held is None and parent is not None and name not in new_versions:
                out[name] = checkpoints.Unchanged(whole)
                continue
            out[name] = whole()
            if has_messages(value):
                _add_print(prints, name, lambda value=value: ListPrint(value))  # type: ignore[misc]
                marks.templates[name] = codec.clone_list(value)
            else:
                _add_print(prints, name, lambda value=value: print_of(value))  # type: ignore[misc]
        return out, marks

    def _after_put(self, request: checkpoints.Put, marks: _Marks, done: checkpoints.PutDone) -> RunnableConfig:
        self._memo.hold(request.thread, request.ns, Held(request.id, marks.prints))
        for name, templates in marks.templates.items():
            ranges = elements_of(done.state[name])
            if ranges is not None:
                self._memo.learn(done.thread, zip(last_places(ranges, len(templates)), templates, strict=True))
        self._authors.applied(request.thread, request.parent)
        self._authors.note_sends(request.thread, request.id, marks.sends)
        return {
            "configurable": {
                "thread_id": request.thread,
                "checkpoint_ns": request.ns,
                "checkpoint_id": request.id,
            }
        }

    def _writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> checkpoints.Writes:
        conf = _conf(config)
        thread, checkpoint_id = thread_name(conf.get("thread_id")), conf.get("checkpoint_id")
        if not isinstance(checkpoint_id, str) or not checkpoint_id:
            msg = "put_writes needs config['configurable']['checkpoint_id']: the checkpoint the task runs on"
            raise Misuse(msg)
        plan = Plan()
        request = checkpoints.Writes(
            thread=thread,
            ns=conf.get("checkpoint_ns") or "",
            id=checkpoint_id,
            task=task_id,
            path=task_path,
            writes=[
                (
                    WRITES_IDX_MAP.get(channel, place),
                    cast("Any", codec.encode(channel, "write")),
                    lift(codec.encode(value, f"writes.{channel}"), plan),
                )
                for place, (channel, value) in enumerate(writes)
            ],
            plan=plan,
            fence=_fence(conf),
        )
        self._authors.note(thread, checkpoint_id, task_path, writes)
        return request

    # --- answers

    def _read(self, config: RunnableConfig, *, own: bool) -> OpFactory[Rebuilt | None]:
        conf = _conf(config)
        thread, ns = thread_name(conf.get("thread_id")), conf.get("checkpoint_ns") or ""
        checkpoint_id = conf.get("checkpoint_id") or None
        scope = self._scope()

        def op() -> Op[Rebuilt | None]:
            row = yield from reading.find(scope, thread, ns, checkpoint_id)
            if row is None:
                return None
            return (yield from self._rebuilder.one(row, own=own))

        return op

    def _hand_out(
        self, config: RunnableConfig, found: Rebuilt | None, loop: PregelLoop | None
    ) -> CheckpointTuple | None:
        if found is None:
            return None
        addressed = bool(_conf(config).get("checkpoint_id"))
        if loop is not None:
            self._check_run(found, loop)
            self._hold(found)
        return self._tuple(found, found.config(forks=addressed))

    def _hold(self, found: Rebuilt) -> None:
        """Remember what a run was handed, so that its next checkpoint is compared with it by identity."""
        prints = found.prints
        for name, value in found.checkpoint["channel_values"].items():
            if name in prints:
                continue
            if has_messages(value):
                _add_print(prints, name, lambda value=value: ListPrint(value))  # type: ignore[misc]
            else:
                _add_print(prints, name, lambda value=value: print_of(value))  # type: ignore[misc]
        row = found.row
        if not found.migrated:
            self._memo.hold(row.name, row.ns, Held(row.id, prints))
        self._authors.note_sends(row.name, row.id, _send_nodes(found.checkpoint["channel_values"]))
        by_path: dict[str, list[tuple[str, Any]]] = {}
        for write, (_, channel, value) in zip(row.writes, found.writes, strict=True):
            by_path.setdefault(write.path, []).append((channel, value))
        for path, writes in by_path.items():
            self._authors.note(row.name, row.id, path, writes)

    def _check_run(self, found: Rebuilt, loop: PregelLoop) -> None:
        conf = _conf(loop.config)
        goes_on = conf.get("__pregel_resuming", loop.input is None or isinstance(loop.input, Command))
        if loop.is_nested and not goes_on:
            return
        pending = _waiting(found)
        if not pending:
            return
        where = f"thread {found.row.name!r}, checkpoint {found.row.id}"
        if goes_on:
            lost = sorted({name for name in pending if name not in loop.nodes})
            if lost:
                msg = (
                    f"{where}: the run waits for {', '.join(map(repr, lost))}, which this graph no longer has; going on "
                    "would silently do nothing. Restore the node, or go on from an earlier checkpoint with dalsegno.fork"
                )
                raise GraphChanged(msg)
        elif self._on_input != "allow" and not conf.get("checkpoint_id"):
            msg = (
                f"{where}: {', '.join(map(repr, pending))} still had to run and is discarded by the new input. "
                "Resume first (dalsegno.resume), or say on_input_over_unfinished='allow'"
            )
            if self._on_input == "raise":
                raise InputOverUnfinished(msg)
            warnings.warn(msg, UnfinishedWarning, stacklevel=4)

    def _tuple(self, found: Rebuilt, config: RunnableConfig) -> CheckpointTuple:
        return CheckpointTuple(
            config=config,
            checkpoint=cast("Checkpoint", found.checkpoint),
            metadata=cast("CheckpointMetadata", found.metadata),
            parent_config=found.parent_config(),
            pending_writes=list(found.writes),
        )

    # --- pages

    def _names(self, config: RunnableConfig | None, limit: int | None) -> Sequence[str]:
        if config is not None:
            return [thread_name(_conf(config).get("thread_id"))]
        scope = self._scope()
        return self._store.run(lambda: upkeep.names(scope, limit), write=False)

    async def _anames(self, config: RunnableConfig | None, limit: int | None) -> Sequence[str]:
        if config is not None:
            return [thread_name(_conf(config).get("thread_id"))]
        scope = self._scope()
        return await self._store.arun(lambda: upkeep.names(scope, limit), write=False)

    def _page(
        self,
        name: str,
        config: RunnableConfig | None,
        wanted: Mapping[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
        cursor: int | None,
    ) -> OpFactory[tuple[Sequence[Rebuilt], int | None]]:
        conf = _conf(config) if config is not None else {}
        ns = conf.get("checkpoint_ns") if config is not None else None
        only = conf.get("checkpoint_id") or None
        bound = _conf(before).get("checkpoint_id") if before is not None else None
        scope = self._scope()
        size = _PAGE if wanted or limit is None else min(_PAGE, max(limit, 1))

        def op() -> Op[tuple[Sequence[Rebuilt], int | None]]:
            start, smaller = cursor, None
            if start is None and bound is not None:
                edge = yield from reading.find(scope, name, ns or "", bound, writes=False)
                start, smaller = (edge.ckpt, None) if edge is not None else (None, bound)
            elif bound is not None:
                edge = yield from reading.find(scope, name, ns or "", bound, writes=False)
                smaller = None if edge is not None else bound
            if only is not None:
                row = yield from reading.find(scope, name, ns or "", only, writes=False)
                rows = [row] if row is not None and (start is None or row.ckpt < start) else []
                following = None
            else:
                rows = yield from reading.page(scope, name, ns=ns, before=start, limit=size)
                following = rows[-1].ckpt if len(rows) == size else None
            if smaller is not None:
                rows = [row for row in rows if row.id < smaller]
            if wanted:
                rows = yield from self._rebuilder.matching(rows, wanted)
            if limit is not None:
                rows = rows[:limit]
            return (yield from self._rebuilder.many(rows)), following

        return op

    def _history(
        self, config: RunnableConfig, channels: Sequence[str]
    ) -> OpFactory[Mapping[str, DeltaChannelHistory]]:
        conf = _conf(config)
        thread, ns = thread_name(conf.get("thread_id")), conf.get("checkpoint_ns") or ""
        checkpoint_id = conf.get("checkpoint_id") or None
        scope = self._scope()

        def op() -> Op[Mapping[str, DeltaChannelHistory]]:
            row = yield from reading.find(scope, thread, ns, checkpoint_id, writes=False)
            if row is None:
                return {channel: {"writes": []} for channel in channels}
            return (yield from self._rebuilder.history(row, channels))

        return op


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A checkpoint of a recorded history.

    Attributes:
        config: thread, namespace, and the parent's checkpoint id.
        checkpoint, metadata, new_versions: as for `put`.
        writes: (task id, task path, (channel, value) pairs).
    """

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    new_versions: ChannelVersions
    writes: Sequence[tuple[str, str, Sequence[tuple[str, Any]]]] = ()


@dataclass(slots=True)
class _Marks:
    """What a put leaves in this process's memory once it is stored."""

    sends: list[str]
    prints: dict[str, ListPrint | ValuePrint] = field(default_factory=dict)
    templates: dict[str, list[Any]] = field(default_factory=dict)


class UnfinishedWarning(UserWarning):
    """A new input was given to a thread whose head still had steps to run."""


def _conf(config: RunnableConfig) -> dict[str, Any]:
    return config.get("configurable") or {}


def _waiting(found: Rebuilt) -> Sequence[str]:
    return pending_nodes(found.checkpoint, orjson.loads(found.row.graph) if found.row.graph is not None else None)


def _fence(conf: Mapping[str, Any]) -> int | None:
    fence = conf.get(FENCE)
    return fence if isinstance(fence, int) else None


def _send_nodes(values: Mapping[str, Any]) -> list[str]:
    sends = values.get(TASKS)
    return [send.node if isinstance(send, Send) else "" for send in sends] if isinstance(sends, list) else []


def _add_print(
    prints: dict[str, ListPrint | ValuePrint], name: str, make: Callable[[], ListPrint | ValuePrint | None]
) -> None:
    try:
        found = make()
    except TypeError:
        return
    if found is not None:
        prints[name] = found


def _metadata(config: RunnableConfig, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata with the run's own: simple values of the config's metadata and configurable, as LangGraph's savers do."""
    merged = dict(metadata)
    for part in (config.get("metadata"), config.get("configurable")):
        for key, value in (part or {}).items():
            if key in merged or key in EXCLUDED_METADATA_KEYS or key.startswith("__") or key == FENCE:
                continue
            if isinstance(value, (str, int, bool, float)):
                merged[key] = value
    return merged
