"""What goes into one model call: one class for whoever puts a call together.

Rules of this module:

* A request is its messages, what they cost, and a manifest that says what is in them. How it was put together decides
  what the manifest tells: that of a reopened conversation (`core/card`), or that of a declared call (`core/context`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

__all__ = ["Request"]

M = TypeVar("M")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Generic[M]):
    """What goes into one model call.

    Attributes:
        messages: in order, instructions first. What was assembled is `{"role": …, "content": …}` or a framework's own
            message; messages of a conversation are the very objects that were given.
        tokens: what it costs, tools included, by the counter that was given.
        manifest: what went in, at what fidelity, and what was left out and why.
    """

    messages: tuple[Any, ...]
    tokens: int
    manifest: M
