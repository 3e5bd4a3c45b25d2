"""What a worker does for cards: a model looks at what was said lately, thread by thread.

Rules of this module:

* Looked through are threads that were written to since the last look, and those that were not done with then. The
  first look goes back a day.
* One thread after the other, a few passages each, so that a long one holds up no other.
* What a model does wrong is told with its card; what is wrong with the database is an error of this part of the upkeep.
"""

from __future__ import annotations

from typing import Any

from dalsegno.contracts import CardExtractor
from dalsegno.errors import ThreadDeleted, ThreadNotFound
from dalsegno.services.extracting import lately

__all__ = ["Cards"]

_PASSAGES = 4
_THREADS = 200
_OVERLAP = 120_000_000
"""Microseconds: a write may become visible so long after the time that it bears."""


class Cards:
    """One worker's looks through the threads of its tenant."""

    def __init__(self, extractor: CardExtractor) -> None:
        """Take the model."""
        self.extractor = extractor
        self._since: int | None = None
        self._seen: dict[str, int] = {}
        self._waiting: dict[str, None] = {}

    async def keep(self, ds: Any) -> str:
        """Have the model look at what it has not seen; returns what was done, in words."""
        await self._look(ds)
        looked = failed = 0
        for name in list(self._waiting):
            try:
                card = await ds.handover.arefresh(name, self.extractor, passages=_PASSAGES)
            except (ThreadNotFound, ThreadDeleted):
                del self._waiting[name]
                continue
            looked += 1
            how = card.extraction
            failed += how is not None and bool(how.failed)
            if how is None or how.cursor >= card.last_event_id:
                del self._waiting[name]
        told = f"{looked} thread{'s' * (looked != 1)}"
        return f"{told}, {failed} of them without an answer" if failed else told

    async def _look(self, ds: Any) -> None:
        scope, since = ds.scope(), self._since
        found = await ds.store_backend.arun(lambda: lately(scope, since, _THREADS), write=False)
        for name, at in found:
            if self._seen.get(name) != at:
                self._waiting[name] = None
            self._seen[name] = at
            self._since = max(self._since or 0, at - _OVERLAP * (len(found) < _THREADS))
        self._seen = {name: at for name, at in self._seen.items() if at >= (self._since or 0)}
