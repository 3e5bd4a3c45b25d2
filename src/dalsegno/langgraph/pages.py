"""Listing checkpoints page by page: a bounded number of statements for each page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

from dalsegno.contracts import Op
from dalsegno.langgraph.config import conf_of
from dalsegno.langgraph.rebuild import Rebuilder, Rebuilt
from dalsegno.services import reading
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope

__all__ = ["Listing", "page_of"]

_PAGE = 64


@dataclass(frozen=True, slots=True)
class Listing:
    """What of one thread is listed.

    Attributes:
        thread: thread id.
        ns: namespace, or None for all.
        only: one checkpoint's id, or None.
        bound: only checkpoints put before this one; of another namespace, those with a smaller id.
        wanted: metadata that must be there and equal.
    """

    thread: str
    ns: str | None
    only: str | None
    bound: str | None
    wanted: Mapping[str, Any] | None

    @classmethod
    def of(
        cls,
        thread: str,
        config: RunnableConfig | None,
        before: RunnableConfig | None,
        wanted: Mapping[str, Any] | None,
    ) -> Listing:
        """From the arguments of a checkpointer's `list`."""
        conf = conf_of(config) if config is not None else {}
        return cls(
            thread=thread,
            ns=conf.get("checkpoint_ns"),
            only=conf.get("checkpoint_id") or None,
            bound=conf_of(before).get("checkpoint_id") if before is not None else None,
            wanted=wanted,
        )


@sound
def page_of(
    scope: Scope, rebuilder: Rebuilder, listing: Listing, limit: int | None, cursor: int | None
) -> Op[tuple[Sequence[Rebuilt], int | None]]:
    """One page, newest first.

    Args:
        scope: tenant and user.
        rebuilder: turns rows into values.
        listing: what is listed.
        limit: at most so many.
        cursor: what the last page gave.

    Returns:
        Checkpoints, and the cursor for the next page; None after the last.
    """
    start, smaller = cursor, None
    if listing.bound is not None:
        edge = yield from reading.find(scope, listing.thread, listing.ns or "", listing.bound, writes=False)
        smaller = listing.bound if edge is None else None
        start = edge.ckpt if cursor is None and edge is not None else cursor
    following: int | None = None
    if listing.only is not None:
        row = yield from reading.find(scope, listing.thread, listing.ns or "", listing.only, writes=False)
        rows = [row] if row is not None and (start is None or row.ckpt < start) else []
    else:
        size = _PAGE if listing.wanted or smaller or limit is None else min(_PAGE, max(limit, 1))
        rows = yield from reading.page(scope, listing.thread, ns=listing.ns, before=start, limit=size)
        following = rows[-1].ckpt if len(rows) == size else None
    if smaller is not None:
        rows = [row for row in rows if row.id < smaller]
    if listing.wanted:
        rows = yield from rebuilder.matching(rows, listing.wanted)
    if limit is not None:
        rows = rows[:limit]
    return (yield from rebuilder.many(rows)), following
