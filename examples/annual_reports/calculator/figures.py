"""Figures as reports write them.

Rules of this module:

* A figure is read exactly, as a decimal. `(1,234)` and `-1,234` are negative, `—` is none (which sums count as 0), a
  currency sign says nothing about its worth, a percentage stays a number of percent and says so in its unit.
* Words of scale right after a figure belong to it: `1.2 billion`, `3.5亿元`. A year is no figure, and neither is a
  citation such as `[3]`.
* Pure: no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

__all__ = ["SCALES", "Figure", "cell_of", "figures_of", "plain", "scale_of"]

SCALES: dict[str, Decimal] = {
    **dict.fromkeys(("thousand", "thousands", "k", "千"), Decimal(10**3)),
    "万": Decimal(10**4),
    **dict.fromkeys(("million", "millions", "mn", "mm", "m", "百万"), Decimal(10**6)),
    "千万": Decimal(10**7),
    "亿": Decimal(10**8),
    **dict.fromkeys(("billion", "billions", "bn", "b", "十亿"), Decimal(10**9)),
    **dict.fromkeys(("trillion", "trillions", "tn", "万亿"), Decimal(10**12)),
}
"""Words of scale and what they multiply by."""

_CELL_CHARS = 60

Unit = Literal["", "percent"]

_SCALE = "|".join(sorted(SCALES, key=len, reverse=True))
_CURRENCY = r"(?:US|HK|A|C|RMB|CNY|USD|EUR|人民币)?\s{0,2}[$€£¥￥]?"
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+"
_CELL = re.compile(
    rf"{_CURRENCY}\s*(?P<open>[(（])?\s*(?P<sign>[-−–])?\s*{_CURRENCY}\s*(?P<number>{_NUMBER})\s*(?P<inner>[%％])?\s*[)）]?\s*"
    rf"(?P<unit>[%％]|bps|x)?\s*(?P<scale>(?:{_SCALE})(?![a-z]))?\s*(?:元|美元|港元|股|吨)?\s*(?:\(\w{{1,3}}\)|\*+)?",
    re.IGNORECASE,
)
_IN_TEXT = re.compile(
    rf"(?<![A-Za-z0-9_.,])(?P<open>\()?(?P<sign>[-−])?{_CURRENCY}\s?(?P<open2>\()?(?P<number>{_NUMBER})(?![\d])(?P<close>\))?(?:\s?(?P<unit>[%％]))?"
    rf"(?:\s?(?P<scale>{_SCALE})(?![a-z]))?",
    re.IGNORECASE,
)
_NONE = re.compile(r"[-—–−]{1,3}%?")
_CITATION = re.compile(r"\[\d+\]")
_YEAR = re.compile(r"(?:19|20)\d{2}")
_DAY = re.compile(
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|quarter|note|page|item|form|第)\s*$",
    re.IGNORECASE,
)
_SCALE_LINES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bin (?:\w+ )*?thousands|[$€£¥(]\s?'?000s?\b|\bthousands of\b|千元", re.IGNORECASE), "thousand"),
    (re.compile(r"\bin (?:\w+ )*?billions|\bbillions of\b|[$€£]\s?billion|[$€£]bn\b|十亿元", re.IGNORECASE), "billion"),
    (
        re.compile(
            r"\bin (?:\w+ )*?millions|\bmillions of\b|[$€£¥]\s?millions?\b|[$€£]m\b|\(millions|百万元", re.IGNORECASE
        ),
        "million",
    ),
    (re.compile(r"亿元"), "亿"),
    (re.compile(r"万元"), "万"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number that stands in a report.

    Attributes:
        value: as it is written, in the unit and scale of its place; 0 for a dash.
        unit: `percent`, or nothing.
        scale: the word of scale beside it; empty where its table or nobody says.
        text: the writing.
        at: where it begins in its text.
    """

    value: Decimal
    unit: Unit = ""
    scale: str = ""
    text: str = ""
    at: int = 0


def plain(value: Decimal) -> str:
    """A number as one types it into an expression."""
    return f"{value.normalize():f}" if value else "0"


def cell_of(text: str) -> Figure | None:
    """The figure that a table's cell holds; None for words, a year's head or nothing."""
    text = text.strip()
    if len(text) > _CELL_CHARS:
        return None
    if _NONE.fullmatch(text):
        return Figure(value=Decimal(0), text=text)
    found = _CELL.fullmatch(text)
    return None if found is None else _figure(found, 0)


def _figure(found: re.Match[str], at: int) -> Figure:
    parts = found.groupdict()
    value = Decimal(parts["number"].replace(",", ""))
    if parts["sign"] or parts["open"] or parts.get("open2"):
        value = -value
    percent = (parts["unit"] or parts.get("inner") or "") in ("%", "％")
    return Figure(
        value=value,
        unit="percent" if percent else "",
        scale=(parts["scale"] or "").lower(),
        text=found[0].strip(),
        at=at,
    )


def figures_of(text: str) -> Iterator[Figure]:
    """The figures of a sentence, in order; years, days of months, numbers of notes and citations are none."""
    bare = _CITATION.sub(lambda citation: " " * len(citation[0]), text)
    for found in _IN_TEXT.finditer(bare):
        number = found["number"]
        alone = not (found["unit"] or found["scale"] or found["sign"])
        if alone and (_YEAR.fullmatch(number) or _DAY.search(bare[: found.start()])):
            continue
        if bare[found.end() : found.end() + 1] in ("年", "月", "日") or (
            bare[found.end() : found.end() + 1].isalpha() and bare[found.end()] < "\u2e80"
        ):
            continue
        closed = found["close"] and (found["open"] or found["open2"])
        figure = _figure(found, found.start())
        if (found["open"] or found["open2"]) and not closed:
            figure = Figure(
                value=-figure.value, unit=figure.unit, scale=figure.scale, text=figure.text.strip("( "), at=figure.at
            )
        yield figure


def scale_of(text: str) -> str:
    """The word of scale that a table's unit line gives all its figures; empty where there is none."""
    for pattern, word in _SCALE_LINES:
        if pattern.search(text):
            return word
    return ""
