"""What runs, threads and tenants have spent: reserved before a call, settled after it.

Rules of this module:

* Asking and setting aside are one transaction under the thread's lock and the tenant's row, so that calls side by side
  never together exceed what each alone was allowed.
* What was set aside for a call whose process died stays spent: a crash is never a fresh budget.
* A thread's total and its tenant's outlive its runs; deleting a thread gives nothing back to the tenant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dalsegno.contracts import Op, Step
from dalsegno.core.budgets import Limits, Spent, near, over
from dalsegno.core.rights import Right
from dalsegno.services.frames import from_micros
from dalsegno.services.ids import pack_name, unpack_name
from dalsegno.services.threads_row import NOBODY, Scope, ThreadRow, find_thread, lock_thread

__all__ = ["TENANT", "Account", "RunSpent", "Standing", "forget_thread", "reserve", "runs", "settle", "spent", "tenant"]

TENANT = 0
"""Stands in the column of a thread for the tenant's own rows; no thread has this number."""

_TOTAL = ""
_UNLIMITED = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Whose budgets a call is charged to.

    Attributes:
        thread: the thread's id.
        run: the run's id; "" charges the thread and the tenant only.
        period: which of the tenant's budgets, such as a month; "" for one without end.
        limits: by `run`, `thread` and `tenant`, as far as there are any.
        fence: fencing token of the run's lease.
    """

    thread: str
    run: str = ""
    period: str = ""
    limits: Mapping[str, Limits] = field(default_factory=dict)
    fence: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How an account stands after something was asked of it.

    Attributes:
        spent: by `run`, `thread` and `tenant`, what was granted included.
        refused: whose budget had no room; "" where it was granted.
        exhausted: names of the limits that had none.
        near: by scope, names of the limits that are near.
    """

    spent: Mapping[str, Spent]
    refused: str = ""
    exhausted: tuple[str, ...] = ()
    near: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpent:
    """What one run has spent.

    Attributes:
        run: its id.
        at: when it spent last, aware UTC.
        spent: what.
    """

    run: str
    at: datetime
    spent: Spent


def reserve(scope: Scope, account: Account, ask: Spent) -> Op[Standing]:
    """Ask whether something may be spent, and set it aside if so; see `dalsegno.faces.budgets.Budgets.reserve`."""
    row = yield from lock_thread(scope, account.thread, create=True, fence=account.fence)
    places = _places(row, account)
    # The tenant's row is written first: that locks it against the calls of other threads until the commit.
    yield _add(row, places["tenant"], Spent())
    spent = {}
    for name, place in places.items():
        spent[name] = yield from _read(row, place)
    for name, used in spent.items():
        exhausted = over(account.limits.get(name, _UNLIMITED), used, ask)
        if exhausted:
            return Standing(spent=spent, refused=name, exhausted=exhausted)
    for place in places.values():
        yield _add(row, place, ask)
    now = {name: used + ask for name, used in spent.items()}
    close = {name: near(account.limits.get(name, _UNLIMITED), used) for name, used in now.items()}
    return Standing(spent=now, near={name: names for name, names in close.items() if names})


def settle(scope: Scope, account: Account, difference: Spent) -> Op[None]:
    """Correct what was set aside by what it really cost."""
    row = yield from lock_thread(scope, account.thread, create=True, fence=account.fence)
    for place in _places(row, account).values():
        yield _add(row, place, difference)


def spent(scope: Scope, name: str, run: str = _TOTAL) -> Op[Spent]:
    """What a thread, or one of its runs, has spent.

    Raises:
        ThreadNotFound: no such thread.
    """
    row = yield from find_thread(scope, name)
    return (yield from _read(row, (row.thread, run)))


def runs(scope: Scope, name: str) -> Op[list[RunSpent]]:
    """What each run of a thread has spent, those that spent last at the end.

    Raises:
        ThreadNotFound: no such thread.
    """
    row = yield from find_thread(scope, name)
    rows = yield Step("spending_all", row.key)
    return [
        RunSpent(run=unpack_name(run), at=from_micros(at), spent=_spent(columns)) for run, at, *columns in rows if run
    ]


def tenant(scope: Scope, period: str = _TOTAL) -> Op[Spent]:
    """What a tenant has spent in a period."""
    if scope.tenant == NOBODY:
        return Spent()
    named = {"tenant": scope.tenant, "thread": TENANT, "run": pack_name(period)}
    rows = yield Step("spending_one", named)
    return _spent(rows[0]) if rows else Spent()


def forget_thread(scope: Scope, name: str) -> Op[None]:
    """Remove what a thread and its runs have spent; the tenant's own totals stay.

    Raises:
        ThreadNotFound: no such thread.
    """
    row = yield from lock_thread(scope, name, create=False, right=Right.DISPOSE)
    yield Step("wipe_spending", row.key)


# --- rows -------------------------------------------------------------------------------------------


def _places(row: ThreadRow, account: Account) -> dict[str, tuple[int, str]]:
    run = {"run": (row.thread, account.run)} if account.run else {}
    return {**run, "thread": (row.thread, _TOTAL), "tenant": (TENANT, account.period)}


def _read(row: ThreadRow, place: tuple[int, str]) -> Op[Spent]:
    thread, run = place
    rows = yield Step("spending_one", {"tenant": row.tenant, "thread": thread, "run": pack_name(run)})
    return _spent(rows[0]) if rows else Spent()


def _add(row: ThreadRow, place: tuple[int, str], amounts: Spent) -> Step:
    thread, run = place
    values = {name: getattr(amounts, name) for name in Spent.__slots__}
    return Step(
        "spending_add", {"tenant": row.tenant, "thread": thread, "run": pack_name(run), "at": row.now, **values}
    )


def _spent(columns: Any) -> Spent:
    calls, input_tokens, output_tokens, steps, micros, nanos = columns
    return Spent(
        calls=calls, input_tokens=input_tokens, output_tokens=output_tokens, steps=steps, micros=micros, nanos=nanos
    )
