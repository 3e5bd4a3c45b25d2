"""The schema of a state: its version, and how states of older versions are read.

Rules of this module:

* Every migration (`core/migrations.py`) names the version *since* which states have the new form, and applies to
  states of older versions: in order of version, and within a version as written. The stored value is never touched;
  a migrated copy is read.
* What has no stamp was written before there was a schema and counts as version 1.
* A state newer than the code is refused: the code cannot know what it would destroy.
* A required field that is missing, or None, after migration is an error with its exact path, never passed on. A list
  that is not there has no elements that lack a field; a channel that this version has not written yet is no broken
  shape, so a whole channel is asked for only in states that were written before this version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dalsegno.core import fields
from dalsegno.core.migrations import Default, Drop, Migration, Rename, apply, check, is_count, missing, parse
from dalsegno.errors import Misuse, StateFromFuture, StateShapeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Default", "Drop", "Migrated", "Migration", "Rename", "StateSchema"]

INPUT = "__start__"
"""The channel in which LangGraph keeps a run's input until its first step: a partial state."""


class Migrated(NamedTuple):
    """A state as this version reads it.

    Attributes:
        values: by channel; what was given when nothing had to change.
        renamed: channels that have another name now, old to new; their versions are to be kept under the new one.
        dropped: channels that are gone.
    """

    values: Mapping[str, Any]
    renamed: Mapping[str, str]
    dropped: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSchema:
    """The version of a graph's state, and the way from older versions to it.

        StateSchema(
            version=3,
            migrations=[
                Rename("attachments[].url", "ref", since=2),
                Default("priority", "normal", since=3),
                Drop("scratch", since=3),
            ],
            required=["attachments[].ref"],
        )

    Attributes:
        version: stamped on every checkpoint this code writes; from 1.
        migrations: what changed, with the version since which it is so.
        required: fields that this code relies on, as paths.

    Raises:
        Misuse: a path that cannot be read, a version out of range, a rename to what is no field name.
    """

    version: int = 1
    migrations: Sequence[Migration] = ()
    required: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not is_count(self.version):
            raise Misuse(
                f"a schema version is a whole number from 1, not {self.version!r}; count it up with each change."
            )
        if isinstance(self.required, str):
            raise Misuse(f"required fields are a list of paths; write required=[{self.required!r}].")
        for migration in self.migrations:
            check(migration, self.version)
        object.__setattr__(self, "migrations", tuple(sorted(self.migrations, key=lambda one: one.since)))
        object.__setattr__(self, "required", tuple(self.required))
        for path in self.required:
            parse(path)

    def read(self, values: Mapping[str, Any], stored: int | None, *, whole: bool = True) -> Migrated:
        """Read the state of a checkpoint.

        Args:
            values: by channel. The input that waits in `__start__` is read as by `read_part`; a state that has only
                that has not begun: it is given no channel and asked for none.
            stored: the version stamped on the checkpoint; None where there is no stamp.
            whole: False for the state of a subgraph, which has channels of its own: given none, asked for none.

        Raises:
            StateFromFuture: the state is newer than this schema.
            StateShapeError: a required field is missing after migration.
        """
        state = dict(values)
        waiting = state.pop(INPUT, fields.MISSING)
        begun = any(map(_is_field, state))
        state, names = _migrate(state, self._pending(stored), fill=whole and begun)
        self._require(state, whole=whole and begun and stored != self.version)
        if waiting is not fields.MISSING:
            state[INPUT] = self.read_part(waiting, stored)
        return Migrated(
            state,
            {old: new for old, new in names.items() if new not in {old, None}},
            frozenset(old for old, new in names.items() if new is None),
        )

    def read_part(self, part: Any, stored: int | None) -> Any:
        """Read what has the shape of a state but not all of it: a run's input, the argument of a `Send`.

        Renames, drops and fills in what lies inside its channels; adds no channel and requires nothing. What has no
        fields is returned as it is.

        Raises:
            StateFromFuture: it is newer than this schema.
        """
        for migration in self._pending(stored):
            part = apply(part, migration, fill=False)
        return part

    def read_write(self, channel: str, value: Any, stored: int | None) -> tuple[str, Any] | None:
        """Read a pending write to a channel: its channel and value as of this version, None when that is gone.

        Raises:
            StateFromFuture: it is newer than this schema.
        """
        state, names = _migrate({channel: value}, self._pending(stored), fill=False)
        name = names[channel]
        return None if name is None else (name, state[name])

    def _pending(self, stored: int | None) -> list[Migration]:
        """The migrations that a state of this version has not seen, in their order."""
        version = 1 if stored is None else stored
        if version > self.version:
            raise StateFromFuture(
                f"the state was written by schema version {version} and this code knows version {self.version}; "
                f"run the newer code, or fork from a checkpoint written before the change."
            )
        return [migration for migration in self.migrations if migration.since > version]

    def _require(self, state: Mapping[str, Any], *, whole: bool) -> None:
        for path in self.required:
            steps = parse(path)
            if len(steps) == 1 and not whole:
                continue
            place = missing(state, steps)
            if place is not None:
                raise StateShapeError(
                    place,
                    f"the state has no {place}, which schema version {self.version} requires ({path}); "
                    f"add a Rename or Default that gives it to older states.",
                )


def _migrate(
    state: Mapping[str, Any], migrations: Sequence[Migration], *, fill: bool
) -> tuple[dict[str, Any], dict[str, str | None]]:
    """A state after migrations, and what became of the names of its channels; None for a channel that is gone."""
    names: dict[str, str | None] = {name: name for name in state}
    for migration in migrations:
        before, state = state, apply(state, migration, fill=fill)
        if migration.path in before and migration.path not in state:
            became = getattr(migration, "to", None)
            names = {old: became if new == migration.path else new for old, new in names.items()}
    return dict(state), names


def _is_field(channel: str) -> bool:
    """Whether a channel is the program's own, not one of LangGraph's."""
    return not channel.startswith(("__", "branch:"))
