"""Which way the graph goes, case by case: the table that the routing functions are held to, and how much it covers.

Rules of this module:

* A case is a function, a state as a dictionary, and the way; a list of names stands for a `Send` to retrieval for each.
* Covered is a way that a function's own type names, and that some case takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from examples.annual_reports import routing
from examples.annual_reports.routing import ASKED_BACK, ATTEMPTS, UNSUPPORTED

__all__ = ["HIT", "TABLE", "decided", "taken", "wanted", "went"]

HIT = {"band": "hit", "answer": "80 cents", "question": "q", "score": 1.0, "why": ""}


def decided(*true: str, **more: Any) -> dict[str, Any]:
    """A state after the four booleans."""
    names = ("is_out_of_scope", "needs_retrieval", "needs_news", "needs_clarification")
    return {"question": "q", "years": [2024], "decision": {name: name in true for name in names}, **more}


TABLE: list[tuple[str, Mapping[str, Any], Any]] = [
    ("after_memory", {"cached": HIT}, "guardrails"),
    ("after_memory", {"cached": {**HIT, "band": "reference"}}, "retrieve_decision"),
    ("after_memory", {"cached": None}, "retrieve_decision"),
    ("after_memory", {}, "retrieve_decision"),
    ("after_decision", decided("is_out_of_scope", "needs_retrieval", companies=["A"]), "guardrails"),
    ("after_decision", decided("needs_clarification", "needs_retrieval", companies=["A"]), "clarify"),
    ("after_decision", decided("needs_retrieval", companies=[]), "clarify"),
    ("after_decision", decided("needs_retrieval", companies=[], replies=["x"] * ASKED_BACK), "guardrails"),
    ("after_decision", decided("needs_clarification", companies=["A"], replies=["x"] * ASKED_BACK), "guardrails"),
    ("after_decision", decided("needs_retrieval", companies=["A"]), ["A"]),
    ("after_decision", decided("needs_retrieval", "needs_news", companies=["B", "A", "B"]), ["B", "A"]),
    ("after_decision", decided("needs_news", companies=["A"]), "news"),
    ("after_decision", decided(companies=["A"]), "guardrails"),
    ("after_aggregate", {"report": {"needs_calculation": True}, "calculation": None}, "calculator"),
    ("after_aggregate", {"report": {"needs_calculation": True}, "calculation": {"text": ""}}, "guardrails"),
    ("after_aggregate", {"report": {"needs_calculation": False}, "decision": {"needs_news": True}}, "news"),
    (
        "after_aggregate",
        {"report": {"needs_calculation": True}, "calculation": {"text": "1"}, "decision": {"needs_news": True}},
        "news",
    ),
    ("after_aggregate", {"report": {}, "decision": {"needs_news": True}, "news": []}, "guardrails"),
    ("after_aggregate", {"report": None, "decision": None}, "guardrails"),
    ("after_guardrails", {"guard": {"passed": True}, "cached": None}, "answer"),
    ("after_guardrails", {"guard": {"passed": True}, "cached": HIT}, "reply"),
    ("after_guardrails", {"guard": {"passed": False}, "cached": None}, "reply"),
    ("after_rewrite", {"stale": True}, "__end__"),
    ("after_rewrite", {"stale": False}, "retrieve_company"),
    ("after_grading", {"kept": ["p"], "tried": ["q"]}, "synthesize"),
    ("after_grading", {"kept": [], "tried": ["q"] * (ATTEMPTS - 1)}, "query_rewrite"),
    ("after_grading", {"kept": [], "tried": ["q"] * ATTEMPTS}, "__end__"),
    ("after_check", {"draft": {"text": "x"}, "failed_claims": [], "tried": ["q"]}, "__end__"),
    ("after_check", {"draft": {"text": "x"}, "failed_claims": ["a"] * (UNSUPPORTED - 1), "tried": ["q"]}, "__end__"),
    ("after_check", {"draft": {"text": "x"}, "failed_claims": ["a"] * UNSUPPORTED, "tried": ["q"]}, "query_rewrite"),
    ("after_check", {"draft": {"text": " "}, "failed_claims": [], "tried": ["q"]}, "query_rewrite"),
    ("after_check", {"draft": {"text": "x"}, "failed_claims": ["a"] * 9, "tried": ["q"] * ATTEMPTS}, "__end__"),
    ("after_check", {"draft": {}, "tried": ["q"] * ATTEMPTS}, "__end__"),
]


def went(function: str, state: Mapping[str, Any]) -> Any:
    """The way that a function goes: a node, or the companies that a `Send` goes out for."""
    way = getattr(routing, function)(state)
    return way if isinstance(way, str) else [send.arg["company"] for send in way]


def wanted() -> set[tuple[str, str]]:
    """Every function with every way that its type names."""
    return {(name, way) for name in routing.__all__ if name.startswith("after_") for way in _ways(name)}


def _ways(name: str) -> Iterator[str]:
    hint = get_type_hints(getattr(routing, name))["return"]
    for part in (hint, *get_args(hint)):
        if get_origin(part) is Literal:
            yield from get_args(part)
        elif get_origin(part) is list:
            yield "Send"


def taken() -> set[tuple[str, str]]:
    """Every function with every way that a case of the table takes, and really goes."""
    return {
        (function, way if isinstance(way, str) else "Send")
        for function, state, way in TABLE
        if went(function, state) == way
    }
