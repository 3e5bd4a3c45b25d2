"""A number and its unit that a line break or a bracket parts, brought together, with every offset unchanged.

Rules of this module:

* `50` at the end of a line and `kg` at the start of the next are one quantity, as in a column of a table; so are `50
  (kg)`, `50（万元）`, `$(1,234)`, and `$` before a line break. What stands between becomes blanks.
* A line of forty characters and more that goes on in lower case is prose broken at a width: the break is a blank.
* Elsewhere only a unit that is none of a text's other words does so: a currency, a measure, a span of time, a
  magnitude. What goes on as a label (`Days: 3`) or as another word does not, nor does more than one line break.
"""

from __future__ import annotations

import re

from dalsegno.core.facts.units import CURRENCY_AFTER, HAN_UNITS, UNITS

__all__ = ["joined"]

_HAN_MONEY = (
    "元 万元 百万元 千万元 亿元 千元 美元 万美元 亿美元 欧元 万欧元 亿欧元 港元 万港元 "
    "亿港元 港币 日元 英镑 人民币 块钱 万 亿"
)


def _any(names: list[str]) -> str:
    return "|".join(map(re.escape, sorted(dict.fromkeys(names), key=len, reverse=True)))


_HAN = _any([*_HAN_MONEY.split(), *(unit for unit in HAN_UNITS if len(unit) > 1)])
_LATIN = _any(
    [
        *(name for name in CURRENCY_AFTER if name.isascii() and name.isalpha() and name not in {"won", "try"}),
        *(name for name in UNITS if name.isascii() and name.isalpha() and len(name) > 1),
        *("percent", "per cent", "million", "billion", "business days", "working days"),
    ]
)
_MAGNITUDE = r"(?:(?:thousand|million|billion|mn|bn)\s)?"
_LINE = re.compile(
    r"(?<=[0-9万亿千百])[ \t]?\r?\n[ \t]{0,2}"
    rf"(?=(?:(?:{_LATIN})(?![A-Za-z0-9_])|(?:{_HAN})(?![旦宵素帅首月])|[%‰](?=[ \t]*(?:\r?\n|[.,;)，。；）]|\Z)))"
    r"(?!\s?[:：=|]))",
    re.IGNORECASE,
)
_WRAPPED = re.compile(r"\n(?<=[^\n]{40}\n)(?=[a-z])")
"""Prose that is broken at a width: a long line, and the next one goes on in lower case."""
_SIGN = re.compile(r"(?<=[$¥€£₩₹])[ \t]?(?:\r?\n[ \t]?|\((?=[0-9][0-9,.]{0,20}\)))(?=[0-9])")
_CODE = re.compile(r"(?<![A-Za-z])(?:RMB|USD|CNY|EUR|GBP|HKD|人民币)[ \t]?[(（](?=[0-9][0-9,.]{0,20}[)）])")
_BRACKET = re.compile(
    rf"(?<=[0-9万亿])[ \t]?[(（\[](?=(?:{_MAGNITUDE}(?:{_LATIN})|{_HAN}|[%‰$¥€£₩₹])[)）\]])", re.IGNORECASE
)


def joined(text: str) -> str:
    """A folded text with what parts numbers and units replaced by blanks; the same length, the same offsets."""
    if "\n" in text:
        text = _WRAPPED.sub(" ", text)
        text = _LINE.sub(_blank, text)
    if "\n" in text or "(" in text:
        text = _SIGN.sub(_blank, text)
    if "(" in text or "（" in text or "[" in text:
        text = _BRACKET.sub(_blank, text)
        text = _CODE.sub(lambda found: f"{found[0][:-1]} ", text)
    return text


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])
