"""Message lists of other frameworks, as they stand in a journal.

Rules of this module:

* A framework's item is one event or several in a row, each with a message that says in LangChain's words what the part
  says: so search, card and first request need not know the framework. The item itself travels in the first message, the
  rest of it in the others, and comes back as it was.
* Such a message is known by its `response_metadata`: `{"dalsegno": {"item": value, "keeper": name}}`, `part` in place
  of `item` in those that go on. No other metadata stands beside it.
* A thread's messages have one keeper.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from dalsegno.core.tree import Json

__all__ = ["GRAPHS", "Carried", "carried_by", "carrying", "is_carrying"]

GRAPHS: Final = "a LangGraph graph (its checkpointer)"
"""What an error calls the keeper of a thread with checkpoints."""

_KEY = "dalsegno"


class Carried(NamedTuple):
    """What a message carries of a framework's item.

    Attributes:
        keeper: the framework's name.
        begins: whether an item begins here.
        tree: the item, or a further part of it, encoded.
    """

    keeper: str
    begins: bool
    tree: Json


def carrying(keeper: str, value: Json, *, begins: bool = True) -> Json:
    """The encoded `response_metadata` of a message that carries an item, encoded, or a further part of it."""
    return {_KEY: {"item" if begins else "part": value, "keeper": keeper}}


def is_carrying(metadata: Mapping[str, object]) -> bool:
    """Whether the `response_metadata` of a message carries an item."""
    return _KEY in metadata


def carried_by(tree: Json) -> Carried | None:
    """What the tree of a message carries, if it does."""
    metadata = tree.get("response_metadata") if isinstance(tree, dict) and "$m" in tree else None
    found = metadata.get(_KEY) if isinstance(metadata, dict) else None
    keeper = found.get("keeper") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(keeper, str):
        return None
    for key, begins in (("item", True), ("part", False)):
        if key in found:
            return Carried(keeper, begins, found[key])
    return None
