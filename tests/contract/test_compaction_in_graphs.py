"""In a graph or an agent only the message list gets shorter: the summary tells it with the journal's coordinates, nothing else is touched."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages

import dalsegno
from dalsegno.core.compaction import CompactionPolicy, Settled
from dalsegno.core.summary import Summary, numbers_in
from dalsegno.errors import Missing, Misuse, ThreadNotFound
from dalsegno.langgraph.compaction import (
    aregenerate,
    compact,
    compaction_node,
    regenerate,
    render_summary,
    who_said,
)

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}
POLICY = CompactionPolicy(max_messages=10, keep_recent=4)
ATTACHMENTS = [
    {"id": "a1", "kind": "file", "ref": "s3://bucket/报告.pdf", "caption": None, "pages": 12, "tags": ["x", 1.5]}
]


class State(MessagesState):
    summary: dict[str, Any]
    attachments: list[dict[str, Any]]
    facts: dict[str, Any]


def answering(state: Any) -> dict[str, Any]:
    number = len(state["messages"])
    return {"messages": [AIMessage(f"Order A-{number} of ${number}.25 is noted.")]}


def graph_of(saver: Any, node: Any, schema: Any = State, answer: Any = answering) -> Any:
    builder = StateGraph(schema)
    builder.add_node("answer", answer)
    builder.add_node("compact", node)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "compact")
    return builder.compile(checkpointer=saver)


def talk(graph: Any, turns: int, first: int = 1) -> Any:
    state = None
    for at in range(first, first + turns):
        state = graph.invoke(
            {"messages": [HumanMessage(f"Please order {at} chairs by 2024-07-{at:02}, {at}.50 EUR each.")]}, CONFIG
        )
    return state


def test_only_the_list_gets_shorter_and_coordinates_are_the_journals(ds) -> None:
    graph = graph_of(ds.checkpointer, compaction_node(POLICY, ds=ds))
    graph.invoke({"messages": [HumanMessage("hello")], "attachments": ATTACHMENTS, "facts": {"预算": "五万元"}}, CONFIG)
    state = talk(graph, 12)
    assert len(state["messages"]) <= 10
    assert state["attachments"] == ATTACHMENTS
    assert state["facts"] == {"预算": "五万元"}
    summary = Summary.from_json(state["summary"])
    events = {event.seq: event for event in ds.journal.read("t")}
    covered = list(numbers_in(summary.covered))
    assert len(covered) >= 15
    kept = {message.id for message in state["messages"]}
    for line in summary.lines:
        for number in numbers_in(line.numbers):
            assert events[number].author in line.authors
            assert events[number].payload.id not in kept
    for row in summary.facts.history():
        number = int(row.said.coordinate.split()[0][1:])
        assert row.said.coordinate == events[number].coordinate
        assert row.said.fact.text in events[number].text
    said = who_said(ds, "t", covered[2])
    assert said.text == events[covered[2]].text
    with pytest.raises(Missing):
        who_said(ds, "t", 999)


async def test_the_same_in_an_async_graph(ads) -> None:
    graph = graph_of(ads.checkpointer, compaction_node(POLICY, ds=ads))
    for at in range(8):
        state = await graph.ainvoke({"messages": [HumanMessage(f"Order {at} chairs.")]}, CONFIG)
    assert len(state["messages"]) <= 10
    assert Summary.from_json(state["summary"]).covered


class Delta(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]
    summary: dict[str, Any]


@pytest.mark.filterwarnings("ignore:.*[Bb]eta.*")
@pytest.mark.parametrize(
    ("schema", "removal"),
    [(State, "remove"), (State, "overwrite"), (Delta, "remove")],
    ids=["remove", "overwrite", "delta"],
)
def test_what_a_summary_takes_out_is_no_deletion(ds, schema, removal) -> None:
    graph = graph_of(ds.checkpointer, compaction_node(POLICY, ds=ds, removal=removal), schema)
    state = talk(graph, 12)
    assert Summary.from_json(state["summary"]).covered
    assert [(event.seq, event.kind) for event in ds.journal.read("t")] == [(seq, "message") for seq in range(1, 25)]
    graph.update_state(CONFIG, {"messages": [RemoveMessage(id=state["messages"][-1].id)]}, as_node="compact")
    assert [event.kind for event in ds.journal.read("t", after=24)] == ["delete"]  # what a person removes is
    assert ds.threads.check().clean


def test_a_summary_is_written_again_from_the_journal(ds) -> None:
    graph = graph_of(ds.checkpointer, compaction_node(POLICY, ds=ds))
    state = talk(graph, 12)
    covered = Summary.from_json(state["summary"]).covered
    again = regenerate(ds, "t", (covered[0][0], covered[-1][1]), CompactionPolicy(digest_tokens=5000))
    assert isinstance(again, Settled)
    assert again.report.holds
    assert again.summary.covered == covered
    before = {row.said for row in Summary.from_json(state["summary"]).facts.history()}
    assert before == {row.said for row in again.summary.facts.history()}
    with pytest.raises(Missing):
        regenerate(ds, "t", (900, 950))
    with pytest.raises(Misuse):
        regenerate(ds, "t", (5, 3))
    with pytest.raises(ThreadNotFound):
        regenerate(ds, "nobody", (1, 3))


def test_what_the_journal_does_not_hold_yet_stays(ds) -> None:
    messages = [HumanMessage(f"said {at}", id=f"m{at}") for at in range(30)]
    node = compaction_node(POLICY, ds=ds)
    assert node.invoke({"messages": messages}, CONFIG) == {}
    graph = graph_of(ds.checkpointer, node)
    graph.update_state(CONFIG, {"messages": messages[:20]}, as_node="answer")
    done = node.invoke({"messages": messages}, CONFIG)
    assert {message.id for message in done["messages"]} == {f"m{at}" for at in range(20)}


class Appended(TypedDict):
    messages: Annotated[list[AnyMessage], operator.add]
    summary: dict[str, Any]


def newest(old: list[Any], new: list[Any]) -> list[Any]:
    return new


class Replaced(TypedDict):
    messages: Annotated[list[AnyMessage], newest]
    summary: dict[str, Any]


class Plain(TypedDict):
    messages: list[AnyMessage]
    summary: dict[str, Any]


def longer(state: Any) -> dict[str, Any]:
    return {"messages": [*state["messages"], *(HumanMessage(f"line {at}") for at in range(6))]}


def more(state: Any) -> dict[str, Any]:
    return {"messages": [HumanMessage(f"line {at}") for at in range(6)]}


@pytest.mark.parametrize(
    ("schema", "removal", "answer"),
    [(Appended, "overwrite", more), (State, "overwrite", more), (Replaced, "plain", longer), (Plain, "plain", longer)],
    ids=["operator.add", "add_messages", "replacing", "none"],
)
@pytest.mark.parametrize("with_journal", [True, False], ids=["journal", "alone"])
def test_channels_of_any_reducer(ds, schema, removal, answer, with_journal) -> None:
    node = compaction_node(POLICY, ds=ds if with_journal else None, removal=removal)
    graph = graph_of(ds.checkpointer, node, schema, answer)
    state = {"messages": [HumanMessage("hello")]}
    for _ in range(4):
        state = graph.invoke(
            {"messages": [HumanMessage("go")] if schema in {Appended, State} else state["messages"]}, CONFIG
        )
    assert len(state["messages"]) <= 10
    assert [message.content for message in state["messages"]][-2:] == ["line 4", "line 5"]
    covered = list(numbers_in(Summary.from_json(state["summary"]).covered))
    assert len(covered) > 10
    assert len(set(covered)) == len(covered)


def test_a_channel_without_ids_is_told_what_to_do() -> None:
    with pytest.raises(Misuse, match="overwrite"):
        compaction_node(POLICY).invoke({"messages": [HumanMessage(f"{at}") for at in range(20)]}, CONFIG)
    with pytest.raises(Misuse, match="removal"):
        compaction_node(POLICY, removal="delete")  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="messages_key"):
        compaction_node(POLICY).invoke({"talk": []}, CONFIG)


def test_other_names_and_a_state_that_is_an_object() -> None:
    class Talk:
        def __init__(self) -> None:
            self.lines = [HumanMessage(f"{at}", id=f"m{at}") for at in range(20)]
            self.digest: Any = None

    update = compaction_node(POLICY, messages_key="lines", summary_key="digest").invoke(Talk(), CONFIG)
    assert set(update) == {"lines", "digest"}


def test_a_failing_summarizer_leaves_the_state_to_the_byte(ds) -> None:
    class Broken:
        name = "broken"
        budget_tokens = 4000

        def summarize(self, piece: Any) -> str:
            raise ConnectionError("unreachable")

        async def asummarize(self, piece: Any) -> str:
            return self.summarize(piece)

    graph = graph_of(ds.checkpointer, compaction_node(POLICY, ds=ds, summarizer=Broken()))
    state = talk(graph, 8)
    assert len(state["messages"]) == 16
    assert "summary" not in state
    assert all(event.kind != "delete" for event in ds.journal.read("t"))


# --- LangChain's agents -----------------------------------------------------------------------------


@pytest.fixture
def agents():
    return pytest.importorskip("langchain.agents", reason="needs langchain for its agents")


def model_that(tools: int, tokens: int = 0) -> Any:
    """A chat model that calls a tool so many times, then answers; it keeps what it was shown."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Model(BaseChatModel):
        seen: list[Any] = []  # noqa: RUF012 - pydantic copies it
        left: int = tools

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            self.seen.append(messages)
            if self.left:
                self.left -= 1
                call = {"name": "look_up", "args": {"order": f"A-{self.left}"}, "id": f"c{self.left}"}
                usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1} if tokens else None
                message = AIMessage("", tool_calls=[call], usage_metadata=usage)
                return ChatResult(generations=[ChatGeneration(message=message)])
            return ChatResult(generations=[ChatGeneration(message=AIMessage("All of them ship on 2024-08-01."))])

    return Model()


def look_up(order: str) -> str:
    """Look an order up."""
    return f"order {order} costs ${len(order)}2.50 and ships on 2024-08-01"


@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_forty_tool_messages_in_one_user_turn(agents, ads, face) -> None:
    from dalsegno.langgraph.middleware import ContinuityMiddleware

    model = model_that(tools=20)
    agent = agents.create_agent(
        model,
        [look_up],
        system_prompt="You look things up.",
        middleware=[ContinuityMiddleware(ds=ads)],
        checkpointer=ads.checkpointer,
    )
    config = {**CONFIG, "recursion_limit": 200}
    asked = {"messages": [HumanMessage("Check orders A-0 to A-19, please; the budget is 五万元.", id="h")]}
    kept = {"durability": "sync"}  # what the journal has not got yet, on a slow machine, is compacted a call later
    state = await agent.ainvoke(asked, config, **kept) if face == "async" else agent.invoke(asked, config, **kept)
    assert state["messages"][0].id == "h"
    assert len(state["messages"]) <= 21
    assert all(len(messages) <= 22 for messages in model.seen)
    for messages in model.seen:
        called = [call["id"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
        assert called == [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]
        assert sum(isinstance(message, SystemMessage) for message in messages) == 1
    system = model.seen[-1][0].content
    assert system.startswith("You look things up.\n\n<record>")
    assert system.endswith(render_summary(state["summary"]))
    texts = {row.said.fact.text for row in Summary.from_json(state["summary"]).facts.history()}
    assert "2024-08-01" in texts
    assert not any("<record>" in str(message.content) for message in state["messages"])


@pytest.mark.parametrize("face", ["sync", "async"])
async def test_reported_usage_corrects_the_estimates(agents, face) -> None:
    from dalsegno.langgraph.middleware import ContinuityMiddleware

    middleware = ContinuityMiddleware(calibrate=True)
    model = model_that(tools=3, tokens=150)
    agent = agents.create_agent(model, [look_up], middleware=[middleware])
    asked = {"messages": [HumanMessage("hi")]}
    await agent.ainvoke(asked) if face == "async" else agent.invoke(asked)
    assert middleware._counter is not None
    assert middleware._counter.reported > 150
    assert middleware._work.count is middleware._counter
    assert middleware._work.count("some words here") == pytest.approx(3 * middleware._counter.ratio, abs=1)


def test_an_agent_without_a_summary_is_shown_nothing_else(agents) -> None:
    from dalsegno.langgraph.middleware import ContinuityMiddleware

    model = model_that(tools=1)
    agent = agents.create_agent(model, [look_up], middleware=[ContinuityMiddleware()])
    state = agent.invoke({"messages": [HumanMessage("hi")]})
    assert "summary" not in state
    assert not any(isinstance(message, SystemMessage) for messages in model.seen for message in messages)


def test_a_list_and_a_graph_take_out_the_same() -> None:
    messages = add_messages([], [HumanMessage(f"said {at}", id=f"m{at}") for at in range(20)])
    update = compaction_node(POLICY).invoke({"messages": messages}, CONFIG)
    done = compact(messages, POLICY)
    assert add_messages(messages, update["messages"]) == done.messages
    assert update["summary"] == done.summary.to_json()


class Scribe:
    """A summarizer that knows one sentence and counts how often it is asked."""

    name = "scribe"
    budget_tokens = 6000

    def __init__(self) -> None:
        self.asked = 0

    def summarize(self, piece: Any) -> str:
        self.asked += 1
        return "\n".join(f"{part.turn.coordinate}: an order of chairs" for part in piece.parts)

    async def asummarize(self, piece: Any) -> str:
        return self.summarize(piece)


def test_the_databases_summarizer_writes_where_none_is_named() -> None:
    scribe = Scribe()
    with dalsegno.connect("memory://", summarizer=scribe) as ds:
        assert ds.summarizer is scribe
        state = talk(graph_of(ds.checkpointer, compaction_node(POLICY, ds=ds)), 12)
        asked = scribe.asked
        assert asked
        assert {span.by for span in Summary.from_json(state["summary"]).spans} == {"scribe"}
        again = regenerate(ds, "t", (1, 6))
        assert scribe.asked > asked
        assert isinstance(again, Settled)
        assert {span.by for span in again.summary.spans} == {"scribe"}


def test_the_databases_summarizer_writes_for_agents(agents) -> None:
    from dalsegno.langgraph.middleware import ContinuityMiddleware

    scribe = Scribe()
    with dalsegno.connect("memory://", summarizer=scribe) as ds:
        model = model_that(tools=0)
        agent = agents.create_agent(
            model, middleware=[ContinuityMiddleware(POLICY, ds=ds)], checkpointer=ds.checkpointer
        )
        state = talk(agent, 12)
        assert scribe.asked
        assert {span.by for span in Summary.from_json(state["summary"]).spans} == {"scribe"}


async def test_the_databases_summarizer_writes_in_async_runs_too() -> None:
    scribe = Scribe()
    async with dalsegno.connect("memory://", summarizer=scribe) as ds:
        graph = graph_of(ds.checkpointer, compaction_node(POLICY, ds=ds))
        for at in range(1, 9):
            state = await graph.ainvoke({"messages": [HumanMessage(f"Please order {at} chairs.")]}, CONFIG)
        assert {span.by for span in Summary.from_json(state["summary"]).spans} == {"scribe"}
        asked = scribe.asked
        assert isinstance(await aregenerate(ds, "t", (1, 6)), Settled)
        assert scribe.asked > asked


def test_a_named_summarizer_and_none_go_before_the_databases() -> None:
    with dalsegno.connect("memory://", summarizer=Scribe()) as ds:
        other = Scribe()
        other.name = "other"
        named = talk(graph_of(ds.checkpointer, compaction_node(POLICY, ds=ds, summarizer=other)), 12)
        assert {span.by for span in Summary.from_json(named["summary"]).spans} == {"other"}
        ds.threads.delete("t")
        ds.threads.reopen("t")
        plain = talk(graph_of(ds.checkpointer, compaction_node(POLICY, ds=ds, summarizer=None)), 12)
        assert "scribe" not in {span.by for span in Summary.from_json(plain["summary"]).spans}
        assert ds.summarizer.asked == 0


@pytest.mark.parametrize("wrong", [5, "gpt", Scribe, object()])
def test_what_writes_no_digests_is_refused_on_connecting(wrong: Any) -> None:
    with pytest.raises(Misuse, match="summarizer"):
        dalsegno.connect("memory://", summarizer=wrong)
