"""`dalsegno audit`: whether what is on record about actions is what was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import plain
from dalsegno.cli.text import clip, counted, shown
from dalsegno.errors import Misuse

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    room = typer.Typer(help="The record of what was done: verify.", no_args_is_help=True)
    room.callback()(_audit)
    command(room, "verify")(verify)
    app.add_typer(room, name="audit")


def _audit() -> None:
    """The record of what was done: verify."""


def verify(
    frame: Frame,
    *,
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What an earlier `audit verify --json` said, kept elsewhere.")
    ] = None,
) -> None:
    """Follow every chain. Exits with 0 if all of them hold, with 1 if a row was edited, removed, added or moved."""
    kept = None if against is None else _kept(against)
    with frame.connect() as ds:
        verdict = ds.actions.verify(kept)
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


def _kept(file: Path) -> Any:
    """The heads in a verdict that was kept."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))["heads"]
    except (ValueError, KeyError, TypeError) as error:
        msg = f"{file} is no verdict: {type(error).__name__}: {error}; keep what `dalsegno audit verify --json` writes"
        raise Misuse(msg) from error
