"""A stored JSON tree as a person reads it.

Rules of this module:

* Pure, and nothing is decoded: a class of another program is shown by its name and its fields.
* Notes that only the codec needs (the order of keys, which fields were set) are not shown; the order is kept.
* What is shown is for eyes. Programs take `--json`, which gives trees.
"""

from __future__ import annotations

import json
from typing import Any, Final

from dalsegno.core.items import is_message
from dalsegno.core.messages import author_of, text_of
from dalsegno.core.tree import read_order

__all__ = ["NOTES", "WRAPPERS", "readable", "without_notes"]

NOTES: Final = frozenset({"$keys", "$unset", "$given", "$absent"})
"""Keys that say how a value was written down, not what it is."""

WRAPPERS: Final = frozenset({"$tuple", "$set", "$frozenset", "$deque", "$map", "$value"})
"""Keys that say of what kind the collection or value below them is."""

_PLAIN: Final = frozenset(
    {"$str", "$int", "$float", "$decimal", "$uuid", "$datetime", "$date", "$time", "$path", "$purepath", "$zone", "$ip"}
)
_BRACKETS: Final = {"$tuple": "()", "$set": "{}", "$frozenset": "{}"}


def readable(value: Any) -> str:
    """A message as `user: text`, anything else close to JSON: `{"due": 2026-11-30, "by": Ticket(number=7)}`."""
    if is_message(value) and isinstance(value["$m"], str):
        return f"{author_of(role=value['$m'], name=value.get('name'))}: {text_of(value)}"
    return _inner(value)


def _inner(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_inner, value))}]"
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if is_message(value) and isinstance(value["$m"], str):
        return json.dumps(readable(value), ensure_ascii=False)
    tag = next((key for key in value if key.startswith("$") and key not in NOTES), None)
    return _object(value) if tag is None else _tagged(tag, value)


def _object(value: dict[str, Any]) -> str:
    pairs = ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {_inner(value[key])}" for key in _keys(value))
    return f"{{{pairs}}}"


def without_notes(value: Any) -> Any:
    """A tree without the codec's notes, its keys in the order they were given in."""
    if isinstance(value, list):
        return list(map(without_notes, value))
    return {key: without_notes(value[key]) for key in _keys(value)} if isinstance(value, dict) else value


def _keys(value: dict[str, Any]) -> list[str]:
    """The keys that are not notes, in the order they were given in; as they stand where the note on it is broken."""
    keys = [key for key in value if key not in NOTES]
    return read_order(value.get("$keys"), keys) or keys


def _tagged(tag: str, value: dict[str, Any]) -> str:
    body = value[tag]
    fields = {key: each for key, each in value.items() if key != tag and key not in NOTES}
    if tag == "$type" and isinstance(body, str):
        own = [_inner(fields.pop("$value"))] if "$value" in fields else []
        return f"{_name(body)}({', '.join([*own, *_arguments(fields)])})"
    if tag == "$enum" and isinstance(body, str):
        return (
            f"{_name(body)}.{value['member']}" if "member" in value else f"{_name(body)}({_inner(fields.get('value'))})"
        )
    if tag == "$class" and isinstance(body, str):
        return _name(body)
    if tag in _PLAIN and isinstance(body, str):
        return body
    if tag in _BRACKETS and isinstance(body, list):
        start, end = _BRACKETS[tag][0], _BRACKETS[tag][1]
        return f"{start}{', '.join(map(_inner, body))}{end}"
    if tag == "$map" and isinstance(body, list) and all(isinstance(pair, list) for pair in body):
        return f"{{{', '.join(': '.join(map(_inner, pair)) for pair in body)}}}"
    return f"{tag.removeprefix('$')}({', '.join([_inner(body), *_arguments(fields)])})"


def _name(stored: str) -> str:
    return stored.rpartition(":")[2] or stored


def _arguments(fields: dict[str, Any]) -> list[str]:
    return [f"{key.removeprefix('$')}={_inner(each)}" for key, each in fields.items()]
