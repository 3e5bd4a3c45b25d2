"""Answers leave with their sources renumbered, unused ones dropped, and charts that stand in the material."""

from __future__ import annotations

import json

import pytest

from examples.annual_reports.answering import chart_of, cited, drawn, read, renumbered, shown, unmarked, warning, whole
from examples.annual_reports.words import figures, sentences, terms, unit_of, unstated, with_units, years_of


@pytest.mark.parametrize(
    ("text", "count", "said", "left"),
    [
        ("a [7]. b [2]. c [7].", 8, "a [1]. b [2]. c [1].", [7, 2]),
        ("a [3, 1] b", 3, "a [1][2] b", [3, 1]),
        ("a [9]. b [1].", 2, "a. b [1].", [1]),
        ("nothing", 5, "nothing", []),
        ("a [0] b [2]", 2, "a  b [1]", [2]),
    ],
)
def test_sources_are_numbered_as_they_are_cited(text: str, count: int, said: str, left: list[int]) -> None:
    assert renumbered(text, count) == (said, left)
    assert cited(said) == list(range(1, len(left) + 1))


def test_drafts_of_two_companies_are_numbered_through() -> None:
    assert renumbered("x [2] y [1]", 2, 5, order=[1, 2])[0] == "x [7] y [6]"


CHART = {
    "title": "Revenue",
    "unit": "US$ millions",
    "points": [{"label": "FY2023", "value": 5200}, {"label": "FY2024", "value": 5460.5}],
}


def with_chart(chart: object) -> str:
    return f"It grew.\n```chart\n{json.dumps(chart)}\n```"


def test_a_chart_stands_where_its_values_do() -> None:
    text, chart = chart_of(with_chart(CHART), ["FY2024 = 5,460.5; FY2023 = 5,200"])
    assert text == "It grew."
    assert chart == CHART


@pytest.mark.parametrize(
    "chart",
    [
        {**CHART, "points": [*CHART["points"], {"label": "FY2025", "value": 6000}]},
        {**CHART, "points": CHART["points"][:1]},
        {**CHART, "points": [{"label": "a", "value": "x"}, {"label": "b", "value": 1}]},
        {**CHART, "points": [{"label": "a", "value": float("nan")}] * 2},
        {**CHART, "points": [{"label": "a", "value": 10**400}, {"label": "b", "value": 1}]},
        {"title": "no points"},
        [1],
    ],
)
def test_a_chart_with_other_values_or_another_shape_is_dropped(chart: object) -> None:
    assert chart_of(with_chart(chart), ["FY2024 = 5,460.5; FY2023 = 5,200"]) == ("It grew.", None)


def test_a_chart_is_taken_where_it_was_asked_for_and_no_block_is_left_in_the_text() -> None:
    material = ["FY2024 = 5,460.5; FY2023 = 5,200"]
    block = with_chart(CHART)
    assert chart_of(block, material, asked=False) == ("It grew.", None)
    other = '```chart\n{"points": []}\n```'
    assert chart_of(f"{block} It did. {other} Yes.", material) == ("It grew.\n It did.  Yes.", CHART)
    assert chart_of(f"It grew. ```chart {json.dumps(CHART)}", material) == ("It grew.", CHART)
    assert chart_of("It grew. ```chart\n" + "[" * 100_000, material) == ("It grew.", None)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Revenue [3] was [1, 2] 5 [table] [2024]", "Revenue [n3] was [n1, n2] 5 [table] [2024]"),
        ("[n3] [12，3]", "[n3] [n12, n3]"),
    ],
)
def test_a_mark_in_anothers_text_is_a_note(text: str, shown: str) -> None:
    assert unmarked(text) == shown
    assert cited(shown) == []
    assert figures(shown) == figures(text)


def test_a_clean_answer_is_one_text_that_reads_back() -> None:
    sources = [{"header": "FMG FY2024, p.39 [table]", "id": "fmg:39"}]
    assert read(whole("It grew [1].", sources, CHART)) == ("It grew [1].", sources, CHART)
    assert read(whole("A line\n\nand more.", [], None)) == ("A line\n\nand more.", [], None)


def test_the_warning_is_no_part_of_the_clean_answer() -> None:
    outcome = {
        "text": "It grew [1].",
        "sources": [{"header": "A FY2024, p.1", "id": "a"}],
        "warning": warning("q", ["5%"]),
    }
    assert "Low confidence" in shown(outcome)
    assert "(5%)" in shown(outcome)
    assert "Low" not in whole(outcome["text"], outcome["sources"], None)
    assert warning("增长多少？", ["5%"]).startswith("置信度低")


def test_a_terminal_gets_bars() -> None:
    assert drawn(CHART).splitlines()[0] == "Revenue (US$ millions)"
    assert drawn(CHART).splitlines()[2].endswith("5,460.5")


# --- words


def test_figures_are_compared_by_value_and_rounded_ones_stand() -> None:
    assert figures("5,200.0 and (12) and 4.5% in [3], p.39, FY2024") == {"5200", "-12", "4.5%"}
    assert unstated("It grew 4.1% to 5,460 in 2024", ["5460.0, 4.0987%"]) == []
    assert unstated("It grew 4.2% to 5,461", ["5,460, 4.0987%"]) == ["4.2%", "5461"]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("Income (US$ millions)\nRevenue | 1", "US$ millions"),
        ("(in thousands of US dollars)", "in thousands of US dollars"),
        ("单位：万元", "万元"),
        ("Revenue (US$M)", "US$M"),
        ("Revenue | 12", ""),
    ],
)
def test_a_tables_unit_is_found(text: str, unit: str) -> None:
    assert unit_of(text) == unit


def test_a_units_is_written_beside_each_row_of_figures() -> None:
    assert with_units("X (US$ millions)\n | 2024 | 2023\nRevenue | 5 | 4") == (
        "X (US$ millions)\n | 2024 | 2023\nRevenue | 5 | 4  [US$ millions]"
    )
    assert with_units("Revenue | 5") == "Revenue | 5"


def test_years_terms_and_sentences() -> None:
    assert years_of("FY24 against 2023年, fiscal 2022 and p.20199") == [2024, 2023, 2022]
    assert terms("What were BHP's dividends?") == ["bhp", "dividend"]
    assert terms("营业收入") == ["营业", "业收", "收入"]
    assert sentences("One. [1] Two it is. Three\nfour") == ["One. [1] Two it is.", "Three", "four"]
