"""`dalsegno delete`, `reopen`, `prune` and `tag`: what takes away, opens an id again, or says something of a thread.

Rules of this module:

* What cannot be taken back is said before it is done, and done only when a person agrees or `--yes` stands there. A
  program has no one to ask: without `--yes` it is refused, and nothing is changed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.text import counted
from dalsegno.errors import Misuse

if TYPE_CHECKING:
    import dalsegno

__all__ = ["Yes", "agree", "register"]

_NO = 1

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
ThreadId = Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "delete")(delete)
    command(app, "reopen")(reopen)
    command(app, "prune")(prune)
    command(app, "tag")(tag)


def delete(frame: Frame, *, thread: ThreadId, yes: Yes = False) -> None:
    """Delete a thread: its state, its journal, all of it. Its id stays closed until it is reopened."""
    with frame.connect(thread) as ds:
        found = ds.threads.get(thread)
        sizes = f"{counted(found.events, 'event')} and {counted(found.checkpoints, 'checkpoint')}"
        agree(frame, f"Delete thread {thread!r} with its {sizes}? This cannot be undone.", yes=yes)
        ds.threads.delete(thread)
    if frame.out.as_json:
        done = {"thread_id": thread, "deleted": True, "events": found.events, "checkpoints": found.checkpoints}
        frame.out.document(done)
    else:
        frame.out.note(
            f"deleted thread {thread} with its {sizes}; its id stays closed: {frame.proposal('reopen', thread)}"
        )


def reopen(frame: Frame, *, thread: ThreadId) -> None:
    """Let the id of a deleted thread be used again. What was deleted stays deleted."""
    with frame.connect() as ds:
        closed = ds.threads.status(thread)[thread] == "deleted"
        if closed:
            ds.threads.reopen(thread)
    if frame.out.as_json:
        frame.out.document({"thread_id": thread, "reopened": closed})
    else:
        frame.out.note(f"reopened thread {thread}" if closed else f"thread {thread} is open; nothing was changed")


def prune(
    frame: Frame,
    *,
    thread: ThreadId,
    keep: Annotated[int, typer.Option(min=1, help="How many of the newest stay in each namespace.")] = 1,
    yes: Yes = False,
) -> None:
    """Drop old checkpoints of a thread. The newest and the journal stay."""
    with frame.connect(thread) as ds:
        before = _count(ds, thread)
        newest = "the newest" if keep == 1 else f"the {keep} newest"
        agree(
            frame,
            f"Drop the checkpoints of thread {thread!r} but {newest}? There are {before:,}; states that are dropped "
            "cannot be shown, resumed or forked any more.",
            yes=yes,
        )
        dropped = ds.threads.prune(thread, keep)
        left = _count(ds, thread)
    if frame.out.as_json:
        frame.out.document({"thread_id": thread, "dropped": dropped, "checkpoints": left})
    else:
        frame.out.note(
            f"dropped {counted(dropped, 'checkpoint')} of thread {thread}; {left:,} stay, and the whole journal"
        )


def tag(
    frame: Frame,
    *,
    thread: ThreadId,
    tags: Annotated[list[str], typer.Argument(metavar="TAG...", help="Words to put on it.")],
    remove: Annotated[bool, typer.Option("--remove", help="Take them off instead.")] = False,
) -> None:
    """Put tags on a thread: words to find it by, and to say how long it is kept."""
    with frame.connect(thread) as ds:
        (ds.threads.untag if remove else ds.threads.tag)(thread, *tags)
        has = ds.threads.get(thread).tags
    if frame.out.as_json:
        frame.out.document({"thread_id": thread, "tags": has})
    else:
        frame.out.note(f"thread {thread}: {', '.join(has) or 'no tags'}")


def _count(ds: dalsegno.Dalsegno, thread: str) -> int:
    return ds.threads.get(thread).checkpoints


def agree(frame: Frame, question: str, *, yes: bool) -> None:
    """Go on if `--yes` stands there or a person says so; end the command otherwise."""
    if yes:
        return
    if frame.out.as_json or not sys.stdin.isatty():
        msg = "this takes away what cannot be brought back; nothing was changed"
        raise Misuse(msg, step="say --yes to do it without being asked")
    frame.out.note(f"{question} [y/N]")
    if sys.stdin.readline().strip().casefold() not in {"y", "yes"}:
        frame.out.note("nothing was changed")
        raise typer.Exit(_NO)
