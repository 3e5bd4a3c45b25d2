"""Options of a plan: how they are named, listed, and meant by `B`, `the second one`, `第二个方案`.

Rules of this module:

* A label is a lower-case letter or a number in digits: `Option B`, `方案B`, `方案二`, `第二个` are `b` or `2`.
* A letter and its number are one label where a list gives letters (`the second one` of A, B, C is `b`).
* A letter alone names an option only right after a word of choice (`go with B`, `选B`), so that no article is one, or
  where it is the whole answer (`B, please.` `第二个吧。`), which is for a list that was just shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dalsegno.core.card.clipping import clip

__all__ = ["answer_in", "label_in", "listed", "option_called"]

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
_HEADING = re.compile(
    r"(?:(?:option|plan|choice|proposal|方案|选项)\s?\w{0,3}\s?)?[:：*\s]{0,4}|[^:：]{2,60}[:：]", re.IGNORECASE
)
_MOST = 8
_LONGEST = 120


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


def listed(text: str) -> tuple[tuple[str, str], ...]:
    """The options that a text lists, label and wording; none when it lists fewer than two."""
    found: dict[str, str] = {}
    items = list(_ITEM.finditer(text))
    for at, match in enumerate(items):
        label = _label((match["a"] or match["b"] or match["c"]).lower())
        wording = " ".join(match["t"].split()).strip("* ")
        if _HEADING.fullmatch(wording):  # what the option is stands on the lines below
            end = items[at + 1].start() if at + 1 < len(items) else len(text)
            wording = " ".join(text[match.end() : end].replace("*", "").split())
        found.setdefault(label, clip(wording, _LONGEST))
    return tuple(found.items())[:_MOST] if len(found) > 1 else ()


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
