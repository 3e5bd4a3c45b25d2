"""The terms by which passages are found.

Rules of this module:

* Latin words fold case, accents' forms and the endings of plurals; grouped digits are one number; a word of
  letters and digits (`FY2024`) is found by its parts too; stretches of Chinese
  are overlapping pairs of characters.
* Words that only ask (`what`, `was`, `多少`) are terms of a text and none of a query.
* Pure: the same text gives the same terms.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

__all__ = ["asked", "folded", "stem", "terms"]

_RUN = re.compile(
    r"([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|[^\W_\u3400-\u9fff]+"
)
_PART = re.compile(r"\d{2,}|[a-z]{2,}")
_SHORT_WORD = 3
_ASKING = frozenset(
    re.findall(
        r"\w+",
        """a an and any are as at be been by did do does for from give had has have how if in is it its many me much
        of on or our please s show tell that the their there these this to us was were what when where which who why
        will with you your""",
    )
)
_ASKING_ZH = re.compile(
    r"是多少|是什么|有哪些|是哪些|是谁|为多少|分别|请问|多少|什么|哪些|哪里|哪个|如何|怎样|怎么|是否|情况|请|吗|呢|的|了|？|\?"
)


def folded(text: str) -> str:
    """The form in which words are compared."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def terms(text: str) -> Iterator[str]:
    """The terms of a text, each as often as it is there."""
    for run in _RUN.finditer(folded(text)):
        word = run[0]
        if run[1] is None:
            if word.isalpha():
                yield stem(word)
                continue
            yield (word := word.replace(",", ""))
            if word.isalnum() and not word.isdigit():
                yield from _PART.findall(word)
        elif len(word) == 1:
            yield word
        else:
            yield from (word[at : at + 2] for at in range(len(word) - 1))


def asked(query: str) -> list[str]:
    """The distinct terms to look for, in order; all terms where a query has no others than asking words."""
    bare = _ASKING_ZH.sub(" ", query)
    kept = list(dict.fromkeys(term for term in terms(bare) if term not in _ASKING))
    return kept or list(dict.fromkeys(terms(query)))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A Latin word without the ending of its plural (Harman's three rules), and `-ed`, `-ing` of long words."""
    if len(word) <= _SHORT_WORD or not word.isascii():
        return word
    if word.endswith("ies") and word[-4] not in "ae":
        word = word[:-3] + "y"
    elif (word.endswith("es") and word[-3] not in "aeo") or (word.endswith("s") and word[-2] not in "us"):
        word = word[:-1]
    for ending in ("ing", "ed"):
        root = word[: -len(ending)]
        if word.endswith(ending) and len(root) > _SHORT_WORD and any(vowel in root for vowel in "aeiouy"):
            return root[:-1] if root[-1] == root[-2] and root[-1] not in "ls" else root
    return word[:-1] if len(word) > _SHORT_WORD + 1 and word[-1] == "e" else word
