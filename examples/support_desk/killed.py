"""The desk killed in the middle of a refund: it is paid, and nobody has written that down. A new process goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

import dalsegno
from dalsegno.errors import ActionInFlight
from examples.support_desk.graph import build
from examples.support_desk.mind import Rules
from examples.support_desk.shop import Shop
from examples.support_desk.state import SCHEMA

__all__ = ["CHILD", "Outcome", "child", "gone_on", "play", "tell"]

CHILD = "_play"
THREAD = "killed"
WISH = "Where is SO20260902? I want a refund, and please confirm it by e-mail."
PAID = "paid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was there after the kill, and in the end.

    Attributes:
        status: where the thread stood when the second process came.
        waiting: nodes that still had to run then; none where a step had ended and was not written down any more.
        effects: refunds and letters in the shop's books.
        reply: what the customer heard.
        replies: how often.
        ledger: each action with its state and attempts.
    """

    status: str
    waiting: list[str]
    effects: dict[str, int]
    reply: str
    replies: int
    ledger: list[tuple[str, str, int]]

    @property
    def holds(self) -> bool:
        """One refund, one letter, one reply."""
        return self.effects == {"refunds": 1, "letters": 1} and self.replies == 1


class _Holding(Shop):
    """A shop that says when it has paid, and then falls silent."""

    def refund(self, order_id: str, amount: float, key: str) -> str:
        receipt = super().refund(order_id, amount, key)
        print(PAID, flush=True)
        time.sleep(60)
        return receipt


def child(store: str, shop: Path, *, hold: bool) -> int:
    """Play the conversation; with `hold`, only until the refund is paid."""
    with dalsegno.connect(store, schema=SCHEMA) as ds:
        graph = build(ds, _Holding(shop) if hold else Shop(shop), Rules())
        graph.invoke({"messages": [HumanMessage(WISH)]}, {"configurable": {"thread_id": THREAD}})
    return 0


def play(folder: Path, store: str | None = None) -> Outcome:
    """Start the desk in a process of its own, kill it in the middle of the refund, and go on here.

    Args:
        folder: an existing folder for the shop's books, and the database where none is named.
        store: the database; no thread `killed` may be in it.

    Raises:
        Misuse: there is such a thread, or the database is this process's memory.
    """
    url, books = store or f"sqlite:///{folder / 'desk.db'}", folder / "shop.db"
    _require_room(url)
    command = [sys.executable, "-m", "examples.support_desk", CHILD, url, str(books), "--hold"]
    paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}  # here, so that a file's path means the same to both
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=found) as process:  # noqa: S603 - itself
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        try:
            said = process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGKILL)
    if said != PAID:
        raise dalsegno.errors.DalsegnoError(f"the desk was to be killed in its refund, but said {said!r}")
    shop = Shop(books)
    with dalsegno.connect(url, schema=SCHEMA) as ds:
        graph = build(ds, shop, Rules())
        status = str(ds.threads.status(THREAD)[THREAD])
        waiting = list(graph.get_state({"configurable": {"thread_id": THREAD}}).next)
        state = gone_on(graph, THREAD)
        replies = [message for message in state["messages"] if message.type == "ai"]
        ledger = [(each.name, str(each.state), each.attempts) for each in ds.actions.list(THREAD)]
    return Outcome(
        status=status,
        waiting=waiting,
        effects=shop.effects(),
        reply=replies[-1].text,
        replies=len(replies),
        ledger=ledger,
    )


def _require_room(url: str) -> None:
    if url.startswith("memory:"):
        raise dalsegno.errors.Misuse("a database in memory dies with its process; name one on disk.")
    with dalsegno.connect(url, schema=SCHEMA) as ds:
        try:
            ds.threads.status(THREAD)
        except dalsegno.errors.ThreadNotFound:
            return
    raise dalsegno.errors.Misuse(f"the database has a thread {THREAD!r} already; name a new one.")


def gone_on(graph: Any, thread_id: str) -> Any:
    """The end of a run that was cut short, once the effect that a killed process had begun is anyone's again."""
    while True:
        try:
            return dalsegno.resume(graph, thread_id, durability="sync")
        except ActionInFlight as running:
            print(f"the killed process still has its effect for {running.seconds:.0f} s")
            time.sleep(running.seconds)


def tell(outcome: Outcome) -> int:
    """Print what happened; 0 when every effect came once."""
    waiting = ", ".join(outcome.waiting) or "the rest of its step"
    print(f"killed in the middle of the refund; the thread is {outcome.status}, still to run: {waiting}")
    for name, state, attempts in outcome.ledger:
        print(f"    {name}: {state}, started {attempts} time(s)")
    print(f"the shop's books: {outcome.effects}")
    print(f"the customer heard, {outcome.replies} time(s): {outcome.reply}")
    print("each effect once" if outcome.holds else "NOT each effect once")
    return 0 if outcome.holds else 1
