"""`dalsegno import` and `dalsegno export`: conversations in and out.

Rules of this module:

* An export to a file is written beside it and put in its place when it is whole; one to a device or a pipe goes there.
* An export holds the truth (`jsonl`: every event of the lineage) or what other programs read (`openai`: the messages
  of the newest state, or those that stand in another framework's list).
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO

import typer
from langchain_core.messages import convert_to_openai_messages

from dalsegno.cli.events import fields_of
from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import as_json
from dalsegno.cli.text import counted, shown
from dalsegno.core import codec
from dalsegno.errors import Missing, TranscriptError
from dalsegno.imports import import_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import dalsegno
    from dalsegno.core.journal import Event

__all__ = ["register"]

_PAGE: Final = 500


class Format(StrEnum):
    """What an export is written as."""

    JSONL = "jsonl"
    OPENAI = "openai"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "import")(import_)
    command(app, "export")(export)


def import_(
    frame: Frame,
    *,
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="A transcript, or a checkpoint database of LangGraph (file or URL).")
    ],
    thread: Annotated[str, typer.Option("--thread", metavar="ID", help="The thread to make; it must be new.")],
    index: Annotated[int | None, typer.Option(min=0, help="Which conversation or thread of several, from 0.")] = None,
) -> None:
    """Read a transcript (OpenAI chat, LangChain messages) or a LangGraph thread into a new thread."""
    with frame.connect(create=True) as ds, frame.out.progress("importing") as report:
        try:
            imported = import_file(ds, source, thread, index=index, progress=report)
        except TranscriptError:
            if _is_export(source):
                msg = (
                    f"{source}: holds the events of a thread, which `dalsegno export` wrote; a thread is made of "
                    "messages: export them with `--format openai`, nothing was written."
                )
                raise TranscriptError(msg) from None
            raise
    if frame.out.as_json:
        frame.out.document(imported)
        return
    frame.out.show(
        shown(
            f"{imported.format}: {counted(imported.messages, 'message')}, {counted(imported.events, 'event')}, "
            f"{counted(imported.checkpoints, 'checkpoint')} in thread {imported.thread_id}"
        )
    )
    frame.out.note(f"Look at it: {frame.proposal('show', thread)}")


def _is_export(source: str) -> bool:
    """Whether a file that cannot be imported begins with an event as `export` writes it."""
    try:
        with Path(source).open(encoding="utf-8") as stream:
            first = json.loads(stream.readline())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and {"seq", "coordinate", "payload"} <= first.keys()


def export(
    frame: Frame,
    *,
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    fmt: Annotated[Format, typer.Option("--format", help="Every event, or chat messages.")] = Format.JSONL,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file; standard output if not.")
    ] = None,
) -> None:
    """Write a thread as JSON lines (one event a line) or as OpenAI chat messages (one document)."""
    ascii_only = output is None and frame.out.ascii_only
    with frame.connect(thread) as ds, _target(frame, output) as write:
        if fmt is Format.OPENAI:
            write(as_json(_chat(ds, thread), indent=2, ascii_only=ascii_only) + "\n")
            return
        with frame.out.progress("exporting", ds.threads.get(thread).events) as report:
            for count, event in enumerate(_events(ds, thread), start=1):
                write(as_json(fields_of(event), ascii_only=ascii_only) + "\n")
                report(count, None)


def _chat(ds: dalsegno.Dalsegno, thread: str) -> list[dict[str, Any]]:
    """The messages of a thread's newest state, as OpenAI's chat format has them.

    Raises:
        Missing: the state has no list of messages.
    """
    if (kept := ds.histories.messages(thread)) is not None:
        return convert_to_openai_messages(kept)
    for tree in ds.threads.tree(thread).values():
        if isinstance(tree, list) and tree and all(isinstance(each, dict) and "$m" in each for each in tree):
            chat = convert_to_openai_messages(codec.decode(tree))
            return chat if isinstance(chat, list) else [chat]
    raise Missing(f"thread {thread!r} has no list of messages in its state; export its events: --format jsonl.")


def _events(ds: dalsegno.Dalsegno, thread: str) -> Iterator[Event]:
    after = 0
    while page := ds.journal.read(thread, after=after, limit=_PAGE):
        yield from page
        after = page[-1].seq


@contextmanager
def _target(frame: Frame, output: Path | None) -> Iterator[Callable[[str], None]]:
    """Where an export goes; a file appears only when it is whole, whatever was there before stays until then."""
    if output is None:
        yield frame.out.write
    elif output.exists() and not output.is_file():  # a device or a pipe is written to, never replaced
        with output.open("w", encoding="utf-8") as stream:
            yield _writer(stream)
    else:
        target = output.resolve()
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        try:
            with _drafted(draft, output) as stream:
                yield _writer(stream)
                stream.flush()
                os.fsync(stream.fileno())
            if target.exists():
                shutil.copymode(target, draft)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)


def _drafted(draft: Path, output: Path) -> TextIO:
    """Open the draft; what is wrong with it is said of the file that was asked for."""
    try:
        return draft.open("x", encoding="utf-8")
    except OSError as error:
        error.filename = str(output)
        raise


def _writer(stream: TextIO) -> Callable[[str], None]:
    def write(text: str) -> None:
        stream.write(text)

    return write
