"""The tools of the desk. Looking is free; a refund and a letter are actions in the ledger.

Rules of this module:

* A tool answers with fields, text each. They are the only source of what the desk says.
* A refund is paid once a thread for an order and amount, a letter sent once a thread with its text. After a kill nobody
  knows how a refund ended, so the shop is asked by the key. What another conversation paid back, the shop knows.
* Refunds over `LIMIT` wait for a person. If that person says no, this is what the task has found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from math import inf
from typing import TypeAlias

from dalsegno import Approval, Dalsegno, Happened, NotHappened
from dalsegno.errors import ActionFailed, ActionRejected
from examples.support_desk.shop import AlreadyRefunded, Shop

__all__ = ["LIMIT", "Findings", "Tools", "tools_of"]

LIMIT = 500.0
LEASE = timedelta(seconds=2)
"""How long an effect counts as under way when its process has fallen silent; a shop answers within moments."""

Findings: TypeAlias = dict[str, str]
Tools: TypeAlias = Mapping[str, Callable[[str, Findings], Findings]]
"""By name: a function of the order's id and of what the task has found so far."""


def tools_of(ds: Dalsegno, shop: Shop) -> Tools:
    """The tools over a shop, their effects in a ledger."""
    refund, send_email = _effects(ds, shop)

    def pay_back(order: str, so_far: Findings) -> Findings:
        total = float(so_far.get("total", "0"))
        if not 0 < total < inf:  # nothing is owed, or the books are wrong: no refund, and the reply says it is open
            return {}
        try:
            return {"receipt": refund(order, total)}
        except ActionRejected as no:
            return {"refused": no.by}
        except ActionFailed:  # someone found out that it was not paid: the critic sends the task back
            return {}
        except AlreadyRefunded as paid:
            return {"receipt": paid.receipt, "total": f"{paid.amount:.2f}"}

    def write(order: str, so_far: Findings) -> Findings:
        if "email" not in so_far:
            return {}
        text = f"{order}: {so_far['item']}, {so_far['stage']}, {so_far['total']}"
        try:
            return {"letter": send_email(so_far["email"], f"Order {order}", text)}
        except ActionFailed:  # as above
            return {}

    return {**_looking(shop), "refund": pay_back, "send_email": write}


def _looking(shop: Shop) -> Tools:
    """Tools that change nothing."""

    def look_up_order(order: str, _so_far: Findings) -> Findings:
        one = shop.order(order)
        if one is None:
            return {"missing": order}
        return {"item": one.item, "stage": one.stage, "total": f"{one.total:.2f}", "email": one.email}

    def track_parcel(order: str, _so_far: Findings) -> Findings:
        one = shop.parcel(order)
        if one is None:
            return {"missing": order}
        there = {"carrier": one.carrier, "number": one.number, "place": one.place}
        return there if one.due is None else {**there, "due": one.due}

    def ask_carrier(order: str, _so_far: Findings) -> Findings:
        due = shop.ask_carrier(order)
        return {} if due is None else {"due": due}

    return {"look_up_order": look_up_order, "track_parcel": track_parcel, "ask_carrier": ask_carrier}


def _effects(ds: Dalsegno, shop: Shop) -> tuple[Callable[..., str], Callable[..., str]]:
    """Refund and letter, as actions."""

    def found(number: str | None) -> Happened | NotHappened:
        return NotHappened() if number is None else Happened(result=number)

    @ds.action(
        kind="update",
        scope="thread",
        reconcile=lambda action: found(shop.refund_under(action.action_id)),
        approve=Approval(when=lambda given: given["amount"] > LIMIT),
        lease=LEASE,
    )
    def refund(order: str, amount: float, *, idempotency_key: str = "") -> str:
        return shop.refund(order, amount, idempotency_key)

    @ds.action(
        kind="send",
        scope="thread",
        recipient="to",
        reconcile=lambda action: found(shop.letter_under(action.action_id)),
        lease=LEASE,
    )
    def send_email(to: str, subject: str, text: str, *, idempotency_key: str = "") -> str:
        return shop.write(to, subject, text, idempotency_key)

    return refund, send_email
