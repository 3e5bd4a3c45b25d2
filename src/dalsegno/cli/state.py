"""`dalsegno state`: what a checkpoint holds.

The state is shown as it is stored, as JSON trees: a program's own types need not be known here, and none is built.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.text import clip, shown
from dalsegno.core.items import is_message
from dalsegno.core.messages import author_of, text_of

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


def readable(value: Any) -> str:
    """A JSON tree as a person reads it: a message as `user: text`, anything else as JSON."""
    if is_message(value) and isinstance(value["$m"], str):
        return f"{author_of(role=value['$m'], name=value.get('name'))}: {text_of(value)}"
    return json.dumps(value, ensure_ascii=False)
