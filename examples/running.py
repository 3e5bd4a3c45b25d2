"""What the programs' command lines have in common: how they end, and what they show of others' words."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import NoReturn

__all__ = ["legible", "run"]

BROKEN_PIPE = 128 + 13
"""What a shell reports of a program that was ended by SIGPIPE."""


_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def legible(text: str) -> str:
    r"""A text whose characters only stand there: what would act on a terminal is written out, such as `\x1b`."""
    return _ACTS.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def run(main: Callable[[], int]) -> NoReturn:
    """Run a command line and exit with its code; a reader that went away (`| head`) is no error of ours.

    Args:
        main: gives the exit code.
    """
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes nowhere, at the exit too
        sys.exit(BROKEN_PIPE)
    sys.exit(code)
