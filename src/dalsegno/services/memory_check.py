"""Re-reading long-term memory to prove that it is sound.

Rules of this module:

* A check reads every row and collects all findings; it never stops at the first and never mends.
* What it proves: every body is an object; names can be read; what search finds an item by is what its text gives; a
  fact ends after it begins; every vector and every piece of evidence belongs to a memory, every vector has its
  embedder's dimension, every piece of evidence its thread.
"""

from __future__ import annotations

from dalsegno.contracts import Op, Step
from dalsegno.core.ranking import size_of
from dalsegno.core.search import signature
from dalsegno.errors import DalsegnoError
from dalsegno.services.inspect import Finding
from dalsegno.services.memory_rows import MemoryRow, Texts, owner_of
from dalsegno.services.sound import BROKEN
from dalsegno.services.threads_row import Scope

__all__ = ["check_memories"]

_PAGE = 500


def check_memories(scope: Scope, texts: Texts) -> Op[list[Finding]]:
    """Everything that should not be in a tenant's memories, or in a user's; see the module's rules."""
    findings: list[Finding] = []
    owner, after = (None if scope.user is None else owner_of(scope.user)), -1
    while rows := (
        yield Step("memories_all", {"tenant": scope.tenant, "owner": owner, "after": after, "limit": _PAGE})
    ):
        for *columns, size, terms in rows:
            findings += _row(MemoryRow(*columns), size, bytes(terms), texts)
            after = columns[0]
    if scope.user is None:
        for memory, part, length, dims, there in (yield Step("vectors_loose", {"tenant": scope.tenant})):
            place = f"vector {part} of memory {memory}"
            if there is None:
                findings.append(_finding("orphan", place, "its memory", "nothing"))
            else:
                findings.append(_finding("digest", place, f"{dims} numbers", str(length)))
        for memory, thread, seq, there, _ in (yield Step("evidence_loose", {"tenant": scope.tenant})):
            lacks = "its memory" if there is None else f"thread number {thread}"
            findings.append(_finding("orphan", f"evidence #{seq} of memory {memory}", lacks, "nothing"))
    return findings


def _row(row: MemoryRow, size: int, terms: bytes, texts: Texts) -> list[Finding]:
    place = f"memory {row.memory}"
    try:
        _ = row.namespace, row.key
        found = "\n".join(row.texts(texts))
    except (DalsegnoError, *BROKEN) as error:
        return [_finding("json", place, "an object with a name", f"{type(error).__name__}: {error}")]
    findings = []
    if size != size_of(found):
        findings.append(_finding("counter", place, f"{size_of(found)} terms", str(size)))
    if signature(found) != terms:
        findings.append(_finding("digest", place, "the signature of its text", "another"))
    if row.is_fact and (row.valid_from is None or (row.valid_to is not None and row.valid_to < row.valid_from)):
        findings.append(_finding("gap", place, "a time from which on it holds", f"{row.valid_from}-{row.valid_to}"))
    return findings


def _finding(kind: str, place: str, expected: str, found: str) -> Finding:
    return Finding(thread_id="", kind=kind, place=place, expected=expected[:200], found=found[:200])
