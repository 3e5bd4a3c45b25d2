"""A thread that is used wrongly shows it; one that is well shows nothing."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send
from typing_extensions import TypedDict

import dalsegno
from dalsegno.errors import ThreadNotFound


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    found: Annotated[list[str], lambda old, new: new]
    kept: Annotated[list[str], operator.add]
    report: str
    preferences: dict


def chat(ds: Any, answer: Callable[[Any], Any] | None = None) -> Any:
    """One node that answers."""
    builder = StateGraph(State)
    builder.add_node("answer", answer or (lambda state: {"messages": [AIMessage("yes")]}))
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=ds.checkpointer)


def config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def rules(found: Any) -> list[str]:
    return [each.rule for each in found.findings]


# --- well ------------------------------------------------------------------------------------------


async def test_a_healthy_thread_has_no_symptoms(ds, call):
    graph = chat(ds)
    for turn in range(12):
        await call(graph, "invoke", {"messages": [HumanMessage(f"question {turn} " * 20)]}, config("well"))
    found = await call(ds.threads, "doctor", "well")
    assert found.findings == []
    assert found.healthy
    assert found.checkpoints == 36
    assert found.events == 24
    assert ds.doctor("well") == found


def test_a_thread_that_only_has_a_journal_is_well(ds):
    ds.journal.append("notes", "note", "clerk", {"text": "begun"})
    assert ds.doctor("notes").healthy


def test_a_thread_that_is_not_there_is_missing(ds):
    with pytest.raises(ThreadNotFound):
        ds.doctor("nowhere")


def test_a_long_thread_is_read_in_the_same_number_of_statements(ds, monkeypatch):
    graph = chat(ds)
    counts = []
    for turns in (8, 60):
        for _ in range(turns):
            graph.invoke({"messages": [HumanMessage("more")]}, config("long"))
        steps = []
        run = ds.store_backend.run

        def counted(factory, *, write, key=None, run=run, steps=steps):
            def op():
                inner, given = factory(), None
                while True:
                    try:
                        step = inner.send(given)
                    except StopIteration as end:
                        return end.value
                    steps.append(step)
                    given = yield step

            return run(op, write=write, key=key)

        monkeypatch.setattr(ds.store_backend, "run", counted)
        ds.doctor("long")
        monkeypatch.undo()
        counts.append(len(steps))
    assert counts[1] <= counts[0] + 4
    assert counts[1] <= 40


# --- not well ---------------------------------------------------------------------------------------


def test_history_that_grows_without_compaction(ds):
    graph = chat(ds)
    for _ in range(31):
        graph.invoke({"messages": [HumanMessage("more")]}, config("t"))
    (found,) = ds.doctor("t").findings
    assert found.rule == "growing-history"
    assert "62 messages" in found.what
    assert ds.threads.checkpoints("t", limit=1)[0].checkpoint_id in found.evidence[1]
    assert "compaction" in found.step


def test_history_that_is_compacted_is_well(ds):
    builder = StateGraph(type("Compacted", (MessagesState,), {"__annotations__": {"summary": dict}}))
    builder.add_node("compact", dalsegno.compaction_node(ds=ds))
    builder.add_node("answer", lambda state: {"messages": [AIMessage("yes")]})
    builder.add_edge(START, "compact")
    builder.add_edge("compact", "answer")
    graph = builder.compile(checkpointer=ds.checkpointer)
    for turn in range(35):
        graph.invoke({"messages": [HumanMessage(f"question {turn}")]}, config("t"))
    assert ds.doctor("t").healthy


def test_a_field_that_is_written_anew_and_grows(ds):
    graph = chat(ds, lambda state: {"report": state.get("report", "") + "a new paragraph of the report. " * 60})
    for _ in range(14):
        graph.invoke({"messages": [HumanMessage("go on")]}, config("t"))
    (found,) = ds.doctor("t").findings
    assert found.rule == "rising-bytes"
    assert "`report`" in found.what
    assert len(found.evidence) == 3


def test_what_siblings_lost(ds):
    builder = StateGraph(State)
    for name in ("one", "two"):
        builder.add_node(name, lambda state, name=name: {"found": [f"by {name}"], "kept": [f"by {name}"]})
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=ds.checkpointer)
    graph.invoke({"messages": [HumanMessage("go")]}, config("t"))
    (found,) = ds.doctor("t").findings
    assert (found.rule, found.what.split("`")[1]) == ("lost-in-parallel", "found")
    assert "1 element of 'one' gone, those of 'two' there" in found.evidence[0]
    assert ds.threads.checkpoints("t", limit=1)[0].checkpoint_id in found.evidence[0]


def test_what_sends_lost(ds):
    builder = StateGraph(State)
    builder.add_node("work", lambda state: {"found": [f"part {state['n']}"], "kept": [f"part {state['n']}"]})
    builder.add_conditional_edges(START, lambda state: [Send("work", {"n": n}) for n in range(3)], ["work"])
    builder.compile(checkpointer=ds.checkpointer).invoke({"messages": [HumanMessage("go")]}, config("t"))
    (found,) = ds.doctor("t").findings
    assert found.rule == "lost-in-parallel"
    assert "`found`" in found.what


def called(name: str, call_id: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": call_id}])


def test_an_effect_that_was_asked_for_twice(ds):
    graph = chat(
        ds, lambda state: {"messages": [called("refund", f"c{len(state['messages'])}", order="A-1", amount=5)]}
    )
    graph.invoke({"messages": [HumanMessage("please")]}, config("t"))
    graph.invoke({"messages": [HumanMessage("again")]}, config("t"))
    (found,) = ds.doctor("t").findings
    assert found.rule == "same-effect-twice"
    assert "#2 answer" in found.evidence
    assert "#4 answer" in found.evidence


def test_an_effect_that_was_answered_twice_for_one_call(ds):
    graph = chat(
        ds,
        lambda state: {
            "messages": [
                called("send_mail", "c1", to="a"),
                ToolMessage("sent", tool_call_id="c1"),
                ToolMessage("sent", tool_call_id="c1"),
            ]
        },
    )
    graph.invoke({"messages": [HumanMessage("please")]}, config("t"))
    (found,) = ds.doctor("t").findings
    assert "answered 2 times for one call" in found.what


def test_a_call_that_is_made_again_after_an_error_is_well(ds):
    def answer(state):
        first = len(state["messages"]) == 1
        done = ToolMessage("Error: card declined" if first else "booked", tool_call_id="c1")
        return {"messages": [called("book_flight", "c1", number=4), done]}

    graph = chat(ds, answer)
    graph.invoke({"messages": [HumanMessage("please")]}, config("t"))
    graph.invoke({"messages": [HumanMessage("with the other card")]}, config("t"))
    assert ds.doctor("t").healthy


def test_long_messages_count_by_their_tokens(ds):
    graph = chat(ds)
    for n in range(6):
        graph.invoke(
            {"messages": [HumanMessage(f"part {n}: " + "a long passage of the contract. " * 800)]}, config("t")
        )
    (found,) = ds.doctor("t").findings
    assert found.rule == "growing-history"
    assert "12 messages" in found.what


def test_an_id_that_a_model_gives_twice_is_two_calls(ds):
    def answer(state):
        order = f"A-{len(state['messages'])}"
        return {"messages": [called("refund", "c1", order=order), ToolMessage("ok", tool_call_id="c1")]}

    graph = chat(ds, answer)
    graph.invoke({"messages": [HumanMessage("please")]}, config("t"))
    graph.invoke({"messages": [HumanMessage("and the other")]}, config("t"))
    assert ds.doctor("t").healthy


def test_reading_twice_is_well(ds):
    graph = chat(ds, lambda state: {"messages": [called("get_order", f"c{len(state['messages'])}", order="A-1")]})
    graph.invoke({"messages": [HumanMessage("please")]}, config("t"))
    graph.invoke({"messages": [HumanMessage("again")]}, config("t"))
    assert ds.doctor("t").healthy


def test_an_action_that_was_done_twice(ds):
    for step in ("one", "two"):
        with ds.actions.perform("refund", {"order": "A-1"}, kind="create", thread_id="t", step=step) as action:
            action.result = "ok"
    (found,) = ds.doctor("t").findings
    assert found.rule == "same-effect-twice"
    assert "done 2 times" in found.what


def test_an_action_whose_end_is_unknown(ds):
    class Lost(Exception):
        pass

    with (
        pytest.raises(Lost),
        ds.actions.perform("refund", {"order": "A-1"}, kind="create", thread_id="t", step="one", unclear=(Lost,)),
    ):
        raise Lost
    (found,) = ds.doctor("t").findings
    assert found.rule == "unknown-action"
    assert ds.actions.list("t")[0].action_id[:12] in found.evidence[0]


def test_a_run_that_was_left(ds, execute):
    def broken(state):
        msg = "down"
        raise RuntimeError(msg)

    with pytest.raises(RuntimeError):
        chat(ds, broken).invoke({"messages": [HumanMessage("please")]}, config("t"))
    assert ds.doctor("t").healthy  # it has only just stopped
    ago = 3600 * 1_000_000
    execute("UPDATE ds_threads SET updated_at = updated_at - ?", ago)
    execute("UPDATE ds_checkpoints SET created_at = created_at - ?", ago)
    (found,) = ds.doctor("t").findings
    assert found.rule == "unfinished-run"
    assert "'answer'" in found.what
    assert "60 minutes" in found.what
    assert "1 task raised" in found.what


def test_a_conversation_that_went_on_under_another_id(ds):
    graph = chat(ds)
    history: list[Any] = []
    for thread in ("t-1", "t-2"):
        history += [HumanMessage("My order 4417 arrived broken")]
        graph.invoke({"messages": list(history)}, config(thread))
    (found,) = ds.doctor("t-1").findings
    assert found.rule == "thread-id-changed"
    assert "'t-2'" in found.evidence[1]
    (found,) = ds.doctor("t-2").findings
    assert "'t-1'" in found.evidence[1]


def test_an_opening_long_after_is_another_conversation(ds, execute):
    graph = chat(ds)
    graph.invoke({"messages": [HumanMessage("My order 4417 arrived broken")]}, config("t-1"))
    execute("UPDATE ds_threads SET updated_at = updated_at - ?, created_at = created_at - ?", 10**10, 10**10)
    graph.invoke({"messages": [HumanMessage("My order 4417 arrived broken")]}, config("t-2"))
    assert ds.doctor("t-1").healthy
    assert ds.doctor("t-2").healthy


def test_a_thread_for_each_turn(store_url):
    with dalsegno.connect(store_url, user="u-7") as ds:
        graph = chat(ds)
        for turn in range(4):
            graph.invoke({"messages": [HumanMessage(f"something else, number {turn}")]}, config(f"t-{turn}"))
        (found,) = ds.doctor("t-0").findings
        assert found.rule == "thread-id-changed"
        assert "4 threads of a single turn" in found.what


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ({"report": "The user prefers short answers."}, "report"),
        ({"preferences": {"language": "German"}}, "preferences.language"),
        ({"report": "用户喜欢简短的回答"}, "report"),
        ({"messages": [SystemMessage("The user prefers German.")]}, "system message in messages"),
    ],
)
def test_a_preference_in_the_state(ds, written, place):
    graph = chat(ds, lambda state: written)
    graph.invoke({"messages": [HumanMessage("hello")]}, config("t"))
    (found,) = ds.doctor("t").findings
    assert found.rule == "preference-in-state"
    assert found.evidence[0].startswith(place)


def test_a_programs_own_rule_is_no_preference(ds):
    graph = chat(ds, lambda state: {"messages": [SystemMessage("Always answer in German, never use jargon.")]})
    graph.invoke({"messages": [HumanMessage("hello")]}, config("t"))
    assert ds.doctor("t").healthy


def test_what_a_person_says_in_the_conversation_is_no_preference_in_the_state(ds):
    graph = chat(ds)
    graph.invoke({"messages": [HumanMessage("From now on, always answer in German")]}, config("t"))
    assert ds.doctor("t").healthy


def test_it_is_quick(ds):
    graph = chat(ds)
    for _ in range(20):
        graph.invoke({"messages": [HumanMessage("more " * 50)]}, config("t"))
    began = time.perf_counter()
    ds.doctor("t")
    assert time.perf_counter() - began < 2
