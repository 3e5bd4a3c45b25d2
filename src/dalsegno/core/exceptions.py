"""Plans for exceptions.

Rules of this module:

* Kept: the arguments, all attributes, notes, `__cause__` and whether the context is hidden.
* Not kept: traceback, `__context__`, and the object of an `AttributeError`: they belong to the moment.
* Rebuilt by the built-in base's own `__new__` and `__init__`; no `__init__` of a program's class runs.
* An exception whose class keeps data in compiled code is refused: nothing here can see that data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from dalsegno.core.records import Attributes, slots_of
from dalsegno.core.registry import Plan
from dalsegno.core.tree import Json
from dalsegno.core.walk import damaged, dec, deeper, dup, only, part

__all__ = ["exception"]

_NAMED: Final = ((ImportError, ("name", "path")), (AttributeError, ("name",)), (NameError, ("name",)))
"""Attributes of built-in exceptions that their arguments do not carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exceptions:
    """The exceptions of one class."""

    cls: Any
    base: Any
    named: tuple[str, ...]
    shape: Attributes

    def arguments(self, value: BaseException) -> tuple[object, ...]:
        if issubclass(self.base, OSError):  # the file names stand beside its arguments
            found: tuple[object, ...] = self.base.__reduce__(value)[1]
            return found
        return value.args

    def attributes(self, value: BaseException) -> dict[str, object]:
        found = self.shape.of(value)
        found.update((name, held) for name in self.named if (held := getattr(value, name)) is not None)
        return found

    def make(self, arguments: tuple[object, ...]) -> Any:
        value = self.base.__new__(self.cls, *arguments)
        if type(value) is not self.cls:
            raise damaged("$error", f"arguments of {self.cls.__name__}", arguments)
        self.base.__init__(value, *arguments)
        return value

    def fill(self, value: Any, found: dict[str, object], cause: object, hidden: object) -> Any:
        for name in self.named:
            setattr(value, name, found.pop(name, None))
        self.shape.set(value, found)
        value.__cause__ = cause
        value.__suppress_context__ = hidden
        return value

    def encode(self, value: BaseException, depth: int) -> Json:
        depth = deeper(value, depth)
        tree: dict[str, Json] = {"$error": self.shape.name}
        if arguments := self.arguments(value):
            tree["args"] = part("args", list(arguments), value, depth)
        if found := self.attributes(value):
            tree["attributes"] = part("attributes", found, value, depth)
        if value.__cause__ is not None:
            tree["cause"] = part("cause", value.__cause__, value, depth)
        if value.__suppress_context__ != (value.__cause__ is not None):
            tree["hidden"] = value.__suppress_context__
        return tree

    def decode(self, tree: dict[str, Json]) -> object:
        only(tree, "$error", "args", "attributes", "cause", "hidden")
        arguments, found, cause = dec(tree.get("args", [])), dec(tree.get("attributes", {})), dec(tree.get("cause"))
        if type(arguments) is not list or type(found) is not dict:
            raise damaged("$error", "arguments as a list and attributes as an object", tree)
        return self.fill(self.make(tuple(arguments)), found, cause, tree.get("hidden", cause is not None))

    def clone(self, value: BaseException) -> object:
        copy = self.make(tuple([dup(each) for each in self.arguments(value)]))
        cause = dup(value.__cause__)
        return self.fill(copy, dup(self.attributes(value)), cause, value.__suppress_context__)


def _is_compiled(cls: type, base: type) -> bool:
    own = [vars(each).get("__new__") for each in cls.__mro__[: cls.__mro__.index(base)]]
    return any(new is not None and not isinstance(new, staticmethod) for new in own)


def exception(cls: type, name: str, *, by_hand: bool) -> Plan | None:  # noqa: ARG001 - a Kind
    """The plan for an exception class."""
    if not issubclass(cls, BaseException):
        return None
    base = next(base for base in cls.__mro__ if base.__module__ == "builtins")
    if _is_compiled(cls, base):
        return None
    named = next((names for kind, names in _NAMED if issubclass(cls, kind)), ())
    shape = Attributes(name=name, fields={}, slots=slots_of(cls), has_dict=True)
    its = _Exceptions(cls=cls, base=base, named=named, shape=shape)
    return Plan(tag="$error", encode=its.encode, decode=its.decode, clone=its.clone)
