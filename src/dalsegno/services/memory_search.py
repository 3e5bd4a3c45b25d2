"""Finding memories: the newest, by words, by vectors, or by both.

Rules of this module:

* Without a query: the last written first. With one: best first, and nothing that has neither a term of the query nor a
  vector to compare.
* By words: signatures give the candidates in SQL, and in how many memories each term stands; the best of them by the
  weight of their terms are read and scored by BM25 (`core/ranking.py`).
* By vectors: exact nearest by cosine, in SQL; an item with several vectors counts by its nearest.
* By both: reciprocal ranks of the two, so that neither kind of score has to mean anything beside the other.
* A filter is applied to values, not to the first so many: more are read until the page is full or nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dalsegno.contracts import Op, Step
from dalsegno.core.ranking import Collection, Scorer, fused
from dalsegno.core.search import ALWAYS, Query, code_of, query
from dalsegno.services.memory_rows import MemoryRow, Texts, Within, memories_in

__all__ = ["Hit", "Ranking", "search"]

Ranking: TypeAlias = Literal["hybrid", "lexical", "vector"]
Hit: TypeAlias = tuple[MemoryRow, "float | None"]
Accept: TypeAlias = Callable[[MemoryRow], bool]

_SLOTS = 32
_PAGE = 200
_CANDIDATES = 20_000
_DEPTH = 100
"""How far down a ranking is read that is fused with another."""
_END = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    within: Within
    accept: Accept
    texts: Texts
    most: int


def search(
    within: Within,
    *,
    text: str | None,
    vector: str | None,
    ranking: Ranking,
    accept: Accept,
    texts: Texts,
    limit: int,
    offset: int,
) -> Op[list[Hit]]:
    """A page of memories.

    Args:
        within: which may be seen.
        text: the query; None or blank lists the newest.
        vector: its vector as JSON, of length 1; None where there is none.
        ranking: what counts, where there is a vector.
        accept: whether a row is wanted at all.
        texts: what a row is searched by.
        limit: how many of the ranking to return at most.
        offset: how many of the best to pass over.
    """
    if not text or limit == 0:
        return (yield from _newest(within, accept, limit, offset)) if limit else []
    most = offset + limit
    if vector is None or ranking == "lexical":
        hits = yield from _by_words(_Asked(within=within, accept=accept, texts=texts, most=most), query(text))
    elif ranking == "vector":
        hits = yield from _by_vector(_Asked(within=within, accept=accept, texts=texts, most=most), vector)
    else:
        asked = _Asked(within=within, accept=accept, texts=texts, most=max(most, _DEPTH))
        near = yield from _by_vector(asked, vector)
        worded = yield from _by_words(asked, query(text))
        rows = {row.memory: row for row, _ in (*near, *worded)}
        ranks = fused([[row.memory for row, _ in worded], [row.memory for row, _ in near]])
        hits = [(rows[number], score) for number, score in ranks]
    return hits[offset:most]


def _newest(within: Within, accept: Accept, limit: int, offset: int) -> Op[list[Hit]]:
    found: list[Hit] = []
    before, below = _END, _END
    while len(found) < offset + limit:
        page = min(max(offset + limit - len(found), 20), _PAGE)
        rows = yield Step("memories_page", {**within.params, "before": before, "below": below, "limit": page})
        parsed = [MemoryRow(*columns) for columns in rows]
        found += [(row, None) for row in parsed if accept(row)]
        if len(rows) < page:
            break
        before, below = parsed[-1].updated_at, parsed[-1].memory
    return found[offset : offset + limit]


# --- by words -------------------------------------------------------------------------------------


def _by_words(asked: _Asked, wanted: Query) -> Op[list[Hit]]:
    if wanted.blank:
        return []
    codes = {word: code for word in wanted.words if (code := code_of(word)) is not None}
    slots = list(dict.fromkeys(codes.values()))[:_SLOTS]
    if slots:
        slots += [slots[0]] * (_SLOTS - len(slots))
        named = {f"t{number}": code for number, code in enumerate(slots)}
        rows = yield Step("memories_matching", {**asked.within.params, **named, "limit": _CANDIDATES})
        held = [(number, _held(bytes(terms), codes)) for number, terms in rows]
    else:  # signs and lone characters stand in no signature
        everything = yield from _newest(asked.within, lambda row: True, _CANDIDATES, 0)
        held = [(row.memory, frozenset()) for row, _ in everything]
    counted = yield Step("memories_count", asked.within.params)
    texts, size = counted[0][0], int(counted[0][1])
    collection = Collection(
        texts=texts,
        mean_size=size / texts if texts else 1.0,
        holding={word: sum(word in words for _, words in held) for word in codes},
    )
    scorer = Scorer(query=wanted, collection=collection)
    return (yield from _scored(asked, scorer, held))


def _held(terms: bytes, codes: dict[str, bytes]) -> frozenset[str]:
    """Which words a signature may hold; codes stand at even places."""
    if terms == ALWAYS:
        return frozenset(codes)
    there = {terms[place : place + 2] for place in range(0, len(terms), 2)}
    return frozenset(word for word, code in codes.items() if code in there)


def _scored(asked: _Asked, scorer: Scorer, held: Sequence[tuple[int, frozenset[str]]]) -> Op[list[Hit]]:
    weights = {word: scorer.collection.weight(word) for word in scorer.query.words}
    order = sorted(held, key=lambda pair: -sum(weights[word] for word in pair[1]))
    hits: list[tuple[MemoryRow, float]] = []
    for chunk in _chunks([number for number, _ in order], max(_PAGE, 2 * asked.most)):
        for row in (yield from memories_in(asked.within.tenant, chunk)):
            score = scorer.score("\n".join(row.texts(asked.texts)))
            if score > 0 and asked.accept(row):
                hits.append((row, score))
        if len(hits) >= asked.most:
            break
    ranked = sorted(hits, key=lambda hit: (-hit[1], -hit[0].updated_at, -hit[0].memory))
    return list(ranked[: asked.most])


# --- by vectors -----------------------------------------------------------------------------------


def _by_vector(asked: _Asked, vector: str) -> Op[list[Hit]]:
    extension = yield Step("vector_extension", {})
    name = "vectors_near_indexed" if extension[0][0] else "vectors_near"
    wanted = asked.most
    while True:
        rows = yield Step(name, {**asked.within.params, "query": vector, "limit": wanted})
        nearness = {number: float(found) for number, found in rows}
        there = yield from memories_in(asked.within.tenant, list(nearness))
        hits: list[Hit] = [(row, nearness[row.memory]) for row in there if asked.accept(row)]
        if len(hits) >= asked.most or len(rows) < wanted:
            return hits[: asked.most]
        wanted *= 4


def _chunks(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(numbers), size):
        yield numbers[start : start + size]
