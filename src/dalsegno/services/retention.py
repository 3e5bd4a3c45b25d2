"""Retention carried out: thread by thread, each in a transaction of its own.

Rules of this module:

* What may go is said in `core.retention`. What is still used never goes: a thread that a run holds, that waits for
  something or failed, or that has an action which is not settled, is left alone, whole. Nor does what a delta channel
  of a checkpoint that stays is rebuilt from.
* The facts are read under the thread's lock, in the transaction that acts on them. So a run may be killed anywhere and
  run again, and two at once do no harm: the second finds nothing left to do.
* What a plan says is read the same way, in one snapshot, and changes nothing. Its bytes are those of the bodies that
  go, counted one by one; what the database needs around them is an estimate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from dalsegno.contracts import Op, Step
from dalsegno.core.retention import CheckpointFact, RetentionPolicy, leaving, policy_for
from dalsegno.core.rights import Right
from dalsegno.errors import ThreadDeleted, ThreadNotFound
from dalsegno.services import upkeep
from dalsegno.services.access import admit
from dalsegno.services.frames import from_micros
from dalsegno.services.ids import pack_name, unpack_id, unpack_name
from dalsegno.services.sound import sound
from dalsegno.services.tags import tags_of
from dalsegno.services.threads_row import Scope, ThreadRow, row_of_thread

__all__ = ["Drop", "Standing", "ThreadPlan", "count", "page", "treat"]

ROW_BYTES = 60
"""What a database needs around the body of a row, about: numbers, lengths, and its part of an index."""

Standing = Callable[[Scope, str], Op[str]]
"""Says where a thread stands, in a word: whether something waits in it."""

_SETTLED = frozenset({"finished", "empty"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A checkpoint that goes.

    Attributes:
        checkpoint_id: its id.
        created_at: its time, aware UTC.
        reason: the rule that lets it go.
    """

    checkpoint_id: str
    created_at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPlan:
    """What a policy does to one thread.

    Attributes:
        thread_id: the thread.
        policy: the policy's name.
        expires: why the whole thread goes; None if it stays.
        held: why nothing of it goes although the policy lets it; None if it goes.
        drops: checkpoints that go, oldest first; of a thread that goes whole they are not listed.
        rows: rows that go.
        size_bytes: bytes of their bodies.
    """

    thread_id: str
    policy: str
    expires: str | None = None
    held: str | None = None
    drops: tuple[Drop, ...] = ()
    rows: int = 0
    size_bytes: int = 0

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many checkpoints each rule lets go."""
        return Counter(each.reason for each in self.drops)

    @property
    def disk_bytes(self) -> int:
        """An estimate of what that takes in the database, which gives room back only when it is rewritten."""
        return self.size_bytes + ROW_BYTES * self.rows


@dataclass(slots=True)
class _Found:
    """What a policy finds in a thread before anything holds it."""

    policy: RetentionPolicy
    expires: str | None = None
    gone: dict[int, str] = field(default_factory=dict)


def count(scope: Scope) -> Op[int]:
    """How many threads there are to look at."""
    rows = yield Step("retention_count", {"tenant": scope.tenant, "owner": scope.whose})
    number: int = rows[0][0]
    return number


def page(scope: Scope, after: str | None, limit: int) -> Op[list[str]]:
    """Ids of threads, those after `after`."""
    named = {"tenant": scope.tenant, "owner": scope.whose, "after": None if after is None else pack_name(after)}
    rows = yield Step("retention_page", {**named, "limit": limit})
    return [unpack_name(name) for (name,) in rows]


@sound
def treat(
    scope: Scope, name: str, policies: Sequence[RetentionPolicy], standing: Standing, *, act: bool
) -> Op[ThreadPlan | None]:
    """Do to a thread what the policies say, or only say it.

    Args:
        scope: tenant and user.
        name: the thread.
        policies: of these the first that the thread's tags match.
        standing: says where the thread stands.
        act: False changes nothing.

    Returns:
        What went, or would, or is held; None when there is nothing to do.
    """
    asked = {"tenant": scope.tenant, "name": pack_name(name), "owner": scope.whose}
    rows = yield Step("thread_lock" if act else "thread_find", asked)
    row = row_of_thread(scope, name, rows)
    if row is None or row.deleted_at is not None or scope.whose not in (None, row.owner):
        return None  # it went meanwhile
    found = yield from _found(row, policies)
    if found is None:
        return None
    if not found.expires:
        found.gone = yield from _without_needed(row, found.gone)
        if not found.gone:
            return None
    held = yield from _held(scope, row, standing)
    if held is not None:
        return ThreadPlan(thread_id=name, policy=found.policy.name, held=held)
    plan = yield from _plan(row, found)
    if act:
        yield from admit(scope, name, row.thread, row.owner, Right.DISPOSE)
    if act and found.expires:
        yield from upkeep.delete_thread(scope, name)
    elif act:
        yield from upkeep.drop(row, set(found.gone), touch=False)
    return plan


def _found(row: ThreadRow, policies: Sequence[RetentionPolicy]) -> Op[_Found | None]:
    tags = yield from tags_of(row)
    policy = policy_for(policies, tags)
    if policy is None:
        return None
    now = from_micros(row.now)
    if policy.expire_after is not None:
        ((updated_at,),) = yield Step("thread_used", row.key)
        idle = now - from_micros(updated_at)
        if idle > policy.expire_after:
            long = f"{idle.days} days" if idle.days > 1 else str(idle - timedelta(microseconds=idle.microseconds))
            return _Found(policy, expires=f"idle for {long}")
    facts = [
        CheckpointFact(number=ckpt, namespace=ns, branch=branch, at=from_micros(created_at), stored=bool(stored))
        for ckpt, ns, _, branch, created_at, stored in (yield Step("checkpoint_facts", row.key))
    ]
    branches = yield Step("branches_of", row.key)
    forks = [forked_at for _, _, forked_at in branches if forked_at is not None]
    gone = leaving(policy, facts, now, forks)
    if not gone:
        return None
    heads = {head for _, _, head in (yield Step("namespaces_of", row.key))}
    gone = {number: reason for number, reason in gone.items() if number not in heads}
    return _Found(policy, gone=gone) if gone else None


def _without_needed(row: ThreadRow, gone: dict[int, str]) -> Op[dict[int, str]]:
    """What goes, without what delta channels of the rest are rebuilt from."""
    table = yield from upkeep.checkpoint_table(row)
    needed = upkeep.needed_by_delta(table, set(table) - gone.keys())
    return {number: reason for number, reason in gone.items() if number not in needed}


def _held(scope: Scope, row: ThreadRow, standing: Standing) -> Op[str | None]:
    """Why a thread is left alone."""
    if row.leased:
        return f"a run holds it ({row.lease_holder})"
    open_actions = Counter(state for state, _ in (yield Step("actions_open", row.key)))
    if open_actions:
        return "actions: " + ", ".join(f"{number} {state}" for state, number in sorted(open_actions.items()))
    try:
        word = yield from standing(scope, row.name)
    except (ThreadDeleted, ThreadNotFound):
        return "it went meanwhile"
    if word not in _SETTLED:
        return f"it is {word}"
    ((writes,),) = yield Step("head_writes", row.key)  # of a graph that is not known here, these alone tell
    return "steps of its head have ended, and others have not" if writes else None


def _plan(row: ThreadRow, found: _Found) -> Op[ThreadPlan]:
    if found.expires:
        sizes = yield Step("thread_sizes", row.key)
        blobs = yield Step("blobs_alone", row.key)
        return ThreadPlan(
            thread_id=row.name,
            policy=found.policy.name,
            expires=found.expires,
            rows=sum(number for _, number, _ in sizes) + len(blobs),
            size_bytes=sum(int(size) for _, _, size in sizes) + sum(size for _, size in blobs),
        )
    facts = yield Step("checkpoint_facts", row.key)
    rows, size = yield from upkeep.freed(row, found.gone.keys())
    return ThreadPlan(
        thread_id=row.name,
        policy=found.policy.name,
        drops=tuple(
            Drop(checkpoint_id=unpack_id(bytes(id_)), created_at=from_micros(at), reason=found.gone[ckpt])
            for ckpt, _, id_, _, at, _ in facts
            if ckpt in found.gone
        ),
        rows=rows,
        size_bytes=size,
    )
