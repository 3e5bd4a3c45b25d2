"""A real conversation opened again in three ways: tokens of the first request, milliseconds, and calls of a model.

* *dalsegno*: `ds.handover.pack` under 4,000 tokens. The card was kept as the conversation went on.
* *everything*: the thread's state is read and all of its messages are sent.
* *SummarizationMiddleware*: LangChain's, at the same budget (`trigger=("tokens", 4000)`, `keep=("messages", 20)`, else
  at its default), on the state as it was read. Its model answers at once, so its time is what remains: what a real
  model takes to read *tokens read* comes on top, at the moment of reopening. By default it shows its model the newest
  4,000 tokens (by its own count) of what it takes out; what stands before them is in nothing that is sent.

Tokens are counted by the same estimate for all. The state is read from this process's memory where it has it. All three
read from one SQLite file (or PostgreSQL with `--savers`).
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, cast

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages

from bench.handover import place
from bench.harness import Bound, Report, options, timed, words
from bench.recordings import SOURCES, Conversation, folder
from dalsegno.connect import Dalsegno, connect
from dalsegno.core.tokens import message_tokens
from dalsegno.langgraph.turns import turn_of

BUDGET = 4000
KEEP = 20
PIECE = 6
SUMMARY = "A summary of the conversation so far. " * 40


def tokens(messages: Sequence[BaseMessage]) -> int:
    """What some messages cost."""
    return sum(message_tokens(turn_of(message).text) for message in messages)


def stored(ds: Dalsegno, thread: str, messages: Conversation) -> Any:
    """A thread in which the conversation went on piece by piece; returns its graph."""
    builder = StateGraph(MessagesState)
    builder.add_node("assistant", lambda state: {})
    builder.add_edge(START, "assistant")
    graph = builder.compile(checkpointer=ds.checkpointer)
    for first in range(0, len(messages), PIECE):
        graph.update_state(
            {"configurable": {"thread_id": thread}},
            {"messages": messages[first : first + PIECE]},
            as_node="assistant",
        )
    return graph


class Summarizing:
    """LangChain's middleware with a model that answers at once."""

    def __init__(self) -> None:
        """Take no model's time."""
        self.calls, self.read = 0, 0
        self._middleware: SummarizationMiddleware[Any, Any] = SummarizationMiddleware(
            FakeListChatModel(responses=[""]),
            trigger=("tokens", BUDGET),
            keep=("messages", KEEP),
            summarizer=self._write,
        )

    def _write(self, messages: list[AnyMessage]) -> str:
        self.calls, self.read = self.calls + 1, tokens(messages)
        return SUMMARY

    def request(self, messages: list[AnyMessage]) -> list[AnyMessage]:
        """What the model is sent."""
        update = self._middleware.before_model(cast("Any", {"messages": messages}), cast("Any", None))
        if update is None:
            return messages
        return cast("list[AnyMessage]", add_messages(cast("Any", messages), update["messages"]))


def measure(url: str, source: str, at: int, messages: Conversation, repeat: int) -> list[dict[str, object]]:
    """Rows of the three ways."""
    thread = f"{source}-{at}"
    with connect(url) as ds:
        stored(ds, thread, messages)
    with connect(url) as ds, ExitStack():
        graph = stored(ds, thread, [])
        config: Any = {"configurable": {"thread_id": thread}}
        ds.handover.pack(thread, BUDGET)  # the first one of a process loads modules

        def read() -> list[AnyMessage]:
            found: list[AnyMessage] = graph.get_state(config).values["messages"]
            return found

        peer, sent = Summarizing(), read()
        short = peer.request(sent)
        packed = ds.handover.pack(thread, BUDGET)

        def median(call: Any) -> float:
            return statistics.median(timed(call) for _ in range(repeat))

        common = {"text": source, "messages": len(messages)}
        return [
            {
                **common,
                "saver": "dalsegno",
                "tokens": packed.tokens,
                "ms": median(lambda: ds.handover.pack(thread, BUDGET)),
            }
            | {"calls of a model": 0, "tokens read": 0},
            {**common, "saver": "everything", "tokens": tokens(sent), "ms": median(read)}
            | {"calls of a model": 0, "tokens read": 0},
            {**common, "saver": "SummarizationMiddleware", "tokens": tokens(short)}
            | {
                "ms": median(lambda: Summarizing().request(read())),
                "calls of a model": peer.calls,
                "tokens read": peer.read,
            },
        ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement; exit code 1 when a bound is broken."""
    parser = options(__doc__)
    parser.set_defaults(savers=("dalsegno-sqlite",), peers=())
    parser.add_argument(
        "--sources", type=words, default=("tau_bench", "crosswoz", "qmsum", "evermem_zh"), help="recordings"
    )
    parser.add_argument("--repeat", type=int, default=9, help="timed requests for each")
    asked = parser.parse_args(argv)
    report = Report(title="A real conversation opened again", notes=(f"budget {BUDGET} tokens",))
    for name in asked.savers:
        with place(name) as url:
            for source in asked.sources:
                try:
                    conversation = next(iter(SOURCES[source](folder())))
                except FileNotFoundError as error:
                    report.notes = (*report.notes, f"{source} is passed over: {error.filename} is not there")
                    continue
                rows = measure(url, source, 0, conversation, asked.repeat)
                report.rows += rows
                report.bounds.append(
                    Bound(claim=f"{name}, {source}: tokens", limit=BUDGET, found=cast("int", rows[0]["tokens"]))
                )
    return report.close(as_json=asked.json)


if __name__ == "__main__":
    sys.exit(main())
