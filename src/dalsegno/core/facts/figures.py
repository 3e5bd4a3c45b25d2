"""Figures: amounts of money, percentages, quantities with their units, and bare numbers.

Rules of this module:

* An amount has a currency by sign, code or word (`$384.20`, `RMB 50,000`, `五万元`, `50k USD`, `人民币伍万元整`), or
  is the bare number under a label that names money (`budget: 80,000`, `"price": 51`); then its value has no currency.
* A percentage: `12.5%`, `twelve percent`, `百分之十二点五`, `三成`, `5‰` (as 0.5%); points (`12.5个百分点`) are their
  own unit.
* A quantity is a number with a unit of `units.py`, a fraction, dimensions (`10x20`), or a number in `万`, `亿`,
  millions.
* A range whose unit stands once (`100-200元`, `5-10%`) is one fact, its value `first..last`.
* Every other number is bare. Left out altogether: markers of a numbered list, digits inside a word, `一` as an
  article, single Chinese numerals and English number words without a unit, since they are words oftener than numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from dalsegno.core.facts.kinds import Kind
from dalsegno.core.facts.labels import ID_WORDS, MONEY_WORDS, NUMBERED_WORDS, VERSION_WORDS, label_before
from dalsegno.core.facts.measures import Numeral, measured
from dalsegno.core.facts.numerals import (
    CHINESE_NUMERAL,
    DIGITS,
    ENGLISH_NUMBER,
    GAP,
    HAN_REST,
    MIXED_NUMERAL,
    NUMBER_WORDS,
    POWERS,
    chinese,
    english,
    shown,
    small,
)
from dalsegno.core.facts.reading import Reading
from dalsegno.core.facts.units import CURRENCY_BEFORE, HAN_UNITS, MAGNITUDES

__all__ = ["LISTENED", "figures", "with_unit"]

_Found = tuple[int, int, Kind, str]

_MAX_DIGITS = 40
_SCALE_WORDS = frozenset(("hundred", "thousand", "million", "billion", "trillion", "dozen"))
_SHORT = 2
_ZEROS = frozenset("零〇○")
_ASCII_DIGITS = frozenset("0123456789")
_LONG = 8
_NUMERAL = re.compile(
    rf"{DIGITS}(?:{MIXED_NUMERAL})?|[{CHINESE_NUMERAL}]{{1,24}}+(?:[点點][{CHINESE_NUMERAL}]{{1,12}}+)?{HAN_REST}"
)
_ENGLISH = re.compile(ENGLISH_NUMBER)
_RANGE = re.compile(
    rf"\s{{0,2}}(?:-|–|—|~|～|至|到|to(?=\s))\s{{0,2}}(?P<sign>[$¥€£₩₹฿₫₽₺₪₱₴])?"
    rf"(?P<n>{DIGITS}(?:{MIXED_NUMERAL})?|[{CHINESE_NUMERAL}]{{1,8}}{HAN_REST}(?={GAP}[\u4e00-\u9fff%]))"
)
_BETWEEN = re.compile(rf"\s(?:and|to)\s(?P<sign>[$¥€£₩₹฿₫₽₺₪₱₴])?(?P<n>{DIGITS})")
_BEFORE = re.compile(
    r"(?:\b(?:us|hk|nt|nz|mx|r|au?|ca?|sg?|jp|cn)?\$|[$¥€£₩₹฿₫₽₺₪₱₴]|(?<![a-z])(?:us|hk|nt|a|c|s|jp|cn)[$¥]"
    r"|(?<![a-z])(?:usd|cny|rmb|eur|gbp|jpy|hkd|twd|krw|aud|cad|sgd|inr|chf|rub|thb|myr|brl|mxn|nzd|pln|sek|nok|dkk|vnd|idr|zar|aed|rs)\.?"
    r"|人民币|人民幣|美元|美金|港币|港元|欧元|英镑|日元|韩元|新台币)(?:[ ]{2,3}|\s)?\Z"
)
_WHOLE = re.compile(rf"(?:百|千|万|{DIGITS}|[{CHINESE_NUMERAL}]{{1,6}}){GAP}\Z")
_SHARE = re.compile(rf"分之{GAP}(?P<n>{DIGITS}|[{CHINESE_NUMERAL}]{{1,8}}(?:[点點][{CHINESE_NUMERAL}]{{1,8}})?)")
_TENTHS = re.compile(
    "[一二三四五六七八九] {0,2}成(?<![一二三四五六七八九十][一二三四五六七八九]成)"
    "(?![立为為功員员本果绩績都長长交人熟就品像份型])"
)
_TIMES = re.compile(rf"{DIGITS}\s?[x×*]\s?{DIGITS}(?:\s?[x×*]\s?{DIGITS})?(?![A-Za-z0-9])")
_FRACTION = re.compile(r"(?P<a>[0-9]{1,3})/(?P<b>[0-9]{1,3})(?![0-9A-Za-z/])(?!-[0-9])")
_ENGLISH_HALF = re.compile(r"half(?:-|\san?\s|\s)(?P<u>hour|day|year|month|mile|pound|dozen|million|billion)(?![a-z])")
_HAN_HALF = re.compile(rf"半个?{GAP}(?P<u>小时|钟头|天|年|月|斤|公斤|公里)")
_WHOLE_AND = re.compile(rf"(?P<n>[0-9]{{1,4}}|[{CHINESE_NUMERAL}]{{1,6}}){GAP}个{GAP}\Z")
_NTH = re.compile(
    rf"第\s?(?P<n>[0-9]{{1,6}}|[{CHINESE_NUMERAL}]{{1,6}})\s?(?P<u>条|條|章|款|项|項|页|頁|期|批|届|轮|版|节|号|師|部分|季)"
)
_MARKER = re.compile(r"(?:\A|(?<=\n))[ \t>*-]{0,8}\Z")
_SIGN_BEFORE = frozenset(" \n\t([{:=\"'$¥€£,，。；：（")


LISTENED = NUMBER_WORDS | {"half"}
"""Words at which a number may stand."""


def figures(reading: Reading) -> Iterator[_Found]:
    """Figures of a text, as start, end, kind and value; readings may overlap."""
    low = reading.low
    reach = 0
    size = len(low)
    for start, end in reading.runs:
        if start < reach or low[start - 1 : start] == "^":  # a power counts nothing by itself
            continue
        after = low[end] if end < size else "\n"
        if after in _PLAIN_AFTER and end - start < _LONG and _is_plain(low, start, end):
            yield start, end, Kind.NUMBER, low[start:end]
            continue
        one = _figure(low, start) if not _is_named(reading.plain, start) else _in_name(low, start, end)
        if one is not None:
            yield one
            reach = one[1]
        if after in _JOINING:
            yield from _joined(low, start)
    reach = 0
    for start, end in reading.han:
        if start < reach or (start and low[start - 1] in "0123456789"):
            continue
        found = _NUMERAL.match(low, start)
        one = _han_figure(low, start, found.end(), found[0]) if found else None
        if one is not None:
            yield one
            reach = one[1]
        else:
            reach = end
    yield from _worded(reading)
    if not reading.ascii:
        yield from _shares(low)


_JOINING = frozenset("/x× *")


def _joined(low: str, start: int) -> Iterator[_Found]:
    """Fractions and dimensions."""
    if start and low[start - 1] in _NO_FRACTION_BEFORE:
        return
    found = _TIMES.match(low, start)
    if found:
        yield *found.span(), Kind.QUANTITY, re.sub(r"\s?[x×*]\s?", "x", found[0])
    found = _FRACTION.match(low, start)
    if found and 0 < int(found["a"]) <= int(found["b"]):
        yield *found.span(), Kind.QUANTITY, f"{int(found['a'])}/{int(found['b'])}"


_NO_FRACTION_BEFORE = frozenset("0123456789abcdefghijklmnopqrstuvwxyz/.-")


def _worded(reading: Reading) -> Iterator[_Found]:
    low = reading.low
    reach = 0
    for start, word in reading.words:
        if word == "half":
            yield from _half(low, start)
        if start < reach or word not in NUMBER_WORDS:
            continue
        found = _ENGLISH.match(low, start)
        if found is None:
            continue
        reach = found.end()
        begin = start
        if word in _SCALE_WORDS:
            begin = start - 2 if low[max(0, start - 3) : start].lstrip(" (") == "a " else start
            if begin == start and not (start and low[start - 1] == "-"):
                continue
        number = english(found[0])
        one = None if number is None else with_unit(low, begin, reach, number, worded=True)
        if one is not None and (one[2] is not Kind.NUMBER or (number is not None and number > 9)):  # noqa: PLR2004 - one of the two
            yield one


def _half(low: str, start: int) -> Iterator[_Found]:
    found = _ENGLISH_HALF.match(low, start)
    if found:
        one = (
            with_unit(low, start, found.start("u") - 1, Decimal("0.5"), worded=True)
            if found["u"] in MAGNITUDES
            else None
        )
        yield one or (*found.span(), Kind.QUANTITY, f"0.5 {found['u']}")


def _han_half(low: str) -> Iterator[_Found]:
    """`半小时`, and `一个半小时` with the number before it."""
    for found in _HAN_HALF.finditer(low):
        before = _WHOLE_AND.search(low, max(0, found.start() - 11), found.start())
        whole = small(before["n"]) if before else Decimal(0)
        if whole is not None:
            unit = "month" if found["u"] == "月" else HAN_UNITS[found["u"]]
            start = before.start() if before else found.start()
            yield start, found.end(), Kind.QUANTITY, f"{shown(whole + Decimal('0.5'))} {unit}"


def _shares(low: str) -> Iterator[_Found]:
    """Chinese fractions and tenths, and numbers of articles and pages."""
    for found in _SHARE.finditer(low):
        whole = _WHOLE.search(low, max(0, found.start() - 8), found.start())
        one = _part(whole[0].rstrip(" \t*`"), found["n"]) if whole else None
        if whole and one:
            yield whole.start(), found.end(), *one
    yield from _han_half(low)
    for found in _TENTHS.finditer(low):
        yield (
            *found.span(),
            Kind.PERCENT,
            f"{shown((chinese(low[found.start()]) or Decimal(0)) * 10)}%",
        )
    for found in _NTH.finditer(low):
        number = small(found["n"])
        if number is not None:
            yield *found.span(), Kind.ID, f"第{shown(number)}{found['u']}"


def _part(whole: str, numeral: str) -> tuple[Kind, str] | None:
    number = small(numeral)
    if number is None:
        return None
    scale = {"百": 1, "千": 10, "万": 100}.get(whole)
    if scale:
        return Kind.PERCENT, f"{shown(number / scale)}%"
    divisor = small(whole)
    return None if not divisor else (Kind.QUANTITY, f"{shown(number)}/{shown(divisor)}")


def _is_plain(low: str, start: int, end: int) -> bool:
    """Whether nothing but punctuation stands at either side of a number."""
    before = low[start - 1] if start else ","
    return (
        before in _PLAIN_BEFORE
        and not low[end + 1 : end + 3].isdigit()
        and low[start] != "0"
        and not (before == " " and low[max(0, start - 2)] in _BINDING)
    )


def _figure(low: str, start: int) -> _Found | None:
    """The figure at a run of digits."""
    before = low[start - 1] if start else " "
    if before in _LETTERS and not (before in "dycbprs" and _BEFORE.search(low, max(0, start - 8), start)):
        return None
    found = _NUMERAL.match(low, start)
    if found is None or found.end() - start >= _MAX_DIGITS:
        return None
    number = small(found[0])
    return None if number is None else with_unit(low, start, found.end(), number)


def _is_named(plain: str, start: int) -> bool:
    """Whether the number after a hyphen belongs to a name in capitals: `A-17`, `COVID-19`."""
    return start > 1 and plain[start - 1] == "-" and bool(_NAME_BEFORE.search(plain, max(0, start - 12), start))


_NAME_BEFORE = re.compile(r"(?<![A-Za-z0-9])[A-Z]{1,10}-\Z")


def _in_name(low: str, start: int, end: int) -> _Found | None:
    return None if low[end : end + 1] in _LETTERS else _bare(low, start, end, small(low[start:end]) or Decimal(0))


_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz_")
_PLAIN_BEFORE = frozenset(",;([{ ")
_PLAIN_AFTER = frozenset(',;])}"\n')
_BINDING = frozenset(":=$¥€£abcdefghijklmnopqrstuvwxyz\"'*_`#-.")


def _is_long(numeral: str) -> bool:
    """Whether a run of digits is rather an id: nobody writes a quantity so."""
    return numeral.isdigit() and (len(numeral) >= _LONG or (numeral[0] == "0" and len(numeral) > 2))  # noqa: PLR2004


def _han_figure(low: str, start: int, end: int, numeral: str) -> _Found | None:
    before = low[start - 1] if start else " "
    if before in "第周期拜初" or before in POWERS or numeral in _ZEROS:
        return None
    number = chinese(numeral)
    if number is None:
        return None
    one = with_unit(low, start, end, number, han=numeral)
    if one is None or one[2] is not Kind.NUMBER:
        return one
    tail = len(numeral) > 1 and (any(power in numeral[1:] for power in POWERS) or len(numeral) > 2)  # noqa: PLR2004
    return one if tail or "点" in numeral else None


def with_unit(low: str, start: int, end: int, number: Decimal, *, worded: bool = False, han: str = "") -> _Found | None:
    """A number with what stands on both sides of it, or None when it is a piece of a word.

    Args:
        low: the folded text in lower case.
        start: offset of the number's first character.
        end: offset after its last one.
        number: what it says.
        worded: whether it is written in English words.
        han: the numeral when it is Chinese, else empty.
    """
    if not han and _is_negative(low, start):
        start, number = start - 1, -number
    before = None if worded else _currency_before(low, start)
    begin, currency = before or (start, "")
    if before and _is_negative(low, begin):
        begin, number = begin - 1, -number
    numeral = Numeral(start=begin, end=end, numbers=(number,), currency=currency, han=han, worded=worded)
    between = not worded and low.endswith("between ", 0, begin)
    tail = None if worded else (_BETWEEN if between else _RANGE).match(low, end)
    last = small(tail["n"]) if tail else None
    if tail and last is not None:
        first = _scaled(number, low[start:end], last, tail["n"])
        one = measured(low, replace(numeral, end=tail.end(), numbers=(first, last), han=""))
        if one is not None:
            return one
        if first != number:
            money = _names_money(label_before(low, begin))
            return begin, tail.end(), Kind.AMOUNT if money else Kind.QUANTITY, f"{shown(first)}..{shown(last)}"
    one = measured(low, numeral)
    if one is not None:
        return one
    joined = end < len(low) and low[end] in _LETTERS and low[end] != "_"
    return None if joined and not worded and not han else _bare(low, start, end, number)


def _scaled(first: Decimal, numeral: str, last: Decimal, ending: str) -> Decimal:
    """The first number of a range, whose magnitude may stand after the second only: `100-200万`, but `5000-1万`."""
    head = _HEAD.match(ending)
    if head is None or any(power in numeral for power in POWERS):
        return first
    lead = small(head["n"])
    return first * (last / lead) if lead and 0 <= first < lead else first


_HEAD = re.compile(
    rf"(?P<n>{DIGITS}|[{CHINESE_NUMERAL[:-8]}]{{1,4}}?)(?={GAP}[百千万萬亿億佰仟])(?P<p>[ 百千万萬亿億佰仟]+)\Z"
)


def _is_negative(low: str, start: int) -> bool:
    """Whether the hyphen before a number is a minus sign."""
    if not start or low[start - 1] != "-":
        return False
    before = low[start - 2] if start > 1 else " "
    return before in _SIGN_BEFORE or (not before.isascii() and before.isalpha() and before not in _NO_MINUS_AFTER)


_NO_MINUS_AFTER = frozenset(CHINESE_NUMERAL + "年月日号时点分秒元块楼层室周")


def _currency_before(low: str, start: int) -> tuple[int, str] | None:
    if not start:
        return None
    if low[max(0, start - 4) : start].rstrip(" ")[-1:] not in _ENDS_CURRENCY:
        return None
    found = _BEFORE.search(low, max(0, start - 9), start)
    return None if found is None else (found.start(), CURRENCY_BEFORE.get(found[0].strip().rstrip("."), "USD"))


_ENDS_CURRENCY = frozenset("$¥€£₩₹฿₫₽₺₪₱₴ybrpdfnkslc.币幣元金镑")


def _bare(low: str, start: int, end: int, number: Decimal) -> _Found | None:
    """A number without a unit, which its label may make an id, a version or an amount."""
    if _is_marker(low, start, end, number):
        return None
    digits = low[start:end].lstrip("-")
    if low[start - 1 : start] in _BONDS and (one := _under(low, start, end)):
        return one
    label = label_before(low, start) if digits[:1] in _ASCII_DIGITS else ""
    if label:
        word = label.rsplit(" ", 1)[-1].strip("#.")
        tails = _tails(label)
        known = ID_WORDS if len(digits) > _SHORT else NUMBERED_WORDS
        if digits.replace(".", "").isdigit() and tails & known:
            return start, end, Kind.ID, digits
        if word in VERSION_WORDS:
            return start, end, Kind.VERSION, digits
        if tails & MONEY_WORDS or _is_priced(low, start):
            return start, end, Kind.AMOUNT, shown(number)
    if _is_long(digits):
        return start, end, Kind.ID, digits
    kind = Kind.QUANTITY if any(power in digits for power in "万萬亿億") else Kind.NUMBER
    return start, end, kind, shown(number)


_BONDS = frozenset(":： =")
_UNIT_LABEL = re.compile(r"[(（\[](?:单位|unit)?[:：]?\s?(?P<u>[^()（）\[\]\n:：]{1,12})[)）\]]\s?[:：=]\s?\Z")


def _under(low: str, start: int, end: int) -> _Found | None:
    """The figure under a label that gives its unit: `注册资本（万元）：5,000`, `Amount (USD): 500`."""
    found = _UNIT_LABEL.search(low, max(0, start - 24), start)
    if found is None:
        return None
    written = (
        low[start:end] + ("" if low[start:end].isascii() and not found["u"].isascii() else " ") + found["u"].strip()
    )
    named = _NUMERAL.match(written)
    size = small(named[0]) if named else None
    if named is None or size is None:
        return None
    one = measured(written, Numeral(start=0, end=named.end(), numbers=(size,)))
    return None if one is None or one[1] < len(written) else (start, end, one[2], one[3])


def _tails(label: str) -> set[str]:
    return {label.rsplit(" ", 1)[-1].strip("#."), *(label[-size:] for size in range(1, 6) if not label.isascii())}


def _names_money(label: str) -> bool:
    return bool(label) and bool(_tails(label) & MONEY_WORDS)


def _is_priced(low: str, start: int) -> bool:
    """Whether a number is a member of a JSON object under a key that names money: `"prices": {"economy": 163}`."""
    if low[start - 1] not in ': "':
        return False
    opened = low.rfind("{", max(0, start - 240), start)
    if opened < 0 or low.rfind("}", opened, start) >= 0:
        return False
    return label_before(low, opened).rsplit(" ", 1)[-1] in MONEY_WORDS


def _is_marker(low: str, start: int, end: int, number: Decimal) -> bool:
    """Whether a number only numbers an item of a list: it begins a line, or has a `)` or `、` after punctuation."""
    after = low[end : end + 1]
    if not after or number >= _LONGEST_LIST or low[start] == "0" or after not in "）)、.．":
        return False
    before = low[max(0, start - 8) : start].rstrip(" ")[-1:]
    if before in ("(", "（"):
        return False
    if after in "）)、" and before in _INLINE:
        return True
    closed = after == "、" or low[end + 1 : end + 2] in " \t*"
    return closed and bool(_MARKER.search(low, max(0, start - 10), start))


_INLINE = frozenset("：；。，:;,\n")
_LONGEST_LIST = 1000
