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
from dalsegno.core.migrations import (
    BY_CHANNEL,
    TREES,
    VALUES,
    Default,
    Drop,
    Migration,
    Rename,
    apply,
    check,
    is_count,
    missing,
    parse,
)
from dalsegno.core.ownership import Field, check_fields, filled, missing_of
from dalsegno.errors import Misuse, StateFromFuture, StateShapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

__all__ = ["Default", "Drop", "Field", "Migrated", "Migration", "Rename", "StateSchema"]

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
        fields: who writes which field and what it may hold (`core/ownership.py`).

    Raises:
        Misuse: a path that cannot be read, a version out of range, a rename to what is no field name, a field twice.
    """

    version: int = 1
    migrations: Sequence[Migration] = ()
    required: Sequence[str] = ()
    fields: Sequence[Field] = ()

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
        object.__setattr__(self, "fields", check_fields(self.fields))

    def field(self, name: str) -> Field | None:
        """What is declared of a field; None when nothing is."""
        return next((each for each in self.fields if each.name == name), None)

    @property
    def run_fields(self) -> frozenset[str]:
        """Names of the fields that say how one run goes, and are never stored."""
        return frozenset(each.name for each in self.fields if each.scope == "run")

    def fill(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """A state as a run reads it: with the defaults of declared fields, once it has begun."""
        return filled(values, self.fields) if self.fields and _has_begun(values) else values

    def check_due(self, has: Callable[[str], bool], ran: Collection[str]) -> None:
        """Refuse a state that lacks a required field by now.

        Args:
            has: whether it has a field that is not None.
            ran: the nodes that have run.

        Raises:
            StateShapeError: it lacks one.
        """
        lacking = missing_of(self.fields, has, ran)
        if lacking is not None:
            who = " or ".join(map(repr, lacking.owners)) or "the input"
            raise StateShapeError(
                lacking.name,
                f"the state has no {lacking.name}, which schema version {self.version} requires of {who}; "
                f"write it there, or give it a default.",
            )

    def read(self, values: Mapping[str, Any], stored: int | None, *, whole: bool = True) -> Migrated:
        """Read the state of a checkpoint: `migrate` and `require` in one.

        Raises:
            StateFromFuture: the state is newer than this schema.
            StateShapeError: a required field is missing after migration.
        """
        migrated = self.migrate(values, stored, whole=whole)
        self.require(migrated.values, stored, whole=whole)
        return migrated

    def migrate(
        self, values: Mapping[str, Any], stored: int | None, *, whole: bool = True, trees: bool = False
    ) -> Migrated:
        """Bring a state into the form of this version.

        Args:
            values: by channel. The input that waits in `__start__` is read as by `read_part`; a state that has only
                that has not begun: it is given no channel.
            stored: the version stamped on the checkpoint; None where there is no stamp.
            whole: False for the state of a subgraph, which has channels of its own: it is given none.
            trees: True when the values are trees still to be decoded. An object whose class has changed can only be
                migrated that way: the class of today would refuse what its older form has written.

        Raises:
            StateFromFuture: the state is newer than this schema.
        """
        state = dict(values)
        waiting = state.pop(INPUT, fields.MISSING)
        state, names = self._migrate(state, stored, fill=whole and _has_begun(state), trees=trees)
        if waiting is not fields.MISSING:
            state[INPUT] = self.read_part(waiting, stored, trees=trees)
        return Migrated(
            state,
            {old: new for old, new in names.items() if new not in {old, None}},
            frozenset(old for old, new in names.items() if new is None),
        )

    def require(self, values: Mapping[str, Any], stored: int | None, *, whole: bool = True) -> None:
        """Check that a migrated and decoded state has what this code relies on.

        Args:
            values: by channel. Of a state that has not begun nothing is asked.
            stored: the version stamped on the checkpoint. A whole channel is asked for only in states of other
                versions than this one, which may not have written it yet.
            whole: False for the state of a subgraph: no whole channel is asked for.

        Raises:
            StateShapeError: a required field is missing or None; the first place is named.
        """
        whole = whole and stored != self.version and _has_begun(values)
        for path in self.required:
            steps = parse(path)
            place = missing(values, steps) if whole or len(steps) > 1 else None
            if place is not None:
                raise StateShapeError(
                    place,
                    f"the state has no {place}, which schema version {self.version} requires ({path}); "
                    f"add a Rename or Default that gives it to older states.",
                )

    def read_part(self, part: Any, stored: int | None, *, trees: bool = False) -> Any:
        """Read what has the shape of a state but not all of it: a run's input, the argument of a `Send`.

        Renames, drops and fills in what lies inside its channels; adds no channel and requires nothing. What has no
        fields is returned as it is.

        Args:
            part: the value, or with `trees` the tree it is stored as.
            stored: the version it was written under.
            trees: see `migrate`.

        Raises:
            StateFromFuture: it is newer than this schema.
        """
        access = TREES if trees else VALUES
        for migration in self._pending(stored):
            part = apply(part, migration, fill=False, top=access, inside=access)
        return part

    def read_write(
        self, channel: str, value: Any, stored: int | None, *, trees: bool = False
    ) -> tuple[str, Any] | None:
        """Read a pending write to a channel: its channel and value as of this version, None when that is gone.

        Args:
            channel: where it was to go.
            value: what was written, or with `trees` the tree it is stored as.
            stored: the version it was written under.
            trees: see `migrate`.

        Raises:
            StateFromFuture: it is newer than this schema.
        """
        state, names = self._migrate({channel: value}, stored, fill=False, trees=trees)
        name = names[channel]
        return None if name is None else (name, state[name])

    def _migrate(
        self, state: Mapping[str, Any], stored: int | None, *, fill: bool, trees: bool
    ) -> tuple[dict[str, Any], dict[str, str | None]]:
        """A state after migrations, and what became of the names of its channels; None for a channel that is gone."""
        top, inside = (BY_CHANNEL, TREES) if trees else (VALUES, VALUES)
        names: dict[str, str | None] = {name: name for name in state}
        for migration in self._pending(stored):
            before, state = state, apply(state, migration, fill=fill, top=top, inside=inside)
            if migration.path in before and migration.path not in state:
                became = getattr(migration, "to", None)
                names = {old: became if new == migration.path else new for old, new in names.items()}
        return dict(state), names

    def _pending(self, stored: int | None) -> list[Migration]:
        """The migrations that a state of this version has not seen, in their order."""
        version = 1 if stored is None else stored
        if version > self.version:
            raise StateFromFuture(
                f"the state was written by schema version {version} and this code knows version {self.version}; "
                f"run the newer code, or fork from a checkpoint written before the change."
            )
        return [migration for migration in self.migrations if migration.since > version]


def _has_begun(state: Mapping[str, Any]) -> bool:
    """Whether a state has a channel that is the program's own, not one of LangGraph's."""
    return any(not channel.startswith(("__", "branch:")) for channel in state)
