"""A program's command line, run as a process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn

__all__ = ["run"]

BROKEN_PIPE = 128 + 13
"""What a shell reports of a program that was ended by SIGPIPE."""


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
