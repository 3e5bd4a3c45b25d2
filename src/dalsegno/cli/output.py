"""Where the command line speaks: results on standard output, everything else on standard error.

Rules of this module:

* Results are tables for people, or one JSON document (`--json`) for programs; never both, never mixed with notes.
* JSON holds no raw control character of either kind, so that it is also safe to look at.
* A progress bar appears on standard error, only on a terminal, and is gone when the work is done.
* A reader that went away (`| head`) is no error of ours: whoever writes gets `BrokenPipeError`, and
  the command ends quietly.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NoReturn

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from dalsegno.cli.text import HOSTILE, one_line, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import RenderableType
    from rich.text import Text

__all__ = ["Output", "as_json", "plain"]

_PIPE_WIDTH: Final = 160


class _Pipe(Console):
    """A console that reports a vanished reader instead of ending the program."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def plain(value: Any) -> Any:
    """A value of this package as JSON knows it: dataclasses as objects, times in ISO form, enumerations by value."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def as_json(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    r"""A value as JSON text. What could act on a terminal only stands inside its strings, and is written `\uXXXX`."""
    text = json.dumps(plain(value), ensure_ascii=ascii_only, indent=indent, default=str)
    return HOSTILE.sub(lambda match: json.dumps(match[0])[1:-1], text)


class Output:
    """Standard output and standard error of one command."""

    def __init__(self, *, as_json: bool) -> None:
        """Take over the streams as they are now.

        Args:
            as_json: whether results are JSON.
        """
        self.as_json: Final = as_json
        self._console: Final = _Pipe(highlight=False, width=self._width())
        self._notes: Final = Console(stderr=True, highlight=False)

    def show(self, *renderables: RenderableType) -> None:
        """Show something to a person; in a pipe no line ends in blanks.

        Strings are not taken: they would be read as markup (use `text.shown`).
        """
        for renderable in renderables:
            if self._console.is_terminal:
                self._console.print(renderable)
                continue
            with self._console.capture() as captured:
                self._console.print(renderable)
            self.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))

    def lines(self, *lines: Text) -> None:
        """Show lines that stay lines however long they are, so that an id in them can be copied."""
        for line in lines:
            self._console.print(line, soft_wrap=True)

    @property
    def width(self) -> int:
        """How many columns there are to show something in."""
        return self._console.width

    @staticmethod
    def pairs() -> Table:
        """An empty table without lines: names on the left, which never wrap, and what they name."""
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        return table

    def table(self, *columns: str, title: str | None = None) -> Table:
        """An empty table of these columns; a column whose name ends in `#` is aligned to the right."""
        table = Table(title=None if title is None else shown(title), title_justify="left", header_style="bold")
        for column in columns:
            name = column.removesuffix("#")
            table.add_column(shown(name), justify="right" if name != column else "left", overflow="fold")
        return table

    def document(self, value: Any) -> None:
        """Write one JSON document."""
        self.write(as_json(value, indent=2, ascii_only=self.ascii_only) + "\n")

    @property
    def ascii_only(self) -> bool:
        """Whether standard output cannot hold every character, so that JSON has to write them as escapes."""
        return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") != "utf8"

    @staticmethod
    def write(text: str) -> None:
        """Write text that is fit for a terminal to standard output, as it is."""
        sys.stdout.write(text)

    def note(self, text: str) -> None:
        """Say something that is not the result, on standard error; a long line stays one, so that it can be copied."""
        self._notes.print(shown(text), soft_wrap=True)

    def error(self, text: str) -> None:
        """Say what went wrong, on one line of standard error, whatever its length."""
        print(f"dalsegno: {one_line(text)}", file=sys.stderr)  # noqa: T201 - the command line's voice

    @contextmanager
    def progress(self, doing: str, total: int | None = None) -> Iterator[Callable[[int, int | None], None]]:
        """A bar while something long is under way; yields `report(done, total)`."""
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self._notes, transient=True, disable=not self._notes.is_terminal) as bar:
            task = bar.add_task(doing, total=total)

            def report(done: int, total: int | None = None) -> None:
                bar.update(task, completed=done, total=total)

            yield report

    @staticmethod
    def _width() -> int | None:
        """A pipe has no width: take one in which an id and a sentence stand side by side."""
        return None if sys.stdout.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
