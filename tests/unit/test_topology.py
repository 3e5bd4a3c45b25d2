"""Which nodes may run in one superstep is read off the edges."""

from __future__ import annotations

from typing import Any

import pytest

from dalsegno.core.topology import Edge, together


def edge(sources: str, targets: str, kind: Any = "all") -> Edge:
    return Edge(sources=sources.split(), targets=targets.split(), kind=kind)


@pytest.mark.parametrize(
    ("edges", "pairs"),
    [
        ([edge("S", "a"), edge("a", "b")], []),
        ([edge("S", "a b")], ["ab"]),
        ([edge("S", "a"), edge("a", "a", "one")], []),
        ([edge("S", "a b", "one"), edge("a b", "c")], []),
        ([edge("S", "a b"), edge("a", "c"), edge("b", "d")], ["ab", "cd"]),
        ([edge("S", "a b"), edge("a", "c"), edge("b", "c")], ["ab"]),
        ([edge("S", "a b"), edge("a b", "c")], ["ab"]),
        ([edge("S", "a b"), edge("b", "d"), edge("a d", "c")], ["ab"]),
        ([edge("S", "w", "fan")], ["ww"]),
        ([edge("S", "w", "fan"), edge("w", "x")], ["ww"]),
        ([edge("S", "w", "fan"), edge("w", "x y", "one")], ["ww", "xy"]),
        ([edge("S", "w", "fan"), edge("w", "x", "fan")], ["ww", "xx"]),
        ([edge("S", "a"), edge("a", "b"), edge("a", "c", "one")], ["bc"]),
        ([edge("S", "a b"), edge("a", "c d", "one"), edge("b", "e")], ["ab", "ce", "de"]),
        ([edge("S", "a b"), edge("a", "a2"), edge("a2", "a"), edge("b", "b2")], ["ab", "a2b2"]),
    ],
)
def test_pairs(edges, pairs):
    found = {"".join(pair) for pair in together(edges)}
    assert found == set(pairs)


def test_a_deferred_node_runs_beside_deferred_ones_alone():
    edges = [edge("S", "a b last")]
    assert together(edges, {"last"}) == {("a", "b")}
    assert together(edges, {"a", "last"}) == {("a", "last")}


def test_a_circle_comes_to_an_end():
    edges = [edge("S", "a b"), edge("a", "b c", "one"), edge("b", "c a", "one"), edge("c", "a b")]
    assert ("a", "b") in together(edges)
