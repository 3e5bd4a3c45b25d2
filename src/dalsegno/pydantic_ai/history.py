"""The message history of Pydantic AI, kept as events of a thread.

Rules of this module:

* A run's messages are saved together, when it has ended: a run that fails, or a process that dies, leaves none of them.
* Saving takes a list that goes on from what is stored. One that does not, because another run saved first or the list
  was shortened, is refused; nothing of another run is overwritten without a word.
* Saving the same list again changes nothing, so it may be repeated when its outcome is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart

from dalsegno.connect import Dalsegno
from dalsegno.errors import Misuse
from dalsegno.faces.runs import Lease
from dalsegno.pydantic_ai.messages import messages_of, shares_of
from dalsegno.services.ids import thread_name

__all__ = ["KEEPER", "History"]

KEEPER: Final = "pydantic-ai"
"""What a thread's history row, and an error, call this framework."""


class History:
    """The messages of one thread, for `message_history=`.

    Attributes:
        thread_id: the thread's id.
    """

    def __init__(self, ds: Dalsegno, thread_id: str, *, lease: Lease | None = None) -> None:
        """Take the open database and the thread; nothing is read or written yet.

        Args:
            ds: the open database.
            thread_id: the thread; made with the first messages if there is none.
            lease: the lease to write under, while one is live.

        Raises:
            Misuse: `ds` is no database, or `thread_id` no id.
        """
        if not hasattr(ds, "histories"):
            raise Misuse(f"ds={type(ds).__name__}: give the open database that dalsegno.connect returned.")
        self.thread_id = thread_name(thread_id)
        self._histories = ds.histories
        self._lease = lease

    def load(self, limit: int | None = None) -> list[ModelMessage]:
        """The stored messages, oldest first; none of a thread that is not there.

        Args:
            limit: at most so many, the newest ones, from the first request among them that answers no call. What came
                before is in the card (`with_card`).

        Raises:
            OtherKeeper: the thread's messages are kept by something else.
            StateShapeError: a newer Pydantic AI wrote them.
        """
        return _begun(messages_of(self._histories.items(self.thread_id, KEEPER, limit)), limit)

    async def aload(self, limit: int | None = None) -> list[ModelMessage]:
        """Async face of `load`."""
        return _begun(messages_of(await self._histories.aitems(self.thread_id, KEEPER, limit)), limit)

    def save(self, messages: Sequence[ModelMessage], *, replace: bool = False) -> int:
        """Store a whole list, such as `result.all_messages()`: what is new in it is added, in one transaction.

        Args:
            messages: all of them.
            replace: whether stored messages that are not in the list are taken out of the history. The journal keeps
                them, marked as removed.

        Returns:
            How many were new.

        Raises:
            HistoryMoved: the stored messages are not the beginning of these, and `replace` is False.
            Misuse: these are no messages of Pydantic AI.
            NotSerializable: something in them cannot be stored exactly; nothing was written.
            OtherKeeper: the thread's messages are kept by something else.
            ThreadNotFound, ThreadDeleted, LeaseHeld: the thread takes no writes from here.
        """
        return self._histories.save(self.thread_id, KEEPER, shares_of(messages), replace=replace, lease=self._lease)

    async def asave(self, messages: Sequence[ModelMessage], *, replace: bool = False) -> int:
        """Async face of `save`."""
        shares = shares_of(messages)
        return await self._histories.asave(self.thread_id, KEEPER, shares, replace=replace, lease=self._lease)

    def append(self, messages: Sequence[ModelMessage]) -> None:
        """Add messages at the end, such as `result.new_messages()`, whatever the run was shown.

        Raises what `save` raises, but for `HistoryMoved`.
        Two runs at once both leave their messages, each run's together. Repeating it adds them again.
        """
        self._histories.add(self.thread_id, KEEPER, shares_of(messages), lease=self._lease)

    async def aappend(self, messages: Sequence[ModelMessage]) -> None:
        """Async face of `append`."""
        await self._histories.aadd(self.thread_id, KEEPER, shares_of(messages), lease=self._lease)

    def clear(self) -> int:
        """Take all messages out of the history, not out of the journal; returns how many."""
        return self._histories.clear(self.thread_id, KEEPER, lease=self._lease)

    async def aclear(self) -> int:
        """Async face of `clear`."""
        return await self._histories.aclear(self.thread_id, KEEPER, lease=self._lease)


def _begun(messages: list[ModelMessage], limit: int | None) -> list[ModelMessage]:
    """The same from the first message that can begin a history, where older ones were left out."""
    if limit is None or len(messages) < limit:
        return messages
    start = next((at for at, message in enumerate(messages) if _begins(message)), len(messages))
    return messages[start:]


def _begins(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and not any(isinstance(part, ToolReturnPart) for part in message.parts)
