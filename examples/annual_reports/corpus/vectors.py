"""Vectors of texts without a model.

Rules of this module:

* A text's vector is made of its words, the four-letter pieces of its longer words, its Chinese characters in ones and
  twos, and the metrics it names (`metrics.py`), each hashed to two of 1,024 places with a sign. So `repurchased` is
  near `repurchases` and `revenue` near `营业收入`; what shares neither words nor a metric is not near. That is less
  than a trained model knows: pass any LangChain `Embeddings` where meaning matters.
* The same text gives the same vector in every process, on every platform.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from zlib import crc32

import numpy as np
from langchain_core.embeddings import Embeddings

from examples.annual_reports.corpus.metrics import metrics_of
from examples.annual_reports.corpus.words import asked, terms

__all__ = ["DIMENSIONS", "HashedEmbeddings", "name_of"]

DIMENSIONS = 1024
_LONG_WORD = 5
_PIECE = 4
_METRIC_WEIGHT = 4.0
_PIECE_WEIGHT = 0.4
_FIGURE_WEIGHT = 0.3


def name_of(embeddings: Embeddings) -> str:
    """What an index remembers of whoever made its vectors: the class, and the model's name where there is one."""
    model = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", None) or ""
    return f"{type(embeddings).__name__}:{model}".rstrip(":")


class HashedEmbeddings(Embeddings):
    """The offline counterpart of an embedding model; no download, about a millisecond for a passage."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector of length 1 for each text; all zeros for one without words."""
        return [_vector(Counter(terms(text)), metrics_of(text)).tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The same for a question, without the words that only ask."""
        vector: list[float] = _vector(Counter(asked(text)), metrics_of(text)).tolist()
        return vector


def _vector(words: Counter[str], metrics: frozenset[str]) -> np.ndarray:
    vector = np.zeros(DIMENSIONS)
    for word, count in words.items():
        weight = 1 + math.log(count)
        for one, two, sign_one, sign_two, share in _places(word):
            vector[one] += sign_one * share * weight
            vector[two] += sign_two * share * weight
    for metric in metrics:
        for one, two, sign_one, sign_two, _ in _places(f"metric {metric}"):
            vector[one] += sign_one * _METRIC_WEIGHT
            vector[two] += sign_two * _METRIC_WEIGHT
            break
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


@lru_cache(maxsize=131072)
def _places(word: str) -> tuple[tuple[int, int, int, int, float], ...]:
    return tuple((*_place(feature), share) for feature, share in _features(word))


def _features(word: str) -> Iterator[tuple[str, float]]:
    yield word, _FIGURE_WEIGHT if word[0].isdigit() else 1.0
    if word.isalpha() and word.isascii() and len(word) > _LONG_WORD:
        yield from ((f"~{word[at : at + _PIECE]}", _PIECE_WEIGHT) for at in range(len(word) - _PIECE + 1))
    elif not word.isascii():
        yield from ((char, _PIECE_WEIGHT) for char in word)


def _place(feature: str) -> tuple[int, int, int, int]:
    code = crc32(feature.encode())
    return code % DIMENSIONS, code // DIMENSIONS % DIMENSIONS, 1 if code >> 30 & 1 else -1, 1 if code >> 31 & 1 else -1
