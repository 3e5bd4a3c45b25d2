"""A line break or a bracket between a number and its unit changes no value, and what is written on the continent, in India or in science is one number."""

from __future__ import annotations

import pytest

from dalsegno.core.facts import Kind, facts_in, invented, said_in


def found(text: str) -> list[tuple[Kind, str]]:
    return [(fact.kind, fact.value) for fact in facts_in(text) if fact.protected]


@pytest.mark.parametrize("gap", ["\n", " \n", "\r\n", "\n ", "\n  "])
@pytest.mark.parametrize(
    ("number", "unit", "value"),
    [
        ("50", "kg", (Kind.QUANTITY, "50 kg")),
        ("1,234.5", "万元", (Kind.AMOUNT, "CNY 12345000")),
        ("50", "元", (Kind.AMOUNT, "CNY 50")),
        ("50", "dollars", (Kind.AMOUNT, "USD 50")),
        ("12.5", "%", (Kind.PERCENT, "12.5%")),
        ("3", "个月", (Kind.QUANTITY, "3 month")),
    ],
)
def test_a_line_break_before_a_unit_is_typography(number, unit, value, gap) -> None:
    text = f"合计 total {number}{gap}{unit}\n"
    assert found(text) == [value]
    [fact] = [fact for fact in facts_in(text) if fact.protected]
    assert text[fact.start : fact.end] == fact.text == f"{number}{gap}{unit}"


@pytest.mark.parametrize(
    ("text", "value", "wording"),
    [
        ("weighs 50 (kg).", (Kind.QUANTITY, "50 kg"), "50 (kg)"),
        ("重50（公斤）", (Kind.QUANTITY, "50 kg"), "50（公斤）"),
        ("报价50[USD]", (Kind.AMOUNT, "USD 50"), "50[USD]"),
        ("共50（万元）", (Kind.AMOUNT, "CNY 500000"), "50（万元）"),
        ("loss of $(1,234)", (Kind.AMOUNT, "USD 1234"), "$(1,234)"),
        ("$ (45.2)", (Kind.AMOUNT, "USD 45.2"), "$ (45.2)"),
        ("RMB (50,000)", (Kind.AMOUNT, "CNY 50000"), "RMB (50,000)"),
        ("注册资本（万元）：1,234.5", (Kind.AMOUNT, "CNY 12345000"), "1,234.5"),
        ("Amount (USD): 500", (Kind.AMOUNT, "USD 500"), "500"),
        ("重量（kg）：50", (Kind.QUANTITY, "50 kg"), "50"),
    ],
)
def test_so_are_brackets(text, value, wording) -> None:
    assert found(text) == [value]
    assert [fact.text for fact in facts_in(text) if fact.protected] == [wording]


def test_a_column_of_signs_and_numbers_is_a_column_of_amounts() -> None:
    table = "Net income\n$\n1,693,954\n$\n629,551\nAdjustments\n(2021)\n$\n79,268 $\n94,665 $\n118,573\n"
    assert found(table) == [(Kind.AMOUNT, f"USD {n}") for n in (1693954, 629551, 79268, 94665, 118573)]


@pytest.mark.parametrize(
    "text", ["Items: 5\nDays: 3", "2022 \n2021 \n% Change", "133,850\nPayments for tax", "5\nWon the game", "5\n\nkg"]
)
def test_what_begins_another_line_is_no_unit(text) -> None:
    assert found(text) == []


def test_prose_that_is_broken_at_a_width_reads_on() -> None:
    text = "We waited at the counter of the office for three\nquarters of an hour, and then paid a fee of 50\npoints."
    assert (Kind.QUANTITY, "50 point") in found(text)
    assert all(text[fact.start : fact.end] == fact.text for fact in facts_in(text))
    [said] = [one for one in said_in(text, coordinate="#1 user", author="user") if one.fact.value == "50 point"]
    assert said.coordinate == "#1 user"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("€1.234,56", "EUR 1234.56"),
        ("1.234,56 EUR", "EUR 1234.56"),
        ("€12,50", "EUR 12.5"),
        ("12,50 €", "EUR 12.5"),
        ("5 000 €", "EUR 5000"),
        ("€ 5 000", "EUR 5000"),
        ("3 000 руб", "RUB 3000"),
        ("Rs 1,20,300", "INR 120300"),
        ("1,20,300 rupees", "INR 120300"),
        ("NZ$50", "NZD 50"),
        ("R$ 1.234,50", "BRL 1234.5"),
        ("MX$50", "MXN 50"),
        ("฿500", "THB 500"),
        ("50 zł", "PLN 50"),
        ("500澳元", "AUD 500"),
        ("300万泰铢", "THB 3000000"),
        ("half a million dollars", "USD 500000"),
        ("between $5 and $7", "USD 5..7"),
    ],
)
def test_an_amount_is_read_whole(text, value) -> None:
    assert found(text) == [(Kind.AMOUNT, value)]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("It costs 12,50 €.", "It costs 50 €."),
        ("It costs € 5 000.", "It costs €5."),
        ("It costs R$ 50.", "It costs $50."),
        ("half a million dollars", "a million dollars"),
        ("a dose of 1.5e-3 kg", "a dose of 3 kg"),
        ("1.5 x 10^6 cells", "6 cells"),
    ],
)
def test_a_piece_of_it_is_invented(said, told) -> None:
    assert invented(told, said)
    assert not invented(said, said)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("50 mg/dL", (Kind.QUANTITY, "50 mg/dl")),
        ("3 m/s", (Kind.QUANTITY, "3 m/second")),
        ("100 MB/s", (Kind.QUANTITY, "100 MB/second")),
        ("20 req/s", (Kind.QUANTITY, "20 req/second")),
        ("50+ users", (Kind.QUANTITY, "50 user")),
        ("3,50 kg", (Kind.QUANTITY, "3.5 kg")),
        ("2 000 items", (Kind.QUANTITY, "2000 item")),
        ("between 5 and 7 kg", (Kind.QUANTITY, "5..7 kg")),
        ("今晚零点", (Kind.TIME, "00:00")),
        ("seat 14C", (Kind.ID, "14C")),
        ("Gate B12", (Kind.ID, "B12")),
        ("Suite 394", (Kind.ID, "394")),
    ],
)
def test_so_are_quantities_times_and_places(text, value) -> None:
    assert found(text) == [value]


@pytest.mark.parametrize("text", ["[10,20,30]", "[1,20,300]", "5+3", "and/or", "a1 b2", "$ ls -la"])
def test_lists_and_words_stay_what_they_were(text) -> None:
    assert not [kind for kind, _ in found(text) if kind in {Kind.AMOUNT, Kind.QUANTITY, Kind.ID}]
