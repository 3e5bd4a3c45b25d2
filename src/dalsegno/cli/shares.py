"""`dalsegno share`, `unshare`, `shares`: who else may read a thread, or write to it."""

from __future__ import annotations

from typing import Annotated

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import plain
from dalsegno.cli.text import shown, time

__all__ = ["register"]

ThreadId = Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")]
Member = Annotated[str, typer.Argument(metavar="NAME", help="The user it is shared with.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "share")(share)
    command(app, "unshare")(unshare)
    command(app, "shares")(shares)


def share(
    frame: Frame,
    *,
    thread: ThreadId,
    name: Member,
    role: Annotated[str, typer.Option(metavar="ROLE", help="`reader` or `writer`.")] = "reader",
) -> None:
    """Let another user read a thread, or write to it."""
    with frame.connect(thread) as ds:
        ds.threads.share(thread, name, role)
    if frame.out.as_json:
        frame.out.document({"thread_id": thread, "user": name, "role": role})
    else:
        frame.out.note(f"shared thread {thread} with {name} as {role}; {frame.proposal('unshare', thread, name)}")


def unshare(frame: Frame, *, thread: ThreadId, name: Member) -> None:
    """Take a user's share of a thread back."""
    with frame.connect(thread) as ds:
        had = any(each.user == name for each in ds.threads.shares(thread))
        ds.threads.unshare(thread, name)
    if frame.out.as_json:
        frame.out.document({"thread_id": thread, "user": name, "unshared": had})
    else:
        frame.out.note(f"took back {name}'s share of thread {thread}" if had else f"{name} has no share of it")


def shares(frame: Frame, *, thread: ThreadId) -> None:
    """List with whom a thread is shared."""
    with frame.connect(thread) as ds:
        found = ds.threads.shares(thread)
    if frame.out.as_json:
        frame.out.document([plain(each) for each in found])
        return
    if not found:
        frame.out.note("shared with nobody")
        return
    table = frame.out.table("user", "role", "granted by", "since")
    for each in found:
        table.add_row(shown(each.user), shown(each.role), shown(each.granted_by or "", "dim"), shown(time(each.at)))
    frame.out.show(table)
