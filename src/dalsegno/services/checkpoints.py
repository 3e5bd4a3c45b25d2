"""Writing a checkpoint: one transaction, with the journal events it brings.

Rules of this module:

* Where it goes is decided in `placing`, what the journal learns in `arrivals`.
* Channels that did not change share the parent's nodes; the rest is split, compared with the parent's items, and
  only what is new is stored. Nothing is shared as it stands with a parent of another schema version: what is stamped
  with a version has that version's form.
* A put with an id that is there already replaces that checkpoint when it says the same parent (a repeated call), and
  what only the replaced one pointed to goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.card.listening import DECIDERS
from dalsegno.core.items import POOL, Plan, Range, digest_of, elements_of, last_places, needs_of, places_of
from dalsegno.core.split import Split
from dalsegno.core.standing import Standing
from dalsegno.services.arrivals import Arrived, Moment, Said, events_of, may_be_message, stirred
from dalsegno.services.cards import begin, follow, is_due
from dalsegno.services.forms import digest_of_form, forms
from dalsegno.services.frames import Frame
from dalsegno.services.ids import pack_id
from dalsegno.services.loading import Loaded, json_text, load
from dalsegno.services.placing import Own, Parent, Placement, branch_of, family, judge, namespace, number
from dalsegno.services.sound import sound
from dalsegno.services.standings import QUESTION, taken_over
from dalsegno.services.storing import find_pool, store_items
from dalsegno.services.threads_row import Scope, ThreadRow, lock_thread, save_thread
from dalsegno.services.upkeep import sweep
from dalsegno.services.writes import listed

__all__ = ["ANY", "Appended", "Put", "PutDone", "Unchanged", "Value", "Whole", "put"]


class _Any:
    """Stands for whatever node the parent has."""


ANY = _Any()


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The channel's value is the parent's.

    Attributes:
        otherwise: makes the value in case the parent turns out not to have the channel, or another node for it.
        node: the parent's node as this process remembers it; `ANY` where the caller says so by the channel's version.
    """

    otherwise: Callable[[], Whole]
    node: Any = ANY


@dataclass(frozen=True, slots=True)
class Appended:
    """A list that is the parent's plus some elements.

    Attributes:
        tail: lifted trees of the new elements.
        said: for each, what was said; None when it is not a message.
        otherwise: makes the whole value in case the parent turns out not to have the channel, or another node for it.
        node: the parent's node as this process remembers it.
    """

    tail: Sequence[Any]
    said: Sequence[Said | None]
    otherwise: Callable[[], Whole]
    node: Any


@dataclass(frozen=True, slots=True)
class Whole:
    """Any value.

    Attributes:
        tree: lifted tree.
        said: for a list with messages: what each element says, in order; else None.
        inline: True for what stands in one checkpoint only, a run's raw input: it gets no item of its own.
    """

    tree: Any
    said: Sequence[Said | None] | None = None
    inline: bool = False


Value: TypeAlias = Unchanged | Appended | Whole


@dataclass(frozen=True, slots=True)
class Put:
    """A checkpoint to store.

    Attributes:
        thread: thread id.
        place: where it goes.
        values: by channel.
        plan: the parts of the values that stand apart.
        frame: frame and shape.
        source, step, run: metadata columns.
        meta: the rest of the metadata, lifted; None when empty.
        graph: nodes and triggers of the graph, as JSON, or None when unknown.
        version: schema version of the state; None keeps the parent's.
        fence: fencing token of the run's lease.
        waits: whether the root graph has steps to run after it; None for a subgraph's.
        elsewhere: ids of messages in channels of which a checkpoint holds no value, and of those that a summary of it
            took out; nobody deleted them.
        deciders: roles and names whose word decides, for the card.
        asked: tells, when the checkpoint is stored, whether a question may have been stored before it. Nobody but its
            run knows a checkpoint by then, so the process that puts it knows; it saves a look at the writes.
    """

    thread: str
    place: Placement
    values: Mapping[str, Value]
    plan: Plan
    frame: Frame
    source: int | None
    step: int | None
    run: str | None
    meta: Any
    graph: bytes | None
    version: int | None
    fence: int | None
    elsewhere: AbstractSet[str] = frozenset()
    waits: bool | None = None
    deciders: AbstractSet[str] = DECIDERS
    asked: Callable[[], bool] = lambda: True


@dataclass(frozen=True, slots=True)
class PutDone:
    """A stored checkpoint: its thread's and its own number, and its nodes by channel."""

    thread: int
    ckpt: int
    state: dict[str, Any]


@sound
def put(scope: Scope, request: Put) -> Op[PutDone]:
    """Store a checkpoint; see the module's rules.

    Raises:
        HeadMoved: the writer did not continue from the head.
        ThreadDeleted, LeaseHeld, LeaseLost: see `lock_thread`.
    """
    place = request.place
    row = yield from lock_thread(scope, request.thread, create=True, fence=request.fence)
    before = row.events
    ns, head, head_id = yield from namespace(row, place.ns)
    named = [body for body in (request.frame.shape, request.graph) if body is not None]
    parent, own, found = yield from family(row, ns, place, list(map(digest_of_form, named)))
    forked = judge(place, row, parent, own, head, head_id)
    version = parent.version if request.version is None else request.version
    shared = parent.state if (version or 1) == (parent.version or 1) else {}
    values = {
        name: value if isinstance(value, Whole) or _goes_on(value, shared, name) else value.otherwise()
        for name, value in request.values.items()
    }
    split, old = yield from _prepare(row, request.plan, values, parent, forked=forked)
    state, arrived = _split(values, parent, split, old)
    ckpt, moves = number(row, own)
    branch = yield from branch_of(row, parent, own, place, forked=forked)
    moment = Moment(ckpt, branch, request.frame.created_at, is_root=place.ns == "", elsewhere=request.elsewhere)
    events = yield from events_of(row, moment, arrived, split, old)
    numbers = yield from forms(row.tenant, named, found)
    columns = {
        "ckpt": ckpt,
        "ns": ns,
        "id": pack_id(place.id),
        "parent": parent.ckpt,
        "branch": branch,
        "created_at": request.frame.created_at,
        "source": request.source,
        "step": request.step,
        "version": version,
        "run": request.run,
        "meta": _pooled(split, parent.meta, None if request.meta is None else split.body_of(request.meta)),
        "shape": numbers[request.frame.shape],
        "graph": None if request.graph is None else numbers[request.graph],
        "frame": request.frame.frame.decode(),
        "state": json_text(list(state.values())),
    }
    row.pool, row.lanes = split.next_pool - 1, split.next_lane - 1
    over = tuple(taken_over(row, request.fence))
    is_head = head is None or ckpt >= head
    if is_head and request.waits is not None:
        row.stands = yield from _standing(row, own, request)
    due = is_due(row, before, lambda: stirred(events, arrived))
    yield (
        *over,
        *moves,
        *store_items(row, split),
        Step("checkpoint_add", {**row.key, **columns}),
        *([Step("namespace_head", {**row.key, "ns": ns, "head": ckpt})] if is_head else []),
        *([Step("event_add", events)] if events else []),
        save_thread(row),
        *begin(due=due),
    )
    yield from follow(row, branch, request.deciders, due=due)
    if own is not None and own.is_stored:
        yield from sweep(row)
    return PutDone(row.thread, ckpt, state)


def _goes_on(value: Unchanged | Appended, shared: Mapping[str, Any], name: str) -> bool:
    """Whether the parent has the node that the value goes on from; a list that grows must stand in elements."""
    if name not in shared or (isinstance(value, Appended) and elements_of(shared[name]) is None):
        return False
    return value.node is ANY or orjson.dumps(value.node) == orjson.dumps(shared[name])


def _standing(row: ThreadRow, own: Own | None, request: Put) -> Op[int]:
    """Where the run stands at its new head; its writes, a question among them, may have come before it."""
    if not request.waits:
        return Standing.CLOSED
    if own is None or not (row.stands == Standing.ASKED if own.is_stored else request.asked()):
        return Standing.OPEN
    rows = yield Step("writes_of", {**row.key, "ckpts": json_text([own.ckpt])})
    asked = any(slot == QUESTION for *_, body in rows for slot, _, _ in listed(orjson.loads(body)))
    return Standing.ASKED if asked else Standing.OPEN


def _prepare(
    row: ThreadRow, plan: Plan, values: Mapping[str, Value], parent: Parent, *, forked: bool
) -> Op[tuple[Split, Loaded]]:
    old = Loaded()
    compared = [
        parent.state[name] for name, value in values.items() if isinstance(value, Whole) and name in parent.state
    ]
    if compared:
        yield from load(row.tenant, row.thread, compared, old)
    grown = [
        parent.state[name] for name, value in values.items() if isinstance(value, Appended) and name in parent.state
    ]
    ranges: list[Range] = []
    for tree in (*grown, *compared, *old.trees.values()):
        needs_of(tree, ranges, set())
    lanes = sorted({lane for lane, _, _ in ranges if lane != POOL})
    tails: dict[int, int] = {}
    if lanes and not forked:
        rows = yield Step("lane_tails", {**row.key, "lanes": json_text(lanes)})
        tails = {lane: tail or 0 for lane, tail in rows}
    pool = yield from find_pool(row, plan)
    split = Split(
        pool=pool,
        next_pool=row.pool + 1,
        next_lane=row.lanes + 1,
        tails=tails,
        old=old.bodies,
        own_lanes=not forked,
    )
    return split, old


def _split(
    values: Mapping[str, Value], parent: Parent, split: Split, old: Loaded
) -> tuple[dict[str, Any], list[Arrived]]:
    state: dict[str, Any] = {}
    arrived: list[Arrived] = []
    for name, value in values.items():
        before = parent.state.get(name)
        if isinstance(value, Unchanged):
            state[name] = before
            continue
        if isinstance(value, Appended):
            ranges = elements_of(before) or []
            grown = split.append(ranges, value.tail)
            state[name] = {"$list": grown}
            if any(value.said):
                places = last_places(grown, len(value.tail))
                arrived.append(Arrived(places, value.said, []))
            continue
        state[name] = node = (
            split.inline(value.tree) if value.inline else split.node(value.tree, before, told=value.said is not None)
        )
        had = list(places_of(elements_of(before) or []))
        if value.said is not None or any(may_be_message(old.trees.get(place)) for place in had):
            # Also a list that has become empty, or something else: what it had is gone.
            has = list(places_of(elements_of(node) or []))
            arrived.append(Arrived(has, value.said or [None] * len(has), had))
    return state, arrived


def _pooled(split: Split, before: tuple[int | None, bytes | None], body: bytes | None) -> int | None:
    """Position of a small body the parent most likely has too."""
    if body is None:
        return None
    pos, old = before
    if pos is not None and old is not None and digest_of(old) == digest_of(body):  # 0 is not False
        return pos
    return split.add_pool(body)
