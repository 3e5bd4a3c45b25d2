"""Where a checkpoint goes: its namespace, its parent, its number, its branch.

Rules of this module:

* **One head, one writer.** A put continues from the head of its namespace, or says that it forks, or is refused.
* Numbers are given in the order of putting, odd ones. A checkpoint that is announced by its writes gets an even number
  beyond the next odd one and keeps it when it is put in time; else it gets a new one, and its writes move along.
* A branch starts where a put continues from something that is not the head. What a subgraph writes belongs to the
  branch of the root checkpoint it runs under.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dalsegno.contracts import Op, Step
from dalsegno.errors import HeadMoved
from dalsegno.services.forms import sound_form
from dalsegno.services.frames import read_state
from dalsegno.services.ids import pack_id, pack_name, unpack_id
from dalsegno.services.loading import json_text
from dalsegno.services.threads_row import ThreadRow

__all__ = [
    "ROOT",
    "Own",
    "Parent",
    "Placement",
    "announced_number",
    "branch_of",
    "family",
    "judge",
    "namespace",
    "number",
]

ROOT = 0
"""Number of the root graph's namespace in every thread."""


@dataclass(frozen=True, slots=True)
class Placement:
    """What a put says about where it goes.

    Attributes:
        ns: checkpoint namespace, "" for the root graph.
        id: checkpoint id.
        parent: id of the checkpoint it continues from, or None.
        forks: True when it was addressed by its id, so that a branch may start there.
        begins: True when it is a run's first checkpoint of all, which a thread has only one of.
        root_parent: the root graph's checkpoint that a namespace runs under, if any.
    """

    ns: str
    id: str
    parent: str | None
    forks: bool
    begins: bool
    root_parent: str | None


@dataclass(slots=True)
class Parent:
    """The checkpoint a put continues from, as its row says; empty when there is none."""

    ckpt: int | None = None
    branch: int = 0
    state: dict[str, Any] = field(default_factory=dict)
    meta: tuple[int | None, bytes | None] = (None, None)
    version: int | None = None


def namespace(row: ThreadRow, name: str) -> Op[tuple[int, int | None, str | None]]:
    """Number, head and head's id of a namespace; made if there is none."""
    rows = yield Step("namespace_find", {**row.key, "name": pack_name(name)})
    if rows:
        ns, head, head_id = rows[0]
        return ns, head, unpack_id(bytes(head_id)) if head_id is not None else None
    ns = ROOT
    if name != "":
        row.namespaces += 1
        ns = row.namespaces
    yield Step("namespace_add", {**row.key, "ns": ns, "name": pack_name(name)})
    return ns, None, None


@dataclass(slots=True)
class Own:
    """The row a checkpoint has already: announced by its writes, or stored before."""

    ckpt: int
    parent: int | None
    branch: int
    is_stored: bool


def family(
    row: ThreadRow, ns: int, request: Placement, digests: Sequence[bytes]
) -> Op[tuple[Parent, Own | None, dict[bytes, int]]]:
    """The parent a put names, the row its own id has already, and numbers of forms by their digests."""
    own_id = pack_id(request.id)
    parent_id = pack_id(request.parent) if request.parent is not None else own_id
    wanted = json_text([digest.hex() for digest in digests])
    named = {**row.key, "ns": ns, "id": own_id, "parent": parent_id, "digests": wanted}
    rows = yield Step("checkpoints_named", named)
    parent, own = Parent(), None
    forms: dict[bytes, int] = {}
    for ckpt, id_, up, branch, state, meta, meta_body, shape, digest, version in rows:
        if ckpt is None:
            forms[bytes(id_)] = min(up, forms.get(bytes(id_), up))
            continue
        if bytes(id_) == own_id:
            own = Own(ckpt, up, branch, is_stored=state is not None)
        if request.parent is not None and bytes(id_) == parent_id and state is not None:
            parent = Parent(
                ckpt,
                branch,
                read_state(state, sound_form(shape, digest)),
                (meta, _raw(meta_body)),
                version,
            )
    return parent, own, forms


def _raw(body: str | bytes | None) -> bytes | None:
    return body.encode() if isinstance(body, str) else body


def judge(
    request: Placement, row: ThreadRow, parent: Parent, own: Own | None, head: int | None, head_id: str | None
) -> bool:
    """Whether this put starts a branch; refuses it when it may not go here."""
    if own is not None and own.is_stored:
        if own.parent != parent.ckpt:
            raise HeadMoved(row.name, expected=request.parent, found=head_id)
        return False
    if head is None:
        if request.parent is not None and not request.forks and row.checkpoints:
            # The thread has had checkpoints and this one's parent is gone: deleted or pruned while a run went on.
            raise HeadMoved(row.name, expected=request.parent, found=None)
        return False
    if parent.ckpt == head:
        return False
    if request.forks:
        return True
    if request.parent is None and not (request.begins and request.ns == ""):
        return True
    raise HeadMoved(row.name, expected=request.parent, found=head_id)


def number(row: ThreadRow, own: Own | None) -> tuple[int, list[Step]]:
    """The checkpoint's number, and the steps that move what waited under an announced one."""
    if own is not None and own.is_stored:
        return own.ckpt, []
    if own is not None and own.ckpt > row.checkpoints:
        row.checkpoints = own.ckpt
        return own.ckpt, []
    row.checkpoints += 1 + row.checkpoints % 2  # the next odd one
    if own is None:
        return row.checkpoints, []
    move = {**row.key, "ckpt": own.ckpt, "to": row.checkpoints}
    return row.checkpoints, [Step("checkpoint_reseat", move), Step("writes_reseat", move)]


def announced_number(row: ThreadRow) -> Op[int]:
    """A number for a checkpoint whose writes come before it does: an even one, with room below for its parent's."""
    rows = yield Step("checkpoint_last", row.key)
    above = max(row.checkpoints + 1, rows[0][0] or 0)
    return above + 2 - above % 2


def branch_of(row: ThreadRow, parent: Parent, own: Own | None, request: Placement, *, forked: bool) -> Op[int]:
    """The branch a put belongs to; a new one when it forks."""
    if own is not None and own.is_stored:
        return own.branch
    if request.ns != "" and request.root_parent is not None:
        rows = yield Step("checkpoint_branch", {**row.key, "ns": ROOT, "id": pack_id(request.root_parent)})
        if rows:
            return rows[0][0]  # type: ignore[no-any-return]  # a column
    if not forked:
        return parent.branch
    row.branches += 1
    yield Step(
        "branch_add",
        {
            **row.key,
            "branch": row.branches,
            "parent": parent.branch if parent.ckpt is not None else None,
            "forked_at": parent.ckpt,
        },
    )
    return row.branches
