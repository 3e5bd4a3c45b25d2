"""PostgreSQL: one database, many processes and machines."""

from dalsegno.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
