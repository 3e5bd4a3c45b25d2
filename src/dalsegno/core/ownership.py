"""Fields of a state: who writes each, what it may hold, and whether it is kept at all.

Rules of this module:

* An owner is a node. What comes from outside of the graph, a run's input or a person's update, has no node: it may
  write every field, and is held to types and sizes like everyone else. Reading is free.
* What is written is held to the field's type exactly: nothing is converted. Where a reducer merges writes, what it is
  given is its own business; the type is that of what it makes, and only the outermost of it is looked at, so that a
  long list costs no more than a short one.
* A required field that nobody owns belongs to the input. One that has an owner is there once an owner has run.
* `keep="reference"` holds references: no text and no bytes in it may be longer than its limit.
* `scope="run"` says how one run goes. Such a field is never stored, so a resume does not play it again.
* Mistakes in a declaration are found when it is made. Pure values: no clock, no I/O.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError

from dalsegno.core import fields
from dalsegno.core.migrations import is_count
from dalsegno.errors import Misuse, NotOwner, StateShapeError

__all__ = ["MISSING", "OUTSIDE", "Field", "check_fields", "filled", "missing_of"]

MISSING: Final = fields.MISSING
"""Stands for a default or a type that was not given."""

OUTSIDE: Final = frozenset({"", "__input__", "__start__"})
"""What LangGraph calls a writer that is no node."""

_LIMIT: Final = 4096
_DEEP: Final = 32


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a state.

        Field("verdict", owner="judge", type=str, required=True, journal=True)
        Field("attachments", owner=("intake", "fetch"), reducer=operator.add, keep="reference")
        Field("model_override", scope="run")

    Attributes:
        name: of the channel.
        owner: the node that writes it, or several of them; none: every node may.
        reducer: what merges writes of one superstep; the graph's own annotation has to say the same.
        type: what it holds: a class or an annotation. Left out: anything.
        default: what a state that has begun and lacks the field is given when a run reads it; a copy each time.
        required: it may not be missing or None: see the module's rules.
        keep: `value`, or `reference`: bodies stay out of it.
        limit_bytes: how long a text may be in a field that keeps references.
        scope: `state`, or `run`: it says how this run goes, and is not stored.
        journal: whether each write becomes an event, with the node that made it, its time and the value.

    Raises:
        Misuse: the declaration contradicts itself.
    """

    name: str
    owner: str | Sequence[str] = field(default=(), kw_only=True)
    reducer: Callable[[Any, Any], Any] | None = field(default=None, kw_only=True)
    type: Any = field(default=MISSING, kw_only=True)
    default: Any = field(default=MISSING, kw_only=True)
    required: bool = field(default=False, kw_only=True)
    keep: Literal["value", "reference"] = field(default="value", kw_only=True)
    limit_bytes: int = field(default=_LIMIT, kw_only=True)
    scope: Literal["state", "run"] = field(default="state", kw_only=True)
    journal: bool = field(default=False, kw_only=True)
    _adapter: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _is_name(self.name) or any(mark in self.name for mark in ".[]"):
            raise Misuse(
                f"Field({self.name!r}): a field is named like a channel of the graph's state, such as `verdict`."
            )
        owners = (self.owner,) if isinstance(self.owner, str) else tuple(self.owner)
        if not all(map(_is_name, owners)):
            raise Misuse(f"Field({self.name!r}): owner={self.owner!r}; name a node of the graph, or several.")
        object.__setattr__(self, "owner", owners)
        for key, words in (("keep", ("value", "reference")), ("scope", ("state", "run"))):
            if getattr(self, key) not in words:
                raise Misuse(
                    f"Field({self.name!r}): {key}={getattr(self, key)!r}; use {' or '.join(map(repr, words))}."
                )
        reducer: Any = self.reducer
        if reducer is not None and not callable(reducer):
            raise Misuse(
                f"Field({self.name!r}): reducer={self.reducer!r}; give a function of two values, as LangGraph does."
            )
        if not is_count(self.limit_bytes):
            raise Misuse(f"Field({self.name!r}): limit_bytes={self.limit_bytes!r}; give a whole number of bytes.")
        if self.scope == "run" and (self.journal or self.required or self.keep == "reference"):
            raise Misuse(
                f"Field({self.name!r}): a field of one run is never stored, so it takes no journal, required or keep; "
                f"leave them out."
            )
        if self.type is not MISSING:
            object.__setattr__(self, "_adapter", _adapter_of(self.name, self.type))
        if self.default is not MISSING:
            self._check_default()

    @property
    def owners(self) -> tuple[str, ...]:
        """The nodes that write it; none when every node may."""
        return tuple(self.owner)

    def check_owner(self, node: str | None) -> None:
        """Refuse a node that does not own the field; None and LangGraph's words for the outside pass.

        Raises:
            NotOwner: it is another node's.
        """
        if node is not None and node not in OUTSIDE and self.owners and node not in self.owners:
            raise NotOwner(self.name, node=node, owners=self.owners)

    def check(self, value: Any, path: str = "", *, whole: bool | None = None) -> None:
        """Check what is written.

        Args:
            value: what was written; without LangGraph's `Overwrite` around it.
            path: where it stands; the field's name if left out.
            whole: whether it is the field's new value, and not what a reducer is given. None: unless it has a reducer.

        Raises:
            StateShapeError: None where the field is required, another type, or a body where references belong.
        """
        path = path or self.name
        whole = self.reducer is None if whole is None else whole
        if value is None and self.required and whole:
            raise StateShapeError(
                path, f"{path} is required and was written as None; leave it out, or write its value."
            )
        if whole and self._adapter is not None and value is not None:
            self._check_type(value, path)
        if self.keep == "reference":
            for place, size in _bodies(value, path, self.limit_bytes):
                raise StateShapeError(
                    place,
                    f"{place} is {size:,} bytes long, and {self.name} keeps references of at most "
                    f"{self.limit_bytes:,}; store the body elsewhere and write its id or address.",
                )

    def check_container(self, value: Any) -> None:
        """Check the outermost of what a reducer has made.

        Raises:
            StateShapeError: it is of another kind.
        """
        kind = get_origin(self.type) or self.type
        if self.type is not MISSING and isinstance(kind, type) and not isinstance(value, kind):
            raise _mistyped(self.name, self.type, type(value).__name__)

    def _check_type(self, value: Any, path: str) -> None:
        try:
            made = self._adapter.validate_python(value, strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=True)[0]
            place = path + "".join(f".{step}" if isinstance(step, str) else f"[{step!r}]" for step in first["loc"])
            raise _mistyped(place, self.type, f"{type(first['input']).__name__} ({first['msg']})") from None

        if (other := _converted(made, value, path)) is not None:
            raise _mistyped(other, self.type, "of another form, which would have to be converted")

    def _check_default(self) -> None:
        try:
            self.check(self.default, whole=True)
        except StateShapeError as error:
            raise Misuse(f"Field({self.name!r}): its default does not fit: {error}") from None


def check_fields(given: Sequence[Any]) -> tuple[Field, ...]:
    """The fields of a schema.

    Raises:
        Misuse: one is something else, or stands there twice.
    """
    if isinstance(given, (str, Mapping)):
        raise Misuse(f"fields are a list of dalsegno.Field, not {type(given).__name__}.")
    names: set[str] = set()
    for each in given:
        if not isinstance(each, Field):
            raise Misuse(f"fields are a list of dalsegno.Field; {each!r} is none.")
        if each.name in names:
            raise Misuse(f"the field {each.name!r} is declared twice; one declaration says all of it.")
        names.add(each.name)
    return tuple(given)


def missing_of(declared: Sequence[Field], has: Callable[[str], bool], ran: Collection[str]) -> Field | None:
    """The first required field that a state lacks; see the module's rules.

    Args:
        declared: the schema's fields.
        has: whether the state has a field, and it is not None.
        ran: nodes that have run.
    """
    for each in declared:
        due = not each.owners or any(owner in ran for owner in each.owners)
        if each.required and each.default is MISSING and due and not has(each.name):
            return each
    return None


def filled(values: Mapping[str, Any], declared: Sequence[Field]) -> Mapping[str, Any]:
    """A state with the defaults of the fields that it lacks; the same object when it lacks none."""
    lacking = [
        each for each in declared if each.default is not MISSING and each.scope == "state" and each.name not in values
    ]
    if not lacking:
        return values
    return {**values, **{each.name: copy.deepcopy(each.default) for each in lacking}}


def _mistyped(path: str, wanted: Any, found: str) -> StateShapeError:
    return StateShapeError(
        path, f"{path} is {found}, and the schema says {_named(wanted)}; write that, or change the schema."
    )


def _named(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) and not get_args(annotation) else repr(annotation)


def _adapter_of(name: str, annotation: Any) -> TypeAdapter[Any]:
    if isinstance(annotation, str):
        raise Misuse(f"Field({name!r}): type={annotation!r} is a text; give the type itself.")
    try:
        return TypeAdapter(annotation, config=ConfigDict(arbitrary_types_allowed=True))
    except PydanticUserError as error:
        if error.code != "type-adapter-config-unused":
            raise Misuse(f"Field({name!r}): type={annotation!r} cannot be checked: {error.message}") from None
    except (PydanticSchemaGenerationError, TypeError, NameError) as error:
        raise Misuse(f"Field({name!r}): type={annotation!r} cannot be checked: {error}") from None
    return TypeAdapter(annotation)


def _converted(made: Any, value: Any, path: str) -> str | None:
    """The first place where a check has made something else of a value, such as a model of a dictionary."""
    if type(made) is not type(value):
        return path
    if isinstance(value, Mapping):
        extra = next((key for key in value if key not in made), MISSING)
        if extra is not MISSING:
            return f"{path}.{extra}"
        pairs = ((f"{path}.{key}", made[key], part) for key, part in value.items())
    elif isinstance(value, (list, tuple)):
        pairs = ((f"{path}[{at}]", *pair) for at, pair in enumerate(zip(made, value, strict=True)))
    else:
        return None
    found = (_converted(inner, part, place) for place, inner, part in pairs)
    return next((place for place in found if place is not None), None)


def _bodies(value: Any, path: str, limit: int, depth: int = 0) -> Iterator[tuple[str, int]]:
    """Texts and bytes over a limit, with their places."""
    if isinstance(value, str):
        size = len(value) if len(value) * 4 <= limit else len(value.encode(errors="surrogatepass"))
        if size > limit:
            yield path, size
    elif isinstance(value, (bytes, bytearray, memoryview)):
        if len(value) > limit:
            yield path, len(value)
    elif depth < _DEEP:
        for place, part in _parts(value, path):
            yield from _bodies(part, place, limit, depth + 1)


def _parts(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield (f"{path}.{key}" if isinstance(key, str) and key.isidentifier() else f"{path}[{key!r:.60}]"), part
    elif (inside := fields.elements(value)) is not None:
        for at, part in inside:
            yield path + at, part
    else:
        names: Any = getattr(type(value), "model_fields", None) or getattr(value, "__dataclass_fields__", ())
        for name in names:
            yield f"{path}.{name}", getattr(value, name, None)


def _is_name(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip()) and text == text.strip()
