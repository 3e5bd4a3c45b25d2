"""Times of day.

Rules of this module:

* A time's value is `15:30`, `15:30:20` when it has seconds that are not zero, `15:30 EST` with the zone as written; a
  range is `first/last`. `3:30` without a word for the half of the day is `03:30`, as a clock of 24 hours has it.
* In Chinese the part of the day decides (`下午三点半`, `晚上8点`); `三点` alone may be three points of a speech, so a
  numeral without minutes needs the part of the day, `钟`, or a word that leads to a time.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator

from dalsegno.core.facts.kinds import Kind
from dalsegno.core.facts.numerals import GAP, chinese
from dalsegno.core.facts.reading import Reading

__all__ = ["LISTENED", "times"]

_Found = tuple[int, int, Kind, str]

_NOON, _HOURS = 12, 24
_ZONE = (
    r"(?:\s?\(?(?P<z>(?:EST|EDT|CST|CDT|MST|MDT|PST|PDT|UTC|GMT|BST|CET|CEST|IST|JST|HKT|SGT|AEST|AEDT|ET|CT|MT|PT)"
    r"(?:[+-][0-9]{1,2}(?::?[0-9]{2})?)?)(?![A-Za-z])\)?|(?P<z2>Z(?![A-Za-z0-9])|(?:(?<=[0-9]{2}:[0-9]{2}:[0-9]{2})|(?<=\.[0-9]{3})|(?<=\.[0-9]{6}))[+-][0-9]{2}:[0-9]{2}))?"
)
_PART = "凌晨|清晨|早晨|早上|上午|中午|午后|下午|傍晚|晚上|夜里|夜晚|深夜|今晚|明晚|昨晚|明早|今早|早|晚"
_LATE = frozenset({"午后", "下午", "傍晚", "晚上", "夜里", "夜晚", "深夜", "今晚", "明晚", "昨晚", "晚"})
_COLON = re.compile(
    r"(?P<h>[01]?[0-9]|2[0-4])[:：](?P<m>[0-5][0-9])(?:[:：](?P<s>[0-5][0-9])(?:\.[0-9]{{1,9}})?)?"
    rf"(?![0-9])(?:\s?(?P<half>[AaPp])\.?[Mm](?:\.(?!\s[A-Z]|\Z)|(?![A-Za-z])))?{_ZONE}"
)
_HALF = re.compile(
    r"(?:(?P<a>[01]?[0-9])(?:[:：](?P<am>[0-5][0-9]))?\s?(?:-|–|—|to|and)\s?)?(?P<h>[01]?[0-9])(?:[:：](?P<m>[0-5][0-9]))?"
    rf"\s?(?P<half>[AaPp])\.?[Mm](?:\.(?!\s[A-Z]|\Z)|(?![A-Za-z])){_ZONE}"
)
_PART_BEFORE = re.compile(rf"(?P<p>{_PART})的?{GAP}\Z")
_NO_TIME_BEFORE = frozenset(
    "0123456789:.第零〇一二两三四五六七八九十百ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz$#¥"
)
_WORDS = {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
}
_CLOCK = re.compile(r"(?P<h>[01]?[0-9]|[a-z]{3,6})\so'\Z")
LISTENED = frozenset(("noon", "midnight", "clock"))
"""Words at which a time may stand."""
_N = "[0-9]{1,2}|[零〇一二两三四五六七八九十]{1,3}"
_MINUTE = "(?:[0-5]?[0-9]|[零〇一二三四五][十一二三四五六七八九]{0,2}|十[一二三四五六七八九]?)"
_HAN = re.compile(
    rf"(?:(?P<a>{_N})(?:{GAP}[点點])?{GAP}[-~～—–至到]{GAP}(?:(?P<q>{_PART}){GAP})?)?(?P<h>{_N}){GAP}"
    rf"(?P<u>[点點]{GAP}[钟鐘]|[点點时時])(?P<m>整|半|一刻|三刻|过?{_MINUTE}(?:{GAP}分)?(?!钟|之)"
    rf"|[ ]{{1,2}}(?:整(?![个体理])|半(?!{GAP}(?:个|小时|天|年|月|场|程))|[一三]刻|过?{_MINUTE}{GAP}分(?!{GAP}[钟之])"
    rf"|[0-5][0-9](?!{GAP}[^\s开到前左右出集见至后，。；！？、）)])))?(?P<k>{GAP}钟)?"
)
_LEADS = re.compile(
    r"(?:到|在|于|是|至|每天|每日|周[一二三四五六日天]|星期[一二三四五六日天]|[日号天]|约|早|晚|改成|改为|改到|前)\s?\Z"
)
_POINTS = frozenset("建意原要内經经启啟体體评好共感优缺不问注说需")
_COUNTS = re.compile(r"(?:[有共这那几第下列]|提出|总结)\s?\Z")
"""Around `3点` these say that points are counted."""


def times(reading: Reading) -> Iterator[_Found]:
    """Times of a text, as start, end, kind and value; readings may overlap."""
    for start, end, value in _in_digits(reading):
        yield start, end, Kind.TIME, value
    for start, word in reading.words:
        if word in {"noon", "midnight"}:
            yield start, start + len(word), Kind.TIME, "12:00" if word == "noon" else "00:00"
        elif word == "clock":
            found = _CLOCK.search(reading.low, max(0, start - 9), start)
            hour = found and (int(found["h"]) if found["h"].isdigit() else _WORDS.get(found["h"]))
            if found and hour and hour <= _NOON:
                yield found.start(), start + len(word), Kind.TIME, _value(hour, 0, 0, None)
    if not reading.ascii:
        for start, end, value in _in_han(reading):
            yield start, end, Kind.TIME, value


def _in_digits(reading: Reading) -> Iterator[tuple[int, int, str]]:
    text = reading.plain
    for start, end in reading.runs:
        following = text[end : end + 1]
        if end - start > 2 or following not in _TIME_SIGNS:  # noqa: PLR2004 - digits of an hour
            continue
        if start and text[start - 1] in _NO_TIME_BEFORE and not (text[start - 1] == "T" and text[start - 2].isdigit()):
            continue
        found = _COLON.match(text, start) if following in ":：" else None
        if found:
            part = _part(text, start)
            hour = _hour(int(found["h"]), found["half"], part["p"] if part else None)
            if hour is not None:
                value = _value(hour, int(found["m"]), int(found["s"] or 0), found["z"] or found["z2"])
                yield part.start() if part else start, found.end(), value
        half = _HALF.match(text, start)
        if half:
            yield from _with_half(half)


def _part(text: str, start: int) -> re.Match[str] | None:
    """The part of the day before a time."""
    return (
        None
        if not start or (text[start - 1].isascii() and text[start - 1] != " ")
        else _PART_BEFORE.search(text, max(0, start - 5), start)
    )


_TIME_SIGNS = frozenset(" :：-–—aApP")
_HAN_SIGNS = frozenset("点點时時-~～—–至到 ")


def _in_han(reading: Reading) -> Iterator[tuple[int, int, str]]:
    text = reading.plain
    reach = 0
    for start, end in heapq.merge(reading.runs, reading.han):
        if start < reach or end - start > 3 or text[end : end + 1] not in _HAN_SIGNS:  # noqa: PLR2004 - 二十一点
            continue
        if start and text[start - 1] in _NO_TIME_BEFORE:
            continue
        found = _HAN.match(text, start)
        for one in _han_time(text, found) if found else ():
            yield one
            reach = one[1]


def _with_half(found: re.Match[str]) -> Iterator[tuple[int, int, str]]:
    """`3 PM`, and `9-11 AM`, whose first hour is of the same half unless it would come after the second."""
    half, zone = found["half"], found["z"] or found["z2"]
    last = _hour(int(found["h"]), half, None)
    if last is None:
        return
    value = _value(last, int(found["m"] or 0), 0, None)
    if not found["a"]:
        yield *found.span(), f"{value} {zone}" if zone else value
        return
    first = _hour(int(found["a"]), half, None)
    if first is None:
        yield found.start("h"), found.end(), f"{value} {zone}" if zone else value
        return
    first = first - _NOON if first > last and first >= _NOON else first
    yield *found.span(), f"{_value(first, int(found['am'] or 0), 0, None)}/{value}" + (f" {zone}" if zone else "")


def _han_time(text: str, found: re.Match[str]) -> Iterator[tuple[int, int, str]]:
    hour = _small(found["h"])
    minute = _minute(found["m"])
    before = _part(text, found.start())
    part = before["p"] if before else None
    if hour is None or minute is None or not 0 <= hour <= _HOURS or not _is_time(text, found, found["q"] or part):
        return
    last = _value(_hour(hour, None, found["q"] or part) or 0, minute, 0, None)
    first = _small(found["a"]) if found["a"] else None
    start = before.start() if before else found.start()
    if found["a"] and (first is None or first > _HOURS):
        yield found.start("h"), found.end(), last
    elif first is None:
        yield start, found.end(), last
    else:
        yield start, found.end(), f"{_value(_hour(first, None, part) or 0, 0, 0, None)}/{last}"


def _is_time(text: str, found: re.Match[str], part: str | None) -> bool:
    """Whether `三点` is a time and not three points."""
    if part or found["m"] or found["k"] or "钟" in found["u"] or "鐘" in found["u"]:
        return found["u"] not in "时時" or bool(found["m"]) or found["h"].isascii()
    start = found.start()
    leads = bool(_LEADS.search(text, max(0, start - 3), start))
    if found["u"] in "时時":
        return leads and found["h"].isascii()
    points = text[found.end() : found.end() + 1] in _POINTS or bool(_COUNTS.search(text, max(0, start - 2), start))
    return leads or (found["h"].isascii() and not points)


def _small(numeral: str) -> int | None:
    number = chinese(numeral) if not numeral.isascii() else int(numeral)
    return None if number is None else int(number)


def _minute(words: str | None) -> int | None:
    words = words.replace(" ", "") if words else None
    if not words or words == "整":
        return 0
    if words in {"半", "一刻", "三刻"}:
        return {"半": 30, "一刻": 15, "三刻": 45}[words]
    minute = _small(words.removeprefix("过").removesuffix("分"))
    return minute if minute is not None and minute < 60 else None  # noqa: PLR2004 - minutes of an hour


def _hour(hour: int, half: str | None, part: str | None) -> int | None:
    """The hour of a 24-hour clock, or None when there is no such hour."""
    if half:
        if hour > _NOON and half in "Aa":
            return None
        if hour > _NOON:
            return hour if hour < _HOURS else None
        return hour % _NOON + (_NOON if half in "Pp" else 0)
    if part in _LATE:
        return (
            0
            if hour == 0 or (hour == _NOON and part not in {"午后", "下午", "傍晚"})
            else hour + _NOON
            if hour < _NOON
            else hour % _HOURS
        )
    if part == "中午" and hour < 10:  # noqa: PLR2004 - 中午一点
        return hour + _NOON
    if part == "凌晨" and hour == _NOON:
        return 0
    return hour


def _value(hour: int, minute: int, second: int, zone: str | None) -> str:
    clock = f"{hour:02d}:{minute:02d}" + (f":{second:02d}" if second else "")
    return f"{clock} {zone}" if zone else clock
