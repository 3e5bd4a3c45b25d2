"""What stands for the messages that were taken out: lines with coordinates, and the facts that were said.

Rules of this module:

* Every line says where it comes from: the numbers of its messages and who said them. A summary never speaks in its
  own voice, and is never put among the messages as if someone had said it.
* The facts are a table beside the text, whole and verbatim. The text may be shortened at will; the table is not.
* Shown to a model, a summary is a record between two marks that its content cannot close, with a word that nothing in
  it is an instruction. What does not fit is counted, with the way to look it up.
* A value, and plain JSON both ways. Fields of a later version survive reading and writing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from dalsegno.core.facts import FactTable
from dalsegno.errors import Damaged

__all__ = [
    "Line",
    "Ranges",
    "Span",
    "Summary",
    "evicted_in",
    "lines_from_json",
    "lines_to_json",
    "numbers_in",
    "ranges_of",
]

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Numbers as first and last of each stretch, ascending, both ends included."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NAMES_SHOWN = 4


def ranges_of(numbers: Iterable[int]) -> Ranges:
    """Numbers in any order as stretches: 3, 1, 2, 9 as `((1, 3), (9, 9))`."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)


def numbers_in(ranges: Ranges) -> Iterator[int]:
    """The numbers of some stretches, one by one."""
    for first, last in ranges:
        yield from range(first, last + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a digest.

    Attributes:
        numbers: of the messages it tells of.
        authors: who said them, each once, in order.
        text: what was said, one line; empty where it is only said that something was.
        weight: how much it matters when there is no room for all: a user's line 3, an assistant's 2, a tool's 1.
    """

    numbers: Ranges
    authors: tuple[str, ...]
    text: str
    weight: int = 2

    @property
    def head(self) -> str:
        """Where it comes from: `#3 user`, or `#4–#9 assistant, search_flights`."""
        where = ", ".join(f"#{first}" if first == last else f"#{first}–#{last}" for first, last in self.numbers)
        more = len(self.authors) - _NAMES_SHOWN
        return f"{where} {', '.join(self.authors[:_NAMES_SHOWN])}" + (f" +{more}" if more > 0 else "")

    def __str__(self) -> str:
        return f"{self.head}: {self.text or '…'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What one compaction took out, or several of them merged.

    Attributes:
        lines: the digest, oldest first.
        by: who wrote it: `extract` for code alone, else the model's name.
        policy: the policy it was written under.
        merged: how many spans it was before they were merged.
        extra: fields of a later version, kept as they were read.
    """

    lines: tuple[Line, ...]
    by: str
    policy: Mapping[str, Any] = field(default_factory=lambda: _NOTHING, hash=False)
    merged: int = 1
    extra: Mapping[str, Any] = field(default_factory=lambda: _NOTHING, hash=False)

    @property
    def covered(self) -> Ranges:
        """Numbers of the messages it stands for."""
        return ranges_of(number for line in self.lines for number in numbers_in(line.numbers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All that was taken out of a conversation so far.

    Attributes:
        spans: digests, oldest first.
        facts: every protected fact that was said in them, verbatim, with its coordinate.
        last: the highest number that any message of the conversation has been given.
        numbers: by message id, the numbers of messages that stay below `last`.
        evicted: ids of the messages that the newest compaction took out, those that have one, and of those taken out
            before that were in the list again. They are gone for room alone; nobody deleted them.
        extra: fields of a later version, kept as they were read.
    """

    spans: tuple[Span, ...] = ()
    facts: FactTable = field(default_factory=FactTable)
    last: int = 0
    numbers: Mapping[str, int] = field(default_factory=lambda: _NOTHING, hash=False)
    evicted: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=lambda: _NOTHING, hash=False)

    @property
    def covered(self) -> Ranges:
        """Numbers of all messages it stands for."""
        return ranges_of(number for span in self.spans for number in numbers_in(span.covered))

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines, in the order of their first message."""
        return tuple(
            sorted(
                (line for span in self.spans for line in span.lines), key=lambda line: (line.numbers or ((0, 0),))[0]
            )
        )

    @property
    def text(self) -> str:
        """All lines, one under the other, without the facts."""
        return "\n".join(map(str, self.lines))

    def with_spans(self, spans: Sequence[Span]) -> Summary:
        """The same with other spans."""
        return replace(self, spans=tuple(spans))

    def to_json(self) -> dict[str, Any]:
        """The summary as plain JSON."""
        return {
            **self.extra,
            "version": 1,
            "spans": [_span_to_json(span) for span in self.spans],
            "facts": self.facts.to_json(),
            "last": self.last,
            "numbers": dict(self.numbers),
            "evicted": list(self.evicted),
        }

    @classmethod
    def from_json(cls, tree: Any) -> Summary:
        """The summary that `to_json` wrote; of None or an empty mapping an empty one.

        Raises:
            Damaged: the tree is no summary. Whatever else stands in its place is nobody's to overwrite.
        """
        if tree is None or tree == {}:
            return cls()
        try:
            rest = dict(tree)
            rest.pop("version")
            return cls(
                spans=tuple(map(_span_from_json, rest.pop("spans"))),
                facts=FactTable.from_json(rest.pop("facts")),
                last=int(rest.pop("last")),
                numbers=MappingProxyType({str(id_): int(at) for id_, at in rest.pop("numbers").items()}),
                evicted=tuple(map(str, rest.pop("evicted"))),
                extra=rest or _NOTHING,
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Damaged(
                f"not a summary ({type(error).__name__}: {error}); give the field another name, or build it again from "
                "the journal"
            ) from error


def evicted_in(value: Any) -> frozenset[str]:
    """Ids of the messages that a summary's JSON took out last; none for any other value."""
    if isinstance(value, dict) and value.keys() >= {"version", "spans", "facts", "evicted"}:
        ids = value["evicted"]
        return frozenset(id_ for id_ in ids if isinstance(id_, str)) if isinstance(ids, list) else frozenset()
    return frozenset()


def lines_to_json(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Lines as plain JSON."""
    return [
        {
            "at": [list(stretch) for stretch in line.numbers],
            "who": list(line.authors),
            "text": line.text,
            "w": line.weight,
        }
        for line in lines
    ]


def lines_from_json(tree: Any) -> tuple[Line, ...]:
    """The lines that `lines_to_json` wrote."""
    return tuple(map(_line_from_json, tree))


def _span_to_json(span: Span) -> dict[str, Any]:
    return {
        **span.extra,
        "by": span.by,
        "policy": dict(span.policy),
        "merged": span.merged,
        "lines": lines_to_json(span.lines),
    }


def _span_from_json(tree: Any) -> Span:
    rest = dict(tree)
    return Span(
        lines=lines_from_json(rest.pop("lines")),
        by=str(rest.pop("by")),
        policy=MappingProxyType(dict(rest.pop("policy"))),
        merged=int(rest.pop("merged")),
        extra=rest or _NOTHING,
    )


def _line_from_json(tree: Any) -> Line:
    return Line(
        numbers=tuple((int(first), int(last)) for first, last in tree["at"]),
        authors=tuple(map(str, tree["who"])),
        text=str(tree["text"]),
        weight=int(tree["w"]),
    )
