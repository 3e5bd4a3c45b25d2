"""What may be entered on somebody's word: nothing whose figures its evidence does not have.

Rules of this module:

* No evidence, no entry.
* Every number, date, id and address of the text stands in the original words of its evidence, in whatever spelling
  (`core/facts`): `五万元` is supported by `RMB 50,000`, `$500` is not by `$50`.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalsegno.core.facts import FactIndex, invented
from dalsegno.errors import Ungrounded

__all__ = ["admit"]


def admit(text: str, evidence: Sequence[str], *, place: str = "the entry") -> None:
    """Let a text pass that its evidence supports.

    Args:
        text: what is to be entered.
        evidence: the original words it rests on.
        place: what it is, for the error.

    Raises:
        Ungrounded: there is no evidence, or it lacks something the text states.
    """
    if not evidence:
        raise Ungrounded(f"{place} rests on nothing; name the events in which it was said.")
    missing = invented(text, FactIndex.of(evidence))
    if missing:
        values = ", ".join(fact.text for fact in missing)
        raise Ungrounded(
            f"{place} states {values}, which the events it rests on do not; quote them as they are, or name the event "
            "that says so."
        )
