"""An expression has the value that arithmetic gives it, or is refused with a reason; nothing of it is run."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.annual_reports.calculator import CalculationError, calculate
from examples.annual_reports.calculator.figures import cell_of, figures_of, plain, scale_of


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", "7"),
        ("(14,694 - 14,544) / 14,544 * 100", "1.031353135313531353135313531"),
        ("2**3**2", "512"),
        ("-2**2", "-4"),
        ("4 ^ 0.5", "2"),
        ("12%", "0.12"),
        ("25 bps * 4", "0.01"),
        ("$1.2 billion - 300 million", "900000000"),
        ("3亿元 - 5,000万元", "250000000"),
        ("[(1＋2)×3]÷9", "1"),
        ("5 − −2", "7"),
        ("sum(1,200; 300)", "1500"),
        ("sum(1,200, 300)", "1500"),
        ("sum((1,200 + 1), 3)", "1204"),
        ("average(2, 4, 9)", "5"),
        ("avg(7)", "7"),
        ("min(3, -1)", "-1"),
        ("max(3, -1)", "3"),
        ("abs(-4.5)", "4.5"),
        ("round(2.345, 2)", "2.35"),
        ("round(2.5)", "3"),
        ("growth(110, 100)", "0.1"),
        ("growth(-5, -10)", "0.5"),
        ("cagr(121, 100, 2)", "0.1"),
        ("0.1 + 0.2", "0.3"),
        (".5 * 2", "1"),
    ],
)
def test_values(expression, value) -> None:
    assert abs(calculate(expression) - Decimal(value)) < Decimal("1e-20")


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("", "nothing to compute"),
        ("1 2", "an operator is missing before '2' at 3"),
        ("1 +", "a number is missing before the end"),
        ("(1 + 2", "a ')' is missing before the end"),
        ("(1 + 2]", "a ')' is missing before ']' at 7"),
        ("1 / 0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("1 / (2 - 2)", "division by zero"),
        ("growth(1, 0)", "division by zero"),
        ("sum(100,200)", "one number or several"),
        ("median(1, 2)", "unknown is 'median' at 1"),
        ("sum 3", "sum needs brackets before '3'"),
        ("growth(1)", "growth takes 2 numbers, not 1"),
        ("cagr(1, -1, 2)", "of the same sign"),
        ("(-8) ** 0.5", "a root of a negative number"),
        ("9 ** 9 ** 9", "64 is the most"),
        ("(10 ** 64) ** 64", "too large"),
        ("((" * 40 + "1" + "))" * 40, "more than 64 deep"),
        ("-" * 70 + "1", "more than 64 deep"),
        ("1" * 2001, "2000 at most"),
        ("__import__('os').getcwd()", "'_' at 1 is no part of an expression"),
        ("lambda: 1", "':' at 7"),
        ("1e5", "missing before 'e'"),
        ("12 tons", "missing before 't"),
        ("round(1, 99)", "up to 20"),
    ],
)
def test_refusals_say_where_and_why(expression, says) -> None:
    with pytest.raises(CalculationError) as refused:
        calculate(expression)
    assert says in str(refused.value)


LEAVES = st.integers(0, 10**6).map(str) | st.decimals(0, 1000, places=2).map(str)
TREES = st.recursive(
    LEAVES,
    lambda kids: st.tuples(kids, st.sampled_from("+-*/"), kids).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    max_leaves=8,
)


@given(TREES)
def test_it_is_the_arithmetic_of_fractions(expression) -> None:
    try:
        exact = eval("".join(_fractions(expression)), {"Fraction": Fraction})  # the test's own expression
    except ZeroDivisionError:
        with pytest.raises(CalculationError):
            calculate(expression)
        return
    assert abs(Fraction(calculate(expression)) - exact) <= abs(exact) / 10**20 + Fraction(1, 10**20)


def _fractions(expression: str):
    for part in expression.replace("(", " ( ").replace(")", " ) ").split():
        yield f"Fraction('{part}')" if part[0].isdigit() else part


@given(st.text(alphabet="0123456789.,()[]+-*/%^ ;$亿sumavgrondtx\n\u0661", max_size=40))
def test_any_text_has_a_value_or_a_reason(text) -> None:
    try:
        value = calculate(text)
    except CalculationError as refused:
        value = str(refused)
    assert isinstance(value, Decimal) or value


@pytest.mark.parametrize(
    ("text", "value", "unit", "scale"),
    [
        ("1,234.5", "1234.5", "", ""),
        ("$(1,234)", "-1234", "", ""),
        ("(12.5)%", "-12.5", "percent", ""),
        ("($12)", "-12", "", ""),
        ("—", "0", "", ""),
        ("3.2 million", "3.2", "", "million"),
        ("1.5亿元", "1.5", "", "亿"),
        ("-7", "-7", "", ""),
    ],
)
def test_cells(text, value, unit, scale) -> None:
    figure = cell_of(text)
    assert (figure.value, figure.unit, figure.scale) == (Decimal(value), unit, scale)


@pytest.mark.parametrize("text", ["Revenue", "", "Q2", "note 7 says"])
def test_words_are_no_figures(text) -> None:
    assert cell_of(text) is None


def test_figures_of_a_sentence_are_neither_years_nor_citations() -> None:
    said = "In 2024 revenue was $5,560.5 million [3], up 3.3% from 5,381.0 (note 7) on June 30, 2023; 净利润为1.2亿元"
    assert [(figure.value, figure.unit, figure.scale) for figure in figures_of(said)] == [
        (Decimal("5560.5"), "", "million"),
        (Decimal("3.3"), "percent", ""),
        (Decimal("5381.0"), "", ""),
        (Decimal("1.2"), "", "亿"),
    ]


def test_scales_of_unit_lines() -> None:
    assert [scale_of(line) for line in ("(In thousands)", "$ in millions", "$'000", "单位：万元", "per share")] == [
        "thousand",
        "million",
        "thousand",
        "万",
        "",
    ]
    assert plain(Decimal("1.50E+3")) == "1500"
