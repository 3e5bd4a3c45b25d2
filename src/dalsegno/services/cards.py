"""The card of a lineage in the database: kept while the conversation runs.

Rules of this module:

* One row for each branch that has written a card: what was heard, and the event up to which it was (its cursor).
* A card goes on in the transaction of the checkpoint that brings events: at once when one of them may decide or
  withdraw something, or edits or deletes a message; else when another `EVERY` events have come. It reads the events
  after its cursor and nothing before them, at most `AT_ONCE` of them; what it cannot take in now, it takes in later.
* A card is derived. Whatever goes wrong with it is a warning; the checkpoint is stored all the same, and whoever reads
  the card is given the events after its cursor.
* A branch without a card of its own has that of the branch it left, without what was heard after it left.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.card.advancing import Notes, hear
from dalsegno.core.card.extraction import extraction_from_json
from dalsegno.core.card.findings import Finding, findings_from_json, findings_to_json
from dalsegno.core.journal import Span, spans_contain
from dalsegno.services.lines import spans_of
from dalsegno.services.loading import json_text
from dalsegno.services.telling import tell
from dalsegno.services.threads_row import ThreadRow

__all__ = ["AT_ONCE", "EVERY", "Kept", "catch_up", "find", "follow", "is_due", "save", "spans_text", "within"]

EVERY = 40
"""After so many events a card goes on, whatever they say."""
AT_ONCE = 64
"""So many events a card takes in at most in one transaction of somebody else's."""

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


def is_due(before: int, after: int, *, stirred: bool) -> bool:
    """Whether a card goes on now.

    Args:
        before: number of the last event before those that have come.
        after: number of the last event.
        stirred: whether one of them may decide or withdraw something, or changes a message.
    """
    return after > before and (stirred or before // EVERY != after // EVERY)


def follow(row: ThreadRow, branch: int, deciders: Collection[str], *, before: int, stirred: bool) -> Op[None]:
    """Bring the card of a branch on if it is due, in a transaction that has locked the thread; never fails it."""
    if not is_due(before, row.events, stirred=stirred):
        return
    try:
        yield from catch_up(row, branch, deciders, limit=AT_ONCE)
    except Exception as error:  # noqa: BLE001 - a card is derived; it must not cost anyone a checkpoint
        _log.warning(
            "the card of thread %r stays behind (%s: %s); the events after it are handed over beside it. "
            "`dalsegno check` tells what is wrong",
            row.name,
            type(error).__name__,
            error,
        )


def catch_up(row: ThreadRow, branch: int, deciders: Collection[str], *, limit: int = _ALL) -> Op[Notes]:
    """Take in the events after the cursor, at most so many, and write the card down.

    Returns:
        What the card is made of now.
    """
    spans = yield from spans_of(row, branch, _ALL)
    kept = yield from find(row, spans)
    rows = yield Step(
        "events_after", {**row.key, "spans": spans_text(spans), "after": kept.notes.cursor, "limit": limit}
    )
    told = yield from tell(row, rows, spans)
    if not told and kept.own:
        return kept.notes
    notes = hear(kept.notes, told, deciders)
    yield save(row, branch, notes, kept.version + 1)
    return notes


def save(row: ThreadRow, branch: int, notes: Notes, version: int) -> Step:
    """Write a card down."""
    body: dict[str, object] = {"findings": findings_to_json(notes.findings)}
    if notes.extraction is not None:
        body["extraction"] = notes.extraction.to_json()
    params = {"branch": branch, "cursor": notes.cursor, "version": version, "forgotten": notes.forgotten}
    return Step("card_save", {**row.key, **params, "at": row.now, "body": json_text(body)})


def find(row: ThreadRow, spans: Sequence[Span]) -> Op[Kept]:
    """The card of a lineage, as it was last written.

    Raises:
        Damaged: its row makes no sense.
    """
    branches = [span.branch for span in spans]
    rows = yield Step("cards_of", {**row.key, "branches": json_text(branches)})
    by_branch = {columns[0]: columns for columns in rows}
    at = next((at for at in range(len(branches) - 1, -1, -1) if branches[at] in by_branch), None)
    if at is None:
        return Kept(notes=Notes())
    _, cursor, version, forgotten, _at, body = by_branch[branches[at]]
    tree = orjson.loads(body)
    notes = Notes(
        findings=findings_from_json(tree["findings"]),
        cursor=cursor,
        forgotten=forgotten,
        extraction=extraction_from_json(tree.get("extraction")),
    )
    if at == len(branches) - 1:
        return Kept(notes=notes, version=version, own=True)
    younger = json_text(branches[at + 1 :])
    ((begun,),) = yield Step("events_begin", {**row.key, "branches": younger})
    ends = cursor if begun is None else min(cursor, begun - 1)
    theirs = notes.extraction
    ours = None if theirs is None else replace(theirs, cursor=min(theirs.cursor, ends), until=0)
    return Kept(notes=replace(within(notes, spans), cursor=ends, extraction=ours), version=version)


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
