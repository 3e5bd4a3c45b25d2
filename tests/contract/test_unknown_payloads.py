"""One event of a class this process does not know does not hide the rest of a thread; a list of checkpoints says what is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

import dalsegno
from dalsegno.core.journal import Undecoded

CONFIG = {"configurable": {"thread_id": "t"}}


@dataclass
class Hit:
    place: str


def test_an_event_of_an_unknown_class_stands_as_its_tree(ds, monkeypatch):
    def tool(_: MessagesState) -> dict[str, Any]:
        return {
            "messages": [
                AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}]),
                ToolMessage("found 仓库 seven", tool_call_id="c", artifact=[Hit("here")]),
            ]
        }

    graph = StateGraph(MessagesState).add_node(tool).add_edge(START, "tool").compile(checkpointer=ds.checkpointer)
    graph.invoke({"messages": [("user", "where?")]}, CONFIG)
    ds.journal.append("t", "note", "ana", {"text": "see", "hit": Hit("there")})
    whole = [event.payload for event in ds.journal.read("t")]
    assert all(not isinstance(payload, Undecoded) for payload in whole)
    monkeypatch.setattr("dalsegno.services.journal.codec.decode", refusing())
    events = ds.journal.read("t")
    assert [event.coordinate for event in events] == ["#1 user", "#2 tool", "#3 tool", "#4 ana"]
    assert [isinstance(event.payload, Undecoded) for event in events] == [False, False, True, True]
    assert events[2].text == "found 仓库 seven"
    assert "Hit" in events[2].payload.reason
    assert json.loads(events[3].text)["text"] == "see"
    assert [event.seq for event in ds.journal.search("t", "仓库")] == [3]


def refusing() -> Any:
    """A decoder that knows everything but `Hit`."""
    from dalsegno.core import codec

    real = codec.decode

    def decode(tree: Any) -> Any:
        if "Hit" in json.dumps(tree):
            raise dalsegno.errors.UnknownType("a stored value has type 'Hit', which is not registered: register it")
        return real(tree)

    return decode


def test_a_list_of_checkpoints_says_what_waits_and_what_is_asked(ds):
    def ask(_: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt({"question": "Ship it?"}))]}

    def quick(_: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("done")]}

    builder = StateGraph(MessagesState).add_node(ask).add_node(quick).add_edge(START, "ask").add_edge(START, "quick")
    graph = builder.compile(checkpointer=ds.checkpointer)
    graph.invoke({"messages": [("user", "go")]}, CONFIG)
    head = ds.threads.checkpoints("t")[0]
    assert (head.next, head.writes, head.finished) == (["ask", "quick"], 2, 1)
    assert head.interrupts == [{"question": "Ship it?"}]
    dalsegno.resume(graph, "t", "yes")
    after = ds.threads.checkpoints("t")
    assert [(info.interrupts, info.finished) for info in after[:2]] == [([], 0), ([], 2)]
