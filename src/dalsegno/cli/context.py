"""`dalsegno context`: what each model call of a thread was given."""

from __future__ import annotations

from typing import Annotated

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import plain
from dalsegno.cli.text import counted, shown, time
from dalsegno.services.manifests import ManifestRow

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "context")(context)


def context(
    frame: Frame,
    *,
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    limit: Annotated[int, typer.Option(min=1, help="How many calls at most.")] = 20,
    after: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Only calls after this one.")] = 0,
) -> None:
    """Show what each declared call was given, section by section, and what was left out and why."""
    with frame.connect(thread) as ds:
        found = ds.context.manifests(thread, limit=limit, after=after)
    if frame.out.as_json:
        frame.out.document([{**plain(row), "manifest": row.manifest.to_json()} for row in found])
        return
    for row in found:
        _show(frame, row)
    if not found:
        frame.out.note("no calls on record")
    if len(found) == limit:
        frame.out.note(
            f"There may be more: {frame.proposal('context', thread, '--after', found[-1].number, '--limit', limit)}"
        )


def _show(frame: Frame, row: ManifestRow) -> None:
    told = row.manifest
    share = f"{told.tokens:,} of {counted(told.budget_tokens, 'token')}"
    frame.out.show(shown(f"call {row.number}: {row.call.node}, step {row.call.step}, {time(row.at)}, {share}", "bold"))
    table = frame.out.table("section", "trust", "fidelity", "tokens#", "of#", "why")
    for each in told.sections:
        cells = each.name, each.trust, each.fidelity, f"{each.tokens:,}", f"{each.whole_tokens:,}", each.why
        table.add_row(*map(shown, cells))
    for name, why in told.withheld.items():
        table.add_row(*map(shown, (name, "", "withheld", "", "", why)))
    frame.out.show(table)
