"""Reading and changing one field of a value, whatever holds it.

Rules of this module:

* A holder of fields is a mapping, a dataclass or a pydantic model, to be read also any other object that keeps
  attributes, and a named tuple. A holder of elements is a list, tuple or deque, a mapping by its values, and to be
  read also a set.
* Nothing is changed in place. A change gives a shallow copy of the holder, or the holder itself where there is
  nothing to change, so that unchanged parts stay the same objects.
* An object has the fields its class declares. What an older form of the class left on it besides (an attribute that is
  no longer declared) can be moved into a declared field or taken away; a declared field is never taken away.
* No class code runs: no `__init__`, no validator, no property.
"""

from __future__ import annotations

import copy
import dataclasses
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel

__all__ = ["MISSING", "drop", "each", "elements", "fresh", "get", "put", "rename"]

MISSING: Final = object()
"""What `get` answers where there is no such field."""


def fresh(value: Any) -> Any:
    """A value to be put into a holder, which shares nothing with the one given."""
    return copy.deepcopy(value)


def get(holder: Any, name: str) -> Any:
    """The value of a field, or `MISSING`."""
    if isinstance(holder, Mapping):
        return holder.get(name, MISSING)
    for place in _places(holder):
        if name in place:
            return place[name]
    return getattr(holder, name, MISSING) if name in _declared(holder) else MISSING


def put(holder: Any, name: str, value: Any) -> Any:
    """The holder with a field set; an object whose class declares no such field stays as it is."""
    if isinstance(holder, dict):
        return _with(holder, {name: value})
    if not _is_object(holder) or (name not in _declared(holder) and get(holder, name) is MISSING):
        return holder
    made = copy.copy(holder)
    place = next((place for place in _places(made) if name in place), None)
    if place is not None:
        place[name] = value
        return made
    object.__setattr__(made, name, value)
    return _marked(made, name)


def drop(holder: Any, name: str) -> Any:
    """The holder without a field; an object keeps what its class declares."""
    if get(holder, name) is MISSING:
        return holder
    if isinstance(holder, dict):
        rest = copy.copy(holder)
        del rest[name]
        return rest
    if not _is_object(holder) or name in _declared(holder):
        return holder
    made = copy.copy(holder)
    for place in _places(made):
        place.pop(name, None)
    if isinstance(made, BaseModel):
        made.__pydantic_fields_set__.discard(name)
    return made


def rename(holder: Any, name: str, to: str) -> Any:
    """The holder with a field under another name, at the same place in a mapping's order.

    In a mapping that has both, both stay. In an object, what is left of an undeclared field replaces the declared one,
    which can only hold its default.
    """
    value = get(holder, name)
    if value is MISSING:
        return holder
    if isinstance(holder, dict):
        if to in holder:
            return holder
        fresh = copy.copy(holder)
        fresh.clear()
        fresh.update((to if key == name else key, inner) for key, inner in holder.items())
        return fresh
    if not _is_object(holder) or name in _declared(holder) or to not in _declared(holder):
        return holder
    return _marked(put(drop(holder, name), to, value), to)


def each(holder: Any, change: Callable[[Any], Any]) -> Any:
    """The holder with every element changed; the holder itself when no element became another object."""
    if isinstance(holder, dict):
        changed = {key: made for key, inner in holder.items() if (made := change(inner)) is not inner}
        return _with(holder, changed) if changed else holder
    if not isinstance(holder, (list, tuple, deque)) or hasattr(holder, "_fields"):
        return holder
    made = [change(inner) for inner in holder]
    if all(a is b for a, b in zip(made, holder, strict=True)):
        return holder
    if isinstance(holder, tuple):
        return tuple(made)
    fresh = copy.copy(holder)
    fresh.clear()
    fresh.extend(made)
    return fresh


def elements(holder: Any) -> Iterator[tuple[str, Any]] | None:
    """Each element with its place as it is written in paths (`[3]`, `['key']`); None for what holds no elements."""
    if isinstance(holder, Mapping):
        return ((f"[{key!r}]", inner) for key, inner in holder.items())
    if isinstance(holder, (list, tuple, deque, set, frozenset)):
        return ((f"[{at}]", inner) for at, inner in enumerate(holder))
    return None


def _with(holder: dict[Any, Any], fields: dict[Any, Any]) -> dict[Any, Any]:
    made = copy.copy(holder)
    made.update(fields)
    return made


def _marked(made: Any, name: str) -> Any:
    """A copy made here, with a note that the field was set, where its class keeps such notes."""
    if isinstance(made, BaseModel):
        made.__pydantic_fields_set__.add(name)
    return made


def _is_object(holder: Any) -> bool:
    return (dataclasses.is_dataclass(holder) or isinstance(holder, BaseModel)) and not isinstance(holder, type)


def _declared(holder: Any) -> Collection[str]:
    """The fields that an object's class declares."""
    cls: Any = type(holder)
    names: Collection[str]
    if isinstance(holder, BaseModel):
        names = cls.model_fields
    else:
        names = getattr(cls, "_fields" if isinstance(holder, tuple) else "__dataclass_fields__", ())
    return names


def _places(holder: Any) -> list[dict[str, Any]]:
    """The dictionaries in which an object keeps its attributes; a slotted one has none."""
    places = (getattr(holder, "__dict__", None), getattr(holder, "__pydantic_extra__", None))
    return [place for place in places if place is not None]
