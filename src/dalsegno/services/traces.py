"""What a thread leaves in which table, and what becomes of it when the thread is deleted or erased.

Rules of this module:

* Every table of the schema stands here: in `TRACES` with the statement that removes a thread's rows, or in `ELSEWHERE`
  with what an erasure does about it. A table that is added and not registered makes a test fail.
* Deleting a thread and erasing one both begin with `wipe`; what goes further is in `erasing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dalsegno.contracts import Op, Step
from dalsegno.services.threads_row import ThreadRow

__all__ = ["ELSEWHERE", "TRACES", "Trace", "drop_blob", "wipe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A table with rows of threads.

    Attributes:
        table: its name.
        wipe: statement that removes a thread's rows, given `tenant` and `thread`.
    """

    table: str
    wipe: str


TRACES: Final = (
    Trace(table="ds_writes", wipe="wipe_writes"),
    Trace(table="ds_checkpoints", wipe="wipe_checkpoints"),
    Trace(table="ds_events", wipe="wipe_events"),
    Trace(table="ds_actions", wipe="wipe_actions"),
    Trace(table="ds_runs", wipe="wipe_runs"),
    Trace(table="ds_summaries", wipe="wipe_summaries"),
    Trace(table="ds_cards", wipe="wipe_cards"),
    Trace(table="ds_manifests", wipe="wipe_manifests"),
    Trace(table="ds_spending", wipe="wipe_spending"),
    Trace(table="ds_items", wipe="wipe_items"),
    Trace(table="ds_branches", wipe="wipe_branches"),
    Trace(table="ds_namespaces", wipe="wipe_namespaces"),
    Trace(table="ds_tags", wipe="wipe_tags"),
    Trace(table="ds_blob_refs", wipe="wipe_blob_refs"),
)
"""Tables whose rows belong to one thread and go with it, in the order they go."""

ELSEWHERE: Final[Mapping[str, str]] = {
    "ds_meta": "the number of the format; nothing of anyone",
    "ds_tenants": "the tenant's name, which the program chose",
    "ds_threads": "the row stays as a tombstone: a pseudonym for the id, no owner, times and counters",
    "ds_blobs": "a blob goes when no other thread points to it",
    "ds_forms": "a form goes when no checkpoint uses it any more",
    "ds_audit": "texts and their salts go; numbers, times, digests and hashes stay; one row says that it was erased",
    "ds_audit_heads": "numbers and hashes",
    "ds_audit_roots": "numbers and hashes",
    "ds_memories": "facts that rest on this thread alone go; of an erased user all facts and items",
    "ds_evidence": "this thread's part in the evidence of facts goes",
    "ds_vectors": "go with their memory",
    "ds_embedders": "the embedder's name and dimension, which the program chose",
    "ds_answers": "answers written in this thread go with all derived from them; of an erased user all of his",
    "ds_answer_sources": "go with their answer",
    "ds_answer_uses": "go with their answer; this thread's or user's uses of others go too",
    "ds_answer_parents": "go with their answer",
    "ds_calibrations": "numbers, and the embedder's name, which the program chose",
    "ds_erasures": "the erasure itself: times, and while the id is kept closed its salted digest",
}
"""Tables that an erasure treats otherwise, and how."""


def wipe(row: ThreadRow) -> Op[None]:
    """Remove every row of a thread, and the blobs that only it pointed to."""
    refs = yield Step("blob_refs_of", row.key)
    yield (
        *(Step(trace.wipe, row.key) for trace in TRACES),
        *(step for digest, _ in refs for step in drop_blob(row.tenant, digest)),
    )


def drop_blob(tenant: int, digest: bytes) -> list[Step]:
    """Delete a blob unless a thread refers to it; locked first, so that a reference being written is seen."""
    named = {"tenant": tenant, "digest": digest}
    return [Step("blob_lock", named), Step("blob_drop", named)]
