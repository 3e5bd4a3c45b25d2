"""A reader that goes away ends a program quietly, whichever it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
