"""The gate of the answer cache: what may be handed to others later, and why something may not.

Rules of this module:

* An answer is kept when someone found it good (`quality`), nothing found it ungrounded, the model ended by itself and
  said so, and the text itself is a whole, clean answer: before any warning is put under it, and with nothing in it that
  orders a model about. What fails is refused with one reason and the words that decided. Nothing is mended here.
* Its question must mean the same for whoever asks it, today and tomorrow: one that leans on a conversation, says
  "now" or "latest", or asks about the asker's own affairs (for an answer that is shared) is refused.
* It names what it rests on, in a version; an answer that rests on nothing that changes says so (`sources=None`).
* Pure: no clock, no I/O. The gate knows wordings, not meanings: a sieve with known holes, in English and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from dalsegno.core.answers import words
from dalsegno.core.answers.followups import leaning
from dalsegno.core.answers.forms import MAX_CHARACTERS, form_of
from dalsegno.core.facts import FactIndex, Kind, facts_in
from dalsegno.core.memory_gate import sentences
from dalsegno.core.memory_words import INSTRUCTING, KEYS, OPAQUE, RELATIVE
from dalsegno.core.search import fold, occurrences

__all__ = ["ENDED", "MIN_GROUNDEDNESS", "MIN_QUALITY", "Draft", "Reason", "Refusal", "Verdict", "judge"]

MIN_QUALITY = 0.8
MIN_GROUNDEDNESS = 0.8

Verdict: TypeAlias = float | bool | None
"""What a check found: passed or not, or a score between 0 and 1; None where there was none."""

ENDED = frozenset(("stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "completed", "finished", "end"))
"""What providers say when a model ended by itself; in any case."""

_ECHO_TERMS = 6
_SAID = re.compile(r"[^\W_]")
_CITED = re.compile(r"\[\^?\d{1,3}\]|【\d{1,3}】")
_LABEL = re.compile(
    r"^(?:(?:the |your |user(?:'s)? )?(?:question|query|q)(?: is| was)?|you (?:asked|want to know"
    r"|are asking)|a|answer"
    r"|(?:你|您|用户)(?:问|想问|想知道|的问题)(?:的?是)?|问题是?|问|答|回答)[,:： ]*"
)
_STATED = frozenset((Kind.DATE, Kind.AMOUNT, Kind.PERCENT, Kind.QUANTITY, Kind.NUMBER, Kind.ID, Kind.URL, Kind.EMAIL))
_PAIRS = (("(", ")"), ("（", "）"), ("[", "]"), ("“", "”"), ("《", "》"), ("「", "」"))


class Reason(StrEnum):
    """Why an answer is not kept."""

    BLANK = "blank"
    TOO_LONG = "too_long"
    FOLLOW_UP = "follow_up"
    RELATIVE_TIME = "relative_time"
    PERSONAL = "personal"
    QUALITY = "quality"
    UNGROUNDED = "ungrounded"
    FINISH_REASON = "finish_reason"
    INCOMPLETE = "incomplete"
    NO_SOURCE = "no_source"
    NO_ANSWER = "no_answer"
    WARNING = "warning"
    INSTRUCTION = "instruction"
    SECRET = "secret"  # noqa: S105 - a reason
    ECHO = "echo"
    DERIVED = "derived"


_TOLD = {
    Reason.BLANK: ("the question or the answer says nothing", "give both in words"),
    Reason.TOO_LONG: (f"the question has more than {MAX_CHARACTERS} characters", "cache questions, not documents"),
    Reason.FOLLOW_UP: ("the question leans on what was said before", "complete it, or give context="),
    Reason.RELATIVE_TIME: ("the question has another answer another day", "name the date or period in it"),
    Reason.PERSONAL: ("the question is about the asker's own affairs", "keep it for that user alone, not shared"),
    Reason.QUALITY: ("no quality gate was passed", f"give quality=True, or a score from {MIN_QUALITY}"),
    Reason.UNGROUNDED: ("the answer is not grounded", "keep what its sources say"),
    Reason.FINISH_REASON: (
        "the model did not end by itself",
        "let it end, and give finish_reason='stop' or complete=True",
    ),
    Reason.INCOMPLETE: ("the answer is not whole", "keep whole answers"),
    Reason.NO_SOURCE: ("nothing is named that the answer rests on", "give sources={id: version}, or None on purpose"),
    Reason.NO_ANSWER: ("it does not answer", "leave it out"),
    Reason.WARNING: ("a warning stands in the answer", "store the answer before warnings are added"),
    Reason.INSTRUCTION: ("it orders a model about", "keep answers, not instructions"),
    Reason.SECRET: ("it looks like a key or password", "keep secrets in a vault"),
    Reason.ECHO: ("the answer repeats the prompt or the question", "keep what answers it"),
    Reason.DERIVED: ("the answer it was made from has been removed", "answer anew, from the sources"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An answer that may be worth keeping.

    Attributes:
        question: the question as it stands alone.
        answer: the text.
        sources: what it rests on, versions by id; None for nothing that changes.
        shared: whether others than one user will get it.
        quality, groundedness: a verdict, or a score between 0 and 1; None where nobody looked.
        finish_reason: how the model ended, in its provider's words; None where it is not known.
        complete: whether the answer is whole; None where nobody looked.
        prompts: what the program told the model to do, so that an echo of it is known for one.
        evidence: texts the answer was made from; its figures must stand there. Empty: not compared.
    """

    question: str
    answer: str
    sources: Mapping[str, str] | None
    shared: bool = True
    quality: Verdict = None
    groundedness: Verdict = None
    finish_reason: str | None = None
    complete: bool | None = None
    prompts: Sequence[str] = ()
    evidence: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a draft is not kept.

    Attributes:
        reason: one word.
        found: what decided; "" where nothing can be shown. Of a secret, never more than its beginning.
    """

    reason: Reason
    found: str = ""

    @property
    def why(self) -> str:
        """What is wrong and what to do instead, in words."""
        problem, step = _TOLD[self.reason]
        return f"{problem}{f': {self.found!r}' if self.found else ''}; {step}"


def judge(draft: Draft) -> Refusal | None:
    """Why an answer is not to be kept; None when it may be. The first reason in the order of `Reason` is given."""
    return next((refusal for rule in _RULES if (refusal := rule(draft)) is not None), None)


def _worded(draft: Draft) -> Refusal | None:
    if not _SAID.search(_CITED.sub("", draft.answer)) or not form_of(draft.question[:MAX_CHARACTERS]).tokens:
        return Refusal(reason=Reason.BLANK)
    return Refusal(reason=Reason.TOO_LONG) if len(draft.question) > MAX_CHARACTERS else None


def _alone(draft: Draft) -> Refusal | None:
    found = leaning(draft.question)
    return None if found is None else Refusal(reason=Reason.FOLLOW_UP, found=found)


def _dated(draft: Draft) -> Refusal | None:
    folded = fold(draft.question)
    found = words.DATED.search(folded) or RELATIVE.search(folded)
    return None if found is None else Refusal(reason=Reason.RELATIVE_TIME, found=found[0].strip())


def _personal(draft: Draft) -> Refusal | None:
    found = words.PERSONAL.search(fold(draft.question)) if draft.shared else None
    return None if found is None else Refusal(reason=Reason.PERSONAL, found=found[0].strip())


def _passed(verdict: Verdict, least: float) -> bool | None:
    """Whether a verdict passes; None where there is none."""
    if verdict is None or isinstance(verdict, bool):
        return verdict
    return verdict >= least


def _good(draft: Draft) -> Refusal | None:
    if _passed(draft.quality, MIN_QUALITY) is not True:
        return Refusal(reason=Reason.QUALITY, found="" if draft.quality is None else str(draft.quality))
    if _passed(draft.groundedness, MIN_GROUNDEDNESS) is False:
        return Refusal(reason=Reason.UNGROUNDED, found=str(draft.groundedness))
    return None


def _stated(draft: Draft) -> Refusal | None:
    if not draft.evidence:
        return None
    index = FactIndex.of([*draft.evidence, draft.question])
    lacking = next((fact for fact in facts_in(draft.answer) if fact.kind in _STATED and not index.states(fact)), None)
    return None if lacking is None else Refusal(reason=Reason.UNGROUNDED, found=lacking.text)


def _ended(draft: Draft) -> Refusal | None:
    ended = None if draft.finish_reason is None else draft.finish_reason.strip().lower() in ENDED
    if ended is False or (ended is None and draft.complete is not True):
        return Refusal(reason=Reason.FINISH_REASON, found=draft.finish_reason or "")
    return None


def _whole(draft: Draft) -> Refusal | None:
    if draft.complete is False:
        return Refusal(reason=Reason.INCOMPLETE)
    found = words.UNFINISHED.search(draft.answer)
    if found is not None:
        return Refusal(reason=Reason.INCOMPLETE, found=draft.answer.strip()[-20:])
    cited = _CITED.sub("", draft.answer)
    if cited != draft.answer and words.UNCITED.search(cited):
        return Refusal(reason=Reason.INCOMPLETE, found=draft.answer.strip()[-20:])
    opened = next((left for left, right in _PAIRS if draft.answer.count(left) > draft.answer.count(right)), None)
    if opened is not None or draft.answer.count("```") % 2:
        return Refusal(reason=Reason.INCOMPLETE, found=opened or "```")
    return None


def _sourced(draft: Draft) -> Refusal | None:
    return Refusal(reason=Reason.NO_SOURCE) if draft.sources is not None and not draft.sources else None


def _answers(draft: Draft) -> Refusal | None:
    found = words.NO_ANSWER.search(fold(draft.answer))
    if found is None and words.WH.match(fold(draft.question)):
        found = words.YES_OR_NO.match(fold(draft.answer))
    return None if found is None else Refusal(reason=Reason.NO_ANSWER, found=found[0].strip())


def _clean(draft: Draft) -> Refusal | None:
    found = words.WARNINGS.search(fold(draft.answer))
    return None if found is None else Refusal(reason=Reason.WARNING, found=found[0].strip())


def _orderless(draft: Draft) -> Refusal | None:
    for text in (draft.answer, draft.question):
        folded = "\n".join(map(fold, text.splitlines()))
        found = INSTRUCTING.search(fold(text)) or words.ORDERS.search(folded)
        if found is not None:
            return Refusal(reason=Reason.INSTRUCTION, found=found[0].strip()[:60])
    return None


def _secret(draft: Draft) -> Refusal | None:
    for text in (draft.answer, draft.question):
        found = KEYS.search(text) or OPAQUE.search(text)
        if found is not None:
            return Refusal(reason=Reason.SECRET, found=f"{found[0][:6]}…")
    return None


def _own(draft: Draft) -> Refusal | None:
    bare = _LABEL.sub("", fold(draft.answer[:MAX_CHARACTERS]).lstrip("*#> "))
    if form_of(draft.question).tokens in (form_of(draft.answer[:MAX_CHARACTERS]).tokens, form_of(bare).tokens):
        return Refusal(reason=Reason.ECHO, found=draft.answer[:60])
    folded = fold(draft.answer)
    for prompt in draft.prompts:
        for part in sentences(prompt):
            if len(occurrences(part)) >= _ECHO_TERMS and fold(part).rstrip(".。!！") in folded:
                return Refusal(reason=Reason.ECHO, found=part[:60])
    return None


_RULES: tuple[Callable[[Draft], Refusal | None], ...] = (
    *(
        _worded,
        _alone,
        _dated,
        _personal,
        _good,
        _stated,
        _ended,
        _whole,
        _sourced,
        _answers,
        _clean,
        _orderless,
        _secret,
        _own,
    ),
)
