"""LangChain messages out of JSON: what `dumpd`, `messages_to_dict` and `model_dump` write.

Rules of this module:

* The classes are the ones in a table here. A name in the data is a key into that table and nothing else: nothing is
  imported, and an object inside a message stays the plain data it is.
* A chunk becomes the message it was streaming towards.
* A `RemoveMessage` is an instruction to a reducer, not something that was said, and is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    BaseMessageChunk,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
    message_chunk_to_message,
)
from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dalsegno.errors import TranscriptError

    Fail = Callable[[str, str, Any], TranscriptError]

__all__ = ["CLASSES", "TYPES", "message_of"]

CLASSES: Final[dict[str, type[BaseMessage]]] = {
    cls.__name__: cls
    for cls in (
        AIMessage,
        AIMessageChunk,
        ChatMessage,
        ChatMessageChunk,
        FunctionMessage,
        FunctionMessageChunk,
        HumanMessage,
        HumanMessageChunk,
        SystemMessage,
        SystemMessageChunk,
        ToolMessage,
        ToolMessageChunk,
    )
}
"""By the name that `dumpd` writes."""

TYPES: Final[dict[str, type[BaseMessage]]] = {str(cls.model_fields["type"].default): cls for cls in CLASSES.values()}
"""By a message's `type`: `human`, `ai`, `AIMessageChunk`, ..."""


def message_of(raw: dict[str, Any], fail: Fail) -> BaseMessage:
    """One message.

    Args:
        raw: `{"lc": 1, "id": [..., "HumanMessage"], "kwargs": {...}}`, `{"type": "human", "data": {...}}`, or
            `{"type": "human", "content": ...}`.
        fail: makes the error for a place below the message, what was expected there, and what was found.

    Raises:
        TranscriptError: as made by `fail`.
    """
    if "lc" in raw:
        cls, fields, inner = _constructor(raw, fail)
    else:
        inner = ".data" if isinstance(raw.get("data"), dict) and "content" not in raw else ""
        kind = raw.get("type")
        if not isinstance(kind, str) or kind not in TYPES:
            raise fail(".type", f"one of {', '.join(TYPES)}", kind)
        cls, fields = TYPES[kind], dict(raw["data"] if inner else raw)
    fields.pop("type", None)
    if fields.get("content") is None:
        fields["content"] = ""
    try:
        message = cls(**fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        raise fail(inner + place, f"a field of {cls.__name__} ({first['msg']})", first["input"]) from error
    except (
        TypeError,
        ValueError,
        LookupError,
        AttributeError,
    ) as error:  # from a validator
        raise fail(inner, f"the fields of {cls.__name__} ({error!r})", fields) from error
    return message_chunk_to_message(message) if isinstance(message, BaseMessageChunk) else message


def _constructor(raw: dict[str, Any], fail: Fail) -> tuple[type[BaseMessage], dict[str, Any], str]:
    path, fields = raw.get("id"), raw.get("kwargs")
    names = path if isinstance(path, list) and all(isinstance(part, str) for part in path) else []
    cls = CLASSES.get(names[-1]) if names and names[0].startswith("langchain") else None
    if cls is None:
        raise fail(".id", f"the path of one of {', '.join(CLASSES)}", path)
    if not isinstance(fields, dict):
        raise fail(".kwargs", "the fields of a message", fields)
    return cls, {key: _unescaped(value) for key, value in fields.items()}, ".kwargs"


def _unescaped(value: Any) -> Any:
    """Data as it was before `dumpd` wrapped what looks like its own objects."""
    if isinstance(value, list):
        return [_unescaped(inner) for inner in value]
    if isinstance(value, dict):
        if value.keys() == {"__lc_escaped__"}:
            return value["__lc_escaped__"]
        return {key: _unescaped(inner) for key, inner in value.items()}
    return value
