"""The supervisor: eleven nodes, one of them the retrieval subgraph.

    START ─ compress_context ─ memory ─┬─ retrieve_decision ─┬─ Send ─ retrieval × companies ─ aggregate ─┐
                    ▲                  │         ▲           ├─ clarify (waits) ─ memory                   │
                    │                  │ hit     └───────────┼─ news ◄──────────── calculator ◄────────────┤
                                       └──────────────────── guardrails ◄────────────────┴─────────────────┘
                                                                 ├─ answer ─ reply ─ END
                                                                 └────────── reply ─ END

Rules of this module:

* A fixed chain at both ends (compress, remember; guard, reply), choices of plain code between (`routing.py`), one
  bounded loop of an agent in the calculator.
* A model judges and writes; every way out of a node is chosen by code.
* Every path passes the guardrails. Only what they passed is written by a model; only what came out clean is put into
  the answer cache, before any warning is added to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt

import dalsegno
from dalsegno import CompactionPolicy, Dalsegno, compaction_node
from examples.annual_reports import answering
from examples.annual_reports.answers import Answers, Draft, NoAnswers
from examples.annual_reports.calls import Calls, calls_of
from examples.annual_reports.jobs import Answering, Calculating, Deciding, Figuring, Mind, Summarizing
from examples.annual_reports.material import completed, guarded, merged
from examples.annual_reports.ports import Corpus, Item, NewsSource, NoNews, header
from examples.annual_reports.retrieval import retrieval
from examples.annual_reports.routing import after_aggregate, after_decision, after_guardrails, after_memory
from examples.annual_reports.state import Outcome, State
from examples.annual_reports.words import asks_for_news, asks_for_series, is_chinese, unstated

__all__ = ["NODES", "POLICY", "build"]

POLICY = CompactionPolicy(max_messages=10, keep_recent=4, begin_with_user=False)
NODES = (
    "compress_context",
    "memory",
    "retrieve_decision",
    "clarify",
    "retrieval",
    "aggregate",
    "calculator",
    "news",
    "guardrails",
    "answer",
    "reply",
)
_LIMIT_NEWS = 5


def build(
    ds: Dalsegno,
    corpus: Corpus,
    mind: Mind,
    *,
    news: NewsSource | None = None,
    answers: Answers | None = None,
    **settings: Any,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph over a database, reports and a mind.

    Args:
        ds: keeps the conversation and the manifests; opened with this program's `SCHEMA`.
        corpus: the reports.
        mind: makes the nine calls.
        news: where news comes from; nowhere if left out.
        answers: answers that were given before; none are kept if left out.
        settings: what else `StateGraph.compile` takes.
    """
    calls = calls_of(ds, mind)
    nodes = _Nodes(corpus, mind, calls, news or NoNews(), answers or NoAnswers())
    digest = _Digest(calls, mind.name) if mind.digests else None
    builder = StateGraph(State)
    builder.add_node("compress_context", compaction_node(POLICY, ds=ds, summarizer=digest))
    builder.add_node("memory", nodes.memory)
    builder.add_node("retrieve_decision", nodes.retrieve_decision)
    builder.add_node("clarify", nodes.clarify)
    builder.add_node("retrieval", retrieval(corpus, calls))
    builder.add_node("aggregate", nodes.aggregate)
    builder.add_node("calculator", nodes.calculator)
    builder.add_node("news", nodes.news)
    builder.add_node("guardrails", nodes.guardrails)
    builder.add_node("answer", nodes.answer)
    builder.add_node("reply", nodes.reply)
    builder.add_edge(START, "compress_context")
    builder.add_edge("compress_context", "memory")
    builder.add_conditional_edges("memory", after_memory, ["guardrails", "retrieve_decision"])
    builder.add_conditional_edges("retrieve_decision", after_decision, ["retrieval", "clarify", "news", "guardrails"])
    builder.add_edge("clarify", "memory")
    builder.add_edge("retrieval", "aggregate")
    builder.add_conditional_edges("aggregate", after_aggregate, ["calculator", "news", "guardrails"])
    builder.add_conditional_edges("calculator", after_aggregate, ["news", "guardrails"])
    builder.add_edge("news", "guardrails")
    builder.add_conditional_edges("guardrails", after_guardrails, ["answer", "reply"])
    builder.add_edge("answer", "reply")
    builder.add_edge("reply", END)
    return dalsegno.compile(builder, ds, **settings)


class _Digest:
    """A summarizer that is a declared call like the others."""

    budget_tokens = 6000

    def __init__(self, calls: Calls, name: str) -> None:
        self._calls, self.name = calls, name

    def summarize(self, piece: Any) -> str:
        return str(self._calls.summarize(Summarizing(history=piece.text), config=get_config()))

    async def asummarize(self, piece: Any) -> str:
        return self.summarize(piece)


class _Nodes:
    """The nodes of plain code, and those that make one call."""

    def __init__(self, corpus: Corpus, mind: Mind, calls: Calls, news: NewsSource, answers: Answers) -> None:
        self._corpus, self._mind, self._calls, self._news, self._answers = corpus, mind, calls, news, answers

    def memory(self, state: State) -> dict[str, Any]:
        """Complete the question, then look whether it was answered before."""
        question, companies, years = completed(self._corpus, state["messages"], state.get("replies") or [])
        cached = None if asks_for_news(question) else self._answers.lookup(question, companies, years)
        return {"question": question, "companies": companies, "years": years, "cached": cached}

    def retrieve_decision(self, state: State, config: RunnableConfig) -> dict[str, Any]:
        """Four booleans, from the completed question alone."""
        return {"decision": self._calls.decide(Deciding(question=state["question"]), config=config).model_dump()}

    def clarify(self, state: State) -> dict[str, Any]:
        """Ask back, and wait; the answer may come to another process, days later."""
        known = sorted(self._corpus.companies())
        asked = (
            f"请问是哪家公司、哪个年度的什么数据？这里有：{'、'.join(known)}。"
            if is_chinese(state["question"])
            else f"Which company, and what about it? The reports here are of: {', '.join(known)}."
        )
        reply = str(interrupt({"question": asked, "companies": known}))
        return {"replies": [reply], "messages": [AIMessage(asked), HumanMessage(reply)]}

    def aggregate(self, state: State, config: RunnableConfig) -> dict[str, Any]:
        """The companies' drafts as one text, sources numbered through; then whether arithmetic is called for."""
        report = merged(state["companies"], state["findings"])
        if report["text"]:
            given = Figuring(question=state["question"], report=report["text"])
            report["needs_calculation"] = self._calls.figure(given, config=config).needs_calculation
        return {"report": report}

    def calculator(self, state: State, config: RunnableConfig) -> dict[str, Any]:
        """Arithmetic by the agent, on figures that were found."""
        report = state["report"]
        assert report is not None  # noqa: S101 - the route to here asks for it
        given = Calculating(question=state["question"], report=report["text"])
        computed = self._mind.compute(given, lambda each: self._calls.calculate(each, config=config))
        return {"calculation": computed.model_dump()}

    def news(self, state: State) -> dict[str, Any]:
        """What happened lately, from whatever source there is."""
        found = self._news.search(state.get("companies") or [], state["question"], _LIMIT_NEWS)
        return {"news": [_told(item) for item in found[:_LIMIT_NEWS]]}

    def guardrails(self, state: State) -> dict[str, Any]:
        """Whether there is something to answer from; see `guarded`."""
        return {"guard": guarded(state)}

    def answer(self, state: State, config: RunnableConfig) -> dict[str, Any]:
        """Write the answer, under the instructions that apply."""
        report, calculation = state.get("report"), state.get("calculation")
        documents = report["documents"] if report else []
        given = Answering(
            question=state["question"],
            report=report["text"] if report else "",
            calculation=calculation["text"] if calculation else "",
            news="\n".join(
                answering.unmarked(f"{each['date']} {each['company']}: {each['title']}. {each['text']}")
                for each in state.get("news") or []
            ),
            sources=[header(number, self._corpus.passage(each)) for number, each in enumerate(documents, 1)],
            series=asks_for_series(state["question"]),
        )
        return {"written": self._calls.answer(given, config=config).model_dump()}

    def reply(self, state: State) -> dict[str, Any]:
        """Number the sources anew, keep what is clean, then add the warning, and say it."""
        cached, guard = state.get("cached"), state["guard"]
        assert guard is not None  # noqa: S101 - every path passes the guardrails
        if cached and cached["band"] == "hit" and guard["passed"]:
            text, sources, chart = answering.read(cached["answer"])
            outcome = _outcome(
                text=text, sources=sources, chart=chart, confidence="high", kind="cached", why=cached["why"]
            )
        elif not guard["passed"]:
            outcome = self._fallback(state, guard["problem"])
        else:
            outcome = self._finished(state)
        return {"outcome": outcome, "messages": [AIMessage(answering.shown(outcome))]}

    def _fallback(self, state: State, problem: str) -> Outcome:
        companies = state.get("companies") or []
        about = sorted(self._corpus.companies()) if problem == "unclear" else companies
        text = answering.fallback(problem, state["question"], about)
        return _outcome(text=text, confidence="none", kind="fallback", why=problem)

    def _finished(self, state: State) -> Outcome:
        written, report, calculation = state["written"], state.get("report"), state.get("calculation")
        assert written is not None  # noqa: S101 - the route to here asks for it
        documents = report["documents"] if report else []
        news = [f"{each['date']} {each['title']} {each['text']}" for each in state.get("news") or []]
        material = [report["text"] if report else "", calculation["text"] if calculation else "", *news]
        plain, chart = answering.chart_of(written["text"], material, asked=asks_for_series(state["question"]))
        text, left = answering.renumbered(plain, len(documents))
        if not text.strip():
            return self._fallback(state, "no_answer")
        ids = [documents[number - 1] for number in left]
        sources = [{"header": header(0, self._corpus.passage(each)).removeprefix("[0] "), "id": each} for each in ids]
        made_up = unstated(text, [*material, state["question"]])
        claims = [each for finding in state["findings"].values() for each in finding["unsupported"]]
        confidence = "low" if made_up else report["confidence"] if report and report["text"] else "medium"
        missing = [name for name in state.get("companies") or [] if report and not state["found"].get(name)]
        outcome = _outcome(text=text, sources=sources, chart=chart, confidence=confidence, kind="answer")
        why = _unfit(state, outcome, made_up, missing, written["finish_reason"])
        if not why:
            why = self._answers.store(
                Draft(
                    question=state["question"],
                    companies=state["companies"],
                    years=state["years"],
                    text=answering.whole(text, sources, chart),
                    passages=ids,
                    finish_reason=written["finish_reason"],
                )
            )
        outcome |= {"stored": not why, "why": why}
        if confidence == "low" or missing:
            told = [*made_up, *claims, *missing]
            outcome |= {"warning": answering.warning(state["question"], told)}
        return outcome


def _unfit(state: State, outcome: Outcome, made_up: Sequence[str], missing: Sequence[str], finish_reason: str) -> str:
    """Why an answer is not put into the cache; nothing where it may be."""
    if made_up:
        return f"it states figures that are nowhere in the material: {', '.join(made_up)}"
    if missing:
        return f"nothing was found for {', '.join(missing)}"
    if outcome["confidence"] != "high":
        return f"its confidence is {outcome['confidence']}"
    if finish_reason not in ("stop", "end_turn"):
        return f"it was cut off ({finish_reason})"
    if state.get("news") is not None:
        return "news does not keep"
    return "" if outcome["sources"] else "it cites no source"


def _outcome(**given: Any) -> Outcome:
    made: dict[str, Any] = {"text": "", "sources": [], "chart": None, "warning": "", "confidence": "none"}
    return Outcome(**{**made, "kind": "answer", "stored": False, "why": "", **given})  # type: ignore[typeddict-item]


def _told(item: Item) -> dict[str, str]:
    return {"company": item.company, "date": item.date, "title": item.title, "text": item.text[:1200], "url": item.url}
