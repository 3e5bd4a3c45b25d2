"""`ds.handover`: how a conversation is taken up again: its card, and the first request."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from langchain_core.tools import BaseTool

from dalsegno.contracts import Op, Store
from dalsegno.core.card.entries import Card
from dalsegno.core.card.packing import Manifest, pack
from dalsegno.core.journal import Event, Kind
from dalsegno.core.request import Request
from dalsegno.core.tokens import Count, estimate
from dalsegno.errors import Misuse
from dalsegno.faces.arguments import a_count, a_text
from dalsegno.faces.face import Face
from dalsegno.faces.journal import Journal
from dalsegno.faces.runs import Lease
from dalsegno.langgraph.handing import in_messages, recent_of
from dalsegno.langgraph.said import text_of_value
from dalsegno.langgraph.searching import history_tools
from dalsegno.services import handover
from dalsegno.services.handover import Material, Said
from dalsegno.services.ids import thread_name
from dalsegno.services.threads_row import Scope

__all__ = ["Handover"]

_RECENT = 60
"""So many of the newest events are looked at for messages."""
_COORDINATE = re.compile(r"#?\s?([0-9]{1,9})\b")


class Handover(Face):
    """Cards by thread, kept while the conversations run, and the requests that are made of them."""

    def __init__(self, store: Store, scope: Callable[[], Scope], deciders: Collection[str], journal: Journal) -> None:
        """Take the store, on whose behalf to work, whose word decides, and the journal that the tools read."""
        super().__init__(store, scope)
        self._deciders = frozenset(deciders)
        self._journal = journal

    def card(self, thread_id: str) -> Card:
        """Where a conversation stands: goal, decisions, open matters, actions, files, values, constraints.

        Reads the stored card and the events after it, in a bounded number of statements; no model is called.

        Raises:
            ThreadNotFound: no such thread, or another user's.
            Damaged: the journal has a gap.
        """
        return self._run(lambda scope: handover.card(scope, thread_name(thread_id), self._deciders))

    async def acard(self, thread_id: str) -> Card:
        """Async face of `card`."""
        return await self._arun(lambda scope: handover.card(scope, thread_name(thread_id), self._deciders))

    def pack(
        self,
        thread_id: str,
        budget_tokens: int = 4000,
        rules: Sequence[str] = (),
        *,
        count: Count = estimate,
    ) -> Request[Manifest]:
        """The first request of a reopened conversation: rules, card, newest messages, everything after the card.

        Args:
            thread_id: the thread.
            budget_tokens: what the request may cost at most.
            rules: today's rules and permissions; those of the past are not used.
            count: tokens of a text.

        Returns:
            Messages for a model, what is in them and what is not, and what they cost. The user's new message is added
            by the caller.

        Raises:
            ThreadNotFound: no such thread, or another user's.
            BudgetTooSmall: the rules and the least of a card do not fit; the error says what does.
            Damaged: the journal has a gap.
        """
        given = _rules(rules)
        _check(budget_tokens, count)
        found = self._run(lambda scope: self._material(scope, thread_id))
        return _packed(found, budget_tokens, given, count)

    async def apack(
        self,
        thread_id: str,
        budget_tokens: int = 4000,
        rules: Sequence[str] = (),
        *,
        count: Count = estimate,
    ) -> Request[Manifest]:
        """Async face of `pack`."""
        given = _rules(rules)
        _check(budget_tokens, count)
        found = await self._arun(lambda scope: self._material(scope, thread_id))
        return _packed(found, budget_tokens, given, count)

    def decide(
        self,
        thread_id: str,
        text: str,
        evidence: Sequence[int | str] = (),
        by: str = "agent",
        *,
        lease: Lease | None = None,
    ) -> int:
        """Write a decision down: an event, and an entry of the card, in one transaction.

        Args:
            thread_id: the thread.
            text: what was decided.
            evidence: numbers or coordinates of the events in which it was; the decision itself where there are none.
            by: on whose word.
            lease: the lease to write under, while one is live.

        Returns:
            The event's number.

        Raises:
            Ungrounded: the text states a number or a date that its evidence does not.
            Missing: an event of the evidence is not on the way to the head.
            ThreadNotFound: no such thread, or another user's.
        """
        return self._say(thread_id, _said(Kind.DECISION, by, text, evidence), lease)

    async def adecide(
        self,
        thread_id: str,
        text: str,
        evidence: Sequence[int | str] = (),
        by: str = "agent",
        *,
        lease: Lease | None = None,
    ) -> int:
        """Async face of `decide`."""
        return await self._asay(thread_id, _said(Kind.DECISION, by, text, evidence), lease)

    def todo(
        self,
        thread_id: str,
        text: str,
        owner: str = "",
        due: str = "",
        evidence: Sequence[int | str] = (),
        by: str = "agent",
        *,
        lease: Lease | None = None,
    ) -> int:
        """Write down what is to be done, by whom and until when; raises what `decide` raises.

        Returns:
            The event's number, by which it is `done`.
        """
        return self._say(thread_id, _said(Kind.TODO, by, text, evidence, owner=owner, due=due), lease)

    async def atodo(
        self,
        thread_id: str,
        text: str,
        owner: str = "",
        due: str = "",
        evidence: Sequence[int | str] = (),
        by: str = "agent",
        *,
        lease: Lease | None = None,
    ) -> int:
        """Async face of `todo`."""
        return await self._asay(thread_id, _said(Kind.TODO, by, text, evidence, owner=owner, due=due), lease)

    def done(self, thread_id: str, what: int | str, by: str = "agent", *, lease: Lease | None = None) -> int:
        """Write down that something open is done.

        Args:
            thread_id: the thread.
            what: number or coordinate of the event in which it was promised, or words that say what is done.
            by: on whose word.
            lease: the lease to write under, while one is live.

        Returns:
            The event's number.

        Raises:
            Missing: there is no such event on the way to the head.
            ThreadNotFound: no such thread, or another user's.
        """
        return self._say(thread_id, _ended(what, by), lease)

    async def adone(self, thread_id: str, what: int | str, by: str = "agent", *, lease: Lease | None = None) -> int:
        """Async face of `done`."""
        return await self._asay(thread_id, _ended(what, by), lease)

    def refresh(self, thread_id: str) -> Card:
        """Take in whatever the card lacks, however much that is, and write it down.

        Needed only for threads that came whole (an import, another program's database) and are long.

        Raises:
            ThreadNotFound: no such thread, or another user's.
        """
        name = thread_name(thread_id)
        self._run(lambda scope: handover.refresh(scope, name, self._deciders), write=True, key=name)
        return self.card(thread_id)

    async def arefresh(self, thread_id: str) -> Card:
        """Async face of `refresh`."""
        name = thread_name(thread_id)
        await self._arun(lambda scope: handover.refresh(scope, name, self._deciders), write=True, key=name)
        return await self.acard(thread_id)

    def quotes(self, thread_id: str, numbers: Sequence[int | str]) -> list[Event]:
        """The original words behind coordinates: events of the head's lineage, in order.

        Args:
            thread_id: the thread.
            numbers: numbers or coordinates; those that are not on the way to the head are left out.

        Raises:
            ThreadNotFound: no such thread, or another user's.
        """
        wanted = tuple(map(_number, numbers))
        return self._run(lambda scope: handover.quotes(scope, thread_name(thread_id), wanted, text_of_value))

    async def aquotes(self, thread_id: str, numbers: Sequence[int | str]) -> list[Event]:
        """Async face of `quotes`."""
        wanted = tuple(map(_number, numbers))
        return await self._arun(lambda scope: handover.quotes(scope, thread_name(thread_id), wanted, text_of_value))

    def tools(self, thread_id: str) -> list[BaseTool]:
        """`search_history` and `read_events` as LangChain tools, bound to one thread.

        Args:
            thread_id: the only thread that they read. Whether it is there shows when they are called.
        """
        return history_tools(self._journal, thread_name(thread_id))

    def _material(self, scope: Scope, thread_id: str) -> Op[Material]:
        return handover.material(scope, thread_name(thread_id), self._deciders, text_of_value, recent=_RECENT)

    def _say(self, thread_id: str, said: Said, lease: Lease | None) -> int:
        name = thread_name(thread_id)
        token = None if lease is None else lease.token
        return self._run(
            lambda scope: handover.say(scope, name, said, self._deciders, fence=token), write=True, key=name
        )

    async def _asay(self, thread_id: str, said: Said, lease: Lease | None) -> int:
        name = thread_name(thread_id)
        token = None if lease is None else lease.token
        return await self._arun(
            lambda scope: handover.say(scope, name, said, self._deciders, fence=token), write=True, key=name
        )


def _packed(found: Material, budget_tokens: int, rules: Sequence[str], count: Count) -> Request[Manifest]:
    return in_messages(
        pack(
            found.card,
            recent_of(found.recent, count, found.deleted),
            rules=rules,
            budget_tokens=budget_tokens,
            cursor=found.cursor,
            skipped=found.skipped,
            count=count,
        )
    )


def _said(kind: Kind, by: str, text: str, evidence: Sequence[int | str], *, owner: str = "", due: str = "") -> Said:
    for name, value in (("text", text), ("by", by), ("owner", owner), ("due", due)):
        a_text(name, value)
    if not text.strip():
        raise Misuse(f"text is blank; say what is {'decided' if kind is Kind.DECISION else 'to be done'}.")
    if isinstance(evidence, str):
        raise Misuse(f"evidence={evidence!r} is one text; give a list of numbers or coordinates, such as ['#12 user'].")
    return Said(kind=kind, author=by, text=text, evidence=tuple(map(_number, evidence)), owner=owner, due=due)


def _ended(what: int | str, by: str) -> Said:
    a_text("by", by)
    if isinstance(what, str) and not what.lstrip().startswith("#"):
        return _said(Kind.DONE, by, what, ())
    return Said(kind=Kind.DONE, author=by, text="", closes=_number(what))


def _number(given: Any) -> int:
    """The number of an event, or of a coordinate."""
    if type(given) is int and given > 0:
        return given
    found = _COORDINATE.match(given.strip()) if isinstance(given, str) else None
    if found is None or not int(found[1]):
        raise Misuse(f"{given!r} names no event; give its number, such as 12, or its coordinate, such as '#12 user'.")
    return int(found[1])


def _rules(rules: Any) -> tuple[str, ...]:
    if isinstance(rules, str):
        rules = (rules,)
    for at, rule in enumerate(rules):
        a_text(f"rules[{at}]", rule)
    return tuple(rule for rule in rules if rule.strip())


def _check(budget_tokens: object, count: object) -> None:
    a_count("budget_tokens", budget_tokens)
    if not callable(count):
        raise Misuse(f"count={type(count).__name__}: give a function from text to tokens.")
