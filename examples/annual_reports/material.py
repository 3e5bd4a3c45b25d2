"""What a request is made of, told from the state alone: its question completed, its findings as one text, its guard.

Rules of this module:

* Pure functions: no call, no clock, no search. The same state gives the same.
* What is completed stands in square brackets at the end of the question, so that everyone can see it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage

from examples.annual_reports import answering
from examples.annual_reports.ports import Corpus
from examples.annual_reports.state import Guard, Report
from examples.annual_reports.words import years_of

__all__ = ["SCANNED", "completed", "guarded", "merged"]

SCANNED = 6
"""Messages that are looked through for a company or a year that the question lacks."""
_MOST_CHARACTERS = 40_000
_SPACE = re.compile(r"\s+")


def completed(
    corpus: Corpus, messages: Sequence[AnyMessage], replies: Sequence[str]
) -> tuple[str, list[str], list[int]]:
    """The newest question with what it lacks, its companies and its years.

    Args:
        corpus: knows the companies.
        messages: the newest question is among them, followed by what was asked back and replied.
        replies: what was replied.

    Returns:
        The question, with the replies in brackets, and with what was completed in square ones: the company, the year
        that were named last in the six messages before it.
    """
    spoken = [at for at, message in enumerate(messages) if isinstance(message, HumanMessage)]
    at = spoken[-1 - len(replies)]
    asked = _SPACE.sub(" ", messages[at].text).strip()
    question = f"{asked} ({'; '.join(replies)})" if replies else asked
    companies, years = corpus.company_of(question), years_of(question)
    added: list[str] = []
    before = [message.text for message in messages[max(0, at - SCANNED) : at] if isinstance(message, HumanMessage)]
    if not companies:
        companies = next((named for text in reversed(before) if (named := corpus.company_of(text))), [])
        added += companies
    if not years:
        years = next((told for text in reversed(before) if (told := years_of(text))), [])
        added += [f"FY{year}" for year in years]
    return (f"{question} [{', '.join(added)}]" if added else question), list(companies), years


def merged(companies: Sequence[str], findings: Mapping[str, Any]) -> Report:
    """The findings in the order in which the companies were named."""
    texts: list[str] = []
    documents: list[str] = []
    worst = "high"
    order = ("none", "low", "medium", "high")
    for company in dict.fromkeys(companies):
        finding = findings.get(company)
        if not finding or not finding["draft"].strip():
            continue
        count = len(finding["documents"])
        draft, _ = answering.renumbered(finding["draft"], count, len(documents), order=range(1, count + 1))
        texts.append(f"{company}\n{draft}" if len(set(companies)) > 1 else draft)
        documents += finding["documents"]
        worst = min(worst, finding["confidence"], key=order.index)
    return Report(
        text="\n\n".join(texts),
        documents=documents,
        confidence=worst if texts else "none",
        needs_calculation=False,
    )


def guarded(state: Mapping[str, Any]) -> Guard:
    """Whether there is something to answer from, and no more of it than a call takes."""
    cached, decision, report = state.get("cached") or {}, state.get("decision") or {}, state.get("report") or {}
    if cached.get("band") == "hit":
        return Guard(passed=bool(cached["answer"].strip()), problem="" if cached["answer"].strip() else "no_answer")
    if decision.get("is_out_of_scope"):
        return Guard(passed=False, problem="out_of_scope")
    text = report.get("text", "")
    if report:
        if not text.strip() or len(text) > _MOST_CHARACTERS:
            return Guard(passed=bool(state.get("news")), problem="" if state.get("news") else "nothing_found")
        return Guard(passed=True, problem="")
    if decision.get("needs_clarification") or (decision.get("needs_retrieval") and not state.get("companies")):
        return Guard(passed=False, problem="unclear")
    if decision.get("needs_news"):
        return Guard(passed=bool(state.get("news")), problem="" if state.get("news") else "no_news")
    return Guard(passed=False, problem="out_of_scope")
