"""All facts of a text.

Rules of this module:

* Facts come in order of their start. Of overlapping atoms the longest wins, so a date in a path is part of the path;
  of equally long ones the kind whose rule is the narrower. A quote of nothing but one atom is that atom. Wordings
  keep their own order, and what stands in them is listed as well.
* Finding takes time linear in the text's length, whatever the text: every pattern is bounded or cannot go back.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from itertools import chain, repeat
from operator import itemgetter

from dalsegno.core.bulk import collector_paused
from dalsegno.core.facts import clock, days, figures, names, parts, speech
from dalsegno.core.facts.kinds import WORDINGS, Fact, Kind
from dalsegno.core.facts.places import places
from dalsegno.core.facts.reading import Reading, read
from dalsegno.core.facts.wording import commands, quotes

__all__ = ["facts_in"]

Found = tuple[int, int, Kind, str]
"""Start, end, kind and canonical value of a reading."""

_LISTENED = clock.LISTENED | days.LISTENED | figures.LISTENED | names.LISTENED | parts.LISTENED | speech.LISTENED

_RANK = {
    kind: rank
    for rank, kind in enumerate(
        (
            *(
                Kind.EMAIL,
                Kind.URL,
                Kind.PHONE,
                Kind.DATE,
                Kind.TIME,
                Kind.AMOUNT,
                Kind.PERCENT,
                Kind.QUANTITY,
                Kind.VERSION,
            ),
            *(Kind.ID, Kind.PATH, Kind.NUMBER, Kind.QUOTE, Kind.COMMAND, Kind.COMMITMENT, Kind.APPROVAL),
        )
    )
}
"""Which reading of equal length wins: the one whose rule is the narrower."""


def facts_in(text: str) -> tuple[Fact, ...]:
    """The facts a text states, in order of their start.

    Args:
        text: plain text, Markdown or JSON, in English, Chinese or both.

    Returns:
        Every protected fact and every bare number. `text[fact.start:fact.end] == fact.text` for each.
    """
    with collector_paused():
        reading = read(text, _LISTENED)
        return tuple(
            Fact(kind=kind, text=text[start:end], value=value, start=start, end=end)
            for start, end, kind, value in map(_closed, sorted(_found(reading), key=itemgetter(0)), repeat(text))
        )


def _closed(one: Found, text: str) -> Found:
    """A reading with the bracket that ends right after it, where it begins inside: `50 (kg)`."""
    start, end, kind, value = one
    opened = _OPENED.get(text[end : end + 1])
    if opened and kind not in WORDINGS and opened in text[start:end] and text[end] not in text[start:end]:
        return start, end + 1, kind, value
    return one


_OPENED = {")": "(", "）": "（", "]": "["}


def _found(reading: Reading) -> list[Found]:
    plain = reading.plain
    atoms = _longest(
        chain(
            *(places(plain), names.names(reading), days.days(reading), clock.times(reading)),
            *(figures.figures(reading), parts.parts(reading)),
        )
    )
    whole = {(start, end) for start, end, kind, _ in atoms if kind is not Kind.NUMBER}
    quoted = (one for one in quotes(plain) if (one[0] + 1, one[1] - 1) not in whole)
    return [*atoms, *_longest(quoted), *_longest(commands(plain)), *speech.speech(reading)]


def _longest(found: Iterable[Found]) -> list[Found]:
    """Readings that do not overlap: of those that share characters the longest, then by rank, then from the left."""
    kept: list[Found] = []
    cluster: list[Found] = []
    reach = 0
    for one in sorted(found):
        if one[0] >= reach and cluster:
            kept += cluster if len(cluster) == 1 else _best(cluster)
            cluster = []
        cluster.append(one)
        reach = max(reach, one[1])
    return kept + (_best(cluster) if cluster else [])


def _best(cluster: list[Found]) -> list[Found]:
    kept: list[Found] = []
    for one in sorted(cluster, key=lambda one: (one[0] - one[1], _RANK[one[2]], one[0])):
        at = bisect_left(kept, one)
        if (at == 0 or kept[at - 1][1] <= one[0]) and (at == len(kept) or one[1] <= kept[at][0]):
            insort(kept, one)
    return kept
