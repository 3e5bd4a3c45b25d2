"""`dalsegno card`: where a conversation stands, for whoever takes it over."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.text import clip, shown, time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.table import Table

    from dalsegno.cli.output import Output
    from dalsegno.core.card.entries import Card, Entry
    from dalsegno.core.journal import Event

__all__ = ["card_table", "register"]

_SECTIONS: Final = (
    ("goal", "goal"),
    ("decisions", "decided"),
    ("constraints", "constraint"),
    ("pending", "open"),
    ("actions", "action"),
    ("elsewhere", "elsewhere"),
    ("artifacts", "file"),
    ("facts", "value"),
    ("proposals", "suggested"),
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "card")(card)


def card(
    frame: Frame,
    *,
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    evidence: Annotated[bool, typer.Option("--evidence", help="Quote the original words under each entry.")] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Show what was replaced, withdrawn or edited too.")
    ] = False,
) -> None:
    """Show the handover card of a thread: goal, decisions, open matters, actions, files, values, constraints."""
    with frame.connect(thread) as ds:
        found = ds.handover.card(thread)
        entries = [entry for _, _, entry in _entries(found, history=history)]
        numbers = sorted({one.number for entry in entries for one in entry.evidence if one.number})
        quoted = {event.seq: event for event in ds.handover.quotes(thread, numbers)} if evidence and numbers else {}
    if frame.out.as_json:
        document: dict[str, Any] = {"thread_id": thread, **found.to_json()}
        if evidence:
            document["quotes"] = {event.coordinate: event.text for event in quoted.values()}
        frame.out.document(document)
        return
    if not entries:
        frame.out.note("nothing was asked or decided yet")
        return
    frame.out.show(card_table(frame.out, found, quoted, history=history))
    frame.out.note(f"Card version {found.version}, up to #{found.last_event_id}.")


def _entries(found: Card, *, history: bool) -> Iterable[tuple[str, str, Entry]]:
    """The entries of a card, each with its section and what that is called."""
    for section, name in _SECTIONS:
        value = getattr(found, section)
        for entry in value if isinstance(value, tuple) else (value,) if value is not None else ():
            yield section, name, entry
    for entry in found.history if history else ():
        yield "history", "once", entry


def card_table(out: Output, found: Card, quoted: Mapping[int, Event] = MappingProxyType({}), *, history: bool) -> Table:
    """A card for a person, with the original words of the events given."""
    table = out.table("what", "entry", "where")
    for section, name, entry in _entries(found, history=history):
        text = shown(_worded(entry))
        for one in entry.evidence:
            if one.number in quoted:
                quote = clip(quoted[one.number].text)
                text = Text("\n").join((text, Text(f"  {one.coordinate}: ").append_text(shown(quote, "dim"))))
        style = "dim" if section in ("history", "proposals") else ""
        table.add_row(shown(name, style), text, shown(", ".join(entry.coordinates), "dim"))
    return table


def _worded(entry: Entry) -> str:
    text = f"{entry.subject}: {entry.text}" if entry.subject and entry.subject not in entry.text else entry.text
    notes = [
        *([entry.status] if entry.status and entry.status != "open" else []),
        *([time(entry.at)] if entry.at is not None else []),
        *([entry.owner] if entry.owner else []),
        *([f"due {entry.due}"] if entry.due else []),
        *([f"by {entry.superseded_by}"] if entry.superseded_by else []),
        *(["stale"] if entry.stale else []),
    ]
    return f"{text} [{'; '.join(notes)}]" if notes else text
