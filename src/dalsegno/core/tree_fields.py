"""Reading and changing one field of a stored value, before it is decoded.

Rules of this module:

* The same operations as `fields`, on the codec's trees: so an object can be brought into the form its class has today
  before the class is asked to take it, and what is dropped is never decoded.
* A holder of fields is a plain dict in any of its spellings, or an object (`$type`, `$m`) with the attributes in its
  envelope. A holder of elements is a list, tuple, deque, or plain dict. Sets hold none: their order is their text.
* A tree that does not have the shape it should is left as it is; reading it reports the damage.
* Nothing is changed in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dalsegno.core import codec
from dalsegno.core.fields import MISSING
from dalsegno.core.tree import is_plain_object, is_plain_text, order_note, read_order, stored_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from dalsegno.core.tree import Json

    Pairs = list[tuple[Json, Json]]

__all__ = ["drop", "each", "fresh", "get", "put", "rename"]

_OBJECTS: Final = ("$type", "$m")
_AROUND: Final = ("$defaultdict", "$ordereddict", "$counter", "$value")
"""Where the envelope of a dict's kin, or of a subclass, keeps the dict."""
_LISTS: Final = ("$tuple", "$deque", "$value")
_BESIDE: Final = ("$extra", "$attributes")
"""Where an object's envelope keeps attributes that its class did not declare."""
_NOTES: Final = ("$absent", "$unset", "$given")
"""Lists of field names in an object's envelope."""


def fresh(value: Any) -> Json:
    """A value as it is stored."""
    return codec.encode(value, "the value of a Default")


def get(holder: Any, name: str) -> Any:
    """The value of a field, or `MISSING`."""
    if _is_object(holder):
        if name in holder:
            return holder[name]
        found = (get(holder[place], name) for place in _BESIDE if place in holder)
        return next((value for value in found if value is not MISSING), MISSING)
    return next((value for key, value in _pairs(holder) or () if key == name), MISSING)


def put(holder: Any, name: str, value: Any) -> Any:
    """The holder with a field set."""
    if _is_object(holder):
        if name in holder:
            return {**holder, name: value}
        return {**_noted(_without(holder, name), {"$given": [name]} if "$given" in holder else {}), name: value}
    pairs = _pairs(holder)
    if pairs is None:
        return holder
    if all(key != name for key, _ in pairs):
        return _rebuilt(holder, [*pairs, (name, value)])
    return _rebuilt(holder, [(key, value if key == name else inner) for key, inner in pairs])


def drop(holder: Any, name: str) -> Any:
    """The holder without a field."""
    if get(holder, name) is MISSING:
        return holder
    if _is_object(holder):
        return _without(holder, name)
    return _rebuilt(holder, [(key, inner) for key, inner in _pairs(holder) or () if key != name])


def rename(holder: Any, name: str, to: str) -> Any:
    """The holder with a field under another name; where both names are there, both stay."""
    value = get(holder, name)
    if value is MISSING or get(holder, to) is not MISSING:
        return holder
    if _is_object(holder):
        notes = {note: [to] for note in _NOTES if name in _names(holder, note)}
        return {**_noted(_without(_without(holder, name), to), notes), to: value}
    return _rebuilt(holder, [(to if key == name else key, inner) for key, inner in _pairs(holder) or ()])


def each(holder: Any, change: Callable[[Any], Any]) -> Any:
    """The holder with every element changed; the holder itself when no element became another object."""
    if isinstance(holder, list):
        made = [change(inner) for inner in holder]
        return holder if all(a is b for a, b in zip(made, holder, strict=True)) else made
    tag = next((tag for tag in _LISTS if isinstance(holder, dict) and isinstance(holder.get(tag), list)), None)
    if tag is not None:
        inside = each(holder[tag], change)
        return holder if inside is holder[tag] else {**holder, tag: inside}
    pairs = _pairs(holder) or []
    changed = [(key, change(inner)) for key, inner in pairs]
    same = all(a[1] is b[1] for a, b in zip(changed, pairs, strict=True))
    return holder if same else _rebuilt(holder, changed)


# --- plain dicts ------------------------------------------------------------------------------------


def _pairs(holder: Any) -> Pairs | None:
    """Keys and values of a plain dict in their order; None for what is none."""
    if not isinstance(holder, dict):
        return None
    if is_plain_object(holder):
        keys = stored_order([key for key in holder if key != "$keys"])
        ordered = read_order(holder["$keys"], keys) if "$keys" in holder else keys
        return None if ordered is None else [(key, holder[key]) for key in ordered]
    if "$map" in holder:
        pairs = holder["$map"]
        if not isinstance(pairs, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in pairs):  # noqa: PLR2004 - key, value
            return None
        return [(key, value) for key, value in pairs]
    around = next((tag for tag in _AROUND if tag in holder), None)
    return None if around is None else _pairs(holder[around])


def _rebuilt(holder: dict[str, Json], pairs: Pairs) -> Json:
    """A plain dict of the same spelling with other keys and values."""
    around = next((tag for tag in _AROUND if tag in holder), None)
    if around is not None:
        inner = holder[around]
        return {**holder, around: _rebuilt(inner if isinstance(inner, dict) else {}, pairs)}
    keys = [key for key, _ in pairs if isinstance(key, str) and key[:1] != "$" and is_plain_text(key)]
    if "$map" in holder or len(keys) != len(pairs):
        return {"$map": [[key, value] for key, value in pairs]}
    order = order_note(keys)
    made = dict(zip(keys, (value for _, value in pairs), strict=True))
    return made if order is None else {"$keys": order, **made}


# --- objects ----------------------------------------------------------------------------------------


def _is_object(holder: Any) -> bool:
    return isinstance(holder, dict) and "$value" not in holder and any(tag in holder for tag in _OBJECTS)


def _names(holder: dict[str, Any], note: str) -> list[Any]:
    found = holder.get(note)
    return found if isinstance(found, list) else []


def _without(holder: dict[str, Any], name: str) -> dict[str, Any]:
    """An object without a field, wherever it stood, and without a note about it."""
    made = {key: value for key, value in holder.items() if key != name}
    for place in _BESIDE:
        if place in made:
            made[place] = drop(made[place], name)
    for note in _NOTES:
        if note in made:
            made[note] = [other for other in _names(made, note) if other != name]
    return made


def _noted(holder: dict[str, Any], notes: dict[str, list[str]]) -> dict[str, Any]:
    """An object with names added to its notes."""
    return {**holder, **{note: [*_names(holder, note), *names] for note, names in notes.items()}}
