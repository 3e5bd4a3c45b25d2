"""A graph that is to run on a given database: checked, and bound to it where it is bound to nothing.

Rules of this module:

* A graph without a checkpointer is copied with the database's; the graph that was given is not changed.
* A graph that keeps its threads elsewhere is refused: its runs would be looked for in one place and kept in another.
  The same database opened a second time, as a module does that connects by itself, is no other place.
"""

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from dalsegno.errors import Misuse
from dalsegno.langgraph.checkpointer import DalsegnoSaver

__all__ = ["bound"]


def bound(graph: Any, saver: DalsegnoSaver, *, idle: bool = False) -> Pregel[Any, Any, Any, Any]:
    """The graph with this checkpointer.

    Args:
        graph: what the caller gave.
        saver: the database's checkpointer.
        idle: whether runs without a lease are gone on with, which a graph with breakpoints does not allow.

    Raises:
        Misuse: it is no compiled graph, or keeps its threads elsewhere.
    """
    if isinstance(graph, StateGraph):
        msg = "this is a builder, not a compiled graph; give what builder.compile() returns"
        raise Misuse(msg)
    if not isinstance(graph, Pregel):
        msg = f"{type(graph).__name__} is no compiled graph; give what builder.compile() returns"
        raise Misuse(msg)
    if idle and (graph.interrupt_before_nodes or graph.interrupt_after_nodes):
        msg = (
            "idle with a graph that stops at breakpoints (interrupt_before, interrupt_after): a run that stopped at "
            "one looks like one that was left. Ask with interrupt() in a node, or start its runs under a lease"
        )
        raise Misuse(msg)
    own = graph.checkpointer
    if own is saver:
        return graph
    if own is None or (isinstance(own, DalsegnoSaver) and own.shares(saver)):
        return graph.copy({"checkpointer": saver})
    kind = f"checkpointer={own}" if isinstance(own, bool) else type(own).__name__
    where = f" on {own.told}" if isinstance(own, DalsegnoSaver) else ""
    msg = (
        f"this graph is compiled with another checkpointer ({kind}{where}); compile it with this database's "
        "ds.checkpointer, or without one"
    )
    raise Misuse(msg)
