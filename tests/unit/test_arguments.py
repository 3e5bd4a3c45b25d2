"""Claim: calls that a reader would call the same have one key, all others have different ones."""

from __future__ import annotations

import enum
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel

from dalsegno.core import codec
from dalsegno.core.arguments import ActionScope, Call, call_arguments, canonical_tree, key_of
from dalsegno.core.tree import canonical
from dalsegno.errors import Misuse, NotCanonical

CET = timezone(timedelta(hours=1))


class Level(enum.Enum):
    HIGH = "high"


class Number(enum.IntEnum):
    ONE = 1


@dataclass
class Price:
    amount: Any
    currency: str = "EUR"


class Order(BaseModel):
    id: str
    lines: tuple[int, ...] = ()


class Pair(NamedTuple):
    a: int
    b: int


class Word(str):
    __slots__ = ()


def form(value: Any) -> bytes:
    return canonical(canonical_tree(value))


SAME = {
    "order of keys": ({"a": 1, "bb": 2}, {"bb": 2, "a": 1}),
    "order of keys that are not text": ({2: "b", 1: "a"}, {1: "a", 2: "b"}),
    "whole floats": (1, 1.0),
    "minus nothing": (0, -0.0),
    "decimals": (Decimal("1.00"), 1),
    "decimals with a fraction": (Decimal("12.50"), 12.5),
    "decimal powers": (Decimal("1E+2"), 100),
    "tenths": (Decimal("0.1"), 0.1),
    "great floats": (1e300, 10**300),
    "long decimals": (
        Decimal("1.00000000000000000000000000000000001"),
        Decimal("1.000000000000000000000000000000000010"),
    ),
    "unicode forms": ("cafe\u0301", "caf\u00e9"),
    "unicode forms of keys": ({"cafe\u0301": 1}, {"caf\u00e9": 1}),
    "tuples": ((1, 2), [1, 2]),
    "named tuples": (Pair(1, 2), [1, 2]),
    "sets": ({"b", "a"}, frozenset({"a", "b"})),
    "enums": (Level.HIGH, "high"),
    "numbers by name": (Number.ONE, 1),
    "subclasses of text": (Word("x"), "x"),
    "zones": (datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 1, 1, 13, tzinfo=CET)),
    "dataclasses": (Price(1.0), {"currency": "EUR", "amount": 1}),
    "models": (Order(id="o", lines=(1,)), {"id": "o", "lines": [1]}),
    "other mappings": (OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
    "other bytes": (bytearray(b"x"), b"x"),
    "deep inside": ([{"x": (1.0, {"y": "e\u0301"})}], [{"x": [1, {"y": "\u00e9"}]}]),
}

APART = {
    "truth is no number": (True, 1),
    "text is no number": ("1", 1),
    "nothing is no text": (None, ""),
    "nothing is not left out": ({"a": None}, {}),
    "order in lists": ([1, 2], [2, 1]),
    "nested lists": ([[1], [2]], [[1, 2]]),
    "case": ("a", "A"),
    "compatibility forms": ("ﬁ", "fi"),
    "bytes are no text": (b"a", "a"),
    "cents": (12.5, 12.51),
    "near decimals": (Decimal("0.1"), Decimal("0.10000000000000000001")),
    "near great numbers": (2**53, 2**53 + 1),
    "with a zone and without": (
        datetime(2026, 1, 1, 12, tzinfo=UTC).replace(tzinfo=None),
        datetime(2026, 1, 1, 12, tzinfo=UTC),
    ),
    "ids are no text": (UUID(int=1), str(UUID(int=1))),
    "tags are data": ({"$decimal": "1"}, Decimal("1.5")),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_call(name: str):
    left, right = SAME[name]
    assert form(left) == form(right)


@pytest.mark.parametrize("name", APART)
def test_another_call(name: str):
    left, right = APART[name]
    assert form(left) != form(right)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"file": Path}, "arguments.file"),
        ({"to": [1, {"send": print}]}, "arguments.to[1].send"),
        ({"x": {"e\u0301": 1, "\u00e9": 2}}, "arguments.x"),
        ({"x": {(1, 2): 3}}, "arguments.x"),
        ({"x": object()}, "arguments.x"),
        ({"x": {1: "a", 1.5: object()}}, "arguments.x[1.5]"),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_path(value: Any, path: str):
    with pytest.raises(NotCanonical) as caught:
        canonical_tree(value)
    assert caught.value.path.startswith(path)


def test_what_contains_itself_is_refused():
    value: list[Any] = []
    value.append(value)
    with pytest.raises(NotCanonical):
        canonical_tree({"x": value})


def test_the_form_does_not_hang_on_the_decimal_context():
    with localcontext() as context:
        context.prec = 3
        assert form(Decimal("1234567.125")) == form(1234567.125)


def test_a_huge_exponent_is_not_written_out():
    assert len(form(Decimal("1E+1000000"))) < 100
    assert form(Decimal("1E+1000000")) != form(Decimal("1E+1000001"))


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.decimals(allow_nan=False) | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_the_form_of_a_form_is_itself(value: Any):
    try:
        tree = canonical_tree(value)
    except NotCanonical:
        assume(False)
    assert canonical_tree(codec.decode(tree)) == tree


def send(to: str, text: str = "hello", *, copies: int = 1, idempotency_key: str = "") -> None:
    """Takes arguments."""


def test_defaults_are_filled_in_and_the_key_left_out():
    full = {"to": "ana", "text": "hello", "copies": 1}
    without = {"idempotency_key"}
    assert call_arguments(send, ("ana",), {}, without=without) == full
    assert call_arguments(send, (), {"copies": 1, "to": "ana"}, without=without) == full
    assert call_arguments(send, ("ana", "hello"), {"idempotency_key": "k"}, without=without) == full


def test_arguments_that_the_function_does_not_take_are_a_wrong_call():
    with pytest.raises(Misuse, match="missing"):
        call_arguments(send, (), {})


def key(tenant: str = "acme", thread: str = "t", **changed: Any) -> bytes:
    fields: dict[str, Any] = {
        "name": "send",
        "scope": ActionScope.STEP,
        "anchor": "c1",
        "arguments": {"to": "ana"},
        "recipient": ["ana"],
    }
    return key_of(tenant, thread, Call(**(fields | changed)))


def test_each_part_of_a_call_is_in_its_key():
    others = [
        key(tenant="other"),
        key(thread="u"),
        key(name="mail"),
        key(scope=ActionScope.THREAD, anchor=None),
        key(anchor="c2"),
        key(arguments={"to": "bob"}),
        key(recipient=["bob"]),
        key(recipient=None),
        key(recipient=[None]),
        key(scope=ActionScope.KEY),
        key(scope=ActionScope.KEY, anchor=None),
        key(anchor=""),
        key(tenant="acmet", thread=""),
    ]
    assert len({key(), *others}) == 1 + len(others)
    assert key() == key()
    assert len(key()) == 32


def test_a_business_key_stands_for_whatever_its_first_arguments_are():
    assert key(scope=ActionScope.KEY, arguments={"x": 1}) == key(scope=ActionScope.KEY, arguments={"x": 2})
    assert key(scope=ActionScope.KEY, recipient=["a"]) != key(scope=ActionScope.KEY, recipient=["b"])


@given(st.lists(st.text(max_size=4), min_size=4, max_size=4), st.lists(st.text(max_size=4), min_size=4, max_size=4))
def test_no_two_lists_of_parts_run_together(left: list[str], right: list[str]):
    def of(parts: list[str]) -> bytes:
        return key(tenant=parts[0], thread=parts[1], anchor=parts[2], name=parts[3])

    assert (of(left) == of(right)) == (left == right)
