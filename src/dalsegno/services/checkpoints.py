"""Writing checkpoints and pending writes: one transaction each, with the journal events they bring.

Rules of this module:

* **One head, one writer.** A put names the checkpoint it continues from. Unless it says that it forks, that must be
  the head of its namespace, else `HeadMoved` and nothing is stored. A second beginning of a thread is the same.
* Checkpoints are numbered in the order they are put; the head is the last one put, whatever the ids' clocks say.
* A pending write may come before its checkpoint (LangGraph saves them side by side); it waits under an announced
  number and belongs to the checkpoint as soon as that is put.
* Channels that did not change share the parent's nodes; the rest is split, compared with the parent's items, and
  only what is new is stored.
* A put with an id that is there already replaces that checkpoint when it says the same parent (a repeated call), and
  what only the replaced one pointed to goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from zlib import crc32

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.items import (
    POOL,
    NewItem,
    Place,
    Plan,
    Range,
    Split,
    elements_of,
    last_places,
    needs_of,
    places_of,
)
from dalsegno.core.journal import Kind
from dalsegno.core.search import signature
from dalsegno.errors import HeadMoved
from dalsegno.services.frames import Frame
from dalsegno.services.ids import is_packed, pack_id, pack_name, unpack_id
from dalsegno.services.lines import Known, known_messages, spans_of
from dalsegno.services.loading import Loaded, json_text, load
from dalsegno.services.threads_row import Scope, ThreadRow, lock_thread, save_thread
from dalsegno.services.upkeep import sweep

__all__ = [
    "ROOT",
    "Appended",
    "Put",
    "PutDone",
    "Said",
    "Unchanged",
    "Whole",
    "Writes",
    "listed",
    "mark_of",
    "put",
    "put_writes",
]

ROOT = 0
"""Number of the root graph's namespace in every thread."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the journal needs to know of a message in a list channel."""

    id: str | None
    kind: Kind
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The channel's value is the parent's.

    Attributes:
        otherwise: makes the value in case the parent turns out not to have the channel.
    """

    otherwise: Callable[[], Whole]


@dataclass(frozen=True, slots=True)
class Appended:
    """A list that is the parent's plus some elements.

    Attributes:
        tail: lifted trees of the new elements.
        said: for each, what was said; None when it is not a message.
        otherwise: makes the whole value in case the parent turns out not to have the channel.
    """

    tail: Sequence[Any]
    said: Sequence[Said | None]
    otherwise: Callable[[], Whole]


@dataclass(frozen=True, slots=True)
class Whole:
    """Any value.

    Attributes:
        tree: lifted tree.
        said: for a list with messages: what each element says, in order; else None.
    """

    tree: Any
    said: Sequence[Said | None] | None = None


_Value: TypeAlias = Unchanged | Appended | Whole


@dataclass(frozen=True, slots=True)
class Put:
    """A checkpoint to store.

    Attributes:
        thread: thread id.
        ns: checkpoint namespace, "" for the root graph.
        id: checkpoint id.
        parent: id of the checkpoint it continues from, or None.
        forks: True when it was addressed by its id, so that a branch may start there.
        begins: True when it is a run's first checkpoint of all, which a thread has only one of.
        values: by channel.
        plan: the long strings in the values.
        write_frame: makes frame and shape, given the database's time.
        source, step, run: metadata columns.
        meta: the rest of the metadata, lifted; None when empty.
        graph: nodes and triggers of the graph, as JSON, or None when unknown.
        version: schema version of the state.
        root_parent: the root graph's checkpoint that a namespace runs under, if any.
        fence: fencing token of the run's lease.
    """

    thread: str
    ns: str
    id: str
    parent: str | None
    forks: bool
    begins: bool
    values: Mapping[str, _Value]
    plan: Plan
    frame: Frame
    source: int | None
    step: int | None
    run: str | None
    meta: Any
    graph: bytes | None
    version: int | None
    root_parent: str | None
    fence: int | None


@dataclass(frozen=True, slots=True)
class PutDone:
    """A stored checkpoint: its thread's and its own number, and its nodes by channel."""

    thread: int
    ckpt: int
    state: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Writes:
    """A task's pending writes to store.

    Attributes:
        thread, ns, id: the checkpoint they belong to.
        task: task id. path: its path.
        writes: (slot, channel, lifted tree); a negative slot is a fixed one that is replaced, others are kept once
            written.
        plan: the long strings in them.
        fence: fencing token of the run's lease.
    """

    thread: str
    ns: str
    id: str
    task: str
    path: str
    writes: Sequence[tuple[int, str, Any]]
    plan: Plan
    fence: int | None


@dataclass(slots=True)
class _Parent:
    ckpt: int | None = None
    branch: int = 0
    state: dict[str, Any] = field(default_factory=dict)
    meta: tuple[int | None, bytes | None] = (None, None)
    shape: tuple[int | None, bytes | None] = (None, None)
    graph: tuple[int | None, bytes | None] = (None, None)


def put(scope: Scope, request: Put) -> Op[PutDone]:
    """Store a checkpoint; see the module's rules.

    Raises:
        HeadMoved: the writer did not continue from the head.
        ThreadDeleted, LeaseHeld, LeaseLost: see `lock_thread`.
    """
    row = yield from lock_thread(scope, request.thread, create=True, fence=request.fence)
    ns, head, head_id = yield from _namespace(row, request.ns)
    parent, own = yield from _family(row, ns, request)
    forked = _judge(request, row, parent, own, head, head_id)
    if own is not None and own.state_text is not None and own.ckpt != head:
        # An older checkpoint put once more: replace it where it stands.
        forked = False
    values = {
        name: value if isinstance(value, Whole) or name in parent.state else value.otherwise()
        for name, value in request.values.items()
    }
    splitting = yield from _prepare(row, request.plan, values, parent, forked=forked)
    state, arrived = _split(values, parent, splitting)
    ckpt, moves = _number(row, own)
    branch = yield from _branch(row, parent, own, request, forked=forked)
    events = yield from _events(row, request, splitting, arrived, ckpt, branch)
    meta = _pooled(splitting.split, parent.meta, None if request.meta is None else splitting.split.body_of(request.meta))
    shape = _pooled(splitting.split, parent.shape, request.frame.shape)
    graph = _pooled(splitting.split, parent.graph, request.graph)
    row.pool, row.lanes = splitting.split.next_pool - 1, splitting.split.next_lane - 1
    yield (
        *moves,
        *_store_items(row, splitting.split),
        Step(
            "checkpoint_add",
            {
                **row.key,
                "ckpt": ckpt,
                "ns": ns,
                "id": pack_id(request.id),
                "parent": parent.ckpt,
                "branch": branch,
                "created_at": request.frame.created_at,
                "source": request.source,
                "step": request.step,
                "version": request.version,
                "run": request.run,
                "meta": meta,
                "shape": shape,
                "graph": graph,
                "frame": request.frame.frame.decode(),
                "state": json_text(state),
            },
        ),
        *([Step("namespace_head", {**row.key, "ns": ns, "head": ckpt})] if head is None or ckpt >= head else []),
        *([Step("event_add", events)] if events else []),
        save_thread(row),
    )
    if own is not None and own.state_text is not None:
        yield from sweep(row)
    return PutDone(row.thread, ckpt, state)


def put_writes(scope: Scope, request: Writes) -> Op[None]:
    """Store a task's pending writes, all or none.

    Raises:
        ThreadDeleted, LeaseHeld, LeaseLost: see `lock_thread`.
    """
    row = yield from lock_thread(scope, request.thread, create=True, fence=request.fence)
    ns, _, _ = yield from _namespace(row, request.ns)
    found = yield Step("checkpoint_branch", {**row.key, "ns": ns, "id": pack_id(request.id)})
    steps: list[Step] = []
    if found:
        ckpt = found[0][1]
    else:
        row.checkpoints += 1
        ckpt = row.checkpoints
        steps.append(
            Step(
                "checkpoint_announce",
                {**row.key, "ckpt": ckpt, "ns": ns, "id": pack_id(request.id), "created_at": row.now},
            )
        )
    key = {**row.key, "ckpt": ckpt, "task": pack_id(request.task)}
    before = yield Step("write_find", key)
    kept = {slot: (channel, tree) for slot, channel, tree in listed(orjson.loads(before[0][1]))} if before else {}
    fresh = {
        slot: (channel, tree) for slot, channel, tree in request.writes if slot < 0 or slot not in kept
    }
    pool = yield from _pool(row, request.plan)
    split = Split(
        pool=pool, next_pool=row.pool + 1, next_lane=row.lanes + 1, tails={}, old={}, own_lanes=True
    )
    merged = {**kept, **fresh}
    writes = [[slot, *merged[slot]] for slot in sorted(merged)]
    odd: dict[str, Any] = {}
    if not is_packed(request.task):
        odd["task"] = request.task.encode("utf-8", "surrogatepass").hex()
    if pack_name_or_none(request.path) is None:
        odd["path"] = request.path.encode("utf-8", "surrogatepass").hex()
    text = split.body_of({**odd, "writes": writes} if odd else writes).decode()
    row.pool = split.next_pool - 1
    yield (
        *steps,
        *_store_items(row, split),
        Step("write_save", {**key, "path": pack_name_or_none(request.path) or "", "body": text}),
        save_thread(row),
    )


def listed(body: Any) -> list[Any]:
    """The writes in a body: a list, or an object beside ids that their columns could not hold."""
    writes = body["writes"] if isinstance(body, dict) else body
    return writes if isinstance(writes, list) else []


def pack_name_or_none(path: str) -> str | None:
    """A task path as a column's text, or None when only the body can hold it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return None
    return None if "\x00" in path else path


# --- where it goes


def _namespace(row: ThreadRow, name: str) -> Op[tuple[int, int | None, str | None]]:
    rows = yield Step("namespace_find", {**row.key, "name": pack_name(name)})
    if rows:
        ns, head, head_id = rows[0]
        return ns, head, unpack_id(bytes(head_id)) if head_id is not None else None
    number = ROOT
    if name != "":
        row.namespaces += 1
        number = row.namespaces
    yield Step("namespace_add", {**row.key, "ns": number, "name": pack_name(name)})
    return number, None, None


@dataclass(slots=True)
class _Own:
    ckpt: int
    parent: int | None
    branch: int
    state_text: str | None


def _family(row: ThreadRow, ns: int, request: Put) -> Op[tuple[_Parent, _Own | None]]:
    own_id = pack_id(request.id)
    parent_id = pack_id(request.parent) if request.parent is not None else own_id
    rows = yield Step("checkpoints_named", {**row.key, "ns": ns, "id": own_id, "parent": parent_id})
    parent, own = _Parent(), None
    for ckpt, id_, up, branch, state, meta, shape, graph, meta_body, shape_body, graph_body, _ in rows:
        if bytes(id_) == own_id:
            own = _Own(ckpt, up, branch, state)
        if request.parent is not None and bytes(id_) == parent_id and state is not None:
            parent = _Parent(
                ckpt, branch, orjson.loads(state), (meta, _raw(meta_body)), (shape, _raw(shape_body)), (graph, _raw(graph_body))
            )
    return parent, own


def _raw(body: str | bytes | None) -> bytes | None:
    return body.encode() if isinstance(body, str) else body


def _judge(
    request: Put, row: ThreadRow, parent: _Parent, own: _Own | None, head: int | None, head_id: str | None
) -> bool:
    """Whether this put starts a branch; refuses it when it may not go here."""
    if own is not None and own.state_text is not None:
        if own.parent != parent.ckpt:
            raise HeadMoved(row.name, expected=request.parent, found=head_id)
        return False
    if head is None or parent.ckpt == head:
        return False
    if request.forks:
        return True
    if request.parent is None and not (request.begins and request.ns == ""):
        return True
    raise HeadMoved(row.name, expected=request.parent, found=head_id)


def _number(row: ThreadRow, own: _Own | None) -> tuple[int, list[Step]]:
    if own is not None and own.state_text is not None:
        return own.ckpt, []
    row.checkpoints += 1
    if own is None:
        return row.checkpoints, []
    move = {**row.key, "ckpt": own.ckpt, "to": row.checkpoints}
    return row.checkpoints, [Step("checkpoint_reseat", move), Step("writes_reseat", move)]


def _branch(
    row: ThreadRow, parent: _Parent, own: _Own | None, request: Put, *, forked: bool
) -> Op[int]:
    if own is not None and own.state_text is not None:
        return own.branch
    if request.ns != "" and request.root_parent is not None:
        rows = yield Step("checkpoint_branch", {**row.key, "ns": ROOT, "id": pack_id(request.root_parent)})
        if rows:
            return rows[0][0]  # type: ignore[no-any-return]  # a column
    if not forked:
        return parent.branch
    row.branches += 1
    yield Step(
        "branch_add",
        {
            **row.key,
            "branch": row.branches,
            "parent": parent.branch if parent.ckpt is not None else None,
            "forked_at": parent.ckpt,
        },
    )
    return row.branches


# --- what is stored


@dataclass(slots=True)
class _Splitting:
    split: Split
    old: Loaded


def _prepare(
    row: ThreadRow, plan: Plan, values: Mapping[str, _Value], parent: _Parent, *, forked: bool
) -> Op[_Splitting]:
    old = Loaded()
    compared = [
        parent.state[name] for name, value in values.items() if isinstance(value, Whole) and name in parent.state
    ]
    if compared:
        yield from load(row.tenant, row.thread, compared, old)
    grown = [
        parent.state[name]
        for name, value in values.items()
        if isinstance(value, Appended) and name in parent.state
    ]
    ranges: list[Range] = []
    for tree in (*grown, *compared, *old.trees.values()):
        needs_of(tree, ranges, set())
    lanes = sorted({lane for lane, _, _ in ranges if lane != POOL})
    tails: dict[int, int] = {}
    if lanes and not forked:
        rows = yield Step("lane_tails", {**row.key, "lanes": json_text(lanes)})
        tails = {lane: tail or 0 for lane, tail in rows}
    pool = yield from _pool(row, plan)
    split = Split(
        pool=pool,
        next_pool=row.pool + 1,
        next_lane=row.lanes + 1,
        tails=tails,
        old=old.bodies,
        own_lanes=not forked,
    )
    return _Splitting(split, old)


def _pool(row: ThreadRow, plan: Plan) -> Op[dict[bytes, int]]:
    """Which of the plan's long strings the pool holds already."""
    found: dict[bytes, int] = {}
    digests = [long.digest for long in plan.digests.values() if not long.blob]
    for at in range(0, len(digests), 8):
        eight = digests[at : at + 8]
        slots = {f"d{n}": eight[n] if n < len(eight) else eight[0] for n in range(8)}
        rows = yield Step("pool_find", {**row.key, **slots})
        found.update((bytes(digest), pos) for digest, pos in rows)
    return found


@dataclass(frozen=True, slots=True)
class _Arrived:
    """A list channel with messages: its elements' places, what they say, and from where on they are new."""

    channel: str
    places: list[Place]
    said: Sequence[Said | None]
    start: int
    before: list[Place]


def _split(
    values: Mapping[str, _Value], parent: _Parent, splitting: _Splitting
) -> tuple[dict[str, Any], list[_Arrived]]:
    state: dict[str, Any] = {}
    arrived: list[_Arrived] = []
    for name, value in values.items():
        before = parent.state.get(name)
        if isinstance(value, Unchanged):
            state[name] = before
            continue
        if isinstance(value, Appended):
            ranges = elements_of(before) or []
            grown = splitting.split.append(ranges, value.tail)
            state[name] = {"$list": grown}
            if any(value.said):
                places = last_places(grown, len(value.tail))
                arrived.append(_Arrived(name, places, value.said, 0, []))
            continue
        state[name] = node = splitting.split.node(value.tree, before)
        if value.said is not None and (ranges_now := elements_of(node)) is not None:
            arrived.append(
                _Arrived(name, list(places_of(ranges_now)), value.said, -1, list(places_of(elements_of(before) or [])))
            )
    return state, arrived


def _pooled(split: Split, before: tuple[int | None, bytes | None], body: bytes | None) -> int | None:
    """Position of a small body the parent most likely has too."""
    if body is None:
        return None
    pos, old = before
    if pos is not None and old is not None and orjson.loads(old) == orjson.loads(body):
        return pos
    return split.add_pool(body)


def _store_items(row: ThreadRow, split: Split) -> list[Step]:
    steps: list[Step] = []
    if split.items:
        steps.append(Step("item_add", [{**row.key, **_columns(item)} for item in split.items]))
    for digest, text in split.blobs.items():
        steps.append(Step("blob_add", {"tenant": row.tenant, "digest": digest, "body": text}))
        steps.append(Step("blob_ref_add", {**row.key, "digest": digest}))
    return steps


def _columns(item: NewItem) -> dict[str, Any]:
    return {"lane": item.lane, "pos": item.pos, "digest": item.digest, "body": item.body.decode()}


# --- the journal


def _events(
    row: ThreadRow, request: Put, splitting: _Splitting, arrived: list[_Arrived], ckpt: int, branch: int
) -> Op[list[dict[str, Any]]]:
    if not arrived:
        return []
    fresh: list[tuple[Said, Place]] = []
    gone: list[Place] = []
    old_places = {place for part in arrived for place in part.before}
    now_places = {place for part in arrived for place in part.places}
    for part in arrived:
        fresh.extend(
            (said, place)
            for said, place in zip(part.said, part.places, strict=True)
            if said is not None and place not in old_places
        )
        gone.extend(place for place in part.before if place not in now_places)
    said_now = {said.id for part in arrived for said in part.said if said is not None and said.id}
    lost = {_message_id(splitting.old.trees.get(place)): place for place in gone}
    lost = {id_: place for id_, place in lost.items() if id_ and id_ not in said_now and request.ns == ""}
    ids = {said.id for said, _ in fresh if said.id} | set(lost)
    known: Mapping[str, Known] = {}
    if ids and row.events:
        spans = yield from spans_of(row, branch, ckpt)
        known = yield from known_messages(row, ids, spans)
    bodies = {(item.lane, item.pos): item.body for item in splitting.split.items}
    events: list[dict[str, Any]] = []
    for said, place in fresh:
        before = known.get(said.id) if said.id else None
        if before is not None and before.same(bodies.get(place) or splitting.old.bodies.get(place)):
            continue
        kind = Kind.EDIT if before is not None else said.kind
        events.append(_event(row, kind, said.author, said.text, said.id, place, ckpt, branch, request.frame.created_at))
    for id_, place in lost.items():
        if id_ in known:
            events.append(
                _event(row, Kind.DELETE, known[id_].author, "", id_, place, ckpt, branch, request.frame.created_at)
            )
    return events


def _message_id(tree: Any) -> str | None:
    found = tree.get("id") if isinstance(tree, dict) and "$m" in tree else None
    return found if isinstance(found, str) else None


def _event(
    row: ThreadRow,
    kind: Kind,
    author: str,
    text: str,
    id_: str | None,
    place: Place,
    ckpt: int,
    branch: int,
    at: int,
) -> dict[str, Any]:
    row.events += 1
    return {
        **row.key,
        "seq": row.events,
        "kind": kind.code,
        "author": author,
        "at": at,
        "branch": branch,
        "ckpt": ckpt,
        "mark": None if id_ is None else mark_of(id_),
        "lane": place[0],
        "pos": place[1],
        "terms": signature(text),
    }


def mark_of(message_id: str) -> int:
    """A small number by which a message id is looked up; equal marks are compared by the id itself."""
    return crc32(message_id.encode("utf-8", "surrogatepass")) - 2**31

