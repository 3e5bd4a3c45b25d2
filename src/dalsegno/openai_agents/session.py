"""A session of the OpenAI Agents SDK whose items are events of a thread.

Rules of this module:

* It is the SDK's `Session` protocol to the letter: items come back as they were given, key by key.
* What is popped or cleared is out of the session and stays in the journal, marked as removed.
* A change that was begun is waited for, also by a call that is cancelled: afterwards it has happened, or it has not.
* Any number of sessions, in any number of processes, may stand on one thread. A thread whose messages a graph or
  another framework keeps is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar, cast

from agents.items import TResponseInputItem
from agents.memory import SessionSettings
from agents.memory.session_settings import resolve_session_limit

from dalsegno.connect import Dalsegno
from dalsegno.errors import Misuse
from dalsegno.faces.runs import Lease
from dalsegno.openai_agents.items import shares_of
from dalsegno.services.ids import thread_name

__all__ = ["KEEPER", "Session"]

KEEPER: Final = "openai-agents"
"""What a thread's history row, and an error, call this framework."""

R = TypeVar("R")


class Session:
    """The SDK's session over one thread.

    Attributes:
        session_id: the thread's id.
        session_settings: the SDK's settings; with `limit`, only the newest items go into a run. What came before is in
            the card (`with_card`).
    """

    def __init__(
        self,
        ds: Dalsegno,
        thread_id: str,
        *,
        session_settings: SessionSettings | None = None,
        lease: Lease | None = None,
    ) -> None:
        """Take the open database and the thread; nothing is read or written yet.

        Args:
            ds: the open database.
            thread_id: the thread; made with the first items if there is none.
            session_settings: the SDK's settings.
            lease: the lease to write under, while one is live.

        Raises:
            Misuse: `ds` is no database, or `thread_id` no id.
        """
        if not hasattr(ds, "histories"):
            raise Misuse(f"ds={type(ds).__name__}: give the open database that dalsegno.connect returned.")
        self.session_id = thread_name(thread_id)
        self.session_settings = session_settings if session_settings is not None else SessionSettings()
        self._histories = ds.histories
        self._lease = lease

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items of the session, oldest first.

        Args:
            limit: at most so many, the newest ones; the settings' limit if left out. None of either: all.

        Raises:
            OtherKeeper: the thread's messages are kept by something else.
        """
        most = resolve_session_limit(limit, self.session_settings)
        items = await self._histories.aitems(self.session_id, KEEPER, None if most is None else max(0, most))
        return [cast("TResponseInputItem", item) for (item,) in items]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Put items at the end of the session, all or none; durable on return.

        Raises:
            Misuse: an item is no dict.
            NotSerializable: an item cannot be stored exactly; nothing was written.
            OtherKeeper: the thread's messages are kept by something else.
            ThreadNotFound, ThreadDeleted, LeaseHeld: the thread takes no writes from here.
        """
        await _settled(self._histories.aadd(self.session_id, KEEPER, shares_of(items), lease=self._lease))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item out of the session and return it; None of an empty one. Raises what `add_items` raises."""
        item = await _settled(self._histories.apop(self.session_id, KEEPER, lease=self._lease))
        return None if item is None else cast("TResponseInputItem", item[0])

    async def clear_session(self) -> None:
        """Take all items out of the session. Raises what `add_items` raises."""
        await _settled(self._histories.aclear(self.session_id, KEEPER, lease=self._lease))


async def _settled(work: Coroutine[Any, Any, R]) -> R:
    """The outcome of a change; who is cancelled meanwhile still waits for it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # looked at, so that asyncio does not report it; the cancellation is what is raised
        raise cancelled
    return task.result()
