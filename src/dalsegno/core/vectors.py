"""Vectors on their way to a store.

Rules of this module:

* A vector is stored with length 1, so that the inner product of two is their cosine. One without a direction (all
  zeros) is stored as nothing.
* What is no vector is refused: another number of numbers than the others have, NaN, infinity, nothing at all. The
  caller treats that as an embedder that failed.
* Pure: no clock, no I/O.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import orjson

__all__ = ["written"]


def written(vectors: Sequence[Iterable[float]], *, expected: int) -> tuple[int, tuple[str, ...]]:
    """Vectors as JSON arrays of length 1, and how many numbers each has.

    Args:
        vectors: as an embedder gave them; any iterable of numbers each.
        expected: how many there must be.

    Raises:
        ValueError: they are no vectors, too few, or of several lengths.
    """
    plain = [[float(number) for number in vector] for vector in vectors]
    if len(plain) != expected:
        msg = f"{len(plain)} vectors for {expected} texts"
        raise ValueError(msg)
    dims = {len(vector) for vector in plain}
    if len(dims) != 1 or dims == {0}:
        msg = f"vectors of {sorted(dims)} numbers"
        raise ValueError(msg)
    return dims.pop(), tuple(map(_unit, plain))


def _unit(vector: list[float]) -> str:
    length = math.sqrt(math.fsum(number * number for number in vector))
    if not math.isfinite(length):
        msg = "a vector with NaN or infinity"
        raise ValueError(msg)
    return orjson.dumps([number / length for number in vector]).decode() if length else ""
