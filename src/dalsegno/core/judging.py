"""Whether one line of a draft may stand for the messages it names.

Rules of this module:

* A line is held against those messages alone, not against the whole span: `#12 user: paid $50` is wrong when #14 said
  it. It is dropped when it

  - names no message, one that is not in the span, more than eight, or another author than theirs, be it in its head or
    as the one who "said" or "approved" what it tells;
  - states a number, date, time, id, address, path or version that those messages do not;
  - quotes wording, or tells of an approval or a commitment, that none of them contains, or tells of one while naming
    messages of several authors, so that nobody could say who gave it;
  - shares no words with them, or is written in a script that is neither theirs nor the conversation's.

* Names are set right, never believed: an accepted line bears its messages' true authors.
* What no rule can see stays possible: a wrong word that is no fact, such as a lost "not".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dalsegno.core.cuts import Turn
from dalsegno.core.digest import weight_of
from dalsegno.core.facts import WORDINGS, FactIndex, Kind, facts_in, invented
from dalsegno.core.summary import Line, numbers_in, ranges_of

__all__ = ["MOST_MESSAGES", "Claim", "Judge", "Why", "lines_in"]

MOST_MESSAGES = 8
"""A line that names more messages than this says nothing of any of them."""


class Why(StrEnum):
    """Why a line was dropped."""

    NO_COORDINATE = "names no message"
    NOT_IN_SPAN = "names a message outside the span"
    TOO_MANY = "names too many messages"
    WRONG_AUTHOR = "names an author who did not say it"
    INVENTED = "states a fact that was not said there"
    NOT_GIVEN = "tells of wording, an approval or a commitment that is not there"
    NOBODY = "tells of an approval or a commitment without saying whose"
    UNRELATED = "shares no words with what was said"
    OTHER_LANGUAGE = "is written in another script"


# --- lines of a draft -------------------------------------------------------------------------------

_NUMBER = r"#\s?(\d{1,9})(?:\s?(?:[-–—~～至到]|to)\s?#?\s?(\d{1,9}))?"
_HEAD = re.compile(rf"\s*(?:[-*•·]\s+|\d{{1,3}}[.)]\s+)?[\[(【*]*({_NUMBER}(?:\s?(?:[,，、&]|and|和)\s?{_NUMBER})*)")
_ONE = re.compile(_NUMBER)
_REST = re.compile(r"(?P<who>[^:：]{0,200}?)[\])】*]*\s?[:：]\s?\**(?P<text>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Claim:
    """A line of a draft, read: the numbers and names it gives, and what it says."""

    numbers: tuple[int, ...]
    who: tuple[str, ...]
    text: str


def lines_in(draft: str) -> list[tuple[str, Claim | None]]:
    """Read a draft: each line that is not blank, with what it claims, or None where it gives no coordinate."""
    return [(line.strip(), _claim(line)) for line in draft.splitlines() if line.strip()]


def _claim(line: str) -> Claim | None:
    head = _HEAD.match(line)
    rest = _REST.match(line, head.end()) if head else None
    if head is None or rest is None or not rest["text"].strip():
        return None
    numbers: list[int] = []
    for found in _ONE.finditer(head[1]):
        first = int(found[1])
        last = int(found[2] or first)
        # A range longer than any line may have is cut short here, so that `#1–#999999999` costs nothing.
        numbers += range(first, min(last, first + MOST_MESSAGES) + 1)
    who = tuple(name.strip(" []()【】*") for name in re.split(r"[,，、&/]|\band\b|和", rest["who"]))
    return Claim(tuple(dict.fromkeys(numbers)), tuple(filter(None, who)), " ".join(rest["text"].split()))


# --- one line against what it names -----------------------------------------------------------------

_HAN = re.compile("[\u3400-\u9fff]")
_LETTER = re.compile("[A-Za-z]")
_TERM = re.compile("[A-Za-z]{3,}|[0-9]+|[\u3400-\u9fff](?=([\u3400-\u9fff]))")
_COMMON = frozenset(
    re.findall(
        "[a-z]+",
        "the and for are was were has have had that this with from they them then there their which will would can "
        "could not you your our his her its who what when said says user assistant agent tool asked about into been",
    )
)
_SHARED = 0.15
_MOSTLY, _HARDLY = 0.5, 0.1
_A_THIRD = 3
"""A language is the conversation's when at least one in so many messages of people and models is in it."""
_TOOLS = frozenset({"tool", "function"})


class Judge:
    """Holds lines against the messages they name.

    Attributes:
        turns: the span's messages by number.
    """

    def __init__(self, turns: Iterable[Turn]) -> None:
        self.turns: Mapping[int, Turn] = {turn.number: turn for turn in turns}
        self._names = {name.casefold() for turn in self.turns.values() for name in (turn.author, turn.role) if name}
        self._indices: dict[tuple[int, ...], FactIndex] = {}
        chinese = [_han_share(turn.text) > _MOSTLY for turn in self.turns.values() if turn.role not in _TOOLS]
        self._spoken = {is_han for is_han in (True, False) if chinese.count(is_han) * _A_THIRD >= max(1, len(chinese))}

    def judge(self, claim: Claim | None) -> Line | tuple[Why, str]:
        """The line a claim becomes, under its true authors; or the rule it breaks, with what breaks it."""
        if claim is None or not claim.numbers:
            return Why.NO_COORDINATE, ""
        outside = [number for number in claim.numbers if number not in self.turns]
        if len(claim.numbers) > MOST_MESSAGES:
            return Why.TOO_MANY, f"{len(claim.numbers)} messages"
        if outside:
            return Why.NOT_IN_SPAN, f"#{outside[0]}"
        told = [self.turns[number] for number in claim.numbers]
        wrong = self._wrong_author(claim, told) or self.wrong_words(claim.text, told)
        if wrong:
            return wrong
        return Line(
            numbers=ranges_of(claim.numbers),
            authors=tuple(dict.fromkeys(turn.author or turn.role for turn in told)),
            text=claim.text,
            weight=max(weight_of(turn) for turn in told),
        )

    def wrong_words(self, text: str, told: Sequence[Turn]) -> tuple[Why, str] | None:
        """The rule that a wording breaks when it stands for these messages, or None."""
        source = self._index(told)
        names = tuple({name for turn in told for name in (turn.author, turn.coordinate) if name})
        if found := invented(text, source, allowed=names):
            return Why.INVENTED, found[0].text
        wordings = [fact for fact in facts_in(text) if fact.kind in WORDINGS]
        said = {fact.kind for turn in told for fact in facts_in(turn.text)} if wordings else set()
        for fact in wordings:
            if fact.kind in {Kind.QUOTE, Kind.COMMAND} and not source.states(fact):
                return Why.NOT_GIVEN, fact.text
            if fact.kind in {Kind.APPROVAL, Kind.COMMITMENT}:
                if fact.kind not in said:
                    return Why.NOT_GIVEN, fact.text
                if len({turn.author or turn.role for turn in told}) > 1:
                    return Why.NOBODY, fact.text
        return self._foreign(text, told)

    def stands(self, line: Line) -> tuple[Why, str] | None:
        """The rule that a line taken by code breaks, or None. Its range and its authors are right by construction."""
        told = [self.turns[number] for number in numbers_in(line.numbers) if number in self.turns]
        found = invented(line.text, self._index(told)) if line.text else ()
        return (Why.INVENTED, found[0].text) if found else None

    def _wrong_author(self, claim: Claim, told: Sequence[Turn]) -> tuple[Why, str] | None:
        theirs = {name.casefold() for turn in told for name in (turn.author, turn.role) if name}
        for name in claim.who:
            if name.casefold() in self._names and name.casefold() not in theirs:
                return Why.WRONG_AUTHOR, name
        subject = _SUBJECT.match(claim.text)
        if subject:
            name = _HAN_NAMES.get(subject[0][:2], (subject["name"] or "").casefold())
            if name in self._names and name not in theirs:
                return Why.WRONG_AUTHOR, name
        return None

    def _foreign(self, text: str, told: Sequence[Turn]) -> tuple[Why, str] | None:
        source = "\n".join(turn.text for turn in told)
        terms, theirs = _terms(text), _terms(source)
        if not terms or not theirs:
            return None
        wanted = _SHARED * len(terms)
        if _differ(_han_share(text), _han_share(source)):
            # A Chinese agent may tell of an English tool in Chinese: what they share then are names and figures.
            if (_han_share(text) > _MOSTLY) not in self._spoken:
                return Why.OTHER_LANGUAGE, ""
            wanted = 1
        return (Why.UNRELATED, "") if len(terms & theirs) < max(1, wanted) else None

    def _index(self, told: Sequence[Turn]) -> FactIndex:
        key = tuple(turn.number for turn in told)
        if key not in self._indices:
            self._indices[key] = FactIndex.of(turn.text for turn in told)
        return self._indices[key]


_SUBJECT = re.compile(
    r"(?:the\s)?(?P<name>[\w.-]{1,40})\s(?:said|says|ask(?:s|ed)|approve[sd]|agree[sd]|promise[sd]|confirm(?:s|ed)|"
    r"request(?:s|ed)|want(?:s|ed)|told|tells|repl(?:ies|ied)|wrote|writes|state[sd]|commit(?:s|ted))\b"
    r"|(?:用户|助手|助理)[说說问問表同批承要确答回]",
    re.IGNORECASE,
)
"""A text that opens with who says it."""
_HAN_NAMES = {"用户": "user", "助手": "assistant", "助理": "assistant"}


def _terms(text: str) -> set[str]:
    return {found[0].lower() + (found[1] or "") for found in _TERM.finditer(text)} - _COMMON


def _differ(one: float, other: float) -> bool:
    """Whether one of two shares of Chinese is most of a text and the other hardly any of it."""
    return max(one, other) > _MOSTLY and min(one, other) < _HARDLY


def _han_share(text: str) -> float:
    """Chinese characters among the letters, a Latin word of five letters weighing as much as two of them."""
    han, latin = len(_HAN.findall(text)), len(_LETTER.findall(text)) / 2.5
    return han / (han + latin) if han or latin else 0.0
