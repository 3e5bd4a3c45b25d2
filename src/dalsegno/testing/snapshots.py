"""Everything a store holds of a thread, as one value that can be compared.

Rules of this module:

* A snapshot is complete: counters, namespaces, branches, checkpoints, items, pending writes, events, summaries,
  actions, their audit, how its run failed, tags and blob references row by row, and the state of each checkpoint put
  together as a reader would. A deleted thread has one too, and it shows whatever was left behind.
* It says nothing that differs between two stores or two runs of the same work: no row numbers of tenant and thread, no
  clock, no order of keys. So two snapshots are equal exactly when the same was done.
* It is plain data (JSON), so that it can be sent to another process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import orjson

from dalsegno.connect import Dalsegno
from dalsegno.contracts import Op, Step
from dalsegno.core.items import put_back
from dalsegno.core.journal import Kind
from dalsegno.core.tree import Json
from dalsegno.errors import ThreadNotFound
from dalsegno.services.frames import read_state
from dalsegno.services.ids import pack_name
from dalsegno.services.loading import load
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope, ThreadRow

__all__ = ["Snapshot", "differences", "snapshot"]

Snapshot: TypeAlias = dict[str, Any]
"""Tables by name: each a list of rows, `row` the thread's own, `states` the states by checkpoint number."""

_COUNTERS = ("events", "pool", "lanes", "checkpoints", "branches", "namespaces", "fence", "stands")


def snapshot(ds: Dalsegno, thread_id: str) -> Snapshot | None:
    """Read everything of a thread in one transaction; None when there never was such a thread.

    Raises:
        Damaged: a state cannot be put together.
    """
    scope = ds.scope()
    return ds.store_backend.run(lambda: _snapshot(scope, thread_id), write=False)


def differences(left: Snapshot | None, right: Snapshot | None) -> list[str]:
    """What two snapshots say differently, a line for each row that only one of them has; empty when they are equal."""
    if left is None or right is None:
        return [] if left is right else [f"{'left' if left is None else 'right'} has no such thread"]
    return [line for table in left.keys() | right.keys() for line in _unlike(table, left.get(table), right.get(table))]


def _unlike(table: str, left: Any, right: Any) -> Iterator[str]:
    if left == right:
        return
    if not (isinstance(left, list) and isinstance(right, list)):
        yield f"{table}: {left} != {right}"
        return
    yield from (f"{table}: only left: {row}" for row in left if row not in right)
    yield from (f"{table}: only right: {row}" for row in right if row not in left)
    if len(left) != len(right):
        yield f"{table}: {len(left)} rows != {len(right)} rows"


@sound
def _snapshot(scope: Scope, name: str) -> Op[Snapshot | None]:
    rows = yield Step("thread_find", {"tenant": scope.tenant, "name": pack_name(name), "owner": None})
    if not rows:
        return None
    row = ThreadRow(scope.tenant, name, *rows[0])
    if scope.user is not None and row.owner != scope.user:
        msg = f"no thread {name!r}; check the id (`dalsegno threads` lists them)"
        raise ThreadNotFound(msg)
    checkpoints = yield Step("checkpoints_all", row.key)
    forms = {number: body for number, body, _ in (yield Step("forms_of", row.key))}
    acted = yield Step(
        "actions_of",
        {"tenant": scope.tenant, "owner": None, "thread": pack_name(name), "state": None, "limit": 2**62},
    )
    found: Snapshot = {
        "row": {
            **{counter: getattr(row, counter) for counter in _COUNTERS},
            "owner": row.owner,
            "deleted": row.deleted_at is not None,
            "leased_to": row.lease_holder if row.leased else None,
        },
        "namespaces": _plain((yield Step("namespaces_of", row.key))),
        "branches": _plain((yield Step("branches_of", row.key))),
        "checkpoints": _plain([_with_forms(columns, forms) for columns in checkpoints], parsed=(6, 7, 8, 9)),
        "writes": _plain((yield Step("writes_all", row.key)), parsed=(3,)),
        "items": _plain((yield Step("items_all", row.key)), parsed=(3,)),
        "events": _plain([_timeless(columns) for columns in (yield Step("events_all", row.key))]),
        "summaries": _plain(
            [(*columns[:5], *columns[6:]) for columns in (yield Step("summaries_all", row.key))], parsed=(6, 7, 8)
        ),
        "manifests": _plain(
            [
                (*columns[:1], *columns[2:])
                for columns in (yield Step("manifests_page", {**row.key, "after": 0, "limit": 2**62}))
            ],
            parsed=(6,),
        ),
        "actions": _plain([(*columns[1:12], *columns[15:17]) for columns in acted], parsed=(5, 6, 11, 12)),
        "audit": [_unsalted(*columns) for columns in (yield Step("audit_all", row.key))],
        "history": _plain((yield Step("history_find", row.key))),
        "tags": _plain((yield Step("tags_of", row.key))),
        "shares": _plain([columns[:3] for columns in (yield Step("shares_of", row.key))]),
        "runs": _plain([(*columns[:7],) for columns in (yield Step("run_find", row.key))]),
        "blobs": _plain([(digest, bool(there)) for digest, there in (yield Step("blob_refs_of", row.key))]),
    }
    states = {columns[0]: read_state(columns[9], columns[-2]) for columns in checkpoints if columns[9] is not None}
    found["states"] = yield from _states(row, states)
    return found


def _timeless(columns: tuple[Any, ...]) -> tuple[Any, ...]:
    """An event without its time where that is the database's clock's: a move of an action."""
    return (*columns[:3], None, *columns[4:]) if columns[1] == Kind.ACTION.code else columns


def _unsalted(seq: int, body: str | None) -> list[Json]:
    """A row of the audit without what makes its digest one of its own."""
    told = None if body is None else orjson.loads(body)
    if told is not None:
        told.pop("salt")
    return [seq, told]


def _with_forms(columns: tuple[Any, ...], forms: Mapping[int, str]) -> tuple[Any, ...]:
    """A checkpoint's columns with its forms in place of their numbers, which another database counts otherwise."""
    shape, graph = (None if number is None else forms[number] for number in columns[6:8])
    return (*columns[:6], shape, graph, *columns[8:-2])


def _states(row: ThreadRow, states: Mapping[int, Mapping[str, Any]]) -> Op[list[list[Json]]]:
    loaded = yield from load(row.tenant, row.thread, [node for state in states.values() for node in state.values()])
    return [
        [ckpt, {channel: put_back(node, loaded.trees, loaded.blobs) for channel, node in state.items()}]
        for ckpt, state in states.items()
    ]


def _plain(rows: list[tuple[Any, ...]], parsed: tuple[int, ...] = ()) -> list[list[Json]]:
    plain = [[_value(value, parse=place in parsed) for place, value in enumerate(columns)] for columns in rows]
    return sorted(plain, key=lambda columns: orjson.dumps(columns, option=orjson.OPT_SORT_KEYS))


def _value(value: Any, *, parse: bool) -> Any:
    if parse and value is not None:
        return orjson.loads(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return value
