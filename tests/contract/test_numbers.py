"""Claim: checkpoints are numbered in the order of putting, also when their writes come first, and rows are moved only when they must be."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.base.id import uuid6

import dalsegno
from dalsegno.contracts import Step
from dalsegno.langgraph.config import FORK


class Race:
    """Puts and pending writes of one thread in any order, with the statements that each took."""

    def __init__(self, ds: dalsegno.Dalsegno, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ds = ds
        self.ids = {name: str(uuid6()) for name in "ABCDX"}
        self.steps: list[str] = []
        run = ds.store_backend.run

        def watched(factory: Any, **how: Any) -> Any:
            def op() -> Any:
                inner, answer = factory(), None
                while True:
                    try:
                        step = inner.send(answer)
                    except StopIteration as end:
                        return end.value
                    self.steps += [step.name] if isinstance(step, Step) else [one.name for one in step]
                    answer = yield step

            return run(op, **how)

        monkeypatch.setattr(ds.store_backend, "run", watched)

    def config(self, name: str | None, **more: Any) -> Any:
        conf = {"thread_id": "t", "checkpoint_ns": "", **more}
        return {"configurable": conf if name is None else {**conf, "checkpoint_id": self.ids[name]}}

    def put(self, name: str, parent: str | None = None, **more: Any) -> None:
        checkpoint = {
            "v": 4, "id": self.ids[name], "ts": "2026-01-01T00:00:00+00:00", "channel_values": {"at": name},
            "channel_versions": {"at": 1}, "versions_seen": {}, "updated_channels": None,
        }  # fmt: skip
        self.ds.checkpointer.put(self.config(parent, **more), checkpoint, {"source": "loop", "step": 0}, {"at": 1})

    def write(self, name: str) -> None:
        self.ds.checkpointer.put_writes(self.config(name), [("at", f"after {name}")], f"task of {name}")

    @property
    def found(self) -> list[tuple[str, int]]:
        """Names, newest first, each with how many writes wait."""
        names = {id_: name for name, id_ in self.ids.items()}
        listed = self.ds.checkpointer.list(self.config(None))
        return [(names[each.checkpoint["id"]], len(each.pending_writes)) for each in listed]

    @property
    def moved(self) -> bool:
        return "checkpoint_reseat" in self.steps


@pytest.fixture
def race(ds: dalsegno.Dalsegno, monkeypatch: pytest.MonkeyPatch) -> Any:
    yield Race(ds, monkeypatch)
    assert ds.threads.check().findings == []


def test_a_checkpoint_keeps_the_number_it_was_announced_under(race: Race):
    race.put("A")
    race.write("B")
    assert race.found == [("A", 0)]
    race.put("B", "A")
    race.write("C")
    race.put("C", "B")
    assert race.found == [("C", 1), ("B", 1), ("A", 0)]
    assert not race.moved


def test_there_is_room_for_the_parent_that_comes_late(race: Race):
    race.write("B")  # the thread's very first word
    race.put("A")
    race.put("B", "A")
    race.write("D")
    race.put("C", "B")
    race.put("D", "C")
    assert race.found == [("D", 1), ("C", 0), ("B", 1), ("A", 0)]
    assert not race.moved


def test_one_that_others_have_passed_is_numbered_anew_and_its_writes_move_along(race: Race):
    race.put("A")
    race.write("X")
    for name, parent in (("B", "A"), ("C", "B"), ("D", "C")):
        race.put(name, parent)
    race.put("X", "A", **{FORK: race.ids["A"]})
    assert race.found == [("X", 1), ("D", 0), ("C", 0), ("B", 0), ("A", 0)]
    assert race.moved


def test_several_may_be_announced_at_once(race: Race):
    race.put("A")
    for name in "DCB":
        race.write(name)
    for name, parent in (("B", "A"), ("C", "B"), ("D", "C")):
        race.put(name, parent)
    assert race.found == [("D", 1), ("C", 1), ("B", 1), ("A", 0)]
    race.ds.checkpointer.prune(["t"])
    assert race.found == [("D", 1)]
    race.write("X")
    race.put("X", "D")
    assert race.found == [("X", 1), ("D", 1)]
