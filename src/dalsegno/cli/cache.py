"""`dalsegno cache`: the answer cache: what is in it, finding and removing wrong answers, calibrating an embedder.

Rules of this module:

* `remove` takes an id, enough of its beginning, or the question; it says what went and in which threads it had been
  said.
* `calibrate` reads pairs of questions from a file and needs the embedder that the program connects with, named as
  `module:name`; without one it draws the lines of the words.
* Answers are written by programs, through the gate; nothing here writes one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import as_json, plain
from dalsegno.cli.targets import target
from dalsegno.cli.text import clip, counted, shown, time
from dalsegno.core.answers.calibration import pairs_of
from dalsegno.errors import AnswerNotFound, Misuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    import dalsegno
    from dalsegno.core.answers.values import Answer, Calibration, Removed

__all__ = ["register"]

_SHORT: Final = 12
_FEW: Final = 100

ScopeOption = Annotated[str | None, typer.Option("--scope", metavar="NAME", help="Only answers of this scope.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    room = typer.Typer(
        help="The answer cache: list, find, show, remove, invalidate, stats, calibrate.", no_args_is_help=True
    )
    command(room, "list")(list_answers)
    command(room, "find")(find)
    command(room, "show")(show)
    command(room, "remove")(remove)
    command(room, "invalidate")(invalidate)
    command(room, "stats")(stats)
    command(room, "calibrate")(calibrate)
    app.add_typer(room, name="cache")


def list_answers(
    frame: Frame,
    *,
    scope: ScopeOption = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 50,
) -> None:
    """List answers, the first stored first, expired ones that are not swept yet included."""
    with frame.connect() as ds:
        found = ds.cache.list(limit, scope=scope)
    _tell(frame, found)


def find(
    frame: Frame,
    *,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The question, or words of it or of the answer.")],
    scope: ScopeOption = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 20,
) -> None:
    """Find answers by their question or by words, best first."""
    with frame.connect() as ds:
        found = ds.cache.find(text, scope=scope, limit=limit)
    _tell(frame, found)


def show(
    frame: Frame, *, answer: Annotated[str, typer.Argument(metavar="ANSWER", help="The answer's id, or its question.")]
) -> None:
    """Show one answer with all that is known about it, and where it was handed out."""
    with frame.connect() as ds:
        found = _one(ds, answer)
    if frame.out.as_json:
        frame.out.document(plain(found))
        return
    table = frame.out.pairs()
    for name, value in plain(found).items():
        if name != "uses" and value not in (None, "", [], {}):
            table.add_row(shown(name, "dim"), shown(clip(value if isinstance(value, str) else as_json(value), 400)))
    frame.out.show(table)
    if found.uses:
        uses = frame.out.table("handed out", "as", "thread", "event", "for")
        for use in found.uses:
            uses.add_row(
                shown(time(use.at)),
                shown(use.band),
                shown(use.thread_id or ""),
                shown(use.coordinate or ""),
                shown(clip(use.asked, 60)),
            )
        frame.out.show(uses)


def remove(
    frame: Frame,
    *,
    answer: Annotated[str, typer.Argument(metavar="ANSWER", help="The answer's id, or its question.")],
    scope: ScopeOption = None,
) -> None:
    """Delete an answer, or all to a question, with every answer derived from them; says where they had been said."""
    with frame.connect() as ds:
        gone = ds.cache.remove(_whole(ds.cache.list(scope=scope), answer), scope=scope)
    _tell_removed(frame, gone)


def invalidate(
    frame: Frame,
    *,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The source's id.")],
    version: Annotated[
        str | None, typer.Option("--version", metavar="VERSION", help="Only answers from this version of it.")
    ] = None,
) -> None:
    """Delete every answer that rests on a source, with every answer derived from them."""
    with frame.connect() as ds:
        gone = ds.cache.invalidate(source, version)
    _tell_removed(frame, gone)


def stats(frame: Frame) -> None:
    """Say what is in the cache, in numbers."""
    with frame.connect() as ds:
        found = ds.cache.stats()
    if frame.out.as_json:
        frame.out.document(plain(found))
        return
    table = frame.out.pairs()
    for name in ("answers", "expired", "outdated", "hits", "references", "size_bytes"):
        table.add_row(shown(name.replace("_", " "), "dim"), shown(f"{getattr(found, name):,}"))
    for name, counts in (("scopes", found.scopes), ("sources", found.sources)):
        table.add_row(
            shown(name, "dim"), shown(clip(", ".join(f"{key} {count:,}" for key, count in counts.items()), 200))
        )
    frame.out.show(table)
    if found.calibration is not None:
        _tell_calibration(frame, found.calibration)


def calibrate(
    frame: Frame,
    *,
    pairs: Annotated[Path, typer.Argument(metavar="PAIRS", help="Pairs of questions: JSON lines, JSON, CSV or TSV.")],
    embedder: Annotated[
        str | None, typer.Option(metavar="MODULE:NAME", help="The embedder, or a function that makes it.")
    ] = None,
) -> None:
    """Find out on pairs of questions where an embedder's hits and references begin, and record it."""
    given = pairs_of(_text(pairs), str(pairs))
    maker = None if embedder is None else target(embedder)
    if isinstance(maker, type) or (callable(maker) and not hasattr(maker, "embed_query")):
        maker = maker()
    with frame.connect(create=True) as ds:
        found = ds.cache.calibrate(given, embedder=maker)
    if frame.out.as_json:
        frame.out.document({**plain(found), "rate": found.rate})
        return
    _tell_calibration(frame, found)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        msg = f"{path}: not text in UTF-8; give JSON lines, a JSON array, CSV or TSV"
        raise Misuse(msg) from None


def _one(ds: dalsegno.Dalsegno, name: str) -> Answer:
    every = ds.cache.list()
    whole = _whole(every, name)
    found = [each for each in every if each.id == whole] or ds.cache.find(name, limit=1)
    if not found:
        msg = f"no answer of the id or question {name!r}; `dalsegno cache find` looks for words"
        raise AnswerNotFound(msg)
    return found[0]


def _whole(answers: Sequence[Answer], beginning: str) -> str:
    """The id that begins like this; as it is when none does."""
    found = [each.id for each in answers if each.id.startswith(beginning)]
    if len(found) > 1 and len(beginning) > 1:
        msg = f"{len(found)} answers begin with {beginning!r}; give more of the id"
        raise Misuse(msg)
    return found[0] if len(found) == 1 else beginning


def _tell(frame: Frame, answers: Sequence[Answer]) -> None:
    if frame.out.as_json:
        frame.out.document([plain(each) for each in answers])
        return
    if not answers:
        frame.out.note("no answers")
        return
    table = frame.out.table("answer", "scope", "user", "question", "answer text", "sources", "uses#", "stored", "until")
    for each in answers:
        sources = ", ".join(f"{source} {version}" for source, version in (each.sources or {}).items())
        table.add_row(
            shown(each.id[:_SHORT]),
            shown(clip(each.scope, 20)),
            shown(each.user or ""),
            shown(clip(each.question, 60)),
            shown(clip(each.answer, 40)),
            shown(clip(sources, 30)),
            shown(str(each.hits + each.references)),
            shown(time(each.stored_at)),
            shown("" if each.expires_at is None else time(each.expires_at)),
        )
    frame.out.show(table)


def _tell_removed(frame: Frame, gone: Removed) -> None:
    if frame.out.as_json:
        frame.out.document({**plain(gone), "threads": list(gone.threads)})
        return
    for each in gone.answers:
        frame.out.note(f"removed {each.id[:_SHORT]}: {clip(each.question, 80)}")
    for use in gone.uses:
        where = " ".join(part for part in (use.thread_id, use.coordinate) if part)
        if where:
            frame.out.note(f"had been said ({use.band}) in {where}, {time(use.at)}")
    frame.out.note(f"{counted(len(gone.answers), 'answer')} removed, handed out {len(gone.uses):,} times")


def _tell_calibration(frame: Frame, found: Calibration) -> None:
    safe = f"hits from {found.hit:.4f}" if found.hit <= 1 else "no line of hits is safe"
    frame.out.note(
        f"calibration {found.number} of {found.embedder} ({found.dims} numbers): {safe}, "
        f"references from {found.reference:.4f}"
    )
    frame.out.note(
        f"of {found.different:,} different pairs {found.false_hits:,} hit ({found.rate:.2%}; 95 % interval by "
        f"Clopper and Pearson {found.low:.2%} to {found.high:.2%}); by the line alone, without "
        f"guards, {found.false_alone:,}"
    )
    frame.out.note(f"of {found.same:,} same pairs {found.hits:,} hit and {found.references:,} are at least references")
    if found.different < _FEW:
        frame.out.note("few pairs make a wide interval; take some hundred of each kind")
