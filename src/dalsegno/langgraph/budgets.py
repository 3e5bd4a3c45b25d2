"""Budgets in a graph: nodes that count, a way out when they are spent, and an account that survives a crash.

Rules of this module:

* A node under the budget sets its step and each of its model calls aside before they begin, and settles them by what
  the provider reports. A call that would exceed is not begun; the node then ends with an update that says so, and the
  graph's own edge leads to the defined end. No exception leaves the node for it.
* The field of the state adds up what the nodes spent, parallel ones too; it is what edges look at. With a database the
  account there decides, and it knows what the state does not: calls whose process died before their checkpoint.
* A run begins at the node `begin`, which a resumed run does not pass again; its id is that of the node's task, so that
  a repetition of that node is the same run.
* Near a limit there is one warning in the log for each run and limit, and the name in the field's `near`.
"""

from __future__ import annotations

import functools
import inspect
import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Annotated, Any, Protocol, TypeAlias, TypeVar
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph._internal._constants import CONFIG_KEY_TASK_ID
from langgraph.graph import END

from dalsegno.core.budgets import Limits, Price, Prices, Spent, add_spending, near, over, passed
from dalsegno.core.tokens import Count, estimate
from dalsegno.errors import BudgetSpent, Misuse
from dalsegno.langgraph.config import conf_of, fence_of
from dalsegno.services.spending import Account, Standing

__all__ = ["Budget", "HasBudgets", "Meter", "Spending"]

_log = logging.getLogger("dalsegno.budgets")

F = TypeVar("F", bound=Callable[..., Any])

Spending: TypeAlias = Annotated[dict[str, Any], add_spending]
"""The field of a state that a budget adds up in: `budget: Spending`."""


class Accounts(Protocol):
    """The part of `ds.budgets` that is needed here."""

    def reserve(self, account: Account, ask: Spent) -> Standing:
        """Set something aside."""

    def settle(self, account: Account, difference: Spent) -> None:
        """Correct what was set aside."""


class HasBudgets(Protocol):
    """An open database that keeps accounts."""

    @property
    def budgets(self) -> Accounts:
        """The accounts."""


class Budget:
    """What a run, its thread and its tenant may spend; see the module's rules."""

    def __init__(
        self,
        *,
        run: Limits | None = None,
        thread: Limits | None = None,
        tenant: Limits | None = None,
        prices: Mapping[str, Price] | None = None,
        ds: HasBudgets | None = None,
        period: str | Callable[[], str] = "",
        key: str = "budget",
        answer_tokens: int = 0,
        count: Count = estimate,
    ) -> None:
        """Take the limits.

        Args:
            run: what one run may spend; None does not limit.
            thread: what all runs of a thread may.
            tenant: what all threads of the tenant may, in a period.
            prices: by model name; needed for limits on money.
            ds: the open database with the accounts; needed for limits of threads and tenants, and for a run's budget to
                survive a crash in the middle of a call.
            period: which of the tenant's budgets is charged, such as "2026-12"; a function is asked at each call.
            key: the state's field.
            answer_tokens: set aside for an answer where the model has no limit of its own.
            count: tokens of a text, for what is set aside before the provider reports.

        Raises:
            Misuse: limits without what they need, or a value of the wrong kind.
        """
        self.limits = {
            name: _checked(name, limits)
            for name, limits in (("run", run), ("thread", thread), ("tenant", tenant))
            if limits is not None
        }
        self.prices = Prices(prices or {})
        if not self.limits:
            raise Misuse("a budget without limits limits nothing; give run=Limits(…), thread= or tenant=.")
        for name, limits in self.limits.items():
            if limits.money is not None and not self.prices:
                raise Misuse(f"{name}=Limits(money=…) needs prices; give prices={{'model': Price(input=…, output=…)}}.")
            if name != "run" and ds is None:
                raise Misuse(f"a limit for the {name} needs the database with the accounts; give it with ds=.")
        if type(answer_tokens) is not int or answer_tokens < 0:
            raise Misuse(f"answer_tokens={answer_tokens!r}: give a whole number from 0.")
        self.key, self.count, self.answer_tokens = key, count, answer_tokens
        self._ds, self._period = ds, period
        self._told: set[Hashable] = set()

    # --- in a graph

    def begin(self, state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ARG002 - LangGraph's call
        """A node for the start of a graph: a run's budget begins here, and is the same when the run is resumed."""
        return {self.key: {"begin": self.new_run(config)}}

    @staticmethod
    def new_run(config: RunnableConfig) -> str:
        """The id of a run that begins in this task; the same when the task runs again."""
        task = conf_of(config).get(CONFIG_KEY_TASK_ID)
        return str(task) if task else uuid4().hex

    def node(self, function: F) -> F:
        """A node under the budget: its step, its time, and every model call inside it are counted.

        Model calls are seen through LangChain's callbacks, as LangGraph hands them to whatever the node calls.

        Args:
            function: a node, sync or async, that returns an update as a mapping, or None.

        Returns:
            The node. Its update holds what was spent; when a call was refused, nothing but that and the names of the
            limits, under the budget's key.
        """
        from dalsegno.langgraph.metering import watched  # noqa: PLC0415 - a budget alone needs no callbacks

        signature = inspect.signature(function)
        takes_config = "config" in signature.parameters

        def inner(args: tuple[Any, ...], config: RunnableConfig, given: dict[str, Any]) -> Any:
            own = {"config": config} if takes_config else {}
            return function(*args, **own, **given)

        @functools.wraps(function)
        def node(*args: Any, config: RunnableConfig | None = None, **given: Any) -> Any:
            meter = self.meter(args[-1] if args else None, config or {})
            try:
                meter.step()
                with watched(meter, config or {}) as seen, meter.timed():
                    found = inner(args, seen, given)
            except BudgetSpent:
                found = None
            return meter.told(found)

        @functools.wraps(function)
        async def anode(*args: Any, config: RunnableConfig | None = None, **given: Any) -> Any:
            meter = self.meter(args[-1] if args else None, config or {})
            try:
                await _apart(meter.step)
                with watched(meter, config or {}) as seen, meter.timed(settle=False):
                    found = await inner(args, seen, given)
            except BudgetSpent:
                found = None
            finally:
                await _apart(meter.settle_time)
            return meter.told(found)

        made: Any = anode if inspect.iscoroutinefunction(function) else node
        made.__signature__ = _with_config(signature)
        return made  # type: ignore[no-any-return] # LangGraph reads the signature, callers the wrapped one

    def route(self, then: str | Callable[[Any], Any], *, exhausted: str = END) -> Callable[[Any], Any]:
        """A conditional edge: to the defined end when the budget is spent, else on.

        Args:
            then: the next node, or a function of the state that names it.
            exhausted: the node for when it is spent; the graph's end where it is left out.

        A run that ends anyway ends as it would, unless something was refused to it.
        """

        def choose(state: Any) -> Any:
            if self.held(state).get("exhausted"):
                return exhausted
            goal = then(state) if callable(then) else then
            return exhausted if goal != END and self.spent_up(state) else goal

        return choose

    def spent_up(self, state: Any) -> tuple[str, ...]:
        """Names of the limits that a state's budget has reached, such as `run: tokens`; none while it goes on."""
        held = self.held(state)
        own = passed(self.limits.get("run", Limits()), Spent.from_json(held.get("spent", {})))
        return tuple(dict.fromkeys([*held.get("exhausted", ()), *(f"run: {name}" for name in own)]))

    def left(self, state: Any) -> dict[str, int]:
        """What is left of the run's limits, by the state: tokens, calls, steps, microseconds, billionths of money."""
        limits, spent = self.limits.get("run", Limits()), Spent.from_json(self.held(state).get("spent", {}))
        names = {"seconds": "micros", "money": "nanos"}
        return {kind: max(0, limits.of(kind) - int(getattr(spent, names.get(kind, kind)))) for kind in limits.given}

    # --- accounts

    def held(self, state: Any) -> dict[str, Any]:
        """The budget's field of a state."""
        found = state.get(self.key) if isinstance(state, Mapping) else getattr(state, self.key, None)
        return dict(found or {})

    def meter(self, state: Any, config: RunnableConfig) -> Meter:
        """What counts one node's spending."""
        return Meter(self, self.held(state), config)

    def ask(self, account: Account | None, held: Spent, ask: Spent) -> Standing:
        """Set something aside: in the account where there is one, else by what the state and this node know."""
        if account is not None and self._ds is not None:
            return self._ds.budgets.reserve(account, ask)
        limits = self.limits.get("run", Limits())
        exhausted = over(limits, held, ask)
        if exhausted:
            return Standing(spent={"run": held}, refused="run", exhausted=exhausted)
        close = near(limits, held + ask)
        return Standing(spent={"run": held + ask}, near={"run": close} if close else {})

    def settle(self, account: Account | None, difference: Spent) -> None:
        """Correct what was set aside, where there is an account."""
        if account is not None and self._ds is not None and difference != Spent():
            self._ds.budgets.settle(account, difference)

    def account(self, held: Mapping[str, Any], config: RunnableConfig) -> Account | None:
        """The account that a node is charged to; None without a database or a thread."""
        conf = conf_of(config)
        if self._ds is None or conf.get("thread_id") is None:
            return None
        period = self._period() if callable(self._period) else self._period
        return Account(
            thread=str(conf["thread_id"]),
            run=str(held.get("run") or ""),
            period=period,
            limits=self.limits,
            fence=fence_of(conf),
        )

    def warn(self, who: Hashable, close: Mapping[str, tuple[str, ...]], spent: Mapping[str, Spent]) -> tuple[str, ...]:
        """Say once for each run and limit that it is near; returns the names."""
        names = tuple(f"{scope}: {kind}" for scope, kinds in close.items() for kind in kinds)
        for name in names:
            if (who, name) not in self._told:
                self._told.add((who, name))
                scope = name.partition(":")[0]
                _log.warning("budget near its limit: %s of %s; spent %s", name, who, spent[scope].to_json())
        return names


class Meter:
    """Counts what one node spends; used from several threads when the node calls several models at once."""

    def __init__(self, budget: Budget, held: Mapping[str, Any], config: RunnableConfig) -> None:
        """Take the budget, its field as the step began, and the run's config."""
        self.budget = budget
        self._before = Spent.from_json(held.get("spent", {}))
        self._run = str(held.get("run") or "")
        self._account = budget.account(held, config)
        self._spent = Spent()
        self._near: tuple[str, ...] = ()
        self._exhausted: tuple[str, ...] = ()
        self._unsettled = Spent()
        self._lock = threading.Lock()

    def step(self) -> None:
        """Count a step, if there is one left.

        Raises:
            BudgetSpent: there is none.
        """
        self.reserve(Spent(steps=1))

    def reserve(self, ask: Spent) -> None:
        """Set something aside, if there is room for it.

        Raises:
            BudgetSpent: there is none; nothing was set aside.
        """
        with self._lock:
            standing = self.budget.ask(self._account, self._before + self._spent, ask)
            if standing.refused:
                refusal = BudgetSpent(standing.refused, standing.exhausted)
                self.note(refusal.names)
                raise refusal
            self._spent += ask
            self._near += self.budget.warn(self._who, standing.near, standing.spent)

    def note(self, names: tuple[str, ...]) -> None:
        """Note the limits, such as `run: tokens`, that ended this."""
        self._exhausted += names
        _log.warning("budget spent: %s of %s", ", ".join(names), self._who)

    def settle(self, difference: Spent) -> None:
        """Correct what was set aside by what it really was."""
        with self._lock:
            self.budget.settle(self._account, difference)
            self._spent += difference

    def timed(self, *, settle: bool = True) -> _Timed:
        """Count the time of what is done inside."""
        return _Timed(self, settle=settle)

    def took(self, seconds: float, *, settle: bool) -> None:
        """Count time."""
        time_spent = Spent(micros=round(seconds * 1_000_000))
        if settle:
            self.settle(time_spent)
        else:
            with self._lock:
                self._spent += time_spent
                self._unsettled += time_spent

    def settle_time(self) -> None:
        """Put counted time into the account."""
        with self._lock:
            self.budget.settle(self._account, self._unsettled)
            self._unsettled = Spent()

    @property
    def update(self) -> dict[str, Any]:
        """What the budget's field gets."""
        found: dict[str, Any] = {"spent": self._spent.to_json()}
        if self._near:
            found["near"] = sorted(set(self._near))
        if self._exhausted:
            found["exhausted"] = sorted(set(self._exhausted))
        return {self.budget.key: found}

    def told(self, found: Any) -> Any:
        """A node's update with what it spent.

        Raises:
            Misuse: it is no mapping.
        """
        if found is None:
            return self.update
        if not isinstance(found, Mapping):
            raise Misuse(
                f"a node under a budget returned {type(found).__name__}; let it return a mapping of its updates, and "
                "route with an edge."
            )
        return {**found, **self.update}

    @property
    def _who(self) -> str:
        thread = self._account.thread if self._account is not None else ""
        return f"thread {thread!r}, run {self._run!r}" if thread else f"run {self._run!r}"


class _Timed:
    """Counts the time between its entry and its end, also when what is inside fails."""

    def __init__(self, meter: Meter, *, settle: bool) -> None:
        self._meter, self._settle, self._began = meter, settle, 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self._meter.took(time.perf_counter() - self._began, settle=self._settle)


async def _apart(work: Callable[[], None]) -> None:
    """Do something that waits for the database, in a thread of its own."""
    import asyncio  # noqa: PLC0415 - only async nodes wait

    await asyncio.to_thread(work)


def _checked(name: str, limits: object) -> Limits:
    if not isinstance(limits, Limits):
        raise Misuse(f"{name}={limits!r} is no limit; give Limits(tokens=…, calls=…, …).")
    if not limits.given:
        raise Misuse(f"{name}=Limits() limits nothing; give tokens, calls, steps, seconds or money, or leave it out.")
    return limits


def _with_config(signature: inspect.Signature) -> inspect.Signature:
    """A node's parameters with the config among them, for LangGraph to fill."""
    kept = [each for name, each in signature.parameters.items() if name != "config"]
    config = inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, annotation=RunnableConfig, default=None)
    at = next((at for at, each in enumerate(kept) if each.kind is inspect.Parameter.VAR_KEYWORD), len(kept))
    return signature.replace(parameters=[*kept[:at], config, *kept[at:]])
