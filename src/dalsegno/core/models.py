"""Plans for pydantic models, and the short form for models known in advance.

Rules of this module:

* A model is written as its fields, extra values and private attributes, and rebuilt from them without
  validation. Which fields were set by the program is kept too.
* A model of the program is written whole: a default may change with the code, the state must not.
* A model registered as *short* leaves out a field that was not set and holds its default. That is for models
  whose defaults are part of their contract, such as chat messages.
* A field added since takes its default; one that is gone stays with the object, among its extra values if the
  class takes any.
* pydantic is not imported here; a model brings it along.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from dalsegno.core.mappings import clone_entries
from dalsegno.core.records import missing, slots_of, strings
from dalsegno.core.registry import Plan
from dalsegno.core.scalars import text
from dalsegno.core.shapes import Form
from dalsegno.core.tree import Json, is_plain_text
from dalsegno.core.walk import ATOMS, CLONERS, ENCODERS, Refusal, damaged, dec, deeper, dup, part

__all__ = ["Model", "model"]

_OWN_SLOTS: Final = {"__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"}
_NOTES: Final = ("$unset", "$absent", "$given", "$attributes", "$extra", "$private")
"""Keys of a model's envelope besides its tag and its fields."""
_NOTHING: Final = object()

Maker = Callable[[], object]


class Model:
    """The objects of one pydantic model class: how they are written, read and cloned."""

    __slots__ = (
        "_cls",
        "_decoders",
        "_defaults",
        "_encoders",
        "_extra",
        "_known",
        "_name",
        "_new",
        "_private",
        "_set",
        "_tag",
    )

    def __init__(self, cls: Any, tag: str, name: str, *, short: bool, forms: Mapping[str, Form]) -> None:
        """Look at the class once.

        Args:
            cls: the class.
            tag: the envelope's tag.
            name: what stands at the tag.
            short: leave out what was not set and holds its default.
            forms: fields that have a way of their own.
        """
        infos: dict[str, Any] = cls.model_fields
        self._cls, self._tag, self._name = cls, tag, name
        self._defaults = {key: _default(info) for key, info in infos.items()}
        self._known = {key: made() for key, made in self._defaults.items() if made is not None} if short else {}
        self._encoders = {key: form[0] for key, form in forms.items()}
        self._decoders = {key: form[1] for key, form in forms.items()}
        self._private: dict[str, Any] = cls.__private_attributes__
        self._extra = cls.model_config.get("extra") == "allow"
        self._new = object.__new__
        base = vars(sys.modules["pydantic"].BaseModel)
        names = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
        self._set: Any = tuple(base[each].__set__ for each in names)

    # --- writing

    def encode(self, value: Any, depth: int) -> Json:
        """The envelope of a model."""
        depth = deeper(value, depth)
        held, given = value.__dict__, value.__pydantic_fields_set__
        known, encoders = self._known, self._encoders
        tree: dict[str, Json] = {self._tag: self._name}
        unset: list[Json] = []
        present = counted = 0
        key = ""
        try:
            for key in self._defaults:
                item = held.get(key, _NOTHING)
                if item is _NOTHING:
                    continue
                present += 1
                if key in given:
                    counted += 1
                elif key in known and _alike(item, known[key]):
                    continue
                else:
                    unset.append(key)
                tree[key] = (
                    text(item) if type(item) is str else (encoders.get(key) or ENCODERS[type(item)])(item, depth)
                )
        except Refusal as refusal:
            refusal.within(key, value)
            raise
        if unset:
            tree["$unset"] = unset
        extra, private = value.__pydantic_extra__, value.__pydantic_private__
        if present != len(self._defaults) or present != len(held) or counted != len(given) or extra:
            self._note(value, tree, depth)
        if extra:
            tree["$extra"] = part("extra", extra, value, depth)
        if private is not None or self._private:
            tree["$private"] = part("private", private, value, depth)
        return tree

    def _note(self, value: Any, tree: dict[str, Json], depth: int) -> None:
        held, given = value.__dict__, value.__pydantic_fields_set__
        if absent := [key for key in self._defaults if key not in held]:
            tree["$absent"] = list[Json](absent)
        if others := {key: item for key, item in held.items() if key not in self._defaults}:
            tree["$attributes"] = part("attributes", others, value, depth)
        unset = tree.get("$unset", [])
        told = {key for key in self._defaults if key in tree and key not in unset}  # type: ignore[operator]
        if given != told | (value.__pydantic_extra__ or {}).keys():
            tree["$given"] = [text(key) for key in sorted(given)]

    # --- reading

    def decode(self, tree: dict[str, Json]) -> object:
        """The model of an envelope."""
        held: dict[str, object] = {}
        given: set[str] = set()
        decoders = self._decoders
        for key, default in self._defaults.items():
            if key in tree:
                item = tree[key]
                held[key] = item if type(item) is str else (decoders.get(key) or dec)(item)
                given.add(key)
            elif default is not None:
                held[key] = default()
            elif key not in strings(tree, "$absent"):
                raise missing(self._name, key)
        extra: dict[str, object] | None = {} if self._extra else None
        private = None
        if len(tree) > len(given) + 1:
            extra, given = self._read_notes(tree, held, given, extra)
            private = _entries(tree, "$private")
        if self._private and "$private" not in tree:
            private = {key: made() for key, info in self._private.items() if (made := _default(info)) is not None}
        return self._make(held, given, extra, private)

    def _read_notes(
        self, tree: dict[str, Json], held: dict[str, object], given: set[str], extra: dict[str, object] | None
    ) -> tuple[dict[str, object] | None, set[str]]:
        for key in tree:
            if key[:1] == "$" and key != self._tag and key not in _NOTES:
                raise damaged(self._tag, f"no keys starting with $ but {_NOTES}", tree)
        for key in strings(tree, "$absent"):
            held.pop(key, None)
        held.update(_entries(tree, "$attributes") or {})
        extra = _entries(tree, "$extra") if "$extra" in tree else extra
        newer = {key: dec(item) for key, item in tree.items() if key[:1] != "$" and key not in self._defaults}
        (held if extra is None else extra).update(newer)
        if "$given" in tree:
            return extra, set(strings(tree, "$given"))
        return extra, given.difference(strings(tree, "$unset")).union(extra or ())

    def _make(self, held: object, given: object, extra: object, private: object) -> object:
        value = self._new(self._cls)
        set_dict, set_given, set_extra, set_private = self._set
        set_dict(value, held)
        set_given(value, given)
        set_extra(value, extra)
        set_private(value, private)
        return value

    # --- cloning

    def clone(self, value: Any) -> object:
        """A copy with clones of everything in it."""
        held = value.__dict__.copy()
        for key, item in held.items():
            kind = type(item)
            if kind is str or item is None:
                continue
            if kind is dict:
                held[key] = clone_entries(item) if item else {}
            elif kind is list:
                held[key] = [dup(each) for each in item] if item else []
            else:
                held[key] = CLONERS[kind](item)
        extra, private = value.__pydantic_extra__, value.__pydantic_private__
        clone = self._new(self._cls)
        set_dict, set_given, set_extra, set_private = self._set
        set_dict(clone, held)
        set_given(clone, value.__pydantic_fields_set__.copy())
        set_extra(clone, dup(extra) if extra else None if extra is None else {})
        set_private(clone, None if private is None else dup(private))
        return clone

    def plan(self) -> Plan:
        """The class's plan."""
        return Plan(tag=self._tag, encode=self.encode, decode=self.decode, clone=self.clone)


def _default(info: Any) -> Maker | None:
    """A maker of the default of a field or private attribute; None if it has none of its own."""
    if info.default_factory is not None:
        takes_others = getattr(info, "default_factory_takes_validated_data", False)
        return None if takes_others else info.default_factory
    if type(info.default).__name__ in ("PydanticUndefinedType", "ellipsis"):
        return None
    if type(info.default) in ATOMS:
        return lambda: info.default
    return lambda: copy.deepcopy(info.default)


def _alike(item: object, default: object) -> bool:
    return item is default or (type(item) is type(default) and item == default)


def _entries(tree: dict[str, Json], key: str) -> dict[Any, Any] | None:
    found = dec(tree.get(key))
    if found is not None and type(found) is not dict:
        raise damaged(key, "a dict", found)
    return found


def model(cls: type, name: str, *, by_hand: bool) -> Plan | None:  # noqa: ARG001 - a Kind
    """The plan for a pydantic model class."""
    pydantic = sys.modules.get("pydantic")
    if pydantic is None or not issubclass(cls, pydantic.BaseModel) or slots_of(cls).keys() - _OWN_SLOTS:
        return None
    if any(key[:1] == "$" or not is_plain_text(key) for key in cls.model_fields):  # type: ignore[attr-defined]
        return None
    return Model(cls, "$type", name, short=False, forms={}).plan()
