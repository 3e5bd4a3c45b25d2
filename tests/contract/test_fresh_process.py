"""A process that never saw a state's classes reads it, because the graph that asks names them; an error that cannot be stored is still told of."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import enum, operator, sys
from dataclasses import dataclass
from typing import Annotated
import dalsegno
import pydantic
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt
from typing_extensions import TypedDict


class Mood(enum.Enum):
    GOOD = "good"


@dataclass
class Page:
    ref: str
    mood: Mood


class Order(pydantic.BaseModel):
    number: int
    pages: list[Page]


class State(TypedDict):
    order: Order
    log: Annotated[list[Page], operator.add]


class Inner(TypedDict):
    note: Page


def fill(_):
    return {"order": Order(number=1, pages=[Page("a", Mood.GOOD)]), "log": [Page("b", Mood.GOOD)]}


def ask(state):
    return {"log": [Page(interrupt(Page("c", Mood.GOOD)), Mood.GOOD)]}


def inner(state):
    return {"note": Page("d", Mood.GOOD)}


sub = StateGraph(Inner).add_node(inner).add_edge(START, "inner").compile()
builder = StateGraph(State).add_node(fill).add_node(ask).add_node("sub", lambda s: sub.invoke({}) and {})
builder.add_edge(START, "fill").add_edge("fill", "sub").add_edge("sub", "ask")
ds = dalsegno.connect(sys.argv[1])
graph = builder.compile(checkpointer=ds.checkpointer)
config = {"configurable": {"thread_id": "t"}}
match sys.argv[2]:
    case "write":
        graph.invoke({"log": []}, config)
    case "state":
        state = graph.get_state(config, subgraphs=True)
        assert state.values["order"] == Order(number=1, pages=[Page("a", Mood.GOOD)]), state
        assert state.interrupts[0].value == Page("c", Mood.GOOD)
    case "history":
        assert [s.values.get("order") for s in graph.get_state_history(config)][0].number == 1
    case "resume":
        assert dalsegno.resume(graph, "t", "yes")["log"][-1] == Page("yes", Mood.GOOD)
    case "update":
        graph.update_state(config, {"log": [Page("u", Mood.GOOD)]})
        assert graph.get_state(config).values["log"][-1].ref == "u"
print("done")
"""


@pytest.mark.parametrize("act", ["state", "history", "resume", "update"])
def test_a_fresh_process_reads_the_program_s_own_classes(sqlite_url, tmp_path, act):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    for step in ("write", act):
        ran = subprocess.run([sys.executable, program, sqlite_url, step], capture_output=True, text=True, check=False)
        assert ran.stdout == "done\n", ran.stderr


def test_the_run_s_own_error_is_raised_and_recorded(ds):
    import pydantic
    from langgraph.graph import START, StateGraph
    from typing_extensions import TypedDict

    class State(TypedDict):
        x: int

    class Strict(pydantic.BaseModel):
        x: int

    def fail(_: State) -> dict[str, int]:
        Strict(x="no")
        return {}

    graph = StateGraph(State).add_node(fail).add_edge(START, "fail").compile(checkpointer=ds.checkpointer)
    config = {"configurable": {"thread_id": "t"}}
    with pytest.raises(pydantic.ValidationError):
        graph.invoke({"x": 1}, config)
    (task,) = graph.get_state(config).tasks
    assert "valid integer" in str(task.error)
