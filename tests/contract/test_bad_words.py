"""Claim: what comes from outside may be as odd as it likes; it is told, asked again, or parked, and ends nobody's process."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

import dalsegno
from dalsegno import Upkeep, Worker
from dalsegno.errors import ActionOutcomeUnknown, Misuse

CONFIG: Any = {"configurable": {"thread_id": "t"}}
DIGITS = "9" * 5000


class Mute(Exception):
    """An error that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


class Ends(BaseException):
    """Ends a program, as SystemExit does."""


class State(TypedDict, total=False):
    said: str


@pytest.fixture
def ds() -> Any:
    with dalsegno.connect("memory://") as opened:
        yield opened


def graph_of(ds: Any, node: Any) -> Any:
    return StateGraph(State).add_node("n", node).add_edge(START, "n").compile(checkpointer=ds.checkpointer)


def paying(ds: Any, **policy: Any) -> Any:
    @ds.action(kind="update", **policy)
    def pay(amount: int) -> str:
        return f"paid {amount}"

    return graph_of(ds, lambda state: {"said": pay(1)})


# --- errors that cannot say what they are


@pytest.mark.parametrize("is_async", [False, True])
def test_an_effect_that_fails_without_words_has_failed(ds, is_async):
    def fails() -> str:
        raise Mute

    async def afails() -> str:
        raise Mute

    act: Any = ds.action(kind="update", scope="thread")(afails if is_async else fails)

    async def called() -> None:
        with ds.actions.within("t"):
            await act() if is_async else act()

    with pytest.raises(Mute):
        asyncio.run(called())
    (action,) = ds.actions.list()
    assert (action.state, action.error) == ("failed", "Mute: its own text cannot be had (RuntimeError)")


def test_a_reconciler_that_fails_without_words_leaves_the_question_to_a_person(ds):
    def look(action: Any) -> None:
        raise Mute

    @ds.action(kind="update", scope="thread", reconcile=look)
    def cut() -> None:
        raise KeyboardInterrupt

    with ds.actions.within("t"):
        with pytest.raises(KeyboardInterrupt):
            cut()
        with pytest.raises(ActionOutcomeUnknown, match="Mute: its own text cannot be had"):
            cut()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_run_that_fails_without_words_is_parked_and_others_go_on(ds, is_async):
    def node(state: State) -> State:
        if state["said"] == "mute":
            raise Mute
        return {"said": "done"}

    async def anode(state: State) -> State:
        return node(state)

    def upkeep(opened: Any) -> None:
        raise Mute

    graph = graph_of(ds, anode if is_async else node)
    for name in ("mute", "sound"):
        lease = ds.runs.lease(name)
        graph.update_state(lease.config, {"said": name}, as_node="__start__")
        lease.hand_over()
    said: list[Any] = []
    kept_up = [Upkeep(name="u", every=timedelta(hours=1), do=upkeep)]
    Worker(ds, graph, attempts=1, upkeep=kept_up, tell=said.append).run(once=True)
    assert (ds.runs.get("mute").status, ds.runs.get("sound").status) == ("parked", "finished")
    assert ds.runs.get("mute").error == "Mute: its own text cannot be had (RuntimeError)"
    assert [told.why for told in said if told.what == "upkeep failed"] == [
        "u: Mute: its own text cannot be had (RuntimeError)"
    ]
    assert ds.threads.check().clean


# --- reconcilers that would end a program


@pytest.mark.parametrize("ending", [SystemExit(3), KeyboardInterrupt(), Ends(), GeneratorExit()])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_reconciler_that_would_end_the_program_has_no_answer(ds, ending, is_async):
    def look(action: Any) -> None:
        raise ending

    async def alook(action: Any) -> None:
        raise ending

    @ds.action(kind="update", scope="thread", reconcile=alook if is_async else look)
    async def cut() -> None:
        raise asyncio.CancelledError

    async def called() -> None:
        with ds.actions.within("t"):
            with pytest.raises(asyncio.CancelledError):
                await cut()
            with pytest.raises(ActionOutcomeUnknown, match=f"it ended with {type(ending).__name__}"):
                await cut()

    asyncio.run(called())


# --- answers


@pytest.mark.parametrize(
    "odd",
    [
        {"decision": ["approve"]},
        {"decision": {"approve": True}},
        {"decision": None},
        {"ticket": ["t"]},
        {"ticket": "0" * 64 + ":" + DIGITS},
        {"ticket": "0" * 64 + ":"},
        {"ticket": "0" * 64 + ":٢"},
        {"by": ""},
    ],
)
def test_an_odd_answer_is_asked_for_again_and_spoils_no_later_one(ds, odd):
    graph = paying(ds, approve=True)
    (first,) = graph.invoke({}, CONFIG)["__interrupt__"]
    good = {"ticket": first.value["ticket"], "decision": "approve", "by": "mara"}
    (again,) = graph.invoke(Command(resume={**good, **odd}), CONFIG)["__interrupt__"]
    assert again.value["ticket"] == first.value["ticket"]
    assert again.value["problem"]
    assert graph.invoke(Command(resume=good), CONFIG) == {"said": "paid 1"}


@pytest.mark.parametrize("version", [DIGITS, "", "٢", "-1", " 2", "+2", "2:2"])
def test_what_is_no_ticket_decides_nothing(ds, version):
    graph = paying(ds, approve=True)
    graph.invoke({}, CONFIG)
    (action,) = ds.actions.list()
    with pytest.raises(Misuse, match="no ticket"):
        ds.actions.approve(f"{action.action_id}:{version}", by="mara")
    assert ds.actions.list() == [action]
    assert ds.actions.approve(action.ticket, by="mara").state == "pending"
