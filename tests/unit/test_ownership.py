"""A field says who writes it and what it may hold; mistakes in saying so are found at once."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from dalsegno.core.ownership import MISSING, Field
from dalsegno.core.schema import StateSchema
from dalsegno.errors import Misuse, NotOwner, Refused, StateShapeError


class Step(TypedDict):
    name: str
    tries: int


class Plan(BaseModel):
    goal: str
    steps: list[str] = []


@dataclass
class Source:
    id: str
    body: Any = None


# --- owners ---------------------------------------------------------------------------------------


def test_the_owner_may_write_and_another_is_refused_with_both_names():
    field = Field("verdict", owner="judge")
    field.check_owner("judge")
    with pytest.raises(NotOwner) as caught:
        field.check_owner("draft")
    assert "'draft'" in str(caught.value)
    assert "'judge'" in str(caught.value)
    assert (caught.value.field, caught.value.node, caught.value.owners) == ("verdict", "draft", ("judge",))
    assert isinstance(caught.value, Refused)


def test_each_of_several_owners_may_write():
    field = Field("notes", owner=["a", "b"])
    field.check_owner("a")
    field.check_owner("b")
    with pytest.raises(NotOwner, match="'a' and 'b' own"):
        field.check_owner("c")


@pytest.mark.parametrize("outside", [None, "", "__input__", "__start__"])
def test_what_comes_from_outside_of_the_graph_is_free(outside: str | None):
    Field("verdict", owner="judge").check_owner(outside)


def test_a_field_without_an_owner_is_everyones():
    Field("log").check_owner("anyone")


# --- shapes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (str, "x"),
        (int, 3),
        (list[str], ["a"]),
        (Literal["low", "high"], "low"),
        (str | None, None),
        (Step, {"name": "a", "tries": 1}),
        (Plan, Plan(goal="g")),
        (Source, Source("1")),
        (dict[str, list[int]], {"a": [1]}),
        (Any, object()),
    ],
)
def test_a_value_of_the_type_passes(kind: Any, value: Any):
    Field("it", type=kind).check(value)


@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        (str, 5, "it"),
        (int, True, "it"),
        (int, "5", "it"),
        (list[str], ["a", 2], "it[1]"),
        (list[str], ("a",), "it"),
        (Literal["low", "high"], "lwo", "it"),
        (dict[str, list[int]], {"a": [1, "2"]}, "it.a[1]"),
        (list[Step], [{"name": "a", "tries": 1}, {"name": "b", "tries": "2"}], "it[1].tries"),
        (list[Step], [{"name": "a"}], "it[0].tries"),
        (Plan, {"goal": "g"}, "it"),
        (Source, {"id": "1"}, "it"),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_path(kind: Any, value: Any, path: str):
    with pytest.raises(StateShapeError) as caught:
        Field("it", type=kind).check(value)
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path} is ")


def test_a_required_field_is_not_written_as_none():
    with pytest.raises(StateShapeError, match="it is required"):
        Field("it", required=True).check(None)
    Field("it").check(None)


def test_what_a_reducer_is_given_is_its_own_business_and_what_it_makes_is_not():
    field = Field("notes", type=list[str], reducer=operator.add)
    field.check("anything a reducer takes")
    field.check_container(["a"])
    with pytest.raises(StateShapeError, match="notes is tuple"):
        field.check_container(("a",))
    with pytest.raises(StateShapeError):
        field.check([1], whole=True)


# --- references -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("x" * 101, "files"),
        ("总" * 34, "files"),
        (b"x" * 101, "files"),
        ([{"id": "1", "body": "x" * 101}], "files[0].body"),
        ({"a": {"odd key": ["", "x" * 101]}}, "files.a['odd key'][1]"),
        ([Source("1", b"x" * 200)], "files[0].body"),
    ],
)
def test_a_body_where_references_belong_is_refused_with_its_path(value: Any, path: str):
    with pytest.raises(StateShapeError) as caught:
        Field("files", keep="reference", limit_bytes=100).check(value)
    assert caught.value.path == path
    assert "100" in str(caught.value)


@pytest.mark.parametrize("value", ["x" * 100, "总" * 33, [{"id": "1", "ref": "s3://a", "caption": None}], None, 5])
def test_references_pass(value: Any):
    Field("files", keep="reference", limit_bytes=100).check(value)


def test_bodies_are_looked_for_under_a_reducer_too():
    with pytest.raises(StateShapeError):
        Field("files", keep="reference", reducer=operator.add).check([{"body": "x" * 5000}])


# --- what a state lacks -----------------------------------------------------------------------------


SCHEMA = StateSchema(
    fields=[
        Field("question", required=True),
        Field("plan", owner=("planner", "person"), required=True),
        Field("tries", default=0, required=True),
        Field("tags", default=[]),
        Field("override", scope="run", default="x"),
    ]
)


@pytest.mark.parametrize(
    ("has", "ran", "lacks"),
    [
        ({"question"}, {"intake"}, None),
        (set(), set(), "question"),
        ({"question"}, {"planner"}, "plan"),
        ({"question", "plan"}, {"planner"}, None),
    ],
)
def test_a_required_field_is_due_from_the_input_or_once_an_owner_has_run(
    has: set[str], ran: set[str], lacks: str | None
):
    if lacks is None:
        SCHEMA.check_due(has.__contains__, ran)
        return
    with pytest.raises(StateShapeError) as caught:
        SCHEMA.check_due(has.__contains__, ran)
    assert caught.value.path == lacks


def test_defaults_fill_a_state_that_has_begun_each_with_its_own_copy():
    one, other = SCHEMA.fill({"question": "q"}), SCHEMA.fill({"question": "q"})
    assert one == {"question": "q", "tries": 0, "tags": []}
    assert one["tags"] is not other["tags"]
    begun = {"question": "q", "tries": None, "tags": ["a"]}
    assert SCHEMA.fill(begun) is begun
    assert SCHEMA.fill({"__start__": {}}) == {"__start__": {}}


def test_the_fields_of_one_run_are_named():
    assert SCHEMA.run_fields == {"override"}
    assert SCHEMA.field("plan").owners == ("planner", "person")
    assert SCHEMA.field("nothing") is None


# --- declaring ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Field(""),
        lambda: Field("a.b"),
        lambda: Field("a[]"),
        lambda: Field("a", owner=[""]),
        lambda: Field("a", owner=[3]),
        lambda: Field("a", keep="copy"),
        lambda: Field("a", scope="turn"),
        lambda: Field("a", reducer="add"),
        lambda: Field("a", limit_bytes=0),
        lambda: Field("a", scope="run", journal=True),
        lambda: Field("a", scope="run", required=True),
        lambda: Field("a", scope="run", keep="reference"),
        lambda: Field("a", type=int, default="5"),
        lambda: Field("a", type="NotThere"),
        lambda: StateSchema(fields=["a"]),
        lambda: StateSchema(fields="a"),
        lambda: StateSchema(fields=[Field("a"), Field("a")]),
    ],
)
def test_a_mistake_in_a_declaration_is_found_when_it_is_made(wrong: Any):
    with pytest.raises(Misuse):
        wrong()


def test_a_default_may_be_none_only_where_it_fits():
    assert Field("a").default is MISSING
    assert Field("a", type=str | None, default=None).default is None
    with pytest.raises(Misuse):
        Field("a", required=True, default=None)
