"""The guards: why an answer that was given to one question may not be given to another.

Rules of this module:

* An answer is handed on only when the two forms are equal (`forms.py`) and, each counted by itself, the periods,
  numbers, units, names and negations too. The second is a second lock on the same door: it holds when a rule of the
  first is wrong.
* A difference is named by the first of: negation, period, number, unit, entity, direction, order,
  wording. Naming may err (a
  metric that looks like a name); that there is a difference does not depend on it.
* Pure: no clock, no I/O.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from dalsegno.core.answers import words
from dalsegno.core.answers.forms import Form
from dalsegno.core.search import fold

__all__ = ["Difference", "Guard", "difference", "sources_differ"]

_SHOWN = 60


class Guard(StrEnum):
    """What two questions differ in."""

    NEGATION = "negation"
    PERIOD = "period"
    NUMBER = "number"
    UNIT = "unit"
    ENTITY = "entity"
    DIRECTION = "direction"
    ORDER = "order"
    WORDING = "wording"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Why two questions are not one.

    Attributes:
        guards: what they differ in; the first is the reason.
        found: what each says where they part, asked first.
    """

    guards: tuple[Guard, ...]
    found: str

    @property
    def guard(self) -> Guard:
        """The reason."""
        return self.guards[0]

    @property
    def why(self) -> str:
        """The difference in words."""
        return f"{', '.join(self.guards)}: {self.found}"


def difference(asked: Form, kept: Form) -> Difference | None:
    """What keeps two questions apart; None when they are one question.

    Args:
        asked: the question that is asked.
        kept: the one that was answered.
    """
    guards = tuple(_guards(asked, kept))
    if not guards and asked.tokens == kept.tokens:
        return None
    if not guards:
        guards = (Guard.ORDER if Counter(asked.tokens) == Counter(kept.tokens) else Guard.WORDING,)
    return Difference(guards=guards, found=_found(asked, kept))


def _guards(asked: Form, kept: Form) -> Iterator[Guard]:
    if Counter(asked.negations) != Counter(kept.negations):
        yield Guard.NEGATION
    if Counter(asked.periods) != Counter(kept.periods):
        yield Guard.PERIOD
    values, others = (
        [_split(number) for number in form.numbers if number not in form.entities] for form in (asked, kept)
    )
    if Counter(value for value, _ in values) != Counter(value for value, _ in others):
        yield Guard.NUMBER
    elif Counter(unit for _, unit in values) != Counter(unit for _, unit in others) or (
        Counter(asked.units) != Counter(kept.units)
    ):
        yield Guard.UNIT
    if asked.tokens != kept.tokens and _names(asked) != _names(kept):
        yield Guard.ENTITY
    if _directions(asked) != _directions(kept):
        yield Guard.DIRECTION


def _split(number: str) -> tuple[str, str]:
    """A figure's value and its unit."""
    parts = number.rstrip("%").split(" ")
    value = next((part for part in parts if part[:1].isdigit() or part[:1] == "-"), number)
    unit = "%" if number.endswith("%") else " ".join(part for part in parts if part != value)
    return value, unit


def _directions(form: Form) -> Counter[str]:
    return Counter(token for token in form.tokens if token in words.DIRECTIONS)


def _names(form: Form) -> set[str]:
    return {fold(name) for name in form.entities}


def _found(asked: Form, kept: Form) -> str:
    parts = []
    for kind, a, b, c, d in SequenceMatcher(None, asked.tokens, kept.tokens, autojunk=False).get_opcodes():
        if kind != "equal":
            parts.append(f"{_told(asked.tokens[a:b])!r} is not {_told(kept.tokens[c:d])!r}")
    text = "; ".join(parts) or "the same words"
    return text if len(text) <= 3 * _SHOWN else text[: 3 * _SHOWN] + "…"


def _told(tokens: Sequence[str]) -> str:
    text = ""
    for token in tokens:
        shown = token.removeprefix("#")
        text += f" {shown}" if text and (shown.isascii() or text[-1].isascii()) else shown
    return text[:_SHOWN]


def sources_differ(kept: Mapping[str, str] | None, given: Mapping[str, str] | None, *, named: bool) -> str | None:
    """Why an answer does not rest on what is there now, in words; None when it does.

    Args:
        kept: what the answer rests on, versions by id; None for nothing that changes.
        given: what the caller has now, and may see.
        named: whether the question names whom it is about. Where it does not, the sources say who that is, so they
            must be the very same.
    """
    if kept is None:
        return None
    now = given or {}
    for source, version in kept.items():
        if source not in now:
            return f"the answer rests on {source!r}, which was not given"
        if now[source] != version:
            return f"{source!r} is {now[source]!r} now, and the answer rests on {version!r}"
    others = sorted(now.keys() - kept.keys())
    if others and not named:
        return f"the question names nobody, and besides its own sources {others[0]!r} was given"
    return None
