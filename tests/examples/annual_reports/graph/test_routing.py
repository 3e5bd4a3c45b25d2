"""Which way the graph goes is told from a dictionary alone; the table comes by every branch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_type_hints

import pytest
from langgraph.types import Send

from examples.annual_reports import routing
from examples.annual_reports.graph import guarded
from examples.annual_reports.routing import ASKED_BACK, ATTEMPTS, UNSUPPORTED

HIT = {"band": "hit", "answer": "80 cents", "question": "q", "score": 1.0, "why": ""}


def decided(*true: str, **more: Any) -> dict[str, Any]:
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


@pytest.mark.parametrize(("function", "state", "way"), TABLE)
def test_the_way_is_told_from_the_state(function: str, state: Mapping[str, Any], way: Any) -> None:
    went = getattr(routing, function)(state)
    if isinstance(way, list):
        assert [(send.node, send.arg["company"], send.arg["question"]) for send in went] == [
            ("retrieval", company, "q") for company in way
        ]
        assert all(isinstance(send, Send) for send in went)
    else:
        assert went == way


def test_the_table_comes_by_every_way_that_a_function_may_answer() -> None:
    functions = [name for name in routing.__all__ if name.startswith("after_")]
    assert {function for function, _, _ in TABLE} == set(functions)
    for name in functions:
        hint = get_type_hints(getattr(routing, name))["return"]
        literals = {
            word
            for part in (hint, *get_args(hint))
            if getattr(part, "__origin__", None) is Literal
            for word in get_args(part)
        }
        taken = {way if isinstance(way, str) else "Send" for function, _, way in TABLE if function == name}
        assert taken - {"Send"} == literals, name


def test_a_branch_is_given_the_reference_of_the_cache_and_nothing_of_the_conversation() -> None:
    state = decided("needs_retrieval", companies=["A"], messages=["secret"], cached={**HIT, "band": "reference"})
    (send,) = routing.after_decision(state)
    assert send.arg == {"question": "q", "company": "A", "years": [2024], "reference": "80 cents"}
    (send,) = routing.after_decision({**state, "cached": {**HIT, "band": "miss"}})
    assert send.arg["reference"] == ""


def test_no_routing_function_changes_what_it_is_given() -> None:
    for function, state, _ in TABLE:
        before = repr(state)
        getattr(routing, function)(state)
        assert repr(state) == before


@pytest.mark.parametrize(
    ("state", "passed", "problem"),
    [
        ({"cached": HIT}, True, ""),
        ({"cached": {**HIT, "answer": " "}}, False, "no_answer"),
        (decided("is_out_of_scope"), False, "out_of_scope"),
        (decided("needs_retrieval", companies=["A"], report={"text": "x"}), True, ""),
        (decided("needs_retrieval", companies=["A"], report={"text": ""}), False, "nothing_found"),
        (decided("needs_retrieval", companies=["A"], report={"text": "x" * 50_000}), False, "nothing_found"),
        (decided("needs_retrieval", companies=["A"], report={"text": ""}, news=[{"title": "x"}]), True, ""),
        (decided("needs_retrieval", companies=[]), False, "unclear"),
        (decided("needs_clarification"), False, "unclear"),
        (decided("needs_news", news=[{"title": "x"}]), True, ""),
        (decided("needs_news", news=[]), False, "no_news"),
        (decided(), False, "out_of_scope"),
    ],
)
def test_only_what_there_is_something_to_answer_from_passes(state: Any, passed: bool, problem: str) -> None:
    assert guarded(state) == {"passed": passed, "problem": problem}
