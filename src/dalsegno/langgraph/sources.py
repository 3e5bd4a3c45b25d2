"""Where a node's sections come from: the state, its messages, its documents, the handover card, the store.

Rules of this module:

* A source is declared once and asked at each call; it gives one section or several, always under its own name. One
  that has nothing now gives an empty section, so that the manifest says so and the rest of the request stays as it is.
* What a source puts in is declared with it: trust, priority, place and ladder are those of `Section`.
* A source that has to wait is for async nodes; a sync node that meets one refuses it.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, Unpack

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig

from dalsegno.core.card.entries import Card
from dalsegno.core.card.rendering import render as rendered
from dalsegno.core.context import Fidelity, Place, Section, Trust
from dalsegno.core.cuts import cut
from dalsegno.core.rendering import told
from dalsegno.errors import Misuse, ThreadNotFound
from dalsegno.langgraph.options import summary_of
from dalsegno.langgraph.turns import turns_of

__all__ = [
    "HasHandover",
    "Sight",
    "Source",
    "Traits",
    "from_documents",
    "from_function",
    "from_handover",
    "from_messages",
    "from_state",
]

_CARD_TOKENS = 1200

Given: TypeAlias = Section | Sequence[Section]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a source may look at.

    Attributes:
        state: the node's state.
        config: the run's config.
        thread_id: the thread; "" where the run has none.
        store: the graph's store, if it has one.
        ds: the open database that the call was declared with, if any.
    """

    state: Any
    config: RunnableConfig
    thread_id: str = ""
    store: Any = None
    ds: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A declared section, to be made at each call.

    Attributes:
        name: of its section, or the beginning of the names of its sections.
        make: gives it.
        amake: gives it in an async node; `make` where it is None.
    """

    name: str
    make: Callable[[Sight], Given | Awaitable[Given]]
    amake: Callable[[Sight], Given | Awaitable[Given]] | None = None

    def given(self, sight: Sight) -> tuple[Section, ...]:
        """Its sections now.

        Raises:
            Misuse: it has to be awaited, or gives something else.
        """
        found = self.make(sight)
        if inspect.isawaitable(found):
            if inspect.iscoroutine(found):
                found.close()
            raise Misuse(
                f"the source {self.name!r} has to be awaited; make the node async, or give it a sync function."
            )
        return self._checked(found)

    async def agiven(self, sight: Sight) -> tuple[Section, ...]:
        """Its sections now, in an async node."""
        found = (self.amake or self.make)(sight)
        return self._checked(await found if inspect.isawaitable(found) else found)

    def _checked(self, found: object) -> tuple[Section, ...]:
        given = (found,) if isinstance(found, Section) else tuple(found) if isinstance(found, (list, tuple)) else None
        if given is None or not all(isinstance(section, Section) for section in given):
            raise Misuse(f"the source {self.name!r} gave {type(found).__name__}; let it return a Section, or several.")
        return given


class Traits(TypedDict, total=False):
    """What may be declared of a section beside what it says; see `Section`."""

    source: str
    trust: Trust | str
    fidelity: Fidelity | str
    priority: int
    place: Place | str
    excerpt_tokens: int
    excerpt_chars: int
    keep_recent: int
    stride: int
    ladder: Sequence[Fidelity | str]


def _section(name: str, traits: Mapping[str, Any], **said: Any) -> Section:
    return Section(name=name, **{**traits, **said})


def _checked(name: str, traits: Mapping[str, Any], **said: Any) -> None:
    """Refuse wrong traits when they are declared, not at the first call."""
    unknown = [key for key in traits if key not in Traits.__annotations__]
    if unknown:
        raise Misuse(f"source {name!r}: unknown option {unknown[0]!r}; there are {', '.join(Traits.__annotations__)}.")
    _section(name, traits, **said)


def from_function(name: str, make: Callable[[Sight], Given | Awaitable[Given]]) -> Source:
    """A section made by a function of its own, sync or async, from what the node sees: state, config, store, `ds`."""
    return Source(name=name, make=make)


def from_state(
    key: str, name: str | None = None, *, render: Callable[[Any], str] | None = None, **traits: Unpack[Traits]
) -> Source:
    """A section from a field of the state.

    Args:
        key: the field.
        name: of the section; the field's where it is left out.
        render: the value as text. By itself: text as it is, a summary as compaction shows it, anything else as JSON.
        traits: of the section; `source` is the field where it is left out.

    Raises:
        Misuse: a trait is wrong.
    """
    called = name or key
    options: dict[str, Any] = {"source": f"state.{key}", **traits}
    _checked(called, options)

    def make(sight: Sight) -> Section:
        value = _field(sight.state, key)
        text = "" if value is None else (render or _rendered)(value)
        return _section(called, options, text=text)

    return Source(name=called, make=make)


def from_documents(key: str, name: str | None = None, **traits: Unpack[Traits]) -> Source:
    """A section for each document in a field of the state, of third parties by itself, each in a fence of its own.

    Args:
        key: a field with LangChain documents, texts, or mappings with `text` (or `page_content`) and `source`.
        name: their names are this and their number; the field's where it is left out.
        traits: of each section.

    Raises:
        Misuse: a trait is wrong, or an element is no document.
    """
    called = name or key
    options: dict[str, Any] = {"trust": Trust.THIRD_PARTY, **traits}
    _checked(called, options)

    def make(sight: Sight) -> list[Section]:
        found = _field(sight.state, key) or []
        sections = [
            _section(f"{called}[{at}]", {"source": f"state.{key}[{at}]", **options, **_document(each, f"{key}[{at}]")})
            for at, each in enumerate(found)
        ]
        return sections or [_section(called, {"source": f"state.{key}", **options})]

    return Source(name=called, make=make)


def _document(value: Any, place: str) -> dict[str, str]:
    if isinstance(value, Document):
        fields: Mapping[str, Any] = {**value.metadata, "text": value.page_content}
    elif isinstance(value, Mapping):
        fields = {**value, "text": value.get("text", value.get("page_content"))}
    else:
        fields = {"text": value}
    text, source = fields.get("text"), fields.get("source")
    if not isinstance(text, str):
        raise Misuse(
            f"{place} is no document but {type(value).__name__}; give texts, documents, or mappings with text."
        )
    return {"text": text, **({"source": source} if isinstance(source, str) and source else {})}


def from_messages(
    name: str = "conversation",
    *,
    key: str = "messages",
    part: Literal["all", "earlier", "current"] = "all",
    last: int | None = None,
    **traits: Unpack[Traits],
) -> Source:
    """A section of the state's messages, as messages.

    Args:
        name: of the section.
        key: the field with the messages.
        part: `current` is the newest user message and all after it, with whatever belongs to its calls; `earlier` is
            all before; `all` is both. Evidence between the two stands between conversation and question.
        last: at most so many of the newest. The oldest go in steps of half that many, so that the beginning of the
            request stays the same for several turns.
        traits: of the section. Trust is `user`; what is current stands at the tail.

    Raises:
        Misuse: a trait or the part is wrong.
    """
    if part not in ("all", "earlier", "current"):
        raise Misuse(f"part={part!r}: give 'all', 'earlier' or 'current'.")
    place = Place.TAIL if part == "current" else Place.MIDDLE
    options: dict[str, Any] = {"source": f"state.{key}", "trust": Trust.USER, "place": place, **traits}
    if last is not None:
        options["keep_recent"] = last
    _checked(name, options)

    def make(sight: Sight) -> Section:
        return _section(name, options, messages=_part(_field(sight.state, key) or [], part))

    return Source(name=name, make=make)


def _part(messages: Sequence[Any], part: str) -> Sequence[Any]:
    """The messages of a part; a call and its results are in the same one."""
    if part == "all":
        return messages
    turns = turns_of(messages)
    asked = max((at for at, turn in enumerate(turns) if turn.role == "user"), default=len(turns))
    lead = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
    orphans = set(range(len(turns))) - set(cut(turns, max(1, len(turns))).kept)
    countable = sum(1 for at in range(asked, len(turns)) if at not in orphans)
    kept = cut(turns, countable, begin_with_user=False).kept if countable else ()
    current = {at for at in kept if at >= lead}
    return [message for at, message in enumerate(messages) if (at in current) == (part == "current")]


class Handover(Protocol):
    """The part of `ds.handover` that is needed here."""

    def card(self, thread_id: str) -> Any:
        """The handover card of a thread."""

    def acard(self, thread_id: str) -> Awaitable[Any]:
        """Async face of `card`."""


class HasHandover(Protocol):
    """An open database with handover cards."""

    @property
    def handover(self) -> Handover:
        """Its cards."""


def from_handover(
    render: Callable[[Card], str] | None = None,
    name: str = "card",
    *,
    ds: HasHandover | None = None,
    **traits: Unpack[Traits],
) -> Source:
    """A section with the thread's handover card, at the head by itself.

    Args:
        render: the card as text; by itself as `ds.handover` shows it, in at most 1,200 tokens.
        name: of the section.
        ds: the open database; the one that the call was declared with where it is left out.
        traits: of the section.

    Raises:
        Misuse: a trait is wrong; at the call: there is no database.
    """
    options: dict[str, Any] = {"source": "handover", "trust": Trust.OWN, "place": Place.HEAD, **traits}
    _checked(name, options)
    shown = _card if render is None else render

    def cards(sight: Sight) -> Handover:
        found: HasHandover | None = sight.ds if ds is None else ds
        if found is None:
            raise Misuse(f"source {name!r} needs the database with the cards; give it with ds=.")
        return found.handover

    def make(sight: Sight) -> Section:
        try:
            card = cards(sight).card(sight.thread_id) if sight.thread_id else None
        except ThreadNotFound:  # nothing is stored of a thread's first turn yet
            card = None
        return _section(name, options, text="" if card is None else shown(card))

    async def amake(sight: Sight) -> Section:
        try:
            card = await cards(sight).acard(sight.thread_id) if sight.thread_id else None
        except ThreadNotFound:  # nothing is stored of a thread's first turn yet
            card = None
        return _section(name, options, text="" if card is None else shown(card))

    return Source(name=name, make=make, amake=amake)


def _card(card: Card) -> str:
    """A card's own text; nothing of one that says nothing yet."""
    return rendered(card, _CARD_TOKENS).text if any(True for _ in card.entries) else ""


def _field(state: Any, key: str) -> Any:
    return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)


def _rendered(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and "spans" in value:
        return told(summary_of(value))
    return json.dumps(value, ensure_ascii=False, default=str)
