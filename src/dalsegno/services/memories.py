"""Items of long-term memory: a batch of reads and writes in one transaction.

Rules of this module:

* All reads of a batch see what stood there before it; of several writes to one key the last counts. A write that
  replaces keeps the item's number and the time it was made, unless the item had expired.
* Times are the database's, and each write has a later one than the last before it, so that "the newest first" is an
  order.
* Every write sweeps a few expired memories away; `sweep` takes all.
* Vectors come from one embedder, whose name and dimension are on record for the tenant: vectors of another are refused
  before anything is written. A memory whose vectors could not be made is marked, found by its words meanwhile, and
  filled by reindexing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dalsegno.contracts import Op, Step
from dalsegno.core.filters import matches
from dalsegno.core.namespaces import Namespace, Pattern, listed, pack, range_of, unpack
from dalsegno.core.ranking import size_of
from dalsegno.core.search import signature
from dalsegno.core.tree import Json, dumps
from dalsegno.errors import EmbedderChanged
from dalsegno.services.ids import pack_name
from dalsegno.services.loading import json_text
from dalsegno.services.memory_rows import MemoryRow, Texts, Within, owner_of, require_tenant
from dalsegno.services.memory_search import Hit, Ranking, search
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope

__all__ = [
    "Embedded",
    "Find",
    "Get",
    "List",
    "Outcome",
    "Put",
    "Request",
    "batch",
    "drop",
    "fill",
    "put_row",
    "renew",
    "sweep",
    "sweep_all",
    "tick",
    "touch",
    "touch_used",
    "unembedded",
]

_SWEPT = 50
"""How many expired memories a write takes along."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The vectors of a text or several.

    Attributes:
        embedder: name of the embedder.
        dims: how many numbers a vector has.
        vectors: JSON arrays of length-1 vectors; empty where a text has no direction.
    """

    embedder: str
    dims: int
    vectors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Get:
    """Read one item; `refresh` prolongs its time to live."""

    namespace: Namespace
    key: str
    refresh: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """Search at and under a namespace; see `memory_search.search`."""

    prefix: Namespace
    wanted: Mapping[str, Any] | None = None
    limit: int = 10
    offset: int = 0
    text: str | None = None
    embedded: Embedded | None = None
    ranking: Ranking = "hybrid"
    refresh: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class List:
    """List namespaces."""

    patterns: Sequence[Pattern] = ()
    max_depth: int | None = None
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Write or delete one item.

    Attributes:
        namespace, key: where.
        tree: the encoded value; None deletes.
        ttl: microseconds it lives after it was last used; None for ever.
        fields: JSON of the paths it is searched by; None for the whole of it.
        text: what it is searched by; "" for nothing.
        embedded: its vectors; None where there are none.
        unembedded: whether it should have vectors and has not.
    """

    namespace: Namespace
    key: str
    tree: Json
    ttl: int | None = None
    fields: str | None = None
    text: str = ""
    embedded: Embedded | None = None
    unembedded: bool = False


Request: TypeAlias = "Get | Find | List | Put"


@dataclass(slots=True)
class Outcome:
    """What a batch gave: a result for each request, and which memories want their time to live renewed."""

    results: list[Any]
    used: set[int] = field(default_factory=set)


@sound
def batch(scope: Scope, requests: Sequence[Request], texts: Texts) -> Op[Outcome]:
    """Run requests; see the module's rules. Needs a write transaction when a `Put` is among them.

    Returns:
        For a `Get` a `MemoryRow` or None; for a `Find` a list of `Hit`; for a `List` namespaces; for a `Put` None.

    Raises:
        EmbedderChanged: vectors of another embedder than the stored ones.
    """
    owner = owner_of(scope.user)
    outcome = Outcome([None] * len(requests))
    clock = yield Step("now", {})
    now: int = clock[0][0]
    within = Within(tenant=scope.tenant, owner=owner, shared=owner, prefix=(), now=now)
    for place, request in enumerate(requests):
        if isinstance(request, Get):
            outcome.results[place] = yield from _get(within, request, outcome)
        elif isinstance(request, Find):
            outcome.results[place] = yield from _find(within, request, texts, outcome)
        elif isinstance(request, List):
            outcome.results[place] = yield from _list(within, request)
    puts = {(put.namespace, put.key): put for put in requests if isinstance(put, Put)}
    if puts:
        require_tenant(scope)
        yield from _write(scope.tenant, owner, list(puts.values()))
        if outcome.used:
            yield touch(scope.tenant, outcome.used, now)
            outcome.used = set()
    return outcome


def touch_used(scope: Scope, used: set[int]) -> Op[None]:
    """Renew the time to live of some memories."""
    clock = yield Step("now", {})
    yield touch(scope.tenant, used, clock[0][0])


def touch(tenant: int, used: set[int], now: int) -> Step:
    """The step that renews the time to live of some memories."""
    return Step("memories_touch", {"tenant": tenant, "memories": json_text(sorted(used)), "now": now})


def _get(within: Within, request: Get, outcome: Outcome) -> Op[MemoryRow | None]:
    rows = yield Step(
        "memory_get",
        {
            "tenant": within.tenant,
            "owner": within.owner,
            "namespace": pack(request.namespace),
            "key": pack_name(request.key),
            "now": within.now,
        },
    )
    if not rows:
        return None
    row = MemoryRow(*rows[0])
    if request.refresh and row.ttl is not None:
        outcome.used.add(row.memory)
    return row


def _find(within: Within, request: Find, texts: Texts, outcome: Outcome) -> Op[list[Hit]]:
    seen = Within(tenant=within.tenant, owner=within.owner, shared=within.shared, prefix=request.prefix, now=within.now)
    vector = yield from vector_for(within.tenant, request.embedded)
    hits = yield from search(
        seen,
        text=request.text,
        vector=vector,
        ranking=request.ranking,
        accept=lambda row: matches(row.value(), request.wanted),
        texts=texts,
        limit=request.limit,
        offset=request.offset,
    )
    if request.refresh:
        outcome.used |= {row.memory for row, _ in hits if row.ttl is not None}
    return hits


def _list(within: Within, request: List) -> Op[list[Namespace]]:
    fixed: list[str] = []
    for pattern in request.patterns:
        if pattern.where == "prefix" and "*" not in pattern.path and len(pattern.path) > len(fixed):
            fixed = list(pattern.path)
    texts = range_of(tuple(fixed))
    rows = yield Step(
        "memories_namespaces",
        {
            "tenant": within.tenant,
            "owner": within.owner,
            "exact": texts.exact,
            "low": texts.low,
            "high": texts.high,
            "now": within.now,
        },
    )
    found = listed((unpack(text) for (text,) in rows), request.patterns, request.max_depth)
    return found[request.offset : request.offset + request.limit]


# --- writing --------------------------------------------------------------------------------------


def tick(tenant: int, owner: str) -> Op[tuple[int, int]]:
    """The database's time, and the time of a write that comes after all before it."""
    rows = yield Step("memory_clock", {"tenant": tenant, "owner": owner})
    now, newest = rows[0]
    return now, max(now, (newest or 0) + 1)


def _write(tenant: int, owner: str, puts: Sequence[Put]) -> Op[None]:
    now, next_at = yield from tick(tenant, owner)
    yield from sweep(tenant, now, _SWEPT)
    for embedded in [put.embedded for put in puts if put.embedded is not None and put.embedded.vectors]:
        yield from agree(tenant, embedded, first=True)
    order = sorted(enumerate(puts), key=lambda pair: (pack(pair[1].namespace), pair[1].key))
    for place, put in order:  # in one order for all writers, so that no two wait for each other
        if put.tree is None:
            yield from _delete(tenant, owner, put)
        else:
            yield from put_row(tenant, owner, put, now=now, updated_at=next_at + place)


def put_row(
    tenant: int,
    owner: str,
    put: Put,
    *,
    now: int,
    updated_at: int,
    subject: str | None = None,
    attribute: str | None = None,
    valid_from: int | None = None,
    valid_to: int | None = None,
) -> Op[int]:
    """Write one memory with its vectors; returns its number."""
    rows = yield Step(
        "memory_put",
        {
            "tenant": tenant,
            "owner": owner,
            "namespace": pack(put.namespace),
            "key": pack_name(put.key),
            "created_at": updated_at,
            "updated_at": updated_at,
            "expires_at": None if put.ttl is None else now + put.ttl,
            "ttl": put.ttl,
            "subject": subject,
            "attribute": attribute,
            "valid_from": valid_from,
            "valid_to": valid_to,
            "unembedded": int(put.unembedded),
            "size": size_of(put.text),
            "terms": signature(put.text),
            "fields": put.fields,
            "body": dumps(put.tree).decode(),
        },
    )
    number: int = rows[0][0]
    yield Step("vectors_drop", {"tenant": tenant, "memories": json_text([number])})
    yield from _add_vectors(tenant, number, put.embedded)
    return number


def _add_vectors(tenant: int, number: int, embedded: Embedded | None) -> Op[None]:
    vectors = [] if embedded is None else [vector for vector in embedded.vectors if vector]
    if vectors:
        yield Step(
            "vector_add",
            [
                {"tenant": tenant, "memory": number, "part": part, "vector": vector}
                for part, vector in enumerate(vectors)
            ],
        )


def _delete(tenant: int, owner: str, put: Put) -> Op[None]:
    where = {"tenant": tenant, "owner": owner, "namespace": pack(put.namespace), "key": pack_name(put.key)}
    rows = yield Step("memory_find", where)
    yield from drop(tenant, [number for (number,) in rows])


def drop(tenant: int, numbers: Sequence[int]) -> Op[int]:
    """Delete memories with everything that hangs on them; returns how many."""
    if not numbers:
        return 0
    params = {"tenant": tenant, "memories": json_text(sorted(numbers))}
    yield (Step("vectors_drop", params), Step("evidence_drop", params), Step("memories_drop", params))
    return len(numbers)


def sweep_all(scope: Scope) -> Op[int]:
    """Delete everything of a tenant that has expired; returns how many."""
    clock = yield Step("now", {})
    return (yield from sweep(scope.tenant, clock[0][0], 2**62))


def sweep(tenant: int, now: int, most: int) -> Op[int]:
    """Delete memories that have expired, the longest first; returns how many."""
    rows = yield Step("memories_expired", {"tenant": tenant, "now": now, "limit": most})
    return (yield from drop(tenant, [number for (number,) in rows]))


# --- embedders ------------------------------------------------------------------------------------


def agree(tenant: int, embedded: Embedded, *, first: bool = False) -> Op[bool]:
    """Make sure that vectors are of the tenant's embedder; with `first`, put it on record if there is none.

    Returns:
        Whether the tenant has vectors of this embedder.

    Raises:
        EmbedderChanged: it has those of another.
    """
    rows = yield Step("embedder_get", {"tenant": tenant})
    if not rows and first:
        yield Step("embedder_add", {"tenant": tenant, "name": embedded.embedder, "dims": embedded.dims})
        rows = yield Step("embedder_get", {"tenant": tenant})
    if rows and tuple(rows[0]) != (embedded.embedder, embedded.dims):
        raise EmbedderChanged(stored=tuple(rows[0]), given=(embedded.embedder, embedded.dims))
    return bool(rows)


def vector_for(tenant: int, embedded: Embedded | None) -> Op[str | None]:
    """The vector to search by, if there is one and there are any like it."""
    if embedded is None or not embedded.vectors or not embedded.vectors[0]:
        return None
    there = yield from agree(tenant, embedded)
    return embedded.vectors[0] if there else None


def renew(scope: Scope, embedded: Embedded) -> Op[None]:
    """Put an embedder on record; if another was, drop every vector and mark what had or should have had some."""
    require_tenant(scope)
    rows = yield Step("embedder_get", {"tenant": scope.tenant})
    if rows and tuple(rows[0]) == (embedded.embedder, embedded.dims):
        return
    given = {"tenant": scope.tenant, "name": embedded.embedder, "dims": embedded.dims}
    named = {"tenant": scope.tenant}
    yield (Step("embedder_set", given), Step("vectors_wipe", named), Step("memories_unembed", named))


@sound
def unembedded(scope: Scope, texts: Texts, *, after: int, limit: int) -> Op[list[tuple[MemoryRow, list[str]]]]:
    """Memories that lack their vectors, by number, each with its texts."""
    rows = yield Step("memories_unembedded", {"tenant": scope.tenant, "after": after, "limit": limit})
    parsed = [MemoryRow(*columns) for columns in rows]
    return [(row, row.texts(texts)) for row in parsed]


def fill(scope: Scope, made: Sequence[tuple[MemoryRow, Embedded]]) -> Op[int]:
    """Give memories their vectors, unless they changed meanwhile; returns how many got them."""
    filled = 0
    for row, embedded in made:
        yield from agree(scope.tenant, embedded, first=True)
        same = {"tenant": scope.tenant, "memory": row.memory, "updated_at": row.updated_at}
        if (yield Step("memory_embedded", same)):
            yield Step("vectors_drop", {"tenant": scope.tenant, "memories": json_text([row.memory])})
            yield from _add_vectors(scope.tenant, row.memory, embedded)
            filled += 1
    return filled
