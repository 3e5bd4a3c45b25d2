"""OpenAI chat messages as LangChain messages.

Rules of this module:

* Nothing is lost: content blocks stay as they are, arguments that are no JSON object stay text in an invalid call, and
  fields this module does not know go to `additional_kwargs`.
* The legacy `function_call` and `function` results become tool calls and tool results.
* An id that is not there is left empty (`None` in a call, `""` in a result); pairing fills it in.
* Roles this module does not know are refused: a wrong speaker is worse than no import.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

if TYPE_CHECKING:
    from collections.abc import Callable

    from dalsegno.errors import TranscriptError

    Fail = Callable[[str, str, Any], TranscriptError]

__all__ = ["message_of"]

_ROLES: Final = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}
_KNOWN: Final = {
    "role",
    "content",
    "name",
    "id",
    "tool_calls",
    "function_call",
    "tool_call_id",
    "tool_call_ids",
    "refusal",
}


def message_of(raw: dict[str, Any], fail: Fail, times: frozenset[str] = frozenset()) -> BaseMessage:
    """One message.

    Args:
        raw: the object with `role` and `content`.
        fail: makes the error for a place below the message, what was expected there, and what was found.
        times: fields that the caller reads as the message's time.

    Raises:
        TranscriptError: as made by `fail`.
    """
    role = raw.get("role")
    kind = _ROLES.get(role) if isinstance(role, str) else None
    if kind is None:
        raise fail(".role", f"one of {', '.join(_ROLES)}", role)
    extra = {key: value for key, value in raw.items() if key not in _KNOWN and key not in times}
    if role == "developer":
        extra["__openai_role__"] = "developer"
    fields: dict[str, Any] = {
        "content": _content(raw, fail),
        "name": _text(raw, "name", fail),
        "id": _text(raw, "id", fail),
        "additional_kwargs": extra,
    }
    if kind == "user":
        return HumanMessage(**fields)
    if kind == "system":
        return SystemMessage(**fields)
    if kind == "tool":
        return ToolMessage(**fields, tool_call_id=_call_id(raw, fail))
    calls = [_call(call, f".tool_calls[{at}]", fail) for at, call in enumerate(_list(raw, "tool_calls", fail))]
    legacy = raw.get("function_call")
    if not calls and legacy is not None:
        calls = [_call({"function": legacy}, ".function_call", fail)]
    return AIMessage(
        **fields,
        tool_calls=[call for call in calls if call["type"] == "tool_call"],
        invalid_tool_calls=[call for call in calls if call["type"] == "invalid_tool_call"],
    )


def _content(raw: dict[str, Any], fail: Fail) -> str | list[Any]:
    content = raw.get("content")
    if content is None:
        refusal = raw.get("refusal")
        return [{"type": "refusal", "refusal": refusal}] if isinstance(refusal, str) and refusal else ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise fail(".content", "text, null, or a list of content blocks", content)
    for at, block in enumerate(content):
        if not isinstance(block, (str, dict)):
            raise fail(f".content[{at}]", "text or a content block", block)
    return content


def _text(raw: dict[str, Any], key: str, fail: Fail) -> str | None:
    value = raw.get(key)
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise fail(f".{key}", "text", value)


def _list(raw: dict[str, Any], key: str, fail: Fail) -> list[Any]:
    value = raw.get(key)
    if value is None or isinstance(value, list):
        return value or []
    raise fail(f".{key}", "a list", value)


def _call_id(raw: dict[str, Any], fail: Fail) -> str:
    several = _list(raw, "tool_call_ids", fail)
    if raw.get("tool_call_id") is None and len(several) == 1:
        return _text({"tool_call_ids": several[0]}, "tool_call_ids", fail) or ""
    return _text(raw, "tool_call_id", fail) or ""


def _call(raw: Any, place: str, fail: Fail) -> dict[str, Any]:
    """A tool call, or an invalid one when its arguments are no JSON object."""
    function = raw.get("function", raw) if isinstance(raw, dict) else None
    if not isinstance(function, dict):
        raise fail(place, "a call with a function", raw)
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise fail(f"{place}.function.name", "the name of a function", name)
    call: dict[str, Any] = {"name": name, "id": _text(raw, "id", lambda at, *rest: fail(place + at, *rest))}
    arguments = function.get("arguments", function.get("args"))
    if arguments is None or arguments == "":
        arguments = {}
    if isinstance(arguments, str):
        try:
            parsed = json.loads(arguments)
        except (ValueError, RecursionError) as error:
            return {**call, "args": arguments, "error": f"arguments are not JSON: {error}", "type": "invalid_tool_call"}
        if not isinstance(parsed, dict):
            return {**call, "args": arguments, "error": "arguments are no JSON object", "type": "invalid_tool_call"}
        arguments = parsed
    if not isinstance(arguments, dict):
        raise fail(f"{place}.function.arguments", "a JSON object, or one as text", arguments)
    return {**call, "args": arguments, "type": "tool_call"}
