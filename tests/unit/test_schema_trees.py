"""Stored trees are migrated as values are, and objects besides, whose classes would refuse their older form."""

from __future__ import annotations

import copy
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field, make_dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel, ConfigDict, PrivateAttr

from dalsegno.core import codec
from dalsegno.core.schema import Default, Drop, Rename, StateSchema
from dalsegno.errors import Damaged, StateShapeError, UnknownType

# --- the same as on values ------------------------------------------------------------------------

keys = st.sampled_from(["a", "b", "x", "longer", "$ref", "退"])
numbers = st.none() | st.integers(0, 3)
values = st.recursive(
    numbers | st.binary(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(keys, inner, max_size=4)
        | st.dictionaries(st.integers(0, 3) | keys, inner, max_size=3)
        | st.tuples(inner, inner)
        | st.lists(inner, max_size=2).map(deque)
        | st.dictionaries(keys, inner, max_size=3).map(OrderedDict)
        | st.dictionaries(keys, inner, max_size=3).map(lambda found: defaultdict(list, found))
        | st.sets(numbers, max_size=2)
    ),
    max_leaves=15,
)
paths = st.lists(st.sampled_from(["a", "b", "a[]", "b[]", "x[][]", "$ref"]), max_size=2).flatmap(
    lambda head: keys.map(lambda last: ".".join([*head, last]))
)
migrations = st.one_of(
    st.tuples(paths, keys).filter(lambda pair: pair[0].split(".")[-1] != pair[1]).map(lambda p: Rename(*p, since=2)),
    st.tuples(paths, values).map(lambda pair: Default(*pair, since=2)),
    paths.map(lambda path: Drop(path, since=2)),
)


def jsonb(tree: Any) -> Any:
    """A tree after a trip through a PostgreSQL jsonb column, which has an order of its own."""
    if isinstance(tree, list):
        return [jsonb(inner) for inner in tree]
    if isinstance(tree, dict):
        return {key: jsonb(tree[key]) for key in sorted(tree, key=lambda key: (len(key.encode()), key.encode()))}
    return tree


def encoded(state: dict[str, Any]) -> dict[str, Any]:
    return {channel: jsonb(codec.encode(value)) for channel, value in state.items()}


def decoded(trees: Any) -> dict[str, Any]:
    return {channel: codec.decode(jsonb(tree)) for channel, tree in trees.items()}


def shown(value: Any) -> str:
    """With types and orders, which equality does not see; a set has no order of its own."""
    return repr(codec.encode(value))


@given(st.dictionaries(keys, values), st.lists(migrations, max_size=4))
def test_trees_are_migrated_as_values_are(state: dict[str, Any], steps: list[Any]) -> None:
    schema = StateSchema(version=2, migrations=steps)
    trees = encoded(state)
    before = copy.deepcopy(trees)
    of_trees, of_values = schema.migrate(trees, 1, trees=True), schema.migrate(state, 1)
    assert shown(decoded(of_trees.values)) == shown(of_values.values)
    assert of_trees[1:] == of_values[1:]
    assert trees == before


@given(values, st.lists(migrations, max_size=4))
def test_parts_and_writes_too(part: Any, steps: list[Any]) -> None:
    schema = StateSchema(version=2, migrations=steps)
    tree = codec.encode(part)
    assert shown(codec.decode(schema.read_part(tree, 1, trees=True))) == shown(schema.read_part(part, 1))
    of_tree, of_value = schema.read_write("a", tree, 1, trees=True), schema.read_write("a", part, 1)
    assert (of_tree is None) == (of_value is None)
    if of_tree is not None and of_value is not None:
        assert (of_tree[0], shown(codec.decode(of_tree[1]))) == (of_value[0], shown(of_value[1]))


@pytest.mark.parametrize(
    ("state", "step", "read"),
    [
        ({"b": 1, "a": 2}, [Rename("c.b", "x", since=2), Rename("c.a", "y", since=2)], {"x": 1, "y": 2}),
        ({"c": 1, "a": 2}, [Rename("c.c", "b", since=2), Default("c.d", 3, since=2)], {"b": 1, "a": 2, "d": 3}),
        ({"url": 1, "b": 2, "a": 3}, Rename("c.url", "ref", since=2), {"ref": 1, "b": 2, "a": 3}),
        ({"b": 1, "a": 2}, Default("c.Z", 3, since=2), {"b": 1, "a": 2, "Z": 3}),
        ({"url": 1, "b": 2}, Rename("c.url", "$ref", since=2), {"$ref": 1, "b": 2}),
        ({"$ref": 1, "b": 2}, Rename("c.$ref", "url", since=2), {"url": 1, "b": 2}),
        ({"b": 1, "a": 2, "url": 3}, Drop("c.a", since=2), {"b": 1, "url": 3}),
        ({7: {"url": 1}, "k": {"url": 2}}, Rename("c[].url", "ref", since=2), {7: {"ref": 1}, "k": {"ref": 2}}),
    ],
)
def test_keys_keep_their_order_and_their_spelling(state: Any, step: Any, read: Any) -> None:
    steps = step if isinstance(step, list) else [step]
    found = StateSchema(version=2, migrations=steps).migrate(encoded({"c": state}), 1, trees=True)
    assert shown(decoded(found.values)["c"]) == shown(read)


@pytest.mark.parametrize(
    "tree",
    [
        {"$keys": [0], "url": 1, "x": 2},
        {"$keys": "no", "url": 1},
        {"$keys": [0, 0], "url": 1, "x": 2},
        {"$map": [["url"]]},
        {"$map": "no"},
        {"$tuple": 7},
        {"$unknown": {"url": 1}},
        {"$type": 7, "$extra": 3, "$unset": 9, "other": 1},
    ],
)
def test_a_damaged_tree_is_left_for_its_reader_to_report(tree: Any) -> None:
    schema = StateSchema(
        version=2, migrations=[Rename("c.url", "ref", since=2), Drop("c[].url", since=2), Rename("c.x", "y", since=2)]
    )
    migrated = schema.migrate({"c": tree}, 1, trees=True).values["c"]
    assert migrated == tree
    with pytest.raises(Damaged):
        codec.decode(migrated)


# --- objects whose class has changed --------------------------------------------------------------


def replaced(old: type, new: type) -> None:
    """The program's next version: the same name, another class."""
    new.__qualname__, new.__module__ = old.__qualname__, old.__module__
    codec.register(new)


def migrated(value: Any, *steps: Any) -> Any:
    return codec.decode(StateSchema(version=2, migrations=steps).migrate({"c": [value]}, 1, trees=True).values["c"][0])


@pytest.mark.parametrize("slots", [False, True])
def test_a_required_field_of_a_dataclass_is_renamed(slots: bool) -> None:
    old = make_dataclass("Attachment", [("id", int), ("url", str)], slots=slots)
    new = make_dataclass("Attachment", [("id", int), ("ref", str), ("kind", str)], slots=slots, frozen=True)
    tree = codec.encode(old(1, "s3://a"))
    replaced(old, new)
    with pytest.raises(StateShapeError):
        codec.decode(tree)
    read = migrated(tree, Rename("c[].url", "ref", since=2), Default("c[].kind", "图", since=2))
    assert read == new(1, "s3://a", "图")


def test_a_required_field_of_a_model_is_renamed_and_its_private_parts_stay() -> None:
    class Old(BaseModel):
        id: int
        url: str = "unset"
        tags: list[dict[str, Any]] = []
        _secret: str = PrivateAttr(default="")

    class New(BaseModel):
        id: int
        ref: str
        tags: list[dict[str, Any]] = []
        _secret: str = PrivateAttr(default="")

    given, unset = Old(id=1, url="s3://a"), Old(id=2)
    given._secret = "kept"
    trees = [codec.encode(given), codec.encode(unset)]
    replaced(Old, New)
    one, two = (migrated(tree, Rename("c[].url", "ref", since=2)) for tree in trees)
    assert (one.ref, one._secret, one.model_fields_set) == ("s3://a", "kept", {"id", "ref"})
    assert (two.ref, two.model_fields_set) == ("unset", {"id"})
    assert "url" not in vars(one)
    inner = migrated(codec.encode(New(id=1, ref="r")), Drop("c[].tags[].x", since=2))
    assert inner.model_fields_set == {"id", "ref"}


def test_an_extra_field_of_an_open_model_becomes_a_declared_one() -> None:
    class Old(BaseModel):
        model_config = ConfigDict(extra="allow")

    class New(BaseModel):
        ref: str

    tree = codec.encode(Old(url="s3://a", other=1))
    replaced(Old, New)
    read = migrated(tree, Rename("c[].url", "ref", since=2), Drop("c[].other", since=2))
    assert read == New(ref="s3://a")
    assert read.model_fields_set == {"ref"}


def test_a_field_of_a_named_tuple_is_renamed_and_dropped() -> None:
    class Old(NamedTuple):
        url: str
        scratch: int

    class New(NamedTuple):
        ref: str

    tree = codec.encode(Old("s3://a", 1))
    replaced(Old, New)
    assert migrated(tree, Rename("c[].url", "ref", since=2), Drop("c[].scratch", since=2)) == New("s3://a")


def test_a_field_that_was_never_set_and_is_added_is_set() -> None:
    @dataclass
    class Old:
        id: int
        late: int = field(init=False)

    tree = codec.encode(Old(1))
    assert not hasattr(codec.decode(tree), "late")
    assert migrated(tree, Default("c[].late", 7, since=2)).late == 7


def test_notes_about_a_field_go_where_the_field_goes() -> None:
    class Noted(BaseModel):
        id: int
        ref: str = ""
        url: str = ""

    tree = {"$type": codec.encode(Noted(id=1))["$type"], "id": 1}
    added = migrated({**tree, "$given": ["id"], "url": ""}, Default("c[].ref", "r", since=2))
    assert (added.ref, added.model_fields_set) == ("r", {"id", "ref"})
    absent = migrated({**tree, "$absent": ["ref"]}, Default("c[].ref", "r", since=2))
    assert absent.ref == "r"
    moved = migrated(
        {**tree, "$given": ["id", "url"], "url": "u", "$absent": ["ref"]}, Rename("c[].url", "ref", since=2)
    )
    assert (moved.ref, moved.model_fields_set) == ("u", {"id", "ref"})
    both = migrated({**tree, "url": "u", "ref": "r"}, Rename("c[].url", "ref", since=2))
    assert (both.url, both.ref) == ("u", "r")


def test_objects_in_objects_in_every_container_are_reached() -> None:
    old = make_dataclass("Leaf", [("url", str)])
    new = make_dataclass("Leaf", [("ref", str)])
    holder = make_dataclass("Holder", [("leaves", Any)])
    codec.register(holder)
    leaf = codec.encode(old("u"))
    replaced(old, new)
    step = Rename("c[].leaves[].url", "ref", since=2)
    for spelled, read in [
        ([leaf], [new("u")]),
        ({"$tuple": [leaf]}, (new("u"),)),
        ({"$deque": [leaf], "maxlen": 3}, deque([new("u")], 3)),
        ({"k": leaf}, {"k": new("u")}),
        ({"$map": [[7, leaf]]}, {7: new("u")}),
        ({"$ordereddict": {"k": leaf}}, OrderedDict(k=new("u"))),
    ]:
        tree = {**codec.encode(holder(None)), "leaves": spelled}
        assert migrated(tree, step) == holder(read)


def test_a_subclass_of_a_dict_or_list_is_reached_by_its_content() -> None:
    class Files(dict):
        pass

    class Rows(list):
        pass

    codec.register(Files)
    codec.register(Rows)
    files = migrated(codec.encode(Files(url=1, x=2)), Rename("c[].url", "ref", since=2))
    assert (type(files), files) == (Files, {"ref": 1, "x": 2})
    rows = migrated(codec.encode(Rows([{"url": 1}])), Rename("c[][].url", "ref", since=2))
    assert (type(rows), rows) == (Rows, [{"ref": 1}])
    counted = migrated(codec.encode(Counter(url=2)), Rename("c[].url", "ref", since=2))
    assert (type(counted), counted) == (Counter, Counter(ref=2))


def test_messages_are_reached_through_their_short_form() -> None:
    message = AIMessage("x", id="m", additional_kwargs={"url": 1})
    read = migrated(codec.encode(message), Rename("c[].additional_kwargs.url", "ref", since=2))
    assert read == AIMessage("x", id="m", additional_kwargs={"ref": 1})
    plain = codec.encode(HumanMessage("x", id="m"))
    assert migrated(plain, Default("c[].additional_kwargs.url", 1, since=2)) == HumanMessage("x", id="m")


def test_what_is_dropped_is_never_decoded() -> None:
    gone = {"$type": "program:Gone", "x": 1}
    schema = StateSchema(version=2, migrations=[Drop("scratch", since=2), Drop("kept.old", since=2)])
    found = schema.migrate({"scratch": gone, "kept": {"old": gone, "new": 1}}, 1, trees=True)
    with pytest.raises(UnknownType):
        codec.decode(gone)
    assert decoded(found.values) == {"kept": {"new": 1}}
    assert found.dropped == {"scratch"}


def test_an_added_channel_is_a_tree_like_the_others() -> None:
    schema = StateSchema(version=2, migrations=[Default("seen", {1, 2}, since=2), Default("c.at", (1,), since=2)])
    found = schema.migrate({"c": {}}, 1, trees=True)
    assert found.values == {"seen": {"$set": [1, 2]}, "c": {"at": {"$tuple": [1]}}}
    waiting = schema.migrate({"__start__": {"c": {}}}, 1, trees=True)
    assert waiting.values == {"__start__": {"c": {"at": {"$tuple": [1]}}}}


def test_what_is_required_is_asked_of_the_decoded_state() -> None:
    schema = StateSchema(version=2, required=["c[].ref"])
    found = schema.migrate({"c": [{"ref": None}]}, 1, trees=True)
    with pytest.raises(StateShapeError) as refused:
        schema.require(decoded(found.values), 1)
    assert refused.value.path == "c[0].ref"
