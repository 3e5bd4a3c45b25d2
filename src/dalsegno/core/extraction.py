"""What a user says about himself that may be worth remembering, found by rules, in English and Chinese.

Rules of this module:

* A proposal is one clause of one sentence of one message: who the user is, what holds for him, what he wants each
  time. Its value is the user's own wording, so that the gate finds it in its evidence. The gate decides.
* Questions, conditions and wishes of the moment (`I'd like …`, `如果我…`) propose nothing; neither does what points
  at the conversation (`I like that`).
* Several things may be liked, disliked, spoken, asked for each time, or be an allergy; of the rest the last counts.
* Pure: no clock, no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dalsegno.core.memory_gate import sentences
from dalsegno.core.memory_words import QUESTIONS
from dalsegno.core.search import fold

__all__ = ["Proposal", "Sentence", "propose", "spoken_sentences"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of a message.

    Attributes:
        seq: number of the event.
        text: the sentence.
    """

    seq: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A fact that may be worth remembering.

    Attributes:
        subject, attribute, value: what is the case.
        seq: number of the event that says so.
        several: whether there may be several at once.
    """

    subject: str
    attribute: str
    value: str
    seq: int
    several: bool = False


_STOP = r"[^,.;:!?，。；：！？、\n（）()]"
_SOME = rf"({_STOP}{{1,60}})"
_CLAUSE = r"[^。；！？\n]"
_DIETS = r"vegetarian|vegan|pescatarian|lactose[- ]intolerant|gluten[- ]free|diabetic|coeliac|celiac"
_I = r"(?:^|[\s,;，；。])i(?:'m| am) "
_OWN_ZH = r"生日|邮箱|电话|手机号?|地址|收货地址|爱好|母语|职业|星座|血型|尺码|鞋码"
_OWN = (
    r"(birthday|date of birth|favou?rite \w+(?: \w+)?|(?:(?:home|work|shipping|billing|delivery) )?address|"
    r"e-?mail(?: address)?|phone(?: number)?|wife|husband|partner|son|daughter|dog|cat|job|native language|"
    r"mother tongue|time ?zone|(?:shoe |shirt )?size|nationality)"
)

_RULES: tuple[tuple[str | None, re.Pattern[str], bool], ...] = tuple(
    (attribute, re.compile(pattern, re.IGNORECASE), several)
    for attribute, pattern, several in (
        ("name", rf"\bmy name is {_SOME}|\b(?:please )?call me {_SOME}", False),
        ("allergy", rf"\b(?:i'm|i am) (?:severely |very |highly )?allergic to {_SOME}", True),
        ("diet", rf"{_I}(?:a |an )?(?:strict )?({_DIETS})\b", False),
        ("diet", r"\bi (don'?t (?:eat|drink) [^,.;:!?\n]{2,40})", True),
        ("home", rf"\bi (?:currently |now )?live (?:in|at) {_SOME}", False),
        ("employer", rf"\bi (?:currently |now )?work (?:at|for) {_SOME}", False),
        ("occupation", rf"\bi (?:currently |now )?work as (?:a |an |the )?{_SOME}", False),
        ("language", rf"\bi speak {_SOME}", True),
        ("dislikes", rf"\bi (?:really )?(?:hate|dislike|can'?t stand|don'?t like) {_SOME}", True),
        ("likes", rf"\bi (?:really |also )?(?:like|love|enjoy) {_SOME}", True),
        ("prefers", rf"\bi(?:'d| would)? (?:always |usually |strongly |much )?prefer {_SOME}", True),
        ("standing request", r"(?:^|\b(?:please|and) )((?:always|never) [a-z][^.;!?\n]{3,80})", True),
        (None, rf"\bmy {_OWN} is {_SOME}", False),
        ("name", rf"我(?:的名字)?(?:叫|是叫|名叫)(?!你|他|她){_SOME}|我的名字是{_SOME}|(?:请|可以)?叫我{_SOME}", False),
        ("allergy", r"我?对([^,.;:!?，。；：！？、\n]{1,20}?)(?:严重)?过敏", True),
        ("diet", rf"我(?:是|一直)?(吃素|素食主?义?者|(?:从来?)?不(?:吃|喝){_STOP}{{1,20}})", True),
        ("home", rf"我(?:现在|目前|一直)?(?:住在|家在|定居在?){_SOME}", False),
        ("employer", r"我(?:现在|目前)?在([^,.;:!?，。；：！？、\n]{2,30}?)(?:工作|上班|任职)", False),
        ("occupation", r"我是(?:一[名位个]|个)([^,.;:!?，。；：！？、\n]{1,20})", False),
        ("dislikes", rf"我(?:很|最|非常|特别|一直)?(?:不喜欢|不爱|讨厌){_SOME}", True),
        ("likes", rf"我(?:很|最|非常|特别|一直|也)?(?:喜欢|喜爱|爱){_SOME}", True),
        ("standing request", rf"((?:以后|每次|今后){_CLAUSE}{{0,12}}(?:都|一律|总是){_CLAUSE}{{2,40}})", True),
        ("standing request", rf"(一律{_CLAUSE}{{2,40}})", True),
        (None, rf"我的({_OWN_ZH})(?:号码)?是{_SOME}", False),
    )
)  # fmt: skip

_HYPOTHETICAL = re.compile(r"^(?:if|when|suppose|imagine|unless)\b|\bif i\b|^(?:如果|假如|要是|万一)", re.IGNORECASE)
_POINTING = re.compile(
    r"(?:that|this|it|its|these|those|them|your?|yours|how|what|to (?:hear|know)|"
    r"the (?:idea|sound|way|first|second|other|one))\b|[这那你您它]",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"\s+(?:please|thanks|though|too|as well|a lot|very much|by the way|and|but|so|because)\b.*$|"
    r"(?:的呢|哦|啊|呀|呢|了)$",
    re.IGNORECASE,
)


def spoken_sentences(seq: int, text: str) -> list[Sentence]:
    """The sentences of one message."""
    return [Sentence(seq=seq, text=part) for part in sentences(text)]


def propose(said: Iterable[Sentence]) -> list[Proposal]:
    """Everything the rules find, in order, each once."""
    found: dict[Proposal, None] = {}
    for sentence in said:
        found.update(dict.fromkeys(_in(sentence)))
    return list(found)


def _in(sentence: Sentence) -> Iterator[Proposal]:
    folded = fold(sentence.text)
    if _HYPOTHETICAL.search(folded) or QUESTIONS.search(folded):
        return
    taken: list[tuple[int, int]] = []
    for attribute, pattern, several in _RULES:
        for found in pattern.finditer(sentence.text):
            groups = [group for group in found.groups() if group]
            named = attribute or fold(groups[0])
            value = _TAIL.sub("", groups[-1].strip()).strip()
            start, end = found.span()
            if not value or _POINTING.match(value) or any(start < last and first < end for first, last in taken):
                continue
            taken.append((start, end))
            yield Proposal(subject="user", attribute=named, value=value, seq=sentence.seq, several=several)
