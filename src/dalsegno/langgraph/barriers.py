"""A barrier's set, kept apart from the checkpoints that hold it.

Rules of this module:

* A join waits in a barrier channel for the names of its parts. LangGraph adds them to one set, in place, and puts that
  very set into checkpoints, which are written in the background (`durability="async"`): one that is written late would
  hold names of a later step, and after a crash the join would run before its parts, or never.
* LangGraph asks for the next version right before it applies a step's writes. At that moment each barrier gets an equal
  set of its own, and what checkpoints hold is changed no more. The channels are found in the frame that asks; when they
  are not (another caller, another LangGraph), nothing is done.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from langgraph.channels.named_barrier_value import NamedBarrierValue, NamedBarrierValueAfterFinish

__all__ = ["part_barriers"]

_ASKS = "apply_writes"


def part_barriers() -> None:
    """Give the barriers of the step that is about to be applied sets of their own."""
    frame = sys._getframe(2)  # noqa: SLF001 - the documented purpose of this module
    if frame.f_code.co_name != _ASKS:
        return
    channels = frame.f_locals.get("channels")
    if isinstance(channels, Mapping):
        for channel in channels.values():
            if isinstance(channel, (NamedBarrierValue, NamedBarrierValueAfterFinish)):
                channel.seen = channel.seen.copy()
