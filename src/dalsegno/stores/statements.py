"""Named SQL statements.

Rules of this module:

* SQL stands in `.sql` files next to the store, one statement under each `-- name: word` line; Python assembles none.
* Loading is strict: a name twice, a statement without a name or an empty one is an error at import.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import LiteralString

__all__ = ["load_script", "load_statements", "migrations"]

_NAME = re.compile(r"^-- name: ([a-z_0-9]+)\s*$", re.MULTILINE)


@cache
def load_statements(package: str, file: str = "queries.sql") -> dict[str, LiteralString]:
    """Read `sql/queries.sql`, or another file of named statements, of a store's package.

    Returns:
        Statement text by name, without the trailing semicolon.

    Raises:
        ValueError: a name is used twice or has no statement.
    """
    text = load_script(package, file)
    parts = _NAME.split(text)
    found: dict[str, LiteralString] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        statement = body.strip().rstrip(";").strip()
        if name in found or not statement:
            msg = f"{package}: statement {name!r} is defined twice or empty"
            raise ValueError(msg)
        found[name] = statement
    return found


def load_script(package: str, name: str) -> LiteralString:
    """Read one `.sql` file of a store's package, whole."""
    return (files(package) / "sql" / name).read_text(encoding="utf-8")


@cache
def migrations(package: str) -> tuple[tuple[int, LiteralString], ...]:
    """The numbered migrations of a store (`0001_….sql`, …), lowest first."""
    folder = files(package) / "sql" / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((int(name.split("_", 1)[0]), load_script(package, f"migrations/{name}")) for name in names)
