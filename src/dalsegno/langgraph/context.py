"""Contexts of LangChain messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

from dalsegno.core import context as core
from dalsegno.core.cuts import Turn
from dalsegno.core.tokens import Count
from dalsegno.langgraph.turns import schema_of, turn_of

__all__ = ["Context"]


def _read(message: Any, place: str, count: Count) -> Turn:
    return turn_of(message, place, count)


def _write(role: str, text: str) -> Any:
    return SystemMessage(content=text) if role == "system" else HumanMessage(content=text)


@dataclass(frozen=True, slots=True)
class Context(core.Context):
    """What one call gets, of LangChain or OpenAI messages; see `dalsegno.core.context.Context`. Writes LangChain's."""

    read: Callable[[Any, str, Count], Turn] = _read
    write: Callable[[str, str], Any] = _write

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", tuple(map(schema_of, self.tools)))
        core.Context.__post_init__(self)
