"""The first request of a reopened conversation: rules, card, newest messages, and everything after the card.

Rules of this module:

* Order: today's rules, which come from the caller and never from the past; the card; what has happened since the card,
  line by line, where it is no message or finds no room as one; the newest messages, word for word.
* A call and its results are in or out together. A call that nobody answered is told in a line: no model takes it as a
  message, and whether its effect has happened is for the ledger to say.
* Everything after the cursor is in: as a message, as a line, or at the least as numbers in a range of such lines. The
  rest of the budget goes to the card, then to older messages.
* Never over the budget. One that has no room for the rules and the least of a card is an error that names the least.
* The manifest says of every part what it costs and how much of it went in, and of what was left out why.
* What others have said is fenced: it cannot close its fence, and it is never among the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalsegno.core.card.entries import Card
from dalsegno.core.card.rendering import Rendered, Sheet, in_chinese
from dalsegno.core.cuts import Turn, cut
from dalsegno.core.digest import digest
from dalsegno.core.pieces import fenced
from dalsegno.core.request import Request
from dalsegno.core.summary import Ranges, ranges_of
from dalsegno.core.tokens import MESSAGE_TOKENS, Count, estimate
from dalsegno.errors import BudgetTooSmall

__all__ = ["Included", "LeftOut", "Manifest", "Recent", "pack"]

_CARD_SHARE = 0.5
_SLACK = 8
_SINCE = (
    "Since then (#{first} to #{last}), line by line; what follows as messages is not repeated:",
    "此后发生的事（#{first} 至 #{last}），逐行列出；下文以消息形式出现的不再重复：",
)
_SKIPPED = (
    "{count} more events after #{cursor} are not shown; look them up by number or by their words.",
    "#{cursor} 之后另有 {count} 条事件未列出，可按编号或原文查找。",
)
_NO_MESSAGE = "before the card and no message; the card stands for it"
"""Of what is told in a line after the cursor, and not again before it."""
_EVIDENCE = 900
"""Characters of a single message that are looked at for a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """One of the newest events.

    Attributes:
        turn: the event with its number; its text, role, calls and cost.
        message: what may go in word for word; None for what is no message, or must not be repeated as one.
        note: why it may not, for the manifest.
        barred: whether it must not go in at all, in no form.
    """

    turn: Turn
    message: Any = None
    note: str = ""
    barred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Included:
    """A part of a request.

    Attributes:
        part: `rules`, `card`, `delta` or `recent`.
        fidelity: `full`, `excerpt` or `lines`.
        tokens: what it costs.
        numbers: of the events that it gives.
        count: how many things are in it.
    """

    part: str
    fidelity: str
    tokens: int
    numbers: Ranges = ()
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What is not in a request.

    Attributes:
        part: where it would have been.
        why: the reason.
        numbers: of the events it concerns.
        count: how many things.
    """

    part: str
    why: str
    numbers: Ranges = ()
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What went into a request, at what fidelity, and what did not.

    Attributes:
        included, left_out: the parts.
        budget_tokens: what was allowed.
        tokens: what it costs.
        cursor: up to where the card was when it was read.
        head: number of the last event.
        version: of the card.
        extraction: how far a model has looked for what the rules missed, and why it failed if it did; empty where none
            was asked.
    """

    included: tuple[Included, ...]
    left_out: tuple[LeftOut, ...]
    budget_tokens: int
    tokens: int
    cursor: int
    head: int
    version: int
    extraction: str = ""

    @property
    def numbers(self) -> Ranges:
        """Numbers of all events that are in it, in whatever form."""
        return ranges_of(
            number for part in self.included for first, last in part.numbers for number in range(first, last + 1)
        )

    def __str__(self) -> str:
        card = f"card version {self.version} up to #{self.cursor} of #{self.head}"
        lines = [f"{self.tokens} of {self.budget_tokens} tokens; {card}"]
        lines += [
            f"  + {one.part}: {one.count} ({one.fidelity}), {one.tokens} tokens{_shown(one.numbers)}"
            for one in self.included
        ]
        lines += [f"  - {one.part}: {one.count}, {one.why}{_shown(one.numbers)}" for one in self.left_out]
        if self.extraction:
            lines.append(f"  · {self.extraction}")
        return "\n".join(lines)


def _shown(numbers: Ranges) -> str:
    shown = ", ".join(f"#{first}" if first == last else f"#{first}–#{last}" for first, last in numbers[:6])
    return f"  {shown}{' …' if len(numbers) > 6 else ''}" if shown else ""  # noqa: PLR2004 - a line's worth


def pack(
    card: Card,
    recent: Sequence[Recent],
    *,
    rules: Sequence[str] = (),
    budget_tokens: int = 4000,
    cursor: int | None = None,
    skipped: int = 0,
    count: Count = estimate,
) -> Request[Manifest]:
    """Put a request together; see the module's rules.

    Args:
        card: the card.
        recent: the newest events, oldest first; all after the cursor, and some before it.
        rules: today's rules and permissions.
        budget_tokens: what the request may cost.
        cursor: up to where the card was when it was read; the card's own where it is left out.
        skipped: how many events after the cursor are not among `recent`.
        count: tokens of a text.

    Raises:
        BudgetTooSmall: the rules and the least of a card do not fit.
    """
    cursor = card.last_event_id if cursor is None else cursor
    packing = _Packing(card, recent, tuple(rules), budget_tokens, cursor, skipped, count)
    return packing.request()


class _Packing:
    """One request in the making."""

    def __init__(
        self,
        card: Card,
        recent: Sequence[Recent],
        rules: tuple[str, ...],
        budget_tokens: int,
        cursor: int,
        skipped: int,
        count: Count,
    ) -> None:
        self.card, self.recent, self.budget = card, recent, budget_tokens
        self.cursor, self.skipped, self.count = cursor, skipped, count
        self.chinese = in_chinese(
            [*(entry.text for entry in card.entries), *(one.turn.text[:_EVIDENCE] for one in recent[-12:])]
        )
        self.sheet = Sheet(card, count, chinese=self.chinese)
        self.rules = "\n".join(rules)
        self.delta = [one for one in recent if one.turn.number > cursor and not one.barred]

    def request(self) -> Request[Manifest]:
        least = self._put_together(0, frozenset(), 0)
        if least.tokens > self.budget:
            parts = {part.part: part.tokens for part in least.manifest.included if part.tokens}
            raise BudgetTooSmall(budget_tokens=self.budget, minimum=least.tokens, least=parts)
        room = self.budget - self._message(self.rules)
        for spare in (0, *(2**at for at in range(5, 12))):
            built = self._built(room - spare)
            if built is not None and built.tokens <= self.budget:
                return built
        return least

    def _built(self, room: int) -> Request[Manifest] | None:
        """A request that ought to fit into so much room besides the rules; None where it cannot."""
        least = self._message(fenced(self.sheet.within(0).text))
        want = self.sheet.total + self._message(fenced(""))
        must = self._lines_cost(self.delta, 0)
        if room < least + must:
            return None
        whole_delta = sum(one.turn.tokens for one in self.delta if one.message is not None) + self._lines_cost(
            [one for one in self.delta if one.message is None], None
        )
        # The card leaves half of the room to messages, and gets back below what they do not need.
        card_room = min(want, max(least, min(room - whole_delta, int(room * _CARD_SHARE))), room - must)
        kept = self._kept(room - card_room)
        raw = sum(self.recent[at].turn.tokens for at in kept)
        lines, _ = self._lines(self._told(kept), room - card_room - raw - _SLACK)
        card_room = max(least, min(want, room - raw - sum(self.count(line) + 1 for line in lines) - _SLACK))
        return self._put_together(card_room, kept, room - card_room - raw - _SLACK)

    def _told(self, kept: frozenset[int]) -> list[Recent]:
        """Events after the cursor that are told in lines."""
        return [
            one
            for at, one in enumerate(self.recent)
            if at not in kept and one.turn.number > self.cursor and not one.barred
        ]

    def _put_together(self, card_room: int, kept: frozenset[int], lines_room: int) -> Request[Manifest]:
        """The request of a card of so many tokens, these messages, and lines of so many tokens."""
        told = self._told(kept)
        lines, fidelity = self._lines(told, lines_room)
        record, shown = self._card(card_room, lines)
        tokens = self._message(self.rules) + self._message(record) + sum(self.recent[at].turn.tokens for at in kept)
        left = [
            LeftOut(part=f"card: {name}", why="no room; the journal has them", count=number)
            for name, number in shown.left.items()
        ]
        manifest = Manifest(
            included=tuple(self._included(kept, told, shown.text, lines, fidelity)),
            left_out=(*left, *self._left(kept, told)),
            budget_tokens=self.budget,
            tokens=tokens,
            cursor=self.cursor,
            head=self.recent[-1].turn.number if self.recent else 0,
            version=self.card.version,
            extraction="" if self.card.extraction is None else str(self.card.extraction),
        )
        messages = (
            *([{"role": "system", "content": self.rules}] if self.rules else []),
            {"role": "system", "content": record},
            *(self.recent[at].message for at in sorted(kept)),
        )
        return Request(messages=messages, manifest=manifest, tokens=tokens)

    # --- what it costs

    def _message(self, text: str) -> int:
        return self.count(text) + MESSAGE_TOKENS if text else 0

    def _card(self, room: int, lines: Sequence[str]) -> tuple[str, Rendered]:
        overhead = self._message(fenced(""))
        shown = self.sheet.within(max(0, room - overhead))
        return fenced("\n".join((shown.text, *lines))), shown

    def _lines_cost(self, told: Sequence[Recent], budget: int | None) -> int:
        """What lines for these events cost at the least (0), or whole (None)."""
        if not told and not self.skipped:
            return 0
        if budget is None:
            return sum(self.count(str(one.turn.coordinate) + one.turn.text) + 4 for one in told) + 2 * MESSAGE_TOKENS
        lines, _ = self._lines(told, 0)
        return sum(self.count(line) + 1 for line in lines)

    # --- what goes in

    def _kept(self, room: int) -> frozenset[int]:
        """Places of the newest messages that go in word for word: as many as fit, no pair parted."""
        usable = [at for at, one in enumerate(self.recent) if one.message is not None]
        if not usable:
            return frozenset()
        turns = [self.recent[at].turn for at in usable]
        # What is told in lines anyway: events after the cursor that are no messages.
        lines = self._lines_cost([one for one in self.delta if one.message is None], 0)
        total = 0
        sizes = []
        for size in range(1, len(turns) + 1):
            total += turns[-size].tokens
            if total > room:
                break
            sizes.append(size)
        for size in reversed(sizes):
            chosen = frozenset(usable[at] for at in self._window(turns, size))
            rest = [
                one
                for at, one in enumerate(self.recent)
                if one.turn.number > self.cursor and one.message is not None and at not in chosen
            ]
            price = sum(self.recent[at].turn.tokens for at in chosen) + lines
            if price + (self._lines_cost(rest, 0) if rest else 0) <= room:
                return chosen
        return frozenset()

    def _window(self, turns: Sequence[Turn], size: int) -> list[int]:
        """Places of the newest turns, pairs unbroken, beginning with a user's where that parts nothing."""
        kept = list(cut(turns, size).kept)
        start = min(len(turns) - size, kept[0] if kept else 0)
        kept = [at for at in kept if at >= start or turns[at].calls or turns[at].answers]
        first = next((place for place, at in enumerate(kept) if turns[at].role == "user"), None)
        if first:
            trial = kept[first:]
            asked = {id_ for at in trial for id_ in turns[at].calls}
            if all(id_ in asked for at in trial for id_ in turns[at].answers):
                kept = trial
        return kept

    def _lines(self, told: Sequence[Recent], room: int) -> tuple[list[str], str]:
        """Events after the cursor as lines, in so much room if that is possible at all."""
        if not told and not self.skipped:
            return [], "lines"
        lines: list[str] = []
        fidelity = "lines"
        if told:
            head = _SINCE[self.chinese].format(first=told[0].turn.number, last=told[-1].turn.number)
            turns = [one.turn for one in told]
            found = digest(turns, max(0, room - self.count(head) - 4), self.count)
            fidelity = (
                "full"
                if all(" ".join(turn.text.split()) in "\n".join(map(str, found)) for turn in turns)
                else "excerpt"
            )
            lines = [head, *map(str, found)]
        if self.skipped:
            lines.append(_SKIPPED[self.chinese].format(count=self.skipped, cursor=self.cursor))
        return lines, fidelity

    # --- what the manifest says

    def _included(
        self, kept: frozenset[int], told: Sequence[Recent], card: str, lines: Sequence[str], fidelity: str
    ) -> list[Included]:
        found = []
        if self.rules:
            found.append(Included(part="rules", fidelity="full", tokens=self._message(self.rules), count=1))
        found.append(
            Included(part="card", fidelity="full", tokens=self.count(card), count=sum(1 for _ in self.card.entries))
        )
        if told:
            found.append(
                Included(
                    part="delta",
                    fidelity=fidelity,
                    tokens=sum(self.count(line) + 1 for line in lines),
                    numbers=ranges_of(one.turn.number for one in told),
                    count=len(told),
                )
            )
        for part, after in (("delta", True), ("recent", False)):
            mine = [self.recent[at].turn for at in sorted(kept) if (self.recent[at].turn.number > self.cursor) == after]
            if mine:
                found.append(
                    Included(
                        part=part,
                        fidelity="full",
                        tokens=sum(turn.tokens for turn in mine),
                        numbers=ranges_of(turn.number for turn in mine),
                        count=len(mine),
                    )
                )
        return found

    def _left(self, kept: frozenset[int], told: Sequence[Recent]) -> list[LeftOut]:
        found = []
        if self.skipped:
            found.append(
                LeftOut(
                    part="delta", why="too many at once; bring the card up to date with refresh", count=self.skipped
                )
            )
        lined = {one.turn.number for one in told}
        reasons: dict[str, list[int]] = {}
        for at, one in enumerate(self.recent):
            if at not in kept and one.turn.number not in lined:
                before = one.message is None and not one.barred
                reasons.setdefault(_NO_MESSAGE if before else one.note or "no room", []).append(one.turn.number)
        found += [
            LeftOut(part="recent", why=why, numbers=ranges_of(numbers), count=len(numbers))
            for why, numbers in reasons.items()
        ]
        first = self.recent[0].turn.number if self.recent else 0
        if first > 1:
            found.append(
                LeftOut(
                    part="history", why="older; the card stands for them", numbers=((1, first - 1),), count=first - 1
                )
            )
        return found
