"""What a calculator is given and gives.

Rules of this module:

* A result always comes with the expression that gives it, and every number of the expression was found in the material,
  in the question, or in an earlier result (`counts` such as the 3 of an average of three apart).
* Nothing to compute is an answer too: an empty `Worked` with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

__all__ = ["Calculator", "Worked", "said"]

_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """A piece of arithmetic.

    Attributes:
        expression: what was computed; empty when nothing was.
        result: its value; None when nothing was computed.
        unit: `percent`, a word of scale as the table has it (`million`, `万`), or nothing.
        steps: what was taken from where, and each expression with its value, in order.
        problem: why nothing was computed.
    """

    expression: str = ""
    result: Decimal | None = None
    unit: str = ""
    steps: tuple[str, ...] = ()
    problem: str = ""

    @property
    def text(self) -> str:
        """The result for a reader, such as `(14694 - 14544) / 14544 * 100 = 1.0314 percent`; empty without one."""
        return (
            ""
            if self.result is None
            else f"{self.expression} = {said(self.result)}{' ' if self.unit else ''}{self.unit}"
        )


class Calculator(Protocol):
    """Whoever does the arithmetic of a question."""

    def work(self, question: str, material: Sequence[str]) -> Worked:
        """Compute what a question asks for.

        Args:
            question: complete, with its years.
            material: tables (one row a line, ` | ` between cells) and texts in which the figures stand.
        """


def said(value: Decimal) -> str:
    """A number for a reader: grouped, with four digits after the point at most."""
    rounded = round(value, _DIGITS).normalize()
    return f"{rounded:,f}" if rounded else "0"
