"""What the tool node does in the outside world, and how the ledger has it.

Rules of this module:

* A tool that only looks is no action and looks as often as it is run. One that acts is on record before its effect
  and after it.
* A process that is killed between the two leaves an action that nobody here knows the end of. The world is asked for
  it by its idempotency key: what has happened is not done again, what has not happened is done.
* The lease of a killed process runs on for a moment; whoever comes after waits for its end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dalsegno.core.action_policy import ActionPolicy, Happened, NotHappened
from dalsegno.core.journal import Kind
from dalsegno.demo.world import only_reads
from dalsegno.errors import ActionInFlight

if TYPE_CHECKING:
    from collections.abc import Callable

    from dalsegno.connect import Dalsegno
    from dalsegno.demo.script import Errand
    from dalsegno.demo.world import World
    from dalsegno.faces.actions import Actions
    from dalsegno.services.action_rows import Action

__all__ = ["Act", "Entry", "ledger_of", "through_ledger"]

_LEASE: Final = timedelta(seconds=1)
_PATIENCE_S: Final = 30.0
"""How long an errand waits for the lease of another process, before it gives up."""


Act: TypeAlias = "Callable[[Errand, Callable[[], None]], None]"
"""Does an errand; the second argument is called when its effect is there and nobody has written that down yet."""


def through_ledger(actions: Actions, world: World, *, by: str) -> Act:
    """A way to act on the world once.

    Args:
        actions: the ledger, `ds.actions`.
        world: what is acted on.
        by: name of the process that acts.
    """

    def look(action: Action) -> Happened | NotHappened:
        receipt = world.receipt(action.action_id)
        return NotHappened() if receipt is None else Happened(result=receipt)

    policy = ActionPolicy(kind="update", reconcile=look, lease=_LEASE)

    def once(errand: Errand, landed: Callable[[], None]) -> None:
        with actions.perform(errand.name, {"arguments": errand.arguments}, policy=policy) as action:
            if action.due:
                action.result = world.act(errand, by=by, key=action.key)
                landed()

    def act(errand: Errand, landed: Callable[[], None]) -> None:
        if only_reads(errand.name):
            world.act(errand, by=by)
            landed()
            return
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                once(errand, landed)
            except ActionInFlight as running:
                if time.monotonic() > deadline:
                    raise
                time.sleep(running.seconds)
            else:
                return

    return act


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An action as the ledger has it at the end.

    Attributes:
        action_id: its idempotency key.
        tool: the tool that acted.
        state: where it stands.
        attempts: how often it was started.
        moves: every move it made and who made it, in order.
        asked: whether its end was unknown and the world was asked.
    """

    action_id: str
    tool: str
    state: str
    attempts: int
    moves: tuple[tuple[str, str], ...]
    asked: bool


def ledger_of(ds: Dalsegno, thread_id: str) -> tuple[Entry, ...]:
    """The ledger of a thread, in the order in which its actions were recorded."""
    told: list[dict[str, Any]] = [event.payload for event in ds.journal.read(thread_id) if event.kind == Kind.ACTION]
    entries = []
    for action_id in dict.fromkeys(each["action"] for each in told):
        action = ds.actions.get(action_id)
        moves = tuple((str(each["move"]), str(each["role"])) for each in told if each["action"] == action_id)
        entries.append(
            Entry(
                action_id=action_id,
                tool=action.name,
                state=str(action.state),
                attempts=action.attempts,
                moves=moves,
                asked=any(role == "reconciler" for _, role in moves),
            )
        )
    return tuple(entries)
