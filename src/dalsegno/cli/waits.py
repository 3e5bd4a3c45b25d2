"""What waiting runs wait for, as the command line tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalsegno.cli.legible import readable
from dalsegno.core.asking import action_asked_for, asks_for
from dalsegno.core.standing import RunStatus
from dalsegno.errors import ThreadNotFound

if TYPE_CHECKING:
    import dalsegno
    from dalsegno.services.run_rows import Run

__all__ = ["waits_for"]


def waits_for(ds: dalsegno.Dalsegno, run: Run) -> list[dict[str, Any]]:
    """What a run waits for, in words, each with the action it is about; nothing when it is not waiting."""
    if run.status is not RunStatus.WAITING:
        return []
    try:
        infos = ds.threads.checkpoints(run.thread_id, limit=1, ns="")
    except ThreadNotFound:  # it went meanwhile
        return []
    return [
        {"for": asks_for(question, readable(question)), "action_id": action_asked_for(question)}
        for info in infos
        for question in info.interrupts
    ]
