"""`dalsegno doctor`: what is wrong with how a thread is used, and what to do about it."""

from __future__ import annotations

from typing import Annotated

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import plain
from dalsegno.cli.text import clip, counted, shown

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "doctor")(doctor)


def doctor(
    frame: Frame,
    *,
    thread: Annotated[str, typer.Option("--thread", metavar="ID", help="The thread.")],
) -> None:
    """Look at a live thread for what goes wrong in use. Exits with 0 if nothing was found, with 1 if something was."""
    with frame.connect(thread) as ds:
        found = ds.threads.doctor(thread)
    if frame.out.as_json:
        frame.out.document({**plain(found), "healthy": found.healthy})
    else:
        for each in found.findings:
            frame.out.lines(shown(f"{each.rule}: ", "bold yellow") + shown(clip(each.what, 2000)))
            for line in each.evidence:
                frame.out.lines(shown(f"  · {clip(line, 400)}", "dim"))
            frame.out.lines(shown(f"  → {clip(each.step, 2000)}"))
        read = ", ".join(
            counted(count, noun)
            for count, noun in ((found.checkpoints, "checkpoint"), (found.events, "event"), (found.actions, "action"))
        )
        if found.healthy:
            frame.out.lines(shown(f"healthy: nothing found in {read}", "green"))
        else:
            frame.out.note(f"{counted(len(found.findings), 'finding')} in {read}")
    if found.findings:
        raise typer.Exit(1)
