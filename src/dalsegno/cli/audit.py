"""`dalsegno audit`: whether what is on record about actions is what was written."""

from __future__ import annotations

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import plain
from dalsegno.cli.text import clip, counted, shown

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    room = typer.Typer(help="The record of what was done: verify.", no_args_is_help=True)
    room.callback()(_audit)
    command(room, "verify")(verify)
    app.add_typer(room, name="audit")


def _audit() -> None:
    """The record of what was done: verify."""


def verify(frame: Frame) -> None:
    """Follow every chain. Exits with 0 if all of them hold, with 1 if a row was edited, removed, added or moved."""
    with frame.connect() as ds:
        verdict = ds.actions.verify()
    if frame.out.as_json:
        frame.out.document({**plain(verdict), "sound": verdict.sound})
    elif verdict.breaks:
        table = frame.out.table("thread#", "row#", "break", "expected", "found")
        for each in verdict.breaks:
            cells = each.thread, each.seq, each.kind, each.expected, each.found
            table.add_row(*(shown(clip(str(cell))) for cell in cells))
        frame.out.show(table)
        frame.out.note(f"{counted(len(verdict.breaks), 'break')}: someone has changed what was on record.")
    else:
        erased = f", {counted(verdict.erased, 'text')} erased" if verdict.erased else ""
        rows, chains = counted(verdict.rows, "row"), counted(verdict.chains, "chain")
        frame.out.show(shown(f"sound: {rows} in {chains}{erased}", "green"))
    if verdict.breaks:
        raise typer.Exit(1)
