"""Workers on one database, killed at random while their runs act on an outside world; then everything is counted.

Processes (see `bench.workers_work`) start runs under a lease and go on with those of processes that died. Every moment
one of them is killed with SIGKILL and another takes its place. In the end they are left alone until every run has
finished. Each step of each turn must have had exactly one effect, which is also what the thread's state says; no run
may be parked; a check finds nothing, and the audit's chains hold. The exit code is the verdict.

    python -m bench.workers --seconds 120 --threads 200 --workers 4
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
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dalsegno
from bench.chaos import forked, place
from bench.chaos_work import say_to
from bench.harness import Bound, Report, words
from bench.workers_work import NODES, build, effects, make_world, work
from dalsegno.core.standing import RunStatus

STORES = ("sqlite", "postgres")
_DRAIN_SECONDS = 120.0


@dataclass(slots=True, kw_only=True)
class Tally:
    """What the processes said, and what was done to them."""

    said: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    kills: int = 0
    drained: float = 0.0

    def take(self, line: bytes) -> None:
        """Count one line."""
        said = json.loads(line)
        self.said[said["what"]] += 1
        if said["what"] in ("fault", "failed", "parked"):
            self.faults.append(f"{said['what']} {said['thread']}: {said['why']}")


class Soak:
    """Processes at work on one database and one world."""

    def __init__(self, url: str, world: str, *, threads: int, workers: int, seed: int, pace: float) -> None:
        """Take where they work."""
        self._url, self._world, self._threads, self._workers, self._pace = url, world, threads, workers, pace
        self._dice, self._seed, self._born = random.Random(seed), seed * 100_000, 0
        self._source, self._out = os.pipe()
        self._rest = b""
        self._alive: list[int] = []
        self.tally = Tally()

    def kill(self, seconds: float) -> None:
        """Let them start and finish runs, and die, for a while."""
        end = time.time() + seconds
        kill_at = time.time() + 1.0
        while time.time() < end:
            self._fill(feeds=True)
            self._listen(min(kill_at, end) - time.time())
            if time.time() >= kill_at and self._alive:
                self._reap(self._alive.pop(self._dice.randrange(len(self._alive))), signal.SIGKILL)
                self.tally.kills += 1
                kill_at = time.time() + self._dice.uniform(0.1, 1.0)
        for pid in self._alive:
            self._reap(pid, signal.SIGKILL)
        self.tally.kills += len(self._alive)
        self._alive = []

    def drain(self) -> None:
        """Let them finish what was begun; then each is told to stop, and ends by itself."""
        began = time.time()
        while time.time() < began + _DRAIN_SECONDS:
            self._fill(feeds=False)
            self._listen(0.5)
            if not asked(self._url, unfinished):
                break
        self.tally.drained = time.time() - began
        for pid in self._alive:
            status = self._reap(pid, signal.SIGTERM)
            if status != 0:
                self.tally.faults.append(f"a worker that was told to stop ended with {status}")
        self._alive = []
        os.close(self._out)
        while part := os.read(self._source, 1 << 16):
            self._rest += part
        os.close(self._source)
        for line in self._rest.splitlines():
            self.tally.take(line)

    def _fill(self, *, feeds: bool) -> None:
        self._alive = [pid for pid in self._alive if os.waitpid(pid, os.WNOHANG) == (0, 0)]
        while len(self._alive) < self._workers:
            self._born += 1

            def job(seed: int = self._seed + self._born) -> None:
                work(self._url, self._out, self._world, seed, self._threads, feeds=feeds, pace=self._pace)

            def told(job: Any = job) -> None:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                job()

            self._alive.append(forked(self._source, told))

    def _listen(self, seconds: float) -> None:
        if select.select([self._source], [], [], max(0.0, seconds))[0]:
            *lines, self._rest = (self._rest + os.read(self._source, 1 << 16)).split(b"\n")
            for line in lines:
                self.tally.take(line)

    def _reap(self, pid: int, number: int) -> int:
        os.kill(pid, number)
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status)


def asked(url: str, question: Any, *arguments: Any) -> Any:
    """The answer to a question about the database, from a process of its own: this one stays without connections."""
    source, out = os.pipe()
    pid = forked(source, lambda: say_to(out)(answer=question(url, *arguments)))
    os.close(out)
    said = b""
    while part := os.read(source, 1 << 16):
        said += part
    os.close(source)
    os.waitpid(pid, 0)
    return json.loads(said)["answer"] if said else None


def unfinished(url: str) -> int:
    """How many runs are not over."""
    with dalsegno.connect(url) as ds:
        return sum(run.status is not RunStatus.FINISHED for run in ds.runs.list())


def judge(url: str, world: str) -> dict[str, Any]:
    """Compare every state with the world, and re-read every thread."""
    with dalsegno.connect(url) as ds:
        graph = build(ds, world, random.Random(0), 0)
        told: Counter[str] = Counter()
        wanted: Counter[str] = Counter()
        for thread in ds.threads.list():
            values = graph.get_state({"configurable": {"thread_id": thread.thread_id}}).values
            told.update(what.removeprefix("did ") for what in values.get("done", []))
            turns = range(1, values.get("turn", 0) + 1)
            wanted.update(f"{thread.thread_id}/{turn}/{node}" for turn in turns for node in NODES)
        happened = Counter(effects(world))
        return {
            "turns": sum(wanted.values()) // len(NODES),
            "missing": sum((wanted - happened).values()),
            "twice": sum((happened - wanted).values()),
            "untold": sum(((told - wanted) + (wanted - told)).values()),
            "unfinished": [str(run)[:300] for run in ds.runs.list() if run.status is not RunStatus.FINISHED][:5],
            "left": sum(run.status is not RunStatus.FINISHED for run in ds.runs.list()),
            "findings": [str(finding)[:300] for finding in ds.threads.check().findings][:5],
            "sound": ds.actions.verify().sound,
        }


def measure(
    store: str, *, seconds: float, threads: int, workers: int, seed: int, pace: float = 0.05
) -> tuple[dict[str, object], list[Bound], Tally]:
    """Soak one kind of database; return its row, its bounds and what was said."""
    with place(store) as url, tempfile.TemporaryDirectory(prefix="dalsegno-world-") as folder:
        world = str(Path(folder) / "world.db")
        make_world(world)
        asked(url, unfinished)  # the first use makes the tables
        soak = Soak(url, world, threads=threads, workers=workers, seed=seed, pace=pace)
        soak.kill(seconds)
        soak.drain()
        verdict = asked(url, judge, world) or {}
    tally = soak.tally
    tally.faults += [*verdict.get("unfinished", ["the judge died"]), *verdict.get("findings", [])]
    found = {
        "effects that are missing": verdict.get("missing", 1),
        "effects too many": verdict.get("twice", 1),
        "steps whose state says otherwise": verdict.get("untold", 1),
        "runs that are not finished": verdict.get("left", 1),
        "findings of check": len(verdict.get("findings", [""])),
        "broken audit chains": int(not verdict.get("sound")),
        "faults": sum(fault.startswith(("fault", "failed", "parked", "a worker")) for fault in tally.faults),
    }
    row: dict[str, object] = {
        "store": store,
        "seconds": seconds,
        "workers": workers,
        "threads": threads,
        "kills": tally.kills,
        "turns": verdict.get("turns", 0),
        "effects": verdict.get("turns", 0) * len(NODES),
        "taken over": tally.said["took"],
        "put off": tally.said["put off"],
        "found done": tally.said["found done"],
        "found not done": tally.said["found not done"],
        "drained in s": round(tally.drained, 1),
    }
    return row, [Bound(claim=f"{store}: {claim}", limit=0, found=count) for claim, count in found.items()], tally


def main(argv: Sequence[str] | None = None) -> int:
    """Run the soak; exit code 1 when an effect is missing or doubled, or a run is not over."""
    parser = argparse.ArgumentParser(
        description=str(__doc__).split("\n\n", maxsplit=1)[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--stores", type=words, default=("postgres",), help=f"databases, of {STORES}")
    parser.add_argument("--seconds", type=float, default=120.0, help="how long to kill on each")
    parser.add_argument("--threads", type=int, default=200, help="how many threads")
    parser.add_argument("--workers", type=int, default=4, help="how many processes at once")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other chances")
    given = parser.parse_args(argv)
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # each killed session would be a line
    report = Report(title="Workers killed at random", notes=(f"seed {given.seed}",))
    for store in given.stores:
        row, bounds, tally = measure(
            store, seconds=given.seconds, threads=given.threads, workers=given.workers, seed=given.seed
        )
        report.rows.append(row)
        report.bounds += bounds
        sys.stderr.write(f"{store}: {dict(tally.said)}\n")
        for fault in tally.faults[:10]:
            sys.stderr.write(f"--- {fault}\n")
    return report.close(as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
