"""`ds.store`: LangGraph's long-term memory over dalsegno's tables.

Rules of this module:

* One object serves sync and async callers alike, and every database; a graph compiled with `store=ds.store` runs under
  `invoke` and `ainvoke`.
* A connection with a user reads and writes that user's items, one without the tenant's own; neither sees the other's.
* Whatever the codec keeps may stand in a value. Filters are exact (`core/filters.py`). A query is answered by words; by
  words and vectors where the connection has an embedder.
* `ttl` is in minutes, as everywhere in LangGraph, and by the database's clock; reading renews it unless told otherwise.
  What has expired is never returned, whether or not it was swept away.
* Facts of `ds.memory` can be read here, under `("dalsegno", "memories")`; they are written through its gate alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, get_args

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from dalsegno.contracts import Embedder, Store
from dalsegno.contracts import Op as DbOp
from dalsegno.core import codec
from dalsegno.core.filters import check_filter
from dalsegno.core.namespaces import Pattern
from dalsegno.errors import Misuse
from dalsegno.langgraph import embedder as embedding
from dalsegno.langgraph.searchable import fields_column, texts_of
from dalsegno.services import memories
from dalsegno.services.frames import from_micros
from dalsegno.services.memories import Embedded, Find, Get, List, Outcome, Put, Request
from dalsegno.services.memory_rows import FACTS, MemoryRow
from dalsegno.services.memory_search import Ranking
from dalsegno.services.threads_row import Scope

__all__ = ["DalsegnoStore"]

_MINUTE = 60_000_000
_LONGEST_MINUTES = 60 * 24 * 366 * 1000
"""A thousand years; what lives longer needs no time to live."""

_PAGE = 64
"""How many memories are embedded at a time when vectors are made anew."""


class DalsegnoStore(BaseStore):
    """Items by namespace and key, with filters, search and times to live.

    Attributes:
        ttl_config: LangGraph's settings, if any: `{"default_ttl": minutes, "refresh_on_read": False}`.
        ranking: what ranks a search where there is an embedder: `hybrid` (default), `vector` or `lexical`. The score
            of an answer is a share of the best possible, a cosine, or BM25; higher is better, within one search.
    """

    supports_ttl = True
    ttl_config: TTLConfig | None

    def __init__(self, store: Store, scope: Callable[[], Scope], *, embedder: Embedder | None = None) -> None:
        """Take the store, on whose behalf to work, and what makes vectors."""
        self._store = store
        self._scope = scope
        self._embedder = embedder
        self._ranking: Ranking = "hybrid"
        self.ttl_config = None

    @property
    def ranking(self) -> Ranking:
        """What ranks a search where there is an embedder."""
        return self._ranking

    @ranking.setter
    def ranking(self, value: Ranking) -> None:
        if value not in get_args(Ranking):
            raise Misuse(f"ranking={value!r}: use one of {', '.join(get_args(Ranking))}.")
        self._ranking = value

    # --- LangGraph's two methods, on which all others stand

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in one transaction: reads see what was there before, of writes to one key the last counts.

        Raises:
            InvalidNamespaceError: a namespace is empty, or a label of it is.
            Misuse: a filter, limit, time to live or key is wrong.
            NotSerializable: a value cannot be stored exactly; nothing was written.
            EmbedderChanged: the stored vectors are another embedder's.
        """
        given = list(ops)
        requests = self._requests(given)
        if self._embedder is not None:
            for place, text in _queries(requests):
                requests[place] = _asked(requests[place], embedding.embedded_query(self._embedder, text))
            texts = _to_embed(requests, given)
            if texts:
                requests = _with_vectors(requests, texts, embedding.embedded(self._embedder, _flat(texts)))
        scope = self._scope()
        outcome = self._store.run(
            lambda: memories.batch(scope, requests, texts_of), write=_writes(requests), key=(scope.tenant, "memories")
        )
        if outcome.used:
            self._store.run(lambda: memories.touch_used(scope, outcome.used), write=True)
        return _results(outcome)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Async face of `batch`."""
        given = list(ops)
        requests = self._requests(given)
        if self._embedder is not None:
            for place, text in _queries(requests):
                requests[place] = _asked(requests[place], await embedding.aembedded_query(self._embedder, text))
            texts = _to_embed(requests, given)
            if texts:
                requests = _with_vectors(requests, texts, await embedding.aembedded(self._embedder, _flat(texts)))
        scope = self._scope()
        outcome = await self._store.arun(
            lambda: memories.batch(scope, requests, texts_of), write=_writes(requests), key=(scope.tenant, "memories")
        )
        if outcome.used:
            await self._store.arun(lambda: memories.touch_used(scope, outcome.used), write=True)
        return _results(outcome)

    # --- beyond LangGraph's

    def sweep_ttl(self) -> int:
        """Delete what has expired in the tenant; returns how many. Reads never see it, swept or not."""
        scope = self._scope()
        return self._store.run(lambda: memories.sweep_all(scope), write=True)

    async def asweep_ttl(self) -> int:
        """Async face of `sweep_ttl`."""
        scope = self._scope()
        return await self._store.arun(lambda: memories.sweep_all(scope), write=True)

    def reindex(self) -> int:
        """Make the vectors that are missing, and all of them anew if they are another embedder's.

        Returns:
            How many memories got their vectors. Those that are being made are found by their words meanwhile; called
            again after it was stopped, it goes on where it was.

        Raises:
            Misuse: the connection has no embedder, or is a user's.
            Exception: whatever the embedder raises; what has its vectors by then keeps them.
        """
        embedder, scope = self._for_reindex()
        probe = _sure(embedding.embedded(embedder, ["dal segno"], strict=True))
        self._store.run(lambda: memories.renew(scope, probe), write=True)
        filled, after = 0, -1
        while found := self._store.run(partial(_missing, scope, after), write=False):
            texts = [text for _, each in found for text in each]
            made = embedding.embedded(embedder, texts, strict=True) if texts else None
            filled += self._store.run(partial(memories.fill, scope, _parted(found, made, probe)), write=True)
            after = found[-1][0].memory
        return filled

    async def areindex(self) -> int:
        """Async face of `reindex`."""
        embedder, scope = self._for_reindex()
        probe = _sure(await embedding.aembedded(embedder, ["dal segno"], strict=True))
        await self._store.arun(lambda: memories.renew(scope, probe), write=True)
        filled, after = 0, -1
        while found := await self._store.arun(partial(_missing, scope, after), write=False):
            texts = [text for _, each in found for text in each]
            made = await embedding.aembedded(embedder, texts, strict=True) if texts else None
            filled += await self._store.arun(partial(memories.fill, scope, _parted(found, made, probe)), write=True)
            after = found[-1][0].memory
        return filled

    def _for_reindex(self) -> tuple[Embedder, Scope]:
        scope = self._scope()
        if self._embedder is None:
            raise Misuse("reindex makes vectors and this connection has no embedder; give connect(embedder=...).")
        if scope.user is not None:
            raise Misuse("reindex is for the whole tenant, and this connection is a user's; connect without user.")
        return self._embedder, scope

    # --- requests

    def _requests(self, ops: Sequence[Op]) -> list[Request]:
        last = {(op.namespace, op.key): place for place, op in enumerate(ops) if isinstance(op, PutOp)}
        return [
            self._request(op, counts=not isinstance(op, PutOp) or last[op.namespace, op.key] == place)
            for place, op in enumerate(ops)
        ]

    def _request(self, op: Op, *, counts: bool) -> Request:
        validate_op_namespace(op)
        if isinstance(op, GetOp):
            return Get(namespace=tuple(op.namespace), key=str(op.key), refresh=op.refresh_ttl)
        if isinstance(op, PutOp):
            return _put(op, counts=counts)
        if isinstance(op, SearchOp):
            _count("limit", op.limit)
            _count("offset", op.offset)
            if op.filter is not None:
                check_filter(op.filter)
            if op.query is not None and not isinstance(op.query, str):
                raise Misuse(f"query={op.query!r:.80}: give text, or None to list.")
            return Find(
                prefix=tuple(op.namespace_prefix),
                wanted=op.filter,
                limit=op.limit,
                offset=op.offset,
                text=op.query or None,
                ranking=self._ranking,
                refresh=op.refresh_ttl,
            )
        if isinstance(op, ListNamespacesOp):
            return _list(op)
        raise Misuse(f"{type(op).__name__} is no operation of a store; give GetOp, PutOp, SearchOp, ListNamespacesOp.")


def _put(op: PutOp, *, counts: bool) -> Put:
    namespace = tuple(op.namespace)
    if not namespace:
        raise InvalidNamespaceError("Namespace cannot be empty.")
    if namespace[0] == FACTS[0]:
        raise Misuse(
            f"namespace {namespace} is dalsegno's own; write facts with ds.memory.remember() and forget them with "
            "ds.memory.forget()."
        )
    if op.value is None:
        return Put(namespace=namespace, key=str(op.key), tree=None)
    if not _is_object(op.value):
        raise Misuse(f"value={op.value!r:.80}: a store's values are objects with text keys.")
    fields = fields_column(op.index)
    value = dict(op.value)
    text = "\n".join(texts_of(value, fields)) if counts else ""
    return Put(
        namespace=namespace,
        key=str(op.key),
        tree=codec.encode(value, "value"),
        ttl=_ttl(op.ttl),
        fields=fields,
        text=text,
        unembedded=bool(text),
    )


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _ttl(minutes: float | None) -> int | None:
    if minutes is None:
        return None
    if type(minutes) not in (int, float) or not 0 <= minutes <= _LONGEST_MINUTES:
        raise Misuse(f"ttl={minutes!r}: give minutes from 0, or None for ever.")
    return math.ceil(minutes * _MINUTE)


def _list(op: ListNamespacesOp) -> List:
    _count("limit", op.limit)
    _count("offset", op.offset)
    if op.max_depth is not None:
        _count("max_depth", op.max_depth)
    patterns = []
    for condition in op.match_conditions or ():
        if str(condition.match_type) not in ("prefix", "suffix"):
            raise Misuse(f"match_type={condition.match_type!r}: use 'prefix' or 'suffix'.")
        patterns.append(Pattern(where=condition.match_type, path=tuple(condition.path)))
    return List(patterns=patterns, max_depth=op.max_depth, limit=op.limit, offset=op.offset)


def _count(name: str, value: object) -> None:
    if type(value) is not int or value < 0:
        raise Misuse(f"{name}={value!r}: give a whole number from 0.")


# --- vectors --------------------------------------------------------------------------------------


def _queries(requests: Sequence[Request]) -> list[tuple[int, str]]:
    return [
        (place, request.text)
        for place, request in enumerate(requests)
        if isinstance(request, Find) and request.text and request.ranking != "lexical"
    ]


def _asked(request: Request, vector: Embedded | None) -> Request:
    return replace(request, embedded=vector) if isinstance(request, Find) else request


def _to_embed(requests: Sequence[Request], ops: Sequence[Op]) -> dict[int, list[str]]:
    """The texts of each write that are to get vectors."""
    found = {}
    for place, (request, op) in enumerate(zip(requests, ops, strict=True)):
        if isinstance(request, Put) and request.text and isinstance(op, PutOp) and op.value is not None:
            found[place] = texts_of(op.value, request.fields)
    return found


def _flat(texts: Mapping[int, Sequence[str]]) -> list[str]:
    return [text for each in texts.values() for text in each]


def _with_vectors(
    requests: Sequence[Request], texts: Mapping[int, Sequence[str]], made: Embedded | None
) -> list[Request]:
    if made is None:
        return list(requests)
    out, start = list(requests), 0
    for place, each in texts.items():
        request = out[place]
        if isinstance(request, Put):
            part = replace(made, vectors=made.vectors[start : start + len(each)])
            out[place] = replace(request, embedded=part, unembedded=False)
        start += len(each)
    return out


def _missing(scope: Scope, after: int) -> DbOp[list[tuple[MemoryRow, list[str]]]]:
    return memories.unembedded(scope, texts_of, after=after, limit=_PAGE)


def _parted(
    found: Sequence[tuple[MemoryRow, list[str]]], made: Embedded | None, probe: Embedded
) -> list[tuple[MemoryRow, Embedded]]:
    vectors = () if made is None else made.vectors
    dims = probe.dims if made is None else made.dims
    out, start = [], 0
    for row, texts in found:
        out.append((row, replace(probe, dims=dims, vectors=vectors[start : start + len(texts)])))
        start += len(texts)
    return out


def _sure(made: Embedded | None) -> Embedded:
    if made is None:
        raise Misuse("the embedder gave no vectors; nothing was changed. Try it alone.")
    return made


# --- results --------------------------------------------------------------------------------------


def _writes(requests: Sequence[Request]) -> bool:
    return any(isinstance(request, Put) for request in requests)


def _results(outcome: Outcome) -> list[Result]:
    return [_result(each) for each in outcome.results]


def _result(found: Any) -> Result:
    if isinstance(found, MemoryRow):
        return Item(
            value=found.value(),
            key=found.key,
            namespace=found.namespace,
            created_at=from_micros(found.created_at),
            updated_at=from_micros(found.updated_at),
        )
    if isinstance(found, list) and found and isinstance(found[0][0], MemoryRow):
        return [
            SearchItem(
                namespace=row.namespace,
                key=row.key,
                value=row.value(),
                created_at=from_micros(row.created_at),
                updated_at=from_micros(row.updated_at),
                score=score,
            )
            for row, score in found
        ]
    return found  # type: ignore[no-any-return] # namespaces, an empty list, or None
