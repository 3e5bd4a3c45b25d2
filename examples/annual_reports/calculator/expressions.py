"""Arithmetic from text, exactly and safely.

Rules of this module:

* An expression is parsed by a grammar of its own; nothing is run. Numbers are decimals with 50 digits.
* `+ - * / **` and their look-alikes (`× ÷ − ^`), round and square brackets, `sum`, `average`, `min`, `max`, `abs`,
  `round`, `growth(new, old)` and `cagr(new, old, years)`.
* `12%` is 0.12, `50bps` 0.005, `1.2 billion` 1200000000, `3亿` 300000000. Currency signs and names say nothing.
* `1,234` is one number. Between a function's arguments a comma has a blank after it, or is a semicolon; what could be
  read both ways, such as `sum(100,200)`, is refused.
* Bounded: 2,000 letters, 64 brackets deep, powers up to 64. Every refusal says where and why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, DecimalException, DivisionByZero, InvalidOperation, Overflow, localcontext

from examples.annual_reports.calculator.figures import SCALES

__all__ = ["CalculationError", "calculate", "numbers_in"]

_MAX_LENGTH = 2000
_MAX_DEPTH = 64
_MAX_POWER = 64
_CONTEXT = Context(prec=50, Emax=400, Emin=-400, traps=[DivisionByZero, InvalidOperation, Overflow])

_LOOKALIKES = str.maketrans("×✕÷−–（）［］，；％＋＊／＝　", "**/--()[],;%+*/= ")
_SCALE = "|".join(sorted(SCALES, key=len, reverse=True))
_TOKEN = re.compile(
    rf"(?P<blank>\s+)|(?P<number>(?:\d{{1,3}}(?:,\d{{3}})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)|(?P<scale>(?:{_SCALE})(?![a-z]))"
    r"|(?P<percent>%|percent\b|bps\b)|(?P<money>(?:US|HK|A|C)?[$€£¥￥]|(?:USD|RMB|CNY|EUR|HKD|dollars?|euros?|yuan)\b|人民币|美元|港元|元)"
    r"|(?P<name>[a-z]+)|(?P<sign>\*\*|[-+*/^()\[\],;])",
    re.IGNORECASE,
)


class CalculationError(ValueError):
    """An expression that has no value; the message says where and why."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def calculate(expression: str) -> Decimal:
    """The value of an expression.

    Args:
        expression: such as `(14,694 - 14,544) / 14,544 * 100` or `average(1.2bn; 1.4bn)`.

    Raises:
        CalculationError: it is none, divides by zero, or is out of bounds.
    """
    if len(expression) > _MAX_LENGTH:
        raise CalculationError(f"{len(expression)} letters: an expression has {_MAX_LENGTH} at most")
    with localcontext(_CONTEXT):
        try:
            return +_Parser(expression).whole()
        except DivisionByZero as error:
            raise CalculationError("division by zero") from error
        except DecimalException as error:
            raise CalculationError("no number comes out of it, or one too large") from error


def numbers_in(expression: str) -> list[Decimal]:
    """The numbers an expression is made of, as written, without scale and percent.

    Raises:
        CalculationError: it has something else in it.
    """
    return [Decimal(token.text.replace(",", "")) for token in _tokens(expression) if token.kind == "number"]


def _tokens(expression: str) -> Iterator[_Token]:
    text = expression.translate(_LOOKALIKES)
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise CalculationError(f"{text[at]!r} at {at + 1} is no part of an expression")
        kind = found.lastgroup or ""
        if kind not in ("blank", "money"):
            yield _Token(kind, found[0].lower(), at)
        at = found.end()


class _Parser:
    def __init__(self, expression: str) -> None:
        self._text = expression.translate(_LOOKALIKES)
        self._tokens = [*_tokens(expression), _Token("end", "", len(expression))]
        self._at = 0
        self._depth = 0

    def whole(self) -> Decimal:
        if len(self._tokens) == 1:
            raise CalculationError("nothing to compute")
        value = self._sum()
        if self._now.kind != "end":
            raise self._wrong("an operator is missing before")
        return value

    @property
    def _now(self) -> _Token:
        return self._tokens[self._at]

    def _takes(self, *signs: str) -> str | None:
        if self._now.kind == "sign" and self._now.text in signs:
            self._at += 1
            return self._tokens[self._at - 1].text
        return None

    def _wrong(self, what: str) -> CalculationError:
        here = f"{self._now.text!r} at {self._now.at + 1}" if self._now.kind != "end" else "the end"
        return CalculationError(f"{what} {here}")

    def _sum(self) -> Decimal:
        value = self._product()
        while sign := self._takes("+", "-"):
            other = self._product()
            value = value + other if sign == "+" else value - other
        return value

    def _product(self) -> Decimal:
        value = self._signed()
        while sign := self._takes("*", "/"):
            other = self._signed()
            value = value * other if sign == "*" else value / other
        return value

    def _signed(self) -> Decimal:
        self._deeper()
        try:
            if sign := self._takes("+", "-"):
                value = self._signed()
                return value if sign == "+" else -value
            return self._power()
        finally:
            self._depth -= 1

    def _power(self) -> Decimal:
        base = self._scaled()
        if not self._takes("**", "^"):
            return base
        power = self._signed()
        if abs(power) > _MAX_POWER:
            raise CalculationError(f"a power of {power}: {_MAX_POWER} is the most")
        if base < 0 and power != power.to_integral_value():
            raise CalculationError("a root of a negative number")
        if base == 0 and power < 0:
            raise CalculationError("division by zero")
        return base**power

    def _scaled(self) -> Decimal:
        value = self._value()
        while self._now.kind in ("scale", "percent"):
            word = self._now.text
            value *= SCALES.get(word) or (Decimal("0.0001") if word == "bps" else Decimal("0.01"))
            self._at += 1
        return value

    def _value(self) -> Decimal:
        token = self._now
        if token.kind == "number":
            self._at += 1
            return Decimal(token.text.replace(",", ""))
        if token.kind == "name":
            return self._function()
        if bracket := self._takes("(", "["):
            self._deeper()
            value = self._sum()
            self._closed(bracket)
            self._depth -= 1
            return value
        raise self._wrong("a number is missing before")

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise CalculationError(f"brackets or signs more than {_MAX_DEPTH} deep")

    def _closed(self, bracket: str) -> None:
        close = ")" if bracket == "(" else "]"
        if not self._takes(close):
            raise self._wrong(f"a {close!r} is missing before")

    # --- functions

    def _function(self) -> Decimal:
        name = self._now.text
        function = _FUNCTIONS.get(name)
        if function is None:
            raise self._wrong(f"known are {', '.join(sorted(_FUNCTIONS))}; unknown is")
        self._at += 1
        bracket = self._takes("(", "[")
        if bracket is None:
            raise self._wrong(f"{name} needs brackets before")
        self._unambiguous()
        self._deeper()
        arguments = [self._sum()]
        while self._takes(",", ";"):
            arguments.append(self._sum())
        self._closed(bracket)
        self._depth -= 1
        least, most, compute = function
        if not least <= len(arguments) <= most:
            raise CalculationError(
                f"{name} takes {least} numbers{' or more' if most > least else ''}, not {len(arguments)}"
            )
        return compute(arguments)

    def _unambiguous(self) -> None:
        """Refuse arguments in which a comma may part thousands or numbers."""
        depth, grouped, parted = 0, None, False
        for token in self._tokens[self._at :]:
            if token.text in ("(", "["):
                depth += 1
            elif token.text in (")", "]"):
                if depth == 0:
                    break
                depth -= 1
            elif depth == 0 and token.kind == "number" and "," in token.text:
                grouped = grouped or token
            elif depth == 0 and token.kind == "sign" and token.text in (",", ";"):
                parted = True
        if grouped is not None and not parted:
            raise CalculationError(
                f"{grouped.text!r} at {grouped.at + 1}: one number or several? "
                "Part numbers by a comma and a blank, or by ;"
            )


def _mean(numbers: Sequence[Decimal]) -> Decimal:
    return sum(numbers, Decimal(0)) / len(numbers)


def _rounded(numbers: Sequence[Decimal]) -> Decimal:
    digits = int(numbers[1]) if len(numbers) > 1 else 0
    if abs(digits) > 20:  # noqa: PLR2004 - no report has more
        raise CalculationError("round takes up to 20 digits")
    return numbers[0].quantize(Decimal(1).scaleb(-digits), rounding="ROUND_HALF_UP")


def _cagr(numbers: Sequence[Decimal]) -> Decimal:
    new, old, years = numbers
    if old == 0 or years == 0 or new / old < 0:
        raise CalculationError("cagr needs an old value other than 0, of the same sign, and a number of years")
    result: Decimal = (new / old) ** (1 / years) - 1
    return result


_Function = tuple[int, int, Callable[[Sequence[Decimal]], Decimal]]
_MANY = 1000
_SUM: _Function = (1, _MANY, lambda numbers: sum(numbers, Decimal(0)))
_MEAN: _Function = (1, _MANY, _mean)
_FUNCTIONS: dict[str, _Function] = {
    "sum": _SUM,
    "total": _SUM,
    "average": _MEAN,
    "avg": _MEAN,
    "mean": _MEAN,
    "min": (1, _MANY, min),
    "max": (1, _MANY, max),
    "abs": (1, 1, lambda numbers: abs(numbers[0])),
    "round": (1, 2, _rounded),
    "growth": (2, 2, lambda numbers: (numbers[0] - numbers[1]) / abs(numbers[1])),
    "cagr": (3, 3, _cagr),
}
