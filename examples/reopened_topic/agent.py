"""The agent: an ordinary LangGraph loop of a model and its tools. Its model is given the handover's request, no more.

Rules of this module:

* A model call gets `ds.handover.pack`: today's rules, the card, the newest messages, and what came after the card. It
  costs the same after ten turns and after a thousand.
* Original words come from `search_history` and `read_events`, and from nowhere else.
* A letter is an action: the same letter is sent once in a thread, whoever asks for it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool, InjectedToolArg, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import tools_condition

from dalsegno import ActionPolicy, Dalsegno, Happened, NotHappened
from dalsegno.langgraph.tools import ActionToolNode
from examples.reopened_topic.post import Post

__all__ = ["BUDGET", "RULES", "ChatMind", "Mind", "build", "tools_of"]

BUDGET = 4000
"""Tokens of a request."""
RULES = (
    "You plan events for a shop. Answer in the user's language.",
    "Today's permissions: letters may be sent; nothing may be bought.",
)


class Mind(Protocol):
    """What answers a request, by words or by calls of tools."""

    def answer(self, messages: Sequence[BaseMessage], tools: Sequence[BaseTool]) -> AIMessage:
        """The next message of the conversation."""
        ...


class ChatMind:
    """A chat model of LangChain."""

    def __init__(self, model: BaseChatModel) -> None:
        """Take the model."""
        self._model = model

    def answer(self, messages: Sequence[BaseMessage], tools: Sequence[BaseTool]) -> AIMessage:
        """The model's answer."""
        answer = self._model.bind_tools(tools).invoke(list(messages))
        assert isinstance(answer, AIMessage)  # noqa: S101 - what a chat model returns
        return answer


def tools_of(ds: Dalsegno, post: Post, thread_id: str) -> tuple[list[BaseTool], dict[str, ActionPolicy]]:
    """The agent's tools for a thread, and which of them act on the world."""

    @tool
    def send_email(to: str, subject: str, body: str, idempotency_key: Annotated[str, InjectedToolArg] = "") -> str:
        """Send an e-mail."""
        return post.send(to, subject, body, idempotency_key)

    @tool
    def finish(number: int) -> str:
        """Say that an open matter is done, by the number of its event."""
        ds.handover.done(thread_id, number)
        return f"#{number} is done"

    def look(action: Any) -> Happened | NotHappened:
        number = post.under(action.action_id)
        return NotHappened() if number is None else Happened(result=number)

    policy = ActionPolicy(kind="send", scope="thread", recipient="to", reconcile=look)
    return [send_email, finish, *ds.handover.tools(thread_id)], {"send_email": policy}


def build(ds: Dalsegno, post: Post, mind: Mind, thread_id: str) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The agent of a thread. Run it with `durability="sync"`: a request is made of what is stored."""
    tools, actions = tools_of(ds, post, thread_id)

    def assistant(state: MessagesState) -> dict[str, Any]:  # noqa: ARG001 - what is stored is what counts
        request = ds.handover.pack(thread_id, BUDGET, RULES)
        return {"messages": [mind.answer(request.messages, tools)]}

    builder = StateGraph(MessagesState)
    builder.add_node("assistant", assistant)
    builder.add_node("tools", ActionToolNode(tools, ds=ds, actions=actions))
    builder.add_edge(START, "assistant")
    builder.add_conditional_edges("assistant", tools_condition)
    builder.add_edge("tools", "assistant")
    return builder.compile(checkpointer=ds.checkpointer)
