"""`ds.histories`: message lists that other frameworks keep in threads; what the adapters for them are made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

from dalsegno.contracts import Op, Store
from dalsegno.core import codec
from dalsegno.core.card.listening import DECIDERS
from dalsegno.core.histories import carrying
from dalsegno.core.journal import Kind
from dalsegno.errors import Misuse
from dalsegno.faces.arguments import a_count, a_text
from dalsegno.faces.face import Face
from dalsegno.faces.runs import Lease
from dalsegno.langgraph.said import said_of
from dalsegno.services import histories
from dalsegno.services.histories import Part
from dalsegno.services.ids import thread_name
from dalsegno.services.threads_row import Scope

__all__ = ["Histories", "Share", "calling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One event of an item.

    Attributes:
        message: what it says, in LangChain's words.
        value: the framework's item; in its further shares the rest of it.
        note: whether nobody said it, such as a model's reasoning: it can be found and read, and goes into no request
            word for word.
    """

    message: BaseMessage
    value: Any
    note: bool = False


def calling(name: str, arguments: Any, call_id: str) -> dict[str, list[dict[str, Any]]]:
    """A call of a tool as fields of an `AIMessage`.

    Args:
        name: the tool.
        arguments: a mapping, or JSON as the model wrote it; what is neither is an invalid call, told as it is.
        call_id: by which the result names it.
    """
    given = arguments
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            given = None
    if isinstance(given, Mapping):
        call = {"name": name, "args": dict(given), "id": call_id, "type": "tool_call"}
        return {"tool_calls": [call], "invalid_tool_calls": []}
    wrong = {"name": name, "args": str(arguments), "id": call_id, "error": None, "type": "invalid_tool_call"}
    return {"tool_calls": [], "invalid_tool_calls": [wrong]}


class Histories(Face):
    """Message lists by thread, each with one keeper: the name of the framework whose items they are."""

    def __init__(self, store: Store, scope: Callable[[], Scope], deciders: Collection[str] = DECIDERS) -> None:
        """Take the store, on whose behalf to work, and whose word decides, for the card."""
        super().__init__(store, scope)
        self._deciders = frozenset(deciders)

    def items(self, thread_id: str, keeper: str, limit: int | None = None) -> list[list[Any]]:
        """The items that stand, oldest first, each as the values of its shares.

        Args:
            thread_id: the thread; one that is not there, or is another user's, has none.
            keeper: the framework.
            limit: at most so many, the newest ones.

        Raises:
            OtherKeeper: the thread's messages are kept by something else.
        """
        return self._run(lambda scope: self._items(scope, thread_id, keeper, limit))

    async def aitems(self, thread_id: str, keeper: str, limit: int | None = None) -> list[list[Any]]:
        """Async face of `items`."""
        return await self._arun(lambda scope: self._items(scope, thread_id, keeper, limit))

    def add(self, thread_id: str, keeper: str, items: Sequence[Sequence[Share]], *, lease: Lease | None = None) -> None:
        """Put items at the end, all or none; durable on return.

        Args:
            thread_id: the thread; made if there is none.
            keeper: the framework.
            items: each one or more shares.
            lease: the lease to write under, while one is live.

        Raises:
            OtherKeeper: the thread's messages are kept by something else.
            NotSerializable: a value cannot be stored exactly; nothing was written.
            ThreadNotFound: the thread is another user's.
            ThreadDeleted, LeaseHeld: the thread takes no writes from here.
        """
        if parts := _parts(keeper, items):
            self._run(lambda scope: self._add(scope, thread_id, keeper, parts, lease), write=True, key=thread_id)

    async def aadd(
        self, thread_id: str, keeper: str, items: Sequence[Sequence[Share]], *, lease: Lease | None = None
    ) -> None:
        """Async face of `add`."""
        if parts := _parts(keeper, items):
            await self._arun(lambda scope: self._add(scope, thread_id, keeper, parts, lease), write=True, key=thread_id)

    def save(
        self,
        thread_id: str,
        keeper: str,
        items: Sequence[Sequence[Share]],
        *,
        replace: bool = False,
        lease: Lease | None = None,
    ) -> int:
        """Make the list exactly these items, in one transaction.

        Args:
            thread_id: the thread; made if there is none.
            keeper: the framework.
            items: the whole list.
            replace: whether items that stand and are not in the list are taken out.
            lease: the lease to write under, while one is live.

        Returns:
            How many items were new.

        Raises:
            HistoryMoved: the list that stands is not the beginning of this one, and `replace` is False.
            OtherKeeper, NotSerializable, ThreadNotFound, ThreadDeleted, LeaseHeld: as `add`.
        """
        parts = _parts(keeper, items)
        return self._run(
            lambda scope: self._save(scope, thread_id, keeper, parts, replace, lease), write=True, key=thread_id
        )

    async def asave(
        self,
        thread_id: str,
        keeper: str,
        items: Sequence[Sequence[Share]],
        *,
        replace: bool = False,
        lease: Lease | None = None,
    ) -> int:
        """Async face of `save`."""
        parts = _parts(keeper, items)
        return await self._arun(
            lambda scope: self._save(scope, thread_id, keeper, parts, replace, lease), write=True, key=thread_id
        )

    def pop(self, thread_id: str, keeper: str, *, lease: Lease | None = None) -> list[Any] | None:
        """Take the last item out of the list, not out of the journal; None where nothing stands.

        Raises:
            OtherKeeper, ThreadDeleted, LeaseHeld: as `add`.
        """
        return self._run(lambda scope: self._pop(scope, thread_id, keeper, lease), write=True, key=thread_id)

    async def apop(self, thread_id: str, keeper: str, *, lease: Lease | None = None) -> list[Any] | None:
        """Async face of `pop`."""
        return await self._arun(lambda scope: self._pop(scope, thread_id, keeper, lease), write=True, key=thread_id)

    def clear(self, thread_id: str, keeper: str, *, lease: Lease | None = None) -> int:
        """Take all items out of the list, not out of the journal; returns how many. Raises what `pop` raises."""
        return self._run(lambda scope: self._clear(scope, thread_id, keeper, lease), write=True, key=thread_id)

    async def aclear(self, thread_id: str, keeper: str, *, lease: Lease | None = None) -> int:
        """Async face of `clear`."""
        return await self._arun(lambda scope: self._clear(scope, thread_id, keeper, lease), write=True, key=thread_id)

    def messages(self, thread_id: str) -> list[BaseMessage] | None:
        """What stands, in LangChain's words and without the frameworks' items; None where no framework keeps it.

        Raises:
            ThreadNotFound: no such thread, or another user's.
        """
        trees = self._run(lambda scope: histories.standing_messages(scope, thread_name(thread_id)))
        if trees is None:
            return None
        return [codec.decode({key: part for key, part in tree.items() if key != _METADATA}) for tree in trees]

    def _items(self, scope: Scope, thread_id: str, keeper: str, limit: int | None) -> Op[list[list[Any]]]:
        a_count("limit", limit, optional=True)
        return histories.read(scope, thread_name(thread_id), keeper, limit)

    def _add(
        self, scope: Scope, thread_id: str, keeper: str, parts: Sequence[Sequence[Part]], lease: Lease | None
    ) -> Op[None]:
        return histories.add(scope, thread_name(thread_id), keeper, parts, fence=_token(lease), deciders=self._deciders)

    def _save(
        self,
        scope: Scope,
        thread_id: str,
        keeper: str,
        parts: Sequence[Sequence[Part]],
        replace: bool,  # noqa: FBT001 - passed on
        lease: Lease | None,
    ) -> Op[int]:
        return histories.replace(
            scope,
            thread_name(thread_id),
            keeper,
            parts,
            anyway=replace,
            fence=_token(lease),
            deciders=self._deciders,
        )

    def _pop(self, scope: Scope, thread_id: str, keeper: str, lease: Lease | None) -> Op[list[Any] | None]:
        return histories.pop(scope, thread_name(thread_id), keeper, fence=_token(lease), deciders=self._deciders)

    def _clear(self, scope: Scope, thread_id: str, keeper: str, lease: Lease | None) -> Op[int]:
        return histories.clear(scope, thread_name(thread_id), keeper, fence=_token(lease), deciders=self._deciders)


_METADATA = "response_metadata"


def _parts(keeper: str, items: Sequence[Sequence[Share]]) -> list[list[Part]]:
    """Items as they are stored; a value that cannot be is refused here, before anything is written."""
    a_text("keeper", keeper)
    return [
        [_part(keeper, share, f"items[{at}]", begins=place == 0) for place, share in enumerate(item)]
        for at, item in enumerate(items)
    ]


def _part(keeper: str, share: Share, path: str, *, begins: bool) -> Part:
    value = codec.encode(share.value, path)
    message = share.message.model_copy(update={"id": "event-0", _METADATA: {}})
    said = said_of(message, None)
    tree = codec.encode(message, path)
    if said is None or not isinstance(tree, dict):
        raise Misuse(f"{path}: the message of a share is a LangChain message, not {type(message).__name__}.")
    return Part(
        kind=Kind.NOTE if share.note else said.kind,
        author=said.author,
        text=said.text,
        tree={**tree, _METADATA: carrying(keeper, value, begins=begins)},
        by_person=said.by_person,
    )


def _token(lease: Lease | None) -> int | None:
    return None if lease is None else lease.token
