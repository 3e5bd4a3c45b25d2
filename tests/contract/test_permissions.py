"""Every public operation asks who calls: to a stranger and to another tenant a thread does not exist, a reader only reads, a
writer does not dispose of it, and what an admin does is on record. An operation that is not in the table makes this red."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import inspect
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

import dalsegno
from dalsegno.connect import open_store
from dalsegno.contracts import Step
from dalsegno.core.journal import Event, Kind
from dalsegno.core.rights import Right
from dalsegno.errors import ActionNotFound, DalsegnoError, MemoryNotFound, NotPermitted, ThreadNotFound
from dalsegno.faces.face import Face
from dalsegno.faces.histories import Share
from dalsegno.langgraph.requests import Recorded
from dalsegno.services.manifests import Call
from dalsegno.services.spending import Account
from dalsegno.testing import connect_over, snapshot

READ, WRITE, DISPOSE = Right.READ, Right.WRITE, Right.DISPOSE
SERVICES = (
    "checkpointer", "journal", "threads", "runs", "actions", "summaries", "handover", "histories", "store", "memory", "cache",
    "context",
    "budgets", "retention", "erasure",
)  # fmt: skip
FOREIGN = (ThreadNotFound, ActionNotFound, MemoryNotFound)
LONG = "I will book the hall by Friday. " + "x" * 40_000
TEXT = hashlib.sha256(LONG.encode()).hexdigest()
KEEP = dalsegno.RetentionPolicy(name="all", expire_after=timedelta(microseconds=1))


@dataclass(frozen=True)
class T:
    """A thread, or what a caller would know of one that never was."""

    id: str
    ckpt: str = "1ef00000-0000-6000-8000-000000000000"
    action: str = "f" * 64
    memory: str = "m-none"

    @property
    def config(self) -> Any:
        return {"configurable": {"thread_id": self.id, "checkpoint_ns": ""}}

    @property
    def run(self) -> str:
        return f"run of {self.id}"


@dataclass(frozen=True)
class Entry:
    """An operation in the table.

    Attributes:
        right: what it needs; None where it is about no thread, and must show a stranger nothing.
        arguments: positional and named ones for a thread.
        call: instead, what is done with a connection.
        creates: whether it makes a thread that is not there, so that a stranger may.
    """

    right: Right | None
    arguments: Callable[[T], tuple[Any, ...]] = lambda t: (t.id,)
    named: Callable[[T], dict[str, Any]] = lambda t: {}
    call: Callable[[Any, T], Any] | None = None
    creates: bool = False


def graph_of(ds: Any) -> Any:
    def model(state: Any) -> Any:
        return {"messages": [AIMessage(LONG)]}

    def ask(state: Any) -> Any:
        return {"messages": [AIMessage(interrupt("go on?"))]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model).add_node("ask", ask)
    builder.add_edge(START, "model").add_edge("model", "ask")
    return builder.compile(checkpointer=ds.checkpointer)


def asked(ds: Any, t: T) -> Any:
    """An action that waits for an approval."""
    policy = dalsegno.ActionPolicy(kind="update", approve=True)
    with ds.actions.perform("refund", {"order": "A-1"}, policy=policy, thread_id=t.id, step="s"):
        pass


def within(ds: Any, t: T) -> Any:
    @ds.action(kind="create")
    def make(text: str) -> str:
        return "made"

    with ds.actions.within(t.id, step="w"):
        return make("it")


def lease(ds: Any, t: T) -> None:
    with ds.runs.lease(t.id):
        pass


def history(t: T) -> Callable[[], Any]:
    return lambda: iter(
        [Recorded(config=t.config, checkpoint=empty_checkpoint(), metadata={"step": -1}, new_versions={})]
    )


def kept(ds: Any, t: T) -> None:
    compacted = dalsegno.compact(
        [{"role": role, "content": "Book the hall for 40 people, order A-17. " * 40} for role in ("user", "assistant")]
        * 4,
        dalsegno.CompactionPolicy(max_messages=2, keep_recent=1),
    )
    assert compacted.settled is not None
    ds.summaries.keep(t.id, compacted.settled)


MANIFEST = dalsegno.Context([dalsegno.Section(name="s", text="shown")], 100).request().manifest

EVENT = Event(seq=1, author="user", kind=Kind.MESSAGE, text="hello", payload=None, at=datetime.now(UTC))
SHARE = Share(message=AIMessage("hello"), value={"text": "hello"})

TABLE: dict[str, Entry] = {
    "checkpointer.copy_thread": Entry(READ, lambda t: (t.id, f"copy of {t.id} {uuid.uuid4()}")),
    "checkpointer.delete_for_runs": Entry(DISPOSE, lambda t: ([t.run],)),
    "checkpointer.delete_thread": Entry(DISPOSE),
    "checkpointer.get": Entry(READ, lambda t: (t.config,)),
    "checkpointer.get_delta_channel_history": Entry(
        READ, lambda t: (), lambda t: {"config": t.config, "channels": ["messages"]}
    ),
    "checkpointer.get_tuple": Entry(READ, lambda t: (t.config,)),
    "checkpointer.list": Entry(READ, lambda t: (t.config,)),
    "checkpointer.prune": Entry(DISPOSE, lambda t: ([t.id],)),
    "checkpointer.put": Entry(WRITE, lambda t: (t.config, empty_checkpoint(), {"step": 1}, {}), creates=True),
    "checkpointer.put_history": Entry(WRITE, lambda t: (history(t),), creates=True),
    "checkpointer.put_writes": Entry(
        WRITE,
        lambda t: (
            {"configurable": {**t.config["configurable"], "checkpoint_id": t.ckpt}},
            [("x", 1)],
            str(uuid.uuid4()),
        ),
        creates=True,
    ),
    "checkpointer.referring": Entry(
        READ, call=lambda ds, t: ds.store_backend.run(ds.checkpointer.referring(t.config), write=False)
    ),
    "checkpointer.waiting": Entry(READ, lambda t: (t.config,)),
    "histories.add": Entry(WRITE, lambda t: (t.id, "test", [[SHARE]]), creates=True),
    "histories.clear": Entry(WRITE, lambda t: (t.id, "test")),
    "histories.items": Entry(READ, lambda t: (t.id, "test")),
    "histories.messages": Entry(READ),
    "histories.pop": Entry(WRITE, lambda t: (t.id, "test")),
    "histories.save": Entry(WRITE, lambda t: (t.id, "test", [[SHARE]]), creates=True),
    "journal.append": Entry(WRITE, lambda t: (t.id, "note", "me", "hello"), creates=True),
    "journal.quoted": Entry(READ, lambda t: (t.id, [EVENT])),
    "journal.read": Entry(READ),
    "journal.search": Entry(READ, lambda t: (t.id, "hall")),
    "threads.blob": Entry(READ, lambda t: (t.id, f"blob://{TEXT}")),
    "threads.bytes": Entry(READ),
    "threads.check": Entry(READ),
    "threads.checkpoints": Entry(READ),
    "threads.copy": Entry(READ, lambda t: (t.id, f"copy of {t.id} {uuid.uuid4()}")),
    "threads.delete": Entry(DISPOSE),
    "threads.doctor": Entry(READ),
    "threads.get": Entry(READ),
    "threads.list": Entry(None, lambda t: ()),
    "threads.prune": Entry(DISPOSE),
    "threads.reopen": Entry(DISPOSE),
    "threads.share": Entry(DISPOSE, lambda t: (t.id, "eve", "writer")),
    "threads.shares": Entry(DISPOSE),
    "threads.state": Entry(READ),
    "threads.status": Entry(READ),
    "threads.tag": Entry(DISPOSE, lambda t: (t.id, "red")),
    "threads.tree": Entry(READ),
    "threads.unshare": Entry(DISPOSE, lambda t: (t.id, "eve")),
    "threads.untag": Entry(DISPOSE, lambda t: (t.id, "red")),
    "runs.get": Entry(READ),
    "runs.lease": Entry(WRITE, call=lease, creates=True),
    "runs.list": Entry(None, lambda t: ()),
    "runs.unpark": Entry(WRITE),
    "actions.action": Entry(WRITE, call=within, creates=True),
    "actions.approve": Entry(WRITE, lambda t: (t.action,)),
    "actions.get": Entry(READ, lambda t: (t.action,)),
    "actions.list": Entry(READ),
    "actions.perform": Entry(WRITE, call=asked, creates=True),
    "actions.reconcile": Entry(READ, lambda t: (t.action,)),  # and no more: no reconciler is known here
    "actions.resolve": Entry(WRITE, lambda t: (t.action, "reject"), lambda t: {"by": "me"}),
    "actions.within": Entry(WRITE, call=within, creates=True),
    "summaries.keep": Entry(WRITE, call=kept),
    "summaries.of": Entry(READ),
    "handover.card": Entry(READ),
    "handover.decide": Entry(WRITE, lambda t: (t.id, "we go with B")),
    "handover.done": Entry(WRITE, lambda t: (t.id, 1)),
    "handover.instructions": Entry(READ),
    "handover.pack": Entry(READ),
    "handover.quotes": Entry(READ, lambda t: (t.id, [1])),
    "handover.refresh": Entry(WRITE),
    "handover.todo": Entry(WRITE, lambda t: (t.id, "book a hall")),
    "handover.tools": Entry(
        READ,
        call=lambda ds, t: [
            tool.invoke(given)
            for tool, given in zip(ds.handover.tools(t.id), ({"text": "hall"}, {"first": 1}), strict=True)
        ],
    ),
    "store.get": Entry(None, lambda t: (("notes",), "k")),
    "store.list_namespaces": Entry(None, lambda t: ()),
    "store.search": Entry(None, lambda t: (("notes",),)),
    "memory.extract_memories": Entry(DISPOSE),
    "memory.forget_thread": Entry(DISPOSE),
    "memory.get": Entry(None, lambda t: (t.memory,)),
    "memory.history": Entry(None, lambda t: ("Ana",)),
    "memory.list": Entry(None, lambda t: ()),
    "memory.recall": Entry(None, lambda t: ("allergic",)),
    "memory.forget": Entry(None, lambda t: (t.memory,)),
    "memory.remember": Entry(
        DISPOSE, lambda t: ("Ana", "allergy", "peanuts"), lambda t: {"thread_id": t.id, "evidence": [1]}
    ),
    "context.manifests": Entry(READ),
    "context.record": Entry(WRITE, lambda t: (t.id, Call(node="n"), MANIFEST), creates=True),
    "budgets.reserve": Entry(WRITE, lambda t: (Account(thread=t.id), dalsegno.Spent(calls=1)), creates=True),
    "budgets.runs": Entry(READ),
    "budgets.settle": Entry(WRITE, lambda t: (Account(thread=t.id), dalsegno.Spent(calls=1)), creates=True),
    "budgets.spent": Entry(READ),
    "retention.plan": Entry(None, lambda t: (KEEP,)),
    "retention.run": Entry(None, lambda t: (KEEP,)),
    "erasure.thread": Entry(DISPOSE, lambda t: (t.id,), lambda t: {"force": True, "rewrite": False}),
    "erasure.user": Entry(None, lambda t: (), lambda t: {"rewrite": False}),
    "dalsegno.resume": Entry(WRITE, call=lambda ds, t: dalsegno.resume(graph_of(ds), t.id, "yes")),
    "dalsegno.fork": Entry(WRITE, call=lambda ds, t: dalsegno.fork(graph_of(ds), t.id, t.ckpt)),
    "ds.doctor": Entry(READ, call=lambda ds, t: ds.doctor(t.id)),
}

ELSEWHERE = {
    "actions.actor": "the decorator's own hands; within and perform are in the table",
    "actions.know": "process memory",
    "actions.verify": "the whole tenant's numbers and hashes, no text",
    "budgets.tenant": "the whole tenant's total",
    "cache.calibrate": "the caller's own answers and those for all; see test_cache",
    "cache.calibrations": "the caller's own answers and those for all; see test_cache",
    "cache.find": "the caller's own answers and those for all; see test_cache",
    "cache.invalidate": "the caller's own answers and those for all; see test_cache",
    "cache.list": "the caller's own answers and those for all; see test_cache",
    "cache.lookup": "the caller's own answers and those for all; see test_cache",
    "cache.reindex": "the caller's own answers and those for all; see test_cache",
    "cache.remove": "the caller's own answers and those for all; see test_cache",
    "cache.stats": "the caller's own answers and those for all; see test_cache",
    "cache.store": "the caller's own answers and those for all; see test_cache",
    "cache.sweep": "the caller's own answers and those for all; see test_cache",
    "checkpointer.config_specs": "LangGraph's, empty",
    "checkpointer.forget": "process memory",
    "checkpointer.get_next_version": "arithmetic",
    "checkpointer.schema": "the program's own",
    "checkpointer.serde": "LangGraph's, unused",
    "checkpointer.shares": "whether two savers keep the same threads",
    "checkpointer.told": "the database's name",
    "checkpointer.with_allowlist": "process memory",
    "erasure.rewrite": "the database's files; of threads only numbers are read",
    "memory.forget_user": "refuses another user's name",
    "store.batch": "get, search and list_namespaces are made of it",
    "store.delete": "the caller's own items",
    "store.put": "the caller's own items",
    "store.ranking": "the program's own",
    "store.reindex": "refused for a user",
    "store.supports_ttl": "LangGraph's",
    "store.sweep_ttl": "what has expired, whoever owns it, and nothing is told of it but how many",
    "store.ttl_config": "LangGraph's",
    "dalsegno.call": "declares; the services it uses are in the table",
    "dalsegno.check_graph": "a graph in hand",
    "dalsegno.compact": "messages in hand",
    "dalsegno.compaction_node": "declares",
    "dalsegno.compile": "declares",
    "dalsegno.connect": "says who asks",
    "dalsegno.from_documents": "declares",
    "dalsegno.from_function": "declares",
    "dalsegno.from_handover": "declares; it reads ds.handover",
    "dalsegno.from_messages": "declares",
    "dalsegno.from_state": "declares",
    "dalsegno.register": "process memory",
    "dalsegno.register_module": "process memory",
    "dalsegno.register_types": "process memory",
    "dalsegno.render_summary": "a summary in hand",
    "ds.close": "connection",
    "ds.scope": "who asks",
}
"""Public names that are about no thread, and why they need not be in the table."""


# --- the world ----------------------------------------------------------------------------------------


class Traced:
    """A store that notes the names of the statements."""

    def __init__(self) -> None:
        self.store = open_store("memory://")
        self.url = self.store.url
        self.trail: list[str] = []

    def _noted(self, factory: Any) -> Any:
        op = factory()
        rows = None
        try:
            while True:
                step = next(op) if rows is None else op.send(rows)
                self.trail += [each.name for each in ((step,) if isinstance(step, Step) else step)]
                rows = yield step
        except StopIteration as end:
            return end.value

    def run(self, factory: Any, *, write: bool, key: Any = None) -> Any:
        return self.store.run(lambda: self._noted(factory), write=write, key=key)

    async def arun(self, factory: Any, *, write: bool, key: Any = None) -> Any:
        return await self.store.arun(lambda: self._noted(factory), write=write, key=key)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


@dataclass
class World:
    store: Traced = field(default_factory=Traced)
    who: dict[str, Any] = field(default_factory=dict)

    def as_(self, name: str) -> Any:
        if name not in self.who:
            tenant = name if name.startswith("rival") else "default"
            user = "ana" if name == "owner" or name.startswith("rival") else name
            role = "admin" if name == "root" else "user"
            self.who[name] = connect_over(self.store, tenant=tenant, user=user, role=role)
        return self.who[name]

    def thread(self, name: str) -> T:
        """A thread of the owner with something in each table."""
        ds = self.as_("owner")
        t = T(name)
        graph_of(ds).invoke(
            {"messages": [("user", "I am allergic to peanuts. Book a hall.")]},
            {**t.config, "metadata": {"run_id": t.run}},
        )
        with contextlib.suppress(dalsegno.errors.ApprovalRequired):
            asked(ds, t)
        ds.context.record(t.id, Call(node="n"), MANIFEST)
        ds.budgets.settle(Account(thread=t.id, run="r"), dalsegno.Spent(calls=1))
        memory = ds.memory.remember("Ana", "allergy", "peanuts", thread_id=t.id, evidence=[1])
        ds.store.put(("notes",), "k", {"a": 1})
        (action,) = ds.actions.list(t.id)
        return T(t.id, ckpt=ds.threads.checkpoints(t.id)[0].checkpoint_id, action=action.action_id, memory=memory.id)


@pytest.fixture(scope="module")
def world():
    world = World()
    world.foreign = world.thread("secret")
    world.shared = world.thread("shared")
    owner = world.as_("owner")
    owner.threads.share("shared", "reader", "reader")
    owner.threads.share("shared", "writer", "writer")
    return world


def outcome(ds: Any, name: str, t: T, *, twin: bool = False) -> Any:
    """What an operation came to: its value, or the error."""
    entry = TABLE[name]
    try:
        if entry.call is not None:
            return entry.call(ds, t)
        service, method = name.split(".")
        there = getattr(ds, service)
        given, named = entry.arguments(t), entry.named(t)
        if not twin:
            found = getattr(there, method)(*given, **named)
            return list(found) if inspect.isgenerator(found) else found
        return asyncio.run(_awaited(getattr(there, f"a{method}")(*given, **named)))
    except DalsegnoError as error:
        return error


async def _awaited(found: Any) -> Any:
    return [each async for each in found] if inspect.isasyncgen(found) else await found


def told(found: Any, t: T) -> Any:
    """An outcome as a stranger sees it, with what he himself said of the thread taken out."""
    if isinstance(found, Exception):
        text = str(found).replace(t.id, "…").replace(t.action, "…").replace(t.action[:12], "…").replace(t.memory, "…")
        return type(found), text.replace(t.ckpt, "…")
    return getattr(found, "threads", found)


def has_twin(ds: Any, name: str) -> bool:
    service, method = name.split(".")
    return TABLE[name].call is None and hasattr(getattr(ds, service), f"a{method}")


# --- the tests ----------------------------------------------------------------------------------------


def test_no_public_operation_is_missing_from_the_table(world):
    ds = world.as_("owner")
    faces = {name for name, held in vars(ds).items() if isinstance(held, Face)} | {"checkpointer", "store"}
    assert faces == set(SERVICES)
    public = {f"dalsegno.{name}" for name in dalsegno.__all__ if inspect.isfunction(getattr(dalsegno, name))}
    public |= {f"ds.{name}" for name in dir(ds) if not name.startswith("_") and callable(getattr(ds, name))}
    for service in SERVICES:
        names = {name for name in dir(getattr(ds, service)) if not name.startswith("_")}
        public |= {f"{service}.{name}" for name in names}
        public.discard(f"ds.{service}")
    twins = {name for name in public if name.split(".")[1][0] == "a" and name.replace(".a", ".", 1) in public} - {
        "checkpointer.awaiting"
    }
    twins.add("checkpointer.awaiting")
    public -= twins
    public -= {f"ds.{service}" for service in vars(ds) if not callable(getattr(type(ds), service, None))} - {"ds.scope"}
    assert public == TABLE.keys() | ELSEWHERE.keys(), public ^ (TABLE.keys() | ELSEWHERE.keys())
    assert not TABLE.keys() & ELSEWHERE.keys()


ALSO = {"dalsegno.fork": (dalsegno.errors.CheckpointNotFound,)}
"""What an operation says of a thread that never was, where it asks for something in it."""
EMPTY = (None, [], (), 0, False, "", {"messages": {"writes": []}})


@pytest.mark.parametrize("who", ["stranger", "rival"])
@pytest.mark.parametrize("name", sorted(TABLE))
def test_to_a_stranger_a_thread_is_one_that_never_was(world, name, who):
    entry, store = TABLE[name], world.store
    ds = world.as_(who if who == "stranger" else f"rival in {name}")  # whatever he makes is in a tenant of its own
    before = snapshot(world.as_("owner"), "secret")
    for twin in (False, True) if has_twin(ds, name) else (False,):
        store.trail.clear()
        foreign = outcome(ds, name, world.foreign, twin=twin)
        trail = list(store.trail)
        if not entry.creates:
            never = T(f"never {who} {name}")
            store.trail.clear()
            missing = outcome(ds, name, never, twin=twin)
            assert told(foreign, world.foreign) == told(missing, never)
            assert trail == store.trail
        elif who == "stranger":
            assert isinstance(foreign, ThreadNotFound)
            assert told(foreign, world.foreign)[1] == told(outcome(ds, "threads.get", T("never")), T("never"))[1]
        if entry.creates and who == "rival":
            continue
        if isinstance(foreign, Exception):
            assert isinstance(foreign, (*FOREIGN, *ALSO.get(name, ()))), foreign
        else:
            assert told(foreign, world.foreign) in EMPTY
    assert snapshot(world.as_("owner"), "secret") == before


@pytest.mark.parametrize("name", sorted(name for name in TABLE if TABLE[name].right is not None))
def test_a_reader_only_reads(world, name):
    ds = world.as_("reader")
    before = snapshot(world.as_("owner"), "shared")
    for twin in (False, True) if has_twin(ds, name) else (False,):
        found = outcome(ds, name, world.shared, twin=twin)
        if TABLE[name].right is READ:
            assert not isinstance(found, (NotPermitted, *FOREIGN)), found
        else:
            assert isinstance(found, NotPermitted), found
            assert "as reader" in str(found)
            assert found.role == "reader"
    assert snapshot(world.as_("owner"), "shared") == before


@pytest.mark.parametrize("name", sorted(name for name in TABLE if TABLE[name].right is not None))
def test_a_writer_writes_and_disposes_of_nothing(world, name):
    right, ds = TABLE[name].right, world.as_("writer")
    if right is DISPOSE:
        before = snapshot(world.as_("owner"), "shared")
        found = outcome(ds, name, world.shared)
        assert isinstance(found, NotPermitted), found
        assert "as writer" in str(found)
        assert snapshot(world.as_("owner"), "shared") == before
    elif right is WRITE:
        t = world.thread(f"written {name}")
        world.as_("owner").threads.share(t.id, "writer", "writer")
        assert not isinstance(outcome(ds, name, t), (NotPermitted, *FOREIGN))


UNDONE = {
    "checkpointer.put_history": dalsegno.errors.ThreadExists,
    "runs.unpark": dalsegno.errors.Refused,
    **{f"histories.{each}": dalsegno.errors.OtherKeeper for each in ("add", "clear", "items", "pop", "save")},
}
"""What comes to nothing on a sound thread, and is undone with its record."""


@pytest.mark.parametrize("who", ["owner", "root"])
@pytest.mark.parametrize("name", sorted(name for name in TABLE if TABLE[name].right is not None))
def test_an_owner_and_an_admin_may_do_anything_and_the_admin_is_on_record(world, name, who):
    ds = world.as_(who)
    t = world.foreign if TABLE[name].right is READ else world.thread(f"{who} {name}")
    number = world.store.run(lambda: _number(ds, t), write=False)
    before = acts(world, number)
    found = outcome(ds, name, t)
    assert not isinstance(found, (NotPermitted, *FOREIGN)), found
    new = acts(world, number)[len(before) :]
    service = name.split(".")[0]
    if who == "owner":
        assert not any(act.get("move") == "admin" for act in new)
    elif name in UNDONE:
        assert isinstance(found, UNDONE[name])
    elif name == "erasure.thread":
        assert [(act["move"], act["by"]) for act in new if act] == [("erase", "root")]
    else:
        recorded = [act for act in new if act["move"] == "admin"]
        assert recorded, new
        assert {act["by"] for act in recorded} == {"root"}
        assert {act["act"].split(".")[0] for act in recorded} <= {service, "checkpointer", "journal", "threads"}
        assert len({act["call"] for act in recorded}) == len(recorded)


def _number(ds: Any, t: T) -> Any:
    rows = yield Step("thread_find", {"tenant": ds.scope().tenant, "name": t.id, "owner": None})
    return rows[0][0]


def acts(world: Any, number: int) -> list[dict[str, Any]]:
    tenant = world.as_("owner").scope().tenant

    def op() -> Any:
        return (yield Step("audit_all", {"tenant": tenant, "thread": number}))

    return [{} if body is None else orjson.loads(body) for _, body in world.store.store.run(op, write=False)]


def test_what_came_of_it_all_is_sound(world):
    owner = world.as_("owner")
    assert owner.threads.check().clean
    assert owner.actions.verify().sound
