"""Which types an annotation lets into a state that cannot be stored, and what to do instead.

Rules of this module:

* Told from the type alone: one that may hold anything is not blamed for it.
* Dataclasses, models, enums and named tuples that an annotation reaches are stored, so their fields are looked into.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import typing
from collections.abc import Iterator
from typing import Any, Final

from dalsegno.core import codec  # noqa: F401 - fills the tables
from dalsegno.core.registry import add_roots
from dalsegno.core.walk import ENCODERS, _refuse, type_name

__all__ = ["bytes_in", "unstorable"]

_CODE: Final = "keep a name in the state and look the function up when it is needed"
_RESOURCE: Final = "keep an id in the state and open it when it is needed, or hand it over in the run's context"
_UNKNOWN: Final = "dalsegno.register({0}) if it is plain data, else keep an id in the state"
_LOCKS: Final = frozenset({"_thread", "threading"})
"""Modules whose functions make locks; `threading.Lock` is such a function up to Python 3.12."""
_CARRIERS: Final = frozenset({"ndarray", "DataFrame", "Image", "Tensor"})


def unstorable(annotation: Any, place: str) -> Iterator[tuple[str, str, str]]:
    """What an annotation lets in that cannot be stored: place, type, way out."""
    add_roots(annotation)
    yield from _walk(annotation, place, set())


def bytes_in(annotation: Any) -> bool:
    """Whether an annotation names bytes, or a class that carries as much."""
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return issubclass(annotation, (bytes, bytearray, memoryview)) or annotation.__name__ in _CARRIERS
    return any(map(bytes_in, typing.get_args(annotation)))


def _walk(annotation: Any, place: str, seen: set[int]) -> Iterator[tuple[str, str, str]]:
    if id(annotation) in seen:
        return
    seen.add(id(annotation))
    origin = typing.get_origin(annotation)
    if origin is collections.abc.Callable or annotation in (typing.Callable, collections.abc.Callable):
        yield place, "a callable", _CODE
    elif not isinstance(annotation, type) and getattr(annotation, "__module__", "") in _LOCKS:
        yield place, "a lock", _RESOURCE
    elif origin is not None or not isinstance(annotation, type):
        for part, inside in _behind(annotation, origin, place):
            yield from _walk(part, inside, seen)
    elif (hint := _hint(annotation)) is not None:
        yield place, type_name(annotation), hint
    else:
        for name, part in _named_fields(annotation):
            yield from _walk(part, f"{place}.{name}", seen)


def _behind(annotation: Any, origin: Any, place: str) -> Iterator[tuple[Any, str]]:
    """What a generic, a union or an alias is made of, with where it stands."""
    if origin is typing.Literal:
        return
    if origin is typing.Annotated:
        yield typing.get_args(annotation)[0], place
        return
    inside = f"{place}[]" if isinstance(origin, type) and issubclass(origin, collections.abc.Collection) else place
    yield from ((part, inside) for part in typing.get_args(annotation))
    for name in ("__value__", "__supertype__"):
        if origin is None and (behind := getattr(annotation, name, None)) is not None:
            yield behind, place


def _hint(cls: type) -> str | None:
    """The way out for a class whose values cannot be stored; None for all others."""
    if cls is object or _is_typed_dict(cls) or cls is type(None):
        return None
    if any(hasattr(cls, sign) for sign in ("fileno", "acquire", "cursor", "commit", "sendall")):
        return _RESOURCE
    if (
        getattr(cls, "_is_protocol", False)
        or inspect.isabstract(cls)
        or cls.__module__ in ("collections.abc", "typing")
    ):
        return None
    if ENCODERS[cls] is not _refuse:
        return None
    if cls.__module__ == "types":
        return _CODE
    if hasattr(cls, "close") or hasattr(cls, "cancel"):
        return _RESOURCE
    return _UNKNOWN.format(cls.__name__)


def _is_typed_dict(cls: type) -> bool:
    """Whether a class is a typed dictionary, whichever module it was made with."""
    return hasattr(cls, "__total__") and hasattr(cls, "__required_keys__")


def _named_fields(cls: type) -> Iterator[tuple[str, Any]]:
    if _is_typed_dict(cls) or dataclasses.is_dataclass(cls) or hasattr(cls, "model_fields"):
        if cls.__module__.startswith(("langchain", "langgraph")):
            return
        try:
            yield from typing.get_type_hints(cls, include_extras=True).items()
        except (NameError, TypeError, AttributeError):
            return
