"""What `module:name` names on the command line: a graph, a reconciler, a schema.

Rules of this module:

* A target is named by whoever runs the command, never by what a database holds.
* It is written as Python imports it, so a file's path is none, and is refused before anything is imported.
* A graph is a compiled one, or a function that makes one; a function that takes an argument is given the open database.
* What goes wrong in the program's own module is told with its error, and shown whole with `--debug`.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Final

from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from dalsegno.core.failures import wording
from dalsegno.errors import DalsegnoError, Misuse

if TYPE_CHECKING:
    import dalsegno

__all__ = ["graph_of", "target"]

_DOTTED: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def target(name: str, what: str = "graph") -> Any:
    """What a target names.

    Args:
        name: as it stands on the command line.
        what: what it is to name, for messages.

    Raises:
        Misuse: it is written otherwise, there is no such module or name in it, or importing it failed.
    """
    module, _, path = name.partition(":")
    if not (_DOTTED.fullmatch(module) and _DOTTED.fullmatch(path)):
        msg = f"{name!r} names nothing that Python imports"
        raise Misuse(msg, step=f"write it as module:{what}, such as app.agents:{what}, with the module as in `import`")
    if os.getcwd() not in sys.path and "" not in sys.path:  # noqa: PTH109 - sys.path holds text
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module)
    except DalsegnoError:
        raise
    except (Exception, SystemExit) as error:
        lacks = error.name if isinstance(error, ModuleNotFoundError) and error.name in _parents(module) else None
        why = f"importing it failed with {_told(error)}" if lacks is None else f"no module {lacks!r}"
        msg = f"{name}: {why}; run the command where Python finds the module, or set PYTHONPATH"
        raise Misuse(msg) from error
    for part in path.split("."):
        if not hasattr(found, part):
            msg = f"{name}: {module} has no {path!r}; name what stands in it"
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
    except (Exception, SystemExit) as error:
        msg = f"{name}: making the graph failed with {_told(error)}"
        raise Misuse(msg) from error


def _told(error: BaseException) -> str:
    said = " ".join(wording(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _parents(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
