"""Several processes at work on shared threads, killed at random; then everything is checked and compared.

Workers (see `bench.chaos_work`) run graphs, append, fork, prune, copy, delete and look, all on the same few threads,
sync and async. Every few moments one of them is killed with SIGKILL and another takes its place; on PostgreSQL sessions
are cut as well. At the end every thread is re-read: whatever was acknowledged is there once, numbers have no gaps, a
check finds nothing, and every unfinished run comes to its end. The exit code is the verdict.

    python -m bench.chaos --seconds 120 --stores sqlite,postgres
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import select
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dalsegno
from bench.chaos_work import BOOK, build, finish, say_to, work
from bench.harness import Bound, Report, database, words
from dalsegno.testing import CutConnections, Moment, Point, snapshot

STORES = ("sqlite", "postgres")
_ANY_POINT = Point(number=1, moment=Moment.BEFORE_BEGIN, step="", write=True)


@dataclass(slots=True, kw_only=True)
class Tally:
    """What the processes said, and what was done to them."""

    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    acknowledged: dict[str, set[str]] = field(default_factory=dict)
    kills: int = 0
    cuts: int = 0

    def take(self, said: dict[str, Any]) -> None:
        """Count one line."""
        if "done" in said:
            self.done[said["done"]] += 1
        elif "refused" in said:
            self.refused[said["refused"]] += 1
        elif "fault" in said:
            self.faults.append(said["fault"])
        else:
            self.acknowledged.setdefault(said["ack"], set()).update(said["names"])


@contextmanager
def place(store: str) -> Iterator[str]:
    """URL of an empty database of a kind."""
    if store == "postgres":
        with database() as url:
            yield url
        return
    with tempfile.TemporaryDirectory(prefix="dalsegno-chaos-") as folder:
        yield f"sqlite:///{Path(folder) / 'agents.db'}"


def forked(source: int, job: Any, *arguments: Any) -> int:
    """Run a job in a process of its own; return its id."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.close(source)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        job(*arguments)
        status = 0
    except Exception:  # noqa: BLE001 - a forked child must not go on as its parent
        traceback.print_exc()
    finally:
        os._exit(status)


def soak(url: str, *, seconds: float, processes: int, seed: int) -> Tally:
    """Let processes work and die for a while; end with none alive."""
    dice, tally = random.Random(seed), Tally()
    source, out = os.pipe()
    began, rest = time.time(), b""
    alive: list[int] = []
    born = 0
    kill_at = began + 0.5
    try:
        while time.time() < began + seconds:
            while len(alive) < processes:
                alive.append(forked(source, work, url, out, seed * 100_000 + born, began))
                born += 1
            if select.select([source], [], [], max(0.0, kill_at - time.time()))[0]:
                *lines, rest = (rest + os.read(source, 1 << 16)).split(b"\n")
                for line in lines:
                    tally.take(json.loads(line))
            alive = [pid for pid in alive if os.waitpid(pid, os.WNOHANG) == (0, 0)]
            if time.time() >= kill_at and alive:
                _strike(alive, dice, tally, url)
                kill_at = time.time() + dice.uniform(0.05, 0.8)
    finally:
        for pid in alive:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(out)
    while part := os.read(source, 1 << 16):
        rest += part
    os.close(source)
    for line in rest.splitlines():
        tally.take(json.loads(line))
    return tally


def _strike(alive: list[int], dice: random.Random, tally: Tally, url: str) -> None:
    if url.startswith("postgresql") and dice.random() < 0.15:  # noqa: PLR2004 - a share
        CutConnections(url)(_ANY_POINT)
        tally.cuts += 1
        return
    pid = alive.pop(dice.randrange(len(alive)))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    tally.kills += 1


def judge(url: str, out: int, acknowledged: dict[str, set[str]]) -> None:
    """Re-read every thread, finish every run, and say what is wrong."""
    say = say_to(out)
    with dalsegno.connect(url) as ds:
        graph = build(ds.checkpointer)
        for thread in ds.threads.list(deleted=True):
            name = thread.thread_id
            if thread.deleted:
                left = snapshot(ds, name) or {}
                say(left=sum(len(rows) for table, rows in left.items() if table != "row"), thread=name)
                continue
            first = [str(finding)[:300] for finding in ds.threads.check(name).findings]
            while ds.threads.get(name).leased_to is not None:  # a dead worker's lease runs out
                time.sleep(0.1)
            if thread.checkpoints:
                finish(graph, name)
            found = [*first, *(str(finding)[:300] for finding in ds.threads.check(name).findings)]
            whole = snapshot(ds, name) or {}
            numbers = sorted(event[0] for event in whole["events"])
            authors = Counter(event[2] for event in whole["events"])
            book = name.startswith(BOOK)
            say(
                thread=name,
                findings=found[:5],
                gaps=len(numbers) - len(set(numbers)) + (numbers[-1] - numbers[0] + 1 - len(numbers) if numbers else 0),
                lost=sorted(acknowledged.get(name, set()) - authors.keys())[:20] if book else [],
                twice=sorted(one for one, count in authors.items() if count > 1)[:20] if book else [],
                events=len(numbers),
                checkpoints=len(whole["checkpoints"]),
                branches=len(whole["branches"]) if book else 0,
            )


def judged(url: str, tally: Tally) -> list[dict[str, Any]]:
    """The judge's lines, from a process of its own, so that this one stays without connections."""
    source, out = os.pipe()
    pid = forked(source, judge, url, out, tally.acknowledged)
    os.close(out)
    said = b""
    while part := os.read(source, 1 << 16):
        said += part
    os.close(source)
    _, status = os.waitpid(pid, 0)
    if status:
        tally.faults.append(f"the judge ended with {os.waitstatus_to_exitcode(status)}; its traceback is above")
    return [json.loads(line) for line in said.splitlines()]


def measure(store: str, *, seconds: float, processes: int, seed: int) -> tuple[dict[str, object], list[Bound], Tally]:
    """Soak one kind of database; return its row, its bounds and what was said."""
    with place(store) as url:
        tally = soak(url, seconds=seconds, processes=processes, seed=seed)
        lines = judged(url, tally)
    threads = [line for line in lines if "findings" in line]
    found = {
        "faults": len(tally.faults),
        "findings": sum(len(line["findings"]) for line in threads),
        "gaps in numbers": sum(abs(line["gaps"]) for line in threads),
        "acknowledged and lost": sum(len(line["lost"]) for line in threads),
        "written twice": sum(len(line["twice"]) + line["branches"] for line in threads),
        "rows left by deleted threads": sum(line["left"] for line in lines if "left" in line),
    }
    tally.faults += [
        f"{line['thread']}: {line}" for line in threads if line["findings"] or line["lost"] or line["twice"]
    ]
    row: dict[str, object] = {
        "store": store,
        "seconds": seconds,
        "kills": tally.kills,
        "cuts": tally.cuts,
        "operations": sum(tally.done.values()),
        "refused": sum(tally.refused.values()),
        "acknowledged": sum(map(len, tally.acknowledged.values())),
        "threads": len(threads),
        "checkpoints": sum(line["checkpoints"] for line in threads),
        "events": sum(line["events"] for line in threads),
    }
    return row, [Bound(claim=f"{store}: {claim}", limit=0, found=count) for claim, count in found.items()], tally


def main(argv: Sequence[str] | None = None) -> int:
    """Run the soak; exit code 1 when anything is lost, doubled or unsound."""
    parser = argparse.ArgumentParser(
        description=str(__doc__).split("\n\n", maxsplit=1)[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--stores", type=words, default=STORES, help=f"databases, of {STORES}")
    parser.add_argument("--seconds", type=float, default=120.0, help="how long to work on each")
    parser.add_argument("--processes", type=int, default=4, help="how many at work at once")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other chances")
    asked = parser.parse_args(argv)
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # each cut session would be a line
    report = Report(title="Killed at random", notes=(f"{asked.processes} processes at once, seed {asked.seed}",))
    for store in asked.stores:
        row, bounds, tally = measure(store, seconds=asked.seconds, processes=asked.processes, seed=asked.seed)
        report.rows.append(row)
        report.bounds += bounds
        sys.stderr.write(f"{store}: done {dict(tally.done)}, refused {dict(tally.refused)}\n")
        for fault in tally.faults[:10]:
            sys.stderr.write(f"--- {fault}\n")
    return report.close(as_json=asked.json)


if __name__ == "__main__":
    sys.exit(main())
