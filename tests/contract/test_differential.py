"""The same random conversation ends in the same states, tasks and histories as with LangGraph's own in-memory saver."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Command, Overwrite, Send, interrupt

import dalsegno


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {**(old or {}), **(new or {})}


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[str], operator.add]
    table: Annotated[dict[str, Any], merged]
    fan: int
    ask: int
    broken: bool
    plan: dict[str, Any]


class Boom(Exception):
    """A node that breaks on purpose."""


def plan(state: State) -> Any:
    if state.get("broken"):
        raise Boom("plan")
    count = len(state.get("messages", []))
    return {
        "messages": [AIMessage(f"plan {count}", id=f"p{count}")],
        "log": [f"plan {count}"],
        "plan": {"count": count, "text": "long " * 100, "seen": [count]},
    }


def fan_out(state: State) -> Any:
    sends = [Send("work", {"word": f"w{n}", "deep": {"list": list(range(n))}}) for n in range(state.get("fan", 0))]
    return sends or "talk"


def work(job: dict[str, Any]) -> Any:
    return {"log": [f"work {job['word']}"], "table": {job["word"]: job["deep"]}}


def talk(state: State) -> Any:
    answers = [interrupt({"ask": n, "of": state["ask"]}) for n in range(state.get("ask", 0))]
    return {"messages": [AIMessage(f"answers {answers}", id=f"t{len(state['messages'])}")], "log": [f"talk {answers}"]}


def close(state: State) -> Any:
    if len(state["log"]) % 5 == 0:
        return Command(update={"log": ["closing"]}, goto="extra")
    if len(state["messages"]) > 12:
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *state["messages"][-2:]], "table": {}}
    if len(state["messages"]) > 6:
        return {"messages": [RemoveMessage(id=state["messages"][0].id)], "log": Overwrite(state["log"][-3:])}
    return {"log": ["close"]}


def extra(state: State) -> Any:
    return {"log": ["extra"], "messages": [AIMessage("changed", id=state["messages"][-1].id)]}


def child(*, persistent: bool) -> Any:
    class Inner(TypedDict, total=False):
        messages: Annotated[list[AnyMessage], add_messages]
        log: Annotated[list[str], operator.add]
        ask: int
        kept: Annotated[list[str], operator.add]

    def grandchild(state: Inner) -> Any:
        answer = interrupt("grandchild asks") if state.get("ask", 0) > 1 else "unasked"
        return {"kept": [f"grand {answer}"]}

    deep = StateGraph(Inner)
    deep.add_node("grand", grandchild)
    deep.add_edge(START, "grand")
    inner = StateGraph(Inner)
    inner.add_node("before", lambda state: {"log": ["inner before"], "kept": ["before"]})
    inner.add_node("deep", deep.compile())
    inner.add_node("asks", lambda state: {"kept": [f"asked {interrupt('inner asks')}"]} if state.get("ask") else {})
    inner.add_edge(START, "before")
    inner.add_edge("before", "deep")
    inner.add_edge("deep", "asks")
    return inner.compile(checkpointer=True if persistent else None)


def conversation(saver: Any, *, persistent: bool) -> Any:
    builder = StateGraph(State)
    builder.add_node("plan", plan)
    builder.add_node("work", work)
    builder.add_node("talk", talk)
    builder.add_node("child", child(persistent=persistent))
    builder.add_node("close", close, destinations=("extra",))
    builder.add_node("extra", extra)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", fan_out, ["work", "talk"])
    builder.add_edge("work", "talk")
    builder.add_edge("talk", "child")
    builder.add_edge("child", "close")
    builder.add_edge("extra", END)
    return builder.compile(checkpointer=saver)


def seen(snapshot: Any, names: dict[str, str]) -> Any:
    """A snapshot without the ids that differ from run to run."""

    def named(config: Any) -> Any:
        conf = (config or {}).get("configurable", {})
        return names.get(conf.get("checkpoint_id"), conf.get("checkpoint_id") and "unknown"), conf.get(
            "checkpoint_ns", ""
        ).split(":")[0]

    return {
        "values": snapshot.values,
        "next": snapshot.next,
        "tasks": sorted(
            (
                task.name,
                [each.value for each in task.interrupts],
                task.error if isinstance(task.error, str) else repr(task.error),  # stock gives its repr
                repr(task.result),
                seen(task.state, {}) if hasattr(task.state, "next") else bool(task.state),
            )
            for task in snapshot.tasks
        ),
        "metadata": {key: (snapshot.metadata or {}).get(key) for key in ("source", "step")},
        "config": named(snapshot.config),
        "parent": named(snapshot.parent_config),
        "interrupts": [each.value for each in snapshot.interrupts],
    }


class Talker:
    """One conversation, steered by a seed; two with the same seed say the same."""

    def __init__(self, saver: Any, seed: int) -> None:
        self.graph = conversation(saver, persistent=seed % 2 == 1)
        self.config: dict[str, Any] = {"configurable": {"thread_id": f"seed {seed}"}}
        self.random = random.Random(seed)
        self.turn = 0

    def history(self) -> list[Any]:
        return list(self.graph.get_state_history(self.config))

    def report(self) -> Any:
        history = self.history()
        names = {each.config["configurable"]["checkpoint_id"]: f"#{n}" for n, each in enumerate(reversed(history))}
        return {
            "head": seen(self.graph.get_state(self.config, subgraphs=True), names),
            "history": [seen(each, names) for each in history],
        }

    def act(self) -> Any:
        """Do one thing; what came of it."""
        self.turn += 1
        action = self.random.choices(
            [
                self.say,
                self.answer,
                self.go_on,
                self.update,
                self.update_past,
                self.fork,
                self.goto,
                self.stop_before,
                self.bulk,
                self.inside,
            ],
            [5, 5, 3, 2, 2, 2, 1, 2, 1, 4],
        )[0]
        durability = self.random.choice(["sync", "async", "exit"])
        try:
            return action.__name__, action(durability)
        except Exception as error:  # noqa: BLE001 - both sides must fail alike
            return (
                action.__name__,
                type(error).__name__,
                str(error).split("\n")[0][:60] if isinstance(error, Boom) else "",
            )

    def run(self, given: Any, durability: str, config: Any = None, **settings: Any) -> Any:
        found = self.graph.invoke(given, config or self.config, durability=durability, **settings)
        return (
            {key: value for key, value in found.items() if key != "__interrupt__"} if isinstance(found, dict) else found
        )

    def message(self) -> dict[str, Any]:
        return {
            "messages": [
                HumanMessage(f"turn {self.turn} " + "word " * self.random.choice([1, 80]), id=f"h{self.turn}")
            ],
            "ask": self.random.choice([0, 0, 1, 2]),
            "fan": self.random.choice([0, 0, 2, 3]),
            "broken": self.random.random() < 0.1,
        }

    def say(self, durability: str) -> Any:
        return self.run(self.message(), durability)

    def stop_before(self, durability: str) -> Any:
        return self.run(self.message(), durability, interrupt_before=[self.random.choice(["talk", "work", "close"])])

    def answer(self, durability: str) -> Any:
        waiting = self.graph.get_state(self.config, subgraphs=False).interrupts
        if len(waiting) > 1:
            return self.run(Command(resume={each.id: f"by id {self.turn}" for each in waiting}), durability)
        return self.run(Command(resume=f"answer {self.turn}"), durability)

    def go_on(self, durability: str) -> Any:
        return self.run(None, durability)

    def update(self, _: str) -> Any:
        self.graph.update_state(self.config, {"log": [f"update {self.turn}"], "broken": False}, as_node="plan")
        return self.graph.get_state(self.config).next

    def bulk(self, _: str) -> Any:
        from langgraph.types import StateUpdate

        self.graph.bulk_update_state(
            self.config,
            [
                [StateUpdate({"log": ["one"]}, "plan"), StateUpdate({"log": ["two"], "table": {"x": 1}}, "talk")],
                [StateUpdate({"log": ["three"]}, "close")],
            ],
        )
        return self.graph.get_state(self.config).next

    def past(self) -> Any:
        history = self.history()
        return history[self.random.randrange(len(history))] if history else None

    def update_past(self, durability: str) -> Any:
        past = self.past()
        if past is None:
            return None
        there = self.graph.update_state(
            past.config, {"log": [f"past {self.turn}"]}, as_node=self.random.choice(["plan", "talk"])
        )
        return self.run(None, durability, there)

    def fork(self, durability: str) -> Any:
        past = self.past()
        if past is None:
            return None
        if self.random.random() < 0.3:
            copied = self.graph.update_state(past.config, None, as_node="__copy__")
            return self.run(None, durability, copied)
        return self.run(None, durability, past.config)

    def inside(self, durability: str) -> Any:
        """Look into a waiting subgraph; change its state, or go back in it."""
        head = self.graph.get_state(self.config, subgraphs=True)
        waiting = [task.state for task in head.tasks if hasattr(task.state, "next")]
        if not waiting:
            return None
        here = {"configurable": {key: waiting[0].config["configurable"][key] for key in ("thread_id", "checkpoint_ns")}}
        history = list(self.graph.get_state_history(here))
        looked = [seen(each, {}) for each in history]
        if self.random.random() < 0.5:
            self.graph.update_state(here, {"kept": [f"inside {self.turn}"]})
            return looked, seen(self.graph.get_state(here), {})
        past = history[self.random.randrange(len(history))]
        return looked, self.run(None, durability, past.config)

    def goto(self, durability: str) -> Any:
        return self.run(Command(goto="extra", update={"log": [f"goto {self.turn}"]}), durability)


@pytest.mark.parametrize(
    ("store_url", "first"),
    [("memory", 0), ("memory", 4), ("memory", 8), ("sqlite", 4), ("postgres", 0), ("postgres", 8)],
    indirect=["store_url"],
)
def test_random_conversations_go_as_with_the_in_memory_saver(store_url, first):
    with dalsegno.connect(store_url, on_input_over_unfinished="allow") as ds:
        for seed in range(first, first + 4):
            stock, ours = Talker(InMemorySaver(), seed), Talker(ds.checkpointer, seed)
            for turn in range(14):
                assert (expected := stock.act()) == ours.act(), (seed, turn)
                assert stock.report() == ours.report(), (seed, turn, expected[0])
            again = Talker(ds.checkpointer, seed)  # what another process would see
            ds.checkpointer._memo.forget(f"seed {seed}")
            assert again.report() == stock.report()
        assert ds.threads.check().findings == []


def test_the_conversations_do_what_they_are_there_for():
    """A comparison of conversations in which nothing happens would compare nothing."""
    done: set[str] = set()
    forks = interrupts = children = 0
    for seed in range(12):
        talker = Talker(InMemorySaver(), seed)
        for _ in range(14):
            done.add(talker.act()[0])
        history = talker.history()
        parents = [(each.parent_config or {}).get("configurable", {}).get("checkpoint_id") for each in history]
        forks += len(parents) - len(set(parents))
        interrupts += sum(bool(each.interrupts) for each in history)
        children += sum(bool(task.state) for each in history for task in each.tasks)
    actions: list[Callable[..., Any]] = [
        Talker.say, Talker.answer, Talker.go_on, Talker.update, Talker.update_past, Talker.fork, Talker.goto,
        Talker.stop_before, Talker.bulk, Talker.inside,
    ]  # fmt: skip
    assert done == {action.__name__ for action in actions}
    assert min(forks, interrupts, children) > 10
