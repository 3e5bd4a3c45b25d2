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
    from collections.abc import Iterator

    from rich.text import Text

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
        frame.out.show(*_lines(channel, value, full=full))


def _lines(channel: str, value: Any, *, full: bool) -> Iterator[Text]:
    """A channel's name, and its value: one line for each element of a list, the whole as JSON otherwise."""
    if not isinstance(value, list):
        yield shown(channel, "bold")
        yield _value("  ", value, full=full)
        return
    yield shown(f"{channel} ({len(value)})", "bold")
    for place, element in enumerate(value):
        yield _value(f"  [{place}] ", element, full=full)


def _value(lead: str, value: Any, *, full: bool) -> Text:
    text = value if isinstance(value, str) else readable(value)
    return shown(lead, "dim").append_text(shown(text if full else clip(text)))


def readable(value: Any) -> str:
    """A JSON tree as a person reads it: a message as `user: text`, anything else as JSON."""
    if is_message(value) and isinstance(value["$m"], str):
        return f"{author_of(role=value['$m'], name=value.get('name'))}: {text_of(value)}"
    return json.dumps(value, ensure_ascii=False)
