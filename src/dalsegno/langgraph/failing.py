"""What a run's error says about trying again.

Rules of this module:

* An error of the families `Misuse`, `Refused`, `Damaged` and `Missing` says that the same run ends in the same way,
  whatever its number of attempts: a graph that lacks a node, a value that cannot be stored, a decision against it.
* The place is where the error was raised; where an error has others under it (`ExceptionGroup`), the first counts.
"""

from __future__ import annotations

from dalsegno.core.failures import Failure, wording
from dalsegno.errors import Damaged, Missing, Misuse, Refused

__all__ = ["failure_of"]

_HOPELESS = (Misuse, Refused, Damaged, Missing)


def failure_of(error: BaseException) -> Failure:
    """A run's error as it is written down."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    kind = type(error)
    return Failure(
        kind=f"{kind.__module__}.{kind.__qualname__}",
        place=_place(error),
        message=wording(error),
        hopeless=isinstance(error, _HOPELESS),
    )


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame
    return f"{frame.f_globals.get('__name__', '?')}:{frame.f_code.co_qualname}"
