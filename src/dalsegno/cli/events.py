"""`dalsegno show`: what was said and done in a thread, by coordinate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.text import clip, shown, time
from dalsegno.core import codec

if TYPE_CHECKING:
    from dalsegno.core.journal import Event

__all__ = ["fields_of", "register"]

_STYLES = {"user": "cyan", "assistant": "green", "tool": "yellow", "system": "magenta"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "show")(show)


def show(
    frame: Frame,
    *,
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    after: Annotated[int, typer.Option(min=0, help="Only events after this number.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 50,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="ID", help="The events that led to this checkpoint; the newest if not given.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Do not cut long texts.")] = False,
) -> None:
    """Show the events of a thread, oldest first, with coordinate, time and text."""
    with frame.connect() as ds:
        page = ds.journal.read(thread, after=after, limit=limit + 1, checkpoint_id=checkpoint)
    events, more = page[:limit], len(page) > limit
    if frame.out.as_json:
        frame.out.document(
            {
                "thread_id": thread,
                "events": [fields_of(event) for event in events],
                "next_after": events[-1].seq if more else None,
            }
        )
        return
    table = frame.out.table("event", "time", "kind", "text")
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for event in events:
        text = event.text if full else clip(event.text)
        table.add_row(
            shown(event.coordinate, _STYLES.get(event.author, "blue")),
            shown(time(event.at), "dim"),
            shown(str(event.kind)),
            shown(text),
        )
    frame.out.show(table)
    if more:
        frame.out.note(f"There is more: dalsegno show {thread} --after {events[-1].seq}")


def fields_of(event: Event) -> dict[str, Any]:
    """An event as JSON knows it; the payload as the tree that is stored."""
    return {
        "seq": event.seq,
        "author": event.author,
        "coordinate": event.coordinate,
        "kind": str(event.kind),
        "text": event.text,
        "at": event.at.isoformat(),
        "checkpoint_id": event.checkpoint_id,
        "branch": event.branch,
        "payload": codec.encode(event.payload),
    }
