"""Questions of actions among a run's pending writes, and whether they were answered before they were written down.

Rules of this module:

* A question carries its ticket: the action and its version. When the action stands at another version, someone has
  answered, and the run that is about to wait has nothing to wait for.
* Only the tickets are looked at; nothing of a write is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from dalsegno.contracts import Op, Step
from dalsegno.services.threads_row import ThreadRow

__all__ = ["EARLY", "answered", "tickets_in"]

EARLY: Final = "it was answered before its question was written down"
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


def answered(thread: ThreadRow, trees: Iterable[Any]) -> Op[bool]:
    """Whether one of the questions in these writes has been answered already."""
    for tree in trees:
        for key, version in tickets_in(tree):
            rows = yield Step("action_find", {**thread.key, "key": key})
            if rows and rows[0][_VERSION] != version:
                return True
    return False
