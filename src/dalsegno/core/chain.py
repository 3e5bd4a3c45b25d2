"""A chain of hashes over rows that are only added.

Rules of this module:

* Each row's hash covers the hash before it, the row's place and time, and the digest of its text: not the text itself,
  so that a text may be erased and the chain still holds.
* Parts are framed by their lengths, so that no two rows read the same.
* No clock, no I/O: a verdict is read off the rows alone, one after another, however many there are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Break", "Link", "Verifier", "digest_of", "framed", "link"]


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


class Verifier:
    """Follows the chains of a tenant row by row; after a break it goes on from what stands there.

    Attributes:
        breaks: every place where a chain does not hold, so far.
        rows: rows seen.
        erased: rows whose text was erased.
    """

    def __init__(self, tenant: int) -> None:
        """Take the tenant's number."""
        self._tenant = tenant
        self._ends: dict[int, tuple[int, bytes]] = {}
        self.breaks: list[Break] = []
        self.rows = 0
        self.erased = 0

    @property
    def chains(self) -> int:
        """How many threads the rows are of."""
        return len(self._ends)

    def take(self, row: Link) -> None:
        """See one row; those of a thread come in the order of their numbers."""
        last, before = self._ends.get(row.thread, (0, None))
        if row.seq != last + 1:
            self._found(row, "gap", str(last + 1), str(row.seq))
        elif (real := link(self._tenant, row.thread, row.seq, row.at, row.digest, before)) != row.hash:
            self._found(row, "hash", real.hex(), row.hash.hex())
        if row.body is None:
            self.erased += 1
        elif (told := digest_of(row.body)) != row.digest:
            self._found(row, "text", row.digest.hex(), told.hex())
        self._ends[row.thread] = (row.seq, row.hash)
        self.rows += 1

    def end(self, heads: Mapping[int, tuple[int, bytes]]) -> None:
        """Compare with what should be the last row of each thread: its number and hash."""
        for thread in sorted(self._ends.keys() | heads.keys()):
            end, head = self._ends.get(thread), heads.get(thread)
            if end != head:
                seq = max(end[0] if end else 0, head[0] if head else 0)
                broken = Break(thread=thread, seq=seq, kind="end", expected=_shown(head), found=_shown(end))
                self.breaks.append(broken)

    def _found(self, row: Link, kind: str, expected: str, found: str) -> None:
        self.breaks.append(Break(thread=row.thread, seq=row.seq, kind=kind, expected=expected, found=found))


def _shown(end: tuple[int, bytes] | None) -> str:
    return "nothing" if end is None else f"row {end[0]}, {end[1].hex()}"
