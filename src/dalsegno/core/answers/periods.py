"""Years, fiscal years, quarters and halves, as questions about reports write them.

Rules of this module:

* `FY24`, `FY2024`, `fiscal 2024`, `fiscal year 2024`, `2024财年`, `2024年度` are `FY2024`; the calendar year `2024` is
  another period. `FY2023/24` and `FY2023-24` are `FY2023/24`.
* `Q3 2024`, `2024Q3`, `3Q24`, `third quarter of 2024`, `2024年第三季度` are `2024-Q3`; of a fiscal year `FY2024-Q3`;
  without a year `Q3`. Halves likewise: `H1 2024`, `1H24`, `first half of 2024`, `2024年上半年` are `2024-H1`.
* A date in eight digits with its `日` is that date.
* Two digits are a year only behind `FY`, or behind a quarter or half written close to them; `H100` and `H200` are
  products.
* Pure. Other dates are read by `core.facts`.
"""

from __future__ import annotations

import re

__all__ = ["periods_in"]

_HAN_DIGIT = {digit: str(value) for value, digit in enumerate("〇一二三四五六七八九")} | {"零": "0", "○": "0"}
_NTH = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_ORDER = {**_NTH, "一": 1, "二": 2, "三": 3, "四": 4, "上": 1, "下": 2, "1": 1, "2": 2, "3": 3, "4": 4}
_Y = r"(?P<y>(?:19|20)\d\d|[〇零○一二三四五六七八九]{4})"
_FISCAL = r"(?P<f>(?:fy|fiscal|financial)\s?(?:year)?\s?)"
_NTH_EN = r"(?P<n>first|second|third|fourth|1st|2nd|3rd|4th)"
_FOUR = r"(?:19|20)\d\d"
_EDGE, _END = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"

_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_EDGE}q(?P<q>[1-4])[\s,]{{0,2}}(?:of |in )?{_FISCAL}?'?(?P<y>{_FOUR}|(?<=q\d|.'|fy)\d\d){_END}",
        rf"{_EDGE}{_FISCAL}?(?P<y>(?:19|20)\d\d)[\s-]?q(?P<q>[1-4]){_END}",
        rf"{_EDGE}(?P<q>[1-4])q\s?(?P<y>(?:20)?\d\d){_END}",
        (
            rf"{_EDGE}h(?P<h>[12])[\s,]{{0,2}}(?:of |in )?{_FISCAL}?"
            rf"(?P<y>(?:19|20)\d\d|(?<=[hH]\d)(?!00)\d\d|(?<=fy)\d\d){_END}"
        ),
        rf"{_EDGE}{_FISCAL}?(?P<y>(?:19|20)\d\d)[\s-]?h(?P<h>[12]){_END}",
        rf"{_EDGE}(?P<h>[12])h\s?(?P<y>(?:20)?\d\d){_END}",
        rf"{_EDGE}{_NTH_EN}[\s-](?P<part>quarter|half)(?: of| in)?(?: the)? {_FISCAL}?(?P<y>(?:19|20)\d\d){_END}",
        rf"{_EDGE}(?P<y>(?:19|20)\d\d) {_NTH_EN}[\s-](?P<part>quarter|half){_END}",
        rf"(?<!\d){_Y}\s?年?\s?第?(?P<q>[一二三四1-4])季(?:度(?!报)|(?=度?报)|(?!度))",
        rf"(?<!\d){_Y}\s?年\s?q(?P<q>[1-4])(?!\d)",
        rf"(?<!\d){_Y}\s?年?\s?(?P<h>[上下])半年(?!度?报)",
        rf"{_EDGE}{_FISCAL}'?(?P<y>(?:19|20)\d\d[-/](?:20)?\d\d|\d\d/\d\d){_END}",
        rf"{_EDGE}{_FISCAL}'?(?P<y>(?:19|20)\d\d|(?<=fy)\d\d|(?<=')\d\d|(?<=fy )\d\d){_END}",
        rf"(?<!\d)(?P<f>){_Y}\s?(?:财年|财政年度|会计年度|年度(?!报告))",
        rf"{_EDGE}q(?P<q>[1-4]){_END}",
        rf"{_EDGE}{_NTH_EN}[\s-](?P<part>quarter)(?! of (?:the )?(?!year))\b",
        r"第(?P<q>[一二三四1-4])季度",
        r"(?<!\d)(?P<date>(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))日",
    )
)


def periods_in(text: str) -> list[tuple[int, int, str]]:
    """Periods of a text that do not overlap, as start, end and value, in order; of two readings the longer."""
    found = [(one.start(), one.end(), _value(one)) for pattern in _PATTERNS for one in pattern.finditer(text)]
    kept: list[tuple[int, int, str]] = []
    for start, end, value in sorted(found, key=lambda each: (each[0] - each[1], each[0])):
        if all(end <= other or start >= stop for other, stop, _ in kept):
            kept.append((start, end, value))
    return sorted(kept)


def _value(found: re.Match[str]) -> str:
    parts = found.groupdict()
    if parts.get("date"):
        return f"{found[0][:4]}-{found[0][4:6]}-{found[0][6:8]}"
    year = _year(parts.get("y") or "")
    if parts.get("f") is not None and year:
        year = f"FY{year}"
    nth = parts.get("q") or parts.get("h") or parts.get("n")
    if nth is None:
        return year
    letter = "H" if parts.get("h") or (parts.get("part") or "").lower() == "half" else "Q"
    told = f"{letter}{_ORDER[nth.lower()]}"
    return f"{year}-{told}" if year else told


def _year(text: str) -> str:
    digits = "".join(_HAN_DIGIT.get(character, character) for character in text)
    first, mark, second = digits.replace("-", "/").partition("/")
    return _four(first) + (f"/{second[-2:]}" if mark else "")


def _four(digits: str) -> str:
    return digits if len(digits) != 2 else f"{'20' if digits < '70' else '19'}{digits}"  # noqa: PLR2004 - two digits
