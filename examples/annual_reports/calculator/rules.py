"""Arithmetic by rules: the calculator that needs no model.

Rules of this module:

* Words of the question choose the operation; its words and years choose rows and columns. What is not certain is not
  computed: without a row that shares a telling word with the question, or a figure of the year, there is no result.
* A change is the later less the earlier, in percent of the earlier when a percentage is asked for; of figures that
  are percentages themselves it is the difference in points. A difference of two things of one year is the first named
  less the second. A part of a whole is in percent. An average or a total over a span of years takes every year that
  is there.
* Pure: the same question and material give the same result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from examples.annual_reports.calculator.expressions import CalculationError, calculate
from examples.annual_reports.calculator.figures import plain
from examples.annual_reports.calculator.tables import Cell, Row, rows_of, years_in
from examples.annual_reports.calculator.working import Worked, said
from examples.annual_reports.corpus.metrics import metrics_of
from examples.annual_reports.corpus.words import asked, terms

__all__ = ["RuleCalculator", "operation_of"]

Operation = Literal["percent change", "change", "average", "total", "share", "ratio", "none"]

_PERCENT = r"(?:percent(?:age)?|%|％)"
_MOVE = r"(?:change|increase|decrease|growth|decline|grow|rise|fall|drop|grew|rose|fell)"
_WORDS: dict[Operation, str] = {
    "share": (
        rf"(?:as|is|was|what|which|constitut\w+) (?:a|an|the)? ?{_PERCENT} (?:constitution )?(?:of|is|was)(?! {_MOVE})"
        rf"|proportion|share of|{_PERCENT} of (?:the )?(?:total|all|\d{{4}})|as a {_PERCENT} of"
        r"|占.{0,24}(?:比例|比重|百分|多少)|占比|比重"
    ),
    "percent change": (
        rf"{_PERCENT}.{{0,24}}{_MOVE}|{_MOVE} (?:in|of) {_PERCENT}|{_MOVE}.{{0,40}}(?:in|by what) percent|growth rate"
        r"|year[- ]on[- ]year|yoy|增长率|增幅|降幅|增速|同比|增长了?百分|变动率"
        r"|(?:增长|下降|减少|增加)(?:幅度|百分比|比例)"
    ),
    "average": r"(?<!weighted[- ])average|mean\b|(?<!加权)平均",
    "ratio": r"\bratio\b|how many times|times (?:as|the)|倍|比率",
    "change": (
        rf"\b{_MOVE}d?s?\b|difference|how much (?:more|less|higher|lower)"
        r"|变动|变化|差额|相差|增加|减少|增长|下降|差异"
    ),
    "total": r"\btotal\b|\bsum\b|combined|altogether|together|合计|总共|共计|总和|之和|累计",
}
_OPERATIONS = {operation: re.compile(words, re.IGNORECASE) for operation, words in _WORDS.items()}
_AS_SHARE = re.compile(rf"as (?:a|an|the)? ?(?:{_PERCENT}|proportion|ratio|share) of|\bto\b.{{0,40}}ratio|占")
_RATE = re.compile(
    rf"margin|\brates?\b|ratio|{_PERCENT} of|as a {_PERCENT}|absolute|points?\b|率|比例|占", re.IGNORECASE
)
_TOTAL = re.compile(r"\btotal\b|合计|总", re.IGNORECASE)
_SPAN = re.compile(
    r"((?:19|20)\d{2})\s*(?:to|through|[-–—~至到])\s*(?:fy|fiscal|年)?\s*((?:19|20)\d{2})", re.IGNORECASE
)
_OPERATION_WORDS = frozenset(
    terms(
        "percentage percent change increase decrease increased decreased growth decline difference average mean sum "
        "ratio proportion share respective between from to over value amount number year years fiscal end ended period "
        "company s compared relative dollar million thousand billion as than more less"
    )
)
_DETAIL = 0.35
_ENOUGH = 0.3
_PAIR = 2


@dataclass(frozen=True, slots=True)
class _Scored:
    row: Row
    score: float
    at: int


def operation_of(question: str) -> Operation:
    """What a question wants done with figures."""
    return next((name for name, words in _OPERATIONS.items() if words.search(question)), "none")


class RuleCalculator:
    """Computes what a question asks for from tables and sentences, by rules."""

    def work(self, question: str, material: Sequence[str]) -> Worked:
        """See `Calculator.work`."""
        operation = operation_of(question)
        if operation == "none":
            return Worked(problem="the question asks for no arithmetic")
        rows = [row for text in material for row in rows_of(text)]
        scored = _scored(question, rows)
        if not scored:
            return Worked(problem="no row or sentence speaks of what is asked")
        return _DOES[operation](question, scored)


# --- which rows


def _scored(question: str, rows: Sequence[Row]) -> list[_Scored]:
    """The rows that speak of what is asked, the best first."""
    words = [word for word in asked(question) if not word.isdigit()]
    wanted = {word for word in words if word not in _OPERATION_WORDS} or set(words)
    metrics = metrics_of(question)
    rate = _RATE.search(question) is not None
    found = []
    for row in rows:
        label = {word for word in terms(row.label) if not word.isdigit()}
        section = {word for word in terms(row.section) if not word.isdigit()}
        telling = label - _OPERATION_WORDS or label
        heads = {word for cell in row.cells for word in terms(cell.head) if not word.isdigit()} - telling
        shared = wanted & label
        if not (shared or metrics & metrics_of(row.label)) or not row.cells:
            continue
        cover = (len(shared) + (0 if row.text else len(wanted & heads) / 2)) / max(len(wanted), 1)
        precise = len(shared & telling) / max(len(telling), 1)
        score = cover + (_DETAIL * precise if row.text else precise)
        score += 0.3 * len((wanted - shared) & section) / max(len(wanted), 1)
        score += 0.3 * bool(metrics & metrics_of(row.label)) - 0.5 * row.text
        score += 0.1 * len(label & set(words) & _OPERATION_WORDS) / max(len(label), 1)
        score -= 0.3 * (not rate and all(cell.figure.unit == "percent" for cell in row.cells))
        if score >= _ENOUGH:
            found.append(_Scored(row, score, _place(question, row.label)))
    return sorted(found, key=lambda each: -each.score)


def _place(question: str, label: str) -> int:
    """Where in the question a row is named."""
    said_at = {word: at for at, word in reversed(list(enumerate(terms(question))))}
    places = [said_at[word] for word in terms(label) if word in said_at and word not in _OPERATION_WORDS]
    return min(places, default=1 << 20)


def _named(question: str, scored: Sequence[_Scored]) -> list[Row]:
    """The rows that the question names apart, in its order: each has telling words that no other one has."""
    wanted = set(asked(question)) - _OPERATION_WORDS
    left = set(wanted)
    kept: list[_Scored] = []
    for each in scored:
        if each.row.text:
            continue
        words = set(terms(each.row.label)) - _OPERATION_WORDS
        if words and len(words & left) >= max(1, len(words) * 0.6):
            kept.append(each)
            left -= words
    return [each.row for each in sorted(kept, key=lambda each: each.at)]


# --- which columns


def _years(question: str) -> list[int]:
    """The years asked for, the earliest first; those between the ends of a span included."""
    years = set(years_in(question))
    if span := _SPAN.search(question):
        years |= set(range(min(map(int, span.groups())), max(map(int, span.groups())) + 1))
    return sorted(years)


def _cell(row: Row, year: int | None, question: str) -> Cell | None:
    """The figure of a year: among several the one whose head shares most with the question, then the first."""
    cells = [cell for cell in row.cells if year is None or year in cell.years]
    if year is not None and not cells and not any(cell.years for cell in row.cells) and len(row.cells) == 1:
        cells = list(row.cells)
    wanted = set(asked(question))
    rate = _RATE.search(question) is not None
    return max(
        cells,
        key=lambda cell: (rate or cell.figure.unit != "percent", len(wanted & set(terms(cell.head)))),
        default=None,
    )


def _two(question: str, row: Row) -> tuple[Cell, Cell] | None:
    """The later and the earlier figure."""
    years = _years(question)
    if len(years) >= _PAIR:
        later, earlier = _cell(row, years[-1], question), _cell(row, years[0], question)
    else:
        known = sorted({year for cell in row.cells for year in cell.years})
        if years and years[0] in known:
            known = [year for year in known if year <= years[0]] if years[0] != known[0] else known
        if len(known) < _PAIR:
            return None
        later, earlier = _cell(row, known[-1], question), _cell(row, known[-2], question)
    return (later, earlier) if later is not None and earlier is not None and later is not earlier else None


# --- the operations


def _change(question: str, scored: Sequence[_Scored], *, percent: bool = False) -> Worked:
    for each in scored:
        if (pair := _two(question, each.row)) is not None and len(_years(question)) != 1:
            later, earlier = pair
            break
    else:
        return _apart(question, scored, percent=percent)
    points = later.figure.unit == "percent"
    difference = f"{_signed(later)} - {_signed(earlier)}"
    if percent and not points:
        return _done(f"({difference}) / {_signed(earlier)} * 100", "percent", [(each.row, later), (each.row, earlier)])
    return _done(difference, "percent" if points else _unit(each.row, later), [(each.row, later), (each.row, earlier)])


def _apart(question: str, scored: Sequence[_Scored], *, percent: bool) -> Worked:
    """The difference of two things, or of one thing's last two years."""
    rows = _named(question, scored)
    year = next(iter(_years(question)), None)
    if len(rows) >= _PAIR:
        one, two = _cell(rows[0], year, question), _cell(rows[1], year, question)
        if one is not None and two is not None:
            expression = f"{_signed(one)} - {_signed(two)}"
            taken = [(rows[0], one), (rows[1], two)]
            if percent:
                return _done(f"({expression}) / {_signed(two)} * 100", "percent", taken)
            return _done(expression, _unit(rows[0], one), taken)
    for each in scored:
        if (pair := _two(question, each.row)) is not None:
            later, earlier = pair
            expression = f"{_signed(later)} - {_signed(earlier)}"
            taken = [(each.row, later), (each.row, earlier)]
            if percent and later.figure.unit != "percent":
                return _done(f"({expression}) / {_signed(earlier)} * 100", "percent", taken)
            return _done(expression, _unit(each.row, later), taken)
    return Worked(problem="two figures to compare were not found")


def _several(question: str, scored: Sequence[_Scored]) -> list[tuple[Row, Cell]]:
    """The figures that an average or a total is over: one row's years, or several rows of one year."""
    years = _years(question)
    rows = _named(question, scored)
    if len(years) < _PAIR and len(rows) >= _PAIR:
        cells = [(row, _cell(row, years[0] if years else None, question)) for row in rows]
        return [(row, cell) for row, cell in cells if cell is not None]
    for each in scored:
        wanted: Iterable[int] = (
            years if len(years) >= _PAIR else {year for cell in each.row.cells for year in cell.years}
        )
        if len(years) == 1 and not each.row.text:
            continue
        dated = [(each.row, cell) for year in sorted(wanted) if (cell := _cell(each.row, year, question)) is not None]
        taken = list(dict.fromkeys(id(cell) for _, cell in dated))
        if len(taken) >= max(_PAIR, len(years) if len(years) <= len(each.row.cells) else _PAIR):
            return [next(pair for pair in dated if id(pair[1]) == key) for key in taken]
    return []


def _average(question: str, scored: Sequence[_Scored]) -> Worked:
    taken = _several(question, scored)
    if len(taken) < _PAIR:
        return Worked(problem="fewer than two figures to take the average of")
    joined = " + ".join(_signed(cell) for _, cell in taken)
    return _done(f"({joined}) / {len(taken)}", _unit(*taken[0]), taken)


def _total(question: str, scored: Sequence[_Scored]) -> Worked:
    taken = _several(question, scored)
    if len(taken) < _PAIR:
        return Worked(problem="fewer than two figures to add")
    return _done(" + ".join(_signed(cell) for _, cell in taken), _unit(*taken[0]), taken)


def _share(question: str, scored: Sequence[_Scored], *, percent: bool = True) -> Worked:
    rows = _named(question, scored)
    if len(rows) == 1:
        totals = [each.row for each in scored if "total" in each.row.label.lower() or "合计" in each.row.label]
        rows += [row for row in totals if row is not rows[0]][:1]
    year = next(iter(_years(question)), None)
    if len(rows) < _PAIR:
        return Worked(problem="a part and its whole were not found")
    part, whole = _part_and_whole(question, rows[0], rows[1], year)
    one, two = _cell(part, year, question), _cell(whole, year, question)
    if one is None or two is None:
        return Worked(problem="the part or its whole has no figure of that year")
    expression = f"{_signed(one)} / {_signed(two)}"
    return _done(
        f"{expression} * 100" if percent else expression, "percent" if percent else "", [(part, one), (whole, two)]
    )


def _part_and_whole(question: str, one: Row, two: Row, year: int | None) -> tuple[Row, Row]:
    """As the question says it (`A as a percentage of B`, `A占B`); else a total is the whole, or else the larger."""
    if _AS_SHARE.search(question):
        return one, two
    totals = [bool(_TOTAL.search(row.label)) for row in (one, two)]
    if totals[0] != totals[1]:
        return (two, one) if totals[0] else (one, two)
    sizes = [abs(cell.figure.value) if (cell := _cell(row, year, question)) else 0 for row in (one, two)]
    return (two, one) if sizes[0] > sizes[1] else (one, two)


_DOES: dict[Operation, Callable[[str, Sequence[_Scored]], Worked]] = {
    "percent change": lambda question, scored: _change(question, scored, percent=True),
    "change": _change,
    "average": _average,
    "total": _total,
    "share": _share,
    "ratio": lambda question, scored: _share(question, scored, percent=False),
}


# --- the result


def _signed(cell: Cell) -> str:
    number = plain(cell.figure.value)
    return f"({number})" if number.startswith("-") else number


def _unit(row: Row, cell: Cell) -> str:
    return cell.figure.unit or cell.figure.scale or row.scale


def _done(expression: str, unit: str, taken: Sequence[tuple[Row, Cell]]) -> Worked:
    scales = {cell.figure.scale for _, cell in taken if cell.figure.unit != "percent"}
    if len(scales) > 1:
        return Worked(
            problem=f"the figures have different scales: {', '.join(sorted(scale or 'none' for scale in scales))}"
        )
    steps = [f"{row.label[:80]}, {cell.head[-40:].strip() or 'no head'}: {cell.figure.text}" for row, cell in taken]
    try:
        value = calculate(expression)
    except CalculationError as error:
        return Worked(steps=tuple(steps), problem=str(error))
    return Worked(expression=expression, result=value, unit=unit, steps=(*steps, f"{expression} = {said(value)}"))
