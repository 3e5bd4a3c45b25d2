"""`dalsegno threads`: which conversations and runs there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.cells import cell_len

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import plain
from dalsegno.cli.text import counted, shown, time
from dalsegno.core.rights import GRANTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.table import Table
    from rich.text import Text

    from dalsegno.cli.output import Output
    from dalsegno.faces.threads import Status
    from dalsegno.services.inspect import Thread

__all__ = ["register"]

_WIDE: Final = 120
_FOLDED: Final = {"owner": 10, "created": 10, "last change": 10, "status": 11}
"""Columns that may fold, and what they need then."""

_STYLES: Final = {
    "interrupted": "yellow",
    "failed": "red",
    "unfinished": "yellow",
    "running": "green",
    "deleted": "red",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "threads")(threads)


def threads(
    frame: Frame,
    *,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 50,
    after: Annotated[str | None, typer.Option(metavar="ID", help="Only those after this thread in the list.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="With the tombstones of deleted threads.")] = False,
    tag: Annotated[str | None, typer.Option(metavar="TAG", help="Only those with this tag.")] = None,
    shared: Annotated[bool, typer.Option("--shared", help="With those of others that are shared with --user.")] = False,
) -> None:
    """List threads, with where they stand, their owners and sizes."""
    with frame.connect() as ds:
        found = ds.threads.list(limit=limit, after=after, deleted=deleted, tag=tag, shared=shared)
        status = ds.threads.status(*(thread.thread_id for thread in found))
    if frame.out.as_json:
        frame.out.document([{**plain(thread), "status": status[thread.thread_id]} for thread in found])
        return
    if found:
        table = _table(frame.out, found, status)
        if table is None:
            frame.out.lines(*_lines(found, status))
        else:
            frame.out.show(table)
    else:
        frame.out.note("no threads")
    if len(found) == limit:
        words = ["threads", "--after", found[-1].thread_id, "--limit", limit, *(["--deleted"] if deleted else [])]
        words += ["--tag", tag] if tag is not None else []
        words += ["--shared"] if shared else []
        frame.out.note(f"There may be more: {frame.proposal(*words)}")


def _table(out: Output, found: Sequence[Thread], status: Mapping[str, Status]) -> Table | None:
    """The threads as a table in which no id wraps; None where there is no room for one."""
    columns: dict[str, list[Text]] = {
        "thread": [shown(thread.thread_id) for thread in found],
        "owner": [shown(_owner(thread), "dim") for thread in found],
        "created": [shown(time(thread.created_at)) for thread in found],
        "last change": [shown(time(thread.updated_at)) for thread in found],
        "events#": [shown(f"{thread.events:,}") for thread in found],
        "checkpoints#": [shown(f"{thread.checkpoints:,}") for thread in found],
        "status": [_status(thread, status) for thread in found],
    }
    left_out = {"owner"} if not any(_owner(thread) for thread in found) else set()
    left_out |= {"created"} if out.width < _WIDE else set()
    columns = {name: cells for name, cells in columns.items() if name not in left_out}
    table = out.table(*columns)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    for column, name in zip(table.columns, columns, strict=True):
        column.no_wrap = name not in _FOLDED
    needed = sum(
        _FOLDED.get(name, max(cell_len(name), *(cell.cell_len for cell in cells))) for name, cells in columns.items()
    )
    return table if needed + 3 * len(columns) + 1 <= out.width else None


def _lines(found: Sequence[Thread], status: Mapping[str, Status]) -> Iterator[Text]:
    """The threads as lines, an id on a line of its own."""
    for thread in found:
        yield shown(thread.thread_id)
        facts = time(thread.updated_at), counted(thread.events, "event"), counted(thread.checkpoints, "checkpoint")
        more = [each for each in (_owner(thread), _status(thread, status).plain) if each]
        yield shown("  " + "  ".join([*facts, *more]), "dim")


def _owner(thread: Thread) -> str:
    """Whose it is, and as whom one sees it that is another's."""
    return f"{thread.owner or 'nobody'} ({thread.role})" if thread.role in GRANTED else thread.owner or ""


def _status(thread: Thread, status: Mapping[str, Status]) -> Text:
    word = status[thread.thread_id]
    return shown(f"{word}: {thread.leased_to}" if thread.leased_to else word, _STYLES.get(word, ""))
