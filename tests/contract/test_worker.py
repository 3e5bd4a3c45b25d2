"""A worker goes on with runs whose process died, each with one worker, and with no other; it parks what cannot go on."""

from __future__ import annotations

import asyncio
import operator
import threading
import time
from collections import Counter
from datetime import timedelta
from typing import Annotated, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

import dalsegno
from dalsegno import Told, Upkeep, Worker
from dalsegno.contracts import Step
from dalsegno.errors import LeaseHeld, LeaseLost, Misuse, Refused, ThreadDeleted, ThreadNotFound
from dalsegno.services.orphans import DEATHS, take
from dalsegno.services.run_rows import load_run, save_run
from dalsegno.services.runs import hand_over
from dalsegno.testing import snapshot

LONG, SHORT, NOW = timedelta(seconds=60), timedelta(milliseconds=80), timedelta(microseconds=1)


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


class Died(Exception):
    """Stands for the end of a process."""


class Trip:
    """A graph of three nodes; whatever `faults` has for a node is raised there, `meanwhile` is done in `b`."""

    def __init__(self, ds: Any, *, is_async: bool = False) -> None:
        self.ds, self.is_async = ds, is_async
        self.faults: dict[str, Any] = {}
        self.ran: Counter[str] = Counter()
        self.meanwhile: Any = lambda: None
        self.builder = StateGraph(State)
        for name, before in (("a", START), ("b", "a"), ("c", "b")):
            self.builder.add_node(name, self._anode(name) if is_async else self._node(name))
            self.builder.add_edge(before, name)
        self.graph = self.builder.compile(checkpointer=ds.checkpointer)

    def _node(self, name: str) -> Any:
        def node(state: State, config: RunnableConfig) -> State:
            self.ran[f"{config['configurable']['thread_id']}/{name}"] += 1
            if name == "b":
                self.meanwhile()
            fault = self.faults.get(name)
            if fault is not None:
                raise fault() if callable(fault) else fault
            return {"log": [name]}

        return node

    def _anode(self, name: str) -> Any:
        node = self._node(name)

        async def anode(state: State, config: RunnableConfig) -> State:
            await asyncio.sleep(0)
            return node(state, config)

        return anode

    def leave(self, thread: str, *, at: str = "b", hand_over: bool = True, ttl: timedelta = LONG) -> Any:
        """A run that ends in the middle of a node, as if its process had died; its lease is ended or runs out."""
        lease = self.ds.runs.lease(thread, ttl, holder="dead")
        self.faults[at] = Died("killed")
        with pytest.raises(Died):
            self._go(lease.config)
        del self.faults[at]
        if hand_over:
            lease.hand_over()
        return lease

    def _go(self, config: Any) -> None:
        if self.is_async:
            asyncio.run(self.graph.ainvoke({"log": ["in"]}, config, durability="sync"))
        else:
            self.graph.invoke({"log": ["in"]}, config, durability="sync")

    def log(self, thread: str) -> list[str]:
        return self.ds.threads.state(thread)["log"]


@pytest.fixture
def trip(ds: Any) -> Trip:
    return Trip(ds)


def worked(ds: Any, graph: Any, **settings: Any) -> list[Told]:
    """What a worker has to say that works until nothing is left to do."""
    said: list[Told] = []
    Worker(ds, graph, tell=said.append, backoff=settings.pop("backoff", NOW), **settings).run(once=True)
    return said


def words(said: list[Told]) -> list[tuple[str, str]]:
    return [(told.what, told.thread_id) for told in said]


def status(ds: Any, thread: str = "t") -> str:
    """What `get` says, which `list` says too unless the lease ran out between the two."""
    found = ds.runs.get(thread)
    listed = found in ds.runs.list(str(found.status)) or not ds.threads.get(thread).checkpoints
    assert listed or ds.runs.get(thread) != found
    return str(found.status)


# --- finding


@pytest.mark.parametrize("is_async", [False, True], ids=["functions", "coroutines"])
def test_a_run_whose_lease_ran_out_is_brought_to_its_end(ds, is_async):
    trip = Trip(ds, is_async=is_async)
    trip.leave("t", hand_over=False, ttl=timedelta(seconds=1))
    while status(ds) == "running":
        time.sleep(0.02)
    assert status(ds) == "orphaned"
    assert words(worked(ds, trip.graph)) == [("took", "t"), ("finished", "t")]
    assert trip.log("t") == ["in", "a", "b", "c"]
    assert trip.ran == {"t/a": 1, "t/b": 2, "t/c": 1}  # the node that was interrupted ran again, no other
    assert status(ds) == "finished"
    assert ds.threads.get("t").leased_to is None
    assert worked(ds, trip.graph) == []


def test_a_lease_handed_over_is_gone_on_with_at_once_and_one_let_go_is_not(ds, trip):
    trip.leave("over")
    trip.leave("go", hand_over=False).release()
    assert (status(ds, "over"), status(ds, "go")) == ("orphaned", "unfinished")
    assert words(worked(ds, trip.graph)) == [("took", "over"), ("finished", "over")]
    assert trip.log("go") == ["in", "a"]


def test_what_is_no_orphan_is_left_alone(ds, trip):
    config = {"configurable": {"thread_id": "plain"}}
    trip.faults["b"] = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        trip.graph.invoke({"log": []}, config)
    trip.faults.clear()
    trip.graph.invoke({"log": []}, {"configurable": {"thread_id": "finished"}})
    trip.leave("held", hand_over=False)
    over = ds.runs.lease("over", LONG)
    trip.graph.invoke({"log": []}, over.config)
    over.hand_over()  # died between its last step and letting go
    ds.journal.append("notes", "note", "ana", "no run at all")
    before = {name: snapshot(ds, name) for name in ("plain", "finished", "held", "notes")}
    said = worked(ds, trip.graph)
    assert words(said) == [("took", "over"), ("finished", "over")]
    assert ds.threads.get("over").leased_to is None
    assert {name: snapshot(ds, name) for name in before} == before
    assert [(run.thread_id, str(run.status)) for run in ds.runs.list()] == [
        ("finished", "finished"),
        ("held", "running"),
        ("over", "finished"),
        ("plain", "unfinished"),
    ]


def test_a_run_without_a_lease_is_taken_only_when_idle_is_asked_for_and_long_enough(ds, trip):
    trip.faults["b"] = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        trip.graph.invoke({"log": ["in"]}, {"configurable": {"thread_id": "t"}})
    trip.faults.clear()
    assert worked(ds, trip.graph) == []
    assert worked(ds, trip.graph, idle=LONG) == []
    assert words(worked(ds, trip.graph, idle=NOW)) == [("took", "t"), ("finished", "t")]
    assert trip.log("t") == ["in", "a", "b", "c"]
    assert worked(ds, trip.graph, idle=NOW) == []


def asking(ds: Any, fault: dict[str, Any]) -> Any:
    def ask(state: State) -> State:
        answer = interrupt("name?")
        if fault:
            raise fault["it"]
        return {"log": [f"hello {answer}"]}

    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=ds.checkpointer)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_a_question_waits_for_a_person_and_an_answer_that_was_kept_does_not(ads, call, durability):
    fault: dict[str, Any] = {}
    graph = asking(ads, fault)
    lease = await ads.runs.alease("t", LONG)
    await call(graph, "invoke", {"log": []}, lease.config, durability=durability)
    assert (await ads.runs.aget("t")).status == "running"
    await lease.ahand_over()
    assert (await ads.runs.aget("t")).status == "waiting"
    assert await asyncio.to_thread(worked, ads, graph) == []
    assert await asyncio.to_thread(worked, ads, graph, idle=NOW) == []
    assert (await ads.runs.alist("waiting"))[0].thread_id == "t"

    lease = await ads.runs.alease("t", LONG)
    fault["it"] = Died("killed")
    with pytest.raises(Died):
        await asyncio.to_thread(graph.invoke, Command(resume="Mara"), lease.config, durability="sync")
    fault.clear()
    await lease.ahand_over()
    assert (await ads.runs.aget("t")).status == "orphaned"
    assert words(await asyncio.to_thread(worked, ads, graph)) == [("took", "t"), ("finished", "t")]
    assert ads.threads.state("t")["log"] == ["hello Mara"]


def test_a_run_that_comes_to_a_question_is_waiting_and_not_failed(ds):
    graph = asking(ds, {})
    lease = ds.runs.lease("t", LONG)
    graph.update_state(lease.config, {"log": []}, as_node="__start__")
    lease.hand_over()
    assert words(worked(ds, graph)) == [("took", "t"), ("waiting", "t")]
    assert status(ds) == "waiting"
    assert dalsegno.resume(graph, "t", "Mara")["log"] == ["hello Mara"]
    assert status(ds) == "finished"


def test_a_run_that_stopped_at_a_breakpoint_is_not_taken_past_it(ds, trip):
    graph = trip.builder.compile(checkpointer=ds.checkpointer, interrupt_before=["b"])
    lease = ds.runs.lease("t", LONG)
    graph.invoke({"log": []}, lease.config)
    lease.hand_over()
    assert words(worked(ds, graph)) == [("took", "t"), ("waiting", "t")]
    assert trip.log("t") == ["a"]
    with pytest.raises(Misuse, match="breakpoints"):
        Worker(ds, graph, idle=LONG)


def test_whoever_goes_on_without_a_lease_keeps_the_run(ds, trip):
    trip.leave("t")
    trip.faults["b"] = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        dalsegno.resume(trip.graph, "t")  # a person's process, which may still be at it
    trip.faults.clear()
    assert status(ds) == "unfinished"
    assert worked(ds, trip.graph) == []


def test_of_several_workers_each_run_has_one(ds, trip):
    names = {f"t{number:02}" for number in range(24)}
    for name in names:
        trip.leave(name)
    trip.meanwhile = lambda: time.sleep(0.01)
    said: list[list[Told]] = [[] for _ in range(3)]

    def work(told: list[Told]) -> None:
        Worker(ds, trip.graph, concurrency=2, tell=told.append).run(once=True)

    threads = [threading.Thread(target=work, args=(told,)) for told in said]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = [told.thread_id for part in said for told in part if told.what == "took"]
    assert sorted(took) == sorted(names)
    assert {name: trip.ran[f"{name}/c"] for name in names} == dict.fromkeys(names, 1)
    assert all(status(ds, name) == "finished" for name in names)
    assert sum(any(told.what == "took" for told in part) for part in said) > 1  # shared


def test_no_more_runs_at_once_than_were_asked_for(ds, trip):
    for number in range(6):
        trip.leave(f"t{number}")
    at_once: list[int] = []
    now = 0
    lock = threading.Lock()

    def meanwhile() -> None:
        nonlocal now
        with lock:
            now += 1
            at_once.append(now)
        time.sleep(0.05)
        with lock:
            now -= 1

    trip.meanwhile = meanwhile
    worked(ds, trip.graph, concurrency=2)
    assert max(at_once) == 2
    assert all(status(ds, f"t{number}") == "finished" for number in range(6))


# --- failing


def test_a_run_that_fails_in_the_same_way_is_parked_with_its_error(ds, trip):
    trip.leave("t")
    trip.faults["b"] = lambda: ValueError(f"order {time.monotonic_ns()} not found")
    for attempt in (1, 2):
        (_, told) = worked(ds, trip.graph, backoff=LONG)
        assert (told.what, told.attempts, told.seconds) == ("failed", attempt, 60 * attempt)
        found = ds.runs.get("t")
        assert (found.status, found.attempts, found.parked_at, found.holder) == ("orphaned", attempt, None, None)
        assert 50 * attempt < (found.retry_at - found.failed_at).total_seconds() <= 60 * attempt
        assert worked(ds, trip.graph) == []  # not before it is due
        due(ds)
    (_, told) = worked(ds, trip.graph, backoff=LONG)
    assert (told.what, told.attempts) == ("parked", 3)
    found = ds.runs.get("t")
    assert (found.status, found.attempts, found.retry_at) == ("parked", 3, None)
    assert found.error.startswith("ValueError: order")
    assert found.place.endswith("_node.<locals>.node") or found.place.endswith("<lambda>")
    assert found.parked_at == found.failed_at
    assert worked(ds, trip.graph) == []
    assert worked(ds, trip.graph, idle=NOW) == []
    assert trip.ran["t/b"] == 4
    assert ds.threads.check().clean


def due(ds: Any) -> None:
    """Let the time of every next attempt come."""

    def op() -> Any:
        clock = yield Step("now", {})
        rows = yield Step("runs_page", {"tenant": ds.scope().tenant, "owner": None, "after": None, "limit": 100})
        for name, *_ in rows:
            locked = yield Step("thread_lock", {"tenant": ds.scope().tenant, "name": name, "owner": None})
            key = {"tenant": ds.scope().tenant, "thread": locked[0][0]}
            found = yield from load_run(key)
            if found.due is not None:
                found.due = clock[0][0]
                yield save_run(key, found)

    ds.store_backend.run(op, write=True)


def test_another_failure_begins_to_count_anew_but_not_for_ever(ds, trip):
    trip.leave("t")
    kinds = [type(f"Odd{'abcdefghij'[number]}", (Exception,), {}) for number in range(10)]
    told = []
    for kind in kinds:
        trip.faults["b"] = kind("odd")
        told += worked(ds, trip.graph, backoff=LONG)[1:]
        due(ds)
        if told[-1].what == "parked":
            break
    assert [each.what for each in told] == ["failed"] * 8 + ["parked"]
    assert {each.attempts for each in told} == {1}


def test_a_failure_that_is_gone_leaves_nothing_behind(ds, trip):
    trip.leave("t")
    trip.faults["b"] = ValueError("no")
    assert worked(ds, trip.graph, backoff=LONG)[-1].what == "failed"
    trip.faults.clear()
    due(ds)
    assert words(worked(ds, trip.graph)) == [("took", "t"), ("finished", "t")]
    found = ds.runs.get("t")
    assert (found.status, found.attempts, found.error, found.failed_at) == ("finished", 0, None, None)


@pytest.mark.parametrize("what", ["graph", "value", "refused"])
def test_what_cannot_end_otherwise_is_parked_at_once(ds, trip, what):
    trip.leave("t")
    graph = trip.graph
    if what == "graph":
        builder = StateGraph(State)
        builder.add_node("other", lambda state: {})
        builder.add_edge(START, "other")
        graph = builder.compile()
    elif what == "value":
        trip.faults["b"] = lambda: None
        builder = StateGraph(State)
        builder.add_node("b", lambda state: {"log": [object()]})
        builder.add_edge(START, "b")
        graph = builder.compile()
    else:
        trip.faults["b"] = Refused("not you")
    (_, told) = worked(ds, graph)
    assert (told.what, told.attempts) == ("parked", 1)
    error = ds.runs.get("t").error
    assert error.startswith({"graph": "GraphChanged: ", "value": "NotSerializable: ", "refused": "Refused: "}[what])


def test_a_run_that_kills_its_process_again_and_again_is_parked(ds, trip):
    trip.leave("t")
    for _ in range(DEATHS):
        taken = ds.store_backend.run(lambda: take(ds.scope(), "w", LONG, 1, None), write=True)
        assert [each.thread_id for each in taken] == ["t"]
        ds.store_backend.run(lambda token=taken[0].token: hand_over(ds.scope(), "t", token), write=True)
    assert worked(ds, trip.graph) == []
    found = ds.runs.get("t")
    assert (found.status, found.attempts) == ("parked", DEATHS)
    assert "died 10 times in a row" in found.error
    ds.runs.unpark("t")
    assert words(worked(ds, trip.graph)) == [("took", "t"), ("finished", "t")]
    assert ds.runs.get("t").error is None


def test_a_run_that_comes_forward_may_lose_any_number_of_processes(ds, trip):
    trip.leave("t")
    for _ in range(2 * DEATHS):
        (taken,) = ds.store_backend.run(lambda: take(ds.scope(), "w", LONG, 1, None), write=True)
        config = {"configurable": {"thread_id": "t", "dalsegno_fence": taken.token}}
        trip.graph.update_state(config, {"log": []}, as_node="a")
        ds.store_backend.run(lambda token=taken.token: hand_over(ds.scope(), "t", token), write=True)
    assert words(worked(ds, trip.graph)) == [("took", "t"), ("finished", "t")]


@pytest.mark.parametrize("leased", [True, False])
def test_whoever_takes_a_dead_workers_run_over_has_none_of_its_failures(ds, trip, leased):
    trip.leave("t")
    trip.faults["b"] = ValueError("no")
    assert worked(ds, trip.graph, backoff=LONG)[-1].what == "failed"
    due(ds)
    (taken,) = ds.store_backend.run(lambda: take(ds.scope(), "w", LONG, 1, None), write=True)
    ds.store_backend.run(lambda: hand_over(ds.scope(), "t", taken.token), write=True)
    assert ds.runs.get("t").attempts == 1
    trip.faults.clear()
    if leased:
        with ds.runs.lease("t", LONG) as lease:
            dalsegno.resume(trip.graph, "t", config=lease.config)
    else:
        dalsegno.resume(trip.graph, "t")
    found = ds.runs.get("t")
    assert (found.status, found.attempts, found.error) == ("finished", 0, None)


def parked(ds: Any, trip: Trip, thread: str = "t") -> None:
    trip.leave(thread)
    trip.faults["b"] = ValueError("no \x00 \ud800")
    assert worked(ds, trip.graph, attempts=1)[-1].what == "parked"
    trip.faults.clear()
    assert status(ds, thread) == "parked"


async def test_a_parked_run_is_tried_again_when_someone_says_so(ads, call):
    trip = Trip(ads)
    await asyncio.to_thread(parked, ads, trip)
    await call(ads.runs, "unpark", "t")
    found = await call(ads.runs, "get", "t")
    assert (found.status, found.attempts, found.parked_at) == ("orphaned", 0, None)
    assert found.error == "ValueError: no \\0 \\ud800"
    assert words(await asyncio.to_thread(worked, ads, trip.graph)) == [("took", "t"), ("finished", "t")]
    with pytest.raises(Refused, match="finished, not parked"):
        await call(ads.runs, "unpark", "t")


@pytest.mark.parametrize("how", ["input", "resume", "fork", "update"])
def test_a_person_who_goes_on_takes_the_parking_off(ds, trip, how):
    parked(ds, trip)
    config = {"configurable": {"thread_id": "t"}}
    if how == "input":
        with pytest.warns(dalsegno.errors.UnfinishedWarning):
            trip.graph.invoke({"log": ["more"]}, config)
    elif how == "resume":
        dalsegno.resume(trip.graph, "t")
    elif how == "fork":
        dalsegno.fork(trip.graph, "t", ds.threads.checkpoints("t", limit=1)[0].checkpoint_id)
    else:
        trip.graph.update_state(config, {"log": ["mended"]}, as_node="b")
    found = ds.runs.get("t")
    assert (found.status, found.error) == ("unfinished" if how == "update" else "finished", None)
    assert ds.threads.check().clean


def test_a_resume_that_fails_again_takes_the_parking_off_too(ds, trip):
    parked(ds, trip)
    trip.faults["b"] = ValueError("again")
    with pytest.raises(ValueError, match="again"):
        dalsegno.resume(trip.graph, "t")
    assert status(ds) == "unfinished"


def test_a_lease_that_a_person_let_run_out_does_not_unpark(ds, trip):
    parked(ds, trip)
    ds.runs.lease("t", LONG).hand_over()
    assert worked(ds, trip.graph) == []
    assert status(ds) == "parked"
    assert ds.runs.get("t").holder is None


def test_parking_goes_with_its_thread_and_not_with_a_copy(ds, trip, execute):
    parked(ds, trip)
    ds.threads.copy("t", "copy")
    assert (status(ds, "t"), status(ds, "copy")) == ("parked", "unfinished")
    assert execute("SELECT count(*) FROM ds_runs")[0][0] == 1
    ds.threads.delete("t")
    assert execute("SELECT count(*) FROM ds_runs")[0][0] == 0
    assert ds.runs.list("parked") == []
    with pytest.raises(ThreadNotFound):
        ds.runs.get("t")
    assert ds.threads.check().clean
    ds.threads.reopen("t")
    assert status(ds, "t") == "finished"


def test_a_check_finds_a_run_that_would_never_be_tried_again(ds, trip, execute):
    trip.leave("t")
    trip.faults["b"] = ValueError("no")
    worked(ds, trip.graph, backoff=LONG)
    assert ds.threads.check().clean
    for damage, what in (
        ("UPDATE ds_runs SET due = NULL", "when the next attempt is due"),
        ("DELETE FROM ds_runs", "how it failed, since it is retry"),
        ("UPDATE ds_threads SET stands = 9", "a known standing"),
    ):
        execute(damage)
        assert [finding.expected for finding in ds.threads.check().findings] == [what]


def test_dropping_the_checkpoints_of_a_run_says_anew_where_it_stands(ds, trip):
    trip.graph.invoke({"log": ["one"]}, {"configurable": {"thread_id": "t"}, "metadata": {"run_id": "first"}})
    trip.faults["b"] = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        trip.graph.invoke({"log": ["two"]}, {"configurable": {"thread_id": "t"}, "metadata": {"run_id": "second"}})
    trip.faults.clear()
    assert status(ds) == "unfinished"
    ds.checkpointer.delete_for_runs(["second"])
    assert words(worked(ds, trip.graph, idle=NOW)) == [("took", "t"), ("finished", "t")]
    assert trip.log("t") == ["one", "a", "b", "c"]
    ds.checkpointer.prune(["t"], strategy="delete")
    assert str(ds.runs.get("t").status) == "finished"


# --- actions


def test_an_action_in_flight_is_waited_for_and_an_unknown_one_is_a_question(ds, trip):
    done: list[str] = []

    @ds.action(kind="update", lease=timedelta(seconds=1))
    def act(what: str) -> str:
        done.append(what)
        if len(done) == 1:
            raise Died("killed")
        return what

    trip.meanwhile = lambda: act("x")
    lease = ds.runs.lease("t", LONG)
    # A process that dies in mid-effect says nothing to the ledger.
    trip.graph.update_state(lease.config, {"log": ["in"]}, as_node="a")
    ledger = ds.actions.actor
    real, ledger.transact = ledger.transact, lambda make, thread: real(make, thread) if not done else None
    with pytest.raises(Died):
        trip.graph.invoke(None, lease.config, durability="sync")
    ledger.transact = real
    lease.hand_over()
    (_, told) = worked(ds, trip.graph)
    assert told.what == "put off"
    assert 0 < told.seconds <= 1
    found = ds.runs.get("t")
    assert (found.status, found.attempts) == ("orphaned", 0)
    assert found.note.startswith("put off: ActionInFlight")
    assert (found.error, found.failed_at) == (None, None)  # no failure
    assert worked(ds, trip.graph) == []
    time.sleep(told.seconds + 0.05)
    assert words(worked(ds, trip.graph)) == [("took", "t"), ("waiting", "t")]
    assert status(ds) == "waiting"
    (action,) = ds.actions.list("t")
    assert (action.state, len(done)) == ("unknown", 1)
    answer = {"ticket": action.ticket, "decision": "succeeded", "by": "mara", "result": "x"}
    assert dalsegno.resume(trip.graph, "t", answer)["log"] == ["in", "b", "c"]
    assert len(done) == 1


# --- stopping, losing


def test_told_to_stop_it_finishes_the_step_and_another_goes_on_at_once(ds, trip):
    trip.leave("t", at="a")
    said: list[Told] = []
    worker = Worker(ds, trip.graph, tell=said.append, lease=LONG)
    trip.meanwhile = worker.stop
    worker.run()
    assert words(said) == [("took", "t"), ("handed over", "t")]
    assert trip.log("t") == ["in", "a", "b"]
    assert status(ds) == "orphaned"
    trip.meanwhile = lambda: None
    assert words(worked(ds, trip.graph)) == [("took", "t"), ("finished", "t")]
    assert trip.ran == {"t/a": 2, "t/b": 1, "t/c": 1}


def test_told_to_stop_while_it_waits_it_ends(ds, trip):
    worker = Worker(ds, trip.graph, poll=timedelta(hours=1))
    threading.Timer(0.1, worker.stop).start()
    began = time.monotonic()
    worker.run()
    assert time.monotonic() - began < 5


def test_a_worker_that_lost_its_lease_writes_nothing_more_and_says_so(ds, trip, execute):
    trip.leave("t")
    taken: list[Any] = []

    def lose() -> None:
        if not taken:
            execute("UPDATE ds_threads SET lease_until = 1 WHERE name = 't'")  # the process was paused for long
            taken.append(ds.runs.lease("t", LONG, holder="another"))
            taken.append(snapshot(ds, "t"))

    trip.meanwhile = lose
    said = worked(ds, trip.graph)
    assert words(said) == [("took", "t"), ("lost", "t")]
    assert snapshot(ds, "t") == taken[1]
    assert dalsegno.resume(trip.graph, "t", config=taken[0].config)["log"] == ["in", "a", "b", "c"]


def test_a_step_longer_than_the_lease_keeps_it_also_where_it_blocks_the_loop(ds):
    trip = Trip(ds, is_async=True)
    trip.leave("t")
    held: list[Any] = []

    def slow() -> None:
        time.sleep(1.2)
        held.append(ds.threads.get("t").leased_to)

    trip.meanwhile = slow
    assert words(worked(ds, trip.graph, lease=timedelta(milliseconds=600), name="w")) == [
        ("took", "t"),
        ("finished", "t"),
    ]
    assert held == ["w"]


def test_a_run_whose_lease_is_lost_is_ended_before_it_spends_more(ds, execute):
    ended: list[str] = []

    async def slow(state: State) -> State:
        execute("UPDATE ds_threads SET lease_until = 1 WHERE name = 't'")
        ds.runs.lease("t", LONG, holder="another")
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return {}

    builder = StateGraph(State)
    builder.add_node("slow", slow)
    builder.add_edge(START, "slow")
    graph = builder.compile(checkpointer=ds.checkpointer)
    lease = ds.runs.lease("t", LONG)
    graph.update_state(lease.config, {"log": []}, as_node="__start__")
    lease.hand_over()
    assert words(worked(ds, graph, lease=timedelta(milliseconds=300))) == [("took", "t"), ("lost", "t")]
    assert ended == ["cancelled"]


def test_a_thread_that_is_deleted_meanwhile_is_gone(ds, trip, execute):
    trip.leave("t")

    def delete() -> None:
        execute("UPDATE ds_threads SET lease_until = NULL WHERE name = 't'")
        ds.threads.delete("t")

    trip.meanwhile = delete
    assert [what for what, _ in words(worked(ds, trip.graph))] == ["took", "gone"]
    with pytest.raises(ThreadDeleted):
        ds.runs.lease("t")


# --- upkeep


def test_upkeep_is_done_every_so_often_and_its_failure_holds_up_nothing(ds, trip):
    trip.leave("t")
    seen: list[Any] = []

    async def card(open_ds: Any) -> str:
        seen.append(open_ds)
        return "2 cards"

    def broken(open_ds: Any) -> None:
        seen.append("broken")
        raise ValueError("no")

    parts = [Upkeep(name="cards", every=LONG, do=card), Upkeep(name="broken", every=SHORT, do=broken)]
    said: list[Told] = []
    worker = Worker(ds, trip.graph, upkeep=parts, tell=said.append, poll=timedelta(milliseconds=20))
    threading.Timer(0.6, worker.stop).start()
    worker.run()
    assert seen.count(ds) == 1
    assert 3 <= seen.count("broken") <= 8
    told = {(each.what, each.why) for each in said}
    assert ("upkeep", "cards: 2 cards") in told
    assert ("upkeep failed", "broken: ValueError: no") in told
    assert ("finished", "t") in words(said)


# --- wrong calls


def test_a_graph_that_cannot_be_used_is_refused(ds, store_url):
    builder = StateGraph(State)
    builder.add_node("a", lambda state: {})
    builder.add_edge(START, "a")
    for wrong, why in (
        (builder, "builder.compile"),
        (object(), "no compiled graph"),
        (builder.compile(checkpointer=InMemorySaver()), "InMemorySaver"),
        (builder.compile(checkpointer=True), "checkpointer=True"),
    ):
        with pytest.raises(Misuse, match=why):
            Worker(ds, wrong)
    with dalsegno.connect("memory://") as other, pytest.raises(Misuse, match="another checkpointer"):
        Worker(ds, builder.compile(checkpointer=other.checkpointer))
    given = builder.compile()
    assert Worker(ds, given).graph.checkpointer is ds.checkpointer
    assert given.checkpointer is None
    if store_url != "memory://":
        with dalsegno.connect(store_url) as again:
            assert Worker(ds, builder.compile(checkpointer=again.checkpointer)).graph.checkpointer is ds.checkpointer
        with dalsegno.connect(store_url, tenant="other") as other, pytest.raises(Misuse, match="tenant number"):
            Worker(ds, builder.compile(checkpointer=other.checkpointer))


@pytest.mark.parametrize(
    "settings",
    [{"concurrency": 0}, {"attempts": True}, {"poll": 1}, {"lease": timedelta(0)}, {"idle": timedelta(-1)}],
)
def test_a_wrong_setting_is_refused(ds, trip, settings):
    with pytest.raises(Misuse, match=next(iter(settings))):
        Worker(ds, trip.graph, **settings)


# --- lists


async def test_runs_are_listed_by_status_and_page(ads, call):
    trip = Trip(ads)

    def fill() -> None:
        parked(ads, trip, "o2")
        for name in ("o1", "o3"):
            trip.leave(name)
        worked(ads, trip.graph)
        trip.leave("r", hand_over=False)
        trip.graph.invoke({"log": []}, {"configurable": {"thread_id": "f"}})

    await asyncio.to_thread(fill)

    async def names(*args: Any, **how: Any) -> list[str]:
        return [run.thread_id for run in await call(ads.runs, "list", *args, **how)]

    for name in ("o1", "o3"):
        ads.runs.lease(name + "x", LONG).hand_over()
    assert await names() == ["f", "o1", "o2", "o3", "r"]
    assert await names(limit=2, after="f") == ["o1", "o2"]
    assert await names("finished") == ["f", "o1", "o3"]
    assert await names("parked") == ["o2"]
    assert await names("running") == ["r"]
    assert await names("orphaned") == []
    for name in ("n1", "n2", "n3"):
        await asyncio.to_thread(trip.leave, name)
    await asyncio.to_thread(ads.runs.unpark, "o2")
    assert await names("orphaned") == ["n1", "n2", "n3", "o2"]
    assert await names("orphaned", limit=2, after="n2") == ["n3", "o2"]
    with pytest.raises(Misuse, match="status"):
        await call(ads.runs, "list", "dead")
    with pytest.raises(LeaseHeld):
        await call(ads.runs, "unpark", "r")
    with pytest.raises(ThreadNotFound):
        await call(ads.runs, "get", "nobody")


def test_another_users_runs_are_not_seen_and_not_taken(ds, store_url):
    if store_url == "memory://":
        pytest.skip("every connection to memory is a database of its own")
    with dalsegno.connect(store_url, user="ana") as ana, dalsegno.connect(store_url, user="ben") as ben:
        trip = Trip(ana)
        trip.leave("t")
        assert ben.runs.list() == []
        with pytest.raises(ThreadNotFound):
            ben.runs.get("t")
        with pytest.raises(ThreadNotFound):
            ben.runs.unpark("t")
        assert worked(ben, Trip(ben).graph) == []
        assert words(worked(ana, trip.graph)) == [("took", "t"), ("finished", "t")]
        assert [run.owner for run in ds.runs.list()] == ["ana"]
    with dalsegno.connect(store_url, tenant="other") as other:
        assert other.runs.list() == []


# --- keeping a lease


async def test_a_lease_that_is_kept_outlives_a_tool_that_is_longer(ads, face):
    lease = ads.runs.lease("t", timedelta(milliseconds=600))
    if face == "sync":
        with lease.keep():
            await asyncio.to_thread(time.sleep, 1.0)
            assert ads.threads.get("t").leased_to == lease.holder
    else:
        async with lease.keep():
            await asyncio.sleep(1.0)
            assert ads.threads.get("t").leased_to == lease.holder
    await asyncio.sleep(0.7)
    assert ads.threads.get("t").leased_to is None  # and not kept any longer


async def test_a_kept_lease_that_is_lost_is_told_when_the_block_is_left(ads, face, execute_async):
    lease = ads.runs.lease("t", timedelta(milliseconds=240))

    async def lose() -> None:
        await execute_async("UPDATE ds_threads SET lease_until = 1 WHERE name = 't'")
        ads.runs.lease("t", LONG, holder="another")
        await asyncio.sleep(0.3)
        with pytest.raises(LeaseLost):
            ads.journal.append("t", "note", "me", "late", lease=lease)

    async def fail() -> None:
        await asyncio.sleep(0.3)
        raise ZeroDivisionError

    async def kept(work: Any) -> None:
        if face == "sync":
            with lease.keep():
                await work()
        else:
            async with lease.keep():
                await work()

    with pytest.raises(LeaseLost, match="newest token"):
        await kept(lose)
    with pytest.raises(ZeroDivisionError) as caught:
        await kept(fail)
    assert "its lease was lost" in caught.value.__notes__[0]
    assert ads.threads.get("t").leased_to == "another"


@pytest.fixture
def execute_async(ads: Any, store_url: str) -> Any:
    """Run a statement past all of dalsegno, in the database behind `ads`."""

    def run(statement: str) -> None:
        if store_url == "memory://":
            ads.store_backend._writer.execute(statement)
        elif store_url.startswith("sqlite"):
            import sqlite3

            connection = sqlite3.connect(store_url.removeprefix("sqlite:///"), isolation_level=None)
            connection.execute(statement)
            connection.close()
        else:
            import psycopg

            with psycopg.connect(store_url, autocommit=True) as connection:
                connection.execute(statement)

    async def arun(statement: str) -> None:
        await asyncio.to_thread(run, statement)

    return arun
