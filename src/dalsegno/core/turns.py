"""A message's fields as a turn, whatever framework the fields came from.

Rules of this module:

* Calls are known by their ids, malformed ones too: a tool message may answer them. A user message that carries tool
  results as content blocks answers their calls.
* No shape of content is an error; what is no message is, with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dalsegno.core.cuts import Turn
from dalsegno.core.messages import author_of, text_of
from dalsegno.core.tokens import Count, estimate, message_tokens
from dalsegno.errors import Misuse

__all__ = ["read_mapping", "turn_of_fields"]

_ROLES = {"human": "user", "ai": "assistant", "function": "tool", "developer": "system", "chat": "assistant"}
_CALL_NOTHING = frozenset({"user", "tool", "system"})
"""Roles in whose messages a `tool_use` block is material that someone put there."""


def turn_of_fields(fields: Mapping[str, Any], count: Count = estimate, *, pending: bool = False) -> Turn:
    """A turn without a number.

    Args:
        fields: `role`, and as far as there are any `content`, `tool_calls`, `invalid_tool_calls`, `tool_call_id`,
            `name` and `id`.
        count: tokens of a text.
        pending: whether it awaits an approval.
    """
    role = str(fields["role"]).removesuffix("MessageChunk").lower()
    answers = [fields.get("tool_call_id"), *(block.get("tool_use_id") for block in _blocks(fields, "tool_result"))]
    calls = [
        call.get("id")
        for key in ("tool_calls", "invalid_tool_calls")
        for call in fields.get(key) or ()
        if isinstance(call, Mapping)
    ]
    if not calls and _ROLES.get(role, role) not in _CALL_NOTHING:
        calls = [block.get("id") for block in _blocks(fields, "tool_use")]
    name = fields.get("name")
    return Turn(
        role=_ROLES.get(role, role),
        text=text_of(fields),
        id=fields.get("id") if isinstance(fields.get("id"), str) else None,
        calls=_ids(calls),
        answers=_ids(answers),
        author=author_of(role=role, name=name if isinstance(name, str) else None),
        tokens=message_tokens(fields, count),
        pending=pending,
    )


def read_mapping(message: Any, place: str, count: Count) -> Turn:
    """An OpenAI chat message as a turn.

    Raises:
        Misuse: it is no mapping with a role.
    """
    if isinstance(message, Mapping) and isinstance(message.get("role"), str):
        return turn_of_fields(message, count)
    raise Misuse(f"{place} is no message but {type(message).__name__}; give mappings with role and content.")


def _blocks(fields: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    content = fields.get("content")
    parts = content if isinstance(content, (list, tuple)) else ()
    return [part for part in parts if isinstance(part, Mapping) and part.get("type") == kind]


def _ids(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if isinstance(value, str) and value))
