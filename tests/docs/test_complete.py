"""Claim: no command, option, setting or error is without a word in the pages, and the set-up is two lines to copy."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click
import pytest
import typer

import dalsegno
from dalsegno import errors
from dalsegno.cli import app

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = "\n".join(page.read_text(encoding="utf-8") for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
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


@pytest.mark.parametrize("end", ["dalsegno demo", "python -m pytest"])
def test_the_set_up_is_one_line_to_copy(end: str):
    lines = [line.strip() for line in README.splitlines() if f".venv/bin/{end}" in line]
    assert len(lines) == 1, f"README.md needs one line that ends in {end}, and has {len(lines)}"
    assert re.match(r"python3 -m venv \.venv && \.venv/bin/pip install [^&]+ && \.venv/bin/", lines[0])
