"""Which way the graph goes is told from a dictionary alone; the table comes by every branch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from langgraph.types import Send

from examples.annual_reports import routing
from examples.annual_reports.material import guarded
from examples.annual_reports.measure.routes import HIT, TABLE, decided, taken, wanted, went


@pytest.mark.parametrize(("function", "state", "way"), TABLE)
def test_the_way_is_told_from_the_state(function: str, state: Mapping[str, Any], way: Any) -> None:
    assert went(function, state) == way


def test_a_company_is_a_send_to_retrieval() -> None:
    sends = routing.after_decision(decided("needs_retrieval", companies=["A", "B"]))
    assert all(isinstance(send, Send) and send.node == "retrieval" for send in sends)
    assert [send.arg["question"] for send in sends] == ["q", "q"]


def test_the_table_comes_by_every_way_that_a_function_may_answer() -> None:
    assert len(wanted()) >= 18
    assert taken() == wanted()


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
