"""The nine calls answered by a chat model: two clients, one for judgements and one for texts.

Rules of this module:

* Routing, grading and rewriting go through a client that is allowed 1,000 tokens, texts through one that is allowed
  5,000; both at temperature 0. A judgement can so never be set up with a text's budget by mistake.
* A judgement is structured output. What does not parse, and whatever a provider's client raises, is `ModelFailed`, and
  the run can be resumed.
* A model sees the request and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel

from dalsegno.errors import Misuse
from examples.annual_reports.computing import by_agent
from examples.annual_reports.jobs import (
    Answering,
    Calculated,
    Calculating,
    Checked,
    Checking,
    Decided,
    Deciding,
    Drafting,
    Figured,
    Figuring,
    Graded,
    Grading,
    Rewriting,
    Rewritten,
    Said,
    Summarizing,
)

__all__ = ["LARGE_TOKENS", "SMALL_TOKENS", "ChatMind", "ModelFailed", "clients"]

SMALL_TOKENS, LARGE_TOKENS = 1_000, 5_000
_MOST_CHARACTERS = 8 * LARGE_TOKENS
"""What is read of a text; a server that does not keep to its limit has its text cut."""

T = TypeVar("T", bound=BaseModel)


class ModelFailed(Exception):
    """The chat model could not be reached, or its answer has no known form."""


@contextmanager
def _heard(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # each provider's client has errors of its own, and no word in common
        raise ModelFailed(f"the model gave no {what}: {error}") from error


def clients(name: str) -> tuple[Any, Any]:
    """The two clients of a model.

    Args:
        name: `provider:name`, as LangChain reads it; keys come from the environment.

    Raises:
        Misuse: LangChain or the provider's package is missing, or the provider, or its key.
    """
    try:
        from langchain.chat_models import init_chat_model  # noqa: PLC0415 - needed for real models only

        return (
            init_chat_model(name, temperature=0, max_tokens=SMALL_TOKENS),
            init_chat_model(name, temperature=0, max_tokens=LARGE_TOKENS),
        )
    except ImportError as missing:
        msg = "--model needs LangChain and the provider's package: pip install langchain langchain-openai"
        raise Misuse(msg) from missing
    except Exception as error:  # each provider's client has errors of its own
        raise Misuse(f"--model {name} cannot be used: {error}") from error


class ChatMind:
    """Answers the calls by LangChain chat models."""

    digests = True

    def __init__(self, small: Any, large: Any, name: str = "model") -> None:
        """Take the clients.

        Args:
            small: for judgements, and for the calculator's rounds.
            large: for texts.
            name: which model it is.
        """
        self._small, self._large, self.name = small, large, name

    def digest(self, given: Summarizing, request: Any) -> str:  # noqa: ARG002 - a model sees the request alone
        """A digest of older messages; the library holds each line against them."""
        with _heard("digest"):
            return _whole(self._small.invoke(list(request.messages)).text)

    def decide(self, given: Deciding, request: Any) -> Decided:  # noqa: ARG002
        """Four booleans."""
        return self._judged(Decided, request)

    def rewrite(self, given: Rewriting, request: Any) -> Rewritten:  # noqa: ARG002
        """Words for a search."""
        return self._judged(Rewritten, request)

    def grade(self, given: Grading, request: Any) -> Graded:  # noqa: ARG002
        """Numbers of candidates."""
        return self._judged(Graded, request)

    def draft(self, given: Drafting, request: Any) -> Said:  # noqa: ARG002
        """Statements with their sources."""
        return self._said(request)

    def check(self, given: Checking, request: Any) -> Checked:  # noqa: ARG002
        """Whether a draft is grounded."""
        return self._judged(Checked, request)

    def figure(self, given: Figuring, request: Any) -> Figured:  # noqa: ARG002
        """Whether arithmetic is needed."""
        return self._judged(Figured, request)

    def calculate(self, given: Calculating, request: Any) -> Any:
        """One round of the agent: a message, with tool calls as long as there is something to compute."""
        with _heard("calculation"):
            return self._small.bind_tools(list(given.tools)).invoke(list(request.messages))

    def compute(self, given: Calculating, think: Callable[[Calculating], Any]) -> Calculated:
        """The agent's loop."""
        return by_agent(given, think)

    def answer(self, given: Answering, request: Any) -> Said:  # noqa: ARG002
        """The answer."""
        return self._said(request)

    def _judged(self, kind: type[T], request: Any) -> T:
        with _heard(kind.__name__.lower()):
            return kind.model_validate(self._small.with_structured_output(kind).invoke(list(request.messages)))

    def _said(self, request: Any) -> Said:
        with _heard("text"):
            message = self._large.invoke(list(request.messages))
        ended = message.response_metadata.get("finish_reason") or message.response_metadata.get("stop_reason") or "stop"
        text = _whole(message.text).strip()
        if len(text) > _MOST_CHARACTERS:
            text, ended = text[:_MOST_CHARACTERS], "length"
        return Said(text=text, finish_reason=str(ended))


def _whole(text: object) -> str:
    """What a model wrote, with a question mark for each half of a character, which no client would send on."""
    return str(text).encode("utf-8", "replace").decode()
