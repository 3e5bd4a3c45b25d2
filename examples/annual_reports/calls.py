"""The nine model calls, declared: what each gets, at which place and fidelity, and what is kept from it, and why.

Rules of this module:

* There is one list of parts. A call takes the few that it needs; every other is withheld, and the manifest says why.
* Instructions stand at the head and hold nothing that others said. Passages, the names of their companies, news, drafts
  and whatever was made of them are third-party text: each stands in a fence of its own, which nothing inside can close.
* A call is declared over what it is given (`jobs.py`), so that nothing else of the state can slip in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from langchain_core.runnables import RunnableConfig

from dalsegno import Dalsegno, Section, call, from_function, from_state
from examples.annual_reports import prompts
from examples.annual_reports.calculator.agent import INSTRUCTIONS
from examples.annual_reports.jobs import (
    Answering,
    Calculating,
    Candidate,
    Checked,
    Checking,
    Decided,
    Deciding,
    Drafting,
    Figured,
    Figuring,
    Graded,
    Grading,
    Mind,
    Rewriting,
    Rewritten,
    Said,
    Summarizing,
)

__all__ = ["CUT", "GIVEN", "WITHHELD", "Calls", "calls_of"]

CUT = 1200
"""Characters of a candidate that a grader is shown."""

_SMALL, _LARGE, _PAGES = 4_000, 16_000, 32_000
"""What a request may cost, in tokens: a judgement, a text, a text from whole passages."""


def _documents(sight: Any) -> list[Section]:
    return [_section(each) for each in sight.state.documents]


def _candidates(sight: Any) -> list[Section]:
    return [_section(each, excerpt=each.text if each.whole else "") for each in sight.state.candidates]


def _section(document: Candidate, excerpt: str = "") -> Section:
    shown: dict[str, Any] = {"fidelity": "excerpt", "excerpt": excerpt} if excerpt else {}
    return Section(
        name=document.header[:80],
        text=document.whole or document.text,
        trust="third_party",
        source=document.kind,
        priority=40 - min(document.number, 30),
        **shown,
    )


def _sources(sight: Any) -> Section:
    return Section(name="sources", text="\n".join(sight.state.sources), trust="third_party", source="corpus")


def _company(sight: Any) -> Section:
    return Section(name="company", text=sight.state.company, trust="third_party", source=sight.state.company)


def _lines(value: Sequence[str]) -> str:
    return "\n".join(f"- {each}" for each in value)


def _record(sight: Any) -> Section:
    return Section(name="tool record", messages=list(sight.state.record), trust="own", place="tail")


def _cite(sight: Any) -> Section:
    return Section(name="rules: sources", text=prompts.CITE if sight.state.sources else "", trust="rules")


def _chart(sight: Any) -> Section:
    return Section(name="rules: chart", text=prompts.CHART if sight.state.series else "", trust="rules")


def _taken(key: str, name: str, priority: int = 60) -> Any:
    return from_state(key, name, trust="third_party", priority=priority)


PARTS: Mapping[str, Any] = {
    "history": from_state("history", "history", trust="user"),
    "candidates": from_function("candidates", _candidates),
    "documents": from_function("documents", _documents),
    "reference": from_state("reference", "reference", trust="third_party", priority=5),
    "draft": _taken("draft", "draft"),
    "report": _taken("report", "Annual Report Data", 70),
    "calculation": _taken("calculation", "Calculation Result"),
    "news": _taken("news", "Recent News", 20),
    "sources": from_function("sources", _sources),
    "failed claims": from_state("failed_claims", "failed claims", trust="third_party", render=_lines),
    "tried": from_state("tried", "searches that were tried", trust="third_party", render=_lines),
    "company": from_function("company", _company),
    "query": from_state("query", "query", trust="user", place="tail"),
    "question": from_state("question", "question", trust="user", place="tail"),
    "tool record": from_function("tool record", _record),
}
"""Every part that a call of this program may be given, in the order in which they stand."""

_NAMES = {"report": "Annual Report Data", "calculation": "Calculation Result", "news": "Recent News"} | {
    "tried": "searches that were tried"
}

GIVEN: Mapping[str, tuple[str, ...]] = {
    "compress_context": ("history",),
    "retrieve_decision": ("question",),
    "query_rewrite": ("company", "failed claims", "tried", "question"),
    "grade_docs": ("candidates", "query"),
    "synthesize": ("company", "documents", "reference", "question"),
    "grade_answer": ("documents", "draft", "question"),
    "aggregate": ("report", "question"),
    "calculator": ("report", "question", "tool record"),
    "answer": ("report", "calculation", "news", "sources", "question"),
}
"""What each call gets; no two the same, for the instructions of those with the same parts differ."""

_WHY: Mapping[str, str] = {
    "history": "the question was completed before; the past brings cost and drift",
    "candidates": "what was not kept is no evidence",
    "documents": "raw passages are read where drafts are written and checked, nowhere else",
    "reference": "an earlier answer is no source",
    "draft": "a judgement that has seen the draft agrees with it",
    "report": "nothing was found out yet, or it is checked against the passages themselves",
    "calculation": "nothing was computed yet",
    "news": "news is no annual report, and would be taken for one",
    "sources": "only what cites needs a list of sources",
    "failed claims": "what failed is for the search alone",
    "tried": "what was tried is for the search alone",
    "company": "the question names it, or its passages do",
    "query": "words for a search say less than the question",
    "tool record": "only the calculator has tools",
    "question": "what survives is named by the instructions, not by the newest question",
}
_WHY_HERE: Mapping[tuple[str, str], str] = {
    ("retrieve_decision", "history"): "a classifier of one question; history makes it dearer and no better",
    ("grade_docs", "question"): "the query is what was searched with",
    ("grade_docs", "documents"): "whether a passage is on the subject shows in its beginning, and all candidates fit",
    ("grade_answer", "reference"): "a draft is held against what it was written from, no more and no less",
    ("synthesize", "candidates"): "what the grader put aside would be cited again",
    ("calculator", "documents"): "it computes with figures that were found and cited, and with no others",
    ("answer", "documents"): "what was found out stands in the merged context, with its sources",
}

WITHHELD: Mapping[str, Mapping[str, str]] = {
    name: {_NAMES.get(part, part): _WHY_HERE.get((name, part), _WHY[part]) for part in PARTS if part not in given}
    for name, given in GIVEN.items()
}
"""What each call is denied, by the part's name in the manifest, with the reason."""

G_contra = TypeVar("G_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Made(Protocol[G_contra, R_co]):
    """A declared call: what it is given, and the run's config."""

    def __call__(self, given: G_contra, /, *, config: RunnableConfig) -> R_co:
        """Make the call."""


class Calls:
    """The calls of one program; each takes what it is given and the config of the node that makes it."""

    summarize: Made[Summarizing, Any]
    decide: Made[Deciding, Decided]
    rewrite: Made[Rewriting, Rewritten]
    grade: Made[Grading, Graded]
    draft: Made[Drafting, Said]
    check: Made[Checking, Checked]
    figure: Made[Figuring, Figured]
    calculate: Made[Calculating, Any]
    answer: Made[Answering, Said]


def calls_of(ds: Dalsegno, mind: Mind) -> Calls:
    """Declare the calls over a database that keeps their manifests, and whoever answers them."""

    def declared(name: str, make: Any, rules: str, budget: int, *more: Any) -> Any:
        head = [Section(name="rules", text=rules, trust="rules"), *more]
        return call(sections=[*head, *PARTS.values()], budget=budget, ds=ds, withheld=WITHHELD[name])(_node(make))

    calls = Calls()
    calls.summarize = declared("compress_context", _digest(mind), prompts.SUMMARIZE, _LARGE)
    calls.decide = declared("retrieve_decision", mind.decide, prompts.DECIDE, _SMALL)
    calls.rewrite = declared("query_rewrite", mind.rewrite, prompts.REWRITE, _SMALL)
    calls.grade = declared("grade_docs", mind.grade, prompts.GRADE, _LARGE)
    calls.draft = declared("synthesize", mind.draft, prompts.DRAFT, _PAGES)
    calls.check = declared("grade_answer", mind.check, prompts.CHECK, _PAGES)
    calls.figure = declared("aggregate", mind.figure, prompts.FIGURE, _LARGE)
    calls.calculate = declared("calculator", mind.calculate, INSTRUCTIONS, _LARGE)
    more = (from_function("rules: sources", _cite), from_function("rules: chart", _chart))
    calls.answer = declared("answer", mind.answer, prompts.ANSWER, _LARGE, *more)
    return calls


def _node(make: Any) -> Any:
    """A function of the shape that a declaration takes."""

    def made(given: Any, request: Any) -> Any:
        return make(given, request)

    return made


def _digest(mind: Mind) -> Any:
    return mind.digest
