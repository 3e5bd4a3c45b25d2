"""A conversation that is opened again: milliseconds, statements and tokens of its first request.

A thread of each length is filled with turns of real length, among them decisions, promises and demands; its card goes
on as it grows. Then a process of its own opens the database (imports are done by then) and asks for
the card and for the first request under 4,000 tokens.

*first* is the first request of the new process; *again* is the median of the next ones. *everything* is how many tokens
sending all messages would take.
"""

from __future__ import annotations

import itertools
import multiprocessing
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.harness import Bound, Report, database, numbers, options
from dalsegno.connect import Dalsegno, connect
from dalsegno.contracts import Op, Step
from dalsegno.core.codec import encode
from dalsegno.core.journal import Kind
from dalsegno.core.tokens import message_tokens
from dalsegno.services import journal

BUDGET = 4000
MILLISECONDS = 50.0
BATCH = 50
ASKED = (
    "Could you check the {word} figures for site {n}?",
    "请再看一下第{n}号门店的{word}数据。",
    "What about the {word} plan?",
)
DECISIONS = 0.1
"""Share of users' messages that decide or demand something."""
DECIDED = (
    "Let's go with vendor {n} for the {word} part.",
    "就按方案B，{word}部分预算不超过 {n} 万元。",
    "Yes, please.",
)
ANSWERED = (
    "The {word} report for site {n} shows a total of ${n},400 and a margin of {n}%. Shall I send it to the team?",
    "{word}部分的报价是{n}万元，交付周期{n}天，我周五前把清单发给您。",
    "I looked at the {word} numbers. " * 12,
)
WORDS = ("budget", "launch", "logistics", "staffing", "发布", "采购", "物流", "招聘")


def turns(seed: int) -> Iterator[tuple[str, str]]:
    """Author and text of one message after the other."""
    source = random.Random(seed)
    while True:
        how = {"word": source.choice(WORDS), "n": source.randint(2, 80)}
        yield "user", source.choice(DECIDED if source.random() < DECISIONS else ASKED).format(**how)
        yield "assistant", source.choice(ANSWERED).format(**how)


def fill(ds: Dalsegno, events: int) -> int:
    """Fill a thread; returns the tokens of all its messages."""
    said = list(itertools.islice(turns(events), events))
    messages_into(ds, "long", said)
    return sum(message_tokens(text) for _, text in said)


def messages_into(ds: Dalsegno, thread: str, said: Sequence[tuple[str, str]]) -> None:
    """Write messages to a thread, author and text of each, as its conversation goes on."""
    for at in range(0, len(said), BATCH):
        batch = [
            journal.NewEvent(kind=Kind.MESSAGE, author=author, tree=encode(text), text=text)
            for author, text in said[at : at + BATCH]
        ]
        ds.store_backend.run(partial(journal.append, ds.scope(), thread, batch, create=True, fence=None), write=True)


@contextmanager
def place(kind: str) -> Iterator[str]:
    """URL of an empty database."""
    with ExitStack() as stack:
        if kind == "dalsegno-postgres":
            yield stack.enter_context(database())
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dalsegno-bench-"))
            yield f"sqlite:///{Path(folder) / 'agents.db'}"


def serve(pipe: Connection, url: str, repeat: int) -> None:
    """Body of the process that opens the conversation again."""
    with pipe:
        pipe.recv()
        started = time.perf_counter()
        ds = connect(url)
        connected = time.perf_counter()
        request = ds.handover.pack("long", BUDGET, ["Answer in the user's language."])
        first = time.perf_counter()
        again, cards = [], []
        for _ in range(repeat):
            begun = time.perf_counter()
            ds.handover.pack("long", BUDGET, ["Answer in the user's language."])
            middle = time.perf_counter()
            ds.handover.card("long")
            again.append(middle - begun)
            cards.append(time.perf_counter() - middle)
        pipe.send(
            {
                "connect ms": (connected - started) * 1000,
                "first ms": (first - connected) * 1000,
                "again ms": statistics.median(again) * 1000,
                "card ms": statistics.median(cards) * 1000,
                "tokens": request.tokens,
                "statements": counted(ds),
            }
        )
        ds.close()


def counted(ds: Dalsegno) -> int:
    """How many statements a first request takes."""
    store, count = ds.store_backend, 0
    run = store.run

    def counting(factory: Any, **how: Any) -> Any:
        def op() -> Op[Any]:
            nonlocal count
            made, answer = factory(), None
            while True:
                try:
                    step = made.send(answer)
                except StopIteration as end:
                    return end.value
                count += 1 if isinstance(step, Step) else len(step)
                answer = yield step

        return run(op, **how)

    store.run = counting  # type: ignore[method-assign] # this object alone
    ds.handover.pack("long", BUDGET)
    store.run = run  # type: ignore[method-assign] # as it was
    return count


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement; exit code 1 when a bound is broken."""
    parser = options(__doc__)
    parser.set_defaults(peers=())
    parser.add_argument("--events", type=numbers, default=(300, 3000, 30000), help="lengths of the thread")
    parser.add_argument("--repeat", type=int, default=15, help="timed requests per length")
    asked = parser.parse_args(argv)
    report = Report(
        title="The first request of a conversation that is opened again", notes=(f"budget {BUDGET} tokens",)
    )
    for name in asked.savers:
        statements = []
        for events in asked.events:
            with place(name) as url:
                with connect(url) as ds:
                    everything = fill(ds, events)
                found = reopened(url, asked.repeat)
            statements.append(found["statements"])
            report.rows.append({"store": name, "events": events, **found, "everything": everything})
            claim = f"{name}, {events} events"
            report.bounds.append(Bound(claim=f"{claim}: tokens", limit=BUDGET, found=found["tokens"]))
            if events == asked.events[0]:
                report.bounds.append(
                    Bound(claim=f"{claim}: first request, ms", limit=MILLISECONDS, found=found["first ms"])
                )
        report.bounds.append(
            Bound(
                claim=f"{name}: statements at the longest / at the shortest",
                limit=1.0,
                found=statements[-1] / statements[0],
            )
        )
    return report.close(as_json=asked.json)


def reopened(url: str, repeat: int) -> dict[str, Any]:
    """What a process of its own measures."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, url, repeat), daemon=True)
    process.start()
    theirs.close()
    ours.send("go")
    try:
        found: dict[str, Any] = ours.recv()
    except EOFError:
        raise SystemExit(f"the process that opens {url} died; its own words stand above") from None
    process.join()
    return found


if __name__ == "__main__":
    sys.exit(main())
