"""Graphs with and without faults, for `dalsegno lint`; imported by name, as an operator's module is."""

from __future__ import annotations

import operator
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool
from langgraph.channels import UntrackedValue
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send
from pydantic import BaseModel
from typing_extensions import TypedDict

from dalsegno import Field, StateSchema


class Handle:
    pass


@dataclass
class Page:
    url: str
    sender: socket.socket


class Address(BaseModel):
    street: str


class Faulty(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], operator.add]
    found: list[str]
    chosen: Annotated[list[str], lambda old, new: new]
    invoice_pdf: str
    message_count: int
    lock: threading.Lock
    handle: Handle | None
    pick: Callable[[int], int]
    pages: list[Page]
    address: Address
    scan: bytes
    cache: Annotated[Handle, UntrackedValue]


@tool
def send_mail(subject: str) -> str:
    """Send."""
    return subject


@tool
def get_order(order: str) -> str:
    """Look up."""
    return order


def a(state):
    return {"found": ["a"], "chosen": ["a"]}


def b(state):
    update = {"found": ["b"]}
    update["chosen"] = ["b"]
    return Command(update=update)


def fan(state):
    return [Send("work", {"n": n, "then": lambda: None}) for n in range(2)]


def work(state):
    return {"messages": [AIMessage("done")]}


def faulty() -> Any:
    builder = StateGraph(Faulty)
    builder.add_node("a", a)
    builder.add_node("b", b)
    builder.add_node("work", work)
    builder.add_node("tools", ToolNode([send_mail, get_order]))
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_conditional_edges("a", fan, ["work"])
    builder.add_edge("b", "tools")
    return builder


class Task(TypedDict):
    id: str


class Sound(TypedDict, total=False):
    tasks: list[Task]
    messages: Annotated[list[AnyMessage], add_messages]
    question: str
    sources: Annotated[list[str], operator.add]
    address: Address
    kept: dict[str, Any]


schema = StateSchema(version=2, fields=[Field("question", type=str), Field("sources", owner="work")])


def sound_graph() -> Any:
    builder = StateGraph(Sound)
    builder.add_node("answer", lambda state: {"messages": [AIMessage("yes")]})
    builder.add_node("work", lambda state: {"sources": ["s"]})
    builder.add_edge(START, "answer")
    builder.add_conditional_edges("answer", lambda state: [Send("work", {"question": "q"})], ["work"])
    return builder


sound = sound_graph()
compiled = sound.compile()

outer = StateGraph(Sound)
outer.add_node("inner", faulty().compile())
outer.add_edge(START, "inner")

example = {"question": "q" * 9000, "messages": [("user", "hi")]}
not_a_graph = 5


def needs_arguments(url):
    return url


async def a_coroutine() -> Any:
    return sound_graph()
