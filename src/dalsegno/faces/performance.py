"""An action done by the body of a `with`."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from dalsegno.errors import Misuse
from dalsegno.langgraph.acting import Actor, Pulse
from dalsegno.services.actions import Begun, Turn
from dalsegno.services.performing import Job, closing, ended_badly, opening, stored_result

__all__ = ["Performance"]


class Performance:
    """What the body of a `with` sees of the action it does; made by `ds.actions.perform`.

    Attributes:
        due: whether the effect is to be done now.
        result: what it came back with; set it when it was due.
        key: the idempotency key, for outside services that take one.
    """

    def __init__(self, actor: Actor, job: Job) -> None:
        """Take what is to be done."""
        self._actor = actor
        self._job = job
        self._begun: Begun | None = None
        self._pulse: Pulse | None = None
        self.due = False
        self.result: Any = None
        self.key = job.key.hex()

    def _opened(self, begun: Begun) -> Self:
        self._begun = begun
        self.due = begun.turn is Turn.RUN
        self.result = None if self.due else stored_result(begun.action)
        self._pulse = Pulse(self._actor, self._job, begun.token) if self.due else None
        return self

    def _script(self, error: BaseException | None) -> Any:
        if self._begun is None:
            msg = "an action that was not entered cannot end; use it in a with statement"
            raise Misuse(msg)
        if error is not None:
            return ended_badly(self._job, self._begun.token, error)
        return closing(self._job, self._begun.token, self.result)

    def __enter__(self) -> Self:
        """Write the action down; see `dalsegno.services.performing.opening` for what it raises."""
        self._opened(self._actor.play(opening(self._job), self._job))
        if self._pulse is not None:
            self._pulse.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write down how it ended."""
        if self._pulse is not None:
            self._pulse.__exit__()
            self._actor.play(self._script(error), self._job)

    async def __aenter__(self) -> Self:
        """Write the action down."""
        self._opened(await self._actor.aplay(opening(self._job), self._job))
        if self._pulse is not None:
            await self._pulse.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write down how it ended."""
        if self._pulse is not None:
            await self._pulse.__aexit__()
            await self._actor.aplay(self._script(error), self._job)
