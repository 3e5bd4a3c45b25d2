"""What differs between two states, path by path.

Rules of this module:

* Pure: two JSON trees in, changes out, in the order of the first tree.
* A list is compared as a sequence, so that one message put in at the front is one addition and not a change of every
  place after it. Messages are lined up by what they say, not by their ids, which every run gives anew. Where as many
  elements went as came, they are compared one by one.
* The codec's notes (the order of keys, which fields were set) make no difference, and a path does not name the wrapping
  of a tuple or a set.
* A path reads like Python: `messages[3].content`, `plan["due date"]`. Positions are those of the tree in which the
  value stands: of the first for what was removed or changed, of the second for what was added.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final, Literal

from dalsegno.cli.legible import NOTES, WRAPPERS
from dalsegno.core.items import is_message

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Change", "difference", "joined"]

_NAME: Final = re.compile(r"\$?[^\W\d]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One place where two trees differ.

    Attributes:
        kind: `added`, `removed`, `changed`, or `id` where a message has another id.
        path: where.
        before: what stood there; None for an addition.
        after: what stands there; None for a removal.
    """

    kind: Literal["added", "removed", "changed", "id"]
    path: str
    before: Any = None
    after: Any = None


def difference(before: Any, after: Any, path: str = "") -> Iterator[Change]:
    """Compare two JSON trees.

    Args:
        before: the first tree.
        after: the second.
        path: where both stand; empty for a whole state.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _objects(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(before, after, path)
    elif _token(before) != _token(after):
        yield Change(kind="changed", path=path, before=before, after=after)


def joined(path: str, key: str | int) -> str:
    """The path of a key or a place below `path`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _NAME.fullmatch(key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def _objects(before: dict[str, Any], after: dict[str, Any], path: str) -> Iterator[Change]:
    messages = is_message(before) and is_message(after)
    for key, value in before.items():
        if key in NOTES:
            continue
        if messages and key == "id" and isinstance(after.get("id"), str) and value != after["id"]:
            yield Change(kind="id", path=joined(path, key), before=value, after=after["id"])
        elif key in after:
            yield from difference(value, after[key], path if key in WRAPPERS else joined(path, key))
        else:
            yield Change(kind="removed", path=joined(path, key), before=value)
    for key, value in after.items():
        if key not in before and key not in NOTES:
            yield Change(kind="added", path=joined(path, key), after=value)


def _lists(before: list[Any], after: list[Any], path: str) -> Iterator[Change]:
    sayings = [_token(_without_id(value)) for value in before], [_token(_without_id(value)) for value in after]
    for _, start, end, new_start, new_end in SequenceMatcher(None, *sayings, autojunk=False).get_opcodes():
        if end - start == new_end - new_start:
            for place, new_place in zip(range(start, end), range(new_start, new_end), strict=True):
                yield from difference(before[place], after[new_place], joined(path, place))
            continue
        for place in range(start, end):
            yield Change(kind="removed", path=joined(path, place), before=before[place])
        for place in range(new_start, new_end):
            yield Change(kind="added", path=joined(path, place), after=after[place])


def _without_id(value: Any) -> Any:
    return {key: each for key, each in value.items() if key != "id"} if is_message(value) else value


def _token(value: Any) -> str:
    """Equal for equal trees, and different for `1`, `1.0` and `true`, which Python takes for equal."""
    return json.dumps(_without_notes(value), sort_keys=True)


def _without_notes(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_notes(each) for key, each in value.items() if key not in NOTES}
    return list(map(_without_notes, value)) if isinstance(value, list) else value
