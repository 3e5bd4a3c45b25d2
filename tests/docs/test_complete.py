"""Claim: no command, option, setting or error is without a word in the pages, and the set-up is two lines to copy."""

from __future__ import annotations

import contextlib
import inspect
import re
import sqlite3
from pathlib import Path

import click
import psycopg
import pytest
import typer

import dalsegno
from dalsegno import errors
from dalsegno.cli import app
from dalsegno.core.walk import DECODERS
from dalsegno.faces.actions import Actions
from dalsegno.faces.budgets import Budgets
from dalsegno.faces.cache import Cache
from dalsegno.faces.context import Contexts
from dalsegno.faces.erasure import Erasure
from dalsegno.faces.handover import Handover
from dalsegno.faces.histories import Histories
from dalsegno.faces.journal import Journal
from dalsegno.faces.memory import Memories
from dalsegno.faces.retention import Retention
from dalsegno.faces.runs import Lease, Runs
from dalsegno.faces.summaries import Summaries
from dalsegno.faces.threads import Threads
from dalsegno.langgraph.store import DalsegnoStore
from dalsegno.langgraph.types import register_schema  # noqa: F401 - fills the tables of tags
from dalsegno.stores.statements import load_script

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = "\n".join(page.read_text(encoding="utf-8") for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FORMAT = (ROOT / "FORMAT.md").read_text(encoding="utf-8")
PROGRAM = typer.main.get_command(app)
SETTINGS = [name for name in inspect.signature(dalsegno.connect).parameters if name != "url"]
VARIABLES = sorted(
    {
        found
        for module in Path(dalsegno.__file__).parent.glob("cli/**/*.py")
        for found in re.findall(r"\bDALSEGNO_[A-Z_]+\b", module.read_text(encoding="utf-8"))
    }
)


def commands() -> dict[str, click.Command]:
    assert isinstance(PROGRAM, click.Group) or hasattr(PROGRAM, "commands")
    return PROGRAM.commands


def options(command: click.Command) -> list[str]:
    return [name for parameter in command.params for name in parameter.opts if name.startswith("--")]


@pytest.mark.parametrize("name", commands())
def test_the_command_is_shown_in_use(name: str):
    assert re.search(rf"\bdalsegno {name}\b", PAGES), f"no page shows `dalsegno {name}`"


@pytest.mark.parametrize(
    "name", sorted({option for command in [PROGRAM, *commands().values()] for option in options(command)})
)
def test_the_option_is_explained(name: str):
    assert re.search(rf"(?<![\w-]){name}(?![\w-])", PAGES), f"no page names {name}"


@pytest.mark.parametrize("name", [*SETTINGS, *VARIABLES])
def test_the_setting_is_explained(name: str):
    assert re.search(rf"\b{name}=|`{name}`", PAGES), f"no page names `{name}`"


@pytest.mark.parametrize("name", errors.__all__)
def test_the_error_is_explained(name: str):
    assert re.search(rf"`(dalsegno\.)?(errors\.)?{name}`", PAGES), f"no page names `{name}`"


def calls() -> list[str]:
    """Every public name of the package, and every public method of what it hands out."""
    of_faces = {
        name
        for face in (
            *(
                Actions,
                Budgets,
                Cache,
                Contexts,
                DalsegnoStore,
                Erasure,
                Handover,
                Histories,
                Journal,
                Memories,
                Retention,
            ),
            *(Threads, Runs, Lease, Summaries),
        )
        for name in vars(face)
        if not name.startswith("_")
    }
    return sorted({*dalsegno.__all__, *of_faces})


@pytest.mark.parametrize("name", calls())
def test_the_public_name_is_mentioned(name: str):
    assert re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", PAGES), f"no page names `{name}`"


def columns(store: str) -> set[tuple[str, str]]:
    """Table and column of every table in a schema."""
    tables = re.findall(r"^CREATE TABLE (\w+) \((.*?)^\)", load_script(store, "schema.sql"), re.MULTILINE | re.DOTALL)
    return {(table, name) for table, body in tables for name in re.findall(r"^  ([a-z_]+)", body, re.MULTILINE)}


def test_both_databases_have_the_same_columns():
    assert columns("dalsegno.stores.sqlite") == columns("dalsegno.stores.postgres")


@pytest.mark.parametrize(("table", "column"), sorted(columns("dalsegno.stores.sqlite")))
def test_the_column_is_described(table: str, column: str):
    (section,) = [part for part in FORMAT.split("\n### ") if table in re.split(r"[,\s]+", part.partition("\n")[0])]
    assert f"`{column}`" in section, f"FORMAT.md does not describe {table}.{column}"


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_the_columns_of_the_view_are_named(store: str, request: pytest.FixtureRequest):
    url: str = request.getfixturevalue(f"{store}_url")
    dalsegno.connect(url).close()
    page = (ROOT / "docs" / "how-to" / "inspect-with-sql.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"^graph_checkpoints\((.*)\)$", page, re.MULTILINE)
    shell = sqlite3.connect(url.removeprefix("sqlite:///")) if store == "sqlite" else psycopg.connect(url)
    with contextlib.closing(shell):
        view = shell.execute("SELECT * FROM graph_checkpoints LIMIT 0").description
    assert named.split(", ") == [column[0] for column in view]


@pytest.mark.parametrize("tag", sorted(DECODERS))
def test_the_tag_is_described(tag: str):
    assert f'"{tag}"' in FORMAT or f"`{tag}`" in FORMAT, f"FORMAT.md does not describe {tag}"


@pytest.mark.parametrize("end", ["dalsegno demo", "python -m pytest -n 3"])
def test_the_set_up_is_one_line_to_copy(end: str):
    lines = [line.strip() for line in README.splitlines() if f".venv/bin/{end}" in line]
    assert len(lines) == 1, f"README.md needs one line that ends in {end}, and has {len(lines)}"
    assert re.match(r"python3 -m venv \.venv && \.venv/bin/pip install [^&]+ && \.venv/bin/", lines[0])
