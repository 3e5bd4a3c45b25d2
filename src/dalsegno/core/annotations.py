"""Finding the classes that annotations name, so that registering one class covers those it is made of.

Rules of this module:

* Only annotations of live classes are followed: `Annotated`, unions, containers, type aliases, and the fields of
  dataclasses, pydantic models, typed dicts and named tuples.
* An annotation that cannot be told yet, such as a name defined further down, is passed over.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from enum import Enum
from inspect import get_annotations
from typing import Any, get_args, get_type_hints

__all__ = ["reachable"]


def reachable(*roots: object) -> Iterator[type]:
    """Every class named by these annotations or, through fields, by the classes they name."""
    seen: dict[int, object] = {}  # held, so that an identity stays taken
    waiting = list(roots)
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen[id(each)] = each
        waiting.extend(get_args(each))
        if isinstance(each, type):
            yield each
            waiting.extend(_fields(each))
        else:
            waiting.extend(_behind(each))


def _behind(annotation: object) -> Iterator[object]:
    """What an alias, a new type, a type variable, a generic or a literal stands for."""
    if isinstance(annotation, Enum):
        yield type(annotation)
    for name in ("__value__", "__supertype__", "__bound__", "__origin__"):
        found = getattr(annotation, name, None)
        if found is not None:
            yield found


def _fields(cls: type) -> Iterator[object]:
    generic = getattr(cls, "__pydantic_generic_metadata__", None) or {}
    yield from generic.get("args", ())
    has_fields = ("__pydantic_fields__", "_fields", "__required_keys__")
    if dataclasses.is_dataclass(cls) or any(hasattr(cls, sign) for sign in has_fields):
        yield from _hints(cls).values()


def _hints(cls: type) -> dict[str, Any]:
    try:
        return get_type_hints(cls, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {name: hint for base in cls.__mro__[::-1] for name, hint in get_annotations(base).items()}
