"""Options of a plan: how they are named, listed, and meant by `B`, `the second one`, `第二个方案`.

Rules of this module:

* A label is a lower-case letter or a number in digits: `Option B`, `方案B`, `方案二`, `第二个` are `b` or `2`.
* A letter and its number are one label where a list gives letters (`the second one` of A, B, C is `b`).
* A letter alone names an option only right after a word of choice (`go with B`, `选B`), so that no article is one, or
  where it is the whole answer (`B, please.` `第二个吧。`), which is for a list that was just shown.
* An option also has a name: its words up to the first comma, colon, dash or bracket. A sentence means the option whose
  name it has, or whose wording has everything the sentence is about; one that means two options means none.
* A list stands on lines of its own, or within one: `(1) the train; (2) the bus`, `Option A: the train, option B: …`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dalsegno.core.card import phrases
from dalsegno.core.card.clipping import clip
from dalsegno.core.card.terms import terms

__all__ = ["answer_in", "label_in", "listed", "name_in", "option_called", "option_meant", "option_named", "said_of"]

_NUMBERS = dict(zip("一二三四五六七八九甲乙丙丁两", "1234567891234" + "2", strict=True)) | {
    word: str(number)
    for number, words in enumerate(("first one", "second two", "third three", "fourth four", "fifth five"), 1)
    for word in words.split()
}
_NOUN = (
    r"(?:options?|plans?|choices?|proposals?|alternatives?|variants?|approach(?:es)?|versions?|solutions?|scenarios?)"
)
_ENGLISH = re.compile(
    rf"\b{_NOUN}\s(?:number\s|no\.?\s?|#\s?)?(?P<a>[a-h]|[1-9]|one|two|three|four|five)\b(?!')"
    rf"|\bthe\s(?P<b>first|second|third|fourth|fifth)\s(?:one|{_NOUN})\b"
    r"|\b(?:go|going|went|proceed|stick|run)\swith\s(?P<c>[b-h]|a(?=[\s]*(?:[.,!;]|\Z|as\s)))\b(?!\s?[&'/-])"
    r"|\b(?:choose|pick|take|select|prefer|want|suggest|recommend|propose)\s(?P<d>[b-h])\b(?!\s?[&'/-])"
    r"|\b(?P<e>[a-h])\s(?:it\sis|then|is\sfine|works)\b"
    r"|(?:^|[.!?]\s)(?P<f>[a-h])[.!,]?\s?(?:please|$)"
    r"|\b(?P<h>[b-h])\sas\s(?:you|we|i)\b"
    r"|\bnumber\s(?P<g>[1-9]|one|two|three)\b"
)
_CHINESE = re.compile(
    r"(?:方案|选项|计划|版本)\s?(?P<a>[a-h]|[1-9一二三四五六七八九甲乙丙丁])(?![a-z0-9])"
    r"|(?<![a-z0-9])(?P<b>[a-h])\s?(?:方案|计划|选项|版本|版)"
    r"|第\s?(?P<c>[1-9一二三四五六七八九])\s?(?:个|种|套|条|项|版)(?=方案|选项|计划|吧|好|行|来|$|[，。！,.!]|的"
    r"|就|执行|做|走|推进|办)"
    r"|(?:选择?|就?用|采用|走|定|按)\s?(?P<d>[a-h])(?![a-z0-9])"
)
_ANSWER_ENGLISH = re.compile(
    r"[\s\"'(*\[]*(?:(?:ok(?:ay)?|yes|yeah|yep|sure|right|well|then|alright|fine|great|good|perfect|so|definitely"
    r"|my\s(?:choice|vote|pick|answer)(?:\sis)?|i'd\s(?:say|prefer|like|take|choose|pick)"
    r"|(?:i|we)(?:'ll|\swill)?\s(?:prefer|want|choose|pick|take|have)|let's\s(?:do|have|try|take|use)"
    r"|(?:we're\s|i'm\s)?going\s(?:with|for)|go\s(?:with|for)|it's|make\sit)[\s,.:;!*]+){0,3}"
    rf"(?:(?:the\s)?(?:{_NOUN}\s(?:number\s|no\.?\s?|#\s?)?|number\s|no\.\s?|#\s?)"
    r"(?P<a>[a-h]|[1-9]|one|two|three|four|five)|(?P<b>[b-h]|[1-9]|a(?!\s[^\W\d]))|(?:the\s)?(?P<c>first|second|third|fourth|fifth)"
    rf"(?:(?<=the\s.....)|(?<=the\s......)|(?=\s(?:one|{_NOUN})\b|[\s.!]*\Z)))"
    rf"(?![\w+&/#%'-])(?:\s(?:one|{_NOUN})\b)?[)\]\"'*]*"
    r"(?:[\s,]+(?:please|then|it\sis|(?:is|sounds|looks)\s(?:fine|good|ok(?:ay)?|great|best|perfect)"
    r"|works(?:\sfor\s(?:me|us))?|for\s(?:me|us)|thanks|thank\syou|definitely))*"
    r"(?:[\s.!~)\]\"'*]*\Z|[,;.!]\s?(?:and|please|thanks|thank|by|then|let's|go|book|send|with|i'll|we'll)\b)"
)
_ANSWER_CHINESE = re.compile(
    r"[\s“\"(（*【]*(?:(?:好的?|行|可以|嗯+|那么?|那就|就|还是|我们?|咱们?|选择?|要|用|定|走|按|采用|我的选择是?|最后|决定|选定)"
    r"[\s，,、。:：]*){0,5}(?:(?:方案|选项|计划|版本|第)\s?(?P<a>[a-h]|[1-9一二三四五六七八九甲乙丙丁])|(?P<b>[a-h]|[1-9](?=号?[\W]*\Z|号?吧)))"
    r"(?![\w+&/#%'-]*[a-z0-9])\s?(?:个|种|套|条|项|版|号|款|方案|选项|计划|版本)*[\s）)”\"*】]*"
    r"(?:吧|好了?|行|可以|就行|就好|挺好|不错|来|了|谢谢|谢了|啊|呀|哈|没问题|即可|[\s，,。.！!；;~～])*"
    r"(?:\Z|(?<=[\s，,。.！!；;])(?:谢|请|麻烦|按|就|再|并|然后|周|尽快|辛苦|帮|另外|同时|预算|下周|明|今|本周|这周|加))"
)
_ITEM = re.compile(
    r"(?:^|\n|(?<=[；;。]))[ \t>*_#-]{0,6}(?:"
    r"(?:option|plan|choice|proposal|alternative|approach|方案|选项|计划)\s?(?P<a>[A-Ha-h]|[1-9]"
    r"|[一二三四五六七八九甲乙丙丁])(?![A-Za-z0-9])(?:\*\*)?\s?[:：.、)）—–-]?"
    r"|(?P<b>[A-H])\s?(?:方案|计划)\s?[:：,，]?"
    r"|(?P<c>[A-Ha-h]|[1-9])\s?[.、)）:：]"
    r")[ \t*]{0,4}(?P<t>[^\n；;]{2,300})",
    re.IGNORECASE,
)
_INLINE = re.compile(
    r"(?:(?<![^\s,，、。.;；:：])|(?<=\band\s)|(?<=\bor\s))(?:[(（]?(?P<a>[A-Ha-h1-9])[)）](?=\s|[^\x00-\x7f])"
    r"|(?:option|plan|choice|proposal|alternative|approach|方案|选项|计划)\s?(?P<b>[A-Ha-h1-9]|[一二三四五六七八九甲乙丙丁])"
    r"\s?(?:[:：=–—]|\s-\s|\bis\b|是|为)|(?P<c>[A-H])\s?(?:方案|计划)?\s?[:：])",
    re.IGNORECASE,
)
_INLINE_END = re.compile(
    r"[\n;；。]|[.?!？！](?=\s|\Z)|[,，、]?\s?(?:\band|\bor|以及|或者?|和)?[\s,，、]*\Z", re.IGNORECASE
)
_HEADING = re.compile(
    r"(?:(?:option|plan|choice|proposal|方案|选项)\s?\w{0,3}\s?)?[:：*\s]{0,4}|[^:：]{2,60}[:：]", re.IGNORECASE
)
_HEAD_ENDS = re.compile(
    r"[,，、:：(（\[【;；|~]|[–—]|\s-\s|\s(?:at|for|costs?|about|around|with|from|which|is)\s|(?<=[\w）)])[.。](?:\s|\Z)"
)
_NAME_ENGLISH = re.compile(
    r"[\s\"'(*\[]*(?:(?:ok(?:ay)?|yes|yeah|yep|sure|well|then|alright|fine|great|good|perfect|so|hmm|definitely"
    r"|my\s(?:choice|vote|pick|answer)(?:\sis)?|i'd\s(?:say|prefer|like|take|choose|pick|love)"
    r"|(?:i|we)(?:'ll|\swill)?\s(?:prefer|want|choose|pick|take|have|like)|let's(?:\s(?:do|have|try|take|use))?"
    r"|(?:we're\s|i'm\s)?going\s(?:with|for)|go\s(?:with|for)|it's|make\sit|the)[\s,.:;!*]+){0,4}"
    r"(?P<n>[a-z0-9][\w.&/+'-]*(?:\s(?!please\b|then\b|it\sis\b|sounds?\b|looks?\b|works?\b|is\b|would\b|thanks?\b|best\b"
    r"|for\s(?:me|us)\b)[\w.&/+'-]+){0,7}?)"
    r"(?:[\s,]+(?:please|then|it\sis|(?:is|sounds|looks)\s(?:fine|good|ok(?:ay)?|great|best|perfect|better|nice)"
    r"|works(?:\sfor\s(?:me|us))?|for\s(?:me|us)|best|thanks|thank\syou|definitely|instead|after\sall))*[\s.!~)\]\"'*]*\Z"
)
_NAME_CHINESE = re.compile(
    r"[\s“\"(（*【]*(?:(?:好的?|行|可以|嗯+|那么?|那就|就|还是|我们?|咱们?|选择?|要|用|定|走|去|按|采用|最后|决定|选定|喜欢|更喜欢|倾向)"
    r"[\s，,、。:：]*){0,5}(?P<n>[^\s，,。.！!？?；;：:]{1,12}?)"
    r"(?:这个|那个|这家|那家)?(?:吧|好了|好|行|可以|就行|就好|挺好|不错|更好|最好|了|啊|呀|哈|没问题|即可)*[\s）)”\"*】。.！!~～]*"
    r"(?:[，,\s]\s?(?:谢谢您?|谢了|麻烦您?了?|辛苦您?了?)[。.！!~～\s]*)?\Z"
)
_REASONED = re.compile(
    r"(?P<c>[^，,]*(?:[选定]|就用|就去|就要|那就|就是)[^，,]*|[^，,]{1,12}吧)[，,]"
    r"(?!\s?(?:太|有点|不太|不行|不好|不合适|算了|还是|但是?太|不过太)|[^，,]{0,12}[吗呢])"
)
_EXCEPT = re.compile(r"\b(?:except|but|besides|other\sthan|apart\sfrom|or|either)\b|除|以外|之外|或|还是[^，。]*还是")
_QUESTION = re.compile(r"[?？]")
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_FIGURES = re.compile(r"[0-9](?:[0-9.,:]*[0-9])?(?:\s?[ap]m(?![a-z]))?")
_MOST = 8
_LONGEST = 120
_LONGEST_ANSWER = 60


def label_in(low: str) -> str:
    """The option that a lower-case sentence names, or nothing when it names none or several."""
    found = {
        _label(next(group for group in match.groups() if group))
        for pattern in (_ENGLISH, _CHINESE)
        for match in pattern.finditer(low)
    }
    return found.pop() if len(found) == 1 else ""


def answer_in(low: str) -> str:
    """The option that a lower-case sentence names by saying hardly anything else, or nothing."""
    found = _ANSWER_ENGLISH.match(low) or _ANSWER_CHINESE.match(low)
    return _label(next(group for group in found.groups() if group)) if found else ""


def _label(word: str) -> str:
    return _NUMBERS.get(word, word).lower()


def name_in(low: str) -> str:
    """The name that a short lower-case sentence says with hardly anything else, or nothing: `porto, please`."""
    if len(low) > _LONGEST_ANSWER or phrases.GREETING.match(low):
        return ""
    reasoned = None if low.isascii() else _REASONED.match(low)
    said = reasoned["c"] if reasoned else low  # `我选南京，离得近` is 我选南京
    if phrases.DENIES.search(said) or phrases.HEDGES.search(said) or _EXCEPT.search(said):
        return ""
    found = (_NAME_ENGLISH if low.isascii() else _NAME_CHINESE).match(said)
    return found["n"] if found else ""


def listed(text: str) -> tuple[tuple[str, str], ...]:
    """The options that a text lists, label and wording; none when it lists fewer than two."""
    found = _on_lines(text)
    return found if len(found) > 1 else _within_lines(text)


def _within_lines(text: str) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    items = list(_INLINE.finditer(text))
    for at, match in enumerate(items):
        end = items[at + 1].start() if at + 1 < len(items) else len(text)
        part = text[match.end() : end]
        ended = _INLINE_END.search(part)
        wording = " ".join(part[: ended.start() if ended else len(part)].replace("*", "").split())
        if wording:
            found.setdefault(_label((match["a"] or match["b"] or match["c"]).lower()), clip(wording, _LONGEST))
    in_order = [*found] in ([*"abcdefgh"][: len(found)], [*"12345678"][: len(found)])
    return tuple(found.items()) if len(found) > 1 and in_order else ()


def _on_lines(text: str) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    items = list(_ITEM.finditer(text))
    for at, match in enumerate(items):
        label = _label((match["a"] or match["b"] or match["c"]).lower())
        wording = " ".join(match["t"].split()).strip("* ")
        if _HEADING.fullmatch(wording):  # what the option is stands on the lines below
            below = text[match.end() : items[at + 1].start() if at + 1 < len(items) else len(text)]
            wording = " ".join(_PARAGRAPH.split(below.strip(), maxsplit=1)[0].replace("*", "").split())
        found.setdefault(label, clip(wording, _LONGEST))
    return tuple(found.items())[:_MOST]


def option_called(label: str, options: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """An option with its own label, by that label or by its place in the list; None when there is none."""
    for one in options:
        if one[0] == label:
            return one
    names = [name for name, _ in options]
    if label.isdigit() and not any(map(str.isdigit, names)):
        at = int(label) - 1
    elif label.isalpha() and all(map(str.isdigit, names)):
        at = ord(label) - ord("a")
    else:
        return None
    return options[at] if 0 <= at < len(options) else None


def option_meant(text: str, options: Sequence[tuple[str, str]], *, loosely: bool) -> tuple[str, str] | None:
    """The option that a sentence names in words; None where it names none, or several.

    Args:
        text: the sentence.
        options: labels and wordings.
        loosely: whether all that the sentence is about will do, where it has the name of no option.
    """
    low = f" {' '.join(text.lower().split())} "
    at = {one: _place(_name(one[1]), low) for one in options if not _QUESTION.search(one[1])}
    found = {one: _name(one[1]) for one, place in at.items() if place >= 0 and not _denied(low, place)}
    longest = [one for one, name in found.items() if not any(name != each and name in each for each in found.values())]
    if longest or any(place >= 0 for place in at.values()):
        return longest[0] if len(longest) == 1 else None
    return option_named(phrases.CHOOSES.sub(" ", low), options) if loosely and not phrases.DENIES.search(low) else None


def option_named(name: str, options: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """The one option whose wording has everything that a name is about, figures included; else None."""
    about = _about(name)
    if not about:  # too short to be about anything, such as `R`
        found = [one for one in options if _head(one[1]) == name.strip()]
    else:
        found = [one for one in options if about <= _about(one[1])]
    return found[0] if len(found) == 1 else None


def said_of(name: str, text: str) -> bool:
    """Whether a text has everything that a name is about."""
    about = _about(name)
    return bool(about) and about <= _about(text)


def _about(text: str) -> frozenset[str]:
    return terms(text) | {figure.replace(",", "") for figure in _FIGURES.findall(text.lower())}


def _name(wording: str) -> str:
    """What an option is called, in lower case; nothing where that is a word everyone uses."""
    name = _head(wording)
    return name if _about(name) else ""


def _head(wording: str) -> str:
    ended = _HEAD_ENDS.search(wording)
    return " ".join((wording[: ended.start()] if ended else wording).lower().split()).strip("\"'“”‘’。. ")


def _place(name: str, low: str) -> int:
    found = re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", low) if name else None
    return found.start() if found else -1


def _denied(low: str, at: int) -> bool:
    clause = low[max((low.rfind(sign, 0, at) for sign in ",，;；:：.。"), default=-1) + 1 : at]
    return bool(phrases.DENIES.search(clause) or re.search(r"\brather\sthan\b|\binstead\sof\b|而不是", clause))
