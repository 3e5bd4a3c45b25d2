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

from dalsegno.core.tree import MAX_DEPTH, Json, is_plain_text, permutation, stored_order
from dalsegno.errors import Damaged

__all__ = [
    "ATOMS",
    "CLONERS",
    "DECODERS",
    "ENCODERS",
    "RESOLVERS",
    "Cloner",
    "Decoder",
    "Encoder",
    "Refusal",
    "damaged",
    "dec",
    "dup",
    "enc",
    "only",
    "type_name",
]

Encoder: TypeAlias = Callable[[Any, int], Json]
"""Takes a value and the level its tree will stand at."""
Decoder: TypeAlias = Callable[[dict[str, Json]], object]
"""Takes the whole envelope."""
Cloner: TypeAlias = Callable[[Any], object]

TOO_DEEP = "nested too deeply to be stored: flatten it, or keep it outside and its id in the state"
RESOURCE = "keep an id in the state and open it when needed"
SUBCLASS = "a subclass is stored only when it is registered: dalsegno.register({0}), or convert it to {1}"
UNKNOWN = "not a type that can be stored: dalsegno.register({0}, encode=..., decode=...), or keep plain values"
CODE = "code is not state: keep a name in the state and look the function up when needed"
PLAIN_BASES = (str, int, float, complex, bytes, bytearray, tuple, list, dict, set, frozenset)


class Refusal(Exception):
    """A value that cannot be stored; collects the way to it from the inside out.

    Never leaves the core: `encode` turns it into `NotSerializable`.
    """

    def __init__(self, value: object, hint: str, name: str | None = None) -> None:
        super().__init__(hint)
        self.hint = hint
        self.type_name = name or type_name(type(value))
        self.trail: list[tuple[object, int]] = []

    def within(self, key: object, container: object) -> None:
        """Note the key and the container it passed through."""
        self.trail.append((key, id(container)))

    def place(self, root: str) -> str:
        """The path from the root, such as `state.people[3].name`; a cycle's path ends where it closes."""
        seen: set[int] = set()
        path = root
        for key, container in reversed(self.trail):
            if container in seen:
                self.hint = "contains itself: a cycle has no end to store; keep an id in place of the way back"
                break
            seen.add(container)
            if isinstance(key, str) and key.isidentifier():
                path += f".{key}"
            else:
                path += f"[{key!r:.60}]"
        return path


def type_name(cls: type) -> str:
    """A class as people write it: `psycopg.Connection`, `int`."""
    if cls.__module__ == "builtins":
        return cls.__qualname__
    return f"{cls.__module__}.{cls.__qualname__}"


def _refuse(value: Any, _depth: int = 0) -> NoReturn:
    cls = type(value)
    if callable(value) and hasattr(value, "__code__"):
        hint = CODE
    elif hasattr(value, "close") or hasattr(value, "fileno") or hasattr(value, "acquire"):
        hint = RESOURCE
    else:
        base = next((base for base in PLAIN_BASES if isinstance(value, base)), None)
        hint = SUBCLASS.format(cls.__name__, base.__name__) if base else UNKNOWN.format(cls.__name__)
    raise Refusal(value, hint)


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
ATOMS: Final[set[type]] = {type(None), bool, int, float, str, bytes, complex}
"""Immutable types without parts: a clone shares them."""


def enc(value: object, depth: int) -> Json:
    """Encode one value whose tree will stand at level `depth`."""
    return ENCODERS[type(value)](value, depth)


def dup(value: Any) -> Any:
    """Clone one value."""
    return CLONERS[type(value)](value)


# --- plain containers: values to trees ------------------------------------------------------------


def items(value: Any, depth: int) -> list[Json]:
    """Encode the elements of a sequence."""
    if depth > MAX_DEPTH:
        raise Refusal(value, TOO_DEEP)
    out: list[Json] = []
    depth += 1
    try:
        for item in value:
            out.append(ENCODERS[type(item)](item, depth))  # noqa: PERF401 - a failing element is found by len(out)
    except Refusal as refusal:
        refusal.within(len(out), value)
        raise
    return out


_ORDERS: dict[tuple[str, ...], list[int] | None] = {}
"""Permutations of key tuples seen before; only short ones, emptied when full."""
_ORDERS_LIMIT, _ORDERS_KEYS, _ORDERS_TEXT = 4096, 24, 400


def _order(keys: tuple[str, ...]) -> list[int] | None:
    order = permutation(keys)
    if len(keys) <= _ORDERS_KEYS and sum(map(len, keys)) <= _ORDERS_TEXT:
        if len(_ORDERS) >= _ORDERS_LIMIT:
            _ORDERS.clear()
        _ORDERS[keys] = order
    return order


def _is_plain_key(key: str) -> bool:
    return key[:1] != "$" and is_plain_text(key)


def mapping(value: dict[Any, Any], depth: int) -> Json:
    """Encode a dict's entries: an object when every key is plain text, else pairs."""
    if depth > MAX_DEPTH:
        raise Refusal(value, TOO_DEEP)
    for key in value:
        if type(key) is not str:
            return _pairs(value, depth)
    keys = tuple(value)
    try:
        order = _ORDERS[keys]
    except KeyError:
        if not all(map(_is_plain_key, keys)):
            return _pairs(value, depth)
        order = _order(keys)
    out: dict[str, Json] = {}
    if order is not None:
        out["$keys"] = list(order)
    depth += 1
    key = None
    try:
        for key, item in value.items():
            out[key] = ENCODERS[type(item)](item, depth)
    except Refusal as refusal:
        refusal.within(key, value)
        raise
    return out


def _pairs(value: dict[Any, Any], depth: int) -> Json:
    out: list[Json] = []
    depth += 3
    key = None
    try:
        for key, item in value.items():
            out.append([enc(key, depth), enc(item, depth)])
    except Refusal as refusal:
        refusal.within(key, value)
        raise
    return {"$map": out}


# --- plain containers: trees to values ------------------------------------------------------------


def dec(tree: Json) -> Any:
    """Decode one tree."""
    kind = type(tree)
    if kind is str:
        return tree
    if kind is dict:
        for key in tree:  # type: ignore[union-attr]
            if key[:1] == "$":
                return _envelope(tree)  # type: ignore[arg-type]
        return {key: dec(item) for key, item in tree.items()}  # type: ignore[union-attr]
    if kind is list:
        return [dec(item) for item in tree]  # type: ignore[union-attr]
    return tree


_MALFORMED = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, re.error)


def _envelope(tree: dict[str, Json]) -> object:
    for key in tree:
        decoder = DECODERS.get(key)
        if decoder is not None:
            try:
                return decoder(tree)
            except (Damaged, RecursionError):
                raise
            except _MALFORMED as error:
                raise damaged(key, "a value this tag can hold", tree) from error
    tag = next(key for key in tree if key[:1] == "$")
    raise damaged(tag, "a tag of this format", tree)


def damaged(tag: str, expected: str, found: object) -> Damaged:
    """The error for an envelope that no encoder writes."""
    shown = f"{found!r:.200}" if not isinstance(found, dict) else f"keys {list(found)!r:.200}"
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


def _ordered(tree: dict[str, Json]) -> dict[str, object]:
    order = tree["$keys"]
    keys = [key for key in tree if key != "$keys"]
    if type(order) is not list or any(key[:1] == "$" for key in keys):
        raise damaged("$keys", "a permutation of the other keys", tree)
    if [*map(type, order)] != [int] * len(keys) or sorted(order) != list(range(len(keys))):  # type: ignore[type-var]
        raise damaged("$keys", f"a permutation of {len(keys)} keys", order)
    keys = stored_order(keys)
    return {key: dec(tree[key]) for key in [keys[place] for place in order]}  # type: ignore[index]


def _paired(tree: dict[str, Json]) -> dict[object, object]:
    out: dict[object, object] = {}
    pairs = listed(tree, "$map")
    for pair in pairs:
        if type(pair) is not list:
            raise damaged("$map", "pairs of key and value", pair)
        key, item = pair
        out[dec(key)] = dec(item)
    if len(out) != len(pairs):
        raise damaged("$map", "keys that differ", pairs)
    return out


DECODERS["$keys"] = _ordered
DECODERS["$map"] = _paired
