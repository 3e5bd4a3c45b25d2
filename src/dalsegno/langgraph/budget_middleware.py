"""Budgets for LangChain's agents.

Rules of this module:

* A run's budget begins with the agent, and not again when the run is resumed. Each turn of the loop is a step; each
  model call is set aside before it begins, and settled by what the provider reports.
* When the budget is spent the agent ends, with a closing message that says so in place of an answer. No call is left
  without its result, because the end comes before a model call and never after one that asks for tools.
* Needs the `langchain` package; the rest of dalsegno does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse, hook_config
from langchain.agents.middleware.types import ExtendedModelResponse, OmitFromInput
from langchain_core.messages import AIMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import Command

from dalsegno.core.budgets import Spent, add_spending
from dalsegno.errors import BudgetSpent, Misuse
from dalsegno.langgraph.budgets import Budget, Meter
from dalsegno.langgraph.metering import asked, reported
from dalsegno.langgraph.turns import schema_of

__all__ = ["BudgetMiddleware", "BudgetState"]


class BudgetState(AgentState[Any]):
    """An agent's state with what its run has spent."""

    budget: NotRequired[Annotated[dict[str, Any], OmitFromInput, add_spending]]


class BudgetMiddleware(AgentMiddleware[BudgetState, Any, Any]):
    """Keeps an agent within a budget."""

    state_schema = BudgetState

    def __init__(
        self,
        budget: Budget,
        *,
        closing: str | Callable[[tuple[str, ...]], str] = "The budget of this run is spent; it ends here.",
    ) -> None:
        """Take the budget.

        Args:
            budget: limits, prices and accounts; its field is `budget`.
            closing: the message that stands in place of an answer, or a function of the limits that were reached.

        Raises:
            Misuse: the budget keeps another field.
        """
        super().__init__()
        given: object = budget
        if not isinstance(given, Budget) or given.key != "budget":
            raise Misuse("give the middleware a Budget whose key is 'budget', the field of the agent's state.")
        self.tools = []
        self._budget, self._closing = budget, closing

    def before_agent(self, state: BudgetState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002 - LangChain's call
        """A run's budget begins."""
        return {"budget": {"begin": self._budget.new_run(get_config())}}

    async def abefore_agent(self, state: BudgetState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Async face of `before_agent`."""
        return self.before_agent(state, runtime)

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: BudgetState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002 - LangChain's call
        """Count a step of the loop, or end it."""
        meter = self._budget.meter(state, get_config())
        spent = self._budget.spent_up(state)
        if spent:
            meter.note(spent)
        else:
            try:
                meter.step()
            except BudgetSpent as refusal:
                spent = refusal.names
        end = {"jump_to": "end", "messages": [self._closed(spent)]} if spent else {}
        return {**meter.update, **end}

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: BudgetState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Async face of `before_model`."""
        return await asyncio.to_thread(self.before_model, state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ExtendedModelResponse[Any]:
        """Charge a model call, or answer in its place."""
        meter = self._budget.meter(request.state, get_config())
        ask = self._asked(request)
        try:
            meter.reserve(ask)
        except BudgetSpent as refusal:
            return self._refused(meter, refusal)
        with meter.timed():
            response = handler(request)
        meter.settle(self._difference(response, ask))
        return _extended(response, meter)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ExtendedModelResponse[Any]:
        """Async face of `wrap_model_call`."""
        meter = self._budget.meter(request.state, get_config())
        ask = self._asked(request)
        try:
            await asyncio.to_thread(meter.reserve, ask)
        except BudgetSpent as refusal:
            return self._refused(meter, refusal)
        with meter.timed(settle=False):
            response = await handler(request)
        await asyncio.to_thread(meter.settle_time)
        await asyncio.to_thread(meter.settle, self._difference(response, ask))
        return _extended(response, meter)

    def _asked(self, request: ModelRequest[Any]) -> Spent:
        system = [] if request.system_message is None else [request.system_message]
        tools = [schema_of(tool) for tool in request.tools]
        most = request.model_settings.get("max_tokens") or getattr(request.model, "max_tokens", None)
        return asked(
            self._budget,
            [*system, *request.messages],
            tools,
            _model(request.model),
            most if isinstance(most, int) else 0,
        )

    def _difference(self, response: ModelResponse[Any], ask: Spent) -> Spent:
        answers = [message for message in response.result if isinstance(message, AIMessage)]
        told = sum((reported(self._budget, each, ask, "") for each in answers[:1]), Spent())
        return told - Spent(input_tokens=ask.input_tokens, output_tokens=ask.output_tokens, nanos=ask.nanos)

    def _refused(self, meter: Meter, refusal: BudgetSpent) -> ExtendedModelResponse[Any]:
        return _extended(ModelResponse(result=[self._closed(refusal.names)]), meter)

    def _closed(self, names: tuple[str, ...]) -> AIMessage:
        return AIMessage(content=self._closing(names) if callable(self._closing) else self._closing)


def _extended(response: ModelResponse[Any], meter: Meter) -> ExtendedModelResponse[Any]:
    return ExtendedModelResponse(model_response=response, command=Command(update=meter.update))


def _model(model: Any) -> str:
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    return name if isinstance(name, str) else ""
