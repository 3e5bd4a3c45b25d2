"""A quick way to start the demo's processes: forked from one that has its imports behind it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dalsegno.demo.child import Job
    from dalsegno.demo.process import Launch


class Forked:
    """A process forked in the nursery; the same face as the demo's own."""

    def __init__(self, nursery: subprocess.Popen[str], job: Job, pipe: Path) -> None:
        os.mkfifo(pipe)
        self._nursery, self._pipe, self._status = nursery, pipe, None
        nursery.stdin.write(json.dumps({"job": job.to_json(), "pipe": str(pipe)}) + "\n")
        nursery.stdin.flush()
        self._pid = json.loads(nursery.stdout.readline())["pid"]

    def reports(self) -> Iterator[dict[str, Any]]:
        with self._pipe.open() as reports:
            yield from map(json.loads, reports)

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> tuple[int, str]:
        if self._status is None:
            self._status = json.loads(self._nursery.stdout.readline())["status"]
        return self._status, "see the nursery's complaints"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._status is None:
            self.kill()
            self.wait()


@pytest.fixture(scope="session")
def fork(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launch]:
    """Start a demo process by forking."""
    folder, count = tmp_path_factory.mktemp("pipes"), itertools.count()
    program = [sys.executable, str(Path(__file__).with_name("nursery.py"))]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        yield lambda job: Forked(nursery, job, folder / str(next(count)))
        nursery.stdin.close()
