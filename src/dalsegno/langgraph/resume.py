"""Going on and going back, so that neither can be taken for the other.

Rules of this module:

* `resume` continues a thread where it stopped and takes no input: the state holds it already. Its `value` answers an
  interrupt and nothing else.
* `fork` goes back to a checkpoint and on from there; without the checkpoint's id it does not run.
* Both work from the database alone: process, graph object and checkpointer may all be new.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel
from langgraph.runtime import RunControl
from langgraph.types import Command, Durability, StateSnapshot

from dalsegno.errors import CheckpointNotFound, GraphChanged, InputOnResume, Misuse, ThreadNotFound
from dalsegno.langgraph.checkpointer import DalsegnoSaver
from dalsegno.langgraph.schemas import register_graph
from dalsegno.services.ids import thread_name

__all__ = ["afork", "aresume", "fork", "resume"]

_INTERRUPT_ID = re.compile("[0-9a-f]{32}")

Graph = Pregel[Any, Any, Any, Any]


def resume(
    graph: Graph,
    thread_id: str,
    value: Any = None,
    *,
    input: Any = None,  # noqa: A002 - it is here to be refused
    config: RunnableConfig | None = None,
    context: Any = None,
    durability: Durability | None = None,
    control: RunControl | None = None,
) -> Any:
    """Continue a thread from its last checkpoint.

    Args:
        graph: a compiled graph whose checkpointer holds the thread.
        thread_id: the thread.
        value: answer to the interrupt it waits at: the value itself, or a mapping of interrupt ids to values when
            several wait. A single answer is kept from the moment the run goes on; answers by id are kept as their
            nodes finish, and a call repeated with all of them uses those that still wait.
        input: not allowed; it is here to be refused with a message that says why.
        config: further settings of the run (callbacks, metadata, recursion limit).
        context: the run's context, as `graph.invoke` takes it. Never stored: what an earlier run was given is gone.
        durability: when supersteps are written, as `graph.invoke` takes it; LangGraph's default if left out.
        control: LangGraph's handle to stop the run after the step in progress, as `graph.invoke` takes it.

    Returns:
        What `graph.invoke` returns.

    Raises:
        InputOnResume: an input was given, or a `Command` that carries more than an answer.
        Misuse: an answer was given and no interrupt waits, or several wait and it names none.
        ThreadNotFound: the thread has no checkpoint.
        GraphChanged: it waits for a node this graph does not have.
    """
    _ready(graph)
    register_graph(graph)
    base = _config(thread_id, None, config)
    if isinstance(graph.checkpointer, DalsegnoSaver):
        _same_graph(graph, thread_id, graph.checkpointer.waiting(base))
    snapshot = _known(graph.get_state(base), thread_id)
    return graph.invoke(
        _answer(snapshot, thread_id, value, input), base, context=context, durability=durability, control=control
    )


async def aresume(
    graph: Graph,
    thread_id: str,
    value: Any = None,
    *,
    input: Any = None,  # noqa: A002 - it is here to be refused
    config: RunnableConfig | None = None,
    context: Any = None,
    durability: Durability | None = None,
    control: RunControl | None = None,
) -> Any:
    """Async face of `resume`."""
    _ready(graph)
    register_graph(graph)
    base = _config(thread_id, None, config)
    if isinstance(graph.checkpointer, DalsegnoSaver):
        _same_graph(graph, thread_id, await graph.checkpointer.awaiting(base))
    snapshot = _known(await graph.aget_state(base), thread_id)
    return await graph.ainvoke(
        _answer(snapshot, thread_id, value, input), base, context=context, durability=durability, control=control
    )


def fork(
    graph: Graph,
    thread_id: str,
    checkpoint_id: str,
    update: Any = None,
    *,
    as_node: str | None = None,
    config: RunnableConfig | None = None,
    context: Any = None,
    durability: Durability | None = None,
) -> Any:
    """Go back to a checkpoint and on from there, on a branch of its own.

    Args:
        graph: a compiled graph whose checkpointer holds the thread.
        thread_id: the thread.
        checkpoint_id: where the branch starts; required.
        update: change of the state to start with, as `graph.update_state` takes it; None runs the same steps again.
        as_node: the node the update counts as coming from; None lets LangGraph decide.
        config: further settings of the run.
        context: the run's context, as `graph.invoke` takes it; never stored.
        durability: when supersteps are written, as `graph.invoke` takes it; LangGraph's default if left out.

    Returns:
        What `graph.invoke` returns.

    Raises:
        Misuse: no checkpoint id; a fork without one would go on at the end of the thread instead. Or the update names
            a channel or node that the graph does not have, which LangGraph would let pass and drop.
        CheckpointNotFound: the thread has no such checkpoint.
    """
    _ready(graph, update, as_node)
    register_graph(graph)
    base = _config(thread_id, _required(checkpoint_id), config)
    _there(graph.get_state(base), thread_id, checkpoint_id)
    if update is not None:
        base = _merged(graph.update_state(base, update, as_node), base)
    return graph.invoke(None, base, context=context, durability=durability)


async def afork(
    graph: Graph,
    thread_id: str,
    checkpoint_id: str,
    update: Any = None,
    *,
    as_node: str | None = None,
    config: RunnableConfig | None = None,
    context: Any = None,
    durability: Durability | None = None,
) -> Any:
    """Async face of `fork`."""
    _ready(graph, update, as_node)
    register_graph(graph)
    base = _config(thread_id, _required(checkpoint_id), config)
    _there(await graph.aget_state(base), thread_id, checkpoint_id)
    if update is not None:
        base = _merged(await graph.aupdate_state(base, update, as_node), base)
    return await graph.ainvoke(None, base, context=context, durability=durability)


def _ready(graph: Any, update: Any = None, as_node: str | None = None) -> None:
    """Refuse what is no graph with a checkpointer, and an update that would change nothing."""
    if not isinstance(graph, Pregel):
        msg = (
            f"{type(graph).__name__} is no compiled graph; give what "
            "builder.compile(checkpointer=ds.checkpointer) returns, then the thread's id"
        )
        raise Misuse(msg)
    if graph.checkpointer is None or isinstance(graph.checkpointer, bool):
        msg = "this graph has no checkpointer, so it keeps no threads; compile it with checkpointer=ds.checkpointer"
        raise Misuse(msg)
    unknown = sorted(map(str, set(update) - set(graph.channels))) if isinstance(update, Mapping) else []
    if unknown:
        known = ", ".join(sorted(name for name in graph.channels if not name.startswith(("__", "branch:", "join:"))))
        msg = f"the update has {', '.join(map(repr, unknown))}, which the graph has no channel for; it has {known}"
        raise Misuse(msg)
    if as_node is not None and as_node not in graph.nodes:
        nodes = ", ".join(sorted(name for name in graph.nodes if not name.startswith("__")))
        msg = f"as_node={as_node!r}: the graph has no such node; it has {nodes}"
        raise Misuse(msg)


def _same_graph(graph: Graph, thread_id: str, waiting: Sequence[str]) -> None:
    lost = sorted(set(waiting) - set(graph.nodes))
    if lost:
        msg = (
            f"thread {thread_id!r} waits for {', '.join(map(repr, lost))}, which this graph does not have. Restore the "
            "node, or go on from an earlier checkpoint with dalsegno.fork"
        )
        raise GraphChanged(msg)


def _answer(snapshot: StateSnapshot, thread_id: str, value: Any, given: Any) -> Any:
    if given is not None or (isinstance(value, Command) and (value.update is not None or value.goto)):
        msg = (
            f"thread {thread_id!r}: a resume takes no input; the state holds it already and a second copy would be "
            "stacked on it. Leave the input out, or start a new turn with graph.invoke(input, config)"
        )
        raise InputOnResume(msg)
    if isinstance(value, Command):
        value = value.resume
    if value is None:
        return None
    waiting = [interrupt.id for interrupt in snapshot.interrupts]
    if not waiting:
        msg = f"thread {thread_id!r}: a value was given and no interrupt waits for one; resume without it"
        raise Misuse(msg)
    if isinstance(value, Mapping) and value and all(map(_is_id, value)):
        # Answers by id. Of a call repeated after a crash, those that were kept no longer wait and are left out.
        open_ids = {id_: answer for id_, answer in value.items() if id_ in waiting}
        if not open_ids:
            msg = (
                f"thread {thread_id!r}: none of these interrupts waits (waiting: {', '.join(waiting)}); nothing was run"
            )
            raise Misuse(msg)
        return Command(resume=open_ids)
    if len(waiting) > 1:
        msg = (
            f"thread {thread_id!r}: {len(waiting)} interrupts wait; answer by id, such as "
            f"{{{waiting[0]!r}: …}} (waiting: {', '.join(waiting)})"
        )
        raise Misuse(msg)
    # As it is, not by id: LangGraph writes it down before the node goes on, so that it survives a crash.
    return Command(resume=value)


def _is_id(key: object) -> bool:
    return isinstance(key, str) and _INTERRUPT_ID.fullmatch(key) is not None


def _config(thread_id: str, checkpoint_id: str | None, config: RunnableConfig | None) -> RunnableConfig:
    conf: dict[str, Any] = {**(config or {}).get("configurable", {}), "thread_id": thread_name(thread_id)}
    conf.pop("checkpoint_id", None)
    if checkpoint_id is not None:
        conf["checkpoint_id"] = checkpoint_id
    return {**(config or {}), "configurable": conf}


def _merged(new: RunnableConfig, base: RunnableConfig) -> RunnableConfig:
    return {**base, "configurable": {**base.get("configurable", {}), **new.get("configurable", {})}}


def _required(checkpoint_id: object) -> str:
    if not isinstance(checkpoint_id, str) or not checkpoint_id.strip():
        msg = (
            "fork needs a checkpoint_id: without one it would go on at the end of the thread. "
            "`dalsegno checkpoints` lists them"
        )
        raise Misuse(msg)
    return checkpoint_id


def _known(snapshot: StateSnapshot, thread_id: str) -> StateSnapshot:
    if snapshot.created_at is None:
        msg = f"thread {thread_id!r} has no checkpoint to resume; check the id (`dalsegno threads` lists them)"
        raise ThreadNotFound(msg)
    return snapshot


def _there(snapshot: StateSnapshot, thread_id: str, checkpoint_id: str) -> None:
    if snapshot.created_at is None:
        msg = f"thread {thread_id!r} has no checkpoint {checkpoint_id!r}; `dalsegno checkpoints` lists them"
        raise CheckpointNotFound(msg)
