"""Applying what `difference` says to the first state gives the second."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dalsegno.cli.difference import Change, difference

trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=2), inner, max_size=4),
    max_leaves=25,
)


def kinds(before, after):
    return [(change.kind, change.path) for change in difference(before, after)]


def test_a_message_more_is_one_addition():
    before = {"messages": [{"content": "a"}, {"content": "b"}]}
    assert kinds(before, {"messages": [*before["messages"], {"content": "c"}]}) == [("added", "messages[2]")]


def test_a_message_put_in_front_does_not_change_those_after_it():
    before = {"messages": [{"content": "a"}, {"content": "b"}]}
    assert kinds(before, {"messages": [{"content": "new"}, *before["messages"]]}) == [("added", "messages[0]")]


def test_an_edited_message_is_a_change_of_its_content():
    before, after = ({"messages": [{"$m": "ai", "content": text, "id": "1"}]} for text in "ab")
    changes = list(difference(before, after))
    assert changes == [Change(kind="changed", path="messages[0].content", before="a", after="b")]


def test_messages_are_lined_up_by_what_they_say():
    """The same conversation of another run: other ids, nothing else."""
    before = [{"$m": "human", "content": "a", "id": "1"}, {"$m": "ai", "content": "b", "id": "2"}]
    after = [{"$m": "human", "content": "0", "id": "8"}, {**before[0], "id": "7"}, before[1]]
    assert kinds(before, after) == [("added", "[0]"), ("id", "[0].id")]


def test_the_id_of_anything_else_is_content():
    assert kinds([{"id": "a"}], [{"id": "b"}]) == [("changed", "[0].id")]


def test_removed_and_added_channels_are_named():
    assert kinds({"a": 1, "b": 2}, {"b": 2, "c": 3}) == [("removed", "a"), ("added", "c")]


def test_a_key_that_is_no_name_is_quoted():
    assert kinds({"plan": {"due date": 1}}, {"plan": {"due date": 2}}) == [("changed", 'plan["due date"]')]


def test_python_takes_1_and_true_for_equal_and_this_does_not():
    assert kinds({"x": 1}, {"x": True}) == [("changed", "x")]
    assert kinds({"x": [1]}, {"x": [1.0]}) == [("changed", "x[0]")]


@given(trees)
def test_equal_states_have_no_difference(tree):
    assert list(difference(tree, json.loads(json.dumps(tree)))) == []


@given(trees, trees)
def test_different_states_have_one(before, after):
    same = json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
    assert (list(difference(before, after)) == []) == same


@given(st.lists(st.integers(0, 4)), st.lists(st.integers(0, 4)))
def test_what_is_said_of_a_list_rebuilds_it(before, after):
    """Removed places leave, changed places change, added places come: the second list."""
    changes = list(difference(before, after))
    gone = {change.path for change in changes if change.kind == "removed"}
    changed = {change.path: change.after for change in changes if change.kind == "changed"}
    kept = [changed.get(f"[{place}]", value) for place, value in enumerate(before) if f"[{place}]" not in gone]
    for change in changes:
        if change.kind == "added":
            kept.insert(int(change.path[1:-1]), change.after)
    assert kept == after
