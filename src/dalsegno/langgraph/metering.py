"""Model calls, seen through LangChain's callbacks, and charged to a budget.

Rules of this module:

* Before a call: its messages and tools by estimate, and what its answer may cost, are set aside; without room the call
  is not begun. After it: what the provider reports takes their place, or an estimate of the answer where it says
  nothing.
* A call that fails keeps what was set aside for its prompt: the provider may have charged it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

from dalsegno.core.budgets import Spent
from dalsegno.core.tokens import request_tokens, schema_tokens
from dalsegno.langgraph.budgets import Budget, Meter
from dalsegno.langgraph.turns import turns_of

__all__ = ["BudgetCallbacks", "asked", "reported", "watched"]

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict")


class BudgetCallbacks(BaseCallbackHandler):
    """Charges every model call it hears of to a meter."""

    raise_error = True

    def __init__(self, meter: Meter) -> None:
        """Take the meter."""
        self._meter = meter
        self._open: dict[UUID, tuple[Spent, str]] = {}
        self._lock = threading.Lock()

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Set a call of a chat model aside.

        Raises:
            BudgetSpent: there is no room for it.
        """
        self._begin(
            run_id,
            [asked(self._meter.budget, each, _tools(kwargs), *_about(serialized, kwargs)) for each in messages],
            kwargs,
        )

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, **kwargs: Any) -> None:
        """Set a call of a text model aside.

        Raises:
            BudgetSpent: there is no room for it.
        """
        self._begin(
            run_id, [asked(self._meter.budget, [each], (), *_about(serialized, kwargs)) for each in prompts], kwargs
        )

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002 - LangChain's call
        """Settle a call by what the provider reports."""
        with self._lock:
            ask, model = self._open.pop(run_id, (Spent(), ""))
        real = [
            reported(self._meter.budget, getattr(each, "message", each.text), ask, model)
            for generations in response.generations
            for each in generations[:1]
        ]
        told = sum(real, Spent())
        self._meter.settle(
            told - Spent(input_tokens=ask.input_tokens, output_tokens=ask.output_tokens, nanos=ask.nanos)
        )

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002 - LangChain's call
        """A call that failed: its prompt stays charged, its answer was none."""
        with self._lock:
            ask, model = self._open.pop(run_id, (Spent(), ""))
        nanos = self._meter.budget.prices.nanos(model, ask.input_tokens, 0)
        self._meter.settle(Spent(output_tokens=-ask.output_tokens, nanos=nanos - ask.nanos))

    def _begin(self, run_id: UUID, asks: Sequence[Spent], kwargs: Mapping[str, Any]) -> None:
        ask = sum(asks, Spent())
        self._meter.reserve(ask)
        with self._lock:
            self._open[run_id] = (ask, _about({}, kwargs)[0])


def asked(budget: Budget, messages: Sequence[Any], tools: Sequence[Any], model: str, answer_tokens: int) -> Spent:
    """What a call is taken to cost before it begins."""
    count = budget.count
    if all(isinstance(each, str) for each in messages):
        prompt = request_tokens(messages, count=count)
    else:
        prompt = sum(turn.tokens for turn in turns_of(messages, count))
    prompt += schema_tokens(tools, count)
    answer = answer_tokens or budget.answer_tokens
    nanos = budget.prices.nanos(model, prompt, answer)
    return Spent(calls=1, input_tokens=prompt, output_tokens=answer, nanos=nanos)


def reported(budget: Budget, answer: Any, ask: Spent, model: str) -> Spent:
    """What an answer says that its call cost, calls not counted; by estimate where it says nothing."""
    usage: Any = getattr(answer, "usage_metadata", None) or {}
    told = getattr(answer, "response_metadata", None) or {}
    model = str(told.get("model_name") or told.get("model") or model)
    given, made = usage.get("input_tokens"), usage.get("output_tokens")
    cached = (usage.get("input_token_details") or {}).get("cache_read") or 0
    if not isinstance(given, int) or not isinstance(made, int):
        text = answer if isinstance(answer, str) else answer.text if isinstance(answer, AIMessage) else ""
        given, made, cached = ask.input_tokens, budget.count(str(text)), 0
    nanos = budget.prices.nanos(model, given, made, cached)
    return Spent(input_tokens=given, output_tokens=made, nanos=nanos)


def _tools(kwargs: Mapping[str, Any]) -> Sequence[Any]:
    tools = (kwargs.get("invocation_params") or {}).get("tools")
    return tools if isinstance(tools, (list, tuple)) else ()


def _about(serialized: Mapping[str, Any] | None, kwargs: Mapping[str, Any]) -> tuple[str, int]:  # noqa: ARG001 - both callbacks have it
    """Name of the model and how long its answer may be, as far as LangChain says."""
    params, metadata = kwargs.get("invocation_params") or {}, kwargs.get("metadata") or {}
    model = metadata.get("ls_model_name") or params.get("model") or params.get("model_name") or ""
    most = next((params[name] for name in _LIMITS if isinstance(params.get(name), int)), metadata.get("ls_max_tokens"))
    return str(model), most if isinstance(most, int) else 0


@contextmanager
def watched(meter: Meter, config: RunnableConfig) -> Iterator[RunnableConfig]:
    """Let a meter hear of every model call inside, also of those that are given the config that is handed out."""
    handler = BudgetCallbacks(meter)
    held = config.get("callbacks")
    callbacks: Any
    if isinstance(held, BaseCallbackManager):
        callbacks = held.copy()
        callbacks.add_handler(handler, inherit=True)
    else:
        callbacks = [*(held or ()), handler]
    seen: RunnableConfig = {**config, "callbacks": callbacks}
    token = var_child_runnable_config.set(seen)
    try:
        yield seen
    finally:
        var_child_runnable_config.reset(token)
