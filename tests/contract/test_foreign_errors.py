"""A thread whose node raised an error of a class that this process does not know is read, and gone on with."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

import dalsegno
from dalsegno.errors import ActionInFlight

CONFIG: Any = {"configurable": {"thread_id": "t"}}
FAILS = """
import sys
import dalsegno
from dalsegno.errors import ActionInFlight
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

class ShopDown(Exception):
    pass

def work(state):
    if sys.argv[2] == "own":
        raise ShopDown("the shop is down", 3)
    if sys.argv[2] == "cause":
        raise ValueError("no") from ShopDown("the shop is down")
    raise ActionInFlight("refund", action_id="a" * 64, holder="h", seconds=1.5)

with dalsegno.connect(sys.argv[1]) as ds:
    builder = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work")
    try:
        builder.compile(checkpointer=ds.checkpointer).invoke(
            {"messages": [HumanMessage("hello")]}, {"configurable": {"thread_id": "t"}}
        )
    except (ShopDown, ValueError, ActionInFlight):
        pass
"""


@pytest.mark.parametrize(
    ("raises", "told"),
    [("own", "ShopDown: the shop is down"), ("cause", "ValueError: no"), ("ours", "is being run by 'h'")],
)
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_an_error_of_another_process_hinders_nobody(store: str, raises: str, told: str, request) -> None:
    url = request.getfixturevalue(f"{store}_url")
    subprocess.run([sys.executable, "-c", FAILS, url, raises], check=True)
    builder = StateGraph(MessagesState).add_node("work", lambda state: {"messages": [AIMessage("mended")]})
    builder.add_edge(START, "work")
    with dalsegno.connect(url) as ds:
        graph = builder.compile(checkpointer=ds.checkpointer)
        assert [message.text for message in ds.threads.state("t")["messages"]] == ["hello"]
        assert str(ds.threads.status("t")["t"]) == "failed"
        (task,) = graph.get_state(CONFIG).tasks
        assert told in str(task.error)
        assert isinstance(task.error, ActionInFlight) == (raises == "ours")  # the library's own are known everywhere
        assert ds.threads.check().clean
        state = dalsegno.resume(graph, "t")
        assert [message.text for message in state["messages"]] == ["hello", "mended"]
