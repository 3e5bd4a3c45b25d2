"""What a put brings to the journal from channels that its checkpoint does not hold: LangGraph's delta channels.

Rules of this module:

* The same rules as in `arrivals`: a message is known by its id within the lineage; unknown is an arrival, known with
  another body is an edit; what is gone is a deletion, if the lineage knew it. One without an id is an arrival.
* In the checkpoint's own transaction, after it.
* There is no list whose items an event could point to: the message gets an item of its own in the pool. Its long
  strings are those that the pending write has already, and are not stored again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.card.listening import stirs
from dalsegno.core.items import POOL, Place, Plan, put_back
from dalsegno.core.journal import Kind
from dalsegno.core.split import Split
from dalsegno.core.tree import Json, canonical
from dalsegno.services.arrivals import Moment, Said, event_row
from dalsegno.services.cards import begin, follow, is_due
from dalsegno.services.checkpoints import Put, PutDone, put
from dalsegno.services.ids import pack_id
from dalsegno.services.lines import Known, known_messages, spans_of
from dalsegno.services.loading import Loaded, load
from dalsegno.services.placing import ROOT, namespace
from dalsegno.services.sound import sound
from dalsegno.services.storing import find_pool, store_items
from dalsegno.services.threads_row import Scope, ThreadRow, lock_thread, save_thread

__all__ = ["Heard", "Spoken", "put_heard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A message that may be new: what it says, and its tree, as it is and lifted."""

    said: Said
    tree: Json
    lifted: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a checkpoint's delta channels have that its parent's had not, and the other way round.

    Attributes:
        spoken: messages that are new or were written again, in order.
        gone: ids of messages that the parent had and no channel of the checkpoint has, in order.
        plan: the long strings in them.
    """

    spoken: Sequence[Spoken]
    gone: Sequence[str]
    plan: Plan


@sound
def put_heard(scope: Scope, request: Put, heard: Heard) -> Op[PutDone]:
    """Store a checkpoint and the events of its delta channels; raises what `checkpoints.put` raises."""
    done = yield from put(scope, request)
    row = yield from lock_thread(scope, request.thread, create=False, fence=request.fence)
    ns, _, _ = yield from namespace(row, request.place.ns)
    ((branch, ckpt),) = yield Step("checkpoint_branch", {**row.key, "ns": ns, "id": pack_id(request.place.id)})
    known: dict[str, Known] = {}
    ids = {spoken.said.id for spoken in heard.spoken if spoken.said.id} | set(heard.gone)
    if ids and row.events:
        spans = yield from spans_of(row, branch, ckpt)
        known = yield from known_messages(row, ids, spans)
    words = yield from _words(row, [spoken for spoken in heard.spoken if spoken.said.id in known], known)
    pool = yield from find_pool(row, heard.plan)
    split = Split(pool=pool, next_pool=row.pool + 1, next_lane=row.lanes + 1, tails={}, old={}, own_lanes=True)
    events: list[dict[str, Any]] = []

    moment = Moment(ckpt, branch, request.frame.created_at, is_root=ns == ROOT)

    def tell(kind: Kind, said: Said, place: Place) -> None:
        events.append(event_row(row, moment, kind, said, place))

    for spoken in heard.spoken:
        said = spoken.said
        if said.id in words and words[said.id] == canonical(spoken.tree):
            continue
        kind = Kind.EDIT if said.id in known or said.id in words else said.kind
        tell(kind, said, (POOL, split.add_pool(split.body_of(spoken.lifted))))
        if said.id:
            words[said.id] = canonical(spoken.tree)
    if moment.is_root:
        for id_ in heard.gone:
            if id_ in known and id_ not in request.elsewhere and (place := known[id_].place) is not None:
                tell(Kind.DELETE, Said(id_, Kind.DELETE, known[id_].author, ""), place)
    row.pool = split.next_pool - 1
    if events:
        due = is_due(row, row.events - len(events), lambda: _stirred(heard, known))
        yield (*store_items(row, split), Step("event_add", events), save_thread(row), *begin(due=due))
        yield from follow(row, branch, request.deciders, due=due)
    return done


def _stirred(heard: Heard, known: Mapping[str, Known]) -> bool:
    """Whether what is heard may decide or withdraw something, or changes what was said."""
    return bool(heard.gone) or any(
        spoken.said.id in known or (spoken.said.by_person and stirs(spoken.said.text)) for spoken in heard.spoken
    )


def _words(row: ThreadRow, again: Sequence[Spoken], known: dict[str, Known]) -> Op[dict[str, bytes]]:
    """What the journal has as the last wording of messages, whole: items of lists are split in other ways."""
    bodies = {spoken.said.id: known[spoken.said.id].body for spoken in again if spoken.said.id}
    trees = {id_: orjson.loads(body) for id_, body in bodies.items() if body is not None}
    loaded: Loaded = yield from load(row.tenant, row.thread, trees.values())
    return {id_: canonical(put_back(tree, loaded.trees, loaded.blobs)) for id_, tree in trees.items()}
