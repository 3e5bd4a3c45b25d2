"""A graph's nodes are held to the schema's fields, whether it was compiled by LangGraph or by dalsegno."""

from __future__ import annotations

import operator
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import Command, Overwrite, RetryPolicy, Send, interrupt
from typing_extensions import TypedDict

import dalsegno
from dalsegno import Field, StateSchema
from dalsegno.errors import Misuse, NotOwner, StateShapeError
from dalsegno.langgraph.checkpointer import Recorded
from dalsegno.stores.statements import load_script

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    question: str
    verdict: str
    notes: Annotated[list[str], operator.add]
    files: list[dict]
    tries: int
    override: str


SCHEMA = StateSchema(
    fields=[
        Field("question", type=str),
        Field("verdict", owner="judge", type=str, journal=True),
        Field("notes", owner=("a", "b"), reducer=operator.add, type=list, journal=True),
        Field("files", keep="reference", limit_bytes=200),
        Field("tries", type=int, default=3),
        Field("override", scope="run"),
    ]
)


@pytest.fixture(
    params=[
        "memory-dalsegno-sync",
        "memory-dalsegno-async",
        "sqlite-langgraph-sync",
        "postgres-langgraph-sync",
        "postgres-langgraph-async",
    ]
)
def way(request: pytest.FixtureRequest) -> str:
    """A store, who compiles the graph, and the face; what a wrapper does is the same on each store."""
    return request.param


@pytest.fixture
def face(way: str) -> str:
    return way.rpartition("-")[2]


@pytest.fixture
def store_url(way: str, request: pytest.FixtureRequest) -> str:
    kind = way.partition("-")[0]
    return "memory://" if kind == "memory" else request.getfixturevalue(f"{kind}_url")


@pytest.fixture
def ds(store_url: str) -> Iterator[dalsegno.Dalsegno]:
    with dalsegno.connect(store_url, schema=SCHEMA) as connection:
        yield connection


@pytest.fixture
def compiled(way: str, ds: dalsegno.Dalsegno) -> Callable[..., Any]:
    """Compile a builder the way of the moment."""

    def make(builder: Any, **settings: Any) -> Any:
        if "-dalsegno-" in way:
            return dalsegno.compile(builder, ds, **settings)
        return builder.compile(checkpointer=ds.checkpointer, **settings)

    return make


def graph(**nodes: Any) -> Any:
    """START → a and b → judge, each node doing what is given, or nothing."""
    builder = StateGraph(State)
    for name in ("a", "b", "judge"):
        builder.add_node(name, nodes.get(name, lambda state: {}))
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_edge(["a", "b"], "judge")
    return builder


TABLES = re.findall(r"CREATE TABLE (\w+)", load_script("dalsegno.stores.sqlite", "schema.sql"))


def stored_of(execute: Callable[..., list[Any]]) -> str:
    """Everything that a database holds, as text."""
    return "\n".join(
        bytes(cell).decode("utf-8", "replace") if isinstance(cell, (bytes, memoryview)) else str(cell)
        for table in TABLES
        for row in execute(f"SELECT * FROM {table}")
        for cell in row
    )


# --- owners ---------------------------------------------------------------------------------------


async def test_the_owner_writes_and_everyone_reads(compiled, call):
    read: list[Any] = []
    built = compiled(graph(judge=lambda state: {"verdict": f"on {state['notes']}"}, a=lambda state: {"notes": ["x"]}))
    found = await call(built, "invoke", {"question": "q"}, CONFIG)
    assert found["verdict"] == "on ['x']"
    again = compiled(graph(a=lambda state: read.append(state["verdict"])))
    await call(again, "invoke", {"question": "q"}, CONFIG)
    assert read == ["on ['x']"]


async def test_another_node_is_refused_with_both_names_and_nothing_of_it_is_stored(ds, compiled, call, execute):
    built = compiled(graph(a=lambda state: {"verdict": "SECRET-VERDICT", "question": "SECRET-TOO"}))
    with pytest.raises(NotOwner, match=r"'a' wrote 'verdict', which 'judge' owns"):
        await call(built, "invoke", {"question": "q"}, CONFIG)
    assert "verdict" not in ds.threads.state("t")
    told = stored_of(execute).replace("SECRET-VERDICT', 'question", "")
    assert "SECRET" not in told
    assert ds.threads.check().clean


async def test_the_siblings_of_a_refused_node_are_kept_and_a_mended_graph_goes_on(ds, compiled, call):
    ran: list[str] = []

    def b(state):
        ran.append("b")
        return {"notes": ["from b"]}

    with pytest.raises(NotOwner):
        await call(compiled(graph(a=lambda state: {"verdict": "x"}, b=b)), "invoke", {"question": "q"}, CONFIG)
    mended = compiled(graph(a=lambda state: {"notes": ["from a"]}, b=b, judge=lambda state: {"verdict": "ok"}))
    found = await call(mended, "invoke", None, CONFIG)
    assert (found["verdict"], sorted(found["notes"])) == ("ok", ["from a", "from b"])
    assert ran.count("b") <= 2


async def test_a_node_that_a_send_started_is_refused_by_its_name(ds, compiled, call, execute):
    builder = StateGraph(State)
    builder.add_node("a", lambda state: {"notes": ["a"]})
    builder.add_node("work", lambda state: {"verdict": "SECRET-VERDICT"})
    builder.add_node("judge", lambda state: {})
    builder.add_node("b", lambda state: {})
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_conditional_edges("a", lambda state: [Send("work", {}), Send("work", {"n": 1})], ["work"])
    builder.add_edge("work", "judge")
    with pytest.raises(NotOwner) as caught:
        await call(compiled(builder), "invoke", {"question": "q"}, CONFIG)
    assert caught.value.node == "work"
    assert "SECRET" not in stored_of(execute)


async def test_commands_and_overwrites_are_held_to_it_too(compiled, call):
    built = compiled(graph(a=lambda state: Command(update={"verdict": "x"})))
    with pytest.raises(NotOwner):
        await call(built, "invoke", {"question": "q"}, {"configurable": {"thread_id": "one"}})
    built = compiled(graph(a=lambda state: {"notes": Overwrite("no list")}))
    with pytest.raises(StateShapeError, match="notes is str"):
        await call(built, "invoke", {"question": "q"}, {"configurable": {"thread_id": "two"}})


async def test_a_persons_update_and_an_input_are_free_but_held_to_types(ds, compiled, call):
    built = compiled(graph())
    await call(built, "invoke", {"question": "q", "verdict": "from the input"}, CONFIG)
    await call(built, "update_state", CONFIG, {"verdict": "by hand"})
    assert ds.threads.state("t")["verdict"] == "by hand"
    with pytest.raises(StateShapeError, match="verdict is int"):
        await call(built, "update_state", CONFIG, {"verdict": 5})
    with pytest.raises(StateShapeError, match="question is int"):
        await call(built, "invoke", {"question": 5}, CONFIG)
    assert ds.threads.state("t")["verdict"] == "by hand"


class Shared(TypedDict, total=False):
    question: str
    verdict: str


def inside(verdict: str | None) -> Any:
    inner = StateGraph(Shared)
    inner.add_node("judge", lambda state: {} if verdict is None else {"verdict": verdict})
    inner.add_node("other", lambda state: {})
    inner.add_edge(START, "judge")
    inner.add_edge("judge", "other")
    return inner.compile()


async def test_a_subgraph_is_one_node(compiled, call):
    built = compiled(graph(judge=inside("inside")))
    assert (await call(built, "invoke", {"question": "q"}, CONFIG))["verdict"] == "inside"
    refused = compiled(graph(a=inside("inside")))
    with pytest.raises(NotOwner, match="'a' wrote 'verdict'"):
        await call(refused, "invoke", {"question": "q"}, {"configurable": {"thread_id": "u"}})


async def test_what_a_subgraph_was_given_and_hands_back_is_no_write(compiled, call):
    built = compiled(graph(a=inside(None)))
    found = await call(built, "invoke", {"question": "q", "verdict": "from before"}, CONFIG)
    assert found["verdict"] == "from before"


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_under_each_durability(ds, compiled, call, execute, durability):
    built = compiled(graph(judge=lambda state: {"notes": ["SECRET-NOTE"]}))
    with pytest.raises(NotOwner):
        await call(built, "invoke", {"question": "q"}, CONFIG, durability=durability)
    assert "SECRET" not in stored_of(execute)


# --- shapes ---------------------------------------------------------------------------------------


async def test_another_type_is_refused_with_its_path_and_not_stored(ds, compiled, call, execute):
    built = compiled(graph(judge=lambda state: {"verdict": ["SECRET-LIST"]}))
    with pytest.raises(StateShapeError) as caught:
        await call(built, "invoke", {"question": "q"}, CONFIG)
    assert caught.value.path == "verdict"
    assert "SECRET" not in stored_of(execute)


async def test_a_body_among_references_is_refused_with_its_path(compiled, call):
    built = compiled(graph(a=lambda state: {"files": [{"id": "1"}, {"id": "2", "body": "x" * 201}]}))
    with pytest.raises(StateShapeError) as caught:
        await call(built, "invoke", {"question": "q"}, CONFIG)
    assert caught.value.path == "files[1].body"


def into_a_tuple(old: Any, new: Any) -> Any:
    return (*old, *new)


class Odd(TypedDict, total=False):
    notes: Annotated[list[str], into_a_tuple]


async def test_a_reducer_that_makes_something_else_is_caught_before_it_is_stored(store_url, call):
    schema = StateSchema(fields=[Field("notes", reducer=into_a_tuple, type=list)])
    with dalsegno.connect(store_url, schema=schema) as ds:
        builder = StateGraph(Odd)
        builder.add_node("a", lambda state: {"notes": ["x"]})
        builder.add_edge(START, "a")
        with pytest.raises(StateShapeError, match="notes is tuple"):
            await call(builder.compile(checkpointer=ds.checkpointer), "invoke", {"notes": ["y"]}, CONFIG)


async def test_what_is_required_is_due_from_the_input_and_from_an_owner_that_has_run(store_url, call):
    schema = StateSchema(fields=[Field("question", required=True), Field("verdict", owner="judge", required=True)])
    ran: list[str] = []
    with dalsegno.connect(store_url, schema=schema) as ds:
        silent = graph(a=lambda state: ran.append("a")).compile(checkpointer=ds.checkpointer)
        with pytest.raises(StateShapeError, match="no question"):
            await call(silent, "invoke", {"tries": 1}, CONFIG)
        assert ran == []
        assert await call(silent, "get_state", CONFIG) is not None
        with pytest.raises(StateShapeError, match="no verdict, which schema version 1 requires of 'judge'"):
            await call(silent, "invoke", {"question": "q"}, {"configurable": {"thread_id": "u"}})
        spoken = graph(judge=lambda state: {"verdict": "ok"}).compile(checkpointer=ds.checkpointer)
        await call(spoken, "invoke", {"question": "q"}, {"configurable": {"thread_id": "v"}})
        await call(spoken, "invoke", {"tries": 2}, {"configurable": {"thread_id": "v"}})


async def test_a_default_is_read_by_the_second_run_and_with_compile_by_the_first(ds, call):
    read: list[Any] = []
    builder = graph(a=lambda state: read.append(state.get("tries")))
    stock = builder.compile(checkpointer=ds.checkpointer)
    await call(stock, "invoke", {"question": "q"}, CONFIG)
    await call(stock, "invoke", {"question": "q"}, CONFIG)
    own = dalsegno.compile(builder, ds)
    await call(own, "invoke", {"question": "q"}, {"configurable": {"thread_id": "u"}})
    await call(own, "invoke", {"tries": 7}, {"configurable": {"thread_id": "u"}})
    assert read == [None, 3, 3, 7]
    assert ds.threads.check().clean


# --- the journal ----------------------------------------------------------------------------------


async def test_each_write_is_an_event_with_its_node_time_and_value(ds, compiled, call):
    built = compiled(
        graph(a=lambda state: {"notes": ["x"]}, b=lambda state: {"notes": ["y"]}, judge=lambda state: {"verdict": "ok"})
    )
    await call(built, "invoke", {"question": "q", "verdict": "none yet"}, CONFIG)
    await call(built, "update_state", CONFIG, {"verdict": "by hand"})
    events = [(each.kind, each.author, each.payload) for each in ds.journal.read("t")]
    assert events == [
        ("field", "input", {"verdict": "none yet"}),
        ("field", "a", {"notes": ["x"]}),
        ("field", "b", {"notes": ["y"]}),
        ("field", "judge", {"verdict": "ok"}),
        ("field", "person", {"verdict": "by hand"}),
    ]
    assert [each.coordinate for each in ds.journal.search("t", "by hand")] == ["#5 person"]
    assert ds.threads.check().clean


async def test_messages_and_fields_stand_in_one_journal(ds, compiled, call):
    built = compiled(graph(judge=lambda state: {"verdict": "ok", "messages": [AIMessage("done")]}))
    await call(built, "invoke", {"messages": [("user", "go")]}, CONFIG)
    assert [each.text for each in ds.journal.read("t")] == ["go", "done", "verdict: ok"]


# --- fields of one run ----------------------------------------------------------------------------


async def test_a_field_of_one_run_reaches_the_nodes_and_is_nowhere_in_the_database(ds, compiled, call, execute):
    read: list[Any] = []
    builder = graph(
        a=lambda state: read.append(state.get("override")), judge=lambda state: read.append(state.get("override"))
    )
    builder.add_node("work", lambda state: read.append(state.get("override")))
    builder.add_conditional_edges(
        "b", lambda state: [Send("work", {"override": "SECRET-SEND", "question": "q"})], ["work"]
    )
    config = {
        "configurable": {"thread_id": "t", "override": "SECRET-CONFIGURABLE"},
        "metadata": {"override": "SECRET-METADATA", "kept": "a note"},
    }
    found = await call(compiled(builder), "invoke", {"question": "q", "override": "SECRET-INPUT"}, config)
    assert sorted(read) == ["SECRET-INPUT", "SECRET-INPUT", "SECRET-SEND"]
    assert found["override"] == "SECRET-INPUT"
    everything = stored_of(execute)
    assert "a note" in everything
    assert "SECRET" not in everything
    assert ds.threads.check().clean


async def test_what_a_node_writes_to_it_lasts_for_the_run_alone(ds, compiled, call, execute):
    read: list[Any] = []
    built = compiled(
        graph(a=lambda state: {"override": "SECRET-NODE"}, judge=lambda state: read.append(state.get("override")))
    )
    await call(built, "invoke", {"question": "q"}, CONFIG)
    await call(built, "invoke", {"question": "q"}, CONFIG)
    assert read == ["SECRET-NODE", "SECRET-NODE"]
    assert "override" not in ds.threads.state("t")
    assert "SECRET" not in stored_of(execute)


async def test_an_interrupted_run_does_not_play_it_again(ds, compiled, call, execute):
    read: list[Any] = []

    def ask(state):
        answer = interrupt("really?")
        read.append((answer, state.get("override")))

    built = compiled(graph(judge=ask))
    await call(built, "invoke", {"question": "q", "override": "SECRET-ONCE"}, CONFIG)
    dalsegno.resume(built, "t", "yes")
    assert read == [("yes", None)]
    await call(built, "invoke", Command(update={"override": "SECRET-COMMAND", "question": "more"}), CONFIG)
    assert "SECRET" not in stored_of(execute)


async def test_wherever_a_field_of_one_run_is_written_it_is_in_no_table(ds, compiled, call, execute):
    """In subgraphs with a history of their own, `Send`s, commands to the graph above, updates by hand, forks, failures."""
    read: list[Any] = []

    def inner(state):
        read.append(state.get("override"))
        interrupt("really?")
        return {"override": "SECRET-SUBGRAPH", "notes": ["in"]}

    def back(state):
        read.append(state.get("override"))
        target = Send("b", {"override": "SECRET-SEND-ABOVE"})
        return Command(graph=Command.PARENT, update={"override": "SECRET-ABOVE"}, goto=target)

    def work(state):
        read.append(state.get("override"))
        raise ValueError("no luck")

    nested = StateGraph(State).add_node("inner", inner).add_node("back", back)
    nested.add_edge(START, "inner").add_edge("inner", "back")
    builder = StateGraph(State).add_node("a", nested.compile(checkpointer=True), destinations=("b",))
    builder.add_node("b", work).add_node("judge", lambda state: {"override": Overwrite("SECRET-OVERWRITE")})
    builder.add_edge(START, "a").add_edge("b", "judge")
    built = compiled(builder)
    await call(built, "invoke", {"question": "q", "override": "SECRET-INPUT"}, CONFIG)
    with pytest.raises(ValueError, match="no luck"):
        await call(built, "invoke", Command(resume="yes", update={"override": "SECRET-RESUME"}), CONFIG)
    assert read == ["SECRET-INPUT", None, "SECRET-SUBGRAPH", "SECRET-SEND-ABOVE"]
    await call(built, "update_state", CONFIG, {"override": "SECRET-UPDATE"}, as_node="b")
    await call(built, "invoke", None, CONFIG)
    (first, *_) = [info.checkpoint_id for info in ds.threads.checkpoints("t") if not info.ns][-1:]
    dalsegno.fork(built, "t", first, update={"override": "SECRET-FORK"})
    assert "SECRET" not in stored_of(execute)
    assert ds.threads.check().clean


KILLED = """
    import os, sys
    import dalsegno
    from dalsegno import Field, StateSchema
    from langgraph.graph import START, StateGraph
    from typing_extensions import TypedDict

    class State(TypedDict, total=False):
        task: str
        assignee: str
        model: str

    def first(state):
        print("first", state.get("assignee"), state.get("model"), flush=True)

    def second(state):
        print("second", state.get("assignee"), state.get("model"), flush=True)
        if sys.argv[2] == "kill":
            os._exit(9)

    builder = StateGraph(State)
    builder.add_node("first", first)
    builder.add_node("second", second)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    schema = StateSchema(fields=[Field("assignee", scope="run"), Field("model", scope="run")])
    with dalsegno.connect(sys.argv[1], schema=schema) as ds:
        graph = builder.compile(checkpointer=ds.checkpointer)
        if sys.argv[2] == "kill":
            state = {"task": "t", "assignee": "the deputy", "model": "the small one"}
            graph.invoke(state, {"configurable": {"thread_id": "t"}}, durability="sync")
        else:
            dalsegno.resume(graph, "t")
"""


def test_a_one_off_reassignment_does_not_come_back_after_a_kill(tmp_path):
    program = tmp_path / "run.py"
    program.write_text(textwrap.dedent(KILLED), encoding="utf-8")
    url = f"sqlite:///{tmp_path / 'agents.db'}"

    def run(how: str) -> tuple[int, list[str]]:
        done = subprocess.run(
            [sys.executable, str(program), url, how], capture_output=True, text=True, timeout=120, check=False
        )
        return done.returncode, done.stdout.splitlines()

    assert run("kill") == (9, ["first the deputy the small one", "second the deputy the small one"])
    assert b"deputy" not in (tmp_path / "agents.db").read_bytes()
    assert b"deputy" not in (tmp_path / "agents.db-wal").read_bytes()
    assert run("resume") == (0, ["second None None"])


async def test_the_runs_own_context_is_never_stored_and_is_given_anew(ds, call, execute, face):
    class Context(TypedDict):
        override: str

    read: list[Any] = []

    def a(state: State, runtime: Runtime[Context]):
        read.append(runtime.context["override"])

    builder = StateGraph(State, context_schema=Context)
    builder.add_node("a", a)
    builder.add_edge(START, "a")
    built = builder.compile(checkpointer=ds.checkpointer)
    await call(built, "invoke", {"question": "q"}, CONFIG, context={"override": "SECRET-CONTEXT"})
    built = builder.compile(checkpointer=ds.checkpointer, interrupt_before=["a"])
    await call(built, "invoke", {"question": "q"}, {"configurable": {"thread_id": "u"}}, context={"override": "SECRET"})
    resume = dalsegno.resume if face == "sync" else dalsegno.aresume
    found = resume(built, "u", context={"override": "SECRET-ANEW"})
    await found if face == "async" else None
    assert read == ["SECRET-CONTEXT", "SECRET-ANEW"]
    assert "SECRET" not in stored_of(execute)


# --- at compile time ------------------------------------------------------------------------------


class Plain(TypedDict, total=False):
    found: list[str]
    notes: Annotated[list[str], operator.add]


def parallel(field: str) -> Any:
    builder = StateGraph(Plain)
    for name in ("a", "b", "c"):
        builder.add_node(name, lambda state: {field: ["x"]})
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_edge("b", "c")
    builder.add_edge("c", END)
    return builder


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ([Field("found", owner=("a", "b"))], "'a' and 'b' may write 'found' in one superstep"),
        ([Field("found", owner=("a", "b"), reducer=operator.add)], "the graph's reducer is none"),
        ([Field("notes", owner=("a", "b"), reducer=max)], "the graph's reducer is add"),
        ([Field("found", owner="nobody")], "belongs to 'nobody'"),
        ([Field("lost")], "no such field; it has found, notes"),
    ],
)
def test_graph_and_schema_have_to_agree(fields, says):
    schema = StateSchema(fields=fields)
    with pytest.raises(Misuse, match=says):
        dalsegno.check_graph(parallel("found"), schema)
    with dalsegno.connect("memory://", schema=schema) as ds, pytest.raises(Misuse, match=says):
        dalsegno.compile(parallel("found"), ds)


def test_writers_that_never_run_together_need_no_reducer():
    dalsegno.check_graph(parallel("found"), StateSchema(fields=[Field("found", owner=("b", "c"))]))
    dalsegno.check_graph(parallel("found"), StateSchema(fields=[Field("found", owner=("a", "c"))]))
    dalsegno.check_graph(parallel("found"), StateSchema(fields=[Field("notes", owner=("a", "b"))]))


def test_a_node_that_several_sends_start_is_parallel_to_itself():
    builder = StateGraph(Plain)
    builder.add_node("work", lambda state: {"found": ["x"]})
    builder.add_conditional_edges(START, lambda state: [Send("work", {}) for _ in range(2)], ["work"])
    with pytest.raises(Misuse, match="several calls of 'work' may write 'found'"):
        dalsegno.check_graph(builder, StateSchema(fields=[Field("found", owner="work")]))


def test_compile_needs_fields():
    with dalsegno.connect("memory://") as ds, pytest.raises(Misuse, match="was given no fields"):
        dalsegno.compile(parallel("found"), ds)


def test_a_compiled_graph_is_drawn_and_read_as_before(ds):
    built = dalsegno.compile(graph(), ds)
    stock = graph().compile(checkpointer=ds.checkpointer)
    assert built.get_graph().to_json() == stock.get_graph().to_json()
    assert set(built.nodes) == set(stock.nodes)


def test_under_compile_the_node_itself_fails_and_its_sibling_is_kept(ds):
    ran: list[str] = []

    def b(state):
        ran.append("b")
        return {"notes": ["from b"]}

    built = dalsegno.compile(graph(a=lambda state: {"verdict": "x"}, b=b), ds)
    with pytest.raises(NotOwner):
        built.invoke({"question": "q"}, CONFIG, durability="sync")
    assert str(ds.threads.status("t")["t"]) == "failed"
    (failed,) = [task for task in built.get_state(CONFIG).tasks if task.error is not None]
    assert failed.name == "a"
    mended = dalsegno.compile(graph(b=b, judge=lambda state: {"verdict": "ok"}), ds)
    assert dalsegno.resume(mended, "t")["notes"] == ["from b"]


async def test_a_node_that_broke_the_contract_is_not_tried_again(compiled, call):
    ran: list[str] = []

    def a(state):
        ran.append("a")
        return {"verdict": "x"}

    builder = graph()
    builder.nodes.pop("a")
    builder.add_node("a", a, retry_policy=RetryPolicy(initial_interval=0.01))
    with pytest.raises(NotOwner):
        await call(compiled(builder), "invoke", {"question": "q"}, CONFIG)
    assert ran == ["a"]


def test_a_history_that_is_imported_keeps_no_field_of_one_run(ds, execute):
    with dalsegno.connect("memory://") as other:
        builder = graph(judge=lambda state: {"override": "SECRET-LATER"})
        built = builder.compile(checkpointer=other.checkpointer)
        built.invoke({"question": "q", "override": "SECRET-INPUT"}, CONFIG)
        entries = [
            Recorded(
                config=each.parent_config or {"configurable": {"thread_id": "t", "checkpoint_ns": ""}},
                checkpoint=each.checkpoint,
                metadata=each.metadata,
                new_versions=each.checkpoint["channel_versions"],
                writes=[("00000000-0000-0000-0000-000000000001", "", [("override", "SECRET-WRITE")])],
            )
            for each in reversed(list(other.checkpointer.list(CONFIG)))
        ]
        assert ds.checkpointer.put_history(lambda: iter(entries)) == len(entries)
    assert "SECRET" not in stored_of(execute)
    assert ds.threads.check().clean
