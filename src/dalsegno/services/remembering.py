"""Facts beyond the session: remembering, recalling, forgetting, each one transaction.

Rules of this module:

* The gate (`core/memory_gate.py`) decides on every fact, whoever proposes it. What it refuses leaves no trace.
* Evidence is read from the journal of a thread the caller may see. Whose a fact is follows from there: the
  connection's user; else the user of the thread it rests on; the tenant's own when asked for, or when no user is
  in sight.
* A user's connection writes and forgets that user's facts alone; it reads the tenant's besides, unless told not to.
* Writers about one matter take turns (a lock on subject and attribute), so that two cannot both be the newest.
* Forgetting removes row, index, vectors and evidence; there is no copy anywhere else. What another thread said too
  stays when one thread is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core import codec
from dalsegno.core.items import put_back
from dalsegno.core.journal import Kind
from dalsegno.core.memories import Evidence, Held, Memory, place
from dalsegno.core.memory_gate import Candidate, Role, Said, judge
from dalsegno.core.search import fold
from dalsegno.core.tree import canonical
from dalsegno.errors import MemoryNotFound, MemoryRefused, Misuse, Refused
from dalsegno.services.frames import from_micros
from dalsegno.services.ids import pack_name, unpack_name
from dalsegno.services.loading import json_text, load
from dalsegno.services.memories import Embedded, Put, agree, drop, put_row, sweep, tick, vector_for
from dalsegno.services.memory_rows import (
    FACTS,
    SHARED,
    MemoryRow,
    Texts,
    Within,
    memories_in,
    owner_of,
    require_tenant,
    text_of_fact,
)
from dalsegno.services.memory_search import Ranking, search
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope, find_thread

__all__ = [
    "Claim",
    "Question",
    "Spoken",
    "everything",
    "forget",
    "forget_thread",
    "forget_user",
    "forget_what_was_said",
    "get",
    "history",
    "memories_of",
    "recall",
    "remember",
    "role_of",
    "spoken",
]

_SWEPT = 50
_ALL = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A fact to remember.

    Attributes:
        id: its name.
        subject, attribute, value, text: what is the case; the value in words.
        thread_id, seqs: the events it rests on.
        source, confidence, prompts, proposed: see `memory_gate.Candidate` and `Memory`.
        shared: whether it is to be the tenant's own; None lets evidence and connection say.
        user: whose it is, where the connection is nobody's.
        valid_from, valid_to: microseconds; None for when it was said, and until further notice.
        ttl: microseconds after which it is gone unless it is said again; None for ever.
        several: whether there may be several at once.
        embedded: its vectors; None where there are none.
    """

    id: str
    subject: str
    attribute: str
    value: Any
    text: str
    thread_id: str | None = None
    seqs: tuple[int, ...] = ()
    source: str = ""
    confidence: float | None = None
    prompts: tuple[str, ...] = ()
    proposed: bool = False
    shared: bool | None = None
    user: str | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    ttl: int | None = None
    several: bool = False
    embedded: Embedded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to recall; see `dalsegno.faces.memory.Memories.recall`."""

    text: str | None = None
    embedded: Embedded | None = None
    ranking: Ranking = "hybrid"
    subject: str | None = None
    attribute: str | None = None
    at: int | None = None
    limit: int | None = 10
    user: str | None = None
    shared: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One event as evidence."""

    seq: int
    author: str
    at: int
    said: Said


# --- evidence -------------------------------------------------------------------------------------


@sound
def spoken(
    scope: Scope, thread_id: str, seqs: Sequence[int], describe: Callable[[Any], str]
) -> Op[tuple[int, str | None, list[Spoken]]]:
    """Events of a thread by number: the thread's own number, its owner, and who said what.

    Raises:
        ThreadNotFound: no such thread, or another user's.
        Misuse: the thread has no such event.
    """
    row = yield from find_thread(scope, thread_id)
    rows = yield Step("evidence_events", {**row.key, "seqs": json_text(sorted(set(seqs)))})
    missing = sorted(set(seqs) - {columns[0] for columns in rows})
    if missing:
        msg = f"thread {thread_id!r} has no event #{missing[0]}; ds.journal.read() shows those it has"
        raise Misuse(msg)
    trees = {seq: orjson.loads(body) for seq, _, _, _, body in rows if body is not None}
    loaded = yield from load(row.tenant, row.thread, trees.values())
    found = []
    for seq, kind, author, at, _ in rows:
        payload = codec.decode(put_back(trees[seq], loaded.trees, loaded.blobs)) if seq in trees else ""
        said = Said(text=describe(payload), role=role_of(payload, author, Kind.of_code(kind)))
        found.append(Spoken(seq=seq, author=author, at=at, said=said))
    return row.thread, row.owner, found


_ROLES = {
    "human": Role.USER,
    "user": Role.USER,
    "ai": Role.MODEL,
    "assistant": Role.MODEL,
    "model": Role.MODEL,
    "AIMessageChunk": Role.MODEL,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


def role_of(payload: Any, author: str, kind: Kind) -> Role:
    """Who speaks in an event, as far as its kind, payload and author tell."""
    if kind is Kind.TOOL_RESULT:
        return Role.TOOL
    if kind is Kind.TOOL_CALL:
        return Role.MODEL
    told = payload.get("role", payload.get("type")) if isinstance(payload, Mapping) else getattr(payload, "type", None)
    return _ROLES.get(str(told), _ROLES.get(author, Role.OTHER))


# --- remembering ----------------------------------------------------------------------------------


@sound
def remember(scope: Scope, claim: Claim, describe: Callable[[Any], str]) -> Op[Memory]:
    """Write a fact down, or find that it is known; see `dalsegno.faces.memory.Memories.remember`."""
    require_tenant(scope)
    thread: int | None = None
    owner: str | None = None
    events: list[Spoken] = []
    if claim.thread_id is not None:
        thread, owner, events = yield from spoken(scope, claim.thread_id, claim.seqs, describe)
    _pass_gate(claim, [event.said for event in events])
    whose = _whose(scope, claim, owner)
    subject, attribute = _matter(claim.subject, claim.attribute)
    yield Step("fact_lock", {"matter": json_text([scope.tenant, whose, subject, attribute])})
    now, updated_at = yield from tick(scope.tenant, whose)
    yield from sweep(scope.tenant, now, _SWEPT)
    if claim.embedded is not None and claim.embedded.vectors:
        yield from agree(scope.tenant, claim.embedded, first=True)
    start = claim.valid_from if claim.valid_from is not None else min((event.at for event in events), default=now)
    if claim.valid_to is not None and claim.valid_to <= start:
        raise Misuse("a fact that ends before it begins; give valid_to after valid_from.")
    rows = yield from _about(
        Within(tenant=scope.tenant, owner=whose, shared=whose, prefix=FACTS, now=now), subject, attribute
    )
    placing = place(_held(rows, claim.value), start=start, end=claim.valid_to, several=claim.several)
    if placing.repeats is not None:
        number = placing.repeats
        yield Step("memories_touch", {"tenant": scope.tenant, "memories": json_text([number]), "now": now})
    else:
        for ended in placing.ended:
            closing = {"tenant": scope.tenant, "memory": ended, "valid_to": start, "updated_at": updated_at}
            yield Step("fact_close", closing)
        number = yield from put_row(
            scope.tenant,
            whose,
            _put(claim),
            now=now,
            updated_at=updated_at + 1,
            subject=subject,
            attribute=attribute,
            valid_from=start,
            valid_to=placing.end,
        )
    for event in events:
        yield Step(
            "evidence_add",
            {"tenant": scope.tenant, "memory": number, "thread": thread, "seq": event.seq, "author": event.author},
        )
    return (yield from _memories(scope.tenant, (yield from memories_in(scope.tenant, [number]))))[0]


def _pass_gate(claim: Claim, evidence: Sequence[Said]) -> None:
    refusal = judge(
        Candidate(
            subject=claim.subject,
            attribute=claim.attribute,
            text=claim.text,
            evidence=evidence,
            source=claim.source,
            prompts=claim.prompts,
            proposed=claim.proposed,
        )
    )
    if refusal is not None:
        raise MemoryRefused(
            refusal.problem,
            reason=refusal.reason,
            subject=claim.subject,
            attribute=claim.attribute,
            found=refusal.found,
            step=refusal.step,
        )


def _whose(scope: Scope, claim: Claim, owner: str | None) -> str:
    if scope.user is not None:
        if claim.shared:
            raise Refused("a user's connection writes no memory for the whole tenant; connect without user for that.")
        _same_user(scope, claim.user)
        return owner_of(scope.user)
    if claim.shared:
        if claim.user is not None:
            raise Misuse("a memory is a user's or the whole tenant's; give user= or scope='tenant', not both.")
        return SHARED
    user = claim.user if claim.user is not None else owner
    if claim.shared is False and user is None:
        raise Misuse("scope='user' needs a user: give user=, connect as one, or give evidence from a user's thread.")
    return owner_of(user)


def _same_user(scope: Scope, user: str | None) -> None:
    if user is not None and scope.user is not None and user != scope.user:
        raise Refused(f"this connection is for user {scope.user!r} and no other; connect as {user!r}, or without user.")


def _matter(subject: str, attribute: str) -> tuple[str, str]:
    return pack_name(fold(subject)), pack_name(fold(attribute))


def _held(rows: Sequence[MemoryRow], value: Any) -> list[Held]:
    wanted = canonical(codec.encode(value, "value"))
    return [
        Held(
            number=row.memory,
            start=row.valid_from or 0,
            end=row.valid_to,
            same=canonical(codec.encode(row.plain().get("value"), "value")) == wanted,
        )
        for row in rows
    ]


def _put(claim: Claim) -> Put:
    body = {
        "subject": claim.subject,
        "attribute": claim.attribute,
        "value": claim.value,
        "text": claim.text,
        "source": claim.source,
        "confidence": claim.confidence,
    }
    return Put(
        namespace=FACTS,
        key=claim.id,
        tree=codec.encode(body, "memory"),
        ttl=claim.ttl,
        text=text_of_fact(body),
        embedded=claim.embedded,
        unembedded=claim.embedded is None,
    )


# --- recalling ------------------------------------------------------------------------------------


@sound
def recall(scope: Scope, question: Question, texts: Texts) -> Op[list[Memory]]:
    """Facts that hold at a time; see `dalsegno.faces.memory.Memories.recall`."""
    within = yield from _within(scope, question.user, shared=question.shared)
    subject = None if question.subject is None else pack_name(fold(question.subject))
    attribute = None if question.attribute is None else pack_name(fold(question.attribute))
    at = within.now if question.at is None else question.at
    vector = yield from vector_for(scope.tenant, question.embedded)
    hits = yield from search(
        replace(within, subject=subject, attribute=attribute, at=at),
        text=question.text,
        vector=vector,
        ranking=question.ranking,
        accept=lambda row: row.is_fact,
        texts=texts,
        limit=_ALL if question.limit is None else question.limit,
        offset=0,
    )
    found = yield from _memories(scope.tenant, [row for row, _ in hits])
    return [replace(memory, score=score) for memory, (_, score) in zip(found, hits, strict=True)]


@sound
def history(scope: Scope, subject: str, attribute: str | None, *, user: str | None, shared: bool) -> Op[list[Memory]]:
    """Everything known about a subject, whether it still holds or not, in the order in which it began."""
    within = yield from _within(scope, user, shared=shared)
    folded, other = _matter(subject, attribute or "")
    rows = yield from _about(within, folded, None if attribute is None else other)
    return (yield from _memories(scope.tenant, rows))


@sound
def get(scope: Scope, memory_id: str) -> Op[Memory]:
    """One fact by its id.

    Raises:
        MemoryNotFound: there is none, or it is another user's.
    """
    row = yield from _named(scope, memory_id)
    return (yield from _memories(scope.tenant, [row]))[0]


@sound
def everything(scope: Scope, *, after: int, limit: int) -> Op[list[tuple[int, Memory]]]:
    """Facts of a tenant, of every user for a connection that is nobody's, by number."""
    owner = None if scope.user is None else owner_of(scope.user)
    found: list[MemoryRow] = []
    while len(found) < limit:
        rows = yield Step("memories_all", {"tenant": scope.tenant, "owner": owner, "after": after, "limit": 500})
        parsed = [MemoryRow(*columns[:13]) for columns in rows]
        found += [row for row in parsed if row.is_fact]
        if not rows:
            break
        after = parsed[-1].memory
    memories = yield from _memories(scope.tenant, found[:limit])
    return list(zip((row.memory for row in found), memories, strict=False))


def _within(scope: Scope, user: str | None, *, shared: bool) -> Op[Within]:
    _same_user(scope, user)
    owner = owner_of(scope.user if scope.user is not None else user)
    clock = yield Step("now", {})
    return Within(tenant=scope.tenant, owner=owner, shared=SHARED if shared else owner, prefix=FACTS, now=clock[0][0])


def _about(within: Within, subject: str, attribute: str | None) -> Op[list[MemoryRow]]:
    rows = yield Step("facts_of", {
        "tenant": within.tenant, "owner": within.owner, "shared": within.shared, "subject": subject,
        "attribute": attribute, "now": within.now,
    })  # fmt: skip
    return [MemoryRow(*columns) for columns in rows]


def _memories(tenant: int, rows: Sequence[MemoryRow]) -> Op[list[Memory]]:
    evidence: dict[int, list[Evidence]] = {}
    if rows:
        asked = {"tenant": tenant, "memories": json_text([row.memory for row in rows])}
        for number, name, seq, author, _ in (yield Step("evidence_of", asked)):
            evidence.setdefault(number, []).append(Evidence(thread_id=unpack_name(name), seq=seq, author=author))
    return [_memory(row, evidence.get(row.memory, [])) for row in rows]


def _memory(row: MemoryRow, evidence: Sequence[Evidence]) -> Memory:
    value = row.plain()
    return Memory(
        id=row.key,
        subject=value["subject"],
        attribute=value["attribute"],
        value=value["value"],
        text=value["text"],
        user=unpack_name(row.owner) if row.owner != SHARED else None,
        evidence=tuple(evidence),
        source=value["source"],
        confidence=value["confidence"],
        valid_from=from_micros(row.valid_from or 0),
        valid_to=None if row.valid_to is None else from_micros(row.valid_to),
        recorded_at=from_micros(row.created_at),
    )


# --- forgetting -----------------------------------------------------------------------------------


@sound
def forget(
    scope: Scope, *, memory_id: str | None, subject: str | None, attribute: str | None, user: str | None
) -> Op[int]:
    """Delete one fact, or all about a subject (and attribute), past ones included; returns how many.

    Raises:
        MemoryNotFound: no fact has this id, or it is another user's.
    """
    if memory_id is not None:
        row = yield from _named(scope, memory_id)
        if scope.user is not None and row.owner != owner_of(scope.user):
            raise Refused(f"memory {memory_id!r} is the whole tenant's; forget it through a connection without user.")
        return (yield from drop(scope.tenant, [row.memory]))
    within = yield from _within(scope, user, shared=False)
    folded, other = _matter(subject or "", attribute or "")
    rows = yield from _about(replace(within, now=0), folded, None if attribute is None else other)
    return (yield from drop(scope.tenant, [row.memory for row in rows]))


def forget_thread(scope: Scope, thread_id: str) -> Op[int]:
    """Delete every fact that rests on one thread alone, and that thread's part in the evidence of others.

    For erasure: run it in the transaction that erases the thread, before the thread's row goes.

    Returns:
        How many facts were deleted. 0 for a thread that is not there.
    """
    rows = yield Step("thread_find", {"tenant": scope.tenant, "name": pack_name(thread_id)})
    if not rows:
        return 0
    return (yield from forget_what_was_said(scope.tenant, rows[0][0]))


def forget_what_was_said(tenant: int, thread: int) -> Op[int]:
    """The same as `forget_thread`, by the thread's number."""
    where = {"tenant": tenant, "thread": thread}
    found = yield Step("evidence_of_thread", where)
    gone = yield from drop(tenant, [number for number, others in found if not others])
    yield Step("evidence_drop_thread", where)
    return gone


def forget_user(scope: Scope, user: str) -> Op[int]:
    """Delete everything that long-term memory holds for a user, facts and items; returns how many.

    For erasure. A user's connection may only name its own.
    """
    _same_user(scope, user)
    rows = yield Step("memories_of_owner", {"tenant": scope.tenant, "owner": owner_of(user)})
    return (yield from drop(scope.tenant, [number for (number,) in rows]))


def memories_of(scope: Scope, user: str) -> Op[int]:
    """How many facts and items long-term memory holds for a user."""
    return len((yield Step("memories_of_owner", {"tenant": scope.tenant, "owner": owner_of(user)})))


def _named(scope: Scope, memory_id: str) -> Op[MemoryRow]:
    rows = yield Step("fact_named", {"tenant": scope.tenant, "key": pack_name(memory_id)})
    row = MemoryRow(*rows[0]) if rows else None
    seen = (owner_of(scope.user), SHARED)
    if row is None or not row.is_fact or (scope.user is not None and row.owner not in seen):
        raise MemoryNotFound(f"no memory {memory_id!r}; `dalsegno memory list` shows those there are")
    return row
