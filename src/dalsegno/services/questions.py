"""Questions among a run's pending writes, and whether those of actions were answered beside the run.

Rules of this module:

* A question of the ledger carries its ticket: the action and its version. When the action stands at another version,
  someone has answered, before or after the question was written down, and the run has nothing to wait for.
* A question counts as long as its task has not finished. Only tickets are looked at; nothing of a write is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from dalsegno.contracts import Op, Step
from dalsegno.core.standing import Standing
from dalsegno.services.standings import QUESTION
from dalsegno.services.threads_row import ThreadRow

__all__ = ["EARLY", "standing_of", "tickets_in"]

EARLY: Final = "a question of it was answered before it was written down"
"""What a worker that goes on with such a run is told."""

_VERSION: Final = 8
"""Place of the version among the columns of `action_find`."""
_TICKET: Final = re.compile("([0-9a-f]{64}):([0-9]{1,18})")


def tickets_in(tree: Any) -> Iterator[tuple[bytes, int]]:
    """The tickets of the questions in a tree: key and version of each action."""
    if isinstance(tree, dict):
        ticket = tree.get("ticket")
        found = _TICKET.fullmatch(ticket) if isinstance(ticket, str) else None
        if found is not None:
            yield bytes.fromhex(found[1]), int(found[2])
            return
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from tickets_in(part)


def standing_of(thread: ThreadRow, tasks: Iterable[Mapping[int, Any]]) -> Op[Standing]:
    """Where a run stands whose head has these writes: what each task wrote, by slot."""
    asked = [slots[QUESTION] for slots in tasks if QUESTION in slots and all(slot < 0 for slot in slots)]
    for tree in asked:
        for key, version in tickets_in(tree):
            rows = yield Step("action_find", {**thread.key, "key": key})
            if rows and rows[0][_VERSION] != version:
                return Standing.ANSWERED
    return Standing.ASKED if asked else Standing.OPEN
