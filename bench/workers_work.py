"""What the processes of `bench.workers` do: runs that act on an outside world, started, left and gone on with.

Rules of this module:

* The world is a database of its own. An effect is one row in it, there or not there; nothing keeps a second one out.
* A run has three steps, and each does one thing to the world, through the ledger and with a reconciler. Its state takes
  down what each step was told, so that state and world can be compared.
* Runs are started under a lease by the same processes that go on with them, so that both are killed.
"""

from __future__ import annotations

import contextlib
import operator
import random
import signal
import sqlite3
import threading
import time
from datetime import timedelta
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

import dalsegno
from bench.chaos_work import Say, say_to
from dalsegno import Happened, NotHappened, Told, Worker
from dalsegno.errors import Conflict, StoreUnavailable

__all__ = ["LEASE", "NODES", "build", "effects", "make_world", "name_of", "work"]

LEASE = timedelta(seconds=2)
ACTION_LEASE = timedelta(seconds=1)
NODES = ("reserve", "charge", "mail")
_FEEDERS = 2


class State(TypedDict, total=False):
    """A thread's turns: the number of the last, and what each step of each was told by the world."""

    turn: int
    done: Annotated[list[str], operator.add]


def name_of(number: int) -> str:
    """A thread's id."""
    return f"order {number:04}"


def make_world(path: str) -> None:
    """An empty world."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE effects (what TEXT)")


def effects(path: str, what: str | None = None) -> list[str]:
    """Every effect there was, or those of one kind."""
    with contextlib.closing(sqlite3.connect(path, timeout=60)) as db:
        db.execute("PRAGMA synchronous=OFF")
        if what is None:
            return [row[0] for row in db.execute("SELECT what FROM effects")]
        return [row[0] for row in db.execute("SELECT what FROM effects WHERE what = ?", (what,))]


def build(ds: Any, world: str, dice: random.Random, pace: float, say: Say = lambda **said: None) -> Any:
    """The graph, and the way it acts on the world."""

    def act(what: str) -> str:
        time.sleep(dice.uniform(0, pace))
        with contextlib.closing(sqlite3.connect(world, timeout=60)) as db:
            db.execute("PRAGMA synchronous=OFF")
            db.execute("INSERT INTO effects VALUES (?)", (what,))
            db.commit()
        time.sleep(dice.uniform(0, pace))
        return f"did {what}"

    def look(action: Any) -> Any:
        what = action.arguments["what"]
        found = bool(effects(world, what))
        say(what="found done" if found else "found not done", thread=action.thread_id, why=what)
        return Happened(result=f"did {what}") if found else NotHappened()

    acted = ds.action(kind="update", name="act", lease=ACTION_LEASE, reconcile=look)(act)

    def node(name: str) -> Any:
        def run(state: State, config: RunnableConfig) -> State:
            thread = config["configurable"]["thread_id"]
            return {"done": [acted(f"{thread}/{state['turn']}/{name}")]}

        return run

    builder = StateGraph(State)
    for before, name in zip((START, *NODES[:-1]), NODES, strict=True):
        builder.add_node(name, node(name))
        builder.add_edge(before, name)
    builder.add_edge(NODES[-1], END)
    return builder.compile(checkpointer=ds.checkpointer)


def work(url: str, out: int, world: str, seed: int, threads: int, *, feeds: bool, pace: float) -> None:
    """Go on with runs, and start new ones, until killed or told to stop."""
    say, dice = say_to(out), random.Random(seed)
    try:
        ds = dalsegno.connect(url)
    except StoreUnavailable:
        return
    graph = build(ds, world, dice, pace, say)

    def tell(told: Told) -> None:
        say(what=told.what, thread=told.thread_id, why=told.why[:1000])

    worker = Worker(
        ds, graph, concurrency=4, poll=timedelta(milliseconds=200), lease=LEASE, backoff=timedelta(milliseconds=200),
        tell=tell,
    )  # fmt: skip
    for _ in range(_FEEDERS if feeds else 0):
        threading.Thread(target=_feed, args=(ds, graph, say, dice, threads), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda number, frame: worker.stop())
    worker.run()


def _feed(ds: Any, graph: Any, say: Any, dice: random.Random, threads: int) -> None:
    """Start turns, each under a lease that is kept."""
    while True:
        try:
            lease = ds.runs.lease(name_of(dice.randrange(threads)), LEASE)
        except (Conflict, StoreUnavailable):
            time.sleep(0.01)
            continue
        try:
            with lease.keep():
                state = graph.get_state(lease.config)
                if state.tasks:
                    lease.hand_over()
                    continue
                graph.invoke({"turn": state.values.get("turn", 0) + 1}, lease.config, durability="sync")
            lease.release()
            say(what="started and finished", thread=lease.thread_id, why="")
        except (Conflict, StoreUnavailable) as error:
            say(what="late", thread=lease.thread_id, why=str(error)[:500])
        except Exception as error:  # noqa: BLE001 - a fault is told, the work goes on
            say(what="fault", thread=lease.thread_id, why=f"{type(error).__name__}: {error}"[:1000])
