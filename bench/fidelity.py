"""What is left of a conversation after 1, 5 and 10 compactions: facts, coordinates, inventions, tokens.

Each conversation is told in ten parts; after each part everything but the newest six messages is taken out. The same
deterministic summarizer (the messages' own words, 1,500 tokens) writes for all, so that what differs is the machinery:

* *dalsegno*: `compact`, forced.
* *SummarizationMiddleware*: LangChain's, `keep=("messages", 6)`, everything else at its default.
* *last 6*: a plain window.

A protected fact of a message that was taken out is *reachable* when its value is stated in what the next call is given
or, for dalsegno, when the table of facts holds it verbatim with its coordinate. *Shown* are those stated in the request
itself. *Covered* are messages taken out that a line of the summary names (the middleware's have no numbers: there it
is those its summarizer was given at least once as they were). *Invented* are figures, dates, times, ids, addresses and
paths that a summary states and nobody said.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.graph.message import add_messages

from bench.fidelity_plot import plot
from bench.harness import Bound, Report, words
from bench.recordings import SOURCES, Conversation, folder
from dalsegno.core.compaction import CompactionPolicy, numbered
from dalsegno.core.digest import digest
from dalsegno.core.facts import Fact, FactIndex, facts_in, invented
from dalsegno.core.rendering import render
from dalsegno.core.summary import Summary, numbers_in
from dalsegno.core.tokens import estimate, message_tokens
from dalsegno.langgraph.compaction import compact
from dalsegno.langgraph.turns import turn_of, turns_of

ROUNDS = 10
KEEP = 6
DIGEST_TOKENS = 1500
POLICY = CompactionPolicy(keep_recent=KEEP, digest_tokens=DIGEST_TOKENS)


@dataclass(slots=True, kw_only=True)
class State:
    """What a subject holds after a part.

    Attributes:
        messages: the list a model would be given.
        request: everything a model would be given, as texts.
        summary: the summary's text alone.
        covered: ids of messages taken out that the summary tells of.
        held: coordinate and wording of facts held beside the text, by message id.
    """

    messages: list[BaseMessage]
    request: list[str]
    summary: str
    covered: set[str]
    held: set[tuple[str, str]] = field(default_factory=set)


class Ours:
    """dalsegno's `compact`."""

    def __init__(self) -> None:
        self._summary = Summary()
        self._messages: list[BaseMessage] = []
        self._ids: dict[int, str] = {}

    def take(self, part: Sequence[BaseMessage]) -> State:
        """Take a part in and compact."""
        given = [*self._messages, *part]
        for turn in numbered(turns_of(given), self._summary):
            self._ids[turn.number] = str(turn.id)
        done = compact(given, POLICY, summary=self._summary, force=True)
        assert done.changed, done.reason
        assert done.report is not None
        assert done.report.holds
        self._summary, self._messages = done.summary, done.messages
        return State(
            messages=done.messages,
            request=[render(done.summary, POLICY.fact_tokens), *(turn_of(message).text for message in done.messages)],
            summary="\n".join(line.text for line in done.summary.lines),
            covered={self._ids[number] for number in numbers_in(done.summary.covered)},
            held={
                (self._ids[int(row.said.coordinate.split()[0][1:])], row.said.fact.text)
                for row in done.summary.facts.history()
            },
        )


class Peer:
    """LangChain's middleware, with our words to write its summaries."""

    def __init__(self) -> None:
        self._messages: list[AnyMessage] = []
        self._given: set[str] = set()
        self._summary = ""
        self._middleware: SummarizationMiddleware[Any, Any] = SummarizationMiddleware(
            FakeListChatModel(responses=[""]), trigger=("messages", 1), keep=("messages", KEEP), summarizer=self._write
        )

    def _write(self, messages: list[AnyMessage]) -> str:
        self._given.update(str(message.id) for message in messages)
        lines = digest(numbered(turns_of(messages), Summary()), DIGEST_TOKENS)
        self._summary = "\n".join(f"{', '.join(line.authors)}: {line.text}" for line in lines)
        return self._summary

    def take(self, part: Sequence[BaseMessage]) -> State:
        """Take a part in and summarize."""
        self._messages = cast("list[AnyMessage]", add_messages(cast("Any", self._messages), cast("Any", list(part))))
        update = self._middleware.before_model(cast("Any", {"messages": self._messages}), cast("Any", None))
        if update is not None:
            self._messages = cast("list[AnyMessage]", add_messages(cast("Any", self._messages), update["messages"]))
        texts = [turn_of(message).text for message in self._messages]
        return State(messages=list(self._messages), request=texts, summary=self._summary, covered=set(self._given))


class Window:
    """The newest messages and nothing else."""

    def __init__(self) -> None:
        self._messages: list[BaseMessage] = []

    def take(self, part: Sequence[BaseMessage]) -> State:
        """Take a part in and forget."""
        self._messages = [*self._messages, *part][-KEEP:]
        texts = [turn_of(message).text for message in self._messages]
        return State(messages=self._messages, request=texts, summary="", covered=set())


SUBJECTS: dict[str, Callable[[], Ours | Peer | Window]] = {
    "dalsegno": Ours,
    "SummarizationMiddleware": Peer,
    "last 6": Window,
}


@dataclass(slots=True)
class Tally:
    """Sums over the conversations of a source after one part."""

    facts: int = 0
    reachable: int = 0
    shown: int = 0
    gone: int = 0
    covered: int = 0
    invented: int = 0
    tokens: int = 0
    kept: int = 0


def measure(name: str, conversations: Sequence[Conversation]) -> list[Tally]:
    """Tell a subject each conversation in parts and count after each."""
    tallies = [Tally() for _ in range(ROUNDS)]
    for messages in conversations:
        subject = SUBJECTS[name]()
        texts = {str(message.id): turn_of(message).text for message in messages}
        facts: dict[str, list[Fact]] = {
            id_: [fact for fact in facts_in(text) if fact.protected] for id_, text in texts.items()
        }
        source = FactIndex.of(texts.values())
        for at, tally in enumerate(tallies):
            first, last = len(messages) * at // ROUNDS, len(messages) * (at + 1) // ROUNDS
            state = subject.take(messages[first:last])
            here = {str(message.id) for message in state.messages}
            gone = [str(message.id) for message in messages[:last] if str(message.id) not in here]
            request = FactIndex.of(state.request)
            for id_ in gone:
                shown = [request.states(fact) for fact in facts[id_]]
                tally.facts += len(shown)
                tally.shown += sum(shown)
                tally.reachable += sum(
                    seen or (id_, fact.text) in state.held for seen, fact in zip(shown, facts[id_], strict=True)
                )
            tally.gone += len(gone)
            tally.covered += len(state.covered.intersection(gone))
            tally.invented += len(invented(state.summary, source))
            tally.tokens += sum(map(message_tokens, list(texts.values())[:last]))
            tally.kept += sum(map(estimate, state.request))
    return tallies


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--sources", type=words, default=tuple(SOURCES), help=f"recordings, of {tuple(SOURCES)}")
    parser.add_argument("--plot", type=Path, help="write the plot to this SVG file")
    asked = parser.parse_args(arguments)
    report = Report(title="Fidelity after 1, 5 and 10 compactions")
    curves: dict[str, dict[str, list[float]]] = {}
    for source in asked.sources:
        conversations = list(SOURCES[source](folder()))
        for name in SUBJECTS:
            tallies = measure(name, conversations)
            shares = [tally.reachable / tally.facts if tally.facts else 1.0 for tally in tallies]
            curves.setdefault(source, {})[name] = shares
            end = tallies[-1]
            report.rows.append(
                {
                    "text": source,
                    "saver": name,
                    "facts": end.facts,
                    "reachable after 1": f"{shares[0]:.1%}",
                    "after 5": f"{shares[4]:.1%}",
                    "after 10": f"{shares[-1]:.1%}",
                    "shown": f"{end.shown / max(1, end.facts):.1%}",
                    "covered": f"{end.covered / max(1, end.gone):.1%}",
                    "invented": end.invented,
                    "tokens kept": f"{end.kept / max(1, end.tokens):.1%}",
                }
            )
            if name == "dalsegno":
                report.bounds += [
                    Bound(
                        claim=f"{source}: protected facts out of reach",
                        limit=0,
                        found=sum(t.facts - t.reachable for t in tallies),
                    ),
                    Bound(
                        claim=f"{source}: messages no line tells of",
                        limit=0,
                        found=sum(t.gone - t.covered for t in tallies),
                    ),
                    Bound(claim=f"{source}: invented facts", limit=0, found=sum(t.invented for t in tallies)),
                ]
    if asked.plot:
        asked.plot.write_text(plot(curves), encoding="utf-8")
    return report.close(as_json=asked.json)


if __name__ == "__main__":
    sys.exit(main())
