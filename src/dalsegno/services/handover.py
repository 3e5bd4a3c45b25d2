"""What a reopened conversation needs: its card, its newest messages, and what came after the card.

Rules of this module:

* Everything is read in one snapshot and a bounded number of statements, whatever the length of the thread; no event
  before the cursor is read but the newest messages.
* Actions come from the ledger, attachments and todo lists from the newest state: they are read when they are asked
  for, so they are never behind. What was said comes from the card; the events after its cursor are taken in on the way
  out, and are handed over as they are besides.
* A journal with a gap is damaged; a card is not made of it.
* What an agent knows (`decide`, `todo`, `done`) is an event and in the card in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core import codec
from dalsegno.core.card.advancing import Notes, card_of
from dalsegno.core.card.entries import Card, Entry, Evidence
from dalsegno.core.card.findings import Finding, Sort, Told
from dalsegno.core.card.gate import admit
from dalsegno.core.items import put_back
from dalsegno.core.journal import Event, Kind, Span, author_of
from dalsegno.errors import Damaged, Missing, Refused
from dalsegno.services import journal
from dalsegno.services.cards import catch_up, find, heard, spans_text
from dalsegno.services.frames import from_micros, read_state
from dalsegno.services.ids import pack_name
from dalsegno.services.lines import spans_of
from dalsegno.services.loading import json_text, load
from dalsegno.services.reading import full_id
from dalsegno.services.sound import sound
from dalsegno.services.telling import tell
from dalsegno.services.threads_row import Scope, ThreadRow, find_thread, lock_thread

__all__ = ["Material", "Said", "card", "material", "quotes", "refresh", "say"]

_ALL = 2**62
_TAKEN_IN = 64
"""So many events after the cursor a card takes in on its way out."""
_DELTA = 400
"""So many events after the cursor are handed over; of more, the newest, and the number of the others."""
ACTIONS = 40
"""So many of the newest actions are on a card."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a first request is made of.

    Attributes:
        card: the card, with the events after its cursor taken in as far as `_TAKEN_IN` goes.
        cursor: up to where the card was when it was read; what comes after is the delta.
        head: number of the lineage's last event; 0 for none.
        recent: the newest events, oldest first, messages and others; all of the delta among them, as far as
            `_DELTA` goes.
        deleted: ids of messages among them that were deleted.
        skipped: how many events after the cursor are not among them.
        actions: how many actions there are in each state.
    """

    card: Card
    cursor: int
    head: int
    recent: tuple[Event, ...]
    deleted: frozenset[str]
    skipped: int
    actions: Mapping[str, int]


@sound
def card(scope: Scope, name: str, deciders: Collection[str]) -> Op[Card]:
    """The card of the head's lineage; see `dalsegno.faces.handover.Handover.card`."""
    row = yield from find_thread(scope, name)
    yield from _check_numbers(row)
    spans = yield from _spans(row)
    kept = yield from find(row, spans)
    rows = yield Step(
        "events_after", {**row.key, "spans": spans_text(spans), "after": kept.notes.cursor, "limit": _TAKEN_IN}
    )
    told = yield from tell(row, rows, spans)
    found, _ = yield from _made(row, kept.notes, kept.version, told, deciders)
    return found


@sound
def material(
    scope: Scope, name: str, deciders: Collection[str], describe: Callable[[Any], str], *, recent: int
) -> Op[Material]:
    """Everything a first request is made of; see `dalsegno.faces.handover.Handover.pack`.

    Args:
        scope: tenant and user.
        name: the thread.
        deciders: roles and names that may decide.
        describe: text of a payload.
        recent: how many of the newest events are read at least.
    """
    row = yield from find_thread(scope, name)
    yield from _check_numbers(row)
    spans = yield from _spans(row)
    kept = yield from find(row, spans)
    cursor = kept.notes.cursor
    rows = yield Step(
        "events_last",
        {
            **row.key,
            "spans": spans_text(spans),
            "before": _ALL,
            "limit": max(recent, min(_DELTA, row.events - cursor)),
        },
    )
    rows = rows[::-1]
    after = [columns for columns in rows if columns[0] > cursor]
    skipped = 0
    if len(after) == len(rows) and rows:
        ((count,),) = yield Step("events_counted_in", {**row.key, "spans": spans_text(spans), "after": cursor})
        skipped = count - len(after)
    told = yield from tell(row, rows, spans)
    new = [] if skipped else [one for one in told if one.number > cursor][:_TAKEN_IN]
    found, counts = yield from _made(row, kept.notes, kept.version, new, deciders)
    events = yield from journal.events(row, rows, describe)
    return Material(
        card=found,
        cursor=cursor,
        head=rows[-1][0] if rows else 0,
        recent=tuple(events),
        deleted=frozenset(one.message for one in told if one.gone) - {""},
        skipped=skipped,
        actions=counts,
    )


def _spans(row: ThreadRow) -> Op[list[Span]]:
    rows = yield Step("head_branch", row.key)
    return (yield from spans_of(row, rows[0][0] if rows else 0, _ALL))


def _check_numbers(row: ThreadRow) -> Op[None]:
    """Refuse a journal that lacks numbers.

    Raises:
        Damaged: it does; the error names them.
    """
    ((count,),) = yield Step("events_counted", {**row.key, "after": row.wiped})
    if count == row.events - row.wiped:
        return
    rows = yield Step("events_numbers", {**row.key, "after": row.wiped})
    there = {seq for (seq,) in rows}
    lacking = [seq for seq in range(row.wiped + 1, row.events + 1) if seq not in there]
    more = sorted(there - set(range(row.wiped + 1, row.events + 1)))
    shown = ", ".join(f"#{seq}" for seq in (lacking or more)[:10])
    raise Damaged(
        f"journal of thread {row.name!r}",
        expected=f"events #{row.wiped + 1} to #{row.events} without a gap",
        found=f"{count} of them; {'missing' if lacking else 'beyond the end'}: {shown}",
    )


def _made(
    row: ThreadRow, notes: Notes, version: int, told: Sequence[Told], deciders: Collection[str]
) -> Op[tuple[Card, Mapping[str, int]]]:
    """The card of some notes and later events, with what ledger and state have."""
    now = heard(row, notes, told, deciders)
    made = card_of(now, version)
    actions, elsewhere, counts = yield from _actions(row, now.findings)
    artifacts, todos = yield from _of_state(row)
    return (
        replace(
            made,
            actions=actions,
            elsewhere=elsewhere,
            artifacts=_distinct((*artifacts, *made.artifacts)),
            pending=(*made.pending, *todos),
        ),
        counts,
    )


def _distinct(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Entries, each text once."""
    return tuple(
        {(entry.text, entry.key if "://" in entry.key else ""): entry for entry in reversed(entries)}.values()
    )[::-1]


# --- the ledger -----------------------------------------------------------------------------------------


def _actions(
    row: ThreadRow, findings: Sequence[Finding]
) -> Op[tuple[tuple[Entry, ...], tuple[Entry, ...], dict[str, int]]]:
    """Actions of the lineage, those of other branches, and how many there are in each state."""
    counts: dict[str, int] = {state: count for state, count in (yield Step("actions_counted", row.key))}  # noqa: C416 - typed
    if not counts:
        return (), (), {}
    rows = yield Step("actions_latest", {**row.key, "limit": ACTIONS})
    last = {one.key: one for one in findings if one.sort is Sort.ACTION}
    here: list[Entry] = []
    elsewhere: list[Entry] = []
    for columns in rows:
        key = bytes(columns[0]).hex()
        seen = last.get(key)
        entry = _action(columns, key, seen)
        (here if seen is not None or not row.branches else elsewhere).append(entry)
    return tuple(here[::-1]), tuple(elsewhere[::-1]), counts


def _action(columns: tuple[Any, ...], key: str, seen: Finding | None) -> Entry:
    _, name, _kind, recipient, arguments, state, _attempts, _lease, _approval, error, _created, updated, ended = columns
    text = f"{name}({_arguments(arguments)})"
    if recipient is not None and (to := _readable(orjson.loads(recipient))) not in text:
        text = f"{text} to {to}"
    if error:
        text = f"{text}: {' '.join(str(error).split())[:120]}"
    place = f"action {key[:12]} of the ledger"
    return Entry(
        text=text,
        evidence=(
            Evidence(number=seen.number, author=seen.author) if seen else Evidence(number=0, author="", place=place),
        ),
        status=str(state),
        key=key,
        at=from_micros(ended if ended is not None else updated),
    )


def _arguments(tree: str) -> str:
    try:
        fields = orjson.loads(tree)
    except orjson.JSONDecodeError:
        return "…"
    if not isinstance(fields, dict):
        return _readable(fields)
    return ", ".join(f"{name}={_readable(value)}" for name, value in list(fields.items())[:6] if name != "$keys")


def _readable(value: Any) -> str:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:80].rsplit(' ', 1)[0]} …"  # noqa: PLR2004 - a line has room for several


# --- the state ------------------------------------------------------------------------------------------

_CLOSED = frozenset({"completed", "done", "cancelled", "canceled"})


def _of_state(row: ThreadRow) -> Op[tuple[tuple[Entry, ...], tuple[Entry, ...]]]:
    """Artifacts from `attachments`, pending from `todos`, of the newest state."""
    rows = yield Step("checkpoint_head", {"tenant": row.tenant, "name": pack_name(row.name), "ns": pack_name("")})
    if not rows:
        return (), ()
    packed, frame, state, shape = rows[0][3], rows[0][11], rows[0][12], rows[0][14]
    nodes = read_state(state, shape)
    wanted = {name: nodes[name] for name in ("attachments", "todos") if name in nodes}
    if not wanted:
        return (), ()
    loaded = yield from load(row.tenant, row.thread, wanted.values())
    of = f"of checkpoint {full_id(bytes(packed), frame)}"
    lists = {name: _listed(put_back(node, loaded.trees, loaded.blobs)) for name, node in wanted.items()}
    artifacts = tuple(
        entry
        for at, fields in enumerate(lists.get("attachments", ()))
        if (entry := _artifact(fields, f"attachments[{at}] {of}")) is not None
    )
    todos = tuple(
        Entry(
            text=" ".join(str(fields["content"]).split()),
            evidence=(Evidence(number=0, author="", place=f"todos[{at}] {of}"),),
            status=str(fields.get("status") or "pending"),
        )
        for at, fields in enumerate(lists.get("todos", ()))
        if str(fields.get("content") or "").strip() and fields.get("status") not in _CLOSED
    )
    return artifacts, todos


def _listed(tree: Any) -> list[dict[str, Any]]:
    """The records of a list; values of classes as their fields, where they have any."""
    if not isinstance(tree, list):
        return []
    found = []
    for part in tree:
        try:
            value = codec.decode(part)
        except Refused:
            continue
        fields = value if isinstance(value, dict) else getattr(value, "__dict__", None)
        found.append(dict(fields) if isinstance(fields, dict) else {})
    return found


def _artifact(fields: Mapping[str, Any], place: str) -> Entry | None:
    reference = next((str(fields[key]) for key in ("ref", "url", "uri", "path", "id") if fields.get(key)), "")
    name = next((str(fields[key]) for key in ("caption", "name", "title", "filename", "id") if fields.get(key)), "")
    if not (reference or name):
        return None
    text = name if not reference or reference == name else f"{name} ({reference})" if name else reference
    kind = str(fields.get("kind") or fields.get("type") or "")
    return Entry(
        text=" ".join(text.split()), evidence=(Evidence(number=0, author="", place=place),), status=kind, key=reference
    )


# --- what an agent knows --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A decision, a todo or its end, to be written by an agent that knows.

    Attributes:
        kind: `decision`, `todo` or `done`.
        author: on whose word.
        text: what; may be empty where `closes` is given.
        evidence: numbers of the events in which it was said.
        owner: who is to do a todo.
        due: until when.
        closes: number of the event that is done.
    """

    kind: Kind
    author: str
    text: str
    evidence: tuple[int, ...] = ()
    owner: str = ""
    due: str = ""
    closes: int = 0


@sound
def say(scope: Scope, name: str, said: Said, deciders: Collection[str], *, fence: int | None) -> Op[int]:
    """Write an event and take it into the card, in one transaction.

    Returns:
        The event's number.

    Raises:
        ThreadNotFound: no such thread.
        Missing: an event that is named as evidence, or as done, is not on the way to the head.
        Ungrounded: the text states what its evidence does not.
    """
    row = yield from lock_thread(scope, name, create=False, fence=fence)
    spans = yield from _spans(row)
    named = (*said.evidence, *((said.closes,) if said.closes else ()))
    told = yield from _numbered(row, spans, named)
    if said.evidence:
        place = f"the {said.kind}"
        admit(said.text, [told[number].text for number in said.evidence], place=place)
        if said.due:
            admit(said.due, [said.text, *(told[number].text for number in said.evidence)], place=f"{place}'s due date")
    payload: dict[str, Any] = {"text": said.text or told[said.closes].text}
    payload |= {
        key: value for key, value in (("owner", said.owner), ("due", said.due), ("closes", said.closes)) if value
    }
    if said.evidence:
        payload["evidence"] = [[number, told[number].author] for number in said.evidence]
    author = author_of(role="agent", name=said.author)
    event = journal.NewEvent(kind=said.kind, author=author, tree=codec.encode(payload), text=payload["text"])
    (number,) = yield from journal.write(row, [event])
    heads = yield Step("head_branch", row.key)
    yield from catch_up(row, heads[0][0] if heads else 0, deciders)
    return number


def _numbered(row: ThreadRow, spans: Sequence[Span], numbers: Sequence[int]) -> Op[dict[int, Told]]:
    if not numbers:
        return {}
    rows = yield Step(
        "events_numbered", {**row.key, "spans": spans_text(spans), "numbers": json_text(sorted(set(numbers)))}
    )
    told = yield from tell(row, rows, spans)
    found = {one.number: one for one in told}
    lacking = [number for number in numbers if number not in found]
    if lacking:
        raise Missing(
            f"thread {row.name!r} has no event {', '.join(f'#{number}' for number in lacking)} on the way to its head; "
            "`dalsegno show` lists them."
        )
    return found


@sound
def refresh(scope: Scope, name: str, deciders: Collection[str]) -> Op[None]:
    """Take in whatever the card lacks; see `dalsegno.faces.handover.Handover.refresh`."""
    row = yield from lock_thread(scope, name, create=False)
    heads = yield Step("head_branch", row.key)
    yield from catch_up(row, heads[0][0] if heads else 0, deciders)


@sound
def quotes(scope: Scope, name: str, numbers: Sequence[int], describe: Callable[[Any], str]) -> Op[list[Event]]:
    """Events of the head's lineage by their numbers, in order; those that are not on it are left out."""
    row = yield from find_thread(scope, name)
    spans = yield from _spans(row)
    rows = yield Step(
        "events_numbered", {**row.key, "spans": spans_text(spans), "numbers": json_text(sorted(set(numbers)))}
    )
    return (yield from journal.events(row, rows, describe))
