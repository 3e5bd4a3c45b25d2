"""Facts of one event, each with its subject and with what it corrects."""

from __future__ import annotations

from dalsegno.core.facts.finding import facts_in
from dalsegno.core.facts.table import Said

__all__ = ["said_in"]


def said_in(text: str, *, coordinate: str, author: str) -> tuple[Said, ...]:
    """What an event says, ready for a table: its protected facts, and bare numbers that have a subject.

    Args:
        text: the event's text.
        coordinate: the event, such as `#126 user`.
        author: who said it.
    """
    return tuple(Said(fact=fact, coordinate=coordinate, author=author) for fact in facts_in(text) if fact.protected)
