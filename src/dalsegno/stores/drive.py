"""The two drivers: what turns an operation's steps into statements, waiting or awaiting.

Rules of this module:

* An operation is told of a step that failed: `StepFailed` is raised where it yielded the step. One that has begun a
  part may undo that part and go on; any other lets it pass, and the step's own error goes to the transaction around it.
* Whatever ends an operation, it is closed where it stands, so that its `finally` runs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from dalsegno.contracts import Batch, Op, Rows, Step, StepFailed

__all__ = ["adrive", "drive"]

R = TypeVar("R")


def drive(op: Op[R], execute: Callable[[Step | Batch], Rows]) -> R:
    """Run an operation to its end with a function that executes one step."""
    try:
        step = next(op)
        while True:
            try:
                rows = execute(step)
            except Exception as error:  # noqa: BLE001 - it is the operation's, and raised unless that goes on
                step = op.throw(StepFailed(error))
            else:
                step = op.send(rows)
    except StepFailed as failed:
        raise failed.error from failed.error.__cause__
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
            try:
                rows = await execute(step)
            except Exception as error:  # noqa: BLE001 - it is the operation's, and raised unless that goes on
                step = op.throw(StepFailed(error))
            else:
                step = op.send(rows)
    except StepFailed as failed:
        raise failed.error from failed.error.__cause__
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        op.close()
