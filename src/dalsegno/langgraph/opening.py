"""Handing a checkpoint to a run: what it may not go on with, and what to remember of it.

Rules of this module:

* A run that goes on into a graph which lacks a waiting node is refused; it would silently do nothing.
* A new input over steps that still wait is reported, as the program chose.
* What a run is handed is remembered, so that its next checkpoint is compared with it by identity.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import orjson
from langgraph.pregel._loop import PregelLoop
from langgraph.types import Command

from dalsegno.errors import GraphChanged, InputOverUnfinished, Misuse, UnfinishedWarning
from dalsegno.langgraph.authors import Authors
from dalsegno.langgraph.config import conf_of
from dalsegno.langgraph.pending import pending_nodes
from dalsegno.langgraph.rebuild import Rebuilt
from dalsegno.langgraph.requests import print_value, send_nodes
from dalsegno.services.memo import Held, Memo

__all__ = ["OnInput", "Opening", "check_on_input", "waiting"]

OnInput = Literal["warn", "raise", "allow"]

_RESUMING = "__pregel_resuming"


def check_on_input(word: object) -> None:
    """Refuse what is not one of the three words.

    Raises:
        Misuse: it is not.
    """
    if word not in ("warn", "raise", "allow"):
        msg = f"on_input_over_unfinished={word!r}: use 'warn', 'raise' or 'allow'"
        raise Misuse(msg)


class Opening:
    """Checks and remembers what runs are handed."""

    def __init__(self, memo: Memo, authors: Authors, on_input: OnInput) -> None:
        """Take the memories, and what to do when an input would discard waiting steps.

        Raises:
            Misuse: `on_input` is not one of its three words.
        """
        check_on_input(on_input)
        self._memo = memo
        self._authors = authors
        self._on_input = on_input

    def hand(self, found: Rebuilt, loop: PregelLoop) -> None:
        """Check a checkpoint that a run asked for, and remember it.

        Raises:
            GraphChanged: the run goes on and its graph lacks a waiting node.
            InputOverUnfinished: an input would discard waiting steps, and that is set to raise.
        """
        self._check(found, loop)
        self._hold(found)

    def _check(self, found: Rebuilt, loop: PregelLoop) -> None:
        conf = conf_of(loop.config)
        goes_on = conf.get(_RESUMING, loop.input is None or isinstance(loop.input, Command))
        if loop.is_nested and not goes_on:
            return
        pending = waiting(found)
        if not pending:
            return
        where = f"thread {found.row.name!r}, checkpoint {found.row.id}"
        if goes_on:
            lost = sorted({name for name in pending if name not in loop.nodes})
            if lost:
                msg = (
                    f"{where}: the run waits for {', '.join(map(repr, lost))}, which this graph no longer has; going "
                    "on would silently do nothing. Restore the node, or go back with dalsegno.fork"
                )
                raise GraphChanged(msg)
        elif self._on_input != "allow" and not conf.get("checkpoint_id"):
            msg = (
                f"{where}: the step with {', '.join(map(repr, pending))} is not over; the new input discards it, with "
                "whatever its nodes have finished. Resume first (dalsegno.resume), or say "
                "on_input_over_unfinished='allow'"
            )
            if self._on_input == "raise":
                raise InputOverUnfinished(msg)
            warnings.warn(msg, UnfinishedWarning, stacklevel=5)

    def _hold(self, found: Rebuilt) -> None:
        row, values = found.row, found.checkpoint["channel_values"]
        for name, value in values.items():
            if name not in found.prints:
                print_value(found.prints, name, value)
        if not found.migrated:
            self._memo.hold(row.name, row.ns, Held(row.id, found.prints, row.state))
        self._authors.note_sends(row.name, row.id, send_nodes(values))
        paths = {write.task: write.path for write in row.writes}
        for task, channel, value in found.writes:
            self._authors.note(row.name, row.id, paths[task], [(channel, value)])


def waiting(found: Rebuilt) -> Sequence[str]:
    """Names of the nodes a checkpoint waits for."""
    return pending_nodes(found.checkpoint, orjson.loads(found.row.graph) if found.row.graph is not None else None)
