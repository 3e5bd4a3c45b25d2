"""Killed anywhere, a run that acts on the world ends with exactly one effect; without a reconciler none is done on a guess.

The process dies at every point of every write: before the record, after it and before the effect, after the effect and
before its record, after that record; and in mid-effect, before and after the world has taken it in.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import Any

import pytest

from dalsegno.stores.statements import load_statements

STATEMENTS = load_statements("dalsegno.stores.sqlite")
READS = {f"after {name}" for name, text in STATEMENTS.items() if text.startswith(("SELECT", "WITH"))}
DEAD = 0.2
"""Longer than the lease of `acts.LEASE`."""


def effects(world: str, of: str) -> int:
    with contextlib.closing(sqlite3.connect(world)) as db:
        db.execute("CREATE TABLE IF NOT EXISTS effects (of TEXT, what TEXT)")
        return int(db.execute("SELECT count(*) FROM effects WHERE of = ?", (of,)).fetchone()[0])


class Run:
    """One run, in one process after another."""

    def __init__(self, nursery: Any, scene: Any, world: str, tenant: str, *, looks: bool, face: str) -> None:
        self._nursery, self._scene = nursery, scene
        self._how = {"url": scene.url, "tenant": tenant, "world": world, "looks": looks, "face": face}
        self.world, self.tenant = world, tenant

    def go(self, at: int | None = None, die: str | None = None, answer: Any = None) -> Any:
        return self._nursery.run("acting", at=at, die=die, answer=answer, **self._how)

    def effects(self) -> int:
        return effects(self.world, self.tenant)

    def sound(self) -> None:
        with self._scene.after(self.tenant) as ds:
            assert ds.threads.check().findings == []
            assert ds.actions.verify().sound
            (action,) = ds.actions.list()
            assert action.state == "succeeded"


def to_the_end(run: Run, *, looks: bool) -> str:
    """Go on after a kill; say whether a person was asked."""
    time.sleep(DEAD)
    happened = run.effects()
    said, _, _ = run.go().report
    if said[0] == "asked":
        question = said[1]
        assert not looks
        assert (question["type"], question["decisions"]) == ("unknown_outcome", ["succeeded", "failed", "retry"])
        assert "its lease ran out" in question["known"]
        assert run.effects() == happened  # nothing on a guess
        decision = {"decision": "succeeded" if happened else "retry", "result": "a person saw it"}
        answered, _, ran = run.go(answer={"ticket": question["ticket"], "by": "mara", **decision}).report
        assert ran == (0 if happened else 1)
        said = ["asked", *answered]
    assert len(said[-1]) == 1
    assert run.effects() == 1
    run.sound()
    return str(said[0])


@pytest.mark.parametrize("looks", [True, False], ids=["reconciler", "person"])
def test_every_point_of_a_run(looks, nursery, scene, tmp_path):
    world = str(tmp_path / "world.db")
    said, places, _ = Run(nursery, scene, world, "calm", looks=looks, face="sync").go().report
    assert (said[0], effects(world, "calm")) == ("done", 1)
    telling = [n for n, place in enumerate(places, 1) if place not in READS or places[n - 2] not in READS]
    telling = telling[looks::2]  # what comes before a kill is the same whoever looks afterwards: each point once
    found = {}
    for number in telling:
        run = Run(nursery, scene, world, f"at {number}", looks=looks, face="sync")
        ended = run.go(at=number)
        if not ended.killed:  # writes that shared a transaction made fewer places of it than there were before
            said, had, _ = ended.report
            assert (said[0], run.effects()) == ("done", 1)
            assert number - 8 <= len(had) < number
            continue
        found[number] = (run.effects(), to_the_end(run, looks=looks))
    assert {had for had, _ in found.values()} == {0, 1}  # kills before the effect, and after it
    asked = {number for number, (_, how) in found.items() if how == "asked"}
    assert bool(asked) is not looks


@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize("looks", [True, False], ids=["reconciler", "person"])
@pytest.mark.parametrize(("die", "happened"), [("in", 0), ("after", 1)])
def test_in_the_middle_of_the_effect(die, happened, looks, face, nursery, scene, tmp_path):
    run = Run(nursery, scene, str(tmp_path / "world.db"), "mid", looks=looks, face=face)
    assert run.go(die=die).killed
    assert run.effects() == happened
    assert to_the_end(run, looks=looks) == ("done" if looks else "asked")


def test_a_kill_while_the_lease_is_alive_is_no_invitation(nursery, scene, tmp_path):
    run = Run(nursery, scene, str(tmp_path / "world.db"), "soon", looks=False, face="sync")
    assert run.go(die="after").killed
    with scene.after("soon") as ds:
        (action,) = ds.actions.list()
        assert action.state == "running"
    assert to_the_end(run, looks=False) == "asked"
