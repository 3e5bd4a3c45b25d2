"""Waiting for somebody else's code, for so long and no longer.

Rules of this module:

* What hangs is left behind in a thread that keeps no process alive.
* Who wants the program to stop goes through: `KeyboardInterrupt` and `SystemExit`. Anything else is a failure.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["Unserved", "within"]

R = TypeVar("R")


class Unserved(Exception):
    """Somebody else's code did not deliver; the message says how."""


def within(seconds: float, work: Callable[[], R], name: str) -> R:
    """Do work that may hang.

    Args:
        seconds: how long it may take.
        work: what is done, in a thread of its own, in this context.
        name: of the thread.

    Raises:
        Unserved: it did not end in time.
        Exception, KeyboardInterrupt, SystemExit: what the work raised.
    """
    done: list[R] = []
    raised: list[BaseException] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            done.append(context.run(work))
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            raised.append(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised and isinstance(raised[0], (Exception, KeyboardInterrupt, SystemExit)):
        raise raised[0]
    if raised:
        raise Unserved(f"raised {type(raised[0]).__name__}: {raised[0]}")
    if not done:
        raise Unserved(f"did not answer within {seconds:g} s")
    return done[0]
