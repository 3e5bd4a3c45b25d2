"""Claim: whoever edits, removes, adds or reorders a row of the audit, or takes a whole chain away, is found out; who erases a
text as intended is not."""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
from typing import Any

import psycopg
import pytest

import dalsegno
from dalsegno.core.chain import Head, Link, Root, Verifier, chained, digest_of, link
from dalsegno.services import audit


def verify(tenant: int, rows: Any, heads: Any) -> list[Any]:
    """Breaks in the chains of rows, of which one thread has a head: its first place among the tenant's chains."""
    verifier = Verifier(tenant)
    for row in rows:
        verifier.take(row)
    whole = {thread: Head(*head, 1, chained(1, 1, thread, None)) for thread, head in heads.items()}
    verifier.end(whole, Root(1, chained(1, 1, *whole, None)))
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


def verdict(url: str, kept: Any = None) -> Any:
    with dalsegno.connect(url) as ds:
        return ds.actions.verify(kept)


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
    "DELETE FROM ds_audit_heads WHERE thread = 2": ("chain", 0),
    "DELETE FROM ds_audit_roots": ("chain", 0),
    "UPDATE ds_audit_roots SET chains = 1": ("chain", 0),
    "UPDATE ds_audit_heads SET place = 3 WHERE thread = 2": ("chain", 0),
    "UPDATE ds_audit_heads SET link = hash WHERE thread = 1": ("chain", 0),
    "UPDATE ds_audit SET body = NULL WHERE thread = 1 AND seq = 2": ("blank", 2),
    "UPDATE ds_audit SET body = NULL WHERE thread = 1": ("blank", 4),
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


@pytest.mark.parametrize("thread", [1, 2])
def test_a_whole_chain_that_is_gone_is_found(url, thread):
    """Its rows and its head: nothing is left that names the thread, but the place among the tenant's chains."""
    for table in ("ds_audit", "ds_audit_heads"):
        execute(url, f"DELETE FROM {table} WHERE thread = {thread}")
    assert {each.kind for each in verdict(url).breaks} == {"chain"}


def test_what_was_kept_elsewhere_tells_an_older_copy_and_a_chain_made_anew(url):
    kept = verdict(url).heads
    assert verdict(url, kept).sound
    assert verdict(url, json.loads(json.dumps(kept))).sound
    with dalsegno.connect(url) as ds:
        scope = ds.scope()
        ds.store_backend.run(lambda: _add(scope, "a", 9), write=True)
    later = verdict(url, kept)
    assert later.sound  # it has grown since, and holds what it held
    # the newest row is taken away, and the head put back to what it was: sound by itself
    execute(url, "DELETE FROM ds_audit WHERE thread = 1 AND seq = 5")
    execute(
        url,
        "UPDATE ds_audit_heads SET seq = 4, hash = (SELECT hash FROM ds_audit WHERE thread = 1 AND seq = 4) WHERE thread = 1",
    )
    assert verdict(url).sound
    assert {(each.thread, each.kind, each.seq) for each in verdict(url, later.heads).breaks} == {(1, "kept", 5)}
    # all of it taken away
    for table in ("ds_audit", "ds_audit_heads", "ds_audit_roots"):
        execute(url, f"DELETE FROM {table}")
    assert verdict(url).sound
    assert {(each.thread, each.kind) for each in verdict(url, kept).breaks} == {(1, "kept"), (2, "kept")}


def test_a_forged_end_is_told_by_what_was_kept(url):
    kept = verdict(url).heads
    assert {each.kind for each in verdict(url, {1: (4, kept[2][1])}).breaks} == {"kept"}


@pytest.mark.parametrize("kept", [{"x": 1}, {1: (1, "zz")}, [1], {1: None}])
def test_what_is_no_verdict_is_misuse(url, kept):
    with pytest.raises(dalsegno.errors.Misuse, match="heads"):
        verdict(url, kept)


def test_chains_that_begin_at_once_are_linked_one_after_another(url):
    from concurrent.futures import ThreadPoolExecutor

    with dalsegno.connect(url) as ds, ThreadPoolExecutor(8) as pool:
        scope = ds.scope()

        def begin(number: int) -> None:
            ds.store_backend.run(lambda: _add(scope, f"new {number}", number), write=True, key=number)

        list(pool.map(begin, range(16)))
    found = verdict(url)
    assert (found.chains, found.breaks) == (18, [])


def test_an_erased_text_leaves_the_chain_whole(url):
    with dalsegno.connect(url) as ds:
        ds.erasure.thread("a")
    found = verdict(url)
    assert (found.breaks, found.erased, found.rows) == ([], 4, 9)
    execute(url, "UPDATE ds_audit SET body = NULL WHERE thread = 1 AND seq = 5")
    assert {(each.kind, each.seq) for each in verdict(url).breaks} == {("blank", 5)}


def test_an_argument_is_no_erasure(url):
    """Only a row of the audit itself says that texts were erased, not what an action was called with."""
    with dalsegno.connect(url) as ds:
        scope = ds.scope()

        def add() -> Any:
            from dalsegno.services.threads_row import lock_thread

            row = yield from lock_thread(scope, "a", create=True)
            yield from audit.add(row, [{"arguments": {"erased_to": 4}, "text": '"erased_to":4'}])

        ds.store_backend.run(add, write=True)
    execute(url, "UPDATE ds_audit SET body = NULL WHERE thread = 1 AND seq < 5")
    assert {(each.kind, each.seq) for each in verdict(url).breaks} == {("blank", 4)}


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
