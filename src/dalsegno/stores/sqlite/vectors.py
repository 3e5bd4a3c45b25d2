"""Vectors in SQLite: how they are written, and how near two of them are.

Rules of this module:

* A vector is a blob of little-endian 32-bit floats, of length 1; so the inner product of two is their cosine.
* With numpy one comparison costs a few microseconds, without it ten times that. The result is the same but for the
  last digits.
"""

from __future__ import annotations

import json
import math
import sqlite3
import struct
from functools import cache, lru_cache
from operator import mul
from typing import Any

__all__ = ["add_functions", "floats"]


def add_functions(connection: sqlite3.Connection) -> None:
    """Give a connection the functions that statements on vectors call."""
    connection.create_function("ds_floats", 1, floats, deterministic=True)
    connection.create_function("ds_nearness", 2, nearness, deterministic=True)


def floats(text: str) -> bytes:
    """A JSON array of numbers as a vector's blob."""
    numbers = json.loads(text)
    return struct.pack(f"<{len(numbers)}f", *numbers)


def nearness(vector: bytes, text: str) -> float:
    """The inner product of a stored vector and a JSON array of as many numbers."""
    numpy = _numpy()
    if numpy is None:
        return math.fsum(map(mul, struct.unpack(f"<{len(vector) // 4}f", vector), _tuple(text)))
    return float(numpy.dot(numpy.frombuffer(vector, dtype="<f4"), _array(text)))


@cache
def _numpy() -> Any:
    try:
        import numpy as np  # noqa: PLC0415 - an optional library, loaded with the first comparison
    except ImportError:
        return None
    return np


@lru_cache(maxsize=64)
def _array(text: str) -> Any:
    return _numpy().array(json.loads(text), dtype="<f4")


@lru_cache(maxsize=64)
def _tuple(text: str) -> tuple[float, ...]:
    return tuple(json.loads(text))
