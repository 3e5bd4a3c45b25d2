"""`ds.journal`: the truth of a thread, to read, search and add to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from langchain_core.messages import BaseMessage

from dalsegno.contracts import Op, Store
from dalsegno.core import codec
from dalsegno.core.card.listening import DECIDERS
from dalsegno.core.journal import Event, Kind, author_of
from dalsegno.core.quoting import Quote
from dalsegno.errors import Misuse
from dalsegno.faces.arguments import a_count, a_text, an_aware_time
from dalsegno.faces.face import Face
from dalsegno.faces.runs import Lease
from dalsegno.langgraph.said import text_of_value, without_item
from dalsegno.services import journal
from dalsegno.services.frames import to_micros
from dalsegno.services.ids import thread_name
from dalsegno.services.threads_row import Scope

__all__ = ["Journal"]


class Journal(Face):
    """Events of threads, numbered and never rewritten."""

    def __init__(self, store: Store, scope: Callable[[], Scope], deciders: Collection[str] = DECIDERS) -> None:
        """Take the store, on whose behalf to work, and whose word decides, for the card."""
        super().__init__(store, scope)
        self._deciders = frozenset(deciders)

    def read(
        self, thread_id: str, after: int = 0, limit: int | None = None, checkpoint_id: str | None = None
    ) -> list[Event]:
        """Read the events that led to the head, or to a checkpoint.

        Args:
            thread_id: the thread.
            after: only events with a higher number.
            limit: at most so many, the oldest first.
            checkpoint_id: the lineage of this checkpoint of the root graph instead of the head's.

        Raises:
            ThreadNotFound: no such thread, or another user's.
            CheckpointNotFound: the thread has no such checkpoint.
        """
        return self._run(lambda scope: self._read(scope, thread_id, after, limit, checkpoint_id))

    async def aread(
        self, thread_id: str, after: int = 0, limit: int | None = None, checkpoint_id: str | None = None
    ) -> list[Event]:
        """Async face of `read`."""
        return await self._arun(lambda scope: self._read(scope, thread_id, after, limit, checkpoint_id))

    def search(self, thread_id: str, text: str, limit: int | None = 10) -> list[Event]:
        """Find events of the head's lineage by their text, in Chinese, English or both; best first.

        The exact wording ranks before all of its words, and those before some of them; equals rank newest first.

        Raises:
            ThreadNotFound: no such thread, or another user's.
        """
        return self._run(lambda scope: self._search(scope, thread_id, text, limit))

    async def asearch(self, thread_id: str, text: str, limit: int | None = 10) -> list[Event]:
        """Async face of `search`."""
        return await self._arun(lambda scope: self._search(scope, thread_id, text, limit))

    def quoted(self, thread_id: str, events: Sequence[Event]) -> list[Quote]:
        """What became of the messages of events that were read or found: whether one was edited or deleted since.

        Args:
            thread_id: the thread they are of.
            events: events of the head's lineage; others are given back as they are.

        Returns:
            A `Quote` for each, in order. Messages without an id cannot be followed; they are as they were said.

        Raises:
            ThreadNotFound: no such thread, or another user's.
        """
        return _quotes(events, self._run(lambda scope: self._quoted(scope, thread_id, events)))

    async def aquoted(self, thread_id: str, events: Sequence[Event]) -> list[Quote]:
        """Async face of `quoted`."""
        return _quotes(events, await self._arun(lambda scope: self._quoted(scope, thread_id, events)))

    def append(
        self,
        thread_id: str,
        kind: str,
        author: str,
        payload: Any,
        *,
        at: datetime | None = None,
        lease: Lease | None = None,
    ) -> Event:
        """Write an event at the head of the moment; durable on return.

        Args:
            thread_id: the thread; made if there is none.
            kind: `message`, `tool_call`, `tool_result`, `decision`, `approval`, `note`, `todo` or `done`.
            author: who says so.
            payload: what is said: text, or any value the state could hold.
            at: when it was said, aware; now if left out.
            lease: the lease to write under, while one is live.

        Raises:
            Misuse: a kind that is not written directly, or a time without a zone.
            NotSerializable: the payload cannot be stored exactly.
            ThreadDeleted, LeaseHeld: the thread takes no writes from here.
        """
        event = _new(kind, author, payload, at)
        name = thread_name(thread_id)
        (seq,) = self._run(
            lambda scope: journal.append(
                scope, name, [event], create=True, fence=_token(lease), deciders=self._deciders
            ),
            write=True,
            key=name,
        )
        return self.read(thread_id, after=seq - 1, limit=1)[0]

    async def aappend(
        self,
        thread_id: str,
        kind: str,
        author: str,
        payload: Any,
        *,
        at: datetime | None = None,
        lease: Lease | None = None,
    ) -> Event:
        """Async face of `append`."""
        event = _new(kind, author, payload, at)
        name = thread_name(thread_id)
        (seq,) = await self._arun(
            lambda scope: journal.append(
                scope, name, [event], create=True, fence=_token(lease), deciders=self._deciders
            ),
            write=True,
            key=name,
        )
        return (await self.aread(thread_id, after=seq - 1, limit=1))[0]

    def _read(
        self, scope: Scope, thread_id: str, after: int, limit: int | None, checkpoint_id: str | None
    ) -> Op[list[Event]]:
        a_count("after", after)
        a_count("limit", limit, optional=True)
        a_text("checkpoint_id", checkpoint_id, optional=True)
        return journal.read(
            scope, thread_name(thread_id), text_of_value, after=after, limit=limit, checkpoint_id=checkpoint_id
        )

    def _quoted(self, scope: Scope, thread_id: str, events: Sequence[Event]) -> Op[dict[int, tuple[int, Event | None]]]:
        return journal.quoted(scope, thread_name(thread_id), text_of_value, [event.seq for event in events])

    def _search(self, scope: Scope, thread_id: str, text: str, limit: int | None) -> Op[list[Event]]:
        a_text("text", text)
        a_count("limit", limit, optional=True)
        return journal.search(scope, thread_name(thread_id), text_of_value, text=text, limit=limit)


def _quotes(events: Sequence[Event], found: Mapping[int, tuple[int, Event | None]]) -> list[Quote]:
    quotes = []
    for event in events:
        first, now = found.get(event.seq, (event.seq, None))
        quotes.append(Quote(event=event, came_at=0 if first == event.seq else first, now=now))
    return quotes


def _new(kind: str, author: str, payload: Any, at: datetime | None) -> journal.NewEvent:
    try:
        known = Kind(kind)
    except ValueError:
        msg = f"kind={kind!r}: no such kind of event; use one of {', '.join(Kind)}"
        raise Misuse(msg) from None
    an_aware_time("at", at)
    a_text("author", author)
    if isinstance(payload, BaseMessage):
        payload = without_item(payload)  # a copy of a framework's message is no item of this thread's list
    micros = None if at is None else to_micros(at)
    return journal.NewEvent(
        kind=known,
        author=author_of(role="unknown", name=author),
        tree=codec.encode(payload, "payload"),
        text=text_of_value(payload),
        at=micros,
    )


def _token(lease: Lease | None) -> int | None:
    return None if lease is None else lease.token
