"""What a LangChain message says, in the journal's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from dalsegno.core.histories import is_carrying
from dalsegno.core.journal import Kind, author_of, text_of
from dalsegno.services.arrivals import Said

__all__ = ["has_messages", "said_of", "text_of_value", "without_item"]


_PERSONS = frozenset({"human", "HumanMessageChunk", "chat"})


def has_messages(value: Any) -> bool:
    """Whether a channel's value is a list with messages; one of a class of its own is stored whole, without places."""
    return type(value) is list and any(isinstance(item, BaseMessage) for item in value)


def said_of(message: Any, node: str | None) -> Said | None:
    """What a list element says; None when it is not a message.

    Args:
        message: the element.
        node: the node whose task wrote it, when known.
    """
    if not isinstance(message, BaseMessage):
        return None
    calls: Sequence[Any] = getattr(message, "tool_calls", None) or ()
    role = message.type
    return Said(
        id=message.id,
        kind=Kind.of_role(role, calls=bool(calls)),
        author=author_of(role=role, name=message.name, node=node),
        text=text_of_value(message),
        by_person=role in _PERSONS,
    )


def without_item(message: BaseMessage) -> BaseMessage:
    """A message without what it carries of another framework's item; the very message where it carries none."""
    if not is_carrying(message.response_metadata):
        return message
    return message.model_copy(update={"response_metadata": {}})


def text_of_value(value: Any) -> str:
    """The searchable text of an event's payload: of a message what it says, of anything else its plain wording."""
    if isinstance(value, BaseMessage):
        return text_of(
            {
                "content": value.content,
                "tool_calls": getattr(value, "tool_calls", None),
                "invalid_tool_calls": getattr(value, "invalid_tool_calls", None),
            }
        )
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for key in ("text", "content"):
            if isinstance(value.get(key), str) and value[key]:
                return str(value[key])
        return "\n".join(f"{text_of_value(key)}: {text_of_value(part)}" for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return "\n".join(map(text_of_value, value))
    try:
        return "" if value is None else str(value)
    except Exception:  # noqa: BLE001 - the value's own code; what has no words is not found by them
        return ""
