"""A writer whose lease has passed is refused, whatever it writes; and no clock but the database's has a say in it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from dalsegno import Happened, Told, Worker
from dalsegno.core.actions import ActionKind, Move, Role
from dalsegno.core.arguments import ActionScope, Call, canonical_tree, key_of
from dalsegno.core.failures import Failure
from dalsegno.errors import LeaseLost
from dalsegno.services import actions, orphans, runs
from dalsegno.services.actions import Ending
from dalsegno.testing import snapshot

LONG = timedelta(seconds=60)


class State(TypedDict, total=False):
    done: str


def pass_over(ds: Any, execute: Callable[..., Any]) -> Any:
    """Let the lease of a paused process run out, and another take the thread."""
    execute("UPDATE ds_threads SET lease_until = 1 WHERE name = 't'")
    return ds.runs.lease("t", LONG, holder="another")


@pytest.mark.parametrize("taken", [True, False], ids=["taken over", "run out"])
def test_every_write_of_a_writer_that_woke_too_late_is_refused(ds, put, checkpoint, execute, taken):
    lease = ds.runs.lease("t", LONG, holder="sleeper")
    under = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "dalsegno_fence": lease.token}}
    config = put(ds, "t", under, text="before")
    under = {"configurable": {**config["configurable"], "dalsegno_fence": lease.token}}
    call = Call(name="pay", scope=ActionScope.STEP, anchor="c", recipient=None, arguments=canonical_tree({"sum": 3}))
    key = key_of(ds.tenant, "t", call)
    scope, fence = ds.scope(), lease.token

    def write(make: Callable[[], Any]) -> Any:
        return ds.store_backend.run(make, write=True, key="t")

    def begin(holder: str = "sleeper") -> Any:
        return actions.begin(scope, "t", call, ActionKind.UPDATE, key, holder=holder, ttl=LONG, fence=fence)

    token = write(begin).token
    if taken:
        pass_over(ds, execute)
    else:
        execute("UPDATE ds_threads SET lease_until = 1 WHERE name = 't'")
    before = snapshot(ds, "t")
    made = checkpoint(text="after")
    ending = Ending(move=Move.SUCCEED, result=["paid"])
    attempts: dict[str, Callable[[], Any]] = {
        "put": lambda: ds.checkpointer.put(under, made, {"source": "loop", "step": 2}, made["channel_versions"]),
        "put_writes": lambda: ds.checkpointer.put_writes(under, [("text", "after")], "task"),
        "append": lambda: ds.journal.append("t", "note", "me", "after", lease=lease),
        "renew": lease.renew,
        "begin": lambda: write(begin),
        "finish": lambda: write(lambda: actions.finish(scope, "t", key, token, ending, fence=fence)),
        "keep": lambda: write(lambda: actions.keep(scope, "t", key, token, LONG, fence=fence)),
        "withdraw": lambda: write(lambda: actions.withdraw(scope, "t", key, "sleeper", fence=fence)),
        "decide": lambda: write(
            lambda: actions.decide(scope, "t", key, Move.FIND_FAILED, Role.RECONCILER, "r", fence=fence)
        ),
        "settle": lambda: write(lambda: orphans.settle(scope, "t", fence, closed=True)),
        "fail": lambda: write(lambda: orphans.fail(scope, "t", fence, FAILURE, attempts=1, base=LONG)),
        "put off": lambda: write(lambda: orphans.put_off(scope, "t", fence, FAILURE, LONG)),
    }
    for name, attempt in attempts.items():
        with pytest.raises(LeaseLost):
            attempt()
        assert snapshot(ds, "t") == before, name
    write(lambda: runs.hand_over(scope, "t", fence))  # ending what is over is no error, and ends nothing
    write(lambda: runs.release(scope, "t", fence))
    assert snapshot(ds, "t") == before


FAILURE = Failure(kind="builtins.ValueError", place="here", message="no")


def test_a_run_that_is_paused_in_mid_effect_cannot_say_how_it_ended(ds, execute):
    done: list[str] = []

    @ds.action(kind="update", lease=timedelta(seconds=1), reconcile=lambda action: Happened(result="found"))
    def pay() -> str:
        done.append("paid")
        if len(done) == 1:
            pass_over(ds, execute).hand_over()
        return "paid"

    builder = StateGraph(State)
    builder.add_node("pay", lambda state: {"done": pay()})
    builder.add_edge(START, "pay")
    graph = builder.compile(checkpointer=ds.checkpointer)
    lease = ds.runs.lease("t", LONG, holder="sleeper")
    with pytest.raises(LeaseLost):
        graph.invoke({"done": ""}, lease.config, durability="sync")
    assert [action.state for action in ds.actions.list()] == ["running"]
    said: list[Told] = []
    worker = Worker(ds, graph, tell=said.append, poll=timedelta(milliseconds=50))
    worker.run(once=True)
    assert [told.what for told in said] == ["took", "put off"]  # the sleeper may be in the middle of it
    time.sleep(said[-1].seconds + 0.05)
    worker.run(once=True)
    assert said[-1].what == "finished"
    assert (ds.threads.state("t")["done"], done) == ("found", ["paid"])


@pytest.mark.parametrize("hours", [-24, 24])
def test_a_worker_whose_clock_is_wrong_takes_what_is_due_and_nothing_else(ds, monkeypatch, hours):
    builder = StateGraph(State)
    builder.add_node("work", lambda state: {"done": "yes"})
    builder.add_edge(START, "work")
    graph = builder.compile(checkpointer=ds.checkpointer)
    for name in ("held", "over", "plain"):
        lease = ds.runs.lease(name, LONG)
        graph.update_state(lease.config, {"done": "no"}, as_node="__start__")
        {"held": lambda: None, "over": lease.hand_over, "plain": lease.release}[name]()
    shift, real_time, real_now = timedelta(hours=hours), time.time, datetime.now

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return real_now(tz) + shift

    monkeypatch.setattr(time, "time", lambda: real_time() + shift.total_seconds())
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("dalsegno") and getattr(module, "datetime", None) is datetime:
            monkeypatch.setattr(module, "datetime", Wrong)
    said: list[Told] = []
    Worker(ds, graph, tell=said.append, idle=timedelta(hours=1)).run(once=True)
    monkeypatch.undo()
    assert {told.thread_id for told in said} == {"over"}
    assert {run.thread_id: str(run.status) for run in ds.runs.list()} == {
        "held": "running",
        "over": "finished",
        "plain": "unfinished",
    }
