"""The run that spends: a loop of model calls under a budget, whose process may die in the middle of one of them."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import START, MessagesState, StateGraph

import dalsegno
from dalsegno import Budget, Limits, Spending

LIMIT = 5
THREAD = "spends"


class Mortal(BaseChatModel):
    """Logs each call it begins; kills its process in the one that it is told."""

    log: str
    dies_at: int
    calls: int = 0

    @property
    def _llm_type(self) -> str:
        return "mortal"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        with Path(self.log).open("ab", buffering=0) as file:
            file.write(b"call\n")
        self.calls += 1
        if self.calls == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("answer"))])


class State(MessagesState):
    """Messages, what was spent, and how it ended."""

    budget: Spending
    end: str


def play(ds: Any, log: str, dies_at: int) -> dict[str, Any]:
    """Begin or go on with the run; what its state says of the budget at the end."""
    model = Mortal(log=log, dies_at=dies_at)
    budget = Budget(run=Limits(calls=LIMIT), ds=ds)
    builder = StateGraph(State)
    builder.add_node("begin", budget.begin)
    builder.add_node("ask", budget.node(lambda state: {"messages": [model.invoke(state["messages"])]}))
    builder.add_node("stop", lambda _: {"end": "spent"})
    builder.add_edge(START, "begin")
    builder.add_edge("begin", "ask")
    builder.add_conditional_edges("ask", budget.route("ask", exhausted="stop"), ["ask", "stop"])
    graph = builder.compile(checkpointer=ds.checkpointer)
    config: Any = {"configurable": {"thread_id": THREAD}}
    if graph.get_state(config).tasks:
        dalsegno.resume(graph, THREAD)
    else:
        graph.invoke({"messages": [HumanMessage("go")]}, config, durability="sync")
    state = graph.get_state(config).values
    return {"budget": state["budget"], "end": state["end"]}
