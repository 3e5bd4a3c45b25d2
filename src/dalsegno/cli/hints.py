"""Next steps in the words of a shell.

Errors of the package name the next step as a Python program takes it. Whoever sits at a shell has options and commands
instead; what has no command is said to be a program's.
"""

from __future__ import annotations

from typing import Final

__all__ = ["for_a_shell"]

_WORDS: Final = {
    "or connect with create=True to make a new database": "or make a new database with `dalsegno import`",
    "or connect with create=True to make them": "or make them with `dalsegno import`",
    "or reopen it with ds.threads.reopen()": "or reopen it from Python: ds.threads.reopen(…)",
    "choose one by its index from": "choose one with --index from",
}


def for_a_shell(message: str) -> str:
    """The message of an error, with its next step as a shell takes it."""
    for python, shell in _WORDS.items():
        message = message.replace(python, shell)
    return message
