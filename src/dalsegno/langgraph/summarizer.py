"""Any chat model as a summarizer.

Rules of this module:

* The model is given the task and one piece in a single user message, so that it works with models that take no
  instructions; what it answers is text and nothing else (`core/judging.py` holds each line against the originals).
* Its tokens are not streamed to whoever listens to the run: nobody asked it anything.
"""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from dalsegno.contracts import Summarizer
from dalsegno.core.pieces import Piece
from dalsegno.errors import Misuse
from dalsegno.services.compaction import check_budget

__all__ = ["ChatSummarizer", "name_of_model", "summarizer_of"]

BUDGET_TOKENS = 6000
"""What a piece may cost by default; with the task's words it fits a window of 8,000."""

_CONFIG: RunnableConfig = {"tags": [TAG_NOSTREAM], "metadata": {"lc_source": "dalsegno.compaction"}}


class ChatSummarizer:
    """A LangChain chat model, or anything that is invoked with messages and answers with one."""

    def __init__(
        self, model: Runnable[Any, Any], *, budget_tokens: int = BUDGET_TOKENS, name: str | None = None
    ) -> None:
        """Take the model.

        Args:
            model: the chat model.
            budget_tokens: what the messages of one call may cost.
            name: which model it is, for the record; its own name when left out.

        Raises:
            Misuse: the budget is none, or too small for a message.
        """
        check_budget(budget_tokens)
        self._model = model
        self.budget_tokens = budget_tokens
        self.name = name or name_of_model(model)

    def summarize(self, piece: Piece) -> str:
        """Ask the model for a digest of a piece."""
        return _text_of(self._model.invoke([HumanMessage(piece.prompt)], _CONFIG))

    async def asummarize(self, piece: Piece) -> str:
        """Async face of `summarize`."""
        return _text_of(await self._model.ainvoke([HumanMessage(piece.prompt)], _CONFIG))


def summarizer_of(value: Summarizer | Runnable[Any, Any] | None) -> Summarizer | None:
    """A summarizer as it is; a chat model as one.

    Raises:
        Misuse: it is neither.
    """
    if value is None or isinstance(value, type) or hasattr(value, "asummarize"):
        return value  # type: ignore[return-value] # told by its methods
    if isinstance(value, Runnable):
        return ChatSummarizer(value)
    raise Misuse(f"summarizer={type(value).__name__}: give a chat model, or an object with summarize and asummarize.")


def name_of_model(model: Runnable[Any, Any]) -> str:
    """What a model calls itself."""
    for field in ("model_name", "model", "model_id"):
        found = getattr(model, field, None)
        if found and isinstance(found, str):
            return str(found)
    return model._llm_type if isinstance(model, BaseChatModel) else model.get_name()  # noqa: SLF001 - its only name


def _text_of(answer: Any) -> str:
    if isinstance(answer, BaseMessage):
        return str(answer.text)
    return answer if isinstance(answer, str) else ""
