"""What a node knows about the graph it runs in, so that it takes nothing out that the graph would then lose.

Rules of this module:

* LangGraph drops what a node writes to a channel that the graph does not have, without a word; and a reducer may do
  anything with a shorter list. Both are found out on copies of the channels, before anything is written.
* The channels are those behind the function that LangGraph gives a node to read the state with. Where there is none (a
  node called by hand, another LangGraph), nothing is checked.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.messages import RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.base import BaseChannel

from dalsegno.core.journal import Event
from dalsegno.core.summary import Summary
from dalsegno.errors import Misuse
from dalsegno.langgraph.checkpointer import DalsegnoSaver

__all__ = ["Returned", "Unheld", "channels_of", "check_summary_channel", "lets_go", "takes"]

_log = logging.getLogger("dalsegno.compaction")

_READ = "__pregel_read"
_SAVER = "__pregel_checkpointer"


def channels_of(config: RunnableConfig) -> Mapping[str, BaseChannel[Any, Any, Any]] | None:
    """The channels of the graph that a node runs in, as they were when the step began; None when they are not known."""
    read = (config.get("configurable") or {}).get(_READ)
    for part in read.args if isinstance(read, partial) else ():
        if isinstance(part, Mapping) and part and all(isinstance(channel, BaseChannel) for channel in part.values()):
            return part
    return None


def check_summary_channel(channels: Mapping[str, Any] | None, summary_key: str) -> None:
    """Refuse a graph that would drop the summary.

    Raises:
        Misuse: its state has no such channel.
    """
    if channels is not None and summary_key not in channels:
        raise Misuse(
            f"the graph's state has no channel {summary_key!r}, so LangGraph would drop the summary of what is taken "
            f"out; nothing was. Add `{summary_key}: dict` to the state, or name its channel with summary_key=."
        )


def takes(channel: BaseChannel[Any, Any, Any], tree: Mapping[str, Any]) -> bool:
    """Whether a channel holds a summary once it is written there."""
    held = _after(channel, tree)
    return isinstance(held, Mapping) and all(name in held and held[name] == value for name, value in tree.items())


def lets_go(channel: BaseChannel[Any, Any, Any], update: Any) -> bool:
    """Whether a channel's list is shorter after an update, and holds no order to remove something as a message."""
    before = channel.get() if channel.is_available() else None
    if not isinstance(before, list):
        return True  # these messages come from elsewhere
    held = _after(channel, update)
    return (
        isinstance(held, list)
        and len(held) < len(before)
        and not any(isinstance(message, RemoveMessage) for message in held)
    )


def _after(channel: BaseChannel[Any, Any, Any], update: Any) -> Any:
    """A channel's value after an update that is not made; None when it takes no such update."""
    trial = channel.copy()
    held = getattr(trial, "value", None)
    if isinstance(held, (list, dict)):
        trial.value = held.copy()  # type: ignore[attr-defined] # a reducer may change what it is given
    try:
        trial.update([update])
        return trial.get()
    except Exception:  # noqa: BLE001 - a reducer is other people's code; what it cannot take does not fit
        return None


class Unheld:
    """Says once why a conversation that is due is not compacted: the journal that was given does not hold it."""

    def __init__(self, ds: Any) -> None:
        """Take the database, or None for none."""
        self._ds = ds
        self._told = False

    def tell(self, config: RunnableConfig, summary: Summary, events: Sequence[Event]) -> None:
        """Log the reason, if there is one that lasts.

        Args:
            config: the run's.
            summary: what was taken out before.
            events: what the journal holds after that.
        """
        if self._told or events:
            return
        configurable = config.get("configurable") or {}
        saver, own = configurable.get(_SAVER), getattr(self._ds, "checkpointer", None)
        step = "Compile the graph with checkpointer=ds.checkpointer, or leave ds out to number messages as they come."
        if _READ in configurable and saver is None:
            why = "the graph has no checkpointer, so the journal of ds never gets its messages"
        elif saver is not None and not isinstance(saver, DalsegnoSaver):
            why = f"the graph's checkpointer is {type(saver).__name__}, so the journal of ds never gets its messages"
        elif summary.spans:
            return
        elif saver is not None and saver is not own:
            why = (
                "the journal of ds holds none of its messages; the graph's checkpointer seems to be of another database"
            )
        else:
            why = (
                "the journal of ds holds none of its messages yet; durability='exit' writes them when the run ends, "
                "and a database that is slow keeps 'async' waiting"
            )
            step = "A later call compacts it; under durability='sync' this one would."
        self._told = True
        _log.warning("the conversation is due but is not compacted, for %s. %s", why, step)


class Returned:
    """Says once that what was taken out is in the list again, so that no compaction makes it shorter for good."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._told = False

    def tell(self, messages: Sequence[Any], summary: Summary) -> None:
        """Log it, if it is so."""
        if self._told or not summary.evicted:
            return
        gone = set(summary.evicted)
        back = sum(getattr(message, "id", None) in gone for message in messages)
        if back:
            self._told = True
            _log.warning(
                "%d messages that were taken out are in the list again, and stay. Another graph holds them: a subgraph "
                "is given its parent's messages at each call, and the parent never hears what it took out. Compact in "
                "the graph that holds them.",
                back,
            )
