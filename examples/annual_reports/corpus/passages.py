"""What a corpus consists of: passages of pages, what was found of them, and what became of each document.

Rules of this module:

* A passage lies on one page of one document. Its text is what a reader of that page would see, in reading order; a
  table's text has one row a line and ` | ` between cells, under its title, unit line and column heads.
* Control characters, halves of characters and odd line breaks are no part of a text or a name (`plain`): they act on
  terminals, part rows, and no database or model takes them all.
* An id names a document's content and a place in it. The same content gives the same ids; another content gives others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["CELL", "Block", "Document", "Found", "IndexMismatch", "Ingested", "Page", "Passage", "Unreadable", "plain"]

CELL = " | "
"""What stands between two cells of a table's row."""

Kind = Literal["text", "table"]


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def plain(text: str) -> str:
    """A text with a blank in place of each character that acts instead of standing there; line breaks and tabs stay."""
    return _CONTROL.sub(" ", text)


class Unreadable(Exception):
    """A document that cannot be taken in; the message says why and what to do about it."""


class IndexMismatch(Exception):
    """A file that is no index, was built for something else, or cannot be written; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A stretch of a page.

    Attributes:
        kind: a table, or text.
        lines: a table's rows, a text's paragraphs.
        head: of a table, how many of the first lines are title, unit line and column heads.
    """

    kind: Kind
    lines: tuple[str, ...]
    head: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as it was read; pages are numbered from 1 as they lie in the file."""

    number: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The unit of retrieval.

    Attributes:
        id: the document's digest and the passage's number in it.
        company: the company's name in the index.
        fiscal_year: the year the document reports on; None where it does not say.
        page: page of the file, from 1.
        kind: a table, or text.
        text: the words.
        source: the document's file name; what is no text in it is written out as an escape.
    """

    id: str
    company: str
    fiscal_year: int | None
    page: int
    kind: Kind
    text: str
    source: str

    @property
    def header(self) -> str:
        """Where it stands, for a person and for a model: `FMG FY2024, p.39 [table]`."""
        year = f" FY{self.fiscal_year}" if self.fiscal_year is not None else ""
        return f"{self.company}{year}, p.{self.page}{' [table]' if self.kind == 'table' else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A passage that answers a query; ranks begin at 1, scores of one search compare, of two searches do not."""

    passage: Passage
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What became of one file.

    Attributes:
        source: its name in the index.
        status: `unchanged` when the index already holds this content; `failed` leaves the index as it was.
        company, fiscal_year: whose it is, and for which year; None when it failed.
        pages, passages, tables: how many.
        problem: why it failed; empty otherwise.
    """

    source: str
    status: Literal["added", "replaced", "unchanged", "failed"]
    company: str | None = None
    fiscal_year: int | None = None
    pages: int = 0
    passages: int = 0
    tables: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of every file, in the order of their names."""

    documents: tuple[Document, ...]

    @property
    def failed(self) -> tuple[Document, ...]:
        """The files that could not be taken in."""
        return tuple(document for document in self.documents if document.status == "failed")
