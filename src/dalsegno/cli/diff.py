"""`dalsegno diff`: what differs between two states."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from dalsegno.cli.difference import Change, difference
from dalsegno.cli.frame import Frame, command
from dalsegno.cli.legible import readable, without_notes
from dalsegno.cli.text import block, clip, counted, shown
from dalsegno.cli.whereabouts import tree_at
from dalsegno.errors import Missing

if TYPE_CHECKING:
    import dalsegno

__all__ = ["register"]

_SIDE = "A thread, or THREAD@CHECKPOINT; with --thread, a checkpoint of that thread."


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "diff")(diff)


def diff(
    frame: Frame,
    *,
    a: Annotated[str, typer.Argument(metavar="A", help=_SIDE)],
    b: Annotated[str, typer.Argument(metavar="B", help=_SIDE)],
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", help="Compare two checkpoints of this thread.")
    ] = None,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if they differ.")] = False,
    ids: Annotated[bool, typer.Option("--ids", help="Show messages that differ only in their ids.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Do not cut long values.")] = False,
) -> None:
    """Show what was added, removed and changed between two states, path by path."""
    with frame.connect(a, b, thread or "") as ds:
        before, after = _tree(ds, a, thread), _tree(ds, b, thread)
    changes = list(difference(before, after))
    if frame.out.as_json:
        told = [replace(each, before=without_notes(each.before), after=without_notes(each.after)) for each in changes]
        frame.out.document({"a": a, "b": b, "thread_id": thread, "changes": told})
    else:
        told = [change for change in changes if ids or change.kind != "id"]
        for change in told:
            frame.out.show(_lines(change, full=full))
        frame.out.note(counted(len(told), "difference") if told else "no difference")
        if len(told) < len(changes):
            others = counted(len(changes) - len(told), "message has another id", "messages have other ids")
            frame.out.note(f"{others} (--ids shows them)")
    if changes and exit_code:
        raise typer.Exit(1)


def _tree(ds: dalsegno.Dalsegno, side: str, thread: str | None) -> dict[str, Any]:
    """The state that a side names. An `@` may also stand in a thread's id, so the whole is tried first."""
    if thread is not None:
        return tree_at(ds, thread, side)
    try:
        return ds.threads.tree(side)
    except Missing:
        name, at, checkpoint = side.rpartition("@")
        if not at:
            raise
        return tree_at(ds, name, checkpoint)


def _lines(change: Change, *, full: bool) -> Table:
    """A change as one or two lines; what follows a line break or a wrapped line is indented below the sign."""
    table = Table.grid()
    path = shown(change.path, "bold")
    if change.kind != "added":
        table.add_row(shown("- ", "red"), path + block(f": {_short(change.before, full=full)}", "red"))
    if change.kind != "removed":
        table.add_row(shown("+ ", "green"), path + block(f": {_short(change.after, full=full)}", "green"))
    return table


def _short(value: Any, *, full: bool) -> str:
    text = readable(value)
    return text if full else clip(text)
