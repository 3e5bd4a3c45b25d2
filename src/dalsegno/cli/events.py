"""`dalsegno show` and `dalsegno search`: what was said and done in a thread, by coordinate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.text import block, clip, shown, time
from dalsegno.cli.whereabouts import events_at
from dalsegno.core import codec
from dalsegno.core.journal import Undecoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from dalsegno.cli.output import Output
    from dalsegno.core.journal import Event

__all__ = ["fields_of", "register"]

_WIDE: Final = 110
_STYLES: Final = {"user": "cyan", "assistant": "green", "tool": "yellow", "system": "magenta"}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "show")(show)
    command(app, "search")(search)


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
    with frame.connect(thread) as ds:
        page = events_at(ds, thread, after=after, limit=limit + 1, checkpoint=checkpoint)
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
    if events:
        frame.out.show(_table(frame.out, events, full=full))
    else:
        frame.out.note("no events" if not after else f"no events after #{after}")
    if more:
        words: list[object] = ["show", thread, "--after", events[-1].seq, "--limit", limit]
        words += [] if checkpoint is None else ["--checkpoint", checkpoint]
        words += ["--full"] if full else []
        frame.out.note(f"There is more: {frame.proposal(*words)}")


def search(
    frame: Frame,
    *,
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words, in Chinese, English or both.")],
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 10,
    full: Annotated[bool, typer.Option("--full", help="Do not cut long texts.")] = False,
) -> None:
    """Find events of a thread by their text, the best first."""
    with frame.connect(thread) as ds:
        found = ds.journal.search(thread, text, limit=limit)
    if frame.out.as_json:
        frame.out.document({"thread_id": thread, "text": text, "events": [fields_of(event) for event in found]})
    elif found:
        frame.out.show(_table(frame.out, found, full=full))
    else:
        frame.out.note("nothing found")


def _table(out: Output, events: Sequence[Event], *, full: bool) -> Table:
    """The events as a table; where there is little room, all but the text stands in one column."""
    narrow = out.width < _WIDE
    table = out.table("event", "text") if narrow else out.table("event", "time", "kind", "text")
    for event in events:
        text = block(event.text if full else clip(event.text))
        facts = (
            shown(event.coordinate, _STYLES.get(event.author, "blue")),
            shown(time(event.at), "dim"),
            shown(str(event.kind), "dim"),
        )
        if narrow:
            table.add_row(Text("\n").join(facts), text, end_section=True)
        else:
            table.add_row(*facts, text)
    for column in table.columns[:-1]:
        column.no_wrap = True
    return table


def fields_of(event: Event) -> dict[str, Any]:
    """An event as JSON knows it; the payload as the tree that is stored, also of a class that is not known here."""
    payload = event.payload
    return {
        "seq": event.seq,
        "author": event.author,
        "coordinate": event.coordinate,
        "kind": str(event.kind),
        "text": event.text,
        "at": event.at.isoformat(),
        "checkpoint_id": event.checkpoint_id,
        "branch": event.branch,
        "payload": payload.tree if isinstance(payload, Undecoded) else codec.encode(payload),
    }
