"""Re-reading the answer cache to prove that it is sound.

Rules of this module:

* A check reads every row and collects all findings; it never stops at the first and never mends.
* What it proves: every body is an object with a question and an answer; names can be read; the key an answer is
  found by and the signature it is looked for by are those of its question, unless it was kept under other rules of
  wording, whose keys are found by nobody; every source, use and link belongs to an
  answer, every vector to a calibration of its length.
"""

from __future__ import annotations

from dalsegno.contracts import Op, Step
from dalsegno.core.answers.forms import RULES, form_of, key_of
from dalsegno.core.search import signature
from dalsegno.errors import DalsegnoError
from dalsegno.services.answer_rows import AnswerRow, rows_in, searched
from dalsegno.services.ids import unpack_name
from dalsegno.services.inspect import Finding
from dalsegno.services.memory_rows import owner_of
from dalsegno.services.sound import BROKEN
from dalsegno.services.threads_row import Scope

__all__ = ["check_answers"]

_PAGE = 500


def check_answers(scope: Scope) -> Op[list[Finding]]:
    """Everything that should not be in a tenant's answers, or in those a user sees; see the module's rules."""
    findings: list[Finding] = []
    owner, after = (None if scope.user is None else owner_of(scope.user)), 0
    asked = {"tenant": scope.tenant, "owner": owner, "scope": None, "limit": _PAGE}
    while rows := (yield Step("answers_all", {**asked, "after": after})):
        for row, columns in zip(rows_in(rows), rows, strict=True):
            findings += _row(row, bytes(columns[11]))
        after = rows[-1][0]
    if scope.user is None:
        for kind, number in (yield Step("answers_loose", {"tenant": scope.tenant})):
            lacks = "a calibration of its length" if kind == "vector" else "its answer"
            findings.append(_finding("orphan", f"a {kind} of answer number {number}", lacks, "nothing"))
    return findings


def _row(row: AnswerRow, terms: bytes) -> list[Finding]:
    place = f"answer {row.id}"
    try:
        _ = unpack_name(row.packed_scope), unpack_name(row.owner)
        body = row.body()
        form = form_of(body["question"])
        whole = isinstance(body["answer"], str) and isinstance(body["sourced"], bool)
    except (DalsegnoError, *BROKEN) as error:
        return [_finding("json", place, "a question and its answer", f"{type(error).__name__}: {error}")]
    findings = [] if whole else [_finding("json", place, "an answer in words", str(body["answer"]))]
    if body.get("rules", 1) != RULES:
        return findings
    if row.key != key_of(form):
        findings.append(_finding("digest", place, "the key of its question", "another"))
    if terms != signature(searched(form)):
        findings.append(_finding("digest", place, "the signature of its question", "another"))
    return findings


def _finding(kind: str, place: str, expected: str, found: str) -> Finding:
    return Finding(thread_id="", kind=kind, place=place, expected=expected[:200], found=found[:200])
