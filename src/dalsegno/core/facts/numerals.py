"""Numbers as they are written: digits, Chinese numerals (financial and traditional too), English words.

Rules of this module:

* A number is an exact decimal, written without exponent and without trailing zeros (`50000`, `1.2`), so that two
  spellings compare as text.
* Chinese: positional (`二〇二四` is 2024) or with powers (`五万三千`); a digit after a power stands one power below
  (`三百五` is 350, `五万三` is 53000). Mixed forms (`5万`, `1.2亿`, `3千5百`) are read alike.
* A blank or two before a magnitude are typography (`120 万`, `2 万 5 千`), and so are `多`, `个` (`120 多万`, `一个亿`)
  and bold type (`**120** 万`): the value is the same. `3千克`, `5 百度`, `3 千万别` have no magnitude.
* What is no number after all (`万一`, `千万`) gives None.
"""

from __future__ import annotations

import re
from decimal import Decimal

__all__ = [
    "CHINESE_DIGITS",
    "CHINESE_NUMERAL",
    "DIGITS",
    "ENGLISH_NUMBER",
    "GAP",
    "HAN_REST",
    "MIXED_NUMERAL",
    "NUMBER_WORDS",
    "POWERS",
    "chinese",
    "english",
    "shown",
    "small",
    "written",
]

_DIGIT = {
    c: n
    for n, cs in enumerate(
        ["〇零○", "一壹幺弌", "二贰貳两兩弍", "三叁參叄弎", "四肆", "五伍", "六陆陸", "七柒", "八捌", "九玖"]
    )
    for c in cs
}
_POWER = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_MYRIAD = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
CHINESE_DIGITS = "".join(_DIGIT)
CHINESE_NUMERAL = CHINESE_DIGITS + "".join(_POWER) + "".join(_MYRIAD)
_MAX = 40
_TEN = 10
POWERS = "十百千万萬亿億拾佰仟"
GAP = r"(?:\*{1,2}|`)?[ \t]{0,2}(?:\*\*)?"
"""Blanks that may stand inside a number, and between it and its unit; a number in bold type ends inside them."""
_EUROS = r"[ ]?(?:€|eur(?:os?)?\b|zł|kr\b|руб|₽|usd\b|dollars?\b)"
_RUPEES = r"[ ]?(?:rupees?|inr|lakhs?|crores?)\b"
_AFTER_EURO = r"(?:(?<=€)|(?<=€ )|(?<=\beur )|(?<=\br\$)|(?<=\br\$ ))"
_AFTER_RUPEE = r"(?:(?<=₹)|(?<=₹ )|(?<=\brs )|(?<=\brs\. )|(?<=\binr ))"
_DECIMAL_COMMA = (
    r"[0-9]{1,3}(?:\.[0-9]{3}){1,4}+,[0-9]{2}(?![0-9,])"
    rf"|[0-9]{{1,6}},[0-9]{{2}}(?={_EUROS})|{_AFTER_EURO}[0-9]{{1,6}},[0-9]{{2}}(?![0-9,])"
    r"|[0-9]{1,6},[0-9]{2}(?=[ ]?(?:kg|km|cm|mm|ml)(?![a-z]))|[1-9][0-9]{0,2}(?: [0-9]{3}){0,3} 000(?![0-9])"
    rf"|[0-9]{{1,3}}(?: [0-9]{{3}}){{1,4}}+(?:[,.][0-9]{{2}})?(?={_EUROS})"
    rf"|{_AFTER_EURO}[0-9]{{1,3}}(?: [0-9]{{3}}){{1,4}}+(?:[,.][0-9]{{2}})?(?![0-9])"
)
_LAKHS = r"[0-9]{1,2}(?:,[0-9]{2}){1,4},[0-9]{3}(?![0-9,])(?:\.[0-9]{1,2})?"
DIGITS = (
    rf"(?:(?=[0-9]{{1,6}}[,. ][0-9])(?:{_DECIMAL_COMMA}|{_LAKHS}(?={_RUPEES})|{_AFTER_RUPEE}{_LAKHS})"
    r"|[0-9]{1,3}(?:,[0-9]{3})++(?![0-9])(?:\.[0-9]++)?|[0-9]++(?:\.[0-9]++)?(?:e[+-]?[0-9]{1,2}(?![0-9a-z.]))?)"
)
"""A number in digits, in lower case: grouped as in English, as in India beside rupees, or as on the
continent, where the comma is told by its grouping (`1.234,56`) or by what follows (`12,50 €`, `3,50 kg`, `5 000 €`)."""
_BIG = (
    "(?:[萬亿億佰仟]|万(?!达(?![到成标])|科|分[之感抱期荣])|百(?!度|货|分[之点比])"
    "|千(?!万[别不要记]|[克米瓦伏卡赫帕焦岛问寻禧叶佛古灯]|字节))"
)
_FILL = rf"(?:[多余餘几]|[个個](?={GAP}[亿億]))?"
_NEXT = (
    rf"(?:{GAP}(?:[0-9]{{1,4}}|[{CHINESE_DIGITS}]{{1,2}})?{GAP}{_BIG}"
    rf"|{GAP}[{CHINESE_DIGITS}][十拾]|(?<=[{CHINESE_DIGITS}])[十拾])"
)
_LAST = (
    rf"(?:{GAP}[0-9]{{4}}(?={GAP}[元块美])|[0-9]{{1,8}}(?![0-9.,]|{GAP}[月日号年点时])"
    rf"|(?!一(?![元块塊圆圓美欧英港日人{CHINESE_NUMERAL}])[\u4e00-\u9fff])[{CHINESE_DIGITS}]{{1,4}}(?![{CHINESE_NUMERAL}]))?"
)
MIXED_NUMERAL = rf"(?:{GAP}{_FILL}{GAP}{_BIG}|[十拾]){_NEXT}{{0,8}}{_LAST}"
"""What goes on after digits as one number: `万`, ` 亿`, `千5百`."""
HAN_REST = rf"(?:(?:{GAP}{_FILL}{GAP}{_BIG}|(?<=[百千万萬亿億佰仟]){_NEXT}){_NEXT}{{0,8}}{_LAST})?"
"""What goes on after a Chinese numeral as one number."""
_FILLING = str.maketrans("", "", " \t*`多余餘几个個")

_PIECE = re.compile(rf"[0-9]+(?:\.[0-9]+)?|[{CHINESE_NUMERAL}]")


def shown(number: Decimal) -> str:
    """A number in its one spelling: no exponent, no trailing zeros, no grouping."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


def written(digits: str) -> Decimal:
    """The number written in digits, with or without grouping; a comma before the last two is the decimal one."""
    digits = digits.replace("，", ",").replace(" ", "")
    if digits[-3:-2] == ",":
        digits = digits.replace(".", "").replace(",", ".")
    return Decimal(digits.replace(",", ""))


def chinese(numeral: str) -> Decimal | None:
    """The number a Chinese or mixed numeral means, or None when it means none.

    Args:
        numeral: Chinese numerals and ASCII digits, with at most one `点` or `.`.
    """
    numeral = numeral.translate(_FILLING)
    if len(numeral) > _MAX:
        return None
    numeral = numeral.replace(",", "")
    whole, point, fraction = numeral.replace("點", "点").partition("点")
    if point:
        digits = [_DIGIT.get(c, int(c) if c in "0123456789" else -1) for c in fraction]
        head = chinese(whole)
        tail = ""
        while fraction and fraction[-1] in _MYRIAD:
            tail = fraction[-1] + tail
            fraction = fraction[:-1]
            digits.pop()
        if head is None or not digits or min(digits) < 0:
            return None
        number = head + Decimal("0." + "".join(map(str, digits)))
        for c in tail:
            number *= _MYRIAD[c]
        return number
    if all(c in _DIGIT for c in whole):
        return Decimal("".join(str(_DIGIT[c]) for c in whole)) if whole else None
    return _with_powers(whole)


def small(numeral: str) -> Decimal | None:
    """The number of a short numeral in digits or in Chinese, or None when it means none."""
    numeral = numeral.translate(_FILLING)
    if numeral.isascii():
        return written(numeral) if 0 < len(numeral) < _MAX else None
    return chinese(numeral)


def _with_powers(numeral: str) -> Decimal | None:
    total, section = Decimal(0), Decimal(0)  # what is complete, and what still waits for its myriad
    number: Decimal | None = None  # the digit that waits for its power
    power = 1  # the one that came last
    for piece in _PIECE.findall(numeral):
        if piece in _POWER:
            power = _POWER[piece]
            if number is None and not (power == _TEN and section % 100 == 0):
                return None
            section += (number or 1) * power
            number = None
        elif piece in _MYRIAD:
            power = _MYRIAD[piece]
            section += number or 0
            number = None
            if section == total == 0:
                return None
            total, section = _carried(total, section, power), Decimal(0)
        elif number:
            return None
        else:
            number = Decimal(_DIGIT.get(piece, piece))
            power = 1 if number == 0 or len(piece) > 1 else power
    return total + section + (number or 0) * (power // 10 if power > _TEN else 1)


def _carried(total: Decimal, section: Decimal, myriad: int) -> Decimal:
    """What is complete after a myriad: it multiplies the section, or all before it when that is smaller (`五万亿`)."""
    return (total + section) * myriad if section == 0 or 0 < total < myriad else total + section * myriad


# --- English ------------------------------------------------------------------------------------------

_ONES = {
    word: number
    for number, word in enumerate(
        (
            *(
                "zero",
                "one",
                "two",
                "three",
                "four",
                "five",
                "six",
                "seven",
                "eight",
                "nine",
                "ten",
                "eleven",
                "twelve",
            ),
            *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
        )
    )
}
_TENS = {
    word: 10 * number
    for number, word in enumerate(("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), 2)
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WORDS = "|".join([*_ONES, *_TENS, *_SCALES, "dozen"])
_FIRST = "|".join([*_TENS, *sorted(_ONES, key=len, reverse=True), *(scale for scale in _SCALES), "dozen"])
NUMBER_WORDS = frozenset((*_ONES, *_TENS, *_SCALES, "dozen"))
"""Words that may begin a number."""

ENGLISH_NUMBER = rf"(?:{_FIRST})\b(?:(?:-|\s(?:and\s)?)(?:{_WORDS})\b){{0,12}}+"


def english(words: str) -> Decimal | None:
    """The number English words mean (`two hundred and fifty thousand`), or None when they mean none."""
    total = section = 0
    last = ""
    for word in words.replace("-", " ").split():
        if word in {"and", "a", "an"}:
            continue
        if word in _ONES:
            if last in _ONES or (last in _TENS and not 0 < _ONES[word] < 10):  # noqa: PLR2004 - twenty-one to twenty-nine
                return None
            section += _ONES[word]
        elif word in _TENS:
            if last in _ONES or last in _TENS:
                return None
            section += _TENS[word]
        elif word == "dozen":
            section = (section or 1) * 12
        elif word == "hundred":
            section = (section or 1) * 100
        else:
            total, section = total + (section or 1) * _SCALES[word], 0
        last = word
    return Decimal(total + section)
