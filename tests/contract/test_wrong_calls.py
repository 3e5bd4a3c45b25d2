"""A call that cannot be meant is refused at once, with what to write instead, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph

import dalsegno
from dalsegno.errors import LeaseHeld, Misuse, ThreadExists
from dalsegno.imports import Transcript, import_transcript


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"on_input_over_unfinished": "boom"}, "use 'warn'"),
        ({"tenant": " "}, "tenant is blank"),
        ({"tenant": "\u200b\u3164"}, "tenant is blank"),
        ({"tenant": "ana\x00"}, "plain text"),
        ({"tenant": "a\ud800"}, "plain text"),
        ({"tenant": "租" * 400}, "plain text of at most 1000 bytes"),
        ({"user": ""}, "user is blank"),
        ({"user": "\u2060\ufeff"}, "user is blank"),
        ({"schema": {"version": 2}}, "StateSchema"),
    ],
)
def test_a_refused_connection_makes_no_file(tmp_path, arguments, hint):
    with pytest.raises(Misuse, match=hint):
        dalsegno.connect(f"sqlite:///{tmp_path / 'a.db'}", **arguments)
    assert not list(tmp_path.iterdir())


def test_a_tenants_name_is_held_to_the_same_on_every_store():
    for name in ("ana\x00", "a\ud800"):
        with pytest.raises(Misuse, match="plain text"):
            dalsegno.connect("memory://", tenant=name)


def test_a_name_of_which_nothing_is_seen_is_blank(ds):
    for name in ("\u200b", "\u2060 \ufe0f"):
        with pytest.raises(Misuse, match="blank"):
            ds.journal.append(name, "note", "ana", "x")
        with pytest.raises(Misuse, match="no user"):
            ds.threads.share("t", name)
    assert ds.threads.list() == []


@pytest.mark.parametrize("url", ["sqlite:///:memory:", Path("agents.db")])
def test_what_is_no_url_says_what_to_write(url):
    with pytest.raises(Misuse, match=r"memory://|sqlite:///"):
        dalsegno.connect(url)


def test_one_id_where_a_list_belongs_is_refused(ds):
    for call in (ds.checkpointer.prune, ds.checkpointer.delete_for_runs):
        with pytest.raises(Misuse, match="list of ids"):
            call("W-1")


def test_times_and_lengths_have_their_types(ds):
    with pytest.raises(Misuse, match="timedelta"):
        ds.runs.lease("t", 30)
    with pytest.raises(Misuse, match="zone"):
        ds.journal.append("t", "note", "ana", "x", at="2026-01-01")
    assert ds.threads.list() == []


def test_who_holds_the_lease_may_write_events(ds):
    with ds.runs.lease("t", timedelta(minutes=1)) as lease:
        with pytest.raises(LeaseHeld, match=r"lease\.config"):
            ds.journal.append("t", "note", "ana", "without")
        assert ds.journal.append("t", "approval", "ana", "with", lease=lease).seq == 1


async def test_a_lease_is_taken_kept_and_let_go_in_an_event_loop(ds):
    async with await ds.runs.alease("t", timedelta(minutes=1)) as lease:
        await lease.arenew()
        with pytest.raises(LeaseHeld):
            await ds.journal.aappend("t", "note", "ana", "without")
        await ds.journal.aappend("t", "note", "ana", "with", lease=lease)
    assert (await ds.threads.aget("t")).events == 1
    assert (await ds.threads.alist())[0].leased_to is None
    assert (await ds.threads.acheck("t")).clean
    await ds.threads.adelete("t")
    assert await ds.threads.alist() == []
    await ds.threads.areopen("t")


def test_a_reopened_thread_takes_an_import_and_one_that_holds_something_does_not(ds):
    from langchain_core.messages import HumanMessage

    told = Transcript(source="here", format="openai", messages=(HumanMessage("hello"),), times=(None,))
    import_transcript(ds, told, "t")
    with pytest.raises(ThreadExists):
        import_transcript(ds, told, "t")
    ds.threads.delete("t")
    ds.threads.reopen("t")
    assert import_transcript(ds, told, "t").messages == 1
    assert [event.seq for event in ds.journal.read("t")] == [2]
    assert ds.threads.check().clean


WRONG: dict[str, Any] = {
    "search for nothing": lambda ds: ds.journal.search("t", None),
    "search, a text as limit": lambda ds: ds.journal.search("t", "x", limit="5"),
    "search, less than none": lambda ds: ds.journal.search("t", "x", limit=-1),
    "read after a text": lambda ds: ds.journal.read("t", after="x"),
    "read, true as limit": lambda ds: ds.journal.read("t", limit=True),
    "read at a number": lambda ds: ds.journal.read("t", checkpoint_id=5),
    "append by a number": lambda ds: ds.journal.append("t", "note", 5, "x"),
    "checkpoints before a number": lambda ds: ds.threads.checkpoints("t", before=5),
    "checkpoints, a text as limit": lambda ds: ds.threads.checkpoints("t", limit="5"),
    "checkpoints of a namespace": lambda ds: ds.threads.checkpoints("t", ns=5),
    "state at a number": lambda ds: ds.threads.state("t", 5),
    "state of a namespace": lambda ds: ds.threads.state("t", ns=5),
    "state with references": lambda ds: ds.threads.state("t", 5, references=True),
    "tree at a number": lambda ds: ds.threads.tree("t", 5),
    "tree of none": lambda ds: ds.threads.tree("t", ns=None),
    "list after a number": lambda ds: ds.threads.list(after=5),
    "list, a text as limit": lambda ds: ds.threads.list(limit="5"),
}


@pytest.mark.parametrize("wrong", list(WRONG.values()), ids=list(WRONG))
def test_a_wrong_argument_is_the_callers_mistake_and_no_damage(ds, wrong):
    ds.journal.append("t", "note", "ana", "x")
    with pytest.raises(Misuse, match="give"):
        wrong(ds)
    assert [event.text for event in ds.journal.read("t")] == ["x"]


def test_no_limit_is_none(ds):
    for number in range(15):
        ds.journal.append("t", "note", "ana", f"退款 {number}")
    assert len(ds.journal.search("t", "退款", limit=None)) == 15
    assert len(ds.journal.search("t", "退款")) == 10


def counting(ds: Any) -> Any:
    class State(TypedDict, total=False):
        count: int

    builder = StateGraph(State).add_node("add", lambda state: {"count": state.get("count", 0) + 1})
    return builder.add_edge(START, "add")


@pytest.mark.parametrize("call", [dalsegno.resume, dalsegno.aresume, dalsegno.fork, dalsegno.afork])
def test_only_a_compiled_graph_with_a_checkpointer_goes_on_or_back(ds, call):
    def go(*args: Any) -> Any:
        ended = call(*args, *(["x"] if "fork" in call.__name__ else []))
        return asyncio.run(ended) if asyncio.iscoroutine(ended) else ended

    builder = counting(ds)
    for wrong in (builder, ds, "t", None):
        with pytest.raises(Misuse, match="no compiled graph"):
            go(wrong, "t")
    with pytest.raises(Misuse, match="compile it with checkpointer"):
        go(builder.compile(), "t")


@pytest.mark.parametrize("call", [dalsegno.fork, dalsegno.afork])
def test_a_fork_with_an_update_that_would_be_dropped_changes_nothing(ds, call):
    graph = counting(ds).compile(checkpointer=ds.checkpointer)
    graph.invoke({"count": 0}, {"configurable": {"thread_id": "t"}})
    before = [info.checkpoint_id for info in ds.threads.checkpoints("t")]

    def go(**more: Any) -> Any:
        ended = call(graph, "t", before[-1], **more)
        return asyncio.run(ended) if asyncio.iscoroutine(ended) else ended

    with pytest.raises(Misuse, match=r"'nochannel', which the graph has no channel for; it has count"):
        go(update={"nochannel": 1})
    with pytest.raises(Misuse, match=r"as_node='nobody': the graph has no such node; it has add"):
        go(update={"count": 1}, as_node="nobody")
    assert [info.checkpoint_id for info in ds.threads.checkpoints("t")] == before
    assert go(update={"count": 5}, as_node="__start__")["count"] == 6
