"""Plans for pydantic models, and the short form for models known in advance.

Rules of this module:

* A model is written as its fields, extra values and private attributes, and rebuilt from them without
  validation. Which fields were set by the program is kept too.
* A model of the program is written whole: a default may change with the code, the state must not.
* A model registered as *short* leaves out a field that was not set and holds its default. That is for models
  whose defaults are part of their contract, such as chat messages.
* pydantic is not imported here; a model brings it along.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from dalsegno.core.records import missing, slots_of, strings
from dalsegno.core.registry import KINDS, Plan
from dalsegno.core.shapes import Form
from dalsegno.core.tree import Json, is_plain_text
from dalsegno.core.walk import ATOMS, CLONERS, ENCODERS, Refusal, damaged, dec, dup, mapping

__all__ = ["model"]

_OWN_SLOTS: Final = {"__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"}
_NOTES: Final = ("$unset", "$absent", "$set", "$attributes", "$extra", "$private")
"""Keys of a model's envelope besides its tag and its fields."""


def _entries(tree: dict[str, Json], key: str) -> dict[Any, Any] | None:
    found = dec(tree[key])
    if found is not None and type(found) is not dict:
        raise damaged(key, "a dict", found)
    return found


def _inner(tree: dict[str, Json], key: str, held: dict[Any, Any], owner: object, depth: int) -> None:
    try:
        tree[key] = mapping(held, depth)
    except Refusal as refusal:
        refusal.within(key[1:], owner)
        raise


def _default(info: Any) -> Callable[[], object] | None:
    if info.is_required():
        return None
    if info.default_factory in (list, dict):
        return info.default_factory  # type: ignore[no-any-return]
    if info.default_factory is None and type(info.default) in ATOMS:
        return lambda: info.default
    return lambda: info.get_default(call_default_factory=True, validated_data={})


def model(cls: Any, tag: str, name: str, *, short: bool, forms: Mapping[str, Form]) -> Plan:  # noqa: C901, PLR0915
    """The plan of a pydantic model class.

    Args:
        cls: the class.
        tag: the envelope's tag.
        name: what stands at the tag.
        short: leave out what was not set and holds its default.
        forms: fields that have a way of their own.
    """
    infos: dict[str, Any] = cls.__pydantic_fields__
    defaults = {key: _default(info) for key, info in infos.items()}
    known = {key: default() for key, default in defaults.items() if default is not None} if short else {}
    private: dict[str, Any] = cls.__private_attributes__
    takes_extra = cls.model_config.get("extra") == "allow"
    encoders = {key: form[0] for key, form in forms.items()}
    decoders = {key: form[1] for key, form in forms.items()}
    bad = next((key for key in infos if key[:1] == "$" or not is_plain_text(key)), None)
    new, put = cls.__new__, object.__setattr__
    missed = object()

    def encode(value: Any, depth: int) -> Json:
        if bad is not None:
            raise Refusal(value, f"its field {bad!r} has a name that cannot be stored")
        held, given = value.__dict__, value.__pydantic_fields_set__
        tree: dict[str, Json] = {tag: name}
        unset: list[Json] = []
        absent: list[Json] = []
        counted = 0
        depth += 1
        key = ""
        try:
            for key in infos:
                item = held.get(key, missed)
                if item is missed:
                    absent.append(key)
                    continue
                if key in given:
                    counted += 1
                elif key in known and _alike(item, known[key]):
                    continue
                else:
                    unset.append(key)
                tree[key] = (encoders.get(key) or ENCODERS[type(item)])(item, depth)
        except Refusal as refusal:
            refusal.within(key, value)
            raise
        if unset:
            tree["$unset"] = unset
        if absent:
            tree["$absent"] = absent
        extra = value.__pydantic_extra__
        if extra:
            _inner(tree, "$extra", extra, value, depth)
            counted += sum(key in given for key in extra)
        if len(held) + len(absent) > len(infos):
            _inner(tree, "$attributes", {key: item for key, item in held.items() if key not in infos}, value, depth)
        if counted != len(given) or (extra and not given >= extra.keys()):
            tree["$set"] = list[Json](sorted(given))
        secret = value.__pydantic_private__
        if secret is not None:
            _inner(tree, "$private", secret, value, depth)
        elif private:
            tree["$private"] = None
        return tree

    def decode(tree: dict[str, Json]) -> object:
        held: dict[str, object] = {}
        given: set[str] = set()
        extra: dict[str, object] | None = {} if takes_extra else None
        unset = absent = ()  # type: Any
        noted = False
        for key in tree:
            if key[:1] == "$" and key != tag:
                if key not in _NOTES:
                    raise damaged(tag, f"no keys starting with $ but {_NOTES}", key)
                noted = True
        if noted:
            unset, absent = strings(tree, "$unset"), strings(tree, "$absent")
        for key in infos:
            if key in tree:
                item = tree[key]
                held[key] = decoders[key](item) if key in decoders else item if type(item) is str else dec(item)
                if key not in unset:
                    given.add(key)
            elif key not in absent:
                default = defaults[key]
                if default is None:
                    raise missing(name, key)
                held[key] = default()
        secret = None
        if noted:
            extra = _entries(tree, "$extra") if "$extra" in tree else extra
            given.update(extra or ())
            held.update(_entries(tree, "$attributes") or {} if "$attributes" in tree else {})
            given = set(strings(tree, "$set")) if "$set" in tree else given
            secret = _entries(tree, "$private") if "$private" in tree else None
        if private and "$private" not in tree:
            secret = {key: info.get_default() for key, info in private.items() if _has_default(info)}
        if len(tree) > len(given) + 1:
            _newer(tree, held, extra, given)
        value = new(cls)
        put(value, "__dict__", held)
        put(value, "__pydantic_fields_set__", given)
        put(value, "__pydantic_extra__", extra)
        put(value, "__pydantic_private__", secret)
        return value

    def _newer(
        tree: dict[str, Json], held: dict[str, object], extra: dict[str, object] | None, given: set[str]
    ) -> None:
        for key in tree:
            if key[:1] != "$" and key not in held:
                if extra is None:
                    held[key] = dec(tree[key])
                else:
                    extra[key] = dec(tree[key])
                    given.add(key)

    def clone(value: Any) -> object:
        held = value.__dict__.copy()
        for key, item in held.items():
            if type(item) is not str and item is not None:
                held[key] = CLONERS[type(item)](item)
        copy = new(cls)
        extra, secret = value.__pydantic_extra__, value.__pydantic_private__
        put(copy, "__dict__", held)
        put(copy, "__pydantic_fields_set__", value.__pydantic_fields_set__.copy())
        put(copy, "__pydantic_extra__", dup(extra) if extra else extra if extra is None else {})
        put(copy, "__pydantic_private__", None if secret is None else dup(secret))
        return copy

    return Plan(tag=tag, encode=encode, decode=decode, clone=clone)


def _alike(item: object, default: object) -> bool:
    return item is default or (type(item) is type(default) and item == default)


def _has_default(info: Any) -> bool:
    return info.default_factory is not None or type(info.default).__name__ != "PydanticUndefinedType"


def _model(cls: type, name: str, by_hand: bool) -> Plan | None:  # noqa: ARG001, FBT001 - a Kind
    pydantic = sys.modules.get("pydantic")
    if pydantic is None or not issubclass(cls, pydantic.BaseModel) or slots_of(cls).keys() - _OWN_SLOTS:
        return None
    return model(cls, "$type", name, short=False, forms={})


KINDS.insert(0, _model)
