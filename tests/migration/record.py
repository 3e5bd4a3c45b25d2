"""Writes down a database of this format as SQL, for `data/`: run once for each format, when it is released.

    python tests/migration/record.py sqlite:///new.db > tests/migration/data/format_1.sqlite.sql
    python tests/migration/record.py postgresql://localhost/empty > tests/migration/data/format_1.postgres.sql

The URL names an empty database. What is in it afterwards is `dalsegno.testing.prepare`'s thread, which has every kind of
row, and `test_recorded.py` compares it with what `prepare` makes then.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator

import psycopg
from psycopg import sql

import dalsegno
from dalsegno.stores.statements import migrations
from dalsegno.testing import prepare

TABLES = (
    "ds_meta", "ds_tenants", "ds_threads", "ds_namespaces", "ds_branches", "ds_items", "ds_blobs", "ds_blob_refs", "ds_forms",
    "ds_checkpoints", "ds_writes", "ds_events", "ds_summaries", "ds_cards", "ds_manifests", "ds_spending", "ds_actions", "ds_audit", "ds_audit_heads",
    "ds_audit_roots", "ds_tags", "ds_runs", "ds_erasures", "ds_memories", "ds_evidence", "ds_vectors", "ds_embedders",
    "ds_answers", "ds_answer_sources", "ds_answer_uses", "ds_answer_parents", "ds_calibrations",
)  # fmt: skip
COUNTED = {"ds_tenants": "tenant", "ds_threads": "thread", "ds_forms": "form"}


def sqlite_dump(path: str) -> Iterator[str]:
    connection = sqlite3.connect(path)
    yield from connection.iterdump()
    connection.close()


def postgres_dump(url: str) -> Iterator[str]:
    for _, script in migrations("dalsegno.stores.postgres"):
        yield script
    with psycopg.connect(url) as connection:
        for table in TABLES:
            found = connection.execute(sql.SQL("SELECT * FROM {} ORDER BY 1, 2").format(sql.Identifier(table)))
            columns = sql.SQL(", ").join(sql.Identifier(column.name) for column in found.description or ())
            kinds = [column.type_code for column in found.description or ()]
            json_oid = psycopg.adapters.types["jsonb"].oid
            for row in found.fetchall():
                values = [
                    psycopg.types.json.Jsonb(value) if kind == json_oid and value is not None else value
                    for kind, value in zip(kinds, row, strict=True)
                ]
                yield (
                    sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({});")
                    .format(sql.Identifier(table), columns, sql.SQL(", ").join(map(sql.Literal, values)))
                    .as_string(connection)
                )
        for table, column in COUNTED.items():
            yield f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), (SELECT max({column}) FROM {table}));"


def main(url: str) -> None:
    with dalsegno.connect(url) as ds:
        prepare(ds)
    lines = sqlite_dump(url.removeprefix("sqlite:///")) if url.startswith("sqlite") else postgres_dump(url)
    for line in lines:
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main(sys.argv[1])
