"""States of older versions are read in today's form, newer ones are refused, and nothing missing is passed on as None."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, PrivateAttr

from dalsegno.core.schema import Default, Drop, Rename, StateSchema
from dalsegno.errors import Misuse, StateFromFuture, StateShapeError

SCHEMA = StateSchema(
    version=3,
    migrations=[
        Rename("attachments[].url", "ref", since=2),
        Default("tasks[].retries", 0, since=2),
        Default("priority", "normal", since=3),
        Drop("scratch", since=3),
        Rename("msgs", "messages", since=3),
    ],
    required=["attachments[].ref", "messages"],
)
OLD = {
    "attachments": [{"id": 1, "url": "s3://a"}, {"id": 2, "url": "s3://b", "caption": None}],
    "tasks": [{"name": "x"}, {"name": "y", "retries": 4}],
    "scratch": "…",
    "msgs": ["hello"],
}


# --- reading --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", [None, 1])
def test_an_old_state_is_read_in_the_form_of_today(stored: int | None) -> None:
    before = copy.deepcopy(OLD)
    read = SCHEMA.read(OLD, stored)
    assert read.values == {
        "attachments": [{"id": 1, "ref": "s3://a"}, {"id": 2, "ref": "s3://b", "caption": None}],
        "tasks": [{"name": "x", "retries": 0}, {"name": "y", "retries": 4}],
        "priority": "normal",
        "messages": ["hello"],
    }
    assert read.renamed == {"msgs": "messages"}
    assert read.dropped == {"scratch"}
    assert before == OLD


def test_a_state_of_version_two_is_spared_what_it_has_seen() -> None:
    read = SCHEMA.read({"attachments": [{"ref": 1, "url": "a link that is meant"}], "msgs": []}, 2)
    assert read.values["attachments"] == [{"ref": 1, "url": "a link that is meant"}]
    assert read.values["messages"] == []


def test_a_state_of_this_version_is_read_as_it_is() -> None:
    values = {"scratch": 1, "msgs": [], "attachments": [{"ref": "r", "url": "u"}]}
    read = SCHEMA.read(values, 3)
    assert read == (values, {}, frozenset())
    assert read.values["attachments"] is values["attachments"]


def test_without_a_schema_of_its_own_everything_is_version_one() -> None:
    assert StateSchema().read({"a": 1}, None).values == {"a": 1}


def test_names_are_followed_through_several_versions() -> None:
    schema = StateSchema(
        version=4,
        migrations=[
            Rename("b", "c", since=3),
            Rename("a", "b", since=2),
            Drop("c", since=4),
            Rename("d", "e", since=4),
        ],
    )
    assert schema.read({"a": 1, "d": 2}, 1) == ({"e": 2}, {"d": "e"}, {"a"})
    assert schema.read({"b": 1}, 2) == ({}, {}, {"b"})


def test_within_a_version_migrations_apply_as_written() -> None:
    moved = StateSchema(version=2, migrations=[Rename("a", "b", since=2), Default("a", 0, since=2)])
    assert moved.read({"a": 1}, 1) == ({"b": 1, "a": 0}, {"a": "b"}, frozenset())


# --- nothing a migration meets is an error --------------------------------------------------------


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"attachments": None},
        {"attachments": "s3://a"},
        {"attachments": {"url": "not a list"}},
        {"attachments": [None, 3, "x", [], {"other": 1}]},
        {"attachments": {1, 2}},
    ],
)
def test_a_path_that_leads_nowhere_changes_nothing(state: dict[str, Any]) -> None:
    schema = StateSchema(
        version=2,
        migrations=[
            Rename("attachments[].url", "ref", since=2),
            Default("attachments[].deep.er", 1, since=2),
            Drop("attachments[].url.x", since=2),
        ],
    )
    assert schema.read(state, 1).values == state


def test_a_rename_onto_a_field_that_is_there_keeps_both() -> None:
    schema = StateSchema(version=2, migrations=[Rename("a.x", "y", since=2), Rename("p", "q", since=2)])
    state = {"a": {"x": 1, "y": 2}, "p": 3, "q": 4}
    assert schema.read(state, 1) == (state, {}, frozenset())


def test_a_default_fills_only_what_is_missing_and_is_never_shared() -> None:
    schema = StateSchema(version=2, migrations=[Default("tasks[].notes", [], since=2)])
    read = schema.read({"tasks": [{}, {}, {"notes": None}, {"notes": 0}]}, 1).values["tasks"]
    assert read == [{"notes": []}, {"notes": []}, {"notes": None}, {"notes": 0}]
    read[0]["notes"].append(1)
    assert read[1]["notes"] == []
    assert schema.read({"tasks": [{}]}, 1).values == {"tasks": [{"notes": []}]}


def test_a_renamed_key_keeps_its_place() -> None:
    schema = StateSchema(version=2, migrations=[Rename("a.x", "y", since=2)])
    assert list(schema.read({"a": {"w": 0, "x": 1, "z": 2}}, 1).values["a"]) == ["w", "y", "z"]


keys = st.sampled_from(["a", "b", "c", "x"])
trees = st.recursive(
    st.none() | st.integers(0, 3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3) | st.tuples(inner, inner),
    max_leaves=15,
)
paths = st.lists(st.sampled_from(["a", "b", "c", "a[]", "b[]", "x[][]"]), max_size=2).flatmap(
    lambda head: keys.map(lambda last: ".".join([*head, last]))
)
migrations = st.one_of(
    st.tuples(paths, keys).filter(lambda pair: pair[0].split(".")[-1] != pair[1]).map(lambda p: Rename(*p, since=2)),
    st.tuples(paths, trees).map(lambda pair: Default(*pair, since=2)),
    paths.map(lambda path: Drop(path, since=2)),
)


@given(st.dictionaries(keys, trees), st.lists(migrations, max_size=5))
def test_no_state_makes_a_migration_fail_or_is_changed_by_it(state: dict[str, Any], steps: list[Any]) -> None:
    before = copy.deepcopy(state)
    read = StateSchema(version=2, migrations=steps).read(state, None)
    assert state == before
    assert set(read.renamed) | read.dropped <= set(state)
    assert set(read.renamed.values()) <= set(read.values)


@given(st.dictionaries(keys, trees), migrations)
def test_a_migration_applied_twice_changes_nothing_more(state: dict[str, Any], step: Any) -> None:
    schema = StateSchema(version=2, migrations=[step])
    once = schema.read(state, 1).values
    assert schema.read(once, 1).values == once


# --- objects --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attachment:
    id: int
    ref: str = ""
    tags: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Slotted:
    inner: Any
    ref: str = ""


class Model(BaseModel):
    ref: str = ""
    inner: Any = None
    _secret: str = PrivateAttr(default="")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    ref: str = ""


URL_TO_REF = StateSchema(version=2, migrations=[Rename("items[].url", "ref", since=2)])


def left_over(made: Any, **attributes: Any) -> Any:
    """An object as a reader rebuilds it from the attributes of its class's older form."""
    for name, value in attributes.items():
        made.__dict__[name] = value
    return made


def test_what_a_dataclass_no_longer_declares_moves_into_what_it_does() -> None:
    old = left_over(Attachment(id=1), url="s3://a")
    [read] = URL_TO_REF.read({"items": [old]}, 1).values["items"]
    assert read == Attachment(id=1, ref="s3://a")
    assert vars(read) == {"id": 1, "ref": "s3://a", "tags": []}
    assert vars(old)["url"] == "s3://a"
    assert old.ref == ""


def test_the_same_holds_for_pydantic_models_with_their_private_parts() -> None:
    old = left_over(Model(), url="s3://a")
    old._secret = "kept"
    read = URL_TO_REF.read({"items": (old,)}, 1).values["items"]
    assert isinstance(read, tuple)
    assert read[0].ref == "s3://a"
    assert read[0]._secret == "kept"
    assert read[0].model_fields_set == {"ref"}
    assert "url" not in vars(read[0])
    assert old.ref == ""


def test_and_for_the_extra_fields_of_an_open_model() -> None:
    old = Open(url="s3://a", other=1)
    [read] = URL_TO_REF.read({"items": [old]}, 1).values["items"]
    assert read == Open(ref="s3://a", other=1)
    assert old.model_extra == {"url": "s3://a", "other": 1}


def test_a_declared_field_is_neither_renamed_nor_dropped() -> None:
    schema = StateSchema(
        version=2,
        migrations=[Rename("items[].ref", "id", since=2), Drop("items[].tags", since=2), Drop("m.ref", since=2)],
    )
    state = {"items": [Attachment(id=1, ref="r")], "m": Model(ref="r")}
    assert schema.read(state, 1).values == state


def test_what_is_left_over_can_be_dropped() -> None:
    schema = StateSchema(version=2, migrations=[Drop("items[].url", since=2), Drop("m.url", since=2)])
    read = schema.read({"items": [left_over(Attachment(id=1), url="u")], "m": Open(url="u")}, 1).values
    assert vars(read["items"][0]) == vars(Attachment(id=1))
    assert read["m"].model_extra == {}


def test_paths_lead_through_objects() -> None:
    schema = StateSchema(version=2, migrations=[Rename("a.tags[].k", "key", since=2), Default("s.inner.n", 7, since=2)])
    state = {"a": Attachment(id=1, tags=[{"k": 1}]), "s": Slotted(inner={})}
    read = schema.read(state, 1).values
    assert read == {"a": Attachment(id=1, tags=[{"key": 1}]), "s": Slotted(inner={"n": 7})}
    assert state == {"a": Attachment(id=1, tags=[{"k": 1}]), "s": Slotted(inner={})}


def test_a_change_inside_a_field_does_not_count_as_setting_it() -> None:
    model = Model.model_construct(inner={"k": 1}, _fields_set={"ref"})
    schema = StateSchema(version=2, migrations=[Rename("m.inner.k", "key", since=2)])
    read = schema.read({"m": model}, 1).values["m"]
    assert (read.inner, read.model_fields_set) == ({"key": 1}, {"ref"})


def test_containers_keep_their_type() -> None:
    counted = defaultdict(list, {"k": {"url": 1}})
    ordered = OrderedDict(url=1)
    state = {"items": deque([ordered], maxlen=3), "by": counted}
    schema = StateSchema(version=2, migrations=[*URL_TO_REF.migrations, Rename("by[].url", "ref", since=2)])
    read = schema.read(state, 1).values
    assert read["items"] == deque([OrderedDict(ref=1)])
    assert (type(read["items"]), read["items"].maxlen) == (deque, 3)
    assert type(read["items"][0]) is OrderedDict
    assert read["by"] == {"k": {"ref": 1}}
    assert read["by"].default_factory is list


def test_unchanged_parts_stay_the_same_objects() -> None:
    untouched = {"ref": 1}
    state = {"items": [untouched, {"url": 2}], "other": [untouched]}
    read = URL_TO_REF.read(state, 1).values
    assert read["items"][0] is untouched
    assert read["other"] is state["other"]


# --- the input, parts and writes ------------------------------------------------------------------


def test_an_input_that_waits_is_migrated_and_not_filled_in() -> None:
    read = SCHEMA.read({"__start__": {"msgs": ["hi"], "scratch": 1, "tasks": [{}]}}, 1)
    assert read.values == {"__start__": {"messages": ["hi"], "tasks": [{"retries": 0}]}}
    assert (read.renamed, read.dropped) == ({}, frozenset())


@pytest.mark.parametrize("part", [None, "text", 3, ["msgs"]])
def test_a_part_without_fields_is_returned_as_it_is(part: Any) -> None:
    assert SCHEMA.read_part(part, 1) == part


def test_a_pending_write_goes_where_its_channel_went() -> None:
    assert SCHEMA.read_write("msgs", ["hi"], 1) == ("messages", ["hi"])
    assert SCHEMA.read_write("scratch", 1, None) is None
    assert SCHEMA.read_write("attachments", [{"url": "u"}], 1) == ("attachments", [{"ref": "u"}])
    assert SCHEMA.read_write("__interrupt__", ("x",), 1) == ("__interrupt__", ("x",))
    assert SCHEMA.read_write("scratch", 1, 3) == ("scratch", 1)


# --- refusals -------------------------------------------------------------------------------------


def test_a_state_newer_than_the_code_is_refused() -> None:
    for read in (SCHEMA.read, SCHEMA.read_part):
        with pytest.raises(StateFromFuture, match=r"version 4 .* version 3; run the newer code"):
            read({}, 4)
    with pytest.raises(StateFromFuture):
        SCHEMA.read_write("messages", [], 4)


@pytest.mark.parametrize("bad", [{}, {"ref": None}, None, "s3://a", 7])
@pytest.mark.parametrize("stored", [1, 3])
def test_an_element_without_a_required_field_is_named(bad: Any, stored: int) -> None:
    with pytest.raises(StateShapeError, match=r"attachments\[1\]\.ref") as refused:
        SCHEMA.read({"attachments": [{"ref": 1}, bad, {}], "messages": []}, stored)
    assert refused.value.path == "attachments[1].ref"


def test_required_paths_through_mappings_objects_and_sets_are_named_as_python_writes_them() -> None:
    Pair = namedtuple("Pair", "left right")  # noqa: PYI024 - what old programs have
    schema = StateSchema(required=["drafts[].text", "a.ref", "pair.right", "plan.steps[].tool.name"])
    good = {
        "drafts": {"k": {"text": 1}},
        "a": Slotted(inner=1),
        "pair": Pair(1, 2),
        "plan": MappingProxyType({"steps": [{"tool": Model(inner=1)}]}),
    }
    with pytest.raises(StateShapeError) as refused:
        schema.read(good, 1)
    assert refused.value.path == "plan.steps[0].tool.name"
    for change, path in [
        ({"drafts": {"k": {"text": 1}, 7: {}}}, "drafts[7].text"),
        ({"drafts": {"k": {}}}, "drafts['k'].text"),
        ({"a": Attachment(id=1, ref=None)}, "a.ref"),
        ({"pair": Pair(1, None)}, "pair.right"),
        ({"drafts": "text"}, "drafts"),
    ]:
        with pytest.raises(StateShapeError) as refused:
            schema.read({**good, **change}, 1)
        assert refused.value.path == path


def test_what_is_inside_an_absent_field_is_not_asked_for() -> None:
    schema = StateSchema(required=["plan.steps[].name"])
    for state in ({}, {"plan": None}, {"plan": {}}, {"plan": {"steps": None}}, {"plan": {"steps": []}}):
        assert schema.read(state, 1).values == state


def test_a_whole_channel_is_asked_for_only_in_states_of_older_versions() -> None:
    schema = StateSchema(version=2, required=["messages"])
    assert schema.read({"other": 1}, 2).values == {"other": 1}
    for stored in (None, 1):
        with pytest.raises(StateShapeError) as refused:
            schema.read({"other": 1}, stored)
        assert refused.value.path == "messages"
        assert schema.read({"other": 1}, stored, whole=False).values == {"other": 1}
        assert SCHEMA.read({"attachments": []}, stored, whole=False).values == {"attachments": []}
    assert schema.read({"__start__": {"x": 1}, "branch:to:a": None}, 1).values["__start__"] == {"x": 1}
    assert schema.read({}, 1).values == {}


# --- declarations ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["", ".", "a.", ".a", "a..b", "a[", "a]", "a[0]", "[]", "[].a", "a[]", "a.b[]", "a[]b", " a", "a. b", None, 3],
)
def test_a_path_that_cannot_be_read_is_refused_when_declared(path: Any) -> None:
    with pytest.raises(Misuse, match="path"):
        StateSchema(required=[path])
    with pytest.raises(Misuse, match="path"):
        StateSchema(version=2, migrations=[Drop(path, since=2)])


@pytest.mark.parametrize("path", ["a", "附件[].链接", "a[][].b", "with space.x-y", "a_b.c1"])
def test_paths_name_any_field(path: str) -> None:
    assert StateSchema(required=[path]).required == (path,)


@pytest.mark.parametrize(
    "arguments",
    [
        {"version": 0},
        {"version": "3"},
        {"version": True},
        {"version": 2, "migrations": [Drop("a", since=1)]},
        {"version": 2, "migrations": [Drop("a", since=3)]},
        {"version": 2, "migrations": [Drop("a", since=2.0)]},
        {"version": 2, "migrations": [Rename("a", "a", since=2)]},
        {"version": 2, "migrations": [Rename("a", "b.c", since=2)]},
        {"version": 2, "migrations": [Rename("a", "b[]", since=2)]},
        {"version": 2, "migrations": [Rename("a", "", since=2)]},
        {"version": 2, "migrations": [Rename("a", None, since=2)]},
        {"version": 2, "migrations": [lambda state: state]},
        {"required": "messages"},
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(Misuse):
        StateSchema(**arguments)
