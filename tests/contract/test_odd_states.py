"""Claim: states that few programs make are stored and read as any other: own classes, odd names, lists that change kind."""

from __future__ import annotations

import copy
import dataclasses
import json
import re
import sqlite3
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.base import uuid6
from pydantic import BaseModel, ConfigDict, PrivateAttr
from pydantic import dataclasses as pydantic_dataclasses

import dalsegno


class Note(HumanMessage):
    """A message of the program's own."""


class Counted(BaseModel):
    text: str = ""
    _reads: int = PrivateAttr(default=0)


class Said(str):
    __slots__ = ()


class Row(list):
    pass


@dataclasses.dataclass
class Table(Row):
    name: str = ""


@pydantic_dataclasses.dataclass(config=ConfigDict(extra="forbid"))
class Point:
    x: int = 0


for kind in (Note, Counted, Said, Table, Point):
    dalsegno.register(kind)


@pytest.fixture
def states(ds: Any, put: Any) -> Any:
    """Puts values of channel `a` one after the other and reads each back; a value may be changed in place in between."""
    said: dict[str, Any] = {}

    def step(value: Any) -> Any:
        said["config"] = put(ds, "t", said.get("config"), a=value)
        found = ds.checkpointer.get_tuple({"configurable": {"thread_id": "t"}}).checkpoint["channel_values"]["a"]
        assert ds.threads.check().findings == []
        return found

    return step


@pytest.mark.parametrize("grown", [[], list(range(100, 600))], ids=["short", "in chunks"])
def test_a_list_that_loses_its_messages_and_goes_on(states, grown):
    states([1, HumanMessage("hello", id="1"), 2])
    assert states([1, 2, *grown]) == [1, 2, *grown]
    again = [1, 2, *grown, AIMessage("back", id="2")]
    assert states(again) == again
    assert states([*grown[5:], 1]) == [*grown[5:], 1]


def test_messages_of_the_programs_own_class(states, ds):
    messages: list[BaseMessage] = [Note("hello there", id="1"), Note("and again", id="2")]
    assert states(messages) == messages
    messages = [*messages, HumanMessage("x", id="3")]
    assert states(messages) == messages
    messages = [*messages, Note("the last", id="4")]
    assert states(messages) == messages
    assert states(messages[2:]) == messages[2:]
    assert states([]) == []
    assert [event.kind for event in ds.journal.read("t")] == ["message"] * 4 + ["delete"] * 4


@pytest.mark.parametrize("kind", [HumanMessage, Note])
def test_a_message_is_known_by_an_id_of_any_length(states, ds, kind):
    for value in ([kind("x", id="m" * 2000)], [kind("y", id="m" * 2000)], []):
        assert states(value) == value
    assert [event.kind for event in ds.journal.read("t")] == ["message", "edit", "delete"]


def test_a_record_with_a_messages_id_is_no_message_that_went(ds, put):
    class Page(BaseModel):
        id: str

    dalsegno.register(Page, name="tests:Page")
    said = [HumanMessage("x", id="1")]
    config = put(ds, "t", messages=said, pages=[Page(id="1")] * 200)
    put(ds, "t", config, messages=said, pages=[])
    assert [event.kind for event in ds.journal.read("t")] == ["message"]


def _read(counted: Any) -> None:
    counted._reads += 1


HIDDEN = {
    "a private attribute": (lambda: Counted(text="x"), _read, lambda value: value._reads),
    "an element of a list with fields": (lambda: Table("t"), lambda value: value.append(5), list),
    "a field of a pydantic dataclass": (
        lambda: Point(x=1),
        lambda value: setattr(value, "x", 2),
        lambda value: value.x,
    ),
}


@pytest.mark.parametrize("beside", [[], [HumanMessage("x", id="1")]], ids=["alone", "with a message"])
@pytest.mark.parametrize("what", HIDDEN)
def test_what_changes_where_few_would_look(states, beside, what):
    make, change, look = HIDDEN[what]
    value = [*beside, make()]
    assert look(states(value)[-1]) == look(value[-1])
    change(value[-1])
    assert look(states(value)[-1]) == look(value[-1]) != look(make())


def test_a_text_that_reads_like_a_reference_is_none(ds, put):
    text = "blob://" + "0" * 64
    value = {"pattern": re.compile(text), "own": Said(text), "text": text, "long": "x" * 40_000, "bytes": b"x" * 40_000}
    put(ds, "t", a=value)
    found = ds.threads.state("t", references=True)["a"]
    assert {key: found[key] for key in ("pattern", "own", "text")} == {
        "pattern": value["pattern"],
        "own": text,
        "text": text,
    }
    assert type(found["own"]) is Said
    for key in ("long", "bytes"):
        assert type(found[key]) is str
        assert re.fullmatch("blob://[0-9a-f]{64}", found[key])


@pytest.mark.parametrize("name", ["nul \x00", "half \ud800", "$list", "", "x" * 10_000])
def test_writes_to_odd_channels_are_listed(ds, put, name):
    config = put(ds, "t", a=1)
    ds.checkpointer.put_writes(config, [(name, "value " * 100)], "task")
    (info,) = ds.threads.checkpoints("t")
    assert (info.writes, info.finished) == (1, 1)
    found = ds.checkpointer.get_tuple(config).pending_writes
    assert found == [("task", name, "value " * 100)]


def test_metadata_that_is_only_equal_is_not_the_parents(ds, put):
    first = put(ds, "t", metadata={"source": "loop", "step": 1, "note": [0, 1, 1.0]}, a=1)
    second = put(ds, "t", first, metadata={"source": "loop", "step": 2, "note": [False, True, 1]}, a=1)
    assert repr(ds.checkpointer.get_tuple(second).metadata["note"]) == "[False, True, 1]"


class Elsewhere:
    """Two processes on one database: each remembers what it did itself."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __enter__(self) -> tuple[Any, Any]:
        self.one, self.other = dalsegno.connect(self.url), dalsegno.connect(self.url)
        return self.one, self.other

    def __exit__(self, *_: object) -> None:
        self.one.close()
        self.other.close()


@pytest.mark.parametrize("store_url", ["sqlite", "postgres"], indirect=True)
def test_a_checkpoint_that_another_process_put_anew(store_url, put):
    """Its id is the same; what it holds is what the database says."""
    mine = {"a": ["mine"] * 3, "b": [HumanMessage("mine", id="1")], "c": 1}
    other = {"a": ["other"] * 3, "b": [HumanMessage("other", id="1")], "c": True}
    with Elsewhere(store_url) as (here, there):
        first = put(here, "t", checkpoint_id="1ef4f797-8335-6428-8001-8a1503f9b875", **mine)
        put(there, "t", checkpoint_id="1ef4f797-8335-6428-8001-8a1503f9b875", **other)
        grown = {**mine, "b": [*mine["b"], AIMessage("yes", id="2")]}
        second = put(here, "t", first, **grown)
        for ds in (here, there):
            found = ds.checkpointer.get_tuple(second).checkpoint["channel_values"]
            assert found == grown
            assert found["c"] is not True
        assert here.threads.check().clean


ODD_NAMES = ["$ref", "$list", "$dict", "$blob", "$chunk", "$keys", "", "0", 'a "quoted" }]', "two\nlines", "中" * 300]


@pytest.mark.parametrize("store_url", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("plan", ["auto", "force_generic_plan"])
def test_the_view_shows_channels_of_any_name(store_url, plan):
    values = [
        7,
        [{"n": number, "text": f"record {number}, looked at in vain"} for number in range(60)],
        {f"key {number}": "value " * 8 for number in range(60)},
        "long " * 40,
        "blob " * 7000,
        list(range(500)),
        [[1, 1, 1]],
        [[None, 1], [], {}, "x", 3, [[]]] * 40,
        None,
        "",
        {"inner": "text " * 30},
    ]
    with dalsegno.connect(store_url) as ds:
        for turn in range(3):
            for name, value in zip(ODD_NAMES, values[turn:] + values[:turn], strict=True):
                conf = {"configurable": {"thread_id": f"{turn} {name[:20]}", "checkpoint_ns": ""}}
                ds.checkpointer.put(conf, single({name: value}), {"source": "loop", "step": 1}, {name: 1})
            both = dict(zip(ODD_NAMES, values[turn:] + values[:turn], strict=True))
            conf = {"configurable": {"thread_id": f"{turn}", "checkpoint_ns": ""}}
            ds.checkpointer.put(conf, single(both), {"source": "loop", "step": 1}, dict.fromkeys(both, 1))
        shown = view(store_url, plan)
        assert len(shown) == 3 * len(ODD_NAMES) + 3
        for thread, state in shown.items():
            assert plain(state) == plain(ds.threads.tree(thread))


def single(values: dict[str, Any]) -> dict[str, Any]:
    return {
        "v": 4,
        "id": str(uuid6()),
        "ts": "2026-01-02T03:04:05+00:00",
        "channel_values": copy.deepcopy(values),
        "channel_versions": dict.fromkeys(values, 1),
        "versions_seen": {},
        "updated_channels": None,
    }


def plain(tree: Any) -> Any:
    """A tree without the codec's note on the order of keys."""
    if isinstance(tree, dict):
        return {key: plain(part) for key, part in tree.items() if key != "$keys" or not isinstance(part, str)}
    return [plain(part) for part in tree] if isinstance(tree, list) else tree


def view(url: str, plan: str) -> dict[str, Any]:
    sql = "SELECT thread_id, state FROM graph_checkpoints"
    if url.startswith("sqlite"):
        shell = sqlite3.connect(url.removeprefix("sqlite:///"))
        rows = {thread: json.loads(state) for thread, state in shell.execute(sql)}
        shell.close()
        return rows
    with psycopg.connect(url) as session:
        session.execute("SELECT set_config('plan_cache_mode', %s, false)", (plan,))
        return dict(session.execute(sql).fetchall())
