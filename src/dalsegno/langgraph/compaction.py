"""Compaction for LangGraph: a node for any graph, and the way back to what was said.

Rules of this module:

* Nothing is taken out that the graph would lose: a state without a channel for the summary, and a reducer that keeps
  what is to go, are refused first (`surroundings.py`).
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
from dalsegno.langgraph.compacting import Compacted, Compaction, acompact, compact, render_summary
from dalsegno.langgraph.options import How, check_keys, check_kind, check_options, how_with, summary_of
from dalsegno.langgraph.originals import HasJournal, aoriginals, arecord, originals, record, thread_of
from dalsegno.langgraph.rereading import aregenerate, awho_said, regenerate, who_said
from dalsegno.langgraph.surroundings import Returned, Unheld, channels_of, check_summary_channel, lets_go, takes

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
        A node for sync and async graphs. It returns the removals and the summary, or no update; in a graph whose
        channels would not take them it raises `Misuse` and takes nothing out.

    Raises:
        Misuse: an option that is none, or a value of the wrong kind.
    """
    check_options(compaction_node, how)
    how = how_with(ds, how)
    place = _Place(messages_key, summary_key, removal)
    work = Compaction(policy, **how)
    other = work.other_tokens(system, tools)
    unheld, returned = Unheld(ds), Returned()

    def node(state: Any, config: RunnableConfig) -> dict[str, Any]:
        messages, value = place.read(state, config)
        if work.quiet(messages, other):
            return {}
        summary = summary_of(value, place.name)
        returned.tell(messages, summary)
        due = work.due(messages, summary, other_tokens=other)
        if due is not None and ds is not None:
            events = originals(ds, thread_of(config), summary, work.lacks(messages, due))
            due = work.due(messages, summary, other_tokens=other, events=events)
            if due is None:
                unheld.tell(config, summary, events)
        done = work.run(messages, summary, due)
        update = place.update(done, config)
        record(ds, config, done.settled)
        return update

    async def anode(state: Any, config: RunnableConfig) -> dict[str, Any]:
        messages, value = place.read(state, config)
        if work.quiet(messages, other):
            return {}
        summary = summary_of(value, place.name)
        returned.tell(messages, summary)
        due = work.due(messages, summary, other_tokens=other)
        if due is not None and ds is not None:
            events = await aoriginals(ds, thread_of(config), summary, work.lacks(messages, due))
            due = work.due(messages, summary, other_tokens=other, events=events)
            if due is None:
                unheld.tell(config, summary, events)
        done = await work.arun(messages, summary, due)
        update = place.update(done, config)
        await arecord(ds, config, done.settled)
        return update

    return RunnableLambda(node, afunc=anode, name="compact")


class _Place:
    """Where a state has its messages and its summary, and how the former is told what goes."""

    def __init__(self, messages_key: str, summary_key: str, removal: Removal) -> None:
        check_keys(messages_key, summary_key)
        if removal not in get_args(Removal):
            raise Misuse(f"removal={removal!r}: give one of {', '.join(get_args(Removal))}.")
        self._messages_key = messages_key
        self._summary_key = summary_key
        self._removal: Removal = removal
        self.name = f"the state's {summary_key!r} (another channel is named with summary_key=)"

    def read(self, state: Any, config: RunnableConfig) -> tuple[list[Any], Any]:
        """Messages and summary of a state that is a mapping or an object with fields.

        Raises:
            Misuse: there is no list of messages, or no channel for a summary, or something else in it.
        """

        def field(key: str) -> Any:
            return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)

        messages = field(self._messages_key)
        if not isinstance(messages, (list, tuple)):
            raise Misuse(
                f"the state has no list of messages in {self._messages_key!r}; name the channel with messages_key, and "
                "give the node a state that has it."
            )
        channels = channels_of(config)
        check_summary_channel(channels, self._summary_key)
        value = field(self._summary_key)
        if value is None and channels is not None and (held := channels[self._summary_key]).is_available():
            value = held.get()  # the node was added with a narrower view of the state
        check_kind(value, self.name)
        return list(messages), value

    def update(self, done: Compacted, config: RunnableConfig) -> dict[str, Any]:
        """What to write into the state.

        Raises:
            Misuse: a channel would not take it.
        """
        if not done.changed:
            return {}
        tree, channels = done.summary.to_json(), channels_of(config)
        if channels is not None and not takes(channels[self._summary_key], tree):
            raise Misuse(
                f"the channel {self._summary_key!r} does not hold a summary as it is written; nothing was taken out. "
                f"Declare it `{self._summary_key}: dict` without a reducer, or name another with summary_key=."
            )
        if channels is not None and (channel := channels.get(self._messages_key)) is not None:
            self._check_removal(done, channel)
        return {self._messages_key: removals(done, self._removal), self._summary_key: tree}

    def _check_removal(self, done: Compacted, channel: Any) -> None:
        if lets_go(channel, removals(done, self._removal)):
            return
        right = _right(done, channel)
        instead = f"Use removal={right!r}" if right else "Give the channel a reducer that lets messages go"
        raise Misuse(
            f"with removal={self._removal!r} the channel {self._messages_key!r} would not get shorter, for its reducer "
            f"keeps what is to go; nothing was taken out. {instead}."
        )


def _right(done: Compacted, channel: Any) -> Removal | None:
    """The removal that a channel understands."""
    known: tuple[Removal, ...] = get_args(Removal)
    for each in known:
        try:
            update = removals(done, each)
        except Misuse:
            continue
        if lets_go(channel, update):
            return each
    return None


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
