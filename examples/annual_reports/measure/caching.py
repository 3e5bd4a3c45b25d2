"""The answer cache on questions of this program: how often it gives another question's answer, and how often its own.

Rules of this module:

* Every company, figure and year that the made-up reports could be asked for is one question, worded in two ways. One
  wording is stored with an answer of its own; the other is looked up while all of them are there.
* A false hit is an answer to another question, given as it is.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import dalsegno
from examples.annual_reports.answers import DalsegnoAnswers, Draft
from examples.annual_reports.sample import PAGES

__all__ = ["Cached", "measure_cache"]

_FIGURES = ("revenue", "net debt", "total dividend", "profit after tax", "operating costs", "capital expenditure")
_ZH = ("营业收入", "净利润", "总资产", "现金流量净额", "研发费用", "资产负债率")
_YEARS = (2021, 2022, 2023, 2024)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached:
    """What was found.

    Attributes:
        questions: how many were stored.
        again: of the same words looked up again, how many were hits with their own answer.
        reworded: of other words for the same, how many were.
        false: hits with another question's answer, of all that was looked up.
        swapped: hits for a year that nobody asked about before.
    """

    questions: int
    again: int
    reworded: int
    false: int
    swapped: int


def measure_cache() -> Cached:
    """Store every question, and look it up again, in other words, and for another year."""
    again = reworded = false = swapped = 0
    with dalsegno.connect("memory://") as ds:
        answers = DalsegnoAnswers(ds, PAGES)
        asked = list(_questions())
        for company, year, question, _ in asked:
            answers.store(_draft(company, year, question))
        for company, year, question, other in asked:
            for text in (question, other):
                found = answers.lookup(text, [company], [year])
                own = found["question"] == question
                again += found["band"] == "hit" and own and text == question
                reworded += found["band"] == "hit" and own and text == other
                false += found["band"] == "hit" and not own
            later = question.replace(str(year), str(year + 10))
            swapped += answers.lookup(later, [company], [year + 10])["band"] == "hit"
    return Cached(questions=len(asked), again=again, reworded=reworded, false=false, swapped=swapped)


def _questions() -> list[tuple[str, int, str, str]]:
    english = [
        (company, year, f"What was {company}'s {figure} in FY{year}?", f"{company} {figure} FY{year}")
        for company, figure, year in itertools.product(("Alder Mining", "Birch Metals"), _FIGURES, _YEARS)
    ]
    chinese = [
        ("海松能源", year, f"海松能源{year}年的{figure}是多少？", f"请问海松能源{year}年{figure}多少")
        for figure, year in itertools.product(_ZH, _YEARS)
    ]
    return [*english, *chinese]


def _draft(company: str, year: int, question: str) -> Draft:
    passage = next(hit.passage for hit in PAGES.search(company, "revenue dividend 收入 2024 2023"))
    text = f"It was US$ {1000 + _number(question) % 9000} million [1].\n\n[1] {company} p.1 · {passage.id}"
    return Draft(question=question, companies=[company], years=[year], text=text, passages=[passage.id])


def _number(text: str) -> int:
    return sum(ord(sign) * at for at, sign in enumerate(text, 1))
