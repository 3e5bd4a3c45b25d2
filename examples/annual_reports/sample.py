"""A few pages of made-up reports, to try the program without reading anything in; its self-test runs on them.

The companies do not exist. `Shelf` is the least that a corpus can be: passages in memory, found by shared words.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from examples.annual_reports.ports import Item
from examples.annual_reports.words import terms, years_of

__all__ = ["NEWS", "PAGES", "Hit", "Leaf", "Shelf", "StillNews"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A passage."""

    id: str
    company: str
    fiscal_year: int
    page: int
    kind: Literal["text", "table"] = "text"
    text: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A passage that was found."""

    passage: Leaf
    rank: int
    score: float


class Shelf:
    """Passages in memory."""

    def __init__(self, leaves: Sequence[Leaf], names: Mapping[str, Sequence[str]] | None = None) -> None:
        """Take the passages, and other names of their companies."""
        self._leaves = {leaf.id: leaf for leaf in leaves}
        self._names = dict(names or {})

    def companies(self) -> Mapping[str, tuple[int, ...]]:
        """Companies and their years."""
        found: dict[str, set[int]] = {}
        for leaf in self._leaves.values():
            found.setdefault(leaf.company, set()).add(leaf.fiscal_year)
        return {company: tuple(sorted(years)) for company, years in found.items()}

    def company_of(self, text: str) -> list[str]:
        """Companies that are named, in the order in which they are."""
        places: dict[str, int] = {}
        for company in self.companies():
            for name in (company, *self._names.get(company, ())):
                found = re.search(rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])", text, re.IGNORECASE)
                if found is not None:
                    places[company] = min(found.start(), places.get(company, len(text)))
        return sorted(places, key=lambda company: places[company])

    def search(
        self,
        company: str,
        query: str,
        *,
        years: Sequence[int] | None = None,
        lexical: int = 20,  # noqa: ARG002 - the shape of an index
        vector: int = 20,  # noqa: ARG002
        keep: int = 8,
    ) -> list[Hit]:
        """By shared words; a year that is named counts as one."""
        wanted = set(terms(query)) | set(map(str, years_of(query)))
        scored = []
        for leaf in self._leaves.values():
            if leaf.company != company or (years and leaf.fiscal_year not in years):
                continue
            have = set(terms(leaf.text)) | set(map(str, (leaf.fiscal_year, *years_of(leaf.text))))
            if shared := len(wanted & have):
                scored.append((shared, leaf))
        ranked = sorted(scored, key=lambda each: (-each[0], each[1].id))[:keep]
        return [Hit(passage=leaf, rank=rank, score=float(score)) for rank, (score, leaf) in enumerate(ranked, 1)]

    def sources(self, company: str) -> Mapping[str, str]:
        """Documents of a company with their versions."""
        return {leaf.source: self.version(leaf.source) for leaf in self._leaves.values() if leaf.company == company}

    def version(self, source: str) -> str:
        """Of a document: what it says."""
        text = "".join(leaf.text for leaf in self._leaves.values() if leaf.source == source)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def passage(self, id: str) -> Leaf:  # noqa: A002 - the field's own name
        """A passage by its id."""
        return self._leaves[id]

    def with_leaf(self, leaf: Leaf) -> Shelf:
        """The shelf with one more passage, or another version of one."""
        return Shelf([*self._leaves.values(), replace(leaf)], self._names)


def _leaf(company: str, year: int, page: int, text: str, kind: Literal["text", "table"] = "text") -> Leaf:
    short = {"Alder Mining": "alder", "Birch Metals": "birch", "海松能源": "haisong"}[company]
    return Leaf(
        id=f"{short}-{year}-p{page}-{kind}",
        company=company,
        fiscal_year=year,
        page=page,
        kind=kind,
        text=text,
        source=f"{short}_{year}.txt",
    )


PAGES = Shelf(
    [
        _leaf(
            "Alder Mining",
            2024,
            12,
            "Consolidated income statement (US$ millions)\n | 2024 | 2023 | 2022\nRevenue | 5,460 | 5,200 | 4,875\n"
            "Operating costs | 3,310 | 3,268 | 3,120\nProfit after tax | 1,204 | 1,108 | 998",
            "table",
        ),
        _leaf(
            "Alder Mining",
            2024,
            31,
            "The board determined a final dividend of 42 US cents per share. With the interim dividend of 38 US cents, "
            "dividends for FY2024 are 80 US cents per share.",
        ),
        _leaf(
            "Alder Mining",
            2024,
            47,
            "Net debt was US$ 912 million at 30 June 2024. Gearing stood at 14.5%.",
        ),
        _leaf(
            "Alder Mining",
            2024,
            58,
            "The total recordable injury frequency was 1.9 per million hours worked. There were no fatalities.",
        ),
        _leaf(
            "Alder Mining",
            2023,
            30,
            "The board determined a final dividend of 36 US cents per share. Dividends for FY2023 are 70 US cents per "
            "share.",
        ),
        _leaf(
            "Birch Metals",
            2024,
            9,
            "Five-year summary (US$ millions)\n | 2024 | 2023\nRevenue | 2,310 | 2,420\nProfit after tax | 318 | 402",
            "table",
        ),
        _leaf(
            "Birch Metals",
            2024,
            22,
            "Birch Metals declared a total dividend of 25 US cents per share for FY2024.",
        ),
        _leaf(
            "海松能源",
            2023,
            15,
            "主要会计数据（单位：万元）\n项目 | 2023年 | 2022年\n营业收入 | 812,400 | 780,150\n"
            "净利润 | 96,300 | 91,020",
            "table",
        ),
        _leaf("海松能源", 2023, 40, "公司拟向全体股东每10股派发现金股利3.20元（含税）。"),
    ],
    {"Alder Mining": ["Alder"], "Birch Metals": ["Birch"], "海松能源": ["海松"]},
)


class StillNews:
    """News that never changes."""

    def __init__(self, items: Sequence[Item]) -> None:
        """Take the pieces."""
        self._items = items

    def search(self, companies: Sequence[str], question: str, limit: int = 5) -> Sequence[Item]:  # noqa: ARG002
        """The pieces about companies, the newest first."""
        about = [item for item in self._items if item.company in companies]
        return sorted(about, key=lambda item: item.date, reverse=True)[:limit]


NEWS = StillNews(
    [
        Item(company="Alder Mining", date="2024-09-03", title="Alder Mining opens its second port berth"),
        Item(company="Alder Mining", date="2024-10-21", title="Alder Mining names a new head of operations"),
        Item(company="Birch Metals", date="2024-10-02", title="Birch Metals restarts its smelter"),
    ]
)
