"""`dalsegno checkpoints`: the states a thread went through, and where it forked.

Rules of this module:

* A run of checkpoints that follow one another is shown on one level, however long; only a fork indents.
* Each namespace (a subgraph's states) is a tree of its own.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text
from rich.tree import Tree

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.legible import readable
from dalsegno.cli.text import clip, one_line, shown, time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dalsegno.faces.threads import CheckpointInfo

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "checkpoints")(checkpoints)


def checkpoints(
    frame: Frame,
    *,
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    limit: Annotated[int, typer.Option(min=1, help="How many of the newest.")] = 100,
    before: Annotated[str | None, typer.Option(metavar="ID", help="Only those older than this checkpoint.")] = None,
) -> None:
    """Show the checkpoints of a thread as a tree with its forks."""
    with frame.connect(thread) as ds:
        found = ds.threads.checkpoints(thread, limit=limit, before=before)
    if frame.out.as_json:
        frame.out.document(found)
        return
    for tree in _trees(thread, found):
        frame.out.show(tree)
    if len(found) == limit:
        older = frame.proposal("checkpoints", thread, "--limit", limit, "--before", found[-1].checkpoint_id)
        frame.out.note(f"There may be older ones: {older}")


def _trees(thread: str, found: Sequence[CheckpointInfo]) -> Iterator[Tree]:
    by_namespace: dict[str, list[CheckpointInfo]] = defaultdict(list)
    for each in found:
        by_namespace[each.ns].append(each)
    for ns in sorted(by_namespace):
        title = Text.assemble(shown(thread, "bold"), shown(f" / {ns}" if ns else "", "dim"))
        yield _tree(title, by_namespace[ns])


def _tree(title: Text, found: Sequence[CheckpointInfo]) -> Tree:
    known = {each.checkpoint_id for each in found}
    children: dict[str | None, list[CheckpointInfo]] = defaultdict(list)
    for each in sorted(found, key=lambda each: each.checkpoint_id):
        children[each.parent_id if each.parent_id in known else None].append(each)
    root = Tree(title)
    todo = [(root, first) for first in reversed(children[None])]
    while todo:
        level, each = todo.pop()
        _add(level, each)
        while len(following := children[each.checkpoint_id]) == 1:
            (each,) = following
            _add(level, each)
        ways = [
            (level.add(shown(f"way {place} of {len(following)}, branch {fork.branch}", "bold magenta")), fork)
            for place, fork in enumerate(following, start=1)
        ]
        todo += reversed(ways)
    return root


def _add(level: Tree, each: CheckpointInfo) -> None:
    """The checkpoint as a line, with a line below it for each question that waits for an answer."""
    node = level.add(_line(each))
    for question in each.interrupts:
        node.add(shown(f"asks: {clip(one_line(readable(question)))}", "yellow"))


def _line(each: CheckpointInfo) -> Text:
    line = Text.assemble(
        shown(each.checkpoint_id, "cyan"),
        shown(f"  step {each.step}  {each.source}  {time(each.created_at)}", "dim"),
    )
    style = "yellow" if each.is_head else "dim"
    if each.next:
        line.append_text(shown(f"  next: {', '.join(each.next)}", style))
    if each.is_head and each.next and each.finished:
        line.append_text(shown(f"  ({each.finished} of them finished and kept)", style))
    if each.is_head:
        line.append_text(shown("  head", "bold green"))
    return line
