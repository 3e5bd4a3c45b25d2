"""Message lists that other frameworks keep in threads: read, extended, taken back.

Rules of this module:

* An item is one event or several, written in one transaction under the thread's lock: two writers never lose or double
  one, and none is ever seen in half.
* Nothing of the journal goes. What is popped, cleared or replaced is followed by a deletion for each of its events; it
  is no longer in the list, and search and reading still find it, marked.
* A thread's messages have one keeper (`keepers`): a graph's thread takes no items, another framework's neither, and a
  thread with items takes no checkpoint.
* A list is read from its end; how much of it stands is counted in the thread's history row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core import codec
from dalsegno.core.card.listening import DECIDERS, stirs
from dalsegno.core.histories import carried_by
from dalsegno.core.items import Place, put_back
from dalsegno.core.journal import Kind
from dalsegno.core.tree import Json, canonical
from dalsegno.errors import Damaged, HistoryMoved, ThreadNotFound
from dalsegno.services.cards import begin, follow, is_due
from dalsegno.services.journal import NewEvent, write
from dalsegno.services.keepers import standing_items
from dalsegno.services.loading import json_text, load
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope, ThreadRow, find_thread, lock_thread

__all__ = ["Part", "add", "clear", "pop", "read", "replace", "standing_messages"]

_ALL = 2**62
_PAGE = 200
_LINE = json_text([[0, _ALL]])
"""A thread with items has no checkpoints, so it has no branches either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A message of an item, to be written.

    Attributes:
        kind, author, text: of its event.
        tree: the message, encoded, with what it carries.
        by_person: whether a person says it, who may decide something.
    """

    kind: Kind
    author: str
    text: str
    tree: Json
    by_person: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """An event of the list that stands."""

    id: str
    author: str
    place: Place
    tree: dict[str, Any]


@sound
def read(scope: Scope, name: str, keeper: str, limit: int | None) -> Op[list[list[Any]]]:
    """The newest items that stand, oldest first; each as its parts. None of a thread that is not there."""
    try:
        row = yield from find_thread(scope, name)
    except ThreadNotFound:
        return []
    count = yield from standing_items(row, keeper)
    items = yield from _standing(row, count if limit is None else min(limit, count))
    return [[codec.decode(_carried(stored.tree)) for stored in item] for item in items]


@sound
def standing_messages(scope: Scope, name: str) -> Op[list[dict[str, Any]] | None]:
    """The messages of the items that stand, encoded, in order; None where no framework keeps the thread's messages."""
    row = yield from find_thread(scope, name)
    rows = yield Step("history_find", row.key)
    if not rows:
        return None
    items = yield from _standing(row, rows[0][1])
    return [stored.tree for item in items for stored in item]


@sound
def add(
    scope: Scope,
    name: str,
    keeper: str,
    items: Sequence[Sequence[Part]],
    *,
    fence: int | None,
    deciders: Collection[str] = DECIDERS,
) -> Op[None]:
    """Put items at the end of a thread's list, all or none; the thread is made if there is none.

    Raises:
        OtherKeeper: the thread's messages are kept by something else.
        ThreadDeleted, LeaseHeld, LeaseLost: see `lock_thread`.
    """
    row = yield from lock_thread(scope, name, create=True, fence=fence)
    count = yield from standing_items(row, keeper)
    yield from _change(row, keeper, count, [], items, deciders)


@sound
def replace(
    scope: Scope,
    name: str,
    keeper: str,
    items: Sequence[Sequence[Part]],
    *,
    anyway: bool,
    fence: int | None,
    deciders: Collection[str] = DECIDERS,
) -> Op[int]:
    """Make a thread's list these items: what it begins with stays as it is, the rest is taken out or added.

    Args:
        scope: tenant and user.
        name: the thread.
        keeper: the framework.
        items: the whole list.
        anyway: whether items that stand may be taken out.
        fence: fencing token of a lease.
        deciders: whose word decides, for the card.

    Returns:
        How many items were added.

    Raises:
        HistoryMoved: the list that stands is not the beginning of this one, and `anyway` is False.
        OtherKeeper, ThreadDeleted, LeaseHeld, LeaseLost: as `add`.
    """
    row = yield from lock_thread(scope, name, create=True, fence=fence)
    count = yield from standing_items(row, keeper)
    stored = yield from _standing(row, count)
    before = [[canonical(_carried(part.tree)) for part in item] for item in stored]
    given = [[canonical(_carried(part.tree)) for part in item] for item in items]
    same = next((at for at, pair in enumerate(zip(before, given, strict=False)) if pair[0] != pair[1]), None)
    kept = min(len(before), len(given)) if same is None else same
    if kept < len(before) and not anyway:
        raise HistoryMoved(name, stored=len(before), given=len(given), same=kept)
    yield from _change(row, keeper, count, stored[kept:], items[kept:], deciders)
    return len(items) - kept


@sound
def pop(scope: Scope, name: str, keeper: str, *, fence: int | None, deciders: Collection[str]) -> Op[list[Any] | None]:
    """Take the last item out of a thread's list and return its parts; None where nothing stands."""
    try:
        row = yield from lock_thread(scope, name, create=False, fence=fence)
    except ThreadNotFound:
        return None
    count = yield from standing_items(row, keeper)
    items = yield from _standing(row, min(1, count))
    if not items:
        return None
    yield from _change(row, keeper, count, items, [], deciders)
    return [codec.decode(_carried(stored.tree)) for stored in items[0]]


@sound
def clear(scope: Scope, name: str, keeper: str, *, fence: int | None, deciders: Collection[str]) -> Op[int]:
    """Take all items out of a thread's list; returns how many."""
    try:
        row = yield from lock_thread(scope, name, create=False, fence=fence)
    except ThreadNotFound:
        return 0
    count = yield from standing_items(row, keeper)
    items = yield from _standing(row, count)
    if items:
        yield from _change(row, keeper, count, items, [], deciders)
    return len(items)


def _change(
    row: ThreadRow,
    keeper: str,
    count: int,
    gone: Sequence[Sequence[_Stored]],
    items: Sequence[Sequence[Part]],
    deciders: Collection[str],
) -> Op[None]:
    """Write deletions, the last first, and new items."""
    before = row.events
    deletions = [
        NewEvent(kind=Kind.DELETE, author=stored.author, tree=None, text="", message_id=stored.id, place=stored.place)
        for item in reversed(gone)
        for stored in reversed(item)
    ]
    parts = [part for item in items for part in item]
    first = row.events + len(deletions) + 1
    yield from write(row, [*deletions, *(_named(part, first + at) for at, part in enumerate(parts))])
    due = is_due(row, before, lambda: bool(gone) or any(part.by_person and stirs(part.text) for part in parts))
    saved = Step("history_save", {**row.key, "keeper": keeper, "items": count - len(gone) + len(items)})
    yield (saved, *begin(due=due))
    yield from follow(row, 0, deciders, due=due)


def _named(part: Part, number: int) -> NewEvent:
    """The event of a part; its message is named by the event's number, which no other in the thread has."""
    id_ = f"event-{number}"
    tree = {**part.tree, "id": id_} if isinstance(part.tree, dict) else part.tree
    return NewEvent(kind=part.kind, author=part.author, tree=tree, text=part.text, message_id=id_)


def _standing(row: ThreadRow, count: int) -> Op[list[list[_Stored]]]:
    """The newest items that stand, so many, oldest first."""
    newest: list[list[_Stored]] = []
    parts: list[_Stored] = []
    gone: Counter[str] = Counter()
    before = _ALL
    while len(newest) < count:
        rows = yield Step(
            "events_last", {**row.key, "spans": _LINE, "before": before, "limit": min(_PAGE, 8 + 4 * count)}
        )
        if not rows:
            raise Damaged(f"history of thread {row.name!r}", expected=f"{count} items", found=len(newest))
        before = rows[-1][0] - 1
        page = [stored for stored in _on_page(rows, gone) if stored is not None]
        for stored in page:
            parts.append(stored)
            carried = carried_by(stored.tree)
            if carried is not None and carried.begins:
                newest.append(parts[::-1])
                parts = []
                if len(newest) == count:
                    break
    loaded = yield from load(row.tenant, row.thread, [stored.tree for item in newest for stored in item])
    return [
        [
            _Stored(
                id=stored.id,
                author=stored.author,
                place=stored.place,
                tree=_whole(put_back(stored.tree, loaded.trees, loaded.blobs)),
            )
            for stored in item
        ]
        for item in reversed(newest)
    ]


def _on_page(rows: Sequence[tuple[Any, ...]], gone: Counter[str]) -> Iterator[_Stored | None]:
    """Of rows, the newest first, those of items that stand; `gone` counts deletions that await their event."""
    for _seq, kind, author, _at, _branch, _ckpt, _id, _frame, body, lane, pos in rows:
        tree: dict[str, Any] | None = None if body is None else orjson.loads(body)
        if tree is None or carried_by(tree) is None:
            continue
        id_ = str(tree["id"])
        if kind == Kind.DELETE.code:
            gone[id_] += 1
        elif gone[id_]:
            gone[id_] -= 1
        else:
            yield _Stored(id=id_, author=author, place=(lane, pos), tree=tree)


def _whole(tree: Json) -> dict[str, Any]:
    if not isinstance(tree, dict):
        raise Damaged("an item of a history", expected="a message", found=type(tree).__name__)
    return tree


def _carried(tree: Json) -> Json:
    carried = carried_by(tree)
    if carried is None:
        raise Damaged("an item of a history", expected="what its message carries", found="nothing")
    return carried.tree
