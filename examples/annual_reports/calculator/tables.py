"""Tables and sentences as rows of figures with the year each belongs to.

Rules of this module:

* A table's text has one row a line and ` | ` between cells. The rows before the first one with a figure are its heads;
  a head's cell also names the empty cells right of it, as a span of columns does.
* A row without a name is the total of its section.
* A table whose rows are years is read with rows and columns exchanged.
* A sentence is a row too: its figures, each with the nearest year after it, or before it, or, said with `respectively`
  (`分别`), the year in the same place.
* Pure: no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from examples.annual_reports.calculator.figures import Figure, cell_of, figures_of, scale_of
from examples.annual_reports.corpus.metrics import years_of

__all__ = ["Cell", "Row", "rows_of"]

_CELL = "|"
_YEAR_CELL = re.compile(
    r"(?:FY|F|fiscal)?\s*'?(?:19|20)\d{2}\s*(?:年度?|[AE*])?(?:\s*\(\w\))?|(?:FY|F|fiscal)\s*'?\d{2}(?:\s*\(\w\))?",
    re.IGNORECASE,
)
_SHORT_YEAR = re.compile(r"\bF(?:Y|iscal)?\s?'?(\d{2})\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z•(])|(?<=[。；！？])|\n")
_RESPECTIVELY = re.compile(r"respectively|分别", re.IGNORECASE)
_NEAR = 60
_YEAR_AT = re.compile(r"(?<!\d)(?:19|20)\d{2}(?![\d,.]\d)")
_MIN_TABLE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A figure in its place.

    Attributes:
        figure: what is written.
        head: the words over its column, or around it in a sentence.
        years: the years that its head names.
    """

    figure: Figure
    head: str
    years: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is counted, and its figures.

    Attributes:
        label: the row's name, or the sentence.
        section: the heading the row stands under.
        scale: what the table's unit line says.
        cells: in the order of the columns.
        text: True for a sentence.
    """

    label: str
    section: str = ""
    scale: str = ""
    cells: tuple[Cell, ...]
    text: bool = False


def rows_of(material: str) -> list[Row]:
    """Every row with a figure of a text that may hold tables and sentences, in order."""
    found: list[Row] = []
    table: list[list[str]] = []
    above: list[str] = []
    for line in [*material.splitlines(), ""]:
        if _CELL in line:
            table.append([cell.strip() for cell in line.split(_CELL)])
            continue
        if (
            table
            and line.strip()
            and len(line) < _NEAR
            and not line.endswith((".", "。"))
            and not any(figures_of(line))
        ):
            table.append([line.strip()])  # the name of a section, or a label that goes on
            continue
        if table:
            found += _table(table, above[-4:])
            table, above = [], []
        if line.strip():
            above.append(line.strip())
            found += _sentences(line)
    return found


def years_in(text: str) -> tuple[int, ...]:
    """The years of a head, `F19` included."""
    return tuple(dict.fromkeys((*years_of(text), *(2000 + int(short) for short in _SHORT_YEAR.findall(text)))))


# --- tables


def _table(lines: list[list[str]], above: Sequence[str]) -> list[Row]:
    first = next((at for at, cells in enumerate(lines) if _is_body(cells)), len(lines))
    width = max(map(len, lines))
    heads = _heads([cells for cells in lines[:first] if len(cells) > 1], width)
    scale = scale_of(" ".join((*above, *(" ".join(cells) for cells in lines[: first + 1]))))
    rows: list[Row] = []
    section = ""
    for cells in lines[first:]:
        label, rest = cells[0], cells[1:]
        figures = [cell_of(cell) for cell in rest]
        if not any(figures):
            if len([cell for cell in rest if cell]) > 1 and any(map(years_in, rest)):
                heads = _heads([cells], width)  # another head within the table
            elif label:
                section = label
            continue
        made = tuple(
            Cell(figure=figure, head=head, years=years_in(head))
            for figure, head in zip(figures, heads[1:], strict=False)
            if figure is not None
        )
        rows.append(
            Row(label=label or f"Total {section}".strip(), section=section, scale=scale_of(label) or scale, cells=made)
        )
    return _exchanged(rows)


def _is_body(cells: list[str]) -> bool:
    return any(cell_of(cell) is not None and not _YEAR_CELL.fullmatch(cell) for cell in cells[1:] if cell)


def _heads(lines: list[list[str]], width: int) -> list[str]:
    heads = [""] * width
    for line in lines:
        last = ""
        filled = [*line, *[""] * (width - len(line))]
        spans = line is not lines[-1]
        for at, cell in enumerate(filled):
            last = cell or (last if spans and at > 1 else "")
            heads[at] = f"{heads[at]} {last}".strip()
    return heads


def _exchanged(rows: list[Row]) -> list[Row]:
    """A table by metrics, where it was by years."""
    dated = [row for row in rows if years_in(row.label) and len(row.label) < _NEAR]
    if len(dated) < _MIN_TABLE or any(cell.years for row in rows for cell in row.cells):
        return rows
    heads = list(dict.fromkeys(cell.head for row in dated for cell in row.cells))
    return [
        Row(
            label=head,
            section=dated[0].section,
            scale=dated[0].scale,
            cells=tuple(
                replace(cell, head=row.label, years=years_in(row.label))
                for row in dated
                for cell in row.cells
                if cell.head == head
            ),
        )
        for head in heads
    ] + rows


# --- sentences


def _sentences(line: str) -> Iterator[Row]:
    for sentence in _SENTENCE.split(line):
        figures = list(figures_of(sentence))
        if not figures:
            continue
        years = [(found.start(), int(found[0])) for found in _YEAR_AT.finditer(sentence)]
        dated: list[tuple[Figure, int | None]]
        if _RESPECTIVELY.search(sentence) and len(years) == len(figures):
            dated = [(figure, year) for figure, (_, year) in zip(figures, years, strict=True)]
        else:
            dated = [(figure, _year_of(figure, figures, years)) for figure in figures]
        cells = tuple(
            Cell(figure=figure, head=sentence[max(figure.at - _NEAR, 0) : figure.at], years=(year,) if year else ())
            for figure, year in dated
        )
        yield Row(label=sentence, cells=cells, text=True)


def _year_of(figure: Figure, figures: Sequence[Figure], years: Sequence[tuple[int, int]]) -> int | None:
    """The year a figure belongs to: the nearest one after it that comes before the next figure, else before it."""
    following = next((other.at for other in figures if other.at > figure.at), 1 << 30)
    after = [year for at, year in years if figure.at < at < min(following, figure.at + len(figure.text) + _NEAR)]
    before = [year for at, year in years if at < figure.at]
    return after[0] if after else before[-1] if before else None
