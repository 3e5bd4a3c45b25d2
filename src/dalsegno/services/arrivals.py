"""What a put brings to the journal: messages that are new, changed or gone.

Rules of this module:

* A message is known by its id within the lineage: unknown is an arrival, known with another body is an edit, gone
  from the root graph's list is a deletion. What a subgraph hands up is known already and is no second arrival.
* A message without an id is an arrival each time it is appended.
* Events point to the message's item; nothing is stored twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from dalsegno.contracts import Op
from dalsegno.core.items import Place, digest_of, is_message
from dalsegno.core.journal import Kind
from dalsegno.core.search import signature
from dalsegno.core.split import Split
from dalsegno.services.lines import Known, known_messages, mark_of, spans_of
from dalsegno.services.loading import Loaded
from dalsegno.services.threads_row import ThreadRow

__all__ = ["Arrived", "Moment", "Said", "event_row", "events_of", "may_be_message"]


@dataclass(frozen=True, slots=True)
class Said:
    """What the journal needs to know of a message in a list channel.

    Attributes:
        id: message id, if it has one.
        kind: the event's kind if the message is new.
        author: who says it.
        text: what is searched.
        at: when it was said, in microseconds, where that is known better than by the checkpoint's time.
    """

    id: str | None
    kind: Kind
    author: str
    text: str
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Arrived:
    """A list channel with messages after a put.

    Attributes:
        places: where its elements stand; of a list that only grew, those of the new ones.
        said: what each of these says; None for an element that is not a message.
        before: where the parent's elements stood; empty for a list that only grew.
    """

    places: Sequence[Place]
    said: Sequence[Said | None]
    before: Sequence[Place]


@dataclass(frozen=True, slots=True)
class Moment:
    """The checkpoint that brings events.

    Attributes:
        ckpt, branch, at: its number, branch and time.
        is_root: whether it is the root graph's.
        elsewhere: ids of messages that the state has besides those in its lists.
    """

    ckpt: int
    branch: int
    at: int
    is_root: bool
    elsewhere: AbstractSet[str] = frozenset()


def events_of(
    row: ThreadRow, moment: Moment, arrived: Sequence[Arrived], split: Split, old: Loaded
) -> Op[list[dict[str, Any]]]:
    """The rows of the events a put brings, numbered.

    Args:
        row: the thread; its counter moves on.
        moment: the checkpoint.
        arrived: its lists with messages.
        split: the items that are new.
        old: the parent's elements, where lists were compared.
    """
    if not arrived:
        return []
    bodies = {(item.lane, item.pos): item.body for item in split.items}
    fresh = [pair for part in arrived for pair in _fresh(part, bodies, old)]
    lost = _lost(arrived, old) if moment.is_root else {}
    ids = {said.id for said, _ in fresh if said.id} | set(lost)
    known: dict[str, Known] = {}
    if ids and row.events:
        spans = yield from spans_of(row, moment.branch, moment.ckpt)
        known = yield from known_messages(row, ids, spans)
    events: list[dict[str, Any]] = []
    for said, place in fresh:
        before = known.get(said.id) if said.id else None
        body = bodies.get(place) or old.bodies.get(place)
        if before is not None and before.same(body):
            continue
        events.append(event_row(row, moment, said.kind if before is None else Kind.EDIT, said, place))
        if said.id:
            known[said.id] = Known(body, said.author)  # it may come in another channel too
    for id_, place in lost.items():
        if id_ in known and id_ not in moment.elsewhere and _was_said(known[id_], place, old):
            gone = Said(id_, Kind.DELETE, known[id_].author, "")
            events.append(event_row(row, moment, Kind.DELETE, gone, place))
    return events


def _fresh(part: Arrived, bodies: Mapping[Place, bytes], old: Loaded) -> list[tuple[Said, Place]]:
    """Messages at places the parent's list did not have; one without an id is not new when it only moved."""
    before = set(part.before)
    fresh = [
        (said, place)
        for said, place in zip(part.said, part.places, strict=True)
        if said is not None and place not in before
    ]
    if all(said.id for said, _ in fresh):
        return fresh
    here = set(part.places)
    moved = Counter(digest_of(old.bodies[place]) for place in part.before if place not in here and place in old.bodies)
    kept = []
    for said, place in fresh:
        body = bodies.get(place)
        digest = digest_of(body) if body is not None and not said.id else b""
        if moved[digest] > 0:
            moved[digest] -= 1
        else:
            kept.append((said, place))
    return kept


def _lost(arrived: Sequence[Arrived], old: Loaded) -> dict[str, Place]:
    """Messages, by id, that the parent's lists had and these do not."""
    here = {place for part in arrived for place in part.places}
    said = {said.id for part in arrived for said in part.said if said is not None}
    gone = {_message_id(old.trees.get(place)): place for part in arrived for place in part.before if place not in here}
    return {id_: place for id_, place in gone.items() if id_ is not None and id_ not in said}


def _was_said(known: Known, place: Place, old: Loaded) -> bool:
    """Whether what is gone from a place is the message that the lineage knows, not a record that has its id."""
    return is_message(old.trees.get(place)) or known.place == place or known.same(old.bodies.get(place))


def _message_id(tree: Any) -> str | None:
    found = tree.get("id") if may_be_message(tree) else None
    return found if isinstance(found, str) else None


def may_be_message(tree: Any) -> bool:
    """Whether a tree may be that of a message; one of a class of the program's own looks like any other object."""
    return isinstance(tree, dict) and ("$m" in tree or "$type" in tree)


def event_row(row: ThreadRow, moment: Moment, kind: Kind, said: Said, place: Place) -> dict[str, Any]:
    """The row of an event, with the thread's next number."""
    row.events += 1
    return {
        **row.key,
        "seq": row.events,
        "kind": kind.code,
        "author": said.author,
        "at": moment.at if said.at is None else said.at,
        "branch": moment.branch,
        "ckpt": moment.ckpt,
        "mark": None if said.id is None else mark_of(said.id),
        "lane": place[0],
        "pos": place[1],
        "terms": signature(said.text),
    }
