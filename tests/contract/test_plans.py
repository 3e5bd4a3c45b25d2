"""No statement on the path of a turn reads more of a thread than it needs, however long the thread is; one that is about a
thread reads that thread alone, however many there are."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

import dalsegno
from dalsegno.stores.sqlite import SqliteStore
from dalsegno.stores.statements import load_statements

HOT = {
    "action_find": "ds_actions_key (tenant=? AND key=?)",
    "actions_named": "ds_actions_key (tenant=? AND key>? AND key<?)",
    "checkpoint_branch": "ds_checkpoints_id (tenant=? AND thread=? AND id=? AND ns=?)",
    "checkpoint_by_id": "ds_checkpoints_id (tenant=? AND thread=? AND id=? AND ns=?)",
    "checkpoint_head": "PRIMARY KEY (tenant=? AND thread=? AND ckpt=?)",
    "checkpoints_named": "ds_checkpoints_id (tenant=? AND thread=? AND id=? AND ns=?)",
    "events_marked": "ds_events_mark (tenant=? AND thread=? AND mark=?)",
    "events_page": "PRIMARY KEY (tenant=? AND thread=? AND seq>?)",
    "events_after": "PRIMARY KEY (tenant=? AND thread=? AND seq>?)",
    "events_last": "PRIMARY KEY (tenant=? AND thread=? AND seq<?)",
    "head_branch": "PRIMARY KEY (tenant=? AND thread=? AND ckpt=?)",
    "items_in": "(tenant=? AND thread=? AND lane=? AND pos>? AND pos<?)",
    "lane_tails": "(tenant=? AND thread=? AND lane=?)",
    "namespace_find": "(tenant=? AND thread=? AND name=?)",
    "pool_find": "ds_items_digest (tenant=? AND thread=? AND digest=?)",
    "thread_lock": "(tenant=? AND name=?)",
    "write_find": "PRIMARY KEY (tenant=? AND thread=? AND ckpt=? AND task=?)",
    "writes_of": "PRIMARY KEY (tenant=? AND thread=? AND ckpt=?)",
}

RUNS = {
    "run_find": ["PRIMARY KEY (tenant=? AND thread=?)"],
    "runs_due": [
        "ds_threads_lease (tenant=? AND lease_until<?)",
        "ds_runs_due (tenant=? AND due<?)",
        "ds_threads_stands (tenant=? AND stands=?)",
        "INTEGER PRIMARY KEY (rowid=?)",
    ],
    "runs_leased": ["ds_threads_lease (tenant=? AND lease_until>?)"],
    "runs_left": ["ds_threads_lease (tenant=? AND lease_until<?)"],
    "runs_one": ["(tenant=? AND name=?)"],
    "runs_standing": ["ds_threads_stands (tenant=? AND stands=?)"],
}
"""Finding and listing runs, among any number of threads that are over."""


def planned(name: str) -> list[str]:
    store = SqliteStore(None)
    statement = load_statements("dalsegno.stores.sqlite")[name]
    given = dict.fromkeys(re.findall(r":([a-z_0-9]+)", statement))
    plan = [row[3] for row in store._main().execute("EXPLAIN QUERY PLAN " + statement, given)]
    store.close()
    return plan


@pytest.mark.parametrize("name", sorted(RUNS))
def test_runs_are_found_without_reading_the_tenant(name):
    plan = planned(name)
    assert [wanted for wanted in RUNS[name] if not any(wanted in line for line in plan)] == [], plan
    assert not [line for line in plan if re.search(r"SCAN [a-z]+$|\(tenant=\?\)", line) and line != "SCAN c"], plan


@pytest.mark.parametrize("name", ["runs_leased"])
def test_runs_are_found_without_reading_the_tenant_on_postgres(name, postgres_url):
    """An index over where runs stand would make every turn an update that PostgreSQL cannot keep on its page (HOT)."""
    dalsegno.connect(postgres_url).close()
    asked = load_statements("dalsegno.stores.postgres")[name]
    given = {"tenant": 1, "owner": None, "after": None, "now": 10, "idle": 5, "limit": 4, "reach": 32, "stands": 1}
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO ds_threads (tenant, name, created_at, updated_at) SELECT 1, 't' || n, 1, 1 FROM generate_series(1, 20000) n"
        )
        connection.execute("ANALYZE")
        plan = [row[0] for row in connection.execute("EXPLAIN " + asked, given)]
    assert not [line for line in plan if "Seq Scan on ds_threads" in line], "\n".join(plan)
    assert any("ds_threads_lease" in line for line in plan), "\n".join(plan)


@pytest.mark.parametrize("name", sorted(HOT))
def test_a_statement_of_a_turn_goes_straight_to_its_rows(name):
    plan = planned(name)
    assert any(HOT[name] in line for line in plan), plan
    whole = [
        line
        for line in plan
        if re.search(r"(SCAN (?!d |m |r |l |s |json_each|CONSTANT))|\(tenant=\? AND thread=\?\)", line)
    ]
    assert not whole, plan


OF_A_THREAD = {
    "actions_of": "ds_actions",
    "actions_open": "ds_actions",
    "tags_of": "ds_tags",
    "checkpoint_facts": "ds_checkpoints",
}
ASKED = {"tenant": 1, "thread": "t7", "owner": None, "state": None, "limit": 50}


@pytest.mark.parametrize("name", sorted(OF_A_THREAD))
def test_a_statement_about_a_thread_reads_that_thread_alone_on_sqlite(name):
    store = SqliteStore(None)
    statement = load_statements("dalsegno.stores.sqlite")[name]
    asked = dict.fromkeys(re.findall(r":([a-z_0-9]+)", statement))
    plan = [row[3] for row in store._main().execute("EXPLAIN QUERY PLAN " + statement, asked)]
    store.close()
    assert not [line for line in plan if line.startswith("SCAN")], plan
    assert [line for line in plan if "(tenant=? AND thread=?)" in line], plan


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Every node of a PostgreSQL plan."""
    return [plan, *(inner for child in plan.get("Plans", []) for inner in nodes(child))]


@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize("name", sorted(OF_A_THREAD))
def test_a_statement_about_a_thread_reads_that_thread_alone_on_postgres(name, analyzed, postgres_url):
    dalsegno.connect(postgres_url).close()
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(
            "INSERT INTO ds_threads (tenant, name, created_at, updated_at) SELECT 1, 't' || n, 0, 0 FROM generate_series(1, 2000) n;"
            "INSERT INTO ds_actions (tenant, thread, key, name, kind, scope, arguments, state, version, attempts, fence, created_at, updated_at)"
            " SELECT 1, n, decode(lpad(to_hex(n * 5 + m), 64, '0'), 'hex'), 'mail', 'send', 'step', '{}', 'succeeded', 1, 1, 1, 0, 0"
            " FROM generate_series(1, 2000) n, generate_series(1, 5) m;"
            "INSERT INTO ds_tags (tenant, thread, tag) SELECT 1, n, 'tag' || m FROM generate_series(1, 2000) n, generate_series(1, 5) m;"
            "INSERT INTO ds_checkpoints (tenant, thread, ckpt, ns, id, branch, created_at)"
            " SELECT 1, n, m, 0, decode(lpad(to_hex(n * 5 + m), 32, '0'), 'hex'), 0, 0 FROM generate_series(1, 2000) n, generate_series(1, 5) m;"
        )
        if analyzed:
            db.execute("ANALYZE")
        statement = load_statements("dalsegno.stores.postgres")[name]
        asked = ASKED if name == "actions_of" else {**ASKED, "thread": 7}
        ((plan,),) = db.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", asked).fetchall()
    read = [node for node in nodes(plan[0]["Plan"]) if node.get("Index Cond") or node["Node Type"] == "Seq Scan"]
    assert not [node for node in read if node["Node Type"] == "Seq Scan"], plan
    (found,) = [node for node in read if OF_A_THREAD[name] in node.get("Index Name", "")]
    assert "thread =" in found["Index Cond"], plan
    assert found["Actual Rows"] * found["Actual Loops"] <= 5, plan


LONG = 3000
"""Events, items and checkpoints of a thread that a statement must not read one by one."""
FEW = {
    "checkpoint_by_id": {"id": bytes(12) + (LONG // 2).to_bytes(4, "big"), "name": "t1", "ns": ""},
    "checkpoint_head": {"name": "t1", "ns": ""},
    "checkpoints_lineage": {"ckpt": LONG, "limit": 4},
    "checkpoints_named": {"id": bytes(15) + b"\7", "parent": bytes(15) + b"\6", "ns": 0, "digests": "[]"},
    "checkpoints_page": {"name": "t1", "ns": None, "before": None, "limit": 4},
    "events_after": {"after": LONG // 2, "limit": 4},
    "events_last": {"before": LONG // 2, "limit": 4},
    "events_marked": {"marks": "[7, 8, 9]"},
    "events_matching": {"limit": 4, **{f"t{n}": b"" for n in range(8)}},
    "events_numbered": {"numbers": "[7, 8, 9]"},
    "events_page": {"after": LONG // 2, "limit": 4},
    "evidence_events": {"seqs": "[7, 8, 9]"},
    "openings": {"threads": "[1]", "events": 4},
    "writes_of": {"ckpts": "[7, 8, 9]"},
}
"""Statements that give a few rows of one thread, with what asks for those."""
GROWING = {"ds_checkpoints", "ds_events", "ds_items", "ds_writes"}


@pytest.fixture(scope="session")
def long_thread(postgres_server: str, postgres_admin: psycopg.Connection) -> Iterator[str]:
    """A database with one long thread and no statistics of it."""
    name = f"dalsegno_{uuid.uuid4().hex}"
    postgres_admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    url = urlunsplit(urlsplit(postgres_server)._replace(path=f"/{name}"))
    dalsegno.connect(url).close()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "ALTER TABLE ds_events SET (autovacuum_enabled = off); ALTER TABLE ds_items SET (autovacuum_enabled = off);"
            "ALTER TABLE ds_checkpoints SET (autovacuum_enabled = off); ALTER TABLE ds_writes SET (autovacuum_enabled = off);"
            f"INSERT INTO ds_threads (tenant, name, created_at, updated_at, events) SELECT 1, 't1', 0, 0, {LONG};"
            f"INSERT INTO ds_namespaces (tenant, thread, ns, name, head) SELECT 1, 1, 0, '', {LONG};"
            "INSERT INTO ds_items (tenant, thread, lane, pos, body) SELECT 1, 1, l, n, '{}'"
            f" FROM generate_series(0, 1) l, generate_series(1, {LONG}) n;"
            "INSERT INTO ds_events (tenant, thread, seq, at, branch, ckpt, mark, lane, pos, kind, author, terms)"
            f" SELECT 1, 1, n, 0, 0, n, n, 1, n, 1, 'user', '\\x0000' FROM generate_series(1, {LONG}) n;"
            "INSERT INTO ds_checkpoints (tenant, thread, ckpt, ns, id, parent, branch, created_at, meta, frame, state)"
            " SELECT 1, 1, n, 0, decode(lpad(to_hex(n), 32, '0'), 'hex'), nullif(n - 1, 0), 0, 0, n, '{}', '[]'"
            f" FROM generate_series(1, {LONG}) n;"
            "INSERT INTO ds_writes (tenant, thread, ckpt, task, path, body)"
            f" SELECT 1, 1, n, decode(lpad(to_hex(n), 32, '0'), 'hex'), '', '[]' FROM generate_series(1, {LONG}) n;"
        )
    yield url
    postgres_admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize("name", sorted(FEW))
def test_a_few_rows_of_a_long_thread_are_all_that_is_read_on_postgres(name, generic, long_thread):
    """Also while the planner knows nothing of the tables, and under a plan that was made for any parameters."""
    asked = {"tenant": 1, "thread": 1, "spans": "[[0, 4611686018427387904]]", **FEW[name]}
    statement = load_statements("dalsegno.stores.postgres")[name]
    with psycopg.connect(long_thread, autocommit=True, prepare_threshold=None) as db:
        db.execute(f"SET plan_cache_mode = force_{'generic' if generic else 'custom'}_plan")
        ((plan,),) = db.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", asked).fetchall()
    read = [node for node in nodes(plan[0]["Plan"]) if str(node.get("Relation Name", "")) in GROWING]
    assert read, plan
    for node in read:
        left = sum(node.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck", "Join Filter"))
        assert (node["Actual Rows"] + left) * node["Actual Loops"] <= 12, node
    assert not [node for node in nodes(plan[0]["Plan"]) if node.get("Rows Removed by Join Filter", 0) > 12], plan
