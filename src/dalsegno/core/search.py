"""Words of a text, its signature, and the query that looks for them.

Rules of this module:

* A store keeps no index of words. Each event carries a *signature*: two bytes for each distinct term of its text.
  A query gives the two-byte codes that must be there; SQL compares bytes, and the text itself has the last word
  (`Query.score`). A signature may say "perhaps" wrongly; it never says "no" wrongly.
* Found for certain: any two or more neighbouring characters of a script that is not searched by words (Chinese,
  Japanese, Korean, Thai, the scripts of India, ...); any single such character, by reading the texts; any whole word
  of the other scripts, whatever stands around it (`退款REFUND`, `2026年`, `WX-123`). A part of a word (`fund` in
  `refund`) is not a word. Grouped digits are one number: `1,200` and `1200` find each other.
* Texts and queries are folded alike: compatibility forms (full-width digits, ligatures), case, white space, invisible
  characters; words also without accents, so that `cafe` finds `café` and the exact wording ranks higher.
* Codes are CRC-32 folded to sixteen bits: the same in every process, on every platform, for ever. `00 00` is no
  term's code; alone it is the signature of a text with too many terms and means "read the text".
* Pure: no clock, no I/O. The same text gives the same bytes.
"""

from __future__ import annotations

import itertools
import re
import struct
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ALWAYS", "MAX_CODES", "Query", "code_of", "fold", "occurrences", "query", "signature", "terms"]

MAX_CODES = 4096
"""Most codes a signature holds (8 KB); a text with more gets `ALWAYS` instead."""

ALWAYS = b"\x00\x00"
"""The signature that answers "perhaps" to every query: the text has to be read."""

_MAX_REQUIRED = 16
_MAX_PARTIAL = 64
_MAX_PARTS = 3

# Scripts whose stretches are cut into overlapping pairs: no spaces between words, or particles and vowel signs that
# would keep a word from being found in its neighbour's form.
_DENSE = (
    "\u0900-\u109f"  # Devanagari to Myanmar: India, Sri Lanka, Thai, Lao, Tibetan
    "\u1780-\u17dd\ua9e0-\ua9fe\uaa60-\uaa7f"  # Khmer, more Myanmar
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b"  # Han radicals, iteration mark, zero, tally numerals
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Kana
    "\u3100-\u312f\u31a0-\u31bf"  # Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00016fe0-\U00018dff\U0001aff0-\U0001b2ff\U00020000-\U0003ffff"  # Tangut, rare Kana, rare Han
)
_IS_DENSE = re.compile(f"[{_DENSE}]").match
_WORD = rf"[^\W_{_DENSE}]"
_RUN = re.compile(f"([{_DENSE}]+)|{_WORD}+")
_ASCII_RUN = re.compile("[a-z0-9]+")
_PART = re.compile(r"\d+|\D+")
_NUMBER = re.compile(rf"(?<!{_WORD})\d{{1,3}}(?:,\d{{3}})+(?!{_WORD})")
_COMPOUND = re.compile(rf"{_WORD}+(?:[-_./@:#&+'\\]{_WORD}+)+")
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
    "\U000e0100-\U000e01ef]+"
)
_ACCENTED = re.compile("[\u00c0-\u06ff\u1e00-\u1fff]")
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670]+")


def fold(text: str) -> str:
    """The form in which wordings are compared.

    NFKC and case folding, invisible characters removed, each stretch of white space one blank, none at the ends.
    Accents stay. Folding twice changes nothing.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
        text = unicodedata.normalize("NFKC", text)
    else:
        text = text.lower()
    return " ".join(text.split())


def terms(text: str) -> list[str]:
    r"""The distinct terms of a text, in order of first appearance.

    Words and numbers as they stand between other characters; a word mixing letters and digits also by its parts
    (`SO20260901` gives `so20260901`, `so`, `20260901`); words joined by one of `-_./@:#&+'\` also as a whole
    (`wx-123`, `report_final.pdf`); grouped digits also as one number; other scripts as overlapping pairs of
    characters, and a single character only where it stands alone.
    """
    folded = _bare(fold(text))
    return list(dict.fromkeys([*_atoms(folded), *_COMPOUND.findall(folded)]))


def occurrences(text: str) -> list[str]:
    """The terms of a text that stand by themselves, each as often as it is there; joined wholes are not among them."""
    return list(_atoms(_bare(fold(text))))


def code_of(term: str) -> bytes | None:
    """The two bytes of a term in signatures; None for one that no signature holds."""
    return struct.pack(">H", _code(term)) if _indexed(term) else None


def signature(text: str) -> bytes:
    """Two bytes for each distinct indexed term of `text`, sorted, without repetition.

    Returns:
        `b""` for a text without terms; `ALWAYS` for one with more than `MAX_CODES` codes. Joined wholes and single
        characters of dense scripts are not in it, since no query may require them.
    """
    codes = {_code(term) for term in _atoms(_bare(fold(text))) if _indexed(term)}
    if len(codes) > MAX_CODES:
        return ALWAYS
    return struct.pack(f">{len(codes)}H", *sorted(codes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to look for.

    Attributes:
        text: the folded wording.
        required: codes that the signature of every full match contains, at any byte offset. Empty: no signature can
            tell, read every text. A signature equal to `ALWAYS` is to be read whatever is required.
        partial: codes of which a text with some of the terms contains at least one; for a second search when the
            first found too little. Empty: read every text.
        words: the terms a full match has.
        wholes: joined words, which add to the rank and are not required.
    """

    text: str
    required: tuple[bytes, ...]
    partial: tuple[bytes, ...]
    words: tuple[str, ...]
    wholes: tuple[str, ...]

    @property
    def blank(self) -> bool:
        """True when there is nothing to look for; such a query matches no text."""
        return not self.text

    def matches(self, signature: bytes) -> bool:
        """Whether the text behind `signature` has to be read: what SQL computes, for those who have no SQL."""
        return signature == ALWAYS or all(code in signature for code in self.required)

    def score(self, text: str) -> float:
        """How well a text answers, read from the text itself.

        Returns:
            3.0 when it contains the wording; from 1.0 to 2.0 when it contains all terms (1 + the share of what was
            looked for, joined wholes included); between 0.0 and 1.0 when only some (that share); 0.0 when none.
            In shares a term weighs its length, a character of a dense script twice. Equal scores: the caller
            decides, usually newest first.
        """
        if self.blank:
            return 0.0
        folded = fold(text)
        if not self.words:
            return 3.0 if self.text in folded else 0.0
        bare = _bare(folded)
        there = set(_atoms(bare))
        missing = [word for word in self.words if word not in there and (_indexed(word) or word not in bare)]
        if not missing and self.text in folded:
            return 3.0
        absent = missing + [whole for whole in self.wholes if whole not in bare]
        share = 1 - sum(map(_weight, absent)) / sum(map(_weight, self.words + self.wholes))
        return share if missing else 1 + share

    def nearness(self, texts: Sequence[str]) -> list[float]:
        """How near some texts come, of which none has all terms: what few of them have counts more.

        Returns:
            A score for each, 0.0 where it has no term: Okapi BM25 over these texts (Robertson and Zaragoza, 2009).
        """
        wanted = frozenset(self.words)
        counts = [Counter(term for term in occurrences(text)) for text in texts]
        lengths = [sum(count.values()) for count in counts]
        usual = max(1.0, sum(lengths) / max(1, len(lengths)))
        holding = Counter(term for count in counts for term in wanted & count.keys())
        rare = {term: log(1 + (len(texts) - held + 0.5) / (held + 0.5)) for term, held in holding.items()}
        return [
            sum(
                rare[term] * count[term] * (1 + _SATURATION)
                / (count[term] + _SATURATION * (1 - _LENGTH + _LENGTH * length / usual))
                for term in wanted & count.keys()
            )
            for count, length in zip(counts, lengths, strict=True)
        ]  # fmt: skip


_SATURATION, _LENGTH = 1.2, 0.5


def query(text: str) -> Query:
    """Read what a person typed into a query.

    Any text is accepted. Without terms (only signs or emoji) the wording is looked for as it stands; an empty or
    blank text gives a `blank` query.
    """
    folded = fold(text)
    bare = _bare(folded)
    joined = _NUMBER.sub(lambda number: f" {number[0].replace(',', '')} ", bare)
    words = tuple(dict.fromkeys(_atoms(joined, parts=False)))
    indexed = sorted(filter(_indexed, words), key=len, reverse=True)
    codes = tuple(dict.fromkeys(struct.pack(">H", _code(word)) for word in indexed))
    return Query(
        text=folded,
        required=codes[:_MAX_REQUIRED],
        partial=codes[:_MAX_PARTIAL],
        words=words,
        wholes=tuple(dict.fromkeys(_COMPOUND.findall(joined))),
    )


def _bare(folded: str) -> str:
    """A folded text without accents and vowel points."""
    if folded.isascii() or not _ACCENTED.search(folded):
        return folded
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", folded)))


def _atoms(folded: str, *, parts: bool = True) -> Iterator[str]:
    """Terms that hold whatever stands around them; with `parts`, also what a text should be found by besides."""
    if folded.isascii():
        for word in _ASCII_RUN.findall(folded):
            yield word
            if parts:
                yield from _parts(word)
    else:
        for run in _RUN.finditer(folded):
            stretch = run[0]
            if run[1] is None:
                yield stretch
                if parts:
                    yield from _parts(stretch)
            elif len(stretch) == 1:
                yield stretch
            else:
                yield from map("".join, itertools.pairwise(stretch))
    if parts and "," in folded:
        for number in _NUMBER.findall(folded):
            yield number.replace(",", "")


def _parts(word: str) -> Iterator[str]:
    """Letters and digits of a mixed word; nothing for what alternates more often, such as a digest."""
    if word.isalpha() or word.isdigit():
        return
    parts = _PART.findall(word)
    if 1 < len(parts) <= _MAX_PARTS:
        yield from parts


def _indexed(term: str) -> bool:
    """Whether a term may be required of a signature: all but a lone character of a dense script."""
    return len(term) > 1 or not _IS_DENSE(term)


def _weight(term: str) -> int:
    return 2 * len(term) if _IS_DENSE(term) else len(term)


@lru_cache(maxsize=16384)
def _code(term: str) -> int:
    checksum = crc32(term.encode())
    return (checksum ^ checksum >> 16) & 0xFFFF or 1
