"""One section of a call: what it says, whose word it is, how much it matters, and how it may give way.

Rules of this module:

* A section is a text or a list of messages, with a name of its own in its context.
* Trust decides where it may stand: rules, and nothing but rules and the application's own records, stand among the
  instructions. What users and third parties said never does.
* Rules and what stands at the tail (the question) never give way, unless they are declared to. Anything else gives
  way level by level: full, excerpt, summary (where one is given), reference, left out. A ladder of its own says
  otherwise.
* Wrong declarations are refused when they are made, not when the budget is short.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from dalsegno.errors import Misuse

__all__ = ["Fidelity", "Place", "Section", "Trust"]

_MAX_NAME = 80
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

E = TypeVar("E", bound=StrEnum)


class Trust(StrEnum):
    """Whose word a section is."""

    RULES = "rules"
    OWN = "own"
    USER = "user"
    THIRD_PARTY = "third_party"


class Fidelity(StrEnum):
    """How much of a section is shown, from all to nothing."""

    FULL = "full"
    EXCERPT = "excerpt"
    SUMMARY = "summary"
    REFERENCE = "reference"
    LEFT_OUT = "left_out"


class Place(StrEnum):
    """Where a section stands: among the instructions, between, or at the end with the question."""

    HEAD = "head"
    MIDDLE = "middle"
    TAIL = "tail"


_ORDER = tuple(Fidelity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section; see the module's rules.

    Attributes:
        name: unique in its context; one line.
        text: what it says. Either this or `messages`; with neither there is nothing to show now.
        messages: what it says, as messages, oldest first.
        source: where it comes from: a coordinate, an address, a field of the state.
        trust: `rules`, `own`, `user` or `third_party`. Messages of a third party are told inside a fence, as text: a
            message of their own would lend them a role.
        fidelity: the most that is shown of it.
        priority: of two sections the one with the lower number gives way first; of equals the one declared later.
        place: `head`, `middle` or `tail`; `head` for rules, else `middle`.
        excerpt_tokens: size of its excerpt. Left out: what room there is.
        excerpt_chars: the same in characters, for texts.
        excerpt: the text that is its excerpt, such as its first lines. Left out: the stretches of it that matter most.
        summary: a shorter text that may stand for it.
        keep_recent: of messages, at most so many of the newest are shown.
        stride: of messages, so many go at once when the oldest have to, so that the beginning of the request stays the
            same over several turns. Left out: up to half of what fits; 1 shows the most there is room for.
        ladder: levels that it may give way to, from more to less; `()` for none; None for the usual ones.
    """

    name: str
    text: str = ""
    messages: Sequence[Any] = ()
    source: str = ""
    trust: Trust | str = Trust.OWN
    fidelity: Fidelity | str = Fidelity.FULL
    priority: int = 50
    place: Place | str | None = None
    excerpt_tokens: int | None = None
    excerpt_chars: int | None = None
    excerpt: str = ""
    summary: str = ""
    keep_recent: int | None = None
    stride: int | None = None
    ladder: Sequence[Fidelity | str] | None = None

    def __post_init__(self) -> None:
        self._check_words()
        self._set("trust", _member(Trust, self.trust, self._of("trust")))
        self._set("fidelity", _member(Fidelity, self.fidelity, self._of("fidelity")))
        standing = Place.HEAD if self.trust is Trust.RULES else Place.MIDDLE
        self._set("place", standing if self.place is None else _member(Place, self.place, self._of("place")))
        self._set("messages", tuple(self.messages))
        self._set("source", self.source.encode("utf-8", "replace").decode())
        self._check_numbers()
        self._check_place()
        if self.ladder is not None:
            self._set("ladder", self._checked_ladder(self.ladder))
        for level in (self.fidelity, *(self.ladder or ())):
            if level is Fidelity.SUMMARY and not self.summary:
                raise Misuse(f"{self._of('summary')} is missing; give the text that may stand for it.")

    @property
    def levels(self) -> tuple[Fidelity, ...]:
        """How it may be shown, from the most to the least."""
        most = Fidelity(self.fidelity)
        if self.ladder is not None:
            return (most, *map(Fidelity, self.ladder))
        if self.trust is Trust.RULES or self.place is Place.TAIL:
            return (most,)
        below = _ORDER[_ORDER.index(most) + 1 :]
        return (most, *(level for level in below if level is not Fidelity.SUMMARY or self.summary))

    @property
    def has_voice(self) -> bool:
        """Whether it is shown as messages of their own roles."""
        return bool(self.messages) and self.trust is not Trust.THIRD_PARTY

    @property
    def is_plain(self) -> bool:
        """Whether its text stands without a fence: the rules, and the user's own question at the tail."""
        return self.trust is Trust.RULES or (self.trust is Trust.USER and self.place is Place.TAIL)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _of(self, what: str) -> str:
        return f"section {self.name!r}: {what}"

    def _check_words(self) -> None:
        name: object = self.name
        if not isinstance(name, str) or not name.strip() or len(name) > _MAX_NAME or _CONTROL.search(name):
            raise Misuse(f"a section's name is one line of at most {_MAX_NAME} characters, not {name!r:.100}; name it.")
        for what in ("text", "source", "summary", "excerpt"):
            value = getattr(self, what)
            if not isinstance(value, str):
                raise Misuse(f"{self._of(what)} is {type(value).__name__}; give text.")
        if isinstance(self.messages, str) or not isinstance(self.messages, Sequence):
            raise Misuse(f"{self._of('messages')} are {type(self.messages).__name__}; give a list of messages.")
        if self.text and self.messages:
            raise Misuse(f"{self._of('text and messages')} were both given; make two sections of it.")

    def _check_numbers(self) -> None:
        if type(self.priority) is not int:
            raise Misuse(f"{self._of('priority')}={self.priority!r}: give a whole number; the lower gives way first.")
        for what in ("excerpt_tokens", "excerpt_chars", "keep_recent", "stride"):
            value = getattr(self, what)
            if value is not None and (type(value) is not int or value < 1):
                raise Misuse(f"{self._of(what)}={value!r}: give a whole number from 1, or leave it out.")
        if self.excerpt_tokens and self.excerpt_chars:
            raise Misuse(f"{self._of('excerpt_tokens and excerpt_chars')} were both given; give one of them.")
        if self.excerpt and (self.excerpt_tokens or self.excerpt_chars or self.messages):
            raise Misuse(
                f"{self._of('excerpt')} was given with messages or with a size; an excerpt of your own is of a text, "
                "and as long as it is."
            )
        if self.excerpt_chars and self.messages:
            raise Misuse(f"{self._of('excerpt_chars')} is for texts; give messages excerpt_tokens or keep_recent.")

    def _check_place(self) -> None:
        if self.trust is Trust.RULES and (self.place is not Place.HEAD or self.messages):
            raise Misuse(f"{self._of('rules')} are a text at the head; messages and other places are for other trust.")
        if self.place is Place.HEAD and (self.messages or self.trust not in (Trust.RULES, Trust.OWN)):
            raise Misuse(
                f"{self._of(f'trust={str(self.trust)!r}')} may not stand at the head, among the instructions; only "
                "texts of trust 'rules' and 'own' may. Place it in the middle."
            )

    def _checked_ladder(self, given: Any) -> tuple[Fidelity, ...]:
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise Misuse(f"{self._of('ladder')}={given!r}: give a list of levels, such as ['excerpt', 'left_out'].")
        ladder = tuple(_member(Fidelity, level, self._of("ladder")) for level in given)
        places = [_ORDER.index(level) for level in (Fidelity(self.fidelity), *ladder)]
        if any(after <= before for before, after in itertools.pairwise(places)):
            raise Misuse(
                f"{self._of('ladder')} goes from more to less, below {str(self.fidelity)!r}; got {list(given)}."
            )
        return ladder


def _member(kind: type[E], value: object, what: str) -> E:
    try:
        return kind(value)  # type: ignore[arg-type] # a text of no member is what is caught
    except ValueError:
        raise Misuse(f"{what}={value!r}: give one of {', '.join(repr(each.value) for each in kind)}.") from None
