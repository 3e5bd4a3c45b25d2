"""A conversation as its user has it: say something, watch the steps, get an answer or a question back.

Rules of this module:

* What is said to a thread that waits for an answer is that answer; a thread that was cut short first goes on. The
  caller need not know which it is.
* A step is on disk before the next begins: a model that was paid for is not asked again after a kill.
* Command line and web page speak through here, so that both mean the same by a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

import dalsegno
from dalsegno import Dalsegno
from dalsegno.errors import Misuse, ThreadNotFound
from examples.annual_reports import sample
from examples.annual_reports.answers import Answers, DalsegnoAnswers
from examples.annual_reports.chat import ChatMind, clients
from examples.annual_reports.graph import NODES, build
from examples.annual_reports.jobs import Mind
from examples.annual_reports.ports import Corpus, NewsFile, NewsSource
from examples.annual_reports.rules import Rules
from examples.annual_reports.state import SCHEMA, asked

__all__ = ["Analyst", "Turn", "mind_of", "opened"]

STEPS = frozenset(
    {*NODES, "query_rewrite", "retrieve_company", "grade_docs", "synthesize", "grade_answer"} - {"retrieval"}
)
"""Nodes whose end is told to whoever watches."""

Watch = Callable[[str, str], None]
"""Is called with a node that has ended, and the company where it is one company's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What came of something that was said.

    Attributes:
        outcome: the answer; None where it was asked back.
        question: what was asked back; "" where it was answered.
    """

    outcome: Mapping[str, Any] | None
    question: str = ""


class Analyst:
    """A graph over a database and a corpus."""

    def __init__(
        self,
        ds: Dalsegno,
        corpus: Corpus,
        mind: Mind,
        *,
        news: NewsSource | None = None,
        answers: Answers | None = None,
    ) -> None:
        """Build the graph."""
        self.ds, self.corpus, self.mind = ds, corpus, mind
        self.graph = build(ds, corpus, mind, news=news, answers=answers)

    def status(self, thread_id: str) -> str:
        """Where a thread stands: `new`, `finished`, `unfinished`, `failed`, `interrupted`."""
        try:
            return str(self.ds.threads.status(thread_id)[thread_id])
        except ThreadNotFound:
            return "new"

    def say(self, thread_id: str, text: str, watch: Watch | None = None) -> Turn:
        """Say something to a thread.

        Args:
            thread_id: the thread; a new one begins.
            text: a question, or the answer to what was asked back.
            watch: is told of each step as it ends.
        """
        text = text.encode("utf-8", "replace").decode()  # half a character is sent to no model
        if not text.strip():
            raise Misuse("nothing was asked; say something.")
        config: Any = {"configurable": {"thread_id": thread_id}, "callbacks": [_Watching(watch)] if watch else []}
        status = self.status(thread_id)
        if status in ("unfinished", "failed"):
            dalsegno.resume(self.graph, thread_id, config=config, durability="sync")
            status = self.status(thread_id)
        if status == "interrupted":
            dalsegno.resume(self.graph, thread_id, text, config=config, durability="sync")
        else:
            self.graph.invoke(asked(text), config, durability="sync")
        return self.turn(thread_id)

    def go_on(self, thread_id: str, watch: Watch | None = None) -> Turn:
        """Finish what was cut short."""
        config: Any = {"callbacks": [_Watching(watch)] if watch else []}
        dalsegno.resume(self.graph, thread_id, config=config, durability="sync")
        return self.turn(thread_id)

    def turn(self, thread_id: str) -> Turn:
        """What a thread came to last: its answer, or the question it waits with."""
        snapshot = self.graph.get_state({"configurable": {"thread_id": thread_id}})
        if snapshot.interrupts:
            return Turn(outcome=None, question=str(snapshot.interrupts[0].value["question"]))
        return Turn(outcome=snapshot.values.get("outcome"))


class _Watching(BaseCallbackHandler):
    """Tells of nodes as they end."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._running: dict[UUID, tuple[str, str]] = {}

    def on_chain_start(
        self,
        serialized: Any,  # noqa: ARG002
        inputs: Any,
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        node = (metadata or {}).get("langgraph_node")
        if node in STEPS and more.get("name") == node:
            company = inputs.get("company", "") if isinstance(inputs, Mapping) else ""
            self._running[run_id] = (node, str(company))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **more: Any) -> None:  # noqa: ARG002 - LangChain's shape
        ended = self._running.pop(run_id, None)
        if ended is not None:
            self._watch(*ended)


def mind_of(corpus: Corpus, model: str | None) -> Mind:
    """Who makes the calls: rules, or a chat model named `provider:name`."""
    if model is None:
        return Rules(corpus.company_of)
    small, large = clients(model)
    return ChatMind(small, large, model)


@contextmanager
def opened(store: str, index: Path | None, model: str | None = None, news: Path | None = None) -> Iterator[Analyst]:
    """Open everything.

    Args:
        store: the database of the conversations.
        index: of the reports, as `ingest` wrote it; None for the made-up pages of `sample.py`.
        model: `provider:name`; rules where it is None.
        news: a file of news; with the made-up pages there are made-up news.
    """
    with _corpus(index) as corpus, dalsegno.connect(store, schema=SCHEMA) as ds:
        source: NewsSource | None = NewsFile(news) if news else sample.NEWS if index is None else None
        answers = DalsegnoAnswers(ds, corpus)
        yield Analyst(ds, corpus, mind_of(corpus, model), news=source, answers=answers)


@contextmanager
def _corpus(index: Path | None) -> Iterator[Corpus]:
    if index is None:
        yield sample.PAGES
        return
    from examples.annual_reports.corpus import Index  # noqa: PLC0415 - reading reports takes more than the sample does

    if not index.exists():
        raise Misuse(f"there is no index {index}; write one with `python -m examples.annual_reports ingest DIR`.")
    with Index.open(index) as opened_index:
        yield opened_index
