"""`dalsegno threads`: which conversations and runs there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.text import shown, time

if TYPE_CHECKING:
    from rich.text import Text

    from dalsegno.services.inspect import Thread

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "threads")(threads)


def threads(
    frame: Frame,
    *,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 50,
    after: Annotated[str | None, typer.Option(metavar="ID", help="Only those after this thread in the list.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="With the tombstones of deleted threads.")] = False,
) -> None:
    """List threads, with their owners and sizes."""
    with frame.connect() as ds:
        found = ds.threads.list(limit=limit, after=after, deleted=deleted)
    if frame.out.as_json:
        frame.out.document(found)
        return
    table = frame.out.table("thread", "owner", "created", "last change", "events#", "checkpoints#", "")
    for thread in found:
        table.add_row(
            shown(thread.thread_id),
            shown(thread.owner or "", "dim"),
            shown(time(thread.created_at)),
            shown(time(thread.updated_at)),
            shown(f"{thread.events:,}"),
            shown(f"{thread.checkpoints:,}"),
            _mark(thread),
        )
    frame.out.show(table)
    if len(found) == limit:
        frame.out.note(f"There may be more: dalsegno threads --after {found[-1].thread_id}")


def _mark(thread: Thread) -> Text:
    if thread.deleted:
        return shown("deleted", "red")
    return shown(f"run by {thread.leased_to}" if thread.leased_to else "", "yellow")
