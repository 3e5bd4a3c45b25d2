"""Any chat model as an extractor of card entries.

Rules of this module:

* A model with structured output is asked for that; any other for JSON in its text. Task and passage are one user
  message, so that it works with models that take no instructions.
* What it answers is read in `core/card/proposals.py` and judged in `core/card/admission.py`; nothing is believed here.
* Its tokens are not streamed to whoever listens to the run: nobody asked it anything.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from dalsegno.contracts import CardExtractor
from dalsegno.core.card.passages import SCHEMA, Passage
from dalsegno.errors import Misuse
from dalsegno.langgraph.summarizer import name_of_model
from dalsegno.services.extracting import check_extractor

__all__ = ["ChatExtractor", "extractor_of"]

BUDGET_TOKENS = 5000
"""What card and events of one call may cost by default; with the task's words it fits a window of 8,000."""
TIMEOUT = timedelta(seconds=60)

_CONFIG: RunnableConfig = {"tags": [TAG_NOSTREAM], "metadata": {"lc_source": "dalsegno.handover"}}


class ChatExtractor:
    """A LangChain chat model, or anything that is invoked with messages and answers with one."""

    def __init__(
        self,
        model: Runnable[Any, Any],
        *,
        budget_tokens: int = BUDGET_TOKENS,
        timeout: timedelta | float = TIMEOUT,
        name: str | None = None,
    ) -> None:
        """Take the model.

        Args:
            model: the chat model.
            budget_tokens: what card and events of one call may cost.
            timeout: how long it may take for one answer, in seconds or as a timedelta.
            name: which model it is, for the record; its own name when left out.

        Raises:
            Misuse: the budget or the time is none.
        """
        if not isinstance(model, Runnable):
            raise Misuse(f"model={type(model).__name__}: give a chat model.")
        self.budget_tokens = budget_tokens
        self.timeout = timeout
        self.name = name or name_of_model(model)
        self._model = _structured(model)
        check_extractor(self)

    def propose(self, passage: Passage) -> object:
        """Ask the model what the card lacks."""
        return _answer(self._model.invoke([HumanMessage(passage.prompt)], _CONFIG))

    async def apropose(self, passage: Passage) -> object:
        """Async face of `propose`."""
        return _answer(await self._model.ainvoke([HumanMessage(passage.prompt)], _CONFIG))


def extractor_of(value: CardExtractor | Runnable[Any, Any] | None) -> CardExtractor | None:
    """An extractor as it is; a chat model as one.

    Raises:
        Misuse: it is neither.
    """
    if value is None:
        return None
    if isinstance(value, Runnable) and not hasattr(value, "apropose"):
        return ChatExtractor(value)
    check_extractor(value)
    return value  # type: ignore[return-value] # checked by its methods


def _structured(model: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """The model with its answers in form, where it can do that."""
    ask = getattr(model, "with_structured_output", None)
    if ask is None:
        return model
    try:
        made: Runnable[Any, Any] = ask(SCHEMA)
    except (NotImplementedError, AttributeError, TypeError, ValueError, ImportError):
        return model
    return made


def _answer(found: Any) -> object:
    return str(found.text) if isinstance(found, BaseMessage) else found
