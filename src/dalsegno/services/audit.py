"""The audit: what happened to actions, in a chain of its own that outlives the state.

Rules of this module:

* A row is added in the transaction of what it tells, under the thread's lock. No operation changes or removes one.
* A row says what it has to say in full, names included; no other table is needed to read it. A salt keeps its digest
  from being guessed once its text is erased.
* The first row of a thread's chain links the chain to those that began before it in the tenant, so that one that goes
  missing with its head is noticed.
* With a key the ends are sealed: then who has the database and not the key can neither take rows off the end nor add
  any. Every process that writes needs the key.
* An erasure takes the texts of a chain and adds a row that says so.
* Verifying reads every row and collects all breaks. It cannot notice by itself that all of it was made anew or put back
  to an earlier moment: for that, keep `heads` somewhere else and compare (`kept`).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from dalsegno.contracts import Op, Rows, Step
from dalsegno.core.chain import ERASED_TO, Break, Head, Link, Root, Verifier, chained, digest_of, link, sealed
from dalsegno.services.scope import Scope, ThreadRow
from dalsegno.services.sound import sound

__all__ = ["AuditVerdict", "add", "erase", "verify_all"]

_PAGE = 1000
_SALT_BYTES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerdict:
    """What a verification read and found.

    Attributes:
        rows: rows read.
        chains: threads they are of.
        erased: rows whose text was erased.
        breaks: every place where a chain does not hold.
        heads: for each thread's number the number and hash of its last row, to be kept elsewhere and compared.
    """

    rows: int
    chains: int
    erased: int
    breaks: list[Break]
    heads: dict[int, tuple[int, str]]

    @property
    def sound(self) -> bool:
        """Whether every chain holds."""
        return not self.breaks


def add(row: ThreadRow, bodies: Sequence[Mapping[str, Any]]) -> Op[None]:
    """Add rows to a thread's chain; the thread is locked."""
    found = yield Step("audit_head", row.key)
    seq, before = (found[0][0], bytes(found[0][1])) if found else (0, None)
    rows = []
    for body in bodies:
        text = orjson.dumps({**body, "salt": secrets.token_hex(_SALT_BYTES)}).decode()
        seq += 1
        digest = digest_of(text)
        before = link(row.tenant, row.thread, seq, row.now, digest, before)
        rows.append({**row.key, "seq": seq, "at": row.now, "digest": digest, "hash": before, "body": text})
    head = {**row.key, "seq": seq, "hash": before, "seal": _seal(row, row.thread, seq, before)}
    if found:
        yield (Step("audit_add", rows), Step("audit_head_save", head))
        return
    root = yield from _root(row.tenant)
    place = root.chains + 1
    linked = chained(row.tenant, place, row.thread, root.hash)
    whole = {"tenant": row.tenant, "chains": place, "hash": linked, "seal": _seal(row, 0, place, linked)}
    yield (
        Step("audit_add", rows),
        Step("audit_head_add", {**head, "place": place, "link": linked}),
        Step("audit_root_save", whole),
    )


def _seal(row: ThreadRow, thread: int, number: int, end: bytes | None) -> bytes | None:
    return None if row.seal_key is None else sealed(row.seal_key, row.tenant, thread, number, end)


def _root(tenant: int) -> Op[Root]:
    """The end of the tenant's chain of chains, locked: chains begin one after another."""
    rows = yield Step("audit_root_lock", {"tenant": tenant})
    if not rows:
        yield Step("audit_root_begin", {"tenant": tenant})
        rows = yield Step("audit_root_lock", {"tenant": tenant})
    return _read_root(rows)


def _read_root(rows: Rows) -> Root:
    return Root(rows[0][0], *(None if each is None else bytes(each) for each in rows[0][1:])) if rows else Root(0, None)


def erase(row: ThreadRow, name: str, by: str | None = None) -> Op[int]:
    """Take the texts of a thread's chain away and put that on record under another name; returns how many went.

    Args:
        row: the thread, locked.
        name: what it is called from now on.
        by: the admin who does it; nobody else is named.
    """
    found = yield Step("audit_head", row.key)
    if not found:
        return 0
    sizes = yield Step("audit_size", row.key)
    yield Step("audit_erase", row.key)
    yield from add(
        row, [{"thread": name, "move": "erase", ERASED_TO: found[0][0], **({} if by is None else {"by": by})}]
    )
    texts: int = sizes[0][0]
    return texts


@sound
def verify_all(scope: Scope, kept: Mapping[int, tuple[int, bytes]] | None = None) -> Op[AuditVerdict]:
    """Follow every chain of the tenant, and compare with what was kept elsewhere of their ends."""
    heads = {
        thread: Head(seq, bytes(hash_), place, bytes(linked), None if seal is None else bytes(seal))
        for thread, seq, hash_, place, linked, seal in (yield Step("audit_heads", {"tenant": scope.tenant}))
    }
    root = _read_root((yield Step("audit_root", {"tenant": scope.tenant})))
    verifier = Verifier(scope.tenant, kept, key=scope.seal_key)
    thread, seq = -1, 0
    while page := (yield Step("audit_page", {"tenant": scope.tenant, "thread": thread, "seq": seq, "limit": _PAGE})):
        for thread, seq, at, body, digest, hash_ in page:
            verifier.take(Link(thread, seq, at, body, bytes(digest), bytes(hash_)))
    verifier.end(heads, root)
    return AuditVerdict(
        rows=verifier.rows,
        chains=verifier.chains,
        erased=verifier.erased,
        breaks=verifier.breaks,
        heads={number: (head.seq, head.hash.hex()) for number, head in sorted(heads.items())},
    )
