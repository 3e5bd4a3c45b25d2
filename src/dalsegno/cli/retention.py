"""`dalsegno retention`: how long threads and their checkpoints are kept.

Rules of this module:

* A policy comes from a file (`--policy`), or from options; never from both, so that it is plain which holds.
* `plan` changes nothing. `run` shows the plan first and asks, unless `--yes` stands there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import plain
from dalsegno.cli.text import clip, counted, shown, size
from dalsegno.cli.upkeep import Yes, agree
from dalsegno.core.retention import RetentionPolicy, read_policies
from dalsegno.errors import Misuse

if TYPE_CHECKING:
    from dalsegno.faces.retention import RetentionReport
    from dalsegno.services.retention import ThreadPlan

__all__ = ["register"]

_SHOWN: Final = 50

File = Annotated[
    Path | None, typer.Option("--policy", metavar="FILE", help="Policies in TOML, or JSON if the name ends in .json.")
]
Latest = Annotated[int | None, typer.Option(min=1, metavar="N", help="All checkpoints but the newest N go.")]
MaxAge = Annotated[str | None, typer.Option(metavar="SPAN", help="Older checkpoints go: `90 days`.")]
Thinned = Annotated[
    list[str] | None, typer.Option("--thin", metavar="RULE", help="`one an hour after a day`; may stand several times.")
]
Expire = Annotated[str | None, typer.Option(metavar="SPAN", help="Threads idle for longer go whole: `30 days`.")]
AtLeast = Annotated[int | None, typer.Option(min=1, metavar="N", help="The newest N stay, whatever else is said.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Only threads with one of these tags.")]
Without = Annotated[list[str] | None, typer.Option("--without-tag", metavar="TAG", help="No thread with one of these.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    room = typer.Typer(help="How long things are kept: plan, run.", no_args_is_help=True)
    command(room, "plan")(plan)
    command(room, "run")(run)
    app.add_typer(room, name="retention")


def plan(
    frame: Frame,
    *,
    policy: File = None,
    keep_latest: Latest = None,
    max_age: MaxAge = None,
    thin: Thinned = None,
    expire_after: Expire = None,
    at_least: AtLeast = None,
    tag: Tags = None,
    without_tag: Without = None,
) -> None:
    """Show what would go, why, and how many bytes that frees. Nothing is changed."""
    policies = _policies(policy, keep_latest, max_age, thin, expire_after, at_least, tag, without_tag)
    with frame.connect() as ds, frame.out.progress("planning") as report:
        found = ds.retention.run(policies, dry_run=True, progress=report)
    _tell(frame, found)


def run(
    frame: Frame,
    *,
    policy: File = None,
    keep_latest: Latest = None,
    max_age: MaxAge = None,
    thin: Thinned = None,
    expire_after: Expire = None,
    at_least: AtLeast = None,
    tag: Tags = None,
    without_tag: Without = None,
    yes: Yes = False,
) -> None:
    """Let go what the policies say. May be stopped at any moment and run again."""
    policies = _policies(policy, keep_latest, max_age, thin, expire_after, at_least, tag, without_tag)
    with frame.connect() as ds:
        if not yes:
            with frame.out.progress("planning") as report:
                found = ds.retention.run(policies, dry_run=True, progress=report)
            agree(frame, f"Let {_counts(found)} go? This cannot be undone.", yes=False)
        with frame.out.progress("letting go") as report:
            found = ds.retention.run(policies, progress=report)
    _tell(frame, found)


def _policies(
    file: Path | None,
    keep_latest: int | None,
    max_age: str | None,
    thin: list[str] | None,
    expire_after: str | None,
    at_least: int | None,
    tag: list[str] | None,
    without_tag: list[str] | None,
) -> tuple[RetentionPolicy, ...]:
    told: dict[str, Any] = {
        "keep_latest": keep_latest, "max_age": max_age, "thin": thin, "expire_after": expire_after,
        "at_least": at_least, "tags": tag, "without_tags": without_tag,
    }  # fmt: skip
    told = {name: value for name, value in told.items() if value}
    if file is not None and told:
        msg = f"--policy {file} and other rules beside it"
        raise Misuse(msg, step="write them all into the file, or leave it out")
    if file is None:
        try:
            return (RetentionPolicy.of(told, "options"),)
        except Misuse as error:
            raise Misuse(_WORDS.sub(lambda word: _OPTIONS[word[0]], str(error))) from error
    try:
        return read_policies(file.read_text(encoding="utf-8"), kind="json" if file.suffix == ".json" else "toml")
    except (Misuse, UnicodeDecodeError) as error:
        msg = f"{file}: {error}"
        raise Misuse(msg) from error


_OPTIONS: Final = {
    "keep_latest": "--keep-latest", "max_age": "--max-age", "thin": "--thin", "expire_after": "--expire-after",
    "at_least": "--at-least", "tags": "--tag", "without_tags": "--without-tag",
}  # fmt: skip
"""What a policy's fields are called on the command line."""
_WORDS: Final = re.compile(rf"\b({'|'.join(_OPTIONS)})\b")


def _counts(found: RetentionReport) -> str:
    whole, dropped = counted(found.expired, "whole thread"), counted(found.checkpoints, "checkpoint")
    return f"{whole} and {dropped} of other threads ({size(found.size_bytes)}; about {size(found.disk_bytes)} on disk)"


def _tell(frame: Frame, found: RetentionReport) -> None:
    if frame.out.as_json:
        totals = {name: getattr(found, name) for name in ("expired", "checkpoints", "held", "size_bytes", "disk_bytes")}
        frame.out.document({**plain(found), **totals})
        return
    if found.threads:
        table = frame.out.table("thread", "policy", "what goes", "why", "bytes#")
        for each in found.threads[:_SHOWN]:
            table.add_row(*map(shown, _cells(each)))
        frame.out.show(table)
    if len(found.threads) > _SHOWN:
        frame.out.note(f"and {len(found.threads) - _SHOWN:,} more threads; --json has them all")
    held = f"; {counted(found.held, 'thread')} left alone" if found.held else ""
    goes = "would go" if found.dry_run else "went"
    frame.out.note(f"{counted(found.looked_at, 'thread')} looked at; {_counts(found)} {goes}{held}")


def _cells(each: ThreadPlan) -> tuple[str, str, str, str, str]:
    if each.held is not None:
        return each.thread_id, each.policy, "nothing", f"held: {each.held}", ""
    if each.expires is not None:
        return each.thread_id, each.policy, "the thread", each.expires, size(each.size_bytes)
    why = clip("; ".join(f"{number} {reason}" for reason, number in each.reasons.items()))
    return each.thread_id, each.policy, counted(len(each.drops), "checkpoint"), why, size(each.size_bytes)
