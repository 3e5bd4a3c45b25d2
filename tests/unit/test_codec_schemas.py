"""A fresh process can read a state as soon as the graph that owns it is at hand: its annotations name the classes."""

from __future__ import annotations

import dataclasses
import enum
import sys
import types
from typing import Annotated, Any, Generic, Literal, NewType, TypeVar

import pytest
from langgraph.graph import StateGraph

from dalsegno.core import codec
from dalsegno.core.annotations import reachable
from dalsegno.errors import UnknownType
from dalsegno.langgraph import types as known

T = TypeVar("T")
SHOP = """
from __future__ import annotations
import dataclasses, enum, operator, pydantic
from collections.abc import Sequence
from typing import Annotated, Generic, Literal, NamedTuple, NotRequired, Optional, TypedDict, TypeVar

T = TypeVar("T")

class Status(enum.Enum):
    OPEN = 1

class Line(NamedTuple):
    amount: int

@dataclasses.dataclass
class Order:
    status: Status
    lines: list[Line]

class Colour(enum.Enum):
    RED = 1

class Box(pydantic.BaseModel, Generic[T]):
    held: T

class Inner(TypedDict):
    order: NotRequired[Order | None]

class State(TypedDict):
    orders: Annotated[list[Inner], operator.add]
    boxes: dict[str, Optional[Sequence[Box[Colour]]]]
    word: Literal["a"]
"""


def open_shop(name: str) -> Any:
    """A module of classes that no other test has registered."""
    module = sys.modules[f"shop_{name}"] = types.ModuleType(f"shop_{name}")
    exec(SHOP, module.__dict__)
    return module


def graph_of(shop: Any) -> Any:
    graph = StateGraph(shop.State)
    graph.add_node("one", lambda state: {})
    graph.set_entry_point("one")
    return graph.compile()


def trees(suffix: str) -> list[Any]:
    name = f"shop_{suffix}"
    return [
        {"$enum": f"{name}:Status", "member": "OPEN"},
        {"$type": f"{name}:Line", "amount": 1},
        {"$type": f"{name}:Order", "status": {"$enum": f"{name}:Status", "member": "OPEN"}, "lines": []},
        {"$type": f"{name}:Box[Colour]", "held": {"$enum": f"{name}:Colour", "member": "RED"}},
    ]


def read_all(suffix: str) -> None:
    for tree in trees(suffix):
        assert type(codec.decode(tree)).__module__ == f"shop_{suffix}"


def test_classes_are_unknown_before_anything_names_them() -> None:
    open_shop("unknown")
    for tree in trees("unknown"):
        with pytest.raises(UnknownType, match=r"dalsegno\.register\("):
            codec.decode(tree)


def test_a_schema_registers_every_class_its_annotations_reach() -> None:
    known.register_schema(open_shop("schema").State)
    read_all("schema")


def test_a_compiled_graph_registers_the_classes_of_its_channels_and_schemas() -> None:
    known.register_graph(graph_of(open_shop("graph")))
    read_all("graph")


def test_channels_alone_are_enough() -> None:
    known.register_channels(graph_of(open_shop("channels")).channels.values())
    read_all("channels")


def test_names_given_by_a_compiled_graph_are_looked_up_among_imported_modules_only() -> None:
    open_shop("allowed")
    before = set(sys.modules)
    known.register_allowlist(
        {("shop_allowed", "Order"), ("antigravity", "geohash"), ("sys", "nothing"), ("shop_allowed", "State.orders")}
    )
    assert [type(codec.decode(tree)).__module__ for tree in trees("allowed")[:3]] == ["shop_allowed"] * 3
    assert set(sys.modules) == before


def test_registering_a_class_covers_what_its_fields_are_made_of() -> None:
    codec.register(open_shop("fields").Order)
    for tree in trees("fields")[:3]:
        assert type(codec.decode(tree)).__module__ == "shop_fields"


def test_a_class_defined_after_the_one_that_names_it_is_found_when_it_is_needed() -> None:
    module = types.ModuleType("shop_later")
    sys.modules["shop_later"] = module
    early = dataclasses.make_dataclass("Early", [("part", "Late")])
    early.__module__ = "shop_later"
    codec.register(early)
    late = dataclasses.make_dataclass("Late", [("x", int)])
    late.__module__ = "shop_later"
    tree = {"$type": "shop_later:Late", "x": 1}
    with pytest.raises(UnknownType):
        codec.decode(tree)
    module.Late = late
    assert codec.decode(tree) == late(1)


def test_looking_again_does_not_bring_back_a_class_that_was_replaced() -> None:
    old, new = (dataclasses.make_dataclass("Twice", [("x", int)]) for _ in range(2))
    holder = dataclasses.make_dataclass("Holder", [("part", old)])
    for cls in (old, holder, new):
        cls.__module__ = "shop_twice"
        codec.register(cls)
    with pytest.raises(UnknownType):
        codec.decode({"$type": "shop_twice:Nothing"})
    assert type(codec.decode({"$type": "shop_twice:Twice", "x": 1})) is new


@pytest.mark.parametrize("wrap", ["new", "bound", "alias", "literal", "annotated", "union"])
def test_a_class_is_found_behind_what_stands_for_it(wrap: str) -> None:
    class Kind(enum.Enum):
        ONE = 1

    @dataclasses.dataclass
    class Pair(Generic[T]):
        left: T

    forms = {
        "new": NewType("Other", Kind),
        "bound": TypeVar("B", bound=Kind),
        "alias": Pair[Kind],
        "literal": Literal[Kind.ONE],
        "annotated": Annotated[list[Kind], "note"],
        "union": dict[str, Kind | None],
    }
    found = set(reachable(forms[wrap]))
    assert Kind in found
    assert (Pair in found) == (wrap == "alias")


def test_annotations_that_refer_to_themselves_or_to_nothing_end() -> None:
    @dataclasses.dataclass
    class Tree:
        left: Tree | None
        right: Missing  # noqa: F821 - the point

    assert list(reachable(Tree, "Nowhere", int, None, 5)) != []
