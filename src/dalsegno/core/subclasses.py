"""Plans for subclasses of built-in types: named tuples and enums unasked, others when registered by hand.

Rules of this module:

* A named tuple is written under its field names; a field added since takes its default.
* A member of an enum is written by its name, a combination of flags by its value.
* Any other subclass is written as the built-in value it is, and its attributes. It is read without its own methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, Flag
from typing import Any, Final

from dalsegno.core.records import attributes, built_in_base, gone, missing
from dalsegno.core.registry import Plan
from dalsegno.core.tree import Json
from dalsegno.core.walk import Refusal, damaged, dec, deeper, dup, enc, only, part

__all__ = ["enum", "named_tuple", "subclass"]

# --- named tuples ---------------------------------------------------------------------------------


def named_tuple(cls: type, name: str, *, by_hand: bool) -> Plan | None:  # noqa: ARG001 - a Kind
    """The plan for a named tuple's class."""
    fields = getattr(cls, "_fields", None)
    if not issubclass(cls, tuple) or not isinstance(fields, tuple) or cls.__dictoffset__:
        return None
    defaults: Mapping[str, object] = getattr(cls, "_field_defaults", {})

    def encode(value: tuple[object, ...], depth: int) -> Json:
        depth = deeper(value, depth)
        tree: dict[str, Json] = {"$type": name}
        for field, item in zip(fields, tuple.__iter__(value), strict=True):
            tree[field] = part(field, item, value, depth)
        return tree

    def decode(tree: dict[str, Json]) -> object:
        if over := tree.keys() - {"$type", *fields}:
            raise gone(name, min(over))
        if lacking := [field for field in fields if field not in tree and field not in defaults]:
            raise missing(name, lacking[0])
        parts = [dec(tree[field]) if field in tree else defaults[field] for field in fields]
        return tuple.__new__(cls, parts)

    def clone(value: tuple[object, ...]) -> object:
        return tuple.__new__(cls, map(dup, tuple.__iter__(value)))

    return Plan(tag="$type", encode=encode, decode=decode, clone=clone)


# --- enums ----------------------------------------------------------------------------------------


def enum(cls: type, name: str, *, by_hand: bool) -> Plan | None:  # noqa: ARG001 - a Kind
    """The plan for an enum."""
    if not issubclass(cls, Enum):
        return None
    members: Mapping[str, Enum] = cls.__members__

    def encode(value: Any, depth: int) -> Json:
        key = value._name_  # `name` may be a member's own
        if members.get(key) is value:
            return {"$enum": name, "member": enc(key, depth + 1)}
        if isinstance(value, Flag):
            return {"$enum": name, "value": part("value", value._value_, value, depth + 1)}
        raise Refusal(value, "not one of the members of its enum: keep its value")

    def decode(tree: dict[str, Json]) -> object:
        only(tree, "$enum", "member", "value")
        if "member" in tree:
            key = dec(tree["member"])
            if type(key) is str and key not in members:
                raise gone(name, key)
            return members[key]
        if not issubclass(cls, Flag):
            raise damaged("$enum", "a member", tree)
        return cls(dec(tree["value"]))

    return Plan(tag="$enum", encode=encode, decode=decode, clone=lambda value: value)


# --- subclasses registered by hand ----------------------------------------------------------------

_MADE_BY_NEW: Final = (str, int, float, complex, bytes, tuple, frozenset)
_FILLED: Final[dict[type, Callable[[Any, Any], object]]] = {
    list: list.extend,
    dict: dict.update,
    set: set.update,
    bytearray: bytearray.extend,
}
_PLAIN: Final[dict[type, Callable[[Any], Any]]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
    dict: lambda value: dict(dict.items(value)),
}
"""The value as its built-in base, past any override; by iteration where nothing is said."""


def subclass(cls: Any, name: str, *, by_hand: bool) -> Plan | None:
    """The plan for any other subclass of a built-in type, registered by hand."""
    base: Any = built_in_base(cls)
    if not by_hand or (base not in _MADE_BY_NEW and base not in _FILLED):
        return None
    shape = attributes(cls, name)
    new: Callable[..., Any] = base.__new__

    def plain(value: Any) -> Any:
        return _PLAIN[base](value) if base in _PLAIN else base(base.__iter__(value))

    def make(content: Any) -> Any:
        if type(content) is not base:
            raise damaged("$type", f"a {base.__name__}", content)
        fill = _FILLED.get(base)
        if fill is None:
            return new(cls, content)
        value = new(cls)
        fill(value, content)
        return value

    def encode(value: object, depth: int) -> Json:
        tree: dict[str, Json] = {"$type": name, "$value": enc(plain(value), depth + 1)}
        shape.write(value, tree, depth)
        return tree

    def decode(tree: dict[str, Json]) -> object:
        value = make(dec(tree["$value"]))
        shape.read(value, tree)
        return value

    def clone(value: object) -> object:
        copy = make(dup(plain(value)))
        shape.clone(value, copy)
        return copy

    return Plan(tag="$type", encode=encode, decode=decode, clone=clone)
