"""What dalsegno reads from and writes into a run's config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import EXCLUDED_METADATA_KEYS

from dalsegno.errors import Misuse

__all__ = ["FENCE", "FORK", "conf_of", "config_of", "fence_of", "metadata_with"]

FORK = "__dalsegno_fork"
"""Key in `configurable` that says: this checkpoint was addressed by its id, a branch may start there."""

FENCE = "dalsegno_fence"
"""Key in `configurable` for the fencing token of the run's lease."""


def conf_of(config: RunnableConfig) -> dict[str, Any]:
    """The `configurable` of a config."""
    return config.get("configurable") or {}


def fence_of(conf: Mapping[str, Any]) -> int | None:
    """The fencing token a run writes under, if any.

    Raises:
        Misuse: what stands there is no token; taken for none, it would write over a lease that has run out.
    """
    fence = conf.get(FENCE)
    if fence is not None and type(fence) is not int:
        msg = f"{FENCE}={fence!r}: write under a lease's own token, as lease.config has it"
        raise Misuse(msg)
    return fence


def config_of(thread_id: str, ns: str, checkpoint_id: str, *, forks: bool = False) -> RunnableConfig:
    """The config of a checkpoint; with `forks`, one that may be continued although it is no longer the head."""
    conf = {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}
    return {"configurable": {**conf, FORK: checkpoint_id} if forks else conf}


def metadata_with(config: RunnableConfig, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata with simple values of the run's own metadata and configurable, as LangGraph's savers have it."""
    merged = dict(metadata)
    for part in (config.get("metadata"), config.get("configurable")):
        for key, value in (part or {}).items():
            if key in merged or key in EXCLUDED_METADATA_KEYS or key.startswith("__") or key == FENCE:
                continue
            if isinstance(value, (str, int, bool, float)):
                merged[key] = value
    return merged
