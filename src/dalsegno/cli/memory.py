"""`dalsegno memory`: what is remembered beyond the session, whose words it rests on, and forgetting it.

Rules of this module:

* `list` shows the facts of a tenant with whose they are; with `--user`, those of one user. `search` shows what would be
  recalled, by words alone: the command line has no embedder.
* Nothing is written but what `forget` deletes; facts are written by programs, through the gate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import as_json, plain
from dalsegno.cli.text import block, clip, shown, time
from dalsegno.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dalsegno.core.memories import Memory

__all__ = ["register"]

_SHORT: Final = 12

Id = Annotated[str, typer.Argument(metavar="MEMORY", help="The memory's id, or enough of its beginning.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    room = typer.Typer(help="Facts beyond the session: list, search, show, forget.", no_args_is_help=True)
    command(room, "list")(list_memories)
    command(room, "search")(search)
    command(room, "show")(show)
    command(room, "forget")(forget)
    app.add_typer(room, name="memory")


def list_memories(frame: Frame, *, limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 50) -> None:
    """List facts, the first written first, those that hold no more included."""
    with frame.connect() as ds:
        found = ds.memory.list(limit)
    _tell(frame, found)


def search(
    frame: Frame,
    *,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words to look for, in any language.")],
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 10,
) -> None:
    """Find facts that hold now by their words, best first: the tenant's own, and with --user that user's."""
    with frame.connect() as ds:
        found = ds.memory.recall(text, limit=limit)
    _tell(frame, found)


def show(frame: Frame, *, memory: Id) -> None:
    """Show one fact with all that is known about it."""
    with frame.connect() as ds:
        found = ds.memory.get(_whole(ds.memory.list(), memory))
    if frame.out.as_json:
        frame.out.document(plain(found))
        return
    table = frame.out.pairs()
    for name, value in plain(found).items():
        if value not in (None, "", []):
            table.add_row(shown(name, "dim"), block(clip(value if isinstance(value, str) else as_json(value))))
    frame.out.show(table)


def forget(
    frame: Frame,
    *,
    memory: Annotated[str | None, typer.Argument(metavar="MEMORY", help="The memory's id.")] = None,
    subject: Annotated[str | None, typer.Option(metavar="NAME", help="Instead: everything about this subject.")] = None,
    attribute: Annotated[str | None, typer.Option(metavar="NAME", help="Only this property of it.")] = None,
) -> None:
    """Delete a fact, or all about a subject, past ones included."""
    with frame.connect() as ds:
        named = None if memory is None else _whole(ds.memory.list(), memory)
        gone = ds.memory.forget(named, subject=subject, attribute=attribute)
    if frame.out.as_json:
        frame.out.document({"forgotten": gone})
        return
    frame.out.note(f"{gone} forgotten")


def _whole(memories: Sequence[Memory], beginning: str) -> str:
    """The id that begins like this; as it is when none does, or when it names a memory of the whole tenant."""
    found = [each.id for each in memories if each.id.startswith(beginning)]
    if len(found) > 1:
        msg = f"{len(found)} memories begin with {beginning!r}; give more of the id"
        raise Misuse(msg)
    return found[0] if found else beginning


def _tell(frame: Frame, memories: Sequence[Memory]) -> None:
    if frame.out.as_json:
        frame.out.document([plain(each) for each in memories])
        return
    if not memories:
        frame.out.note("no memories")
        return
    table = frame.out.table("memory", "user", "subject", "attribute", "value", "since", "until", "evidence")
    for each in memories:
        table.add_row(
            shown(each.id[:_SHORT]),
            shown(each.user or ""),
            shown(clip(each.subject, 24)),
            shown(clip(each.attribute, 24)),
            shown(clip(each.text, 60)),
            shown(time(each.valid_from)),
            shown("" if each.valid_to is None else time(each.valid_to)),
            shown(clip(", ".join(f"{one.thread_id} {one.coordinate}" for one in each.evidence) or each.source, 40)),
        )
    frame.out.show(table)
