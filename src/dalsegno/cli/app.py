"""The commands together, and the program's entry.

Rules of this module:

* Whatever is wrong with the arguments is one line on standard error and exit code 2, like any other misuse.
* Text that the terminal's encoding cannot hold is written as an escape; it never ends the program.
"""

from __future__ import annotations

import io
import sys

import typer

from dalsegno.cli import (
    actions,
    audit,
    cache,
    card,
    check,
    checkpoints,
    context,
    demo,
    diff,
    doctor,
    erase,
    events,
    lint,
    memory,
    retention,
    runs,
    state,
    threads,
    transfer,
    upkeep,
    worker,
)
from dalsegno.cli.frame import EXIT_CODES, options
from dalsegno.cli.output import Output
from dalsegno.errors import Misuse

__all__ = ["app", "main"]

_INTERRUPTED = 130

app = typer.Typer(
    name="dalsegno", add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
app.callback(invoke_without_command=True)(options)
for room in (
    demo,
    transfer,
    threads,
    events,
    card,
    checkpoints,
    state,
    diff,
    check,
    upkeep,
    erase,
    retention,
    actions,
    audit,
    context,
    memory,
    cache,
    runs,
    worker,
    lint,
    doctor,
):
    room.register(app)


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(standalone_mode=False)
    except typer.Abort:
        code = _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the parser's complaints have no public name; others are raised again
        code = _misused(error)
    raise SystemExit(code)


def _misused(error: Exception) -> int:
    """Say on one line what is wrong with the arguments; anything but the parser's own complaint is raised again."""
    explain = getattr(error, "format_message", None)
    if explain is None:
        raise error
    context = getattr(error, "ctx", None)
    where = "dalsegno" if context is None else context.command_path
    Output(as_json=False).error(f"{explain().rstrip('.')}; see `{where} --help`.")
    return EXIT_CODES[Misuse]
