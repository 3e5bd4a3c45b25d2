"""What each model call of a thread was given: manifests, kept beside its checkpoints.

Rules of this module:

* A row is written before the call it tells of, so that a call whose process died is on record too.
* Rows are numbered within a thread and never rewritten. A node that runs again leaves another row, with the same task.
* No row holds text of a section (`core/context/manifest.py`); all of a thread's rows go with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.context.manifest import Manifest
from dalsegno.core.rights import Right
from dalsegno.services.frames import from_micros
from dalsegno.services.ids import pack_name, unpack_name
from dalsegno.services.loading import json_text
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope, find_thread, lock_thread

__all__ = ["Call", "ManifestRow", "forget_thread", "manifests", "record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Where a model call is made.

    Attributes:
        node: the node that makes it.
        step: the superstep it is made in.
        checkpoint_id: the checkpoint that the step went on from; None where it is not known.
        ns: the node's namespace within the graph; "" outside of one.
        task: id of the node's task; the same when the node runs again after a crash.
    """

    node: str
    step: int = 0
    checkpoint_id: str | None = None
    ns: str = ""
    task: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRow:
    """One call's manifest.

    Attributes:
        number: in the thread, from 1.
        at: when it was written, aware UTC.
        call: where the call was made.
        manifest: what it was given.
    """

    number: int
    at: datetime
    call: Call
    manifest: Manifest


@sound
def record(scope: Scope, name: str, call: Call, manifest: Manifest, *, fence: int | None = None) -> Op[None]:
    """Write down what a call is given; see `dalsegno.faces.context.Contexts.record`."""
    row = yield from lock_thread(scope, name, create=True, fence=fence)
    yield Step(
        "manifest_add",
        {
            **row.key,
            "at": row.now,
            "step": call.step,
            "checkpoint": call.checkpoint_id,
            "ns": pack_name(call.ns),
            "task": call.task,
            "node": pack_name(call.node),
            "body": json_text(manifest.to_json()),
        },
    )


@sound
def manifests(scope: Scope, name: str, after: int, limit: int | None) -> Op[list[ManifestRow]]:
    """Manifests of a thread, oldest first; see `dalsegno.faces.context.Contexts.manifests`."""
    row = yield from find_thread(scope, name)
    most = 2**62 if limit is None else limit
    rows = yield Step("manifests_page", {**row.key, "after": after, "limit": most})
    return [
        ManifestRow(
            number=number,
            at=from_micros(at),
            call=Call(node=unpack_name(node), step=step, checkpoint_id=checkpoint, ns=unpack_name(ns), task=task),
            manifest=Manifest.from_json(orjson.loads(body)),
        )
        for number, at, step, checkpoint, ns, task, node, body in rows
    ]


def forget_thread(scope: Scope, name: str) -> Op[None]:
    """Remove every manifest of a thread.

    Raises:
        ThreadNotFound: no such thread.
    """
    row = yield from lock_thread(scope, name, create=False, right=Right.DISPOSE)
    yield Step("wipe_manifests", row.key)
