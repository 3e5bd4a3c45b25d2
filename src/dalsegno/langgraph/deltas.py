"""What a checkpoint brings to the journal from its delta channels, whose values it does not hold.

Rules of this module:

* A delta channel leaves nothing in a checkpoint but, now and then, a snapshot; LangGraph rebuilds its value from the
  writes of the ancestors. What was said in it is told by the value before a step and the value after it (`steps`).
* Only what is not the same object as before is looked at, and what was written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.pregel._loop import PregelLoop

from dalsegno.core import codec
from dalsegno.core.items import Plan, lift
from dalsegno.core.tree import canonical
from dalsegno.langgraph.authors import writer_of
from dalsegno.langgraph.said import said_of
from dalsegno.langgraph.steps import Lists, Steps, Written, delta_lists
from dalsegno.services.heard import Heard, Spoken

__all__ = ["difference", "heard_of", "standing_in"]


def heard_of(
    steps: Steps,
    loop: PregelLoop | None,
    channels: Mapping[str, Any] | None,
    checkpoint: Mapping[str, Any],
    parent: str | None,
    *,
    is_root: bool,
) -> Heard | None:
    """What a checkpoint brings; None when that is nothing.

    Args:
        steps: what was caught.
        loop: the run that puts it, if it is one.
        channels: those of the run or update, as they are now.
        checkpoint: as LangGraph gives it.
        parent: id of the checkpoint it continues from.
        is_root: whether it is the root graph's: a message gone from there is a deletion.

    Raises:
        NotSerializable: a message cannot be stored exactly.
    """
    if channels is None or not any(isinstance(channel, DeltaChannel) for channel in channels.values()):
        return None
    id_ = checkpoint["id"]
    now = delta_lists(channels)  # before what was caught is asked: once a step is caught, it may be applied
    after = steps.lists(loop, channels, id_)
    if after is None:
        if loop is not None and loop.checkpoint["id"] != id_:
            return None
        after = now
    before, written = steps.lists(loop, channels, parent), steps.written(loop, channels, id_)
    kept = [part for part in checkpoint["channel_values"].values() if isinstance(part, list)]
    return difference(before, after, written, [*after.values(), *kept] if is_root else None)


def standing_in(
    steps: Steps, loop: PregelLoop | None, channels: Mapping[str, Any] | None, checkpoint_id: str
) -> frozenset[str]:
    """Ids of the messages that a checkpoint's delta channels have: not gone when another channel loses them."""
    if channels is None or not any(isinstance(channel, DeltaChannel) for channel in channels.values()):
        return frozenset()
    now = delta_lists(channels)
    lists = steps.lists(loop, channels, checkpoint_id)
    return frozenset(_ids(message for part in (now if lists is None else lists).values() for message in part))


def difference(
    before: Lists | None, after: Lists, written: Written, standing: Sequence[list[Any]] | None
) -> Heard | None:
    """Messages that are new or written again, and ids that are gone.

    Args:
        before: the parent's lists; None when they are not known: then all messages are looked up, and none is gone.
        after: this checkpoint's lists.
        written: what the step wrote, with its node.
        standing: every list of the checkpoint, where what is gone counts.
    """
    had = [message for part in (before or {}).values() for message in part]
    has = {id(message) for part in after.values() for message in part}
    old = {id(message) for message in had} - {id(message) for message, _ in written}
    plan = Plan()
    spoken: list[Spoken] = []
    lost = [message for message in had if id(message) not in has]
    moved = [canonical(codec.encode(message, "state")) for message in lost if _is_nameless(message)]
    for name, part in after.items():
        for place, message in enumerate(part):
            said = said_of(message, writer_of(message, written)) if id(message) not in old else None
            if said is None:
                continue
            tree = codec.encode(message, f"state.{name}[{place}]")
            if said.id is None and canonical(tree) in moved:
                moved.remove(canonical(tree))
                continue
            spoken.append(Spoken(said=said, tree=tree, lifted=lift(tree, plan)))
    gone: list[str] = []
    if standing is not None and before is not None and (ids := _ids(lost)):
        still = _ids(message for part in standing for message in part)
        gone = [id_ for id_ in ids if id_ not in still]
    return Heard(spoken=spoken, gone=gone, plan=plan) if spoken or gone else None


def _is_nameless(message: Any) -> bool:
    return isinstance(message, BaseMessage) and not message.id


def _ids(messages: Iterable[Any]) -> dict[str, None]:
    """Ids of messages, each once, in order."""
    return {message.id: None for message in messages if isinstance(message, BaseMessage) and message.id}
