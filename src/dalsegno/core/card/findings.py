"""What the rules heard in single events; a card is made of nothing else.

Rules of this module:

* A finding rests on one event and says what that event says, verbatim. What belongs together (a decision and the
  proposal it takes up, a value and its correction) is put together when the card is made, not here. So an edit takes
  out the findings of one event and nothing else, and the rest falls into place again.
* Findings are ordered by where the message stands in the conversation; an edited message stands where it stood.
* Each knows branch and checkpoint of its event, so a fork sees those of its lineage alone.
* Plain JSON both ways, without what is empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from typing import Any

from dalsegno.errors import Damaged

__all__ = [
    "ANSWER",
    "CONFIRMS",
    "EITHER",
    "QUERY",
    "QUESTION",
    "Finding",
    "Sort",
    "Told",
    "findings_from_json",
    "findings_to_json",
]


QUESTION, QUERY = "question", "query"
"""Kinds of offers: what someone who may decide asks the others, for their consent, or without a word for that. They
stand in no card; an agreement decides them."""
EITHER = "either"
"""Kind of an offer of several things at once, which a mere yes does not answer."""
ANSWER = "answer"
"""Kind of a decision that names one of the options just listed and says hardly anything else."""
CONFIRMS = "confirms"
"""Kind of a decision whose words may only say that something is so; it decides nothing that was a mere query."""


class Sort(StrEnum):
    """What a finding is.

    A naming is a message that is hardly more than a name, such as `Porto, please.`; it is a decision where an option of
    that name was just offered, and else nothing.
    """

    GOAL = "goal"
    DECISION = "decision"
    PROPOSAL = "proposal"
    OFFER = "offer"
    NAMING = "naming"
    WITHDRAWAL = "withdrawal"
    PROMISE = "promise"
    DONE = "done"
    CONSTRAINT = "constraint"
    FACT = "fact"
    FILE = "file"
    ACTION = "action"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An event as the card hears it, whatever framework it came from.

    Attributes:
        number: of the event.
        author: who said it.
        role: `user`, `assistant`, `tool`, `system`, or the kind of an event that was written directly.
        text: what a person would read of it, calls not included.
        message: id of the message, if it has one.
        place: number of the event in which the message came first; `number` unless this is an edit or a deletion.
        earlier: numbers of all events that had the message before, where this is an edit or a deletion.
        gone: whether it tells of a deletion.
        edited: whether it tells of an edit.
        calls: whether it makes tool calls.
        files: names of files in it.
        branch: its branch.
        ckpt: number of its checkpoint, or 0.
        owner: who is to do it, where an event says so itself.
        due: until when, where an event says so itself.
        backing: numbers of the events that it names as its evidence, with their authors.
        closes: number of the event whose promise it finishes, where an event says so itself.
        action: key of the action it tells of.
    """

    number: int
    author: str
    role: str
    text: str
    message: str = ""
    place: int = 0
    earlier: tuple[int, ...] = ()
    gone: bool = False
    edited: bool = False
    calls: bool = False
    files: tuple[str, ...] = ()
    branch: int = 0
    ckpt: int = 0
    owner: str = ""
    due: str = ""
    backing: tuple[tuple[int, str], ...] = ()
    closes: int = 0
    action: str = ""

    @property
    def stands_at(self) -> int:
        """Where the message stands in the conversation."""
        return self.place or self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that one event says.

    Attributes:
        sort: what it is.
        place: where its message stands in the conversation.
        part: its place among the findings of that event.
        number: the event that has the words now.
        author: who said it.
        text: verbatim, or a list of what was offered.
        message: id of the message.
        branch, ckpt: of the event.
        role: of the speaker.
        option: label of an option that is named, such as `b` or `2`.
        options: of an offer or a proposal: labels with what they stand for.
        bare: whether a decision says nothing but that it agrees, or a withdrawal nothing but that it withdraws.
        refers: whether it takes up something that was said before.
        instead: whether it says that it replaces something.
        matter: what it is about, as far as that is sure; two decisions on one matter replace each other.
        owner, due: of a promise.
        subject, value, kind: of a fact or a constraint; value is canonical.
        backing: further events that it names as evidence, with their authors.
        closes: the event whose promise it finishes; of a model's finding also the one whose entry it replaces or
            takes back.
        key: of an action or a file.
        by: which model proposed it; empty for what the rules heard.
        void_by: number of the event that edited or deleted the words; 0 while they stand.
        void_branch, void_ckpt: of that event.
    """

    sort: Sort
    place: int
    part: int = 0
    number: int
    author: str
    text: str
    message: str = ""
    branch: int = 0
    ckpt: int = 0
    role: str = ""
    option: str = ""
    options: tuple[tuple[str, str], ...] = ()
    bare: bool = False
    refers: bool = False
    instead: bool = False
    matter: str = ""
    owner: str = ""
    due: str = ""
    subject: str = ""
    value: str = ""
    kind: str = ""
    backing: tuple[tuple[int, str], ...] = ()
    closes: int = 0
    key: str = ""
    by: str = ""
    void_by: int = 0
    void_branch: int = 0
    void_ckpt: int = 0

    @property
    def coordinate(self) -> str:
        """Where it was said."""
        return f"#{self.number} {self.author}"

    @property
    def order(self) -> tuple[int, int, int]:
        """Where it stands among all findings."""
        return self.place, self.number, self.part


_FIELDS = {one.name: one for one in fields(Finding)}
_PAIRS = {"options": (str, str), "backing": (int, str)}


def findings_to_json(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Findings as plain JSON."""
    return [
        {
            name: _plain(value)
            for name, one in _FIELDS.items()
            if (value := getattr(finding, name)) != one.default or one.default is MISSING
        }
        for finding in findings
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [list(pair) for pair in value]
    return str(value) if isinstance(value, Sort) else value


def findings_from_json(tree: Any) -> tuple[Finding, ...]:
    """The findings that `findings_to_json` wrote; fields of a later version are passed over.

    Raises:
        Damaged: the tree is no list of findings.
    """
    try:
        return tuple(_finding(part) for part in tree)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Damaged("findings of a card", expected="findings as JSON", found=repr(error)) from error


def _finding(tree: Mapping[str, Any]) -> Finding:
    return Finding(**{name: _value(name, value) for name, value in tree.items() if name in _FIELDS})


def _value(name: str, value: Any) -> Any:
    """A field's value, of the type it must have."""
    if name in _PAIRS:
        first, second = _PAIRS[name]
        return tuple((first(a), second(b)) for a, b in value)
    if type(value) is not _TYPES.get(str(_FIELDS[name].type), str):
        raise TypeError(f"{name} is {type(value).__name__}")
    return Sort(str(value)) if name == "sort" else value


_TYPES = {"int": int, "bool": bool}
