"""The whole performance: play, kill, reopen in a new process, play on, compare with an undisturbed run, hand over.

Rules of this module:

* The verdict is computed from what two processes reported and from what the store holds, never from what should have
  happened: `Outcome.holds` is False when one message differs, when an execution that had finished ran again, or when
  one that had finished was gone.
* A tool that was killed after its effect and before its record runs again; its effect must not come again. What
  happened in the world is counted there, and compared with the ledger.
* What the performance leaves behind is the thread in the store that the caller named; everything else lies in the
  folder the caller gave.
"""

from __future__ import annotations

import signal
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dalsegno.connect import connect
from dalsegno.demo.child import Job
from dalsegno.demo.errands import ledger_of
from dalsegno.demo.handover import handed_over
from dalsegno.demo.measure import Undisturbed, spoken, undisturbed
from dalsegno.demo.outcome import Execution, Outcome, Reopened
from dalsegno.demo.process import Launch, failure, spawn
from dalsegno.demo.script import BUILT_IN, Moment, Script, said
from dalsegno.demo.shortening import shortened
from dalsegno.demo.world import World
from dalsegno.errors import DalsegnoError, Misuse
from dalsegno.imports import read_transcript

if TYPE_CHECKING:
    from pathlib import Path

    from dalsegno.demo.process import Process

__all__ = ["perform"]

_FIRST, _SECOND = 1, 2


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
        played = ds.threads.state(thread_id)["messages"]
        events = spoken(ds.journal, thread_id)
        ledger = ledger_of(ds, thread_id)
        handover = handed_over(ds, thread_id, ledger)
    messages = [said(message) for message in played]
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
        ledger=ledger,
        stored=calm.stored,
        stored_by_langgraph=calm.stored_by_langgraph,
        shortened=shortened(played),
        handed_over=handover,
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
