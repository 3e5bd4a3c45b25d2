"""A graph that could not keep a summary, or not lose a message, loses neither: it is told which part does not fit."""

from __future__ import annotations

import logging
import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from langgraph.types import Send

import dalsegno
from dalsegno.core.compaction import CompactionPolicy, Kept
from dalsegno.core.summary import Summary
from dalsegno.errors import Misuse
from dalsegno.langgraph.compaction import compaction_node

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}
POLICY = CompactionPolicy(max_messages=6, keep_recent=2)


def graph_of(saver: Any, node: Any, schema: Any, **more: Any) -> Any:
    builder = StateGraph(schema)
    builder.add_node("answer", lambda state: {"messages": [AIMessage("noted")]})
    builder.add_node("compact", node, **more)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "compact")
    return builder.compile(checkpointer=saver)


def say(graph: Any, text: str = "Order A-1 costs $4.50.", config: Any = CONFIG) -> Any:
    return graph.invoke({"messages": [HumanMessage(text)]}, config)


async def asay(graph: Any, text: str = "Order A-1 costs $4.50.") -> Any:
    return await graph.ainvoke({"messages": [HumanMessage(text)]}, CONFIG)


# --- the channel of the summary ---------------------------------------------------------------------


@pytest.mark.parametrize("with_ds", [True, False])
@pytest.mark.parametrize("key", ["summary", "digest"])
def test_a_state_without_a_channel_for_the_summary_is_refused_at_the_first_call(ds, with_ds, key) -> None:
    node = compaction_node(POLICY, ds=ds if with_ds else None, summary_key=key)
    graph = graph_of(ds.checkpointer, node, MessagesState)
    with pytest.raises(Misuse, match=f"{key}: dict") as raised:
        say(graph)
    assert "summary_key=" in str(raised.value)
    assert len(graph.get_state(CONFIG).values["messages"]) == 2
    many = [HumanMessage(f"said {at}", id=f"m{at}") for at in range(20)]
    with pytest.raises(Misuse):
        graph_of(None, node, MessagesState).invoke({"messages": many}, CONFIG)


async def test_the_same_in_an_event_loop(ads) -> None:
    graph = graph_of(ads.checkpointer, compaction_node(POLICY, ds=ads), MessagesState)
    with pytest.raises(Misuse, match="summary_key="):
        await asay(graph)


def test_a_subgraph_without_one_is_refused_though_its_parent_has_one(ds) -> None:
    class Outer(MessagesState):
        summary: dict[str, Any]

    inner = graph_of(None, compaction_node(POLICY), MessagesState)
    builder = StateGraph(Outer)
    builder.add_node("inner", inner)
    builder.add_edge(START, "inner")
    with pytest.raises(Misuse, match="summary_key="):
        say(builder.compile(checkpointer=ds.checkpointer))


@dataclass
class Fields:
    messages: Annotated[list[AnyMessage], operator.add] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)


def test_a_node_with_a_narrower_view_keeps_the_summary_of_before(ds) -> None:
    class State(MessagesState):
        summary: dict[str, Any]

    graph = graph_of(ds.checkpointer, compaction_node(POLICY, ds=ds), State, input_schema=MessagesState)
    for at in range(12):
        state = say(graph, f"Order A-{at} costs ${at}.50.")
    assert Summary.from_json(state["summary"]).covered[0][0] == 1


class Listed(MessagesState):
    summary: Annotated[list[Any], operator.add]


class Worded(MessagesState):
    summary: Annotated[str, operator.add]


class Refusing(MessagesState):
    summary: Annotated[dict[str, Any], lambda old, new: old]


@pytest.mark.parametrize("kind", [Listed, Worded, Refusing])
def test_a_summary_channel_of_another_kind_is_refused_before_anything_is_taken_out(ds, kind) -> None:
    graph = graph_of(ds.checkpointer, compaction_node(POLICY, ds=ds), kind)
    many = [HumanMessage(f"Order A-{at} costs ${at}.50.", id=f"m{at}") for at in range(20)]
    with pytest.raises(Misuse, match="summary_key="):
        graph.invoke({"messages": many}, CONFIG)
    values = graph.get_state(CONFIG).values
    assert [message.id for message in values["messages"][:20]] == [f"m{at}" for at in range(20)]
    assert not values.get("summary")


# --- the channel of the messages --------------------------------------------------------------------


class Appended(TypedDict):
    messages: Annotated[list[AnyMessage], operator.add]
    summary: dict[str, Any]


def extending(old: list[Any], new: list[Any]) -> list[Any]:
    old.extend(new)
    return old


class Extended(TypedDict):
    messages: Annotated[list[AnyMessage], extending]
    summary: dict[str, Any]


class State(MessagesState):
    summary: dict[str, Any]


class Plain(TypedDict):
    messages: list[AnyMessage]
    summary: dict[str, Any]


class Delta(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]
    summary: dict[str, Any]


@pytest.mark.filterwarnings("ignore:.*[Bb]eta.*")
@pytest.mark.parametrize(
    ("schema", "removal"),
    [
        (Appended, "plain"),
        (Appended, "remove"),
        (Extended, "plain"),
        (Extended, "remove"),
        (State, "plain"),
        (Plain, "remove"),
        (Plain, "overwrite"),
        (Fields, "plain"),
        (Delta, "plain"),
    ],
)
def test_a_reducer_that_would_not_let_go_is_refused_with_the_right_removal(ds, schema, removal) -> None:
    graph = graph_of(ds.checkpointer, compaction_node(POLICY, removal=removal), schema)
    many = [HumanMessage(f"Order A-{at} costs ${at}.50.", id=f"m{at}") for at in range(20)]
    if schema is Plain:
        graph.nodes["answer"].bound.func = lambda state: {"messages": many}
    with pytest.raises(Misuse, match=r"removal='(remove|overwrite|plain)'") as raised:
        graph.invoke({"messages": many}, CONFIG)
    assert f"removal={removal!r}" in str(raised.value)
    values = graph.get_state(CONFIG).values
    assert len(values["messages"]) == (20 if schema is Plain else 21)
    assert not values.get("summary")


# --- a journal that never holds it ------------------------------------------------------------------


@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize(
    ("kind", "words"),
    [("none", "has no checkpointer"), ("memory", "InMemorySaver"), ("other", "another database")],
)
async def test_a_journal_that_is_not_the_graphs_is_told_once(ads, caplog, face, kind, words) -> None:
    with dalsegno.connect("memory://") as other:
        saver = {"none": None, "memory": InMemorySaver(), "other": other.checkpointer}[kind]
        graph = graph_of(saver, compaction_node(POLICY, ds=ads), State)
        many = {"messages": [HumanMessage(f"said {at}", id=f"m{at}") for at in range(20)]}
        with caplog.at_level(logging.WARNING, "dalsegno.compaction"):
            for _ in range(2):
                state = await graph.ainvoke(many, CONFIG) if face == "async" else graph.invoke(many, CONFIG)
    assert len(state["messages"]) >= 21
    told = [record.getMessage() for record in caplog.records if record.name == "dalsegno.compaction"]
    assert len(told) == 1
    assert words in told[0]
    assert "checkpointer=ds.checkpointer" in told[0]


def test_a_graph_whose_journal_fills_is_told_nothing(ds, caplog) -> None:
    graph = graph_of(ds.checkpointer, compaction_node(POLICY, ds=ds), State)
    with caplog.at_level(logging.WARNING, "dalsegno.compaction"):
        for at in range(8):
            state = say(graph, f"said {at}")
    assert len(state["messages"]) <= 6
    assert not caplog.records


@pytest.mark.parametrize("face", ["sync", "async"])
async def test_an_agent_whose_journal_never_fills_is_told_once(ads, caplog, face) -> None:
    agents = pytest.importorskip("langchain.agents", reason="needs langchain for its agents")
    from langchain_core.language_models import FakeListChatModel

    from dalsegno.langgraph.middleware import ContinuityMiddleware

    model = FakeListChatModel(responses=["noted"])
    agent = agents.create_agent(model, middleware=[ContinuityMiddleware(POLICY, ds=ads)], checkpointer=InMemorySaver())
    with caplog.at_level(logging.WARNING, "dalsegno.compaction"):
        for at in range(8):
            asked = {"messages": [HumanMessage(f"said {at}")]}
            state = await agent.ainvoke(asked, CONFIG) if face == "async" else agent.invoke(asked, CONFIG)
    assert len(state["messages"]) == 16
    told = [record.getMessage() for record in caplog.records if record.name == "dalsegno.compaction"]
    assert len(told) == 1
    assert "InMemorySaver" in told[0]


def test_a_list_that_is_sent_to_the_node_is_held_against_the_channel(ds) -> None:
    def dispatch(state: Any) -> Any:
        return [Send("compact", {"messages": state["messages"][:10]})]

    builder = StateGraph(State)
    builder.add_node("answer", lambda state: {"messages": [AIMessage("noted")]})
    builder.add_node("compact", compaction_node(POLICY))
    builder.add_edge(START, "answer")
    builder.add_conditional_edges("answer", dispatch, ["compact"])
    many = [HumanMessage(f"Order A-{at} costs ${at}.50.", id=f"m{at}") for at in range(20)]
    state = builder.compile(checkpointer=ds.checkpointer).invoke({"messages": many}, CONFIG)
    assert [message.id for message in state["messages"][:-1]] == [f"m{at}" for at in range(8, 20)]


def test_who_stops_the_program_in_a_summarizer_stops_the_run(ds) -> None:
    class Stopping:
        name = "stopping"
        budget_tokens = 4000

        def summarize(self, piece: Any) -> str:
            raise SystemExit(3)

        async def asummarize(self, piece: Any) -> str:
            raise SystemExit(3)

    graph = graph_of(ds.checkpointer, compaction_node(POLICY, summarizer=Stopping(), fallback=True), State)
    many = [HumanMessage(f"said {at}", id=f"m{at}") for at in range(20)]
    with pytest.raises(SystemExit):
        graph.invoke({"messages": many}, CONFIG)
    assert len(graph.get_state(CONFIG).values["messages"]) == 21


async def test_what_is_no_summary_is_not_kept(ads) -> None:
    ads.journal.append("t", "note", "ana", "Order A-1 costs $4.50.")
    refused = Kept(reason="the summarizer said nothing")
    for wrong, words in ((None, "regenerate"), (refused, "the summarizer said nothing"), ({}, "regenerate")):
        with pytest.raises(Misuse, match=words):
            ads.summaries.keep("t", wrong)
        with pytest.raises(Misuse, match=words):
            await ads.summaries.akeep("t", wrong)
    assert ads.summaries.of("t") == []


def test_a_run_that_writes_at_its_end_is_told_that_the_next_one_compacts(ds, caplog) -> None:
    graph = graph_of(ds.checkpointer, compaction_node(POLICY, ds=ds), State)
    many = [HumanMessage(f"said {at}", id=f"m{at}") for at in range(20)]
    with caplog.at_level(logging.WARNING, "dalsegno.compaction"):
        state = graph.invoke({"messages": many}, CONFIG, durability="exit")
        assert len(state["messages"]) == 21
        assert len(graph.invoke({"messages": [HumanMessage("more")]}, CONFIG, durability="exit")["messages"]) <= 6
    told = [record.getMessage() for record in caplog.records if record.name == "dalsegno.compaction"]
    assert len(told) == 1
    assert "A later call compacts it" in told[0]
    assert "checkpointer=" not in told[0]


def in_place(old: list[Any], new: list[Any]) -> list[Any]:
    gone = {message.id for message in new if isinstance(message, RemoveMessage)}
    old[:] = [message for message in [*old, *new] if message.id not in gone]
    return old


class InPlace(TypedDict):
    messages: Annotated[list[AnyMessage], in_place]
    summary: dict[str, Any]


def test_a_reducer_that_changes_its_own_list_is_tried_on_another(ds) -> None:
    graph = graph_of(ds.checkpointer, compaction_node(POLICY), InPlace)
    many = [HumanMessage(f"Order A-{at} costs ${at}.50.", id=f"m{at}") for at in range(20)]
    state = graph.invoke({"messages": many}, CONFIG)
    assert [message.content for message in state["messages"]] == ["Order A-19 costs $19.50.", "noted"]
