"""Two tools with which an agent looks up original words: `search_history` and `read_events`.

Rules of this module:

* A lookup is made for one thread and reaches no other: the thread is no argument of it.
* What is asked and what is told is the core's word (`core/quoting.py`), whoever asks: LangChain's tools here, others
  over the Model Context Protocol.
* A mistake of the model is told to it in words; it never ends the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Protocol

from langchain_core.tools import BaseTool, StructuredTool

from dalsegno.core import quoting
from dalsegno.core.journal import Event
from dalsegno.core.quoting import Quote
from dalsegno.errors import Misuse

__all__ = ["Lookups", "ReadsHistory", "history_tools"]


class ReadsHistory(Protocol):
    """The part of a journal that is looked up in; `ds.journal` is one."""

    def read(self, thread_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """Events after a number."""

    def aread(self, thread_id: str, after: int = 0, limit: int | None = None) -> Awaitable[list[Event]]:
        """Async face of `read`."""

    def search(self, thread_id: str, text: str, limit: int | None = 10) -> list[Event]:
        """Events that answer a text."""

    def asearch(self, thread_id: str, text: str, limit: int | None = 10) -> Awaitable[list[Event]]:
        """Async face of `search`."""

    def quoted(self, thread_id: str, events: Sequence[Event]) -> list[Quote]:
        """Events with what became of their messages."""

    def aquoted(self, thread_id: str, events: Sequence[Event]) -> Awaitable[list[Quote]]:
        """Async face of `quoted`."""


class Lookups:
    """What can be looked up in one thread; arguments may be whatever a model came up with."""

    def __init__(self, journal: ReadsHistory, thread: str | Callable[[], str]) -> None:
        """Take the journal, and the thread or what tells it when something is asked."""
        self._journal = journal
        self._thread = thread

    def search(self, text: Any, limit: Any = quoting.USUAL) -> str:
        """Where something was said.

        Raises:
            Misuse: an argument makes no sense; the message says what would.
        """
        wanted, most = quoting.looked_for(text, limit)
        here = self._here()
        return quoting.found(self._journal.quoted(here, self._journal.search(here, wanted, most)), wanted)

    async def asearch(self, text: Any, limit: Any = quoting.USUAL) -> str:
        """Async face of `search`."""
        wanted, most = quoting.looked_for(text, limit)
        here = self._here()
        events = await self._journal.asearch(here, wanted, most)
        return quoting.found(await self._journal.aquoted(here, events), wanted)

    def read(self, first: Any, last: Any = None) -> str:
        """Events by number; raises what `search` raises."""
        start, end = quoting.range_of(first, last)
        here = self._here()
        events = self._journal.read(here, start - 1, min(quoting.MOST_READ, end - start + 1))
        return quoting.read(self._journal.quoted(here, events), start, end)

    async def aread(self, first: Any, last: Any = None) -> str:
        """Async face of `read`."""
        start, end = quoting.range_of(first, last)
        here = self._here()
        events = await self._journal.aread(here, start - 1, min(quoting.MOST_READ, end - start + 1))
        return quoting.read(await self._journal.aquoted(here, events), start, end)

    def _here(self) -> str:
        return self._thread if isinstance(self._thread, str) else self._thread()


def history_tools(journal: ReadsHistory, thread: str | Callable[[], str]) -> list[BaseTool]:
    """The tools of one thread.

    Args:
        journal: `ds.journal`.
        thread: the thread that they read, and the only one; or what tells it when a tool is called.
    """
    lookups = Lookups(journal, thread)

    def search_history(
        text: Annotated[str, quoting.ABOUT_TEXT], limit: Annotated[int, quoting.ABOUT_LIMIT] = quoting.USUAL
    ) -> str:
        try:
            return lookups.search(text, limit)
        except Misuse as error:
            return str(error)

    async def asearch_history(text: str, limit: int = quoting.USUAL) -> str:
        try:
            return await lookups.asearch(text, limit)
        except Misuse as error:
            return str(error)

    def read_events(
        first: Annotated[int | str, quoting.ABOUT_FIRST], last: Annotated[int | str | None, quoting.ABOUT_LAST] = None
    ) -> str:
        try:
            return lookups.read(first, last)
        except Misuse as error:
            return str(error)

    async def aread_events(first: int | str, last: int | str | None = None) -> str:
        try:
            return await lookups.aread(first, last)
        except Misuse as error:
            return str(error)

    return [
        StructuredTool.from_function(search_history, coroutine=asearch_history, description=quoting.ABOUT_SEARCH),
        StructuredTool.from_function(read_events, coroutine=aread_events, description=quoting.ABOUT_READ),
    ]
