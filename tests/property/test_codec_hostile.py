"""Whatever tree stands in a row, reading it gives a value or one of three errors, and imports nothing."""

from __future__ import annotations

import dataclasses
import enum
import sys
from typing import Any, NamedTuple

import numpy  # noqa: F401, ICN001 - loaded before the modules are counted
import pydantic
from hypothesis import given, settings
from hypothesis import strategies as st

import dalsegno.langgraph.types  # noqa: F401 - registers messages and LangGraph's types
from dalsegno.core import codec
from dalsegno.core.walk import DECODERS
from dalsegno.errors import Damaged, StateShapeError, UnknownType


class Colour(enum.Flag):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: Any
    y: Any = 0


@dataclasses.dataclass(slots=True)
class Person:
    name: Any
    age: Any = 3


class Item(pydantic.BaseModel):
    name: Any
    parts: list[Any] = pydantic.Field(default_factory=list)
    _seen: int = 0


codec.register_types(Colour, Point, Person, Item)

tags = st.sampled_from(
    [*DECODERS, "$ref", "$list", "$unset", "$absent", "$given", "$extra", "$private", "$attributes", "$value", "$"]
)
fields = st.sampled_from(
    [
        "content",
        "id",
        "name",
        "args",
        "type",
        "tool_calls",
        "usage_metadata",
        "zone",
        "tz",
        "fold",
        "maxlen",
        "factory",
        "kind",
        "flags",
        "dtype",
        "shape",
        "order",
        "member",
        "value",
        "attributes",
        "cause",
        "hidden",
        "node",
        "arg",
        "timeout",
        "x",
        "y",
        "age",
        "parts",
        "a",
    ]
)
names = [f"{__name__}:{kind}" for kind in ("Colour", "Point", "Person", "Item")]
strings = st.sampled_from(
    [
        *names,
        *[
            "human",
            "ai",
            "tool",
            "langgraph:Send",
            "langgraph:Interrupt",
            "ValueError",
            "OSError",
            "ExceptionGroup",
            "UnicodeDecodeError",
        ],
        *[
            "int",
            "list",
            "os:system",
            "nan",
            "1e400",
            "0x10",
            "-1",
            "AA==",
            "2024-01-01",
            "2024-01-01T00:00:00+00:00",
            "UTC",
            "windows",
            "10.0.0.1",
        ],
        *["F", "C", "(", "a", "<f8", "<M8[D]", "<U0", "|V0", "q"],
        "",
    ]
)
scalars = st.none() | st.booleans() | st.integers(-3, 300) | st.floats(allow_nan=False) | strings | st.text(max_size=3)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(tags | fields, inner, max_size=4)
        | st.builds(
            lambda tag, content, rest: {tag: content, **rest}, tags, inner, st.dictionaries(fields, inner, max_size=3)
        )
    ),
    max_leaves=12,
)


@given(trees)
@settings(max_examples=300)
def test_any_tree_is_a_value_or_an_error_of_its_own_kind(tree: Any) -> None:
    before = set(sys.modules)
    try:
        value = codec.decode(tree)
    except (Damaged, UnknownType, StateShapeError):
        pass
    else:
        assert type(codec.decode(codec.encode(value))) is type(value)
    assert set(sys.modules) == before
