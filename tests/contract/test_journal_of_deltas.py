"""The journal of a graph with delta channels, which leave no value in a checkpoint: what was said is told all the same."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import (
    REMOVE_ALL_MESSAGES,
    _messages_delta_reducer,
    add_messages,
)
from langgraph.types import Overwrite, interrupt

import dalsegno
from dalsegno.imports import import_file

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}

pytestmark = pytest.mark.filterwarnings("ignore:.*[Bb]eta.*")

LONG = "a long result " * 40


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=3)]
    archive: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=100)]
    plain: Annotated[list[AnyMessage], add_messages]


def line(saver: Any, *nodes: Any, schema: Any = State) -> Any:
    builder = StateGraph(schema)
    previous = START
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(previous, node.__name__)
        previous = node.__name__
    return builder.compile(checkpointer=saver)


def told(ds: Any, **where: Any) -> list[tuple[str, str, str]]:
    return [(event.kind.value, event.author, event.text) for event in ds.journal.read("t", **where)]


def model(state: Any) -> Any:
    calls = [{"name": "look_up", "args": {"city": "上海"}, "id": "c1"}]
    return {"messages": [AIMessage("let me see", tool_calls=calls, id=f"m{len(state['messages'])}")]}


def tools(state: Any) -> Any:
    return {"messages": [ToolMessage(LONG, tool_call_id="c1", name="look_up", id=f"r{len(state['messages'])}")]}


TURN = [
    ("message", "user", "weather?"),
    ("tool_call", "model", 'let me see\nlook_up({"city": "上海"})'),
    ("tool_result", "look_up", LONG),
]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_each_turn_is_told_with_its_authors(ads, call, durability):
    graph = line(ads.checkpointer, model, tools)
    for turn in range(5):  # over snapshots and between them
        given = {"messages": [HumanMessage("weather?", id=f"h{turn}")]}
        await call(graph, "invoke", given, CONFIG, durability=durability)
    events = await call(ads.journal, "read", "t")
    assert [(event.kind, event.author, event.text) for event in events] == TURN * 5
    assert [event.payload for event in events] == (await call(graph, "get_state", CONFIG)).values["messages"]
    assert {event.checkpoint_id for event in events} <= {info.checkpoint_id for info in ads.threads.checkpoints("t")}
    assert [event.seq for event in await call(ads.journal, "search", "t", "上海", 2)] == [14, 11]
    assert ads.threads.check().clean
    assert not ads.checkpointer._steps._runs  # nothing of a run that is over is held


def test_edits_and_deletions_are_told_once(ds):
    graph = line(ds.checkpointer, model)
    graph.invoke({"messages": [HumanMessage("one", id="1"), HumanMessage("two", id="2")]}, CONFIG)
    graph.update_state(CONFIG, {"messages": [HumanMessage("two", id="2")]}, as_node="model")  # the same once more
    assert told(ds)[2:] == [TURN[1]]
    graph.update_state(CONFIG, {"messages": [HumanMessage("two, better", id="2"), RemoveMessage(id="1")]})
    assert told(ds)[3:] == [("edit", "user", "two, better"), ("delete", "user", "")]
    graph.update_state(CONFIG, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("new", id="3")]})
    assert told(ds)[5:] == [("message", "user", "new"), ("delete", "user", ""), ("delete", "model", "")]
    graph.update_state(CONFIG, {"messages": Overwrite([HumanMessage("one", id="1")])})
    assert told(ds)[8:] == [("message", "user", "one"), ("delete", "user", "")]
    assert ds.threads.check().clean


def test_a_message_that_a_node_changed_and_wrote_again_is_an_edit(ds):
    def mutate(state: Any) -> Any:
        message = state["messages"][0]
        message.content = "changed in place"
        return {"messages": [message]}

    graph = line(ds.checkpointer, mutate)
    graph.invoke({"messages": [HumanMessage("first", id="1")]}, CONFIG, durability="sync")
    assert told(ds) == [("message", "user", "first"), ("edit", "mutate", "changed in place")]


def test_what_stands_in_another_channel_is_not_gone(ds):
    graph = line(ds.checkpointer, model)
    given = [HumanMessage(text, id=text) for text in ("a", "b", "c")]
    graph.update_state(CONFIG, {"messages": given, "archive": given[:1], "plain": given[1:2]}, as_node="model")
    graph.update_state(CONFIG, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]}, as_node="model")
    assert told(ds) == [("message", "user", text) for text in "bac"] + [("delete", "user", "")]
    graph.update_state(CONFIG, {"archive": [RemoveMessage(id="a")]}, as_node="model")
    assert told(ds)[4:] == [("delete", "user", "")]
    assert ds.threads.check().clean


def test_what_a_plain_channel_loses_is_not_gone_while_a_delta_channel_has_it(ds):
    graph = line(ds.checkpointer, model)
    given = [HumanMessage(text, id=text) for text in ("a", "b")]
    graph.update_state(CONFIG, {"messages": given[:1], "plain": given}, as_node="model")
    graph.update_state(CONFIG, {"plain": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]}, as_node="model")
    assert [kind for kind, _, _ in told(ds)] == ["message", "message", "delete"]
    graph.update_state(CONFIG, {"messages": [RemoveMessage(id="a")]}, as_node="model")
    assert [kind for kind, _, _ in told(ds)] == ["message", "message", "delete", "delete"]
    assert ds.threads.check().clean


def test_a_new_process_goes_on_where_the_journal_ends(store_url):
    ds = dalsegno.connect(store_url)

    def ask(state: Any) -> Any:
        return {"messages": [AIMessage(f"told {interrupt('?')}", id=f"a{len(state['messages'])}")]}

    for turn in range(4):
        line(ds.checkpointer, model, ask).invoke({"messages": [HumanMessage(f"turn {turn}", id=f"h{turn}")]}, CONFIG)
        if store_url != "memory://":
            ds.close()
            ds = dalsegno.connect(store_url)
        dalsegno.resume(line(ds.checkpointer, model, ask), "t", f"{turn}")
    one = lambda n: [("message", "user", f"turn {n}"), TURN[1], ("message", "ask", f"told {n}")]  # noqa: E731
    assert told(ds) == [event for turn in range(4) for event in one(turn)]
    assert ds.threads.check().clean
    ds.close()


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_fork_has_its_own_events_and_those_before_it(ds, durability):
    def answer(state: Any) -> Any:
        return {"messages": [AIMessage(f"re: {state['messages'][-1].content}")]}

    graph = line(ds.checkpointer, answer)
    for text in ("one", "two"):
        graph.invoke({"messages": [HumanMessage(text)]}, CONFIG, durability=durability)
    main = graph.get_state(CONFIG).config["configurable"]["checkpoint_id"]
    (point,) = [
        each for each in graph.get_state_history(CONFIG) if len(each.values.get("messages", [])) == 2 and not each.next
    ]
    graph.invoke({"messages": [HumanMessage("other")]}, point.config, durability=durability)
    assert [text for *_, text in told(ds)] == ["one", "re: one", "other", "re: other"]
    assert [text for *_, text in told(ds, checkpoint_id=main)] == ["one", "re: one", "two", "re: two"]
    assert ds.threads.check().clean


def test_what_a_subgraph_hands_up_is_told_once(ds):
    def inside(state: Any) -> Any:
        return {"messages": [AIMessage("inside", id="i"), RemoveMessage(id="h")]}

    builder = StateGraph(State)
    builder.add_node("child", line(None, inside))
    builder.add_edge(START, "child")
    builder.compile(checkpointer=ds.checkpointer).invoke({"messages": [HumanMessage("in", id="h")]}, CONFIG)
    assert told(ds) == [("message", "user", "in"), ("message", "inside", "inside")]  # the root still has "in"


def test_a_copied_checkpoint_brings_what_its_parent_lacks(ds):
    graph = line(ds.checkpointer, model)
    graph.invoke({"messages": [HumanMessage("one", id="1")]}, CONFIG)
    head = graph.get_state(CONFIG)
    graph.update_state(head.config, None, as_node="__copy__")
    assert told(ds) == [("message", "user", "one"), ("tool_call", "assistant", TURN[1][2])]
    assert ds.threads.check().clean


def test_messages_that_a_reducer_makes_without_an_id_are_told_once(ds):
    def renewed(state: list[Any], writes: Sequence[Any]) -> list[Any]:
        both = [*state, *(item for write in writes for item in write)]
        return [HumanMessage(message.content) for message in both]  # new objects each time

    schema: Any = TypedDict("S", {"messages": Annotated[list[Any], DeltaChannel(renewed)]})

    def echo(state: Any) -> Any:
        return {"messages": [AIMessage("same words")]}

    graph = line(ds.checkpointer, echo, schema=schema)
    for _ in range(3):
        graph.invoke({"messages": [HumanMessage("same words")]}, CONFIG)
    assert [kind for kind, *_ in told(ds)] == ["message"] * 6


def test_a_late_checkpoint_tells_what_was_said_then(ds):
    """A checkpoint that is written while the next step is applied already brings its own messages, not the next one's."""
    store, go = ds.store_backend, threading.Event()
    real = store.run

    def slow(op: Any, *, write: bool, key: Any = None) -> Any:
        if write and threading.current_thread() is not threading.main_thread() and not go.is_set():
            go.wait(0.4)
        return real(op, write=write, key=key)

    def first(state: Any) -> Any:
        return {"messages": [AIMessage("one", id="1")]}

    def second(state: Any) -> Any:
        return {"messages": [AIMessage("two", id="2")]}

    def third(state: Any) -> Any:
        return {"messages": [RemoveMessage(id="1")]}

    store.run = slow
    try:
        line(ds.checkpointer, first, second, third).invoke(
            {"messages": [HumanMessage("go", id="h")]}, CONFIG, durability="async"
        )
    finally:
        go.set()
        store.run = real
    puts = [
        (info.step, [text for *_, text in told(ds, checkpoint_id=info.checkpoint_id)])
        for info in ds.threads.checkpoints("t")
    ]
    everything = ["go", "one", "two", ""]
    assert puts == [(step, everything[: step + 1]) for step in (3, 2, 1, 0, -1)]


def test_a_message_costs_its_long_text_once(ds):
    graph = line(ds.checkpointer, model, tools)
    graph.invoke({"messages": [HumanMessage("weather?", id="h")]}, CONFIG)
    before = ds.threads.bytes("t")
    for turn in range(10):
        graph.update_state(CONFIG, {"messages": [HumanMessage(f"{turn}" * 3000, id=f"u{turn}")]}, as_node="tools")
    assert ds.threads.bytes("t") - before < 10 * 3000 * 1.5


@pytest.mark.parametrize("channel", ["messages", "archive"])
@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_an_imported_history_is_told_like_one_that_was_run(ds, tmp_path, durability, channel):
    def asker(state: Any) -> Any:
        return {channel: [AIMessage("let me see", id=f"m{len(state[channel])}")]}

    def closer(state: Any) -> Any:
        return {channel: [AIMessage("done", id=f"c{len(state[channel])}")]}

    def shorten(state: Any) -> Any:
        return {channel: [RemoveMessage(id=state[channel][0].id), HumanMessage("again", id="h1")]}

    def run(saver: Any) -> None:
        graph = line(saver, asker, closer)
        for turn in range(4):
            graph.invoke({channel: [HumanMessage("weather?", id=f"h{turn}")]}, CONFIG, durability=durability)
        line(saver, shorten).invoke({channel: []}, CONFIG, durability=durability)

    run(ds.checkpointer)
    with SqliteSaver.from_conn_string(str(tmp_path / "stock.db")) as saver:
        run(saver)
    done = import_file(ds, tmp_path / "stock.db", "imported")
    ours, theirs = ds.journal.read("t"), ds.journal.read("imported")
    assert [event.kind for event in ours] == ["message"] * 12 + ["edit", "delete"]
    assert [(event.kind, event.text) for event in theirs] == [(event.kind, event.text) for event in ours]
    if (channel, durability) != ("messages", "exit"):  # a snapshot alone is left there, which names no node
        assert [event.author for event in theirs] == [event.author for event in ours]
    assert done.events == 14
    assert ds.threads.check().clean
