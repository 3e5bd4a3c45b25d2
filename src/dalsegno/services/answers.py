"""The answer cache: looking up, storing, removing, each one transaction.

Rules of this module:

* A hit is looked up by the key of its question, so what is not the same question is not even read. Then sources,
  vectors and guards are compared once more on the stored words. A reference is looked for by likeness, among what
  the caller may see, and never from other versions of its sources.
* An answer is handed out with a record of where to. Where the record cannot be written, because the answer went in
  between or changed, there is no answer.
* A key, an owner and a scope have one entry; a later answer takes the earlier one's place and keeps its record of uses.
  Nothing prolongs an answer's life but being stored again.
* An answer that was written after a lookup of its question gave a reference is derived from that reference. What is
  removed takes what was derived from it along, however far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from uuid import uuid4

from dalsegno.contracts import Op, Step
from dalsegno.core import codec
from dalsegno.core.answers.calibration import Findings
from dalsegno.core.answers.forms import RULES, Form, form_of, key_of, names_somebody
from dalsegno.core.answers.guards import difference, sources_differ
from dalsegno.core.answers.scoring import HIT, LEXICAL, REFERENCE, WORDS, Lines, likeness
from dalsegno.core.answers.values import Answer, Calibration, Lookup, Removed, Stats, Stored, Use
from dalsegno.core.search import ALWAYS, fold, query, signature
from dalsegno.core.tree import dumps
from dalsegno.errors import AnswerNotFound, EmbedderChanged, Refused
from dalsegno.services.answer_rows import (
    AnswerRow,
    answers_in,
    calibrations,
    children,
    drop,
    named,
    packed_text,
    rows_in,
    searched,
    sources_of,
)
from dalsegno.services.frames import from_micros
from dalsegno.services.ids import pack_name, unpack_name
from dalsegno.services.loading import json_text
from dalsegno.services.memories import Embedded
from dalsegno.services.memory_rows import SHARED, owner_of, require_tenant
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope

__all__ = [
    "Asked",
    "Kept",
    "Standing",
    "add_calibration",
    "everything",
    "find",
    "forget_said_in",
    "forget_user",
    "look_up",
    "outdated",
    "put",
    "record",
    "remove",
    "remove_source",
    "renew",
    "said_by",
    "said_in",
    "standing",
    "stats",
    "sweep",
]

_SLOTS = 32
_CANDIDATES = 2000
_READ = 50
_SWEPT = 50
_PAGE = 200
_ALL = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a connection measures.

    Attributes:
        lines: where its bands begin.
        calibration: number of the calibration they are of; None where words decide.
    """

    lines: Lines = WORDS
    calibration: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question to look up.

    Attributes:
        question: as it stands alone.
        scope: the caller's.
        sources: what the caller has now, and may see.
        standing: how to measure.
        embedded: its vector, where there is a calibration.
    """

    question: str
    scope: str
    sources: Mapping[str, str] | None
    standing: Standing
    embedded: Embedded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An answer to keep; see `dalsegno.faces.cache.Cache.store`."""

    question: str
    answer: str
    scope: str
    sources: Mapping[str, str] | None
    entities: tuple[str, ...]
    shared: bool
    thread_id: str | None
    derived_from: tuple[str, ...]
    ttl: int | None
    standing: Standing
    embedded: Embedded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    row: AnswerRow
    score: float


# --- measuring ------------------------------------------------------------------------------------


def standing(scope: Scope, embedder: str | None) -> Op[Standing]:
    """How a connection with this embedder (or none) measures.

    Raises:
        EmbedderChanged: the tenant's answers are calibrated for another embedder.
    """
    found = yield from calibrations(scope.tenant)
    mine = next((one for one in found if one.embedder == (LEXICAL if embedder is None else embedder)), None)
    if mine is not None:
        lines = Lines(hit=mine.hit, reference=mine.reference)
        return Standing(lines=lines, calibration=None if embedder is None else mine.number)
    others = [one for one in found if one.embedder != LEXICAL]
    if embedder is not None and others:
        raise EmbedderChanged(stored=(others[0].embedder, others[0].dims), given=(embedder, 0), step=_CALIBRATE)
    return Standing()


_CALIBRATE = "connect with that embedder, or calibrate this one with ds.cache.calibrate() or `dalsegno cache calibrate`"


def _agree(scope: Scope, measure: Standing, embedded: Embedded | None) -> Op[None]:
    """Make sure that a vector is as long as those of its calibration."""
    if embedded is None or measure.calibration is None:
        return
    found = next(one for one in (yield from calibrations(scope.tenant)) if one.number == measure.calibration)
    if found.dims != embedded.dims:
        raise EmbedderChanged(
            stored=(found.embedder, found.dims),
            given=(embedded.embedder, embedded.dims),
            step=_CALIBRATE,
        )


def _vector(embedded: Embedded | None) -> str | None:
    return embedded.vectors[0] if embedded is not None and embedded.vectors and embedded.vectors[0] else None


# --- looking up -----------------------------------------------------------------------------------


@sound
def look_up(scope: Scope, asked: Asked) -> Op[Lookup]:
    """What the cache has for a question; see the module's rules.

    Raises:
        EmbedderChanged: the vector is of another length than those of its calibration.
    """
    yield from _agree(scope, asked.standing, asked.embedded)
    form = form_of(asked.question)
    now = (yield Step("now", {}))[0][0]
    owner = owner_of(scope.user)
    seen = {
        "tenant": scope.tenant, "owner": owner, "shared": SHARED, "scope": pack_name(asked.scope), "now": now,
    }  # fmt: skip
    missed = Lookup(band="miss", reason="nothing", why="no answer to a question like it", asked=asked.question)
    for row in rows_in((yield Step("answers_keyed", {**seen, "key": key_of(form)}))):
        found = yield from _judged(scope.tenant, asked, form, row)
        if found.band == "hit":
            return found
        missed = found if missed.reason == "nothing" or found.score > missed.score else missed
    best = yield from _nearest(scope.tenant, asked, form, seen)
    if missed.band == "reference" or best is None:
        return missed
    return best if best.band == "reference" or missed.reason == "nothing" else missed


def _judged(tenant: int, asked: Asked, form: Form, row: AnswerRow, score: float | None = None) -> Op[Lookup]:
    """What one stored answer is for a question."""
    body = row.body()
    kept = form_of(body["question"])
    stale = row.calibration is not None and asked.standing.calibration not in (None, row.calibration)
    if score is None:
        score = yield from _score(tenant, asked, form, row, kept)
    sources = (yield from sources_of(tenant, [row.answer])).get(row.answer, {}) if body["sourced"] else None
    differs = sources_differ(sources, asked.sources, named=names_somebody(asked.question))
    parted = difference(form, kept)
    if stale:
        return _miss(
            asked, "older_calibration", "its vector is of an older calibration; ds.cache.reindex() renews it", 0.0
        )
    if differs is not None:
        return _miss(asked, "sources", differs, score)
    if parted is None and row.key != key_of(form):
        reason, why = "older_rules", "it was kept under older rules of wording; store the answer anew"
        band = "reference"
    elif parted is None and score >= HIT:
        reason, why, band = "same", "the same question, in scope, from the same sources", "hit"
    elif parted is None or score >= REFERENCE:  # the same question is a reference at least, whatever a vector says
        reason, why = (parted.guard.value, parted.why) if parted is not None else ("score", f"a score of {score:.2f}")
        band = "reference"
    else:
        return _miss(asked, "score", f"the nearest question scores {score:.2f}", score)
    return Lookup(
        band="hit" if band == "hit" else "reference",
        answer=body["answer"],
        question=body["question"],
        sources=sources or {},
        score=score,
        reason=reason,
        why=why,
        asked=asked.question,
        id=row.id,
        stored_at=from_micros(row.stored_at),
    )


def _miss(asked: Asked, reason: str, why: str, score: float) -> Lookup:
    return Lookup(band="miss", reason=reason, why=why, asked=asked.question, score=score)


def _score(tenant: int, asked: Asked, form: Form, row: AnswerRow, kept: Form) -> Op[float]:
    vector = _vector(asked.embedded)
    if vector is not None and row.calibration is not None and row.calibration == asked.standing.calibration:
        rows = yield Step("answer_nearness", {"tenant": tenant, "answer": row.answer, "query": vector})
        if rows and rows[0][0] is not None:
            return asked.standing.lines.score(float(rows[0][0]))
    lines = asked.standing.lines if asked.standing.calibration is None else WORDS
    return lines.score(likeness(form, kept))


def _nearest(tenant: int, asked: Asked, form: Form, seen: Mapping[str, object]) -> Op[Lookup | None]:
    """The best reference, or the miss that came nearest; None when nothing is like it."""
    candidates: dict[int, float | None] = {}
    vector = _vector(asked.embedded)
    if vector is not None and asked.standing.calibration is not None:
        indexed = (yield Step("vector_extension", {}))[0][0]
        near = {**seen, "query": vector, "calibration": asked.standing.calibration, "limit": _READ}
        for number, nearness in (yield Step("answers_near_indexed" if indexed else "answers_near", near)):
            candidates[number] = asked.standing.lines.score(float(nearness))
    for number in (yield from _worded_alike(form, seen)):
        candidates.setdefault(number, None)
    best: Lookup | None = None
    rows = yield Step("answers_in", {"tenant": tenant, "answers": json_text(list(candidates))})
    for row in rows_in(rows):
        if row.key == key_of(form):
            continue  # judged already
        found = yield from _judged(tenant, asked, form, row, candidates[row.answer])
        if best is None or (found.band == "reference", found.score) > (best.band == "reference", best.score):
            best = found
    return best


def _worded_alike(form: Form, seen: Mapping[str, object]) -> Op[list[int]]:
    """Answers whose questions share the most words with a form."""
    codes = list(query(searched(form)).partial)[:_SLOTS]
    if not codes:
        return []
    slots = codes + [codes[0]] * (_SLOTS - len(codes))
    named_slots = {f"t{number}": code for number, code in enumerate(slots)}
    rows = yield Step("answers_matching", {**seen, **named_slots, "limit": _CANDIDATES})
    wanted = set(codes)
    ranked = sorted(((-_held(bytes(terms), wanted), -number) for number, terms in rows))
    return [-number for _, number in ranked[:_READ]]


def _held(terms: bytes, wanted: set[bytes]) -> int:
    if terms == ALWAYS:
        return len(wanted)
    return len(wanted & {terms[place : place + 2] for place in range(0, len(terms), 2)})


@sound
def record(scope: Scope, found: Lookup, *, thread_id: str | None, coordinate: str | None) -> Op[bool]:
    """Write down where an answer is handed out to; False when it is gone or another one by now."""
    require_tenant(scope)
    rows = yield from named(scope.tenant, None if scope.user is None else owner_of(scope.user), found.id or "")
    if not rows or found.stored_at is None:
        return False
    row = rows[0]
    yield Step("answer_lock", {"tenant": scope.tenant, "answer": row.answer})
    again = yield from named(scope.tenant, None, row.id)
    now = (yield Step("now", {}))[0][0]
    if not again or from_micros(again[0].stored_at) != found.stored_at:
        return False
    if again[0].expires_at is not None and again[0].expires_at <= now:
        return False
    yield Step(
        "answer_use_add",
        {
            "tenant": scope.tenant, "answer": row.answer, "at": max(now, again[0].stored_at), "band": found.band,
            "key": key_of(form_of(found.asked)), "asked": packed_text(found.asked),
            "owner": None if scope.user is None else owner_of(scope.user),
            "thread": None if thread_id is None else pack_name(thread_id),
            "coordinate": None if coordinate is None else pack_name(coordinate),
        },
    )  # fmt: skip
    return True


# --- storing --------------------------------------------------------------------------------------


@sound
def put(scope: Scope, kept: Kept) -> Op[Stored]:
    """Keep an answer; the gate has passed it.

    Raises:
        EmbedderChanged: its vector is of another length than those of its calibration.
    """
    require_tenant(scope)
    yield from _agree(scope, kept.standing, kept.embedded)
    form = form_of(kept.question)
    own = owner_of(scope.user)
    owner = SHARED if kept.shared else own
    key = key_of(form)
    where = {"tenant": scope.tenant, "scope": pack_name(kept.scope), "key": key}
    yield Step("fact_lock", {"matter": json_text([scope.tenant, owner, where["scope"], key.hex()])})
    now = (yield Step("now", {}))[0][0]
    expired = yield Step("answers_expired", {"tenant": scope.tenant, "now": now, "limit": _SWEPT})
    yield from drop(scope.tenant, [number for (number,) in expired])
    parents = []
    for each in kept.derived_from:
        rows = yield from named(scope.tenant, None if scope.user is None else own, each)
        if not rows:
            why = f"answer {each!r}, which it was made from, has been removed; answer anew, from the sources"
            return Stored(stored=False, id=None, reason="derived", why=why, question=kept.question)
        parents.append(rows[0].answer)
    parents += [number for (number,) in (yield Step("answers_lent", {**where, "owner": own}))]
    earlier = rows_in((yield Step("answers_asked", {**where, "owner": None})))
    before = next((row for row in earlier if row.owner == owner), None)
    stored_at = now if before is None else (yield from _after(scope.tenant, before, now))
    vector = _vector(kept.embedded)
    written = yield Step(
        "answer_put",
        {
            **where, "owner": owner, "id": uuid4().hex, "author": None if scope.user is None else own,
            "thread": None if kept.thread_id is None else pack_name(kept.thread_id),
            "stored_at": stored_at,
            "expires_at": None if kept.ttl is None else now + kept.ttl,
            "calibration": None if vector is None else kept.standing.calibration, "vector": vector,
            "terms": signature(searched(form)), "body": _body(kept, form),
        },
    )  # fmt: skip
    number, answer_id = written[0]
    one = {"tenant": scope.tenant, "answers": json_text([number])}
    yield Step("answer_sources_drop", one)
    if kept.sources:
        yield Step("answer_source_add", [
            {"tenant": scope.tenant, "answer": number, "source": pack_name(source), "version": pack_name(version)}
            for source, version in kept.sources.items()
        ])  # fmt: skip
    for parent in dict.fromkeys(parents):
        if parent != number:
            yield Step("answer_parent_add", {"tenant": scope.tenant, "parent": parent, "answer": number})
    return Stored(
        stored=True,
        id=answer_id,
        reason="stored" if before is None else "replaced",
        why="kept" if before is None else "kept in the place of an earlier answer to the same question",
        question=kept.question,
    )


def _after(tenant: int, before: AnswerRow, now: int) -> Op[int]:
    """A time after an earlier answer and all its uses, so that each use says which of the two it was."""
    uses = yield Step("answer_uses_of", {"tenant": tenant, "answers": json_text([before.answer])})
    return max(now, before.stored_at + 1, uses[0][1] + 1 if uses else 0)


def _body(kept: Kept, form: Form) -> str:
    beside = {
        "question": kept.question,
        "answer": kept.answer,
        "sourced": kept.sources is not None,
        "rules": RULES,
        "entities": list(dict.fromkeys([*kept.entities, *form.entities])),
        "periods": list(form.periods),
        "numbers": list(form.numbers),
        "units": list(form.units),
    }
    return dumps(codec.encode(beside, "answer")).decode()


def sweep(scope: Scope) -> Op[int]:
    """Delete every answer of a tenant that has expired; returns how many."""
    now = (yield Step("now", {}))[0][0]
    rows = yield Step("answers_expired", {"tenant": scope.tenant, "now": now, "limit": _ALL})
    return (yield from drop(scope.tenant, [number for (number,) in rows]))


# --- finding and removing -------------------------------------------------------------------------


def _owner(scope: Scope) -> str | None:
    """Whose answers a connection may name: its user's and the shared, or all of the tenant's."""
    return None if scope.user is None else owner_of(scope.user)


def _among(scope: Scope, cache_scope: str | None) -> dict[str, object]:
    """The answers a connection may name, of one scope or of all."""
    named_scope = None if cache_scope is None else pack_name(cache_scope)
    return {"tenant": scope.tenant, "owner": _owner(scope), "scope": named_scope}


@sound
def everything(scope: Scope, *, cache_scope: str | None, limit: int | None) -> Op[list[Answer]]:
    """Answers in the order in which they were first stored, expired ones included."""
    rows: list[AnswerRow] = []
    after = 0
    most = _ALL if limit is None else limit
    asked = _among(scope, cache_scope)
    while len(rows) < most:
        page = rows_in((yield Step("answers_all", {**asked, "after": after, "limit": min(_PAGE, most - len(rows))})))
        rows += page
        if not page:
            break
        after = page[-1].answer
    return (yield from answers_in(scope.tenant, rows, seen_by=_owner(scope)))


@sound
def find(scope: Scope, text: str, *, cache_scope: str | None, limit: int) -> Op[list[Answer]]:
    """Answers to a question, then those whose question or answer has its words, best first."""
    rows = yield from _to_question(scope, text, cache_scope)
    wanted = query(text)
    scored: list[tuple[float, int, AnswerRow]] = []
    after = 0
    asked = _among(scope, cache_scope)
    while page := rows_in((yield Step("answers_all", {**asked, "after": after, "limit": _PAGE}))):
        after = page[-1].answer
        for row in page:
            body = row.body()
            score = max(wanted.score(body["question"]), 0.9 * wanted.score(body["answer"]))
            if score > 0 and row.key not in {each.key for each in rows}:
                scored.append((-score, row.answer, row))
    best = [row for _, _, row in sorted(scored, key=lambda one: one[:2])]
    return (yield from answers_in(scope.tenant, [*rows, *best][:limit], seen_by=_owner(scope)))


def _to_question(scope: Scope, question: str, cache_scope: str | None) -> Op[list[AnswerRow]]:
    keyed = {**_among(scope, cache_scope), "key": key_of(form_of(question))}
    return rows_in((yield Step("answers_asked", keyed)))


@sound
def remove(scope: Scope, name: str, *, cache_scope: str | None) -> Op[Removed]:
    """Delete an answer by its id, or every answer to a question, with all that was derived from them.

    Raises:
        AnswerNotFound: there is none, or it is another user's.
        Refused: it is shared, and this is a user's connection who did not store it.
    """
    rows = yield from named(scope.tenant, _owner(scope), name)
    if not rows and fold(name):
        rows = yield from _to_question(scope, name, cache_scope)
    if not rows:
        raise AnswerNotFound(f"no answer of the id or question {name[:200]!r}; `dalsegno cache find` looks for words")
    own = owner_of(scope.user)
    for row in rows:
        if scope.user is not None and own not in (row.owner, row.author):
            raise Refused(f"answer {row.id!r} is shared by others; remove it through a connection without user.")
    return (yield from _removed(scope, [row.answer for row in rows]))


@sound
def remove_source(scope: Scope, source: str, version: str | None) -> Op[Removed]:
    """Delete every answer that rests on a version of a source, or on any, with all that was derived from them."""
    asked = {
        "tenant": scope.tenant, "source": pack_name(source),
        "version": None if version is None else pack_name(version), "owner": _owner(scope),
    }  # fmt: skip
    return (yield from _removed(scope, [number for (number,) in (yield Step("answers_from_source", asked))]))


def _removed(scope: Scope, numbers: Sequence[int]) -> Op[Removed]:
    every = yield from children(scope.tenant, numbers)
    rows = yield Step("answers_in", {"tenant": scope.tenant, "answers": json_text(every)})
    answers = yield from answers_in(scope.tenant, rows_in(rows), seen_by=_owner(scope))
    uses: list[Use] = sorted((use for answer in answers for use in answer.uses), key=lambda use: use.at, reverse=True)
    yield from drop(scope.tenant, every)
    return Removed(answers=tuple(answers), uses=tuple(uses))


def forget_said_in(tenant: int, thread_id: str) -> Op[int]:
    """Delete what an erased thread left: answers written in it, what was derived from them, its uses of others."""
    gone = yield from drop(tenant, (yield from said_in(tenant, thread_id)))
    yield Step("answer_uses_forget_thread", {"tenant": tenant, "thread": pack_name(thread_id)})
    return gone


def said_in(tenant: int, thread_id: str) -> Op[list[int]]:
    """Answers that were written in a thread, with all derived from them."""
    rows = yield Step("answers_of_thread", {"tenant": tenant, "thread": pack_name(thread_id)})
    return (yield from children(tenant, [number for (number,) in rows]))


def said_by(scope: Scope, user: str) -> Op[list[int]]:
    """Answers of a user, and those that his connections stored for all, with all derived from them."""
    rows = yield Step("answers_of_user", {"tenant": scope.tenant, "owner": owner_of(user)})
    return (yield from children(scope.tenant, [number for (number,) in rows]))


def forget_user(scope: Scope, user: str) -> Op[int]:
    """Delete a user's answers, those that his connections stored for all, and his uses of others; returns how many."""
    gone = yield from drop(scope.tenant, (yield from said_by(scope, user)))
    yield Step("answer_uses_forget_user", {"tenant": scope.tenant, "owner": owner_of(user)})
    return gone


# --- calibrating ----------------------------------------------------------------------------------


def add_calibration(scope: Scope, embedder: str, dims: int, found: Findings) -> Op[Calibration]:
    """Put the lines of an embedder on record."""
    require_tenant(scope)
    now = (yield Step("now", {}))[0][0]
    told = {name: value for name, value in asdict(found).items() if name != "lines"}
    yield Step("fact_lock", {"matter": json_text([scope.tenant, "calibration"])})
    yield Step(
        "calibration_add",
        {
            "tenant": scope.tenant, "at": now, "embedder": packed_text(embedder), "dims": dims, "hit": found.lines.hit,
            "reference": found.lines.reference, "body": json_text(told),
        },
    )  # fmt: skip
    return (yield from calibrations(scope.tenant))[0]


@sound
def outdated(scope: Scope, calibration: int, *, after: int, limit: int) -> Op[tuple[list[AnswerRow], int | None]]:
    """Answers without a vector of this calibration, by number, and the last one looked at; None at the end."""
    rows = yield Step(
        "answers_all", {"tenant": scope.tenant, "owner": _owner(scope), "scope": None, "after": after, "limit": limit}
    )
    found = rows_in(rows)
    return [row for row in found if row.calibration != calibration], found[-1].answer if found else None


def renew(scope: Scope, calibration: int, made: Sequence[tuple[AnswerRow, Embedded]]) -> Op[int]:
    """Give answers vectors of a calibration, unless they changed meanwhile; returns how many got them."""
    count = 0
    for row, embedded in made:
        yield from _agree(scope, Standing(calibration=calibration), embedded)
        vector = _vector(embedded)
        same = {"tenant": scope.tenant, "answer": row.answer, "stored_at": row.stored_at}
        if vector is not None and (
            yield Step("answer_vector_set", {**same, "calibration": calibration, "vector": vector})
        ):
            count += 1
    return count


@sound
def stats(scope: Scope) -> Op[Stats]:
    """The cache in numbers."""
    now = (yield Step("now", {}))[0][0]
    found = yield from calibrations(scope.tenant)
    newest = next((one for one in found if one.embedder != LEXICAL), None)
    where = {"tenant": scope.tenant, "owner": _owner(scope)}
    counted = yield Step(
        "answers_count", {**where, "now": now, "calibration": None if newest is None else newest.number}
    )
    bands: dict[str, int] = dict((yield Step("answer_uses_count", where)))
    sources = yield Step("answer_sources_count", where)
    every, expired = sum(row[1] for row in counted), sum(int(row[3]) for row in counted)
    return Stats(
        answers=every - expired,
        expired=expired,
        outdated=sum(int(row[4]) for row in counted),
        hits=bands.get("hit", 0),
        references=bands.get("reference", 0),
        scopes={unpack_name(row[0]): row[1] for row in counted},
        sources={unpack_name(source): count for source, count in sources},
        size_bytes=sum(int(row[2]) for row in counted),
        calibration=replace(found[0]) if found else None,
    )
