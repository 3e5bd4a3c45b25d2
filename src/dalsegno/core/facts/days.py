"""Dates: calendar days, months, years and quarters, weekdays, and days named from today.

Rules of this module:

* A date's value says what the text says and no more: `2024-05-15`, `2024-05`, `2024`, `--05-15` (no year), `--05`,
  `---15` (the 15th), `2024-Q2`, `2024-H1`, `1990s`. A range is `first/last`.
* `5/15/2024` and `15/5/2024` are read by what is possible, `5/6/2024` as in the United States. Without a year a slash
  is a date only after a word such as "on" or "by". What no calendar has (`2024-13-45`) is no date.
* Weekdays and relative days are kept as said, in one spelling for both languages: `next wed`, `tomorrow`, `this
  week`.
* A bare year counts in Chinese with its `年`, in English after a word that dates ("in 2024", "FY2019").
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator

from dalsegno.core.facts.kinds import Kind
from dalsegno.core.facts.numerals import CHINESE_DIGITS, GAP, chinese
from dalsegno.core.facts.reading import Reading, back

__all__ = ["LISTENED", "days"]

_Found = tuple[int, int, Kind, str]

_LAST_MONTH, _LAST_DAY = 12, 31
_SMALL = "〇零一二三四五六七八九十廿卅"
_N = rf"(?:[0-9]{{1,2}}|[{_SMALL}]{{1,3}})"
_YEAR = rf"(?:[12][0-9]{{3}}|[{CHINESE_DIGITS}]{{4}})"

_BIG_ENDIAN = re.compile(
    r"(?<![0-9A-Za-z.])(?<![0-9][-/])(?P<y>[12][0-9]{3})(?P<s>[-/.])(?P<m>[01]?[0-9])(?P=s)(?P<d>[0-3]?[0-9])(?![0-9])(?![-/.][0-9](?![0-9]{3}[-/.]))"
)
_COMPACT = re.compile(r"(?<![0-9A-Za-z.#_-])(?P<y>(?:19|20)[0-9]{2})(?P<m>[01][0-9])(?P<d>[0-3][0-9])(?![0-9A-Za-z_-])")
_YEAR_MONTH = re.compile(r"(?<![0-9A-Za-z.-])(?P<y>(?:19|20)[0-9]{2})[-/](?P<m>0[1-9]|1[0-2])(?![0-9])(?![-/][0-9])")
_LITTLE_ENDIAN = re.compile(
    r"(?<![0-9A-Za-z.])(?<![0-9][-/])(?P<a>[0-3]?[0-9])(?P<s>[-/.])(?P<b>[0-3]?[0-9])(?P=s)(?P<y>[12][0-9]{3}|(?<=/)[0-9]{2})(?![0-9])(?![-/.][0-9])"
)
_SHORT = re.compile(r"(?P<a>[0-3]?[0-9])/(?P<b>[0-3]?[0-9])(?![0-9/%])")
_BEFORE_SHORT = re.compile(r"(?<![0-9a-z])(?:on|by|until|till|before|after|from|since|dated?|due|to)\s\Z")
_TO = r"\s{0,2}[-~～—–至到]\s{0,2}"
_NO_DAY_AFTER = "线線楼樓院馆館店門门厅廳库庫机機车車口文令内院游本元语式型航站台"
_SIGN = rf"(?:{GAP}[日号號]|(?={_TO}{_N}{GAP}[日号號]))"
_HAN = re.compile(
    r"(?:"
    rf"(?P<y>{_YEAR}|[0-9]{{2}}(?=年[0-9])){GAP}年(?:{GAP}(?P<m>{_N}){GAP}月份?(?:{GAP}(?P<d>{_N}){_SIGN})?)?"
    rf"|(?P<m2>{_N}){GAP}月份?(?:{GAP}(?P<d2>{_N}){_SIGN})?"
    rf"|(?P<d3>[0-9]{{1,2}}|[{_SMALL}]{{1,3}}){GAP}[日号號](?![{_NO_DAY_AFTER}])"
    rf")(?:{_TO}(?:(?P<m4>{_N}){GAP}月{GAP})?(?P<d4>{_N}){GAP}[日号號])?"
)
_MONTH_NUMBER = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
_MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_ORDINAL = r"(?:st|nd|rd|th)?"
_ENGLISH = re.compile(
    rf"(?P<m>{_MONTH})(?![a-z])\.?"
    rf"(?:[\s-](?:the\s)?(?P<d>[0-3]?[0-9]){_ORDINAL}(?![0-9a-z:]|\s?%|,[0-9]|\.[0-9])"
    rf"(?:\s?(?:-|–|to|through)\s?(?:(?P<m2>{_MONTH})\.?\s)?(?P<e>[0-3]?[0-9]){_ORDINAL}(?![0-9a-z:]))?)?"
    r"(?:(?:,\s?|\s(?:of\s)?|-)(?P<y>(?:19|20)[0-9]{2})(?![0-9a-z]|,[0-9]))?"
)
_DAY_BEFORE = re.compile(rf"(?<![0-9a-z.,:/-])(?P<d>[0-3]?[0-9]){_ORDINAL}(?:\s(?:day\s)?of)?[\s-]\Z")
_THE_DAY = re.compile(r"(?P<d>[0-3]?[0-9])(?:st|nd|rd|th)(?![a-z0-9-])(?P<next>\s[a-z]+)?")
_AFTER_DAY = frozenset(
    ("at", "of", "and", "or", "in", "to", "by", "if", "for", "is", "was", "works", "with", "from", "but", "so", "then")
)
_BEFORE_YEAR = re.compile(
    r"(?<![a-z0-9_])(?:in|since|until|till|during|before|after|from|between|of|year|fy|fiscal|by)\s?\Z"
)
_AFTER_YEAR = re.compile(r"s?(?![0-9a-z])(?!-(?!20|19))(?![.,:/][0-9])")
_HAN_QUARTER = re.compile(r"(?:季度|半年)")
_BEFORE_QUARTER = re.compile(rf"(?:(?P<y>{_YEAR}){GAP}年?{GAP})?(?:第?{GAP}(?P<q>[一二三四1-4])|(?P<h>[上下])){GAP}\Z")
_QUARTER = re.compile(
    r"[Qq](?<![A-Za-z0-9].)(?P<q>[1-4])(?:[\s,']{0,2}(?:of\s|FY\s?|fy\s?)?(?P<y>20[0-9]{2})|(?<=Q.))(?![A-Za-z0-9])"
)
_WEEKDAYS = {
    "一": "mon",
    "二": "tue",
    "三": "wed",
    "四": "thu",
    "五": "fri",
    "六": "sat",
    "日": "sun",
    "天": "sun",
    "末": "weekend",
}
_WHICH = {
    "上": "last",
    "下": "next",
    "本": "this",
    "这": "this",
    "這": "this",
    "每": "every",
    "下下": "next next",
    "上上": "last last",
}
_HAN_WEEKDAY = re.compile(r"(?:周|星期|礼拜|週)(?P<d>[一二三四五六日天末])(?![年期])")
_HAN_WHICH = re.compile(
    r"(?P<w>[上下本这這][上下]?)(?P<c>[个個])?(?P<u>周|星期|礼拜|週|月|季度|财年|年度)(?![一二三四五六日天末边围遭刊])"
)
_UNIT_NAMES = {
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "週": "week",
    "月": "month",
    "季度": "quarter",
    "财年": "year",
    "年度": "year",
}
_HAN_RELATIVE = {
    "大后天": "in 3 days",
    "大前天": "3 days ago",
    "今天": "today",
    "今日": "today",
    "今晚": "tonight",
    "明天": "tomorrow",
    "明日": "tomorrow",
    "明早": "tomorrow",
    "明晚": "tomorrow",
    "后天": "day after tomorrow",
    "後天": "day after tomorrow",
    "昨天": "yesterday",
    "昨日": "yesterday",
    "昨晚": "yesterday",
    "前天": "day before yesterday",
    "今年": "this year",
    "明年": "next year",
    "去年": "last year",
    "前年": "year before last",
    "周末": "weekend",
    "月底": "month-end",
    "月末": "month-end",
    "月初": "month-start",
    "年底": "year-end",
    "年末": "year-end",
    "年初": "year-start",
}
_HAN_DAY = re.compile("|".join(_HAN_RELATIVE))
_DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT_DAYS = ("mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun")
_SPANS = ("weekend", "week", "month", "year", "quarter")
_WHICH_WORD = re.compile(r"(?<![a-z0-9_])(?P<w>next|last|this|coming|following|previous|every|each)\s\Z")
_DAY_AFTER = re.compile(r"day\s(?:after\stomorrow|before\syesterday)(?![a-z])")
_BEFORE_SHORT_DAY = re.compile(r"(?:\bon |\bby |\(|\bnext |\blast |\bthis )\Z")
_AFTER_SHORT_DAY = re.compile(r"\.?,?\s(?:[0-9]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)")
_JOINED = {"下": "一以之如余", "上": "以之如晚早", "本": "基根日资成"}
"""Characters with which the word for next, last or this is another word."""
_SAME = {"coming": "next", "following": "next", "previous": "last", "each": "every"}


_MONTH_WORDS = frozenset(
    ("january", "february", "march", "april", "june", "july", "august", "september", "october", "november", "december")
)
LISTENED = frozenset(
    (
        *_MONTH_NUMBER,
        *_MONTH_WORDS,
        "sept",
        *_DAY_NAMES,
        *(f"{day}s" for day in _DAY_NAMES),
        *_SHORT_DAYS,
        *_SPANS,
        "day",
        "today",
        "tonight",
        "tomorrow",
        "yesterday",
    )
)
"""Words at which a date may stand."""


def days(reading: Reading) -> Iterator[_Found]:
    """Dates of a text, as start, end, kind and value; readings may overlap."""
    for start, end, value in _in_digits(reading):
        yield start, end, Kind.DATE, value
    if not reading.ascii:
        for start, end, value in _in_han(reading):
            yield start, end, Kind.DATE, value
    for start, end, value in _in_english(reading):
        yield start, end, Kind.DATE, value
    for found in _QUARTER.finditer(reading.plain):
        yield *found.span(), Kind.DATE, f"{found['y']}-Q{found['q']}" if found["y"] else f"Q{found['q']}"


def _in_digits(reading: Reading) -> Iterator[tuple[int, int, str]]:
    plain, low = reading.plain, reading.low
    dated = -1
    for start, end in reading.runs:
        size, following = end - start, plain[end : end + 1]
        if size == 4 and following in "-/.":  # noqa: PLR2004 - digits of a year
            yield from _dated(_BIG_ENDIAN.match(plain, start) or _YEAR_MONTH.match(plain, start))
        elif size == 8:  # noqa: PLR2004 - digits of a date
            yield from _dated(_COMPACT.match(plain, start))
        elif size <= 2 and following in "-/." and following:  # noqa: PLR2004 - digits of a month
            found = _LITTLE_ENDIAN.match(plain, start)
            if found:
                yield from _little_endian(found)
            elif following == "/" and (found := _SHORT.match(low, start)):
                value = _value(None, *_by_what_is_possible(found["a"], found["b"]))
                if value and _BEFORE_SHORT.search(low, max(0, start - 8), start):
                    yield *found.span(), value
        if size == 4 and low.startswith(("19", "20"), start):  # noqa: PLR2004
            for one in _bare_year(low, start, end, listed=dated >= 0 and low[dated:start] in _YEAR_JOINTS):
                yield one
                dated = one[1]


def _dated(found: re.Match[str] | None) -> Iterator[tuple[int, int, str]]:
    if found:
        named = found.groupdict()
        value = _value(named["y"], named["m"], named.get("d"))
        if value:
            yield *found.span(), value


def _little_endian(found: re.Match[str]) -> Iterator[tuple[int, int, str]]:
    month, day = _by_what_is_possible(found["a"], found["b"])
    value = _value(found["y"] if len(found["y"]) > 2 else f"20{found['y']}", month, day)  # noqa: PLR2004 - two digits
    if value:
        yield *found.span(), value


_YEAR_JOINTS = frozenset((", ", " and ", ", and ", " or ", "-", "–", " - ", " to "))


def _bare_year(low: str, start: int, end: int, *, listed: bool) -> Iterator[tuple[int, int, str]]:
    before = _BEFORE_YEAR.search(low, max(0, start - 8), start)
    after = _AFTER_YEAR.match(low, end)
    if after and (before or listed):
        begin = before.start() if before and before[0].startswith("fy") else start
        yield begin, after.end(), low[start : after.end()]


def _in_han(reading: Reading) -> Iterator[tuple[int, int, str]]:
    text = reading.plain
    reach = 0
    for start, end in heapq.merge(reading.runs, reading.han):
        if start < reach or text[end : end + 3].lstrip(" ")[:1] not in _DATE_SIGNS or end == len(text):
            continue
        if start and text[start - 1] in _NO_DATE_BEFORE:
            continue
        found = _HAN.match(text, start)
        for one in _han_date(text, found) if found else ():
            yield one
            reach = one[1]
    yield from _han_quarters(text)
    yield from _han_relative(text)


def _han_quarters(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _HAN_QUARTER.finditer(text):
        head = _BEFORE_QUARTER.search(text, max(0, found.start() - 15), found.start())
        if head and bool(head["q"]) == (found[0] == "季度"):
            year = _number(head["y"])
            part = f"H{'上下'.index(head['h']) + 1}" if head["h"] else f"Q{_number(head['q'])}"
            yield head.start(), found.end(), f"{year}-{part}" if year else part


def _han_relative(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _HAN_WEEKDAY.finditer(text):
        start = found.start() - 1 if text[found.start() - 1 : found.start()] in ("个", "個") else found.start()
        begin = back(text, start, "上下本这這每", 2)
        which = _WHICH.get(text[begin:start], "") if begin < start else ""
        yield begin if which else found.start(), found.end(), f"{which} {_WEEKDAYS[found['d']]}".strip()
    for found in _HAN_WHICH.finditer(text):
        joined = bool(found.start()) and text[found.start() - 1] in _JOINED.get(found["w"], "")
        if found["w"] in _WHICH and not joined and (found["u"] != "年度" or not found["c"]):
            yield *found.span(), f"{_WHICH[found['w']]} {_UNIT_NAMES[found['u']]}"
    for found in _HAN_DAY.finditer(text):
        yield *found.span(), _HAN_RELATIVE[found[0]]


def _han_date(text: str, found: re.Match[str]) -> Iterator[tuple[int, int, str]]:
    year, month, day = found["y"], found["m"] or found["m2"], found["d"] or found["d2"] or found["d3"]
    if found["d3"] and found["d4"] is None and not _is_day(text, found):
        return
    value = _value(year, month, day)
    last = _value(year, found["m4"] or month, found["d4"]) if found["d4"] and day else None
    if value and last:
        yield *found.span(), f"{value}/{last}"
    elif value:
        yield found.start(), _before_range(found) if found["d4"] else found.end(), value


_DATE_SIGNS = frozenset("年月日号號")
_NO_DATE_BEFORE = frozenset("第0123456789." + _SMALL)
_ADDRESS = re.compile(r"[路街道巷弄里村院区园同甲乙丙A-Za-z-]\s?\Z")


def _is_day(text: str, found: re.Match[str]) -> bool:
    """Whether `15号` is a day: no house number, and no single Chinese numeral before `日`, which is a duration."""
    start = found.start()
    single_han = not found["d3"].isascii() and len(found["d3"]) == 1
    return not _ADDRESS.search(text[max(0, start - 2) : start]) and not (single_han and text[found.end() - 1] == "日")


def _before_range(found: re.Match[str]) -> int:
    """End of the first date when what looked like the end of a range is no date."""
    text, at = found.string, max(found.end(name) for name in ("y", "m", "m2", "d", "d2", "d3") if found[name])
    return at + len(text[at : at + 2]) - len(text[at : at + 2].lstrip(" ")) + 1


def _in_english(reading: Reading) -> Iterator[tuple[int, int, str]]:
    low = reading.low
    for start, word in reading.words:
        if word[:3] in _MONTH_NUMBER and (word in _MONTH_WORDS or word in _MONTH_NUMBER or word == "sept"):
            yield from _english_date(reading.plain, low, start)
        elif word in _RELATIVE_WORDS:
            yield start, start + len(word), word
        elif word == "day":
            found = _DAY_AFTER.match(low, start)
            if found:
                begin = start - 4 if low[max(0, start - 4) : start] == "the " else start
                yield begin, found.end(), " ".join(found[0].split())
        elif word in LISTENED:
            yield from _weekday(reading.plain, low, start, word)
    for start, _ in reading.runs:
        if low[max(0, start - 4) : start] == "the ":
            yield from _the_day(low, start)


def _the_day(low: str, start: int) -> Iterator[tuple[int, int, str]]:
    """`the 12th` when no noun follows."""
    found = _THE_DAY.match(low, start)
    value = _value(None, None, found["d"]) if found else None
    if found and value and (found["next"] or " at").strip() in _AFTER_DAY:
        yield found.start(), found.start("next") if found["next"] else found.end(), value


_RELATIVE_WORDS = frozenset(("today", "tonight", "tomorrow", "yesterday"))


def _weekday(plain: str, low: str, start: int, word: str) -> Iterator[tuple[int, int, str]]:
    end = start + len(word)
    which = _WHICH_WORD.search(low, max(0, start - 11), start)
    named = _SAME.get(which["w"], which["w"]) if which else ""
    begin = which.start() if which else start
    if word in _SPANS:
        if which and named != "every":
            yield begin, end, f"{named} {word}"
    elif word.endswith("day"):
        yield begin, end, f"{named} {word[:3]}".strip()
    elif word.endswith("days"):
        yield start, end, f"every {word[:3]}"
    elif plain[start].isupper() and (
        _BEFORE_SHORT_DAY.search(low, max(0, start - 6), start) or _AFTER_SHORT_DAY.match(low, end)
    ):
        yield begin, end, f"{named} {word[:3]}".strip()


def _english_date(text: str, low: str, start: int) -> Iterator[tuple[int, int, str]]:
    found = _ENGLISH.match(low, start)
    if found is None:
        return
    before = _DAY_BEFORE.search(low, max(0, start - 16), start)
    month = str(_MONTH_NUMBER[found["m"][:3]])
    day, end, year = found["d"], found.end(), found["y"]
    if before and day is None:
        day = before["d"]
    elif before:
        before = None
    value = _value(year, month, day)
    if value is None:
        return
    if found["e"]:
        last_month = str(_MONTH_NUMBER[found["m2"][:3]]) if found["m2"] else month
        last = _value(year, last_month, found["e"])
        value = f"{value}/{last}" if last else value
    if text[end - 1] == ".":
        end -= 1
    if day or year or _month_alone(text, found):
        yield before.start() if before else start, end, value


_SURE_MONTHS = frozenset(["january", "february", "july", "september", "october", "november", "december"])
_BEFORE_MONTH = re.compile(
    r"(?:\bin|\bby|\bsince|\buntil|\bof|\blate|\bearly|\bmid|\bnext|\blast|\bthis|\bfrom|\bto|\bthrough)[ -]\Z"
)


def _month_alone(text: str, found: re.Match[str]) -> bool:
    """Whether a month without day and year is one: capitalised, and no verb or first name by its looks."""
    start = found.start("m")
    word = text[start : found.end("m")]
    if not word[0].isupper() or len(word) < 3:  # noqa: PLR2004 - shorter than any abbreviation
        return False
    return word.lower() in _SURE_MONTHS or bool(_BEFORE_MONTH.search(text[max(0, start - 8) : start].lower()))


def _relative(found: re.Match[str]) -> str:
    if found["d"]:
        which = "every" if found["s"] else found["w"] or ""
        return f"{_SAME.get(which, which)} {found['d'][:3]}".strip()
    if found["u"]:
        return f"{_SAME.get(found['w2'], found['w2'])} {found['u']}"
    return " ".join((found["r"] or found["p"]).split())


def _by_what_is_possible(first: str, second: str) -> tuple[str, str]:
    """Month and day of `5/15` or `15/5`; the American order when both are possible."""
    return (second, first) if int(first) > _LAST_MONTH else (first, second)


def _number(numeral: str | None) -> int | None:
    if not numeral:
        return None
    if numeral.isdigit() and numeral.isascii():
        return int(numeral)
    number = chinese(numeral.replace("廿", "二十").replace("卅", "三十"))
    return None if number is None or number != int(number) else int(number)


def _value(year: str | None, month: str | None, day: str | None) -> str | None:
    """The canonical date, or None when no calendar has it."""
    y, m, d = _number(year), _number(month), _number(day)
    if (year and y is None) or (month and (m is None or not 1 <= m <= _LAST_MONTH)):
        return None
    if day and (d is None or not 1 <= d <= _LAST_DAY):
        return None
    if y is not None and y < 100:  # noqa: PLR2004 - 24年5月
        y += 2000
    if y is not None:
        return f"{y:04d}" + (f"-{m:02d}" if m else "") + (f"-{d:02d}" if m and d else "")
    if m is not None:
        return f"--{m:02d}" + (f"-{d:02d}" if d else "")
    return f"---{d:02d}" if d else None
