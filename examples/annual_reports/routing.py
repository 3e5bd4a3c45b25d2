"""Which way the graph goes: plain functions of the state, nothing else. The model has judged before; code decides here.

Rules of this module:

* No function calls a model, reads a clock or looks at anything but the state that it is given.
* Every loop is bounded: two retries of a company's search, two questions back. What is exhausted goes on to a reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from langgraph.types import Send

from examples.annual_reports.state import Task

__all__ = [
    "ASKED_BACK",
    "ATTEMPTS",
    "UNSUPPORTED",
    "after_aggregate",
    "after_check",
    "after_decision",
    "after_grading",
    "after_guardrails",
    "after_memory",
    "after_rewrite",
]

ATTEMPTS = 3
"""Searches of a company: one, and two retries."""
ASKED_BACK = 2
"""How often a request asks the user back."""
UNSUPPORTED = 2
"""So many claims without support send a draft back."""

_State = Mapping[str, Any]


def after_memory(state: _State) -> Literal["guardrails", "retrieve_decision"]:
    """An answer that was given before needs no search."""
    cached = state.get("cached") or {}
    return "guardrails" if cached.get("band") == "hit" else "retrieve_decision"


def after_decision(state: _State) -> list[Send] | Literal["clarify", "news", "guardrails"]:
    """By the four booleans; a search without a company asks back, as often as may be."""
    decision = state["decision"]
    if decision["is_out_of_scope"]:
        return "guardrails"
    unclear = decision["needs_clarification"] or (decision["needs_retrieval"] and not state.get("companies"))
    if unclear:
        return "clarify" if len(state.get("replies") or []) < ASKED_BACK else "guardrails"
    if decision["needs_retrieval"]:
        return [Send("retrieval", task) for task in tasks(state)]
    return "news" if decision["needs_news"] else "guardrails"


def tasks(state: _State) -> list[Task]:
    """A task for each company."""
    cached = state.get("cached") or {}
    reference = cached.get("answer", "") if cached.get("band") == "reference" else ""
    return [
        Task(question=state["question"], company=company, years=list(state.get("years") or []), reference=reference)
        for company in dict.fromkeys(state["companies"])
    ]


def after_aggregate(state: _State) -> Literal["calculator", "news", "guardrails"]:
    """To what is still missing; also after the calculator."""
    report = state.get("report") or {}
    if report.get("needs_calculation") and state.get("calculation") is None:
        return "calculator"
    decision = state.get("decision") or {}
    return "news" if decision.get("needs_news") and state.get("news") is None else "guardrails"


def after_guardrails(state: _State) -> Literal["answer", "reply"]:
    """Only what there is material for is written; everything else is a reply of fixed words or an earlier answer."""
    cached = state.get("cached") or {}
    return "answer" if state["guard"]["passed"] and cached.get("band") != "hit" else "reply"


# --- in the subgraph --------------------------------------------------------------------------------


def after_rewrite(state: _State) -> Literal["retrieve_company", "__end__"]:
    """A search that would be the same again is not made."""
    return "__end__" if state.get("stale") else "retrieve_company"


def after_grading(state: _State) -> Literal["synthesize", "query_rewrite", "__end__"]:
    """Nothing usable: search again while attempts are left."""
    if state.get("kept"):
        return "synthesize"
    return "query_rewrite" if len(state["tried"]) < ATTEMPTS else "__end__"


def after_check(state: _State) -> Literal["query_rewrite", "__end__"]:
    """A draft that failed, or has too many claims without support, is searched for again while attempts are left."""
    draft = (state.get("draft") or {}).get("text", "")
    failed = not draft.strip() or len(state.get("failed_claims") or []) >= UNSUPPORTED
    return "query_rewrite" if failed and len(state["tried"]) < ATTEMPTS else "__end__"
