"""What a request of six checkpoints costs: with attachment references, with an image, beside a big constant.

Each request is a thread of its own: input, plan, retrieve, write, review, with three attachments of the form
`{id, kind, ref, caption}` in the state, a 600-byte draft and the question and answer as messages. Bytes per request
are the growth of a database in use (it holds one request of the same kind, and one with a handover card) over many
more, divided by their number, so that pages are counted as they fill.

* *references*: as above.
* *image in ref*: the mistake everyone makes once; a 384 KB base64 text stands where the reference should.
* *image in message*: a 384 KB base64 image as a content block of the user's message. It must come back unchanged.
* *constant*: a 200 KB text, the same in every request, in one thread of ten requests: it costs its size once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from bench.harness import Bound, Report, Subject, opened, options
from bench.workload import desk, english, image, references

CHECKPOINTS = 6
REQUEST_BYTES = 7 * 1024
IMAGE_BYTES = 384 * 1024
CONSTANT_BYTES = 200 * 1024
ONCE = 1.10  # a value's size once, plus a tenth for its row, page and index

DECIDED = "Let's go with option B."
"""Said in a request that the database holds already: with it comes a handover card, whose table has its pages then."""

Request = Callable[[int], dict[str, Any]]


def plain(seed: int) -> dict[str, Any]:
    """Input with references."""
    question = english(seed, 120)
    return {"question": question, "attachments": references(seed), "messages": [HumanMessage(question)]}


def image_in_ref(seed: int) -> dict[str, Any]:
    """Input with an image's body where its reference belongs."""
    attachments = references(seed)
    attachments[0]["ref"] = image(seed, IMAGE_BYTES)
    return plain(seed) | {"attachments": attachments}


def image_in_message(seed: int) -> dict[str, Any]:
    """Input with an image in the user's message."""
    url = f"data:image/png;base64,{image(seed, IMAGE_BYTES)}"
    content: list[str | dict[Any, Any]] = [
        {"type": "text", "text": english(seed, 120)},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    return plain(seed) | {"messages": [HumanMessage(content)]}


def constant(seed: int) -> dict[str, Any]:
    """Input with a big text, the same in every request of the thread."""
    return plain(seed) | {"constant": english(seed // 10**6, CONSTANT_BYTES)}


def growth(subject: Subject, request: Request, *, requests: int, one_thread: bool) -> float:
    """Bytes by which the database grew per request; every state is read back and compared."""
    assert subject.size_bytes is not None
    graph = desk(subject.saver)
    _ask(graph, request(10**6), "earlier", 0)
    _ask(graph, plain(10**6) | {"messages": [HumanMessage(DECIDED)]}, "decided", 0)
    before = subject.size_bytes()
    for seed in range(requests):
        _ask(graph, request(seed), "desk" if one_thread else f"desk-{seed}", seed if one_thread else 0)
    return (subject.size_bytes() - before) / requests


def _ask(graph: CompiledStateGraph[Any], given: dict[str, Any], thread_id: str, earlier: int) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    graph.invoke(given, config)
    kept = graph.get_state(config).values
    assert kept["attachments"] == given["attachments"], "an attachment changed"
    assert kept["messages"][2 * earlier].content == given["messages"][0].content, "a message changed"
    assert kept.get("constant") == given.get("constant"), "the constant changed"
    if not earlier:
        steps = len(list(graph.get_state_history(config)))
        assert steps == CHECKPOINTS, f"{steps} checkpoints"


def measure(name: str, *, requests: int, heavy: int) -> dict[str, object]:
    """Bytes per request of each kind on one saver."""
    row: dict[str, object] = {"saver": name}
    with opened(name) as subject:
        row["references B"] = growth(subject, plain, requests=requests, one_thread=False)
    with opened(name) as subject:
        row["one thread B"] = growth(subject, plain, requests=requests, one_thread=True)
    with opened(name) as subject:
        row["image in ref B"] = growth(subject, image_in_ref, requests=heavy, one_thread=False)
    with opened(name) as subject:
        row["image in message B"] = growth(subject, image_in_message, requests=heavy, one_thread=False)
    with opened(name) as subject:
        row["constant B in all"] = heavy * growth(subject, constant, requests=heavy, one_thread=True)
    return row


def bounds(row: dict[str, object], heavy: int) -> list[Bound]:
    """What is promised about one saver's row."""
    found = {key: float(str(value)) for key, value in row.items() if key != "saver"}
    name = row["saver"]
    once = ONCE * CONSTANT_BYTES + heavy * REQUEST_BYTES
    return [
        Bound(claim=f"{name}: bytes per request, a thread each", limit=REQUEST_BYTES, found=found["references B"]),
        Bound(claim=f"{name}: bytes per request, one thread", limit=REQUEST_BYTES, found=found["one thread B"]),
        Bound(claim=f"{name}: image in ref", limit=ONCE * IMAGE_BYTES + REQUEST_BYTES, found=found["image in ref B"]),
        Bound(
            claim=f"{name}: image in message",
            limit=ONCE * IMAGE_BYTES + REQUEST_BYTES,
            found=found["image in message B"],
        ),
        Bound(claim=f"{name}: constant in {heavy} requests", limit=once, found=found["constant B in all"]),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement; exit code 1 when a bound is broken."""
    parser = options(__doc__)
    parser.add_argument("--requests", type=int, default=100, help="requests with references")
    parser.add_argument("--heavy", type=int, default=10, help="requests with an image or the constant")
    asked = parser.parse_args(argv)
    report = Report(title="Bytes of a request of six checkpoints")
    for name in (*asked.savers, *asked.peers):
        if name != "InMemorySaver":  # keeps nothing on disk
            row = measure(name, requests=asked.requests, heavy=asked.heavy)
            report.rows.append(row)
            if name in asked.savers:
                report.bounds += bounds(row, asked.heavy)
    return report.close(as_json=asked.json)


if __name__ == "__main__":
    sys.exit(main())
