"""A calculator gives a result with the expression and the figures it came from, or says why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from examples.annual_reports.calculator import AgentCalculator, RuleCalculator, Worked
from examples.annual_reports.calculator.rules import operation_of
from examples.annual_reports.calculator.tables import rows_of

INCOME = """Consolidated income statement
(in millions of dollars)
 | 2024 | 2023 | 2022
Revenue | 5,560.5 | 5,381.0 | 5,000.0
Cost of sales | (3,120.0) | (2,998.4) | (2,800.0)
Copper sales | 1,390.1 | 1,200.0 | 900.0
Gross margin | 43.9% | 44.3% | 44.0%
Profit for the year | 1,204.7 | 1,101.2 | 998.0"""
ZH = """单位：万元
项目 | 2023年 | 2022年
营业收入 | 8,120.40 | 7,455.10
研发费用 | 312.00 | 288.60"""
BY_YEAR = """Year | Revenue | Employees
2023 | 120 | 15
2022 | 100 | 12"""
SECTIONS = """Assets ($ in thousands)
 | 2024 | 2023
Current assets: | |
Cash | 10 | 20
Inventories | 30 | 25
 | 40 | 45"""
TEXT = "Revenue was $14,694 million in fiscal 2023, compared to $14,544 million in fiscal 2022 [1]. Wages rose."


@pytest.mark.parametrize(
    ("question", "material", "expression", "result", "unit"),
    [
        ("What was the change in revenue from 2023 to 2024?", INCOME, "5560.5 - 5381", "179.5", "million"),
        (
            "By what percentage did revenue increase between 2023 and 2024?",
            INCOME,
            "(5560.5 - 5381) / 5381 * 100",
            "3.3358",
            "percent",
        ),
        ("What is the change in gross margin between 2022 and 2024?", INCOME, "43.9 - 44", "-0.1", "percent"),
        (
            "What was the average revenue from 2022 to 2024?",
            INCOME,
            "(5000 + 5381 + 5560.5) / 3",
            "5313.8333",
            "million",
        ),
        ("What was the total profit for the year in 2023 and 2024?", INCOME, "1101.2 + 1204.7", "2305.9", "million"),
        (
            "What were copper sales as a percentage of revenue in 2024?",
            INCOME,
            "1390.1 / 5560.5 * 100",
            "24.9996",
            "percent",
        ),
        (
            "What is the change in cost of sales between 2023 and 2024?",
            INCOME,
            "(-3120) - (-2998.4)",
            "-121.6",
            "million",
        ),
        ("2023年营业收入同比增长率是多少？", ZH, "(8120.4 - 7455.1) / 7455.1 * 100", "8.9241", "percent"),
        ("2022年到2023年研发费用增加多少？", ZH, "312 - 288.6", "23.4", "万"),
        ("2023年研发费用占营业收入的比例是多少？", ZH, "312 / 8120.4 * 100", "3.8422", "percent"),
        ("What was the change in revenue from 2022 to 2023?", BY_YEAR, "120 - 100", "20", ""),
        ("What was the change in total current assets from 2023 to 2024?", SECTIONS, "40 - 45", "-5", "thousand"),
        ("What is the difference between inventories and cash in 2024?", SECTIONS, "30 - 10", "20", "thousand"),
        (
            "What was the percentage change in revenue from 2022 to 2023?",
            TEXT,
            "(14694 - 14544) / 14544 * 100",
            "1.0314",
            "percent",
        ),
    ],
)
def test_by_rules(question, material, expression, result, unit) -> None:
    worked = RuleCalculator().work(question, [material])
    assert (worked.expression, round(worked.result, 4), worked.unit) == (expression, Decimal(result), unit)
    assert worked.text.startswith(f"{expression} = ")
    assert len(worked.steps) >= 3


@pytest.mark.parametrize(
    ("question", "material", "says"),
    [
        ("What was revenue in 2024?", INCOME, "no arithmetic"),
        ("What was the change in headcount between 2023 and 2024?", INCOME, "no row"),
        ("What was the change in revenue between 2018 and 2019?", INCOME, "not found"),
        ("What was the average revenue from 2022 to 2023?", "Revenue | 1", "fewer than two"),
        (
            "What was the change in revenue from 2023 to 2024?",
            " | 2024 | 2023\nRevenue | 1.2 billion | 900 million",
            "different scales",
        ),
        (
            "What was the percentage change in revenue from 2023 to 2024?",
            " | 2024 | 2023\nRevenue | 5 | —",
            "division by zero",
        ),
        ("What was the change in revenue?", "", "no row"),
    ],
)
def test_what_is_not_certain_is_not_computed(question, material, says) -> None:
    worked = RuleCalculator().work(question, [material])
    assert worked.result is None
    assert worked.text == ""
    assert says in worked.problem


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("What is the percentage change in revenue?", "percent change"),
        ("营业收入同比增长多少？", "percent change"),
        ("How much did revenue fall?", "change"),
        ("What is the change in weighted-average shares?", "change"),
        ("What was average revenue?", "average"),
        ("存货占流动资产的比例是多少", "share"),
        ("Total of both", "total"),
        ("Who is the chair?", "none"),
    ],
)
def test_operations(question, operation) -> None:
    assert operation_of(question) == operation


def test_rows_know_their_heads_sections_and_years() -> None:
    row = rows_of(
        "($ in thousands)\n | Three months ended | | Year ended |\n | 2024 | 2023 | 2024 | 2023\nSales | 1 | 2 | 3 | 4"
    )[0]
    assert [(cell.head, cell.years) for cell in row.cells] == [
        ("Three months ended 2024", (2024,)),
        ("Three months ended 2023", (2023,)),
        ("Year ended 2024", (2024,)),
        ("Year ended 2023", (2023,)),
    ]
    assert row.scale == "thousand"
    said = rows_of("Sales were 5, 6 and 7 in 2022, 2023 and 2024, respectively.")[0]
    assert [(int(cell.figure.value), cell.years) for cell in said.cells] == [(5, (2022,)), (6, (2023,)), (7, (2024,))]


# --- by a model


class Scripted(BaseChatModel):
    """Says one thing after the other, and keeps what it was shown."""

    script: list[Any]
    seen: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        assert [tool.name for tool in tools] == ["calculate"]
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_: Any) -> ChatResult:
        self.seen.append(list(messages))
        said = self.script[min(len(self.seen), len(self.script)) - 1]
        if isinstance(said, str):
            return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])
        calls = [
            {"name": "calculate", "args": {"expression": each}, "id": f"c{len(self.seen)}-{number}"}
            for number, each in enumerate(said)
        ]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=calls))])


def work(
    *script: Any, rounds: int = 6, question: str = "How did revenue change from 2023 to 2024?"
) -> tuple[Worked, list[Any]]:
    model = Scripted(script=list(script), seen=[])
    return AgentCalculator(model, rounds=rounds).work(question, [INCOME]), model.seen


def answers(seen: list[Any]) -> list[str]:
    return [message.content for message in seen[-1] if isinstance(message, ToolMessage)]


def test_a_model_reasons_computes_and_goes_on_from_what_it_got() -> None:
    worked, seen = work(["5,560.5 - 5,381.0"], ["179.5 / 5,381.0 * 100"], "percent")
    assert (worked.expression, round(worked.result, 4), worked.unit) == (
        "179.5 / 5,381.0 * 100",
        Decimal("3.3358"),
        "percent",
    )
    assert worked.steps == ("5,560.5 - 5,381.0 = 179.5", "179.5 / 5,381.0 * 100 = 3.3358")
    assert answers(seen)[0] == "179.5"
    assert [message.type for message in seen[0]] == ["system", "human"]
    assert INCOME in seen[0][1].content


def test_a_number_from_nowhere_is_sent_back() -> None:
    worked, seen = work(["5,560.5 - 4,999.9"], ["5,560.5 - 5,381.0"], "million")
    assert "4999.9 is not in the material" in answers(seen)[0]
    assert worked.steps == ("5,560.5 - 5,381.0 = 179.5",)


def test_what_a_model_writes_is_no_result() -> None:
    worked, _ = work("It rose by 42 percent.")
    assert worked.result is None
    assert worked.problem == "It rose by 42 percent."
    worked, _ = work(["5,560.5 - 5,381.0"], "The answer is 999 million.")
    assert worked.result == Decimal("179.5")


def test_a_wrong_expression_is_told_and_may_be_mended() -> None:
    worked, seen = work(["5,560.5 - "], ["1 / 0"], ["5,560.5 - 5,381.0"], "million")
    assert [answer.split(":")[0] for answer in answers(seen)] == ["not computed", "not computed", "179.5"]
    assert worked.unit == "million"


def test_rounds_and_calls_are_bounded() -> None:
    worked, seen = work(["5,560.5 - 5,381.0"], rounds=3)
    assert len(seen) == 3
    assert worked.result is None
    assert "not finished" in worked.problem
    assert "179.5" in worked.problem
    _, seen = work(["1 + 1"] * 50, "done")
    assert len(answers(seen)) == 5
