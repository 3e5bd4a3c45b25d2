"""Options of a plan: how they are named, listed, and meant by `B`, `the second one`, `第二个方案`.

Rules of this module:

* A label is a lower-case letter or a number in digits: `Option B`, `方案B`, `方案二`, `第二个` are `b` or `2`.
* A letter and its number are one label where a list gives letters (`the second one` of A, B, C is `b`).
* A letter alone names an option only right after a word of choice (`go with B`, `选B`), so that no article is one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dalsegno.core.card.clipping import clip

__all__ = ["label_in", "listed", "option_called"]

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
