"""From pages to passages.

Rules of this module:

* A table stays whole, with its title, unit line and column heads, up to 6,000 letters. A longer one is cut between
  rows, and each part begins with the same title, unit line and heads.
* A table that begins a page without heads of its own, after a page that ended with a table of as many columns, goes
  on with the heads of that one.
* Text is cut between paragraphs, near 1,100 letters; a longer paragraph between sentences. A short last piece joins
  the one before. A Chinese character counts as two letters.
* No passage holds words of two pages.
* Pure: no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from examples.annual_reports.corpus.paragraphs import weight
from examples.annual_reports.corpus.passages import CELL, Block, Kind, Page

__all__ = ["TABLE_WEIGHT", "TEXT_WEIGHT", "pieces"]

TEXT_WEIGHT = 1100
TABLE_WEIGHT = 6000
_SHORT = 240
_MAX_HEAD = 1500
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")


def pieces(pages: Iterable[Page]) -> Iterator[tuple[int, Kind, str]]:
    """Page, kind and text of each passage, in reading order."""
    last: Block | None = None
    for page in pages:
        for number, block in enumerate(page.blocks):
            if block.kind == "table":
                goes_on = last is not None and number == 0 and block.head == 0 and _columns(last) == _columns(block)
                if goes_on and last is not None:
                    head = last.lines[: last.head]
                    block = Block(kind="table", lines=(*head, *block.lines), head=len(head))  # noqa: PLW2901 - the same table, told whole
                for text in _table(block):
                    yield page.number, "table", text
            else:
                for text in _text(block.lines):
                    yield page.number, "text", text
        if page.blocks:
            last = page.blocks[-1] if page.blocks[-1].kind == "table" else None


def _columns(table: Block) -> int:
    """How many cells the rows under a table's heads have."""
    return max((line.count(CELL) for line in table.lines[table.head :]), default=0)


def _table(table: Block) -> Iterator[str]:
    head = table.lines[: table.head]
    if sum(map(weight, table.lines)) <= TABLE_WEIGHT or sum(map(weight, head)) > _MAX_HEAD:
        yield from (
            _filled(table.lines, TABLE_WEIGHT, ()) if sum(map(weight, head)) > _MAX_HEAD else ["\n".join(table.lines)]
        )
        return
    yield from _filled(table.lines[table.head :], TABLE_WEIGHT, head)


def _text(paragraphs: Iterable[str]) -> list[str]:
    parts = list(_filled(list(_sentences(paragraphs)), TEXT_WEIGHT, ()))
    if len(parts) > 1 and weight(parts[-1]) < _SHORT:
        parts[-2:] = ["\n".join(parts[-2:])]
    return parts


def _sentences(paragraphs: Iterable[str]) -> Iterator[str]:
    """Paragraphs, the long ones in pieces that fit."""
    for paragraph in paragraphs:
        if weight(paragraph) <= TEXT_WEIGHT:
            yield paragraph
            continue
        piece = ""
        for sentence in _SENTENCE.split(paragraph):
            for part in _parts(sentence):
                if piece and weight(piece) + weight(part) > TEXT_WEIGHT:
                    yield piece
                    piece = part
                else:
                    piece = f"{piece} {part}" if piece and piece.isascii() else piece + part
        if piece:
            yield piece


def _parts(sentence: str) -> Iterator[str]:
    for at in range(0, len(sentence), TEXT_WEIGHT):
        yield sentence[at : at + TEXT_WEIGHT]


def _filled(lines: Iterable[str], most: int, head: tuple[str, ...]) -> Iterator[str]:
    """Lines gathered up to a weight, each gathering under the same head."""
    gathered: list[str] = []
    used = start = sum(map(weight, head))
    for line in lines:
        if gathered and used + weight(line) + 1 > most:
            yield "\n".join((*head, *gathered))
            gathered, used = [], start
        gathered.append(line)
        used += weight(line) + 1
    if gathered:
        yield "\n".join((*head, *gathered))
