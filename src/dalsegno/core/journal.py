"""What the journal records: kinds, events, lineage, and how two message lists differ.

Rules of this module:

* An event is a numbered fact of a thread and is never rewritten. Its coordinate is number and author: `#126 user`.
* Kinds have small codes that stand in databases. A code is never given a second meaning; new kinds get new codes.
* Who an event is by and what its text is are read off the message (`core/messages.py`).
* A branch has one parent and the checkpoint it left it at. The lineage of a head is its own branch up to the head,
  the parent's up to the fork, and so on; an event is in it when its branch and checkpoint are.
* The difference of two message lists is taken by message id, whatever the order; messages without an id are
  compared by digest. Time is linear in the lists, and nearly none when the old list begins the new one.
* Pure values: no clock, no I/O.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from dalsegno.core.messages import author_of, text_of
from dalsegno.errors import Damaged, Misuse

__all__ = [
    "DIRECT",
    "Changes",
    "Element",
    "Event",
    "Kind",
    "Span",
    "Undecoded",
    "author_of",
    "changes",
    "lineage",
    "spans_contain",
    "text_of",
    "text_of_tree",
]


# --- kinds and events -------------------------------------------------------------------------------


class Kind(StrEnum):
    """What an event records."""

    MESSAGE = "message"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    EDIT = "edit"
    DELETE = "delete"
    DECISION = "decision"
    APPROVAL = "approval"
    NOTE = "note"
    ACTION = "action"
    FIELD = "field"

    @property
    def code(self) -> int:
        """The small integer that stands for this kind in a database."""
        return _CODES[self]

    @classmethod
    def of_code(cls, code: int) -> Kind:
        """The kind behind a stored code.

        Raises:
            Damaged: no kind has this code.
        """
        kind = _KINDS.get(code)
        if kind is None:
            raise Damaged("kind of a journal event", expected=sorted(_KINDS), found=code)
        return kind

    @classmethod
    def of_role(cls, role: str, *, calls: bool = False) -> Kind:
        """The kind of the event that a new message brings.

        Args:
            role: LangChain's message type or OpenAI's role.
            calls: True when the message carries tool calls.
        """
        if role in {"tool", "function"}:
            return cls.TOOL_RESULT
        return cls.TOOL_CALL if calls else cls.MESSAGE


_CODES = {
    Kind.MESSAGE: 1,
    Kind.TOOL_CALL: 2,
    Kind.TOOL_RESULT: 3,
    Kind.EDIT: 4,
    Kind.DELETE: 5,
    Kind.DECISION: 6,
    Kind.APPROVAL: 7,
    Kind.NOTE: 8,
    Kind.ACTION: 9,
    Kind.FIELD: 12,
}
_KINDS = {code: kind for kind, code in _CODES.items()}

DIRECT = frozenset(Kind) - {Kind.EDIT, Kind.DELETE, Kind.ACTION, Kind.FIELD}
"""Kinds that a caller may append. What the state or an action's transition tells is not written by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecoded:
    """Stands for a payload of a class that this process does not know, so that the rest of a thread can be read.

    Attributes:
        tree: the payload as it is stored.
        reason: which class, and what to do to read it.
    """

    tree: Any
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One numbered fact of a thread.

    Attributes:
        seq: number in the thread, from 1, without gaps over all branches.
        author: who said or did it, one line.
        kind: what it records; compares equal to its name.
        text: what a person would read, and what search looks at.
        payload: the value itself, such as the message; None for a deletion; `Undecoded` where the value's class is
            not registered in this process.
        at: when it was recorded, aware UTC.
        checkpoint_id: the checkpoint that brought it, or the head at the time; None before the first checkpoint.
        branch: the branch it was written on; 0 is the thread's first.
    """

    seq: int
    author: str
    kind: Kind
    text: str
    payload: Any
    at: datetime
    checkpoint_id: str | None = None
    branch: int = 0

    def __post_init__(self) -> None:
        if self.seq < 1:
            raise Misuse(f"an event is numbered from 1, not {self.seq}; take the number from the thread's counter.")
        if self.at.utcoffset() is None:
            raise Misuse(f"event #{self.seq} has a time without a zone; give an aware datetime in UTC.")
        object.__setattr__(self, "at", self.at.astimezone(UTC))

    @property
    def coordinate(self) -> str:
        """Number and author, such as `#126 user`: how everything derived points back to this event."""
        return f"#{self.seq} {self.author}"


# --- lineage ----------------------------------------------------------------------------------------


class Span(NamedTuple):
    """The part of a branch that belongs to a lineage: its checkpoints up to and including `up_to`."""

    branch: int
    up_to: int


def lineage(branches: Mapping[int, tuple[int, int] | None], branch: int, checkpoint: int) -> list[Span]:
    """The path that led to a head.

    Args:
        branches: for each branch its parent and the number of the parent's checkpoint it left from. A branch that is
            not in it, or stands there with None, has no parent.
        branch: the head's branch.
        checkpoint: the head's number; numbers grow over the thread, whatever the branch.

    Returns:
        One span for each branch on the path, the oldest first.

    Raises:
        Damaged: the parents go round in a circle.
    """
    spans = [Span(branch, checkpoint)]
    seen = {branch}
    while (fork := branches.get(branch)) is not None:
        child = branch
        branch, left_at = fork
        if branch in seen:
            raise Damaged(f"parent of branch {child}", expected="a branch older than it", found=branch)
        seen.add(branch)
        checkpoint = min(checkpoint, left_at)
        spans.append(Span(branch, checkpoint))
    return spans[::-1]


def spans_contain(spans: Sequence[Span], branch: int, checkpoint: int) -> bool:
    """Whether an event or checkpoint of this branch and number is in a lineage."""
    return any(span.branch == branch and checkpoint <= span.up_to for span in spans)


# --- how two message lists differ -------------------------------------------------------------------

Element: TypeAlias = tuple[str | None, Hashable]
"""A message as the difference sees it: its id, or None, and a digest of everything else."""


class Changes(NamedTuple):
    """What happened between two message lists. Positions count from 0 and ascend.

    Attributes:
        appended: positions in the new list.
        edited: positions in the old list and in the new one, in the new list's order.
        deleted: positions in the old list.
    """

    appended: Sequence[int]
    edited: Sequence[tuple[int, int]]
    deleted: Sequence[int]


def changes(old: Sequence[Element], new: Sequence[Element]) -> Changes:
    """Tell what was appended, edited and deleted.

    The same id with the same digest is the same message wherever it stands; the same id with another digest is an
    edit; an id that is gone is a deletion; an id that was not there is an append. An element without an id, on
    either side, pairs with one of the same digest, so that a message which was given its id meanwhile stays the
    same message. Elements that repeat are paired as often as they occur on both sides.
    """
    start = len(old)
    if list(new[:start]) == list(old):
        return Changes(range(start, len(new)), (), ())
    start = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    gone = dict.fromkeys(range(start, len(old)))
    come = dict.fromkeys(range(start, len(new)))

    def pair(old_key: Callable[[Element], Hashable], new_key: Callable[[Element], Hashable]) -> list[tuple[int, int]]:
        """Pair what is left on both sides by equal keys, first with first; a key of None pairs with nothing."""
        waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        for at in gone:
            waiting[old_key(old[at])].append(at)
        waiting.pop(None, None)
        pairs = [(waiting[key].popleft(), at) for at in come if (key := new_key(new[at])) in waiting and waiting[key]]
        for before, after in pairs:
            del gone[before], come[after]
        return pairs

    pair(lambda element: element, lambda element: element)
    edited = pair(lambda element: element[0], lambda element: element[0])
    pair(_digest_if_nameless, lambda element: (element[1],))
    pair(lambda element: (element[1],), _digest_if_nameless)
    return Changes(tuple(come), tuple(edited), tuple(gone))


def _digest_if_nameless(element: Element) -> Hashable:
    return (element[1],) if element[0] is None else None


# --- payloads of unknown classes ----------------------------------------------------------------------


def text_of_tree(tree: Any) -> str:
    """What a person would read of a stored tree that cannot be decoded: of a message what it says, else its JSON."""
    shown = _without_notes(tree)
    if isinstance(shown, dict) and "$m" in shown:
        return text_of(shown)
    return shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)


def _without_notes(tree: Any) -> Any:
    """A tree without the codec's note on the order of keys."""
    if isinstance(tree, dict):
        return {key: _without_notes(part) for key, part in tree.items() if key != "$keys"}
    return list(map(_without_notes, tree)) if isinstance(tree, list) else tree
