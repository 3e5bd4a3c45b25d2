"""What may happen to an action, as one table.

Rules of this module:

* An action is one effect on the world. It stands in one of six states, and only the moves of `TABLE` lead from one to
  another; each names who may make it. Whatever is not in the table is refused and changes nothing.
* `running` has one entrance, `start`, so that nothing runs without a lease of its own. What was found out about a lost
  action leads to where it may start, never past it.
* `unknown` has no way out for the ledger: a reconciler, which asks the outside system, or a person decides.
* States, moves and kinds stand in databases by their words. A word is never given a second meaning.
* The diagram in the documentation is drawn from the table. Pure values: no clock, no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dalsegno.errors import IllegalMove

__all__ = ["TABLE", "ActionKind", "By", "Move", "Role", "State", "Way", "diagram", "moved"]


class ActionKind(StrEnum):
    """What an action does to the world. Reading is no action."""

    CREATE = "create"
    SEND = "send"
    UPDATE = "update"
    DELETE = "delete"


class State(StrEnum):
    """Where an action stands."""

    PENDING = "pending"
    AWAITING_APPROVAL = "awaiting_approval"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Role(StrEnum):
    """Who makes a move."""

    LEDGER = "ledger"
    RECONCILER = "reconciler"
    PERSON = "person"


class Move(StrEnum):
    """What happens to an action."""

    RECORD = "record"
    ASK = "ask"
    APPROVE = "approve"
    REJECT = "reject"
    START = "start"
    SUCCEED = "succeed"
    FAIL = "fail"
    LOSE = "lose"
    AGAIN = "again"
    FIND_SUCCEEDED = "find_succeeded"
    FIND_FAILED = "find_failed"
    RETRY = "retry"


By = frozenset[Role]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One row of the table.

    Attributes:
        source: the state it leaves; None for an action that is not recorded yet.
        target: the state it leads to.
        by: who may make it.
        means: what it says, for the documentation.
    """

    source: State | None
    target: State
    by: By
    means: str


_LEDGER: Final = frozenset({Role.LEDGER})
_PERSON: Final = frozenset({Role.PERSON})
_FINDERS: Final = frozenset({Role.RECONCILER, Role.PERSON})

TABLE: Final[Mapping[Move, Way]] = {
    Move.RECORD: Way(source=None, target=State.PENDING, by=_LEDGER, means="the call is written down"),
    Move.ASK: Way(
        source=State.PENDING,
        target=State.AWAITING_APPROVAL,
        by=_LEDGER,
        means="its approval is missing or too old",
    ),
    Move.APPROVE: Way(
        source=State.AWAITING_APPROVAL, target=State.PENDING, by=_PERSON, means="these very arguments may be used"
    ),
    Move.REJECT: Way(source=State.AWAITING_APPROVAL, target=State.FAILED, by=_PERSON, means="it is not to be done"),
    Move.START: Way(
        source=State.PENDING, target=State.RUNNING, by=_LEDGER, means="a process takes the lease; the effect may begin"
    ),
    Move.SUCCEED: Way(source=State.RUNNING, target=State.SUCCEEDED, by=_LEDGER, means="the call came back"),
    Move.FAIL: Way(source=State.RUNNING, target=State.FAILED, by=_LEDGER, means="the call raised"),
    Move.LOSE: Way(
        source=State.RUNNING, target=State.UNKNOWN, by=_LEDGER, means="the lease ran out and nobody said how it ended"
    ),
    Move.AGAIN: Way(source=State.FAILED, target=State.PENDING, by=_LEDGER, means="the same call is made once more"),
    Move.FIND_SUCCEEDED: Way(source=State.UNKNOWN, target=State.SUCCEEDED, by=_FINDERS, means="it has happened"),
    Move.FIND_FAILED: Way(source=State.UNKNOWN, target=State.FAILED, by=_FINDERS, means="it has not happened"),
    Move.RETRY: Way(source=State.UNKNOWN, target=State.PENDING, by=_FINDERS, means="do it, whatever happened before"),
}


def moved(state: State | None, move: Move, role: Role) -> State:
    """The state that a move leads to.

    Args:
        state: where the action stands; None when it is not recorded.
        move: what happens to it.
        role: who says so.

    Raises:
        IllegalMove: the table has no such move from this state, or not by this role.
    """
    way = TABLE[move]
    if way.source is not state:
        raise IllegalMove(move, state=state, needs=way.source, role=role)
    if role not in way.by:
        raise IllegalMove(move, state=state, needs=way.source, role=role, may=sorted(way.by))
    return way.target


def diagram() -> str:
    """The table as a state diagram in mermaid's language."""
    lines = ["stateDiagram-v2"]
    for move, way in TABLE.items():
        source = "[*]" if way.source is None else way.source
        lines.append(f"    {source} --> {way.target}: {move} ({', '.join(sorted(way.by))})")
    lines.append(f"    {State.SUCCEEDED} --> [*]")
    return "\n".join(lines) + "\n"
