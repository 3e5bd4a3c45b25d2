"""A state of an older version is read in today's form, its waiting writes and sends included; the stored one stays as it was."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt
from typing_extensions import TypedDict

import dalsegno
from dalsegno import Default, Drop, Rename, StateSchema
from dalsegno.imports import Transcript, import_transcript

CONFIG = {"configurable": {"thread_id": "t"}}


def graph_v1(ds: Any, page: type) -> Any:
    class State(TypedDict, total=False):
        pages: Annotated[list, operator.add]
        old_name: Annotated[list, operator.add]
        scratch: str

    def plan(_: State) -> dict[str, Any]:
        return {"pages": [page("a", "blob://a")], "old_name": ["planned"], "scratch": "x"}

    def quick(_: State) -> dict[str, Any]:
        return {"old_name": ["quick"], "scratch": "y"}

    def work(task: Any) -> dict[str, Any]:
        interrupt("go on?")
        return {}

    builder = StateGraph(State).add_node(plan).add_node(quick).add_node(work).add_edge(START, "plan")
    builder.add_conditional_edges("plan", lambda _: [Send("quick", {}), Send("work", {"page": {"url": "blob://b"}})])
    return builder.compile(checkpointer=ds.checkpointer)


def graph_v2(ds: Any, page: type, seen: list[Any]) -> Any:
    class State(TypedDict, total=False):
        pages: Annotated[list, operator.add]
        new_name: Annotated[list, operator.add]
        priority: str

    def plan(_: State) -> dict[str, Any]:
        raise AssertionError("finished before")

    def quick(_: State) -> dict[str, Any]:
        raise AssertionError("finished before")

    def work(task: Any) -> dict[str, Any]:
        seen.append(task)
        return {"new_name": [interrupt("go on?")]}

    builder = StateGraph(State).add_node(plan).add_node(quick).add_node(work).add_edge(START, "plan")
    builder.add_conditional_edges("plan", lambda _: [Send("quick", {}), Send("work", {})])
    return builder.compile(checkpointer=ds.checkpointer)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_interrupted_run_of_the_old_version_goes_on_in_the_new_one(kind, request):
    url = request.getfixturevalue(f"{kind}_url")

    @dataclass
    class Old:
        id: str
        url: str

    dalsegno.register(Old, "page")
    with dalsegno.connect(url, schema=StateSchema(version=1)) as ds:
        graph_v1(ds, Old).invoke({"scratch": "s"}, CONFIG)
        before = ds.threads.tree("t")

    @dataclass
    class New:
        id: str
        ref: str

    dalsegno.register(New, "page")
    schema = StateSchema(
        version=2,
        migrations=[
            Rename("pages[].url", "ref", since=2),
            Rename("page.url", "ref", since=2),
            Rename("old_name", "new_name", since=2),
            Drop("scratch", since=2),
            Default("priority", "normal", since=2),
        ],
        required=["pages[].ref", "new_name"],
    )
    seen: list[Any] = []
    with dalsegno.connect(url, schema=schema) as ds:
        graph = graph_v2(ds, New, seen)
        state = graph.get_state(CONFIG)
        quick = ["planned", "quick"]  # LangGraph shows what finished siblings wrote
        assert state.values == {"pages": [New("a", "blob://a")], "new_name": quick, "priority": "normal"}
        assert ds.threads.tree("t") == before
        done = dalsegno.resume(graph, "t", "yes")
        assert done["new_name"] == ["planned", "quick", "yes"]
        assert seen == [{"page": {"ref": "blob://b"}}]
        assert ds.threads.check().clean
    with dalsegno.connect(url, schema=StateSchema(version=1)) as ds, pytest.raises(dalsegno.errors.StateFromFuture):
        ds.checkpointer.get_tuple(CONFIG)
    with (
        dalsegno.connect(url, schema=replace(schema, version=3, required=["owner"])) as ds,
        pytest.raises(dalsegno.errors.StateShapeError, match="owner"),
    ):
        ds.checkpointer.get_tuple(CONFIG)


def test_an_imported_event_is_dated_by_when_it_was_said(ds):
    from langchain_core.messages import HumanMessage

    said = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)
    transcript = Transcript(
        source="here", format="openai", messages=(HumanMessage("hello"), HumanMessage("again")), times=(said, None)
    )
    import_transcript(ds, transcript, "t")
    first, second = ds.journal.read("t")
    assert first.at == said
    assert second.at > said


def test_a_channel_that_a_migration_fills_in_stays(ds_url_pair):
    url = ds_url_pair

    class Before(TypedDict, total=False):
        text: str

    class After(TypedDict, total=False):
        text: str
        priority: str

    with dalsegno.connect(url) as ds:
        graph = StateGraph(Before).add_node("work", lambda state: {"text": state["text"] + "!"}).add_edge(START, "work")
        graph.compile(checkpointer=ds.checkpointer).invoke({"text": "a"}, CONFIG)
    schema = StateSchema(version=2, migrations=[Default("priority", "normal", since=2)], required=["priority"])
    for turn in range(3):
        with dalsegno.connect(url, schema=schema) as ds:
            builder = StateGraph(After).add_node("work", lambda state: {"text": f"{state['text']} {state['priority']}"})
            graph = builder.add_edge(START, "work").compile(checkpointer=ds.checkpointer)
            assert graph.get_state(CONFIG).values["priority"] == "normal"
            answer = graph.invoke({"text": f"turn {turn}"}, CONFIG)
            assert answer == {"text": f"turn {turn} normal", "priority": "normal"}


@pytest.fixture(params=["sqlite", "postgres"])
def ds_url_pair(request):
    return request.getfixturevalue(f"{request.param}_url")
