"""No statement on the path of a turn reads more of a thread than it needs, however long the thread is; one that is about a
thread reads that thread alone, however many there are."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

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
    sql = load_statements("dalsegno.stores.sqlite")[name]
    given = dict.fromkeys(re.findall(r":([a-z_0-9]+)", sql))
    plan = [row[3] for row in store._main().execute("EXPLAIN QUERY PLAN " + sql, given)]
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
    sql = load_statements("dalsegno.stores.postgres")[name]
    given = {"tenant": 1, "owner": None, "after": None, "now": 10, "idle": 5, "limit": 4, "reach": 32, "stands": 1}
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO ds_threads (tenant, name, created_at, updated_at) SELECT 1, 't' || n, 1, 1 FROM generate_series(1, 20000) n"
        )
        connection.execute("ANALYZE")
        plan = [row[0] for row in connection.execute("EXPLAIN " + sql, given)]
    assert not [line for line in plan if "Seq Scan on ds_threads" in line], "\n".join(plan)
    assert any("ds_threads_lease" in line for line in plan), "\n".join(plan)


@pytest.mark.parametrize("name", sorted(HOT))
def test_a_statement_of_a_turn_goes_straight_to_its_rows(name):
    plan = planned(name)
    assert any(HOT[name] in line for line in plan), plan
    whole = [
        line
        for line in plan
        if re.search(r"(SCAN (?!d |m |r |l |json_each|CONSTANT))|\(tenant=\? AND thread=\?\)", line)
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
    sql = load_statements("dalsegno.stores.sqlite")[name]
    asked = dict.fromkeys(re.findall(r":([a-z_0-9]+)", sql))
    plan = [row[3] for row in store._main().execute("EXPLAIN QUERY PLAN " + sql, asked)]
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
        sql = load_statements("dalsegno.stores.postgres")[name]
        asked = ASKED if name == "actions_of" else {**ASKED, "thread": 7}
        ((plan,),) = db.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", asked).fetchall()
    read = [node for node in nodes(plan[0]["Plan"]) if node.get("Index Cond") or node["Node Type"] == "Seq Scan"]
    assert not [node for node in read if node["Node Type"] == "Seq Scan"], plan
    (found,) = [node for node in read if OF_A_THREAD[name] in node.get("Index Name", "")]
    assert "thread =" in found["Index Cond"], plan
    assert found["Actual Rows"] * found["Actual Loops"] <= 5, plan
