"""Events say who, what and when; lineage follows forks; the difference of two message lists is what happened."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalsegno.core.journal import DIRECT, Changes, Event, Kind, Span, changes, lineage, spans_contain
from dalsegno.errors import Damaged, Misuse

NOON = datetime(2026, 9, 1, 12, tzinfo=UTC)


# --- kinds and events -----------------------------------------------------------------------------


def test_codes_of_kinds_never_change() -> None:
    assert {kind.value: kind.code for kind in Kind} == {
        "message": 1,
        "tool_call": 2,
        "tool_result": 3,
        "edit": 4,
        "delete": 5,
        "decision": 6,
        "approval": 7,
        "note": 8,
        "action": 9,
        "field": 12,
    }
    assert [Kind.of_code(kind.code) for kind in Kind] == list(Kind)


def test_an_unknown_code_is_damage() -> None:
    with pytest.raises(Damaged, match="found 77"):
        Kind.of_code(77)


@pytest.mark.parametrize(
    ("role", "calls", "kind"),
    [
        ("human", False, Kind.MESSAGE),
        ("ai", False, Kind.MESSAGE),
        ("ai", True, Kind.TOOL_CALL),
        ("tool", False, Kind.TOOL_RESULT),
        ("function", False, Kind.TOOL_RESULT),
        ("system", False, Kind.MESSAGE),
    ],
)
def test_a_new_message_brings_an_event_of_its_kind(role: str, calls: bool, kind: Kind) -> None:
    assert Kind.of_role(role, calls=calls) is kind


def test_edits_deletions_and_actions_are_not_appended_by_hand() -> None:
    assert set(Kind) - DIRECT == {Kind.EDIT, Kind.DELETE, Kind.ACTION, Kind.FIELD}


def test_an_event_has_a_coordinate_and_its_time_in_utc() -> None:
    shanghai = timezone(timedelta(hours=8))
    event = Event(seq=126, author="user", kind=Kind.MESSAGE, text="退款", payload=None, at=NOON.astimezone(shanghai))
    assert event.coordinate == "#126 user"
    assert event.kind == "message"
    assert event.at == NOON
    assert event.at.tzinfo is UTC


def test_a_naive_time_and_a_number_below_one_are_refused() -> None:
    with pytest.raises(Misuse, match="without a zone"):
        Event(seq=1, author="user", kind=Kind.NOTE, text="", payload=None, at=NOON.replace(tzinfo=None))
    with pytest.raises(Misuse, match="numbered from 1"):
        Event(seq=0, author="user", kind=Kind.NOTE, text="", payload=None, at=NOON)


# --- lineage --------------------------------------------------------------------------------------


def test_a_head_without_forks_is_one_span() -> None:
    assert lineage({}, 0, 7) == [Span(0, 7)]
    assert lineage({0: None}, 0, 7) == [Span(0, 7)]


def test_the_lineage_of_nested_forks_ends_each_branch_where_it_was_left() -> None:
    branches = {0: None, 1: (0, 4), 2: (1, 9), 3: (0, 2)}
    assert lineage(branches, 2, 12) == [Span(0, 4), Span(1, 9), Span(2, 12)]
    assert lineage(branches, 3, 20) == [Span(0, 2), Span(3, 20)]


def test_an_earlier_checkpoint_of_a_branch_sees_no_later_event_of_any_ancestor() -> None:
    assert lineage({1: (0, 4)}, 1, 3) == [Span(0, 3), Span(1, 3)]


def test_spans_contain_what_led_to_the_head_and_nothing_else() -> None:
    spans = lineage({1: (0, 4), 2: (0, 5)}, 1, 9)
    assert spans_contain(spans, 0, 4)
    assert not spans_contain(spans, 0, 5)
    assert spans_contain(spans, 1, 9)
    assert not spans_contain(spans, 1, 10)
    assert not spans_contain(spans, 2, 6)


def test_branches_that_go_round_are_damage() -> None:
    with pytest.raises(Damaged, match="parent of branch 2"):
        lineage({1: (2, 4), 2: (1, 3)}, 1, 9)


@given(st.data())
def test_lineage_agrees_with_walking_from_checkpoint_to_parent(data: st.DataObject) -> None:
    """A tree of checkpoints grown at random: continuing the newest of a branch, or forking from any."""
    parents: dict[int, int | None] = {1: None}
    branch_of = {1: 0}
    branches: dict[int, tuple[int, int] | None] = {0: None}
    for number in range(2, data.draw(st.integers(2, 25))):
        parent = data.draw(st.sampled_from(sorted(parents)))
        branch = branch_of[parent]
        if any(b == branch and n > parent for n, b in branch_of.items()):
            branches[len(branches)] = (branch, parent)
            branch = len(branches) - 1
        parents[number], branch_of[number] = parent, branch
    head = data.draw(st.sampled_from(sorted(parents)))
    walked, at = set(), head
    while at is not None:
        walked.add(at)
        at = parents[at]
    spans = lineage(branches, branch_of[head], head)
    assert {number for number in parents if spans_contain(spans, branch_of[number], number)} == walked


# --- differences ----------------------------------------------------------------------------------

elements = st.lists(st.tuples(st.sampled_from([None, "a", "b", "c", "d"]), st.integers(0, 2)), max_size=9)
unique = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 2)), max_size=8, unique_by=lambda element: element[0]
)


def test_an_old_list_that_begins_the_new_one_only_grew() -> None:
    old = [("a", 1), ("b", 2)]
    assert changes(old, old) == Changes(range(2, 2), (), ())
    grown = changes(old, [*old, ("c", 3), ("d", 4)])
    assert (list(grown.appended), list(grown.edited), list(grown.deleted)) == ([2, 3], [], [])


def test_edit_delete_append_and_reordering_at_once() -> None:
    old = [("a", 1), ("b", 1), ("c", 1), ("d", 1)]
    new = [("c", 1), ("a", 2), ("e", 1), ("d", 1)]
    assert changes(old, new) == Changes((2,), ((0, 1),), (1,))


def test_order_alone_is_no_change() -> None:
    assert changes([("a", 1), (None, 2), ("c", 3)], [("c", 3), ("a", 1), (None, 2)]) == Changes((), (), ())


def test_a_message_that_was_given_its_id_meanwhile_is_the_same_message() -> None:
    assert changes([(None, 7), ("b", 1)], [("a", 7), ("b", 1)]) == Changes((), (), ())
    assert changes([("a", 7), ("b", 1)], [(None, 7), ("b", 1)]) == Changes((), (), ())


def test_the_same_content_under_another_id_is_another_message() -> None:
    assert changes([("a", 7)], [("b", 7)]) == Changes((0,), (), (0,))


def test_nameless_elements_are_counted() -> None:
    assert changes([(None, 1), (None, 1)], [(None, 1), (None, 2), (None, 1), (None, 1)]) == Changes((1, 3), (), ())
    assert changes([(None, 1), (None, 1), (None, 2)], [(None, 1)]) == Changes((), (), (1, 2))


def test_an_id_that_occurs_twice_is_paired_as_often_as_on_both_sides() -> None:
    assert changes([("a", 1), ("a", 2)], [("a", 3), ("a", 1)]) == Changes((), ((1, 0),), ())
    assert changes([("a", 1)], [("a", 2), ("a", 1)]) == Changes((0,), (), ())


@given(unique, unique)
def test_with_distinct_ids_changes_are_set_differences(old: list[tuple[str, int]], new: list[tuple[str, int]]) -> None:
    before, after = dict(old), dict(new)
    told = changes(old, new)
    assert [new[at][0] for at in told.appended] == [name for name, _ in new if name not in before]
    assert [old[at][0] for at in told.deleted] == [name for name, _ in old if name not in after]
    assert [(old[a][0], new[b][0]) for a, b in told.edited] == [
        (name, name) for name, digest in new if name in before and before[name] != digest
    ]


@given(elements, elements)
def test_the_new_list_is_the_old_one_after_the_changes(
    old: list[tuple[str | None, int]], new: list[tuple[str | None, int]]
) -> None:
    """As digests, since an id may have been given or lost meanwhile."""
    told = changes(old, new)
    assert list(told.appended) == sorted(set(told.appended))
    assert list(told.deleted) == sorted(set(told.deleted))
    result = Counter(digest for _, digest in old)
    result.subtract(old[at][1] for at in told.deleted)
    result.subtract(old[before][1] for before, _ in told.edited)
    result.update(new[after][1] for _, after in told.edited)
    result.update(new[at][1] for at in told.appended)
    assert +result == Counter(digest for _, digest in new)
    assert min(result.values(), default=0) >= 0
    assert all(old[before][0] == new[after][0] is not None for before, after in told.edited)


@given(elements, elements)
def test_nothing_is_both_deleted_and_appended(
    old: list[tuple[str | None, int]], new: list[tuple[str | None, int]]
) -> None:
    told = changes(old, new)
    gone, come = [old[at] for at in told.deleted], [new[at] for at in told.appended]
    assert not {name for name, _ in gone if name} & {name for name, _ in come if name}
    assert not {digest for name, digest in gone if name is None} & {digest for _, digest in come}
    assert not {digest for _, digest in gone} & {digest for name, digest in come if name is None}
