"""A chain of hashes over rows that are only added.

Rules of this module:

* Each row's hash covers the hash before it, the row's place and time, and the digest of its text: not the text itself,
  so that a text may be erased and the chain still holds.
* Parts are framed by their lengths, so that no two rows read the same.
* A text that is gone is an erasure only when a later row of the same chain says so; else it is a break.
* The chains of a tenant are linked to one another in the order they began, so that a chain cannot go missing whole.
* Anyone can make hashes. A seal over the end of a chain needs a key that the database does not hold.
* No clock, no I/O: a verdict is read off the rows alone, one after another, however many there are.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

__all__ = ["ERASED_TO", "Break", "Head", "Link", "Root", "Verifier", "chained", "digest_of", "framed", "link", "sealed"]

ERASED_TO: Final = "erased_to"
"""In a row's text: the number of the last row whose text an erasure took away."""


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


class Head(NamedTuple):
    """What is on record of one chain beside its rows.

    Attributes:
        seq: number of its last row.
        hash: of its last row.
        place: the how-manieth chain of the tenant it is, from 1.
        link: the tenant's chain of chains up to and with this one.
        seal: of number and hash; None where it was written without a key.
    """

    seq: int
    hash: bytes
    place: int
    link: bytes
    seal: bytes | None = None


class Root(NamedTuple):
    """What is on record of a tenant's chains: how many there are, the link of the last, and their seal."""

    chains: int
    hash: bytes | None
    seal: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """A place where a chain does not hold.

    Attributes:
        thread: number of the thread whose chain it is; 0 where that is not known any more.
        seq: the row; 0 for a chain as a whole.
        kind: `text` edited, or gone without an erasure on record (`blank`); `hash` wrong, `gap` in the numbers, `end`
            taken away or added to; `chain` missing or out of its place among the tenant's; `seal` missing or wrong;
            `kept` for one that is not what was kept elsewhere.
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


def chained(tenant: int, place: int, thread: int, before: bytes | None) -> bytes:
    """The link of a thread's chain in the tenant's chain of chains: 32 bytes."""
    numbers = (b"%d" % number for number in (tenant, place, thread))
    return hashlib.sha256(framed([b"dalsegno audit chains 1", before, *numbers])).digest()


def sealed(key: bytes, tenant: int, thread: int, number: int, end: bytes | None) -> bytes:
    """The seal of a chain's end, or under thread 0 of the chain of chains: 32 bytes."""
    numbers = (b"%d" % part for part in (tenant, thread, number))
    return hmac.digest(key, framed([b"dalsegno audit seal 1", *numbers, end]), "sha256")


class Verifier:
    """Follows the chains of a tenant row by row; after a break it goes on from what stands there.

    Attributes:
        breaks: every place where a chain does not hold, so far.
        rows: rows seen.
        erased: rows whose text was erased.
    """

    def __init__(
        self, tenant: int, kept: Mapping[int, tuple[int, bytes]] | None = None, *, key: bytes | None = None
    ) -> None:
        """Begin.

        Args:
            tenant: the tenant's number.
            kept: what an earlier verification said of each chain's end, number and hash.
            key: of the seals; None does not look at them.
        """
        self._tenant = tenant
        self._key = key
        self._kept = kept or {}
        self._ends: dict[int, tuple[int, bytes]] = {}
        self._blank: dict[int, int] = {}
        self._erased_to: dict[int, int] = {}
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
            self._blank[row.thread] = row.seq
        elif (told := digest_of(row.body)) != row.digest:
            self._found(row, "text", row.digest.hex(), told.hex())
        elif (last_erased := _erased_to(row.body)) is not None:
            self._erased_to[row.thread] = last_erased
        if (kept := self._kept.get(row.thread)) is not None and kept[0] == row.seq and kept[1] != row.hash:
            self._found(row, "kept", kept[1].hex(), row.hash.hex())
        self._ends[row.thread] = (row.seq, row.hash)
        self.rows += 1

    def end(self, heads: Mapping[int, Head], root: Root) -> None:
        """Compare with what should be the last row of each thread, and with the chain of the chains."""
        for thread in sorted(self._ends.keys() | heads.keys()):
            end, head = self._ends.get(thread), heads.get(thread)
            if head is None or end != (head.seq, head.hash):
                seq = max(end[0] if end else 0, head.seq if head else 0)
                self._break(thread, seq, "end", _shown(head), _shown(end))
        for thread, blank in sorted(self._blank.items()):
            if blank > self._erased_to.get(thread, 0):
                self._break(thread, blank, "blank", "its text, or an erasure on record", "neither")
        for thread, (seq, _) in sorted(self._kept.items()):
            last = self._ends.get(thread, (0, b""))[0]
            if last < seq:
                self._break(thread, seq, "kept", f"row {seq}", f"row {last}" if last else "nothing")
        self._chains(heads, root)
        if self._key is not None:
            self._seals(self._key, heads, root)

    def _seals(self, key: bytes, heads: Mapping[int, Head], root: Root) -> None:
        ends = [(thread, head.seq, head.hash, head.seal) for thread, head in sorted(heads.items())]
        for thread, number, end, seal in [*ends, (0, root.chains, root.hash, root.seal)]:
            real = sealed(key, self._tenant, thread, number, end)
            if not hmac.compare_digest(real, seal or b"") and (thread or heads or root.chains):
                self._break(thread, number if thread else 0, "seal", real.hex(), seal.hex() if seal else "none")

    def _chains(self, heads: Mapping[int, Head], root: Root) -> None:
        place, before = 0, None
        for thread, head in sorted(heads.items(), key=lambda each: (each[1].place, each[0])):
            if head.place != place + 1:
                missing = f"chain {place + 1} of the tenant"
                self._break(0, 0, "chain", missing, f"chain {head.place}, of thread {thread}")
            elif chained(self._tenant, head.place, thread, before) != head.link:
                self._break(thread, 0, "chain", f"a link to chain {place}", head.link.hex())
            place, before = head.place, head.link
        if (place, before) != (root.chains, root.hash):
            expected = f"{root.chains} chains, the last {(root.hash or b'').hex()}"
            self._break(0, 0, "chain", expected, f"{place} chains, the last {(before or b'').hex()}")

    def _break(self, thread: int, seq: int, kind: str, expected: str, found: str) -> None:
        self.breaks.append(Break(thread=thread, seq=seq, kind=kind, expected=expected, found=found))

    def _found(self, row: Link, kind: str, expected: str, found: str) -> None:
        self._break(row.thread, row.seq, kind, expected, found)


def _shown(end: Head | tuple[int, bytes] | None) -> str:
    return "nothing" if end is None else f"row {end[0]}, {end[1].hex()}"


def _erased_to(body: str) -> int | None:
    """What a row says of an erasure, if that is what it tells."""
    if ERASED_TO not in body:
        return None
    told = json.loads(body)
    number = told.get(ERASED_TO) if isinstance(told, dict) else None
    return number if isinstance(number, int) else None
