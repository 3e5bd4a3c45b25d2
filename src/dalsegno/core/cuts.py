"""Where a conversation may be cut: what stays word for word, and what may be left to a digest.

Rules of this module:

* What stays: the instructions at the start, the newest user message wherever it stands, the newest messages, whatever
  still waits for something (a call without a result, a turn that awaits approval), and nothing else.
* What stays after the instructions begins with a user message where the list has one to begin with: the one that opened
  the turn. Several providers refuse a conversation that begins with an answer or a call. A caller whose list goes to
  none of them may do without.
* A call and its results stay or go together, however many calls a turn makes and wherever their results stand. A result
  belongs to the newest call before it that bears its id and has no result yet, because real transcripts use ids
  again; a second result of the same call belongs to that call.
* A result whose call is not in the list never stays: no model takes it, and the digest tells what it said.
* Nothing changes places. A cut of what a cut left takes nothing more.
* Pure, and linear in the list. "The last N" alone parts calls from results in a quarter of real conversations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dalsegno.errors import Misuse

__all__ = ["Cut", "Turn", "cut"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message as compaction sees it, whatever framework it came from.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`; any other role counts as neither instructions nor user.
        text: what a person would read of it, calls included.
        id: the message's id, if it has one.
        calls: ids of the tool calls it makes, malformed ones too when a result may answer them.
        answers: ids of the calls it is the result of; one for a tool message.
        author: who says it.
        number: its number in the thread; with the author its coordinate. 0 while it has none.
        tokens: what it costs in a request.
        pending: whether it awaits an approval or an answer from outside.
    """

    role: str
    text: str = ""
    id: str | None = None
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    author: str = ""
    number: int = 0
    tokens: int = 0
    pending: bool = False

    def __post_init__(self) -> None:
        _check_ids(self.calls)
        _check_ids(self.answers)

    @property
    def coordinate(self) -> str:
        """Number and author, such as `#126 user`."""
        return f"#{self.number} {self.author or self.role}"


def _check_ids(value: object) -> None:
    if not isinstance(value, tuple):
        raise Misuse(f"the calls and answers of a turn are ids in a tuple, not {type(value).__name__}; give a tuple.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Positions in a list of turns, ascending; each is in exactly one of the two.

    Attributes:
        kept: what stays word for word.
        evicted: what is left to the digest.
    """

    kept: tuple[int, ...]
    evicted: tuple[int, ...]


def cut(turns: Sequence[Turn], keep_recent: int, *, begin_with_user: bool = True) -> Cut:
    """Cut a conversation so that nothing is orphaned.

    Args:
        turns: the whole list, oldest first.
        keep_recent: how many of the newest turns stay, instructions at the start and results without a call not
            counted; more stay where the cut would part a call from a result.
        begin_with_user: whether the user's words that opened the first turn that stays do so too.

    Raises:
        Misuse: `keep_recent` is below 1.
    """
    if keep_recent < 1:
        raise Misuse(f"keep_recent={keep_recent}: at least the newest turn stays; give 1 or more.")
    groups, waiting, orphans = _pairs(turns)
    lead = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
    countable = [at for at in range(lead, len(turns)) if at not in orphans]
    stay = {*range(lead), *countable[-keep_recent:], *waiting}
    stay.update(at for at in countable if turns[at].pending)
    stay.update([at for at in countable if turns[at].role == "user"][-1:])
    stay.update([at for at in countable if _speaks(turns[at])][-1:])
    whole = {groups[at] for at in stay}
    if begin_with_user:
        whole.update(groups[at] for at in _opening(turns, countable, lambda at: groups[at] in whole))
    kept = tuple(at for at in range(len(turns)) if groups[at] in whole and at not in orphans)
    there = set(kept)
    return Cut(kept=kept, evicted=tuple(at for at in range(len(turns)) if at not in there))


def _opening(turns: Sequence[Turn], countable: Sequence[int], stays: Callable[[int], bool]) -> list[int]:
    """The user's words before the first turn that stays, unless that is a user's: one position, or none."""
    opened: list[int] = []
    for at in countable:
        if stays(at):
            return [] if turns[at].role == "user" and not turns[at].answers else opened
        if _speaks(turns[at]):
            opened = [at]
    return []


def _speaks(turn: Turn) -> bool:
    """Whether these are a user's own words, not the results that some transcripts put in a user's mouth."""
    return turn.role == "user" and not turn.calls and not turn.answers


def _pairs(turns: Sequence[Turn]) -> tuple[list[int], set[int], set[int]]:
    """Which turns belong together, which still wait for a result, and which are results of nothing.

    Returns:
        For each turn the first turn of its group; positions with an unanswered call; positions of orphaned results.
    """
    groups = _Groups(len(turns))
    unanswered: defaultdict[str, list[int]] = defaultdict(list)
    newest: dict[str, int] = {}
    orphans: set[int] = set()
    for at, turn in enumerate(turns):
        calls = [_call_of(id_, unanswered, newest) for id_ in turn.answers]
        known = [call for call in calls if call is not None]
        for call in known:
            groups.join(call, at)
        if calls and not known and not turn.calls:
            orphans.add(at)
        for id_ in turn.calls:
            unanswered[id_].append(at)
            newest[id_] = at
    waiting = {at for places in unanswered.values() for at in places}
    return groups.all(), waiting, orphans


def _call_of(id_: str, unanswered: defaultdict[str, list[int]], newest: dict[str, int]) -> int | None:
    """The turn whose call a result answers; that call is answered from now on."""
    return unanswered[id_].pop() if unanswered[id_] else newest.get(id_)


class _Groups:
    """Sets of positions that are joined bit by bit; each is known by its first position."""

    def __init__(self, size: int) -> None:
        self._first = list(range(size))

    def _find(self, at: int) -> int:
        while self._first[at] != at:
            self._first[at] = self._first[self._first[at]]
            at = self._first[at]
        return at

    def join(self, one: int, other: int) -> None:
        one, other = sorted((self._find(one), self._find(other)))
        self._first[other] = one

    def all(self) -> list[int]:
        return [self._find(at) for at in range(len(self._first))]
