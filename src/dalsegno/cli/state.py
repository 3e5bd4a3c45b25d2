"""`dalsegno state`: what a checkpoint holds.

The state is shown as it is stored, as JSON trees: a program's own types need not be known here, and none is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.legible import readable
from dalsegno.cli.text import block, clip, shown
from dalsegno.cli.whereabouts import namespace_of, tree_at

if TYPE_CHECKING:
    from rich.text import Text

    import dalsegno

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "state")(state)


def state(
    frame: Frame,
    *,
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    checkpoint: Annotated[str | None, typer.Option(metavar="ID", help="A checkpoint; the newest if not given.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Do not cut long values.")] = False,
    references: Annotated[
        bool, typer.Option("--references", help="Show blob://… instead of texts of 32 KB and more.")
    ] = False,
) -> None:
    """Show the state of a thread, channel by channel."""
    with frame.connect(thread) as ds:
        tree = tree_at(ds, thread, checkpoint, references=references)
        waiting = _waiting(ds, thread, checkpoint)
    if frame.out.as_json:
        frame.out.document(tree)
        return
    for channel, value in sorted(tree.items(), key=lambda item: (_is_inner(item[0]), item[0])):
        elements = value if isinstance(value, list) else None
        frame.out.show(shown(channel if elements is None else f"{channel} ({len(elements)})", "bold"))
        table = frame.out.pairs()
        for place, element in enumerate([value] if elements is None else elements):
            text = element if isinstance(element, str) and element.strip() else readable(element)
            lead = "" if elements is None else f"[{place}]"
            table.add_row(shown(f"  {lead}", "dim"), block(text if full else clip(text)))
        frame.out.show(table)
    frame.out.show(*waiting)


def _is_inner(channel: str) -> bool:
    """Whether a channel is LangGraph's own; those come last."""
    return channel.startswith(("__", "branch:", "join:"))


def _waiting(ds: dalsegno.Dalsegno, thread: str, checkpoint: str | None) -> list[Text]:
    """What a checkpoint waits for: the nodes that are still to run, and the questions they asked; often nothing."""
    ns = "" if checkpoint is None else namespace_of(ds, thread, checkpoint)
    infos = ds.threads.checkpoints(thread, limit=1 if checkpoint is None else None, ns=ns)
    lines = []
    for info in (each for each in infos if checkpoint in {None, each.checkpoint_id}):
        if info.next:
            kept = f" ({info.finished} of them finished and kept)" if info.finished else ""
            lines.append(shown(f"next: {', '.join(info.next)}{kept}", "yellow"))
        lines += [block(f"asks: {readable(question)}", "bold yellow") for question in info.interrupts]
    return lines
