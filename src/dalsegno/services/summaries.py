"""What was written about the spans that compaction took out: kept beside the journal, never instead of it.

Rules of this module:

* A row is derived: it says who wrote it, under which policy, and which events it stands for. All of them can be
  thrown away and written again.
* Rows are numbered within a thread and never rewritten. Those of a lineage are those that were written on it.
* A summary that merged into an older one is still here as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.compaction import Settled
from dalsegno.core.facts import FactTable
from dalsegno.core.journal import spans_contain
from dalsegno.core.summary import Line, Ranges, Span, lines_from_json, lines_to_json, numbers_in, ranges_of
from dalsegno.errors import Damaged
from dalsegno.services.frames import from_micros
from dalsegno.services.lines import spans_of
from dalsegno.services.loading import json_text
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope, ThreadRow, find_thread, lock_thread

__all__ = ["SummaryRow", "keep", "kept"]

_ALL = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """A span's digest as it was written.

    Attributes:
        number: in the thread, from 1.
        first: lowest number of an event it stands for.
        last: the highest.
        writer: `extract` for code alone, else the model's name.
        policy: the policy it was written under, as JSON.
        lines: the digest.
        facts: every protected fact that was said in the span.
        at: when it was written, aware UTC.
        branch: the branch it was written on.
    """

    number: int
    first: int
    last: int
    writer: str
    policy: Mapping[str, Any]
    lines: tuple[Line, ...]
    facts: FactTable
    at: datetime
    branch: int

    @property
    def covered(self) -> Ranges:
        """Numbers of the events it stands for."""
        return ranges_of(number for line in self.lines for number in numbers_in(line.numbers))

    @property
    def text(self) -> str:
        """The digest, line by line."""
        return "\n".join(map(str, self.lines))


@sound
def keep(scope: Scope, name: str, settled: Settled, *, fence: int | None = None) -> Op[None]:
    """Write down what one compaction said; see `dalsegno.faces.summaries.Summaries.keep`."""
    row = yield from lock_thread(scope, name, create=False, fence=fence)
    branch, ckpt = yield from _head(row)
    span: Span = settled.span
    covered = span.covered
    yield Step(
        "summary_add",
        {
            **row.key,
            "branch": branch,
            "ckpt": ckpt,
            "from_seq": covered[0][0],
            "to_seq": covered[-1][1],
            "at": row.now,
            "writer": span.by,
            "policy": json_text(dict(span.policy)),
            "lines": json_text(lines_to_json(span.lines)),
            "facts": json_text(settled.facts.to_json()),
        },
    )


@sound
def kept(scope: Scope, name: str) -> Op[list[SummaryRow]]:
    """What was written on the head's lineage, oldest first; see `dalsegno.faces.summaries.Summaries.of`."""
    row = yield from find_thread(scope, name)
    branch, _ = yield from _head(row)
    spans = yield from spans_of(row, branch, _ALL)
    rows = yield Step("summaries_all", row.key)
    return [_read(columns) for columns in rows if spans_contain(spans, columns[1], columns[2] or 0)]


def _head(row: ThreadRow) -> Op[tuple[int, int | None]]:
    rows = yield Step("head_branch", row.key)
    return (rows[0][0], rows[0][1]) if rows else (0, None)


def _read(columns: tuple[Any, ...]) -> SummaryRow:
    number, branch, _ckpt, first, last, at, writer, policy, lines, facts = columns
    try:
        return SummaryRow(
            number=number,
            first=first,
            last=last,
            writer=writer,
            policy=MappingProxyType(orjson.loads(policy)),
            lines=lines_from_json(orjson.loads(lines)),
            facts=FactTable.from_json(orjson.loads(facts)),
            at=from_micros(at),
            branch=branch,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Damaged(f"summary {number}", expected="lines and facts as JSON", found=str(error)) from error
