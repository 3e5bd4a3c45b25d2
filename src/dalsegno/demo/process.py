"""Start a process that plays, listen to it, and kill it.

Rules of this module:

* A process is ended by whoever started it: leaving the context kills and reaps it, also when something else failed.
* What it wrote before it was killed is still in the pipe and is read to the end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from dalsegno.errors import Conflict, DalsegnoError, Damaged, Missing, Misuse, Refused, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dalsegno.demo.child import Job

__all__ = ["Launch", "Process", "failure", "family_of", "spawn"]


_FAMILIES: Final = {
    family.__name__: family for family in (Misuse, Conflict, Missing, Refused, Damaged, StoreError, DalsegnoError)
}


def family_of(error: DalsegnoError) -> str:
    """Name of an error's family, to be told to another process."""
    return next(name for name, family in _FAMILIES.items() if isinstance(error, family))


def failure(family: str, message: str) -> DalsegnoError:
    """An error of that family, as it happened in another process."""
    return _FAMILIES.get(family, DalsegnoError)(message)


class Process(Protocol):
    """A process at work."""

    def reports(self) -> Iterator[dict[str, Any]]:
        """What it tells, as it tells it; ends when the process is gone."""

    def kill(self) -> None:
        """Send SIGKILL."""

    def wait(self) -> tuple[int, str]:
        """Wait for its end; the exit status (minus the signal) and the last line it complained with."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class Launch(Protocol):
    """A way to start a process."""

    def __call__(self, job: Job) -> Process:
        """Start a process that does this job."""


class _Spawned:
    """A new interpreter."""

    def __init__(self, job: Job) -> None:
        self._complaints: Final = tempfile.TemporaryFile()  # noqa: SIM115 - closed on leaving the context
        self._popen: Final = subprocess.Popen(
            [sys.executable, "-P", "-m", "dalsegno.demo"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
        )
        assert self._popen.stdin is not None  # noqa: S101 - a pipe was asked for
        with self._popen.stdin as pipe:
            pipe.write(job.to_json().encode())

    def reports(self) -> Iterator[dict[str, Any]]:
        assert self._popen.stdout is not None  # noqa: S101 - a pipe was asked for
        for line in self._popen.stdout:
            yield json.loads(line)

    def kill(self) -> None:
        self._popen.kill()

    def wait(self) -> tuple[int, str]:
        status = self._popen.wait()
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        return status, lines[-1] if lines else "it said nothing"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._popen.kill()
        self._popen.wait()
        assert self._popen.stdout is not None  # noqa: S101 - a pipe was asked for
        self._popen.stdout.close()
        self._complaints.close()


def spawn(job: Job) -> Process:
    """Start a new interpreter that does this job."""
    return _Spawned(job)
