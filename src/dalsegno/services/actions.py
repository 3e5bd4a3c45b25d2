"""The ledger: what is done to the world, written down before it begins and after it ends.

Rules of this module:

* Each operation is one transaction under the thread's lock. `begin` commits before the effect starts, and to disk,
  whatever the setting for the rest. Its caller runs the effect only on `Turn.RUN`, and says how it ended with `finish`
  under the token that it was given.
* The database's clock decides whether a lease is alive. One that ran out makes the action `unknown`, and nothing here
  leads out of that but `decide`, which a reconciler or a person calls.
* Found succeeded: the stored result. Found failed: once more, and counted. Found running: refused
  while its lease is alive.
* An approval holds for the very arguments it was given for, and for as long as it was given.
* A question that a run puts to a person is noted with the task that puts it. What a person decides against is told to
  that task whenever it makes the call again; any other call of the same kind begins anew. An answer from outside makes
  the run that waits for it due.
* What an operation has noticed is committed even when the caller may not go on, so it is returned, not raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from dalsegno.contracts import Op, Step
from dalsegno.core import codec
from dalsegno.core.actions import ActionKind, Move, Role, State
from dalsegno.core.arguments import ActionScope, Call
from dalsegno.core.standing import Standing
from dalsegno.core.tree import Json, canonical, digest
from dalsegno.errors import ActionInFlight, ActionMoved, ActionNotFound, KeyReused, Misuse
from dalsegno.services.access import admit_all, admit_one
from dalsegno.services.action_rows import Action, ActionRow, load_row, new_row, row_of, save_row, update_step, view
from dalsegno.services.frames import from_micros
from dalsegno.services.ids import pack_name, unpack_name
from dalsegno.services.run_rows import make_due
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope, ThreadRow, lock_thread

__all__ = [
    "Begun",
    "Ending",
    "Turn",
    "ask_anew",
    "begin",
    "decide",
    "find",
    "finish",
    "keep",
    "notice",
    "page",
    "withdraw",
]

_SECOND = 1_000_000
_KEY_DIGITS = 64
_LEDGER = "ledger"


class Turn(StrEnum):
    """What the caller of `begin` does next."""

    RUN = "run"
    DONE = "done"
    WAIT = "wait"
    LOST = "lost"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What `begin` found.

    Attributes:
        turn: run the effect, take the stored result, wait for an approval, find out what became of it, or leave it.
        action: the action as it stands.
        token: under `run`, the token to finish it with.
        verdict: under `refused`, what a person decided in answer to this very task, `reject` or `find_failed`, and who.
    """

    turn: Turn
    action: Action
    token: int = 0
    verdict: tuple[Move, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run of an effect ended.

    Attributes:
        move: `succeed`, `fail` or `lose`.
        result: `[tree]` or `{"lost": why}` of one that succeeded.
        why: for people: why it failed, or why its end is unknown.
    """

    move: Move
    result: Json = None
    why: str | None = None


@sound
def begin(
    scope: Scope,
    name: str,
    call: Call,
    kind: ActionKind,
    key: bytes,
    *,
    holder: str,
    ttl: timedelta,
    ask: bool = False,
    lasts: timedelta | None = None,
    fence: int | None = None,
    task: str | None = None,
) -> Op[Begun]:
    """Write a call down and take its lease, or tell why it may not run.

    Args:
        scope: tenant and user.
        name: the thread; made if there is none.
        call: what is called.
        kind: what it does to the world.
        key: the call's idempotency key.
        holder: who is going to run it.
        ttl: how long its lease lasts unless it is kept.
        ask: whether someone has to approve it first.
        lasts: how long an approval counts; None for ever.
        fence: the run's fencing token, when it has a lease on the thread.
        task: the task of a run that makes the call, if that can put a question.

    Raises:
        ActionInFlight: its lease is alive.
        KeyReused: its business key stands for other arguments.
        ThreadDeleted, ThreadNotFound, LeaseHeld, LeaseLost: the thread takes no writes from here.
    """
    thread = yield from lock_thread(scope, name, create=True, fence=fence)
    row = yield from load_row(thread, key)
    if row is None:
        row = new_row(call, kind, key, thread.now)
    elif call.scope is ActionScope.KEY and canonical(row.arguments) != canonical(call.arguments):
        raise KeyReused(
            row.name, row.anchor or "", recorded=codec.decode(row.arguments), given=codec.decode(call.arguments)
        )
    if (verdict := _told_already(row, task)) is not None:
        return Begun(turn=Turn.REFUSED, action=view(name, row), verdict=verdict)
    turn = _turn(row, thread.now, holder=holder, ttl=_micros(ttl), ask=ask, lasts=lasts)
    if turn in (Turn.WAIT, Turn.LOST) and _asks(row, task) and not row.trail:
        yield update_step(thread, row)
    yield from save_row(thread, row)
    if turn is Turn.RUN:
        yield Step("commit_durably", {})
    return Begun(turn=turn, action=view(name, row), token=row.fence)


def _asks(row: ActionRow, task: str | None) -> bool:
    """Note which task puts the question; whether that is new."""
    tasks = (row.approval or {}).get("tasks", [])
    if task is None or task in tasks:
        return False
    row.approval = {**(row.approval or {}), "tasks": [*tasks, task]}
    return True


def _told_already(row: ActionRow, task: str | None) -> tuple[Move, str] | None:
    """What a person decided against the action in answer to a question of this task."""
    approval = row.approval or {}
    if row.state is not State.FAILED or task is None or "said" not in approval or task not in approval["tasks"]:
        return None
    move, by = approval["said"]
    return Move(move), str(codec.decode(by))


def _without_question(row: ActionRow) -> None:
    """Forget who asked and what was said: the action goes on."""
    kept = {name: value for name, value in (row.approval or {}).items() if name not in ("tasks", "said")}
    row.approval = kept or None


def _turn(row: ActionRow, now: int, *, holder: str, ttl: int, ask: bool, lasts: timedelta | None) -> Turn:
    """Move a row as far as its caller may take it."""
    if row.state is State.RUNNING:
        left = (row.lease_until or 0) - now
        if left > 0:
            raise ActionInFlight(row.name, action_id=row.id, holder=row.holder or "", seconds=left / _SECOND)
        _lose(row, now)
    if row.state is State.UNKNOWN:
        return Turn.LOST
    if row.state is State.SUCCEEDED:
        return Turn.DONE
    if row.state is State.FAILED:
        row.move(Move.AGAIN, Role.LEDGER, _LEDGER, now)
        row.error = None
        _without_question(row)
    if row.state is State.PENDING and ask and not _approved(row, now):
        row.approval = {"asked_at": now, "lasts": None if lasts is None else _micros(lasts)}
        row.move(Move.ASK, Role.LEDGER, _LEDGER, now)
    if row.state is State.AWAITING_APPROVAL:
        return Turn.WAIT
    _without_question(row)
    row.move(Move.START, Role.LEDGER, _LEDGER, now, holder=holder)
    row.attempts += 1
    row.fence += 1
    row.holder, row.lease_until, row.started_at, row.ended_at = holder, now + ttl, now, None
    return Turn.RUN


def _lose(row: ActionRow, now: int) -> None:
    row.error = f"attempt {row.attempts} by {row.holder!r} began {_told(row.started_at)}, and its lease ran out"
    row.move(Move.LOSE, Role.LEDGER, _LEDGER, now, why=row.error)
    row.lease_until, row.ended_at = None, now


def _told(micros: int | None) -> str:
    return "some time" if micros is None else f"at {from_micros(micros).isoformat(timespec='seconds')}"


def _shown_digest(row: ActionRow) -> str:
    """What an approval is bound to: exactly what was shown."""
    return digest([codec.encode(row.name), row.kind, row.arguments, row.recipient]).hex()


def _approved(row: ActionRow, now: int) -> bool:
    approval = row.approval or {}
    until = approval.get("until")
    return (
        approval.get("by") is not None
        and approval.get("digest") == _shown_digest(row)
        and (until is None or until > now)
    )


@sound
def notice(scope: Scope, name: str, key: bytes) -> Op[Action]:
    """Call an action lost when its lease has run out; returns it as it stands then.

    Raises:
        ActionNotFound: there is no such action.
    """
    thread = yield from lock_thread(scope, name, create=False)
    row = yield from load_row(thread, key)
    if row is None:
        raise _not_found(key.hex())
    if row.state is State.RUNNING and (row.lease_until or 0) <= thread.now:
        _lose(row, thread.now)
    yield from save_row(thread, row)
    return view(name, row)


@sound
def finish(scope: Scope, name: str, key: bytes, token: int, ending: Ending, *, fence: int | None = None) -> Op[Action]:
    """Write down how an effect ended.

    Whoever comes late is heard as long as nobody has called the action lost: what it knows is the truth.

    Raises:
        ActionMoved: it was called lost meanwhile, or started by someone else; the ledger is as it was.
    """
    thread, row = yield from _started(scope, name, key, token, fence)
    row.result, row.error = ending.result, ending.why
    row.lease_until, row.ended_at = None, thread.now
    row.move(ending.move, Role.LEDGER, _LEDGER, thread.now, why=ending.why, result=ending.result)
    yield from save_row(thread, row)
    return view(name, row)


@sound
def withdraw(scope: Scope, name: str, key: bytes, holder: str, *, fence: int | None = None) -> Op[None]:
    """Take back a start whose effect has not begun; nothing when the holder has started nothing.

    Args:
        scope: tenant and user.
        name: the thread.
        key: the action's key.
        holder: who may have started it, and nobody else of that name.
        fence: the run's fencing token, when it has a lease on the thread.
    """
    thread = yield from lock_thread(scope, name, create=True, fence=fence)
    row = yield from load_row(thread, key)
    if row is None or row.state is not State.RUNNING or row.holder != holder:
        return
    row.lease_until, row.ended_at, row.error = None, thread.now, "it was called off before it began"
    row.move(Move.FAIL, Role.LEDGER, _LEDGER, thread.now, why=row.error)
    yield from save_row(thread, row)


@sound
def keep(scope: Scope, name: str, key: bytes, token: int, ttl: timedelta, *, fence: int | None = None) -> Op[None]:
    """Keep the lease of a running action for another `ttl` from now. No move, so no event.

    Raises:
        ActionMoved: it is not running under this token any more.
    """
    micros = _micros(ttl)
    thread, row = yield from _started(scope, name, key, token, fence)
    row.lease_until = thread.now + micros
    yield update_step(thread, row)


def _started(scope: Scope, name: str, key: bytes, token: int, fence: int | None) -> Op[tuple[ThreadRow, ActionRow]]:
    thread = yield from lock_thread(scope, name, create=False, fence=fence)
    row = yield from load_row(thread, key)
    if row is None:
        raise _not_found(key.hex())
    if row.state is not State.RUNNING or row.fence != token:
        why = f"attempt {token} is over for the ledger, whatever it has to say"
        raise ActionMoved(row.name, action_id=row.id, state=str(row.state), why=why)
    return thread, row


@sound
def decide(
    scope: Scope,
    name: str,
    key: bytes,
    move: Move,
    role: Role,
    by: str,
    *,
    version: int | None = None,
    result: Json = None,
    why: str | None = None,
    fence: int | None = None,
    outside: bool = False,
) -> Op[Action]:
    """Make a move that a reconciler or a person decides.

    Args:
        scope: tenant and user.
        name: the thread.
        key: the action's key.
        move: `approve`, `reject`, `find_succeeded`, `find_failed` or `retry`.
        role: whether a reconciler or a person decides.
        by: who.
        version: the version the decision was made on; None takes it as it stands.
        result: under `find_succeeded`, `[tree]` of what it came back with.
        why: evidence, or a reason.
        fence: the run's fencing token, when it has a lease on the thread.
        outside: whether it is decided beside the runs of the thread, whoever holds its lease; a run that waits for it
            is due then.

    Raises:
        ActionMoved: it is not at this version any more; nothing was changed.
        IllegalMove: the action is not where this move starts.
    """
    if not by.strip():
        msg = "nobody is named who decides, and that goes on record"
        raise Misuse(msg, step="say who, with by=…", command="say who, with --by NAME")
    thread = yield from lock_thread(scope, name, create=False, fence=fence, beside=outside)
    row = yield from load_row(thread, key)
    if row is None:
        raise _not_found(key.hex())
    if version is not None and row.version != version:
        raise ActionMoved(
            row.name, action_id=row.id, state=str(row.state), why="it has moved since the question was put"
        )
    row.move(move, role, by, thread.now, why=why, result=result)
    tasks = (row.approval or {}).get("tasks", [])
    if move is Move.APPROVE:
        lasts = (row.approval or {}).get("lasts")
        row.approval = {
            **(row.approval or {}),
            "by": codec.encode(by),
            "at": thread.now,
            "until": None if lasts is None else thread.now + lasts,
            "digest": _shown_digest(row),
        }
    else:
        row.result = result if result is not None or move is not Move.FIND_SUCCEEDED else [None]
        row.error = why if move is Move.FIND_FAILED else None  # what else is said is in the journal and the audit
    if move is Move.REJECT:
        row.approval, row.error = None, f"rejected by {by}" + (f": {why}" if why else "")
        row.ended_at = thread.now
    if move in (Move.REJECT, Move.FIND_FAILED) and role is Role.PERSON and tasks:
        row.approval = {**(row.approval or {}), "tasks": tasks, "said": [str(move), codec.encode(by)]}
    yield from save_row(thread, row)
    if outside and tasks and thread.stands in (Standing.ASKED, Standing.ANSWERED):
        yield from make_due(thread, f"{_SAID[move]} {row.name} ({row.id[:12]}), by {by}")
    return view(name, row)


_SAID: Mapping[Move, str] = {
    Move.APPROVE: "approved:",
    Move.REJECT: "rejected:",
    Move.FIND_SUCCEEDED: "found to have succeeded:",
    Move.FIND_FAILED: "found to have failed:",
    Move.RETRY: "to be done again:",
}
"""What a worker that goes on with a run is told of the answer."""


def ask_anew(scope: Scope, thread: ThreadRow) -> Op[None]:
    """Forget what was decided against actions of a thread, so that the same steps put their questions again."""
    found = yield Step(
        "actions_of",
        {
            "tenant": scope.tenant, "owner": scope.user, "thread": pack_name(thread.name),
            "state": str(State.FAILED), "limit": 2**62,
        },
    )  # fmt: skip
    for columns in found:
        row = row_of(columns[1:])
        if "said" in (row.approval or {}):
            _without_question(row)
            yield update_step(thread, row)


@sound
def find(scope: Scope, action_id: str) -> Op[Action]:
    """The action of an id, or of the beginning of one that no other action has.

    Raises:
        ActionNotFound: there is none, or it is another user's.
        Misuse: several begin so.
    """
    prefix = action_id.strip().lower()
    try:
        low = bytes.fromhex(prefix.ljust(_KEY_DIGITS, "0")) if prefix else b""
        high = bytes.fromhex(prefix.ljust(_KEY_DIGITS, "f"))
    except ValueError:
        raise _not_found(action_id) from None
    if not low or len(prefix) > _KEY_DIGITS:
        raise _not_found(action_id)
    rows = yield Step("actions_named", {"tenant": scope.tenant, "owner": scope.whose, "low": low, "high": high})
    if not rows:
        raise _not_found(action_id)
    if len(rows) > 1:
        msg = f"several actions begin with {action_id!r}; give more of the id"
        raise Misuse(msg)
    name = unpack_name(rows[0][0])
    if scope.user is not None:
        yield from admit_one(scope, name)
    return view(name, row_of(rows[0][1:]))


@sound
def page(scope: Scope, *, thread: str | None, state: State | None, limit: int | None) -> Op[list[Action]]:
    """Actions of the tenant and user, the oldest first."""
    wanted = {
        "tenant": scope.tenant,
        "owner": scope.whose,
        "state": None if state is None else str(state),
        "limit": 2**62 if limit is None else limit,
    }
    if thread is None:
        rows = yield Step("actions_page", wanted)
        yield from admit_all(scope, [unpack_name(columns[0]) for columns in rows])
    else:
        if scope.user is not None and not (yield from admit_one(scope, thread)):
            return []
        rows = yield Step("actions_of", {**wanted, "owner": None, "thread": pack_name(thread)})
    return [view(unpack_name(columns[0]), row_of(columns[1:])) for columns in rows]


def _not_found(action_id: str) -> ActionNotFound:
    return ActionNotFound(
        f"no action {action_id[:80]!r}",
        step="ds.actions.list() shows what there is",
        command="`dalsegno actions list` shows what there is",
    )


def _micros(span: Any) -> int:
    if not isinstance(span, timedelta) or span <= timedelta(0):
        msg = f"{span!r}: a lease or an approval lasts a timedelta longer than nothing, such as timedelta(minutes=1)"
        raise Misuse(msg)
    return span // timedelta(microseconds=1)
