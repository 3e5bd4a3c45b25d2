"""What a text is about, as far as its own words tell: for matching a promise with its end, a decision with its recall.

Rules of this module:

* English words without endings and without the words every sentence has; Chinese characters in overlapping pairs.
* Numbers and dates are no subject: two texts that share nothing but a number are about different things.
"""

from __future__ import annotations

import re
from functools import lru_cache

from dalsegno.core.facts.words import words

__all__ = ["alike", "skeleton", "terms"]

_WORD = re.compile(r"[a-z][a-z0-9_-]+")
_HAN = re.compile("[\u3400-\u9fff]+")
_COMMON = frozenset(
    words(
        "the and for with that this you your our will have has had been are was were from they them then than not "
        "but all can could would should please just also now its it's let lets let's go going ahead use take make "
        "get send sent done do did about into over by on at to of in is be we us me my he she his her their who "
        "what which when where how why i'll we'll i've we've i'd we'd okay ok yes no so as if or an one option "
        "plan thanks thank sure want finish finished complete completed already forget drop scrap cancel scratch "
        "never mind instead"
    )
)
_HAN_COMMON = re.compile("[的了是在我你他她它们这那有和就不也都要会可以吗吧呢啊很把被给到说去来还能已经先再个]")
_ENDING = re.compile(r"(?:ing|ed|es|s)$")


@lru_cache(maxsize=1024)
def terms(text: str) -> frozenset[str]:
    """Words and pairs of characters that say what a text is about."""
    low = text.lower()
    words = {_ENDING.sub("", word) for word in _WORD.findall(low) if word not in _COMMON and len(word) > 2}  # noqa: PLR2004 - letters of a word
    pairs: set[str] = set()
    for run in _HAN.findall(low):
        for part in _HAN_COMMON.split(run):
            pairs.update(part[at : at + 2] for at in range(len(part) - 1))
    return frozenset(words | pairs)


def alike(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of the smaller set stands in the other, from 0 to 1."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


_FIGURE = re.compile(r"[0-9０-９]+|[零一二两三四五六七八九十百千万亿]+|\b(?:am|pm|a\.m\.|p\.m\.)")


@lru_cache(maxsize=512)
def skeleton(text: str) -> frozenset[str]:
    """What a demand is about: its terms without figures."""
    return terms(_FIGURE.sub(" ", text))
