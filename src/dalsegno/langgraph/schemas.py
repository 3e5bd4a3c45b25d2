"""Finding the classes a state schema names, so that a fresh process can read them.

Rules of this module:

* Only annotations of live classes are followed: `Annotated`, unions, containers, type aliases, fields of
  dataclasses, pydantic models, typed dicts and named tuples.
* What cannot be told (an annotation that names nothing here, a class of an unknown kind) is passed over; a
  value of it is refused or reported when it is read, by name.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator
from inspect import get_annotations
from typing import Any, get_args, get_type_hints

from dalsegno.core.registry import name_of

__all__ = ["register_allowed", "register_channels", "register_schema"]


def register_schema(*schemas: object) -> None:
    """Register every dataclass, enum, pydantic model, named tuple and exception reachable from annotations.

    Args:
        schemas: classes or annotations, such as a graph's state schema.
    """
    seen: set[int] = set()
    waiting: list[object] = list(schemas)
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        waiting.extend(get_args(each))
        waiting.extend(_named_by(each))
        if isinstance(each, type):
            name_of(each)
            waiting.extend(_hints(each).values())


def register_channels(channels: Iterable[Any]) -> None:
    """Register the classes in the value and update types of a graph's channels."""
    for channel in channels:
        register_schema(getattr(channel, "ValueType", None), getattr(channel, "UpdateType", None))


def register_allowed(names: Iterable[tuple[str, ...]]) -> None:
    """Register classes a compiled graph names as its own, as (module, name); only modules already imported."""
    for module, *path in names:
        found: Any = sys.modules.get(module)
        for name in ".".join(path).split("."):
            found = getattr(found, name, None)
        register_schema(found)


def _named_by(each: object) -> Iterator[object]:
    for attribute in ("__supertype__", "__value__", "__bound__"):
        inner = getattr(each, attribute, None)
        if inner is not None and not isinstance(each, type):
            yield inner
    origin = getattr(each, "__origin__", None)
    if isinstance(origin, type):
        yield origin


def _hints(cls: type) -> dict[str, Any]:
    described = (
        dataclasses.is_dataclass(cls)
        or hasattr(cls, "__pydantic_fields__")
        or hasattr(cls, "_fields")
        or hasattr(cls, "__total__")
    )
    if not described:
        return {}
    try:
        return get_type_hints(cls, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {name: hint for base in cls.__mro__[::-1] for name, hint in get_annotations(base).items()}
