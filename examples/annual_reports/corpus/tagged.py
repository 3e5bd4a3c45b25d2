"""Page-tagged text: what other programs made of a report.

Rules of this module:

* Two forms are read. JSON lines, `{"page": 3, "type": "text", "inside": "…"}`, where `type` is `text`, `excel` (a
  table's row, its cells as a list), or a running head or foot, which is left out. Plain text, where a form feed or a
  line of its own such as `[page 3]`, `--- Page 3 ---` or `第3页` begins a page; rows of at least two cells parted by
  tabs or ` | ` are a table.
* Rows that follow one another on a page are one table; short lines right above are its title, unit line and heads.
* Pages are numbered up to a million; a mark with a greater number is text.
* Only the text is taken from a file; nothing in it is run. UTF-8, with or without a mark; GB 18030 where it is no
  UTF-8.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from examples.annual_reports.corpus.layout import is_figure, is_unit_line
from examples.annual_reports.corpus.paragraphs import paragraphs, weight
from examples.annual_reports.corpus.passages import CELL, Block, Page, Unreadable, plain

__all__ = ["read_tagged"]

_PAGE = re.compile(
    r"\s*(?:\[page\s*[:=]?\s*(\d+)\]|[-=#* ]*page\s+(\d+)[-=#* ]*|[-=#* ]*第\s*(\d+)\s*页[-=#* ]*)\s*", re.IGNORECASE
)
_SKIPPED = frozenset({"页眉", "页脚", "header", "footer"})
_ROWS = frozenset({"excel", "table", "row"})
_GLYPH = re.compile(r"\(cid:\d+\)")
_BLANKS = re.compile(r"(?<=[\u2e80-\uffef])[ \t]+(?=[\u2e80-\uffef])")
_TITLE = 60
_TITLES = 3
_CELLS_BYTES = 1 << 20
_LAST_PAGE = 1_000_000

_Line = tuple[bool, str]


def read_tagged(path: Path) -> list[Page]:
    """The pages of a file.

    Raises:
        Unreadable: neither of the two forms, or without text.
    """
    text = _decoded(path.read_bytes())
    first = text.lstrip()[:1]
    pages = list(_from_json(text) if first == "{" else _from_plain(text))
    if not any(page.blocks for page in pages):
        raise Unreadable("no text in it")
    return pages


def _decoded(body: bytes) -> str:
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" not in text:
            return text
    raise Unreadable("neither UTF-8 nor GB 18030 text")


def _from_json(text: str) -> Iterator[Page]:
    tagged: list[tuple[int, bool, str]] = []
    for number, line in enumerate(text.split("\n"), 1):  # other line breaks may stand in a JSON text
        if not line.strip():
            continue
        try:
            said = json.loads(line)
            page, kind, inside = said["page"], said["type"], said["inside"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise Unreadable(f"line {number} is no JSON object with page, type and inside") from error
        if not isinstance(inside, str) or not isinstance(kind, str | None):
            raise Unreadable(f"line {number}: type and inside are texts")
        if type(page) is not int or not 0 <= page <= _LAST_PAGE:
            raise Unreadable(f"line {number}: page is a number, at most {_LAST_PAGE:,}")
        if kind not in _SKIPPED:
            row = kind in _ROWS
            tagged.append((page, row, _row(inside) if row else _clean(inside)))
    tagged.sort(key=lambda line: line[0])
    for page, lines in itertools.groupby(tagged, key=lambda line: line[0]):
        yield Page(number=page, blocks=_blocks((row, words) for _, row, words in lines))


def _from_plain(text: str) -> Iterator[Page]:
    number, lines = 1, list[_Line]()
    for part_number, part in enumerate(text.split("\f")):
        if part_number:
            yield Page(number=number, blocks=_blocks(lines))
            number, lines = number + 1, []
        for line in part.splitlines():
            if (tag := _page_of(line)) is not None:
                if lines:
                    yield Page(number=number, blocks=_blocks(lines))
                number, lines = tag, []
            else:
                cells = [_clean(cell) for cell in re.split(r"\t| \| ", line)]
                lines.append((len(cells) > 1, CELL.join(cells).rstrip() if len(cells) > 1 else _clean(line)))
    if lines:
        yield Page(number=number, blocks=_blocks(lines))


def _page_of(line: str) -> int | None:
    """The page that a line begins; None where it is a line of text."""
    tag = _PAGE.fullmatch(line) if len(line) < _TITLE else None
    number = int(next(filter(None, tag.groups()))) if tag else None
    return number if number is not None and number <= _LAST_PAGE else None


def _row(inside: str) -> str:
    """A row's cells, written as a list of texts; the whole as it stands where it is no such list."""
    if len(inside) < _CELLS_BYTES and inside.lstrip().startswith("["):
        try:
            cells = ast.literal_eval(inside)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return _clean(inside)
        if isinstance(cells, list):
            return CELL.join(_clean("" if cell is None else str(cell)) for cell in cells).rstrip()
    return _clean(inside)


def _clean(text: str) -> str:
    return _BLANKS.sub("", _GLYPH.sub("•", plain(text).replace("\u3000", " "))).strip()


def _blocks(lines: Iterable[_Line]) -> tuple[Block, ...]:
    found: list[Block] = []
    waiting: list[str] = []
    for row, group in itertools.groupby(lines, key=lambda line: line[0]):
        texts = [text for _, text in group if text.strip(" |")]
        if not row:
            waiting += texts
        elif texts:
            above = _above(waiting)
            rest = waiting[: len(waiting) - above]
            if rest:
                found.append(Block(kind="text", lines=tuple(paragraphs(rest))))
            head = above + _heads(texts)
            found.append(Block(kind="table", lines=(*waiting[len(rest) :], *texts), head=head))
            waiting = []
    if waiting:
        found.append(Block(kind="text", lines=tuple(paragraphs(waiting))))
    return tuple(found)


def _above(lines: list[str]) -> int:
    """How many of the last lines are a table's title and unit line."""
    count = 0
    for line in reversed(lines):
        if count == _TITLES or weight(line) > _TITLE or (line.endswith(("。", ".", "；")) and not is_unit_line(line)):
            break
        count += 1
    return count


def _heads(rows: list[str]) -> int:
    """How many of the first rows hold no figure: a table's column heads."""
    for number, row in enumerate(rows):
        if any(is_figure(cell) for cell in row.split(CELL)[1:] if cell.strip()):
            return number
    return min(1, len(rows) - 1)
