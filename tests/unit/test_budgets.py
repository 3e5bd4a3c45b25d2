"""Claim: amounts add up exactly in any order, a limit lets through what fits and nothing more, and nonsense is refused."""

from __future__ import annotations

import functools
import itertools
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalsegno.core.budgets import Limits, Price, Prices, Spent, add_spending, near, over, passed
from dalsegno.errors import Damaged, Misuse

AMOUNTS = st.builds(Spent, **{name: st.integers(0, 10**12) for name in Spent.__slots__})
UPDATES = st.builds(
    lambda spent, near, out: {"spent": spent.to_json(), "near": near, "exhausted": out},
    AMOUNTS,
    st.lists(st.sampled_from("ab")),
    st.lists(st.sampled_from("cd")),
)


@given(st.lists(UPDATES, min_size=1, max_size=4))
def test_branches_add_up_the_same_in_any_order(updates: list[dict[str, Any]]) -> None:
    ends = [functools.reduce(add_spending, order, {"run": "r"}) for order in itertools.permutations(updates)]
    assert all(end == ends[0] for end in ends)
    assert Spent.from_json(ends[0]["spent"]) == sum((Spent.from_json(each["spent"]) for each in updates), Spent())


def test_money_of_a_thousand_tiny_calls_is_exact() -> None:
    price = Prices({"m": Price(input="0.075", output="0.30")})
    once = Spent(nanos=price.nanos("m", 10, 1))
    total = functools.reduce(lambda held, _: add_spending(held, {"spent": once.to_json()}), range(1000), {})
    assert Spent.from_json(total["spent"]).money == Decimal("0.00105")


def test_a_run_begins_at_nothing_once() -> None:
    held = add_spending({"run": "one", "spent": {"calls": 3}, "exhausted": ["run: calls"]}, {"begin": "two"})
    assert held == {"run": "two", "spent": {}}
    held = add_spending(held, {"spent": {"calls": 1}})
    assert add_spending(held, {"begin": "two"}) == held


def test_the_field_takes_nothing_else() -> None:
    for wrong in ({"calls": 1}, [1], "x", {"spent": {"calls": 1.5}}, {"spent": 3}):
        with pytest.raises(Damaged):
            add_spending({}, wrong)  # type: ignore[arg-type]
    assert add_spending(None, None) == {}


@pytest.mark.parametrize(
    ("limits", "spent", "ask", "expected"),
    [
        (Limits(calls=3), Spent(calls=2), Spent(calls=1), ()),
        (Limits(calls=3), Spent(calls=3), Spent(calls=1), ("calls",)),
        (Limits(calls=0), Spent(), Spent(calls=1), ("calls",)),
        (Limits(tokens=100), Spent(input_tokens=40, output_tokens=40), Spent(calls=1, input_tokens=20), ()),
        (Limits(tokens=100), Spent(input_tokens=40, output_tokens=40), Spent(calls=1, input_tokens=21), ("tokens",)),
        (Limits(tokens=100), Spent(input_tokens=100), Spent(calls=1), ("tokens",)),
        (Limits(steps=2), Spent(steps=2), Spent(calls=1), ()),
        (Limits(steps=2), Spent(steps=2), Spent(steps=1), ("steps",)),
        (Limits(calls=1), Spent(calls=1), Spent(steps=1), ()),
        (Limits(seconds=2), Spent(micros=1_999_999), Spent(calls=1), ()),
        (Limits(seconds=2), Spent(micros=2_000_000), Spent(calls=1), ("seconds",)),
        (Limits(seconds=timedelta(seconds=2)), Spent(micros=2_000_000), Spent(steps=1), ("seconds",)),
        (Limits(money="0.01"), Spent(nanos=9_000_000), Spent(calls=1, nanos=1_000_000), ()),
        (Limits(money="0.01"), Spent(nanos=9_000_000), Spent(calls=1, nanos=1_000_001), ("money",)),
        (Limits(calls=1, tokens=1), Spent(calls=1, input_tokens=1), Spent(calls=1), ("tokens", "calls")),
        (Limits(), Spent(calls=10**9), Spent(calls=1), ()),
    ],
)
def test_a_call_begins_only_when_it_fits(limits: Limits, spent: Spent, ask: Spent, expected: tuple[str, ...]) -> None:
    assert over(limits, spent, ask) == expected


def test_near_is_from_the_soft_share_on_and_passed_at_the_limit() -> None:
    limits = Limits(calls=10, soft=0.5)
    assert [near(limits, Spent(calls=calls)) for calls in (4, 5)] == [(), ("calls",)]
    assert [passed(limits, Spent(calls=calls)) for calls in (9, 10)] == [(), ("calls",)]


def test_a_model_without_a_price_costs_what_the_dearest_does() -> None:
    prices = Prices(
        {"small": Price(input=1, output=2), "large": Price(input=10, output=20), "large-mini": Price(input=3, output=3)}
    )
    million = 1_000_000
    assert prices.nanos("small", million, 0) == 10**9
    assert prices.nanos("large-2026-01", million, million) == 30 * 10**9
    assert prices.nanos("large-mini-2026", million, 0) == 3 * 10**9
    assert prices.nanos("unheard of", million, 0) == 10 * 10**9
    assert not prices.knows("unheard of")
    assert Prices({}).nanos("any", million, million) == 0


def test_cached_tokens_have_their_price_and_parts_are_rounded_up() -> None:
    price = Price(input=2, output=4, cached_input="0.5")
    assert price.nanos(1000, 10, 800) == 200 * 2000 + 800 * 500 + 10 * 4000
    assert Price(input="0.0001", output=0).nanos(1, 0) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tokens": -1}, "tokens=-1"),
        ({"calls": 1.5}, "calls=1.5"),
        ({"steps": True}, "steps=True"),
        ({"seconds": float("nan")}, "seconds=nan"),
        ({"seconds": float("inf")}, "seconds=inf"),
        ({"seconds": timedelta(seconds=-1)}, "seconds="),
        ({"money": 0.5}, "no exact amount; give it as text or Decimal, such as '0.5'"),
        ({"money": "much"}, "money='much'"),
        ({"money": Decimal("NaN")}, "money="),
        ({"money": -1}, "money=-1"),
        ({"soft": 0}, "soft=0"),
        ({"soft": 1.1}, "soft=1.1"),
        ({"soft": "half"}, "soft='half'"),
    ],
)
def test_nonsense_is_no_limit(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Misuse, match=said):
        Limits(**given)


def test_nonsense_is_no_price() -> None:
    with pytest.raises(Misuse, match=r"input=0\.1 is no exact amount"):
        Price(input=0.1, output=1)  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="the price of 'm' is float"):
        Prices({"m": 0.1})  # type: ignore[dict-item]
    with pytest.raises(Misuse, match="whole numbers"):
        Spent(calls=1.0)  # type: ignore[arg-type]
