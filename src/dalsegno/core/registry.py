"""Names for classes, so that stored values never name a thing to import.

Rules of this module:

* The registry maps names to live classes of this process. Reading looks a name up here and nowhere else.
* A class is named `module:qualname` unless it was registered under a name of its own. A stored name is only a
  key: no module is imported, no attribute is followed.
* Writing a value of an enum, dataclass, pydantic model, named tuple or exception registers its class. Any other
  class must be registered by the program.
* The newest class of a name wins, as after a module is reloaded; a name given by hand is not taken away from
  its class by one that merely appears.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from dalsegno.core.tree import Json
from dalsegno.core.walk import CLONERS, DECODERS, ENCODERS, RESOLVERS, Cloner, Decoder, Encoder, Refusal, damaged, only
from dalsegno.errors import Misuse, UnknownType

__all__ = ["KINDS", "Plan", "add", "default_name", "find", "name_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How values of one class are written, read and cloned."""

    tag: str
    encode: Encoder
    decode: Decoder
    clone: Cloner


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A name's class; `plan` is None for built-in types, which have tags of their own."""

    cls: type
    plan: Plan | None
    by_hand: bool


Kind = Callable[[type, str, bool], "Plan | None"]
"""Makes a plan for a class it knows. Arguments: the class, its name, whether the program asked for it."""

KINDS: Final[list[Kind]] = []
"""Asked in turn."""
_BY_NAME: Final[dict[str, Entry]] = {}
_NAMES: Final[dict[type, str]] = {}


def default_name(cls: type) -> str:
    """`module:qualname`; built-in classes by their bare name."""
    if cls.__module__ == "builtins":
        return cls.__qualname__
    return f"{cls.__module__}:{cls.__qualname__}"


def plan_for(cls: type, name: str, *, by_hand: bool) -> Plan | None:
    """The first plan any kind has for a class."""
    for kind in KINDS:
        plan = kind(cls, name, by_hand)
        if plan is not None:
            return plan
    return None


def add(cls: type, name: str, plan: Plan, *, by_hand: bool, aliases: tuple[str, ...] = ()) -> None:
    """Put a class under its name and give the walk its handlers."""
    for each in (name, *aliases):
        before = _BY_NAME.get(each)
        if before is not None and before.plan is None:
            msg = f"{each!r} is the name of a built-in type: register {cls.__qualname__} under another name"
            raise Misuse(msg)
        if before is not None and before.cls is not cls and _NAMES.get(before.cls) == each:
            _forget(before.cls)
        _BY_NAME[each] = Entry(cls=cls, plan=plan, by_hand=by_hand)
    _NAMES[cls] = name
    ENCODERS[cls] = plan.encode
    CLONERS[cls] = plan.clone


def _forget(cls: type) -> None:
    del _NAMES[cls]
    ENCODERS.pop(cls, None)
    CLONERS.pop(cls, None)


def add_native(cls: type) -> None:
    """Let a class be named in values (as a factory), though its own values have tags."""
    if cls not in _NAMES:
        name = default_name(cls)
        _BY_NAME[name] = Entry(cls=cls, plan=None, by_hand=True)
        _NAMES[cls] = name


def find(name: Json, tag: str) -> Entry:
    """The entry of a stored name.

    Raises:
        UnknownType: nothing of this name is registered.
        Damaged: this is not a name.
    """
    entry = _BY_NAME.get(name)  # type: ignore[arg-type]
    if entry is None:
        if type(name) is not str:
            raise damaged(tag, "the name of a type", name)
        known = name.rpartition(":")[2].rpartition(".")[2]
        msg = (
            f"stored value of type {name!r}, which is not registered in this process and is never imported by name: "
            f"call dalsegno.register({known}) before reading"
        )
        raise UnknownType(msg)
    return entry


def name_of(cls: type) -> str | None:
    """The name of a class, registering it if its kind allows; None for a class that needs the program's word."""
    if cls not in _NAMES:
        _resolve(cls)
    return _NAMES.get(cls)


def _resolve(cls: type) -> bool:
    if issubclass(cls, type):
        ENCODERS[cls] = _class
        CLONERS[cls] = _shared
        return True
    name = default_name(cls)
    before = _BY_NAME.get(name)
    if before is not None and before.by_hand and default_name(before.cls) != name:
        return False
    plan = plan_for(cls, name, by_hand=False)
    if plan is None:
        return False
    add(cls, name, plan, by_hand=False)
    return True


def _shared(value: Any) -> Any:
    return value


# --- classes as values ----------------------------------------------------------------------------


def _class(value: type, _depth: int) -> Json:
    name = name_of(value)
    if name is None:
        hint = f"a class is stored by its registered name: dalsegno.register({value.__name__})"
        raise Refusal(value, hint, f"class {value.__qualname__}")
    return {"$class": name}


def _named(tag: str) -> Decoder:
    def decode(tree: dict[str, Json]) -> object:
        entry = find(tree[tag], tag)
        if entry.plan is None or entry.plan.tag != tag:
            raise damaged(tag, f"a type written as {tag}", tree[tag])
        return entry.plan.decode(tree)

    return decode


ENCODERS[type] = _class
CLONERS[type] = _shared
DECODERS["$class"] = lambda tree: find(only(tree, "$class"), "$class").cls
for _tag in ("$type", "$enum", "$error", "$m"):
    DECODERS[_tag] = _named(_tag)
RESOLVERS.append(_resolve)
