"""A share opens one thread to one user for as long as it is there; admins are on record; two threads about the same subject
never mix, whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import orjson
import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

import dalsegno
from dalsegno.connect import open_store
from dalsegno.contracts import Step
from dalsegno.errors import Misuse, NotPermitted, ThreadDeleted, ThreadNotFound
from dalsegno.testing import connect_over

People = Callable[..., Any]


def one_store(store: Any) -> People:
    return lambda user=None, **given: connect_over(store, user=user, **given)


@pytest.fixture(params=["memory", "postgres"])
def people(request: pytest.FixtureRequest) -> Iterator[People]:
    """Connections of several users to one store, on each kind of SQL."""
    store = open_store("memory://" if request.param == "memory" else request.getfixturevalue("postgres_url"))
    yield one_store(store)
    store.close()


@pytest.fixture
def quick() -> Iterator[People]:
    """The same in memory, where a database adds nothing."""
    store = open_store("memory://")
    yield one_store(store)
    store.close()


def graph_of(ds: Any, answer: str = "Noted.") -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [AIMessage(answer)]})
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=ds.checkpointer)


def say(ds: Any, thread: str, text: str, answer: str = "Noted.") -> None:
    graph_of(ds, answer).invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": thread}})


def rows(ds: Any, statement: str, /, **given: Any) -> list[tuple[Any, ...]]:
    def op() -> Any:
        return (yield Step(statement, {"tenant": ds.scope().tenant, **given}))

    return ds.store_backend.run(op, write=False)


def number(ds: Any, thread: str) -> int:
    return rows(ds, "thread_find", name=thread, owner=None)[0][0]


def record(ds: Any, thread: str) -> list[dict[str, Any]]:
    return [{} if text is None else orjson.loads(text) for _, text in rows(ds, "audit_all", thread=number(ds, thread))]


# --- shares -------------------------------------------------------------------------------------------


def test_a_share_opens_changes_and_closes(people):
    ana, bo = people("ana"), people("bo")
    say(ana, "t", "Plan the launch.")
    ana.threads.share("t", "bo")
    assert [event.text for event in bo.journal.read("t")] == ["Plan the launch.", "Noted."]
    with pytest.raises(NotPermitted, match="as reader"):
        say(bo, "t", "And a hall.")
    ana.threads.share("t", "bo", "writer")
    say(bo, "t", "And a hall.")
    assert len(ana.journal.read("t")) == 4
    assert ana.threads.get("t").owner == "ana"
    (share,) = ana.threads.shares("t")
    assert (share.user, share.role, share.granted_by) == ("bo", "writer", "ana")
    ana.threads.unshare("t", "bo")
    assert ana.threads.shares("t") == []
    for refused in (lambda: bo.journal.read("t"), lambda: say(bo, "t", "And?"), lambda: bo.threads.shares("t")):
        with pytest.raises(ThreadNotFound):
            refused()
    assert len(ana.journal.read("t")) == 4


async def test_the_async_faces_do_the_same(quick):
    ana, bo = quick("ana"), quick("bo")
    await ana.journal.aappend("t", "note", "ana", "hello")
    await ana.threads.ashare("t", "bo", "writer")
    assert [share.user for share in await ana.threads.ashares("t")] == ["bo"]
    assert [thread.role for thread in await bo.threads.alist(shared=True)] == ["writer"]
    await bo.journal.aappend("t", "note", "bo", "hello")
    with pytest.raises(NotPermitted):
        await bo.threads.adelete("t")
    await ana.threads.aunshare("t", "bo")
    with pytest.raises(ThreadNotFound):
        await bo.journal.aread("t")


def test_lists_show_ones_own_and_on_demand_what_is_shared(people):
    ana, bo, program = people("ana"), people("bo"), people()
    for ds, thread in ((ana, "a1"), (ana, "a2"), (ana, "a3"), (bo, "b1"), (program, "p1")):
        ds.journal.append(thread, "note", "me", thread)
    ana.threads.share("a1", "bo")
    ana.threads.share("a2", "bo", "writer")
    program.threads.share("p1", "bo")

    def listed(ds: Any, **given: Any) -> list[tuple[str, str]]:
        return [(thread.thread_id, str(thread.role)) for thread in ds.threads.list(**given)]

    assert listed(bo) == [("b1", "owner")]
    whole = [("a1", "reader"), ("a2", "writer"), ("b1", "owner"), ("p1", "reader")]
    assert listed(bo, shared=True) == whole
    assert listed(bo, shared=True, limit=2) + listed(bo, shared=True, after="a2") == whole
    assert listed(ana, shared=True) == listed(ana) == [("a1", "owner"), ("a2", "owner"), ("a3", "owner")]
    assert {role for _, role in listed(program)} == {"owner"}
    assert listed(people("root", role="admin"))[:1] == [("a1", "admin")]
    assert bo.threads.get("a2").role == "writer"
    assert [run.thread_id for run in bo.runs.list()] == []


@pytest.mark.parametrize(
    ("user", "role"),
    [
        ("", "reader"),
        (" ", "reader"),
        (None, "reader"),
        (7, "reader"),
        ("bo\0", "reader"),
        ("\udc80", "reader"),
        ("b" * 1001, "reader"),
        ("bo", "owner"),
        ("bo", "admin"),
        ("bo", ""),
        ("bo", None),
        ("bo", "Reader"),
    ],
)
def test_a_share_is_for_a_user_and_gives_a_role_that_there_is(user, role, quick):
    ana = quick("ana")
    ana.journal.append("t", "note", "ana", "hello")
    with pytest.raises(Misuse):
        ana.threads.share("t", user, role)
    assert ana.threads.shares("t") == []


def test_an_owner_needs_no_share(quick):
    ana = quick("ana")
    ana.journal.append("t", "note", "ana", "hello")
    with pytest.raises(Misuse, match="belongs to 'ana'"):
        ana.threads.share("t", "ana")
    ana.threads.unshare("t", "bo")  # he has none, and that is fine
    assert record(ana, "t") == []


def test_each_share_is_on_record_once(quick):
    ana = quick("ana")
    ana.journal.append("t", "note", "ana", "hello")
    for role in ("reader", "reader", "writer"):
        ana.threads.share("t", "bo", role)
    ana.threads.unshare("t", "bo")
    ana.threads.unshare("t", "bo")
    told = [(row["move"], row["member"], row["role"], row["by"], row["thread"]) for row in record(ana, "t")]
    assert told == [
        ("share", "bo", "reader", "ana", "t"),
        ("share", "bo", "writer", "ana", "t"),
        ("unshare", "bo", "writer", "ana", "t"),
    ]
    assert ana.actions.verify().sound


def test_a_share_holds_while_a_run_has_the_lease(quick):
    ana, bo = quick("ana"), quick("bo")
    with ana.runs.lease("t"):
        ana.threads.share("t", "bo")
        assert bo.threads.get("t").leased_to
        ana.threads.unshare("t", "bo")


def test_a_share_goes_with_its_thread_and_is_not_copied(people):
    ana, bo = people("ana"), people("bo")
    for thread in ("copied", "deleted", "erased"):
        say(ana, thread, "Plan the launch.")
        ana.threads.share(thread, "bo", "writer")
    ana.threads.copy("copied", "hers")
    assert ana.threads.shares("hers") == []
    bo.threads.copy("copied", "his")
    assert (bo.threads.get("his").owner, bo.threads.get("his").role) == ("bo", "owner")
    with pytest.raises(ThreadNotFound):
        ana.threads.get("his")
    ana.threads.delete("deleted")
    with pytest.raises(ThreadNotFound):
        bo.journal.append("deleted", "note", "bo", "late")
    ana.threads.reopen("deleted")
    assert ana.threads.shares("deleted") == []
    with pytest.raises(ThreadNotFound):
        bo.threads.get("deleted")
    report = ana.erasure.thread("erased")
    assert report.threads[0].rows["ds_shares"] == 1
    with pytest.raises(ThreadNotFound):
        bo.journal.append("erased", "note", "bo", "late")
    assert [thread.thread_id for thread in bo.threads.list(shared=True)] == ["copied", "his"]


def test_erasing_a_user_takes_his_shares_and_his_name_off_those_he_gave(people):
    ana, bo, program = people("ana"), people("bo"), people()
    root = people("root", role="admin")
    for ds, thread in ((ana, "a"), (bo, "b")):
        ds.journal.append(thread, "note", "me", thread)
    ana.threads.share("a", "bo", "writer")
    root.threads.share("a", "cy")
    bo.threads.share("b", "ana")
    bo.journal.append("a", "note", "bo", "said in hers")
    bo.erasure.user()
    program.erasure.user("root")
    assert [(share.user, share.granted_by) for share in ana.threads.shares("a")] == [("cy", None)]
    assert rows(program, "shares_with", member="bo") == []
    assert [event.text for event in ana.journal.read("a")] == ["a", "said in hers"]  # part of her thread
    assert [thread.thread_id for thread in ana.threads.list(shared=True)] == ["a"]
    assert program.actions.verify().sound


def test_the_owners_retention_and_erasure_reach_a_shared_thread_and_the_readers_do_not(quick):
    ana, bo = quick("ana"), quick("bo")
    say(ana, "t", "Plan the launch.")
    ana.threads.share("t", "bo", "writer")
    policy = dalsegno.RetentionPolicy(name="gone", expire_after=timedelta(microseconds=1))
    assert bo.retention.run(policy).threads == ()
    assert [each.thread_id for each in ana.retention.run(policy).threads] == ["t"]
    assert ana.threads.status("t") == {"t": "deleted"}


def test_an_erased_id_is_closed_to_its_owner_and_never_was_for_others(people):
    ana, bo, program = people("ana"), people("bo"), people()
    ana.journal.append("t", "note", "ana", "hello")
    ana.erasure.thread("t")
    with pytest.raises(ThreadDeleted, match="was erased"):
        ana.journal.append("t", "note", "ana", "late")
    with pytest.raises(ThreadDeleted, match="was erased"):
        program.journal.append("t", "note", "worker", "late")
    assert ana.erasure.thread("t").threads[0].already
    for refused in (
        lambda: bo.journal.append("t", "note", "bo", "mine now"),
        lambda: bo.erasure.thread("t"),
        lambda: bo.threads.reopen("t"),
    ):
        with pytest.raises(ThreadNotFound) as told:
            refused()
        assert "erased" not in str(told.value)
    with pytest.raises(ThreadDeleted):  # it was not opened by that
        ana.journal.append("t", "note", "ana", "late")
    ana.threads.reopen("t")
    bo.journal.append("t", "note", "bo", "free for anyone")


class Trail:
    """A store that notes the statements of its operations."""

    def __init__(self, store: Any) -> None:
        self.store, self.names = store, []

    def _noted(self, factory: Any) -> Any:
        op, found = factory(), None
        try:
            while True:
                step = next(op) if found is None else op.send(found)
                self.names += [each.name for each in ((step,) if isinstance(step, Step) else step)]
                found = yield step
        except StopIteration as end:
            return end.value

    def run(self, factory: Any, *, write: bool, key: Any = None) -> Any:
        return self.store.run(lambda: self._noted(factory), write=write, key=key)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


def test_an_owners_turn_asks_nothing_about_shares():
    store = Trail(open_store("memory://"))
    ana = connect_over(store, user="ana")
    say(ana, "t", "Plan the launch.")
    ana.threads.share("t", "bo")
    store.names.clear()
    say(ana, "t", "And a hall.")
    ana.handover.pack("t")
    assert {"checkpoint_head", "thread_lock", "checkpoint_add"} <= {*store.names}
    assert not [name for name in store.names if "share" in name or "audit" in name]
    trails = []
    for user in (None, "ana"):  # what a user's own thread costs is what one without users does
        ds = connect_over(store, user=user)
        store.names.clear()
        ds.journal.append(f"t of {user}", "note", "me", "hello")
        ds.journal.append(f"t of {user}", "note", "me", "hello")
        ds.journal.read(f"t of {user}")
        trails.append([*store.names])
    assert trails[0] == trails[1]
    store.close()


# --- admins -------------------------------------------------------------------------------------------


def test_an_admin_is_somebody_and_sees_his_tenant_alone(quick):
    for wrong in ({"role": "admin"}, {"role": "root", "user": "x"}, {"role": None, "user": "x"}):
        with pytest.raises(Misuse):
            dalsegno.connect("memory://", **wrong)
    with pytest.raises(Misuse):
        dalsegno.connect("memory://", user="ana\0")
    ana, root = quick("ana"), quick("root", role="admin")
    rival = quick("root", role="admin", tenant="rival")
    say(ana, "t", "Plan the launch.")
    assert [thread.thread_id for thread in root.threads.list()] == ["t"]
    assert rival.threads.list() == []
    with pytest.raises(ThreadNotFound):
        rival.threads.get("t")
    say(root, "own", "Mine.")
    assert root.threads.get("own").owner == "root"
    assert root.threads.get("own").role == "owner"
    assert record(root, "own") == []


def test_what_an_admin_reads_and_does_is_on_record(people):
    ana, root = people("ana"), people("root", role="admin")
    say(ana, "t", "Plan the launch.")
    root.journal.read("t")
    say(root, "t", "Add a hall.")
    root.threads.tag("t", "seen")
    with pytest.raises(dalsegno.errors.Missing):
        root.threads.checkpoints("t", before="1ef00000-0000-6000-8000-000000000000")
    told = [row["act"] for row in record(ana, "t") if row["by"] == "root"]
    assert told[0] == "journal.read"
    assert {"checkpointer.get_tuple", "checkpointer.put", "checkpointer.put_writes", "threads.tag"} <= set(told)
    assert "threads.checkpoints" not in told  # it failed, and was undone
    assert ana.actions.verify().sound


async def test_an_admins_async_reads_are_on_record_under_the_same_names(quick):
    ana, root = quick("ana"), quick("root", role="admin")
    ana.journal.append("t", "note", "ana", "hello")
    await root.journal.aread("t")
    await root.handover.acard("t")
    await root.threads.astatus("t")
    assert [row["act"] for row in record(ana, "t")] == ["journal.read", "handover.card", "threads.status"]


def test_what_an_admin_sees_of_several_threads_is_on_record_in_each(quick):
    ana, bo, root = quick("ana"), quick("bo"), quick("root", role="admin")
    for ds, thread in ((ana, "a"), (bo, "b"), (root, "r")):
        with ds.actions.perform("make", {}, kind="create", thread_id=thread, step="s"):
            pass
    assert len(root.actions.list()) == 3
    for thread, seen in (("a", 1), ("b", 1), ("r", 0)):
        assert [row["act"] for row in record(root, thread) if row["move"] == "admin"] == ["actions.list"] * seen
    assert root.threads.list()
    assert root.runs.list() == []
    assert len([row for row in record(root, "a") if row["move"] == "admin"]) == 1


def test_who_erased_anothers_thread_stays_on_record(quick):
    ana, root = quick("ana"), quick("root", role="admin")
    ana.journal.append("t", "note", "ana", "hello")
    ana.threads.share("t", "bo")
    there = number(ana, "t")
    root.erasure.user("ana")
    told = [text for _, text in rows(root, "audit_all", thread=there)]
    assert told[:-1] == [None] * (len(told) - 1)
    last = orjson.loads(told[-1])
    assert (last["move"], last["by"]) == ("erase", "root")
    assert "ana" not in told[-1]
    assert root.actions.verify().sound
    with pytest.raises(Misuse, match="cannot erase"):
        quick("bo").erasure.user("ana")


def test_a_worker_of_an_admin_is_on_record_and_one_of_a_user_takes_no_shared_run(quick):
    ana, bo, root = quick("ana"), quick("bo"), quick("root", role="admin")
    say(ana, "t", "Plan the launch.")
    ana.threads.share("t", "bo", "writer")

    def broken(state: Any) -> Any:
        raise ValueError("broken")

    def worked(ds: Any) -> list[str]:
        from dalsegno.services import orphans

        lease = timedelta(seconds=30)
        idle = timedelta(microseconds=1)
        found = ds.store_backend.run(lambda: orphans.take(ds.scope(), "w", lease, 5, idle), write=True)
        return [each.thread_id for each in found]

    builder = StateGraph(MessagesState)
    builder.add_node("model", broken)
    builder.add_edge(START, "model")
    graph = builder.compile(checkpointer=ana.checkpointer)
    with pytest.raises(ValueError, match="broken"):
        graph.invoke({"messages": [("user", "go")]}, {"configurable": {"thread_id": "t2"}})
    ana.threads.share("t2", "bo", "writer")
    assert worked(bo) == []
    assert worked(root) == ["t2"]
    assert [row["by"] for row in record(ana, "t2") if row["move"] == "admin"] == ["root"]


# --- right topic, right person ------------------------------------------------------------------------

DUBAI = "Plan the launch in Dubai. The budget is 50,000. We go with option B."
OSLO = "Plan the launch in Oslo. The budget is 90,000. We go with option A."


@pytest.fixture
def two(people) -> tuple[Any, Any]:
    """The same subject three times: two threads of one user, one of another."""
    ana, bo = people("ana"), people("bo")
    say(ana, "dubai", DUBAI, "I will book the Dubai hall by Friday.")
    say(ana, "oslo", OSLO, "I will book the Oslo hall by Monday.")
    say(bo, "his", OSLO.replace("Oslo", "Rome"), "I will book the Rome hall by Sunday.")
    ana.handover.decide("dubai", "option B in Dubai")
    ana.handover.todo("oslo", "book a hall in Oslo")
    with ana.actions.perform("mail", {"to": "oslo@example.com"}, kind="create", thread_id="oslo", step="s"):
        pass
    return ana, bo


def test_search_card_pack_and_tools_are_of_one_thread(two):
    ana, bo = two
    ana.threads.share("oslo", "bo", "writer")
    for ds, thread, own in ((ana, "dubai", "Dubai"), (ana, "oslo", "Oslo"), (bo, "oslo", "Oslo"), (bo, "his", "Rome")):
        request = ds.handover.pack(thread, rules=["Today's rules."])
        search, read = ds.handover.tools(thread)
        shown = {
            "search": " ".join(event.text for event in ds.journal.search(thread, "launch hall budget option")),
            "card": repr(ds.handover.card(thread)),
            "pack": repr(request.messages) + repr(request.manifest),
            "tools": search.invoke({"text": "launch hall budget option"}) + read.invoke({"first": 1, "last": 50}),
            "state": repr(ds.threads.state(thread)),
            "actions": repr(ds.actions.list(thread)),
            "doctor": repr((yielded := ds.threads.doctor(thread)).findings),
        }
        for what, text in shown.items():
            others = {"Dubai", "Oslo", "Rome"} - {own}
            assert not [other for other in others if other.casefold() in text.casefold()], (thread, what)
        assert yielded.actions == (thread == "oslo")
        assert all(own in shown[what] for what in ("search", "card", "pack", "tools", "state")), thread


def test_memory_is_a_users_own_and_a_share_opens_none_of_it(two):
    ana, bo = two
    ana.memory.remember("Ana", "city", "Dubai", thread_id="dubai", evidence=[1])
    bo.memory.remember("Ana", "city", "Rome", thread_id="his", evidence=[1])
    ana.threads.share("dubai", "bo", "writer")
    assert [memory.value for memory in ana.memory.recall(subject="Ana")] == ["Dubai"]
    assert [memory.value for memory in bo.memory.recall(subject="Ana")] == ["Rome"]
    for refused in (
        lambda: bo.memory.remember("Ana", "city", "Dubai", thread_id="dubai", evidence=[1]),
        lambda: bo.memory.extract_memories("dubai"),
        lambda: bo.memory.forget_thread("dubai"),
    ):
        with pytest.raises(NotPermitted):
            refused()
    assert bo.memory.forget_thread("oslo") == 0  # not shared: not there
    assert [memory.value for memory in ana.memory.recall(subject="Ana")] == ["Dubai"]


def test_what_the_whole_tenant_knows_names_nobody_elses_thread(quick):
    ana, bo, program = quick("ana"), quick("bo"), quick()
    say(ana, "secret", "The office closes at 18:00.")
    program.memory.remember("office", "closing time", "18:00", thread_id="secret", evidence=[1], scope="tenant")
    assert [each.thread_id for each in ana.memory.recall(subject="office")[0].evidence] == ["secret"]
    (seen,) = bo.memory.recall(subject="office")
    assert (seen.value, seen.evidence) == ("18:00", ())
    ana.threads.share("secret", "bo")
    assert [each.thread_id for each in bo.memory.recall(subject="office")[0].evidence] == ["secret"]


def test_the_doctor_tells_a_reader_nothing_of_the_owners_other_threads(quick):
    ana, bo = quick("ana"), quick("bo")
    for thread in ("first", "second", "third"):
        say(ana, thread, "Plan the very same launch, please, with all that belongs to it.")
    ana.threads.share("first", "bo")
    assert ana.threads.doctor("first").threads == 2
    found = bo.threads.doctor("first")
    assert found.threads == 0
    assert "second" not in repr(found)
