"""Registering what a graph's state is made of, so that a fresh process can read it.

Rules of this module:

* Classes are found through the annotations of the graph's own schemas and channels; never through names in data.
* A name is looked up only where a compiled graph gave it (`with_allowlist`), and only in modules already imported.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from langgraph.pregel import Pregel

from dalsegno.core.registry import add_roots

__all__ = ["Classes", "register_allowlist", "register_channels", "register_graph", "register_schema"]

_MOST = 256
"""Graphs remembered as known."""


def register_schema(*schemas: object) -> None:
    """Register every dataclass, enum, pydantic model, named tuple and exception that annotations reach.

    Args:
        schemas: classes or annotations, such as a graph's state schema.
    """
    add_roots(*schemas)


def register_channels(channels: Iterable[object]) -> None:
    """Register the classes in the value and update types of channels."""
    for channel in channels:
        add_roots(getattr(channel, "ValueType", None), getattr(channel, "UpdateType", None))


class Classes:
    """Registers what graphs hold when they ask, each graph's channels once."""

    def __init__(self) -> None:
        """Start with no graph known."""
        self._lock = threading.Lock()
        self._known: OrderedDict[int, Mapping[str, object]] = OrderedDict()

    def learn(self, channels: Mapping[str, object] | None) -> None:
        """Register the classes of a graph's channels, unless that was done."""
        if channels is None:
            return
        with self._lock:
            # Held, so that the id belongs to this graph as long as it stands here.
            if self._known.get(id(channels)) is channels:
                self._known.move_to_end(id(channels))
                return
            self._known[id(channels)] = channels
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        register_channels(channels.values())


def register_graph(graph: Pregel[Any, Any, Any, Any]) -> None:
    """Register the classes in the channels and schemas of a compiled graph and of its subgraphs."""
    graphs = [graph, *(subgraph for _, subgraph in graph.get_subgraphs(recurse=True))]
    for each in graphs:
        register_channels(getattr(each, "channels", {}).values())
        builder = getattr(each, "builder", None)
        for name in ("state_schema", "input_schema", "output_schema"):
            add_roots(getattr(builder, name, None))
        for node in getattr(builder, "nodes", {}).values():
            add_roots(getattr(node, "input_schema", None))


def register_allowlist(names: Iterable[tuple[str, ...]]) -> None:
    """Register the classes a compiled graph names as its own, each as (module, name, ...)."""
    for module, *path in names:
        found: object = sys.modules.get(module)
        for name in ".".join(path[:1]).split("."):
            found = getattr(found, name, None)
        if isinstance(found, type):
            add_roots(found)
