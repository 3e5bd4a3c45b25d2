"""Walking a value or a tree: dispatch by exact type, paths, depth.

Rules of this module:

* A value is encoded by the handler of its exact type. A subclass never falls back to its base: it has a
  handler of its own or is refused.
* An object in a tree that has a key starting with `$` is an envelope; every other object is a plain dict.
  An envelope is read by the decoder of its tag. A tag without a decoder is damage.
* A decoder that fails on the shape it finds reports damage; it never guesses.
* A refusal gathers its path while it passes through the containers around it, so that success costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeAlias

from dalsegno.core.tree import MAX_DEPTH, Json
from dalsegno.errors import Damaged

__all__ = [
    "ATOMS",
    "CLONERS",
    "DECODERS",
    "ENCODERS",
    "LEAVES",
    "RESOLVERS",
    "Cloner",
    "Decoder",
    "Encoder",
    "Refusal",
    "damaged",
    "dec",
    "deeper",
    "dup",
    "enc",
    "integers",
    "listed",
    "only",
    "part",
    "type_name",
]

Encoder: TypeAlias = Callable[[Any, int], Json]
"""Takes a value and the level its tree will stand at; the level of a whole tree is 1."""
Decoder: TypeAlias = Callable[[dict[str, Json]], object]
"""Takes the whole envelope."""
Cloner: TypeAlias = Callable[[Any], object]

_CYCLE = "contains itself, and a cycle has no end to store: keep an id in place of the way back"
_TOO_DEEP = "nested too deeply to be stored: flatten it, or keep it outside and its id in the state"
_CODE = "code is not state: keep a name in the state and look the function up when needed"
_RESOURCE = "keep an id in the state and open it when needed"
_ARRAY = "only a plain numpy array is stored: convert it with numpy.asarray, and keep what that loses beside it"
_SUBCLASS = "a subclass is stored when it is registered: dalsegno.register({0}), or convert it to {1}"
_UNKNOWN = "not a type that is stored unasked: dalsegno.register({0}) if it is plain data, else keep an id in the state"
_PLAIN = (str, int, float, complex, bytes, bytearray, tuple, list, dict, set, frozenset)


# --- refusing a value -----------------------------------------------------------------------------


class Refusal(Exception):
    """A value that cannot be stored; collects the way to it from the inside out.

    Never leaves the core: `encode` turns it into `NotSerializable`.
    """

    def __init__(self, value: object, hint: str, name: str | None = None) -> None:
        super().__init__(hint)
        self.hint = hint
        self.type_name = name or type_name(type(value))
        self._trail: list[tuple[object, int]] = []

    def within(self, key: object, container: object) -> None:
        """Note the key and the container it passed through."""
        self._trail.append((key, id(container)))

    def place(self, root: str) -> str:
        """The path from the root, such as `state.people[3].name`; a cycle's path ends where it closes."""
        seen: set[int] = set()
        path = root
        for key, container in reversed(self._trail):
            if container in seen:
                self.hint = _CYCLE
                break
            seen.add(container)
            path += f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r:.60}]"
        return path


def type_name(cls: type) -> str:
    """A class as people write it: `psycopg.Connection`, `int`."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _refuse(value: Any, _depth: int = 0) -> NoReturn:
    cls = type(value)
    base = next((base for base in _PLAIN if isinstance(value, base)), None)
    if callable(value) and hasattr(value, "__code__"):
        hint = _CODE
    elif hasattr(value, "__array__"):
        hint = _ARRAY
    elif base is not None:
        hint = _SUBCLASS.format(cls.__name__, base.__name__)
    elif any(hasattr(value, sign) for sign in ("close", "fileno", "acquire", "cancel")):
        hint = _RESOURCE
    else:
        hint = _UNKNOWN.format(cls.__name__)
    raise Refusal(value, hint)


def deeper(value: object, depth: int) -> int:
    """The level of what stands inside a value.

    Raises:
        Refusal: the value itself stands too deep.
    """
    if depth > MAX_DEPTH:
        raise Refusal(value, _TOO_DEEP)
    return depth + 1


# --- the tables -----------------------------------------------------------------------------------

RESOLVERS: Final[list[Callable[[type], bool]]] = []
"""Asked in turn for a class without a handler; one that knows it adds the handlers and says True."""


def _resolved(cls: type) -> bool:
    return any(resolve(cls) for resolve in RESOLVERS)


class _Encoders(dict[type, Encoder]):
    def __missing__(self, cls: type) -> Encoder:
        return self[cls] if _resolved(cls) else _refuse


class _Cloners(dict[type, Cloner]):
    def __missing__(self, cls: type) -> Cloner:
        return self[cls] if _resolved(cls) else _refuse


ENCODERS: Final = _Encoders()
CLONERS: Final = _Cloners()
DECODERS: Final[dict[str, Decoder]] = {}
ATOMS: Final[set[type]] = set()
"""Immutable types without changeable parts: a clone shares their values."""


def enc(value: object, depth: int) -> Json:
    """Encode one value whose tree will stand at level `depth`."""
    return ENCODERS[type(value)](value, depth)


def part(key: object, value: object, owner: object, depth: int) -> Json:
    """Encode one part of a value; a refusal's path gets the part's key."""
    try:
        return ENCODERS[type(value)](value, depth)
    except Refusal as refusal:
        refusal.within(key, owner)
        raise


def dup(value: Any) -> Any:
    """Clone one value."""
    return CLONERS[type(value)](value)


# --- reading a tree -------------------------------------------------------------------------------


LEAVES: Final = frozenset((str, int, float, bool, type(None)))
"""What stands in a tree for itself."""


def dec(tree: Json) -> Any:
    """Decode one tree."""
    if type(tree) is dict:
        for key in tree:
            if key[:1] == "$":
                return _envelope(tree, key)
        return {key: item if type(item) in LEAVES else dec(item) for key, item in tree.items()}
    if type(tree) is list:
        return [item if type(item) in LEAVES else dec(item) for item in tree]
    return tree


_MALFORMED = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, re.error, Warning)


def _envelope(tree: dict[str, Json], tag: str) -> object:
    decoder = DECODERS.get(tag)
    if decoder is None:
        known = (key for key in tree if key in DECODERS)
        tag = next(known, tag)
        decoder = DECODERS.get(tag)
        if decoder is None:
            raise damaged(tag, "a tag of this format", tree)
    try:
        return decoder(tree)
    except _MALFORMED as error:
        raise damaged(tag, "a value this tag can hold", tree) from error


def damaged(tag: str, expected: str, found: object) -> Damaged:
    """The error for an envelope that no encoder writes."""
    shown = f"keys {list(found)!r:.200}" if isinstance(found, dict) else f"{found!r:.200}"
    return Damaged(f"stored value, envelope {tag}", expected=expected, found=shown)


def only(tree: dict[str, Json], tag: str, *also: str) -> Any:
    """The content of an envelope that may have no keys but these."""
    if len(tree) > 1 and any(key != tag and key not in also for key in tree):
        raise damaged(tag, f"no keys but {[tag, *also]}", tree)
    return tree[tag]


def listed(tree: dict[str, Json], tag: str, *also: str) -> list[Json]:
    """The content of an envelope, which must be a list."""
    content = only(tree, tag, *also)
    if type(content) is not list:
        raise damaged(tag, "a list", content)
    return content


def integers(tree: dict[str, Json], tag: str, count: int) -> list[int]:
    """The content of an envelope, which must be a list of so many integers."""
    content = [dec(each) for each in listed(tree, tag)]
    if len(content) != count or any(type(each) is not int for each in content):
        raise damaged(tag, f"{count} integers", content)
    return content
