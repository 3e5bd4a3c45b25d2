"""Plans for classes made of attributes: dataclasses, and plain classes registered by hand.

Rules of this module:

* An object is written as its attributes and rebuilt from them: no `__init__`, `__post_init__` or validator runs.
* All attributes count, fields or not, in `__dict__` or in slots: what `__post_init__` made is there again.
* A field added to the class since takes its default; without one, reading is refused with the field's name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

from dalsegno.core.registry import Plan
from dalsegno.core.tree import Json, is_plain_text
from dalsegno.core.walk import Refusal, damaged, dec, deeper, dup, part
from dalsegno.errors import StateShapeError

__all__ = ["Attributes", "attributes", "built_in_base", "gone", "missing", "record", "slots_of", "strings"]

_HEAP_TYPE: Final = 1 << 9
"""Set in `__flags__` of classes made by a class statement."""
_MISSING: Final = dataclasses.MISSING


def built_in_base(cls: type) -> type | None:
    """The nearest base that is not `object` and not made by a class statement."""
    return next((base for base in cls.__mro__[:-1] if not base.__flags__ & _HEAP_TYPE), None)


def slots_of(cls: type) -> dict[str, Any]:
    """The slot descriptors of a class and its bases, by attribute name."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        declared = base.__dict__.get("__slots__", ())
        for name in (declared,) if isinstance(declared, str) else tuple(declared):
            private = name.startswith("__") and not name.endswith("__")
            stored = f"_{base.__name__.lstrip('_')}{name}" if private else name
            if name not in ("__dict__", "__weakref__"):
                found[stored] = base.__dict__[stored]
    return found


def strings(tree: dict[str, Json], key: str) -> list[str]:
    """A list of names in an envelope; empty when it is not there."""
    found = dec(tree.get(key, []))
    if type(found) is not list or any(type(name) is not str for name in found):
        raise damaged(key, "a list of names", found)
    return [name for name in found if type(name) is str]


def missing(owner: str, field: str) -> StateShapeError:
    """The error for a required field that a stored value lacks."""
    path = f"{owner}.{field}"
    return StateShapeError(path, f"{path} is required, but the stored value has none: give it a default or migrate")


def gone(owner: str, field: str) -> StateShapeError:
    """The error for a stored field that the class cannot hold any more."""
    path = f"{owner}.{field}"
    return StateShapeError(path, f"{path} is stored, but the class has no such field now: add it back or migrate")


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
        held = dict(value.__dict__) if self.has_dict else {}
        for name, slot in self.slots.items():
            try:
                held[name] = slot.__get__(value)
            except AttributeError:  # never set
                continue
        found = {name: held.pop(name) for name in self.fields if name in held}
        for name in held:
            if type(name) is not str or name[:1] == "$" or not is_plain_text(name):
                raise Refusal(value, f"has an attribute {name!r:.60}: give it a name that is an identifier")
        return found | held

    def write(self, value: object, tree: dict[str, Json], depth: int) -> None:
        """Encode all attributes; fields that are not set are named in `$absent`."""
        depth = deeper(value, depth)
        found = self.of(value)
        for name, item in found.items():
            tree[name] = part(name, item, value, depth)
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
        for name, item in tree.items():
            if name[:1] != "$" and name not in found:
                found[name] = dec(item)
        self.set(value, found)

    def set(self, value: object, found: Mapping[str, object]) -> None:
        """Set attributes past any `__setattr__`."""
        for name, item in found.items():
            slot = self.slots.get(name)
            if slot is not None:
                slot.__set__(value, item)
            elif self.has_dict:
                value.__dict__[name] = item
            else:
                raise gone(self.name, name)

    def clone(self, value: object, copy: object) -> None:
        """Set clones of all attributes of a value on a copy."""
        self.set(copy, {name: dup(item) for name, item in self.of(value).items()})


def _default(field: dataclasses.Field[Any]) -> Callable[[], object] | None:
    if field.default is not _MISSING:
        return lambda: field.default
    return field.default_factory if field.default_factory is not _MISSING else None


def attributes(cls: type, name: str) -> Attributes:
    """The attributes of a class's objects; the fields of a dataclass are expected, others are not."""
    fields = {field.name: _default(field) for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else {}
    return Attributes(name=name, fields=fields, slots=slots_of(cls), has_dict=cls.__dictoffset__ != 0)


def _is_buildable(cls: type) -> bool:
    try:
        object.__new__(cls)
    except TypeError:  # abstract, or laid out by compiled code
        return False
    return built_in_base(cls) is None


def record(cls: type, name: str, *, by_hand: bool) -> Plan | None:
    """The plan for a dataclass, or for any class of attributes registered by hand."""
    if not (by_hand or dataclasses.is_dataclass(cls)) or not _is_buildable(cls):
        return None
    shape = attributes(cls, name)
    known = {"$type", "$absent"}

    def encode(value: object, depth: int) -> Json:
        tree: dict[str, Json] = {"$type": name}
        shape.write(value, tree, depth)
        return tree

    def decode(tree: dict[str, Json]) -> object:
        if any(key[:1] == "$" and key not in known for key in tree):
            raise damaged("$type", f"no keys starting with $ but {sorted(known)}", tree)
        value: object = object.__new__(cls)
        shape.read(value, tree)
        return value

    def clone(value: object) -> object:
        copy: object = object.__new__(cls)
        shape.clone(value, copy)
        return copy

    return Plan(tag="$type", encode=encode, decode=decode, clone=clone)
