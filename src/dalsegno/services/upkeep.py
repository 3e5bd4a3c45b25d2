"""Deleting, copying and pruning: each one transaction.

Rules of this module:

* Deleting a thread removes every row of it but its tombstone. Its counters stay, so no number is given twice.
* Pruning and deleting runs drop checkpoints and writes, then every item nothing points to any more. The journal is
  the truth and keeps its events, and the items they point to.
* What a surviving checkpoint's delta channel is rebuilt from is never dropped: pruning keeps it, deleting runs refuses.
* A copy is rows copied by the database; nothing is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.items import POOL, Place, Range, elements_of, needs_of
from dalsegno.core.standing import Standing
from dalsegno.errors import Misuse, Refused, ThreadDeleted, ThreadExists, ThreadNotFound
from dalsegno.services.forms import sound_form
from dalsegno.services.frames import read_state
from dalsegno.services.ids import pack_name, unpack_id, unpack_name
from dalsegno.services.loading import json_text
from dalsegno.services.placing import ROOT
from dalsegno.services.sound import sound
from dalsegno.services.standings import asks_still, taken_over
from dalsegno.services.threads_row import Scope, ThreadRow, erased_until, lock_thread, save_thread
from dalsegno.services.traces import drop_blob, wipe
from dalsegno.services.writes import listed

__all__ = [
    "checkpoint_table",
    "copy_thread",
    "delete_for_runs",
    "delete_thread",
    "drop",
    "freed",
    "names",
    "needed_by_delta",
    "prune",
    "reachable",
    "reopen_thread",
    "sweep",
]

_COUNTERS = "counters_since_delta_snapshot"


def names(scope: Scope) -> Op[list[str]]:
    """Ids of all threads, those written last first."""
    rows = yield Step("thread_names", {"tenant": scope.tenant, "owner": scope.user})
    return [unpack_name(name) for (name,) in rows]


def delete_thread(scope: Scope, name: str) -> Op[bool]:
    """Delete a thread and leave a tombstone. Returns False when there was nothing to delete."""
    try:
        row = yield from lock_thread(scope, name, create=False)
    except (ThreadNotFound, ThreadDeleted):
        return False
    yield from wipe(row)
    row.wiped, row.stands = row.events, Standing.CLOSED
    yield (save_thread(row), Step("thread_tombstone", {**row.key, "now": row.now}))
    return True


def reopen_thread(scope: Scope, name: str) -> Op[None]:
    """Let the id of a deleted or erased thread be used again; what was deleted stays deleted."""
    rows = yield Step("thread_lock", {"tenant": scope.tenant, "name": pack_name(name)})
    row = ThreadRow(scope.tenant, name, *rows[0]) if rows else None
    if row is None and (closed := (yield from erased_until(scope, name))) is not None:
        yield Step("erasure_release", {"tenant": scope.tenant, "digest": closed.digest})
        return
    erased = (yield Step("erasure_of", row.key)) if row is not None else []
    if row is None or erased or (scope.user is not None and row.owner != scope.user):
        msg = f"no thread {name!r} to reopen; a new id needs no reopening"
        raise ThreadNotFound(msg)
    yield Step("thread_reopen", {**row.key, "now": row.now})


def copy_thread(scope: Scope, source: str, target: str) -> Op[None]:
    """Copy a thread, history and journal included, to an id that holds nothing."""
    if source == target:
        msg = f"thread {source!r} cannot be copied onto itself; give the copy another id"
        raise Misuse(msg)
    origin = yield from lock_thread(scope, source, create=False)
    copy = yield from lock_thread(scope, target, create=True)
    if copy.checkpoints or copy.events:
        msg = f"thread {target!r} holds something, or did before it was deleted; copy to another id"
        raise ThreadExists(msg)
    params = {**origin.key, "to": copy.thread}
    yield tuple(
        Step(name, params)
        for name in (
            "copy_namespaces",
            "copy_branches",
            "copy_items",
            "copy_checkpoints",
            "copy_writes",
            "copy_events",
            "copy_summaries",
            "copy_cards",
            "copy_manifests",
            "copy_tags",
            "copy_blob_refs",
        )
    )
    copy.events, copy.wiped, copy.pool, copy.lanes = origin.events, origin.wiped, origin.pool, origin.lanes
    copy.checkpoints, copy.branches, copy.namespaces = origin.checkpoints, origin.branches, origin.namespaces
    # What workers found out about a run is its own; a copy of a parked one has steps to run.
    copy.stands = origin.stands if origin.stands <= Standing.ASKED else Standing.OPEN
    yield save_thread(copy)


def require_empty(scope: Scope, name: str) -> Op[None]:
    """Refuse a thread that holds something.

    Raises:
        ThreadExists: it does.
    """
    row = yield from lock_thread(scope, name, create=True)
    namespaces = yield Step("namespaces_of", row.key)
    if namespaces or row.events > row.wiped:
        msg = f"thread {name!r} already holds something; import to a new id, or delete and reopen it first"
        raise ThreadExists(msg)


@sound
def delete_for_runs(scope: Scope, runs: Sequence[str]) -> Op[None]:
    """Delete the checkpoints of some runs, with their writes."""
    if not runs:
        return
    rows = yield Step("checkpoints_of_runs", {"tenant": scope.tenant, "runs": json_text(list(runs))})
    by_thread: dict[str, list[int]] = {}
    for name, ckpt in rows:
        by_thread.setdefault(unpack_name(name), []).append(ckpt)
    for name, ckpts in by_thread.items():
        try:
            row = yield from lock_thread(scope, name, create=False)
        except (ThreadNotFound, ThreadDeleted):
            continue
        table = yield from checkpoint_table(row)
        gone = set(ckpts)
        needed = needed_by_delta(table, set(table) - gone) & gone
        if needed:
            msg = (
                f"thread {name!r}: a delta channel of a checkpoint that stays is rebuilt from {len(needed)} of the "
                "checkpoints of these runs; nothing was deleted. Prune the thread, or delete it whole"
            )
            raise Refused(msg)
        yield from drop(row, gone)


@sound
def prune(scope: Scope, name: str, strategy: str, keep: int = 1) -> Op[int]:
    """Drop old checkpoints of a thread; returns how many went.

    Args:
        scope: tenant and user.
        name: thread id; one that is not there has nothing to drop.
        strategy: `keep_latest` keeps the newest of each namespace, `delete` none.
        keep: how many of the newest `keep_latest` keeps in each namespace.
    """
    if type(keep) is not int or keep < 1:
        msg = f"keep={keep!r}: the newest checkpoint always stays, so 1 or more; delete the thread to drop all of it"
        raise Misuse(msg)
    if strategy not in ("keep_latest", "delete", "delete_all"):
        msg = f"strategy={strategy!r}: use 'keep_latest' or 'delete'"
        raise Misuse(msg)
    try:
        row = yield from lock_thread(scope, name, create=False)
    except (ThreadNotFound, ThreadDeleted):
        return 0
    table = yield from checkpoint_table(row)
    stay: set[int] = set()
    if strategy == "keep_latest":
        heads = yield Step("namespaces_of", row.key)
        stay = {head for _, _, head in heads if head is not None} | _newest(table, keep)
        stay |= needed_by_delta(table, stay)
        newest = max((ckpt for ckpt, entry in table.items() if entry.state is not None), default=0)
        stay |= {ckpt for ckpt, entry in table.items() if entry.state is None and ckpt > newest}
    gone = set(table) - stay
    yield from drop(row, gone)
    return len(gone)


class _Entry:
    """A checkpoint as pruning sees it."""

    __slots__ = ("delta", "meta", "ns", "parent", "state")

    def __init__(self, columns: Sequence[Any], metas: dict[int, Any]) -> None:
        _ckpt, self.ns, _id, self.parent, _branch, self.meta, _shape, _graph, _frame, state, *_, shape, digest = columns
        self.state: dict[str, Any] | None = read_state(state, sound_form(shape, digest)) if state is not None else None
        meta = metas.get(self.meta) if self.meta is not None else None
        counters = meta.get(_COUNTERS) if isinstance(meta, dict) else None
        self.delta: set[str] = (
            {key for key in counters if not key.startswith("$")} if isinstance(counters, dict) else set()
        )


def checkpoint_table(row: ThreadRow) -> Op[dict[int, _Entry]]:
    """Every checkpoint of a thread, by its number, as pruning sees it."""
    rows = yield Step("checkpoints_all", row.key)
    wanted = sorted({columns[5] for columns in rows if columns[5] is not None})
    metas: dict[int, Any] = {}
    if wanted:
        ranges = json_text([[POOL, pos, pos] for pos in wanted])
        found = yield Step("items_in", {**row.key, "ranges": ranges})
        metas = {pos: orjson.loads(body) for _, pos, body, _ in found}
    return {columns[0]: _Entry(columns, metas) for columns in rows}


def _newest(table: dict[int, _Entry], count: int) -> set[int]:
    """So many of the checkpoints put last in each namespace."""
    by_namespace: dict[int, list[int]] = {}
    for ckpt in sorted(table, reverse=True):
        if table[ckpt].state is not None:
            by_namespace.setdefault(table[ckpt].ns, []).append(ckpt)
    return {ckpt for found in by_namespace.values() for ckpt in found[:count]}


def needed_by_delta(table: dict[int, _Entry], kept: Iterable[int]) -> set[int]:
    """Ancestors that the delta channels of kept checkpoints are rebuilt from."""
    needed: set[int] = set()
    for ckpt in kept:
        entry = table[ckpt]
        missing = {channel for channel in entry.delta if entry.state is None or channel not in entry.state}
        parent = entry.parent
        while missing and parent is not None and parent in table:
            needed.add(parent)
            missing -= (table[parent].state or {}).keys()
            parent = table[parent].parent
    return needed


def drop(row: ThreadRow, gone: set[int], *, touch: bool = True) -> Op[None]:
    """Drop checkpoints with their writes, and whatever only they pointed to.

    Args:
        row: the thread.
        gone: numbers of the checkpoints.
        touch: whether that counts as use of the thread.
    """
    if not gone:
        return
    params = {**row.key, "ckpts": json_text(sorted(gone))}
    before = yield from _root_head(row)
    yield (
        Step("writes_drop", params),
        Step("checkpoints_drop", params),
        Step("checkpoints_orphan", params),
        Step("namespaces_rewind", row.key),
    )
    if before in gone:
        yield from _stand_anew(row)
    yield from sweep(row)
    if touch:
        yield save_thread(row)


def _root_head(row: ThreadRow) -> Op[int | None]:
    heads = {ns: head for ns, _, head in (yield Step("namespaces_of", row.key))}
    return heads.get(ROOT)


def _stand_anew(row: ThreadRow) -> Op[None]:
    """Note where the run stands when its head went; the one before it has steps to run, as far as can be told here."""
    head = yield from _root_head(row)
    yield tuple(taken_over(row, None))
    row.stands = Standing.CLOSED
    if head is not None:
        rows = yield Step("writes_of", {**row.key, "ckpts": json_text([head])})
        writes = {
            unpack_id(bytes(task)): [slot for slot, _, _ in listed(orjson.loads(body))] for _, task, _, body in rows
        }
        row.stands = Standing.ASKED if asks_still(writes) else Standing.OPEN


def sweep(row: ThreadRow) -> Op[None]:
    """Delete items and blob references that nothing points to any more."""
    live, blobs = yield from reachable(row)
    rows = yield Step("items_all", row.key)
    last: dict[int, int] = {}
    for lane, pos, _, _ in rows:
        last[lane] = max(pos, last.get(lane, 0))
    dead = [(lane, pos) for lane, pos, _, _ in rows if (lane, pos) not in live]
    steps: list[Step] = []
    drops = [place for place in dead if place[1] != last[place[0]] or place[0] == POOL]
    blanks = [place for place in dead if place[1] == last[place[0]] and place[0] != POOL]
    if drops:
        steps.append(
            Step(
                "item_drop",
                [{**row.key, "lane": lane, "first": first, "last": end} for lane, first, end in _runs(drops)],
            )
        )
    if blanks:
        # The last element of a lane says where the next one goes; it stays, empty.
        steps.append(Step("item_blank", [{**row.key, "lane": lane, "pos": pos} for lane, pos in blanks]))
    refs = yield Step("blob_refs_of", row.key)
    for digest, _ in refs:
        if bytes(digest) not in blobs:
            steps.append(Step("blob_ref_drop", {**row.key, "digest": digest}))
            steps += drop_blob(row.tenant, digest)
    if steps:
        yield tuple(steps)


def freed(row: ThreadRow, gone: AbstractSet[int]) -> Op[tuple[int, int]]:
    """Rows and bytes of bodies that `drop` would take away; nothing is changed."""
    live, blobs = yield from reachable(row, without=gone)
    dead = [_size(body) for lane, pos, _, body in (yield Step("items_all", row.key)) if (lane, pos) not in live]
    states = [
        _size(columns[8] or "") + _size(columns[9] or "")
        for columns in (yield Step("checkpoints_all", row.key))
        if columns[0] in gone
    ]
    writes = [_size(path) + _size(body) for ckpt, _, path, body in (yield Step("writes_all", row.key)) if ckpt in gone]
    alone = [size for digest, size in (yield Step("blobs_alone", row.key)) if bytes(digest) not in blobs]
    sizes = (*dead, *states, *writes, *alone)
    return len(sizes), sum(sizes)


def _size(body: str | bytes) -> int:
    return len(body.encode()) if isinstance(body, str) else len(body)


def reachable(row: ThreadRow, without: AbstractSet[int] = frozenset()) -> Op[tuple[set[Place], set[bytes]]]:
    """Every item and blob that checkpoints, writes and events of a thread point to, directly or not.

    Args:
        row: the thread.
        without: checkpoints that are not asked, as if they and their writes were gone.
    """
    rows = yield Step("items_all", row.key)
    bodies = {(lane, pos): body for lane, pos, _, body in rows}
    reach = _Reach(bodies)
    for columns in (yield Step("checkpoints_all", row.key)):
        if columns[0] in without:
            continue
        reach.place((POOL, columns[5]) if columns[5] is not None else None)
        if columns[9] is not None:
            for node in orjson.loads(columns[9]):
                reach.node(node)
    for ckpt, _, _, body in (yield Step("writes_all", row.key)):
        if ckpt not in without:
            reach.tree(orjson.loads(body))
    for columns in (yield Step("events_all", row.key)):
        reach.place((columns[7], columns[8]))
    reach.follow()
    return reach.live, reach.blobs


class _Reach:
    """A walk along everything that is pointed to; a range longer than all there is names no more than all there is."""

    def __init__(self, bodies: Mapping[Place, str | bytes]) -> None:
        self._bodies = bodies
        self.live: set[Place] = set()
        self.blobs: set[bytes] = set()
        self.front: list[Place] = []
        self._seen: set[tuple[int, ...]] = set()

    def place(self, place: Place | None) -> None:
        if place is not None and place not in self.live:
            self.live.add(place)
            self.front.append(place)

    def node(self, node: Any) -> None:
        """A channel's node; ranges that an earlier checkpoint had too are not walked again."""
        ranges = elements_of(node)
        if ranges is None:
            self.tree(node)
            return
        fresh = [part for part in ranges if (*part,) not in self._seen]
        self._seen.update((*part,) for part in fresh)
        self.tree({"$list": fresh})

    def tree(self, tree: Any) -> None:
        ranges: list[Range] = []
        needs_of(tree, ranges, self.blobs)
        for lane, first, last in ranges:
            if last - first < len(self._bodies):
                for pos in range(first, last + 1):
                    self.place((lane, pos))
            else:
                for place in self._bodies:
                    if place[0] == lane and first <= place[1] <= last:
                        self.place(place)

    def follow(self) -> None:
        while self.front:
            body = self._bodies.get(self.front.pop())
            if body is not None and ('"$' if isinstance(body, str) else b'"$') in body:  # type: ignore[operator]
                self.tree(orjson.loads(body))


def _runs(places: Iterable[Place]) -> list[tuple[int, int, int]]:
    runs: list[tuple[int, int, int]] = []
    for lane, pos in sorted(places):
        if runs and runs[-1][0] == lane and runs[-1][2] + 1 == pos:
            runs[-1] = (lane, runs[-1][1], pos)
        else:
            runs.append((lane, pos, pos))
    return runs
