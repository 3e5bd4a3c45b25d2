"""PostgreSQL keeps tenants apart by itself: a session of the documented role sees, changes and adds nothing of another tenant,
in any table that there is."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

import dalsegno
from dalsegno.contracts import Step
from dalsegno.stores.statements import load_statements

PAGE = Path(__file__).resolve().parents[2] / "docs" / "permissions.md"
NOBODYS = {"ds_meta"}
VALUES = {
    "integer": "1", "bigint": "1", "smallint": "1", "text": "'x'", "bytea": r"'\x01'", "jsonb": "'{}'", "ARRAY": "'{1}'",
    "real": "1", "double precision": "1", "boolean": "true",
}  # fmt: skip


class Database:
    """A database with two tenants, the owner's connection, and the documented role's."""

    def __init__(self, server: str, name: str, role: str) -> None:
        self.url = urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        parts = urlsplit(self.url)
        self.theirs = urlunsplit(parts._replace(netloc=f"{role}@{parts.netloc.rpartition('@')[2]}"))
        numbers = []
        for tenant in ("acme", "rival"):
            with dalsegno.connect(self.url, tenant=tenant) as ds:
                ds.journal.append("t", "note", tenant, f"of {tenant}")
                numbers.append(ds.scope().tenant)
        self.acme, self.rival = numbers
        self.owner = psycopg.connect(self.url, autocommit=True)
        found = self.owner.execute(
            "SELECT c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
        ).fetchall()
        self.tables = sorted(name for name, kind in found if kind in ("r", "p") and name not in NOBODYS)
        self.views = sorted(name for name, kind in found if kind not in ("r", "p"))
        self.grants = next(block for block in _blocks(PAGE.read_text()) if "CREATE ROLE" in block).replace(
            "dalsegno_app", role
        )
        self.owner.execute(self.grants)
        for table in set(self.tables) - {"ds_tenants"}:
            for number in numbers:
                self._fill(table, number)
        self.raw = psycopg.connect(self.theirs)

    def _fill(self, table: str, tenant: int) -> None:
        """A row in a table, whatever its columns are."""
        if self.owner.execute(
            sql.SQL("SELECT 1 FROM {} WHERE tenant = %s").format(sql.Identifier(table)), [tenant]
        ).fetchone():
            return
        columns = self.owner.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s AND table_schema = 'public'"
            " AND column_name <> 'tenant'",
            [table],
        ).fetchall()
        self.owner.execute(
            sql.SQL("INSERT INTO {} (tenant, {}) OVERRIDING SYSTEM VALUE VALUES (%s, {})").format(
                sql.Identifier(table),
                sql.SQL(", ").join(sql.Identifier(name) for name, _ in columns),
                sql.SQL(", ").join(sql.SQL(VALUES[kind]) for _, kind in columns),
            ),
            [tenant],
        )

    def as_tenant(self, tenant: int | None) -> psycopg.Connection:
        """The role's session in a new transaction for a tenant, as the driver begins one."""
        self.raw.rollback()
        if tenant is not None:
            self.raw.execute("SELECT set_config('dalsegno.tenant', %s, true)", [str(tenant)])
        return self.raw


def _blocks(text: str) -> list[str]:
    return re.findall(r"^```sql\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def database(postgres_server: str, postgres_admin: Any) -> Iterator[Database]:
    name, role = f"dalsegno_{uuid.uuid4().hex}", f"app_{uuid.uuid4().hex[:12]}"
    postgres_admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    found = None
    try:
        found = Database(postgres_server, name, role)
        yield found
    finally:
        if found is not None:
            found.raw.close()
            found.owner.close()
        postgres_admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        postgres_admin.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))


def count(session: psycopg.Connection, query: str, table: str, *given: object) -> int:
    return session.execute(sql.SQL(query).format(sql.Identifier(table)), given).fetchone()[0]  # type: ignore[index]


def test_every_table_and_view_is_behind_the_wall(database):
    open_ = database.owner.execute(
        "SELECT relname FROM pg_class c WHERE relkind IN ('r', 'p') AND relname = ANY(%s) AND (NOT relrowsecurity"
        " OR NOT EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd = '*' AND p.polpermissive))",
        [database.tables],
    ).fetchall()
    assert open_ == [], "ALTER TABLE … ENABLE ROW LEVEL SECURITY, and CREATE POLICY ds_wall, see the end of schema.sql"
    asked = database.owner.execute(
        "SELECT relname FROM pg_class WHERE relname = ANY(%s) AND NOT coalesce('security_invoker=true' = ANY(reloptions), false)",
        [database.views],
    ).fetchall()
    assert asked == [], "CREATE VIEW … WITH (security_invoker = true): else it is read with its owner's rights"
    granted = set(re.findall(r"ds_\w+", database.grants)) - NOBODYS
    assert granted == set(database.tables), "docs/permissions.md grants each table"


def test_a_session_reads_its_own_tenant_and_no_other(database):
    for table in database.tables:
        assert count(database.as_tenant(database.acme), "SELECT count(*) FROM {}", table) > 0, table
        elsewhere = "SELECT count(*) FROM {} WHERE tenant <> %s"
        assert count(database.raw, elsewhere, table, database.acme) == 0, table
        assert count(database.owner, elsewhere, table, database.acme) > 0, table
        assert count(database.as_tenant(None), "SELECT count(*) FROM {}", table) == 0, table
    for view in database.views:
        assert count(database.as_tenant(None), "SELECT count(*) FROM {}", view) == 0, view


def test_a_session_changes_nothing_of_another_tenant(database):
    for table in sorted(set(database.tables) - {"ds_tenants"}):
        name = sql.Identifier(table)
        before = database.owner.execute(sql.SQL("SELECT t::text FROM {} t ORDER BY 1").format(name)).fetchall()
        session = database.as_tenant(database.acme)
        for statement in ("UPDATE {} SET tenant = tenant WHERE tenant = %s", "DELETE FROM {} WHERE tenant = %s"):
            assert session.execute(sql.SQL(statement).format(name), [database.rival]).rowcount == 0, (table, statement)
        session.execute(sql.SQL("DELETE FROM {}").format(name))  # all there is, as far as it can see
        session.rollback()
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            database.as_tenant(database.acme).execute(
                sql.SQL("UPDATE {} SET tenant = %s").format(name), [database.rival]
            )
        columns = [
            column
            for (column,) in database.owner.execute(
                "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND table_schema = 'public'"
                " AND column_name <> 'tenant'",
                [table],
            )
        ]
        listed = sql.SQL(", ").join(map(sql.Identifier, columns))
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            database.as_tenant(database.acme).execute(
                sql.SQL("INSERT INTO {0} (tenant, {1}) OVERRIDING SYSTEM VALUE SELECT %s, {1} FROM {0}").format(
                    name, listed
                ),
                [database.rival],
            )
        database.raw.rollback()
        assert (
            database.owner.execute(sql.SQL("SELECT t::text FROM {} t ORDER BY 1").format(name)).fetchall() == before
        ), table


def test_a_session_makes_itself_no_other_tenant(database):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        database.as_tenant(database.acme).execute("INSERT INTO ds_tenants (name) VALUES ('mallory')")
    for statement in ("UPDATE ds_tenants SET name = 'x'", "DELETE FROM ds_tenants", "TRUNCATE ds_threads"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            database.as_tenant(database.acme).execute(statement)


def test_dalsegno_works_behind_the_wall_and_its_connections_remember_no_tenant(database):
    def everything() -> Any:
        """A statement that names another tenant, as one would that was given the wrong number."""
        return (yield Step("thread_names", {"tenant": database.rival, "owner": None}))

    with dalsegno.connect(database.theirs, tenant="acme", user="ana") as ds:
        ds.journal.append("mine", "note", "ana", "hello")
        assert [event.text for event in ds.journal.read("mine")] == ["hello"]
        assert ds.store_backend.run(everything, write=False) == []
        assert ds.store_backend.run(everything, write=True) == []
        with ds.store_backend._ready().connection() as connection:
            left = connection.execute("SELECT current_setting('dalsegno.tenant', true)").fetchone()
            assert left in ((None,), ("",))
    with dalsegno.connect(database.url, tenant="acme") as owner:
        assert len(owner.store_backend.run(everything, write=False)) == 1  # it is the wall that hides it
        owner.threads.delete("mine")
    with dalsegno.connect(database.theirs, tenant="new") as ds:
        assert ds.threads.list() == []
        ds.journal.append("t", "note", "me", "a tenant of its own")
    with dalsegno.connect(database.theirs, tenant="unheard", create=False) as ds:
        assert ds.threads.list() == []


async def test_the_async_face_begins_its_transactions_so_too(database):
    def everything() -> Any:
        return (yield Step("thread_names", {"tenant": database.rival, "owner": None}))

    async with dalsegno.connect(database.theirs, tenant="acme") as ds:
        assert await ds.store_backend.arun(everything, write=False) == []
        await ds.journal.aappend("async", "note", "ana", "hello")
        assert [event.text for event in await ds.journal.aread("async")] == ["hello"]
        await ds.threads.adelete("async")


STRAIGHT = {
    "items_in": {"ranges": "[[0, 1, 3]]"},
    "pool_find": {"digests": '["01"]'},
    "checkpoint_head": {"name": "t7", "ns": "", "owner": "ana"},
    "thread_lock": {"name": "t7", "owner": "ana"},
    "events_marked": {"marks": "[1]"},
    "writes_of": {"ckpts": "[1]"},
}


@pytest.mark.parametrize("name", sorted(STRAIGHT))
def test_the_wall_leaves_the_plans_of_a_turn_as_they_are(name, database):
    if not count(database.owner, "SELECT count(*) FROM {} WHERE name = 't7'", "ds_threads"):
        database.owner.execute(BULK.format(tenant=database.acme))
    given = {"tenant": database.acme, "thread": 100_007, **STRAIGHT[name]}
    statement = load_statements("dalsegno.stores.postgres")[name]
    plan = "\n".join(row[0] for row in database.as_tenant(database.acme).execute(f"EXPLAIN {statement}", given))
    read = {table for table in BULKY if f"Seq Scan on {table}" in plan}
    assert not read, plan
    assert "Index" in plan


BULKY = ("ds_threads", "ds_items", "ds_checkpoints", "ds_events", "ds_writes")
BULK = r"""
INSERT INTO ds_threads (tenant, thread, name, owner, created_at, updated_at) OVERRIDING SYSTEM VALUE
SELECT {tenant}, 100000 + n, 't' || n, 'ana', 0, 0 FROM generate_series(1, 3000) n;
INSERT INTO ds_items (tenant, thread, lane, pos, digest, body)
SELECT {tenant}, 100000 + n, 0, m, decode(lpad(to_hex(m), 4, '0'), 'hex'), '1'
FROM generate_series(1, 3000) n, generate_series(1, 4) m;
INSERT INTO ds_checkpoints (tenant, thread, ckpt, ns, id, branch, created_at, state)
SELECT {tenant}, 100000 + n, m, 0, decode(lpad(to_hex(n * 5 + m), 32, '0'), 'hex'), 0, 0, '[]'
FROM generate_series(1, 3000) n, generate_series(1, 3) m;
INSERT INTO ds_namespaces (tenant, thread, ns, name, head)
SELECT {tenant}, 100000 + n, 0, '', 3 FROM generate_series(1, 3000) n;
INSERT INTO ds_events (tenant, thread, seq, kind, author, at, branch, ckpt, mark, lane, pos, terms)
SELECT {tenant}, 100000 + n, m, 1, 'u', 0, 0, 1, m, 0, m, '\x0000' FROM generate_series(1, 3000) n, generate_series(1, 3) m;
INSERT INTO ds_writes (tenant, thread, ckpt, task, path, body)
SELECT {tenant}, 100000 + n, m, '\x01', '', '[]' FROM generate_series(1, 3000) n, generate_series(1, 3) m;
ANALYZE;
"""
