"""Names for classes, so that stored values never name a thing to import.

Rules of this module:

* The registry maps names to live classes of this process. Reading looks a name up here and nowhere else.
* A class is named `module:qualname` unless it was registered under a name of its own. A stored name is only a
  key: no module is imported, no attribute is followed.
* Writing a value of an enum, dataclass, pydantic model, named tuple or exception registers its class. Any other
  class must be registered by the program.
* What a registered class is made of is registered with it. Annotations are looked at again when a name is unknown:
  by then they name classes that were not there before.
* The newest class of a name wins, as after a module is reloaded. But a name given by hand to a class that is
  called otherwise is not taken away by a class that merely appears.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from dalsegno.core.annotations import reachable
from dalsegno.core.tree import Json, is_plain_text
from dalsegno.core.walk import CLONERS, DECODERS, ENCODERS, RESOLVERS, Cloner, Decoder, Encoder, Refusal, damaged, only
from dalsegno.errors import Misuse, UnknownType

__all__ = ["KINDS", "Plan", "add", "add_native", "add_roots", "default_name", "name_of", "plan_for"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How values of one class are written, read and cloned."""

    tag: str
    encode: Encoder
    decode: Decoder
    clone: Cloner


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A name's class; `plan` is None for built-in types, whose values have tags of their own."""

    cls: type
    plan: Plan | None
    by_hand: bool


class Kind(Protocol):
    """Makes plans for the classes of one kind."""

    def __call__(self, cls: type, name: str, *, by_hand: bool) -> Plan | None:
        """The plan for a class, or None; `by_hand` says whether the program asked for this class."""


KINDS: Final[list[Kind]] = []
"""Asked in turn."""
_BY_NAME: Final[dict[str, _Entry]] = {}
_NAMES: Final[dict[type, str]] = {}
_ROOTS: Final[set[type]] = set()
"""Classes the program gave, and those reached from them, registered or not."""


def default_name(cls: type) -> str:
    """`module:qualname`; a built-in class by its bare name."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}:{cls.__qualname__}"


def plan_for(cls: type, name: str, *, by_hand: bool) -> Plan | None:
    """The first plan any kind has for a class."""
    plans = (kind(cls, name, by_hand=by_hand) for kind in KINDS)
    return next((plan for plan in plans if plan is not None), None)


def add(cls: type, name: str, plan: Plan, *, by_hand: bool, aliases: Iterable[str] = ()) -> None:
    """Put a class under its name and give the walk its handlers.

    Raises:
        Misuse: the class or the name is a built-in type's, or the name cannot be stored.
    """
    names = (name, *aliases)
    native = [each for each in (*names, _NAMES.get(cls, "")) if each in _BY_NAME and _BY_NAME[each].plan is None]
    if native or not all(map(is_plain_text, names)):
        msg = f"register({cls.__qualname__}, {names!r:.80}): {native or names} cannot be taken: use another name"
        raise Misuse(msg)
    for each in names:
        before = _BY_NAME.get(each)
        _BY_NAME[each] = _Entry(cls=cls, plan=plan, by_hand=by_hand)
        if before is not None and before.cls is not cls and _NAMES.get(before.cls) == each:
            _forget(before.cls)
    _NAMES[cls] = name
    ENCODERS[cls] = plan.encode
    CLONERS[cls] = plan.clone


def _forget(cls: type) -> None:
    _NAMES.pop(cls, None)
    _ROOTS.discard(cls)
    ENCODERS.pop(cls, None)
    CLONERS.pop(cls, None)


def add_native(cls: type) -> None:
    """Let a class be named in values, as a factory is, though its own values have tags."""
    if cls not in _NAMES:
        _NAMES[cls] = default_name(cls)
        _BY_NAME[default_name(cls)] = _Entry(cls=cls, plan=None, by_hand=True)


def name_of(cls: type) -> str | None:
    """The name of a class, registering it if its kind allows; None for a class that needs the program's word."""
    if cls not in _NAMES and not issubclass(cls, type):
        _resolve(cls)
    return _NAMES.get(cls)


def add_roots(*annotations: object) -> None:
    """Register every class that annotations reach and that may be registered unasked."""
    for cls in reachable(*annotations):
        name_of(cls)
        _ROOTS.add(cls)


def _resolve(cls: type) -> bool:
    if issubclass(cls, type):
        ENCODERS[cls] = _class
        CLONERS[cls] = _clone_class
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


# --- names in trees -------------------------------------------------------------------------------


def _find(name: Json, tag: str) -> _Entry:
    if type(name) is not str:
        raise damaged(tag, "the name of a type", name)
    if name not in _BY_NAME:
        for cls in [each for each in reachable(*_ROOTS) if default_name(each) not in _BY_NAME]:
            name_of(cls)
    entry = _BY_NAME.get(name)
    if entry is None:
        known = name.rpartition(":")[2].rpartition(".")[2]
        msg = (
            f"a stored value has type {name!r:.200}, which is not registered in this process and is never imported "
            f"by name: call dalsegno.register({known:.60}) before reading"
        )
        raise UnknownType(msg)
    return entry


def _named(tag: str) -> Decoder:
    def decode(tree: dict[str, Json]) -> object:
        entry = _find(tree[tag], tag)
        if entry.plan is None or entry.plan.tag != tag:
            raise damaged(tag, f"a type written as {tag}", tree[tag])
        return entry.plan.decode(tree)

    return decode


def _class(value: type, _depth: int) -> Json:
    name = name_of(value)
    if name is None:
        hint = f"a class is stored by its registered name: dalsegno.register({value.__name__})"
        raise Refusal(value, hint, f"class {value.__qualname__}")
    return {"$class": name}


def _clone_class(value: type) -> type:
    _class(value, 1)
    return value


ENCODERS[type] = _class
CLONERS[type] = _clone_class
DECODERS["$class"] = lambda tree: _find(only(tree, "$class"), "$class").cls
for _tag in ("$type", "$enum", "$error", "$m"):
    DECODERS[_tag] = _named(_tag)
RESOLVERS.append(_resolve)
