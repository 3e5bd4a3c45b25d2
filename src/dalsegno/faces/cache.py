"""`ds.cache`: answers that may be given again, kept by their questions.

Rules of this module:

* What may be kept is decided by the gate (`core/answers/gate.py`), what may be handed out by form, guards, scope and
  sources (`services/answers.py`). A refusal is an answer of its kind, not an error; a wrong call is `Misuse`.
* The cache may fail: an embedder that fails, a database that cannot be reached, a row that makes no sense are a miss
  with a warning in the log `dalsegno.cache`, never an answer and never an error of the caller's run.
* A question that leans on its conversation is completed by `context`, or else neither looked up nor kept.
* Vectors are made before the transaction begins, and only where there is a calibration that says what they mean.
"""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from math import fsum
from operator import mul
from typing import Any, TypeAlias

import orjson

from dalsegno.contracts import Embedder, Store
from dalsegno.core.answers.calibration import Pair, calibrated
from dalsegno.core.answers.followups import Carried, carried_of, completed
from dalsegno.core.answers.forms import MAX_CHARACTERS, form_of
from dalsegno.core.answers.gate import Draft, Verdict, judge
from dalsegno.core.answers.scoring import LEXICAL, likeness
from dalsegno.core.answers.values import Answer, Calibration, Lookup, Removed, Stats, Stored
from dalsegno.core.search import fold
from dalsegno.errors import Conflict, Damaged, Misuse, StoreError
from dalsegno.faces.arguments import a_count, a_text
from dalsegno.faces.face import Face
from dalsegno.langgraph import embedder as embedding
from dalsegno.services import answers
from dalsegno.services.answer_rows import AnswerRow, calibrations
from dalsegno.services.answers import Asked, Kept, Standing
from dalsegno.services.ids import thread_name
from dalsegno.services.memories import Embedded
from dalsegno.services.threads_row import Scope

__all__ = ["Cache", "Context"]

Context: TypeAlias = str | Mapping[str, str | Sequence[str]]
"""What a conversation carries along: the question before, or a mapping of `entity`, `period`, `question`."""

_log = logging.getLogger("dalsegno.cache")
_PAGE = 100
_BROKEN = (StoreError, Damaged, Conflict)
_MISSED = "this lookup is a miss"
_UNMEASURED = "the answer is kept without a vector; fill it in with ds.cache.reindex()"


class Cache(Face):
    """Answers of a tenant, and of its users."""

    def __init__(self, store: Store, scope: Callable[[], Scope], *, embedder: Embedder | None = None) -> None:
        """Take the store, on whose behalf to work, and what makes vectors."""
        super().__init__(store, scope)
        self._embedder = embedder
        self._told = False

    # --- looking up

    def lookup(
        self,
        question: str,
        *,
        scope: str = "default",
        sources: Mapping[str, str] | None = None,
        context: Context | None = None,
        thread_id: str | None = None,
        coordinate: str | None = None,
    ) -> Lookup:
        """What the cache has for a question.

        Args:
            question: as it was asked.
            scope: whose answers may be given here, in a word the program chooses: a role, a corpus, a product. Equal to
                that of the answer, or it is not seen. A user's connection sees that user's answers and the shared ones.
            sources: versions by id of what the caller has now, and may see; an answer that rests on another version, or
                on something that is not among them, is not handed out.
            context: what completes a question that leans on its conversation.
            thread_id: the thread the answer goes to, for the record of uses.
            coordinate: the event there that it answers, such as `"#12 user"`.

        Returns:
            A `Lookup`: a `hit`, a `reference`, or a `miss`, with the reason. What failed on the way is a miss.

        Raises:
            EmbedderChanged: the tenant's answers are calibrated for another embedder than this connection's.
            Misuse: an argument is wrong.
        """
        asked = _asked(question, scope, sources, context, thread_id, coordinate)
        if isinstance(asked, Lookup):
            return asked
        try:
            measure = self._measured(self._run(self._standing))
            vector = None
            if measure.calibration is not None and self._embedder is not None:
                vector = embedding.embedded_query(self._embedder, asked.question, so=_MISSED, log=_log)
                if vector is None:
                    return _missed(asked.question, "embedder_failed", "the embedder failed; the log has the cause")
            found = self._run(lambda whom: answers.look_up(whom, _with(asked, measure, vector)))
            if found.band != "miss" and not self._run(
                lambda whom: answers.record(whom, found, thread_id=thread_id, coordinate=coordinate), write=True
            ):
                return _missed(asked.question, "moved", "the answer was removed or replaced in between")
        except _BROKEN as error:
            return _failed(asked.question, error)
        return found

    async def alookup(
        self,
        question: str,
        *,
        scope: str = "default",
        sources: Mapping[str, str] | None = None,
        context: Context | None = None,
        thread_id: str | None = None,
        coordinate: str | None = None,
    ) -> Lookup:
        """Async face of `lookup`."""
        asked = _asked(question, scope, sources, context, thread_id, coordinate)
        if isinstance(asked, Lookup):
            return asked
        try:
            measure = self._measured(await self._arun(self._standing))
            vector = None
            if measure.calibration is not None and self._embedder is not None:
                vector = await embedding.aembedded_query(self._embedder, asked.question, so=_MISSED, log=_log)
                if vector is None:
                    return _missed(asked.question, "embedder_failed", "the embedder failed; the log has the cause")
            found = await self._arun(lambda whom: answers.look_up(whom, _with(asked, measure, vector)))
            if found.band != "miss" and not await self._arun(
                lambda whom: answers.record(whom, found, thread_id=thread_id, coordinate=coordinate), write=True
            ):
                return _missed(asked.question, "moved", "the answer was removed or replaced in between")
        except _BROKEN as error:
            return _failed(asked.question, error)
        return found

    # --- storing

    def store(
        self,
        question: str,
        answer: str,
        *,
        scope: str,
        sources: Mapping[str, str] | None,
        entities: Sequence[str] | None = None,
        quality: Verdict = None,
        groundedness: Verdict = None,
        finish_reason: str | None = None,
        complete: bool | None = None,
        ttl: timedelta | None = None,
        context: Context | None = None,
        shared: bool | None = None,
        thread_id: str | None = None,
        derived_from: Sequence[str | Lookup] = (),
        prompts: Sequence[str] = (),
        evidence: Sequence[str] = (),
    ) -> Stored:
        """Keep an answer, if the gate lets it pass; durable on return.

        Args:
            question: as it was asked.
            answer: the clean answer, before any warning or notice is put under it.
            scope: see `lookup`.
            sources: what it rests on, versions by id; None, on purpose, for an answer that rests on nothing that
                changes.
            entities: whom the question is about, where its words do not say so; one of them completes a question that
                leans on its conversation.
            quality: the verdict of a quality gate, or its score (from 0.8 on it has passed). Without one nothing is
                kept.
            groundedness: the same of a check that the answer is grounded; None where there was none.
            finish_reason: how the model ended, in its provider's words.
            complete: whether the answer is whole; needed where `finish_reason` is not known.
            ttl: how long it may be given; for ever if left out. A hit does not prolong it.
            context: what completes a question that leans on its conversation.
            shared: whether all users get it. By itself an answer is its connection's user's; without one, everyone's.
            thread_id: the thread it was written in; erasing that takes it along.
            derived_from: lookups, or ids of answers, that helped to write it. A reference that `lookup` gave for the
                same question counts by itself.
            prompts: what the program told the model to do, so that an echo of it is known for one.
            evidence: the texts it was made from; then each of its figures must stand in them.

        Returns:
            A `Stored`, true when it was kept, with the reason when not.

        Raises:
            EmbedderChanged: the tenant's answers are calibrated for another embedder than this connection's.
            Misuse: an argument is wrong.
        """
        kept = self._kept(
            question, answer, scope, sources, entities=entities, quality=quality, groundedness=groundedness,
            finish_reason=finish_reason, complete=complete, ttl=ttl, context=context, shared=shared,
            thread_id=thread_id, derived_from=derived_from, prompts=prompts, evidence=evidence,
        )  # fmt: skip
        if isinstance(kept, Stored):
            return kept
        try:
            measure = self._measured(self._run(self._standing))
            vector = None
            if measure.calibration is not None and self._embedder is not None:
                vector = embedding.embedded_query(self._embedder, kept.question, so=_UNMEASURED, log=_log)
            return self._run(lambda whom: answers.put(whom, _keeping(kept, measure, vector)), write=True)
        except _BROKEN as error:
            return _not_kept(kept.question, error)

    async def astore(
        self,
        question: str,
        answer: str,
        *,
        scope: str,
        sources: Mapping[str, str] | None,
        entities: Sequence[str] | None = None,
        quality: Verdict = None,
        groundedness: Verdict = None,
        finish_reason: str | None = None,
        complete: bool | None = None,
        ttl: timedelta | None = None,
        context: Context | None = None,
        shared: bool | None = None,
        thread_id: str | None = None,
        derived_from: Sequence[str | Lookup] = (),
        prompts: Sequence[str] = (),
        evidence: Sequence[str] = (),
    ) -> Stored:
        """Async face of `store`."""
        kept = self._kept(
            question, answer, scope, sources, entities=entities, quality=quality, groundedness=groundedness,
            finish_reason=finish_reason, complete=complete, ttl=ttl, context=context, shared=shared,
            thread_id=thread_id, derived_from=derived_from, prompts=prompts, evidence=evidence,
        )  # fmt: skip
        if isinstance(kept, Stored):
            return kept
        try:
            measure = self._measured(await self._arun(self._standing))
            vector = None
            if measure.calibration is not None and self._embedder is not None:
                vector = await embedding.aembedded_query(self._embedder, kept.question, so=_UNMEASURED, log=_log)
            return await self._arun(lambda whom: answers.put(whom, _keeping(kept, measure, vector)), write=True)
        except _BROKEN as error:
            return _not_kept(kept.question, error)

    # --- finding and removing

    def find(self, text: str, *, scope: str | None = None, limit: int = 20) -> builtins.list[Answer]:
        """Answers to a question, then those that hold its words, best first, each with where it was handed out.

        Expired answers that are not swept yet are among them. `text` may also be an answer's own wording.
        """
        _searched(text, scope, limit)
        return self._run(lambda whom: answers.find(whom, text, cache_scope=scope, limit=limit))

    async def afind(self, text: str, *, scope: str | None = None, limit: int = 20) -> builtins.list[Answer]:
        """Async face of `find`."""
        _searched(text, scope, limit)
        return await self._arun(lambda whom: answers.find(whom, text, cache_scope=scope, limit=limit))

    def list(self, limit: int | None = None, *, scope: str | None = None) -> builtins.list[Answer]:
        """Answers in the order in which they were first stored, expired ones that are not swept yet included."""
        a_count("limit", limit, optional=True)
        a_text("scope", scope, optional=True)
        return self._run(lambda whom: answers.everything(whom, cache_scope=scope, limit=limit))

    async def alist(self, limit: int | None = None, *, scope: str | None = None) -> builtins.list[Answer]:
        """Async face of `list`."""
        a_count("limit", limit, optional=True)
        a_text("scope", scope, optional=True)
        return await self._arun(lambda whom: answers.everything(whom, cache_scope=scope, limit=limit))

    def remove(self, name: str, *, scope: str | None = None) -> Removed:
        """Delete an answer by its id, or every answer to a question, with all that was derived from them.

        Returns:
            What went, and every use that was made of it: where a wrong answer has been said.

        Raises:
            AnswerNotFound: there is none, or it is another user's.
            Refused: it is shared, and this is a user's connection that did not store it.
        """
        a_text("name", name)
        a_text("scope", scope, optional=True)
        return self._run(lambda whom: answers.remove(whom, name, cache_scope=scope), write=True)

    async def aremove(self, name: str, *, scope: str | None = None) -> Removed:
        """Async face of `remove`."""
        a_text("name", name)
        a_text("scope", scope, optional=True)
        return await self._arun(lambda whom: answers.remove(whom, name, cache_scope=scope), write=True)

    def invalidate(self, source_id: str, version: str | None = None) -> Removed:
        """Delete every answer that rests on this version of a source, with all that was derived from them.

        Args:
            source_id: the source.
            version: the version that is not to be relied on any more; every version if left out.
        """
        a_text("source_id", source_id)
        told = None if version is None else str(version)
        return self._run(lambda whom: answers.remove_source(whom, source_id, told), write=True)

    async def ainvalidate(self, source_id: str, version: str | None = None) -> Removed:
        """Async face of `invalidate`."""
        a_text("source_id", source_id)
        told = None if version is None else str(version)
        return await self._arun(lambda whom: answers.remove_source(whom, source_id, told), write=True)

    def sweep(self) -> int:
        """Delete every answer that has expired; returns how many. Each `store` sweeps some of them."""
        return self._run(answers.sweep, write=True)

    async def asweep(self) -> int:
        """Async face of `sweep`."""
        return await self._arun(answers.sweep, write=True)

    def stats(self) -> Stats:
        """The cache in numbers."""
        return self._run(answers.stats)

    async def astats(self) -> Stats:
        """Async face of `stats`."""
        return await self._arun(answers.stats)

    # --- calibrating

    def calibrate(self, pairs: Iterable[Pair | tuple[str, str, bool]], *, embedder: Any = None) -> Calibration:
        """Find the lines of an embedder on pairs of questions of which one knows whether they are one, and record them.

        Answers that were stored before are misses from then on, until `reindex` has given them vectors anew.

        Args:
            pairs: two questions each, and whether they are the same; at least 20 of each kind. Take those that
                differ in a year, a name, a metric, a unit, a negation.
            embedder: the embedder; the connection's if left out, and words alone where there is none.

        Raises:
            Misuse: too few pairs, or an argument is wrong.
            Exception: whatever the embedder raises; nothing was recorded then.
        """
        maker = self._maker(embedder)
        dims = [0]

        def measure(given: Sequence[Pair]) -> builtins.list[float]:
            if maker is None:
                return _by_words(given)
            texts = _texts(given)
            made = embedding.embedded_queries(maker, texts)
            dims[0] = made.dims
            return _cosines(given, texts, made)

        found = calibrated(_pairs(pairs), measure)
        name = LEXICAL if maker is None else maker.name
        return self._run(lambda whom: answers.add_calibration(whom, name, dims[0], found), write=True)

    async def acalibrate(self, pairs: Iterable[Pair | tuple[str, str, bool]], *, embedder: Any = None) -> Calibration:
        """Async face of `calibrate`."""
        maker = self._maker(embedder)
        given = _pairs(pairs)
        if maker is None:
            found = calibrated(given, _by_words)
            return await self._arun(lambda whom: answers.add_calibration(whom, LEXICAL, 0, found), write=True)
        texts = _texts(given)
        made = await embedding.aembedded_queries(maker, texts)
        found = calibrated(given, lambda some: _cosines(some, texts, made))
        return await self._arun(lambda whom: answers.add_calibration(whom, maker.name, made.dims, found), write=True)

    def calibrations(self) -> builtins.list[Calibration]:
        """Calibrations of the tenant, the newest first."""
        return self._run(lambda whom: calibrations(whom.tenant))

    async def acalibrations(self) -> builtins.list[Calibration]:
        """Async face of `calibrations`."""
        return await self._arun(lambda whom: calibrations(whom.tenant))

    def reindex(self) -> int:
        """Give every answer that lacks one a vector of the newest calibration; returns how many got theirs.

        Raises:
            Misuse: the connection has no embedder, or it is not calibrated.
            Exception: whatever the embedder raises; what has its vector by then keeps it.
        """
        maker, number = self._renewing(self._run(self._standing))
        count, after = 0, 0
        while True:
            rows, last = self._run(lambda whom, start=after: answers.outdated(whom, number, after=start, limit=_PAGE))  # type: ignore[misc]
            if last is None:
                return count
            made = [(row, embedding.embedded_queries(maker, [row.question])) for row in rows]
            count += self._run(lambda whom, some=made: answers.renew(whom, number, some), write=True)  # type: ignore[misc]
            after = last

    async def areindex(self) -> int:
        """Async face of `reindex`."""
        maker, number = self._renewing(await self._arun(self._standing))
        count, after = 0, 0
        while True:
            rows, last = await self._arun(
                lambda whom, start=after: answers.outdated(whom, number, after=start, limit=_PAGE)  # type: ignore[misc]
            )
            if last is None:
                return count
            made: list[tuple[AnswerRow, Embedded]] = [
                (row, await embedding.aembedded_queries(maker, [row.question])) for row in rows
            ]
            count += await self._arun(lambda whom, some=made: answers.renew(whom, number, some), write=True)  # type: ignore[misc]
            after = last

    # --- parts

    def _standing(self, whom: Scope) -> Any:
        return answers.standing(whom, None if self._embedder is None else self._embedder.name)

    def _measured(self, found: Standing) -> Standing:
        if self._embedder is not None and found.calibration is None and not self._told:
            self._told = True
            _log.warning(
                "embedder %r is not calibrated, so the cache goes by words alone; "
                "`dalsegno cache calibrate` draws its lines",
                self._embedder.name,
            )
        return found

    def _maker(self, given: Any) -> Embedder | None:
        return self._embedder if given is None else embedding.embedder_of(given)

    def _renewing(self, found: Standing) -> tuple[Embedder, int]:
        if self._embedder is None:
            raise Misuse("reindex makes vectors and this connection has no embedder; give connect(embedder=...).")
        if found.calibration is None:
            raise Misuse(f"embedder {self._embedder.name!r} is not calibrated; run ds.cache.calibrate() first.")
        return self._embedder, found.calibration

    def _kept(
        self,
        question: str,
        answer: str,
        scope: str,
        sources: Mapping[str, str] | None,
        *,
        entities: Sequence[str] | None,
        quality: Verdict,
        groundedness: Verdict,
        finish_reason: str | None,
        complete: bool | None,
        ttl: timedelta | None,
        context: Context | None,
        shared: bool | None,
        thread_id: str | None,
        derived_from: Sequence[str | Lookup],
        prompts: Sequence[str],
        evidence: Sequence[str],
    ) -> Kept | Stored:
        """An answer as the gate lets it pass, or why it does not."""
        for name, text in (("question", question), ("answer", answer), ("scope", scope)):
            a_text(name, text)
        for name, several in (("entities", entities or ()), ("prompts", prompts), ("evidence", evidence)):
            _texts_of(name, several)
        _verdict("quality", quality)
        _verdict("groundedness", groundedness)
        for name, flag in (("complete", complete), ("shared", shared)):
            if flag is not None and not isinstance(flag, bool):
                raise Misuse(f"{name}={flag!r}: give True, False, or leave it out")
        a_text("finish_reason", finish_reason, optional=True)
        told = _sources(sources)
        alone, _ = _alone(question, carried_of(context, tuple(entities or ())))
        user = self._scope().user
        everyones = user is None if shared is None else shared or user is None
        refusal = judge(
            Draft(
                question=alone,
                answer=answer,
                sources=told,
                shared=everyones,
                quality=quality,
                groundedness=groundedness,
                finish_reason=finish_reason,
                complete=complete,
                prompts=tuple(prompts),
                evidence=tuple(evidence),
            )
        )
        if refusal is not None:
            return Stored(stored=False, id=None, reason=refusal.reason.value, why=refusal.why, question=alone)
        return Kept(
            question=alone,
            answer=answer,
            scope=scope,
            sources=told,
            entities=tuple(entities or ()),
            shared=everyones,
            thread_id=None if thread_id is None else thread_name(thread_id),
            derived_from=tuple(_parents(derived_from)),
            ttl=_micros(ttl),
            standing=Standing(),
        )


# --- arguments ------------------------------------------------------------------------------------


def _asked(
    question: str,
    scope: str,
    sources: Mapping[str, str] | None,
    context: Context | None,
    thread_id: str | None,
    coordinate: str | None,
) -> Asked | Lookup:
    """A question as it stands alone, or the miss that it is when it does not."""
    a_text("question", question)
    a_text("scope", scope)
    a_text("coordinate", coordinate, optional=True)
    if thread_id is not None:
        thread_name(thread_id)
    told = _sources(sources)
    alone, leans = _alone(question, carried_of(context))
    if leans is not None:
        return _missed(alone, "follow_up", f"the question leans on what was said before: {leans!r}; give context=")
    if len(alone) > MAX_CHARACTERS or not form_of(alone).tokens:
        return _missed(alone, "blank" if not alone.strip() else "too_long", "no question that could be kept")
    return Asked(question=alone, scope=scope, sources=told, standing=Standing())


def _alone(question: str, carried: Carried) -> tuple[str, str | None]:
    """A question as it stands alone, and the words by which it does not."""
    return completed(question, carried) if len(question) <= MAX_CHARACTERS else (question, None)


def _sources(given: Any) -> dict[str, str] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise Misuse(f"sources={type(given).__name__}: give a mapping of source ids and their versions")
    told = {source: str(version) for source, version in given.items() if isinstance(version, str | int)}
    if len(told) != len(given) or not all(isinstance(source, str) and source.strip() for source in told):
        raise Misuse(f"sources={dict(given)!r:.120}: each source is named by text, and so is its version")
    return told


def _texts_of(name: str, several: object) -> None:
    if (
        isinstance(several, str)
        or not isinstance(several, Sequence)
        or not all(isinstance(one, str) for one in several)
    ):
        raise Misuse(f"{name}={several!r:.80}: give a list of texts")


def _verdict(name: str, value: object) -> None:
    if value is None or isinstance(value, bool):
        return
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Misuse(f"{name}={value!r}: give True, False, or a score between 0 and 1")


def _micros(ttl: object) -> int | None:
    if ttl is None:
        return None
    if not isinstance(ttl, timedelta) or ttl <= timedelta(0):
        raise Misuse(f"ttl={ttl!r}: give a timedelta of more than no time, such as timedelta(days=7)")
    return ttl // timedelta(microseconds=1)


def _parents(given: Sequence[str | Lookup]) -> Iterable[str]:
    for one in given:
        name = one.id if isinstance(one, Lookup) else one
        if name is None:
            continue  # a miss helped nobody
        a_text("derived_from", name)
        yield name


def _searched(text: str, scope: str | None, limit: int) -> None:
    a_text("text", text)
    a_text("scope", scope, optional=True)
    a_count("limit", limit)


def _with(asked: Asked, measure: Standing, vector: Embedded | None) -> Asked:
    return Asked(question=asked.question, scope=asked.scope, sources=asked.sources, standing=measure, embedded=vector)


def _keeping(kept: Kept, measure: Standing, vector: Embedded | None) -> Kept:
    return Kept(
        question=kept.question,
        answer=kept.answer,
        scope=kept.scope,
        sources=kept.sources,
        entities=kept.entities,
        shared=kept.shared,
        thread_id=kept.thread_id,
        derived_from=kept.derived_from,
        ttl=kept.ttl,
        standing=measure,
        embedded=vector,
    )


# --- failing --------------------------------------------------------------------------------------


def _missed(question: str, reason: str, why: str) -> Lookup:
    return Lookup(band="miss", reason=reason, why=why, asked=question)


def _failed(question: str, error: Exception) -> Lookup:
    _log.warning("the cache failed (%s: %s); %s", type(error).__name__, error, _MISSED)
    return _missed(question, "cache_failed", f"{type(error).__name__}: {error}")


def _not_kept(question: str, error: Exception) -> Stored:
    _log.warning("the cache failed (%s: %s); the answer may not be kept", type(error).__name__, error)
    return Stored(
        stored=False, id=None, reason="cache_failed", why=f"{type(error).__name__}: {error}", question=question
    )


# --- pairs ----------------------------------------------------------------------------------------


def _pairs(given: Iterable[Pair | tuple[str, str, bool]]) -> builtins.list[Pair]:
    pairs = []
    for one in given:
        if isinstance(one, Pair):
            pairs.append(one)
            continue
        question, other, same = one
        a_text("a question of a pair", question)
        a_text("a question of a pair", other)
        if not isinstance(same, bool):
            raise Misuse(f"a pair ends in {same!r}; give True for the same question, False for another")
        pairs.append(Pair(question=question, other=other, same=same))
    return pairs


def _by_words(pairs: Sequence[Pair]) -> builtins.list[float]:
    return [likeness(form_of(pair.question), form_of(pair.other)) for pair in pairs]


def _texts(pairs: Sequence[Pair]) -> builtins.list[str]:
    return sorted({text for pair in pairs for text in (pair.question, pair.other)}, key=fold)


def _cosines(pairs: Sequence[Pair], texts: Sequence[str], made: Embedded) -> builtins.list[float]:
    vectors = {text: orjson.loads(vector or "[]") for text, vector in zip(texts, made.vectors, strict=True)}
    return [max(0.0, fsum(map(mul, vectors[pair.question], vectors[pair.other]))) for pair in pairs]
