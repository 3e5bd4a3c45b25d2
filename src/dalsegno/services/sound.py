"""Where rows that make no sense become `Damaged`.

Rules of this module:

* An operation that reads bodies is wrapped in `sound`. Shapes that would hang or be taken for others are checked where
  they are used; whatever else Python raises on a body that no writer makes is one error here, its cause chained.
* Errors of this package pass, and so do a driver's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from dalsegno.contracts import Op
from dalsegno.errors import DalsegnoError, Damaged

__all__ = ["BROKEN", "sound"]

P = ParamSpec("P")
R = TypeVar("R")

BROKEN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What Python raises when a body has another shape than the code expects; JSON errors are among them."""


def sound(make: Callable[P, Op[R]]) -> Callable[P, Op[R]]:
    """Wrap an operation: rows it cannot make sense of raise `Damaged`."""

    @wraps(make)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> Op[R]:
        try:
            return (yield from make(*args, **kwargs))
        except DalsegnoError:
            raise
        except BROKEN as error:
            raise Damaged(
                "a stored row", expected="what dalsegno writes", found=f"{type(error).__name__}: {error}"
            ) from error

    return wrapped
