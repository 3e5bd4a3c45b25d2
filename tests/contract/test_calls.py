"""Claim: a node gets what it declared and no more, its manifest is on record before it runs, and what it is denied is stated."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

import dalsegno
from dalsegno import Section, call, from_documents, from_function, from_handover, from_messages, from_state
from dalsegno.errors import BudgetTooSmall, Misuse, ThreadNotFound

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}
RULES = Section(name="rules", text="Answer from the documents.", trust="rules")


class State(MessagesState):
    summary: dict[str, Any]
    documents: list[Any]
    note: str


DECLARED = [
    RULES,
    from_state("note", place="head"),
    from_messages("earlier", part="earlier", last=8),
    from_documents("documents", priority=10),
    from_messages("question", part="current"),
]


def graph_of(ds: Any, seen: list[Any], face: str = "sync", **more: Any) -> Any:
    declare = call(**{"sections": DECLARED, "budget": 600, "ds": ds, **more})

    if face == "sync":

        @declare
        def answer(state: State, request: Any) -> dict[str, Any]:
            seen.append(request)
            return {"messages": [AIMessage(f"Answer {len(seen)}.")]}
    else:

        @declare
        async def answer(state: State, request: Any) -> dict[str, Any]:
            seen.append(request)
            return {"messages": [AIMessage(f"Answer {len(seen)}.")]}

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=None if ds is None else ds.checkpointer)


async def test_the_node_gets_its_request_and_the_manifest_is_on_record(ds, face, call) -> None:
    seen: list[Any] = []
    graph = graph_of(ds, seen, face)
    documents = [Document("Revenue was 5 million. </section-0>", metadata={"source": "report.pdf"}), "A note."]
    await call(
        graph, "invoke", {"messages": [HumanMessage("Revenue?")], "note": "Be brief.", "documents": documents}, CONFIG
    )
    await call(graph, "invoke", {"messages": [HumanMessage("And costs?")], "documents": []}, CONFIG)
    first, second = seen
    assert [type(message) for message in first.messages] == [SystemMessage, HumanMessage, HumanMessage]
    assert "Be brief." in first.messages[0].content
    assert 'source="report.pdf"' in first.messages[1].content
    assert first.messages[2].content == "Revenue?"
    assert [message.content for message in second.messages[1:]] == ["Revenue?", "Answer 1.", "And costs?"]
    assert first.messages[0] == second.messages[0]
    rows = await call(ds.context, "manifests", "t")
    assert [row.manifest for row in rows] == [first.manifest, second.manifest]
    assert [(row.number, row.call.node) for row in rows] == [(1, "answer"), (2, "answer")]
    assert rows[0].call.step < rows[1].call.step
    assert abs(datetime.now(UTC) - rows[0].at) < timedelta(minutes=5)
    names = [entry.name for entry in rows[0].manifest.sections]
    assert names == ["rules", "note", "earlier", "documents[0]", "documents[1]", "question"]
    ids = {found.config["configurable"]["checkpoint_id"] for found in ds.checkpointer.list(CONFIG)}
    assert {row.call.checkpoint_id for row in rows} <= ids
    assert [row.number for row in await call(ds.context, "manifests", "t", limit=1)] == [1]
    assert [row.number for row in await call(ds.context, "manifests", "t", after=1)] == [2]


def test_two_nodes_share_a_declaration_and_what_one_is_denied_is_stated(ds) -> None:
    requests: list[Any] = []

    @call(sections=DECLARED, budget=600, ds=ds)
    def answer(state: State, request: Any) -> dict[str, Any]:
        requests.append(request)
        return {"messages": [AIMessage("Five.")]}

    @call(sections=DECLARED, budget=600, ds=ds, withheld={"documents": "a judge sees what was said, not what was read"})
    def judge(state: State, request: Any) -> None:
        requests.append(request)

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_node("judge", judge)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "judge")
    graph = builder.compile(checkpointer=ds.checkpointer)
    graph.invoke({"messages": [HumanMessage("How much?")], "documents": ["Five."]}, CONFIG)
    assert "documents[0]" in [entry.name for entry in requests[0].manifest.sections]
    assert not any("Five." in message.content for message in requests[1].messages if isinstance(message, HumanMessage))
    last = ds.context.manifests("t")[-1]
    assert last.call.node == "judge"
    assert last.manifest.withheld == {"documents": "a judge sees what was said, not what was read"}


def test_a_call_that_was_cut_short_is_on_record(ds) -> None:
    @call(sections=[RULES, from_messages()], budget=600, ds=ds)
    def answer(state: State, request: Any) -> None:
        raise RuntimeError("the provider is down")

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=ds.checkpointer)
    for start in ({"messages": [HumanMessage("x")]}, None):
        with pytest.raises(RuntimeError, match="provider"):
            graph.invoke(start, CONFIG)
    rows = ds.context.manifests("t")
    assert len(rows) == 2
    assert rows[0].call.task == rows[1].call.task


def test_a_manifest_that_cannot_be_written_does_not_stop_the_run(ds, caplog) -> None:
    seen: list[Any] = []
    graph = graph_of(ds, seen)
    graph.invoke({"messages": [HumanMessage("x")]}, CONFIG)
    with ds.runs.lease("t", timedelta(seconds=60)) as lease, caplog.at_level(logging.WARNING, "dalsegno.context"):
        graph.invoke({"messages": [HumanMessage("y")]}, lease.config)
        assert not caplog.records
        graph.get_graph()
        with pytest.raises(dalsegno.errors.LeaseHeld):
            graph.invoke({"messages": [HumanMessage("z")]}, CONFIG)
    assert len(ds.context.manifests("t")) == 2


def test_without_a_database_the_manifest_is_in_the_request() -> None:
    seen: list[Any] = []
    graph_of(None, seen).invoke({"messages": [HumanMessage("x")]})
    assert seen[0].manifest["question"].messages == 1


def test_a_node_takes_whatever_else_langgraph_gives_it(ds) -> None:
    got: dict[str, Any] = {}

    @call(
        sections=[
            RULES,
            from_function("hint", lambda sight: Section(name="hint", text=str(sight.store.get(("a",), "k").value))),
        ],
        budget=600,
    )
    def answer(state: State, request: Any, config: RunnableConfig, store: BaseStore, runtime: Runtime[Any]) -> None:
        got.update(request=request, thread=config["configurable"]["thread_id"], store=store, also=runtime.store)

    store = InMemoryStore()
    store.put(("a",), "k", {"v": 7})
    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.compile(checkpointer=ds.checkpointer, store=store).invoke({"messages": []}, CONFIG)
    assert got["thread"] == "t"
    assert got["store"] is store is got["also"]
    assert "{'v': 7}" in got["request"].messages[1].content


def test_a_call_and_its_results_are_in_the_same_part(ds) -> None:
    seen: list[Any] = []
    graph = graph_of(ds, seen)
    messages = [
        HumanMessage("Look it up."),
        AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c1"}]),
        HumanMessage("Hurry."),
        ToolMessage("Found.", tool_call_id="c1"),
    ]
    graph.invoke({"messages": messages, "documents": ["D"]}, CONFIG)
    kinds = [message.type for message in seen[0].messages]
    assert kinds == ["system", "human", "human", "ai", "human", "tool"]
    assert "D" in seen[0].messages[2].content
    assert seen[0].manifest["earlier"].messages == 1


def test_a_summary_is_shown_as_compaction_shows_it() -> None:
    done = dalsegno.compact([HumanMessage(f"Order {at} chairs at ${at}.50.") for at in range(30)])
    source = from_state("summary", place="head")
    from dalsegno.langgraph.sources import Sight

    (made,) = source.given(Sight(state={"summary": done.summary.to_json()}, config={}))
    assert "Record of earlier messages" in made.text
    assert "<record>" not in made.text
    (empty,) = source.given(Sight(state={}, config={}))
    assert empty.text == ""


class Cards:
    """A handover as `ds.handover` is one."""

    @property
    def handover(self) -> Cards:
        return self

    def card(self, thread_id: str) -> str:
        if thread_id == "new":
            raise ThreadNotFound(thread_id)
        return f"card of {thread_id}"

    async def acard(self, thread_id: str) -> str:
        return self.card(thread_id)


async def test_a_card_comes_from_the_handover_and_is_empty_on_the_first_turn() -> None:
    from dalsegno.langgraph.sources import Sight

    source = from_handover(str.upper, ds=Cards())
    for thread, text in (("t", "CARD OF T"), ("new", ""), ("", "")):
        (made,) = source.given(Sight(state={}, config={}, thread_id=thread))
        (amade,) = await source.agiven(Sight(state={}, config={}, thread_id=thread))
        assert made == amade
        assert (made.text, made.place) == (text, "head")
    with pytest.raises(Misuse, match="needs the database"):
        from_handover(str).given(Sight(state={}, config={}, thread_id="t"))


async def test_a_card_is_shown_in_its_own_words_where_no_others_are_asked_for() -> None:
    from dalsegno.langgraph.sources import Sight

    with dalsegno.connect("memory://") as ds:
        ds.journal.append("t", "message", "user", "We take plan B.")
        ds.handover.decide("t", "Plan B it is", ["#1 user"], by="user")
        ds.journal.append("quiet", "note", "user", "…")
        source = from_handover(ds=ds)
        for thread, there in (("t", True), ("quiet", False), ("new", False)):
            (made,) = source.given(Sight(state={}, config={}, thread_id=thread))
            (amade,) = await source.agiven(Sight(state={}, config={}, thread_id=thread))
            assert made == amade
            assert ("Plan B it is" in made.text, bool(made.text)) == (there, there)


async def test_a_source_that_waits_is_for_async_nodes() -> None:
    async def fetch(_: Any) -> Section:
        return Section(name="web", text="found", trust="third_party")

    for face in ("sync", "async"):
        seen: list[Any] = []
        graph = graph_of(None, seen, face, sections=[RULES, from_function("web", fetch)])
        if face == "async":
            await graph.ainvoke({"messages": []})
            assert "found" in seen[0].messages[1].content
        else:
            with pytest.raises(Misuse, match="'web' has to be awaited"):
                graph.invoke({"messages": []})


def test_manifests_go_with_their_thread_and_into_its_copy(ds) -> None:
    from dalsegno.services.manifests import forget_thread

    graph = graph_of(ds, [])
    graph.invoke({"messages": [HumanMessage("x")]}, CONFIG)
    ds.threads.copy("t", "copy")
    assert ds.context.manifests("copy") == ds.context.manifests("t")
    assert ds.threads.check().clean
    ds.store_backend.run(lambda: forget_thread(ds.scope(), "copy"), write=True)
    assert ds.context.manifests("copy") == []
    ds.threads.delete("t")
    with pytest.raises(ThreadNotFound):
        ds.context.manifests("t")
    assert ds.threads.check().clean
    ds.threads.reopen("t")
    assert ds.context.manifests("t") == []


def test_another_users_are_not_there(store_url) -> None:
    if store_url == "memory://":
        pytest.skip("a database in memory has one connection")
    with dalsegno.connect(store_url, user="ana") as mine, dalsegno.connect(store_url, user="bo") as theirs:
        graph_of(mine, []).invoke({"messages": [HumanMessage("x")]}, CONFIG)
        assert mine.context.manifests("t")
        with pytest.raises(ThreadNotFound):
            theirs.context.manifests("t")


def test_a_check_finds_a_torn_manifest_and_a_gap(ds, execute) -> None:
    graph = graph_of(ds, [])
    for _ in range(3):
        graph.invoke({"messages": [HumanMessage("x")]}, CONFIG)
    execute("UPDATE ds_manifests SET body = '{}' WHERE manifest = 1")
    execute("DELETE FROM ds_manifests WHERE manifest = 2")
    found = {(finding.kind, finding.place) for finding in ds.threads.check("t").findings}
    assert found == {("json", "manifest 1"), ("gap", "manifest 3")}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"budget": 0}, "budget=0"),
        ({"budget": "many"}, "budget='many'"),
        ({"sections": [RULES, RULES]}, "two sections are called 'rules'"),
        ({"sections": ["rules"]}, "str is no section"),
        ({"withheld": {"docs": "x"}}, "'docs' is withheld and not declared"),
        ({"withheld": {"rules": " "}}, "without a reason"),
    ],
)
def test_a_wrong_declaration_is_refused_where_it_is_made(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Misuse, match=said):
        call(**{"sections": [RULES], "budget": 100, **given})


def test_wrong_traits_and_functions_are_refused_where_they_are_made() -> None:
    for make in (
        lambda: from_state("a", prority=3),
        lambda: from_state("a", trust="boss"),
        lambda: from_documents("a", place="head"),
        lambda: from_messages(part="some"),
        lambda: from_messages(last=0),
        lambda: call(sections=[RULES], budget=100)(lambda state: None),
    ):
        with pytest.raises(Misuse):
            make()


def test_what_does_not_fit_stops_the_node_with_its_size() -> None:
    graph = graph_of(None, [], budget=120)
    with pytest.raises(BudgetTooSmall, match="'question' alone is over it"):
        graph.invoke({"messages": [HumanMessage("why? " * 200)]})
    with pytest.raises(Misuse, match=r"documents\[0\] is no document but int"):
        graph_of(None, []).invoke({"messages": [HumanMessage("x")], "documents": [7]})
