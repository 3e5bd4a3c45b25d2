"""How a card goes along with its conversation.

Rules of this module:

* A card goes on from its cursor: events before it are passed over, so taking events in twice changes nothing.
* An edited or deleted message takes its findings out first; then the new wording is heard, where the message stood.
  The card is the same as if the message had always read so, except that the history says what stood there.
* What is kept is bounded, whatever the length of the conversation: of each sort the newest stay. What had to make room
  is counted; the journal has it.
* What a model proposed has room of its own, so that however much it proposes, nothing that the rules heard goes for it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from dalsegno.core.card.entries import Card
from dalsegno.core.card.extraction import Extraction
from dalsegno.core.card.findings import ANSWER, QUERY, QUESTION, Finding, Sort, Told
from dalsegno.core.card.listening import DECIDERS, listen
from dalsegno.core.card.standing import answer_to, may_answer, standing

__all__ = ["Notes", "advance", "card_of", "hear", "join", "withdraw"]

_ROOM = {
    Sort.GOAL: 8,
    Sort.DECISION: 60,
    Sort.PROPOSAL: 16,
    Sort.OFFER: 8,
    Sort.NAMING: 16,
    Sort.WITHDRAWAL: 24,
    Sort.PROMISE: 40,
    Sort.DONE: 24,
    Sort.CONSTRAINT: 40,
    Sort.FACT: 60,
    Sort.FILE: 40,
    Sort.ACTION: 60,
}
_OPENINGS = 3
_QUESTIONS = 2
"""A question that nobody has answered a few messages later is answered by no agreement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What a card is made of.

    Attributes:
        findings: what was heard, in any order.
        cursor: the last event taken in.
        forgotten: how many findings had to make room.
        extraction: how far a model has looked for more; None where none was asked.
    """

    findings: tuple[Finding, ...] = ()
    cursor: int = 0
    forgotten: int = 0
    extraction: Extraction | None = None


def hear(notes: Notes, events: Iterable[Told], deciders: Collection[str] = DECIDERS) -> Notes:
    """Take events in, in order of their numbers; those up to the cursor are passed over."""
    findings = list(notes.findings)
    cursor = notes.cursor
    for told in sorted(events, key=lambda one: one.number):
        if told.number <= cursor:
            continue
        cursor = told.number
        if told.edited or told.gone:
            findings = [_voided(one, told) if _said_there(one, told) else one for one in findings]
        findings += listen(told, deciders, opening=_opening(findings, told))
    return replace(_noted(notes, findings), cursor=cursor)


def join(notes: Notes, found: Sequence[Finding]) -> Notes:
    """Notes with what a model found, which has passed the gate."""
    return _noted(notes, [*notes.findings, *found])


def _noted(notes: Notes, findings: Sequence[Finding]) -> Notes:
    kept = _tidy(findings)
    return replace(notes, findings=kept, forgotten=notes.forgotten + len(findings) - len(kept))


def _said_there(one: Finding, told: Told) -> bool:
    """Whether a finding rests on the message that an event edits or deletes."""
    if one.void_by or one.number == told.number:
        return False
    words = {told.stands_at, *told.earlier} - {told.number}
    if any(number in words for number, _ in one.backing):
        return True
    if told.message and one.message:
        return told.message == one.message
    return one.place == told.stands_at


def _voided(one: Finding, told: Told) -> Finding:
    return replace(one, void_by=told.number, void_branch=told.branch, void_ckpt=told.ckpt)


def _opening(findings: Sequence[Finding], told: Told) -> bool:
    openings = [one for one in findings if one.sort is Sort.GOAL and one.matter == "opening" and not one.void_by]
    return sum(1 for one in openings if one.place < told.stands_at) < _OPENINGS


def _tidy(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The newest of each sort; the first goals stay, and of facts with one subject the last two."""
    ordered = sorted(findings, key=lambda one: one.order)
    answered, chosen = _answered(ordered)
    seen: Counter[tuple[Sort, bool, bool]] = Counter()
    subjects: Counter[tuple[str, str, bool]] = Counter()
    kept: list[Finding] = []
    for one in reversed(ordered):
        if one.sort is Sort.FACT:
            subjects[one.subject, one.kind, bool(one.by)] += 1
            if subjects[one.subject, one.kind, bool(one.by)] > 2:  # noqa: PLR2004 - the value and the one before it
                continue
        if (one.sort is Sort.GOAL and one.matter == "opening") or id(one) in answered:
            kept.append(one)
            continue
        asked = one.kind in (QUESTION, QUERY)
        sort = Sort.DECISION if id(one) in chosen else one.sort
        seen[sort, bool(one.by), asked] += 1
        if seen[sort, bool(one.by), asked] <= (_QUESTIONS if asked else _ROOM[sort]):
            kept.append(one)
    return tuple(reversed(kept))


def _answered(ordered: Sequence[Finding]) -> tuple[frozenset[int], frozenset[int]]:
    """What agreements that say nothing else have answered: without it they would decide nothing any more.

    Besides, the namings among those agreements: they are decisions.
    """
    found: set[int] = set()
    chosen: set[int] = set()
    for at, one in enumerate(ordered):
        if one.kind == ANSWER or one.sort is Sort.NAMING:
            before = (old for old in reversed(ordered[:at]) if (old.options or old.sort is Sort.OFFER) and not old.by)
            if (shown := answer_to(one, before)) is not None:
                found.add(id(shown[0]))
                chosen.update((id(one),) if one.sort is Sort.NAMING else ())
        elif one.sort is Sort.DECISION and one.bare and not one.option:
            offers = (old for old in reversed(ordered[:at]) if old.sort in (Sort.OFFER, Sort.PROPOSAL) and not old.by)
            found.update(id(offer) for offer in itertools.islice(filter(partial(may_answer, one), offers), 1))
    return frozenset(found), frozenset(chosen)


def card_of(notes: Notes, version: int = 0) -> Card:
    """The card that some notes make."""
    found = standing(notes.findings)
    return Card(
        goal=found.goal,
        decisions=found.decisions,
        pending=found.pending,
        artifacts=found.artifacts,
        facts=found.facts,
        constraints=found.constraints,
        proposals=found.proposals,
        history=found.history,
        last_event_id=notes.cursor,
        version=version,
        findings=notes.findings,
        forgotten=notes.forgotten,
        extraction=notes.extraction,
    )


def advance(card: Card, events: Iterable[Told], deciders: Collection[str] = DECIDERS) -> Card:
    """A card with new events taken in.

    Args:
        card: how things stood.
        events: in any order; those up to the card's cursor are passed over.
        deciders: roles and names that may decide.

    Returns:
        A new card; the same whether the events come at once, one by one or twice.
    """
    notes = _notes_of(card)
    heard = hear(notes, events, deciders)
    return card if heard.cursor == notes.cursor else _kept(card, card_of(heard, card.version + 1))


def withdraw(card: Card, numbers: Collection[int], by: int = 0) -> Card:
    """A card without what rests on events that were changed.

    Args:
        card: how things stood.
        numbers: of the events whose words no longer hold.
        by: number of the event that changed them; the cursor where it is left out.

    Returns:
        A new card. Entries that rest on nothing else are in its history as stale; the others are made again from the
        evidence that is left.
    """
    gone = frozenset(numbers)
    changed = tuple(
        replace(one, void_by=by or max(card.last_event_id, 1))
        if not one.void_by and (one.number in gone or one.place in gone or any(at in gone for at, _ in one.backing))
        else one
        for one in card.findings
    )
    if changed == card.findings:
        return card
    notes = replace(_notes_of(card), findings=changed)
    return _kept(card, card_of(notes, card.version + 1))


def _notes_of(card: Card) -> Notes:
    return Notes(
        findings=card.findings, cursor=card.last_event_id, forgotten=card.forgotten, extraction=card.extraction
    )


def _kept(old: Card, new: Card) -> Card:
    """What comes from the ledger and the state goes along as it was."""
    return replace(new, actions=old.actions, elsewhere=old.elsewhere)
