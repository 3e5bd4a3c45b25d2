"""What a model answered, read: proposals for a card, each to be judged by itself.

Rules of this module:

* An answer is an object with a list `entries`, as a mapping, an object with that attribute, or JSON in a text. Anything
  else is nonsense and an error. So are more entries than `MOST`: nobody has that much to say about one passage.
* A single entry that makes no sense is told and passed over; the others are judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from dalsegno.core.card.passages import KINDS

__all__ = ["MOST", "Nonsense", "Proposed", "read"]

MOST = 60
_LONGEST = 2000
_CHARACTERS = 200_000
_FENCED = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
_COORDINATE = re.compile(r"\s*#?\s?(\d{1,9})\s*(.*)", re.DOTALL)


class Nonsense(Exception):
    """An answer that is none; the message says in what way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """One proposal, as it was made.

    Attributes:
        kind: one of `KINDS`.
        quote: the words it rests on.
        evidence: number and, where it was given, author of each event.
        text: how the model words it.
        owner, due, subject: as in a card.
        ends: number of the entry that it replaces, finishes or takes back; 0 for none.
    """

    kind: str
    quote: str
    evidence: tuple[tuple[int, str], ...]
    text: str = ""
    owner: str = ""
    due: str = ""
    subject: str = ""
    ends: int = 0


def read(answer: Any) -> tuple[list[Proposed], list[str]]:
    """The proposals of an answer, and what is wrong with those that are none.

    Raises:
        Nonsense: it is no answer.
    """
    entries = _entries(answer)
    if len(entries) > MOST:
        raise Nonsense(f"proposed {len(entries)} entries at once; {MOST} are the most")
    found: list[Proposed] = []
    wrong: list[str] = []
    for entry in entries:
        try:
            found.append(_proposed(entry))
        except (KeyError, TypeError, ValueError) as error:
            wrong.append(f"an entry that is none ({type(error).__name__}: {str(error)[:80]})")
    return found, wrong


def _entries(answer: Any) -> list[Any]:
    if isinstance(answer, (str, bytes)):
        answer = _json(answer if isinstance(answer, str) else answer.decode("utf-8", "replace"))
    if not isinstance(answer, Mapping):
        answer = {"entries": getattr(answer, "entries", None)}
    entries = answer.get("entries")
    if not isinstance(entries, (list, tuple)):
        raise Nonsense("returned no list of entries")
    return list(entries)


def _json(text: str) -> Any:
    if not text.strip():
        raise Nonsense("returned nothing")
    if len(text) > _CHARACTERS:
        raise Nonsense(f"returned {len(text):,} characters; {_CHARACTERS:,} are the most")
    fence = _FENCED.search(text)
    body = fence[1] if fence else text[text.find("{") : text.rfind("}") + 1]
    try:
        return orjson.loads(body)
    except ValueError as error:
        raise Nonsense("returned text that is no JSON") from error


def _proposed(entry: Any) -> Proposed:
    fields = entry if isinstance(entry, Mapping) else vars(entry)
    kind = str(fields["kind"]).strip().lower()
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r}")
    given = fields["evidence"]
    named = [_coordinate(one) for one in (given if isinstance(given, (list, tuple)) else [given])]
    ends = fields.get("ends") or ""
    return Proposed(
        kind=kind,
        quote=_text(fields["quote"]),
        evidence=tuple(dict.fromkeys(named)),
        **{name: _text(fields.get(name)) for name in ("text", "owner", "due", "subject")},
        ends=_coordinate(ends)[0] if ends else 0,
    )


def _coordinate(given: Any) -> tuple[int, str]:
    if type(given) is int and given > 0:
        return given, ""
    found = _COORDINATE.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise ValueError(f"{str(given)[:40]!r} is no coordinate")
    return int(found[1]), found[2].strip(" :：[]()")


def _text(given: Any) -> str:
    if given is None:
        return ""
    if not isinstance(given, str) or len(given) > _LONGEST:
        raise ValueError("a text that is none")
    return " ".join(given.split())
