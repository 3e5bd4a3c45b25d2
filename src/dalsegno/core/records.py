"""Plans for the classes of a program: dataclasses, enums, named tuples, plain classes, subclasses of built-ins.

Rules of this module:

* An object is written as its attributes and rebuilt from them: no `__init__`, `__post_init__` or validator runs.
* All attributes count, fields or not, in `__dict__` or in slots: what `__post_init__` made is there again.
* A field added to the class since takes its default; without one, reading is refused with the field's name.
* Only a class registered by hand may be something other than a dataclass, enum or named tuple.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, Flag
from typing import Any, Final

from dalsegno.core.registry import KINDS, Plan
from dalsegno.core.tree import Json, is_plain_text
from dalsegno.core.walk import ENCODERS, Refusal, damaged, dec, dup, enc, only
from dalsegno.errors import StateShapeError

__all__ = ["Attributes", "by_functions", "put", "slots_of", "strings"]

_HEAP_TYPE = 1 << 9
"""Set in `__flags__` of classes made by a class statement."""
_MISSING: Final = dataclasses.MISSING


def put(tree: dict[str, Json], values: Iterable[tuple[str, object]], owner: object, depth: int) -> None:
    """Encode attributes into an envelope, under their own names."""
    key = ""
    try:
        for key, item in values:
            tree[key] = ENCODERS[type(item)](item, depth)
    except Refusal as refusal:
        refusal.within(key, owner)
        raise


def strings(tree: dict[str, Json], key: str) -> list[str]:
    """A list of names in an envelope; empty when it is not there."""
    if key not in tree:
        return []
    found = tree[key]
    if type(found) is not list or any(type(name) is not str for name in found):
        raise damaged(key, "a list of names", found)
    return found  # type: ignore[return-value]


def slots_of(cls: type) -> dict[str, Any]:
    """The slot descriptors of a class and its bases, by attribute name."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        declared = base.__dict__.get("__slots__", ())
        for name in (declared,) if isinstance(declared, str) else tuple(declared):
            if name in ("__dict__", "__weakref__"):
                continue
            private = name.startswith("__") and not name.endswith("__")
            stored = f"_{base.__name__.lstrip('_')}{name}" if private else name
            found[stored] = base.__dict__[stored]
    return found


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """The attributes of a class's objects: read them all, set them all.

    Attributes:
        name: the class's registered name.
        fields: what every object is expected to have, in order, with a maker of its default or None.
        slots: slot descriptors by name.
        has_dict: whether objects can hold other attributes.
    """

    name: str
    fields: Mapping[str, Callable[[], object] | None]
    slots: Mapping[str, Any]
    has_dict: bool

    def of(self, value: object) -> dict[str, object]:
        """All attributes that are set, fields first."""
        held = dict(vars(value)) if self.has_dict else {}
        for name, slot in self.slots.items():
            try:
                held[name] = slot.__get__(value)
            except AttributeError:
                continue
        found = {name: held.pop(name) for name in self.fields if name in held}
        for name in held:
            if type(name) is not str or name[:1] == "$" or not is_plain_text(name):
                raise Refusal(value, f"attribute {name!r} is not a name")
        return found | held

    def write(self, value: object, tree: dict[str, Json], depth: int) -> None:
        """Encode all attributes; fields that are not set are named in `$absent`."""
        found = self.of(value)
        put(tree, found.items(), value, depth + 1)
        if absent := [name for name in self.fields if name not in found]:
            tree["$absent"] = list[Json](absent)

    def read(self, value: object, tree: dict[str, Json]) -> None:
        """Set the attributes an envelope holds."""
        absent = strings(tree, "$absent")
        found: dict[str, object] = {}
        for name, default in self.fields.items():
            if name in tree:
                found[name] = dec(tree[name])
            elif name not in absent:
                if default is None:
                    raise missing(self.name, name)
                found[name] = default()
        for name in tree:
            if name[:1] != "$" and name not in found:
                found[name] = dec(tree[name])
        self.set(value, found)

    def set(self, value: object, found: Mapping[str, object]) -> None:
        """Set attributes past any `__setattr__`."""
        for name, item in found.items():
            if name in self.slots:
                self.slots[name].__set__(value, item)
            elif self.has_dict:
                value.__dict__[name] = item
            else:
                path = f"{self.name}.{name}"
                msg = f"{path} is stored, but the class has no such field now: add it back or write a migration"
                raise StateShapeError(path, msg)

    def clone(self, value: object, into: object) -> None:
        """Set clones of all attributes on another object."""
        self.set(into, {name: dup(item) for name, item in self.of(value).items()})


def missing(owner: str, field: str) -> StateShapeError:
    """The error for a required field that a stored value lacks."""
    path = f"{owner}.{field}"
    return StateShapeError(path, f"{path} is required, but the stored value has none: give it a default or migrate")


def attributes(cls: type, name: str) -> Attributes:
    """The attributes of a class; dataclass fields are expected, others are not."""
    fields = {field.name: _default(field) for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else {}
    return Attributes(name=name, fields=fields, slots=slots_of(cls), has_dict=cls.__dictoffset__ != 0)


def _default(field: dataclasses.Field[Any]) -> Callable[[], object] | None:
    if field.default is not _MISSING:
        return lambda: field.default
    return field.default_factory if field.default_factory is not _MISSING else None


# --- objects --------------------------------------------------------------------------------------


def _built_in_base(cls: type) -> type | None:
    """The nearest base that is not `object` and not made by a class statement."""
    return next((base for base in cls.__mro__[:-1] if not base.__flags__ & _HEAP_TYPE), None)


def _object(cls: type, name: str, by_hand: bool) -> Plan | None:  # noqa: FBT001 - a Kind
    if not (by_hand or dataclasses.is_dataclass(cls)) or _built_in_base(cls) is not None:
        return None
    shape = attributes(cls, name)

    def encode(value: object, depth: int) -> Json:
        tree: dict[str, Json] = {"$type": name}
        shape.write(value, tree, depth)
        return tree

    def decode(tree: dict[str, Json]) -> object:
        value = object.__new__(cls)
        shape.read(value, tree)
        return value

    def clone(value: object) -> object:
        copy = object.__new__(cls)
        shape.clone(value, copy)
        return copy

    return Plan(tag="$type", encode=encode, decode=decode, clone=clone)


# --- subclasses of built-in types -----------------------------------------------------------------

_MADE_BY_NEW = (str, int, float, complex, bytes, tuple, frozenset)
_FILLED: dict[type, Callable[[Any, Any], object]] = {
    list: list.extend,
    dict: dict.update,
    set: set.update,
    bytearray: bytearray.extend,
}


def _plain(base: Any, value: object) -> Any:
    """The value as its built-in base, past any override."""
    if base is int:
        return int.__int__(value)  # type: ignore[arg-type]
    if base is float:
        return float.__float__(value)  # type: ignore[arg-type]
    if base is str:
        return str.__str__(value)
    if base is complex:
        return complex.__complex__(value)  # type: ignore[arg-type]
    if base is dict:
        return dict(dict.items(value))  # type: ignore[arg-type]
    return base(base.__iter__(value))


def _subclass(cls: type, name: str, by_hand: bool) -> Plan | None:  # noqa: FBT001 - a Kind
    base: Any = _built_in_base(cls)
    if not by_hand or (base not in _MADE_BY_NEW and base not in _FILLED):
        return None
    shape = attributes(cls, name)

    def make(content: Any) -> Any:
        if type(content) is not base:
            raise damaged("$type", f"a {base.__name__}", content)
        if base in _MADE_BY_NEW:
            return base.__new__(cls, content)
        value = base.__new__(cls)
        _FILLED[base](value, content)
        return value

    def encode(value: object, depth: int) -> Json:
        tree: dict[str, Json] = {"$type": name, "$value": enc(_plain(base, value), depth + 1)}
        shape.write(value, tree, depth)
        return tree

    def decode(tree: dict[str, Json]) -> object:
        value = make(dec(tree["$value"]))
        shape.read(value, tree)
        return value

    def clone(value: object) -> object:
        copy = make(dup(_plain(base, value)))
        shape.clone(value, copy)
        return copy

    return Plan(tag="$type", encode=encode, decode=decode, clone=clone)


# --- named tuples ---------------------------------------------------------------------------------


def _named_tuple(cls: type, name: str, by_hand: bool) -> Plan | None:  # noqa: ARG001, FBT001 - a Kind
    fields = getattr(cls, "_fields", None)
    if not issubclass(cls, tuple) or not isinstance(fields, tuple) or cls.__dictoffset__:
        return None
    defaults: Mapping[str, object] = getattr(cls, "_field_defaults", {})

    def encode(value: tuple[object, ...], depth: int) -> Json:
        tree: dict[str, Json] = {"$type": name}
        put(tree, zip(fields, tuple.__iter__(value), strict=True), value, depth + 1)
        return tree

    def part(tree: dict[str, Json], field: str) -> object:
        if field in tree:
            return dec(tree[field])
        if field not in defaults:
            raise missing(name, field)
        return defaults[field]

    def decode(tree: dict[str, Json]) -> object:
        only(tree, "$type", *fields)
        return tuple.__new__(cls, [part(tree, field) for field in fields])

    def clone(value: tuple[object, ...]) -> object:
        return tuple.__new__(cls, map(dup, tuple.__iter__(value)))

    return Plan(tag="$type", encode=encode, decode=decode, clone=clone)


# --- enums ----------------------------------------------------------------------------------------


def _enum(cls: type, name: str, by_hand: bool) -> Plan | None:  # noqa: ARG001, FBT001 - a Kind
    if not issubclass(cls, Enum):
        return None
    members: Mapping[str, Enum] = cls.__members__

    def encode(value: Any, depth: int) -> Json:
        if members.get(value.name) is value:
            return {"$enum": name, "member": enc(value.name, depth + 1)}
        if isinstance(value, Flag):
            return {"$enum": name, "value": enc(value.value, depth + 1)}
        raise Refusal(value, "not one of the members of its enum: keep its value")

    def decode(tree: dict[str, Json]) -> object:
        only(tree, "$enum", "member", "value")
        if "member" in tree:
            return members[dec(tree["member"])]
        if not issubclass(cls, Flag):
            raise damaged("$enum", "a member", tree)
        return cls(dec(tree["value"]))

    return Plan(tag="$enum", encode=encode, decode=decode, clone=lambda value: value)


# --- anything, by two functions -------------------------------------------------------------------


def by_functions(name: str, write: Callable[[Any], object], read: Callable[[Any], object]) -> Plan:
    """A plan from the program's own functions: to a value that can be stored, and back."""

    def encode(value: object, depth: int) -> Json:
        return {"$type": name, "$value": enc(write(value), depth + 1)}

    def decode(tree: dict[str, Json]) -> object:
        only(tree, "$type", "$value")
        return read(dec(tree["$value"]))

    def clone(value: object) -> object:
        return read(dup(write(value)))

    return Plan(tag="$type", encode=encode, decode=decode, clone=clone)


KINDS.extend((_enum, _named_tuple, _subclass, _object))
