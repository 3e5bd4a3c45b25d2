"""Whether a run has come to a breakpoint that its graph was compiled with.

A run that stops before a node leaves nothing in the database but the steps that wait, so the graph has to say it. Who
resumes a run passes its breakpoint; that is for people to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["stops_before"]


def stops_before(graph: Any, waiting: Iterable[str]) -> bool:
    """Whether a run that waits for these nodes has stopped before one of them on purpose."""
    stops = graph.interrupt_before_nodes
    return any(stops == "*" or name in stops for name in waiting)
