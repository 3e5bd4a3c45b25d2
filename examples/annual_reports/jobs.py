"""The nine model calls by what goes in and what comes out; whoever answers them, by rules or by a model, gets the same.

Rules of this module:

* What a call is given is all there is: a field that is not here cannot be read there. `calls.py` shows these fields to
  a model, `rules.py` reads them in code.
* A model judges and writes. Nothing here names a node: which way the graph goes is decided in `routing.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Answering",
    "Calculated",
    "Calculating",
    "Candidate",
    "Checked",
    "Checking",
    "Decided",
    "Deciding",
    "Drafting",
    "Figured",
    "Figuring",
    "Graded",
    "Grading",
    "Mind",
    "Rewriting",
    "Rewritten",
    "Said",
    "Summarizing",
]


class _Given(BaseModel):
    model_config = ConfigDict(frozen=True)


class Candidate(_Given):
    """A passage as a call sees it.

    Attributes:
        number: how it is cited, from 1.
        header: such as `[3] FMG FY2024, p.39 [table]`.
        kind: `text` or `table`.
        text: what is shown of it.
        whole: all of it, where less is shown: what the manifest measures by, never shown.
    """

    number: int
    header: str
    kind: str = "text"
    text: str
    whole: str = Field(default="", repr=False)


class Summarizing(_Given):
    """compress_context: the older messages under their coordinates."""

    history: str


class Deciding(_Given):
    """retrieve_decision: the completed question alone."""

    question: str


class Decided(BaseModel):
    """Four judgements about a question; code decides what follows."""

    is_out_of_scope: bool = Field(description="not about companies, their reports or news of them")
    needs_retrieval: bool = Field(description="figures or statements of annual reports are needed")
    needs_news: bool = Field(description="recent news is asked for")
    needs_clarification: bool = Field(description="it cannot be told which company or figure is meant")


class Rewriting(_Given):
    """query_rewrite: the question, and on a retry what failed."""

    question: str
    company: str
    failed_claims: list[str] = []
    tried: list[str] = []


class Rewritten(BaseModel):
    """Words to search with."""

    query: str


class Grading(_Given):
    """grade_docs: the query and every candidate, each cut."""

    query: str
    candidates: list[Candidate]


class Graded(BaseModel):
    """The numbers of the candidates that help, the best first."""

    relevant: list[int]


class Drafting(_Given):
    """synthesize: the question, what was kept at full length, an earlier answer for reference only."""

    question: str
    company: str
    documents: list[Candidate]
    reference: str = ""


class Said(BaseModel):
    """A text, and how it ended: `stop`, or `length` where it was cut off."""

    text: str
    finish_reason: str = "stop"


class Checking(_Given):
    """grade_answer: the draft against what it was written from, with the units in the tables."""

    question: str
    documents: list[Candidate]
    draft: str


class Checked(BaseModel):
    """Whether a draft is grounded, and what of it is not."""

    grounded: Literal["yes", "partly", "no"]
    unsupported: list[str] = Field(default_factory=list, description="each claim that the documents do not support")


class Figuring(_Given):
    """aggregate: the question and what was found out."""

    question: str
    report: str


class Figured(BaseModel):
    """Whether arithmetic is needed."""

    needs_calculation: bool


class Calculating(_Given):
    """calculator: the question, what was found out, and on each round the agent's own record of its tool calls.

    Attributes:
        question, report: what is to be computed, and from what.
        record: messages with tool calls and their results so far.
        tools: what may be called.
    """

    question: str
    report: str
    record: tuple[Any, ...] = ()
    tools: tuple[Any, ...] = Field(default=(), repr=False)


class Calculated(BaseModel):
    """What the calculator found: each expression with its value; nothing where there was nothing to compute."""

    text: str
    steps: list[str] = Field(default_factory=list)


class Answering(_Given):
    """answer: what was found out, in marked parts, and which instructions apply to them."""

    question: str
    report: str = ""
    calculation: str = ""
    news: str = ""
    sources: list[str] = []
    series: bool = False


class Mind(Protocol):
    """Whoever makes the nine calls. `request` is what was assembled for a model; code reads `given`."""

    name: str
    digests: bool

    def digest(self, given: Summarizing, request: Any) -> str:
        """A digest of older messages; asked only of a mind that `digests`."""

    def decide(self, given: Deciding, request: Any) -> Decided:
        """What a question is about."""

    def rewrite(self, given: Rewriting, request: Any) -> Rewritten:
        """Words to search with."""

    def grade(self, given: Grading, request: Any) -> Graded:
        """Which candidates help."""

    def draft(self, given: Drafting, request: Any) -> Said:
        """What the documents say to the question, each statement with its source."""

    def check(self, given: Checking, request: Any) -> Checked:
        """Whether the draft stands in the documents."""

    def figure(self, given: Figuring, request: Any) -> Figured:
        """Whether arithmetic is needed."""

    def calculate(self, given: Calculating, request: Any) -> Any:
        """One round of the arithmetic: a model's message with its tool calls, or by rules all of it, a `Calculated`."""

    def compute(self, given: Calculating, think: Callable[[Calculating], Any]) -> Calculated:
        """The whole of the arithmetic; each round goes through `think`, which is the declared call."""

    def answer(self, given: Answering, request: Any) -> Said:
        """The final answer."""
