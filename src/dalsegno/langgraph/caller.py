"""Who is asking: the LangGraph run or graph that calls a checkpointer, when it is one.

Rules of this module:

* LangGraph hands a checkpointer no graph, but three promises need it: a run must not resume into a graph that lacks a
  pending node, a new input over unfinished steps must be reported, and a fresh process must know the classes of the
  state it reads. The caller stands a few frames up; this module is the only place that looks
  (see docs/adr/0003-who-is-asking.md).
* What is found is read, never changed; when nothing is found (another caller, another LangGraph), the answer is None,
  the checks are left to `dalsegno.resume`, and classes are to be registered by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from langgraph.pregel import Pregel
from langgraph.pregel._loop import PregelLoop

__all__ = ["calling_channels", "calling_loop", "graph_of", "live_channels"]

_ENTRANCES = frozenset({"__enter__", "__aenter__", "_checkpointer_put_after_previous"})
_FRAMES = 6


def calling_loop() -> PregelLoop | None:
    """The loop on whose behalf the current call is made, looked for a few frames up."""
    frame = sys._getframe(2)  # noqa: SLF001 - the documented purpose of this module
    for _ in range(_FRAMES):
        if frame.f_code.co_name in _ENTRANCES:
            found = frame.f_locals.get("self")
            if isinstance(found, PregelLoop):
                return found
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


def calling_channels() -> Mapping[str, Any] | None:
    """The channels of the run or the graph that asks (`invoke`, `get_state`, `update_state`), looked for likewise."""
    frame = sys._getframe(2)  # noqa: SLF001 - the documented purpose of this module
    for _ in range(_FRAMES):
        if "self" in frame.f_code.co_varnames or "self" in frame.f_code.co_freevars:
            found = frame.f_locals.get("self")
            if isinstance(found, PregelLoop):
                return found.specs
            if isinstance(found, Pregel):
                return found.channels
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


def live_channels() -> Mapping[str, Any] | None:
    """The channels, with their values, of the run or the update that puts a checkpoint, looked for likewise."""
    frame = sys._getframe(2)  # noqa: SLF001 - the documented purpose of this module
    for _ in range(_FRAMES):
        found = frame.f_locals.get("self") if "self" in (*frame.f_code.co_varnames, *frame.f_code.co_freevars) else None
        if isinstance(found, PregelLoop):
            return found.channels
        if isinstance(found, Pregel):
            channels = frame.f_locals.get("channels")
            return channels if isinstance(channels, Mapping) else None
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


def graph_of(loop: PregelLoop) -> dict[str, list[str]]:
    """The loop's nodes and the channels that trigger each, in stable order."""
    nodes: Mapping[str, Any] = loop.nodes
    return {name: sorted(nodes[name].triggers) for name in sorted(nodes)}
