"""Stored bytes over bytes of new messages, as a conversation grows.

*messages* is each message once, alone, as LangGraph's own serializer writes it (msgpack, with its id); the bound is
held against this. *text* is the UTF-8 bytes of what was said and nothing else. The chat graph is an unmodified
`MessagesState` graph; a turn is one user and one model message.

*stored* is what the conversation adds to a database in use: everything on disk (`bench.harness` says how it is
weighed), indexes, journal and search included, less *base*, the same database when it held one conversation of one
turn. The base is paid once, however many conversations follow: the first page of every table and index, and
PostgreSQL's free-space and visibility maps.

The bound was set for turns of 2.8 KB and is judged there. At 1 KB a turn the rows, ids and index entries of a turn,
which do not shrink with its text, weigh more; that is measured and shown without a verdict.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from bench.harness import Bound, Report, numbers, opened, options, words
from bench.workload import TEXTS, Chat, Text

RATIO = 3.0
EXPONENT = 1.05
DECADE = 10
JUDGED = ("en-2.8k", "zh-2.8k")


def measure(name: str, text: Text, lengths: Sequence[int]) -> list[dict[str, object]]:
    """One conversation on one saver, weighed at each length.

    Returns:
        A row per length; `exponent` is the slope of log(stored) over log(turns) up to there.
    """
    rows: list[dict[str, object]] = []
    seen: list[tuple[int, int]] = []
    with opened(name) as subject:
        assert subject.size_bytes is not None
        Chat(subject.saver, text, thread_id="earlier").reach(1)
        base = subject.size_bytes()
        chat = Chat(subject.saver, text)
        for turns in lengths:
            chat.reach(turns)
            stored = subject.size_bytes() - base
            seen.append((turns, stored))
            rows.append(
                {
                    "saver": name,
                    "text": text.name,
                    "turns": turns,
                    "messages B": chat.message_bytes,
                    "text B": chat.text_bytes,
                    "base B": base,
                    "stored B": stored,
                    "stored/messages": stored / chat.message_bytes,
                    "stored/text": stored / chat.text_bytes,
                    "exponent": slope(seen),
                }
            )
    return rows


def bounds(rows: Sequence[dict[str, object]]) -> list[Bound]:
    """What is promised about one saver's rows; growth is judged over a decade, where whole pages no longer show."""
    first, last = rows[0], rows[-1]
    name = f"{last['saver']} {last['text']}"
    worst = max(float(str(row["stored/messages"])) for row in rows)
    promised = [Bound(claim=f"{name}: stored/messages at any length", limit=RATIO, found=worst)]
    if int(str(last["turns"])) >= DECADE * int(str(first["turns"])):
        found = float(str(last["exponent"]))
        promised.append(Bound(claim=f"{name}: growth exponent", limit=EXPONENT, found=found))
    return promised


def slope(points: Sequence[tuple[int, int]]) -> float:
    """Least-squares slope of log(size) over log(length); 0.0 where fewer than two points have a size."""
    xs = [math.log(length) for length, size in points if size]
    ys = [math.log(size) for _, size in points if size]
    if not xs:
        return 0.0
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - x_mean) ** 2 for x in xs)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / spread if spread else 0.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement; exit code 1 when a bound is broken."""
    parser = options(__doc__)
    parser.add_argument("--turns", type=numbers, default=(50, 100, 300, 1000), help="lengths for dalsegno")
    parser.add_argument(
        "--peer-turns",
        type=numbers,
        default=(50, 100, 300),
        help="lengths for the peers; 1,000 takes minutes and gigabytes",
    )
    parser.add_argument("--texts", type=words, default=tuple(TEXTS), help=f"kinds of text, of {tuple(TEXTS)}")
    parser.add_argument("--peer-texts", type=words, default=("en-2.8k",), help="kinds of text for the peers")
    asked = parser.parse_args(argv)
    report = Report(title="Stored bytes / bytes of new messages", notes=str(__doc__).strip().splitlines()[2:])
    for name in asked.savers:
        for text in asked.texts:
            rows = measure(name, TEXTS[text], asked.turns)
            report.rows += rows
            if text in JUDGED:
                report.bounds += bounds(rows)
    for name in asked.peers:
        if name != "InMemorySaver":  # keeps nothing on disk
            for text in asked.peer_texts:
                report.rows += measure(name, TEXTS[text], asked.peer_turns)
    return report.close(as_json=asked.json)


if __name__ == "__main__":
    sys.exit(main())
