"""A state of an older version is read, gone on with and forked in its new form; the stored one stays as it was."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any, TypedDict

import psycopg
import pytest
from langgraph.graph import START, StateGraph

import dalsegno
from dalsegno import Default, Drop, Rename, StateSchema
from dalsegno.errors import Misuse, StateFromFuture, StateShapeError

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}

SECOND = StateSchema(
    version=2,
    migrations=[
        Rename("attachments[].url", "ref", since=2),
        Rename("who", "customer", since=2),
        Default("priority", "normal", since=2),
        Drop("scratch", since=2),
    ],
    required=["attachments[].ref", "priority"],
)


class Old(TypedDict, total=False):
    attachments: list[dict[str, Any]]
    who: str
    scratch: str
    turns: int


class New(TypedDict, total=False):
    attachments: list[dict[str, Any]]
    customer: str
    priority: str
    turns: int


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """Stores that two programs, an older and a newer one, may open after each other."""
    return request.getfixturevalue(f"{request.param}_url")


def graph_of(ds: Any, schema: Any) -> Any:
    builder = StateGraph(schema)
    builder.add_node("count", lambda state: {"turns": state.get("turns", 0) + 1})
    builder.add_node("again", lambda state: {"turns": state.get("turns", 0) + 1})
    builder.add_edge(START, "count")
    builder.add_edge("count", "again")
    return builder.compile(checkpointer=ds.checkpointer)


def old_state(store_url: str, **settings: Any) -> None:
    with dalsegno.connect(store_url, schema=StateSchema(version=1)) as ds:
        given = {
            "attachments": [{"url": f"s3://{n}", "pad": "x" * 300} for n in range(3)],
            "who": "Ann",
            "scratch": "s" * 500,
        }
        graph_of(ds, Old).invoke(given, CONFIG, **settings)


NEW = {
    "attachments": [{"ref": f"s3://{n}", "pad": "x" * 300} for n in range(3)],
    "customer": "Ann",
    "priority": "normal",
}


async def test_an_older_state_is_read_in_its_new_form(store_url, call):
    old_state(store_url)
    async with dalsegno.connect(store_url, schema=SECOND) as ds:
        graph = graph_of(ds, New)
        assert (await call(graph, "get_state", CONFIG)).values == {**NEW, "turns": 2}
        for past in list(graph.get_state_history(CONFIG))[:-1]:
            assert {key: value for key, value in past.values.items() if key != "turns"} == NEW
    with dalsegno.connect(store_url) as ds:  # without a schema: as it is stored
        assert ds.threads.state("t")["who"] == "Ann"


@pytest.mark.parametrize("how", ["a new turn", "a resumed run", "an update", "a fork"])
def test_what_is_written_next_is_whole_in_the_new_form(store_url, how):
    old_state(store_url, **({"interrupt_before": ["again"]} if how == "a resumed run" else {}))
    with dalsegno.connect(store_url, schema=SECOND) as ds:
        graph = graph_of(ds, New)
        if how == "a new turn":
            graph.invoke({"turns": 10}, CONFIG)
        elif how == "a resumed run":
            dalsegno.resume(graph, "t")
        elif how == "an update":
            graph.update_state(CONFIG, {"turns": 20}, as_node="again")
        else:
            (past,) = [each for each in graph.get_state_history(CONFIG) if each.next == ("again",)]
            dalsegno.fork(graph, "t", past.config["configurable"]["checkpoint_id"])
        values = graph.get_state(CONFIG).values
        assert {key: value for key, value in values.items() if key != "turns"} == NEW
        assert ds.threads.check().clean
    with dalsegno.connect(store_url, schema=SECOND) as ds:
        assert graph_of(ds, New).get_state(CONFIG).values == values
    with dalsegno.connect(store_url) as ds:
        stored = {key: value for key, value in ds.threads.state("t").items() if not key.startswith(("branch:", "__"))}
        assert stored == values
        first = ds.threads.checkpoints("t")[-2].checkpoint_id
        assert ds.threads.state("t", first)["who"] == "Ann"  # the older ones stay as they were written


async def test_a_state_of_a_newer_program_is_refused_and_left_alone(store_url, call):
    old_state(store_url)
    with dalsegno.connect(store_url, schema=SECOND) as ds:
        graph_of(ds, New).invoke({"turns": 5}, CONFIG)
    async with dalsegno.connect(store_url, schema=StateSchema(version=1)) as ds:
        graph, count = graph_of(ds, Old), len(ds.threads.checkpoints("t"))
        for attempt in (
            lambda: call(graph, "get_state", CONFIG),
            lambda: call(graph, "invoke", {"turns": 1}, CONFIG),
            lambda: call(graph, "invoke", None, CONFIG),
            lambda: call(graph, "update_state", CONFIG, {"turns": 1}, "again"),
        ):
            with pytest.raises(StateFromFuture, match="version 2"):
                await attempt()
        assert len(ds.threads.checkpoints("t")) == count
        first = ds.threads.checkpoints("t")[-2].checkpoint_id
        assert (await call(graph, "get_state", {"configurable": {"thread_id": "t", "checkpoint_id": first}})).values[
            "who"
        ] == "Ann"


async def test_a_required_field_that_is_missing_is_named_with_its_place(store_url, call):
    old_state(store_url)
    strict = StateSchema(version=2, migrations=[Default("priority", "normal", since=2)], required=["attachments[].ref"])
    async with dalsegno.connect(store_url, schema=strict) as ds:
        graph, count = graph_of(ds, New), len(ds.threads.checkpoints("t"))
        with pytest.raises(StateShapeError, match=r"attachments\[0\]\.ref") as told:
            await call(graph, "invoke", {"turns": 1}, CONFIG)
        assert told.value.path == "attachments[0].ref"
        assert len(ds.threads.checkpoints("t")) == count


def test_the_version_stands_beside_each_checkpoint_of_the_root_graph(store_url):
    old_state(store_url)
    with dalsegno.connect(store_url, schema=SECOND) as ds:
        graph_of(ds, New).invoke({"turns": 5}, CONFIG)
    statement = "SELECT version FROM ds_checkpoints ORDER BY ckpt"
    if store_url.startswith("sqlite"):
        connection: Any = sqlite3.connect(Path(store_url.removeprefix("sqlite:///")))
    else:
        connection = psycopg.connect(store_url)
    versions = [version for (version,) in connection.execute(statement).fetchall()]
    connection.close()
    assert versions == [1] * 4 + [2] * 4
    assert json.dumps(versions)


def test_a_declaration_that_cannot_be_right_is_misuse():
    for wrong in (
        lambda: StateSchema(version=0),
        lambda: StateSchema(version=2, migrations=[Rename("a", "b", since=3)]),
        lambda: StateSchema(version=2, migrations=[Rename("a[]", "b", since=2)]),
        lambda: StateSchema(version=2, required="a"),
    ):
        with pytest.raises(Misuse):
            wrong()
