"""What the graph needs from outside: reports, arithmetic, news, and answers that were given before.

Rules of this module:

* The graph knows these shapes and nothing behind them. `corpus` and `calculator` of this program fit them, and so does
  whatever else a reader wants to try.
* News comes from a file that the user supplies, or from nowhere. A live source is a class with one method.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Corpus", "Found", "Item", "NewsFile", "NewsSource", "NoNews", "Passage", "header"]


class Passage(Protocol):
    """A stretch of a report: a paragraph or a table of one page."""

    @property
    def id(self) -> str:
        """Unique in the corpus, and the same after each ingestion of the same document."""

    @property
    def company(self) -> str:
        """Whose report it is."""

    @property
    def fiscal_year(self) -> int | None:
        """Of the report; None where it is not known."""

    @property
    def page(self) -> int:
        """From 1."""

    @property
    def kind(self) -> Any:
        """`text` or `table`."""

    @property
    def text(self) -> str:
        """What it says."""

    @property
    def source(self) -> str:
        """The document."""


class Found(Protocol):
    """A passage that a search gave."""

    @property
    def passage(self) -> Passage:
        """What was found."""

    @property
    def rank(self) -> int:
        """From 1."""

    @property
    def score(self) -> float:
        """The higher the better."""


class Corpus(Protocol):
    """Reports, by company."""

    def companies(self) -> Mapping[str, tuple[int, ...]]:
        """Each company with the fiscal years that there are reports of."""

    def company_of(self, text: str) -> list[str]:
        """The companies that a text names, in its order."""

    def search(self, company: str, query: str, *, years: Sequence[int] | None = None) -> Sequence[Found]:
        """The passages of one company that say most about a query, the best first."""

    def sources(self, company: str) -> Mapping[str, str]:
        """The documents of a company, each with its version."""

    def version(self, source: str) -> str:
        """Changes when the document does."""

    def passage(self, id: str, /) -> Passage:  # noqa: A002 - the field's own name
        """A passage by its id.

        Raises:
            KeyError: there is none.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A piece of news.

    Attributes:
        company: whom it is about.
        date: its day, such as 2024-08-27.
        title, text: what it says.
        url: where it stood.
    """

    company: str
    date: str
    title: str
    text: str = ""
    url: str = ""


class NewsSource(Protocol):
    """Where news comes from. A live one is a class with this method; what it gives is third-party text."""

    def search(self, companies: Sequence[str], question: str, limit: int = 5) -> Sequence[Item]:
        """The newest pieces about companies, the newest first."""


class NoNews:
    """No news."""

    def search(self, companies: Sequence[str], question: str, limit: int = 5) -> Sequence[Item]:  # noqa: ARG002 - the shape of a source
        """Nothing."""
        return []


class NewsFile:
    """News from a file of JSON lines, each with `company`, `date`, `title`, and if there is one `text` and `url`."""

    def __init__(self, file: Path) -> None:
        """Read the file.

        Raises:
            ValueError: a line is no piece of news; the message names it.
        """
        self._items = [
            _item(line, f"{file}:{number}")
            for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1)
            if line.strip()
        ]

    def search(self, companies: Sequence[str], question: str, limit: int = 5) -> Sequence[Item]:
        """The newest pieces about companies; among those of a day, what shares words with the question first."""
        asked = set(re.findall(r"\w{4,}", question.casefold()))
        about = [item for item in self._items if item.company in companies]
        shared = {item: len(asked & set(re.findall(r"\w{4,}", item.title.casefold()))) for item in about}
        return sorted(about, key=lambda item: (item.date, shared[item]), reverse=True)[:limit]


def _item(line: str, place: str) -> Item:
    try:
        read = json.loads(line)
        known = {key: str(read.get(key, "")) for key in ("company", "date", "title", "text", "url")}
    except (ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"{place} is no piece of news: {error}; write a JSON object on each line.") from error
    if not known["company"] or not known["title"]:
        raise ValueError(f"{place} has no company or no title; give both.")
    return Item(**known)


def header(number: int, passage: Passage) -> str:
    """How a passage is called in a request, such as `[3] FMG FY2024, p.39 [table]`."""
    year = f" FY{passage.fiscal_year}" if passage.fiscal_year else ""
    return f"[{number}] {passage.company}{year}, p.{passage.page}{' [table]' if passage.kind == 'table' else ''}"
