"""Claim: whoever edits, removes, adds or reorders a row of the audit is found out; who erases a text as intended is not."""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
from typing import Any

import psycopg
import pytest

import dalsegno
from dalsegno.core.chain import Link, Verifier, digest_of, link
from dalsegno.services import audit


def verify(tenant: int, rows: Any, heads: Any) -> list[Any]:
    verifier = Verifier(tenant)
    for row in rows:
        verifier.take(row)
    verifier.end(heads)
    return verifier.breaks


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(f"{request.param}_url")
    with dalsegno.connect(found) as ds:
        for thread in ("a", "b"):
            for number in range(4):
                scope = ds.scope()
                ds.store_backend.run(lambda: _add(scope, thread, number), write=True)  # noqa: B023 - run at once
    return found


def _add(scope: Any, thread: str, number: int) -> Any:
    from dalsegno.services.threads_row import lock_thread

    row = yield from lock_thread(scope, thread, create=True)
    yield from audit.add(row, [{"thread": thread, "n": number}])


def execute(url: str, sql: str) -> None:
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as db:
            db.execute(sql)
            db.commit()
    else:
        with psycopg.connect(url) as db:
            db.execute(sql)


def verdict(url: str) -> Any:
    with dalsegno.connect(url) as ds:
        scope = ds.scope()
        return ds.store_backend.run(lambda: audit.verify_all(scope), write=False)


def test_an_untouched_audit_holds(url):
    found = verdict(url)
    assert (found.rows, found.chains, found.erased, found.breaks, found.sound) == (8, 2, 0, [], True)
    assert [seq for seq, _ in found.heads.values()] == [4, 4]


TAMPERED = {
    "UPDATE ds_audit SET body = replace(body, '\"n\":1', '\"n\":7') WHERE thread = 1 AND seq = 2": ("text", 2),
    "UPDATE ds_audit SET at = at + 1 WHERE thread = 1 AND seq = 3": ("hash", 3),
    "UPDATE ds_audit SET digest = hash WHERE thread = 1 AND seq = 3": ("hash", 3),
    "UPDATE ds_audit SET hash = digest WHERE thread = 1 AND seq = 4": ("hash", 4),
    "DELETE FROM ds_audit WHERE thread = 1 AND seq = 1": ("gap", 2),
    "DELETE FROM ds_audit WHERE thread = 1 AND seq = 2": ("gap", 3),
    "DELETE FROM ds_audit WHERE thread = 1 AND seq = 4": ("end", 4),
    "DELETE FROM ds_audit WHERE thread = 1": ("end", 4),
    "DELETE FROM ds_audit_heads WHERE thread = 1": ("end", 4),
    "UPDATE ds_audit_heads SET seq = 3 WHERE thread = 1": ("end", 4),
    "UPDATE ds_audit SET seq = 5 WHERE thread = 1 AND seq = 4": ("gap", 5),
    "UPDATE ds_audit SET thread = 9 WHERE thread = 1 AND seq = 4": ("gap", 4),
    "INSERT INTO ds_audit SELECT tenant, thread, 5, at, digest, hash, body FROM ds_audit WHERE thread = 1 AND seq = 4": (
        "hash",
        5,
    ),
}


@pytest.mark.parametrize("sql", TAMPERED)
def test_tampering_is_found(url, sql):
    execute(url, sql)
    found = verdict(url)
    kind, seq = TAMPERED[sql]
    assert (kind, seq) in {(each.kind, each.seq) for each in found.breaks}
    assert not found.sound


def test_rows_in_another_order_are_found(url):
    for sql in (
        "UPDATE ds_audit SET seq = 99 WHERE thread = 1 AND seq = 2",
        "UPDATE ds_audit SET seq = 2 WHERE thread = 1 AND seq = 3",
        "UPDATE ds_audit SET seq = 3 WHERE thread = 1 AND seq = 99",
    ):
        execute(url, sql)
    assert {each.seq for each in verdict(url).breaks} >= {2, 3}


def test_more_rows_than_a_page(url, monkeypatch):
    monkeypatch.setattr(audit, "_PAGE", 3)
    found = verdict(url)
    assert (found.rows, found.chains, found.breaks) == (8, 2, [])


def test_an_erased_text_leaves_the_chain_whole(url):
    execute(url, "UPDATE ds_audit SET body = NULL WHERE thread = 1")
    found = verdict(url)
    assert (found.breaks, found.erased) == ([], 4)


def test_texts_have_a_salt(url):
    execute(url, "UPDATE ds_audit SET at = 1")
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as db:
            bodies = [json.loads(body) for (body,) in db.execute("SELECT body FROM ds_audit")]
    else:
        with psycopg.connect(url) as db:
            bodies = [json.loads(body) for (body,) in db.execute("SELECT body FROM ds_audit").fetchall()]
    assert len({body["salt"] for body in bodies}) == 8


def test_every_change_of_every_part_of_a_row_breaks_a_chain():
    rows, before = [], None
    for seq in range(1, 4):
        body = f"row {seq}"
        before = link(1, 7, seq, seq * 10, digest_of(body), before)
        rows.append(Link(7, seq, seq * 10, body, digest_of(body), before))
    heads = {7: (3, rows[-1].hash)}
    assert verify(1, rows, heads) == []
    assert verify(2, rows, heads)
    changes = {"seq": 9, "at": 5, "body": "x", "digest": b"x" * 32, "hash": b"y" * 32, "thread": 8}
    for at, (part, value) in itertools.product(range(3), changes.items()):
        changed = [*rows[:at], rows[at]._replace(**{part: value}), *rows[at + 1 :]]
        assert verify(1, changed, heads), (at, part)


@pytest.mark.parametrize("forged", [1, 2, 3])
def test_a_row_that_was_made_anew_with_its_own_hash_is_found(forged):
    """Whoever can compute hashes still has to make every later row anew, and the head."""
    rows, before = [], None
    for seq in range(1, 4):
        digest = digest_of(f"row {seq}")
        before = link(1, 7, seq, seq * 10, digest, before)
        rows.append(Link(7, seq, seq * 10, f"row {seq}", digest, before))
    heads = {7: (3, rows[-1].hash)}
    row = rows[forged - 1]
    digest = digest_of("another story")
    own = link(1, 7, row.seq, row.at, digest, rows[forged - 2].hash if forged > 1 else None)
    rows[forged - 1] = Link(7, row.seq, row.at, "another story", digest, own)
    (found,) = verify(1, rows, heads)
    assert (found.kind, found.seq) == (("hash", forged + 1) if forged < 3 else ("end", 3))
