"""What holds of every program: a reader that goes away ends it quietly, and it uses the library's public names alone."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dalsegno
from dalsegno import testing
from dalsegno.langgraph import middleware, tools

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command",
    [
        "examples.support_desk selftest",
        "examples.support_desk cost --requests 1",
        "examples.annual_reports selftest",
        "examples.annual_reports ask revenue",
        "examples.annual_reports trace revenue",
        "examples.annual_reports search x --index {folder}/none",
        "examples.annual_reports ingest {folder}",
        "examples.annual_reports.measure measure routing",
        "examples.reopened_topic play",
    ],
)
def test_a_reader_that_went_away_is_no_error(command: str, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    told = subprocess.run(
        [sys.executable, "-m", *command.format(folder=tmp_path).split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert "Traceback" not in told.stderr
    assert "BrokenPipe" not in told.stderr
    assert told.returncode == 141


@pytest.mark.parametrize("program", ["annual_reports", "reopened_topic", "support_desk"])
def test_a_program_uses_nothing_but_what_the_library_says_it_offers(program: str) -> None:
    offered = (dalsegno, dalsegno.errors, tools, middleware, testing)
    public = {module.__name__: set(getattr(module, "__all__", dir(module))) for module in offered}
    for file in sorted((ROOT / "examples" / program).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                wrong = [
                    name.name
                    for name in node.names
                    if name.name.split(".")[0] == "dalsegno" and name.name not in public
                ]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dalsegno":
                wrong = [name.name for name in node.names if name.name not in public.get(str(node.module), set())]
            else:
                continue
            assert not wrong, (file.name, wrong)
