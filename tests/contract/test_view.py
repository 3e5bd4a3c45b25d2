"""The view `graph_checkpoints` shows whole states, with nothing but the database's own shell."""

from __future__ import annotations

import json
import operator
import sqlite3
from typing import Annotated, Any

import psycopg
import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

import dalsegno


class State(TypedDict):
    messages: Annotated[list, add_messages]
    work: dict
    numbers: Annotated[list, operator.add]
    image: str


def model(state: State) -> dict[str, Any]:
    turn = len(state["messages"])
    return {
        "messages": [AIMessage('he wrote "{\\"$ref\\":5}" and {"$list":[[1,1,9]]}, 第三句 ' * 12 + str(turn))],
        "work": {f"key {n}": "value " * 20 + str(n) for n in range(40)}
        | {"deep": [{"text": "x" * 300, "n": turn}] * 9},
        "numbers": list(range(100)),
        "image": "QUJD" * 20_000,
    }


def plain(tree: Any) -> Any:
    """A tree without the codec's note on the order of keys."""
    if isinstance(tree, dict):
        return {key: plain(part) for key, part in tree.items() if key != "$keys"}
    return [plain(part) for part in tree] if isinstance(tree, list) else tree


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_view_shows_what_a_reader_gets(kind: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    with dalsegno.connect(url) as ds:
        graph = StateGraph(State).add_node(model).add_edge(START, "model").compile(checkpointer=ds.checkpointer)
        for turn in range(4):
            graph.invoke(
                {"messages": [("user", f"Frage {turn} " + '"quoted" 中文 ' * 30)]}, {"configurable": {"thread_id": "t"}}
            )
        sql = "SELECT checkpoint_id, parent_id, state, created_at FROM graph_checkpoints WHERE thread_id = 't'"
        if kind == "sqlite":
            with sqlite3.connect(url.removeprefix("sqlite:///")) as shell:
                rows = {row[0]: (row[1], json.loads(row[2]), row[3]) for row in shell.execute(sql)}
            shell.close()
        else:
            with psycopg.connect(url) as shell:
                rows = {row[0]: row[1:] for row in shell.execute(sql)}
        infos = ds.threads.checkpoints("t")
        assert {info.checkpoint_id for info in infos} == set(rows)
        assert len(infos) == 12
        for info in infos:
            parent_id, state, created_at = rows[info.checkpoint_id]
            assert parent_id == info.parent_id
            assert plain(state) == plain(ds.threads.tree("t", info.checkpoint_id))
            assert str(created_at).replace("T", " ")[:19] == str(info.created_at)[:19]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_view_tells_tenants_apart(kind: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    for tenant in ("acme", "other"):
        with dalsegno.connect(url, tenant=tenant) as ds:
            graph = StateGraph(State).add_node(model).add_edge(START, "model").compile(checkpointer=ds.checkpointer)
            graph.invoke({"messages": [("user", tenant)]}, {"configurable": {"thread_id": "t"}})
    sql = "SELECT count(*), min(tenant) FROM graph_checkpoints WHERE thread_id = 't' AND tenant = 'acme'"
    if kind == "sqlite":
        shell: Any = sqlite3.connect(url.removeprefix("sqlite:///"))
    else:
        shell = psycopg.connect(url)
    assert shell.execute(sql).fetchone() == (3, "acme")
    shell.close()
