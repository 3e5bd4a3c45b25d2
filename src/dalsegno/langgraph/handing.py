"""A first request in LangChain's messages.

Rules of this module:

* A message goes in as it was: the very message, with its calls, ids and content blocks. Only those of the newest
  wording go in, in the place where the message stood.
* Instructions of that time do not go in: today's stand instead.
* A call that nobody answered does not go in as a message; neither does what was written directly, or is of an unknown
  class.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.config import get_config

from dalsegno.core.card.entries import Card
from dalsegno.core.card.packing import Recent
from dalsegno.core.card.rendering import render
from dalsegno.core.cuts import Turn
from dalsegno.core.journal import Event, Kind
from dalsegno.core.pieces import fenced
from dalsegno.core.request import Request
from dalsegno.core.tokens import Count
from dalsegno.errors import DalsegnoError, ThreadNotFound
from dalsegno.langgraph.originals import thread_of
from dalsegno.langgraph.searching import ReadsHistory
from dalsegno.langgraph.turns import turn_of, turn_of_event

__all__ = ["HasCards", "ShownCard", "current_thread", "in_messages", "recent_of"]

M = TypeVar("M")

_log = logging.getLogger("dalsegno.handover")

_OF_THEN = "instructions of that time; today's rules stand instead"
_UNANSWERED = "a call without a result is told in a line"
_GONE = "deleted since"


def recent_of(events: Sequence[Event], count: Count, deleted: Collection[str] = ()) -> list[Recent]:
    """Events as parts of a request, in the order in which they go in.

    Args:
        events: the newest ones, oldest first.
        count: tokens of a text.
        deleted: ids of messages that were deleted.
    """
    places: dict[str, int] = {}
    found: list[Recent] = []
    for event in events:
        id_ = getattr(event.payload, "id", None)
        if event.kind is Kind.DELETE:
            found.append(Recent(turn=_line(event, "deleted a message", count)))
            continue
        turn = turn_of_event(event, count)
        if id_ is not None and id_ in deleted:
            found.append(Recent(turn=turn, note=_GONE, barred=True))
            continue
        if not isinstance(event.payload, BaseMessage) or event.payload.type == "remove":
            found.append(_spoken(event, turn, count))
            continue
        if event.kind is Kind.EDIT and id_ in places:
            at = places[id_]
            found[at] = Recent(turn=replace(turn, number=found[at].turn.number), message=event.payload)
            found.append(Recent(turn=_line(event, f"edited #{found[at].turn.number}: {event.text}", count)))
            continue
        if id_ is not None:
            places[id_] = len(found)
        system = turn.role == "system"
        found.append(
            Recent(turn=turn, message=None if system else event.payload, note=_OF_THEN if system else "", barred=system)
        )
    return _without_open_calls(found)


_MODELS = frozenset({"assistant", "ai", "model", "agent", "bot"})
_INSTRUCTIONS = frozenset({"system", "developer"})


def _spoken(event: Event, turn: Turn, count: Count) -> Recent:
    """What was written directly: as a message where it was said as one, else as a line."""
    if event.kind is not Kind.MESSAGE or not isinstance(event.payload, str):
        return Recent(turn=turn)
    author = event.author.lower()
    if author in _INSTRUCTIONS:
        return Recent(turn=turn, note=_OF_THEN, barred=True)
    message: BaseMessage
    if author in _MODELS:
        message = AIMessage(content=event.payload)
    else:
        message = HumanMessage(content=event.payload, name=None if author in ("user", "human") else event.author)
    return Recent(turn=replace(turn_of(message, count=count), number=event.seq, author=event.author), message=message)


def _line(event: Event, text: str, count: Count) -> Turn:
    return Turn(role=str(event.kind), text=text, author=event.author, number=event.seq, tokens=count(text))


def _without_open_calls(found: Sequence[Recent]) -> list[Recent]:
    """The same with calls that nobody answered, and answers to no call, as lines."""
    answered = {id_ for one in found if one.message is not None for id_ in one.turn.answers}
    called = {id_ for one in found if one.message is not None for id_ in one.turn.calls}
    return [
        replace(one, message=None, note=_UNANSWERED)
        if one.message is not None
        and (any(id_ not in answered for id_ in one.turn.calls) or any(id_ not in called for id_ in one.turn.answers))
        else one
        for one in found
    ]


def in_messages(request: Request[M]) -> Request[M]:
    """The same request with instructions as `SystemMessage`."""
    messages: list[Any] = [
        SystemMessage(content=str(message["content"])) if isinstance(message, dict) else message
        for message in request.messages
    ]
    return replace(request, messages=tuple(messages))


# --- the card in an agent's calls ---------------------------------------------------------------------

_CARD_TOKENS = 1200


class ReadsCards(Protocol):
    """The part of `ds.handover` that is needed here."""

    def card(self, thread_id: str) -> Card:
        """The card of a thread."""

    def acard(self, thread_id: str) -> Awaitable[Card]:
        """Async face of `card`."""


class HasCards(Protocol):
    """An open database with cards and a journal."""

    @property
    def handover(self) -> ReadsCards:
        """Its cards."""

    @property
    def journal(self) -> ReadsHistory:
        """Its journal."""


def current_thread() -> str:
    """The thread of the run that asks.

    Raises:
        Misuse: it has none.
    """
    return thread_of(get_config())


class ShownCard:
    """The card of the thread that runs, as text for the instructions; empty where there is nothing to show."""

    def __init__(self, ds: HasCards) -> None:
        """Take the database."""
        self._ds = ds

    def text(self) -> str:
        """The card as it stands now."""
        try:
            return _shown(self._ds.handover.card(current_thread()))
        except DalsegnoError as error:
            return _unshown(error)

    async def atext(self) -> str:
        """Async face of `text`."""
        try:
            return _shown(await self._ds.handover.acard(current_thread()))
        except DalsegnoError as error:
            return _unshown(error)


def _shown(card: Card) -> str:
    return fenced(render(card, _CARD_TOKENS).text) if any(True for _ in card.entries) else ""


def _unshown(error: DalsegnoError) -> str:
    if not isinstance(error, ThreadNotFound):  # a thread that is not stored yet has no card
        _log.warning("the model is not shown the card: %s", error)
    return ""
