"""A model that looks for what the rules missed: outside of every transaction, and never believed.

Rules of this module:

* Three steps: a claim and what is to be shown, in one transaction; the model, in none; what passed the gate, in
  another. A turn of the conversation waits for none of them, and opening a card calls no model.
* One process at a time: a claim is let go with the answer, or runs out. An answer to a claim that another process has
  taken over since changes nothing.
* What was edited or deleted while the model thought is no evidence any more.
* Whatever goes wrong (an error, nonsense, no answer in time) leaves the card as the rules made it. The reason is logged
  as a warning, stands in the card's `extraction`, and in the manifest of each request made of it.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from dalsegno.contracts import CardExtractor, Op, Step
from dalsegno.core.card.admission import Admission, admission
from dalsegno.core.card.advancing import Notes, card_of, join
from dalsegno.core.card.entries import Card
from dalsegno.core.card.extraction import Extraction
from dalsegno.core.card.findings import Told
from dalsegno.core.card.passages import LEAST_TOKENS, Passage, passage
from dalsegno.core.card.proposals import Nonsense, Proposed, read
from dalsegno.core.failures import named
from dalsegno.core.journal import Span
from dalsegno.errors import Misuse
from dalsegno.services.cards import Kept, catch_up, find, save, spans_text
from dalsegno.services.handover import check_numbers
from dalsegno.services.ids import unpack_name
from dalsegno.services.lines import spans_of
from dalsegno.services.loading import json_text
from dalsegno.services.patience import Unserved, within
from dalsegno.services.sound import sound
from dalsegno.services.telling import numbers_of, tell
from dalsegno.services.threads_row import Scope, ThreadRow, lock_thread

__all__ = ["Answer", "Claim", "aasked", "asked", "begin", "check_extractor", "end", "lately", "name_of"]

_ALL = 2**62
_AT_ONCE = 200
"""So many events are read for one call at most."""
_PAGES = 50
_DAY = 86_400.0
_GRACE = 30
"""Seconds that a claim outlasts the model's time."""
_REASONS = 3
_log = logging.getLogger("dalsegno.handover")


def check_extractor(given: Any) -> None:
    """Refuse what is no extractor.

    Raises:
        Misuse: it is none, or its budget or its time is none.
    """
    if isinstance(given, type):
        raise Misuse(f"extractor is the class {given.__name__}; give an instance of it.")
    if not callable(getattr(given, "propose", None)) or not callable(getattr(given, "apropose", None)):
        raise Misuse(
            f"extractor={type(given).__name__}: give a chat model, or an object with propose and apropose "
            "(`dalsegno.contracts.CardExtractor`)."
        )
    budget = getattr(given, "budget_tokens", None)
    if type(budget) is not int or budget < LEAST_TOKENS:
        raise Misuse(
            f"an extractor with budget_tokens={budget!r} cannot be shown a card and a few messages; give it a whole "
            f"number of at least {LEAST_TOKENS}."
        )
    seconds(given)


def seconds(extractor: CardExtractor) -> float:
    """How long an extractor may take for one answer.

    Raises:
        Misuse: no time at all.
    """
    given: Any = getattr(extractor, "timeout", None)
    found = given.total_seconds() if isinstance(given, timedelta) else given
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found) or found <= 0:
        raise Misuse(f"timeout={given!r}: an extractor needs time; give seconds, such as 60, or a timedelta.")
    return min(float(found), threading.TIMEOUT_MAX)


def name_of(extractor: CardExtractor) -> str:
    """An extractor's name, as long as it can say it."""
    try:
        found = getattr(extractor, "name", None)
    except Exception:  # noqa: BLE001 - an extractor's own code
        found = None
    return " ".join(str(found or type(extractor).__name__).split())[:80]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one call shows, and on which card.

    Attributes:
        branch: whose card.
        cursor: up to where the extractor had looked.
        until: until when the claim holds.
        passage: what is shown.
    """

    branch: int
    cursor: int
    until: int
    passage: Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of asking.

    Attributes:
        proposals: what the model proposed.
        wrong: what is wrong with entries that are none.
        failed: why there is no answer; empty where there is one.
    """

    proposals: tuple[Proposed, ...] = ()
    wrong: tuple[str, ...] = ()
    failed: str = ""


@sound
def begin(scope: Scope, name: str, deciders: Collection[str], extractor: CardExtractor) -> Op[Claim | None]:
    """Bring the card up to date by the rules, and claim what the extractor has not seen yet.

    Returns:
        What it is to be shown; None where there is nothing, or another process is at it.

    Raises:
        ThreadNotFound: no such thread.
        Damaged: the journal has a gap.
    """
    row = yield from lock_thread(scope, name, create=False)
    yield from check_numbers(row)
    branch, spans = yield from _lineage(row)
    yield from catch_up(row, branch, deciders)
    kept = yield from find(row, spans)
    known = kept.notes.extraction or Extraction(by=name_of(extractor))
    if known.until > row.now:
        return None
    for _ in range(_PAGES):
        rows = yield Step(
            "events_after", {**row.key, "spans": spans_text(spans), "after": known.cursor, "limit": _AT_ONCE}
        )
        if not rows:
            break
        told = yield from tell(row, rows, spans)
        found = passage(told, card_of(kept.notes, kept.version), deciders, extractor.budget_tokens)
        if found.events:
            return (yield from _claimed(row, branch, kept, known, found, extractor))
        known = replace(known, cursor=found.last)  # nothing that anyone said
    if known != kept.notes.extraction:
        yield _saved(row, branch, kept.notes, kept.version, known)
    return None


def _claimed(
    row: ThreadRow, branch: int, kept: Kept, known: Extraction, found: Passage, extractor: CardExtractor
) -> Op[Claim]:
    until = row.now + int((min(seconds(extractor), _DAY) + _GRACE) * 1_000_000)
    yield _saved(row, branch, kept.notes, kept.version, replace(known, by=name_of(extractor), until=until))
    return Claim(branch=branch, cursor=known.cursor, until=until, passage=found)


@sound
def end(scope: Scope, name: str, deciders: Collection[str], claim: Claim, answer: Answer) -> Op[bool]:
    """Enter what passes the gate, or write down why there is nothing.

    Returns:
        Whether to go on with what comes after; not after a failure.

    Raises:
        ThreadNotFound: the thread is gone.
    """
    row = yield from lock_thread(scope, name, create=False)
    branch, spans = yield from _lineage(row)
    yield from catch_up(row, branch, deciders)
    kept = yield from find(row, spans)
    known = kept.notes.extraction
    if branch != claim.branch or known is None or (known.cursor, known.until) != (claim.cursor, claim.until):
        return False
    if answer.failed:
        failed = known.failing(answer.failed, claim.passage.last)
        _log.warning("the card of thread %r: %s", name, failed)
        yield _saved(row, branch, kept.notes, kept.version, failed)
        return False
    card = card_of(kept.notes, kept.version)
    events = yield from _evidence(row, spans, claim.passage.events, card, answer.proposals)
    shown = [one.number for one in claim.passage.events]
    judged = admission(answer.proposals, events, shown, card, by=known.by, deciders=deciders)
    done = _done(known, claim, judged, answer.wrong)
    if done.refused:
        _log.log(logging.INFO if judged.findings else logging.WARNING, "the card of thread %r: %s", name, done)
    version = kept.version + bool(judged.findings)
    yield _saved(row, branch, join(kept.notes, judged.findings), version, done)
    return True


def lately(scope: Scope, since: int | None, limit: int) -> Op[list[tuple[str, int]]]:
    """Threads that were written to, the longest ago first, each with when.

    Args:
        scope: tenant and user.
        since: from when on, in microseconds since 1970; None for the last day.
        limit: at most so many.
    """
    if since is None:
        ((now,),) = yield Step("now", {})
        since = now - int(_DAY * 1_000_000)
    rows = yield Step("threads_lately", {"tenant": scope.tenant, "owner": scope.user, "since": since, "limit": limit})
    return [(unpack_name(name), at) for name, at in rows]


def _done(known: Extraction, claim: Claim, judged: Admission, wrong: Sequence[str]) -> Extraction:
    refused = (*wrong, *judged.refused)
    more = f"; and {len(refused) - _REASONS} more" if len(refused) > _REASONS else ""
    return Extraction(
        by=known.by,
        cursor=claim.passage.last,
        admitted=len(judged.findings) + judged.known,
        refused=len(refused),
        why="; ".join(refused[:_REASONS]) + more,
    )


def _lineage(row: ThreadRow) -> Op[tuple[int, list[Span]]]:
    heads = yield Step("head_branch", row.key)
    branch = heads[0][0] if heads else 0
    return branch, (yield from spans_of(row, branch, _ALL))


def _saved(row: ThreadRow, branch: int, notes: Notes, version: int, extraction: Extraction) -> Step:
    return save(row, branch, replace(notes, extraction=extraction), version)


def _evidence(
    row: ThreadRow, spans: Sequence[Span], shown: Sequence[Told], card: Card, proposals: Sequence[Proposed]
) -> Op[dict[int, Told]]:
    """The events that may be evidence: those that were shown, and those that the card rests on, if they still stand."""
    cited = {number for proposed in proposals for number, _ in proposed.evidence}
    rests_on = {one.number for entry in (*card.entries, *card.proposals) for one in entry.evidence}
    older = sorted((cited & rests_on) - {one.number for one in shown} - {0})
    told = [*shown]
    if older:
        rows = yield Step("events_numbered", {**row.key, "spans": spans_text(spans), "numbers": json_text(older)})
        told += yield from tell(row, rows, spans)
    latest = yield from numbers_of(row, sorted({one.message for one in told} - {""}), spans)
    return {one.number: one for one in told if one.number >= max(latest.get(one.message, [0]))}


# --- asking ---------------------------------------------------------------------------------------------


def asked(extractor: CardExtractor, shown: Passage) -> Answer:
    """Ask an extractor, in its time; never raises what it raises."""
    limit = seconds(extractor)
    try:
        found = within(limit, lambda: extractor.propose(_copied(shown)), "dalsegno-extractor")
    except Exception as error:  # noqa: BLE001 - an extractor's own code; whatever it raises, the card stands
        return Answer(failed=_why(error))
    return _read(found)


async def aasked(extractor: CardExtractor, shown: Passage) -> Answer:
    """Async face of `asked`."""
    limit = seconds(extractor)
    try:
        async with asyncio.timeout(limit):
            found = await extractor.apropose(_copied(shown))
    except TimeoutError:
        return Answer(failed=f"did not answer within {limit:g} s")
    except (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError):
        raise
    except BaseException as error:  # noqa: BLE001 - an extractor's own code; whatever it raises, the card stands
        return Answer(failed=_why(error))
    return _read(found)


def _copied(shown: Passage) -> Passage:
    """What the extractor is handed: it may change what it is given, and the originals judge it."""
    return replace(shown, events=tuple(replace(one) for one in shown.events))


def _read(found: object) -> Answer:
    try:
        proposals, wrong = read(found)
    except Nonsense as error:
        return Answer(failed=str(error))
    except Exception as error:  # noqa: BLE001 - an object whose attributes raise
        return Answer(failed=_why(error))
    return Answer(proposals=tuple(proposals), wrong=tuple(wrong))


def _why(error: BaseException) -> str:
    said = str(error) if isinstance(error, Unserved) else f"raised {named(error)}"
    return " ".join(said.split())[:300]
