"""Claim: facts beyond the session are evidenced, superseded by their own matter alone, isolated, and wholly forgotten."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph

import dalsegno
from dalsegno.core.extraction import Proposal
from dalsegno.errors import MemoryNotFound, MemoryRefused, Misuse, Refused, ThreadNotFound
from dalsegno.services import remembering

JAN, MAR, MAY, JUL = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 3, 5, 7))


def values(memories) -> list[Any]:
    return [memory.value for memory in memories]


@pytest.fixture
def memory(ads: dalsegno.Dalsegno, call):
    """`ds.memory` through each face: `await memory("remember", …)`."""

    async def through(method: str, *args: Any, **kwargs: Any) -> Any:
        return await call(ads.memory, method, *args, **kwargs)

    return through


async def test_a_fact_is_remembered_with_whose_words_it_rests_on(memory, ads):
    ads.journal.append("t", "message", "user", "I'm vegetarian")
    kept = await memory("remember", "user", "diet", "vegetarian", thread_id="t", evidence=["#1 user"], confidence=0.9)
    assert (kept.subject, kept.attribute, kept.value, kept.confidence, kept.user) == (
        "user",
        "diet",
        "vegetarian",
        0.9,
        None,
    )
    (evidence,) = kept.evidence
    assert (evidence.thread_id, evidence.coordinate) == ("t", "#1 user")
    assert kept.valid_from == ads.journal.read("t")[0].at
    assert kept.is_open
    assert await memory("get", kept.id) == kept
    (found,) = await memory("recall", "vegetarian")
    assert found.score > 0
    assert found.id == kept.id
    assert values(await memory("recall", subject="USER ")) == ["vegetarian"]
    assert values(await memory("list")) == ["vegetarian"]


async def test_a_later_fact_of_the_same_matter_ends_the_earlier_and_history_keeps_both(memory):
    await memory("remember", "user", "home", "Berlin", source="form", valid_from=JAN)
    await memory("remember", "user", "job", "nurse", source="form", valid_from=JAN)
    await memory("remember", "Li", "home", "Lyon", source="form", valid_from=JAN)
    await memory("remember", "user", "Home", "Munich", source="form", valid_from=MAY)
    past = await memory("history", "user", "home")
    assert [(each.value, each.valid_from, each.valid_to) for each in past] == [
        ("Berlin", JAN, MAY),
        ("Munich", MAY, None),
    ]
    assert values(await memory("recall", subject="user", attribute="home")) == ["Munich"]
    assert values(await memory("recall", subject="user", attribute="home", at=MAR)) == ["Berlin"]
    assert values(await memory("recall", "berlin", at=MAR)) == ["Berlin"]
    assert values(await memory("recall", "berlin")) == []
    assert set(values(await memory("recall"))) == {"Munich", "nurse", "Lyon"}


async def test_what_is_learned_late_takes_nothing_back(memory):
    await memory("remember", "user", "home", "Munich", source="form", valid_from=MAY)
    await memory("remember", "user", "home", "Berlin", source="form", valid_from=JAN)
    past = await memory("history", "user", "home")
    assert [(each.value, each.valid_to) for each in past] == [("Berlin", MAY), ("Munich", None)]


async def test_what_is_known_is_not_written_again_but_its_evidence_grows(memory, ads):
    for text in ("I'm vegetarian", "as I said, vegetarian"):
        ads.journal.append("t", "message", "user", text)
    first = await memory("remember", "user", "diet", "vegetarian", thread_id="t", evidence=[1])
    again = await memory("remember", "user", "diet", "vegetarian", thread_id="t", evidence=[2])
    assert again.id == first.id
    assert [each.seq for each in again.evidence] == [1, 2]
    assert len(await memory("history", "user")) == 1


async def test_several_at_once_end_nothing(memory):
    for value in ("peanuts", "shrimp", "peanuts"):
        await memory("remember", "user", "allergy", value, source="form", several=True)
    assert set(values(await memory("recall", subject="user"))) == {"peanuts", "shrimp"}
    await memory("remember", "user", "allergy", "none any more", source="doctor")
    assert values(await memory("recall", subject="user")) == ["none any more"]


async def test_a_time_to_live_ends_a_fact(memory, ads):
    await memory("remember", "user", "guest pass", "desk 4", source="form", ttl=timedelta(milliseconds=1))
    await asyncio.sleep(0.01)
    assert await memory("recall") == []
    assert ads.store.search(("dalsegno",)) == []


async def test_of_writers_at_once_one_is_the_last(memory, ads):
    async def say(value: str) -> None:
        await ads.memory.aremember("user", "home", value, source="form")

    await asyncio.gather(*(say(value) for value in ("Lyon", "Nice", "Lille", "Brest", "Dijon", "Metz")))
    past = await memory("history", "user", "home")
    assert len(past) == 6
    assert [each.value for each in past if each.is_open] == values(await memory("recall"))
    assert len([each for each in past if each.is_open]) == 1


# --- the gate -------------------------------------------------------------------------------------


async def test_what_the_gate_refuses_leaves_no_trace_and_says_why(memory, ads):
    ads.journal.append("t", "message", "user", "Do I like green tea?")
    for arguments, reason in [
        ({"value": "likes tea"}, "no_evidence"),
        ({"value": "the report is at /tmp/a.pdf", "source": "x"}, "temporary_path"),
        ({"value": "hello!", "source": "x"}, "greeting"),
        ({"value": "flies tomorrow", "source": "x"}, "relative_time"),
        ({"value": "first draft of the letter", "source": "x"}, "draft"),
        ({"value": "my password is hunter2", "source": "x"}, "secret"),
        ({"value": "green tea", "thread_id": "t", "evidence": [1]}, "echo"),
    ]:
        with pytest.raises(MemoryRefused) as caught:
            await memory("remember", "user", "note", **arguments)
        assert caught.value.reason == reason
        assert caught.value.attribute == "note"
    assert await memory("list") == []


async def test_evidence_has_to_be_there_and_wrong_arguments_are_misuse(memory, ads):
    ads.journal.append("t", "message", "user", "I'm vegetarian")
    with pytest.raises(ThreadNotFound):
        await memory("remember", "user", "diet", "vegetarian", thread_id="nowhere", evidence=[1])
    for wrong in [
        {"thread_id": "t", "evidence": [2]},
        {"thread_id": "t", "evidence": ["first"]},
        {"evidence": [1]},
        {"source": "x", "ttl": 5},
        {"source": "x", "confidence": 2},
        {"source": "x", "scope": "all"},
        {"source": "x", "scope": "user"},
        {"source": "x", "valid_from": datetime(2026, 1, 1)},  # noqa: DTZ001 - naive on purpose
        {"source": "x", "valid_from": MAY, "valid_to": JAN},
    ]:
        with pytest.raises(Misuse):
            await memory("remember", "user", "diet", "vegetarian", **wrong)
    assert await memory("list") == []


def graph_of(ds: dalsegno.Dalsegno):
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [AIMessage("You are allergic to cats, noted.")]})
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    return builder.compile(checkpointer=ds.checkpointer)


async def test_a_session_is_looked_through_at_its_end(memory, ads):
    graph = graph_of(ads)
    config = {"configurable": {"thread_id": "t"}}
    graph.invoke(
        {
            "messages": [
                SystemMessage("My name is Bot. I live in the cloud."),
                HumanMessage("Hi! My name is Sam. I'm allergic to peanuts."),
            ]
        },
        config,
    )
    graph.invoke(
        {
            "messages": [
                HumanMessage("我住在成都。我对花生过敏吗？以后都寄到公司。"),
                ToolMessage("I live in Rome", tool_call_id="c"),
            ]
        },
        config,
    )
    found = await memory("extract_memories", "t")
    assert {(each.attribute, each.value) for each in found.kept} == {
        ("name", "Sam"), ("allergy", "peanuts"), ("home", "成都"), ("standing request", "以后都寄到公司"),
    }  # fmt: skip
    assert found.refused == ()
    assert {each.evidence[0].thread_id for each in found.kept} == {"t"}
    again = await memory("extract_memories", "t")
    assert {each.id for each in again.kept} == {each.id for each in found.kept}
    assert len(await memory("list")) == 4


class Liar:
    """A model-backed extractor that makes things up."""

    def extract(self, said):
        return [
            Proposal(subject="user", attribute="diet", value="vegan since birth", seq=said[0].seq),
            Proposal(subject="user", attribute="name", value="Sam", seq=said[0].seq),
            Proposal(subject="user", attribute="trip", value="flies tomorrow", seq=said[0].seq),
        ]

    async def aextract(self, said):
        return self.extract(said)


async def test_a_model_backed_extractor_passes_the_same_gate(memory, ads):
    ads.journal.append("t", "message", "user", "My name is Sam and Sam flies tomorrow")
    found = await memory("extract_memories", "t", Liar())
    assert values(found.kept) == ["Sam"]
    assert [(each.proposal.attribute, each.reason) for each in found.refused] == [
        ("diet", "unsupported"),
        ("trip", "relative_time"),
    ]


# --- whose it is ----------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgres"])
def people(request):
    """Connections to one database: the tenant's, two users', another tenant's."""
    store_url = request.getfixturevalue(f"{request.param}_url")
    whom = [("acme", None), ("acme", "ann"), ("acme", "bob"), ("other", None)]
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(dalsegno.connect(store_url, tenant=tenant, user=user)) for tenant, user in whom]


def test_nobody_sees_anothers_memories(people):
    tenant, ann, bob, other = people
    ann.journal.append("ann-1", "message", "user", "I'm vegetarian")
    hers = ann.memory.remember("user", "diet", "vegetarian", thread_id="ann-1", evidence=[1])
    his = bob.memory.remember("user", "diet", "carnivore", source="form")
    ours = tenant.memory.remember("refunds", "policy", "within 30 days", source="handbook", scope="tenant")
    assert (hers.user, his.user, ours.user) == ("ann", "bob", None)
    assert values(ann.memory.recall()) == ["within 30 days", "vegetarian"]
    assert values(ann.memory.recall(shared=False)) == ["vegetarian"]
    assert values(bob.memory.recall("diet vegetarian carnivore policy")) == ["carnivore", "within 30 days"]
    assert values(ann.memory.history("user", "diet")) == ["vegetarian"]
    assert values(tenant.memory.recall()) == ["within 30 days"]
    assert values(tenant.memory.recall(user="ann", shared=False)) == ["vegetarian"]
    assert other.memory.recall() == other.memory.list() == []
    assert [each.user for each in tenant.memory.list()] == ["ann", "bob", None]
    assert values(ann.memory.list()) == ["vegetarian"]
    assert [item.value["value"] for item in bob.store.search(("dalsegno",))] == ["carnivore"]
    with pytest.raises(MemoryNotFound):
        bob.memory.get(hers.id)
    with pytest.raises(MemoryNotFound):
        bob.memory.forget(hers.id)
    with pytest.raises(MemoryNotFound):
        other.memory.get(ours.id)
    assert bob.memory.get(ours.id) == ours
    for refused in (
        lambda: bob.memory.recall(user="ann"),
        lambda: bob.memory.history("user", user="ann"),
        lambda: bob.memory.forget(subject="user", user="ann"),
        lambda: bob.memory.forget_user("ann"),
        lambda: bob.memory.forget(ours.id),
        lambda: bob.memory.remember("user", "diet", "x", source="y", user="ann"),
        lambda: bob.memory.remember("refunds", "policy", "never", source="y", scope="tenant"),
    ):
        with pytest.raises(Refused):
            refused()
    with pytest.raises(ThreadNotFound):
        bob.memory.remember("user", "diet", "vegetarian", thread_id="ann-1", evidence=[1])
    assert bob.memory.forget(subject="user") == 1
    assert values(ann.memory.recall(shared=False)) == ["vegetarian"]


def test_a_fact_from_a_users_thread_is_that_users_whoever_writes_it_down(people):
    tenant, ann, bob, _ = people
    ann.journal.append("ann-1", "message", "user", "I live in Lyon")
    assert [each.user for each in tenant.memory.extract_memories("ann-1").kept] == ["ann"]
    assert values(ann.memory.recall()) == ["Lyon"]
    assert tenant.memory.recall() == bob.memory.recall() == []


# --- as items -------------------------------------------------------------------------------------


async def test_facts_can_be_read_as_items_and_are_not_written_as_such(memory, ads):
    kept = await memory("remember", "user", "home", "Lyon", source="form", valid_from=JAN)
    item = ads.store.get(("dalsegno", "memories"), kept.id)
    assert {key: item.value[key] for key in ("subject", "attribute", "value", "valid_from", "valid_to")} == {
        "subject": "user", "attribute": "home", "value": "Lyon", "valid_from": JAN.isoformat(), "valid_to": None,
    }  # fmt: skip
    assert ads.store.search(("dalsegno",), filter={"valid_to": None, "attribute": "home"}) != []
    with pytest.raises(Misuse):
        ads.store.put(("dalsegno", "memories"), kept.id, {"value": "Rome"})
    with pytest.raises(Misuse):
        ads.store.delete(("dalsegno", "memories"), kept.id)


# --- forgetting -----------------------------------------------------------------------------------


async def test_forgetting_takes_row_index_evidence_and_history(memory, ads):
    ads.journal.append("t", "message", "user", "I live in Lyon")
    await memory("remember", "user", "home", "Lyon", thread_id="t", evidence=[1], valid_from=JAN)
    kept = await memory("remember", "user", "home", "Nice", source="form", valid_from=MAY)
    await memory("remember", "user", "job", "nurse", source="form")
    assert await memory("forget", kept.id) == 1
    with pytest.raises(MemoryNotFound):
        await memory("get", kept.id)
    assert await memory("forget", subject="user", attribute="home") == 1
    assert await memory("history", "user", "home") == []
    assert await memory("recall", "lyon") == []
    assert values(await memory("recall")) == ["nurse"]
    assert await memory("forget", subject="nobody") == 0
    assert ads.threads.check().findings == []
    for wrong in ({}, {"memory_id": "x", "subject": "y"}):
        with pytest.raises(Misuse):
            await memory("forget", **wrong)


async def test_forgetting_a_thread_keeps_what_another_said_too(memory, ads):
    for thread in ("a", "b"):
        ads.journal.append(thread, "message", "user", "I live in Lyon and work as a nurse")
        await memory("remember", "user", "home", "Lyon", thread_id=thread, evidence=[1])
    await memory("remember", "user", "job", "nurse", thread_id="a", evidence=[1])
    assert await memory("forget_thread", "a") == 1
    (left,) = await memory("list")
    assert (left.value, [each.thread_id for each in left.evidence]) == ("Lyon", ["b"])
    assert await memory("forget_thread", "nowhere") == 0
    assert ads.threads.check().findings == []


async def test_forgetting_a_user_takes_facts_and_items(memory, ads):
    await memory("remember", "user", "home", "Lyon", source="form", user="ann")
    await memory("remember", "user", "home", "Nice", source="form", user="bob")
    assert await memory("forget_user", "ann") == 1
    assert [each.user for each in await memory("list")] == ["bob"]


def test_nothing_of_a_forgotten_fact_is_in_the_file(sqlite_url: str, tmp_path):
    word = "Quetzaltenango"
    with dalsegno.connect(sqlite_url) as ds:
        ds.memory.remember("user", "home", word, source="form")
        ds.memory.remember("user", "job", "nurse", source="form")
        path = sqlite_url.removeprefix("sqlite:///")
        held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert word.encode() in held
        assert ds.memory.forget(subject="user", attribute="home") == 1
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as shell:
            shell.execute("VACUUM")
            shell.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert word.encode() not in held
        assert b"nurse" in held


def test_erasure_finds_its_two_operations(ds: dalsegno.Dalsegno):
    ds.journal.append("t", "message", "user", "I live in Lyon")
    ds.memory.remember("user", "home", "Lyon", thread_id="t", evidence=[1])
    ds.memory.remember("user", "home", "Nice", source="form", user="ann")
    scope = ds.scope()
    run = ds.store_backend.run
    assert run(lambda: remembering.forget_thread(scope, "t"), write=True) == 1
    assert run(lambda: remembering.forget_user(scope, "ann"), write=True) == 1
    assert ds.memory.list() == []


SPOILED = [
    ("UPDATE ds_memories SET body = '[1]'", "json"),
    ("UPDATE ds_memories SET namespace = 'home'", "json"),
    ("UPDATE ds_memories SET terms = ?", "digest"),
    ("UPDATE ds_memories SET size = 99", "counter"),
    ("UPDATE ds_memories SET valid_to = 1", "gap"),
    ("DELETE FROM ds_memories", "orphan"),
    ("UPDATE ds_evidence SET thread = 99", "orphan"),
]


@pytest.mark.parametrize(("statement", "kind"), SPOILED)
def test_check_finds_what_is_not_sound(sqlite_url: str, statement: str, kind: str):
    with dalsegno.connect(sqlite_url) as ds:
        ds.journal.append("t", "message", "user", "I live in Lyon")
        ds.memory.remember("user", "home", "Lyon", thread_id="t", evidence=[1])
        assert ds.threads.check().clean
        with contextlib.closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)) as shell:
            shell.execute(statement, (b"\x01\x02",) if "?" in statement else ())
        assert kind in {finding.kind for finding in ds.threads.check().findings}


@pytest.mark.parametrize("whole", [True, False])
def test_an_erased_thread_or_user_takes_memories_along(sqlite_url: str, tmp_path, whole: bool):
    word = "Quetzaltenango"
    with dalsegno.connect(sqlite_url) as ds, dalsegno.connect(sqlite_url, user="ann") as ann:
        ann.journal.append("t", "message", "user", f"I live in {word}")
        ann.memory.remember("user", "home", word, thread_id="t", evidence=[1])
        if whole:
            ann.store.put(("notes",), "k", {"text": word})
            assert ds.erasure.user("ann").memories == 2
        else:
            assert ds.erasure.thread("t").threads[0].rows["ds_memories"] == 1
        assert ds.memory.list() == []
        held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert word.encode() not in held
