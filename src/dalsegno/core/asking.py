"""What a waiting run asks for, in words.

Rules of this module:

* A question of the ledger says of which action it wants the approval, or the outcome; anything else asks for an answer.
* A question may come from anyone's graph: what is not shaped like one of the ledger's is shown as it is. Pure values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["action_asked_for", "asks_for"]

_WANTED = {"approval": "approval", "unknown_outcome": "outcome"}
_SHORT = 12


def action_asked_for(question: Any) -> str | None:
    """The id of the action that a question is about; None when it is not the ledger's."""
    if not isinstance(question, Mapping) or question.get("type") not in _WANTED or "ticket" not in question:
        return None
    found = question.get("action_id")
    return found if isinstance(found, str) else None


def asks_for(question: Any, told: str = "") -> str:
    """What a question asks for: `approval of mail (3f9c…)`, `outcome of …`, or an answer to it.

    Args:
        question: an interrupt's value, or the plain tree of one.
        told: a question that is not the ledger's, in words; its `repr` if left out.
    """
    found = action_asked_for(question)
    if found is None:
        return f"an answer to {told or repr(question)}"
    return f"{_WANTED[question['type']]} of {question.get('action')} ({found[:_SHORT]})"
