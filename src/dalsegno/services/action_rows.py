"""A row of the ledger: read, moved, and written back together with what the move leaves behind.

Rules of this module:

* A row changes by moves of the table (`core/actions.py`) and by nothing else but the end of its lease. Each move is
  an event of the journal and a row of the audit, in the transaction that makes it.
* The thread is locked by whoever moves a row, so moves of one thread queue.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core import codec
from dalsegno.core.actions import ActionKind, Move, Role, State, moved
from dalsegno.core.arguments import ActionScope, Call
from dalsegno.core.journal import Kind, Undecoded, author_of
from dalsegno.core.tree import Json
from dalsegno.errors import StateShapeError, UnknownType
from dalsegno.services import audit
from dalsegno.services.frames import from_micros
from dalsegno.services.ids import pack_name, unpack_name
from dalsegno.services.journal import NewEvent, write
from dalsegno.services.loading import json_text
from dalsegno.services.threads_row import ThreadRow

__all__ = ["Action", "ActionRow", "load_row", "new_row", "row_of", "save_row", "version_in", "view"]

_LEDGER = "ledger"
_TICKET = re.compile(r"[^:]*:([0-9]{1,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action as the ledger shows it. Times are aware UTC, by the database's clock.

    Attributes:
        action_id: its idempotency key in hexadecimal.
        thread_id: the thread it belongs to.
        name: what is done.
        kind: what that does to the world.
        scope: what makes an equal call the same action.
        anchor: the step's id or the caller's business key; None under scope `thread`.
        arguments: canonical arguments by name.
        recipient: who gets it, where someone does.
        state: where it stands.
        version: how many moves it has made.
        attempts: how often it was started.
        holder: who started it last.
        lease_until: until when the newest start is alive unless it is kept; None when it has ended.
        asked_at, approved_by, approved_at, approved_until: its approval; None where there is none.
        result: what it came back with; `Undecoded` where that is of an unknown class, or could not be stored.
        error: why it failed, or what is known of one whose end is unknown.
        created_at, updated_at, started_at, ended_at: its times.
    """

    action_id: str
    thread_id: str
    name: str
    kind: ActionKind
    scope: ActionScope
    anchor: str | None
    arguments: Any
    recipient: Any
    state: State
    version: int
    attempts: int
    holder: str | None
    lease_until: datetime | None
    asked_at: datetime | None
    approved_by: str | None
    approved_at: datetime | None
    approved_until: datetime | None
    result: Any
    error: str | None
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def ticket(self) -> str:
        """Names the action as it stands now; an answer that carries it counts for this moment alone."""
        return f"{self.action_id}:{self.version}"


def version_in(ticket: object) -> int | None:
    """The version that a ticket names, or None when it is none, whatever it is."""
    found = _TICKET.fullmatch(ticket) if isinstance(ticket, str) else None
    return None if found is None else int(found[1])


@dataclass(slots=True)
class ActionRow:
    """One row of `ds_actions`; changed in place by `move` and written back by `save_row`."""

    key: bytes
    name: str
    kind: str
    scope: str
    anchor: str | None
    recipient: list[Json] | None
    arguments: Json
    state: State | None
    version: int
    attempts: int
    fence: int
    holder: str | None
    lease_until: int | None
    approval: dict[str, Any] | None
    result: Json
    error: str | None
    created_at: int
    updated_at: int
    started_at: int | None
    ended_at: int | None
    stored: bool = True
    trail: list[dict[str, Any]] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The key in hexadecimal."""
        return self.key.hex()

    def move(self, move: Move, role: Role, author: str, now: int, **details: Any) -> None:
        """Make a move and note it for the journal and the audit.

        Raises:
            IllegalMove: the table has no such move; the row is as it was.
        """
        target = moved(self.state, move, role)
        told = {key: value for key, value in details.items() if value is not None}
        self.trail.append(
            {
                "action": self.id,
                "name": self.name,
                "kind": self.kind,
                "move": str(move),
                "from": None if self.state is None else str(self.state),
                "to": str(target),
                "by": author,
                "role": str(role),
                "attempt": self.attempts + (move is Move.START),
                **told,
            }
        )
        self.state = target
        self.version += 1
        self.updated_at = now


def new_row(call: Call, kind: ActionKind, key: bytes, now: int) -> ActionRow:
    """The row of a call that is not recorded yet; its first move is `record`."""
    row = ActionRow(
        key, call.name, str(kind), str(call.scope), call.anchor, call.recipient, call.arguments,
        None, 0, 0, 0, None, None, None, None, None, now, now, None, None, stored=False,
    )  # fmt: skip
    row.move(
        Move.RECORD, Role.LEDGER, _LEDGER, now, scope=row.scope, anchor=row.anchor, arguments=row.arguments,
        recipient=row.recipient,
    )  # fmt: skip
    return row


def load_row(thread: ThreadRow, key: bytes) -> Op[ActionRow | None]:
    """The row of a key, if the thread has it."""
    rows = yield Step("action_find", {**thread.key, "key": key})
    return row_of(rows[0]) if rows else None


def row_of(columns: tuple[Any, ...]) -> ActionRow:
    """The row that its columns make."""
    key, name, kind, scope, anchor, recipient, arguments, state, version, attempts, fence, holder, until = columns[:13]
    approval, result, error, created_at, updated_at, started_at, ended_at = columns[13:]
    return ActionRow(
        bytes(key),
        unpack_name(name),
        kind,
        scope,
        None if anchor is None else unpack_name(anchor),
        None if recipient is None else orjson.loads(recipient),
        orjson.loads(arguments),
        State(state),
        version,
        attempts,
        fence,
        None if holder is None else unpack_name(holder),
        until,
        None if approval is None else orjson.loads(approval),
        None if result is None else orjson.loads(result),
        None if error is None else codec.decode(orjson.loads(error)),
        created_at,
        updated_at,
        started_at,
        ended_at,
    )


def save_row(thread: ThreadRow, row: ActionRow) -> Op[None]:
    """Write a row, the events of its moves and their audit; nothing when it has not moved."""
    if not row.trail:
        return
    if not row.stored:
        yield Step(
            "action_add",
            {
                **thread.key,
                "key": row.key,
                "name": pack_name(row.name),
                "kind": row.kind,
                "scope": row.scope,
                "anchor": None if row.anchor is None else pack_name(row.anchor),
                "recipient": _json(row.recipient),
                "arguments": json_text(row.arguments),
                "state": str(row.state),
                "version": row.version,
                "created_at": row.created_at,
            },
        )
        row.stored = True
    yield update_step(thread, row)
    trail, row.trail = row.trail, []
    yield from write(thread, [_event(each) for each in trail])
    yield from audit.add(thread, [{"thread": codec.encode(thread.name), **_told(each)} for each in trail])


def update_step(thread: ThreadRow, row: ActionRow) -> Step:
    """The step that writes the changeable columns of a row."""
    return Step(
        "action_save",
        {
            **thread.key,
            "key": row.key,
            "state": str(row.state),
            "version": row.version,
            "attempts": row.attempts,
            "fence": row.fence,
            "holder": None if row.holder is None else pack_name(row.holder),
            "lease_until": row.lease_until,
            "approval": _json(row.approval),
            "result": _json(row.result),
            "error": None if row.error is None else json_text(codec.encode(row.error)),
            "updated_at": row.updated_at,
            "started_at": row.started_at,
            "ended_at": row.ended_at,
        },
    )


_TREES = ("arguments", "recipient", "result")
"""Details of a move that are trees already."""
_SHOWN = frozenset({"arguments", "recipient"})
"""Those of them that the journal tells."""


def _told(noted: Mapping[str, Any]) -> dict[str, Json]:
    """What was noted of a move, as trees."""
    return {key: value if key in _TREES else codec.encode(value) for key, value in noted.items()}


def _event(noted: Mapping[str, Any]) -> NewEvent:
    """A move as the journal tells it; a result stands in the ledger and in the state, and is not stored again."""
    shown = {key: value for key, value in noted.items() if key not in _TREES}
    text = f"{noted['name']}: {noted['to']} ({noted['move']} by {noted['by']})"
    if "why" in noted:
        text += f": {noted['why']}"
    tree: Any = codec.encode({**shown, "text": text, **dict.fromkeys(sorted(_SHOWN & noted.keys()))}, "move")
    for name in _SHOWN & noted.keys():
        tree[name] = noted[name]
    return NewEvent(kind=Kind.ACTION, author=author_of(role=_LEDGER, name=noted["by"]), tree=tree, text=text)


def _json(value: Any) -> str | None:
    return None if value is None else json_text(value)


def view(thread_id: str, row: ActionRow) -> Action:
    """A row as people and programs see it."""
    approval = row.approval or {}
    return Action(
        action_id=row.id,
        thread_id=thread_id,
        name=row.name,
        kind=ActionKind(row.kind),
        scope=ActionScope(row.scope),
        anchor=row.anchor,
        arguments=_value(row.arguments),
        recipient=None if row.recipient is None else _value(row.recipient[0]),
        state=State(str(row.state)),
        version=row.version,
        attempts=row.attempts,
        holder=row.holder,
        lease_until=_time(row.lease_until),
        asked_at=_time(approval.get("asked_at")),
        approved_by=None if approval.get("by") is None else codec.decode(approval["by"]),
        approved_at=_time(approval.get("at")),
        approved_until=_time(approval.get("until")),
        result=_result(row.result),
        error=row.error,
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
        started_at=_time(row.started_at),
        ended_at=_time(row.ended_at),
    )


def _result(stored: Json) -> Any:
    if isinstance(stored, dict):
        return Undecoded(tree=None, reason=str(codec.decode(stored["lost"])))
    return _value(stored[0]) if isinstance(stored, list) else None


def _value(tree: Json) -> Any:
    try:
        return codec.decode(tree)
    except (UnknownType, StateShapeError) as error:
        return Undecoded(tree=tree, reason=str(error))


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
