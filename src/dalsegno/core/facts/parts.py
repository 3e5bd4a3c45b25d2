"""Parts of a whole in words, and numerals of one character.

Rules of this module:

* `half the price`, `一半`, `半价`, `two-thirds` are fractions (`1/2`, `2/3`), as `1/2` and `二分之一` are.
* `½`, `1½`, `¾` are numbers like any other, with their currency and their unit; `⅓` has no decimal and is `1/3`.
* `②`, `❷`, `⑵` are numbers only before a unit that ends its word (`② times`), since they number lists elsewhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from dalsegno.core.facts.figures import with_unit
from dalsegno.core.facts.kinds import Kind
from dalsegno.core.facts.reading import Reading

__all__ = ["LISTENED", "parts"]

_Found = tuple[int, int, Kind, str]

LISTENED = frozenset(("half", "third", "thirds", "quarter", "quarters"))
"""Words at which a part may stand."""

_NTH = re.compile(r"\b(?:first|second|last|latter|other|next)[\s-]\Z")
_HALF = re.compile(r"half(?:[- ]price\b|\sof\b(?:\s[a-z]+)?|\s(?:the|its|their|my|our|your|his|her|this|that)\s[a-z]+)")
_SEVERAL = {"a": 1, "one": 1, "two": 2, "three": 3}
_BEFORE = re.compile(r"(?<![a-z0-9])(?P<n>a|one|two|three)[\s-]\Z")
_HAN_HALF = re.compile("一半(?!会|會)|半[价價数數]|[减減对對折]半(?![年月天日个個小场導导径])")
_FRACTION = re.compile("[¼½¾⅐-⅞]")
_WHOLE = re.compile(r"(?<![0-9.,/])(?P<n>[0-9]{1,6})\s?\Z")
_COUNTED = re.compile("[①-⒛⓪-⓿❶-➓㈠-㈩㉑-㉟㊀-㊉㊱-㊿]")
_MARKED = re.compile(r"(?:\A|[\n：:；;。，,、.！!？?（(])[ \t*>-]{0,4}\Z")


def parts(reading: Reading) -> Iterator[_Found]:
    """Parts and odd numerals of a text, as start, end, kind and value; readings may overlap."""
    low = reading.low
    for start, word in reading.words:
        if word == "half":
            found = _HALF.match(low, start)
            if found and not _NTH.search(low, max(0, start - 8), start):
                yield *found.span(), Kind.QUANTITY, "1/2"
        elif word in LISTENED:
            yield from _several(low, start, word)
    if not reading.ascii:
        for found in _HAN_HALF.finditer(low):
            yield *found.span(), Kind.QUANTITY, "1/2"
        yield from _characters(low)


def _several(low: str, start: int, word: str) -> Iterator[_Found]:
    """`a third of`, `two-thirds`."""
    before = _BEFORE.search(low, max(0, start - 7), start)
    end = start + len(word)
    plural = word.endswith("s")
    whole = low.startswith(" of ", end)
    if before and (_SEVERAL[before["n"]] > 1) == plural and (whole or word == "thirds"):
        yield (
            before.start(),
            end + (3 if whole else 0),
            Kind.QUANTITY,
            f"{_SEVERAL[before['n']]}/{3 if word.startswith('third') else 4}",
        )


def _characters(low: str) -> Iterator[_Found]:
    """Numerals of one character."""
    for found in _FRACTION.finditer(low):
        part = Fraction(unicodedata.numeric(found[0])).limit_denominator(10)
        whole = _WHOLE.search(low, max(0, found.start() - 8), found.start())
        number = Decimal(part.numerator) / part.denominator
        if number * part.denominator != part.numerator:
            yield found.start(), found.end(), Kind.QUANTITY, f"{part.numerator}/{part.denominator}"
            continue
        start = whole.start() if whole else found.start()
        one = with_unit(low, start, found.end(), number + (int(whole["n"]) if whole else 0))
        if one is not None:
            yield one
    for found in _COUNTED.finditer(low):
        number = Decimal(int(unicodedata.numeric(found[0], 0)))
        if not number or _MARKED.search(low, max(0, found.start() - 6), found.start()):
            continue
        one = with_unit(low, found.start(), found.end(), number)
        if one is not None and one[2] is not Kind.NUMBER and not "\u4e00" <= low[one[1] : one[1] + 1] <= "\u9fff":
            yield one
