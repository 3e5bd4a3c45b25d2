"""What a message says and who it is by, read off its fields.

Rules of this module:

* The author is the message's `name`, else the node that wrote it, else its role. An author is one line.
* The text of a message is what a person would see of it: texts, calls as `name({...})`, and the name of whatever
  is not text (`[image]`), never its bytes or its address.
* A message comes as a mapping of its fields, so that no framework is needed to read it; fields this module does not
  know are let pass, and no shape of content is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["author_of", "files_of", "text_of"]

_ROLES = {"human": "user", "ai": "assistant", "function": "tool", "developer": "system", "chat": "assistant"}
_MAX_AUTHOR = 120


def author_of(*, role: str, name: str | None = None, node: str | None = None) -> str:
    """Who a message is by: its name, else the node that wrote it, else its role.

    Args:
        role: LangChain's message type (`human`, `ai`, `tool`, ...) or OpenAI's role; `human` reads as `user`, `ai` as
            `assistant`. A streamed chunk's type (`AIMessageChunk`) reads as its message's.
        name: the message's `name`; a tool result's is its tool.
        node: the node whose task wrote it. LangGraph's own places (`__start__`, `__input__`) are no authors.

    Returns:
        One line of at most 120 characters, never empty: white space and control characters become one blank.
    """
    if node and node.startswith("__"):
        node = None
    role = role.removesuffix("MessageChunk").lower()
    return _line(name) or _line(node) or _ROLES.get(role) or _line(role) or "unknown"


def _line(text: str | None) -> str:
    """One clean line of what may be any text."""
    if not text:
        return ""
    return " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * _MAX_AUTHOR]).split())[:_MAX_AUTHOR]


_TEXT_KEYS = ("text", "refusal", "reasoning", "thinking", "summary", "content", "output")
_CALLS = frozenset(
    {"tool_use", "tool_call", "function_call", "server_tool_use", "server_tool_call", "invalid_tool_call"}
)
_OPAQUE = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "audio_url": "audio",
    "input_audio": "audio",
    "video": "video",
    "video_url": "video",
    "file": "file",
    "input_file": "file",
    "document": "file",
    "redacted_thinking": "reasoning",
}


def text_of(message: Mapping[str, Any]) -> str:
    """What a person would read of a message.

    Args:
        message: the message's fields. Looked at, where they are there: `content` (a text, None, or a list of texts
            and content blocks), `tool_calls`, `invalid_tool_calls`, `additional_kwargs["function_call"]`.

    Returns:
        The parts, one under the other: texts as they are; a block that is not text by its name, with the name of its
        file where it has one (`[image]`, `[file report.pdf]`); calls as `name({"arg": 1})` in plain JSON. No base64,
        no URL. Empty for a message without content. Fields of an unexpected shape are named, never an error.
    """
    calls = [call for key in ("tool_calls", "invalid_tool_calls") for call in _many(message.get(key))]
    extra = message.get("additional_kwargs")
    if not calls and isinstance(extra, Mapping) and isinstance(extra.get("function_call"), Mapping):
        calls = [extra["function_call"]]
    # Some providers repeat in the content, as blocks, the calls that stand in `tool_calls`.
    parts = [_block_text(block) for block in _many(message.get("content")) if not (calls and _is_call(block))]
    parts += [_call_text(call) if isinstance(call, Mapping) else _block_text(call) for call in calls]
    return "\n".join(part for part in parts if part)


def _many(value: Any) -> Sequence[Any]:
    """A value that stands alone as a list of one; None as none."""
    return value if isinstance(value, (list, tuple)) else () if value is None else (value,)


def _is_call(block: Any) -> bool:
    return isinstance(block, Mapping) and str(block.get("type")) in _CALLS


def _block_text(block: Any) -> str:
    if block is None or isinstance(block, str):
        return block or ""
    if not isinstance(block, Mapping):
        return str(block) if isinstance(block, (int, float)) else f"[{type(block).__name__}]"
    if _is_call(block):
        return _call_text(block)
    kind = str(block.get("type") or "block")
    if kind not in _OPAQUE:
        for inner in map(block.get, _TEXT_KEYS):
            if isinstance(inner, str):
                return inner
            if isinstance(inner, (list, tuple)):
                return "\n".join(filter(None, map(_block_text, inner)))
    return " ".join(("[" + _OPAQUE.get(kind, kind), *_file_name(block))) + "]"


def files_of(content: Any) -> tuple[str, ...]:
    """Names of the files in a message's content, each once; blocks without a name are none."""
    blocks = [block for block in _many(content) if isinstance(block, Mapping) and str(block.get("type")) in _OPAQUE]
    return tuple(dict.fromkeys(name for block in blocks for name in _file_name(block)))


def _file_name(block: Mapping[str, Any]) -> list[str]:
    """The name of a block's file, as a list of none or one."""
    inner = block.get("file")
    places = (block, inner) if isinstance(inner, Mapping) else (block,)
    names = (place.get(key) for place in places for key in ("filename", "file_name", "title"))
    return [_line(name) for name in names if name and isinstance(name, str)][:1]


def _call_text(call: Mapping[str, Any]) -> str:
    """A call as `name({...})`; arguments that are no JSON stand as they are."""
    function = call.get("function")
    if isinstance(function, Mapping):
        call = function
    arguments: Any = next((call[key] for key in ("args", "input", "arguments") if key in call), {})
    if not isinstance(arguments, str):
        try:
            arguments = json.dumps(arguments, ensure_ascii=False, default=str)
        except (TypeError, ValueError):  # keys that JSON has no form for
            arguments = str(arguments)
    return f"{call.get('name') or 'tool'}({arguments})"
