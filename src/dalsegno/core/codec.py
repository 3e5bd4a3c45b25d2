"""Values to JSON trees and back, exactly.

Rules of this module:

* `decode(encode(value))` has the value's type and is equal to it, also after `dumps`/`loads` and after a trip
  through a PostgreSQL `jsonb` column. What cannot keep that promise is refused when written, with its path.
* Reading builds built-in types and registered classes only. It never imports, and it runs no constructor and no
  validator of a class. Code of a class runs only where Python asks for it (hash and equality of a key, the default
  of a field added since) and where the program registered a function.
* The tags `$ref`, `$list`, `$dict`, `$blob` and `$chunk` belong to the storage of items. They are neither
  written nor read here.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from json import JSONDecodeError
from types import ModuleType
from typing import Any, TypeVar, overload

from dalsegno import errors
from dalsegno.core import containers, mappings, numpy_types, scalars, stdlib_types, times  # noqa: F401 - they fill the tables
from dalsegno.core.exceptions import exception
from dalsegno.core.models import model
from dalsegno.core.records import record
from dalsegno.core.registry import KINDS, Plan, add, add_native, add_roots, default_name, name_of, plan_for
from dalsegno.core.subclasses import enum, named_tuple, subclass
from dalsegno.core.tree import MAX_DEPTH, Json, canonical, digest, dumps, loads
from dalsegno.core.urls import address
from dalsegno.core.walk import ATOMS, CLONERS, ENCODERS, Refusal, dec, dup, enc, only, part
from dalsegno.errors import Damaged, Misuse, NotSerializable

__all__ = [
    "MAX_DEPTH",
    "Json",
    "canonical",
    "clone",
    "clone_list",
    "decode",
    "digest",
    "dumps",
    "encode",
    "loads",
    "register",
    "register_module",
    "register_types",
]

T = TypeVar("T")
C = TypeVar("C", bound=type)


def _shared(value: Any) -> Any:
    return value


KINDS[:] = (exception, enum, named_tuple, model, address, subclass, record)
CLONERS.update(dict.fromkeys(ATOMS, _shared))
for _cls in ENCODERS:
    add_native(_cls)
for _error in (*vars(builtins).values(), *vars(errors).values(), JSONDecodeError):
    if isinstance(_error, type) and issubclass(_error, BaseException):
        name_of(_error)


def encode(value: object, path: str = "state") -> Json:
    """The tree of a value.

    Args:
        value: any value of a supported type; it is read, never changed, and not referred to by the result.
        path: what the value is called in an error.

    Raises:
        NotSerializable: something in the value cannot be stored exactly; names its path, type and a way out.
    """
    try:
        return enc(value, 1)
    except Refusal as refusal:
        place = refusal.place(path)
        raise NotSerializable(place, refusal.type_name, refusal.hint) from None


def decode(tree: Json) -> Any:
    """The value of a tree, as fresh objects.

    Args:
        tree: what `encode` gave, as it comes from `loads` or from a `jsonb` column.

    Raises:
        UnknownType: a class is not registered in this process.
        StateShapeError: a field that a class requires now was not stored.
        Damaged: this is not a tree that `encode` gives.
    """
    try:
        return dec(tree)
    except RecursionError:
        if _is_too_deep(tree):
            raise Damaged("stored value", expected=f"at most {MAX_DEPTH} levels", found="more") from None
        raise


def _is_too_deep(tree: Json) -> bool:
    level = [tree]
    for _ in range(MAX_DEPTH + 1):
        level = [
            part
            for each in level
            if isinstance(each, list | dict)
            for part in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def clone(value: T, path: str = "state") -> T:
    """A copy that shares no changeable part with the value; equal to `decode(encode(value))`.

    Raises:
        NotSerializable: something in the value is of no type that is stored. A value that is refused for its
            nesting alone may be cloned.
    """
    try:
        return CLONERS[type(value)](value)  # type: ignore[return-value]
    except (Refusal, RecursionError) as error:
        encode(value, path)
        raise NotSerializable(path, type(value).__name__, str(error)) from None


def clone_list(values: list[T], path: str = "state") -> list[T]:
    """Clones of all elements, as a new list; see `clone`."""
    try:
        return [CLONERS[type(value)](value) for value in values]  # type: ignore[misc]
    except (Refusal, RecursionError) as error:
        encode(values, path)
        raise NotSerializable(path, type(values).__name__, str(error)) from None


# --- registering ----------------------------------------------------------------------------------


def _by_functions(name: str, write: Callable[[Any], object], read: Callable[[Any], object]) -> Plan:
    """A plan from the program's own functions: to a value that can be stored, and back."""

    def encode(value: object, depth: int) -> Json:
        return {"$type": name, "$value": part("encoded", write(value), value, depth + 1)}

    def decode(tree: dict[str, Json]) -> object:
        only(tree, "$type", "$value")
        return read(dec(tree["$value"]))

    return Plan(tag="$type", encode=encode, decode=decode, clone=lambda value: read(dup(write(value))))


@overload
def register(
    cls: C,
    name: str | None = None,
    *,
    encode: Callable[[Any], object] | None = None,
    decode: Callable[[Any], object] | None = None,
    aliases: Iterable[str] = (),
) -> C: ...


@overload
def register(
    cls: None = None,
    name: str | None = None,
    *,
    encode: Callable[[Any], object] | None = None,
    decode: Callable[[Any], object] | None = None,
    aliases: Iterable[str] = (),
) -> Callable[[C], C]: ...


def register(
    cls: Any = None,
    name: str | None = None,
    *,
    encode: Callable[[Any], object] | None = None,
    decode: Callable[[Any], object] | None = None,
    aliases: Iterable[str] = (),
) -> Any:
    """Let values of a class be stored and read; also a decorator, plain or with arguments.

    A dataclass, enum, named tuple, pydantic model or exception needs no functions, nor does a class made of
    attributes, or a subclass of `str`, `int`, `float`, `list`, `dict` and the like. The dataclasses, enums, models
    and so on that its fields are annotated with are registered along.

    Args:
        cls: the class.
        name: the key its values are stored under; `module:qualname` by default. Give one that survives a move.
        encode: turns a value into one that can be stored.
        decode: turns that back; both or neither.
        aliases: earlier names whose stored values are read as this class.

    Returns:
        The class.

    Raises:
        Misuse: the class cannot be stored without `encode` and `decode`, or only one of them was given.
    """
    if cls is None:
        return lambda each: register(each, name, encode=encode, decode=decode, aliases=aliases)
    if not isinstance(cls, type):
        msg = f"register takes a class, not {cls!r:.80}"
        raise Misuse(msg)
    key = name or default_name(cls)
    if (encode is None) != (decode is None):
        msg = f"register({cls.__qualname__}): give both encode and decode, or neither"
        raise Misuse(msg)
    if encode is not None and decode is not None:
        plan = _by_functions(key, encode, decode)
    else:
        found = plan_for(cls, key, by_hand=True)
        if found is None:
            msg = f"register({cls.__qualname__}): this class cannot be seen through: give encode and decode"
            raise Misuse(msg)
        plan = found
    add(cls, key, plan, by_hand=True, aliases=aliases)
    add_roots(cls)
    return cls


def register_types(*types: type) -> None:
    """Register several classes under their default names; see `register`."""
    for cls in types:
        register(cls)


def register_module(module: ModuleType) -> None:
    """Register every dataclass, enum, named tuple, pydantic model and exception defined in a module."""
    for cls in list(vars(module).values()):
        if isinstance(cls, type) and cls.__module__ == module.__name__:
            key = default_name(cls)
            plan = plan_for(cls, key, by_hand=False)
            if plan is not None:
                add(cls, key, plan, by_hand=True)
                add_roots(cls)
