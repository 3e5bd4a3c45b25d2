"""Whether a text states a fact, and what a text states that its sources do not.

Rules of this module:

* A fact *survives* in a text that gives its value, in whatever spelling, or its wording on token boundaries: `$50` is
  not in `$500`, `HAT1` not in `HAT10`, `五万元` not in `十五万元`. Figures, dates and times survive by value alone.
* The more exact implies the less exact, never the other way: `2024-05-15` states `May 15`, `100-200元` states
  `200元`, `3:30 PM` states `3:30`.
* *Invented* is judged more mildly, because a digest may name what its source leaves open: a figure is invented when
  the source has no such number, or has it only with another unit. `"price": 100` supports `$100`; `¥100` does not. A
  time may lose or gain its zone. Quotes, commands, commitments and approvals are no numbers and are not judged.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from dalsegno.core.facts.finding import facts_in
from dalsegno.core.facts.folding import folded
from dalsegno.core.facts.kinds import WORDINGS, Fact, Kind

__all__ = ["FactIndex", "invented", "survives"]

_BY_WORDING = WORDINGS | {Kind.ID, Kind.URL, Kind.EMAIL, Kind.PATH}
_UNITS = frozenset({Kind.AMOUNT, Kind.QUANTITY, Kind.PERCENT})
_AMBIGUOUS = frozenset({"m", "B", "mm", "W"})
"""Units that may be millions or billions as well, so that a bare number does not give them."""
_SEPARATOR = "\n\x00\n"
_JOINED_BEFORE = re.compile(r"[A-Za-z0-9_]\Z|[A-Za-z0-9_][-./@:\\]\Z")
_JOINED_AFTER = re.compile(r"[A-Za-z0-9_]|[-./@:\\][A-Za-z0-9_]")

_Stated = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactIndex:
    """What some texts state, ready to be asked many times.

    Attributes:
        stated: kind and value of everything stated, what is implied included. The kind `bare` holds the numbers that
            stand without a unit.
        wording: the texts, folded, each stretch of white space one blank.
    """

    stated: frozenset[_Stated]
    wording: str

    @classmethod
    def of(cls, texts: Iterable[str]) -> FactIndex:
        """The index of some texts, or of one."""
        several = [texts] if isinstance(texts, str) else list(texts)
        stated = {pair for text in several for fact in facts_in(text) for pair in _implied(fact)}
        return cls(
            stated=frozenset(stated), wording=_SEPARATOR.join(" ".join(folded(text).split()) for text in several)
        )

    def states(self, fact: Fact) -> bool:
        """Whether the texts give this value, in whatever spelling, or for wordings and names the wording."""
        if (str(fact.kind), fact.value) in self.stated:
            return True
        if fact.kind not in _BY_WORDING:
            return self._states_parts(fact)
        return self._has(fact.value) or self._has(" ".join(folded(fact.text).split()))

    def _states_parts(self, fact: Fact) -> bool:
        """Whether both ends of a range are stated, or the bare number of a year or of a figure that has no unit."""
        if fact.kind is Kind.DATE and (fact.value.isdigit() or fact.text.isalpha()):
            return ("bare", fact.value) in self.stated or (fact.text.isalpha() and self._has(fact.text))
        if fact.kind in {Kind.DATE, Kind.TIME}:
            ends = [(str(fact.kind), end) for end in fact.value.split("/")]
        else:
            ends = _parts(fact)
        if len(ends) > 1:
            return all(end in self.stated for end in ends)
        return fact.kind in _UNITS and " " not in fact.value and ("number", fact.value) in self.stated

    def supports(self, fact: Fact) -> bool:
        """Whether a digest of these texts may state this fact: it is stated, or leaves out or adds no number."""
        if self.states(fact) or fact.kind in WORDINGS:
            return True
        if fact.kind is Kind.TIME:
            return ("time", fact.value.partition(" ")[0]) in self.stated
        if fact.kind in _UNITS or fact.kind is Kind.VERSION:
            return all(self._gives(pair) for pair in _parts(fact))
        if fact.kind in {Kind.DATE, Kind.ID, Kind.PHONE}:
            return ("bare", fact.value) in self.stated or self._has(" ".join(folded(fact.text).split()))
        return False

    def _gives(self, pair: _Stated) -> bool:
        kind, value = pair
        number, _, unit = value.partition(" ")
        if number.isalpha():
            number, unit = unit, number
        head = f"{number} {unit.split()[-1]}" if unit else number
        if pair in self.stated or (kind, head) in self.stated:
            return True
        return ("bare", number) in self.stated and unit not in _AMBIGUOUS

    def _has(self, wording: str) -> bool:
        """Whether a wording stands in the texts, with no token of it going on at either end."""
        at = self.wording.find(wording) if wording else -1
        while at >= 0:
            end = at + len(wording)
            if not (
                (_is_word(wording[0]) and _JOINED_BEFORE.search(self.wording[max(0, at - 2) : at]))
                or (_is_word(wording[-1]) and _JOINED_AFTER.match(self.wording, end))
            ):
                return True
            at = self.wording.find(wording, at + 1)
        return False


def survives(fact: Fact, text: str | FactIndex) -> bool:
    """Whether a fact is stated in a text: its value in any spelling, or its wording on token boundaries.

    Args:
        fact: what was said.
        text: the digest. Asking about many facts, build a `FactIndex` once; for a string the last few are remembered.
    """
    return (_index(text) if isinstance(text, str) else text).states(fact)


def invented(text: str, source: Iterable[str] | FactIndex, *, allowed: Collection[str] = ()) -> tuple[Fact, ...]:
    """What a text states that no source states: numbers, dates, times, ids, addresses, phones, paths, versions.

    Args:
        text: the digest to judge.
        source: what it was made from.
        allowed: wordings that may stand in it, such as the coordinates `#126 user`; facts inside one are passed over.

    Returns:
        The facts of `text` that its source does not support, in order. Empty for a faithful digest.
    """
    index = source if isinstance(source, FactIndex) else FactIndex.of(source)
    spans = list(_occurrences(text, allowed))
    return tuple(
        fact
        for fact in facts_in(text)
        if not index.supports(fact) and not any(start <= fact.start and fact.end <= end for start, end in spans)
    )


@lru_cache(maxsize=4)
def _index(text: str) -> FactIndex:
    return FactIndex.of([text])


def _occurrences(text: str, wordings: Iterable[str]) -> Iterator[tuple[int, int]]:
    for wording in dict.fromkeys(wordings):
        at = text.find(wording) if wording else -1
        while at >= 0:
            yield at, at + len(wording)
            at = text.find(wording, at + len(wording))


def _is_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


# --- what a fact implies ------------------------------------------------------------------------------


def _parts(fact: Fact) -> list[_Stated]:
    """A figure, or the two ends of a range, as kind and value."""
    unit_before = fact.value[:1].isalpha()
    unit, _, numbers = fact.value.partition(" ") if unit_before else ("", "", fact.value)
    if not unit_before:
        numbers, _, unit = fact.value.partition(" ")
    ends = numbers.split("..")
    return [(str(fact.kind), f"{unit} {end}" if unit_before else f"{end} {unit}".strip()) for end in ends]


def _implied(fact: Fact) -> Iterator[_Stated]:
    yield str(fact.kind), fact.value
    if fact.kind in _UNITS or fact.kind in {Kind.NUMBER, Kind.VERSION}:
        for kind, value in _parts(fact):
            yield kind, value
            number, _, rest = value.partition(" ")
            number = rest if number.isalpha() else number.rstrip("%p")
            yield "number", number
            if fact.kind in _UNITS:
                yield kind, number
            if fact.kind is Kind.NUMBER or (not rest and "%" not in value):
                yield "bare", number
            words = rest.split()
            if len(words) > 1:
                yield kind, f"{number} {words[-1]}"
    elif fact.kind is Kind.DATE:
        yield from _implied_dates(fact.value)
    elif fact.kind is Kind.TIME:
        yield from _implied_times(fact)
    elif fact.kind is Kind.ID and fact.value.isdigit():
        yield "number", fact.value.lstrip("0") or "0"
        yield "bare", fact.value


def _implied_dates(value: str) -> Iterator[_Stated]:
    for end in value.split("/"):
        yield "date", end
        found = re.fullmatch(r"(?P<y>[0-9]{4})?-{0,2}(?P<m>[0-9]{2})?-{0,1}(?P<d>[0-9]{2})?", end)
        if found is None:
            continue
        year, month, day = found["y"], found["m"], found["d"]
        if year:
            yield "date", year
            if month:
                yield "date", f"{year}-{month}"
        if month:
            yield "date", f"--{month}"
            if day:
                yield "date", f"--{month}-{day}"
        if day:
            yield "date", f"---{day}"
        for part in (year, month, day):
            if part:
                yield "number", part.lstrip("0") or "0"


def _implied_times(fact: Fact) -> Iterator[_Stated]:
    for end in fact.value.partition(" ")[0].split("/"):
        yield "time", end
        hour, _, rest = end.partition(":")
        if hour.isdigit():
            yield "time", f"{int(hour) % 12 or 12:02d}:{rest}"
            yield "number", hour.lstrip("0") or "0"
            yield "number", rest.partition(":")[0].lstrip("0") or "0"
