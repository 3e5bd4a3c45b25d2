"""The audit: what happened to actions, in a chain of its own that outlives the state.

Rules of this module:

* A row is added in the transaction of what it tells, under the thread's lock. No operation changes or removes one.
* A row says what it has to say in full, names included; no other table is needed to read it. A salt keeps its digest
  from being guessed once its text is erased.
* Verifying reads every row and collects all breaks. It cannot notice that a thread's rows *and* its head are both gone,
  or that all of it was made anew: for that, keep `heads` somewhere else and compare.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.chain import Break, Link, Verifier, digest_of, link
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope, ThreadRow

__all__ = ["AuditVerdict", "add", "verify_all"]

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
    yield (Step("audit_add", rows), Step("audit_head_save", {**row.key, "seq": seq, "hash": before}))


@sound
def verify_all(scope: Scope) -> Op[AuditVerdict]:
    """Follow every chain of the tenant."""
    heads = {
        thread: (seq, bytes(hash_)) for thread, seq, hash_ in (yield Step("audit_heads", {"tenant": scope.tenant}))
    }
    verifier = Verifier(scope.tenant)
    thread, seq = -1, 0
    while page := (yield Step("audit_page", {"tenant": scope.tenant, "thread": thread, "seq": seq, "limit": _PAGE})):
        for thread, seq, at, body, digest, hash_ in page:
            verifier.take(Link(thread, seq, at, body, bytes(digest), bytes(hash_)))
    verifier.end(heads)
    return AuditVerdict(
        rows=verifier.rows,
        chains=verifier.chains,
        erased=verifier.erased,
        breaks=verifier.breaks,
        heads={number: (last, end.hex()) for number, (last, end) in heads.items()},
    )
