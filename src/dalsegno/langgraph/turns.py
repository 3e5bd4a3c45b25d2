"""Messages as compaction sees them.

Rules of this module:

* A message is a LangChain message or an OpenAI chat message; anything else is refused by its place in the list.
* What a message's fields make of it is the core's word (`core/turns.py`).
* With a journal, a message's number and author are those of the event that has its wording now. What the journal does
  not hold yet is never taken out: it could not be read again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from dalsegno.core.cuts import Turn
from dalsegno.core.journal import Event, Kind
from dalsegno.core.tokens import Count, estimate, message_tokens
from dalsegno.core.turns import turn_of_fields
from dalsegno.errors import Misuse

__all__ = ["Pending", "schema_of", "turn_of", "turn_of_event", "turns_of", "with_numbers"]

Pending = Callable[[Any], bool]
"""Tells whether a message awaits an approval or an answer from outside."""

_SAID = frozenset({Kind.MESSAGE, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.EDIT})


def turns_of(messages: Sequence[Any], count: Count = estimate, pending: Pending | None = None) -> tuple[Turn, ...]:
    """The turns of a message list, in order, without numbers.

    Raises:
        Misuse: an element is no message, or is itself an instruction to remove one.
    """
    return tuple(turn_of(message, f"messages[{at}]", count, pending) for at, message in enumerate(messages))


def turn_of(message: Any, place: str = "message", count: Count = estimate, pending: Pending | None = None) -> Turn:
    """One message as a turn.

    Args:
        message: a LangChain message, or a mapping with `role` and `content`.
        place: where it stands, for the error.
        count: tokens of a text.
        pending: tells whether it awaits an approval.

    Raises:
        Misuse: it is no message.
    """
    fields = _fields(message, place)
    return turn_of_fields(fields, count, pending=pending is not None and bool(pending(message)))


def _fields(message: Any, place: str) -> dict[str, Any]:
    if isinstance(message, BaseMessage):
        names = ("content", "tool_calls", "invalid_tool_calls", "additional_kwargs", "name", "id", "tool_call_id")
        role = getattr(message, "role", None) if message.type == "chat" else None
        if message.type != "remove":
            return {"role": role or message.type} | {name: getattr(message, name, None) for name in names}
    elif isinstance(message, Mapping) and isinstance(message.get("role"), str):
        return dict(message)
    raise Misuse(
        f"{place} is no message but {type(message).__name__}; give LangChain messages, or mappings with role and "
        "content."
    )


def schema_of(tool: Any) -> Any:
    """What a provider is told of a tool."""
    try:
        return convert_to_openai_tool(tool)
    except Exception:  # noqa: BLE001 - a tool of another kind counts by its readable form
        return str(tool)


# --- numbers from the journal -----------------------------------------------------------------------


def with_numbers(turns: Sequence[Turn], events: Iterable[Event]) -> tuple[Turn, ...]:
    """The turns under the numbers and authors of their events.

    Args:
        turns: a message list.
        events: the lineage's events, oldest first.

    Returns:
        The turns in order. One that no event tells of is marked as pending, so that it stays.
    """
    by_id: dict[str, Event] = {}
    nameless: defaultdict[tuple[str, str], deque[Event]] = defaultdict(deque)
    for event in events:
        if event.kind not in _SAID or not isinstance(event.payload, BaseMessage):
            continue
        if event.payload.id is not None:
            by_id[event.payload.id] = event
        else:
            turn = turn_of(event.payload)
            nameless[turn.role, turn.text].append(event)
    found: list[Turn] = []
    for turn in turns:
        waiting = nameless[turn.role, turn.text] if turn.id is None else deque()
        event_of = by_id.get(turn.id) if turn.id is not None else waiting.popleft() if waiting else None
        known = event_of is not None and turn_of(event_of.payload).text == turn.text
        found.append(
            replace(turn, number=event_of.seq, author=event_of.author)
            if event_of is not None and known
            else replace(turn, pending=True)
        )
    return tuple(found)


def turn_of_event(event: Event, count: Count = estimate) -> Turn:
    """An event of the journal as a turn: its message, or what was written directly."""
    if isinstance(event.payload, BaseMessage) and event.payload.type != "remove":
        return replace(turn_of(event.payload, count=count), number=event.seq, author=event.author)
    return Turn(
        role=str(event.kind),
        text=event.text,
        author=event.author,
        number=event.seq,
        tokens=message_tokens(event.text, count),
    )
