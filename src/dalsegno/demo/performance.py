"""The whole performance: play, kill, reopen in a new process, play on, compare with a run that nobody disturbed.

Rules of this module:

* The verdict is computed from what two processes reported and from what the store holds, never from what should have
  happened: `Outcome.holds` is False when one message differs, when an execution that had finished ran again, or when
  one that had finished was gone.
* A tool that was killed after its effect and before its record acts again. That is what "at least once" means, it is
  counted and shown, and it is not held against the store: only the tool and the world it acts on can rule it out.
* What the performance leaves behind is the thread in the store that the caller named; everything else lies in the
  folder the caller gave.
"""

from __future__ import annotations

import signal
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dalsegno.connect import connect
from dalsegno.demo.child import Job
from dalsegno.demo.measure import FileSize, Undisturbed, spoken, undisturbed
from dalsegno.demo.process import Launch, failure, spawn
from dalsegno.demo.script import BUILT_IN, Moment, Script, said
from dalsegno.demo.world import Effect, World
from dalsegno.errors import DalsegnoError, Misuse
from dalsegno.imports import read_transcript

if TYPE_CHECKING:
    from pathlib import Path

    from dalsegno.demo.process import Process

__all__ = ["Execution", "Outcome", "Reopened", "perform"]

_FIRST, _SECOND = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One run of one node in one process.

    Attributes:
        node: `model` or `tool`.
        position: index of the message that it yields.
        tool: name of the tool, or None.
        process: 1 for the process that was killed, 2 for the one that came after it.
        step: the superstep.
        reached: the last phase that the process reported.
        finished: whether the result was in the store when the second process opened it.
    """

    node: str
    position: int
    tool: str | None
    process: int
    step: int
    reached: str
    finished: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """What the second process found, before it did anything.

    Attributes:
        messages: how many the thread held.
        pending: names of the nodes still to run.
        siblings: (node, position) of those that had finished in a step that was not over.
        step: the last superstep that was over.
        coordinate: the journal's last event, such as `#13 model`.
        ms: milliseconds from the URL to the loaded head, imports not counted.
    """

    messages: int
    pending: tuple[str, ...]
    siblings: tuple[tuple[str, int], ...]
    step: int | None
    coordinate: str | None
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that happened.

    Attributes:
        thread_id: the thread in the store.
        moments: how many kill points the transcript has.
        killed_at: where the first process was killed.
        killed_step: the superstep it was in.
        reopened: what was there for the second process.
        executions: every run of every node, in order, both processes.
        finished_again: those of the second process that had finished in the first. Must be empty.
        lost: (node, position) that had finished in the first process and were gone. Must be empty.
        messages: how many the thread holds at the end.
        messages_expected: how many the undisturbed run holds.
        first_difference: index of the first message that differs from the undisturbed run; None if none does.
        events: how many events the thread's journal holds.
        events_identical: whether author, kind and text of each equal those of the undisturbed run.
        effects: what happened in the outside world.
        stored: what dalsegno's file for the undisturbed run takes.
        stored_by_langgraph: what the file of LangGraph's own SQLite saver takes for the same run; None where that saver
            is not installed.
    """

    thread_id: str
    moments: int
    killed_at: Moment
    killed_step: int | None
    reopened: Reopened
    executions: tuple[Execution, ...]
    finished_again: tuple[Execution, ...]
    lost: tuple[tuple[str, int], ...]
    messages: int
    messages_expected: int
    first_difference: int | None
    events: int
    events_identical: bool
    effects: tuple[Effect, ...]
    stored: FileSize
    stored_by_langgraph: FileSize | None

    @property
    def identical(self) -> bool:
        """Whether messages and journal equal those of the undisturbed run."""
        return self.first_difference is None and self.events_identical

    @property
    def doubled(self) -> tuple[Effect, ...]:
        """Effects on the world that happened more than once."""
        return tuple(effect for effect in self.effects if effect.times > 1 and not effect.reads)

    @property
    def holds(self) -> bool:
        """The verdict: identical, nothing that had finished ran again, nothing that had finished was lost."""
        return self.identical and not self.finished_again and not self.lost


def perform(
    *,
    url: str,
    folder: Path,
    transcript: Path = BUILT_IN,
    index: int | None = None,
    tenant: str = "default",
    user: str | None = None,
    kill_at: int | None = None,
    calm: Undisturbed | None = None,
    launch: Launch = spawn,
) -> Outcome:
    """Play a transcript, kill the process that plays it, resume in a new one, and compare.

    Args:
        url: the store; a file or a server, since memory dies with its process.
        folder: an existing folder for the outside world and for the undisturbed runs.
        transcript: file to play.
        index: which conversation of the file; may be left out where it holds one.
        tenant: whose thread it becomes.
        user: whose thread among the tenant's; None for nobody's.
        kill_at: number of the moment (`Script.moments`); the most telling one if None.
        calm: the undisturbed run of the same transcript, where it was played before.
        launch: how a process is started.

    Raises:
        Misuse: no such moment, a store that dies with its process, or a transcript that cannot be played.
        DalsegnoError: the store refused; nothing was killed, or the thread stays as it was left.
    """
    if url.startswith("memory:"):
        raise Misuse(f"{url} dies with its process, and this demo kills one; name a file or a server (--store).")
    script = Script(read_transcript(transcript, index=index))
    moments = script.moments()
    moment = script.default_moment() if kill_at is None else _moment(moments, kill_at)
    with connect(url, tenant=tenant, user=user):
        pass  # a store that cannot be opened is found before anything is started
    thread_id = f"demo-{uuid.uuid4().hex[:8]}"
    world = folder / "world.db"

    job = Job(
        name="first",
        url=url,
        tenant=tenant,
        user=user,
        thread_id=thread_id,
        transcript=str(transcript.absolute()),
        index=index,
        world=str(world),
        strike=(moment.node, moment.position, moment.phase),
    )
    killed = _run(launch(job), strike=True)
    survivor = _run(launch(replace(job, name="second", strike=None)), strike=False)

    opened = next(report for report in survivor if report["event"] == "open")
    finished = {(node, position) for node, position in opened["finished"]}
    executions = (*_executions(killed, _FIRST, finished, script), *_executions(survivor, _SECOND, finished, script))
    calm = calm or undisturbed(script, folder)
    with connect(url, tenant=tenant, user=user) as ds:
        messages = [said(message) for message in ds.threads.state(thread_id)["messages"]]
        events = spoken(ds.journal, thread_id)
    return Outcome(
        thread_id=thread_id,
        moments=len(moments),
        killed_at=moment,
        killed_step=_last_step(killed),
        reopened=_reopened(opened),
        executions=executions,
        finished_again=tuple(one for one in executions if one.process == _SECOND and one.finished),
        lost=tuple(sorted(_must_have_finished(moments, moment) - finished)),
        messages=len(messages),
        messages_expected=len(calm.messages),
        first_difference=_first_difference(messages, calm.messages),
        events=len(events),
        events_identical=events == calm.events,
        effects=World(world).effects(),
        stored=calm.stored,
        stored_by_langgraph=calm.stored_by_langgraph,
    )


def _moment(moments: tuple[Moment, ...], number: int) -> Moment:
    if not 1 <= number <= len(moments):
        raise Misuse(f"no kill point {number}: this transcript has the points 1 to {len(moments)} (--kill-at).")
    return moments[number - 1]


def _run(process: Process, *, strike: bool) -> list[dict[str, Any]]:
    """Collect a process's reports, killing it at the strike.

    Raises:
        DalsegnoError: it failed by itself, with the family of its error, or ended before it could be killed.
    """
    reports = []
    with process:
        for report in process.reports():
            if report["event"] == "failed":
                raise failure(report["family"], f"in the demo's process: {report['message']}")
            if report.get("struck"):
                process.kill()
            reports.append(report)
        status, complaint = process.wait()
    if status != (-signal.SIGKILL if strike else 0):
        wanted = "be killed" if strike else "end well"
        raise DalsegnoError(f"the demo's process was to {wanted}, but ended with status {status}: {complaint}")
    return reports


def _last_step(reports: list[dict[str, Any]]) -> int | None:
    """The superstep that a process was in last; between two turns, that of the turn before."""
    return next((r["step"] for r in reversed(reports) if r["event"] == "moment" and r["phase"] != "rest"), None)


def _reopened(opened: dict[str, Any]) -> Reopened:
    return Reopened(
        messages=opened["messages"],
        pending=tuple(opened["pending"]),
        siblings=tuple((node, position) for node, position in opened["siblings"]),
        step=opened["step"],
        coordinate=opened["coordinate"],
        ms=opened["ms"],
    )


def _executions(
    reports: list[dict[str, Any]], process: int, finished: set[tuple[str, int]], script: Script
) -> list[Execution]:
    reached: dict[tuple[str, int], tuple[int, str]] = {}
    for report in reports:
        if report["event"] == "moment" and report["phase"] != "rest":
            reached[report["node"], report["position"]] = (report["step"], report["phase"])
    return [
        Execution(
            node=node,
            position=position,
            tool=next((errand.name for errand in script.errands_at(position)), None),
            process=process,
            step=step,
            reached=phase,
            finished=(node, position) in finished,
        )
        for (node, position), (step, phase) in reached.items()
    ]


def _must_have_finished(moments: tuple[Moment, ...], killed_at: Moment) -> set[tuple[str, int]]:
    """Executions that returned before the strike: the next one only began with their results in the store."""
    return {(moment.node, moment.position) for moment in moments[: killed_at.number - 1] if moment.phase == "return"}


def _first_difference(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> int | None:
    if found == expected:
        return None
    pairs = zip(found, expected, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(found), len(expected)))
