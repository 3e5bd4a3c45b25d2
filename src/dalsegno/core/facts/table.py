"""What was said, by whom, where, and which of it still holds.

Rules of this module:

* A table never drops a saying: what was corrected stays, with its own coordinate and that of its correction.
* Sayings are added in the order in which they were said. The same saying added again changes nothing, so a table is
  the same however often a span is read.
* Only a correction supersedes, and only what it surely means: the values it denies by name, or else the values of the
  same kind under the same subject. A correction that gives neither replaces the one value of its kind that is there;
  where there are more, all stay current.
* A table is a value, and plain JSON both ways. Fields of a later version survive reading and writing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from dalsegno.core.facts.kinds import FIGURES, Fact, Kind
from dalsegno.errors import Damaged

__all__ = ["FactTable", "Row", "Said"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A fact with where and by whom it was said.

    Attributes:
        fact: the fact, with its offsets in the event's text.
        coordinate: the event, such as `#126 user`.
        author: who said it.
        subject: what it is the value of (`budget`, `预算`, `arrival date`), or empty when unknown.
        correction: whether it was said to replace an earlier value.
        denied: whether it was named as what does *not* hold ("not 50,000").
        instead_of: canonical values that the saying denies by name.
    """

    fact: Fact
    coordinate: str
    author: str
    subject: str = ""
    correction: bool = False
    denied: bool = False
    instead_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A saying in a table.

    Attributes:
        said: the saying.
        superseded_by: coordinate of the saying that corrected it, or empty while it holds.
        extra: fields of a later version, kept as they were read.
    """

    said: Said
    superseded_by: str = ""
    extra: Mapping[str, Any] = field(default_factory=lambda: _NOTHING, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTable:
    """Sayings in order, each current or superseded.

    Attributes:
        rows: every saying ever added, oldest first.
    """

    rows: tuple[Row, ...] = ()

    def add(self, *said: Said) -> FactTable:
        """A table with these sayings after the ones that are there.

        Args:
            said: in the order in which they were said. One that is there already is passed over.

        Returns:
            A new table; this one is unchanged.
        """
        rows = list(self.rows)
        there = {row.said for row in rows}
        live = _Live(rows)
        for one in said:
            if one in there:
                continue
            there.add(one)
            if one.correction and not one.denied:
                for place in _superseded(live, one):
                    rows[place] = replace(rows[place], superseded_by=one.coordinate)
                    live.drop(place, rows[place].said)
            rows.append(Row(said=one, superseded_by=one.coordinate if one.denied else ""))
            if not one.denied:
                live.take(len(rows) - 1, one)
        return FactTable(rows=tuple(rows))

    def latest(self) -> tuple[Said, ...]:
        """The sayings that hold, oldest first; of the same value under the same subject the last one only."""
        last = {
            (row.said.fact.kind, row.said.fact.value, row.said.subject): place
            for place, row in enumerate(self.rows)
            if not row.superseded_by
        }
        return tuple(self.rows[place].said for place in sorted(last.values()))

    def history(self) -> tuple[Row, ...]:
        """Every saying with what corrected it, oldest first."""
        return self.rows

    def to_json(self) -> dict[str, Any]:
        """The table as plain JSON: `{"rows": [{"kind", "text", "value", "start", "end", "coordinate", …}]}`."""
        return {"rows": [_row_to_json(row) for row in self.rows]}

    @classmethod
    def from_json(cls, tree: Any) -> FactTable:
        """The table that `to_json` wrote.

        Raises:
            Damaged: the tree is not a table of this or a later version.
        """
        try:
            return cls(rows=tuple(map(_row_from_json, tree["rows"])))
        except (KeyError, TypeError, ValueError) as error:
            raise Damaged("table of facts", expected="rows of sayings", found=repr(error)) from error


class _Live:
    """The current sayings by what a correction may mean them by, so that one costs no look at the whole table."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._places: dict[tuple[str, str, str], dict[int, Said]] = {}
        for place, row in enumerate(rows):
            if not row.superseded_by:
                self.take(place, row.said)

    def take(self, place: int, said: Said) -> None:
        for key in _keys(said):
            self._places.setdefault(key, {})[place] = said

    def drop(self, place: int, said: Said) -> None:
        for key in _keys(said):
            del self._places[key][place]

    def rivals(self, said: Said, by: str, name: str) -> Iterator[tuple[int, Said]]:
        """Places and sayings of another value that a correction can be compared with, under one of their keys."""
        for place, other in self._places.get((_group(said.fact), by, name), {}).items():
            if _comparable(other.fact, said.fact) and other.fact.value != said.fact.value:
                yield place, other


def _keys(said: Said) -> Iterator[tuple[str, str, str]]:
    group = _group(said.fact)
    yield group, "all", ""
    yield group, "subject", said.subject
    yield group, "value", said.fact.value
    if (figure := _figure(said.fact.value)) != said.fact.value:
        yield group, "value", figure


def _group(fact: Fact) -> str:
    """Kinds that can be compared share a group."""
    return "figure" if fact.kind in FIGURES and fact.kind is not Kind.PERCENT else str(fact.kind)


def _superseded(live: _Live, said: Said) -> list[int]:
    """Places of the current rows that a correction replaces."""
    if said.instead_of:
        named = (pair for denied in said.instead_of for pair in live.rivals(said, "value", denied))
        return sorted({place for place, other in named if _denies(said, other) and _one_subject(other, said)})
    if said.subject:
        return [place for place, _ in live.rivals(said, "subject", said.subject)]
    places: list[int] = []
    values: set[str] = set()
    for place, other in live.rivals(said, "all", ""):
        places.append(place)
        values.add(other.fact.value)
        if len(values) > 1:
            return []
    return places


def _comparable(one: Fact, other: Fact) -> bool:
    return one.kind is other.kind or (
        one.kind in FIGURES
        and other.kind in FIGURES
        and Kind.PERCENT not in (one.kind, other.kind)
        and (" " not in one.value or " " not in other.value)
    )


def _denies(said: Said, earlier: Said) -> bool:
    value = earlier.fact.value
    return any(value == denied or (" " not in denied and _figure(value) == denied) for denied in said.instead_of)


def _figure(value: str) -> str:
    """The number of `CNY 50000` or `3 bag`."""
    first, _, rest = value.partition(" ")
    return rest if first.isalpha() else first


def _one_subject(one: Said, other: Said) -> bool:
    return not one.subject or not other.subject or one.subject == other.subject


def _row_to_json(row: Row) -> dict[str, Any]:
    said, fact = row.said, row.said.fact
    return {
        **row.extra,
        "kind": str(fact.kind),
        "text": fact.text,
        "value": fact.value,
        "start": fact.start,
        "end": fact.end,
        "coordinate": said.coordinate,
        "author": said.author,
        "subject": said.subject,
        "correction": said.correction,
        "denied": said.denied,
        "instead_of": list(said.instead_of),
        "superseded_by": row.superseded_by,
    }


def _row_from_json(tree: Any) -> Row:
    rest = dict(tree)
    fact = Fact(
        kind=Kind(rest.pop("kind")),
        text=_string(rest.pop("text")),
        value=_string(rest.pop("value")),
        start=int(rest.pop("start")),
        end=int(rest.pop("end")),
    )
    said = Said(
        fact=fact,
        coordinate=_string(rest.pop("coordinate")),
        author=_string(rest.pop("author")),
        subject=_string(rest.pop("subject", "")),
        correction=bool(rest.pop("correction", False)),
        denied=bool(rest.pop("denied", False)),
        instead_of=tuple(map(_string, rest.pop("instead_of", ()))),
    )
    return Row(said=said, superseded_by=_string(rest.pop("superseded_by", "")), extra=rest or _NOTHING)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is expected, found {type(value).__name__}")
    return value
