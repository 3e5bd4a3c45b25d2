"""`ds.memory`: facts that hold beyond the session, with whose words they rest on.

Rules of this module:

* Every fact passes the gate (`core/memory_gate.py`), whoever proposes it; what it refuses is `MemoryRefused`.
* Vectors are made before the transaction begins. An embedder that fails costs the vector, never the fact.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import uuid4

from dalsegno.contracts import Embedder, Extractor, Op, Store
from dalsegno.core.extraction import Proposal, Sentence, propose, spoken_sentences
from dalsegno.core.journal import Event, Kind
from dalsegno.core.memories import Memory
from dalsegno.core.memory_gate import Role
from dalsegno.core.rights import Right
from dalsegno.errors import MemoryRefused, Misuse
from dalsegno.faces.arguments import a_count, a_text, an_aware_time
from dalsegno.faces.face import Face
from dalsegno.langgraph import embedder as embedding
from dalsegno.langgraph.said import text_of_value
from dalsegno.langgraph.searchable import texts_of
from dalsegno.services import journal, remembering
from dalsegno.services.frames import to_micros
from dalsegno.services.ids import thread_name
from dalsegno.services.memories import Embedded
from dalsegno.services.memory_rows import text_of_fact
from dalsegno.services.remembering import Claim, Question
from dalsegno.services.threads_row import Scope, find_thread

__all__ = ["Extraction", "Memories", "NotKept"]

_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class NotKept:
    """A proposal that the gate refused, and why."""

    proposal: Proposal
    reason: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What came of looking through a thread.

    Attributes:
        kept: what is remembered now, also what was known before.
        refused: what was proposed and is not, with the reason.
    """

    kept: tuple[Memory, ...]
    refused: tuple[NotKept, ...]


class Memories(Face):
    """Facts of a user, or of the tenant."""

    def __init__(self, store: Store, scope: Callable[[], Scope], *, embedder: Embedder | None = None) -> None:
        """Take the store, on whose behalf to work, and what makes vectors."""
        super().__init__(store, scope)
        self._embedder = embedder

    def remember(
        self,
        subject: str,
        attribute: str,
        value: Any,
        *,
        thread_id: str | None = None,
        evidence: Sequence[int | str | Event] = (),
        source: str = "",
        scope: Literal["user", "tenant"] | None = None,
        user: str | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        ttl: timedelta | None = None,
        confidence: float | None = None,
        several: bool = False,
        prompts: Sequence[str] = (),
    ) -> Memory:
        """Write a fact down; durable on return.

        Of the same subject and attribute, the fact that held before ends where this one begins, and stays in the
        history. What is known already is not written again: its evidence grows and its time to live begins anew.

        Args:
            subject: what it is about, such as `user` or `order policy`.
            attribute: which of its properties.
            value: what is the case: text, or any value the state could hold.
            thread_id: the thread it was said in.
            evidence: the events that say so: numbers, coordinates (`"#12 user"`) or events.
            source: where else it is from, such as a record of another system.
            scope: `user` or `tenant`; left out, it is the connection's user's, else that of the thread's user.
            user: whose it is, on a connection without a user.
            valid_from: since when it holds; when it was said if left out.
            valid_to: up to when; until further notice if left out.
            ttl: after which time it is gone, unless it is said again.
            confidence: between 0 and 1.
            several: whether the attribute may have several values at once, so that this one ends none.
            prompts: what the program told the model to do, so that an echo of it is known for one.

        Raises:
            MemoryRefused: the gate refused it; nothing was written.
            Refused: it would be another user's, or a user's connection writing for all.
            ThreadNotFound, Misuse: there is no such thread or event, or an argument is wrong.
            EmbedderChanged: the stored vectors are another embedder's.
        """
        claim = _claim(
            subject, attribute, value, thread_id, evidence, source, scope, user, valid_from, valid_to, ttl, confidence,
            several=several, prompts=prompts,
        )  # fmt: skip
        return self._remember(claim)

    async def aremember(
        self,
        subject: str,
        attribute: str,
        value: Any,
        *,
        thread_id: str | None = None,
        evidence: Sequence[int | str | Event] = (),
        source: str = "",
        scope: Literal["user", "tenant"] | None = None,
        user: str | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        ttl: timedelta | None = None,
        confidence: float | None = None,
        several: bool = False,
        prompts: Sequence[str] = (),
    ) -> Memory:
        """Async face of `remember`."""
        claim = _claim(
            subject, attribute, value, thread_id, evidence, source, scope, user, valid_from, valid_to, ttl, confidence,
            several=several, prompts=prompts,
        )  # fmt: skip
        return await self._aremember(claim)

    def recall(
        self,
        query: str | None = None,
        *,
        subject: str | None = None,
        attribute: str | None = None,
        at: datetime | None = None,
        limit: int | None = 10,
        user: str | None = None,
        shared: bool = True,
    ) -> builtins.list[Memory]:
        """Facts that hold now, or held at a time: best first for a query, else the last written first.

        Args:
            query: words to look for, in English, Chinese or both.
            subject: only facts about it.
            attribute: only this property.
            at: the time at which they hold; now if left out.
            limit: at most so many; None for all.
            user: whose, on a connection without a user; the tenant's own if left out.
            shared: whether the tenant's own facts count besides a user's.

        Raises:
            Refused: another user's facts were asked for.
        """
        question = _question(query, subject, attribute, at, limit, user, shared=shared)
        vector = None if self._embedder is None or not query else embedding.embedded_query(self._embedder, query)
        return self._run(lambda whom: remembering.recall(whom, _with(question, vector), texts_of))

    async def arecall(
        self,
        query: str | None = None,
        *,
        subject: str | None = None,
        attribute: str | None = None,
        at: datetime | None = None,
        limit: int | None = 10,
        user: str | None = None,
        shared: bool = True,
    ) -> builtins.list[Memory]:
        """Async face of `recall`."""
        question = _question(query, subject, attribute, at, limit, user, shared=shared)
        vector = None if self._embedder is None or not query else await embedding.aembedded_query(self._embedder, query)
        return await self._arun(lambda whom: remembering.recall(whom, _with(question, vector), texts_of))

    def history(
        self, subject: str, attribute: str | None = None, *, user: str | None = None, shared: bool = True
    ) -> builtins.list[Memory]:
        """All that was ever known about a subject, ended facts included, in the order in which it began to hold."""
        return self._run(lambda whom: _history(whom, subject, attribute, user, shared=shared))

    async def ahistory(
        self, subject: str, attribute: str | None = None, *, user: str | None = None, shared: bool = True
    ) -> builtins.list[Memory]:
        """Async face of `history`."""
        return await self._arun(lambda whom: _history(whom, subject, attribute, user, shared=shared))

    def get(self, memory_id: str) -> Memory:
        """One fact by its id.

        Raises:
            MemoryNotFound: there is none, or it is another user's.
        """
        a_text("memory_id", memory_id)
        return self._run(lambda whom: remembering.get(whom, memory_id))

    async def aget(self, memory_id: str) -> Memory:
        """Async face of `get`."""
        a_text("memory_id", memory_id)
        return await self._arun(lambda whom: remembering.get(whom, memory_id))

    def list(self, limit: int | None = None) -> builtins.list[Memory]:
        """Facts in the order in which they were written: a user's own, or those of the whole tenant with its users."""
        a_count("limit", limit, optional=True)
        return self._run(lambda whom: _listed(whom, limit))

    async def alist(self, limit: int | None = None) -> builtins.list[Memory]:
        """Async face of `list`."""
        a_count("limit", limit, optional=True)
        return await self._arun(lambda whom: _listed(whom, limit))

    def forget(
        self,
        memory_id: str | None = None,
        *,
        subject: str | None = None,
        attribute: str | None = None,
        user: str | None = None,
    ) -> int:
        """Delete one fact by its id, or all about a subject (and attribute), past ones included.

        Row, index, vectors and evidence go in one transaction.

        Returns:
            How many facts are gone.

        Raises:
            MemoryNotFound: no fact has this id, or it is another user's.
            Refused: it is the whole tenant's, and this is a user's connection.
        """
        _one_of(memory_id, subject)
        return self._run(lambda whom: _forget(whom, memory_id, subject, attribute, user), write=True)

    async def aforget(
        self,
        memory_id: str | None = None,
        *,
        subject: str | None = None,
        attribute: str | None = None,
        user: str | None = None,
    ) -> int:
        """Async face of `forget`."""
        _one_of(memory_id, subject)
        return await self._arun(lambda whom: _forget(whom, memory_id, subject, attribute, user), write=True)

    def forget_thread(self, thread_id: str) -> int:
        """Delete every fact that rests on this thread alone; returns how many."""
        name = thread_name(thread_id)
        return self._run(lambda whom: remembering.forget_thread(whom, name), write=True)

    async def aforget_thread(self, thread_id: str) -> int:
        """Async face of `forget_thread`."""
        name = thread_name(thread_id)
        return await self._arun(lambda whom: remembering.forget_thread(whom, name), write=True)

    def forget_user(self, user: str) -> int:
        """Delete everything long-term memory holds for a user, facts and `ds.store` items; returns how many."""
        a_text("user", user)
        return self._run(lambda whom: remembering.forget_user(whom, user), write=True)

    async def aforget_user(self, user: str) -> int:
        """Async face of `forget_user`."""
        a_text("user", user)
        return await self._arun(lambda whom: remembering.forget_user(whom, user), write=True)

    def extract_memories(
        self, thread_id: str, extractor: Extractor | None = None, *, prompts: Sequence[str] = ()
    ) -> Extraction:
        """Look through what the user said in a thread and remember what passes the gate. Running it again is fine.

        Args:
            thread_id: the thread; its head's lineage is read.
            extractor: what proposes; rules for English and Chinese if left out.
            prompts: what the program told the model to do.

        Raises:
            ThreadNotFound: no such thread, or another user's.
            Exception: whatever the extractor raises; nothing was written then.
        """
        said = self._run(lambda whom: _user_said(whom, thread_name(thread_id)))
        proposals = propose(said) if extractor is None else extractor.extract(said)
        kept: dict[str, Memory] = {}
        refused = []
        for claim, proposal in _claims(thread_id, proposals, prompts):
            try:
                memory = self._remember(claim)
            except MemoryRefused as error:
                refused.append(NotKept(proposal=proposal, reason=error.reason, problem=error.problem))
            else:
                kept[memory.id] = memory
        return Extraction(kept=tuple(kept.values()), refused=tuple(refused))

    async def aextract_memories(
        self, thread_id: str, extractor: Extractor | None = None, *, prompts: Sequence[str] = ()
    ) -> Extraction:
        """Async face of `extract_memories`."""
        said = await self._arun(lambda whom: _user_said(whom, thread_name(thread_id)))
        proposals = propose(said) if extractor is None else await extractor.aextract(said)
        kept: dict[str, Memory] = {}
        refused = []
        for claim, proposal in _claims(thread_id, proposals, prompts):
            try:
                memory = await self._aremember(claim)
            except MemoryRefused as error:
                refused.append(NotKept(proposal=proposal, reason=error.reason, problem=error.problem))
            else:
                kept[memory.id] = memory
        return Extraction(kept=tuple(kept.values()), refused=tuple(refused))

    def _remember(self, claim: Claim) -> Memory:
        made = None if self._embedder is None else embedding.embedded(self._embedder, [_searched(claim)])
        full = _with(claim, made)
        return self._run(lambda whom: remembering.remember(whom, full, text_of_value), write=True)

    async def _aremember(self, claim: Claim) -> Memory:
        made = None if self._embedder is None else await embedding.aembedded(self._embedder, [_searched(claim)])
        full = _with(claim, made)
        return await self._arun(lambda whom: remembering.remember(whom, full, text_of_value), write=True)


# --- arguments ------------------------------------------------------------------------------------


def _claim(
    subject: str,
    attribute: str,
    value: Any,
    thread_id: str | None,
    evidence: Sequence[int | str | Event],
    source: str,
    scope: str | None,
    user: str | None,
    valid_from: datetime | None,
    valid_to: datetime | None,
    ttl: timedelta | None,
    confidence: float | None,
    *,
    several: bool,
    prompts: Sequence[str],
) -> Claim:
    for name, text in (("subject", subject), ("attribute", attribute), ("source", source)):
        a_text(name, text)
    a_text("user", user, optional=True)
    an_aware_time("valid_from", valid_from)
    an_aware_time("valid_to", valid_to)
    if scope not in (None, "user", "tenant"):
        raise Misuse(f"scope={scope!r}: use 'user' or 'tenant', or leave it out.")
    if not _is_time_to_live(ttl):
        raise Misuse(f"ttl={ttl!r}: give a timedelta above zero, or leave it out.")
    if confidence is not None and not 0 <= confidence <= 1:
        raise Misuse(f"confidence={confidence!r}: give a number from 0 to 1, or leave it out.")
    if isinstance(evidence, str) or (evidence and thread_id is None):
        raise Misuse("evidence is a list of events of a thread: give thread_id= and evidence=[number, '#12 user', …].")
    return Claim(
        id=uuid4().hex,
        subject=subject,
        attribute=attribute,
        value=value,
        text=text_of_value(value),
        thread_id=None if thread_id is None else thread_name(thread_id),
        seqs=tuple(map(_number, evidence)),
        source=source,
        confidence=confidence,
        prompts=tuple(prompts),
        shared=None if scope is None else scope == "tenant",
        user=user,
        valid_from=None if valid_from is None else to_micros(valid_from),
        valid_to=None if valid_to is None else to_micros(valid_to),
        ttl=None if ttl is None else ttl // timedelta(microseconds=1),
        several=several,
    )


def _is_time_to_live(value: object) -> bool:
    return value is None or (isinstance(value, timedelta) and value > timedelta(0))


def _number(told: int | str | Event) -> int:
    if isinstance(told, Event):
        return told.seq
    digits = str(told).removeprefix("#").partition(" ")[0]
    if isinstance(told, bool) or not (digits.isascii() and digits.isdecimal() and int(digits)):
        raise Misuse(f"evidence {told!r}: give an event, its number, or its coordinate, such as '#12 user'.")
    return int(digits)


def _question(
    query: str | None,
    subject: str | None,
    attribute: str | None,
    at: datetime | None,
    limit: int | None,
    user: str | None,
    *,
    shared: bool,
) -> Question:
    for name, text in (("query", query), ("subject", subject), ("attribute", attribute), ("user", user)):
        a_text(name, text, optional=True)
    an_aware_time("at", at)
    a_count("limit", limit, optional=True)
    return Question(
        text=query or None,
        subject=subject,
        attribute=attribute,
        at=None if at is None else to_micros(at),
        limit=limit,
        user=user,
        shared=shared,
    )


def _with(what: Any, made: Embedded | None) -> Any:
    return replace(what, embedded=made)


def _searched(claim: Claim) -> str:
    return text_of_fact({"subject": claim.subject, "attribute": claim.attribute, "text": claim.text})


def _one_of(memory_id: str | None, subject: str | None) -> None:
    a_text("memory_id", memory_id, optional=True)
    a_text("subject", subject, optional=True)
    if (memory_id is None) == (subject is None):
        raise Misuse(
            "forget one memory by its id, or all about a subject: give the one or the other",
            command="name the MEMORY, or give --subject NAME",
        )


def _history(
    scope: Scope, subject: str, attribute: str | None, user: str | None, *, shared: bool
) -> Op[builtins.list[Memory]]:
    a_text("subject", subject)
    a_text("attribute", attribute, optional=True)
    return remembering.history(scope, subject, attribute, user=user, shared=shared)


def _forget(
    scope: Scope, memory_id: str | None, subject: str | None, attribute: str | None, user: str | None
) -> Op[int]:
    return remembering.forget(scope, memory_id=memory_id, subject=subject, attribute=attribute, user=user)


def _listed(scope: Scope, limit: int | None) -> Op[builtins.list[Memory]]:
    found: builtins.list[Memory] = []
    after = -1
    while limit is None or len(found) < limit:
        page = yield from remembering.everything(scope, after=after, limit=_PAGE)
        found += [memory for _, memory in page]
        if len(page) < _PAGE:
            break
        after = page[-1][0]
    return found[:limit]


def _user_said(scope: Scope, name: str) -> Op[builtins.list[Sentence]]:
    yield from find_thread(scope, name, Right.DISPOSE)
    events = yield from journal.read(scope, name, text_of_value)
    latest = {event.seq: event for event in events if event.kind in (Kind.MESSAGE, Kind.EDIT)}
    return [
        sentence
        for event in latest.values()
        if remembering.role_of(event.payload, event.author, event.kind) is Role.USER
        for sentence in spoken_sentences(event.seq, event.text)
    ]


def _claims(thread_id: str, proposals: Sequence[Proposal], prompts: Sequence[str]) -> Iterator[tuple[Claim, Proposal]]:
    for proposal in proposals:
        claim = Claim(
            id=uuid4().hex,
            subject=proposal.subject,
            attribute=proposal.attribute,
            value=proposal.value,
            text=text_of_value(proposal.value),
            thread_id=thread_name(thread_id),
            seqs=(proposal.seq,),
            prompts=tuple(prompts),
            proposed=True,
            several=proposal.several,
        )
        yield claim, proposal
