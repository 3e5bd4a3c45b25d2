"""Subgraphs compiled with `checkpointer=True`: one history for a thread, so one call at a time.

Rules of this module:

* LangGraph gives such a subgraph a namespace without a task: all calls share it, also several at once (by `Send`, or
  from nodes side by side). Each would go on from the same state, and the last one would undo the others.
* The second call is refused as `SubgraphShared`: by its head, which has moved, or, where the namespace had no
  checkpoint yet, because one is there that came in the same step of the graph above.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import orjson

from dalsegno.contracts import Op
from dalsegno.errors import HeadMoved, SubgraphShared
from dalsegno.langgraph.rebuild import metadata_of
from dalsegno.services import reading
from dalsegno.services.loading import Loaded, load
from dalsegno.services.placing import Placement
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope

__all__ = ["alone", "is_shared", "named"]

_WITHIN, _OF_A_TASK = "|", ":"
"""LangGraph's separators in a namespace: of the graphs on the way, and of a graph from the task that entered it."""


def is_shared(ns: str) -> bool:
    """Whether all calls of a subgraph share this namespace."""
    return ns != "" and _OF_A_TASK not in ns.rpartition(_WITHIN)[2]


@contextmanager
def named(ns: str) -> Iterator[None]:
    """Say it in the words of its graph when the head that moved is that of a shared namespace."""
    try:
        yield
    except HeadMoved as error:
        if not is_shared(ns):
            raise
        raise SubgraphShared(error.thread_id, ns=ns, expected=error.expected, found=error.found) from error


@sound
def alone(scope: Scope, thread: str, place: Placement) -> Op[None]:
    """Refuse the first checkpoint of a call into a shared namespace where another call of the same step has put one.

    Raises:
        HeadMoved: there is one. A call that goes back in time runs under a root checkpoint of its own.
    """
    if place.parent is not None or place.root_parent is None or not is_shared(place.ns):
        return
    row = yield from reading.find(scope, thread, place.ns, None, writes=False)
    if row is None or row.id == place.id:
        return
    meta = [] if row.meta is None else [orjson.loads(row.meta)]
    loaded: Loaded = yield from load(row.tenant, row.thread, meta)
    parents = metadata_of(row, loaded).get("parents")
    if isinstance(parents, dict) and parents.get("") == place.root_parent:
        raise HeadMoved(thread, expected=None, found=row.id)
