"""The journal: reading, searching and writing events of a thread.

Rules of this module:

* Events are read along a lineage: that of the head, or of a checkpoint. Numbers count over all branches of a thread,
  so a lineage may skip some.
* A search looks at the lineage of the head. Signatures narrow it down in SQL; the text has the last word and the rank.
* An event written directly stands at the head of the moment, in one transaction, numbered without gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from dalsegno.contracts import Batch, Op, Step
from dalsegno.core import codec
from dalsegno.core.card.listening import DECIDERS, stirs
from dalsegno.core.items import POOL, Plan, lift, put_back
from dalsegno.core.journal import DIRECT, Event, Kind, Span, Undecoded, text_of_tree
from dalsegno.core.search import Query, query, signature
from dalsegno.core.split import Split
from dalsegno.core.tree import Json
from dalsegno.errors import CheckpointNotFound, Misuse, StateShapeError, UnknownType
from dalsegno.services.cards import begin, follow, is_due
from dalsegno.services.frames import from_micros
from dalsegno.services.ids import pack_id
from dalsegno.services.lines import spans_of
from dalsegno.services.loading import Loaded, json_text, load
from dalsegno.services.placing import ROOT
from dalsegno.services.reading import full_id
from dalsegno.services.sound import sound
from dalsegno.services.storing import find_pool, store_items
from dalsegno.services.threads_row import Scope, ThreadRow, find_thread, lock_thread, save_thread

__all__ = ["NewEvent", "append", "events", "read", "search", "write"]

_ALL = 2**62
_CANDIDATES = 400
_SLOTS = 8
_DECIDING = frozenset({Kind.DECISION, Kind.APPROVAL, Kind.TODO, Kind.DONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event to write directly.

    Attributes:
        kind: one of `core.journal.DIRECT`, or `action` for the ledger.
        author: who says so, one line.
        tree: encoded payload.
        text: what search finds it by.
        at: microseconds since 1970, or None for now.
    """

    kind: Kind
    author: str
    tree: Any
    text: str
    at: int | None = None


@sound
def read(
    scope: Scope,
    name: str,
    describe: Callable[[Any], str],
    *,
    after: int = 0,
    limit: int | None = None,
    checkpoint_id: str | None = None,
) -> Op[list[Event]]:
    """Events of a lineage after a number, oldest first; see `dalsegno.journal.Journal.read`."""
    row = yield from find_thread(scope, name)
    spans = yield from _lineage(row, checkpoint_id)
    rows = yield Step(
        "events_page",
        {**row.key, "spans": _spans_text(spans), "after": after, "limit": _ALL if limit is None else limit},
    )
    return (yield from events(row, rows, describe))


@sound
def search(scope: Scope, name: str, describe: Callable[[Any], str], *, text: str, limit: int | None) -> Op[list[Event]]:
    """Events of the head's lineage whose text answers a query, best first; see `dalsegno.journal.Journal.search`."""
    row = yield from find_thread(scope, name)
    wanted = query(text)
    if wanted.blank or limit == 0:
        return []
    spans = yield from _lineage(row, None)
    codes = list(wanted.required[:_SLOTS])
    found = yield from _candidates(row, spans, codes)
    ranked = _ranked((yield from events(row, found, describe)), wanted)
    if not ranked and len(wanted.partial) > 1:
        seen: dict[int, tuple[Any, ...]] = {}
        for code in wanted.partial[:_SLOTS]:
            for candidate in (yield from _candidates(row, spans, [code])):
                seen[candidate[0]] = candidate
        ranked = _ranked((yield from events(row, sorted(seen.values(), reverse=True), describe)), wanted)
    return ranked[:limit]


@sound
def append(
    scope: Scope,
    name: str,
    events: Sequence[NewEvent],
    *,
    create: bool,
    fence: int | None,
    deciders: Collection[str] = DECIDERS,
) -> Op[list[int]]:
    """Write events at the head of the moment, all or none; the card of the lineage goes on with them.

    Returns:
        Their numbers.

    Raises:
        ThreadNotFound: there is no such thread and `create` is False.
        Misuse: a kind that is not written directly.
    """
    wrong = [event.kind for event in events if event.kind not in DIRECT]
    if wrong:
        msg = f"events of kind {wrong[0]!r} come from the state; write one of {', '.join(sorted(DIRECT))}"
        raise Misuse(msg)
    row = yield from lock_thread(scope, name, create=create, fence=fence)
    before = row.events
    branch, ckpt = yield from _head(row)
    batch, numbers = yield from _written(row, events, branch, ckpt)
    due = is_due(row, before, lambda: any(map(_stirs, events)))
    yield (*batch, *begin(due=due))
    yield from follow(row, branch, deciders, due=due)
    return numbers


def _stirs(event: NewEvent) -> bool:
    return event.kind in _DECIDING or (event.kind is Kind.MESSAGE and stirs(event.text))


def write(row: ThreadRow, events: Sequence[NewEvent]) -> Op[list[int]]:
    """Write events of any kind to a thread that is locked, and its counters; returns their numbers."""
    branch, ckpt = yield from _head(row)
    batch, numbers = yield from _written(row, events, branch, ckpt)
    yield batch
    return numbers


def _written(row: ThreadRow, events: Sequence[NewEvent], branch: int, ckpt: int | None) -> Op[tuple[Batch, list[int]]]:
    """The steps that write events, and their numbers."""
    plan = Plan()
    lifted = [lift(event.tree, plan) for event in events]
    pool = yield from find_pool(row, plan)
    split = Split(pool=pool, next_pool=row.pool + 1, next_lane=row.lanes + 1, tails={}, old={}, own_lanes=True)
    params = []
    numbers = []
    for event, tree in zip(events, lifted, strict=True):
        row.events += 1
        numbers.append(row.events)
        params.append(
            {
                **row.key,
                "seq": row.events,
                "kind": event.kind.code,
                "author": event.author,
                "at": row.now if event.at is None else event.at,
                "branch": branch,
                "ckpt": ckpt,
                "mark": None,
                "lane": POOL,
                "pos": split.add_pool(split.body_of(tree)),
                "terms": signature(event.text),
            }
        )
    row.pool = split.next_pool - 1
    return (*store_items(row, split), Step("event_add", params), save_thread(row)), numbers


def _head(row: ThreadRow) -> Op[tuple[int, int | None]]:
    rows = yield Step("head_branch", row.key)
    return (rows[0][0], rows[0][1]) if rows else (0, None)


def _lineage(row: ThreadRow, checkpoint_id: str | None) -> Op[list[Span]]:
    if checkpoint_id is None:
        branch, _ = yield from _head(row)
        return (yield from spans_of(row, branch, _ALL))
    rows = yield Step("checkpoint_branch", {**row.key, "ns": ROOT, "id": pack_id(checkpoint_id)})
    if not rows:
        msg = f"thread {row.name!r} has no checkpoint {checkpoint_id!r}; `dalsegno checkpoints` lists them"
        raise CheckpointNotFound(msg)
    return (yield from spans_of(row, *rows[0]))


def _spans_text(spans: Sequence[Span]) -> str:
    return json_text([[span.branch, span.up_to] for span in spans])


def _candidates(row: ThreadRow, spans: Sequence[Span], codes: Sequence[bytes]) -> Op[list[tuple[Any, ...]]]:
    slots = {f"t{n}": codes[n] if n < len(codes) else b"" for n in range(_SLOTS)}
    most = _CANDIDATES if codes else _ALL
    return (
        yield Step(
            "events_matching",
            {**row.key, "spans": _spans_text(spans), **slots, "limit": most},
        )
    )


def _ranked(events: Sequence[Event], wanted: Query) -> list[Event]:
    scored = [(wanted.score(event.text), event) for event in events]
    return [event for score, event in sorted(scored, key=lambda pair: (-pair[0], -pair[1].seq)) if score > 0]


def events(row: ThreadRow, rows: Sequence[tuple[Any, ...]], describe: Callable[[Any], str]) -> Op[list[Event]]:
    """Events from their rows, as `events_page` gives them."""
    trees = {columns[0]: orjson.loads(columns[8]) for columns in rows if columns[8] is not None}
    loaded: Loaded = yield from load(row.tenant, row.thread, trees.values())
    found = []
    for seq, kind_code, author, at, branch, _ckpt, id_, frame, _body, _lane, _pos in rows:
        kind = Kind.of_code(kind_code)
        payload, text = None, ""
        if kind is not Kind.DELETE and seq in trees:
            payload, text = _payload(put_back(trees[seq], loaded.trees, loaded.blobs), describe)
        found.append(
            Event(
                seq=seq,
                author=author,
                kind=kind,
                text=text,
                payload=payload,
                at=from_micros(at),
                checkpoint_id=None if id_ is None else full_id(bytes(id_), frame),
                branch=branch,
            )
        )
    return found


def _payload(tree: Json, describe: Callable[[Any], str]) -> tuple[Any, str]:
    """A payload and its text; one of a class this process does not know stands as its tree."""
    try:
        payload = codec.decode(tree)
    except (UnknownType, StateShapeError) as error:
        return Undecoded(tree=tree, reason=str(error)), text_of_tree(tree)
    return payload, describe(payload)
