"""Which nodes of a graph may run in one superstep.

Rules of this module:

* Every target of a static edge is taken, one of a choice is, and of a fan any number, each any number of times.
* Two nodes may run together when a way leads there: they are targets of one node, or follow two nodes that may. All
  choices are taken to be possible; what they decide on is not known here.
* A join waits for all its sources, so its target does not run beside what still leads to one of them. A deferred node
  waits for everything, so only other deferred ones run beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

__all__ = ["Edge", "Pair", "together"]

Pair: TypeAlias = tuple[str, str]
"""Two nodes, in alphabetical order; twice the same one that runs several times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A way from nodes to nodes.

    Attributes:
        sources: where it begins; several for a join.
        targets: where it may lead.
        kind: `all` of them are taken, `one` is, or `fan`: any number, several times (LangGraph's `Send`).
        place: file and line of what decides, where that is known.
    """

    sources: Sequence[str]
    targets: Sequence[str]
    kind: Literal["all", "one", "fan"] = "all"
    place: str = ""


def together(edges: Iterable[Edge], deferred: Collection[str] = ()) -> set[Pair]:
    """The pairs of nodes that may run in one superstep."""
    ways: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        for source in edge.sources:
            ways[source].append(edge)
    found: set[Pair] = set()
    waiting = [pair for source in ways for pair in _fans(ways[source])]
    while waiting:
        pair = waiting.pop()
        if pair in found or (pair[0] in deferred) != (pair[1] in deferred):
            continue
        found.add(pair)
        waiting.extend(_after(pair, ways))
    return found


def _fans(ways: Sequence[Edge]) -> Iterator[Pair]:
    """Pairs that one node starts."""
    for edge in ways:
        if edge.kind == "fan":
            yield from ((target, target) for target in edge.targets)
        if edge.kind != "one":
            yield from (_pair(a, b) for a, b in combinations(edge.targets, 2) if a != b)
    for one, other in combinations(ways, 2):
        yield from (_pair(a, b) for a in one.targets for b in other.targets if a != b)


def _after(pair: Pair, ways: Mapping[str, Sequence[Edge]]) -> Iterator[Pair]:
    """Pairs that may follow a pair."""
    for one in ways.get(pair[0], ()):
        for other in ways.get(pair[1], ()):
            for a in one.targets:
                for b in other.targets:
                    same = a == b and not (
                        one.kind == other.kind == "fan" or (pair[0] == pair[1] and one.kind == "fan")
                    )
                    if not same and not _waits(one, a, b, ways) and not _waits(other, b, a, ways):
                        yield _pair(a, b)


def _waits(join: Edge, target: str, other: str, ways: Mapping[str, Sequence[Edge]]) -> bool:
    """Whether a join's target has still to wait for what another node leads to."""
    if len(join.sources) < 2:  # noqa: PLR2004 - no join
        return False
    seen, todo = {target}, [other]
    while todo:
        node = todo.pop()
        if node in join.sources:
            return True
        if node not in seen:
            seen.add(node)
            todo.extend(each for edge in ways.get(node, ()) for each in edge.targets)
    return False


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a <= b else (b, a)
