"""All facts of a text.

Rules of this module:

* Facts come in order of their start. Of overlapping atoms the longest wins, so a date in a path is part of the path;
  of equally long ones the kind whose rule is the narrower. Wordings keep their own order, and what stands in them is
  listed as well.
* Finding takes time linear in the text's length, whatever the text: every pattern is bounded or cannot go back.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from itertools import chain

from dalsegno.core.facts.figures import figures
from dalsegno.core.facts.folding import folded
from dalsegno.core.facts.kinds import Fact, Kind

__all__ = ["facts_in"]

Found = tuple[int, int, Kind, str]
"""Start, end, kind and canonical value of a reading."""

_RANK = {kind: rank for rank, kind in enumerate(Kind)}


def facts_in(text: str) -> tuple[Fact, ...]:
    """The facts a text states, in order of their start.

    Args:
        text: plain text, Markdown or JSON, in English, Chinese or both.

    Returns:
        Every protected fact and every bare number. `text[fact.start:fact.end] == fact.text` for each.
    """
    plain = folded(text)
    found = sorted(_longest(chain(figures(plain))), key=lambda one: (one[0], -one[1]))
    return tuple(
        Fact(kind=kind, text=text[start:end], value=value, start=start, end=end) for start, end, kind, value in found
    )


def _longest(found: Iterable[Found]) -> list[Found]:
    """Readings that do not overlap: longest first, then in the order of `Kind`, then from the left."""
    kept: list[Found] = []
    for one in sorted(found, key=lambda one: (one[0] - one[1], _RANK[one[2]], one[0])):
        at = bisect_left(kept, one)
        if (at == 0 or kept[at - 1][1] <= one[0]) and (at == len(kept) or one[1] <= kept[at][0]):
            insort(kept, one)
    return kept
