"""Plans for exceptions.

Rules of this module:

* Kept: the arguments, all attributes, notes, `__cause__` and whether the context is hidden.
* Not kept: traceback, `__context__`, and the object of an `AttributeError`: they belong to the moment.
* Rebuilt by the built-in base's own `__new__` and `__init__`; no `__init__` of a program's class runs.
* An exception whose class keeps data in compiled code is refused: nothing here can see that data.
"""

from __future__ import annotations

import builtins
from json import JSONDecodeError
from typing import Any

from dalsegno.core.records import Attributes, put, slots_of
from dalsegno.core.registry import KINDS, Plan, add, default_name
from dalsegno.core.tree import Json
from dalsegno.core.walk import Refusal, damaged, dec, dup, items

__all__: list[str] = []

_NAMED: dict[type, tuple[str, ...]] = {ImportError: ("name", "path"), AttributeError: ("name",), NameError: ("name",)}
"""Attributes of built-in exceptions that their arguments do not carry."""


def _base(cls: type) -> Any:
    return next(base for base in cls.__mro__ if base.__module__ == "builtins")


def _is_compiled(cls: type, base: type) -> bool:
    own = cls.__mro__[: cls.__mro__.index(base)]
    return any("__new__" in each.__dict__ and not isinstance(each.__dict__["__new__"], staticmethod) for each in own)


def _arguments(base: Any, value: BaseException) -> tuple[object, ...]:
    if issubclass(base, OSError):
        return base.__reduce__(value)[1]  # type: ignore[no-any-return] # with the file names, which args lack
    return value.args


def _made(cls: type, base: Any, arguments: tuple[object, ...]) -> BaseException:
    value = base.__new__(cls, *arguments)
    if type(value) is not cls:
        raise damaged("$error", f"arguments of {cls.__name__}", arguments)
    base.__init__(value, *arguments)
    return value  # type: ignore[no-any-return]


def _exception(cls: type, name: str, by_hand: bool) -> Plan | None:  # noqa: ARG001, FBT001 - a Kind
    if not issubclass(cls, BaseException):
        return None
    base = _base(cls)
    if _is_compiled(cls, base):
        return None
    named = next((names for kind, names in _NAMED.items() if issubclass(cls, kind)), ())
    shape = Attributes(name=name, fields={}, slots=slots_of(cls), has_dict=True)

    def parts(value: BaseException) -> dict[str, object]:
        found = shape.of(value)
        found.update((each, getattr(value, each)) for each in named if getattr(value, each, None) is not None)
        return found

    def encode(value: BaseException, depth: int) -> Json:
        tree: dict[str, Json] = {"$error": name}
        try:
            if arguments := _arguments(base, value):
                tree["args"] = items(arguments, depth + 1)
        except Refusal as refusal:
            refusal.within("args", value)
            raise
        if found := parts(value):
            attributes: dict[str, Json] = {}
            put(attributes, found.items(), value, depth + 2)
            tree["attributes"] = attributes
        if value.__cause__ is not None:
            put(tree, [("cause", value.__cause__)], value, depth + 1)
        if value.__suppress_context__ != (value.__cause__ is not None):
            tree["hidden"] = value.__suppress_context__
        return tree

    def fill(value: BaseException, found: dict[str, object], cause: BaseException | None, hidden: bool) -> None:  # noqa: FBT001
        for each in named:
            if each in found:
                setattr(value, each, found.pop(each))
        shape.set(value, found)
        value.__cause__ = cause
        value.__suppress_context__ = hidden

    def decode(tree: dict[str, Json]) -> object:
        arguments = dec(tree.get("args", []))
        found = dec(tree.get("attributes", {}))
        cause = dec(tree.get("cause"))
        hidden = tree.get("hidden", cause is not None)
        if type(arguments) is not list or type(found) is not dict or type(hidden) is not bool:
            raise damaged("$error", "arguments and attributes", tree)
        value = _made(cls, base, tuple(arguments))
        fill(value, found, cause, hidden)
        return value

    def clone(value: BaseException) -> object:
        copy = _made(cls, base, tuple([dup(each) for each in _arguments(base, value)]))
        found = {each: dup(item) for each, item in parts(value).items()}
        cause = None if value.__cause__ is None else dup(value.__cause__)
        fill(copy, found, cause, value.__suppress_context__)
        return copy

    return Plan(tag="$error", encode=encode, decode=decode, clone=clone)


KINDS.insert(0, _exception)
for _cls in [*vars(builtins).values(), JSONDecodeError]:
    if isinstance(_cls, type) and issubclass(_cls, BaseException):
        _plan = _exception(_cls, default_name(_cls), False)
        if _plan is not None:
            add(_cls, default_name(_cls), _plan, by_hand=False)
