"""A section as it is shown at one level, and what that costs.

Rules of this module:

* An excerpt of a text is the one that was given, else its own words (`core/extracts.py`); of messages, the newest, cut
  where no call is parted from its result (`core/cuts.py`). The oldest go in steps of up to half of what fits, so that
  the first message shown stays the first for several turns.
* A result whose call is not in the list is never shown: no model takes it.
* What a section costs is counted as it will stand, fence and all. A level that does not fit its room is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dalsegno.core.context.sections import Fidelity, Section
from dalsegno.core.cuts import Turn, cut
from dalsegno.core.extracts import extract
from dalsegno.core.fences import section as fence
from dalsegno.core.tokens import MESSAGE_TOKENS, Count

__all__ = ["Part", "Shown"]

NO_MARK = "0" * 10
_LEAST_EXCERPT = 16
_ENOUGH = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A section at one level.

    Attributes:
        fidelity: the level; an excerpt where messages had to stay away at full.
        tokens: what it costs.
        text: what stands in its fence, or plain; "" where messages speak for themselves.
        kept: positions of the messages that are shown.
        why: why messages stay away at this level.
    """

    fidelity: Fidelity
    tokens: int
    text: str = ""
    kept: tuple[int, ...] = ()
    why: str = ""


class Part:
    """A section with its messages read."""

    def __init__(self, section: Section, read: Callable[[Any, str, Count], Turn], count: Count) -> None:
        """Read the messages; instructions at their start are set apart, for they belong to the head.

        Raises:
            Misuse: an element is no message.
        """
        self.section, self._count = section, count
        turns = [read(message, f"{section.name}[{at}]", count) for at, message in enumerate(section.messages)]
        lead = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
        if not section.has_voice:
            lead = 0
        self.instructions = tuple(turn.text for turn in turns[:lead])
        self.turns: Sequence[Turn] = turns[lead:]
        self.messages: Sequence[Any] = section.messages[lead:]
        told = "\n".join(f"{turn.author or turn.role}: {turn.text}" for turn in self.turns)
        self.text = section.text or ("" if section.has_voice else told)
        self.whole_tokens = sum(turn.tokens for turn in self.turns) if section.has_voice else self.cost(self.text)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show now."""
        return not self.text and not self.turns

    def framed(self, text: str, mark: str = NO_MARK) -> str:
        """A text of this section as it stands in the request."""
        section = self.section
        if section.is_plain:
            return text
        return fence(text, mark, {"name": section.name, "trust": section.trust, "source": section.source})

    def cost(self, text: str) -> int:
        """Tokens of a text of this section as it stands."""
        return self._count(self.framed(text)) + MESSAGE_TOKENS if text else 0

    def at(self, level: Fidelity, room: int) -> Shown | None:
        """The section at a level, or None where that does not fit.

        Args:
            level: how much of it.
            room: what it may cost; an excerpt without a size of its own takes as much of it as it can use.
        """
        if self.empty or level is Fidelity.LEFT_OUT:
            return Shown(fidelity=Fidelity.LEFT_OUT, tokens=0)
        if level is Fidelity.FULL:
            return self._newest(_ENOUGH) if self.section.has_voice else self._said(self.text, level)
        if level is Fidelity.SUMMARY:
            return _fitting(self._said(self.section.summary, level), room)
        if level is Fidelity.REFERENCE:
            return _fitting(self._said(self._reference(), level), room)
        if self.section.excerpt_tokens:
            room = min(room, self.section.excerpt_tokens)
        if self.section.has_voice:
            return _fitting(self._newest(room), room)
        return self._excerpt(room)

    def _said(self, text: str, level: Fidelity, why: str = "") -> Shown:
        return Shown(fidelity=level, tokens=self.cost(text), text=text, why=why)

    def _reference(self) -> str:
        what = f"{len(self.turns)} messages" if self.turns else f"{len(self.text)} characters"
        return f"Not shown here: {what}" + (f", at {self.section.source}." if self.section.source else ".")

    def _excerpt(self, room: int) -> Shown | None:
        if self.section.excerpt:
            return _fitting(self._said(self.section.excerpt, Fidelity.EXCERPT), room)
        if self.section.excerpt_chars:
            return _fitting(self._said(extract(self.text, self.section.excerpt_chars, len), Fidelity.EXCERPT), room)
        inner = room - self.cost("x")
        while inner >= _LEAST_EXCERPT:
            shown = self._said(extract(self.text, inner, self._count), Fidelity.EXCERPT)
            if not shown.text:
                return None
            if shown.tokens <= room:
                return shown
            inner -= max(1, shown.tokens - room)
        return None

    def _newest(self, room: int) -> Shown:
        """The newest messages that fit, rounded so that the first of them stays the first for several turns."""
        size, most = len(self.turns), self.section.keep_recent
        low, high = 0 if most is None else max(0, size - most), size
        while low < high:
            middle = (low + high) // 2
            if self._window(middle).tokens <= room:
                high = middle
            else:
                low = middle + 1
        if low >= size:
            return self._window(max(0, size - 1))
        half = (size - low) // 2
        step = self.section.stride or (half if most is not None and size - low == most else _power_of_two(half))
        start = -(-low // step) * step if 0 < step <= max(1, half) else low
        return self._window(start)

    def _window(self, start: int) -> Shown:
        turns = self.turns
        kept = cut(turns, max(1, len(turns) - start)).kept if turns else ()
        gone = len(turns) - len(kept)
        recent = self.section.keep_recent
        unasked = not start and gone
        why = (
            "" if not gone else "results without their call" if unasked else f"only the newest {recent} were asked for"
        )
        return Shown(
            fidelity=Fidelity.FULL if not gone or unasked else Fidelity.EXCERPT,
            tokens=sum(turns[at].tokens for at in kept),
            kept=kept,
            why=why if recent or unasked else "",
        )


def _power_of_two(most: int) -> int:
    """The largest power of two up to a number; 0 for 0. It seldom changes when the number does a little."""
    return 1 << (most.bit_length() - 1) if most else 0


def _fitting(shown: Shown, room: int) -> Shown | None:
    return shown if shown.tokens <= room else None
