"""`dalsegno worker`: go on with runs whose process died.

Rules of this module:

* The first SIGTERM or SIGINT lets each run finish the step in progress and hands it over; the second ends at once.
* Standard output gets a line for each thing that happens: words for people, a JSON object with `--json`.
* A worker may be started before the program that writes first: it waits until the database and the tenant are there.
  It makes neither, so that a mistyped name stays visible. With `--once` there is nothing to do then, and it ends.
"""

from __future__ import annotations

import inspect
import os
import signal
import sys
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dalsegno.cli.frame import Frame, NoTenant, command
from dalsegno.cli.output import as_json
from dalsegno.cli.spans import span, told
from dalsegno.cli.targets import graph_of, target
from dalsegno.cli.text import counted, one_line, shown, time
from dalsegno.core.standing import RunStatus
from dalsegno.errors import NoDatabase
from dalsegno.langgraph.worker import Told, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import dalsegno

__all__ = ["register"]

_STYLES: Final = {"finished": "green", "waiting": "yellow", "failed": "red", "parked": "red", "lost": "red"}
_SIGNALLED: Final = 128
_COUNTED: Final = 1000
"""Of runs that are left, at most so many are counted."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "worker")(worker)


def worker(
    frame: Frame,
    *,
    graph: Annotated[str, typer.Argument(metavar="MODULE:GRAPH", help="The graph, or a function that makes it.")],
    once: Annotated[bool, typer.Option("--once", help="End when nothing is left to do at the moment.")] = False,
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="How many runs at once.")] = 4,
    poll: Annotated[str, typer.Option(metavar="TIME", help="How long to wait where nothing was found.")] = "1s",
    lease: Annotated[str, typer.Option(metavar="TIME", help="How long a run stays with a worker that died.")] = "60s",
    attempts: Annotated[int, typer.Option(min=1, metavar="N", help="Equal failures until a run is parked.")] = 3,
    backoff: Annotated[str, typer.Option(metavar="TIME", help="Wait after the first failure; it doubles.")] = "1s",
    idle: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Also go on with runs without a lease that nothing was written to so long."),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Who holds the leases, for messages.")] = None,
    extractor: Annotated[
        str | None,
        typer.Option(metavar="MODULE:MODEL", help="A chat model that looks for what cards lack in threads of late."),
    ] = None,
    cards: Annotated[str, typer.Option(metavar="TIME", help="How often the extractor looks.")] = "30s",
) -> None:
    """Go on with runs whose process died, each with one worker, until told to stop."""
    found = target(graph)
    settings: dict[str, Any] = {
        "concurrency": concurrency, "poll": span("--poll", poll), "lease": span("--lease", lease),
        "attempts": attempts, "backoff": span("--backoff", backoff),
        "idle": None if idle is None else span("--idle", idle), "name": name, "tell": _teller(frame),
        "extractor": None if extractor is None else _model(target(extractor)), "cards": span("--cards", cards),
    }  # fmt: skip
    over = threading.Event()
    working: list[Worker] = []

    def end() -> None:
        over.set()
        for work in working:
            work.stop()

    with _signals(end):
        waited = False
        while not over.is_set():
            try:
                with frame.connect() as ds:
                    working.append(Worker(ds, graph_of(graph, found, ds), **settings))
                    if over.is_set():  # told to stop while the graph was made
                        return
                    _work(frame, ds, working[0], once=once)
                    return
            except (NoDatabase, NoTenant) as error:
                if once:
                    frame.out.note(f"nothing to do: {error.problem} yet")
                    return
                if not waited:
                    frame.out.note(f"waiting until something is written: {error.problem} yet; Ctrl-C ends it")
                waited = True
            over.wait(settings["poll"].total_seconds())


def _work(frame: Frame, ds: dalsegno.Dalsegno, work: Worker, *, once: bool) -> None:
    frame.out.note(f"worker {work.name} at {ds.store_backend.url}; Ctrl-C ends it after the step in progress")
    work.run(once=once)
    if once and (left := ds.runs.list(RunStatus.ORPHANED, limit=_COUNTED + 1)):
        many = f"more than {_COUNTED:,} runs" if len(left) > _COUNTED else counted(len(left), "run")
        due = min((run.retry_at for run in left if run.retry_at is not None), default=None)
        when = "" if due is None else f", the next attempt at {time(due)}"
        frame.out.note(f"{many} left to go on with later{when}: {frame.proposal('runs', '--status', 'orphaned')}")


def _model(found: Any) -> Any:
    """A model, or what a plain function makes."""
    return found() if inspect.isfunction(found) else found


def _teller(frame: Frame) -> Callable[[Told], None]:
    def line(said: Told) -> None:
        now = datetime.now(UTC)
        if frame.out.as_json:
            whole = {
                "at": now.isoformat(), "what": said.what, "thread_id": said.thread_id, "why": said.why,
                "attempts": said.attempts, "seconds": round(said.seconds, 3),
            }  # fmt: skip
            frame.out.write(as_json(whole, ascii_only=frame.out.ascii_only) + "\n")
        else:
            frame.out.lines(shown(" ".join(filter(None, (time(now), *_words(said)))), _STYLES.get(said.what, "")))
        sys.stdout.flush()

    return line


def _words(said: Told) -> list[str]:
    words = [said.what, said.thread_id]
    if said.what == "failed":
        words.append(f"(attempt {said.attempts}, again in {told(said.seconds)})")
    elif said.what == "put off":
        words.append(f"(no failure; again in {told(said.seconds)})")
    elif said.what == "parked":
        words.append(f"(attempt {said.attempts})")
    elif said.seconds:
        words.append(f"({told(said.seconds)})")
    return [*words, one_line(said.why)]


@contextmanager
def _signals(end: Callable[[], None]) -> Iterator[None]:
    """Meanwhile, take the signals that end a program."""
    asked: list[int] = []

    def stop(number: int, _: Any) -> None:
        if asked:
            os._exit(_SIGNALLED + number)
        asked.append(number)
        end()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
