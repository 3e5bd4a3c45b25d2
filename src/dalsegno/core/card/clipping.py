"""A wording cut short without cutting a fact in two.

Rules of this module:

* What is left is the beginning, word for word, with `…` behind it. `5 万元` never becomes `5 …`: half of a figure is a
  figure that nobody said.
"""

from __future__ import annotations

import re

from dalsegno.core.facts import WORDINGS, facts_in

__all__ = ["clip"]

_BREAK = re.compile(r"[\s,，。;；、]")
_BEYOND = 80


def clip(text: str, longest: int) -> str:
    """The beginning of a text, at most so many characters and `…`; the whole of it where it is no longer.

    Args:
        text: one line.
        longest: characters.
    """
    if len(text) <= longest:
        return text
    window = text[: longest + _BEYOND]
    shut = [(fact.start, fact.end) for fact in facts_in(window) if fact.kind not in WORDINGS]
    for found in reversed(list(_BREAK.finditer(window, 0, longest))):
        at = found.start()
        if not any(start < at < end for start, end in shut):
            return f"{text[:at].rstrip()} …"
    return "…"
