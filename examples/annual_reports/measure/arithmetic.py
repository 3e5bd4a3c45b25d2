"""How often the calculator comes to TAT-QA's answer: from the derivation, and from question, table and text by rules.

Rules of this module:

* A value is right when it is the dataset's within half of its second digit after the point (TAT-QA rounds to two).
  Where the answer is in percent, a derivation may give the fraction.
* By rules, the calculator gets the question, the table and the paragraphs, and nothing of the derivation. What it
  does not compute counts as not answered, apart from what it computes wrong.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from examples.annual_reports.calculator import CalculationError, RuleCalculator, calculate
from examples.annual_reports.calculator.rules import operation_of

__all__ = ["Computed", "measure_arithmetic"]

_HALF = Decimal("0.0051")


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """What was measured.

    Attributes:
        questions: arithmetic questions in the file.
        derivations_right: expressions that give the answer.
        derivations_refused: expressions that were not computed.
        right, wrong, unanswered: by rules.
        by_operation: of the questions of each operation, how many right, wrong and unanswered.
    """

    questions: int
    derivations_right: int
    derivations_refused: int
    right: int
    wrong: int
    unanswered: int
    by_operation: dict[str, tuple[int, int, int]]


def measure_arithmetic(data: Path) -> Computed:
    """Compute every arithmetic question of the data folder's TAT-QA files.

    Raises:
        FileNotFoundError: there is none.
    """
    names = sorted((data / "tatqa").glob("tatqa_dataset_*.json"))
    if not names:
        raise FileNotFoundError(f"{data}: no tatqa in it; say --data")
    derived: Counter[str] = Counter()
    ruled: Counter[tuple[str, str]] = Counter()
    rules = RuleCalculator()
    for context in (context for name in names for context in json.loads(name.read_text("utf-8"))):
        table = "\n".join(" | ".join(row) for row in context["table"]["table"])
        material = [table, *(paragraph["text"] for paragraph in context["paragraphs"])]
        for asked in context["questions"]:
            if asked["answer_type"] != "arithmetic":
                continue
            answer = Decimal(str(asked["answer"]))
            derived[_derived(asked["derivation"], answer, percent=asked["scale"] == "percent")] += 1
            worked = rules.work(asked["question"], material)
            verdict = "unanswered" if worked.result is None else "right" if _same(worked.result, answer) else "wrong"
            ruled[operation_of(asked["question"]), verdict] += 1
    operations = sorted({operation for operation, _ in ruled})
    table_of = {
        name: tuple(ruled[name, verdict] for verdict in ("right", "wrong", "unanswered")) for name in operations
    }
    right, wrong, unanswered = (sum(counts) for counts in zip(*table_of.values(), strict=True))
    return Computed(
        questions=derived.total(),
        derivations_right=derived["right"],
        derivations_refused=derived["refused"],
        right=right,
        wrong=wrong,
        unanswered=unanswered,
        by_operation={name: (counts[0], counts[1], counts[2]) for name, counts in table_of.items()},
    )


def _derived(derivation: str, answer: Decimal, *, percent: bool) -> str:
    try:
        value = calculate(derivation)
    except CalculationError:
        return "refused"
    scales = (1, 100) if percent or "%" in derivation else (1,)
    return "right" if any(_same(value * scale, answer) for scale in scales) else "wrong"


def _same(value: Decimal, answer: Decimal) -> bool:
    return abs(value - answer) <= _HALF
