"""The card of a thread among an agent's instructions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from dalsegno.connect import Dalsegno
from dalsegno.core.tokens import Count, estimate

__all__ = ["with_card"]


def with_card(
    ds: Dalsegno, thread_id: str, instructions: str = "", *, budget_tokens: int = 1200, count: Count = estimate
) -> Callable[[Any, Any], Awaitable[str]]:
    """Instructions for `Agent(instructions=…)`: yours, then where the conversation stands, read anew for each run.

    Args:
        ds: the open database.
        thread_id: the thread; of one that is not there yet nothing is said.
        instructions: your own, first.
        budget_tokens: what the card may cost.
        count: tokens of a text.
    """

    async def told(_context: Any, _agent: Any) -> str:
        return await ds.handover.ainstructions(thread_id, instructions, budget_tokens=budget_tokens, count=count)

    return told
