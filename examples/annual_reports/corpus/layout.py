"""From words with places to the lines, tables and paragraphs of a page.

Rules of this module:

* Words whose heights overlap stand on one line; a gap wider than a letter is high parts cells, and so does any gap
  between two figures. Pages set in two columns of prose are read column by column.
* A table is a run of lines with several cells, at least two of them with a figure, or at least three that begin in the
  same places. Short lines between (a section's name, a wrapped label) belong to it, and so do the short lines right
  above: its title, its unit line, its column heads. A table is never cut here.
* Figures keep their column: a cell that is missing in a row is an empty cell in its text.
* Pure: no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from examples.annual_reports.corpus.paragraphs import paragraphs
from examples.annual_reports.corpus.passages import CELL, Block
from examples.annual_reports.corpus.pdf import Word

__all__ = ["blocks_of", "is_figure", "is_unit_line"]

_FIGURE = re.compile(
    r"[\[(]?[-−–+]?\s*(?:US|HK|A|C|RMB)?\s*[$€£¥￥]?\s*[\[(]?[-−–+]?\d[\d,]*(?:\.\d+)?\s*[)\]]?\s*"
    r"(?:%|％|x|bps|pts?|¢|元|万元|亿元)?[)\]]?\**|[-—–−]{1,3}%?|n/?[am]|nm",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:FY\s?)?(?:19|20)\d{2}(?:[AE]|年度?)?", re.IGNORECASE)
_UNITS = re.compile(
    r"\bin (?:\w+ )?(?:thousands|millions|billions)\b|\((?:US|HK|A)?[$€£¥]? ?(?:thousands?|millions?|billions?)\b"
    r"|\b(?:amounts|dollars|figures) in\b|[$€£¥] ?(?:000|m|bn|millions?|thousands?)\b"
    r"|单位\s*[:：]|金额单位|(?:人民币)?[千万亿]元[)）]",
    re.IGNORECASE,
)
_SIGNS_BEFORE = frozenset({"$", "€", "£", "¥", "￥", "(", "US$", "HK$", "A$", "C$", "RMB"})
_SIGNS_AFTER = frozenset({")", "%", "％", ")%", "pts", "bps", "x", "¢"})
_SENTENCE_END = (".", "。", ";", "；", ":", "：", "!", "?", "！", "？")
_TITLE_CHARS = 110
_TITLE_LINES = 5
_LABEL_LINES = 3
_SHORT = 0.62
_COLUMN_LINES = 12
_MIN_ROWS = 2
_MIN_TEXT_ROWS = 3
_MAX_FIGURE = 24
_LONG_CELL = 60
_INDENT = 40.0
_DRIFT = 12.0
_PROSE_CHARS = 25
_BULLETS = frozenset("•●▪■◆◦·‣○")


@dataclass(slots=True)
class _Cell:
    text: str
    left: float
    right: float


@dataclass(slots=True)
class _Line:
    cells: list[_Cell]
    bottom: float
    top: float

    @property
    def text(self) -> str:
        return " ".join(cell.text for cell in self.cells)

    @property
    def figures(self) -> int:
        return sum(is_figure(cell.text) for cell in self.cells)

    @property
    def row(self) -> bool:
        return len(self.cells) > 1 and (len(self.cells) > 2 or len(self.cells[1].text) < _LONG_CELL)  # noqa: PLR2004 - a label and what it says

    @property
    def strong(self) -> bool:
        return self.row and self.figures > 0


def is_figure(text: str) -> bool:
    """Whether a cell holds a number, a dash for none, or a percentage, and nothing else."""
    return len(text) <= _MAX_FIGURE and _FIGURE.fullmatch(text.strip()) is not None


def is_unit_line(text: str) -> bool:
    """Whether a line says in which units a table's figures are."""
    return _UNITS.search(text) is not None


def blocks_of(words: Sequence[Word]) -> tuple[Block, ...]:
    """The tables and texts of a page, in reading order."""
    found: list[Block] = []
    for part in _parts(list(words)):
        lines = _lines(part)
        width = max((line.cells[-1].right for line in lines), default=0) - min(
            (line.cells[0].left for line in lines), default=0
        )
        at = 0
        for first, last in _tables(lines, width):
            start = _top(lines, first, at)
            found += _text(lines[at:start])
            found.append(_table(lines[start:last], first - start))
            at = last
        found += _text(lines[at:])
    return tuple(found)


# --- lines and cells


def _lines(words: list[Word]) -> list[_Line]:
    rows: list[list[Word]] = []
    band = (0.0, 0.0)
    for word in sorted(words, key=lambda word: (-(word.bottom + word.top), word.left)):
        middle = (word.bottom + word.top) / 2
        if rows and band[0] <= middle <= band[1]:
            rows[-1].append(word)
            if word.top - word.bottom > band[1] - band[0]:
                band = (min(band[0], middle), max(band[1], middle)) if len(rows[-1]) > _MAX_FIGURE else _band(word)
        else:
            rows.append([word])
            band = _band(word)
    return [_line(sorted(row, key=lambda word: word.left)) for row in rows]


def _band(word: Word) -> tuple[float, float]:
    """Where the middles of the words of one line lie."""
    height = max(word.top - word.bottom, 2.0)
    middle = (word.bottom + word.top) / 2
    return middle - 0.4 * height, middle + 0.4 * height


def _line(words: list[Word]) -> _Line:
    heights = sorted(word.top - word.bottom for word in words)
    height = max(heights[len(heights) // 2], 3.0)
    cells: list[_Cell] = []
    for word in words:
        if cells:
            last = cells[-1]
            gap = word.left - last.right
            if not _parted(last.text, word.text, gap, height):
                last.text += (" " if gap > 0.12 * height and not _glued(last.text, word.text) else "") + word.text
                last.right = max(last.right, word.right)
                continue
        cells.append(_Cell(word.text, word.left, word.right))
    return _Line(cells, min(word.bottom for word in words), max(word.top for word in words))


def _glued(before: str, after: str) -> bool:
    return (
        before[-1] in "(（"
        or after[0] in ")）,，。；"
        or (after[0] in "%％" and before[-1].isdigit())
        or (before[-1] > "\u2e80" and after[0] > "\u2e80")
    )


def _parted(before: str, after: str, gap: float, height: float) -> bool:
    if before in _SIGNS_BEFORE or before in _BULLETS or (after in _SIGNS_AFTER and is_figure(before)):
        return False
    if after in _SIGNS_BEFORE and after != "(" and is_figure(before):
        return True
    if is_figure(before) and is_figure(after) and gap > 0.5 * height:
        return True
    return gap > height


# --- two columns of prose


def _parts(words: list[Word]) -> list[list[Word]]:
    """The words of the page, or of each of its two columns with what stands over and under them."""
    if len(words) < _COLUMN_LINES * 6:
        return [words]
    gutter = _gutter(words)
    if gutter is None:
        return [words]
    crossing = [line for line in _lines(words) if _crosses(line, gutter)]
    inside = [line for line in _lines(words) if not _crosses(line, gutter)]
    high = max(line.top for line in inside)
    low = min(line.bottom for line in inside)
    if any(low < line.bottom and line.top < high for line in crossing):
        return [words]
    return [
        [word for word in words if word.bottom >= high],
        [word for word in words if word.bottom < high and word.top > low and word.right <= gutter],
        [word for word in words if word.bottom < high and word.top > low and word.right > gutter],
        [word for word in words if word.bottom < high and word.top <= low],
    ]


def _gutter(words: list[Word]) -> float | None:
    left, right = min(word.left for word in words), max(word.right for word in words)
    lines = _lines(words)
    for share in (0.5, 0.48, 0.52, 0.45, 0.55):
        x = left + share * (right - left)
        both = [
            (before, after)
            for line in lines
            if not _crosses(line, x)
            and (before := " ".join(cell.text for cell in line.cells if cell.right <= x))
            and (after := " ".join(cell.text for cell in line.cells if cell.left > x))
        ]
        if len(both) >= max(_COLUMN_LINES, 0.6 * len(lines)) and all(map(_prose, zip(*both, strict=True))):
            return x
    return None


def _prose(side: Sequence[str]) -> bool:
    """Whether most lines of a column are words, many of them."""
    return sum(len(text) > _PROSE_CHARS and not is_figure(text.split()[-1]) for text in side) > 0.6 * len(side)


def _crosses(line: _Line, x: float) -> bool:
    return any(cell.left < x < cell.right for cell in line.cells)


# --- tables


def _tables(lines: list[_Line], width: float) -> list[tuple[int, int]]:
    """First and last line (exclusive) of each table, without what stands over it."""
    found = []
    at = 0
    while at < len(lines):
        if not lines[at].row:
            at += 1
            continue
        end = at + 1
        ahead = end
        while ahead < len(lines) and ahead - end <= _LABEL_LINES:
            if not _near(lines[ahead - 1], lines[ahead]):
                break
            if lines[ahead].row:
                end = ahead + 1
            elif not _short(lines[ahead], lines[at:end], width):
                break
            ahead += 1
        if _is_table(lines[at:end]):
            found.append((at, end))
        at = end
    return found


def _near(above: _Line, below: _Line) -> bool:
    return above.bottom - below.top < 3.5 * max(above.top - above.bottom, below.top - below.bottom)


def _short(line: _Line, table: list[_Line], width: float) -> bool:
    left = min(row.cells[0].left for row in table)
    return line.cells[-1].right - left < _SHORT * width and len(line.text) < _TITLE_CHARS


def _is_table(lines: list[_Line]) -> bool:
    if sum(line.strong for line in lines) >= _MIN_ROWS:
        return True
    rows = [line for line in lines if line.row]
    if len(rows) < _MIN_TEXT_ROWS:
        return False
    places = [round(cell.left / 6) for line in rows for cell in line.cells[1:]]
    return max(map(places.count, set(places))) >= _MIN_TEXT_ROWS


def _top(lines: list[_Line], first: int, floor: int) -> int:
    """Where a table begins with its title, unit line and heads."""
    top = first
    while top > floor and first - top < _TITLE_LINES:
        above = lines[top - 1]
        text = above.text
        title = len(text) < _TITLE_CHARS and (not text.endswith((".", "。")) or is_unit_line(text))
        if not title or not _near(above, lines[top]):
            break
        top -= 1
    return top


def _table(lines: list[_Line], above: int) -> Block:
    columns = _columns([line for line in lines[above:] if line.strong and not _heads(line)])
    head = above
    while head < len(lines) - 1 and (not lines[head].strong or _heads(lines[head])):
        head += 1
    left = min(line.cells[0].left for line in lines)
    texts = [
        line.text if number < above or not line.row else _row(line, columns, left) for number, line in enumerate(lines)
    ]
    return Block(kind="table", lines=tuple(texts), head=head)


def _heads(line: _Line) -> bool:
    """Whether the only figures of a line are years."""
    return all(_YEAR.fullmatch(cell.text) or not is_figure(cell.text) for cell in line.cells)


def _columns(rows: list[_Line]) -> list[tuple[float, float]]:
    """The places of the columns right of the labels: stretches that the figures of all rows cover together."""
    spans = sorted((cell.left, cell.right) for row in rows for cell in row.cells[1:] if is_figure(cell.text))
    places: list[tuple[float, float]] = []
    for left, right in spans:
        if places and left < places[-1][1]:
            places[-1] = (places[-1][0], max(places[-1][1], right))
        else:
            places.append((left, right))
    columns: list[tuple[float, float]] = []
    for place in places:
        if columns and place[0] - columns[-1][1] < _DRIFT and not _both(columns[-1], place, rows):
            columns[-1] = (columns[-1][0], place[1])
        else:
            columns.append(place)
    return columns


def _both(one: tuple[float, float], two: tuple[float, float], rows: list[_Line]) -> bool:
    """Whether a row has figures in both places, so that they are two columns."""
    return any(
        all(any(p[0] <= cell.left and cell.right <= p[1] for cell in row.cells[1:]) for p in (one, two)) for row in rows
    )


def _row(line: _Line, columns: list[tuple[float, float]], left: float) -> str:
    if not columns or len(line.cells) > len(columns) + 1:
        return CELL.join(cell.text for cell in line.cells)
    if len(line.cells) == len(columns) and line.cells[0].left > left + _INDENT and not is_figure(line.cells[0].text):
        return CELL.join(["", *(cell.text for cell in line.cells)])
    texts = [""] * (len(columns) + 1)
    for cell in line.cells:
        place = _place(cell, columns)
        texts[place] = f"{texts[place]} {cell.text}".strip()
    return CELL.join(texts).rstrip()


def _place(cell: _Cell, columns: list[tuple[float, float]]) -> int:
    """0 for a label, else the number of the nearest column."""
    if cell.right < columns[0][0] and not is_figure(cell.text):
        return 0
    middle = (cell.left + cell.right) / 2
    if cell.left < columns[0][0] and cell.right - cell.left > 2 * (columns[0][1] - columns[0][0]) and len(columns) == 1:
        return 0
    gaps = [max(left - middle, middle - right, 0.0) for left, right in columns]
    return gaps.index(min(gaps)) + 1


def _text(lines: list[_Line]) -> list[Block]:
    found = paragraphs([line.text for line in lines])
    return [Block(kind="text", lines=tuple(found))] if found else []
