"""Claim: two processes that take turns on one thread, each with a memory of its own, read and write what the database says."""

from __future__ import annotations

import copy
import os
import random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import uuid6

import dalsegno
from dalsegno.core import codec, tree
from dalsegno.langgraph.checkpointer import FORK

SEEDS = range(int(os.environ.get("DALSEGNO_TEST_TURNS", "6")))
"""How many random histories on each store; more for a long look."""

CHANNELS = ["a", "b", "$list", "$ref", "", "0", "new\nline", "k" * 3000]
EDGES = [0, 95, 96, 97, 300, 1022, 1023, 1024, 1025, 32_767, 32_768]


def text(chance: random.Random) -> str:
    letter, size = chance.choice("a中"), chance.choice(EDGES)
    return letter * (size // len(letter.encode())) + str(chance.randint(0, 2))


def element(chance: random.Random) -> Any:
    return chance.choice(
        [
            lambda: chance.choice([None, True, 1, 1.0, False, 0, -0.0, 2**63]),
            lambda: text(chance),
            lambda: {"$ref": 3, "n": chance.randint(0, 3)},
            lambda: [chance.randint(0, 3), text(chance)],
            lambda: HumanMessage(text(chance), id=chance.choice(["1", "2", None])),
            lambda: AIMessage("yes", id=str(chance.randint(3, 9)), additional_kwargs={"deep": [1, {"x": 2}]}),
        ]
    )()


def value(chance: random.Random) -> Any:
    return chance.choice(
        [
            lambda: list(range(chance.randint(0, 9), chance.choice([9, 113, 114, 400]))),
            lambda: [element(chance) for _ in range(chance.randint(0, 9))],
            lambda: [HumanMessage("x", id="1"), *range(chance.choice([3, 300]))],
            lambda: {f"key {number}": element(chance) for number in range(chance.choice([1, 36, 37, 60]))},
            lambda: element(chance),
        ]
    )()


def edited(chance: random.Random, old: Any) -> Any:
    """A value changed in place where it can be."""
    if isinstance(old, list) and old:
        place = chance.randrange(len(old))
        how = chance.choice(["append", "drop", "rotate", "again", "kind", "replace"])
        if how == "append":
            old.extend(element(chance) for _ in range(chance.choice([1, 2, 40])))
        elif how == "drop":
            del old[place]
        elif how == "rotate":
            old[:] = old[place:] + old[:place]
        elif how == "again":
            old.insert(place, copy.deepcopy(old[-1]))
        elif how == "kind":
            old[:] = [part for part in old if isinstance(part, HumanMessage) == (place % 2 == 0)]
        else:
            old[place] = element(chance)
        return old
    if isinstance(old, dict) and old:
        old[chance.choice([*old, "new"])] = element(chance)
        return old
    return value(chance)


class History:
    """A thread put by two processes in turn, and what every checkpoint must read back as."""

    def __init__(self, url: str, seed: int) -> None:
        self.chance = random.Random(seed)
        self.url, self.thread = url, f"t{seed}"
        self.processes = [dalsegno.connect(url), dalsegno.connect(url)]
        self.put: dict[str, dict[str, bytes]] = {}
        self.parents: dict[str, str | None] = {}
        self.live: dict[str, Any] = {}
        self.at: str | None = None
        self.count = 0

    @property
    def one(self) -> Any:
        return self.chance.choice(self.processes)

    def conf(self, checkpoint_id: str | None = None, **more: Any) -> dict[str, Any]:
        named = {} if checkpoint_id is None else {"checkpoint_id": checkpoint_id}
        return {"configurable": {"thread_id": self.thread, "checkpoint_ns": "", **named, **more}}

    def values(self, checkpoint_id: str) -> dict[str, Any]:
        return dict(self.one.checkpointer.get_tuple(self.conf(checkpoint_id)).checkpoint["channel_values"])

    def step(self) -> None:
        head = next(reversed(self.put), None)
        parent = self.chance.choice(list(self.put)) if self.put and self.chance.random() < 0.2 else head
        if parent is not None and (parent != self.at or self.chance.random() < 0.3):
            self.live = self.values(parent)
        made, again, stale = str(uuid6()), False, dict(self.live)
        if (
            head is not None
            and parent == head
            and self.parents[head] in (None, *self.put)
            and self.chance.random() < 0.3
        ):
            made, parent, again = head, self.parents[head], True  # put anew, by whoever it is
            self.live = self.values(head)
        for _ in range(self.chance.randint(0, 3)):
            name = self.chance.choice(CHANNELS)
            if self.chance.random() < 0.2:
                self.live.pop(name, None)
            else:
                self.live[name] = edited(self.chance, self.live[name]) if name in self.live else value(self.chance)
        self.count += 1
        note = self.chance.choice([0, False, 1, True, 1.0])
        versions = dict.fromkeys(self.live, self.count)
        conf = self.conf(parent) if parent == head or again else self.conf(parent, **{FORK: parent})
        self.one.checkpointer.put(
            conf,
            {"v": 4, "id": made, "ts": "2026-01-02T03:04:05+00:00", "channel_values": self.live,
             "channel_versions": versions, "versions_seen": {}, "updated_channels": None},
            {"source": "loop", "step": self.count, "note": note},
            versions,
        )  # fmt: skip
        self.put[made], self.at = written({**self.live, "the note": note}), made
        self.parents[made] = parent
        if again:
            self.live = stale  # who put it first goes on with what it remembers
        if self.chance.random() < 0.3:
            self.one.checkpointer.put_writes(self.conf(made), [("a", value(self.chance)), ("nul \0", 1)], "task")

    def upkeep(self) -> None:
        if self.chance.random() < 0.1:
            self.one.checkpointer.prune([self.thread])
            self.put = dict([list(self.put.items())[-1]])
        if self.chance.random() < 0.05:
            self.one.threads.delete(self.thread)
            self.one.threads.reopen(self.thread)
            self.put, self.live, self.at = {}, {}, None
        if self.chance.random() < 0.1:
            place = self.chance.randrange(2)
            self.processes[place].close()
            self.processes[place] = dalsegno.connect(self.url)

    def check(self) -> None:
        for ds in self.processes:
            found = list(ds.checkpointer.list(self.conf()))
            assert [each.checkpoint["id"] for each in found] == list(reversed(self.put))
            for each in found:
                whole = {**each.checkpoint["channel_values"], "the note": each.metadata["note"]}
                assert written(whole) == self.put[each.checkpoint["id"]]
        assert self.one.threads.check().findings == []


def written(values: dict[str, Any]) -> dict[str, bytes]:
    return {name: tree.dumps(codec.encode(part, "value")) for name, part in values.items()}


@pytest.mark.parametrize("store_url", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_turns_read_back_what_was_put(store_url, seed):
    history = History(store_url, seed)
    try:
        for _ in range(25):
            history.step()
            if history.put:
                history.upkeep()
            history.check()
    finally:
        for ds in history.processes:
            ds.close()
