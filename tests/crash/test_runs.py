"""A graph run killed again and again ends as one that nobody touched, and runs no node twice that was committed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

THREAD = "run 跑"


def committed(ds: Any) -> set[str]:
    """Names of the nodes whose messages are in the database, in a state or as pending writes."""
    names: set[str] = set()
    for found in ds.checkpointer.list({"configurable": {"thread_id": THREAD}}):
        said = list(found.checkpoint["channel_values"].get("messages", []))
        said += [m for _, channel, value in found.pending_writes or () if channel == "messages" for m in value]
        names |= {message.id for message in said}
    return names


def started(log: Path) -> list[str]:
    return [line.split(" ", 1)[1] for line in log.read_text().splitlines()] if log.exists() else []


def killed_run(nursery: Any, scene: Any, log: Path, moments: Any, *, face: str, durability: str) -> list[list[Any]]:
    """Run to the end, dying at the given moments on the way; return the messages of the end."""
    how = {"url": scene.url, "thread": THREAD, "log": str(log), "face": face, "durability": durability}
    while True:
        with scene.after() as ds:
            done = committed(ds)
            assert ds.threads.check().findings == []
        ran = len(started(log))
        ended = nursery.run("graph_run", at=next(moments), **how)
        assert done.isdisjoint(started(log)[ran:])
        if not ended.killed:
            with scene.after() as ds:
                assert ds.threads.check().findings == []
                numbers = [event.seq for event in ds.journal.read(THREAD)]
                assert numbers == list(range(1, len(numbers) + 1))
            return ended.report[0]


@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_run_killed_again_and_again_ends_like_an_unkilled_one(face, durability, nursery, scene, tmp_path):
    how = {"url": "memory://", "thread": THREAD, "face": face, "durability": durability}
    calm = nursery.run("graph_run", at=None, log=str(tmp_path / "calm"), **how)
    dice = random.Random(f"{face}{durability}{scene.url[:8]}")
    moments = iter([*(dice.randint(1, 60) for _ in range(14)), None])
    log = tmp_path / "log"
    assert killed_run(nursery, scene, log, moments, face=face, durability=durability) == calm.report[0]
    assert set(started(log)) == set(started(tmp_path / "calm"))
