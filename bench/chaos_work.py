"""What the processes of `bench.chaos` do to each other's threads.

Rules of this module:

* Two kinds of threads. A *book* only grows: turns, notes, pruning; every message and note carries a name of its own,
  so that the journal tells whether something acknowledged is missing or something was written twice. On a *wild*
  thread everything is allowed, forks and deletions included; it only has to be sound.
* A worker says what it did in lines of JSON, each written in one piece, after the database has acknowledged it.
* Being second, late or unlucky is no fault: `Conflict`, `Refused`, `Missing` and, where sessions are cut,
  `StoreUnavailable` are counted. Anything else is a fault and is told with its traceback.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
import traceback
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import EmptyInputError
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send

import dalsegno
from dalsegno.errors import Conflict, DalsegnoError, Missing, Refused, StoreUnavailable

__all__ = ["BOOK", "WILD", "Say", "build", "finish", "say_to", "work"]

Say: TypeAlias = Callable[..., None]

BOOK, WILD = "book", "wild"
BOOKS, WILDS = 5, 4
_PAGE_TURN_SECONDS = 10.0
_MOST = 3500
"""Bytes of a line that a pipe takes in one piece, whoever else writes."""


def say_to(out: int) -> Say:
    """Lines of JSON into a pipe that several processes share."""

    def say(**said: Any) -> None:
        line = json.dumps(said).encode()
        assert len(line) < _MOST + 500, len(line)
        os.write(out, line + b"\n")

    return say


def build(saver: BaseCheckpointSaver[Any]) -> Any:
    """A graph of two branches, a join and two sends; each message is named after its node and its turn."""

    def speak(node: str, turn: str) -> dict[str, Any]:
        name = f"{node}-{turn}"
        return {"messages": [AIMessage(f"{name} 说 " + "noted, 已记录. " * 8, id=name, name=name)]}

    def turn_of(state: MessagesState) -> str:
        asked = [message for message in state["messages"] if isinstance(message, HumanMessage)]
        return str(asked[-1].name) if asked else "nothing"

    def spread(state: MessagesState) -> list[Send]:
        return [Send("worker", {"node": f"worker{n}", "turn": turn_of(state)}) for n in range(2)]

    builder = StateGraph(MessagesState)
    builder.add_node("left", lambda state: speak("left", turn_of(state)))
    builder.add_node("right", lambda state: speak("right", turn_of(state)))
    builder.add_node("plan", lambda state: speak("plan", turn_of(state)))
    builder.add_node("worker", lambda task: speak(task["node"], task["turn"]))
    builder.add_node("close", lambda state: speak("close", turn_of(state)))
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    builder.add_edge(["left", "right"], "plan")
    builder.add_conditional_edges("plan", spread, ["worker"])
    builder.add_edge("worker", "close")
    builder.add_edge("close", END)
    return builder.compile(checkpointer=saver)


def finish(graph: Any, thread: str) -> list[str]:
    """Bring a thread to its end from wherever it stands; return the names of its messages."""
    for _ in range(10):
        state = graph.get_state({"configurable": {"thread_id": thread}})
        if not state.tasks:
            return [message.name for message in state.values.get("messages", [])]
        dalsegno.resume(graph, thread)
    msg = f"{thread} does not come to an end in ten resumes"
    raise AssertionError(msg)


class _Worker:
    def __init__(self, ds: dalsegno.Dalsegno, say: Say, dice: random.Random, began: float) -> None:
        self.ds, self.say, self.dice, self.began = ds, say, dice, began
        self.graph = build(ds.checkpointer)
        self.thread = ""

    def step(self) -> str:
        """Do one thing to one thread; return its name."""
        if self.dice.random() < 0.6:  # noqa: PLR2004 - a share
            newest = BOOKS + int((time.time() - self.began) / _PAGE_TURN_SECONDS)
            self.thread = f"{BOOK} {self.dice.randrange(newest - BOOKS, newest)}"
            does = self.dice.choices((self.turn, self.note, self.look, self.prune, self.copy), (10, 5, 3, 1, 0.5))[0]
        else:
            self.thread = f"{WILD} {self.dice.randrange(WILDS)}"
            options = (
                self.turn, self.note, self.look, self.prune, self.fork, self.forget_run, self.delete, self.lease,
            )  # fmt: skip
            does = self.dice.choices(options, (8, 3, 3, 1, 3, 1, 0.6, 2))[0]
        does()
        return does.__name__

    def _config(self, **more: Any) -> Any:
        return {"configurable": {"thread_id": self.thread, **more}, "metadata": {"run_id": f"run {uuid.uuid4()}"}}

    def turn(self, **conf: Any) -> None:
        config = self._config(**conf)
        if self.graph.get_state(config).tasks:
            result = dalsegno.resume(self.graph, self.thread, config=config)
        else:
            name = f"q-{uuid.uuid4().hex[:12]}"
            asked = {"messages": [HumanMessage("what differs? 有何不同?", id=name, name=name)]}
            durability = self.dice.choice(("sync", "async"))
            if self.dice.random() < 0.3:  # noqa: PLR2004 - a share
                result = asyncio.run(self._aturn(asked, config, durability))
            else:
                result = self.graph.invoke(asked, config, durability=durability)
        self.say(ack=self.thread, names=[message.name for message in result["messages"][-12:]])

    async def _aturn(self, asked: Any, config: Any, durability: str) -> Any:
        try:
            return await self.graph.ainvoke(asked, config, durability=durability)
        finally:
            loop = getattr(self.ds.store_backend, "_apools", {}).pop(id(asyncio.get_running_loop()), None)
            if loop is not None:
                await loop.pool.close()

    def note(self) -> None:
        name = f"n-{uuid.uuid4().hex[:12]}"
        event = self.ds.journal.append(self.thread, "note", name, {"text": "noted " * self.dice.randint(1, 90)})
        assert event.author == name, event
        self.say(ack=self.thread, names=[name])

    def look(self) -> None:
        self.ds.threads.get(self.thread)
        list(self.ds.checkpointer.list({"configurable": {"thread_id": self.thread}}, limit=5))
        numbers = [event.seq for event in self.ds.journal.read(self.thread, limit=200)]
        assert numbers == sorted(set(numbers)), numbers
        self.ds.journal.search(self.thread, "已记录")
        found = self.ds.threads.check(self.thread).findings
        assert not found, found[:3]

    def prune(self) -> None:
        self.ds.checkpointer.prune([self.thread])

    def copy(self) -> None:
        copy = f"copy {uuid.uuid4().hex[:8]}"
        self.ds.threads.copy(self.thread, copy)
        found = self.ds.threads.check(copy).findings
        assert not found, found[:3]
        self.ds.threads.delete(copy)

    def fork(self) -> None:
        some = self.ds.threads.checkpoints(self.thread, limit=12, ns="")
        if some:
            dalsegno.fork(self.graph, self.thread, self.dice.choice(some).checkpoint_id)

    def forget_run(self) -> None:
        runs = {found.metadata.get("run_id") for found in self.ds.checkpointer.list(self._config(), limit=30)}
        chosen = sorted(str(run) for run in runs if run is not None)
        if chosen:
            self.ds.checkpointer.delete_for_runs([self.dice.choice(chosen)])

    def delete(self) -> None:
        self.ds.threads.delete(self.thread)
        self.ds.threads.reopen(self.thread)

    def lease(self) -> None:
        with self.ds.runs.lease(self.thread, timedelta(seconds=self.dice.choice((0.2, 5)))) as lease:
            self.turn(dalsegno_fence=lease.token)


def work(url: str, out: int, seed: int, began: float) -> None:
    """Do random things until killed."""
    say = say_to(out)
    dice = random.Random(seed)
    try:
        ds = dalsegno.connect(url, on_input_over_unfinished="allow")
    except StoreUnavailable:
        say(refused="StoreUnavailable")
        return
    worker = _Worker(ds, say, dice, began)
    while True:
        try:
            say(done=worker.step())
        except (Conflict, Refused, Missing, StoreUnavailable, EmptyInputError) as error:
            say(refused=type(error).__name__)
        except (DalsegnoError, AssertionError, Exception) as error:  # noqa: BLE001 - a fault is told, the work goes on
            told = "".join(traceback.format_exception(error))
            say(fault=f"{worker.thread}: {told[-_MOST // 2 :]}"[: _MOST // 2])
