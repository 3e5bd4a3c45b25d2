"""A torn or garbled SQLite file is refused, reported, or read as it once was; never read as something else in silence."""

from __future__ import annotations

import random
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import dalsegno
from dalsegno.errors import Damaged, Missing, StoreError
from dalsegno.testing import OPERATIONS, prepare, snapshot
from dalsegno.testing.operations import SONG

WAL_HEADER, FRAME_HEADER = 32, 24


_BLOCK = 512
"""Bytes; where none of so many is used, no damage can be seen."""


def everything(ds: dalsegno.Dalsegno) -> Any:
    """Look at the thread in each way there is; what only the bodies say, and what a check finds."""
    for thread in ds.threads.list(deleted=True):
        ds.threads.bytes(thread.thread_id) if not thread.deleted else None
    list(ds.checkpointer.list({"configurable": {"thread_id": SONG}}))
    ds.threads.checkpoints(SONG)
    ds.threads.state(SONG)
    ds.journal.read(SONG)
    ds.journal.search(SONG, "invoice")
    return snapshot(ds, SONG)


def look(path: Path) -> tuple[str, Any]:
    """Open a file and read all of it: the kind of error that came of it, or what there was."""
    try:
        with dalsegno.connect(f"sqlite:///{path}") as ds:
            return "read", (everything(ds), ds.threads.check().findings)
    except (Damaged, StoreError, Missing) as error:
        return type(error).__name__, None


def hashed(found: Any) -> set[str]:
    """The texts of states that are stored under a digest: all of 256 bytes or more."""
    if isinstance(found, str):
        return {found} if len(found.encode()) >= 256 else set()
    parts = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return set().union(*map(hashed, parts))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A closed database, everything in its main file, and what is in it."""
    path = tmp_path_factory.mktemp("sound") / "agents.db"
    with dalsegno.connect(f"sqlite:///{path}") as ds:
        prepare(ds)
        OPERATIONS["put"].act(ds)
        return path, everything(ds)


def test_a_sound_file_reads_as_written(sound):
    path, whole = sound
    assert look(path) == ("read", (whole, []))


@pytest.mark.parametrize("seed", range(12))
def test_garbled_pages_are_seen_and_no_hashed_text_is_read_changed(seed, sound, swift_path):
    path, whole = sound
    dice = random.Random(seed)
    seen = Counter()
    used = [at for at in range(0, path.stat().st_size, _BLOCK) if any(path.read_bytes()[at : at + _BLOCK])]
    for number in range(40):
        raw = bytearray(path.read_bytes())
        start, length = dice.choice(used) + dice.randrange(_BLOCK), dice.choice((1, 8, 200, 8192))
        part = dice.choice((dice.randbytes(length), bytes(length), b'{}[]",:$0a' * (1 + length // 10)))
        raw[start : start + length] = part[: len(raw[start : start + length])]
        torn = swift_path / f"torn{number}.db"
        torn.write_bytes(raw)
        kind, found = look(torn)
        seen[kind] += 1
        if kind == "read":
            assert hashed(found[0]["states"]) == hashed(whole["states"])
    assert set(seen) <= {"read", "Damaged", "NotADatabase", "StoreError", "ThreadNotFound", "CheckpointNotFound"}
    assert seen["Damaged"] > 5
    assert seen["read"] > 5


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.3, 0.5, 0.9, 0.99])
def test_a_file_cut_short_is_refused(share, sound, tmp_path):
    path, _ = sound
    raw = path.read_bytes()
    torn = tmp_path / "torn.db"
    torn.write_bytes(raw[: max(1, int(len(raw) * share))])
    assert look(torn)[0] in {"Damaged", "NotADatabase"}


# --- the write-ahead log


@pytest.fixture(scope="module")
def unfolded(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes, list[Any]]:
    """Main file and log of a database whose log was never folded back, and what was there after each commit."""
    path = tmp_path_factory.mktemp("unfolded") / "agents.db"
    with dalsegno.connect(f"sqlite:///{path}") as ds:
        ds.journal.append(SONG, "note", "me", "before the log")
    seen: list[Any] = []
    with dalsegno.connect(f"sqlite:///{path}") as ds:
        inner = ds.store_backend.run

        def watched(factory: Any, *, write: bool, key: Any = None) -> Any:
            result = inner(factory, write=write, key=key)
            if write:
                seen.append(snapshot_through(inner, ds))
            return result

        seen.append(snapshot(ds, SONG))
        ds.store_backend.run = watched
        prepare(ds)
        for name in ("put", "append", "prune", "delete_for_runs"):
            OPERATIONS[name].act(ds)
        ds.store_backend.run = inner
        main, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    return main, log, seen


def snapshot_through(run: Any, ds: dalsegno.Dalsegno) -> Any:
    watched, ds.store_backend.run = ds.store_backend.run, run
    try:
        return snapshot(ds, SONG)
    finally:
        ds.store_backend.run = watched


def with_log(folder: Path, number: int, main: bytes, log: bytes) -> Path:
    path = folder / f"{number}.db"
    path.write_bytes(main)
    Path(f"{path}-wal").write_bytes(log)
    return path


def frames(main: bytes, log: bytes) -> tuple[int, int]:
    """Size of a frame of the log and how many there are."""
    page = struct.unpack(">H", main[16:18])[0]
    return FRAME_HEADER + page, (len(log) - WAL_HEADER) // (FRAME_HEADER + page)


def test_a_log_cut_anywhere_is_read_up_to_a_whole_commit(unfolded, swift_path):
    main, log, seen = unfolded
    size, count = frames(main, log)
    assert count > len(seen) > 10
    found = []
    for number in range(count + 1):
        for more in (0, FRAME_HEADER + 100):
            path = with_log(swift_path, 2 * number + (more > 0), main, log[: WAL_HEADER + number * size + more])
            with dalsegno.connect(f"sqlite:///{path}") as ds:
                assert ds.threads.check().findings == []
                found.append(seen.index(snapshot(ds, SONG)))
    assert found == sorted(found)
    assert {found[0], found[-1]} == {0, len(seen) - 1}


def test_a_garbled_log_is_read_up_to_the_damage(unfolded, swift_path):
    main, log, seen = unfolded
    dice = random.Random(7)
    found = set()
    for number in range(60):
        garbled = bytearray(log)
        start = dice.randrange(WAL_HEADER, len(log))
        garbled[start : start + 40] = dice.randbytes(len(garbled[start : start + 40]))
        with dalsegno.connect(f"sqlite:///{with_log(swift_path, number, main, garbled)}") as ds:
            assert ds.threads.check().findings == []
            found.add(seen.index(snapshot(ds, SONG)))
    assert len(found) > 5


def test_without_its_log_a_database_is_as_it_was_before(unfolded, swift_path):
    main, _, seen = unfolded
    path = with_log(swift_path, 0, main, b"")
    with dalsegno.connect(f"sqlite:///{path}") as ds:
        assert ds.threads.check().findings == []
        assert snapshot(ds, SONG) == seen[0]
        OPERATIONS["append"].act(ds)
