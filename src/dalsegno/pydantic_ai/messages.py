"""Pydantic AI's messages in the journal's words, and back.

Rules of this module:

* What is stored is what the framework's own adapter makes of a message, in Python's types, so that bytes, times and
  tuples stay what they are. It is read once before it is written: what could not be read again is refused now, and
  what is stored is what will be loaded.
* A request is an event for each of its prompts and tool results; further parts of it travel with the event before them.
  A response is one event: its text and its calls.
* What the framework, and nobody in the conversation, said (feedback about an answer, a summary, a response of thinking
  alone) is a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import ValidationError
from pydantic_ai.messages import (
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SpeechPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_core import PydanticSerializationError

from dalsegno.errors import Misuse, StateShapeError
from dalsegno.faces.histories import Share, calling

__all__ = ["messages_of", "shares_of"]


def shares_of(messages: Sequence[ModelMessage]) -> list[list[Share]]:
    """Messages as they go into the journal.

    Raises:
        Misuse: these are no messages of Pydantic AI, or such as it could not read again.
    """
    try:
        given = ModelMessagesTypeAdapter.dump_python(list(messages), warnings="error")
        read = ModelMessagesTypeAdapter.validate_python(given)
    except (ValueError, TypeError) as error:
        raise Misuse(f"messages: Pydantic AI cannot write and read them again: {_first_line(error)}.") from error
    kept = ModelMessagesTypeAdapter.dump_python(read)
    return [_shares(message, value) for message, value in zip(read, kept, strict=True)]


def messages_of(items: Sequence[Sequence[Any]]) -> list[ModelMessage]:
    """The messages of stored items.

    Raises:
        StateShapeError: this version of Pydantic AI cannot read one.
    """
    whole = [{**first, "parts": [*first["parts"], *(part for more in rest for part in more)]} for first, *rest in items]
    try:
        return ModelMessagesTypeAdapter.validate_python(whole)
    except ValidationError as error:
        raise StateShapeError(
            "messages",
            f"this Pydantic AI cannot read a stored message ({_first_line(error)}); use the version that wrote it.",
        ) from error


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")


def _shares(message: ModelMessage, value: dict[str, Any]) -> list[Share]:
    told: BaseMessage
    if isinstance(message, ModelResponse):
        told, note = _answer(message)
        return [Share(message=told, value=value, note=note)]
    shares: list[Share] = []
    waiting: list[Any] = []
    for part, kept in zip(message.parts, value["parts"], strict=True):
        waiting.append(kept)
        found = _asked(part)
        if found is None:
            continue
        told, note = found
        shares.append(Share(message=told, value=waiting if shares else {**value, "parts": waiting}, note=note))
        waiting = []
    if waiting or not shares:
        if shares:
            waiting = [*_parts_of(shares[-1].value), *waiting]
            last = shares.pop()
            told, note = last.message, last.note
        else:
            told, note = AIMessage(content=_request_text(message)), True
        shares.append(Share(message=told, value=waiting if shares else {**value, "parts": waiting}, note=note))
    return shares


def _parts_of(value: Any) -> list[Any]:
    return list(value["parts"]) if isinstance(value, dict) else list(value)


def _request_text(message: ModelRequest) -> str:
    return f"request: {', '.join(part.part_kind for part in message.parts) or 'without parts'}"


def _asked(part: Any) -> tuple[BaseMessage, bool] | None:
    """The event of a request's part, and whether it is a note; None for what goes with the part before."""
    if isinstance(part, SystemPromptPart):
        return SystemMessage(content=part.content), False
    if isinstance(part, UserPromptPart):
        return HumanMessage(content=_prompt(part.content)), False
    if isinstance(part, SpeechPart):
        return HumanMessage(content=part.transcript or "[audio]"), False
    if isinstance(part, ToolReturnPart):
        told = ToolMessage(
            content=_result(part),
            tool_call_id=part.tool_call_id,
            name=part.tool_name,
            status="success" if part.outcome == "success" else "error",
        )
        return told, False
    if callable(describe := getattr(part, "model_response", None)):
        return AIMessage(content=str(describe())), True
    text = getattr(part, "content", None)
    return (AIMessage(content=text), True) if isinstance(text, str) and text else None


def _result(part: ToolReturnPart) -> str:
    try:
        text = part.model_response_str()
    except PydanticSerializationError:
        return ""  # a value that cannot be stored either, which is said with its place
    media = getattr(part.content, "media_type", None)
    return f"[{media}]" if not text and media else text


def _prompt(content: str | Sequence[Any]) -> str | list[str | dict[Any, Any]]:
    if isinstance(content, str):
        return content
    blocks: list[str | dict[Any, Any]] = list(_blocks(content))
    texts = [block["text"] for block in blocks if isinstance(block, dict) and block["type"] == "text"]
    return "\n".join(texts) if len(texts) == len(blocks) else blocks


def _blocks(content: Sequence[Any]) -> Iterator[dict[Any, Any]]:
    for piece in content:
        if isinstance(piece, (str, TextContent)):
            yield {"type": "text", "text": piece if isinstance(piece, str) else piece.content}
        elif isinstance(piece, ImageUrl):
            yield {"type": "image_url", "image_url": {"url": piece.url}}
        elif (url := getattr(piece, "url", None)) is not None:
            yield {"type": "text", "text": f"[{piece.kind}: {url}]"}
        elif (media := getattr(piece, "media_type", None)) is not None:
            yield {"type": "text", "text": f"[{media}]"}


def _answer(message: ModelResponse) -> tuple[AIMessage, bool]:
    """A response as a message, and whether it is a note."""
    texts: list[str] = []
    calls: list[dict[str, Any]] = []
    invalid: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            texts.append(part.content)
        elif isinstance(part, SpeechPart):
            texts.append(part.transcript or "[audio]")
        elif isinstance(part, FilePart):
            texts.append(f"[{part.content.media_type}]")
        elif isinstance(part, ToolCallPart):
            arguments = part.args if part.args is not None else {}
            found = calling(part.tool_name, arguments, part.tool_call_id)
            calls += found["tool_calls"]
            invalid += found["invalid_tool_calls"]
    text = "\n".join(filter(None, texts))
    if text or calls or invalid:
        return AIMessage(content=text, tool_calls=calls, invalid_tool_calls=invalid), False
    thought = "\n".join(part.content for part in message.parts if isinstance(part, ThinkingPart))
    return AIMessage(content=thought or "response: " + ", ".join(part.part_kind for part in message.parts)), True
