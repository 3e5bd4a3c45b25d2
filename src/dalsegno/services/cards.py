"""The card of a lineage in the database: kept while the conversation runs.

Rules of this module:

* One row for each branch that has written a card: what was heard, and the event up to which it was (its cursor).
* A card goes on in the transaction of the checkpoint that brings events: at once when one of them may decide or
  withdraw something, or edits or deletes a message; else when another `EVERY` events have come. It reads the events
  after its cursor and nothing before them, at most `AT_ONCE` of them; what it cannot take in now, it takes in later.
* A card is derived. Whatever goes wrong with it is a warning; the checkpoint is stored all the same, and whoever reads
  the card is given the events after its cursor. Its statements are a part of the transaction that is undone alone; what
  begins the part goes with the batch before it, what ends it with the card, so that it costs no round trip.
* A card whose row makes no sense is made again when it goes on. Who only reads it is told that it is damaged.
* An event that the rules break on is passed over, with a warning: one odd text does not stop a card for ever.
* A branch without a card of its own has that of the branch it left, without what was heard after it left.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import orjson

from dalsegno.contracts import Op, Step, StepFailed
from dalsegno.core.card.advancing import Notes, hear
from dalsegno.core.card.extraction import extraction_from_json
from dalsegno.core.card.findings import Finding, Told, findings_from_json, findings_to_json
from dalsegno.core.card.listening import LONGEST
from dalsegno.core.failures import named
from dalsegno.core.journal import Span, spans_contain
from dalsegno.errors import Damaged
from dalsegno.services.lines import spans_of
from dalsegno.services.loading import json_text
from dalsegno.services.sound import BROKEN
from dalsegno.services.telling import tell
from dalsegno.services.threads_row import ThreadRow

__all__ = [
    "AT_ONCE",
    "EVERY",
    "Kept",
    "begin",
    "catch_up",
    "find",
    "follow",
    "heard",
    "is_due",
    "save",
    "spans_text",
    "within",
]

EVERY = 40
"""After so many events a card goes on, whatever they say."""
AT_ONCE = 64
"""So many events a card takes in at most in one transaction of somebody else's."""

READS = 48_000
"""After so many characters a card takes in no more events in a transaction of somebody else's: each costs time, and the
thread is locked meanwhile (on SQLite, the file)."""

_ALL = 2**62
_log = logging.getLogger("dalsegno.handover")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A card as it is stored.

    Attributes:
        notes: what was heard in the lineage, with the cursor.
        version: how often it was written; 0 for none.
        own: whether the branch has written it itself.
    """

    notes: Notes
    version: int = 0
    own: bool = False


def is_due(row: ThreadRow, before: int, stirred: Callable[[], bool]) -> bool:
    """Whether a card goes on now.

    Args:
        row: the thread, with the number of the last event.
        before: number of the last event before those that have come.
        stirred: tells whether one of them may decide or withdraw something, or changes a message.
    """
    if row.events <= before:
        return False
    if before // EVERY != row.events // EVERY:
        return True
    try:
        return stirred()
    except Exception as error:  # noqa: BLE001 - a card is derived; it must not cost anyone a checkpoint
        _log.warning("what came to thread %r was not looked at for its card (%s)", row.name, _line(error))
        return False


def begin(*, due: bool) -> tuple[Step, ...]:
    """What goes at the end of the batch before a card that is due, so that the card can be undone alone."""
    return (Step("part_begin", {}),) if due else ()


def follow(row: ThreadRow, branch: int, deciders: Collection[str], *, due: bool) -> Op[None]:
    """Bring the card of a branch on if it is due, after `begin`; never fail the transaction, which holds the thread."""
    if not due:
        return
    try:
        _, save = yield from _onward(row, branch, deciders, AT_ONCE)
        if save is not None:
            yield (save, Step("part_end", {}))
    except StepFailed as failed:
        try:
            yield Step("part_undo", {})
        except StepFailed:  # the whole transaction is gone, or the connection
            raise failed from None
        _stays_behind(row, failed.error)
    except Exception as error:  # noqa: BLE001 - as above
        _stays_behind(row, error)


def _stays_behind(row: ThreadRow, error: Exception) -> None:
    _log.warning(
        "the card of thread %r stays behind (%s); the events after it are handed over beside it. "
        "`dalsegno check` tells what is wrong",
        row.name,
        _line(error),
    )


def _line(error: Exception) -> str:
    return " ".join(named(error).split())[:300]


def catch_up(row: ThreadRow, branch: int, deciders: Collection[str]) -> Op[None]:
    """Take in all events after the cursor, and write the card down; an error is the caller's."""
    _, save = yield from _onward(row, branch, deciders, _ALL)
    if save is not None:
        yield save


def _onward(row: ThreadRow, branch: int, deciders: Collection[str], limit: int) -> Op[tuple[Notes, Step | None]]:
    """The card with at most so many more events, and the step that keeps it where anything is new."""
    spans = yield from spans_of(row, branch, _ALL)
    kept = yield from find(row, spans, anew=True)
    rows = yield Step(
        "events_after", {**row.key, "spans": spans_text(spans), "after": kept.notes.cursor, "limit": limit}
    )
    told = yield from tell(row, rows, spans)
    if not told and kept.own:
        return kept.notes, None
    if limit != _ALL:
        told = told[: _readable(told)]
    notes = heard(row, kept.notes, told, deciders)
    return notes, save(row, branch, notes, kept.version + 1)


def save(row: ThreadRow, branch: int, notes: Notes, version: int) -> Step:
    """Write a card down."""
    body: dict[str, object] = {"findings": findings_to_json(notes.findings)}
    if notes.extraction is not None:
        body["extraction"] = notes.extraction.to_json()
    params = {"branch": branch, "cursor": notes.cursor, "version": version, "forgotten": notes.forgotten}
    return Step("card_save", {**row.key, **params, "at": row.now, "body": json_text(body)})


def _readable(told: Sequence[Told]) -> int:
    """How many events a card takes in at most, at least one; of a long text only so much is read."""
    lengths = accumulate(min(len(one.text), LONGEST) for one in told)
    return max(1, sum(1 for length in lengths if length <= READS))


def heard(row: ThreadRow, notes: Notes, told: Sequence[Told], deciders: Collection[str]) -> Notes:
    """Take events in; of one that the rules break on, nothing is heard, and the others are heard all the same."""
    try:
        return hear(notes, told, deciders)
    except Exception:  # noqa: BLE001 - found out below, event by event
        for one in told:
            try:
                notes = hear(notes, [one], deciders)
            except Exception as error:  # noqa: BLE001 - one text must not stop the card for ever
                notes = hear(notes, [replace(one, role="note", text="", files=())], deciders)
                _log.warning(
                    "event #%d of thread %r could not be heard for its card (%s); read it in the journal",
                    one.number,
                    row.name,
                    _line(error),
                )
        return notes


def find(row: ThreadRow, spans: Sequence[Span], *, anew: bool = False) -> Op[Kept]:
    """The card of a lineage, as it was last written.

    Args:
        row: the thread.
        spans: the lineage.
        anew: give an empty one, which is then made again from the events, where its row makes no sense.

    Raises:
        Damaged: its row makes no sense.
    """
    branches = [span.branch for span in spans]
    rows = yield Step("cards_of", {**row.key, "branches": json_text(branches)})
    by_branch = {columns[0]: columns for columns in rows}
    at = next((at for at in range(len(branches) - 1, -1, -1) if branches[at] in by_branch), None)
    if at is None:
        return Kept(notes=Notes())
    columns, own = by_branch[branches[at]], at == len(branches) - 1
    version = columns[2] if own and type(columns[2]) is int and columns[2] > 0 else 0
    try:
        notes = _notes(row, columns)
    except Damaged as error:
        if not anew:
            raise
        _log.warning(
            "the card of thread %r is damaged (found %s); it is made again from the first event", row.name, error.found
        )
        return Kept(notes=Notes(), version=version, own=own)
    if own:
        return Kept(notes=notes, version=version, own=True)
    younger = json_text(branches[at + 1 :])
    ((begun,),) = yield Step("events_begin", {**row.key, "branches": younger})
    ends = notes.cursor if begun is None else min(notes.cursor, begun - 1)
    theirs = notes.extraction
    ours = None if theirs is None else replace(theirs, cursor=min(theirs.cursor, ends), until=0)
    return Kept(notes=replace(within(notes, spans), cursor=ends, extraction=ours), version=columns[2])


def _notes(row: ThreadRow, columns: tuple[Any, ...]) -> Notes:
    branch, cursor, version, forgotten, _at, body = columns
    place = f"card of branch {branch} of thread {row.name!r} (ds.handover.refresh makes it again)"
    numbers = (cursor, version, forgotten)
    if any(type(number) is not int or number < 0 for number in numbers) or cursor > row.events:
        raise Damaged(place, expected=f"a cursor up to {row.events}, and two counts", found=repr(numbers))
    try:
        tree = orjson.loads(body)
        findings = findings_from_json(tree["findings"])
        extraction = extraction_from_json(tree.get("extraction"))
    except Damaged as error:
        raise Damaged(place, expected=error.expected, found=error.found) from error
    except BROKEN as error:
        raise Damaged(place, expected="findings as JSON", found=_line(error)) from error
    return Notes(findings=findings, cursor=cursor, forgotten=forgotten, extraction=extraction)


def within(notes: Notes, spans: Sequence[Span]) -> Notes:
    """What of some notes was heard in a lineage; words that were changed outside of it stand again."""
    return replace(
        notes,
        findings=tuple(_unvoided(one, spans) for one in notes.findings if spans_contain(spans, one.branch, one.ckpt)),
    )


def _unvoided(one: Finding, spans: Sequence[Span]) -> Finding:
    if not one.void_by or spans_contain(spans, one.void_branch, one.void_ckpt):
        return one
    return replace(one, void_by=0, void_branch=0, void_ckpt=0)


def spans_text(spans: Sequence[Span]) -> str:
    """A lineage as a parameter."""
    return json_text([[span.branch, span.up_to] for span in spans])
