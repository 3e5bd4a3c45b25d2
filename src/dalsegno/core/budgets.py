"""Budgets: what was spent, what may be, and whether one more call may begin.

Rules of this module:

* Amounts are whole numbers: tokens, calls, steps, microseconds, billionths of the currency. Sums of them are exact in
  any order, however many branches add to them.
* A call begins only when what it is taken to cost still fits: what is not known before (its time, its answer beyond
  what was set aside) may carry a budget over its limit by that one call, never by a second.
* A limit that is not given does not limit. From the soft share on, a limit is near; that is for a warning.
* Money needs prices. A model without one is charged as the dearest that has one: never as if it were free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any

from dalsegno.errors import Damaged, Misuse

__all__ = ["Limits", "Price", "Prices", "Spent", "add_spending", "near", "over", "passed"]

_MICROS = 1_000_000
_NANOS = Decimal(1_000_000_000)
_MILLION = 1_000_000
_KINDS = ("tokens", "calls", "steps", "seconds", "money")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Amounts; they add up exactly.

    Attributes:
        calls: model calls begun.
        input_tokens, output_tokens: as providers report them, or as estimated while they have not.
        steps: nodes run under the budget.
        micros: time in them, in microseconds; that of parallel ones adds up.
        nanos: money, in billionths of the currency the prices are in.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    steps: int = 0
    micros: int = 0
    nanos: int = 0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if type(getattr(self, name)) is not int:
                raise Misuse(f"{name}={getattr(self, name)!r}: amounts are whole numbers.")

    def __add__(self, other: Spent) -> Spent:
        return Spent(**{name: getattr(self, name) + getattr(other, name) for name in self.__slots__})

    def __sub__(self, other: Spent) -> Spent:
        return Spent(**{name: getattr(self, name) - getattr(other, name) for name in self.__slots__})

    @property
    def tokens(self) -> int:
        """Input and output."""
        return self.input_tokens + self.output_tokens

    @property
    def seconds(self) -> float:
        """Time in seconds."""
        return self.micros / _MICROS

    @property
    def money(self) -> Decimal:
        """Money, in the currency the prices are in."""
        return Decimal(self.nanos) / _NANOS

    def to_json(self) -> dict[str, int]:
        """The amounts that are not 0."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}

    @classmethod
    def from_json(cls, tree: Any) -> Spent:
        """The amounts behind `to_json`; what a newer version adds is passed over.

        Raises:
            Damaged: they are none.
        """
        try:
            return cls(**{name: tree[name] for name in cls.__slots__ if name in tree})
        except (TypeError, Misuse) as error:
            raise Damaged("a budget", expected="amounts as whole numbers", found=str(error)) from error


# --- limits -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What may be spent; None does not limit.

    Attributes:
        tokens: input and output together.
        calls: model calls.
        steps: nodes run under the budget.
        seconds: time in them; a number or a timedelta.
        money: in the currency the prices are in; a Decimal, a whole number or text such as "0.50".
        soft: share of each from which on it is near.
    """

    tokens: int | None = None
    calls: int | None = None
    steps: int | None = None
    seconds: float | timedelta | None = None
    money: Decimal | int | str | None = None
    soft: float = 0.8

    def __post_init__(self) -> None:
        for name in ("tokens", "calls", "steps"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                raise Misuse(f"{name}={value!r}: give a whole number from 0, or None for no limit.")
        seconds: object = self.seconds.total_seconds() if isinstance(self.seconds, timedelta) else self.seconds
        if seconds is not None and (
            isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < math.inf
        ):
            raise Misuse(
                f"seconds={self.seconds!r}: give a number of seconds from 0 or a timedelta, or None for no limit."
            )
        object.__setattr__(self, "seconds", seconds)
        if self.money is not None:
            object.__setattr__(self, "money", _amount("money", self.money))
        soft: object = self.soft
        if isinstance(soft, bool) or not isinstance(soft, (int, float)) or not 0 < soft <= 1:
            raise Misuse(f"soft={soft!r}: give a share above 0 and up to 1; 1 warns at the end only.")

    def of(self, kind: str) -> int:
        """A given limit in the unit it is counted in."""
        value = getattr(self, kind)
        return int(value * (_MICROS if kind == "seconds" else _NANOS if kind == "money" else 1))

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the limits there are."""
        return tuple(kind for kind in _KINDS if getattr(self, kind) is not None)


def _amount(name: str, value: object) -> Decimal:
    if isinstance(value, float):
        raise Misuse(f"{name}={value!r} is no exact amount; give it as text or Decimal, such as {str(value)!r}.")
    try:
        amount = Decimal(value) if isinstance(value, (Decimal, int, str)) and not isinstance(value, bool) else None
    except InvalidOperation:
        amount = None
    if amount is None or not amount.is_finite() or amount < 0:
        raise Misuse(f"{name}={value!r}: give an amount from 0 as Decimal, whole number or text, such as '0.50'.")
    return amount


def _counted(spent: Spent, kind: str) -> int:
    value: int = getattr(spent, {"seconds": "micros", "money": "nanos"}.get(kind, kind))
    return value


def over(limits: Limits, spent: Spent, ask: Spent) -> tuple[str, ...]:
    """Names of the limits for which what is asked for would be too much.

    Args:
        limits: what may be spent.
        spent: what was.
        ask: what is about to be. One that has no room left at all is over even when nothing of it is asked for:
            the call would take time and money that were not set aside.
    """
    found = []
    for kind in limits.given:
        limit = limits.of(kind)
        used, more = _counted(spent, kind), _counted(ask, kind)
        beginning = kind != "steps" if ask.calls else kind == "seconds"
        if used + more > limit or (beginning and used >= limit):
            found.append(kind)
    return tuple(found)


def passed(limits: Limits, spent: Spent) -> tuple[str, ...]:
    """Names of the limits that are reached: nothing more of their kind may begin."""
    return tuple(kind for kind in limits.given if _counted(spent, kind) >= limits.of(kind))


def near(limits: Limits, spent: Spent) -> tuple[str, ...]:
    """Names of the limits of which the soft share is reached."""
    return tuple(kind for kind in limits.given if _counted(spent, kind) >= limits.of(kind) * limits.soft)


# --- prices -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model costs, for a million tokens each.

    Attributes:
        input, output: of prompt and answer.
        cached_input: of prompt tokens that the provider found in its cache; `input` where it is left out.
    """

    input: Decimal | int | str
    output: Decimal | int | str
    cached_input: Decimal | int | str | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            if getattr(self, each.name) is not None:
                object.__setattr__(self, each.name, _amount(each.name, getattr(self, each.name)))

    def nanos(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> int:
        """What a call costs, in billionths, rounded up."""
        cached = min(cached_tokens, input_tokens)
        cached_price = self.input if self.cached_input is None else self.cached_input
        million = (
            Decimal(self.input) * (input_tokens - cached)
            + Decimal(cached_price) * cached
            + Decimal(self.output) * output_tokens
        )
        return int((million * _NANOS / _MILLION).to_integral_value(rounding=ROUND_CEILING))


class Prices:
    """Prices by model."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        """Take the prices by model name; a name also stands for the versions that begin with it.

        Raises:
            Misuse: one is no price.
        """
        value: object
        for model, value in prices.items():
            if not isinstance(value, Price):
                raise Misuse(f"the price of {model!r} is {type(value).__name__}; give Price(input=…, output=…).")
        self._prices = MappingProxyType(dict(prices))

    def __bool__(self) -> bool:
        return bool(self._prices)

    def knows(self, model: str) -> bool:
        """Whether there is a price for a model."""
        return self._of(model) is not None

    def nanos(self, model: str, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> int:
        """What a call costs; 0 where there are no prices, as with the dearest where there is none for the model."""
        price = self._of(model)
        chosen = self._prices.values() if price is None else (price,)
        return max((each.nanos(input_tokens, output_tokens, cached_tokens) for each in chosen), default=0)

    def _of(self, model: str) -> Price | None:
        names = [name for name in self._prices if model == name or model.startswith(name)]
        return self._prices[max(names, key=len)] if names else None


# --- the channel ------------------------------------------------------------------------------------


def add_spending(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> dict[str, Any]:
    """Reducer of a state's budget field: parallel branches add up.

    Args:
        left: what the field holds: `run`, `spent`, and as far as there are any `near` and `exhausted`.
        right: `begin` with a run's id, which starts it at nothing unless it is that run already; or amounts to add
            under `spent`, and names to add under `near` and `exhausted`.

    Raises:
        Damaged: one of the two is something else.
    """
    held: dict[str, Any] = dict(left or {})
    if right is None:
        return held
    given: object = right
    if not isinstance(given, Mapping) or not right.keys() <= {"begin", "run", "spent", "near", "exhausted"}:
        raise Damaged("a budget's update", expected="begin, spent, near or exhausted", found=right)
    begin = right.get("begin")
    if begin is not None:
        return held if held.get("run") == begin else {"run": begin, "spent": {}}
    total = Spent.from_json(held.get("spent", {})) + Spent.from_json(right.get("spent", {}))
    held["spent"] = total.to_json()
    for name in ("near", "exhausted"):
        if names := {*held.get(name, ()), *right.get(name, ())}:
            held[name] = sorted(names)
    return held
