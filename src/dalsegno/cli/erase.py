"""`dalsegno erase`: every trace of a thread, or of a user's threads, gone.

Rules of this module:

* What goes is counted and said before it is done, and done only when a person agrees or `--yes` stands there.
* A user is erased only when the command line names one: `DALSEGNO_USER` alone is no order to erase.
* That it is done is said only when the database was rewritten, too.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import plain
from dalsegno.cli.text import counted, shown, size
from dalsegno.cli.upkeep import Yes, agree
from dalsegno.errors import Misuse

if TYPE_CHECKING:
    import dalsegno
    from dalsegno.faces.erasure import ErasureReport

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "erase")(erase)


def erase(
    frame: Frame,
    *,
    thread: Annotated[str | None, typer.Option(metavar="ID", help="This thread, also a deleted one.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Although a run holds it or an action is running.")] = False,
    rewrite: Annotated[
        bool | None,
        typer.Option("--rewrite/--no-rewrite", help="Rewrite the database afterwards; alone: finish what was begun."),
    ] = None,
    yes: Yes = False,
) -> None:
    """Erase every trace of a thread (--thread), or of all threads of a user (--user)."""
    of_user = thread is None and "--user" in frame.named
    if thread is None and not of_user and not rewrite:
        msg = "nothing to erase is named"
        raise Misuse(msg, step="say --thread ID, or --user NAME for all threads of a user")
    with frame.connect() as ds:
        if thread is None and not of_user:
            _finish(frame, ds)
            return
        found = _done(frame, ds, thread, dry_run=True, force=force, rewrite=False)
        if not dry_run and (found.threads or found.memories or found.answers):
            whole = counted(len(found.threads), "thread")
            sizes = f"{sum(sum(each.rows.values()) for each in found.threads):,} rows, {size(found.size_bytes)}"
            sizes += "".join(
                f", {counted(number, what)}"
                for number, what in ((found.memories, "memory"), (found.answers, "cached answer"))
                if number
            )
            what = f"thread {thread!r}" if thread is not None else f"{whole} of user {frame.user!r}"
            agree(frame, f"Erase {what} with {sizes}, and what the audit says of it? Nobody can undo this.", yes=yes)
            found = _done(frame, ds, thread, dry_run=False, force=force, rewrite=rewrite is not False)
    _tell(frame, found)


def _done(
    frame: Frame, ds: dalsegno.Dalsegno, thread: str | None, *, dry_run: bool, force: bool, rewrite: bool
) -> ErasureReport:
    if thread is not None:
        return ds.erasure.thread(thread, dry_run=dry_run, force=force, rewrite=rewrite)
    with frame.out.progress("erasing") as report:
        return ds.erasure.user(dry_run=dry_run, force=force, rewrite=rewrite, progress=report)


def _finish(frame: Frame, ds: dalsegno.Dalsegno) -> None:
    done = ds.erasure.rewrite()
    if frame.out.as_json:
        frame.out.document({"threads": [], "dry_run": False, "rewritten": done})
    else:
        frame.out.note("rewrote the database" if done else "every erasure is finished; nothing was done")


def _tell(frame: Frame, found: ErasureReport) -> None:
    if frame.out.as_json:
        frame.out.document({**plain(found), "size_bytes": found.size_bytes})
        return
    if not found.threads and not found.memories and not found.answers:
        frame.out.note("no threads")
        return
    table = frame.out.table("thread", "rows#", "bytes#", "not settled")
    for each in found.threads:
        unsettled = ", ".join(f"{number} {state}" for state, number in each.unsettled.items())
        rows = "erased before" if each.already else f"{sum(each.rows.values()):,}"
        table.add_row(shown(each.thread_id), shown(rows), shown(size(each.size_bytes)), shown(unsettled, "yellow"))
    frame.out.show(table)
    by_table = Counter[str]()
    for each in found.threads:
        by_table.update(each.rows)
    by_table.update({"ds_memories": found.memories, "ds_answers": found.answers})
    by_table = +by_table
    rows = ", ".join(f"{name} {number:,}" for name, number in sorted(by_table.items()))
    if found.dry_run:
        frame.out.note(f"would erase: {rows or 'nothing'}; nothing was changed")
    elif found.rewritten:
        frame.out.note(f"erased, and the database rewritten: {rows or 'nothing'}")
    else:
        frame.out.note(
            f"erased: {rows}; its bytes may still be in the files until {frame.proposal('erase', '--rewrite')}"
        )
