"""`dalsegno runs`: where runs stand, why some were parked, and letting them be tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dalsegno.cli.frame import Frame, command, group
from dalsegno.cli.output import plain
from dalsegno.cli.text import clip, one_line, shown, time
from dalsegno.cli.waits import waits_for
from dalsegno.core.standing import RunStatus
from dalsegno.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dalsegno.services.run_rows import Run

__all__ = ["register"]

_STYLES: Final = {
    "orphaned": "yellow",
    "parked": "red",
    "running": "green",
    "unfinished": "yellow",
    "waiting": "yellow",
}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    room = typer.Typer(help="Where runs stand, and why some were parked.")
    group(room)(runs)
    command(room, "show")(show)
    command(room, "retry")(retry)
    app.add_typer(room, name="runs")


def runs(
    frame: Frame,
    *,
    status: Annotated[
        str | None,
        typer.Option(metavar="STATUS", help="Only those: running, orphaned, waiting, parked, unfinished, finished."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 50,
    after: Annotated[str | None, typer.Option(metavar="ID", help="Only those after this thread in the list.")] = None,
) -> None:
    """List runs, with where they stand and how they failed."""
    if status is not None and status not in {*RunStatus}:
        msg = f"--status {status}: a run is {', '.join(RunStatus)}"
        raise Misuse(msg)
    with frame.connect() as ds:
        found = ds.runs.list(status, limit=limit, after=after)
        waits = {run.thread_id: waits_for(ds, run) for run in found}
    if frame.out.as_json:
        frame.out.document([{**plain(run), "waits_for": waits[run.thread_id]} for run in found])
        return
    if found:
        _show(frame, found, waits)
    else:
        frame.out.note("no runs" if status is None else f"no runs that are {status}")
    if len(found) == limit:
        chosen = [] if status is None else ["--status", status]
        frame.out.note(
            f"There may be more: {frame.proposal('runs', *chosen, '--after', found[-1].thread_id, '--limit', limit)}"
        )


def show(
    frame: Frame,
    *,
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
) -> None:
    """Show one run with all that is known about it."""
    with frame.connect(thread) as ds:
        run = ds.runs.get(thread)
        _tell(frame, run, waits_for(ds, run))


def retry(
    frame: Frame,
    *,
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
) -> None:
    """Let workers go on with a parked run, with all its attempts before it."""
    with frame.connect(thread) as ds:
        ds.runs.unpark(thread)
        _tell(frame, ds.runs.get(thread), [])


def _show(frame: Frame, found: Sequence[Run], waits: Mapping[str, list[dict[str, Any]]]) -> None:
    table = frame.out.table("thread", "status", "holder", "last write", "tries#", "why")
    for run in found:
        table.add_row(
            shown(run.thread_id),
            shown(run.status, _STYLES.get(run.status, "")),
            shown(run.holder or "", "dim"),
            shown(time(run.updated_at)),
            shown(str(run.attempts or "")),
            shown(clip(one_line(_why(run, waits[run.thread_id])), 120)),
        )
    frame.out.show(table)


def _why(run: Run, waits: Sequence[Mapping[str, Any]]) -> str:
    """What is to be known of a run besides its status: what it waits for, what was answered, how it failed."""
    if waits:
        return f"waits for {'; '.join(each['for'] for each in waits)}"
    if run.note is not None:
        return run.note
    return run.error or ""


def _tell(frame: Frame, run: Run, waits: Sequence[Mapping[str, Any]]) -> None:
    if frame.out.as_json:
        frame.out.document({**plain(run), "waits_for": waits})
        return
    table = frame.out.pairs()
    for name, value in plain(run).items():
        if value is not None and value != "":
            table.add_row(shown(name, "dim"), shown(clip(str(value)), _STYLES.get(str(value), "")))
    for each in waits:
        table.add_row(shown("waits_for", "dim"), shown(clip(each["for"]), "yellow"))
    frame.out.show(table)
