"""The outside world that the demo's tools act on: a small SQLite file of its own, so that effects can be counted.

Rules of this module:

* The world is not the thread's database, and shares no transaction with it: exactly as a payment service or a mail
  server does not. Between an effect and its record a process can be killed; an effect that came twice is counted.
* As such services do, it keeps the idempotency key that came with an effect, and tells what has happened under it. It
  does not compare keys by itself: that nothing happens twice is left to whoever acts.
* An effect is committed before `act` returns.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from dalsegno.demo.script import Errand

__all__ = ["Effect", "World", "only_reads"]

_READING: Final = frozenset({
    "analyze", "calculate", "check", "compute", "count", "fetch", "find", "get", "list", "look", "lookup", "query",
    "read", "retrieve", "search", "show", "summarize", "think", "view",
})  # fmt: skip


def only_reads(tool: str) -> bool:
    """Whether a tool of this name leaves the world as it was, judged by the first word of `get_order` or `getOrder`."""
    word = ""
    for letter in tool.lstrip("_"):
        if not letter.isalpha() or (letter.isupper() and word):
            break
        word += letter.lower()
    return word in _READING


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What one errand did to the world.

    Attributes:
        position: index of the errand's result in the transcript.
        tool: the tool that acted.
        times: how often it acted; more than once is a doubled effect.
        reads: True for a tool that only looks, where more than once does no harm.
    """

    position: int
    tool: str
    times: int
    reads: bool


class World:
    """A ledger of what has happened outside; any number of processes may share the file."""

    def __init__(self, path: Path) -> None:
        self._path: Final = path
        with closing(self._open()) as world, world:
            world.execute(
                "CREATE TABLE IF NOT EXISTS effects (position INTEGER, tool TEXT, arguments TEXT, by TEXT, key TEXT)"
            )

    def act(self, errand: Errand, *, by: str, key: str | None = None) -> int:
        """Let something happen: one row, committed on return.

        Args:
            errand: what is done.
            by: name of the process that does it.
            key: idempotency key, where one comes with it.

        Returns:
            Number of the effect's receipt.
        """
        row = (errand.position, errand.name, json.dumps(errand.arguments, ensure_ascii=False, default=str), by, key)
        with closing(self._open()) as world, world:
            return int(world.execute("INSERT INTO effects VALUES (?, ?, ?, ?, ?)", row).lastrowid or 0)

    def receipt(self, key: str) -> int | None:
        """Number of the receipt of what has happened under a key; None when nothing has."""
        with closing(self._open()) as world:
            found = world.execute("SELECT rowid FROM effects WHERE key = ?", (key,)).fetchone()
        return None if found is None else int(found[0])

    def effects(self) -> tuple[Effect, ...]:
        """What happened, in the order of the transcript."""
        with closing(self._open()) as world:
            rows = world.execute("SELECT position, tool, count(*) FROM effects GROUP BY position, tool").fetchall()
        return tuple(
            Effect(position=position, tool=tool, times=times, reads=only_reads(tool))
            for position, tool, times in sorted(rows)
        )

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=30)
