"""Claim: an answer that is given beside the run reaches the run that waits for it, once and for each re-run of its step."""

from __future__ import annotations

import asyncio
import contextlib
import operator
import time
from datetime import timedelta
from typing import Annotated, Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

import dalsegno
from dalsegno import Approval, Happened, Told, Worker
from dalsegno.errors import ActionFailed, ActionRejected, Refused

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Slow(Exception):
    """A call that does not say whether it came through."""


class State(TypedDict, total=False):
    said: Annotated[str, operator.add]


class Shop:
    """A graph of one node that pays, and goes on when a person is against it."""

    def __init__(self, ds: Any, *, stubborn: bool = False, **settings: Any) -> None:
        self.ds, self.paid, self.slow = ds, [], "unclear" in settings

        @ds.action(kind="update", **settings)
        def pay(order: str) -> str:
            if self.slow:
                self.slow = False
                raise Slow
            self.paid.append(order)
            return f"paid {order}"

        def node(state: State) -> State:
            try:
                return {"said": pay("A-1")}
            except (ActionRejected, ActionFailed) as error:
                if stubborn:
                    raise
                return {"said": str(error)}

        self.node = node
        self.graph = self.graph_of(pay=node)

    def graph_of(self, **nodes: Any) -> Any:
        """A graph of nodes that stand side by side."""
        builder = StateGraph(State)
        for name, node in nodes.items():
            builder.add_node(name, node)
            builder.add_edge(START, name)
        return builder.compile(checkpointer=self.ds.checkpointer)

    def ask(self) -> str:
        """Run until a person is asked; returns the action's id."""
        if self.slow:
            with pytest.raises(Slow):
                self.graph.invoke({}, CONFIG)
            state = self.graph.invoke(None, CONFIG)
        else:
            state = self.graph.invoke({}, CONFIG)
        assert state["__interrupt__"]
        assert self.ds.runs.get("t").status == "waiting"
        return str(state["__interrupt__"][0].value["action_id"])

    def work(self) -> list[tuple[str, str]]:
        said: list[Told] = []
        Worker(self.ds, self.graph, tell=said.append, attempts=1).run(once=True)
        return [(told.what, told.thread_id) for told in said]

    @property
    def said(self) -> str:
        return str(self.ds.threads.state("t").get("said"))


DECISIONS = [
    ("approve", "paid A-1", ["A-1"]),
    ("reject", "rejected by 'mara'", []),
    ("succeeded", "r-7", []),
    ("failed", "has not happened, says 'mara'", []),
    ("retry", "paid A-1", ["A-1"]),
]


def shop_of(ds: Any, decision: str, **settings: Any) -> Shop:
    kind = {"approve": True} if decision in ("approve", "reject") else {"unclear": (Slow,)}
    return Shop(ds, **kind, **settings)


@pytest.mark.parametrize(("decision", "said", "paid"), DECISIONS)
def test_a_worker_goes_on_with_the_answer_and_asks_nobody_again(ds, decision, said, paid):
    shop = shop_of(ds, decision)
    action = shop.ask()
    assert shop.work() == []  # it waits
    ds.actions.resolve(action, decision, by="mara", result="r-7")
    run = ds.runs.get("t")
    assert (run.status, run.error, run.failed_at) == ("orphaned", None, None)
    assert "by mara" in run.note
    assert action[:12] in run.note
    assert shop.work() == [("took", "t"), ("finished", "t")]
    assert said in shop.said
    assert shop.paid == paid
    assert ds.threads.check().clean


@pytest.mark.parametrize(("decision", "said", "paid"), DECISIONS)
def test_a_resume_without_a_value_goes_on_with_the_answer(ds, decision, said, paid):
    shop = shop_of(ds, decision)
    action = shop.ask()
    asyncio.run(ds.actions.aresolve(action, decision, by="mara", result="r-7"))
    state = dalsegno.resume(shop.graph, "t")
    assert "__interrupt__" not in state
    assert said in state["said"]
    assert (shop.paid, ds.runs.get("t").status) == (paid, "finished")
    assert shop.work() == []


def test_what_a_reconciler_finds_out_beside_the_run_lets_it_go_on(ds):
    found: list[Any] = [None]
    shop = Shop(ds, unclear=(Slow,), reconcile=lambda action: found[0])
    action = shop.ask()
    assert ds.actions.reconcile(action).state == "unknown"
    assert ds.runs.get("t").status == "waiting"
    found[0] = Happened(result="r-9")
    ds.actions.reconcile(action)
    assert shop.work() == [("took", "t"), ("finished", "t")]
    assert shop.said == "r-9"


def test_a_step_that_is_run_again_hears_the_same_until_someone_lets_it_be_tried_again(ds):
    """A rejection is final for the step that asked; `unpark` asks anew."""
    shop = Shop(ds, stubborn=True, approve=True)
    ds.actions.approve(shop.ask(), by="mara", reject=True)
    assert shop.work() == [("took", "t"), ("parked", "t")]
    for _ in range(2):
        with pytest.raises(ActionRejected, match="mara"):
            dalsegno.resume(shop.graph, "t")
    assert [action.state for action in ds.actions.list()] == ["failed"]
    ds.runs.lease("t").hand_over()
    assert shop.work() == [("took", "t"), ("parked", "t")]
    ds.runs.unpark("t")
    assert shop.work() == [("took", "t"), ("waiting", "t")]
    (action,) = ds.actions.list(state="awaiting_approval")
    ds.actions.approve(action.action_id, by="mara")
    assert shop.work() == [("took", "t"), ("finished", "t")]
    assert shop.paid == ["A-1"]


def test_a_call_in_another_step_is_another_question(ds):
    shop = Shop(ds, approve=True, scope="thread")
    ds.actions.approve(shop.ask(), by="mara", reject=True)
    assert shop.work() == [("took", "t"), ("finished", "t")]
    assert shop.graph.invoke({}, CONFIG)["__interrupt__"]


def test_equal_calls_in_two_tasks_hear_one_answer(ds):
    shop = Shop(ds, approve=True, scope="thread")
    graph = shop.graph_of(a=shop.node, b=shop.node)
    first, second = graph.invoke({}, CONFIG)["__interrupt__"]
    assert first.value["ticket"] == second.value["ticket"]
    ds.actions.approve(first.value["action_id"], by="mara", reject=True)
    assert "__interrupt__" not in dalsegno.resume(graph, "t")
    assert shop.paid == []


def test_a_run_that_also_asks_a_person_goes_on_waiting_for_that(ds):
    shop = Shop(ds, approve=True)
    shop.graph = shop.graph_of(pay=shop.node, talk=lambda state: {"said": interrupt("name?")})
    shop.graph.invoke({}, CONFIG)
    (action,) = ds.actions.list()
    ds.actions.approve(action.action_id, by="mara")
    assert shop.work() == [("took", "t"), ("waiting", "t")]
    assert shop.paid == ["A-1"]
    assert shop.work() == []
    assert "__interrupt__" not in dalsegno.resume(shop.graph, "t", "ana")


def test_an_answer_to_a_call_outside_of_runs_moves_no_run(ds):
    shop = Shop(ds, approve=True)
    shop.ask()
    other = ds.action(kind="update", approve=True, name="other")(lambda what: what)
    with ds.actions.within("t", step="x"), pytest.raises(Refused):
        other("y")
    (action,) = [each for each in ds.actions.list() if each.name == "other"]
    ds.actions.approve(action.action_id, by="mara", reject=True)
    assert ds.runs.get("t").status == "waiting"
    with ds.actions.within("t", step="x"), pytest.raises(Refused, match="waits for approval"):
        other("y")  # asked anew


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_an_answer_that_comes_before_the_question_is_written_down_lets_the_run_go_on(ds, durability, monkeypatch):
    shop = Shop(ds, approve=True)
    saver = ds.checkpointer
    real = saver.put_writes

    def late(config: Any, writes: Any, task: str, path: str = "") -> None:
        if any(channel == "__interrupt__" for channel, _ in writes):
            (action,) = ds.actions.list()
            if action.state == "awaiting_approval":
                ds.actions.approve(action.action_id, by="mara")
        real(config, writes, task, path)

    monkeypatch.setattr(saver, "put_writes", late)
    shop.graph.invoke({}, CONFIG, durability=durability)
    assert ds.runs.get("t").status == "orphaned"
    assert shop.work() == [("took", "t"), ("finished", "t")]
    assert shop.paid == ["A-1"]
    assert ds.threads.check().clean


@pytest.mark.parametrize("leased", [False, True])
def test_an_answer_while_another_branch_is_at_work_is_not_lost(ds, leased):
    """Whoever holds the lease: the branch ends, and then a worker goes on."""
    shop = Shop(ds, approve=True)

    def busy(state: State) -> State:
        while (
            not (found := ds.actions.list(state="awaiting_approval")) or not ds.threads.checkpoints("t")[0].interrupts
        ):
            time.sleep(0.002)
        ds.actions.approve(found[0].action_id, by="mara")
        assert ds.runs.get("t").status == ("running" if leased else "orphaned")
        return {"said": "busy "}

    graph = shop.graph_of(pay=shop.node, busy=busy)
    with ds.runs.lease("t") if leased else contextlib.nullcontext() as lease:
        assert graph.invoke({}, lease.config if leased else CONFIG)["__interrupt__"]
    assert ds.runs.get("t").status == "orphaned"
    shop.graph = shop.graph_of(pay=shop.node, busy=lambda state: {"said": "again "})
    assert shop.work() == [("took", "t"), ("finished", "t")]
    assert sorted(shop.said.split()) == ["A-1", "busy", "paid"]
    assert ds.threads.check().clean


def test_a_question_that_was_answered_and_finished_leaves_the_next_one_waiting(ds):
    shop = Shop(ds, approve=True)
    other = ds.action(kind="update", approve=True, name="other")(lambda: "other")
    shop.graph = shop.graph_of(pay=shop.node, other=lambda state: {"said": other()})
    shop.graph.invoke({}, CONFIG)
    for name in ("pay", "other"):
        (action,) = [each for each in ds.actions.list() if each.name == name]
        assert ds.runs.get("t").status == "waiting"
        ds.actions.approve(action.action_id, by="mara")
        assert ds.runs.get("t").status == "orphaned"
        dalsegno.resume(shop.graph, "t")
    assert ds.runs.get("t").status == "finished"
    assert ds.threads.check().clean


def test_a_copy_of_an_answered_run_waits_and_what_is_dropped_leaves_nothing(ds):
    shop = Shop(ds, approve=True)
    ds.actions.approve(shop.ask(), by="mara")
    ds.threads.copy("t", "copy")
    assert ds.runs.get("copy").status == "waiting"
    shop.graph.update_state(CONFIG, {"said": "by hand"}, as_node="pay")
    assert (ds.runs.get("t").status, ds.runs.get("t").note) == ("finished", None)
    assert shop.work() == []
    assert ds.threads.check().clean


def test_an_approval_that_has_expired_is_asked_for_again(ds):
    shop = Shop(ds, approve=Approval(expires=timedelta(microseconds=1)))
    ds.actions.approve(shop.ask(), by="mara")
    assert shop.work() == [("took", "t"), ("waiting", "t")]
