"""The graph that `module:graph` names on the command line.

Rules of this module:

* A target is named by whoever runs the command, never by what a database holds.
* It is a compiled graph, or a function that makes one; a function that takes an argument is given the open database.
* What goes wrong in the program's own module is told with its error, and shown whole with `--debug`.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import TYPE_CHECKING, Any

from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from dalsegno.errors import DalsegnoError, Misuse

if TYPE_CHECKING:
    import dalsegno

__all__ = ["graph_of", "target"]


def target(name: str) -> Any:
    """What a target names.

    Raises:
        Misuse: there is no such module or name in it, or importing it failed.
    """
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        msg = f"{name}: write it as module:graph, such as app.agents:graph"
        raise Misuse(msg)
    if os.getcwd() not in sys.path and "" not in sys.path:  # noqa: PTH109 - sys.path holds text
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module)
    except DalsegnoError:
        raise
    except Exception as error:
        lacks = error.name if isinstance(error, ModuleNotFoundError) and error.name in _parents(module) else None
        why = f"importing it failed with {type(error).__name__}: {error}" if lacks is None else f"no module {lacks!r}"
        msg = f"{name}: {why}; run the command where Python finds the module, or set PYTHONPATH"
        raise Misuse(msg) from error
    for part in path.split("."):
        if not hasattr(found, part):
            msg = f"{name}: {module} has no {path!r}; name a graph or a function that makes one"
            raise Misuse(msg)
        found = getattr(found, part)
    return found


def graph_of(name: str, found: Any, ds: dalsegno.Dalsegno) -> Any:
    """The graph that a target is or makes.

    Raises:
        Misuse: it makes none.
    """
    if isinstance(found, (Pregel, StateGraph, type)) or not callable(found):
        return found
    if inspect.iscoroutinefunction(found):
        msg = f"{name} is a coroutine function; let a plain function make the graph"
        raise Misuse(msg)
    takes = [
        each
        for each in inspect.signature(found).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) and each.default is each.empty
    ]
    if len(takes) > 1:
        msg = f"{name} takes {len(takes)} arguments; let it take none, or the open database"
        raise Misuse(msg)
    try:
        return found(ds) if takes else found()
    except DalsegnoError:
        raise
    except Exception as error:
        msg = f"{name}: making the graph failed with {type(error).__name__}: {error}"
        raise Misuse(msg) from error


def _parents(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
