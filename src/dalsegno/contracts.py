"""What the rooms above promise each other.

Rules of this module:

* A store operation is a *generator*: it yields a `Step` (or a batch of them) and receives the rows; its return
  value is the operation's result. The same body serves the sync and the async face; no operation is written twice.
* A `Step` names a statement in the store's `queries.sql`. The names, parameters and columns are the contract
  between services and stores; a test proves that every store defines the same names with the same parameters.
* An operation is handed over as a *factory*, because a store may run it again from the start: after a rollback
  that a lost connection forced, or never. Generators therefore change nothing but through the steps they yield.
* A step that fails ends its operation, and nothing of it is kept; except for what an operation has begun with the step
  `part_begin`: of that it is told (`StepFailed`), and may undo it with `part_undo` and go on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from dalsegno.core.extraction import Proposal, Sentence
from dalsegno.core.pieces import Piece

__all__ = [
    "Batch",
    "Embedder",
    "Extractor",
    "Op",
    "OpFactory",
    "Params",
    "Rows",
    "Step",
    "StepFailed",
    "Store",
    "Summarizer",
    "TokenCounter",
]

R = TypeVar("R")

Params: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Step:
    """One named statement with its parameters.

    Attributes:
        name: name in `queries.sql`.
        params: one mapping, or a sequence of mappings to run the statement once for each (no rows come back).
    """

    name: str
    params: Params | Sequence[Params]


class StepFailed(Exception):
    """Raised in an operation at the step that failed; who does not undo the part it belongs to lets it pass.

    Attributes:
        error: the driver's.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error


Batch: TypeAlias = tuple[Step, ...]
"""Steps whose rows nobody needs; a store may send them in one go. The answer to a batch is an empty list."""

Op: TypeAlias = Generator[Step | Batch, Rows, R]
OpFactory: TypeAlias = Callable[[], Generator[Step | Batch, Rows, R]]


class Store(Protocol):
    """A database that runs operations, each in one transaction.

    `run` and `arun` give the same guarantees; both may be used on one object at the same time.
    """

    @property
    def url(self) -> str:
        """Where the store is, without secrets; for messages."""

    def run(self, factory: OpFactory[R], *, write: bool, key: Hashable = None) -> R:
        """Run an operation in one transaction and return its result.

        Args:
            factory: makes the operation; called again when the transaction is rolled back by a lost connection
                before its commit was sent.
            write: True takes the store's write path: all or nothing, durable on return.
            key: writes under one key may share a commit (they queue behind each other anyway, such as writes to
                one thread); each still succeeds or fails alone.

        Raises:
            StoreUnavailable: the database could not be reached; for a write the outcome is unknown.
            StoreFull: the disk is full; nothing of the write was kept.
            Damaged: the database file is torn.
        """

    async def arun(self, factory: OpFactory[R], *, write: bool, key: Hashable = None) -> R:
        """The same as `run`, without blocking the event loop."""

    def rewrite(self) -> None:
        """Write the database's files anew, so that they hold nothing of rows that are gone. Repeating it is fine.

        Raises:
            StoreUnavailable: something holds on to the old bytes, which may still be there.
            StoreFull: there is no room for a second copy.
        """

    def close(self) -> None:
        """Let go of every connection. Closing twice is fine."""

    async def aclose(self) -> None:
        """The same as `close`, for use inside an event loop."""


class TokenCounter(Protocol):
    """Counts or estimates the tokens of a text.

    `core.tokens.estimate`, the default, is one; so are `conservative`, a `Calibrated`, or a real tokenizer's
    `lambda text: len(encoding.encode(text))`.
    """

    def __call__(self, text: str, /) -> int:
        """Tokens of a text: 0 for an empty one, never negative, and the same each time for the same text."""


class Summarizer(Protocol):
    """Writes digests of pieces of a conversation.

    Nothing it returns is believed: lines that do not hold against the messages they name are dropped, what it leaves
    out is told by code. It may raise, return nothing, or take too long; then everything stays as it was.
    """

    @property
    def name(self) -> str:
        """Which model it is, for the record."""

    @property
    def budget_tokens(self) -> int:
        """How many tokens of messages it can take in at once; a span is divided into pieces of that size."""

    def summarize(self, piece: Piece) -> str:
        """Tell what a piece says, one line for a message or a few, each beginning with its coordinate.

        Args:
            piece: the messages; `piece.prompt` asks any chat model for the right form.
        """

    async def asummarize(self, piece: Piece) -> str:
        """The same as `summarize`, without blocking the event loop."""


class Embedder(Protocol):
    """Turns texts into vectors.

    It may raise or take long; then memories are kept without vectors and found by their words.
    """

    @property
    def name(self) -> str:
        """Which embedder it is, the same in every process; vectors of two names are never compared."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text that is stored; all of one length."""

    def embed_query(self, text: str) -> list[float]:
        """The vector of a text that is looked for."""

    async def aembed(self, texts: Sequence[str]) -> list[list[float]]:
        """The same as `embed`, without blocking the event loop."""

    async def aembed_query(self, text: str) -> list[float]:
        """The same as `embed_query`, without blocking the event loop."""


class Extractor(Protocol):
    """Proposes what of a conversation is worth remembering.

    Nothing it returns is believed: each proposal passes the gate (`core/memory_gate.py`), which wants it worded as the
    message it names.
    """

    def extract(self, said: Sequence[Sentence]) -> Sequence[Proposal]:
        """Propose facts, each with the number of the message that says so.

        Args:
            said: what the user said, oldest first, a sentence each.
        """

    async def aextract(self, said: Sequence[Sentence]) -> Sequence[Proposal]:
        """The same as `extract`, without blocking the event loop."""
