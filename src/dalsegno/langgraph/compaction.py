"""Compaction for LangGraph: a node for any graph, and the way back to what was said.

Rules of this module:

* Only the message list gets shorter. The summary is a field of its own, plain JSON; no message is added in its place,
  and no other field is read or written.
* With `ds`, the journal gives the numbers, and what it does not hold yet stays in the list.
* Nothing to do, or a summarizer that fails: the node returns no update at all, and the run goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, Unpack, get_args

from langchain_core.messages import RemoveMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.types import Overwrite

from dalsegno.core.compaction import CompactionPolicy
from dalsegno.errors import Misuse
from dalsegno.langgraph.compacting import Compacted, Compaction, How, acompact, compact, render_summary, summary_of
from dalsegno.langgraph.originals import (
    HasJournal,
    aoriginals,
    arecord,
    aregenerate,
    awho_said,
    originals,
    record,
    regenerate,
    thread_of,
    who_said,
)

__all__ = [
    "Compacted",
    "How",
    "Removal",
    "acompact",
    "aregenerate",
    "awho_said",
    "compact",
    "compaction_node",
    "regenerate",
    "removals",
    "render_summary",
    "who_said",
]

Removal: TypeAlias = Literal["remove", "overwrite", "plain"]
"""How a channel is told what goes: `remove` writes a `RemoveMessage` for each (`add_messages` and its kin), `overwrite`
the shorter list past any reducer, `plain` the shorter list to a channel that has none or whose reducer replaces."""


def compaction_node(
    policy: CompactionPolicy | None = None,
    *,
    ds: HasJournal | None = None,
    messages_key: str = "messages",
    summary_key: str = "summary",
    removal: Removal = "remove",
    system: str = "",
    tools: Sequence[Any] = (),
    **how: Unpack[How],
) -> Runnable[Any, dict[str, Any]]:
    """A node that compacts the messages of a state, if it is due.

    Args:
        policy: limits and amounts.
        ds: an open database whose journal holds this conversation: coordinates are its numbers then. Without one,
            messages are numbered as they came.
        messages_key: the channel with the messages.
        summary_key: the channel for the summary, a plain one (`summary: dict`).
        removal: how the channel is told what goes. `remove` is safe beside parallel nodes; `overwrite` is for reducers
            that know no `RemoveMessage` and drops what parallel nodes write in the same step, as LangGraph says.
        system: instructions that go into each request; they count.
        tools: tool schemas that do; they count.
        how: who writes digests and how messages are counted; see `How`.

    Returns:
        A node for sync and async graphs. It returns the removals and the summary, or no update.
    """
    if removal not in get_args(Removal):
        raise Misuse(f"removal={removal!r}: give one of {', '.join(get_args(Removal))}.")
    work = Compaction(policy, **how)
    other = work.other_tokens(system, tools)

    def node(state: Any, config: RunnableConfig) -> dict[str, Any]:
        messages, value = _read(state, messages_key, summary_key)
        if work.quiet(messages, other):
            return {}
        summary = summary_of(value)
        due = work.due(messages, summary, other_tokens=other)
        if due is not None and ds is not None:
            events = originals(ds, thread_of(config), summary, work.lacks(messages, due))
            due = work.due(messages, summary, other_tokens=other, events=events)
        done = work.run(messages, summary, due)
        update = _update(done, messages_key, summary_key, removal)
        record(ds, config, done.settled)
        return update

    async def anode(state: Any, config: RunnableConfig) -> dict[str, Any]:
        messages, value = _read(state, messages_key, summary_key)
        if work.quiet(messages, other):
            return {}
        summary = summary_of(value)
        due = work.due(messages, summary, other_tokens=other)
        if due is not None and ds is not None:
            events = await aoriginals(ds, thread_of(config), summary, work.lacks(messages, due))
            due = work.due(messages, summary, other_tokens=other, events=events)
        done = await work.arun(messages, summary, due)
        update = _update(done, messages_key, summary_key, removal)
        await arecord(ds, config, done.settled)
        return update

    return RunnableLambda(node, afunc=anode, name="compact")


def _read(state: Any, messages_key: str, summary_key: str) -> tuple[list[Any], Any]:
    """Messages and summary of a state that is a mapping or an object with fields."""

    def field(key: str) -> Any:
        return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)

    messages = field(messages_key)
    if not isinstance(messages, (list, tuple)):
        raise Misuse(
            f"the state has no list of messages in {messages_key!r}; name the channel with messages_key, and give the "
            "node a state that has it."
        )
    return list(messages), field(summary_key)


def _update(done: Compacted, messages_key: str, summary_key: str, removal: Removal) -> dict[str, Any]:
    if not done.changed:
        return {}
    return {messages_key: removals(done, removal), summary_key: done.summary.to_json()}


def removals(done: Compacted, removal: Removal) -> Any:
    """What to write into the channel so that what was taken out is gone.

    Raises:
        Misuse: a message that is to be removed by its id has none.
    """
    if removal == "overwrite":
        return Overwrite(done.messages)
    if removal == "plain":
        return done.messages
    nameless = [message for message in done.evicted if getattr(message, "id", None) is None]
    if nameless:
        raise Misuse(
            f"{len(nameless)} of the messages to take out have no id, so no RemoveMessage can name them; this channel "
            "does not give ids. Use removal='overwrite', or removal='plain' where it has no reducer."
        )
    return [RemoveMessage(id=message.id) for message in done.evicted]
