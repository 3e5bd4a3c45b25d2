"""The process that is killed, and the one that comes after it.

Rules of this module:

* The process does not kill itself: its parent sends SIGKILL. At the moment of the strike it reports and holds still;
  as a node returns, it reports and goes on as far as the next node, so that the signal finds it on its way to the
  store.
* Errands of one step run in parallel. In a process that is to be struck they take turns, each after the elder one's
  result is in the store, so that a strike lands where it was aimed. LangGraph's schedule is left as it is otherwise.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from dalsegno.connect import connect
from dalsegno.demo.agent import agent
from dalsegno.demo.errands import through_ledger
from dalsegno.demo.play import head_of, play
from dalsegno.demo.script import PHASES, Phase, Script
from dalsegno.demo.world import World
from dalsegno.errors import StoreError
from dalsegno.imports import read_transcript

if TYPE_CHECKING:
    from collections.abc import Callable

    from langgraph.checkpoint.base import BaseCheckpointSaver

__all__ = ["Job", "perform"]

_PATIENCE_S: Final = 30.0
"""How long a process holds still for its signal, or an errand for its elder, before it gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one process is to do.

    Attributes:
        name: what the process is called in the ledger of effects.
        url: the store.
        tenant: whose thread it is.
        user: whose thread among the tenant's; None for nobody's.
        thread_id: the thread; new or left in any state.
        transcript: file to play.
        index: which conversation of the file; None where it holds one.
        world: file of the outside world.
        strike: (node, position, phase) at which the process will be killed, or None.
    """

    name: str
    url: str
    tenant: str
    user: str | None
    thread_id: str
    transcript: str
    index: int | None
    world: str
    strike: tuple[str, int, str] | None = None

    def to_json(self) -> str:
        """The job as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """The job of a line that `to_json` made."""
        fields = json.loads(text)
        strike = fields.pop("strike")
        if strike is not None and strike[2] not in PHASES:
            raise ValueError(f"unknown phase {strike[2]!r}")
        return cls(strike=None if strike is None else tuple(strike), **fields)


class _Observer:
    """Reports every step, holds still at the strike, and lets the errands of a step take turns."""

    def __init__(self, job: Job, tell: Callable[[dict[str, Any]], None], saver: BaseCheckpointSaver[Any]) -> None:
        self._job: Final = job
        self._tell: Final = tell
        self._saver: Final = saver
        self._struck = False

    def __call__(self, node: str, position: int, phase: Phase, *, step: int, sibling: int = 0) -> None:
        if self._struck:
            hold_still()
        if phase == "start" and sibling and self._job.strike is not None:
            self._wait_for_elders(sibling)
        self._struck = struck = (node, position, phase) == self._job.strike
        self._tell({
            "event": "moment", "node": node, "position": position, "phase": phase, "step": step, "struck": struck,
        })  # fmt: skip
        if struck and phase != "return":
            hold_still()

    def _wait_for_elders(self, sibling: int) -> None:
        """Return when as many errands of this step as stand before this one have their results in the store."""
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            head = self._saver.get_tuple({"configurable": {"thread_id": self._job.thread_id}})
            writes = (head.pending_writes if head is not None else None) or ()
            if len({task for task, channel, _ in writes if channel == "messages"}) >= sibling:
                return
            time.sleep(0.001)
        raise StoreError("an errand waited in vain for the result of the one before it; run `dalsegno check`.")


def hold_still() -> NoReturn:
    """Wait for the signal.

    Raises:
        StoreError: it did not come.
    """
    time.sleep(_PATIENCE_S)
    raise StoreError("the demo's process was to be killed here and was not; run the demo again.")


def perform(job: Job, tell: Callable[[dict[str, Any]], None]) -> None:
    """Open the store, tell what is there, and play to the end or to the strike.

    Reports, in this order: `open` with what the thread holds and the milliseconds it took to get there (connecting
    and loading the head; imports and reading the transcript not counted), `moment` for each step of each node, and
    `done`.
    """
    script = Script(read_transcript(Path(job.transcript), index=job.index))
    world = World(Path(job.world))
    began = time.perf_counter()
    with connect(job.url, tenant=job.tenant, user=job.user) as ds:
        observer = _Observer(job, tell, ds.checkpointer)
        graph = agent(script, through_ledger(ds.actions, world, by=job.name), observer, ds.checkpointer)
        head = head_of(graph, job.thread_id)
        reopened_ms = (time.perf_counter() - began) * 1000
        events = ds.journal.read(job.thread_id) if head.messages else []
        tell({
            "event": "open",
            "ms": reopened_ms,
            "messages": len(head.messages),
            "pending": head.pending,
            "finished": head.finished,
            "siblings": head.siblings,
            "step": head.step,
            "coordinate": events[-1].coordinate if events else None,
        })  # fmt: skip
        play(
            graph,
            script,
            job.thread_id,
            at_rest=lambda position: observer("model", position, "rest", step=-1),
            siblings=script.widest_step(),
        )
        if job.strike is not None:
            hold_still()
    tell({"event": "done"})
