"""`dalsegno check`: read everything again, and say what contradicts itself."""

from __future__ import annotations

from typing import Annotated

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import plain
from dalsegno.cli.text import clip, counted, shown

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "check")(check)


def check(
    frame: Frame,
    *,
    thread: Annotated[str | None, typer.Argument(metavar="THREAD", help="A thread; all of them if not given.")] = None,
) -> None:
    """Re-read every item, range, hash and event. Exits with 0 if all is well, with 1 if something was found."""
    with frame.connect(thread or "") as ds, frame.out.progress("checking") as report:
        verdict = ds.threads.check(thread, progress=report)
    if frame.out.as_json:
        frame.out.document({**plain(verdict), "clean": verdict.clean})
    elif verdict.findings:
        table = frame.out.table("thread", "finding", "place", "expected", "found")
        for finding in verdict.findings:
            cells = finding.thread_id, finding.kind, finding.place, finding.expected, finding.found
            table.add_row(*(shown(clip(str(cell))) for cell in cells))
        frame.out.show(table)
        frame.out.note(
            f"{counted(len(verdict.findings), 'finding')}: stop writing to this database and restore from a copy."
        )
    else:
        counts = {key: count for key, count in plain(verdict).items() if key != "findings"}
        read = ", ".join(f"{count:,} {key.removesuffix('s') if count == 1 else key}" for key, count in counts.items())
        frame.out.show(shown(f"clean: {read} agree with each other", "green"))
    if verdict.findings:
        raise typer.Exit(1)
