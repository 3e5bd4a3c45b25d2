"""Each rule sees its symptom in facts made by hand, with numbers, and is silent just below its line."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dalsegno.core.symptoms import (
    ActionFacts,
    BesideFacts,
    CallFacts,
    LostFacts,
    StepFacts,
    Symptom,
    TextFacts,
    ThreadFacts,
    examine,
)

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def step(number: int, **facts: Any) -> StepFacts:
    return StepFacts(checkpoint_id=f"c-{number}", step=number, at=NOW - MINUTE, **{"new_bytes": {}, **facts})


def thread(**facts: Any) -> ThreadFacts:
    found = ThreadFacts(
        thread_id="t",
        now=NOW,
        created_at=NOW - 60 * MINUTE,
        updated_at=NOW - MINUTE,
        events=20,
        opening="My order is broken",
    )
    return replace(found, **facts)


def only(facts: ThreadFacts) -> Symptom:
    (found,) = examine(facts)
    assert found.what
    assert found.evidence
    assert found.step
    return found


def test_a_thread_that_is_well():
    steps = [step(n, messages=n, new_bytes={"messages": 500, "plan": 900}) for n in range(40)]
    assert examine(thread(steps=steps)) == []
    assert examine(thread()) == []


# --- history ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "tokens", "summaries", "seen"),
    [
        ([20, 40, 61], 0, 0, True),
        ([20, 40, 60], 0, 0, False),
        ([10, 12], 24_001, 0, True),
        ([10, 12], 24_000, 0, False),
        ([20, 40, 61], 0, 1, False),
        ([70, 20, 61], 0, 0, False),
    ],
)
def test_history_grows(counts, tokens, summaries, seen):
    steps = [step(n, messages=count) for n, count in enumerate(counts)]
    found = examine(thread(steps=steps, message_tokens=tokens, summaries=summaries))
    assert [each.rule for each in found] == (["growing-history"] if seen else [])
    if seen:
        assert f"{counts[-1]} messages" in found[0].what
        assert "c-0" in found[0].evidence[0]


@pytest.mark.parametrize(
    ("sizes", "seen"),
    [
        ([1000 * n for n in range(1, 13)], True),
        ([1000] * 12, False),
        ([100 * n for n in range(1, 13)], False),
        ([1000 * n for n in range(1, 12)], False),
        ([9000, 9000, 9000, 9000, 100, 100, 100, 100, 9000, 9000, 9000, 9000], False),
        ([1000, 0, 2000, 0, 4000, 0, 6000, 0, 8000, 0, 9000, 0], True),
    ],
)
def test_bytes_rise(sizes, seen):
    steps = [step(n, new_bytes={"report": size, "other": 10}) for n, size in enumerate(sizes)]
    found = examine(thread(steps=steps))
    assert [each.rule for each in found] == (["rising-bytes"] if seen else [])
    if seen:
        assert "`report`" in found[0].what


def test_the_oldest_step_whose_parent_was_not_read_counts_for_nothing():
    steps = [replace(step(0), new_bytes=None), *(step(n, new_bytes={"a": 1000 * n}) for n in range(1, 12))]
    assert examine(thread(steps=steps)) == []


# --- effects ----------------------------------------------------------------------------------------


def action(number: int, *, state: str = "succeeded", arguments: str = "{}") -> ActionFacts:
    return ActionFacts(action_id=f"{number:064x}", name="refund", arguments=arguments, state=state, at=NOW)


def test_an_action_of_unknown_end():
    found = only(thread(actions=[action(7, state="unknown"), action(8, arguments="[1]")]))
    assert found.rule == "unknown-action"
    assert "1 action" in found.what
    assert "dalsegno actions resolve" in found.step


def test_equal_actions_that_both_succeeded():
    assert only(thread(actions=[action(1), action(2)])).rule == "same-effect-twice"
    assert examine(thread(actions=[action(1), action(2, state="failed")])) == []
    assert examine(thread(actions=[action(1), action(2, arguments="[1]")])) == []


def call(number: int, name: str = "send_mail", results: Any = ("#9 tool",), arguments: str = "{}") -> CallFacts:
    return CallFacts(coordinate=f"#{number} model", name=name, arguments=arguments, results=results)


def test_equal_calls_without_a_ledger():
    found = only(thread(calls=[call(2), call(6)]))
    assert found.rule == "same-effect-twice"
    assert {"#2 model", "#6 model"} <= set(found.evidence)
    assert examine(thread(calls=[call(2), call(6, arguments="[1]")])) == []
    assert examine(thread(calls=[call(2, "search_mail"), call(6, "search_mail")])) == []
    assert examine(thread(calls=[replace(call(2), failed=True), call(6)])) == []
    known = replace(action(1), name="send_mail")
    assert examine(thread(calls=[call(2), call(6)], actions=[known])) == []


def test_one_call_with_two_results():
    found = only(thread(calls=[call(2, results=("#3 tool", "#4 tool"))]))
    assert "answered 2 times for one call" in found.what
    assert {"#2 model", "#3 tool", "#4 tool"} <= set(found.evidence)


# --- supersteps -------------------------------------------------------------------------------------


def test_what_was_lost_is_told_by_field():
    lost = LostFacts(field="found", lost="'a'", kept="'b'", elements=2)
    found = only(thread(steps=[step(1, lost=[lost]), step(2, lost=[lost])]))
    assert found.rule == "lost-in-parallel"
    assert len(found.evidence) == 2
    assert "checkpoint c-1: 2 elements of 'a' gone, those of 'b' there" in found.evidence


@pytest.mark.parametrize(
    ("facts", "more", "seen"),
    [
        ({"waiting": ("a",)}, {}, True),
        ({"waiting": ("a",), "failed": 1}, {}, True),
        ({"waiting": ("a",), "asks": 1}, {}, False),
        ({"waiting": ("a",)}, {"leased": True}, False),
        ({"waiting": ("a",)}, {"updated_at": NOW - 4 * MINUTE}, False),
        ({}, {}, False),
    ],
)
def test_a_run_was_left(facts, more, seen):
    head = replace(step(3, **facts), at=NOW - 10 * MINUTE)
    found = examine(thread(**{"steps": [head], "updated_at": NOW - 6 * MINUTE, **more}))
    assert [each.rule for each in found] == (["unfinished-run"] if seen else [])
    if seen:
        assert "6 minutes" in found[0].what


# --- neighbours -------------------------------------------------------------------------------------


def other(**facts: Any) -> BesideFacts:
    found = BesideFacts(thread_id="u", created_at=NOW, updated_at=NOW, events=4, opening="my  ORDER is broken")
    return replace(found, **facts)


@pytest.mark.parametrize(
    ("facts", "seen"),
    [
        ({}, True),
        ({"opening": "something else"}, False),
        ({"created_at": NOW + 40 * MINUTE, "updated_at": NOW + 50 * MINUTE}, False),
        ({"created_at": NOW - 200 * MINUTE, "updated_at": NOW - 95 * MINUTE}, False),
        ({"created_at": NOW - 200 * MINUTE, "updated_at": NOW - 70 * MINUTE}, True),
    ],
)
def test_the_same_opening_near_in_time(facts, seen):
    found = examine(thread(beside=[other(**facts)]))
    assert [each.rule for each in found] == (["thread-id-changed"] if seen else [])


def test_a_short_opening_says_nothing():
    assert examine(thread(opening="hi", beside=[other(opening="hi")])) == []


def test_a_thread_for_each_turn():
    short = [other(thread_id=f"u-{n}", events=2, opening=f"number {n}") for n in range(3)]
    facts = thread(owner="u-7", events=2, beside=short)
    assert "4 threads of a single turn" in only(facts).what
    assert examine(replace(facts, beside=short[:2])) == []
    assert examine(replace(facts, owner=None)) == []
    assert examine(replace(facts, events=9)) == []


# --- preferences ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "The user prefers short answers",
        "Customer likes window seats",
        "Always answer in German.",
        "From now on, use metric units",
        "please call me Ann",
        "用户喜欢简短的回答",
        "以后都用中文回答",
        "请始终使用敬语",
    ],
)
def test_a_preference(text):
    assert only(thread(texts=[TextFacts(place="notes", text=text)])).rule == "preference-in-state"


@pytest.mark.parametrize(
    "text",
    [
        "Order 4417 arrived broken",
        "I would like a refund",
        "You are a helpful assistant for orders.",
        "The customer is likely to call",
        "客户要求退款 78 元",
        "",
    ],
)
def test_no_preference(text):
    assert examine(thread(texts=[TextFacts(place="notes", text=text)])) == []


def test_a_field_called_preferences():
    assert only(thread(texts=[TextFacts(place="user_preferences.language", text="de")])).rule == "preference-in-state"
    assert examine(thread(texts=[TextFacts(place="preferred_date", text="Monday")])) == []


def test_long_texts_are_cut_in_the_evidence():
    found = only(thread(texts=[TextFacts(place="notes", text="always answer " + "x" * 500)]))
    assert len(found.evidence[0]) < 140
