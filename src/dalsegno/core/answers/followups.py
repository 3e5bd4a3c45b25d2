"""Questions that lean on what was said before, and how a carried name completes them.

Rules of this module:

* A question leans when a pronoun in it has nothing in it to stand for, when it begins with "and" or "what about", or
  when it says "the same", "上述", "…呢?", when it compares or converts what it does not name ("which is higher?", "in
  US dollars?"), or when nothing is left of it but a period ("第三季度是多少?"). The same words then mean another thing
  in another conversation, so they are no key.
* What the conversation carries may complete it: one name takes the place of the pronoun, one period is said where the
  question has none. `and in 2023?` takes the place of the one period of the earlier question, `what about BHP?` that of
  its one name. Where there are two to choose from, nothing is chosen, nor where a quarter without its year would take
  the place of a year: it would be any year's.
* What still leans after that stays incomplete, and is neither looked up nor kept.
* Pure: no clock, no I/O. Rules know wordings: they are a sieve, and in doubt they say that a question leans.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dalsegno.core.answers import words
from dalsegno.core.answers.forms import entities_in, form_of
from dalsegno.core.answers.periods import periods_in
from dalsegno.core.facts import Kind, facts_in
from dalsegno.core.search import fold
from dalsegno.errors import Misuse

__all__ = ["Carried", "carried_of", "completed", "leaning"]

_HAN = re.compile("[\u4e00-\u9fff]")
_JOINED = re.compile(
    r"(?:\b(?:and|but|when|if|because|while|after|before|since|than)|[,;])"
    r"(?: (?:and )?(?:how|what|when|where|why|which)\b[a-z ]{0,24}"
    r"\b(?:did|does|do|is|was|are|were|has|had|will|can))? ?$"
    "|而且?$|并且?$"
)
_SENTENCE = re.compile(r"[?？。.!！]\s*$")
_OPENING = re.compile(
    r"^(?:and|but|so|then|also|or|plus|what about|how about|那么?|还有|另外|以及|而|然后|再|换成|如果是)[ ,，]*",
    re.IGNORECASE,
)
_PREPOSITION = re.compile(r"^(?:in|for|during|on|at|of|在|于) ?", re.IGNORECASE)
_TAIL = re.compile(r"[\s?？。.!！呢吗]+$")
_YEAR = re.compile(r"(?<![\d.])(?:19|20)\d\d(?![\d.])")
_NAMES = ("entity", "entities", "company", "name", "subject")
_PERIODS = ("period", "periods", "year", "date")
_EARLIER = ("question", "previous", "earlier")


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What a conversation carries along.

    Attributes:
        names: whom it is about, as they are written.
        periods: for when, as they are written.
        question: the question before.
    """

    names: tuple[str, ...] = ()
    periods: tuple[str, ...] = ()
    question: str = ""


def carried_of(context: str | Mapping[str, str | Sequence[str]] | None, names: Sequence[str] = ()) -> Carried:
    """What a caller gives as context.

    Args:
        context: the question before, complete; or a mapping with `entity`, `period`, `question`.
        names: entities that the caller named besides.

    Raises:
        Misuse: it is neither.
    """
    if context is None:
        return Carried(names=tuple(names))
    if isinstance(context, str):
        return _from_question(context, tuple(names))
    if not isinstance(context, Mapping):
        raise Misuse(f"context={type(context).__name__}: give the question before, or a mapping of entity and period")
    unknown = set(context) - {*_NAMES, *_PERIODS, *_EARLIER}
    if unknown:
        raise Misuse(f"context has {min(unknown)!r}; it takes entity, period and question")
    told = {kind: [one for name in kinds for one in _listed(context.get(name))] for kind, kinds in _KINDS.items()}
    before = _from_question(told["question"][0], ()) if told["question"] else Carried()
    return Carried(
        names=tuple(dict.fromkeys([*names, *told["names"]])) or before.names,
        periods=tuple(told["periods"]) or before.periods,
        question=before.question,
    )


_KINDS = {"names": _NAMES, "periods": _PERIODS, "question": _EARLIER}


def _listed(value: object) -> list[str]:
    if value is None:
        return []
    several = [value] if isinstance(value, str) else list(value) if isinstance(value, Sequence) else [None]
    if not all(isinstance(one, str) and one.strip() for one in several):
        raise Misuse(f"context holds {value!r:.60}; give text")
    return [str(one) for one in several]


def _from_question(question: str, names: tuple[str, ...]) -> Carried:
    return Carried(
        names=names or entities_in(question), periods=tuple(text for _, _, text in _spans(question)), question=question
    )


def _spans(text: str) -> list[tuple[int, int, str]]:
    """The periods of a text as they are written."""
    found = [(start, end) for start, end, _ in periods_in(text)]
    found += [(fact.start, fact.end) for fact in facts_in(text) if fact.kind is Kind.DATE]
    found += [one.span() for one in _YEAR.finditer(text)]
    kept: list[tuple[int, int]] = []
    for start, end in sorted(found, key=lambda span: (span[0] - span[1], span[0])):
        if all(end <= other or start >= stop for other, stop in kept):
            kept.append((start, end))
    return [(start, end, text[start:end]) for start, end in sorted(kept)]


def leaning(question: str) -> str | None:
    """The words by which a question leans on what was said before; None when it stands alone."""
    folded = fold(question)
    found = words.CONTEXTUAL.search(folded) or words.UNNAMED.search(_TAIL.sub("", folded))
    if found is not None:
        return found[0].strip()
    if all(token.startswith("#") or token in words.EMPTY for token in form_of(question).tokens):
        return folded.strip() or None
    plain = words.EXPLETIVE.sub(lambda one: "·" * len(one[0]), folded)
    for pronoun in words.PRONOUNS.finditer(plain):
        if not _stands_for(plain, pronoun, question):
            return pronoun[0].strip()
    return None


def _stands_for(folded: str, pronoun: re.Match[str], question: str) -> bool:
    """Whether a pronoun has something in the same question to stand for."""
    before = folded[: pronoun.start()].rstrip()
    if _SENTENCE.search(before) and len(before) > len("what is x?") and leaning(before) is None:
        return True
    named = any(fold(name) in before for name in entities_in(question))
    possessive = pronoun[0] in ("their", "its", "his", "her") or pronoun[0].startswith("其")
    joined = bool(_JOINED.search(before))
    return named and ((possessive and " " in before) or joined)


def completed(question: str, carried: Carried) -> tuple[str, str | None]:
    """A question as it stands alone, and the words by which it still leans, if it does."""
    if leaning(question) is None:
        return question, None
    made = _elliptic(question, carried) or _named(question, carried)
    return (made, leaning(made)) if made is not None else (question, leaning(question))


def _elliptic(question: str, carried: Carried) -> str | None:
    """`and in 2023?`: the earlier question, about another period or name."""
    rest = _TAIL.sub("", _PREPOSITION.sub("", _OPENING.sub("", question.strip())))
    if not carried.question or leaning(carried.question) is not None:
        return None
    spans, there = _spans(rest), _spans(carried.question)
    if len(spans) == len(there) == 1 and spans[0][2] == rest and (_dated(rest) or not _dated(there[0][2])):
        start, end, _ = there[0]
        return carried.question[:start] + rest + carried.question[end:]
    names, before = entities_in(rest), entities_in(carried.question)
    if len(names) == len(before) == 1 and fold(names[0]) == fold(rest) and carried.question.count(before[0]) == 1:
        return carried.question.replace(before[0], rest)
    return None


def _dated(period: str) -> bool:
    """Whether a period says its year; a quarter alone does not."""
    return re.search(r"\d\d|[〇零○一二三四五六七八九]{4}", period) is not None


def _named(question: str, carried: Carried) -> str | None:
    """A pronoun's question, with the name that is carried, and the period."""
    if len(carried.names) != 1 or entities_in(_OPENING.sub("", question)):
        return None
    if len(carried.periods) > 1 and not _spans(question):
        return None
    name = carried.names[0]
    han = _HAN.search(question) is not None
    rest = _TAIL.sub("", _OPENING.sub("", question.strip()))
    found = re.search(words.REFERRING.pattern, rest, re.IGNORECASE)
    if found is None:
        return None
    if han:
        period = carried.periods[0] if len(carried.periods) == 1 and not _spans(question) else ""
        gap = " " if period and name[-1:].isascii() and period[:1].isascii() else ""
        whose = "的" if found[0].startswith("其") else ""
        return f"{rest[: found.start()]}{name}{gap}{period}{whose}{rest[found.end() :]}"
    possessive = found["whose"] is not None
    made = f"{rest[: found.start()]}{name}{chr(39) + 's' if possessive else ''}{rest[found.end() :]}"
    if len(carried.periods) == 1 and not _spans(question):
        made += f" in {carried.periods[0]}"
    return made + "?"
