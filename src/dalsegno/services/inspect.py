"""Looking at threads, and re-reading everything to prove that it is sound.

Rules of this module:

* A check reads every row of a thread and collects all findings; it never stops at the first and never mends.
* What it proves: every place, parent, head, branch and blob that is pointed to is there; every body is JSON; every
  digest is its body's; events are numbered without gaps; counters are not behind; a run that waits for its next attempt
  or is parked says why; nothing lies around unreferenced.
* A checkpoint that is announced and not there yet (its writes came first) is no damage.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from dalsegno.contracts import Op, Rows, Step
from dalsegno.core import codec
from dalsegno.core.card.extraction import extraction_from_json
from dalsegno.core.card.findings import findings_from_json
from dalsegno.core.context.manifest import Manifest
from dalsegno.core.histories import carried_by
from dalsegno.core.items import POOL, Place, digest_of_pooled, needs_of
from dalsegno.core.journal import Kind
from dalsegno.core.rights import Right, Role
from dalsegno.core.standing import Standing
from dalsegno.errors import Damaged
from dalsegno.services.access import absent, admit
from dalsegno.services.forms import digest_of_form
from dalsegno.services.frames import from_micros, read_frame, read_state
from dalsegno.services.ids import pack_id, pack_name, unpack_id, unpack_name
from dalsegno.services.lines import mark_of
from dalsegno.services.loading import json_text
from dalsegno.services.reading import stored_writes
from dalsegno.services.sound import BROKEN
from dalsegno.services.threads_row import Scope, ThreadRow, find_thread
from dalsegno.services.upkeep import reachable

__all__ = [
    "Finding",
    "Thread",
    "Verdict",
    "any_thread",
    "check_remains",
    "check_thread",
    "get_thread",
    "list_threads",
    "thread_bytes",
]


_SHOWN = 200
"""Characters of a value that a finding shows."""

_BROKEN = (*BROKEN, Damaged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A thread as lists show it.

    Attributes:
        thread_id: its id.
        owner: the user it belongs to, if any.
        created_at, updated_at: aware UTC.
        events: number of the last event.
        checkpoints: how many are stored, over all namespaces.
        deleted: whether only the tombstone is left.
        leased_to: who runs it now, if anyone.
        tags: its tags, sorted.
        role: as whom this connection sees it: `owner`, `reader`, `writer` or `admin`.
    """

    thread_id: str
    owner: str | None
    created_at: datetime
    updated_at: datetime
    events: int
    checkpoints: int
    deleted: bool
    leased_to: str | None
    tags: tuple[str, ...] = ()
    role: Role = Role.OWNER


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that should not be.

    Attributes:
        thread_id: where; "" for what belongs to no thread.
        kind: one word: `dangling`, `digest`, `gap`, `json`, `orphan`, `counter`, `kind`, `unreadable`.
        place: what is wrong, such as `item 1:17` or `checkpoint 1ef…`.
        expected, found: what should stand there, and what does.
    """

    thread_id: str
    kind: str
    place: str
    expected: str
    found: str


@dataclass(slots=True)
class Verdict:
    """What a check of one thread read and found."""

    findings: list[Finding] = field(default_factory=list)
    checkpoints: int = 0
    items: int = 0
    events: int = 0
    writes: int = 0
    blobs: int = 0


def list_threads(
    scope: Scope,
    *,
    after: str | None = None,
    limit: int | None = None,
    deleted: bool = False,
    tag: str | None = None,
    shared: bool = False,
) -> Op[list[Thread]]:
    """Threads by id, those after `after`; only those with a tag, if one is given. `shared`: with those of others."""
    rows = yield Step(
        "threads_page",
        {
            "tenant": scope.tenant,
            "owner": scope.whose,
            "shared": shared,
            "after": None if after is None else pack_name(after),
            "limit": 2**62 if limit is None else limit,
            "deleted": deleted,
            "tag": None if tag is None else pack_name(tag),
        },
    )
    clock = yield Step("now", {})
    return [_thread(scope, columns, clock[0][0]) for _, *columns in rows]


def get_thread(scope: Scope, name: str) -> Op[Thread]:
    """One thread.

    Raises:
        ThreadNotFound: no such thread.
    """
    yield from find_thread(scope, name)
    return (yield from any_thread(scope, name))


def any_thread(scope: Scope, name: str) -> Op[Thread]:
    """One thread, or its tombstone.

    Raises:
        ThreadNotFound: there never was such a thread.
    """
    rows = yield Step("thread_one", {"tenant": scope.tenant, "name": pack_name(name), "owner": scope.whose})
    clock = yield Step("now", {})
    if not rows:
        raise absent(name)
    thread, *columns = rows[0]
    yield from admit(scope, name, thread, columns[1], Right.READ)
    return _thread(scope, columns, clock[0][0])


def thread_bytes(scope: Scope, name: str) -> Op[int]:
    """Bytes of a thread's bodies: items, states, frames and writes; rows' and indexes' own bytes are not in it."""
    row = yield from find_thread(scope, name)
    rows = yield Step("thread_bytes", row.key)
    return int(rows[0][0])


def _thread(scope: Scope, columns: Sequence[Any], now: int) -> Thread:
    name, owner, created_at, updated_at, deleted_at, events, holder, until, checkpoints, tags, share = columns
    return Thread(
        thread_id=unpack_name(name),
        owner=owner,
        created_at=from_micros(created_at),
        updated_at=from_micros(updated_at),
        events=events,
        checkpoints=checkpoints,
        deleted=deleted_at is not None,
        leased_to=holder if until is not None and until > now else None,
        tags=tuple(sorted(map(unpack_name, orjson.loads(tags)))),
        role=scope.role(owner, share),
    )


def check_thread(scope: Scope, name: str) -> Op[Verdict]:
    """Re-read a thread; see the module's rules.

    Raises:
        ThreadNotFound: no such thread.
    """
    row = yield from find_thread(scope, name)
    check = _Check(row)
    stored = (check.items, check.checkpoints, check.writes, check.events, check.cards, check.blobs, check.run)
    parts = (*stored, check.manifests, check.spending, check.orphans)
    for part in parts:
        try:
            yield from part()
        except _BROKEN as error:  # a column of another type: SQLite takes any
            check.find("json", part.__name__, "rows as dalsegno writes them", f"{type(error).__name__}: {error}")
    return check.verdict


def check_remains(scope: Scope) -> Op[list[Finding]]:
    """What deleted threads left behind, and very long texts that no thread needs any more; neither should be there."""
    rows = yield Step("leftovers", {"tenant": scope.tenant, "owner": scope.whose})
    findings = [
        Finding(
            thread_id=unpack_name(name), kind="orphan", place="a deleted thread", expected="nothing", found=f"{n} rows"
        )
        for name, n in rows
    ]
    if scope.whose is None:
        for (digest,) in (yield Step("blobs_unused", {"tenant": scope.tenant})):
            place, needed = f"blob {bytes(digest).hex()}", "a thread that needs it"
            findings.append(Finding(thread_id="", kind="orphan", place=place, expected=needed, found="none"))
    return findings


def _counts(kind: int, tree: Any) -> int:
    """What an event adds to the items that stand in a thread's history."""
    carried = carried_by(tree)
    if carried is None or not carried.begins:
        return 0
    return -1 if kind == Kind.DELETE.code else 1


class _Check:
    def __init__(self, row: ThreadRow) -> None:
        self.row = row
        self.verdict = Verdict()
        self.trees: dict[Place, Any] = {}
        self.refs: set[bytes] = set()
        self.numbers: dict[int, Any] = {}
        self.forms: dict[int, str] = {}
        self.numbered: set[int] = set()
        self.branches: set[int] = {0}
        self.pointed: list[tuple[str, Place]] = []
        self.blobs_wanted: set[bytes] = set()

    def find(self, kind: str, place: str, expected: object, found: object) -> None:
        self.verdict.findings.append(
            Finding(
                thread_id=self.row.name, kind=kind, place=place, expected=str(expected)[:200], found=str(found)[:200]
            )
        )

    def items(self) -> Op[None]:
        tails: Counter[int] = Counter()
        for lane, pos, digest, body in (yield Step("items_all", self.row.key)):
            self.verdict.items += 1
            tails[lane] = max(tails[lane], pos)
            place = f"item {lane}:{pos}"
            try:
                tree = self.trees[lane, pos] = orjson.loads(body)
            except orjson.JSONDecodeError as error:
                self.trees[lane, pos] = None
                self.find("json", place, "JSON", error)
                continue
            if digest is not None and digest_of_pooled(tree) != bytes(digest):
                self.find("digest", place, bytes(digest).hex(), digest_of_pooled(tree).hex())
        if tails[POOL] > self.row.pool:
            self.find("counter", "pool", f"at least {tails[POOL]}", self.row.pool)
        if tails and max(tails) > self.row.lanes:
            self.find("counter", "lanes", f"at least {max(tails)}", self.row.lanes)
        for (lane, pos), tree in self.trees.items():
            self._point(f"item {lane}:{pos}", tree)

    def _point(self, place: str, tree: Any) -> None:
        ranges: list[list[int]] = []
        try:
            needs_of(tree, ranges, self.blobs_wanted)
        except (Damaged, RecursionError) as error:
            self.find("json", place, "pointers", error)
        for lane, first, last in ranges:
            missing = next((pos for pos in range(first, last + 1) if (lane, pos) not in self.trees), None)
            if missing is not None:
                self.find("dangling", place, f"items {lane}:{first}-{last}", f"no item {lane}:{missing}")

    def checkpoints(self) -> Op[None]:
        rows = yield Step("checkpoints_all", self.row.key)
        self._branches((yield Step("branches_of", self.row.key)))
        self.numbers = {columns[0]: columns for columns in rows}
        for number, body, digest in (yield Step("forms_of", self.row.key)):
            self.forms[number] = body
            real = digest_of_form(body.encode())
            if real != bytes(digest):
                self.find("digest", f"form {number}", bytes(digest).hex(), real.hex())
        stored = [columns for columns in rows if columns[9] is not None]
        for columns in stored:
            self.verdict.checkpoints += 1
            self._checkpoint(columns)
        namespaces = yield Step("namespaces_of", self.row.key)
        for columns in rows:
            if columns[1] not in {ns for ns, _, _ in namespaces}:
                self.find("dangling", f"checkpoint number {columns[0]}", f"namespace {columns[1]}", "nothing")
        for ns, name, head in namespaces:
            newest = max((columns[0] for columns in stored if columns[1] == ns), default=None)
            if head != newest:
                self.find("dangling", f"head of namespace {unpack_name(name)!r}", newest, head)

    def _branches(self, branches: Rows) -> None:
        self.branches = {number for number, _, _ in branches} | {0}
        for number, parent, forked_at in branches:
            if parent is not None and not (parent in self.branches and parent < number):
                self.find("dangling", f"branch {number}", f"an earlier branch than {parent}", "nothing")
            if forked_at is not None and not 0 < forked_at <= self.row.checkpoints:
                self.find("dangling", f"branch {number}", f"a number up to {self.row.checkpoints}", forked_at)

    def _checkpoint(self, columns: tuple[Any, ...]) -> None:
        ckpt, _ns, id_, parent, branch, meta, shape, graph, frame, state, *_ = columns
        place = f"checkpoint {unpack_id(bytes(id_))}"
        if parent is not None and (parent not in self.numbers or self.numbers[parent][9] is None):
            self.find("dangling", place, f"parent {parent}", "nothing")
        if branch not in self.branches:
            self.find("dangling", place, f"branch {branch}", "nothing")
        if meta is not None and (POOL, meta) not in self.trees:
            self.find("dangling", place, f"metadata at item 0:{meta}", "nothing")
        for what, number in (("shape", shape), ("graph", graph)):
            if number is not None and number not in self.forms:
                self.find("dangling", place, f"{what} of form {number}", "nothing")
        try:
            for node in read_state(state, self.forms.get(shape, "null")).values():
                self._point(place, node)
            whole = read_frame(frame, self.forms.get(shape, "null"), packed_id=unpack_id(bytes(id_)), created_at=0)
            if pack_id(whole["id"]) != bytes(id_):
                self.find("digest", place, f"id {pack_id(whole['id']).hex()}", bytes(id_).hex())
        except _BROKEN as error:
            self.find("json", place, "a frame and a state", f"{type(error).__name__}: {error}")
        if ckpt > self.row.checkpoints:
            self.find("counter", "checkpoints", f"at least {ckpt}", self.row.checkpoints)

    def writes(self) -> Op[None]:
        for ckpt, task, path, body in (yield Step("writes_all", self.row.key)):
            self.verdict.writes += 1
            place = f"writes of task {unpack_id(bytes(task))}"
            if ckpt not in self.numbers:
                self.find("dangling", place, f"checkpoint number {ckpt}", "nothing")
            try:
                for write in stored_writes(bytes(task), path, body):
                    self._point(place, write.tree)
                    if pack_id(write.task) != bytes(task):
                        self.find("digest", place, f"task {pack_id(write.task).hex()}", bytes(task).hex())
            except _BROKEN as error:
                self.find("json", place, "pending writes", error)

    def events(self) -> Op[None]:
        expected = self.row.wiped + 1
        standing = 0
        for seq, kind, _author, _at, branch, ckpt, mark, lane, pos, _terms in (yield Step("events_all", self.row.key)):
            self.verdict.events += 1
            self.numbered.add(seq)
            place = f"event #{seq}"
            if seq != expected:
                self.find("gap", place, f"#{expected}", f"#{seq}")
            expected = seq + 1
            try:
                Kind.of_code(kind)
            except Damaged:
                self.find("kind", place, "a known kind", kind)
            self._when(place, branch, ckpt)
            if (lane, pos) not in self.trees:
                self.find("dangling", place, f"item {lane}:{pos}", "nothing")
                continue
            tree = self.trees[lane, pos]
            standing += _counts(kind, tree)
            if mark is None:
                continue
            id_ = codec.decode(tree.get("id")) if isinstance(tree, dict) else None
            told = mark_of(id_) if isinstance(id_, str) else None
            if told != mark:
                self.find("digest", place, f"mark {told}", mark)
        if expected - 1 != self.row.events:
            self.find("gap", "events", f"{self.row.events} events", f"{expected - 1}")
        for _, counted in (yield Step("history_find", self.row.key)):
            if counted != standing:
                self.find("counter", "history", f"{standing} items", counted)

    def cards(self) -> Op[None]:
        for branch, cursor, _version, _forgotten, _at, body in (yield Step("cards_all", self.row.key)):
            place = f"card of branch {branch}"
            if branch not in self.branches:
                self.find("dangling", place, f"branch {branch}", "nothing")
            if cursor > self.row.events:
                self.find("counter", place, f"a cursor up to {self.row.events}", cursor)
            try:
                tree = orjson.loads(body)
                findings = findings_from_json(tree["findings"])
                extraction = extraction_from_json(tree.get("extraction"))
            except _BROKEN as error:
                self.find("json", place, "findings", f"{type(error).__name__}: {error}")
                continue
            if extraction is not None and extraction.cursor > self.row.events:
                self.find("counter", place, f"a model's cursor up to {self.row.events}", extraction.cursor)
            named = {one.number for one in findings} | {number for one in findings for number, _ in one.backing}
            lacking = sorted(named - self.numbered)
            if lacking:
                self.find("dangling", place, "evidence that is there", f"no event #{lacking[0]}")

    def _when(self, place: str, branch: int, ckpt: int | None) -> None:
        """An event is of its checkpoint's branch, if that is there still."""
        if branch not in self.branches:
            self.find("dangling", place, f"branch {branch}", "nothing")
        elif ckpt in self.numbers and self.numbers[ckpt][4] != branch:
            self.find("dangling", place, f"branch {self.numbers[ckpt][4]}, that of checkpoint number {ckpt}", branch)
        if ckpt is not None and not 0 < ckpt <= self.row.checkpoints:
            self.find("dangling", place, f"a checkpoint's number, up to {self.row.checkpoints}", ckpt)

    def blobs(self) -> Op[None]:
        there = set()
        for digest, exists in (yield Step("blob_refs_of", self.row.key)):
            self.verdict.blobs += 1
            there.add(bytes(digest))
            named = {"tenant": self.row.tenant, "digests": json_text([bytes(digest).hex()])}
            rows = (yield Step("blobs_in", named)) if exists else []
            if not rows:
                self.find("dangling", f"blob {bytes(digest).hex()}", "its text", "nothing")
            elif hashlib.sha256(rows[0][1].encode()).digest() != bytes(digest):
                self.find("digest", f"blob {bytes(digest).hex()}", "the digest of its text", "another")
        self.refs = there
        for digest in self.blobs_wanted - there:
            self.find("dangling", f"blob {digest.hex()}", "a reference of this thread", "nothing")

    def manifests(self) -> Op[None]:
        expected = 1
        for number, _at, _step, _checkpoint, _ns, _task, _node, body in (
            yield Step("manifests_page", {**self.row.key, "after": 0, "limit": 2**62})
        ):
            place = f"manifest {number}"
            if number != expected:
                self.find("gap", place, f"manifest {expected}", place)
            expected = number + 1
            try:
                Manifest.from_json(orjson.loads(body))
            except _BROKEN as error:
                self.find("json", place, "what a call was given", error)

    def spending(self) -> Op[None]:
        total, runs = [0] * 6, [0] * 6
        for run, _at, *amounts in (yield Step("spending_all", self.row.key)):
            if run:
                runs = [one + other for one, other in zip(runs, amounts, strict=True)]
            else:
                total = amounts
        if any(one > whole for one, whole in zip(runs, total, strict=True)):
            self.find("counter", "spending", f"at least {runs}, which its runs spent", total)

    def run(self) -> Op[None]:
        rows = yield Step("run_find", self.row.key)
        stands = self.row.stands
        if stands not in {*Standing}:
            self.find("kind", "run", "a known standing", stands)
        elif stands == Standing.ANSWERED and not rows:
            self.find("dangling", "run", "what was answered, since it is answered", "nothing")
        elif stands in (Standing.RETRY, Standing.PARKED) and not rows:
            self.find("dangling", "run", f"how it failed, since it is {Standing(stands).name.lower()}", "nothing")
        elif stands in (Standing.RETRY, Standing.ANSWERED) and rows[0][-1] is None:
            self.find("dangling", "run", "when the next attempt is due", "nothing")

    def orphans(self) -> Op[None]:
        try:
            live, blobs = yield from reachable(self.row)
        except _BROKEN:
            return  # what cannot be followed has been found by now; what nothing points to cannot be told
        for lane, pos in sorted(self.trees.keys() - live):
            if lane != POOL and self.trees[lane, pos] is None:
                continue  # blanked by a sweep to keep its lane's end; the next sweep takes it if the lane has grown
            self.find("orphan", f"item {lane}:{pos}", "something that points to it", "nothing")
        for digest in self.refs - blobs:
            self.find("orphan", f"blob {digest.hex()}", "something that points to it", "nothing")
