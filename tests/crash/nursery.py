"""Bears the processes that are to die: imports once, then forks for each job, before any connection is opened.

Not a test: a program with one thread. It reads one JSON line for each job, runs it in a forked child, and answers with
one line when that child has ended: `{"status", "report"}`. `status` is the exit code, or minus the signal; `report` is
the list of what the child said until then.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import acts
import graphs
import spends

from dalsegno.connect import open_store
from dalsegno.testing import OPERATIONS, FaultyStore, Kill, Sleep, connect_over, prepare, snapshot

Say = Any


def interrupted(say: Say, *, url: str, tenant: str, operation: str, at: int | None, face: str, split: bool) -> None:
    """Make the thread, say how it stands, and do the operation until the point `at`, where this process dies."""
    store = FaultyStore(open_store(url), split=split)
    ds = connect_over(store, tenant=tenant)
    one = OPERATIONS[operation]
    prepare(ds)
    say({thread: snapshot(ds, thread) for thread in one.threads})
    store.arm(at, None if at is None else Kill())
    if face == "async":
        asyncio.run(_acted(one, ds))
    else:
        one.act(ds)
    store.disarm()
    say([point.place for point in store.trail])
    say({thread: snapshot(ds, thread) for thread in one.threads})
    ds.close()


async def _acted(one: Any, ds: Any) -> None:
    await one.aact(ds)
    loop_pools = getattr(ds.store_backend.store, "_apools", None)
    if loop_pools is not None:
        for loop in list(loop_pools.values()):
            await loop.pool.close()


def graph_run(say: Say, *, url: str, thread: str, log: str, at: int | None, face: str, durability: str) -> None:
    """Begin or go on with a graph run; die at the point `at` of its writes, or finish and say its messages."""
    store = FaultyStore(open_store(url))
    ds = connect_over(store)
    ds.scope()
    store.arm(at, None if at is None else Kill())
    say(graphs.play(ds, thread, Path(log), face, durability))
    say(len(store.trail))
    ds.close()


def write_many(say: Say, *, url: str, thread: str, first: int, count: int) -> None:
    """Append numbered notes until killed, saying each number when its append has returned."""
    ds = connect_over(open_store(url))
    for number in range(first, first + count):
        ds.journal.append(thread, "note", "scribe", {"number": number, "text": f"note {number} " * 40})
        say(number)
    ds.close()


def hold_lock(say: Say, *, url: str, thread: str, hold: float) -> None:
    """Append a note, standing still for a while in the middle of it, with every lock of the transaction held."""

    def stand(point: Any) -> None:
        say("held")
        Sleep(timedelta(seconds=hold))(point)

    store = FaultyStore(open_store(url))
    ds = connect_over(store)
    store.arm(4, stand)
    say(ds.journal.append(thread, "note", "holder", "held").seq)
    ds.close()


def forks(say: Say, *, url: str, thread: str) -> None:
    """Write before a fork, in the child and in the parent after it, in turns, on what was opened before."""
    ds = connect_over(open_store(url))
    ds.journal.append(thread, "note", "parent", "before")
    ds.journal.read(thread)
    for number in range(3):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                ds.journal.append(thread, "note", "child", f"child {number}")
                status = 0 if len(ds.journal.read(thread)) == 2 + 2 * number else 2
                gc.collect()
            finally:
                os._exit(status)
        _, status = os.waitpid(pid, 0)
        say(os.waitstatus_to_exitcode(status))
        ds.journal.append(thread, "note", "parent", f"parent {number}")
    pid = os.fork()
    if pid == 0:
        ds.close()
        os._exit(0)
    os.waitpid(pid, 0)
    say([event.text for event in ds.journal.read(thread)])
    pool = getattr(ds.store_backend, "_pool", None)
    say(0 if pool is None else pool.get_stats().get("returns_bad", 0))
    ds.close()


def acting(
    say: Say, *, url: str, tenant: str, world: str, at: int | None, die: str | None, looks: bool, answer: Any, face: str
) -> None:
    """Begin or go on with a run that acts on the world; die at the point `at` of its writes, or where `die` says."""
    store = FaultyStore(open_store(url), split=False)
    ds = connect_over(store, tenant=tenant)
    ds.scope()
    store.arm(at, None if at is None else Kill())
    seen: list[Any] = []
    say(acts.play(ds, world, die=die, looks=looks, answer=answer, face=face, seen=seen))
    store.disarm()
    say([point.place for point in store.trail])
    say(len(seen))
    ds.close()


def spending(say: Say, *, url: str, log: str, dies_at: int) -> None:
    """Begin or go on with a run under a budget; die in its n-th model call, or finish and say how it ended."""
    ds = connect_over(open_store(url))
    say(spends.play(ds, log, dies_at))
    ds.close()


JOBS = {job.__name__: job for job in (interrupted, graph_run, write_many, hold_lock, forks, acting, spending)}


def _child(order: dict[str, Any], out: int) -> None:
    JOBS[order["job"]](lambda said: os.write(out, json.dumps(said).encode() + b"\n"), **order["arguments"])


def _watch(pid: int, source: int, seconds: float | None) -> bytes:
    """What the child says until it ends; it is killed after so many seconds."""
    said, deadline = b"", None if seconds is None else time.monotonic() + seconds
    poll = select.poll()
    poll.register(source, select.POLLIN | select.POLLHUP)
    while True:
        if deadline is not None and not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            os.kill(pid, signal.SIGKILL)
            deadline = None
            continue
        part = os.read(source, 1 << 20)
        if not part:
            return said
        said += part


def serve(orders: Any) -> None:
    """Answer orders until there are no more."""
    for line in orders:
        order = json.loads(line)
        source, out = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(source)
            status = 0
            try:
                _child(order, out)
            except BaseException:  # noqa: BLE001 - a forked child must not go on as the nursery
                traceback.print_exc()
                status = 1
            os._exit(status)
        os.close(out)
        said = _watch(pid, source, order.get("seconds"))
        os.close(source)
        _, status = os.waitpid(pid, 0)
        whole = said[: said.rfind(b"\n") + 1]
        answer = {
            "status": os.waitstatus_to_exitcode(status),
            "report": [json.loads(part) for part in whole.splitlines()],
        }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.stdin)
