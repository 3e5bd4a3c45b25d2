"""In which namespace a checkpoint stands: the root graph's, or a subgraph's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalsegno.errors import CheckpointNotFound

if TYPE_CHECKING:
    import dalsegno
    from dalsegno.core.journal import Event

__all__ = ["events_at", "namespace_of", "tree_at"]


def tree_at(ds: dalsegno.Dalsegno, thread: str, checkpoint: str | None, *, references: bool = False) -> dict[str, Any]:
    """The state of a checkpoint, of whichever namespace; of the root graph's newest without an id.

    Raises:
        ThreadNotFound, CheckpointNotFound: there is nothing to show.
    """
    try:
        return ds.threads.tree(thread, checkpoint_id=checkpoint, references=references)
    except CheckpointNotFound:
        ns = None if checkpoint is None else namespace_of(ds, thread, checkpoint)
        if not ns:
            raise
        return ds.threads.tree(thread, checkpoint_id=checkpoint, ns=ns, references=references)


def events_at(ds: dalsegno.Dalsegno, thread: str, *, after: int, limit: int, checkpoint: str | None) -> list[Event]:
    """The events that led to a checkpoint of the root graph; to its newest without an id.

    Raises:
        ThreadNotFound, CheckpointNotFound: there is nothing to show, or it is a subgraph's, which has no events of
            its own.
    """
    try:
        return ds.journal.read(thread, after=after, limit=limit, checkpoint_id=checkpoint)
    except CheckpointNotFound:
        ns = None if checkpoint is None else namespace_of(ds, thread, checkpoint)
        if not ns:
            raise
        msg = (
            f"checkpoint {checkpoint!r} belongs to the subgraph {ns!r}, and events to the root graph; name one of its "
            "checkpoints (`dalsegno checkpoints` lists them), or look at this one with `dalsegno state`"
        )
        raise CheckpointNotFound(msg) from None


def namespace_of(ds: dalsegno.Dalsegno, thread: str, checkpoint: str) -> str | None:
    """The namespace that has this checkpoint; None where none has."""
    return next((each.ns for each in ds.threads.checkpoints(thread) if each.checkpoint_id == checkpoint), None)
