"""Rows of the answer cache, and reading them.

Rules of this module:

* An answer belongs to one owner, a user or "" for the whole tenant, and stands in one scope, which its caller chose.
  Every statement that serves answers names both; nothing else reads them.
* Its key is the form of its question (`core/answers/forms.py`), one entry for a key, owner and scope. Question,
  answer and what stands beside them are one JSON object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core import codec
from dalsegno.core.answers.forms import Form
from dalsegno.core.answers.values import Answer, Calibration, Use
from dalsegno.core.tree import dumps
from dalsegno.errors import Damaged
from dalsegno.services.frames import from_micros
from dalsegno.services.ids import unpack_name
from dalsegno.services.loading import json_text

__all__ = [
    "AnswerRow",
    "answers_in",
    "calibrations",
    "children",
    "drop",
    "named",
    "packed_text",
    "plain_text",
    "rows_in",
    "searched",
    "sources_of",
    "uses_of",
]


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One row of `ds_answers` as it is read."""

    answer: int
    owner: str
    packed_scope: str
    key: bytes
    id: str
    author: str | None
    thread: str | None
    stored_at: int
    expires_at: int | None
    calibration: int | None
    raw: str | bytes

    def body(self) -> dict[str, Any]:
        """Question, answer, and what stands beside them."""
        value = codec.decode(orjson.loads(self.raw))
        if not isinstance(value, Mapping) or not isinstance(value.get("question"), str):
            raise Damaged(f"answer {self.id}", expected="an object with a question", found=type(value).__name__)
        return dict(value)

    @property
    def question(self) -> str:
        """The question it answers."""
        return str(self.body()["question"])


def rows_in(rows: Sequence[tuple[Any, ...]]) -> list[AnswerRow]:
    """Rows of a statement that reads answers."""
    return [AnswerRow(columns[0], columns[1], columns[2], bytes(columns[3]), *columns[4:11]) for columns in rows]


def packed_text(text: str) -> str:
    """Any text as a text column of any database takes it."""
    return dumps(codec.encode(text, "text")).decode()


def plain_text(column: str) -> str:
    """The text behind such a column."""
    return str(codec.decode(orjson.loads(column)))


def searched(form: Form) -> str:
    """What a question is found by: its form, scripts without blanks written together."""
    text = ""
    for token in form.tokens:
        gap = "" if text and len(token) == 1 and not token.isascii() and not text[-1].isascii() else " "
        text += gap + token.removeprefix("#")
    return text.strip()


def sources_of(tenant: int, numbers: Sequence[int]) -> Op[dict[int, dict[str, str]]]:
    """What some answers rest on, versions by id."""
    found: dict[int, dict[str, str]] = {}
    if numbers:
        asked = {"tenant": tenant, "answers": json_text(list(numbers))}
        for number, source, version in (yield Step("answer_sources_of", asked)):
            found.setdefault(number, {})[unpack_name(source)] = unpack_name(version)
    return found


def uses_of(tenant: int, ids: Mapping[int, str]) -> Op[list[tuple[int, str | None, Use]]]:
    """Where some answers were handed out and for whom, the last first; `ids` says what each number is called."""
    if not ids:
        return []
    rows = yield Step("answer_uses_of", {"tenant": tenant, "answers": json_text(list(ids))})
    return [
        (
            number,
            owner,
            Use(
                answer=ids[number],
                band=band,
                asked=plain_text(asked),
                thread_id=None if thread is None else unpack_name(thread),
                coordinate=None if coordinate is None else unpack_name(coordinate),
                user=None if owner is None else unpack_name(owner),
                at=from_micros(at),
            ),
        )
        for number, at, band, asked, owner, thread, coordinate in rows
    ]


def answers_in(tenant: int, rows: Sequence[AnswerRow], *, seen_by: str | None = None) -> Op[list[Answer]]:
    """Some rows as answers, with their sources, parents and uses.

    Args:
        tenant: tenant's number.
        rows: the rows.
        seen_by: the owner who looks at them, who sees of a shared answer only what he himself left there; None for a
            connection that is nobody's.
    """
    ids = {row.answer: row.id for row in rows}
    sources = yield from sources_of(tenant, list(ids))
    uses: dict[int, list[Use]] = {}
    for number, owner, use in (yield from uses_of(tenant, ids)):
        if seen_by in (None, owner):
            uses.setdefault(number, []).append(use)
    parents: dict[int, list[str]] = {}
    if ids:
        asked = {"tenant": tenant, "answers": json_text(list(ids))}
        for number, parent in (yield Step("answer_parents_of", asked)):
            parents.setdefault(number, []).append(parent)
    return [
        _answer(
            row if seen_by in (None, row.author) else replace(row, author=None, thread=None),
            sources.get(row.answer, {}),
            parents.get(row.answer, []),
            uses.get(row.answer, []),
        )
        for row in rows
    ]


def _answer(row: AnswerRow, sources: Mapping[str, str], parents: Sequence[str], uses: Sequence[Use]) -> Answer:
    body = row.body()
    return Answer(
        id=row.id,
        question=body["question"],
        answer=body["answer"],
        scope=unpack_name(row.packed_scope),
        user=unpack_name(row.owner) if row.owner else None,
        by=None if row.author is None else unpack_name(row.author),
        thread_id=None if row.thread is None else unpack_name(row.thread),
        sources=dict(sources) if body["sourced"] else None,
        entities=tuple(body["entities"]),
        periods=tuple(body["periods"]),
        numbers=tuple(body["numbers"]),
        units=tuple(body["units"]),
        derived_from=tuple(parents),
        stored_at=from_micros(row.stored_at),
        expires_at=None if row.expires_at is None else from_micros(row.expires_at),
        hits=sum(use.band == "hit" for use in uses),
        references=sum(use.band == "reference" for use in uses),
        calibration=row.calibration,
        uses=tuple(uses),
    )


def named(tenant: int, owner: str | None, answer_id: str) -> Op[list[AnswerRow]]:
    """The answer of this id, if a connection may see it."""
    return rows_in((yield Step("answers_named", {"tenant": tenant, "id": answer_id, "owner": owner})))


def children(tenant: int, numbers: Sequence[int]) -> Op[list[int]]:
    """Some answers with all that were derived from them, however far."""
    found = list(dict.fromkeys(numbers))
    fresh = found
    while fresh:
        rows = yield Step("answer_children", {"tenant": tenant, "answers": json_text(fresh)})
        fresh = [number for (number,) in rows if number not in set(found)]
        found = [*found, *fresh]
    return found


def drop(tenant: int, numbers: Sequence[int]) -> Op[int]:
    """Delete answers with everything that hangs on them; returns how many."""
    if not numbers:
        return 0
    params = {"tenant": tenant, "answers": json_text(sorted(set(numbers)))}
    yield (
        Step("answer_uses_drop", params),
        Step("answer_parents_drop", params),
        Step("answer_sources_drop", params),
        Step("answers_drop", params),
    )
    return len(set(numbers))


def calibrations(tenant: int) -> Op[list[Calibration]]:
    """Calibrations of a tenant, the newest first."""
    rows = yield Step("calibrations_all", {"tenant": tenant})
    return [
        Calibration(
            number=number,
            at=from_micros(at),
            embedder=plain_text(embedder),
            dims=dims,
            hit=hit,
            reference=reference,
            **{name: value for name, value in orjson.loads(body).items() if name in _FOUND},
        )
        for number, at, embedder, dims, hit, reference, body in rows
    ]


_FOUND = frozenset(
    ("same", "different", "hits", "references", "false_hits", "false_alone", "false_references", "low", "high")
)
