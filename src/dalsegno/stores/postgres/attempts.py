"""Whether a transaction whose session died is tried again.

Rules of this module:

* Once the commit was sent, never: it may have happened.
* A session that was dead when it was taken from the pool has done nothing. As many are let go as the pool may hold,
  since whoever ended one may have ended all, and one that was just being opened joins the pool dead.
* Anything else is tried once more: a server that is away is not asked again and again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["Attempts", "Stage"]


class Stage(IntEnum):
    """How far an attempt came."""

    AWAY = 0
    TAKEN = 1
    BEGUN = 2
    COMMITTING = 3


@dataclass(slots=True)
class Attempts:
    """The attempts at one transaction.

    Attributes:
        sessions: how many the pool may hold.
        stage: how far the attempt under way has come.
    """

    sessions: int
    stage: Stage = Stage.AWAY
    _dead: int = 0
    _failed: int = 0

    def again(self) -> bool:
        """Whether to try again, after the session of this attempt died."""
        if self.stage is Stage.COMMITTING:
            return False
        if self.stage is Stage.TAKEN:
            self._dead += 1
            return self._dead <= self.sessions
        self._failed += 1
        return self._failed == 1
