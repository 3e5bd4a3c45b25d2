"""A chain of hashes over rows that are only added.

Rules of this module:

* Each row's hash covers the hash before it, the row's place and time, and the digest of its text: not the text itself,
  so that a text may be erased and the chain still holds.
* Parts are framed by their lengths, so that no two rows read the same.
* Pure values: no clock, no I/O. What a verdict says is read off the rows alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Break", "Link", "digest_of", "framed", "link", "verify"]


def framed(parts: Iterable[bytes | None]) -> bytes:
    """Parts as one text that no other list of parts gives."""
    return b"".join(b"-" if part is None else b"+%d:" % len(part) + part for part in parts)


class Link(NamedTuple):
    """One row of a chain.

    Attributes:
        thread: number of the thread whose chain it is.
        seq: place in the chain, from 1.
        at: time in microseconds.
        body: the row's text; None when it was erased.
        digest: SHA-256 of the text.
        hash: the chain up to and with this row.
    """

    thread: int
    seq: int
    at: int
    body: str | None
    digest: bytes
    hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """A place where a chain does not hold.

    Attributes:
        thread: number of the thread whose chain it is.
        seq: the row.
        kind: `text` edited, `hash` wrong, `gap` in the numbers, `end` taken away or added to.
        expected: what should stand there.
        found: what does.
    """

    thread: int
    seq: int
    kind: str
    expected: str
    found: str


def digest_of(body: str) -> bytes:
    """The digest of a row's text."""
    return hashlib.sha256(body.encode()).digest()


def link(tenant: int, thread: int, seq: int, at: int, digest: bytes, before: bytes | None) -> bytes:
    """The hash of a row: 32 bytes."""
    numbers = (b"%d" % number for number in (tenant, thread, seq, at))
    return hashlib.sha256(framed([b"dalsegno audit 1", before, *numbers, digest])).digest()


def verify(tenant: int, rows: Iterable[Link], heads: Mapping[int, tuple[int, bytes]]) -> Iterator[Break]:
    """Where the chains of a tenant do not hold.

    Args:
        tenant: the tenant's number.
        rows: all rows, each thread's together and in the order of their numbers.
        heads: for each thread the number and hash of its last row.

    Yields:
        Every break; after one, a chain is followed on from what stands there, so that one edit is one break.
    """
    ends: dict[int, tuple[int, bytes]] = {}
    for row in rows:
        last, before = ends.get(row.thread, (0, None))
        if row.seq != last + 1:
            yield Break(thread=row.thread, seq=row.seq, kind="gap", expected=str(last + 1), found=str(row.seq))
        elif (real := link(tenant, row.thread, row.seq, row.at, row.digest, before)) != row.hash:
            yield Break(thread=row.thread, seq=row.seq, kind="hash", expected=real.hex(), found=row.hash.hex())
        if row.body is not None and (told := digest_of(row.body)) != row.digest:
            yield Break(thread=row.thread, seq=row.seq, kind="text", expected=row.digest.hex(), found=told.hex())
        ends[row.thread] = (row.seq, row.hash)
    for thread in sorted(ends.keys() | heads.keys()):
        end, head = ends.get(thread), heads.get(thread)
        if end != head:
            seq = max(end[0] if end else 0, head[0] if head else 0)
            yield Break(thread=thread, seq=seq, kind="end", expected=_shown(head), found=_shown(end))


def _shown(end: tuple[int, bytes] | None) -> str:
    return "nothing" if end is None else f"row {end[0]}, {end[1].hex()}"
