"""The gate of long-term memory: what may be remembered beyond the session, and why something may not.

Rules of this module:

* A memory is served again to later sessions, so it passes on the way in: it is worded, stable, evidenced, and nobody's
  secret. What fails is refused with one reason, the words that decided, and what to do instead. Nothing is mended here.
* Evidence is what someone said, with who it was. Of the model's words alone nothing is remembered, nor of a question,
  nor of what the program itself told the model to do (`prompts`, and what a system message says).
* Numbers, dates, ids and addresses of a value must stand in its evidence. A value that an extractor proposed must
  besides be worded as its evidence is, by half of its terms at least; one that a program or person wrote need not.
* A time that only its day understands (`tomorrow`, `下周三`) is refused unless the date itself stands beside it.
* Pure: no clock, no I/O. English and Chinese alike (`core/memory_words.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dalsegno.core.facts import FactIndex, Kind, facts_in
from dalsegno.core.memory_words import (
    ACKNOWLEDGING,
    CARD,
    DRAFT_ATTRIBUTES,
    DRAFTING,
    INSTRUCTING,
    KEYS,
    OPAQUE,
    PASSING,
    QUESTIONS,
    RELATIVE,
    SECRET_ATTRIBUTES,
    TEMPORARY,
)
from dalsegno.core.search import fold, occurrences

__all__ = ["MAX_CHARACTERS", "Candidate", "Reason", "Refusal", "Role", "Said", "judge", "sentences"]

MAX_CHARACTERS = 1000
"""What is longer is a document; keep it in `ds.store`, and what follows from it here."""

_ECHO_TERMS = 3
_SUPPORTED = 0.5
_ENDS = re.compile(r"(?<=[。！？!?;；])(?![。！？!?;；])|(?<=\.)\s+|\n")
_TITLE = re.compile("《[^》]{0,60}》")
_ABSOLUTE = re.compile(r"\d")
_LOOSE = re.compile("(?:next|last|this) ")
_LUHN_MIN, _NINE = 13, 9


class Role(StrEnum):
    """Who said something."""

    USER = "user"
    MODEL = "model"
    TOOL = "tool"
    SYSTEM = "system"
    OTHER = "other"


class Reason(StrEnum):
    """Why something is not remembered."""

    BLANK = "blank"
    TOO_LONG = "too_long"
    SECRET = "secret"  # noqa: S105 - a reason
    TEMPORARY = "temporary_path"
    GREETING = "greeting"
    INSTRUCTION = "instruction"
    DRAFT = "draft"
    PASSING = "passing_state"
    RELATIVE_TIME = "relative_time"
    NO_EVIDENCE = "no_evidence"
    OWN_WORDS = "own_words"
    ECHO = "echo"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Words and whose they were."""

    text: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that may be worth remembering.

    Attributes:
        subject, attribute: what it is about.
        text: the value, in words.
        evidence: what was said that it rests on.
        source: where else it is from, such as a record of another system; "" if from nowhere else.
        prompts: what the program told the model to do.
        proposed: whether an extractor worded it; a program or person otherwise.
    """

    subject: str
    attribute: str
    text: str
    evidence: Sequence[Said] = ()
    source: str = ""
    prompts: Sequence[str] = ()
    proposed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a candidate is not remembered.

    Attributes:
        reason: one word.
        found: the words that decided; "" where none did. Of a secret, never more than its beginning.
    """

    reason: Reason
    found: str = ""

    @property
    def problem(self) -> str:
        """What is wrong, in words."""
        told = _TOLD[self.reason][0]
        return f"{told}: {self.found!r}" if self.found else told

    @property
    def step(self) -> str:
        """What to do instead."""
        return _TOLD[self.reason][1]


_TOLD = {
    Reason.BLANK: ("it says nothing", "give a value in words"),
    Reason.TOO_LONG: (f"more than {MAX_CHARACTERS} characters", "keep documents with ds.store.put()"),
    Reason.SECRET: ("it looks like a key or password", "keep secrets in a vault, and at most where they are kept here"),
    Reason.TEMPORARY: ("it is a place that will be gone", "give the lasting place"),
    Reason.GREETING: ("it only greets, thanks or nods", "leave it out"),
    Reason.INSTRUCTION: ("it orders the model about", "rules belong into the program, not into memory"),
    Reason.DRAFT: ("it belongs to this session's work", "keep it in the state, and remember what came of it"),
    Reason.PASSING: ("it passes within hours", "leave it out, or keep it in the state"),
    Reason.RELATIVE_TIME: ("only its own day understands this time", "write the date itself"),
    Reason.NO_EVIDENCE: ("nothing was said that it rests on", "give thread_id= and evidence=, or source="),
    Reason.OWN_WORDS: ("only the model said so", "give what the user or a tool said"),
    Reason.ECHO: ("it repeats the prompt, or a question", "give a statement that says so"),
    Reason.UNSUPPORTED: ("its evidence does not say so", "give the event that does, and its wording"),
}


def judge(candidate: Candidate) -> Refusal | None:
    """Why a candidate is not to be remembered; None when it may be.

    The first reason in the order of `Reason` is given.
    """
    for rule in _RULES:
        refusal = rule(candidate)
        if refusal is not None:
            return refusal
    return None


def sentences(text: str) -> list[str]:
    """A text's sentences, each with its end."""
    return [part.strip() for part in _ENDS.split(text) if part.strip()]


# --- what it is -----------------------------------------------------------------------------------


def _worded(candidate: Candidate) -> Refusal | None:
    if not candidate.subject.strip() or not candidate.attribute.strip() or not candidate.text.strip():
        return Refusal(reason=Reason.BLANK)
    if len(candidate.text) > MAX_CHARACTERS:
        return Refusal(reason=Reason.TOO_LONG)
    return None


def _secret(candidate: Candidate) -> Refusal | None:
    named = SECRET_ATTRIBUTES.search(fold(candidate.attribute))
    if named is not None and " " not in candidate.text.strip():
        return Refusal(reason=Reason.SECRET, found=named[0])
    whole = f"{candidate.attribute}: {candidate.text}"
    for text in (candidate.text, whole):
        found = KEYS.search(text) or OPAQUE.search(text)
        if found is not None:
            return Refusal(reason=Reason.SECRET, found=f"{found[0][:6]}…")
    card = CARD.search(whole)
    if card is not None and _is_card("".join(filter(str.isdigit, card[2] or card[0]))):
        return Refusal(reason=Reason.SECRET, found=f"{card[0][:6]}…")
    return None


def _is_card(digits: str) -> bool:
    """Whether the last digit checks the others, as on payment cards (Luhn, ISO/IEC 7812)."""
    total = 0
    for place, digit in enumerate(map(int, reversed(digits))):
        doubled = digit * 2 if place % 2 else digit
        total += doubled - _NINE if doubled > _NINE else doubled
    return len(digits) >= _LUHN_MIN and total % 10 == 0


def _by(pattern: re.Pattern[str], reason: Reason) -> Callable[[Candidate], Refusal | None]:
    def rule(candidate: Candidate) -> Refusal | None:
        found = pattern.search(fold(candidate.text))
        return None if found is None else Refusal(reason=reason, found=found[0].strip())

    return rule


def _greeting(candidate: Candidate) -> Refusal | None:
    folded = fold(candidate.text)
    return Refusal(reason=Reason.GREETING, found=folded) if ACKNOWLEDGING.fullmatch(folded) else None


def _draft(candidate: Candidate) -> Refusal | None:
    attribute = fold(candidate.attribute)
    if attribute in DRAFT_ATTRIBUTES:
        return Refusal(reason=Reason.DRAFT, found=attribute)
    found = DRAFTING.search(candidate.text if "```" in candidate.text else fold(candidate.text))
    return None if found is None else Refusal(reason=Reason.DRAFT, found=found[0].strip())


def _relative(candidate: Candidate) -> Refusal | None:
    for part in sentences(candidate.text):
        folded = fold(_TITLE.sub("", part))
        found = RELATIVE.search(folded)
        words = [fact for fact in facts_in(folded) if fact.kind is Kind.DATE]
        if any(_ABSOLUTE.search(fact.value) for fact in words):
            continue
        told = found[0] if found else next((fact.text for fact in words if _LOOSE.match(fact.value)), None)
        if told is not None:
            return Refusal(reason=Reason.RELATIVE_TIME, found=told)
    return None


# --- what it rests on -----------------------------------------------------------------------------


def _evidenced(candidate: Candidate) -> Refusal | None:
    if any(said.text.strip() for said in candidate.evidence) or candidate.source.strip():
        return None
    return Refusal(reason=Reason.NO_EVIDENCE)


def _others_words(candidate: Candidate) -> Refusal | None:
    roles = {said.role for said in candidate.evidence}
    return Refusal(reason=Reason.OWN_WORDS) if roles == {Role.MODEL} and not candidate.source else None


def _echo(candidate: Candidate) -> Refusal | None:
    terms = occurrences(candidate.text)
    told = [*candidate.prompts, *(said.text for said in candidate.evidence if said.role is Role.SYSTEM)]
    own = [said.text for said in candidate.evidence if said.role not in (Role.SYSTEM, Role.MODEL)]
    folded = fold(candidate.text)
    echoes = any(folded in fold(text) for text in told) and not any(folded in fold(text) for text in own)
    if echoes and len(terms) >= _ECHO_TERMS:
        return Refusal(reason=Reason.ECHO, found=candidate.text[:60])
    stated = [part for text in own for part in sentences(text) if set(terms) & set(occurrences(part))]
    if stated and all(QUESTIONS.search(fold(part)) for part in stated):
        return Refusal(reason=Reason.ECHO, found=stated[0][:60])
    return None


def _supported(candidate: Candidate) -> Refusal | None:
    texts = [said.text for said in candidate.evidence]
    if not texts:
        return None
    index = FactIndex.of(texts)
    for fact in facts_in(candidate.text):
        if fact.kind in _STATED and not index.states(fact):
            return Refusal(reason=Reason.UNSUPPORTED, found=fact.text)
    terms = set(occurrences(candidate.text))
    if candidate.proposed and terms:
        there = {term for text in texts for term in occurrences(text)}
        if len(terms & there) < _SUPPORTED * len(terms):
            return Refusal(reason=Reason.UNSUPPORTED, found=candidate.text[:60])
    return None


_STATED = frozenset(Kind) - {Kind.QUOTE, Kind.COMMAND, Kind.COMMITMENT, Kind.APPROVAL}

_RULES: tuple[Callable[[Candidate], Refusal | None], ...] = (
    _worded,
    _secret,
    _by(TEMPORARY, Reason.TEMPORARY),
    _greeting,
    _by(INSTRUCTING, Reason.INSTRUCTION),
    _draft,
    _by(PASSING, Reason.PASSING),
    _relative,
    _evidenced,
    _others_words,
    _echo,
    _supported,
)
