"""The end of the performance: the thread as it is handed to whoever opens it next, and what is checked of that.

Rules of this module:

* The card and the first request are those that `ds.handover` gives for the thread in the store: no model, no copy.
* An action is matched with the ledger by its idempotency key, and a line of the card with the journal by its number.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dalsegno.services.handover import ACTIONS

if TYPE_CHECKING:
    from dalsegno.connect import Dalsegno
    from dalsegno.core.card.entries import Card
    from dalsegno.demo.errands import Entry

__all__ = ["BUDGET", "HandedOver", "handed_over"]

BUDGET: Final = 4000
"""Tokens that the first request may cost."""
_RULES: Final = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver:
    """The card of a thread and its first request.

    Attributes:
        card: where the conversation stands.
        actions, actions_of_ledger: how many actions the card has as the ledger has them, of how many.
        quoted, evidence: how many of the events that its entries rest on the journal gives, of how many.
        since, shown: events after the card's cursor, and how many of them are in the request. The instructions of that
            time are not counted: today's stand in their place.
        messages: how many messages the request holds, the card's included.
        tokens: what the request costs, by estimate.
        ms: milliseconds from the thread's id to the request.
    """

    card: Card
    actions: int
    actions_of_ledger: int
    quoted: int
    evidence: int
    since: int
    shown: int
    messages: int
    tokens: int
    ms: float

    @property
    def holds(self) -> bool:
        """Whether card and ledger agree, all evidence is there, and nothing after the card is left out."""
        return (
            self.actions == len(self.card.actions) == min(self.actions_of_ledger, ACTIONS)
            and self.quoted == self.evidence
            and self.shown == self.since
            and self.tokens <= BUDGET
        )


def handed_over(ds: Dalsegno, thread_id: str, ledger: tuple[Entry, ...]) -> HandedOver:
    """Make the card and the first request of a thread, and compare them with its ledger and its journal."""
    before = time.perf_counter()
    request = ds.handover.pack(thread_id, budget_tokens=BUDGET)
    ms = (time.perf_counter() - before) * 1000
    card = ds.handover.card(thread_id)
    told = {(action.key, action.status) for action in card.actions}
    numbers = {one.number for entry in card.entries for one in entry.evidence if one.number}
    since = range(request.manifest.cursor + 1, request.manifest.head + 1)
    given = {number for first, last in request.manifest.numbers for number in range(first, last + 1)}
    missing = [number for number in since if number not in given]
    rules = [event for event in ds.handover.quotes(thread_id, missing) if event.author == _RULES]
    return HandedOver(
        card=card,
        actions=sum((entry.action_id, entry.state) in told for entry in ledger),
        actions_of_ledger=len(ledger),
        quoted=len(ds.handover.quotes(thread_id, sorted(numbers))),
        evidence=len(numbers),
        since=len(since) - len(rules),
        shown=len(since) - len(missing),
        messages=len(request.messages),
        tokens=request.tokens,
        ms=ms,
    )
