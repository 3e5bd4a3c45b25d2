"""The shop that the desk serves: orders, parcels, refunds and letters in a SQLite file of its own.

Rules of this module:

* The shop knows nothing of agents. It keeps the idempotency key that comes with a refund or a letter, and tells what
  it has under one.
* What it does is committed when it returns.
* An order is paid back once, whoever asks: a refund that comes with another key is refused.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

__all__ = ["AlreadyRefunded", "Order", "Parcel", "Shop"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer TEXT, email TEXT, item TEXT, total REAL, stage TEXT);
CREATE TABLE IF NOT EXISTS parcels (order_id TEXT PRIMARY KEY, carrier TEXT, number TEXT, place TEXT, due TEXT);
CREATE TABLE IF NOT EXISTS refunds (order_id TEXT, amount REAL, key TEXT);
CREATE TABLE IF NOT EXISTS letters (recipient TEXT, subject TEXT, text TEXT, key TEXT);
"""

_ORDERS = (
    ("SO20260901", "林晓", "lin@example.com", "落地灯", 384.20, "已发货"),
    ("SO20260902", "Ana Ruiz", "ana@example.com", "desk lamp", 78.00, "delivered"),
    ("SO20260903", "Ben Okafor", "ben@example.com", "standing desk", 1250.00, "shipped"),
)
_PARCELS = (
    ("SO20260901", "顺丰", "SF1029384756", "杭州转运中心", None),
    ("SO20260902", "DHL", "JD014600006", "delivered to the front desk", "2026-09-05"),
    ("SO20260903", "UPS", "1Z999AA10123", "Louisville hub", "2026-09-12"),
)


class AlreadyRefunded(Exception):
    """The order was paid back before, under another key.

    Attributes:
        receipt: the number of that refund.
        amount: what was paid.
    """

    def __init__(self, receipt: str, amount: float) -> None:
        super().__init__(f"already paid back: {amount:.2f}, receipt {receipt}")
        self.receipt, self.amount = receipt, amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An order as the shop has it."""

    id: str
    customer: str
    email: str
    item: str
    total: float
    stage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """Where an order's parcel is; `due` is None while the carrier has not said."""

    order_id: str
    carrier: str
    number: str
    place: str
    due: str | None


class Shop:
    """The shop's books; any number of processes may open one file."""

    def __init__(self, path: Path) -> None:
        """Open the books, and begin new ones where there are none."""
        self._path = path
        with closing(self._open()) as books, books:
            books.executescript(_SCHEMA)
            books.executemany("INSERT OR IGNORE INTO orders VALUES (?, ?, ?, ?, ?, ?)", _ORDERS)
            books.executemany("INSERT OR IGNORE INTO parcels VALUES (?, ?, ?, ?, ?)", _PARCELS)

    def order(self, order_id: str) -> Order | None:
        """An order, or None."""
        with closing(self._open()) as books:
            row = books.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
        names = ("id", "customer", "email", "item", "total", "stage")
        return None if row is None else Order(**dict(zip(names, row, strict=True)))

    def parcel(self, order_id: str) -> Parcel | None:
        """The parcel of an order, or None."""
        with closing(self._open()) as books:
            row = books.execute("SELECT * FROM parcels WHERE order_id = ?", (order_id,)).fetchone()
        names = ("order_id", "carrier", "number", "place", "due")
        return None if row is None else Parcel(**dict(zip(names, row, strict=True)))

    def ask_carrier(self, order_id: str) -> str | None:
        """The day on which the carrier means to deliver; slower than looking, so it is asked for only when needed."""
        return {"SO20260901": "2026-09-08"}.get(order_id)

    def refund(self, order_id: str, amount: float, key: str) -> str:
        """Pay back; returns the receipt's number.

        Raises:
            AlreadyRefunded: the order was paid back under another key.
        """
        with closing(self._open()) as books, books:
            books.execute("BEGIN IMMEDIATE")
            paid = books.execute(
                "SELECT rowid, amount FROM refunds WHERE order_id = ? AND key != ?", (order_id, key)
            ).fetchone()
            if paid is not None:
                raise AlreadyRefunded(f"RF-{paid[0]:06}", paid[1])
            row = books.execute("INSERT INTO refunds VALUES (?, ?, ?)", (order_id, amount, key)).lastrowid
        return f"RF-{row:06}"

    def refund_under(self, key: str) -> str | None:
        """The receipt's number of the refund that came with a key, or None."""
        with closing(self._open()) as books:
            row = books.execute("SELECT rowid FROM refunds WHERE key = ?", (key,)).fetchone()
        return None if row is None else f"RF-{row[0]:06}"

    def write(self, recipient: str, subject: str, text: str, key: str) -> str:
        """Send a letter; returns its number."""
        with closing(self._open()) as books, books:
            row = books.execute("INSERT INTO letters VALUES (?, ?, ?, ?)", (recipient, subject, text, key)).lastrowid
        return f"LT-{row:06}"

    def letter_under(self, key: str) -> str | None:
        """The number of the letter that came with a key, or None."""
        with closing(self._open()) as books:
            row = books.execute("SELECT rowid FROM letters WHERE key = ?", (key,)).fetchone()
        return None if row is None else f"LT-{row[0]:06}"

    def effects(self) -> dict[str, int]:
        """How many refunds were paid and letters sent."""
        with closing(self._open()) as books:
            refunds = books.execute("SELECT count(*) FROM refunds").fetchone()[0]
            letters = books.execute("SELECT count(*) FROM letters").fetchone()[0]
        return {"refunds": refunds, "letters": letters}

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=30)
