"""Parameters of a tool that the framework fills in: they are no part of what is asked for.

Rules of this module:

* A parameter is known by its annotation: `Annotated[…, InjectedToolArg]` and its kin (`InjectedToolCallId`,
  `InjectedState`, `InjectedStore`), `ToolRuntime`, a `RunnableConfig`, or callbacks.
* An injected tool call id, on its own or in a `ToolRuntime`, names the step.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg, InjectedToolCallId
from langgraph.prebuilt import ToolRuntime

__all__ = ["hints_of", "injected", "tool_call_id_of"]


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function's parameters, resolved where they can be."""
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations are other people's code; without them nothing is injected
        return dict(getattr(function, "__annotations__", {}))


def injected(function: Callable[..., Any]) -> dict[str, bool]:
    """The injected parameters of a function, and for each whether it is the tool call's id itself."""
    hints = hints_of(function)
    return {name: _is(hint, InjectedToolCallId) for name, hint in hints.items() if name != "return" and _hidden(hint)}


def _hidden(hint: Any) -> bool:
    kinds = typing.get_args(hint) if typing.get_origin(hint) is not typing.Annotated else (hint.__origin__,)
    bare = [typing.get_origin(kind) or kind for kind in (hint, *kinds)]
    plain = any(
        kind is RunnableConfig or (isinstance(kind, type) and issubclass(kind, ToolRuntime | BaseCallbackManager))
        for kind in bare
    )
    return plain or _is(hint, InjectedToolArg)


def _is(hint: Any, mark: type) -> bool:
    return any(
        isinstance(each, mark) or (isinstance(each, type) and issubclass(each, mark))
        for each in getattr(hint, "__metadata__", ())
    )


def tool_call_id_of(
    signature: inspect.Signature, hidden: Mapping[str, bool], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> str | None:
    """The id of the tool call that a call is made for, where the function was told."""
    if not hidden:
        return None
    try:
        bound = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:
        return None
    for name, is_id in hidden.items():
        found = bound.get(name)
        told = found if is_id else getattr(found, "tool_call_id", None)
        if isinstance(told, str) and told:
            return told
    return None
