"""Which nodes a checkpoint is waiting for, read from its versions alone.

The rule is LangGraph's own: a node runs when a channel that triggers it holds a value newer than the node has seen.
A join channel (`join:a+b:c`) holds a value before it is complete; it triggers once every part has arrived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.types import Send

__all__ = ["TASKS", "pending_nodes"]

TASKS = "__pregel_tasks"
_BRANCH = "branch:to:"


def pending_nodes(checkpoint: Mapping[str, Any], graph: Mapping[str, Sequence[str]] | None) -> list[str]:
    """Names of the nodes that would run next.

    Args:
        checkpoint: a LangGraph checkpoint with its values.
        graph: triggers by node, as recorded with the checkpoint; without it, only `branch:to:` channels and sends
            tell.

    Returns:
        Sorted names, one for each node, and one for each waiting `Send`.
    """
    values: Mapping[str, Any] = checkpoint["channel_values"]
    versions: Mapping[str, Any] = checkpoint["channel_versions"]
    seen: Mapping[str, Mapping[str, Any]] = checkpoint["versions_seen"]

    def fires(node: str, channel: str) -> bool:
        if channel not in values or channel not in versions or not _complete(channel, values[channel]):
            return False
        last = seen.get(node, {}).get(channel)
        return last is None or versions[channel] > last

    if graph is None:
        names = [
            name.removeprefix(_BRANCH)
            for name in values
            if name.startswith(_BRANCH) and fires(name.removeprefix(_BRANCH), name)
        ]
    else:
        names = [node for node, triggers in graph.items() if any(fires(node, channel) for channel in triggers)]
    sends = values.get(TASKS)
    if isinstance(sends, list):
        names += [send.node for send in sends if isinstance(send, Send)]
    return sorted(names)


def _complete(channel: str, value: Any) -> bool:
    if not channel.startswith("join:"):
        return True
    starts = channel.split(":", 2)[1].split("+")
    return isinstance(value, (set, frozenset)) and value == set(starts)
