"""Transcripts: recorded conversations in files, as LangChain messages.

Rules of this module:

* A file holds one conversation (a list of messages, or an object with one) or several (a list of such). Of several one
  is chosen by its index; none is taken silently.
* Every tool result answers a call made before it: the nearest one that is unanswered and has its id. Ids may be used
  again, as real recordings do; where a recording has no ids, the order decides and ids are made from positions.
* The whole conversation is read before anything is returned. Readers write nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, overload

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from dalsegno.errors import TranscriptError
from dalsegno.imports import langchain_messages, openai_chat
from dalsegno.imports.files import Document, load, unexpected

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Transcript", "read_transcript"]

_LISTS: Final = ("messages", "traj", "history", "conversation")
_AROUND: Final = ("values", "state")
_TIMES: Final = ("timestamp", "created_at", "created", "time", "ts", "date")
_SHAPE: Final = "chat messages (`role`, `content`), LangChain messages, or objects that hold a list of them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript(Sequence[BaseMessage]):
    """A recorded conversation; as a sequence, its messages.

    Attributes:
        source: the file, and the place in it.
        format: `openai` or `langchain`, by the first message.
        messages: oldest first.
        times: for each message when it was said, aware UTC, or None.
    """

    source: str
    format: str
    messages: tuple[BaseMessage, ...]
    times: tuple[datetime | None, ...]

    def __len__(self) -> int:
        return len(self.messages)

    @overload
    def __getitem__(self, at: int) -> BaseMessage: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[BaseMessage, ...]: ...
    def __getitem__(self, at: int | slice) -> BaseMessage | tuple[BaseMessage, ...]:
        return self.messages[at]


def read_transcript(path: str | PathLike[str], index: int | None = None) -> Transcript:
    """Read a conversation from a file.

    Args:
        path: JSON or JSON lines, see `files`. Messages may be OpenAI's or LangChain's, as a bare list or under
            `messages`, `traj`, `history` or `conversation`.
        index: which one of several, from 0; may be left out where the file holds one.

    Raises:
        TranscriptError: the file, or what is in it, is not a transcript; with file, place and what was expected.
    """
    document = load(path)
    place, raws = _conversation(document, index)
    if not raws:
        raise unexpected(document.source, place, "at least one message", raws)
    places = [document.place(at) if raws is document.value else f"{place}[{at}]" for at in range(len(raws))]
    messages = [_message(document.source, where, raw) for where, raw in zip(places, raws, strict=True)]
    _pair(document.source, places, messages)
    _refuse_repeated_ids(document.source, places, messages)
    return Transcript(
        source=f"{document.source} {place}".rstrip(),
        format="langchain" if _is_langchain(raws[0]) else "openai",
        messages=tuple(messages),
        times=tuple(map(_time, raws)),
    )


# --- which conversation -----------------------------------------------------------------------------


def _conversation(document: Document, index: int | None) -> tuple[str, list[Any]]:
    """The place and the messages of the conversation that was asked for."""
    value = document.value
    if _is_message(value):
        value = [value]
    if isinstance(value, dict):
        found = _list_in(value)
        if found is None:
            raise unexpected(document.source, "", _SHAPE, value)
        return _only(document, index, *found)
    if not isinstance(value, list) or not value:
        raise unexpected(document.source, "", _SHAPE, value)
    if _is_message(value[0]):
        return _only(document, index, "", value)
    if _list_in(value[0]) is None:
        raise unexpected(document.source, document.place(0), _SHAPE, value[0])
    at = _chosen(document, len(value), index)
    found = _list_in(value[at])
    if found is None:
        raise unexpected(document.source, document.place(at), _SHAPE, value[at])
    return document.place(at) + found[0], found[1]


def _chosen(document: Document, count: int, index: int | None) -> int:
    if index is None and count == 1:
        return 0
    if index is None or isinstance(index, bool) or not 0 <= index < count:
        instead = "" if index is None else f", not {index}"
        raise TranscriptError(
            f"{document.source}: holds {count} conversations",
            step=f"choose one by its index from 0 to {count - 1}{instead}.",
            command=f"choose one with --index from 0 to {count - 1}{instead}.",
        )
    return index


def _only(document: Document, index: int | None, place: str, found: list[Any]) -> tuple[str, list[Any]]:
    if index not in {None, 0}:
        raise TranscriptError(f"{document.source}: holds one conversation; leave the index {index} out.")
    return place, found


def _list_in(record: Any) -> tuple[str, list[Any]] | None:
    """The list of messages that a record is or holds, with its place in it."""
    if isinstance(record, list):
        return "", record
    if isinstance(record, dict):
        for key in _LISTS:
            if isinstance(record.get(key), list):
                return f".{key}", record[key]
        for key in _AROUND:
            if isinstance(record.get(key), dict) and (found := _list_in(record[key])) is not None:
                return f".{key}{found[0]}", found[1]
    return None


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and ("role" in value or _is_langchain(value))


def _is_langchain(raw: dict[str, Any]) -> bool:
    if "lc" in raw:
        return True
    kind = raw.get("type")
    return (
        isinstance(kind, str)
        and kind in langchain_messages.TYPES
        and ("role" not in raw or kind.lower().startswith("chat"))
    )


# --- messages ---------------------------------------------------------------------------------------


def _message(source: str, place: str, raw: Any) -> BaseMessage:
    def fail(below: str, expected: str, found: Any) -> TranscriptError:
        return unexpected(source, place + below, expected, found)

    if not _is_message(raw):
        raise fail("", "a message with a `role`, or with a LangChain `type`", raw)
    if _is_langchain(raw):
        return langchain_messages.message_of(raw, fail)
    times = frozenset(key for key in _TIMES if _moment(raw.get(key)) is not None)
    return openai_chat.message_of(raw, fail, times)


def _pair(source: str, places: list[str], messages: list[BaseMessage]) -> None:
    """Give each result the id and name of its call, and each call an id."""
    waiting: list[list[dict[str, Any]]] = []
    for at, message in enumerate(messages):
        if isinstance(message, AIMessage):
            calls: list[Any] = [*message.tool_calls, *message.invalid_tool_calls]
            for number, call in enumerate(calls):
                call["id"] = call.get("id") or f"call_{at}_{number}"
            waiting.append(calls)
        elif isinstance(message, ToolMessage):
            answers = partial(_answers, message)
            group = next((calls for calls in reversed(waiting) if any(map(answers, calls))), None)
            if group is None:
                found = message.tool_call_id or message.name
                raise unexpected(source, places[at], "the result of a call made before it", found)
            call = next(filter(answers, group))
            group.remove(call)
            message.tool_call_id = call["id"]
            message.name = message.name or call["name"]


def _answers(result: ToolMessage, call: dict[str, Any]) -> bool:
    if result.tool_call_id:
        return bool(call["id"] == result.tool_call_id)
    return result.name in {None, call["name"]}


def _refuse_repeated_ids(source: str, places: list[str], messages: list[BaseMessage]) -> None:
    """Two messages of one id would become one in a state, the second an edit of the first."""
    seen: dict[str, str] = {}
    for place, message in zip(places, messages, strict=True):
        if message.id is not None and seen.setdefault(message.id, place) != place:
            raise unexpected(source, f"{place}.id", f"another id than that of {seen[message.id]}", message.id)


# --- times ------------------------------------------------------------------------------------------


def _time(raw: dict[str, Any]) -> datetime | None:
    """When a message was said, where the recording tells."""
    bodies = [body for body in (raw, raw.get("kwargs"), raw.get("data")) if isinstance(body, dict)]
    inner = [body.get(key) for body in bodies for key in ("additional_kwargs", "response_metadata")]
    places = [place for place in (*bodies, *inner) if isinstance(place, dict)]
    told = (_moment(place.get(key)) for place in places for key in _TIMES)
    return next((moment for moment in told if moment is not None), None)


def _moment(value: Any) -> datetime | None:
    """A time from ISO text (without a zone: UTC) or from seconds or milliseconds since 1970; None for anything else."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return moment.replace(tzinfo=UTC) if moment.utcoffset() is None else moment.astimezone(UTC)
        if isinstance(value, (int, float)) and 1e8 < value < 1e14:  # noqa: PLR2004 - 1973 in seconds to 5138 in ms
            return datetime.fromtimestamp(value / 1000 if value >= 1e11 else value, UTC)  # noqa: PLR2004 - as above
    except (ValueError, OverflowError):
        pass
    return None
