"""What a conversation about annual reports remembers, and who may write which part of it.

Rules of this module:

* References and conclusions stand in the state; passages stay in the corpus and are read there by their ids.
* Each field has one writer, but for the messages. What several companies' branches bring is merged: documents add up,
  everything that is told of a company stands under its name.
* The retrieval subgraph has a state of its own and gives back its result alone.
* A request's working fields are emptied when the next one is asked (`asked`): nothing of an old answer leaks.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from dalsegno import Field, StateSchema

__all__ = [
    "SCHEMA",
    "Cached",
    "Decision",
    "Document",
    "Finding",
    "Guard",
    "Outcome",
    "Report",
    "Retrieved",
    "Retrieving",
    "State",
    "Task",
    "asked",
    "by_key",
]


class Document(TypedDict):
    """A passage that was kept, by reference.

    Attributes:
        id: of the passage in the corpus.
        company: whose report it is from.
        header: how it is shown, without its number: `FMG FY2024, p.39 [table]`.
    """

    id: str
    company: str
    header: str


class Finding(TypedDict):
    """What a company's branch came to.

    Attributes:
        draft: the statements, each with the number of its source among the branch's own documents.
        documents: ids of those, in the order of their numbers.
        grounded: whether the draft stands in them: `yes`, `partly`, `no`; empty where there is no draft.
        unsupported: claims that do not.
        confidence: `high`, `medium`, `low`; `none` where nothing was found.
        queries: what was searched with, one for each attempt.
        finish_reason: how the draft ended.
    """

    draft: str
    documents: list[str]
    grounded: str
    unsupported: list[str]
    confidence: Literal["high", "medium", "low", "none"]
    queries: list[str]
    finish_reason: str


class Decision(TypedDict):
    """The four booleans of a question."""

    is_out_of_scope: bool
    needs_retrieval: bool
    needs_news: bool
    needs_clarification: bool


class Cached(TypedDict):
    """What the answer cache said: the band `hit`, `reference` or `miss`, and why."""

    band: str
    answer: str
    question: str
    score: float
    why: str


class Report(TypedDict):
    """The companies' findings in one text.

    Attributes:
        text: the drafts, their sources numbered through.
        documents: ids of the sources, in the order of their numbers.
        confidence: the lowest of the companies'.
        needs_calculation: whether the question calls for arithmetic on the figures found.
    """

    text: str
    documents: list[str]
    confidence: str
    needs_calculation: bool


class Guard(TypedDict):
    """Whether there is something to answer from; if not, `problem` says what the reply is to say."""

    passed: bool
    problem: str


class Outcome(TypedDict):
    """What the reply consists of.

    Attributes:
        text: the answer, its sources numbered in the order in which they are cited.
        sources: header and passage of each.
        chart: title, unit, points; or nothing.
        warning: what stands under a low confidence.
        confidence: `high`, `medium`, `low`, `none`.
        kind: `answer`, `cached` or `fallback`.
        stored: whether it was put into the answer cache.
        why: why it was not, or which fallback it is.
    """

    text: str
    sources: list[dict[str, str]]
    chart: dict[str, Any] | None
    warning: str
    confidence: str
    kind: str
    stored: bool
    why: str


def by_key(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Two mappings as one; a branch writes its own key and erases nobody's."""
    return {**old, **new}


class State(TypedDict, total=False):
    """The conversation, and the request under way.

    Attributes:
        messages: what was said, as far as it is not in the summary.
        summary: what stands for older messages.
        question: the newest question, completed.
        companies: whom it is about, by their names in the corpus.
        years: the fiscal years it names.
        cached: what the answer cache said.
        decision: the four booleans.
        replies: what was said when it was asked back.
        documents, found, findings: what retrieval gave back, of all companies.
        report: the findings as one text.
        calculation: what was computed; None as long as nothing was.
        news: pieces of news; None as long as none were asked for.
        guard: whether there is something to answer from.
        written: the answer as it was written.
        outcome: what the user got.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    summary: dict[str, Any]
    question: str
    companies: list[str]
    years: list[int]
    cached: Cached | None
    decision: Decision | None
    replies: Annotated[list[str], operator.add]
    documents: Annotated[list[Document], operator.add]
    found: Annotated[dict[str, bool], by_key]
    findings: Annotated[dict[str, Finding], by_key]
    report: Report | None
    calculation: dict[str, Any] | None
    news: list[dict[str, str]] | None
    guard: Guard | None
    written: dict[str, str] | None
    outcome: Outcome | None


class Task(TypedDict):
    """What a company's branch is sent: no history, no other company."""

    question: str
    company: str
    years: list[int]
    reference: str


class Retrieving(TypedDict, total=False):
    """The subgraph's own state; see `Task` and `Retrieved` for what comes in and goes out."""

    question: str
    company: str
    years: list[int]
    reference: str
    query: str
    tried: list[str]
    stale: bool
    candidates: list[str]
    kept: list[str]
    draft: dict[str, str]
    failed_claims: list[str]
    documents: list[Document]
    found: dict[str, bool]
    findings: dict[str, Finding]


class Retrieved(TypedDict):
    """What the subgraph gives back."""

    documents: list[Document]
    found: dict[str, bool]
    findings: dict[str, Finding]


_EMPTY: Mapping[str, Any] = {
    "cached": None,
    "decision": None,
    "replies": Overwrite([]),
    "documents": Overwrite([]),
    "found": Overwrite({}),
    "findings": Overwrite({}),
    "report": None,
    "calculation": None,
    "news": None,
    "guard": None,
    "written": None,
    "outcome": None,
}


def asked(text: str) -> dict[str, Any]:
    """The input of a request: the question, and the working fields emptied."""
    return {"messages": [HumanMessage(text)], **_EMPTY}


_REFERENCES: Any = {"keep": "reference", "limit_bytes": 512}

SCHEMA = StateSchema(
    version=1,
    fields=[
        Field("messages", owner=("compress_context", "clarify", "reply"), reducer=add_messages, type=list),
        Field("summary", owner="compress_context", type=dict),
        Field("question", owner="memory", type=str, required=True, journal=True),
        Field("companies", owner="memory", type=list[str]),
        Field("years", owner="memory", type=list[int]),
        Field("cached", owner="memory"),
        Field("decision", owner="retrieve_decision"),
        Field("replies", owner="clarify", reducer=operator.add, type=list),
        Field("documents", owner="retrieval", reducer=operator.add, type=list, **_REFERENCES),
        Field("found", owner="retrieval", reducer=by_key, type=dict),
        Field("findings", owner="retrieval", reducer=by_key, type=dict),
        Field("report", owner="aggregate"),
        Field("calculation", owner="calculator"),
        Field("news", owner="news"),
        Field("guard", owner="guardrails"),
        Field("written", owner="answer"),
        Field("outcome", owner="reply"),
    ],
)
"""Who writes what; held to by `dalsegno.compile`."""
