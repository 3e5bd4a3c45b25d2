"""Migrations of a state: what a field was, and what it is since a version.

Rules of this module:

* A migration renames, fills in, or drops a field. It makes no decision and cannot fail: where its path leads nowhere,
  nothing happens. Applied twice, it changes nothing more. It never changes the value it is given.
* A path goes from field to field; `[]` stands for every element of a list, or every value of a mapping:
  `attachments[].url`, `plan.steps[].tool.name`, `drafts[][].text`. It ends with a field.
* The same migrations apply to values and to the trees they are stored as (`VALUES`, `TREES`).
* Mistakes in a declaration are found when it is made, not when an old state is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from dalsegno.core import fields, tree_fields
from dalsegno.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BY_CHANNEL",
    "TREES",
    "VALUES",
    "Access",
    "Default",
    "Drop",
    "Migration",
    "Rename",
    "apply",
    "check",
    "is_count",
    "missing",
    "parse",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How fields are read and changed; see `fields` for what each does."""

    get: Callable[[Any, str], Any]
    put: Callable[[Any, str, Any], Any]
    drop: Callable[[Any, str], Any]
    rename: Callable[[Any, str, str], Any]
    each: Callable[[Any, Callable[[Any], Any]], Any]
    fresh: Callable[[Any], Any]


VALUES: Final = Access(
    get=fields.get, put=fields.put, drop=fields.drop, rename=fields.rename, each=fields.each, fresh=fields.fresh
)
"""Python values."""
TREES: Final = Access(
    get=tree_fields.get,
    put=tree_fields.put,
    drop=tree_fields.drop,
    rename=tree_fields.rename,
    each=tree_fields.each,
    fresh=tree_fields.fresh,
)
"""The codec's trees."""
BY_CHANNEL: Final = replace(VALUES, fresh=tree_fields.fresh)
"""A dict of such trees."""

_EACH = "[]"
_STEP = re.compile(r"([^.\[\]\s](?:[^.\[\]]*[^.\[\]\s])?)((?:\[\])*)")


class Migration(Protocol):
    """`Rename`, `Default` or `Drop`."""

    @property
    def path(self) -> str:
        """The field, as states before `since` have it."""

    @property
    def since(self) -> int:
        """The first version whose states are of the new form."""

    def apply(self, holder: Any, name: str, access: Access) -> Any:
        """The holder of the path's last field, changed; the same object where there is nothing to change."""


@dataclass(frozen=True, slots=True)
class Rename:
    """A field that has another name since a version.

    Where both names are there the new one is kept as it is, and so is the old one.

    Attributes:
        path: the field under its old name, such as `attachments[].url`.
        to: its new name, such as `ref`; it stays where it is.
        since: the first version with the new name.
    """

    path: str
    to: str
    since: int = field(kw_only=True)

    def apply(self, holder: Any, name: str, access: Access) -> Any:
        """Give the field its new name."""
        return access.rename(holder, name, self.to)


@dataclass(frozen=True, slots=True)
class Default:
    """A field that is there since a version.

    Attributes:
        path: the field. Its holder must be there: `tasks[].retries` adds to each task, and makes no tasks.
        value: what a state without it is given, a copy each time. A field that is None is there.
        since: the first version with the field.
    """

    path: str
    value: Any
    since: int = field(kw_only=True)

    def apply(self, holder: Any, name: str, access: Access) -> Any:
        """Fill the field in."""
        if access.get(holder, name) is not fields.MISSING:
            return holder
        return access.put(holder, name, access.fresh(self.value))


@dataclass(frozen=True, slots=True)
class Drop:
    """A field that is gone since a version.

    Attributes:
        path: the field.
        since: the first version without it.
    """

    path: str
    since: int = field(kw_only=True)

    def apply(self, holder: Any, name: str, access: Access) -> Any:
        """Take the field away."""
        return access.drop(holder, name)


def apply(state: Any, migration: Migration, *, fill: bool = True, top: Access = VALUES, inside: Access = VALUES) -> Any:
    """A state after a migration; the same object when nothing had to change.

    Args:
        state: channels by name, or what has the shape of that.
        migration: checked before.
        fill: False adds no channel: a `Default` applies only inside channels.
        top: how the channels are held.
        inside: how what is in the channels is held.
    """
    steps = parse(migration.path)
    if len(steps) > 1:
        channel = top.get(state, steps[0])
        made = channel if channel is fields.MISSING else _edit(channel, steps[1:], migration, inside)
        return state if made is channel else top.put(state, steps[0], made)
    return state if isinstance(migration, Default) and not fill else migration.apply(state, steps[0], top)


def _edit(holder: Any, steps: tuple[str, ...], migration: Migration, access: Access) -> Any:
    """Change the holders of a path's last field, wherever the path leads."""
    step, rest = steps[0], steps[1:]
    if step == _EACH:
        return access.each(holder, lambda inner: _edit(inner, rest, migration, access))
    if not rest:
        return migration.apply(holder, step, access)
    inner = access.get(holder, step)
    made = inner if inner is fields.MISSING else _edit(inner, rest, migration, access)
    return holder if made is inner else access.put(holder, step, made)


def missing(holder: Any, steps: tuple[str, ...], place: str = "") -> str | None:
    """The first place at which a required path breaks off, such as `attachments[1].ref`, or None.

    A field that is None is missing. What is inside a field that is missing or None is not asked for, unless the path
    ends there; a field that should have elements and cannot have any is such a place itself.
    """
    step, rest = steps[0], steps[1:]
    if step == _EACH:
        inside = fields.elements(holder)
        if inside is None:
            return place
        found = (missing(inner, rest, place + at) for at, inner in inside)
        return next((where for where in found if where is not None), None)
    inner = fields.get(holder, step)
    here = f"{place}.{step}" if place else step
    if inner is None or inner is fields.MISSING:
        return None if rest else here
    return missing(inner, rest, here) if rest else None


def is_count(number: object) -> bool:
    """Whether this is a whole number from 1."""
    return isinstance(number, int) and not isinstance(number, bool) and number >= 1


def check(migration: object, version: int) -> None:
    """Check a migration of a schema of this version.

    Raises:
        Misuse: it is none, its path cannot be read, its version is out of range, or its new name is no name.
    """
    if not isinstance(migration, (Rename, Default, Drop)):
        raise Misuse(f"a migration is a Rename, Default or Drop, not {migration!r}; nothing else can be undone by eye.")
    steps = parse(migration.path)
    if not is_count(migration.since) or not 1 < migration.since <= version:
        raise Misuse(
            f"{migration!r}: since must be from 2 to the schema's version {version}; "
            f"it names the first version whose states are of the new form."
        )
    if isinstance(migration, Rename) and (migration.to == steps[-1] or not _is_name(migration.to)):
        raise Misuse(f"{migration!r}: a field is renamed to another bare name beside it, such as `ref`.")


def parse(path: object) -> tuple[str, ...]:
    """The steps of a path: names, and `[]` for every element.

    Raises:
        Misuse: this is not a path, or it does not end with a field.
    """
    steps = _steps(path) if isinstance(path, str) else ()
    if not steps:
        raise Misuse(f"{path!r} is not a path; write fields with dots and [] for elements: `plan.steps[].name`.")
    if steps[-1] == _EACH:
        raise Misuse(f"{path!r} ends with elements; a path ends with a field: `{path}.name`.")
    return steps


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str, ...]:
    """The steps of a path, or none when it cannot be read."""
    steps: list[str] = []
    for part in path.split("."):
        match = _STEP.fullmatch(part)
        if match is None:
            return ()
        steps += [match[1], *[_EACH] * (len(match[2]) // 2)]
    return tuple(steps)


def _is_name(text: object) -> bool:
    return isinstance(text, str) and _steps(text) == (text,)
