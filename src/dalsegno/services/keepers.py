"""Who keeps a thread's messages: a graph's checkpointer, one framework's adapter, or nobody yet.

Rules of this module:

* One keeper a thread, decided under the thread's lock by whoever writes first. Two would tell two stories under one id,
  and neither would see what the other said.
"""

from __future__ import annotations

from dalsegno.contracts import Op, Step
from dalsegno.core.histories import GRAPHS
from dalsegno.errors import OtherKeeper
from dalsegno.services.threads_row import ThreadRow

__all__ = ["refuse_graph", "standing_items"]


def refuse_graph(row: ThreadRow) -> Op[None]:
    """Refuse a graph's first checkpoint, or write, in a thread whose messages a framework keeps.

    Raises:
        OtherKeeper: it does.
    """
    if row.events > row.wiped:
        rows = yield Step("history_find", row.key)
        if rows:
            raise OtherKeeper(row.name, keeper=rows[0][0], wanted=GRAPHS)


def standing_items(row: ThreadRow, keeper: str) -> Op[int]:
    """How many items stand in a thread that is this framework's, or nobody's.

    Raises:
        OtherKeeper: it is another's.
    """
    rows = yield Step("history_find", row.key)
    if rows:
        if rows[0][0] != keeper:
            raise OtherKeeper(row.name, keeper=rows[0][0], wanted=keeper)
        return int(rows[0][1])
    if (yield Step("namespaces_of", row.key)):
        raise OtherKeeper(row.name, keeper=GRAPHS, wanted=keeper)
    return 0
