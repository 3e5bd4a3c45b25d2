"""Stored bytes over bytes of new messages, as a conversation grows.

Two denominators, both strict. *messages*: each message once, alone, as LangGraph's own serializer writes it
(msgpack, with its id); this is what the bound is held against. *text*: the UTF-8 bytes of what was said and
nothing else. The chat graph is an unmodified `MessagesState` graph; a turn is one user and one model message.

The numerator is everything the database takes on disk (see `bench.harness`), indexes, journal and search included,
and also the tables of an empty schema, which is what weighs at 50 turns.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from bench.harness import Bound, Report, numbers, opened, options, words
from bench.workload import TEXTS, Chat, Text

RATIO = 3.0
EXPONENT = 1.05


def measure(name: str, text: Text, lengths: Sequence[int]) -> list[dict[str, object]]:
    """One conversation on one saver, weighed at each length.

    Returns:
        A row per length; `exponent` is the slope of log(stored) over log(turns) up to there.
    """
    rows: list[dict[str, object]] = []
    seen: list[tuple[int, int]] = []
    with opened(name) as subject:
        assert subject.size_bytes is not None
        empty = subject.size_bytes()
        chat = Chat(subject.saver, text)
        for turns in lengths:
            chat.reach(turns)
            stored = subject.size_bytes()
            seen.append((turns, stored))
            rows.append(
                {
                    "saver": name,
                    "text": text.name,
                    "turns": turns,
                    "messages B": chat.message_bytes,
                    "text B": chat.text_bytes,
                    "empty B": empty,
                    "stored B": stored,
                    "stored/messages": stored / chat.message_bytes,
                    "stored/text": stored / chat.text_bytes,
                    "exponent": slope(seen),
                }
            )
    return rows


def slope(points: Sequence[tuple[int, int]]) -> float:
    """Least-squares slope of log(size) over log(length); 0.0 for a single point."""
    xs = [math.log(length) for length, _ in points]
    ys = [math.log(size) for _, size in points]
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
    report = Report(
        title="Stored bytes / bytes of new messages", notes=(str(__doc__).split("\n\n")[1].replace("\n", " "),)
    )
    for name in asked.savers:
        for text in asked.texts:
            rows = measure(name, TEXTS[text], asked.turns)
            report.rows += rows
            worst = max(float(str(row["stored/messages"])) for row in rows)
            report.bounds.append(Bound(claim=f"{name} {text}: stored/messages at any length", limit=RATIO, found=worst))
            report.bounds.append(
                Bound(claim=f"{name} {text}: growth exponent", limit=EXPONENT, found=float(str(rows[-1]["exponent"])))
            )
    for name in asked.peers:
        if name != "InMemorySaver":  # keeps nothing on disk
            for text in asked.peer_texts:
                report.rows += measure(name, TEXTS[text], asked.peer_turns)
    return report.close(as_json=asked.json)


if __name__ == "__main__":
    sys.exit(main())
