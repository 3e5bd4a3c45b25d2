"""Making and upgrading a PostgreSQL database.

Rules of this module:

* An advisory lock makes first openers take turns; the whole schema comes in one transaction.
* An older format is upgraded step by step; a newer one is refused untouched.
* Tables stand in the connection's current schema and all begin with `ds_` (and one view, `graph_checkpoints`).
"""

from __future__ import annotations

import psycopg

from dalsegno import errors
from dalsegno.stores.statements import load_script, migrations

__all__ = ["FORMAT", "prepare", "schema"]

FORMAT = 1
_PACKAGE = "dalsegno.stores.postgres"
_LOCK = 0x64616C7365676E6F
"""Key of the advisory lock around the schema ("dalsegno")."""


def prepare(connection: psycopg.Connection[tuple[object, ...]], *, create: bool) -> None:
    """Bring a database to this format, or refuse it. The connection is in autocommit mode.

    Raises:
        NoDatabase: it holds nothing of dalsegno's and `create` is False.
        SchemaNewer: written by a newer version.
        psycopg.Error: the database cannot be used; the caller translates it.
    """
    found = _format_of(connection)
    if found == FORMAT:
        return
    if found is None and not create:
        msg = "this PostgreSQL database holds no dalsegno tables"
        raise errors.NoDatabase(
            msg,
            step="check the URL, or connect with create=True to make them",
            command="check the URL, or make them with `dalsegno import`",
        )
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        found = _format_of(connection)
        for number, script in migrations(_PACKAGE):
            if number > (found or 0):
                connection.execute(script)
        connection.execute(
            "INSERT INTO ds_meta (name, value) VALUES ('format', %s)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (str(FORMAT),),
        )


def _format_of(connection: psycopg.Connection[tuple[object, ...]]) -> int | None:
    # Not to_regclass: it may answer from a cache that is older than the lock this session has just waited for.
    row = connection.execute(
        "SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'ds_meta' AND pg_catalog.pg_table_is_visible(oid)"
    ).fetchone()
    if row is None:
        return None
    row = connection.execute("SELECT value FROM ds_meta WHERE name = 'format'").fetchone()
    if row is None or not str(row[0]).isdigit():
        raise errors.Damaged("ds_meta", expected="the number of this database's format", found=row and row[0])
    found = int(str(row[0]))
    if found > FORMAT:
        msg = f"the database has format {found}, this dalsegno knows {FORMAT}; nothing was changed. Upgrade dalsegno"
        raise errors.SchemaNewer(msg)
    return found


def schema() -> str:
    """The schema of this format, as one script (what all migrations add up to)."""
    return load_script(_PACKAGE, "schema.sql")
