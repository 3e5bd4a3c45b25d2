"""A disk that is full at any point of a write leaves the thread as it was, says so, and the write works once there is room."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import pytest

import dalsegno
from dalsegno.errors import StoreFull
from dalsegno.testing import OPERATIONS, differences, prepare, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STEP = 8192


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A real file system of four megabytes."""
    disk = tmp_path_factory.mktemp("disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"this place does not let tests mount a small disk: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@contextlib.contextmanager
def nearly_full(disk: Path, left: int) -> Iterator[None]:
    """Fill the disk up to some bytes."""
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(max(0, free - left)))
    try:
        yield
    finally:
        ballast.unlink()


def seen(ds: dalsegno.Dalsegno, name: str) -> list[Any]:
    return [snapshot(ds, thread) for thread in OPERATIONS[name].threads]


@pytest.mark.parametrize("name", ["put", "put_writes", "append", "copy", "delete", "prune", "prune all"])
def test_a_disk_full_at_any_point_of_a_write(name: str, small_disk: Path):
    path = small_disk / "agents.db"
    refused = 0
    with dalsegno.connect(f"sqlite:///{path}", tenant="calm") as ds:
        prepare(ds)
        before = seen(ds, name)
        OPERATIONS[name].act(ds)
        after = seen(ds, name)
    for left in range(0, 1_000_000, STEP):
        room = True
        with dalsegno.connect(f"sqlite:///{path}", tenant=f"{left} left") as ds:
            prepare(ds)
            try:
                with nearly_full(small_disk, left):
                    OPERATIONS[name].act(ds)
            except StoreFull:
                room = False
                refused += 1
                assert seen(ds, name) == before
                assert ds.threads.check().findings == []
                OPERATIONS[name].act(ds)
            assert [differences(*pair) for pair in zip(seen(ds, name), after, strict=True)] == [[]] * len(after)
        path.unlink()
        if room:
            break
    assert refused >= 1
    assert room


def test_writers_in_one_commit_on_a_full_disk_each_get_told_or_are_kept(small_disk: Path):
    path = small_disk / "together.db"
    with dalsegno.connect(f"sqlite:///{path}") as ds:
        ds.journal.append("t", "note", "me", "0")
        done: list[str] = []
        refused: list[str] = []

        def write(name: str) -> None:
            for number in range(12):
                text = f"{name}{number} " + "x" * 9_000
                try:
                    ds.journal.append("t", "note", "me", text)
                except StoreFull:
                    refused.append(text)
                else:
                    done.append(text)

        with nearly_full(small_disk, 300_000):
            threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            said = [event.text for event in ds.journal.read("t")]
        assert done
        assert refused
        assert sorted(said) == sorted([*done, "0"])
        assert [event.seq for event in ds.journal.read("t")] == list(range(1, len(said) + 1))
        assert ds.threads.check().findings == []
        ds.journal.append("t", "note", "me", "room again")
    path.unlink()
