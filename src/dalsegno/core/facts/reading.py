"""One pass over a text that finds where facts can begin.

Rules of this module:

* Patterns are tried where a trigger stands and nowhere else: at runs of digits, at Chinese numerals, at words that
  some rule listens to, at compounds that contain a digit. So the price of a text is a few scans plus its triggers.
* Looking back is done by `back`, which strips characters of a set from a bounded window: never by a pattern that is
  tried at every offset.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from dalsegno.core.facts.folding import folded, lowered
from dalsegno.core.facts.joining import joined
from dalsegno.core.facts.numerals import CHINESE_NUMERAL

__all__ = ["Reading", "back", "read"]

_RUN = re.compile("[0-9][0-9]*+")
_HAN_RUN = re.compile(rf"[{CHINESE_NUMERAL}廿卅][{CHINESE_NUMERAL}廿卅]*+")
_TOKEN = re.compile("[A-Za-z0-9_][A-Za-z0-9_]*+")
_HAS_DIGIT = re.compile("[0-9]").search


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A folded text and its triggers.

    Attributes:
        plain: the folded text.
        low: the same in lower case.
        ascii: whether it has nothing but ASCII, so that no Chinese rule needs to look.
        runs: spans of digits.
        han: spans of Chinese numerals.
        words: offsets and lower-case forms of the words that a rule listens to.
        compounds: starts of words joined by hyphens and underscores that contain a digit, or are capitals throughout.
    """

    plain: str
    low: str
    ascii: bool
    runs: list[tuple[int, int]]
    han: list[tuple[int, int]]
    words: list[tuple[int, str]]
    compounds: list[int]


def read(text: str, listened: Collection[str]) -> Reading:
    """The reading of a text.

    Args:
        text: as it was said.
        listened: lower-case words that rules listen to.
    """
    plain = joined(folded(text))
    low = lowered(plain)
    words: list[tuple[int, str]] = []
    compounds: list[int] = []
    head, end, last = 0, -2, -1
    for found in _TOKEN.finditer(plain):
        start = found.start()
        if start != end + 1 or plain[end] != "-":
            head = start
        end = found.end()
        token = found[0]
        if token.isalpha():
            word = token.lower()
            if word in listened:
                words.append((start, word))
            if head != start or not token.isupper() or end - start > 8:  # noqa: PLR2004 - longest code of letters alone
                continue
        elif token.isdigit():
            if head == start and plain[end : end + 1] != "-":
                continue
        elif not _HAS_DIGIT(token):
            continue
        if head != last:
            compounds.append(head)
            last = head
    return Reading(
        plain=plain,
        low=low,
        ascii=plain.isascii(),
        runs=[found.span() for found in _RUN.finditer(plain)],
        han=[] if plain.isascii() else [found.span() for found in _HAN_RUN.finditer(plain)],
        words=words,
        compounds=compounds,
    )


def back(text: str, at: int, characters: str, most: int) -> int:
    """Where the stretch of `characters` that ends at `at` begins, looking back `most` characters at most."""
    window = text[max(0, at - most) : at]
    return at - (len(window) - len(window.rstrip(characters)))
