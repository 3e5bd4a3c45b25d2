"""Candidates of a company by words and by vectors.

Rules of this module:

* BM25 with k1 = 1.2 and b = 0.75. How rare a term is, is counted among the company's passages, all years together.
* Vectors are compared by cosine, all of them: a company has thousands of passages, not millions.
* Rankings are fused by reciprocal ranks, 1 / (60 + rank) (Cormack, Clarke and Buettcher 2009). Equals keep the order of
  the documents, so that a search gives the same twice.
"""

from __future__ import annotations

import sqlite3
import sys
from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from examples.annual_reports.corpus.words import asked

__all__ = ["Matrix", "by_vector", "by_words", "fused", "postings_of"]

_K1, _B = 1.2, 0.75
_RRF = 60


def postings_of(postings: array[int]) -> bytes:
    """Passage, count and size, again and again, as they are stored."""
    return _little(postings).tobytes()


def _little(postings: array[int]) -> array[int]:
    if sys.byteorder == "big":
        postings.byteswap()
    return postings


def by_words(connection: sqlite3.Connection, company: int, query: str, allowed: set[int]) -> list[int]:
    """The passages of the allowed documents that hold a term of the query, best first."""
    texts, mean = connection.execute(
        "SELECT count(*), coalesce(avg(p.size), 1) FROM passages p JOIN documents d ON d.id = p.document "
        "WHERE d.company = ?",
        (company,),
    ).fetchone()
    scores: dict[int, float] = defaultdict(float)
    for term in asked(query):
        lists = connection.execute(
            "SELECT document, postings FROM words WHERE company = ? AND term = ?", (company, term)
        ).fetchall()
        held = sum(len(postings) // 12 for _, postings in lists)
        weight = log(1 + (texts - held + 0.5) / (held + 0.5))
        for document, postings in lists:
            if document in allowed:
                numbers = _little(array("I", postings))
                for passage, count, size in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
                    scores[passage] += weight * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * size / mean))
    return sorted(scores, key=lambda passage: (-scores[passage], passage))


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A company's vectors: document, passage and row, side by side."""

    documents: np.ndarray
    passages: np.ndarray
    rows: np.ndarray

    @classmethod
    def read(cls, connection: sqlite3.Connection, company: int) -> Matrix:
        """All of them."""
        found: list[Any] = connection.execute(
            "SELECT p.document, p.number, p.vector FROM passages p JOIN documents d ON d.id = p.document "
            "WHERE d.company = ? AND p.vector IS NOT NULL ORDER BY p.number",
            (company,),
        ).fetchall()
        numbers = np.frombuffer(b"".join(row[2] for row in found), dtype="<f2").astype(np.float32)
        return cls(
            documents=np.array([row[0] for row in found], dtype=np.int64),
            passages=np.array([row[1] for row in found], dtype=np.int64),
            rows=numbers.reshape(len(found), -1) if found else numbers.reshape(0, 0),
        )


def by_vector(matrix: Matrix, vector: Sequence[float], allowed: set[int]) -> list[int]:
    """The passages of the allowed documents that are near a vector, nearest first."""
    asked_for = np.asarray(vector, dtype=np.float32)
    if not len(matrix.rows) or not asked_for.any():
        return []
    near = matrix.rows @ asked_for
    near[~np.isin(matrix.documents, list(allowed))] = 0
    order = np.argsort(-near, kind="stable")
    return [int(matrix.passages[at]) for at in order if near[at] > 0]


def fused(rankings: Sequence[Sequence[int]]) -> list[tuple[int, float]]:
    """Several rankings as one; the score is the share of what leading all of them would give."""
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, passage in enumerate(ranking, 1):
            scores[passage] += 1 / (_RRF + rank)
    most = len(rankings) / (_RRF + 1)
    return [(number, scores[number] / most) for number in sorted(scores, key=lambda number: (-scores[number], number))]
