"""Killed at any point of any write, a process leaves the thread as it was before or as it would have been after.

Points between two statements that only read are the same moment for the database; of those the first alone is tried.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from dalsegno.errors import Conflict, Refused
from dalsegno.stores.statements import load_statements
from dalsegno.testing import OPERATIONS, Operation, differences, snapshot

STATEMENTS = load_statements("dalsegno.stores.sqlite")


def seen(ds: Any, operation: Operation) -> dict[str, Any]:
    return {thread: snapshot(ds, thread) for thread in operation.threads}


def apart(left: dict[str, Any], right: dict[str, Any]) -> list[str]:
    return [f"{thread}: {line}" for thread in right for line in differences(left[thread], right[thread])]


def after_the_kill(scene: Any, tenant: str, operation: Operation, before: Any, after: Any) -> str:
    """Reopen, check, compare, repeat; say which of the two the thread was."""
    with scene.after(tenant) as ds:
        assert ds.threads.check().findings == []
        found = seen(ds, operation)
        was = "before" if not apart(before, found) else "after"
        if was == "after":
            assert apart(after, found) == []
        with contextlib.suppress(Refused, Conflict) if was == "after" else contextlib.nullcontext():
            operation.act(ds)
        assert ds.threads.check().findings == []
        assert ds.actions.verify().sound
        assert not ds.erasure.rewrite()  # nothing that was begun is left unfinished
        if was == "before" or operation.again == "refused":
            assert apart(after, seen(ds, operation)) == []
        return was


def telling(places: list[str]) -> list[int]:
    """Numbers of the points that may differ for the database, from 1."""
    reads = {f"after {name}" for name, text in STATEMENTS.items() if text.startswith(("SELECT", "WITH"))}
    return [n for n, place in enumerate(places, 1) if place not in reads or places[n - 2] not in reads]


def every_point(nursery: Any, scene: Any, name: str, *, face: str, split: bool) -> None:
    """Kill a process at each point of an operation, each time on a thread of its own."""
    how = {"url": scene.url, "operation": name, "face": face, "split": split}
    calm = nursery.run("interrupted", tenant="calm", at=None, **how)
    before, places, after = calm.report
    one = OPERATIONS[name]
    found: list[tuple[str, str]] = []
    for number in telling(places):
        tenant = f"killed at {number}"
        ended = nursery.run("interrupted", tenant=tenant, at=number, **how)
        assert ended.killed
        assert [apart(before, said) for said in ended.report] == [[]]
        found.append((places[number - 1], after_the_kill(scene, tenant, one, before, after)))
    committed = [place for place, was in found].index("after COMMIT")
    if one.transactions is None:  # one of its transactions does it, whatever comes before and after
        committed = [was for _, was in found].index("after")
    assert [was for _, was in found] == ["before"] * committed + ["after"] * (len(found) - committed)
    assert (found[committed - 1][0], found[committed][0]) == ("before COMMIT", "after COMMIT")


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_point_of_every_write(name: str, nursery, scene):
    every_point(nursery, scene, name, face="sync", split=True)


@pytest.mark.parametrize("name", ["put edited", "put_writes early", "append", "delete", "prune"])
def test_every_point_of_writes_through_the_async_face(name: str, nursery, scene):
    every_point(nursery, scene, name, face="async", split=False)
