"""What LangGraph offers beside plain graphs works as with its in-memory saver: tasks, subgraphs in loops, agents, streams."""

from __future__ import annotations

import asyncio
import operator
from collections import Counter
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

import dalsegno

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    messages: Annotated[list[AnyMessage], add_messages]


def savers(ds: Any) -> list[Any]:
    return [InMemorySaver(), ds.checkpointer]


def restarted(store_url: str, ds: Any) -> Any:
    if store_url == "memory://":
        return ds
    ds.close()
    return dalsegno.connect(store_url)


# --- the functional API


def essay(saver: Any, runs: Counter[str]) -> Any:
    @task
    def outline(topic: str) -> str:
        runs["outline"] += 1
        return f"outline of {topic}"

    @task
    def paragraph(topic: str, number: int) -> dict[str, Any]:
        runs[f"paragraph {number}"] += 1
        if number in runs and runs[number] == "broken":  # type: ignore[comparison-overlap]
            raise RuntimeError(number)
        return {"number": number, "text": f"{topic} " * 100}

    @entrypoint(checkpointer=saver)
    def write(topic: str, *, previous: Any = None) -> Any:
        runs["write"] += 1
        first = outline(topic).result()
        parts = [paragraph(topic, n) for n in range(3)]
        texts = [part.result()["number"] for part in parts]
        verdict = interrupt({"outline": first, "parts": texts})
        return entrypoint.final(value=f"{first}: {verdict}", save=[*(previous or []), verdict])

    return write


def test_tasks_that_ended_do_not_run_again_after_an_interrupt_or_a_restart(store_url):
    ds = dalsegno.connect(store_url)
    runs: Counter[str] = Counter()
    asked = essay(ds.checkpointer, runs).invoke("cats", CONFIG)
    assert asked["__interrupt__"][0].value == {"outline": "outline of cats", "parts": [0, 1, 2]}
    ds = restarted(store_url, ds)
    graph = essay(ds.checkpointer, runs)
    assert graph.invoke(Command(resume="good"), CONFIG) == "outline of cats: good"
    assert runs == {"outline": 1, "paragraph 0": 1, "paragraph 1": 1, "paragraph 2": 1, "write": 2}
    graph.invoke("dogs", CONFIG)
    assert dalsegno.resume(graph, "t", "better") == "outline of dogs: better"
    assert ds.threads.state("t")["__previous__"] == ["good", "better"]
    assert ds.threads.check().clean
    ds.close()


async def test_async_tasks_too(ads):
    ran: Counter[str] = Counter()

    @task
    async def slow(n: int) -> int:
        ran["slow"] += 1
        await asyncio.sleep(0.01)
        return n * n

    @entrypoint(checkpointer=ads.checkpointer)
    async def total(numbers: list[int]) -> int:
        found = await asyncio.gather(*map(slow, numbers))
        ran["total"] += 1
        if ran["total"] == 1:
            raise RuntimeError("first time")
        return sum(found)

    with pytest.raises(RuntimeError, match="first time"):
        await total.ainvoke([1, 2, 3], CONFIG)
    assert await total.ainvoke(None, CONFIG) == 14
    assert ran == {"slow": 3, "total": 2}


# --- subgraphs


def looping(saver: Any, *, persistent: bool) -> Any:
    """A node that calls a subgraph three times, which counts how often it was called."""

    class Inner(TypedDict, total=False):
        seen: Annotated[list[str], operator.add]
        word: str

    inner_builder = StateGraph(Inner)
    inner_builder.add_node("note", lambda state: {"seen": [state["word"]]})
    inner_builder.add_edge(START, "note")
    inner = inner_builder.compile(checkpointer=True if persistent else None)

    def caller(state: State) -> Any:
        return {"log": [",".join(inner.invoke({"word": word})["seen"]) for word in ("a", "b", "c")]}

    def once(state: State) -> Any:
        return {"log": [",".join(inner.invoke({"word": "once"})["seen"])]}

    builder = StateGraph(State)
    builder.add_node("caller", once if persistent else caller)
    builder.add_edge(START, "caller")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("persistent", [False, True])
async def test_a_subgraph_that_keeps_its_state_remembers_and_one_that_does_not_forgets(ads, call, persistent):
    logs = []
    for saver in savers(ads):
        graph = looping(saver, persistent=persistent)
        for _ in range(3):
            answer = await call(graph, "invoke", {"log": ["turn"]}, CONFIG)
        logs.append(answer["log"])
    assert logs[0] == logs[1]
    assert logs[1][-1] == ("once,once,once" if persistent else "c")


def nested(saver: Any) -> Any:
    """outer → middle → inner, which asks; two of them side by side."""

    def asks(state: State) -> Any:
        return {"log": [f"inner heard {interrupt('inner?')}"]}

    inner = StateGraph(State)
    inner.add_node("asks", asks)
    inner.add_edge(START, "asks")
    middle = StateGraph(State)
    middle.add_node("before", lambda state: {"log": ["before"]})
    middle.add_node("inner", inner.compile())
    middle.add_edge(START, "before")
    middle.add_edge("before", "inner")
    compiled = middle.compile()
    outer = StateGraph(State)
    outer.add_node("one", compiled)
    outer.add_node("two", compiled)
    outer.add_node("after", lambda state: {"log": ["after"]})
    outer.add_edge(START, "one")
    outer.add_edge(START, "two")
    outer.add_edge(["one", "two"], "after")
    return outer.compile(checkpointer=saver)


def deep(snapshot: Any) -> Any:
    """A snapshot and those of its subgraphs, without ids."""
    return (
        snapshot.values,
        snapshot.next,
        sorted(
            (
                task.name,
                [each.value for each in task.interrupts],
                deep(task.state) if hasattr(task.state, "next") else None,
            )
            for task in snapshot.tasks
        ),
    )


def test_nested_subgraphs_wait_side_by_side_and_are_answered_after_a_restart(store_url):
    ds = dalsegno.connect(store_url)
    stock = nested(InMemorySaver())
    for graph in (stock, nested(ds.checkpointer)):
        graph.invoke({"log": ["in"]}, CONFIG)
    ds = restarted(store_url, ds)
    ours = nested(ds.checkpointer)
    assert deep(ours.get_state(CONFIG, subgraphs=True)) == deep(stock.get_state(CONFIG, subgraphs=True))
    waiting = [ours.get_state(CONFIG).interrupts, stock.get_state(CONFIG).interrupts]
    assert len(waiting[0]) == 2
    dalsegno.resume(ours, "t", {waiting[0][0].id: "yes"})
    stock.invoke(Command(resume={waiting[1][0].id: "yes"}), CONFIG)
    ds = restarted(store_url, ds)
    ours = nested(ds.checkpointer)
    assert deep(ours.get_state(CONFIG, subgraphs=True)) == deep(stock.get_state(CONFIG, subgraphs=True))
    done = dalsegno.resume(ours, "t", "no")
    assert done == stock.invoke(Command(resume="no"), CONFIG)
    assert [line for line in done["log"] if line.startswith("inner heard")] == ["inner heard yes", "inner heard no"]
    assert {info.ns.count("|") for info in ds.threads.checkpoints("t")} == {0, 1}
    assert ds.threads.check().clean
    ds.close()


def test_time_travel_into_a_nested_subgraph(ds):
    results = []
    for saver in savers(ds):
        graph = nested(saver)
        graph.invoke({"log": ["in"]}, CONFIG)
        outer = graph.get_state(CONFIG, subgraphs=True)
        middle = next(each for each in outer.tasks if each.name == "one").state
        inner = middle.tasks[0].state
        graph.update_state(inner.config, {"log": ["changed inside"]})
        seen = [deep(graph.get_state(CONFIG, subgraphs=True))]
        history = list(graph.get_state_history(middle.config))
        seen.append([deep(each) for each in history])
        answer = graph.invoke(None, history[-1].config)
        seen.append({key: value for key, value in answer.items() if key != "__interrupt__"})
        seen.append(deep(graph.get_state(CONFIG)))
        results.append(seen)
    assert results[0] == results[1]
    assert ds.threads.check().clean


def test_a_checkpoint_copied_beside_itself_has_its_own_values(ds):
    results = []
    for saver in savers(ds):
        builder = StateGraph(State)
        for name, following in (("one", "two"), ("two", "three"), ("three", "__end__")):
            builder.add_node(name, lambda state, name=name: {"log": [f"{name} " + "word " * 60]})
            builder.add_edge(name, following)
        builder.add_edge(START, "one")
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"log": ["in"]}, CONFIG)
        (past,) = [each for each in graph.get_state_history(CONFIG) if each.next == ("three",)]
        copied = graph.update_state(past.config, None, as_node="__copy__")
        answer = graph.invoke(None, copied)
        results.append((answer, [(each.values, each.next) for each in graph.get_state_history(CONFIG)]))
    assert results[0] == results[1]
    assert len(results[1][0]["log"]) == 4
    assert ds.threads.check().clean


# --- fan-out


def test_many_sends_with_reducers_merge_in_order_as_with_the_in_memory_saver(ds):
    results = []
    for saver in savers(ds):
        builder = StateGraph(State)
        builder.add_node(
            "spread",
            lambda state: Command(goto=[Send("work", {"n": n, "pad": "x" * 300}) for n in range(25)]),
            destinations=("work",),
        )
        builder.add_node(
            "work", lambda job: {"log": [f"{job['n']}"], "messages": [AIMessage(f"{job['n']}", id=f"m{job['n'] % 5}")]}
        )
        builder.add_edge(START, "spread")
        graph = builder.compile(checkpointer=saver)
        done = graph.invoke({"log": ["go"]}, CONFIG)
        results.append((done, [(each.values, each.next) for each in graph.get_state_history(CONFIG)]))
    assert results[0] == results[1]
    assert len(results[1][0]["log"]) == 26


# --- streams


async def test_streams_of_checkpoints_and_tasks_are_those_of_the_in_memory_saver(ads, face):
    def shown(chunk: Any) -> Any:
        kind, body = chunk
        if kind == "checkpoints":
            return kind, body["values"], body["next"], body["metadata"].get("step")
        if kind == "tasks":
            return kind, body["name"], body.get("result"), body.get("error")
        return kind, body

    streams = []
    for saver in savers(ads):
        builder = StateGraph(State)
        builder.add_node("one", lambda state: {"log": ["one"]})
        builder.add_node("two", lambda state: {"log": ["two"], "messages": [AIMessage("two", id="2")]})
        builder.add_edge(START, "one")
        builder.add_edge("one", "two")
        graph = builder.compile(checkpointer=saver)
        modes = ["checkpoints", "tasks", "values", "updates"]
        given = {"log": ["in"], "messages": [HumanMessage("in", id="1")]}
        if face == "sync":
            streams.append([shown(each) for each in graph.stream(given, CONFIG, stream_mode=modes, durability="sync")])
        else:
            streams.append(
                [shown(each) async for each in graph.astream(given, CONFIG, stream_mode=modes, durability="sync")]
            )
    assert streams[0] == streams[1]
    assert len(streams[1]) > 8


def test_one_saver_serves_many_threads_of_work_at_once(ds):
    from concurrent.futures import ThreadPoolExecutor

    builder = StateGraph(State)
    builder.add_node("work", lambda state: {"log": [f"done {len(state['log'])}"], "messages": [AIMessage("x" * 500)]})
    builder.add_edge(START, "work")
    graph = builder.compile(checkpointer=ds.checkpointer)

    def talk(name: str) -> Any:
        config = {"configurable": {"thread_id": name}}
        for n in range(6):
            answer = graph.invoke({"log": [f"{name} {n}"], "messages": [HumanMessage(f"{n}")]}, config)
        return answer

    names = [f"thread {n}" for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(talk, names))
    for name, answer in zip(names, answers, strict=True):
        assert len(answer["log"]) == len(answer["messages"]) == 12
        assert [line for line in answer["log"] if line.startswith(name)] == [f"{name} {n}" for n in range(6)]
        assert graph.get_state({"configurable": {"thread_id": name}}).values == answer
        assert len(ds.journal.read(name)) == 12
    assert ds.threads.check().clean
