"""What is handed over is written as it was then; what is handed out is the reader's to change."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages

import dalsegno
from dalsegno.errors import HeadMoved

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


@dalsegno.register
@dataclass
class Cart:
    items: list[str] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)


def state() -> dict[str, Any]:
    return {
        "messages": [
            HumanMessage("hello", id="1"),
            AIMessage([{"type": "text", "text": "hi"}], id="2", additional_kwargs={"a": [1]}),
        ],
        "numbers": [1, 2, 3],
        "table": {"rows": [{"x": 1}], "many": {f"k{n}": "v" * 50 for n in range(60)}},
        "cart": Cart(["apple"], {"gift": {"wrap": True}}),
        "tags": {"a", "b"},
        "bytes": bytearray(b"abc"),
    }


def spoil(values: dict[str, Any]) -> None:
    """Change everything that can be changed in place."""
    values["messages"][0].content = "spoiled"
    values["messages"][1].content[0]["text"] = "spoiled"
    values["messages"][1].additional_kwargs["a"].append(2)
    values["messages"].append(HumanMessage("more", id="3"))
    values["numbers"][0] = 99
    values["numbers"].clear()
    values["table"]["rows"][0]["x"] = 99
    values["table"]["many"].clear()
    values["cart"].items.append("pear")
    values["cart"].notes["gift"]["wrap"] = False
    values["tags"].add("c")
    values["bytes"][0] = 0
    values["new"] = 1


async def test_values_may_be_changed_as_soon_as_put_returns(ads, checkpoint, call):
    given = checkpoint(**state())
    metadata = {"source": "loop", "step": 1, "deep": {"list": [1]}}
    config = await call(
        ads.checkpointer, "put", {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, given, metadata,
        given["channel_versions"],
    )  # fmt: skip
    spoil(given["channel_values"])
    metadata["deep"]["list"].append(2)
    given["channel_versions"]["numbers"] = 99
    writes = state()
    await call(ads.checkpointer, "put_writes", config, list(writes.items()), "task")
    spoil(writes)
    found = await call(ads.checkpointer, "get_tuple", CONFIG)
    assert found.checkpoint["channel_values"] == state()
    assert found.checkpoint["channel_versions"]["numbers"] == 1
    assert found.metadata["deep"] == {"list": [1]}
    assert {channel: value for _, channel, value in found.pending_writes} == state()


async def test_what_a_reader_does_to_its_copy_is_seen_by_nobody_else(ads, put, call):
    config = put(ads, "t", metadata={"deep": {"list": [1]}}, **state())
    ads.checkpointer.put_writes(config, list(state().items()), "task")

    async def listed() -> Any:
        return next(iter(ads.checkpointer.list(CONFIG)))

    readers: list[Callable[[], Any]] = [
        lambda: call(ads.checkpointer, "get_tuple", CONFIG),
        lambda: call(ads.checkpointer, "get_tuple", config),
        listed,
    ]
    for reader in readers * 2:
        found = await reader()
        assert found.checkpoint["channel_values"] == state()
        assert {channel: value for _, channel, value in found.pending_writes} == state()
        assert found.metadata["deep"] == {"list": [1]}
        spoil(found.checkpoint["channel_values"])
        spoil({channel: value for _, channel, value in found.pending_writes})
        found.metadata["deep"]["list"].append(2)
        found.checkpoint["channel_versions"].clear()


def compiled(ds: Any, node: Any, schema: Any = MessagesState) -> Any:
    builder = StateGraph(schema)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    return builder.compile(checkpointer=ds.checkpointer)


def test_what_is_done_to_a_snapshot_is_not_in_the_next(ds):
    graph = compiled(ds, lambda state: {"messages": [AIMessage(f"answer {len(state['messages'])}")]})
    for n in range(3):
        answer = graph.invoke({"messages": [HumanMessage(f"question {n}")]}, CONFIG)
        kept = copy.deepcopy(answer["messages"])
        answer["messages"][0].content = "spoiled"
        answer["messages"].clear()
        snapshot = graph.get_state(CONFIG)
        assert snapshot.values["messages"] == kept
        snapshot.values["messages"][0].content = "spoiled"
        snapshot.values["messages"].pop()
        for past in graph.get_state_history(CONFIG):
            past.values["messages"].append(HumanMessage("spoiled")) if past.values.get("messages") else None
    assert graph.get_state(CONFIG).values["messages"] == kept


@pytest.mark.parametrize("returns", ["an update", "nothing"])
def test_a_message_a_node_changes_in_place_is_stored_changed(ds, returns):
    def node(state: Any) -> Any:
        if len(state["messages"]) > 1:
            state["messages"][0].content = f"redacted {len(state['messages'])}"
            state["messages"][0].additional_kwargs["by"] = {"node": [len(state["messages"])]}
        return {"messages": [AIMessage("done", id=f"a{len(state['messages'])}")]} if returns == "an update" else {}

    graph = compiled(ds, node)
    for n in range(3):
        answer = graph.invoke({"messages": [HumanMessage(f"question {n}", id=f"q{n}")]}, CONFIG)
        assert graph.get_state(CONFIG).values == answer
    count = len(answer["messages"])
    assert answer["messages"][0].content.startswith("redacted")
    assert [message.content for message in answer["messages"]][1:] == (
        ["done", "question 1", "done", "question 2", "done"] if returns == "an update" else ["question 1", "question 2"]
    )
    assert len(answer["messages"]) == count
    assert ds.threads.check().clean
    assert "edit" in {event.kind for event in ds.journal.read("t")}


class Deep(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: dict[str, Any]
    cart: Cart


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_any_value_a_node_changes_in_place_is_stored_changed(ds, durability):
    def node(state: Deep) -> Deep:
        state["notes"]["list"].append(len(state["notes"]["list"]))
        state["cart"].items.append("pear")
        return {"messages": [AIMessage("done")]}

    graph = compiled(ds, node, Deep)
    graph.invoke({"notes": {"list": []}, "cart": Cart()}, CONFIG, durability=durability)
    for n in range(1, 4):
        answer = graph.invoke({"messages": [HumanMessage("on")]}, CONFIG, durability=durability)
        assert answer["notes"] == {"list": list(range(n + 1))}
        assert answer["cart"].items == ["pear"] * (n + 1)
        assert graph.get_state(CONFIG).values == answer


def test_one_object_in_two_channels_or_twice_in_a_list_is_two_values(ds, put):
    message = HumanMessage("same", id="1")
    shared = ["x" * 300]
    config = put(ds, "t", a=[message, message], b=[message], c=shared, d=[shared, shared])
    found = ds.checkpointer.get_tuple(config).checkpoint["channel_values"]
    assert found == {"a": [message, message], "b": [message], "c": shared, "d": [shared, shared]}
    found["a"][0].content = "changed"
    found["d"][0].append(1)
    again = ds.checkpointer.get_tuple(config).checkpoint["channel_values"]
    assert again["a"] == [message, message]
    assert again["d"] == [shared, shared]


@pytest.mark.parametrize("how", ["pruned", "deleted"])
def test_a_run_whose_parent_went_meanwhile_is_told_instead_of_losing_half_a_list(ds, how):
    def node(state: Any) -> Any:
        if len(state["messages"]) > 1:
            if how == "pruned":
                ds.checkpointer.prune(["t"], strategy="delete")
            else:
                ds.threads.delete("t")
                ds.threads.reopen("t")
        return {"messages": [AIMessage("done")]}

    graph = compiled(ds, node)
    graph.invoke({"messages": [HumanMessage("one")]}, CONFIG, durability="sync")
    with pytest.raises(HeadMoved, match=r"the head is \(none\) now"):
        graph.invoke({"messages": [HumanMessage("two")]}, CONFIG, durability="sync")
    assert ds.checkpointer.get_tuple(CONFIG) is None
    assert len(graph.invoke({"messages": [HumanMessage("three")]}, CONFIG, durability="sync")["messages"]) == 2
    assert len(ds.threads.state("t")["messages"]) == 2
    assert ds.threads.check().clean
