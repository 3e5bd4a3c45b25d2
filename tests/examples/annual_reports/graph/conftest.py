"""A small corpus, answers kept in memory, and graphs over both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import dalsegno
from examples.annual_reports.answers import Draft
from examples.annual_reports.jobs import Calculated, Calculating
from examples.annual_reports.rules import Rules
from examples.annual_reports.sample import NEWS, PAGES, Shelf
from examples.annual_reports.session import Analyst
from examples.annual_reports.state import SCHEMA, Cached


class Kept:
    """An answer cache as far as the graph needs one: exact questions."""

    def __init__(self) -> None:
        self.answers: dict[str, str] = {}
        self.band = "hit"

    def lookup(self, question: str, companies: Sequence[str], years: Sequence[int]) -> Cached:
        answer = self.answers.get(question, "")
        band = self.band if answer else "miss"
        return Cached(
            band=band,
            answer=answer,
            question=question,
            score=1.0 if answer else 0.0,
            why="kept" if answer else "none is like it",
        )

    def store(self, draft: Draft) -> str:
        self.answers[draft.question] = draft.text
        return ""


class Counting:
    """A shelf that counts its searches."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.searched: Counter[str] = Counter()
        self.queries: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shelf, name)

    def search(self, company: str, query: str, *, years: Any = None) -> Any:
        self.searched[company] += 1
        self.queries.append(query)
        return self.shelf.search(company, query, years=years)


def growth(given: Calculating) -> Calculated:
    """The growth of the first row with two years; what the calculator is not the matter of."""
    import re

    found = re.findall(r"FY\d{4} = ([\d,]+)", given.report)[:2]
    if len(found) < 2:
        return Calculated(text="")
    new, old = (float(each.replace(",", "")) for each in found)
    return Calculated(text=f"({found[0]} - {found[1]}) / {found[1]} = {100 * (new - old) / old:.2f}%", steps=["growth"])


def rules(shelf: Any) -> Rules:
    return Rules(shelf.company_of, growth)


class Desk:
    """A database that can be left and opened anew."""

    def __init__(self, url: str) -> None:
        self.url, self.kept, self.corpus, self.opened = url, Kept(), Counting(PAGES), []

    def analyst(self, mind: Any = None, corpus: Any = None) -> Analyst:
        """The program, started anew."""
        while self.opened:
            self.opened.pop().close()
        ds = dalsegno.connect(self.url, schema=SCHEMA)
        self.opened.append(ds)
        used = corpus or self.corpus
        return Analyst(ds, used, mind or rules(used), news=NEWS, answers=self.kept)


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk("memory://")
    yield made
    while made.opened:
        made.opened.pop().close()


@pytest.fixture
def lasting(tmp_path) -> Iterator[Desk]:
    made = Desk(f"sqlite:///{tmp_path}/reports.db")
    yield made
    while made.opened:
        made.opened.pop().close()


@pytest.fixture
def asked(desk: Desk) -> Callable[..., dict[str, Any]]:
    """Ask one question after another in a thread; the state after the last."""

    def ask(*questions: str, mind: Any = None, corpus: Any = None) -> dict[str, Any]:
        analyst = desk.analyst(mind, corpus)
        for question in questions:
            analyst.say("t", question)
        return {**analyst.graph.get_state({"configurable": {"thread_id": "t"}}).values, "_ds": analyst.ds}

    return ask
