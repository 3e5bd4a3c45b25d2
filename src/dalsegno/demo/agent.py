"""The agent of the demo: an ordinary LangGraph graph of a model node and a tool node.

Rules of this module:

* The graph is what anyone would write: messages with the `add_messages` reducer, a model node, and one `Send` for each
  tool call, so that the calls of one message run as siblings in one superstep. What knows of dalsegno is how a tool
  acts (`errands.py`), which is handed in.
* The model is a replay: a pure function from the messages so far to the next recorded words. It first compares the
  messages with the script, so a thread that came back changed is found at once.
* Every node tells a witness where it is (`start`, `effect`, `return`). The witness is how the demo knows which nodes
  ran, and where it can strike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from dalsegno.demo.script import MODEL, TOOL, Phase, Script

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

    from dalsegno.demo.errands import Act

__all__ = ["Ticket", "Witness", "agent"]


class Witness(Protocol):
    """Told of every step of every node, in the node's own thread."""

    def __call__(self, node: str, position: int, phase: Phase, *, step: int, sibling: int = 0) -> None:
        """Take note.

        Args:
            node: `model` or `tool`.
            position: index of the message that the node yields.
            phase: what it is about to do.
            step: the superstep.
            sibling: the errand's place among those of its superstep, from 0.
        """


class Ticket(TypedDict):
    """What a tool node is sent: which errand, and its place among those of the step."""

    position: int
    sibling: int


def agent(
    script: Script,
    act: Act,
    witness: Witness,
    saver: BaseCheckpointSaver[Any],
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the graph that plays a script.

    Args:
        script: what was said.
        act: does an errand in the outside world; its effect is there, and on record, on return.
        witness: told of every step.
        saver: where the thread is kept.
    """

    def model(state: MessagesState, config: RunnableConfig) -> dict[str, list[BaseMessage]]:
        position, step = script.follow(state["messages"]), _step(config)
        witness(MODEL, position, "start", step=step)
        reply = script.reply_at(position)
        witness(MODEL, position, "return", step=step)
        return {} if reply is None else {"messages": [reply]}

    def tool(state: Ticket, config: RunnableConfig) -> dict[str, list[BaseMessage]]:
        position, sibling, step = state["position"], state["sibling"], _step(config)
        witness(TOOL, position, "start", step=step, sibling=sibling)
        (errand, *_) = script.errands_at(position)
        act(errand, lambda: witness(TOOL, position, "effect", step=step, sibling=sibling))
        result = script.result_at(position)
        witness(TOOL, position, "return", step=step, sibling=sibling)
        return {"messages": [result]}

    def after_model(state: MessagesState) -> list[Send] | str:
        position = len(state["messages"])
        if errands := script.errands_at(position):
            return [Send(TOOL, Ticket(position=errand.position, sibling=place)) for place, errand in enumerate(errands)]
        return MODEL if script.reply_at(position) is not None else END

    graph = StateGraph(MessagesState)
    graph.add_node(MODEL, model)
    graph.add_node(TOOL, tool, input_schema=Ticket)
    graph.add_edge(START, MODEL)
    graph.add_conditional_edges(MODEL, after_model, [MODEL, TOOL, END])
    graph.add_edge(TOOL, MODEL)
    return graph.compile(checkpointer=saver)


def _step(config: RunnableConfig) -> int:
    return int(config.get("metadata", {}).get("langgraph_step", 0))
