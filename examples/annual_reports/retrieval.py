"""The retrieval subgraph: one company's branch, from a question to a checked draft.

    query_rewrite ─ retrieve_company ─ grade_docs ─ synthesize ─ grade_answer ─┐
          └──────────────────── again, at most twice ──────────────────────────┘

Rules of this module:

* What goes back to the graph is the result alone: documents by reference, whether anything was found, the finding. The
  attempts, the candidates and the queries on the way stay here.
* Each retry searches with something else: the claims that failed become words of the search, and no search is made
  twice. An attempt that ends worse than an earlier one does not take its place.
* Marks such as `[3]` in a passage are its own notes, and are shown so (`[n3]`): what quotes it cites nothing by them.
* A grader sees 1,200 characters of each candidate, a writer and a checker see all of what was kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from examples.annual_reports.answering import unmarked
from examples.annual_reports.calls import CUT, Calls
from examples.annual_reports.jobs import Candidate, Checking, Drafting, Grading, Rewriting
from examples.annual_reports.ports import Corpus, Passage, header
from examples.annual_reports.routing import after_check, after_grading, after_rewrite
from examples.annual_reports.state import Document, Finding, Retrieved, Retrieving, Task
from examples.annual_reports.words import sentences, terms, unstated, with_units

__all__ = ["confidence_of", "next_query", "retrieval", "unsupported_in"]

_ORDER = ("none", "low", "medium", "high")
_CLAIMS = 8
_QUERY_CHARS = 1_000


def retrieval(corpus: Corpus, calls: Calls) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The subgraph over a corpus."""

    def query_rewrite(state: Retrieving, config: RunnableConfig) -> dict[str, Any]:
        company, tried, failed = state["company"], state.get("tried", []), state.get("failed_claims", [])
        given = Rewriting(question=state["question"], company=company, failed_claims=failed, tried=tried)
        query, stale = next_query(calls.rewrite(given, config=config).query, tried, failed)
        now = tried if stale else [*tried, query]
        before = state.get("findings", {}).get(company, _NOTHING)
        return {
            "query": query,
            "stale": stale,
            "tried": now,
            "candidates": [],
            "kept": [],
            "draft": {},
            "documents": state.get("documents", []),
            "found": state.get("found", {company: False}),
            "findings": {company: {**before, "queries": now}},
        }

    def retrieve_company(state: Retrieving) -> dict[str, Any]:
        years = state.get("years") if len(state["tried"]) == 1 else None  # a retry also looks into other years' reports
        found = corpus.search(state["company"], state["query"], years=tuple(years) if years else None)
        return {"candidates": [each.passage.id for each in found]}

    def grade_docs(state: Retrieving, config: RunnableConfig) -> dict[str, Any]:
        ids = state.get("candidates", [])
        kept: list[str] = []
        if ids:
            shown = [_shown(number, corpus.passage(each), cut=CUT) for number, each in enumerate(ids, 1)]
            graded = calls.grade(Grading(query=state["query"], candidates=shown), config=config)
            kept = [ids[number - 1] for number in dict.fromkeys(graded.relevant) if 1 <= number <= len(ids)]
        found = bool(kept) or state["found"][state["company"]]
        return {"kept": kept, "found": {state["company"]: found}, "failed_claims": state.get("failed_claims", [])}

    def synthesize(state: Retrieving, config: RunnableConfig) -> dict[str, Any]:
        given = Drafting(
            question=state["question"],
            company=state["company"],
            documents=[_shown(number, corpus.passage(each)) for number, each in enumerate(state["kept"], 1)],
            reference=unmarked(state.get("reference", "")),
        )
        return {"draft": calls.draft(given, config=config).model_dump()}

    def grade_answer(state: Retrieving, config: RunnableConfig) -> dict[str, Any]:
        company, kept, draft = state["company"], state["kept"], state["draft"]
        before = state["findings"][company]
        if not draft["text"].strip():
            return {"failed_claims": []}
        documents = [_shown(number, corpus.passage(each), units=True) for number, each in enumerate(kept, 1)]
        given = Checking(question=state["question"], documents=documents, draft=draft["text"])
        checked = calls.check(given, config=config)
        unsupported = unsupported_in(draft["text"], [each.text for each in documents], checked.unsupported)
        made = Finding(
            draft=draft["text"],
            documents=kept,
            grounded=checked.grounded,
            unsupported=unsupported,
            confidence=confidence_of(checked.grounded, unsupported, draft["finish_reason"]),
            queries=state["tried"],
            finish_reason=draft["finish_reason"],
        )
        if _ORDER.index(made["confidence"]) < _ORDER.index(before["confidence"]):
            return {"failed_claims": unsupported}
        return {
            "failed_claims": unsupported,
            "findings": {company: made},
            "documents": [_document(corpus.passage(each)) for each in kept],
        }

    builder = StateGraph(Retrieving, input_schema=Task, output_schema=Retrieved)
    builder.add_node("query_rewrite", query_rewrite)
    builder.add_node("retrieve_company", retrieve_company)
    builder.add_node("grade_docs", grade_docs)
    builder.add_node("synthesize", synthesize)
    builder.add_node("grade_answer", grade_answer)
    builder.add_edge(START, "query_rewrite")
    builder.add_conditional_edges("query_rewrite", after_rewrite, ["retrieve_company", END])
    builder.add_edge("retrieve_company", "grade_docs")
    builder.add_conditional_edges("grade_docs", after_grading, ["synthesize", "query_rewrite", END])
    builder.add_edge("synthesize", "grade_answer")
    builder.add_conditional_edges("grade_answer", after_check, ["query_rewrite", END])
    return builder.compile()


_NOTHING = Finding(draft="", documents=[], grounded="", unsupported=[], confidence="none", queries=[], finish_reason="")


def next_query(proposed: str, tried: Sequence[str], failed: Sequence[str]) -> tuple[str, bool]:
    """What to search with, and whether that would only be an earlier search again.

    Args:
        proposed: what the rewriter gave.
        tried: earlier searches.
        failed: claims that did not pass; their words join the search.
    """
    query = " ".join(proposed.split())[:_QUERY_CHARS]
    if tried:
        have = set(terms(query))
        more = [word for claim in failed for word in terms(claim) if word not in have]
        query = " ".join([query, *dict.fromkeys(more)])
    known = {frozenset(terms(each)) for each in tried}
    return query, not terms(query) or frozenset(terms(query)) in known


def unsupported_in(draft: str, documents: Sequence[str], named: Sequence[str]) -> list[str]:
    """The claims that a check named, and those with a figure that is in no document, whatever the check said."""
    wrong = [line for line in sentences(draft) if unstated(line, documents)]
    return list(dict.fromkeys([*(claim.strip() for claim in named if claim.strip()), *wrong]))[:_CLAIMS]


def confidence_of(grounded: str, unsupported: Sequence[str], finish_reason: str) -> Any:
    """How sure a draft may be taken for: a draft that was cut off, or that has two claims without support, is low."""
    if grounded == "no" or len(unsupported) > 1 or finish_reason not in ("stop", "end_turn"):
        return "low"
    return "medium" if unsupported or grounded == "partly" else "high"


def _shown(number: int, passage: Passage, *, cut: int | None = None, units: bool = False) -> Candidate:
    kind = str(passage.kind)
    text = unmarked(with_units(passage.text) if units and kind == "table" else passage.text)
    shorter = cut is not None and len(text) > cut
    return Candidate(
        number=number,
        header=header(number, passage),
        kind=kind,
        text=text[:cut],
        whole=text if shorter else "",
    )


def _document(passage: Passage) -> Document:
    return Document(id=passage.id, company=passage.company, header=header(0, passage).removeprefix("[0] "))
