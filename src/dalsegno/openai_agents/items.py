"""Items of the OpenAI Agents SDK in the journal's words.

Rules of this module:

* An item is one event. What it is to the SDK travels with it unread; what is made of it here is for people, search,
  card and other models. So no shape of item is an error, and kinds that do not exist yet are kept like any other.
* Messages are messages, a call that the program answers is a call, its answer the tool's. Everything else (reasoning,
  the provider's own tools, references) is a note.
* Roles other than the provider's decide nothing: an item of an unknown role is a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from dalsegno.errors import Misuse
from dalsegno.faces.histories import Share, calling

__all__ = ["shares_of"]

_ROLES: Final[Mapping[str, type[BaseMessage]]] = {
    "user": HumanMessage,
    "assistant": AIMessage,
    "system": SystemMessage,
    "developer": SystemMessage,
}
_TEXTS = frozenset({"text", "input_text", "output_text", "summary_text", "reasoning_text"})
_UNTOLD = frozenset({"type", "id", "call_id", "status", "role", "encrypted_content", "result", "phase"})
"""Fields that say nothing to a reader: names, states, sealed and binary content."""


def shares_of(items: Sequence[Any]) -> list[list[Share]]:
    """Items as they go into the journal.

    Raises:
        Misuse: one is no mapping.
    """
    wrong = next(((at, item) for at, item in enumerate(items) if not isinstance(item, dict)), None)
    if wrong is not None:
        raise Misuse(f"items[{wrong[0]}] is {type(wrong[1]).__name__}; give items as the SDK has them, as dicts.")
    tools = {item["call_id"]: _name(item) for item in items if isinstance(item.get("call_id"), str) and _is_call(item)}
    return [[_share(item, tools)] for item in items]


def _share(item: Mapping[str, Any], tools: Mapping[str, str]) -> Share:
    kind = item.get("type")
    call_id = item.get("call_id")
    message: BaseMessage
    if kind in (None, "message") and (role := _ROLES.get(str(item.get("role")))) is not None:
        message = role(content=_content(item.get("content")))
    elif isinstance(kind, str) and kind.endswith("_output") and isinstance(call_id, str):
        content = _content(item.get("output"))
        message = ToolMessage(content=content, tool_call_id=call_id, name=tools.get(call_id))
    elif _is_call(item) and isinstance(call_id, str):
        message = _call(item, call_id)
    else:
        return Share(message=AIMessage(content=_readable(item)), value=item, note=True)
    return Share(message=message, value=item)


def _is_call(item: Mapping[str, Any]) -> bool:
    kind = item.get("type")
    return isinstance(kind, str) and kind.endswith("_call")


def _name(item: Mapping[str, Any]) -> str:
    name = item.get("name")
    return name if isinstance(name, str) and name else str(item.get("type")).removesuffix("_call")


def _call(item: Mapping[str, Any], call_id: str) -> AIMessage:
    given = item.get("arguments", item.get("input"))
    if not isinstance(given, str):
        given = {key: value for key, value in item.items() if key not in _UNTOLD | {"name"}}
    fields: dict[str, Any] = calling(_name(item), given, call_id)
    return AIMessage(content="", **fields)


def _content(raw: Any) -> str | list[str | dict[Any, Any]]:
    """Content in LangChain's blocks; text alone as text."""
    if not isinstance(raw, list):
        return raw if isinstance(raw, str) else "" if raw is None else _readable(raw)
    blocks: list[str | dict[Any, Any]] = [_block(block) for block in raw]
    if len(blocks) == 1 and isinstance(blocks[0], dict) and blocks[0].keys() == {"type", "text"}:
        return str(blocks[0]["text"])
    return blocks


def _block(block: Any) -> dict[Any, Any]:
    if not isinstance(block, dict):
        return {"type": "text", "text": str(block)}
    if block.get("type") in _TEXTS and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    if isinstance(block.get("refusal"), str):
        return {"type": "text", "text": block["refusal"]}
    if block.get("type") == "input_image" and isinstance(block.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": block["image_url"]}}
    return dict(block)


def _readable(value: Any) -> str:
    """What a reader would see of anything."""
    kind = value.get("type") if isinstance(value, dict) else None
    text = "\n".join(_texts(value))
    return f"{kind}: {text}" if isinstance(kind, str) and text else text or str(kind or "")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            if key not in _UNTOLD:
                yield from _texts(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _texts(part)
    elif value is not None:
        yield str(value)
