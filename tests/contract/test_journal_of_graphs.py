"""The journal of an unmodified graph: each thing said once, by whom, and what became of it; in the state's own commit."""

from __future__ import annotations

import asyncio
import operator
import time
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Send, interrupt

import dalsegno
from dalsegno.errors import CheckpointNotFound, HeadMoved, Misuse, ThreadNotFound
from dalsegno.langgraph import requests

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


def told(ds: Any, **where: Any) -> list[tuple[str, str, str]]:
    return [(event.kind.value, event.author, event.text) for event in ds.journal.read("t", **where)]


def line(saver: Any, *nodes: Any, schema: Any = MessagesState) -> Any:
    """A graph of nodes in a row, each named as its function."""
    builder = StateGraph(schema)
    previous = START
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(previous, node.__name__)
        previous = node.__name__
    return builder.compile(checkpointer=saver)


async def test_kinds_and_authors_of_an_agents_turn(ads, call):
    def model(state: Any) -> Any:
        calls = [{"name": "look_up", "args": {"city": "上海"}, "id": "c1"}]
        return {"messages": [AIMessage("let me see", tool_calls=calls, id="m1")]}

    def tools(state: Any) -> Any:
        return {"messages": [ToolMessage("sunny, 20°", tool_call_id="c1", name="look_up", id="r1")]}

    def reviewer(state: Any) -> Any:
        return {"messages": [AIMessage("sunny", id="m2"), AIMessage("checked", name="critic", id="m3")]}

    graph = line(ads.checkpointer, model, tools, reviewer)
    given = [
        SystemMessage("be kind", id="s"),
        HumanMessage("weather?", id="h"),
        HumanMessage("now", name="Ann", id="h2"),
    ]
    await call(graph, "invoke", {"messages": given}, CONFIG)
    events = await call(ads.journal, "read", "t")
    assert [(event.kind, event.author) for event in events] == [
        ("message", "system"),
        ("message", "user"),
        ("message", "Ann"),
        ("tool_call", "model"),
        ("tool_result", "look_up"),
        ("message", "reviewer"),
        ("message", "critic"),
    ]
    assert [event.seq for event in events] == list(range(1, 8))
    assert events[1].coordinate == "#2 user"
    assert [event.payload for event in events] == (await call(graph, "get_state", CONFIG)).values["messages"]
    assert "上海" in events[3].text
    assert events[4].text == "sunny, 20°"
    assert all(event.at.utcoffset() is not None for event in events)
    assert {event.checkpoint_id for event in events} <= {info.checkpoint_id for info in ads.threads.checkpoints("t")}


def test_edits_and_deletions_are_told_once(ds):
    answers = {
        "1": [AIMessage("first", id="a")],
        "2": [AIMessage("second, better", id="a"), RemoveMessage(id="1")],
        "3": [RemoveMessage(id=REMOVE_ALL_MESSAGES), AIMessage("only this", id="9")],
    }

    def model(state: Any) -> Any:
        return {"messages": answers[state["messages"][-1].id]}

    graph = line(ds.checkpointer, model)
    for number in "123":
        graph.invoke({"messages": [HumanMessage(f"say {number}", id=number)]}, CONFIG)
    events = told(ds)
    assert events[:7] == [
        ("message", "user", "say 1"),
        ("message", "model", "first"),
        ("message", "user", "say 2"),
        ("edit", "model", "second, better"),
        ("delete", "user", ""),
        ("message", "user", "say 3"),
        ("message", "model", "only this"),
    ]
    assert sorted(events[7:]) == [("delete", "model", ""), ("delete", "user", ""), ("delete", "user", "")]
    graph.update_state(CONFIG, {"messages": [HumanMessage("say 1", id="1")]})
    assert told(ds)[10:] == [("message", "user", "say 1")]  # once more, after it was gone
    assert ds.threads.check().clean


def test_a_message_seen_by_several_channels_is_told_once(ds):
    class State(TypedDict, total=False):
        messages: Annotated[list[AnyMessage], add_messages]
        history: Annotated[list[AnyMessage], operator.add]

    def keeper(state: State) -> Any:
        return {"history": list(state["messages"]), "messages": [AIMessage("both", id="b")]}

    def again(state: State) -> Any:
        return {"history": [AIMessage("new in both", id="n")], "messages": [AIMessage("new in both", id="n")]}

    line(ds.checkpointer, keeper, again, schema=State).invoke({"messages": [HumanMessage("hello", id="h")]}, CONFIG)
    assert told(ds) == [
        ("message", "user", "hello"),
        ("message", "keeper", "both"),
        ("message", "again", "new in both"),
    ]


def test_messages_without_an_id_are_each_told_once(ds):
    class State(TypedDict, total=False):
        lines: Annotated[list[AnyMessage], operator.add]

    def echo(state: State) -> Any:
        return {"lines": [AIMessage("same words")]}

    graph = line(ds.checkpointer, echo, schema=State)
    for _ in range(3):
        graph.invoke({"lines": [HumanMessage("same words")]}, CONFIG)
        ds.checkpointer._memo.forget("t")
    assert [author for _, author, _ in told(ds)] == ["user", "echo"] * 3


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_forks_lineage_has_its_own_events_and_those_before_it(ds, durability):
    def model(state: Any) -> Any:
        return {"messages": [AIMessage(f"re: {state['messages'][-1].content}")]}

    graph = line(ds.checkpointer, model)
    for text in ("one", "two"):
        graph.invoke({"messages": [HumanMessage(text)]}, CONFIG, durability=durability)
    main = graph.get_state(CONFIG).config["configurable"]["checkpoint_id"]
    (point,) = [
        each for each in graph.get_state_history(CONFIG) if len(each.values.get("messages", [])) == 2 and not each.next
    ]
    at = point.config["configurable"]["checkpoint_id"]
    graph.invoke({"messages": [HumanMessage("other")]}, point.config, durability=durability)
    texts = lambda **where: [text for _, _, text in told(ds, **where)]  # noqa: E731 - one line read five times
    assert texts() == ["one", "re: one", "other", "re: other"]
    assert texts(checkpoint_id=main) == ["one", "re: one", "two", "re: two"]
    assert texts(checkpoint_id=at) == ["one", "re: one"]
    ds.journal.append("t", "decision", "Ann", "keep the fork")
    assert texts() == ["one", "re: one", "other", "re: other", "keep the fork"]
    assert texts(checkpoint_id=main) == ["one", "re: one", "two", "re: two"]
    assert [event.text for event in ds.journal.search("t", "two")] == []
    assert [event.text for event in ds.journal.search("t", "other")] == ["re: other", "other"]
    back = next(
        each for each in graph.get_state_history(CONFIG) if each.config["configurable"]["checkpoint_id"] == main
    )
    graph.invoke({"messages": [HumanMessage("three")]}, back.config, durability=durability)
    assert texts() == ["one", "re: one", "two", "re: two", "three", "re: three"]
    with pytest.raises(CheckpointNotFound):
        ds.journal.read("t", checkpoint_id="none")
    assert ds.threads.check().clean


@pytest.mark.parametrize("persistent", [False, True])
def test_what_a_subgraph_hands_up_is_told_once_by_its_own_node(ds, persistent):
    def inner_model(state: Any) -> Any:
        return {"messages": [AIMessage(f"inside {len(state['messages'])}")]}

    def inner_check(state: Any) -> Any:
        return {"messages": [AIMessage("checked")]}

    def after(state: Any) -> Any:
        return {"messages": [AIMessage("outside")]}

    child = line(True if persistent else None, inner_model, inner_check)
    builder = StateGraph(MessagesState)
    builder.add_node("child", child)
    builder.add_node("after", after)
    builder.add_edge(START, "child")
    builder.add_edge("child", "after")
    graph = builder.compile(checkpointer=ds.checkpointer)
    graph.invoke({"messages": [HumanMessage("in")]}, CONFIG)
    assert told(ds) == [
        ("message", "user", "in"),
        ("message", "inner_model", "inside 1"),
        ("message", "inner_check", "checked"),
        ("message", "after", "outside"),
    ]
    graph.invoke({"messages": [HumanMessage("again")]}, CONFIG)
    assert [author for _, author, _ in told(ds)] == ["user", "inner_model", "inner_check", "after"] * 2
    assert ds.threads.check().clean


def test_each_worker_of_a_fan_out_is_named(ds):
    class State(TypedDict, total=False):
        messages: Annotated[list[AnyMessage], add_messages]

    def one(job: Any) -> Any:
        return {"messages": [AIMessage(f"one {job['n']}")]}

    def two(job: Any) -> Any:
        return {"messages": [AIMessage(f"two {job['n']}")]}

    builder = StateGraph(State)
    builder.add_node("one", one)
    builder.add_node("two", two)
    builder.add_conditional_edges(
        START, lambda _: [Send("one", {"n": 1}), Send("two", {"n": 2}), Send("one", {"n": 3})], ["one", "two"]
    )
    builder.compile(checkpointer=ds.checkpointer).invoke({"messages": [HumanMessage("go")]}, CONFIG)
    assert told(ds) == [
        ("message", "user", "go"), ("message", "one", "one 1"), ("message", "two", "two 2"), ("message", "one", "one 3"),
    ]  # fmt: skip


def test_an_author_is_known_after_a_restart_between_write_and_checkpoint(store_url):
    ds = dalsegno.connect(store_url)

    def left(state: Any) -> Any:
        return {"messages": [AIMessage("from the left")]}

    def right(state: Any) -> Any:
        return {"messages": [AIMessage(f"from the right: {interrupt('?')}")]}

    def compiled() -> Any:
        builder = StateGraph(MessagesState)
        builder.add_node("left", left)
        builder.add_node("right", right)
        builder.add_edge(START, "left")
        builder.add_edge(START, "right")
        return builder.compile(checkpointer=ds.checkpointer)

    compiled().invoke({"messages": [HumanMessage("go")]}, CONFIG)
    if store_url != "memory://":
        ds.close()
        ds = dalsegno.connect(store_url)
    dalsegno.resume(compiled(), "t", "yes")
    assert told(ds) == [
        ("message", "user", "go"), ("message", "left", "from the left"), ("message", "right", "from the right: yes"),
    ]  # fmt: skip
    ds.close()


def test_events_come_and_go_with_their_checkpoint(ds, put):
    config = put(ds, "t", messages=[HumanMessage("one", id="1")])
    put(ds, "t", config, messages=[HumanMessage("one", id="1"), AIMessage("two", id="2")])
    with pytest.raises(HeadMoved):
        put(ds, "t", config, messages=[HumanMessage("one", id="1"), AIMessage("lost", id="3")])
    assert [text for _, _, text in told(ds)] == ["one", "two"]
    real, ds.store_backend._statements = ds.store_backend._statements, dict(ds.store_backend._statements)
    ds.store_backend._statements["event_add"] = "INSERT INTO ds_no_such_table VALUES (1)"
    head = ds.checkpointer.get_tuple(CONFIG)
    with pytest.raises(dalsegno.errors.StoreError):
        put(
            ds,
            "t",
            head.config,
            messages=[HumanMessage("one", id="1"), AIMessage("two", id="2"), AIMessage("three", id="4")],
        )
    ds.store_backend._statements = real
    assert ds.checkpointer.get_tuple(CONFIG).config == head.config
    assert [text for _, _, text in told(ds)] == ["one", "two"]
    assert ds.threads.check().clean


TALK = [
    ("user", "我想退掉昨天买的蓝色毛衣，订单号是 A-1042。"),
    ("assistant", "好的，我来查一下退货政策。The refund policy allows 30 days."),
    ("user", "Please refund to my Visa card, not store credit."),
    ("assistant", "已为您办理退款，三到五个工作日到账。"),
    ("user", "谢谢！And change my shipping address to 北京路 12 号, O'Brien 收。"),
]


QUERIES: list[tuple[str, list[int] | None]] = [
    ("退款", [4]),
    ("毛衣", [1]),
    ("refund", [3, 2]),
    ("refund policy", [2]),
    ("VISA", [3]),
    ("A-1042", [1]),
    ("北京路", [5]),
    ("收", [5]),
    ("退货 policy", [2]),
    ("O'Brien", [5]),
    ("工作日到账", [4]),
    ("nothing of this", None),
    ("量子", []),
    ("", []),
    ("'; DROP TABLE ds_events; --", None),
    ("%", []),
    ("\x00", []),
    ("🧵", []),
]


async def test_search_finds_chinese_and_english_best_first(ads, call):
    kinds = {"user": HumanMessage, "assistant": AIMessage}
    graph = line(ads.checkpointer, _silent)
    await call(graph, "invoke", {"messages": [kinds[who](text) for who, text in TALK]}, CONFIG)
    for query, found in QUERIES:
        got = [event.seq for event in await call(ads.journal, "search", "t", query)]
        if found is not None:
            assert (sorted(got), got[:1]) == (sorted(found), found[:1]), query
        assert [event.seq for event in await call(ads.journal, "search", "t", query, 1)] == got[:1]
    assert len(ads.journal.read("t")) == 5


def _silent(state: Any) -> Any:
    return {}


async def test_pages_of_events_join_up(ads, call):
    for n in range(7):
        await call(ads.journal, "append", "t", "note", "someone", f"note {n}")
    seen: list[int] = []
    while page := await call(ads.journal, "read", "t", after=seen[-1] if seen else 0, limit=3):
        seen += [event.seq for event in page]
    assert seen == list(range(1, 8))
    with pytest.raises(ThreadNotFound):
        await call(ads.journal, "read", "unknown")
    with pytest.raises(ThreadNotFound):
        await call(ads.journal, "search", "unknown", "x")


async def test_only_known_kinds_are_written_by_hand(ads, call):
    for kind in ("message", "tool_call", "tool_result", "decision", "approval", "note"):
        event = await call(ads.journal, "append", "t", kind, "Ann", {"text": f"a {kind}", "by": 1})
        assert (event.kind, event.author, event.text, event.payload) == (
            kind,
            "Ann",
            f"a {kind}",
            {"text": f"a {kind}", "by": 1},
        )
    for wrong in ("edit", "delete", "action", "gossip", ""):
        with pytest.raises(Misuse):
            await call(ads.journal, "append", "t", wrong, "Ann", "x")
    assert len(ads.journal.read("t")) == 6


def test_pruning_leaves_the_journal_whole(ds):
    graph = line(ds.checkpointer, _silent)
    for n in range(5):
        graph.invoke({"messages": [HumanMessage(f"{n} " + "long " * 200, id=str(n))]}, CONFIG)
    graph.update_state(CONFIG, {"messages": [RemoveMessage(id="0")]})
    before = ds.journal.read("t")
    ds.checkpointer.prune(["t"])
    assert len(ds.threads.checkpoints("t")) == 1
    after = ds.journal.read("t")
    assert [(event.seq, event.kind, event.author, event.payload) for event in after] == [
        (event.seq, event.kind, event.author, event.payload) for event in before
    ]
    assert [event.seq for event in ds.journal.search("t", "long")][:1] == [5]
    ds.checkpointer.prune(["t"], strategy="delete")
    assert [event.payload for event in ds.journal.read("t")] == [event.payload for event in before]
    assert ds.threads.check().clean


class Two(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    archive: Annotated[list[AnyMessage], add_messages]
    note: str


def _message(name: str, text: str = "hi") -> HumanMessage:
    return HumanMessage(text, id=name)


GONE: list[tuple[list[dict[str, Any]], list[str]]] = [
    (
        [{"messages": [_message("a"), _message("b")], "archive": [_message("a")]}, {"messages": [RemoveMessage("a")]}],
        [],
    ),
    ([{"messages": [_message("a")], "archive": [_message("a")]}, {"archive": [RemoveMessage("a")]}], []),
    (
        [
            {"messages": [_message("a"), _message("b")], "archive": [_message("a")]},
            {"messages": [RemoveMessage("a")]},
            {"archive": [RemoveMessage("a")]},
        ],
        ["a"],
    ),
    (
        [
            {"messages": [_message("a"), _message("b")], "archive": [_message("a")]},
            {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)], "archive": [_message("c")]},
        ],
        ["b"],
    ),
    ([{"messages": [_message("a")]}, {"messages": [RemoveMessage("a")], "archive": [_message("a")]}], []),
]


@pytest.mark.parametrize("fresh", [False, True], ids=["remembering", "forgetful"])
@pytest.mark.parametrize("case", range(len(GONE)))
def test_a_message_is_gone_only_when_no_channel_has_it(store_url, case, fresh):
    steps, gone = GONE[case]
    ds = dalsegno.connect(store_url)
    graph = line(ds.checkpointer, _silent, schema=Two)
    for step in steps:
        if fresh and store_url != "memory://":
            ds.close()
            ds = dalsegno.connect(store_url)
            graph = line(ds.checkpointer, _silent, schema=Two)
        graph.invoke(step, CONFIG)
    found = [event for event in ds.journal.read("t") if event.kind == "delete"]
    assert len(found) == len(gone)
    graph.invoke({"messages": [_message("a", "changed")]}, CONFIG)
    last = ds.journal.read("t")[-1]
    assert (last.kind, last.text) == ("message" if "a" in gone else "edit", "changed")
    assert ds.threads.check().clean
    ds.close()


def test_a_turn_does_not_say_old_messages_again(ds, monkeypatch):
    graph = line(ds.checkpointer, _silent, schema=Two)
    for n in range(3):
        graph.invoke({"messages": [_message(f"m{n}")], "archive": [_message(f"a{n}")], "note": "x"}, CONFIG)
    heard: list[str] = []
    real = requests.said_of
    monkeypatch.setattr(requests, "said_of", lambda message, node: heard.append(message.id) or real(message, node))
    graph.invoke({"messages": [_message("m3")], "note": "y"}, CONFIG)
    assert heard == ["m3"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_an_author_is_known_however_late_the_writes_are_stored(ads, call, durability, monkeypatch):
    """LangGraph saves a task's writes and the checkpoint that merges them side by side."""
    saver, late = ads.checkpointer, 0.15
    put_writes, aput_writes = saver.put_writes, saver.aput_writes

    def slow(*args: Any, **kwargs: Any) -> None:
        time.sleep(late)
        put_writes(*args, **kwargs)

    async def aslow(*args: Any, **kwargs: Any) -> None:
        await asyncio.sleep(late)
        await aput_writes(*args, **kwargs)

    monkeypatch.setattr(saver, "put_writes", slow)
    monkeypatch.setattr(saver, "aput_writes", aslow)

    def writer(state: Any) -> Any:
        return {"messages": [AIMessage("one")]}

    def editor(state: Any) -> Any:
        return {"messages": [AIMessage("two")]}

    await call(line(saver, writer, editor), "invoke", {"messages": [HumanMessage("go")]}, CONFIG, durability=durability)
    assert [event.author for event in await call(ads.journal, "read", "t")] == ["user", "writer", "editor"]
    assert not saver._requests._authors._written  # nothing stays behind
    assert not saver._steps._runs


class Thread(list[Any]):
    """A list of a class of its own."""


def test_a_list_of_a_class_of_its_own_is_stored_as_any_value(ds, put):
    dalsegno.register(Thread)
    first = put(ds, "t", thread=Thread([HumanMessage("hello", id="1")]))
    put(ds, "t", first, thread=Thread([AIMessage("hello " * 100, id="2")]), messages=[HumanMessage("hi", id="3")])
    ds.checkpointer._memo.forget("t")
    found = ds.checkpointer.get_tuple(CONFIG).checkpoint["channel_values"]["thread"]
    assert type(found) is Thread
    assert [message.id for message in found] == ["2"]
    assert told(ds) == [("message", "user", "hi")]
    assert ds.threads.check().clean
