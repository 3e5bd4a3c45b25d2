"""Listing checkpoints takes a bounded number of statements and finds exactly what was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from dalsegno.contracts import Step

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


class Counting:
    """A store that counts the statements of the operations that pass through it."""

    def __init__(self, store: Any) -> None:
        self.store, self.statements = store, 0

    def run(self, factory: Any, **kwargs: Any) -> Any:
        return self.store.run(lambda: self._counted(factory()), **kwargs)

    async def arun(self, factory: Any, **kwargs: Any) -> Any:
        return await self.store.arun(lambda: self._counted(factory()), **kwargs)

    def _counted(self, op: Any) -> Iterator[Any]:
        answer = None
        try:
            while True:
                step = op.send(answer)
                self.statements += 1 if isinstance(step, Step) else len(step)
                answer = yield step
        except StopIteration as end:
            return end.value


def grow(ds: Any, put: Any, count: int, *, start: int = 0, parent: Any = None, thread: str = "t") -> Any:
    for n in range(start, start + count):
        parent = put(
            ds,
            thread,
            parent,
            metadata={"source": "loop", "step": n},
            messages=[HumanMessage(f"message {k} " + "long " * 100, id=str(k)) for k in range(n + 1)],
            notes={f"key {k}": "value " * 60 for k in range(20)},
        )
        ds.checkpointer.put_writes(parent, [("messages", [f"write {n}"])], f"task {n}")
    return parent


@pytest.mark.parametrize("filtered", [None, {"source": "loop"}])
async def test_a_list_of_sixty_takes_as_many_statements_as_one_of_ten(ads, put, face, filtered):
    parent = grow(ads, put, 10)
    counting = ads.checkpointer._store = Counting(ads.store_backend)

    async def listed() -> tuple[int, int]:
        counting.statements = 0
        if face == "sync":
            found = list(ads.checkpointer.list(CONFIG, filter=filtered))
        else:
            found = [each async for each in ads.checkpointer.alist(CONFIG, filter=filtered)]
        assert all(each.pending_writes for each in found)
        return len(found), counting.statements

    ten = await listed()
    grow(ads, put, 50, start=10, parent=parent)
    sixty = await listed()
    assert (ten[0], sixty[0]) == (10, 60)
    assert ten[1] == sixty[1] <= 10


def test_the_head_is_read_in_as_many_statements_whatever_its_history(ds, put):
    parent = grow(ds, put, 5)
    counting = ds.checkpointer._store = Counting(ds.store_backend)
    ds.checkpointer.get_tuple(CONFIG)
    few = counting.statements
    grow(ds, put, 30, start=5, parent=parent)
    counting.statements = 0
    ds.checkpointer.get_tuple(CONFIG)
    assert counting.statements <= max(few, 6)


def test_listing_every_thread_comes_page_by_page_with_a_limit_over_all(ds, put):
    for n in range(5):
        grow(ds, put, 3, thread=f"t{n}")
    found = list(ds.checkpointer.list(None, limit=7))
    assert [each.config["configurable"]["thread_id"] for each in found] == ["t4"] * 3 + ["t3"] * 3 + ["t2"]
    assert len(list(ds.checkpointer.list(None))) == 15


def test_more_than_a_page_comes_newest_first_and_whole(ds, put):
    parent = None
    for n in range(140):
        parent = put(ds, "t", parent, metadata={"step": n}, n=n)
    assert [each.checkpoint["channel_values"]["n"] for each in ds.checkpointer.list(CONFIG)] == list(range(139, -1, -1))
    assert [each.metadata["step"] for each in ds.checkpointer.list(CONFIG, limit=70)] == list(range(139, 69, -1))
    seventieth = [each.config for each in ds.checkpointer.list(CONFIG, limit=70)][-1]
    rest = list(ds.checkpointer.list(CONFIG, before=seventieth, limit=66))
    assert [each.metadata["step"] for each in rest] == list(range(69, 3, -1))
    assert list(ds.checkpointer.list(CONFIG, limit=0)) == []


HOSTILE = [
    "'; DROP TABLE ds_checkpoints; --",
    "\"quoted\" 'single' `back`",
    "per%cent _under",
    "back\\slash \\u0041 \\n",
    "nul \x00 inside",
    "\x00",
    "emoji 🧵",
    "lone \ud800",
    "中文",
    "",
    " ",
    "null",
    "true",
    "1",
    "long " * 2000,
]
VALUES: list[Any] = [
    *HOSTILE,
    None,
    True,
    False,
    0,
    1,
    2**63 - 1,
    2**70,
    -1,
    1.5,
    -0.5,
    1e300,
    [],
    [1],
    [True],
    [1, [2, None]],
    ["a", "b"],
    {},
    {"a": 1},
    {"a": True},
    {"a": None},
    {"a": {"b": [1, {"c": None}]}},
    {"$ref": 1},
    {"$list": [[1, 1, 2]]},
    {"$m": "human"},
    {"$blob": "00"},
    {"a.b": 1},
]
KEYS = [
    "plain",
    "dotted.key.name",
    "$ref",
    "$list",
    "with space",
    "'quoted\"",
    "%s",
    "[0]",
    "",
    "nul \x00",
    "中文",
    "a" * 400,
]


def same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and left == right and repr(left) == repr(right)


def test_a_metadata_filter_finds_exactly_the_equal_value(ds, put):
    for number, value in enumerate(VALUES):
        put(ds, "t", metadata={"number": number, "value": value})
    put(ds, "t", metadata={"number": -1})  # has no `value` at all
    for number, value in enumerate(VALUES):
        found = list(ds.checkpointer.list(CONFIG, filter={"value": value}))
        assert [each.metadata["number"] for each in found] == [number], value
        assert same(found[0].metadata["value"], value)


def test_a_metadata_filter_takes_any_key_as_it_is_written(ds, put):
    for number, key in enumerate(KEYS):
        put(ds, "t", metadata={"number": number, key: "here", "dotted": {"key": {"name": "here"}}})
    for number, key in enumerate(KEYS):
        found = list(ds.checkpointer.list(CONFIG, filter={key: "here"}))
        assert [each.metadata["number"] for each in found] == [number], key
        assert list(ds.checkpointer.list(CONFIG, filter={key: "elsewhere"})) == []
        assert list(ds.checkpointer.list(CONFIG, filter={key: "here", "number": number + 1})) == []
        assert list(ds.checkpointer.list(CONFIG, filter={key: None})) == []


def test_source_step_and_run_are_filtered_like_any_other(ds, put):
    put(ds, "t", metadata={"source": "loop", "step": 1, "run_id": "r1", "x": None})
    put(ds, "t", metadata={"source": "loop", "step": True, "run_id": "r'2\x00"})
    put(ds, "t", metadata={"source": "elsewhere", "step": 2**40, "run_id": 7})
    put(ds, "t", metadata={})

    def steps(**wanted: Any) -> list[Any]:
        return [each.metadata.get("step") for each in ds.checkpointer.list(CONFIG, filter=wanted)]

    assert steps(source="loop") == [True, 1]
    assert steps(step=1) == [1]
    assert steps(step=True) == [True]
    assert steps(step=2**40) == [2**40]
    assert steps(run_id="r1") == [1]
    assert steps(run_id="r'2\x00") == [True]
    assert steps(run_id=7) == [2**40]
    assert steps(source="elsewhere") == [2**40]
    assert steps(x=None) == [1]
    assert steps(source=None) == []
    assert steps(step=None) == []


def test_a_filter_with_a_limit_looks_on_until_it_has_enough(ds, put):
    parent = None
    for n in range(150):
        parent = put(ds, "t", parent, metadata={"rare": n % 50 == 0, "step": n})
    found = list(ds.checkpointer.list(CONFIG, filter={"rare": True}, limit=2))
    assert [each.metadata["step"] for each in found] == [100, 50]


def test_a_copy_takes_as_many_statements_whatever_the_history(ds, put):
    counting = Counting(ds.store_backend)
    taken, parent = [], None
    for target in ("early", "late"):
        parent = grow(ds, put, 20, start=len(taken), parent=parent)
        counting.statements, ds.checkpointer._store = 0, counting
        ds.checkpointer.copy_thread("t", target)
        ds.checkpointer._store = ds.store_backend
        taken.append(counting.statements)
    assert 0 < taken[0] == taken[1] <= 40
