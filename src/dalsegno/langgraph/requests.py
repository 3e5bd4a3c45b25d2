"""From LangGraph's arguments to what the services store.

Rules of this module:

* A value is encoded here, before the call returns, and never looked at again: the caller may change it at once.
* What this process handed out or stored last is compared by identity; what did not change is not encoded.
* What cannot be stored exactly is refused with its path; nothing of the call is stored then.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast

import orjson
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.graph import START
from langgraph.pregel._loop import PregelLoop
from langgraph.types import Send

from dalsegno.core import codec
from dalsegno.core.bulk import collector_paused
from dalsegno.core.items import Plan, elements_of, last_places, lift, lift_input, lift_value
from dalsegno.core.schema import StateSchema
from dalsegno.core.tree import is_plain_object, is_plain_text
from dalsegno.errors import Misuse, NotSerializable
from dalsegno.langgraph.authors import Authors, writer_of
from dalsegno.langgraph.caller import graph_of
from dalsegno.langgraph.config import FORK, conf_of, config_of, fence_of, metadata_with
from dalsegno.langgraph.pending import TASKS, pending_nodes
from dalsegno.langgraph.said import has_messages, said_of
from dalsegno.langgraph.steps import Written
from dalsegno.langgraph.types import storable
from dalsegno.services.arrivals import Said
from dalsegno.services.checkpoints import Appended, Put, PutDone, Unchanged, Value, Whole
from dalsegno.services.frames import split_metadata, to_micros, write_frame
from dalsegno.services.ids import thread_name
from dalsegno.services.memo import Held, ListPrint, Memo, ValuePrint, print_of
from dalsegno.services.placing import Placement
from dalsegno.services.writes import Writes

__all__ = ["Marks", "Recorded", "Requests", "add_print", "send_nodes"]

Prints = dict[str, ListPrint | ValuePrint]

_ASKED = 4096
"""Checkpoints that are not stored yet and whose questions are remembered; a run has one at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A checkpoint of a recorded history.

    Attributes:
        config: thread, namespace, and the parent's checkpoint id.
        checkpoint, metadata, new_versions: as for `put`.
        writes: (task id, task path, (channel, value) pairs).
        times: when messages were said, by message id.
    """

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    new_versions: ChannelVersions
    writes: Sequence[tuple[str, str, Sequence[tuple[str, Any]]]] = ()
    times: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(slots=True)
class Marks:
    """What a put leaves in this process's memory once it is stored.

    Attributes:
        sends: nodes the checkpoint's waiting sends are for.
        prints: by channel.
        templates: private copies of the messages that are new, by channel.
    """

    sends: list[str]
    prints: Prints = field(default_factory=dict)
    templates: dict[str, list[Any]] = field(default_factory=dict)


class Requests:
    """Makes requests, with the help of what this process remembers."""

    def __init__(self, memo: Memo, authors: Authors, schema: StateSchema | None) -> None:
        """Take the memory of states, the memory of who wrote what, and the schema that is stamped on checkpoints."""
        self._memo = memo
        self._authors = authors
        self._schema = schema
        self._asked: OrderedDict[str, None] = OrderedDict()

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
        loop: PregelLoop | None,
        *,
        by_graph: bool = False,
        written: Written = (),
    ) -> tuple[Put, Marks]:
        """A checkpoint to store, and what to remember once it is.

        Args:
            config: thread, namespace and the parent's checkpoint id.
            checkpoint: as LangGraph gives it.
            metadata: as LangGraph gives it.
            new_versions: channels that have a new version.
            loop: the run on whose behalf, if known.
            by_graph: True when a run or a graph puts it: its first checkpoint begins the thread, whatever its step.
            written: the messages that the step before it wrote, with their nodes, as far as it was seen.
        """
        conf = conf_of(config)
        thread, ns = thread_name(conf.get("thread_id")), conf.get("checkpoint_ns") or ""
        parent: str | None = conf.get("checkpoint_id")
        source, step, run, rest = split_metadata(metadata_with(config, metadata))
        graph = graph_of(loop) if loop is not None else None
        work = _Values(
            self._memo.held(thread, ns, parent),
            [*written, *self._authors.of(thread, parent)],
            Plan(),
            goes_on=loop is not None and loop.durability == "async" and bool(pending_nodes(checkpoint, graph)),
        )
        # A copy has the values of another checkpoint than its parent.
        compare = parent is None or metadata.get("source") == "fork"
        with collector_paused():
            for name, value in checkpoint["channel_values"].items():
                work.add(name, value, is_new=compare or name in new_versions)
            work.settle()
        plan = work.plan
        graph = graph_of(loop) if loop is not None else None
        request = Put(
            thread=thread,
            place=Placement(
                ns=ns,
                id=checkpoint["id"],
                parent=parent,
                forks=(parent is not None and conf.get(FORK) == parent) or metadata.get("source") == "fork",
                begins=by_graph or (step is not None and step < 0),
                root_parent=(metadata.get("parents") or {}).get(""),
            ),
            values=work.out,
            plan=plan,
            frame=write_frame(checkpoint, now=int(datetime.now(UTC).timestamp() * 1_000_000)),
            source=source,
            step=step,
            run=run,
            meta=lift(codec.encode(rest, "metadata"), plan) if rest and rest != {"parents": {}} else None,
            graph=None if graph is None else orjson.dumps(graph),
            version=self._schema.version if self._schema is not None and ns == "" else None,
            fence=fence_of(conf),
            waits=bool(pending_nodes(checkpoint, graph)) if ns == "" else None,
            asked=partial(self._asked.__contains__, checkpoint["id"]),
        )
        work.marks.sends = send_nodes(checkpoint["channel_values"])
        return request, work.marks

    def recorded(self, entry: Recorded) -> Put:
        """A checkpoint of a recorded history; it may continue from any earlier one."""
        request, _ = self.put(entry.config, entry.checkpoint, entry.metadata, entry.new_versions, None)
        values = {
            name: replace(value, said=[_timed(said, entry.times) for said in value.said])
            if isinstance(value, Whole) and value.said and entry.times
            else value
            for name, value in request.values.items()
        }
        return replace(request, values=values, place=replace(request.place, forks=True, begins=False))

    def written_on(self, thread: str, checkpoint_id: str | None) -> Written:
        """Messages in the pending writes of a checkpoint, with their nodes."""
        return self._authors.of(thread, checkpoint_id)

    def stored(self, request: Put, marks: Marks, done: PutDone) -> RunnableConfig:
        """Remember a checkpoint that is stored; returns its config."""
        place = request.place
        self._asked.pop(place.id, None)
        self._memo.hold(request.thread, place.ns, Held(place.id, marks.prints, done.state))
        for name, templates in marks.templates.items():
            ranges = elements_of(done.state[name])
            if ranges is not None:
                self._memo.learn(done.thread, zip(last_places(ranges, len(templates)), templates, strict=True))
        self._authors.applied(request.thread, place.parent)
        self._authors.note_sends(request.thread, place.id, marks.sends)
        return config_of(request.thread, place.ns, place.id)

    def writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str) -> Writes:
        """A task's pending writes to store."""
        conf = conf_of(config)
        thread, checkpoint_id = thread_name(conf.get("thread_id")), conf.get("checkpoint_id")
        if not isinstance(checkpoint_id, str) or not checkpoint_id:
            msg = "put_writes needs config['configurable']['checkpoint_id']: the checkpoint the task runs on"
            raise Misuse(msg)
        if any(channel == INTERRUPT for channel, _ in writes):  # noted before it can be stored; `put` asks
            self._asked[checkpoint_id] = None
            while len(self._asked) > _ASKED:
                self._asked.popitem(last=False)
        plan = Plan()
        request = Writes(
            thread=thread,
            ns=conf.get("checkpoint_ns") or "",
            id=checkpoint_id,
            task=task_id,
            path=task_path,
            writes=[
                _write(WRITES_IDX_MAP.get(channel, place), channel, value, plan)
                for place, (channel, value) in enumerate(writes)
            ],
            plan=plan,
            fence=fence_of(conf),
        )
        self._authors.note(thread, checkpoint_id, task_path, writes)
        return request


class _Values:
    """The values of one put, compared with what was held of its parent."""

    def __init__(
        self, held: Held | None, written: Sequence[tuple[Any, str]], plan: Plan, *, goes_on: bool = False
    ) -> None:
        self.plan = plan
        self._goes_on = goes_on
        self.out: dict[str, Value] = {}
        self.marks = Marks(sends=[])
        self._held = held
        self._written = written
        self._standing: dict[str, Callable[[], Whole]] = {}
        self._loses = False

    def add(self, name: str, value: Any, *, is_new: bool) -> None:
        """Take a channel's value; `is_new` says whether LangGraph gave it a new version."""
        if not is_plain_text(name):
            raise NotSerializable(
                f"state[{name!r}]", "str", "a channel's name has no NUL or lone surrogates; rename it"
            )

        # Bound to values, not to this object: without cycles, what a request holds is let go at once.
        whole = partial(_whole, name, value, self.plan, self._written)
        if has_messages(value):
            self._standing[name] = whole
        before = self._held.prints.get(name) if self._held is not None else None
        node = self._held.nodes.get(name) if self._held is not None else None
        tail: list[Any] | None = None  # what a value that goes on from the printed one has more; None: it does not
        if isinstance(before, ListPrint) and type(value) is list and before.kept(value):
            tail = value[len(before) :]
        elif isinstance(before, ValuePrint) and before.kept(value):
            tail = []
        if before is not None and tail == []:
            self.marks.prints[name] = before
            self.out[name] = Unchanged(whole, node)
        elif not is_new and (self._goes_on or self._held is None):
            # Not written, yet not the same: the step that runs by now may be changing it in place, and a run that goes
            # on from here would do so once more. It has the parent's value; what stays changed is taken at rest.
            self._leave(name, before, whole)
        elif tail and isinstance(before, ListPrint):
            self.out[name] = Appended(self._trees(name, tail, len(before)), _said(tail, self._written), whole, node)
            add_print(self.marks.prints, name, partial(before.extended, tail))
            self.marks.templates[name] = codec.clone_list(tail)
        else:
            self.out[name] = whole()
            self._loses = self._loses or (not name.startswith("__") and _may_lose(before, value))
            print_value(self.marks.prints, name, value)
            if has_messages(value):
                self.marks.templates[name] = codec.clone_list(value)

    def _leave(self, name: str, before: ListPrint | ValuePrint | None, whole: Callable[[], Whole]) -> None:
        if before is None or self._held is None:
            self.out[name] = Unchanged(whole)
        else:
            self.marks.prints[name] = before
            self.out[name] = Unchanged(whole, self._held.nodes.get(name))

    def settle(self) -> None:
        """Say in whole what every list has when one may have lost a message: it is gone only if none has it."""
        if self._loses:
            for name, whole in self._standing.items():
                if not isinstance(self.out[name], Whole):
                    self.out[name] = whole()

    def _trees(self, name: str, tail: Sequence[Any], start: int) -> list[Any]:
        return [lift(codec.encode(item, f"state.{name}[{place}]"), self.plan) for place, item in enumerate(tail, start)]


def _whole(name: str, value: Any, plan: Plan, written: Sequence[tuple[Any, str]]) -> Whole:
    tree = codec.encode(value, f"state.{name}")
    if name == START and isinstance(tree, dict) and is_plain_object(tree):
        return Whole(lift_input(tree, plan), inline=True)
    if has_messages(value):  # told by the value: a message of the program's own class has a tree of another kind
        return Whole(lift(tree, plan), _said(value, written))
    return Whole(lift_value(tree, plan))


def _may_lose(before: ListPrint | ValuePrint | None, value: Any) -> bool:
    """Whether a channel may have had a message that its value has no more; a list that is not remembered may have."""
    if not isinstance(before, ListPrint):
        return before is None and isinstance(value, list)
    has = {getattr(item, "id", None) for item in value} if isinstance(value, list) else set()
    return any(getattr(item, "id", None) not in has for item in before.objects)


def _write(slot: int, channel: str, value: Any, plan: Plan) -> tuple[int, str, Any]:
    """A pending write. What a later one may replace (a question, an answer, an error) has no part that stands apart."""
    tree = codec.encode(_kept(value), f"writes.{channel}")
    return slot, cast("str", codec.encode(channel, "write")), tree if slot < 0 else lift_value(tree, plan)


def _kept(value: Any) -> Any:
    """A failure is recorded even where its error cannot be stored exactly: the run's own error must not be masked."""
    return storable(value) if isinstance(value, BaseException) else value


def _timed(said: Said | None, times: Mapping[str, datetime]) -> Said | None:
    at = times.get(said.id) if said is not None and said.id is not None else None
    return said if said is None or at is None else replace(said, at=to_micros(at))


def _said(items: Sequence[Any], written: Sequence[tuple[Any, str]]) -> list[Said | None]:
    return [said_of(item, writer_of(item, written)) for item in items]


def print_value(prints: Prints, name: str, value: Any) -> None:
    """Add a print of a channel's value, if it can be had."""
    add_print(prints, name, (lambda: ListPrint(value)) if has_messages(value) else (lambda: print_of(value)))


def add_print(prints: Prints, name: str, make: Callable[[], ListPrint | ValuePrint | None]) -> None:
    """Add a print unless a part of the value cannot be walked."""
    try:
        found = make()
    except TypeError:
        return
    if found is not None:
        prints[name] = found


def send_nodes(values: Mapping[str, Any]) -> list[str]:
    """The nodes that a checkpoint's waiting sends are for, in order."""
    sends = values.get(TASKS)
    return [send.node if isinstance(send, Send) else "" for send in sends] if isinstance(sends, list) else []
