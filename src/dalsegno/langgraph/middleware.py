"""Compaction and actions for LangChain's agents.

Rules of this module:

* Before a model call, what is due is taken out of `messages` and told in `summary`; in the call itself the summary
  stands in the instructions, as a record. The state never holds it as a message.
* Instructions and tools are counted as they were in the agent's last call, because a hook before the model does not
  see them.
* Calls of the tools that were named as actions go through the ledger (`langgraph/tools.py`); the others pass through.
* Needs the `langchain` package; the rest of dalsegno does not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, NotRequired, Unpack, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import OmitFromInput
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command

from dalsegno.core.action_policy import ActionPolicy
from dalsegno.core.compaction import CompactionPolicy
from dalsegno.core.tokens import Calibrated, request_tokens
from dalsegno.errors import Misuse
from dalsegno.langgraph.compacting import Compacted, Compaction, render_summary
from dalsegno.langgraph.compaction import removals
from dalsegno.langgraph.options import How, check_options, how_with, summary_of
from dalsegno.langgraph.originals import HasJournal, aoriginals, arecord, originals, record, thread_of
from dalsegno.langgraph.surroundings import Returned, Unheld
from dalsegno.langgraph.tools import HasActions, ToolActions
from dalsegno.langgraph.turns import schema_of, turns_of

__all__ = ["ContinuityMiddleware", "ContinuityState"]


class ContinuityState(AgentState[Any]):
    """An agent's state with a summary of what was taken out of it."""

    summary: NotRequired[Annotated[dict[str, Any], OmitFromInput]]


class ContinuityMiddleware(AgentMiddleware[ContinuityState, Any, Any]):
    """Keeps an agent's messages within a policy; see `compact` for what that promises."""

    state_schema = ContinuityState

    def __init__(
        self,
        policy: CompactionPolicy | None = None,
        *,
        ds: HasJournal | None = None,
        calibrate: bool = False,
        actions: Mapping[str, ActionPolicy] | None = None,
        **how: Unpack[How],
    ) -> None:
        """Take the policy and the writer.

        Args:
            policy: limits and amounts.
            ds: an open database whose journal holds the conversation, usually the one whose checkpointer the agent has.
            calibrate: correct the token estimates by the usage that the model's answers report.
            actions: by tool name, how calls of that tool are actions; needs `ds`. Other calls pass through.
            how: who writes digests and how messages are counted; see `How`.

        Raises:
            Misuse: an option that is none, or a value of the wrong kind.
        """
        super().__init__()
        check_options(ContinuityMiddleware.__init__, how)
        how = how_with(ds, how)
        self.tools = []
        self._ds = ds
        self._work = Compaction(policy, **how)
        self._unheld, self._returned = Unheld(ds), Returned()
        self._other_tokens = 0
        self._last: tuple[Any, str] = (None, "")
        self._counter = Calibrated(base=self._work.count) if calibrate else None
        self._actions: ToolActions | None = None
        if actions:
            if ds is None:
                msg = "actions need the database with the ledger; give it with ds="
                raise Misuse(msg)
            self._actions = ToolActions(cast("HasActions", ds), actions)

    def before_model(self, state: ContinuityState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002 - LangChain's call
        """Take out what is due."""
        messages = state["messages"]
        if self._work.quiet(messages, self._other_tokens):
            return None
        summary = summary_of(state.get("summary"))
        self._returned.tell(messages, summary)
        due = self._work.due(messages, summary, other_tokens=self._other_tokens)
        if due is not None and self._ds is not None:
            events = originals(self._ds, thread_of(get_config()), summary, self._work.lacks(messages, due))
            due = self._work.due(messages, summary, other_tokens=self._other_tokens, events=events)
            if due is None:
                self._unheld.tell(get_config(), summary, events)
        done = self._work.run(messages, summary, due)
        record(self._ds, get_config(), done.settled)
        return _update(done)

    async def abefore_model(self, state: ContinuityState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002 - LangChain's call
        """Async face of `before_model`."""
        messages = state["messages"]
        if self._work.quiet(messages, self._other_tokens):
            return None
        summary = summary_of(state.get("summary"))
        self._returned.tell(messages, summary)
        due = self._work.due(messages, summary, other_tokens=self._other_tokens)
        if due is not None and self._ds is not None:
            events = await aoriginals(self._ds, thread_of(get_config()), summary, self._work.lacks(messages, due))
            due = self._work.due(messages, summary, other_tokens=self._other_tokens, events=events)
            if due is None:
                self._unheld.tell(get_config(), summary, events)
        done = await self._work.arun(messages, summary, due)
        await arecord(self._ds, get_config(), done.settled)
        return _update(done)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Show the summary to the model, as a record after the instructions."""
        shown = self._shown(request)
        return self._learnt(shown, handler(shown))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Async face of `wrap_model_call`."""
        shown = self._shown(request)
        return self._learnt(shown, await handler(shown))

    def _learnt(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> ModelResponse[Any]:
        """The answer as it is, after its reported usage has corrected the counter."""
        if self._counter is not None:
            reported = [message.usage_metadata for message in response.result if isinstance(message, AIMessage)]
            tokens = sum(usage["input_tokens"] for usage in reported if usage)
            base = self._counter.base
            estimated = sum(turn.tokens for turn in turns_of(request.messages, base)) + request_tokens(
                [], request.system_prompt or "", [schema_of(tool) for tool in request.tools], base
            )
            self._counter = self._counter.learn(estimated=estimated, reported=tokens)
            self._work.count = self._counter
        return response

    def _record(self, value: Any) -> str:
        """The summary as it is shown; made once for each, since most calls show the same."""
        seen, record = self._last
        if seen is not value:
            record = render_summary(value, self._work.policy.fact_tokens)
            self._last = (value, record)
        return record

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Pass a call of a tool that acts through the ledger."""
        if self._actions is None:
            return handler(request)
        result: ToolMessage | Command[Any] = self._actions.wrap(request, handler)
        return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Async face of `wrap_tool_call`."""
        if self._actions is None:
            return await handler(request)
        result: ToolMessage | Command[Any] = await self._actions.awrap(request, handler)
        return result

    def _shown(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        system = request.system_message
        self._other_tokens = self._work.other_tokens(
            "" if system is None else system.text, [schema_of(tool) for tool in request.tools]
        )
        record = self._record(request.state.get("summary"))
        if not record:
            return request
        return request.override(system_message=_with(system, record))


def _update(done: Compacted) -> dict[str, Any] | None:
    if not done.changed:
        return None
    return {"messages": removals(done, "remove"), "summary": done.summary.to_json()}


def _with(system: SystemMessage | None, record: str) -> SystemMessage:
    """The instructions with a record after them, their own content blocks as they were."""
    if system is None:
        return SystemMessage(content=record)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{record}"})
    return system.model_copy(update={"content": [*system.content, {"type": "text", "text": record}]})
