"""A node that declares what its model calls get.

Rules of this module:

* The declaration is made once, beside the node, and checked there. The node gets the request and builds none.
* What a node is denied of a shared declaration is said with the reason, and stands in the manifest.
* The manifest is written down before the node runs, in a transaction of its own, so that a call that was cut short is
  on record too. One that cannot be written down is no reason to stop a run: it is logged.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph._internal._constants import CONFIG_KEY_RUNTIME, CONFIG_KEY_TASK_ID

from dalsegno.core.context import Manifest, Request, Section
from dalsegno.core.tokens import Count, estimate
from dalsegno.errors import DalsegnoError, Misuse
from dalsegno.langgraph.config import conf_of, fence_of
from dalsegno.langgraph.context import Context
from dalsegno.langgraph.sources import Sight, Source
from dalsegno.services.manifests import Call

__all__ = ["HasContext", "call"]

_log = logging.getLogger("dalsegno.context")

F = TypeVar("F", bound=Callable[..., Any])


class Records(Protocol):
    """The part of `ds.context` that is needed here."""

    def record(self, thread_id: str, call: Call, manifest: Manifest, *, lease: int | None = None) -> None:
        """Write down what a call is given."""

    async def arecord(self, thread_id: str, call: Call, manifest: Manifest, *, lease: int | None = None) -> None:
        """Async face of `record`."""


class HasContext(Protocol):
    """An open database that keeps manifests."""

    @property
    def context(self) -> Records:
        """Where they are kept."""


def call(
    *,
    sections: Sequence[Section | Source],
    budget: int,
    ds: HasContext | None = None,
    withheld: Mapping[str, str] | None = None,
    tools: Sequence[Any] = (),
    count: Count = estimate,
) -> Callable[[F], F]:
    """Declare what a node's call gets; the node takes it as `request`.

    Args:
        sections: what there is, each fixed or from a source; the order within a place is theirs. A list may be shared
            by several nodes.
        budget: tokens that the request may cost, tools included.
        ds: the open database that keeps the manifests; without one they are in `request.manifest` only.
        withheld: names of sections that this node does not get, each with the reason.
        tools: tool schemas that go with the call; they count.
        count: tokens of a text.

    Returns:
        A decorator for a node, a function or a coroutine function with a parameter `request` beside its state, and
        whatever else LangGraph gives a node (`config`, `runtime`, `store`).

    Raises:
        Misuse: a declaration is wrong, or the function takes no `request`. At a call: a source fails to give a section.
        BudgetTooSmall: at a call: what must stay does not fit.
    """
    declared = _Declared(sections, budget, ds, dict(withheld or {}), tools, count)

    def declare(function: F) -> F:
        signature = inspect.signature(function)
        if "request" not in signature.parameters:
            raise Misuse(f"{function.__name__} takes no request; give it a parameter of that name.")
        takes_config = "config" in signature.parameters
        name = function.__name__

        @functools.wraps(function)
        def node(*args: Any, config: RunnableConfig | None = None, **given: Any) -> Any:
            sight = declared.sight(args[-1] if args else None, config or {})
            request = declared.request([part for each in declared.sources for part in each.given(sight)])
            declared.record(sight, name, request)
            own = {"config": config} if takes_config else {}
            return function(*args, request=request, **own, **given)

        @functools.wraps(function)
        async def anode(*args: Any, config: RunnableConfig | None = None, **given: Any) -> Any:
            sight = declared.sight(args[-1] if args else None, config or {})
            request = declared.request([part for each in declared.sources for part in await each.agiven(sight)])
            await declared.arecord(sight, name, request)
            own = {"config": config} if takes_config else {}
            return await function(*args, request=request, **own, **given)

        made: Any = anode if inspect.iscoroutinefunction(function) else node
        made.__signature__ = _without_request(signature)
        return made  # type: ignore[no-any-return] # LangGraph reads the signature, callers the wrapped one

    return declare


def _without_request(signature: inspect.Signature) -> inspect.Signature:
    """The parameters for LangGraph to fill: the function's own but the request, and the config."""
    kept = [each for name, each in signature.parameters.items() if name not in ("request", "config")]
    config = signature.parameters.get("config")
    keyword = inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, annotation=RunnableConfig, default=None)
    at = next((at for at, each in enumerate(kept) if each.kind is inspect.Parameter.VAR_KEYWORD), len(kept))
    return signature.replace(
        parameters=[
            *kept[:at],
            keyword if config is None else config.replace(kind=keyword.kind, annotation=RunnableConfig),
            *kept[at:],
        ]
    )


class _Declared:
    """One node's declaration."""

    def __init__(
        self,
        sections: Sequence[Section | Source],
        budget: int,
        ds: HasContext | None,
        withheld: dict[str, str],
        tools: Sequence[Any],
        count: Count,
    ) -> None:
        given: object
        for given in sections:
            if not isinstance(given, (Section, Source)):
                raise Misuse(
                    f"{type(given).__name__} is no section; give Section(…) or a source such as from_state(…)."
                )
        names = [each.name for each in sections]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise Misuse(f"two sections are called {twice!r}; give each a name of its own.")
        for name, why in withheld.items():
            if name not in names:
                raise Misuse(f"{name!r} is withheld and not declared; the sections are {', '.join(map(repr, names))}.")
            reason: object = why
            if not isinstance(reason, str) or not reason.strip():
                raise Misuse(f"{name!r} is withheld without a reason; say why, for the manifest.")
        if type(budget) is not int or budget < 1:
            raise Misuse(f"budget={budget!r}: give a whole number of tokens from 1.")
        self.sources = tuple(_source(each) for each in sections if each.name not in withheld)
        self._ds, self._withheld, self._budget, self._tools, self._count = (
            ds,
            withheld,
            budget,
            tools,
            count,
        )

    def request(self, sections: Sequence[Section]) -> Request[Manifest]:
        """The request made of these sections."""
        return Context(sections, self._budget, tools=self._tools, withheld=self._withheld, count=self._count).request()

    def sight(self, state: Any, config: RunnableConfig) -> Sight:
        """What the sources may look at."""
        conf = conf_of(config)
        thread = conf.get("thread_id")
        store = getattr(conf.get(CONFIG_KEY_RUNTIME), "store", None)
        return Sight(
            state=state, config=config, thread_id="" if thread is None else str(thread), store=store, ds=self._ds
        )

    def record(self, sight: Sight, name: str, request: Request[Manifest]) -> None:
        """Write the manifest down, where there is a database and a thread."""
        if self._ds is None or not sight.thread_id:
            return
        try:
            self._ds.context.record(
                sight.thread_id, _call(sight.config, name), request.manifest, lease=fence_of(conf_of(sight.config))
            )
        except DalsegnoError as error:
            _unwritten(name, error)

    async def arecord(self, sight: Sight, name: str, request: Request[Manifest]) -> None:
        """Async face of `record`."""
        if self._ds is None or not sight.thread_id:
            return
        try:
            await self._ds.context.arecord(
                sight.thread_id, _call(sight.config, name), request.manifest, lease=fence_of(conf_of(sight.config))
            )
        except DalsegnoError as error:
            _unwritten(name, error)


def _source(declared: Section | Source) -> Source:
    if isinstance(declared, Source):
        return declared
    fixed = declared
    return Source(name=fixed.name, make=lambda _: fixed)


def _call(config: RunnableConfig, name: str) -> Call:
    """Where a node runs, by what LangGraph tells it."""
    conf, told = conf_of(config), config.get("metadata") or {}
    step, task = told.get("langgraph_step"), conf.get(CONFIG_KEY_TASK_ID)
    return Call(
        node=str(told.get("langgraph_node") or name),
        step=step if isinstance(step, int) else 0,
        checkpoint_id=(conf.get("checkpoint_map") or {}).get(""),
        ns=str(told.get("langgraph_checkpoint_ns") or ""),
        task=None if task is None else str(task),
    )


def _unwritten(name: str, error: DalsegnoError) -> None:
    _log.warning("the manifest of a call of %r could not be written down: %s", name, error)
