"""What a number measures: the percentage, the money or the unit that stands after it.

Rules of this module:

* Tried in this order: percentage, money (a currency on either side), quantity, none of them.
* A magnitude (`million`, `bn`, `50k`) belongs to the number, with a blank before it or without. `m`, `b` and `w`
  multiply money only: alone, `5 m` may be metres and `7B` anything, so they are kept as they are.
* In `三块五`, `五元三角` the coins after the unit belong to the amount, and so do `整` and `正`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from dalsegno.core.facts.kinds import Kind
from dalsegno.core.facts.numerals import shown, small
from dalsegno.core.facts.units import (
    ARTICLE_UNITS,
    ATTACHED,
    CURRENCY_AFTER,
    HAN_UNITS,
    MAGNITUDES,
    MODIFIERS,
    NO_NOUNS,
    UNITS,
    singular,
)

__all__ = ["Numeral", "measured"]

_Found = tuple[int, int, Kind, str]

_AFTER = re.compile(
    r"(?P<gap>(?:\+(?=[ a-z\u4e00-\u9fff]))?"
    r"(?:[ \t]{2,4}(?![$¥€£₩₹฿₫₽₺₪₱₴])|[ \t])?(?:\*\*(?:[ \t]{2}|[ \t])?)?)(?:(?:-(?=[htmb][a-z]{4}))?"
    r"(?P<magnitude>(?:hundred\s{1,2})?(?:thousand|million|billion|trillion)s?|hundred|dozen|lakh|crore|[mbt]ln|mio|mil|[mbt]n|mm|[kmbw])"
    r"(?![a-z0-9])(?P<gap2>\sof\s|[ \t]{2}|\s|-)?)?"
    r"(?:[多余餘]\s?)?"
    r"(?P<unit>zł|руб|[a-z°][a-z²³]*(?:/[a-z]+)?(?:[' ]?s\b)?|[%‰$¥€£₩₹฿₫₽₺₪₱₴]|[\u4e00-\u9fff㎡℃℉㎏]{1,5})?"
)
_SMALL_COINS = re.compile(
    r"(?P<j>[0-9]|[零一二三四五六七八九壹贰叁肆伍陆柒捌玖])[角毛](?:(?P<f>[0-9]|[零一二三四五六七八九壹贰叁肆伍陆柒捌玖])分)?"
)
_HALF_COIN = re.compile("[0-9一二三四五六七八九](?![0-9\u4e00-\u9fff])")
_PERCENT_WORD = re.compile(
    r"\s{0,2}(?:percentage\spoints?|per\s?cent(?!age)|percent(?!age)|pct\b|bps\b|basis\spoints?|pp\b)"
)
_MODIFIED = re.compile(r"\s(?P<m>[a-z]+(?:-[a-z]+)?(?:\s[a-z]+)?)\s(?P<n>[a-z]{3,}s|people|children)\b(?!-)")
_NOUN = re.compile(r"[a-z]{3,}")
_PER_TIME = re.compile(r"/(?P<t>s|sec|min|h|hour)(?![a-z0-9])")
_HYPHENED = re.compile(r"-(?P<u>[a-z]+)(?:-old)?(?![a-z0-9])")
_NO_YUAN = frozenset("桥橋村里店区區路街旦素帅月")
_NO_WEEKS = frozenset(("周边", "周围", "周到", "周全"))
_SIGNS = frozenset("$¥€£₩₹฿₫₽₺₪₱₴")
_LETTERS = frozenset(("m", "b", "mm", "w"))
_LEAST_DOLLARS = 10
_KNIVES = frozenset("具片法口剑叉工")
_NO_TENTHS = frozenset("立为功員员本果绩績都長长交人熟就品像份型")


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeral:
    """A number as it stands in a text.

    Attributes:
        start: offset of its first character, sign and currency included.
        end: offset after its last character, before any unit.
        numbers: the number, or both ends of a range.
        currency: the code of the currency that stands before it, or empty.
        han: the numeral when it is Chinese, else empty.
        worded: whether it is written in English words.
    """

    start: int
    end: int
    numbers: tuple[Decimal, ...]
    currency: str = ""
    han: str = ""
    worded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _After:
    """What stands after a number: a blank, a magnitude, a word."""

    gap: bool
    magnitude: str
    magnitude_end: int
    word: str
    word_start: int
    word_end: int


def measured(low: str, numeral: Numeral) -> _Found | None:
    """The percentage, amount or quantity at a number, or None when nothing says what it measures.

    Args:
        low: the folded text in lower case.
        numeral: a number in it.
    """
    percent = _percent(low, numeral.end)
    if percent and not numeral.currency:
        end, sign, factor = percent
        return numeral.start, end, Kind.PERCENT, "..".join(f"{shown(n * factor)}{sign}" for n in numeral.numbers)
    after = _after(low, numeral.end)
    return _money(low, numeral, after) or _quantity(low, numeral, after)


def _after(low: str, end: int) -> _After:
    found = _AFTER.match(low, end)
    if found is None:
        return _After(gap=False, magnitude="", magnitude_end=end, word="", word_start=end, word_end=end)
    word = found["unit"] or ""
    return _After(
        gap=bool(found["gap"]),
        magnitude=" ".join((found["magnitude"] or "").split()).removesuffix("s"),
        magnitude_end=found.end("magnitude") if found["magnitude"] else end,
        word=word,
        word_start=found.start("unit") if word else end,
        word_end=found.end("unit") if word else end,
    )


def _money(low: str, numeral: Numeral, after: _After) -> _Found | None:
    code, size = _currency_after(low, after.word, after.word_start)
    if numeral.han == "一" and after.word[:size] in ("块", "塊"):
        code = None
    if after.word[:1] == "刀" and (numeral.han or max(numeral.numbers) < _LEAST_DOLLARS or after.word[1:2] in _KNIVES):
        code = None
    if numeral.currency and after.word[:1] in _SIGNS:
        code = None  # the next column's
    if not code and not numeral.currency:
        return None
    numbers, end = numeral.numbers, numeral.end
    if after.magnitude:
        numbers, end = tuple(n * MAGNITUDES[after.magnitude] for n in numbers), after.magnitude_end
    if code:
        end, coins = _coins(low, after.word_start + size, after.word[:size])
        numbers = (*numbers[:-1], numbers[-1] + coins)
        if low[end : end + 1] in ("整", "正") and low[end : end + 2] != "整个":
            end += 1
    currency = code if code and (code != "CNY" or not numeral.currency) else numeral.currency
    return numeral.start, end, Kind.AMOUNT, f"{currency} {_joined(numbers)}"


def _quantity(low: str, numeral: Numeral, after: _After) -> _Found | None:
    numbers = numeral.numbers
    if after.magnitude and after.magnitude not in _LETTERS:
        numbers = tuple(n * MAGNITUDES[after.magnitude] for n in numbers)
        counted = _unit(low, after, attached=False)
        end, unit = counted or (after.magnitude_end, "")
        return numeral.start, end, Kind.QUANTITY, f"{_joined(numbers)} {unit}".strip()
    rate = _PER_TIME.match(low, after.magnitude_end) if after.magnitude == "m" else None
    if rate:
        return numeral.start, rate.end(), Kind.QUANTITY, f"{_joined(numbers)} m/{ATTACHED[rate['t']]}"
    if after.magnitude in _LETTERS and not numeral.worded and not (after.gap and after.magnitude == "b"):
        return numeral.start, after.magnitude_end, Kind.QUANTITY, f"{_joined(numbers)} {ATTACHED[after.magnitude]}"
    counted = _unit(low, after, attached=not after.gap and not numeral.worded)
    if counted is None and not after.word:
        hyphened = _HYPHENED.match(low, numeral.end)
        if hyphened and hyphened["u"] in UNITS:
            counted = hyphened.end(), UNITS[hyphened["u"]]
    if counted is None or _is_article(low[after.word_start : counted[0]], numeral.han):
        return None
    return numeral.start, counted[0], Kind.QUANTITY, f"{_joined(numbers)} {counted[1]}"


def _is_article(unit: str, han: str) -> bool:
    """Whether `一个` and `十分` are words rather than quantities."""
    return (han == "一" and (unit in ARTICLE_UNITS or unit == "个人")) or (han == "十" and unit == "分")


def _joined(numbers: tuple[Decimal, ...]) -> str:
    return "..".join(map(shown, numbers))


def _percent(low: str, end: int) -> tuple[int, str, Decimal] | None:
    """End, unit and factor of a percentage."""
    at = end + len(low[end : end + 4]) - len(low[end : end + 4].lstrip(" *"))
    first = low[at : at + 1]
    if first == "%":
        return at + 1, "%", Decimal(1)
    if first == "‰":
        return at + 1, "%", Decimal("0.1")
    if low.startswith("个百分点", at) or low.startswith("個百分點", at):
        return at + 4, "pp", Decimal(1)
    if first == "成" and low[at + 1 : at + 2] not in _NO_TENTHS:
        return at + 1, "%", Decimal(10)
    if first not in "pb":
        return None
    found = _PERCENT_WORD.match(low, end)
    if found is None:
        return None
    word = found[0].strip()
    if word.startswith(("bps", "basis")):
        return found.end(), "pp", Decimal("0.01")
    return found.end(), "pp" if "point" in word or word == "pp" else "%", Decimal(1)


def _currency_after(low: str, word: str, at: int) -> tuple[str | None, int]:
    """Currency code and length of what follows a number, when it is money."""
    if not word:
        return None, 0
    if word[0].isascii():
        head = word.split("/", maxsplit=1)[0]
        return CURRENCY_AFTER.get(head), len(head)
    for size in range(min(5, len(word)), 0, -1):
        code = CURRENCY_AFTER.get(word[:size])
        if (
            code
            and not (word[:size] == "元" and low[at + 1 : at + 2] in _NO_YUAN)
            and not _is_piece(low, word[:size], at)
        ):
            return code, size
    return None, 0


def _is_piece(low: str, unit: str, at: int) -> bool:
    """Whether `块` counts pieces: money has a digit, a full stop or a particle after it, a piece its noun."""
    following = low[at + 1 : at + 2]
    return (
        unit in "块塊"
        and bool(re.match("[\u4e00-\u9fff]", following))
        and following not in "的左多一二三四五六七八九每就吧了以到和"
    )


def _coins(low: str, end: int, unit: str) -> tuple[int, Decimal]:
    found = _SMALL_COINS.match(low, end)
    if found:
        jiao = small(found["j"]) or Decimal(0)
        fen = (small(found["f"]) or Decimal(0)) if found["f"] else Decimal(0)
        return found.end(), jiao / 10 + fen / 100
    half = _HALF_COIN.match(low, end) if unit in "块塊" else None
    return (half.end(), (small(half[0]) or Decimal(0)) / 10) if half else (end, Decimal(0))


def _unit(low: str, after: _After, *, attached: bool) -> tuple[int, str] | None:
    """End and canonical name of the unit after a number."""
    word = after.word
    if not word:
        return None
    if not word[0].isascii() or word[0] == "°":
        table = UNITS if word[0] == "°" else HAN_UNITS
        sizes = range(0 if word[:2] in _NO_WEEKS else min(5, len(word)), 0, -1)
        return next(((after.word_start + size, table[word[:size]]) for size in sizes if word[:size] in table), None)
    if attached:
        name = ATTACHED.get(word) or _rate(word, ATTACHED)
        return (after.word_end, name) if name else None
    name = UNITS.get(word) or _rate(word, ATTACHED if len(word) > 2 else UNITS)  # noqa: PLR2004 - `m/s`
    return (after.word_end, name) if name and len(word) > 1 else _noun(low, after)


def _rate(word: str, units: Mapping[str, str]) -> str | None:
    """The name of one unit for each of another: `mg/dl`, `m/s`, `req/s`."""
    head, _, tail = word.partition("/")
    if not tail or not (head in units or (tail in ATTACHED and len(head) > 2)):  # noqa: PLR2004 - `req/s`
        return None
    return f"{units.get(head, head)}/{ATTACHED.get(tail, tail)}"


def _noun(low: str, after: _After) -> tuple[int, str] | None:
    """End and singular of a plural noun, with the word that modifies it."""
    word = after.word
    noun = _NOUN.match(word)
    if (
        noun
        and word.endswith("s")
        and word not in NO_NOUNS
        and not word.endswith(("ss", "us", "'s", " s"))
        and "/" not in word
    ):
        return after.word_end, singular(word)
    modified = _MODIFIED.match(low, after.word_start - 1)
    if modified and _modifies(modified["m"]) and modified["n"] not in NO_NOUNS:
        return modified.end(), f"{modified['m']} {singular(modified['n'])}"
    return None


def _modifies(between: str) -> bool:
    """Whether each word between a number and a noun belongs to the noun."""
    return all(word in MODIFIERS or word.endswith("ed") for word in between.split())
