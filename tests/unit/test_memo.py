"""What this process remembers of a state is believed only while nothing of it changed, and handed on only when nobody else has it."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

import dalsegno
from dalsegno.services.memo import MISSING, ListPrint, Memo, print_of


def call(number: int) -> AIMessage:
    return AIMessage(
        f"text {number}",
        id=f"m{number}",
        tool_calls=[{"name": "look_up", "args": {"ids": [1, number]}, "id": f"c{number}"}],
        response_metadata={"usage": {"tokens": number}},
    )


def talk() -> list[Any]:
    return [HumanMessage("hello", id="h"), call(1), call(2)]


CHANGES = {
    "a field": lambda messages: setattr(messages[0], "content", "HELLO"),
    "an entry of an empty dict": lambda messages: messages[0].additional_kwargs.update(a=1),
    "an entry deep inside": lambda messages: messages[1].tool_calls[0]["args"]["ids"].append(3),
    "a value deep inside": lambda messages: messages[2].response_metadata["usage"].update(tokens=9),
    "an extra attribute": lambda messages: setattr(messages[0], "mood", "good"),
    "an object": lambda messages: messages.__setitem__(1, messages[1].model_copy()),
    "a missing end": lambda messages: messages.pop(),
    "the order": lambda messages: messages.reverse(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_in_place_breaks_the_print(change):
    messages = talk()
    printed = ListPrint(messages)
    assert printed.kept(messages)
    assert printed.kept([*messages, HumanMessage("more")])
    CHANGES[change](messages)
    assert not printed.kept(messages)


def test_a_print_grows_with_its_list():
    messages = talk()
    grown = ListPrint(messages).extended([call(3)])
    assert grown.kept([*messages, grown.objects[3]])
    assert not grown.kept([*messages, call(3)])


def test_a_value_that_cannot_be_walked_has_no_print():
    assert print_of({"a": [1, object()]}) is None
    assert print_of({"a": [1, {"b": (2, None)}]}) is not None
    with pytest.raises(TypeError):
        ListPrint([HumanMessage("hello", additional_kwargs={"a": object()})])


def test_objects_are_nobody_elses_only_while_nobody_holds_any_part():
    printed = ListPrint(talk())
    assert printed.is_sole()
    for hold in (
        lambda: printed.objects[0],
        lambda: printed.objects[1].tool_calls,
        lambda: printed.objects[1].tool_calls[0]["args"]["ids"],
        lambda: printed.objects[0].additional_kwargs,
    ):
        held = hold()
        assert not printed.is_sole()
        del held
        assert printed.is_sole()


def test_a_run_leaves_its_objects_to_the_next_without_the_cycle_collector():
    with dalsegno.connect("memory://") as ds:
        builder = StateGraph(MessagesState).add_node(
            "model", lambda state: {"messages": [call(len(state["messages"]))]}
        )
        graph = builder.add_edge(START, "model").compile(checkpointer=ds.checkpointer)
        config = {"configurable": {"thread_id": "t"}}
        gc.collect()
        gc.disable()
        try:
            for _ in range(3):
                graph.invoke({"messages": [("user", "hello")]}, config)
                held = ds.checkpointer._memo._held["t", ""].prints["messages"]
                assert held.is_sole()
                del held
        finally:
            gc.enable()


def test_a_result_the_caller_keeps_is_not_handed_to_the_next_run():
    seen = []

    def model(state: MessagesState) -> dict[str, Any]:
        seen.append(state["messages"][0])
        return {"messages": [call(len(state["messages"]))]}

    with dalsegno.connect("memory://") as ds:
        graph = StateGraph(MessagesState).add_node(model).add_edge(START, "model").compile(checkpointer=ds.checkpointer)
        config = {"configurable": {"thread_id": "t"}}
        kept = graph.invoke({"messages": [("user", "hello")]}, config)
        graph.invoke({"messages": [("user", "again")]}, config)
        assert seen[1] is not kept["messages"][0]
        assert seen[1] == kept["messages"][0]


def test_templates_say_what_is_missing():
    memo = Memo()
    memo.learn(7, [((1, 1), "a"), ((1, 3), "c")])
    known, holes = memo.known(7, [[1, 1, 4], [2, 1, 1]])
    assert known == ["a", MISSING, "c", MISSING, MISSING]
    assert holes == [[1, 2, 2], [1, 4, 4], [2, 1, 1]]


def test_the_least_recently_used_thread_is_forgotten_first():
    memo = Memo(most_elements=3)
    memo.learn(1, [((1, 1), "a"), ((1, 2), "b")])
    memo.learn(2, [((1, 1), "c"), ((1, 2), "d")])
    assert memo.known(1, [[1, 1, 1]])[0] == [MISSING]
    assert memo.known(2, [[1, 1, 2]])[0] == ["c", "d"]
