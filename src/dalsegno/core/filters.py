"""Filters over stored values: which values a caller asked for, exactly.

Rules of this module:

* A filter names fields of a value and what each must be; all must hold. A plain wanted value means equality: of texts,
  numbers, booleans and null; of lists element by element; an object wanted must have the named fields, at any depth,
  and may have others. A missing field counts as null.
* An object whose keys begin with `$` holds operators, and all must hold: `$eq` and `$ne` compare like a plain value;
  `$gt`, `$gte`, `$lt`, `$lte` compare numbers with numbers, texts with texts (by code points) and times with times.
  Between other kinds there is no order and nothing matches.
* True is not 1, and "1" is not 1. 1 and 1.0 are the same number. NaN is equal to nothing.
* An unknown operator is refused before anything is read.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from dalsegno.errors import Misuse

__all__ = ["check_filter", "matches"]

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_OPERATORS = {"$eq", "$ne", *_ORDERS}
_SCALARS = (str, int, float, Decimal)


def check_filter(wanted: object) -> None:
    """Refuse a filter that cannot be meant.

    Raises:
        Misuse: it is no object, or names an unknown operator.
    """
    if not isinstance(wanted, Mapping):
        msg = f"filter={wanted!r:.80} is {type(wanted).__name__}; give an object of fields and wanted values"
        raise Misuse(msg)
    for key, value in wanted.items():
        if not isinstance(key, str):
            msg = f"a filter names fields as text, not {key!r:.80}"
            raise Misuse(msg)
        if key[:1] == "$":
            msg = f"an operator stands under the field it is about: {{'field': {{{key!r}: …}}}}"
            raise Misuse(msg)
        _check_wanted(value)


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value has what a filter asks for; None asks for nothing."""
    return not wanted or all(_holds(value.get(key), each) for key, each in wanted.items())


def _check_wanted(value: object) -> None:
    if not isinstance(value, Mapping):
        return
    operators = [key for key in value if isinstance(key, str) and key[:1] == "$"]
    unknown = [key for key in operators if key not in _OPERATORS]
    if unknown:
        msg = f"unknown operator {unknown[0]!r} in a filter; use one of {', '.join(sorted(_OPERATORS))}"
        raise Misuse(msg)
    if operators and len(operators) != len(value):
        msg = f"a filter mixes operators and fields in {sorted(map(str, value))}; give the one or the other"
        raise Misuse(msg)
    for each in () if operators else value.values():
        _check_wanted(each)


def _holds(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if wanted and all(isinstance(key, str) and key[:1] == "$" for key in wanted):
            return all(_operated(found, name, operand) for name, operand in wanted.items())
        return isinstance(found, Mapping) and all(_holds(found.get(key), each) for key, each in wanted.items())
    return _equal(found, wanted)


def _operated(found: Any, name: str, operand: Any) -> bool:
    if name == "$eq":
        return _same(found, operand)
    if name == "$ne":
        return not _same(found, operand)
    return _ordered(found, operand) and _ORDERS[name](found, operand)


def _same(found: Any, operand: Any) -> bool:
    """Equality under an operator: of a whole object, not of some of its fields."""
    if isinstance(operand, Mapping):
        return isinstance(found, Mapping) and found.keys() == operand.keys() and _holds(found, operand)
    return _equal(found, operand)


def _equal(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(wanted)
            and all(_holds(each, one) for each, one in zip(found, wanted, strict=True))
        )
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return bool(found == wanted)


def _ordered(found: Any, operand: Any) -> bool:
    """Whether two values stand in an order."""
    if isinstance(found, bool) or isinstance(operand, bool):
        return False
    if isinstance(found, str) or isinstance(operand, str):
        return isinstance(found, str) and isinstance(operand, str)
    if isinstance(found, datetime) and isinstance(operand, datetime):
        return (found.tzinfo is None) == (operand.tzinfo is None)
    if isinstance(found, datetime) or isinstance(operand, datetime):
        return False
    if isinstance(found, date) and isinstance(operand, date):
        return True
    return isinstance(found, _SCALARS) and isinstance(operand, _SCALARS)
