"""A transcript says what comes next at each position, or is refused before anything is played."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from dalsegno.demo.script import Script, said
from dalsegno.demo.world import only_reads
from dalsegno.errors import Misuse, TranscriptError


def call(name, call_id):
    return {"name": name, "args": {"amount": "78.00"}, "id": call_id}


TALK = [
    SystemMessage("rules"),
    HumanMessage("退款"),
    AIMessage("", tool_calls=[call("refund", "a"), call("send_email", "b")]),
    ToolMessage("sent", tool_call_id="b"),
    ToolMessage("done", tool_call_id="a"),
    AIMessage("办好了"),
    HumanMessage("thanks"),
]


def test_a_turn_is_everything_from_outside_that_comes_next():
    script = Script(TALK)
    assert [m.content for m in script.turn_at(0)] == ["rules", "退款"]
    assert [m.content for m in script.turn_at(6)] == ["thanks"]
    assert script.turn_at(7) == ()


def test_a_result_belongs_to_the_call_of_its_id_whatever_the_order():
    assert [(e.position, e.name) for e in Script(TALK).errands_at(3)] == [(3, "send_email"), (4, "refund")]


def test_ids_that_come_twice_in_a_conversation_are_told_apart_by_position():
    again = [*TALK, AIMessage("", tool_calls=[call("book", "a")]), ToolMessage("booked", tool_call_id="a")]
    assert Script(again).errands_at(8)[0].name == "book"


def test_the_agent_may_have_nothing_more_to_say():
    script = Script(TALK)
    assert script.reply_at(7) is None
    assert [m.phase for m in script.moments()][-3:] == ["start", "return", "rest"]


def test_moments_are_numbered_from_one_and_name_every_step():
    moments = Script(TALK).moments()
    assert [m.number for m in moments] == list(range(1, len(moments) + 1))
    assert [(m.node, m.position) for m in moments if m.phase == "start"] == [
        ("model", 2), ("tool", 3), ("tool", 4), ("model", 5), ("model", 7),
    ]  # fmt: skip
    assert [m.tool for m in moments if m.phase == "effect"] == ["send_email", "refund"]


def test_the_default_moment_is_a_tool_in_mid_effect():
    moment = Script(TALK).default_moment()
    assert (moment.node, moment.tool, moment.phase) == ("tool", "refund", "effect")


def test_a_tool_that_acts_is_struck_rather_than_one_that_looks():
    asked = [HumanMessage("1"), AIMessage("", tool_calls=[call("refund", "a"), call("get_order", "b")])]
    script = Script([*asked, ToolMessage("done", tool_call_id="a"), ToolMessage("seen", tool_call_id="b")])
    assert script.default_moment().tool == "refund"
    looking = Script(
        [HumanMessage("1"), AIMessage("", tool_calls=[call("get_order", "b")]), ToolMessage("seen", tool_call_id="b")]
    )
    assert (looking.default_moment().tool, looking.default_moment().phase) == ("get_order", "effect")


def test_a_conversation_without_tools_is_killed_in_its_middle():
    script = Script([HumanMessage("1"), AIMessage("2"), HumanMessage("3"), AIMessage("4")])
    assert (script.default_moment().node, script.default_moment().position) == ("model", 3)


def test_messages_are_handed_out_as_copies_because_langgraph_writes_ids_into_them():
    script = Script([HumanMessage("1", id="kept-out"), AIMessage("2")])
    script.turn_at(0)[0].id = "theirs"
    script.reply_at(1).id = "theirs"
    assert script.turn_at(0)[0].id is None
    assert script.reply_at(1).id is None


def test_a_thread_that_parts_from_the_script_is_found_at_the_message():
    with pytest.raises(Misuse, match="message 1"):
        Script(TALK).follow([TALK[0], HumanMessage("退货")])


def test_words_are_compared_without_ids():
    assert said(HumanMessage("x", id="1")) == said(HumanMessage("x", id="2"))
    assert said(HumanMessage("x")) != said(AIMessage("x"))
    assert said(AIMessage("", tool_calls=[call("a", "1")])) != said(AIMessage("", tool_calls=[call("b", "1")]))


def test_a_result_that_nobody_asked_for_is_refused():
    with pytest.raises(TranscriptError, match="message 1"):
        Script([HumanMessage("1"), ToolMessage("?", tool_call_id="x")])


def test_more_results_than_calls_are_refused():
    with pytest.raises(TranscriptError, match="message 5"):
        Script([*TALK[:5], ToolMessage("third", tool_call_id="a"), *TALK[5:]])


def test_a_transcript_without_a_user_is_refused():
    with pytest.raises(TranscriptError):
        Script([SystemMessage("rules")])


@pytest.mark.parametrize("tool", ["get_user_details", "searchFlights", "look_up_order", "check_stock", "think", "list"])
def test_tools_that_only_look(tool):
    assert only_reads(tool)


@pytest.mark.parametrize(
    "tool", ["refund", "send_email", "book_reservation", "cancelOrder", "getaway_book", "readjust"]
)
def test_tools_that_act(tool):
    assert not only_reads(tool)
