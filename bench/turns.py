"""Time of one chat turn, early and late in a conversation.

An unmodified `MessagesState` graph is brought to each length, then some more turns are timed one by one and the
median is taken. dalsegno takes every turn for real. The stock savers would need minutes and gigabytes for that, so
they are *prefilled*: all messages put in by one `update_state`. That makes them faster than a real thread of that
length would (their tables are small), never slower; `--no-prefill` takes every turn for real on every saver.

*cold* is the first turn of a new connection to the same database: nothing is cached, the thread is read from disk.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence

from bench.harness import Bound, Report, numbers, opened, options, timed
from bench.workload import TEXTS, Chat, Text

GROWTH = 3.0
REFERENCE = "InMemorySaver"


def measure(name: str, text: Text, turns: int, *, repeat: int, prefill: bool) -> dict[str, object]:
    """Median turn on one saver at one length, in milliseconds, and one cold turn."""
    with opened(name) as subject:
        chat = Chat(subject.saver, text)
        if prefill:
            chat.prefill(turns)
        else:
            chat.reach(turns)
        chat.turn()  # the first turn after a prefill pays for the jump in length
        spent = [timed(chat.turn) for _ in range(repeat)]
        row: dict[str, object] = {"saver": name, "text": text.name, "turns": turns, "turn ms": statistics.median(spent)}
        if subject.again is not None:
            with subject.again() as saver:
                row["cold ms"] = timed(chat.on(saver).turn)
        return row | {"prefilled": "yes" if prefill else "no"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement; exit code 1 when a bound is broken."""
    parser = options(__doc__)
    parser.add_argument(
        "--turns", type=numbers, default=(50, 300, 1000), help="lengths; the first is the base of growth"
    )
    parser.add_argument("--text", choices=tuple(TEXTS), default="en-2.8k", help="kind of text")
    parser.add_argument("--repeat", type=int, default=15, help="timed turns per length")
    parser.add_argument("--no-prefill", action="store_true", help="take every turn for real on the peers too")
    asked = parser.parse_args(argv)
    text, first, last = TEXTS[asked.text], asked.turns[0], asked.turns[-1]
    report = Report(title="Time of one turn", notes=(f"text {text.name}, median of {asked.repeat} turns",))
    found: dict[tuple[str, int], float] = {}
    for turns in asked.turns:
        for name in (*asked.savers, *asked.peers):
            prefill = name in asked.peers and not asked.no_prefill
            row = measure(name, text, turns, repeat=asked.repeat, prefill=prefill)
            found[name, turns] = float(str(row["turn ms"]))
            row["x first length"] = found[name, turns] / found[name, first]
            report.rows.append(row)
    for name in asked.savers:
        growth = found[name, last] / found[name, first]
        report.bounds.append(Bound(claim=f"{name}: turn at {last} / turn at {first}", limit=GROWTH, found=growth))
        if (REFERENCE, last) in found:
            ratio = found[name, last] / found[REFERENCE, last]
            report.bounds.append(Bound(claim=f"{name}: turn at {last} / {REFERENCE}'s", limit=1.0, found=ratio))
    return report.close(as_json=asked.json)


if __name__ == "__main__":
    sys.exit(main())
