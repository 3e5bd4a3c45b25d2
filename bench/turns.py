"""Time of one chat turn, early and late in a conversation.

An unmodified `MessagesState` graph is brought to each length, then some more turns are timed one by one and the
median is taken. Each saver at each length lives in a process of its own, as it would at work; the timed turns go
round all of them in turn, so that a busy moment of the machine hits every number alike. *cpu* is the processor time
of the same turns, which other programs on the machine do not add to.

dalsegno takes every turn for real. The stock savers would need minutes and gigabytes for that, so they are
*prefilled*: all messages put in by one `update_state`. That makes them faster than a real thread of that length would
(there is less in memory and in their tables), never slower; `--no-prefill` takes every turn for real on every saver.

*cold* is the first turn through a new connection to the same database: the thread is read from disk and decoded.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection

from bench.harness import Bound, Report, numbers, opened, options, postgres_server, timed
from bench.workload import TEXTS, Chat

GROWTH = 3.0
REFERENCE = "InMemorySaver"
TURN, COLD, END = "turn", "cold", "end"


class Child:
    """A process that holds one conversation on one saver and takes a turn when told to."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self.turns: list[float] = []
        self.cpu: list[float] = []

    def take(self) -> None:
        """Take one turn and remember what it cost."""
        wall, cpu = self.ask(TURN)
        self.turns.append(wall)
        self.cpu.append(cpu)

    def ask(self, command: str) -> tuple[float, float]:
        """Milliseconds on the wall and on the processor that a command took; NaN where it does not apply."""
        self._pipe.send(command)
        spent: tuple[float, float] = self._pipe.recv()
        return spent


@contextmanager
def child(name: str, text: str, turns: int, *, prefill: bool, server: str | None) -> Iterator[Child]:
    """Start the process and wait until its conversation has this many turns."""
    ours, theirs = multiprocessing.Pipe()
    start = multiprocessing.get_context("spawn").Process
    process = start(target=serve, args=(theirs, name, text, turns, prefill, server), daemon=True)
    process.start()
    theirs.close()
    try:
        ours.recv()
        yield Child(ours)
        ours.send(END)
    except EOFError:
        raise SystemExit(f"the process with {name} at {turns} turns died; its own words stand above") from None
    finally:
        ours.close()
        process.join()
        process.close()


def serve(pipe: Connection, name: str, text: str, turns: int, prefill: bool, server: str | None) -> None:  # noqa: FBT001
    """Body of the process."""
    if server:
        os.environ["DALSEGNO_TEST_POSTGRES"] = server
    with pipe, opened(name) as subject:
        chat = Chat(subject.saver, TEXTS[text])
        if prefill:
            chat.prefill(turns)
        else:
            chat.reach(turns)
        chat.turn()  # the first turn after a prefill pays for the jump in length
        pipe.send("ready")
        while (command := pipe.recv()) != END:
            started = time.process_time()
            if command == TURN:
                spent = timed(chat.turn)
            elif subject.again is None:
                spent = float("nan")
            else:
                with subject.again() as saver:
                    started = time.process_time()
                    spent = timed(chat.on(saver).turn)
            pipe.send((spent, (time.process_time() - started) * 1000))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement; exit code 1 when a bound is broken."""
    parser = options(__doc__)
    parser.add_argument("--turns", type=numbers, default=(50, 300, 1000), help="lengths; growth is from first to last")
    parser.add_argument("--text", choices=tuple(TEXTS), default="en-2.8k", help="kind of text")
    parser.add_argument("--repeat", type=int, default=15, help="timed turns per length")
    parser.add_argument("--no-prefill", action="store_true", help="take every turn for real on the peers too")
    asked = parser.parse_args(argv)
    names = (*asked.savers, *asked.peers)
    server = postgres_server() if any("ostgres" in name for name in names) else None
    children: dict[tuple[str, int], Child] = {}
    report = Report(title="Time of one turn", notes=(f"text {asked.text}, median of {asked.repeat} turns",))
    with ExitStack() as stack:
        for turns in asked.turns:
            for name in names:
                prefill = name in asked.peers and not asked.no_prefill
                started = child(name, asked.text, turns, prefill=prefill, server=server)
                children[name, turns] = stack.enter_context(started)
        for _ in range(asked.repeat):
            for each in children.values():
                each.take()
        for (name, turns), each in children.items():
            first = statistics.median(children[name, asked.turns[0]].turns)
            wall, cpu = statistics.median(each.turns), statistics.median(each.cpu)
            row = {"saver": name, "turns": turns, "turn ms": wall, "x first": wall / first, "cpu ms": cpu}
            row["prefilled"] = "yes" if name in asked.peers and not asked.no_prefill else "no"
            cold, _ = each.ask(COLD)
            report.rows.append(row | ({} if math.isnan(cold) else {"cold ms": cold}))
    report.bounds += bounds(asked.savers, asked.turns, {key: statistics.median(c.turns) for key, c in children.items()})
    return report.close(as_json=asked.json)


def bounds(savers: Sequence[str], lengths: Sequence[int], found: dict[tuple[str, int], float]) -> list[Bound]:
    """What is promised about the medians: little growth, and less than the saver in memory where that was measured."""
    first, last = lengths[0], lengths[-1]
    promised = []
    for name in savers:
        growth = found[name, last] / found[name, first]
        promised.append(Bound(claim=f"{name}: turn at {last} / turn at {first}", limit=GROWTH, found=growth))
        if (REFERENCE, last) in found:
            ratio = found[name, last] / found[REFERENCE, last]
            promised.append(Bound(claim=f"{name}: turn at {last} / {REFERENCE}'s", limit=1.0, found=ratio))
    return promised


if __name__ == "__main__":
    sys.exit(main())
