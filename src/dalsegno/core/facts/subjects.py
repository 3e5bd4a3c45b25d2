"""Facts of one event, each with its subject and with what it corrects.

Rules of this module:

* The subject is the label before the value (`labels.py`).
* A value is *denied* when the words right before it say that it does not hold: `not 50,000`, `instead of May 5`,
  `from 50,000 to …` after a verb of change, `不是五万`, `从5月1日改到…`.
* A value is a *correction* when its sentence denies another of its kind, when a word of change leads to it (`change
  the budget to 80,000`, `make it 9`, `预算改成八万元`, `应该是`), or when its sentence opens or ends as a correction
  does (`actually`, `sorry, I meant`, `更正`). Asking whether to change something changes nothing, so questions
  correct nothing.
* Bare numbers are said too when they have a subject or take part in a correction; others say too little alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from dalsegno.core.facts.finding import facts_in
from dalsegno.core.facts.folding import folded, lowered
from dalsegno.core.facts.joining import joined
from dalsegno.core.facts.kinds import FIGURES, WORDINGS, Fact, Kind
from dalsegno.core.facts.labels import label_before
from dalsegno.core.facts.table import Said

__all__ = ["said_in"]

_WINDOW = 96
_MAX_SENTENCE = 600
_SENTENCE = re.compile(r"[。！？；!?;\n]|\.(?=\s|\Z)")
_DENIES = re.compile(
    r"(?:(?:\bnot|\binstead\sof|\brather\sthan|\bno\slonger|\bisn't|\bwasn't|\baren't)\s(?:the\s|on\s|at\s|for\s|in\s|an?\s)?"
    r"|(?:而不是|不是|而非|并非|不再是|不要)\s?)[\"'“]?\Z"
)
_FROM = re.compile(r"(?:\bfrom\s|[从由從]\s?|把|将)\Z")
_VERBS = (
    r"(?:chang|updat|mov|correct|switch|rais|lower|reduc|increas|reschedul|postpon|push|extend|shift|amend|modif|revis|cut|set)"
    r"(?:e|ed|es|ing|n)?"
)
_CHANGES = re.compile(rf"\b{_VERBS}\b|改|换|換|调|調|变|變|更新|更正|推迟|提前|延")
_HAN_CHANGES = (
    "改 换 換 变更? 變更? 调整? 調整? 更新 修改 更正 纠正 推迟 提前 延期 延后 顺延 提高 降低 增加 减少".replace(
        " ", "|"
    )
)
_LEADS = re.compile(
    rf"(?:\b{_VERBS}\b[^.;!?\n]{{0,60}}?\b(?:to|as|until|till|at)\s(?:the\s)?"
    r"|\bmake\s(?:it|that|the\s[a-z ]{2,24})\s(?:for\s|at\s|on\s)?|\bshould\s(?:be|have\sbeen|say|read)\s(?:on\s|at\s)?"
    r"|\bi\smeant?\s(?:to\ssay\s)?|\b(?:is|are|will\sbe)\snow\s|\bit's\snow\s|\bbut\s(?:rather\s)?"
    rf"|(?:(?:{_HAN_CHANGES})(?:成|为|為|到|至)了?|应该是|應該是|其实是|实际上?是|而是|现在是)\s?)[\"'“]?\Z"
)
_MISTAKEN = re.compile("[写记搞弄说填报]错")
_FOLLOWS = re.compile(r"\s(?:instead|from\snow\son)\b|\snow(?=[.!,]|\Z)")
_OPENS = re.compile(
    r"[\s\"'“]*(?:actually|correction|sorry|oops|i\smis\w+|my\s(?:mistake|bad)|wait|i\smeant?\b|no,\s|更正|纠正|說錯|说错|抱歉[，,]?(?:我)?(?:说错|记错|搞错)|不对|我记错|我搞错|刚才说错|准确地?说|其实)"
)


def said_in(text: str, *, coordinate: str, author: str) -> tuple[Said, ...]:
    """What an event says, ready for a table.

    Args:
        text: the event's text.
        coordinate: the event, such as `#126 user`.
        author: who said it.

    Returns:
        Its protected facts, and the bare numbers that have a subject or take part in a correction, in order.
    """
    low = lowered(joined(folded(text)))
    facts = facts_in(text)
    said = []
    for sentence, within in _by_sentence(low, facts):
        denied = [fact for fact in within if fact.kind not in WORDINGS and _is_denied(low, fact, sentence)]
        asked = _is_asked(low, sentence)
        for fact in within:
            one = Said(fact=fact, coordinate=coordinate, author=author)
            if fact.kind not in WORDINGS:
                one = _atom(low, one, sentence, denied, asked=asked)
            if fact.protected or one.subject or one.correction or one.denied:
                said.append(one)
    return tuple(said)


def _atom(low: str, said: Said, sentence: tuple[int, int], denied: list[Fact], *, asked: bool) -> Said:
    """A saying with its subject and its part in a correction."""
    fact = said.fact
    subject = label_before(low, fact.start)
    if any(fact is other for other in denied):
        return replace(said, subject=subject, denied=True)
    instead = tuple(other.value for other in denied if _alike(fact, other))
    correction = not asked and (bool(instead) or _is_led(low, fact, sentence))
    return replace(said, subject=subject, correction=correction, instead_of=instead if correction else ())


def _by_sentence(low: str, facts: tuple[Fact, ...]) -> Iterator[tuple[tuple[int, int], list[Fact]]]:
    """The facts of each sentence, with its bounds."""
    for sentence, pairs in groupby(zip(_sentences(low, facts), facts, strict=True), key=itemgetter(0)):
        yield sentence, [fact for _, fact in pairs]


def _sentences(low: str, facts: tuple[Fact, ...]) -> list[tuple[int, int]]:
    """The bounds of each fact's sentence; an endless one is taken in pieces."""
    ends: list[int] = []
    for end in (*(found.end() for found in _SENTENCE.finditer(low)), len(low)):
        start = ends[-1] if ends else 0
        ends += [*range(start + _MAX_SENTENCE, end, _MAX_SENTENCE), end]
    bounds = []
    place = 0
    for fact in facts:
        while place < len(ends) and ends[place] <= fact.start:
            place += 1
        bounds.append((ends[place - 1] if place else 0, ends[place] if place < len(ends) else len(low)))
    return bounds


def _is_denied(low: str, fact: Fact, sentence: tuple[int, int]) -> bool:
    start = max(sentence[0], fact.start - _WINDOW)
    if _DENIES.search(low, start, fact.start):
        return True
    if not _FROM.search(low, max(sentence[0], fact.start - 6), fact.start):
        return False
    after = low[fact.end : min(sentence[1], fact.end + 24)]
    if low[fact.start - 1].isascii():
        return bool(re.match(r"\s(?:to|until)\s", after)) and bool(_CHANGES.search(low, start, fact.start))
    return bool(_CHANGES.match(after.lstrip("的 ")))


def _is_asked(low: str, sentence: tuple[int, int]) -> bool:
    return low[sentence[1] - 1 : sentence[1]] in ("?", "？") or low[sentence[0] : sentence[1]].rstrip("。 \n").endswith(
        ("吗", "呢")
    )


def _is_led(low: str, fact: Fact, sentence: tuple[int, int]) -> bool:
    start = max(sentence[0], fact.start - _WINDOW)
    return bool(
        _LEADS.search(low, start, fact.start)
        or _OPENS.match(low, sentence[0], sentence[1])
        or _MISTAKEN.search(low, sentence[0], fact.start)
        or _FOLLOWS.match(low, fact.end, sentence[1])
    )


def _alike(one: Fact, other: Fact) -> bool:
    """Whether one can stand instead of the other."""
    return one.kind is other.kind or (
        one.kind in FIGURES and other.kind in FIGURES and Kind.PERCENT not in (one.kind, other.kind)
    )
