"""The nine calls answered by rules: no model, no network, the same inputs and outputs.

Rules of this module:

* Words are taken from passages, never made: a draft is rows and sentences as they stand, with their source.
* What does not fit is said to be nothing, so that the graph's own bounds decide: search again, or a fallback.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from examples.annual_reports.computing import by_rules
from examples.annual_reports.jobs import (
    Answering,
    Calculated,
    Calculating,
    Candidate,
    Checked,
    Checking,
    Decided,
    Deciding,
    Drafting,
    Figured,
    Figuring,
    Graded,
    Grading,
    Rewriting,
    Rewritten,
    Said,
    Summarizing,
)
from examples.annual_reports.words import (
    asking,
    asks_for_figures,
    asks_for_news,
    asks_for_series,
    bare,
    figures,
    sentences,
    terms,
    unit_of,
    unstated,
    years_of,
)

__all__ = ["Rules"]

_FINANCE = re.compile(
    r"\b(revenues?|sales|turnover|profit|earnings|income|loss|ebitda?|dividends?|payout|cash|debt|gearing|assets?|"
    r"liabilit\w+|equity|capital|capex|costs?|expens\w+|margin|tax|production|output|shipments?|tonnes|price|employees|"
    r"safety|emissions?|reserves|risk|outlook|guidance|segment|share|report|financial|acqui\w+|perform\w*)\b|"
    r"收入|营收|利润|净利|分红|股息|派息|现金|负债|债务|资产|权益|资本|成本|费用|毛利|税|产量|销量|价格|员工|安全|排放|储量|"
    r"资源量|风险|展望|业绩|年报|注册|股东|客户|供应商",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(how much|how many|what) (was|is|were|are|about) (it|that|this|they|those)\b|(它|那|这个?)是?多少",
    re.IGNORECASE,
)
_ALSO: Mapping[str, str] = {
    "dividend": "dividends per share declared determined final interim",
    "revenue": "total revenue sales turnover",
    "profit": "net profit attributable earnings after tax",
    "debt": "net debt borrowings gearing",
    "capex": "capital expenditure",
    "production": "production output tonnes",
    "营收": "营业收入",
    "分红": "股利 派息 每股",
    "利润": "净利润 归属于",
}
_ROWS = 2
_STATEMENTS = 3
_ENOUGH = 0.5
_MIN_SERIES = 2


class Rules:
    """Answers the calls by rules."""

    name = "rules"
    digests = False

    def __init__(
        self,
        company_of: Callable[[str], Sequence[str]],
        calculate: Callable[[Calculating], Calculated] = by_rules,
    ) -> None:
        """Take what is known of companies, and who computes.

        Args:
            company_of: the companies that a text names.
            calculate: arithmetic.
        """
        self._company_of = company_of
        self._calculate = calculate

    def digest(self, given: Summarizing, request: Any) -> str:  # noqa: ARG002 - the library's own extract is taken instead
        """Never asked: without a model the library takes the messages' own words."""
        return given.history

    def decide(self, given: Deciding, request: Any) -> Decided:  # noqa: ARG002 - as every rule here
        """By words of finance and news, and whether a company is named."""
        plain = bare(given.question)
        named, financial, news = self._company_of(given.question), bool(_FINANCE.search(plain)), asks_for_news(plain)
        about, vague = bool(self._company_of(plain)), bool(_VAGUE.search(plain)) and not financial
        return Decided(
            is_out_of_scope=not (financial or news or about or vague),
            needs_retrieval=financial or vague or (about and not news),
            needs_news=news,
            needs_clarification=vague or (bool(financial or news) and not named),
        )

    def rewrite(self, given: Rewriting, request: Any) -> Rewritten:  # noqa: ARG002
        """The question's own words; on a retry with those of the claims that failed, and other names of the metric."""
        own = {word for name in (given.company, *self._company_of(given.question)) for word in terms(name)}
        asked = [
            word for word in terms(bare(given.question)) if word not in own and not _is_year(word) and not asking(word)
        ]
        words = [*asked, *(str(year) for year in years_of(given.question))]
        if given.tried:
            also = [more for word in asked for key, more in _ALSO.items() if key in word or word in key]
            words += [word for text in (*given.failed_claims, *also) for word in terms(text) if word not in own]
        return Rewritten(query=" ".join(dict.fromkeys(words)))

    def grade(self, given: Grading, request: Any) -> Graded:  # noqa: ARG002
        """Those that share words with the query, by how many; a year that is named counts as a word."""
        wanted = terms(given.query)
        scores = {each.number: _shared(wanted, f"{each.header} {each.text}") for each in given.candidates}
        ranked = sorted(scores, key=lambda number: (-scores[number], number))
        least = max(1, len(wanted) // 4)
        return Graded(relevant=[number for number in ranked if scores[number] >= least])

    def draft(self, given: Drafting, request: Any) -> Said:  # noqa: ARG002
        """The rows and sentences that say most about the question."""
        own = set(terms(given.company))
        asked = [
            word for word in terms(bare(given.question)) if word not in own and not _is_year(word) and not asking(word)
        ]
        everything = set(terms(" ".join(each.text for each in given.documents)))
        wanted = [word for word in asked if word in everything]
        if len(wanted) < max(1.0, len(asked) / 3):
            return Said(text="")
        years = years_of(given.question)
        wide = asks_for_figures(given.question) or asks_for_series(given.question)
        lines = [line for each in _of_years(given.documents, years) for line in _lines(each, years, wide=wide)]
        scored = sorted(
            ((_worth(wanted, line.label, line.text, line.kind), -at, line) for at, line in enumerate(lines)),
            key=lambda each: each[:2],
            reverse=True,
        )
        best = [line for worth, _, line in scored if worth >= _ENOUGH * max(1, len(wanted))][:_STATEMENTS]
        said: dict[str, list[int]] = {}
        for line in best:
            said.setdefault(line.text, []).append(line.number)
        lines_said = [f"{text} {''.join(f'[{number}]' for number in dict.fromkeys(of))}" for text, of in said.items()]
        return Said(text="\n".join(lines_said[: _ROWS if wide else _STATEMENTS]))

    def check(self, given: Checking, request: Any) -> Checked:  # noqa: ARG002
        """Each statement's figures stand in the documents that it cites."""
        by_number = {each.number: each.text for each in given.documents}
        lines = sentences(given.draft)
        wrong = []
        for line in lines:
            numbers = [int(each) for each in re.findall(r"\[(\d+)\]", line)]
            texts = [by_number[number] for number in numbers if number in by_number]
            if figures(line) and (not texts or unstated(line, texts)):
                wrong.append(line)
        grounded = "no" if not lines or len(wrong) == len(lines) else "partly" if wrong else "yes"
        return Checked(grounded=grounded, unsupported=wrong)  # type: ignore[arg-type] # one of the three

    def figure(self, given: Figuring, request: Any) -> Figured:  # noqa: ARG002
        """Where the question asks for arithmetic and there are two figures to do it with."""
        found = figures(given.report) - set(map(str, years_of(given.report)))
        return Figured(needs_calculation=asks_for_figures(given.question) and len(found) >= _MIN_SERIES)

    def calculate(self, given: Calculating, request: Any) -> Calculated:  # noqa: ARG002
        """What the calculator's own rules make of it, in one round."""
        return self._calculate(given)

    def compute(self, given: Calculating, think: Callable[[Calculating], Any]) -> Calculated:
        """One round."""
        return Calculated.model_validate(think(given))

    def answer(self, given: Answering, request: Any) -> Said:  # noqa: ARG002
        """The statements, the arithmetic, the news; a chart where a series is asked for."""
        parts = [given.report] if given.report else []
        if given.calculation:
            parts.append(given.calculation)
        if given.news:
            parts.append(given.news)
        chart = _chart(given.report) if given.series else None
        if chart is not None:
            parts.append(f"```chart\n{json.dumps(chart, ensure_ascii=False)}\n```")
        return Said(text="\n\n".join(parts))


def _of_years(documents: Sequence[Candidate], years: Sequence[int]) -> list[Candidate]:
    """The documents that tell of the years that are named; all where none does."""
    wanted = set(years)
    about = [each for each in documents if wanted & set(years_of(f"{each.header} {each.text}"))]
    return about if years and about else list(documents)


class _Line:
    """A row or sentence that may be taken."""

    __slots__ = ("kind", "label", "number", "text")

    def __init__(self, number: int, label: str, text: str, kind: str) -> None:
        self.number, self.label, self.text, self.kind = number, label, text, kind


def _lines(document: Candidate, years: Sequence[int], *, wide: bool) -> list[_Line]:
    """What of a document may be taken: a table's rows with their years and unit, a text's sentences."""
    if document.kind != "table":
        return [_Line(document.number, one, " ".join(one.split()), "text") for one in sentences(document.text)]
    found, heads = [], list[tuple[int, int]]()
    unit = unit_of(document.text)
    for raw in document.text.splitlines():
        cells = re.split(r"\s*\|\s*", raw.strip())
        named = [years_of(cell) for cell in cells]
        if sum(map(bool, named)) >= 1 and not figures(raw) - {str(year) for each in named for year in each}:
            heads = [(column, each[0]) for column, each in enumerate(named) if each]
            continue
        if not cells[0] or not any(map(figures, cells[1:])):  # a label and a value
            continue
        label, values = cells[0], [cell for cell in cells[1:] if figures(cell)]
        pairs = _of_heads(heads, cells, values)
        sure = bool(pairs)
        if pairs:
            some = pairs if wide or not years else [pair for pair in pairs if pair[0] in years] or pairs
            told = "; ".join(f"FY{year} = {value}" for year, value in some)
        else:
            told = "; ".join(values)
        kind = "sure" if sure else "table"
        of = unit if any(figures(value) and "%" not in value for value in values) else ""
        found.append(_Line(document.number, label, f"{label}: {told}{f' ({of})' if of else ''}", kind))
    return found


def _of_heads(heads: Sequence[tuple[int, int]], cells: Sequence[str], values: Sequence[str]) -> list[tuple[int, str]]:
    """Each year of a table's heads with its value in a row; none where that is not certain."""
    years = [year for _, year in heads]
    if len(set(years)) < len(years):
        return []
    under = [cells[column] for column, _ in heads if 0 < column < len(cells) and figures(cells[column])]
    if len(under) == len(years):
        return list(zip(years, under, strict=True))
    first = values[: len(years)]  # heads that are shifted; what stands right of the years is a change, a note
    alike = len({"%" in value for value in first}) == 1  # a share beside an amount is no other year's
    return list(zip(years, first, strict=True)) if alike and len(first) == len(years) else []


def _worth(wanted: Sequence[str], label: str, text: str, kind: str) -> float:
    shared = _shared(wanted, text)
    sure = {"sure": 0.8, "table": 0.3, "text": 0.0}[kind]
    return shared + (sure if shared else 0.0) - min(0.4, 0.04 * len(terms(label)))


def _shared(wanted: Sequence[str], text: str) -> int:
    have = set(terms(text)) | {str(year) for year in years_of(text)}
    return sum(1 for word in wanted if word in have)


def _is_year(word: str) -> bool:
    return bool(re.fullmatch(r"(?:fy)?\d{2,4}", word))


def _chart(report: str) -> dict[str, Any] | None:
    """The first row with several years, as a chart."""
    for line in report.splitlines():
        label, _, rest = line.partition(":")
        points = re.findall(r"(FY\d{4}) = \(?(-?[\d,]*\.?\d+)", rest)
        if len(points) >= _MIN_SERIES:
            unit = re.search(r"\(([^()]*)\)\s*(?:\[\d+\])+\s*$", rest)
            return {
                "title": label.strip(" -"),
                "unit": unit[1] if unit else "",
                "points": [{"label": year, "value": float(value.replace(",", ""))} for year, value in sorted(points)],
            }
    return None
