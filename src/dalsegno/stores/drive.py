"""The two drivers: what turns an operation's steps into statements, waiting or awaiting.

An error of a step ends the operation: it is closed where it stands, so that its `finally` runs, and the error goes
to the transaction around it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from dalsegno.contracts import Batch, Op, Rows, Step

__all__ = ["adrive", "drive"]

R = TypeVar("R")


def drive(op: Op[R], execute: Callable[[Step | Batch], Rows]) -> R:
    """Run an operation to its end with a function that executes one step."""
    try:
        step = next(op)
        while True:
            step = op.send(execute(step))
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        op.close()


async def adrive(op: Op[R], execute: Callable[[Step | Batch], Awaitable[Rows]]) -> R:
    """Run an operation to its end with a coroutine function that executes one step."""
    try:
        step = next(op)
        while True:
            step = op.send(await execute(step))
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        op.close()
