"""A database with conversations in it, and a way to run commands on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from typer.testing import CliRunner

import dalsegno
from dalsegno.cli import app

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "\x1b[2J[red]not red[/red] \u202eevil\x07"


@dataclass(frozen=True)
class Answer:
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class State(MessagesState):
    plan: dict


def _agent(saver):
    """One node that answers, and keeps a plan."""

    def answer(state: State):
        heard = state["messages"][-1].content
        return {
            "messages": [AIMessage(f"heard: {heard}")],
            "plan": {"turns": len(state["messages"]), "due date": heard},
        }

    graph = StateGraph(State)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile(checkpointer=saver)


def _talk(ds, thread_id: str, *texts: str):
    graph = _agent(ds.checkpointer)
    for text in texts:
        graph.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": thread_id}})
    return graph


@pytest.fixture
def agent():
    """Build the agent over a saver: `agent(saver)`."""
    return _agent


@pytest.fixture
def talk():
    """Lead a conversation with the agent: `talk(ds, thread_id, *texts)`."""
    return _talk


@pytest.fixture
def database(tmp_path: Path, talk) -> Path:
    """A SQLite file: `t-1` of two turns, `forked` with two ways on, `hostile` of text that would act on a terminal."""
    path = tmp_path / "agents.db"
    with dalsegno.connect(f"sqlite:///{path}") as ds:
        talk(ds, "t-1", "退款 78 元", "please book")
        talk(ds, "hostile", HOSTILE, "x" * 5000)
        graph = talk(ds, "forked", "first", "second")
        (fork_at,) = (each for each in ds.threads.checkpoints("forked") if each.step == 1)
        dalsegno.fork(graph, "forked", fork_at.checkpoint_id, update={"messages": [("user", "other way")]})
    return path


@pytest.fixture
def url(database: Path) -> str:
    return f"sqlite:///{database}"


@pytest.fixture
def run(url: str, monkeypatch: pytest.MonkeyPatch):
    """Run a command on that database (or another, if the arguments name one)."""
    for name in ("DALSEGNO_STORE", "DALSEGNO_TENANT", "DALSEGNO_USER"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object, store: str | None = url, **env: str) -> Answer:
        words = [str(each) for each in arguments]
        if store is not None and words[0] != "demo":
            words += ["--store", store]
        result = CliRunner().invoke(app, words, env={"COLUMNS": "200", **env})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Answer(result.exit_code, result.stdout, result.stderr)

    return run
