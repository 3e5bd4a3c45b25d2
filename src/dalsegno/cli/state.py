"""`dalsegno state`: what a checkpoint holds.

The state is shown as it is stored, as JSON trees: a program's own types need not be known here, and none is built.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.text import clip, shown
from dalsegno.core.items import is_message
from dalsegno.core.messages import author_of, text_of

if TYPE_CHECKING:
    from rich.text import Text

    import dalsegno

__all__ = ["readable", "register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "state")(state)


def state(
    frame: Frame,
    *,
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    checkpoint: Annotated[str | None, typer.Option(metavar="ID", help="A checkpoint; the newest if not given.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Do not cut long values.")] = False,
) -> None:
    """Show the state of a thread, channel by channel."""
    with frame.connect() as ds:
        tree = ds.threads.tree(thread, checkpoint_id=checkpoint)
        waiting = _waiting(ds, thread, checkpoint)
    if frame.out.as_json:
        frame.out.document(tree)
        return
    for channel, value in tree.items():
        elements = value if isinstance(value, list) else None
        frame.out.show(shown(channel if elements is None else f"{channel} ({len(elements)})", "bold"))
        table = frame.out.pairs()
        for place, element in enumerate([value] if elements is None else elements):
            text = element if isinstance(element, str) else readable(element)
            lead = "" if elements is None else f"[{place}]"
            table.add_row(shown(f"  {lead}", "dim"), shown(text if full else clip(text)))
        frame.out.show(table)
    frame.out.show(*waiting)


def _waiting(ds: dalsegno.Dalsegno, thread: str, checkpoint: str | None) -> list[Text]:
    """What a checkpoint waits for: the nodes that are still to run, and the questions they asked; often nothing."""
    infos = ds.threads.checkpoints(thread, limit=1 if checkpoint is None else None, ns="")
    lines = []
    for info in (each for each in infos if checkpoint in {None, each.checkpoint_id}):
        if info.next:
            kept = f" ({info.finished} of them finished and kept)" if info.finished else ""
            lines.append(shown(f"next: {', '.join(info.next)}{kept}", "yellow"))
        lines += [shown(f"asks: {readable(question)}", "bold yellow") for question in info.interrupts]
    return lines


def readable(value: Any) -> str:
    """A JSON tree as a person reads it: a message as `user: text`, anything else as JSON."""
    if is_message(value) and isinstance(value["$m"], str):
        return f"{author_of(role=value['$m'], name=value.get('name'))}: {text_of(value)}"
    return json.dumps(value, ensure_ascii=False)
