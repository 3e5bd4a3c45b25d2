"""A stored tree is shown as a person reads it: no notes of the codec, types by name, lines that line up."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum

import pytest
from langchain_core.messages import HumanMessage

import dalsegno
from dalsegno.cli.difference import difference
from dalsegno.cli.legible import readable
from dalsegno.core import codec


@dalsegno.register
@dataclasses.dataclass
class Ticket:
    number: int
    tags: tuple


@dalsegno.register
class Color(enum.Enum):
    RED = "r"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": 1, "a": [None, True, "x"]}, '{"b": 1, "a": [null, true, "x"]}'),
        (Ticket(7, ("a", 1)), 'Ticket(number=7, tags=("a", 1))'),
        ({"color": Color.RED}, '{"color": Color.RED}'),
        ({1: "one", "$x": 2}, '{1: "one", "$x": 2}'),
        (dt.date(2026, 11, 30), "2026-11-30"),
        ({3, 1}, "{1, 3}"),
        (b"x", 'bytes("eA==")'),
        (collections.deque([1], maxlen=2), "deque([1], maxlen=2)"),
        (2**70, "1180591620717411303424"),
        (HumanMessage("hi"), "user: hi"),
        ({"said": HumanMessage("hi")}, '{"said": "user: hi"}'),
    ],
    ids=repr,
)
def test_a_value_is_readable(value, expected):
    assert readable(codec.encode(value)) == expected


@pytest.mark.parametrize(
    "tree", [{"$keys": ["x"], "a": 1}, {"$keys": [5], "a": 1}, {"$map": 3}, {"$type": [], "a": {}}]
)
def test_a_broken_tree_is_shown_all_the_same(tree):
    assert readable(tree)


def test_notes_are_no_difference_and_wrappings_no_part_of_a_path():
    before = {"plan": {"b": 1, "a": (1, 2)}}
    after = {"plan": {"a": (1, 3), "b": 1}}
    changes = list(difference(codec.encode(before), codec.encode(after)))
    assert [(change.path, change.before, change.after) for change in changes] == [("plan.a[1]", 2, 3)]


def test_what_is_piped_has_no_trailing_blanks(run):
    for words in (("state", "hostile"), ("show", "t-1"), ("checkpoints", "forked")):
        lines = run(*words).out.splitlines()
        assert [line for line in lines if line != line.rstrip()] == []


def test_an_empty_text_is_not_a_blank_line(run, url):
    with dalsegno.connect(url) as ds:
        _put(ds, "empty", {"zeta": "", "__start__": 1, "alpha": [""], "branch:to:x": None})
    lines = run("state", "empty").out.splitlines()
    assert "" not in lines
    assert '  [0]  ""' in lines
    assert [line for line in lines if not line.startswith(" ")][:4] == ["alpha (1)", "zeta", "__start__", "branch:to:x"]


def test_the_lines_of_a_change_are_indented(run, url):
    with dalsegno.connect(url) as ds:
        _put(ds, "one", {"text": "first\nsecond"})
        _put(ds, "two", {"text": {"note": "x " * 60}})
    lines = run("diff", "one", "two", COLUMNS="60").out.splitlines()
    assert len(lines) > 3
    assert all(line.startswith(("- ", "+ ", "  ")) for line in lines)


def _put(ds, thread_id, values):
    from langgraph.checkpoint.base import empty_checkpoint

    versions = dict.fromkeys(values, 1)
    checkpoint = empty_checkpoint() | {"channel_values": values, "channel_versions": versions}
    config = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    ds.checkpointer.put(config, checkpoint, {"source": "loop", "step": 1, "parents": {}}, versions)
