"""Claim: `ds.store` behaves as LangGraph's stores do, the same on every database and both faces."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from typing import Any

import psycopg
import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

import dalsegno
from dalsegno.errors import Misuse, NotSerializable


class Face:
    """A store through one of its two faces, so that one test body speaks to both."""

    def __init__(self, store: BaseStore, *, waits: bool) -> None:
        self.store, self.waits = store, waits

    def __getattr__(self, name: str) -> Any:
        twin = getattr(self.store, name if self.waits else f"a{name}")

        async def call(*args: Any, **kwargs: Any) -> Any:
            return twin(*args, **kwargs) if self.waits else await twin(*args, **kwargs)

        return call


@pytest.fixture(params=["sync", "async"])
def store(request, ads: dalsegno.Dalsegno) -> Face:
    return Face(ads.store, waits=request.param == "sync")


@pytest.fixture
def age(ads: dalsegno.Dalsegno, store_url: str):
    """Let minutes pass for everything that expires."""

    def pass_by(minutes: float) -> None:
        statement, micros = "UPDATE ds_memories SET expires_at = expires_at - ?", int(minutes * 60_000_000)
        if store_url == "memory://":
            ads.store_backend._writer.execute(statement, (micros,))
        elif store_url.startswith("sqlite"):
            with contextlib.closing(
                sqlite3.connect(store_url.removeprefix("sqlite:///"), isolation_level=None)
            ) as shell:
                shell.execute(statement, (micros,))
        else:
            with psycopg.connect(store_url, autocommit=True) as shell:
                shell.execute(statement.replace("?", "%s"), (micros,))

    return pass_by


def names(found) -> list[str]:
    return [item.key for item in found]


async def test_what_was_put_is_there_until_it_is_deleted(store: Face):
    assert await store.get(("users", "u1"), "prefs") is None
    await store.put(("users", "u1"), "prefs", {"theme": "dark"})
    item = await store.get(("users", "u1"), "prefs")
    assert (item.namespace, item.key, item.value) == (("users", "u1"), "prefs", {"theme": "dark"})
    assert item.created_at == item.updated_at
    assert item.created_at.utcoffset() is not None
    await store.delete(("users", "u1"), "prefs")
    assert await store.get(("users", "u1"), "prefs") is None
    await store.delete(("users", "u1"), "prefs")  # nothing to delete is fine


async def test_a_second_put_replaces_the_value_and_keeps_when_it_was_made(store: Face):
    await store.put(("a",), "k", {"n": 1, "old": True})
    first = await store.get(("a",), "k")
    await store.put(("a",), "k", {"n": 2})
    second = await store.get(("a",), "k")
    assert second.value == {"n": 2}
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at


async def test_a_value_handed_out_is_the_callers_own(store: Face):
    value = {"list": [1, 2], "deep": {"x": []}}
    await store.put(("a",), "k", value)
    value["list"].append(3)
    got = await store.get(("a",), "k")
    got.value["deep"]["x"].append("changed")
    assert (await store.get(("a",), "k")).value == {"list": [1, 2], "deep": {"x": []}}


HOSTILE = [
    "",
    " ",
    "\x00",
    "nul\x00inside",
    "\ud800",
    "\udfff lone",
    "'; DROP TABLE ds_memories; --",
    '"]',
    '","',
    "%_*[?]",
    "\\",
    "🙂",
    "退款",
    "a" * 300,
    "\x1a",
    "e\u0301",
    "é",
    "$type",
    "null",
]


async def test_any_text_is_a_key_and_a_value(store: Face):
    for text in HOSTILE:
        await store.put(("a",), text, {"text": text, text: text})
        await store.put(("a",), text + "x", {"text": "another"})
    for text in HOSTILE:
        item = await store.get(("a",), text)
        assert item.key == text
        assert item.value == {"text": text, text: text}
        assert names(await store.search(("a",), filter={"text": text})) == [text]


async def test_any_label_that_langgraph_allows_is_a_namespace(store: Face):
    labels = [text for text in HOSTILE if text and "\x00" not in text]
    for text in labels:
        await store.put(("root", text), "k", {"n": 1})
        await store.put(("root", f"{text}2"), "k", {"n": 2})
        await store.put(("root", text, "deeper"), "k", {"n": 3})
    listed = await store.list_namespaces(max_depth=2)
    for text in labels:
        assert sorted(item.value["n"] for item in await store.search(("root", text))) == [1, 3]
        assert (await store.get(("root", text), "k")).namespace == ("root", text)
        assert ("root", text) in listed


async def test_values_of_any_kind_the_codec_knows_come_back_equal(store: Face):
    from datetime import UTC, datetime
    from decimal import Decimal

    value = {
        "none": None, "big": 2**70, "zero": -0.0, "tuple": (1, "b"), "set": {1, 2}, "bytes": b"\x00\xff",
        "at": datetime(2026, 1, 2, tzinfo=UTC), "price": Decimal("1.10"), "message": HumanMessage("hello", id="m"),
        "$type": "trap", "nested": [{"$ref": 1}, {"$list": []}],
    }  # fmt: skip
    await store.put(("a",), "k", value)
    got = (await store.get(("a",), "k")).value
    assert got == value
    assert {key: type(each) for key, each in got.items()} == {key: type(each) for key, each in value.items()}


async def test_what_cannot_be_kept_is_refused_with_its_path_and_nothing_is_written(store: Face):
    ops = [PutOp(("a",), "fine", {"n": 1}), PutOp(("a",), "not", {"deep": [object()]})]
    with pytest.raises(NotSerializable, match=r"value\.deep\[0\]"):
        await store.batch(ops)
    assert await store.search(()) == []


# --- search without a query -----------------------------------------------------------------------


async def test_a_search_sees_a_namespace_and_what_is_under_it(store: Face):
    for namespace in [("foo",), ("foo", "bar"), ("foobar",), ("FOO",), ("x", "foo"), ("foo,", "bar")]:
        await store.put(namespace, "k", {"at": list(namespace)})
    assert {item.namespace for item in await store.search(("foo",))} == {("foo",), ("foo", "bar")}
    assert len(await store.search(())) == 6
    assert await store.search(("foo", "bar", "none")) == []


async def test_the_newest_come_first_and_pages_do_not_overlap(store: Face):
    for number in range(25):
        await store.put(("a",), f"k{number:02}", {"n": number})
    await store.put(("a",), "k03", {"n": 3})
    first = await store.search(("a",), limit=10)
    assert names(first)[:3] == ["k03", "k24", "k23"]
    rest = [*await store.search(("a",), limit=10, offset=10), *await store.search(("a",), limit=10, offset=20)]
    assert len({*names(first), *names(rest)}) == 25
    assert all(item.score is None for item in first)
    assert await store.search(("a",), limit=0) == []
    assert await store.search(("a",), offset=25) == []


async def test_puts_of_one_batch_are_in_the_order_given(store: Face):
    await store.batch([PutOp(("b",), "z", {}), PutOp(("a",), "y", {}), PutOp(("c",), "x", {})])
    assert names(await store.search(())) == ["x", "y", "z"]


CASES: list[tuple[dict[str, Any], set[str]]] = [
    ({"kind": "report"}, {"one", "two"}),
    ({"kind": {"$eq": "report"}}, {"one", "two"}),
    ({"kind": {"$ne": "report"}}, {"three", "four", "five"}),
    ({"n": {"$gt": 1}}, {"two", "three"}),
    ({"n": {"$gte": 1}}, {"one", "two", "three"}),
    ({"n": {"$lt": 2.5}}, {"one", "two"}),
    ({"n": {"$lte": 2}}, {"one", "two"}),
    ({"n": {"$gt": 1, "$lt": 3}}, {"two"}),
    ({"n": 1}, {"one"}),
    ({"n": 1.0}, {"one"}),
    ({"n": "1"}, {"four"}),
    ({"n": True}, {"five"}),
    ({"n": {"$gt": "0"}}, {"four"}),
    ({"n": {"$ne": 1}}, {"two", "three", "four", "five"}),
    ({"missing": None}, {"one", "two", "three", "four", "five"}),
    ({"missing": {"$ne": None}}, set()),
    ({"missing": {"$gt": 0}}, set()),
    ({"meta": {"lang": "zh"}}, {"two"}),
    ({"meta": {"deep": {"x": 1}}}, {"three"}),
    ({"meta": {"deep": {"x": {"$gte": 1}}}}, {"three"}),
    ({"meta": {"$eq": {"lang": "zh"}}}, set()),
    ({"meta": {"$eq": {"lang": "zh", "v": 2}}}, {"two"}),
    ({"tags": ["a", "b"]}, {"one"}),
    ({"tags": ["a"]}, set()),
    ({"kind": "report", "n": 2}, {"two"}),
    ({"a.b": "dotted"}, {"three"}),
    ({'it\'s "odd"': 1}, {"four"}),
    ({}, {"one", "two", "three", "four", "five"}),
]


async def test_a_filter_is_exact(store: Face):
    await store.batch(
        [
            PutOp(("a",), "one", {"kind": "report", "n": 1, "tags": ["a", "b"]}),
            PutOp(("a",), "two", {"kind": "report", "n": 2, "meta": {"lang": "zh", "v": 2}}),
            PutOp(("a",), "three", {"kind": "note", "n": 3.5, "meta": {"deep": {"x": 1}}, "a.b": "dotted"}),
            PutOp(("a",), "four", {"n": "1", 'it\'s "odd"': 1}),
            PutOp(("a",), "five", {"n": True}),
        ]
    )
    for wanted, expected in CASES:
        assert set(names(await store.search(("a",), filter=wanted))) == expected, wanted


async def test_a_filter_that_cannot_be_meant_is_refused(store: Face):
    for wanted in [{"n": {"$regex": "x"}}, {"$or": [1]}, {"n": {"$gt": 1, "plain": 2}}, "n", {1: 2}]:
        with pytest.raises(Misuse):
            await store.search(("a",), filter=wanted)


async def test_a_filter_looks_further_than_one_page(store: Face):
    await store.batch([PutOp(("a",), f"k{n:03}", {"n": n, "text": "green tea"}) for n in range(450)])
    assert names(await store.search(("a",), filter={"n": {"$lt": 3}})) == ["k002", "k001", "k000"]
    assert names(await store.search(("a",), filter={"n": {"$lt": 3}}, limit=1, offset=1)) == ["k001"]
    found = await store.search(("a",), filter={"n": {"$lt": 3}}, query="tea")
    assert names(found) == ["k002", "k001", "k000"]


# --- search by words ------------------------------------------------------------------------------


async def test_words_are_found_in_english_and_chinese_best_first(store: Face):
    await store.batch(
        [
            PutOp(("m",), "tea", {"text": "She drinks green tea every morning"}),
            PutOp(("m",), "coffee", {"text": "He drinks coffee and tea, and more coffee"}),
            PutOp(("m",), "zh", {"text": "用户喜欢喝绿茶，不喝咖啡"}),
            PutOp(("m",), "nut", {"text": "我对花生过敏", "note": ["EpiPen"]}),
            PutOp(("m",), "none", {"n": 1}),
        ]
    )
    assert names(await store.search(("m",), query="green tea"))[0] == "tea"
    assert names(await store.search(("m",), query="COFFEE")) == ["coffee"]
    assert names(await store.search(("m",), query="绿茶")) == ["zh"]
    assert names(await store.search(("m",), query="花生")) == ["nut"]
    assert names(await store.search(("m",), query="茶")) == ["zh"]
    assert names(await store.search(("m",), query="epipen")) == ["nut"]
    assert await store.search(("m",), query="绿豆") == []
    assert await store.search(("other",), query="tea") == []
    scored = await store.search(("m",), query="drinks coffee")
    assert [item.score for item in scored] == sorted((item.score for item in scored), reverse=True)
    assert scored[0].key == "coffee"
    assert names(await store.search(("m",), query="drinks", limit=1, offset=1)) != names(
        await store.search(("m",), query="drinks", limit=1)
    )


async def test_rare_words_count_for_more_than_common_ones(store: Face):
    await store.batch(
        [PutOp(("m",), f"k{n}", {"text": f"the weather was fine and the day was long, entry {n}"}) for n in range(30)]
        + [PutOp(("m",), "rare", {"text": "zanzibar"})]
    )
    assert names(await store.search(("m",), query="the weather was in zanzibar"))[0] == "rare"


async def test_the_index_of_an_item_says_what_it_is_searched_by(store: Face):
    await store.put(("m",), "title", {"title": "harbour", "body": "lighthouse"}, index=["title"])
    await store.put(("m",), "none", {"title": "harbour lighthouse"}, index=False)
    await store.put(("m",), "deep", {"parts": [{"t": "harbour"}, {"t": "lighthouse"}]}, index=["parts[-1].t"])
    assert names(await store.search(("m",), query="harbour")) == ["title"]
    assert names(await store.search(("m",), query="lighthouse")) == ["deep"]
    assert len(await store.search(("m",))) == 3
    with pytest.raises(Misuse):
        await store.put(("m",), "x", {"a": 1}, index="title")


async def test_a_replaced_item_is_not_found_by_its_old_words(store: Face):
    await store.put(("m",), "k", {"text": "harbour"})
    await store.put(("m",), "k", {"text": "lighthouse"})
    assert await store.search(("m",), query="harbour") == []
    assert names(await store.search(("m",), query="lighthouse")) == ["k"]


# --- time to live ---------------------------------------------------------------------------------


async def test_what_has_expired_is_not_there_swept_or_not(store: Face):
    await store.put(("a",), "gone", {"text": "tea"}, ttl=0)
    await store.put(("a",), "stays", {"text": "tea"}, ttl=60)
    await store.put(("a",), "ever", {"text": "tea"})
    assert await store.get(("a",), "gone") is None
    assert set(names(await store.search(("a",)))) == {"stays", "ever"}
    assert set(names(await store.search(("a",), query="tea"))) == {"stays", "ever"}
    await store.put(("only",), "gone", {"n": 1}, ttl=0)
    assert ("only",) not in await store.list_namespaces()
    assert await store.sweep_ttl() == 1  # the first went with a later write
    assert await store.sweep_ttl() == 0


async def test_reading_renews_a_time_to_live_unless_told_otherwise(store: Face, age):
    await store.put(("a",), "k", {"text": "tea"}, ttl=60)
    age(50)
    assert await store.get(("a",), "k", refresh_ttl=False) is not None
    age(5)
    assert await store.search(("a",), query="tea") != []  # renews
    age(50)
    assert await store.get(("a",), "k") is not None  # renews
    age(50)
    assert await store.search(("a",), refresh_ttl=False) != []
    age(11)
    assert await store.get(("a",), "k") is None


async def test_a_put_sets_the_time_to_live_anew_and_an_expired_item_is_made_anew(store: Face, age):
    await store.put(("a",), "k", {"n": 1}, ttl=10)
    first = await store.get(("a",), "k")
    age(11)
    await store.put(("a",), "k", {"n": 2})
    second = await store.get(("a",), "k")
    assert second.created_at > first.created_at
    age(10_000)
    assert (await store.get(("a",), "k")).value == {"n": 2}


async def test_defaults_for_times_to_live_come_from_langgraphs_own_setting(store: Face, age):
    store.store.ttl_config = {"default_ttl": 10, "refresh_on_read": False}
    await store.put(("a",), "k", {"n": 1})
    await store.put(("a",), "ever", {"n": 1}, ttl=None)
    age(9)
    assert await store.get(("a",), "k") is not None
    age(2)
    assert await store.get(("a",), "k") is None
    assert await store.get(("a",), "ever") is not None


async def test_a_time_to_live_that_is_none_is_refused(store: Face):
    for ttl in [-1, float("nan"), float("inf"), "5", True]:
        with pytest.raises(Misuse):
            await store.put(("a",), "k", {}, ttl=ttl)


# --- namespaces -----------------------------------------------------------------------------------


SPACES = [
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("users", "u1", "v1"),
    ("users", "u2", "v1"),
    ("users", "u2", "v2"),
    ("users2", "u1"),
]


async def test_namespaces_are_listed_matched_cut_and_paged(store: Face):
    await store.batch([PutOp(namespace, key, {}) for namespace in SPACES for key in ("one", "two")])
    assert await store.list_namespaces() == SPACES
    assert await store.list_namespaces(prefix=("a", "b"), max_depth=3) == [
        ("a", "b", "c"),
        ("a", "b", "d"),
        ("a", "b", "f"),
    ]
    assert await store.list_namespaces(max_depth=1) == [("a",), ("users",), ("users2",)]
    assert await store.list_namespaces(prefix=("users",)) == SPACES[5:8]
    assert await store.list_namespaces(prefix=("users", "*", "v1")) == [SPACES[5], SPACES[6]]
    assert await store.list_namespaces(suffix=("v1",)) == [SPACES[5], SPACES[6]]
    assert await store.list_namespaces(suffix=("*", "f")) == [SPACES[3], SPACES[4]]
    assert await store.list_namespaces(prefix=("a",), suffix=("f",)) == [SPACES[3], SPACES[4]]
    assert await store.list_namespaces(limit=2, offset=3) == SPACES[3:5]
    assert await store.list_namespaces(prefix=("nobody",)) == []
    assert await store.list_namespaces(prefix=("a",) * 9) == []
    await store.batch([PutOp(SPACES[8], key, None) for key in ("one", "two")])
    assert SPACES[8] not in await store.list_namespaces()


async def test_a_namespace_that_langgraph_forbids_is_refused(store: Face):
    for namespace in [(), ("",), ("a.b",), ("a", ""), ("langgraph",), (1,)]:
        with pytest.raises(InvalidNamespaceError):
            await store.put(namespace, "k", {})


async def test_a_label_with_a_dot_is_refused_in_a_batch_too(store: Face):
    with pytest.raises(InvalidNamespaceError):
        await store.batch([PutOp(("a.b",), "k", {})])
    with pytest.raises(InvalidNamespaceError):
        await store.batch([PutOp((), "k", {})])
    with pytest.raises(Misuse, match="dalsegno's own"):
        await store.batch([PutOp(("dalsegno", "memories"), "k", {})])


# --- batches --------------------------------------------------------------------------------------


async def test_a_batch_reads_what_was_there_before_it_and_its_last_write_counts(store: Face):
    await store.put(("a",), "k", {"n": 0})
    results = await store.batch(
        [
            PutOp(("a",), "k", {"n": 1}),
            GetOp(("a",), "k"),
            PutOp(("a",), "k", {"n": 2}),
            SearchOp(("a",), filter={"n": 0}),
            ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("a",)),)),
            PutOp(("b",), "made", {"n": 1}),
            PutOp(("b",), "made", None),
            GetOp(("a",), "k"),
            GetOp(("nowhere",), "k"),
        ]
    )
    assert [type(each).__name__ for each in results] == [
        "NoneType",
        "Item",
        "NoneType",
        "list",
        "list",
        "NoneType",
        "NoneType",
        "Item",
        "NoneType",
    ]
    assert results[1].value == results[7].value == {"n": 0}
    assert names(results[3]) == ["k"]
    assert results[4] == [("a",)]
    assert (await store.get(("a",), "k")).value == {"n": 2}
    assert await store.get(("b",), "made") is None
    assert await store.batch([]) == []


async def test_a_batch_with_a_wrong_operation_writes_nothing(store: Face):
    with pytest.raises(Misuse):
        await store.batch([PutOp(("a",), "k", {}), "get"])
    with pytest.raises(Misuse):
        await store.batch([PutOp(("a",), "k", {}), SearchOp(("a",), limit=-1)])
    assert await store.search(()) == []


async def test_many_writers_at_once_lose_nothing(store: Face, ads):
    async def one(number: int) -> None:
        await ads.store.abatch([PutOp(("a",), f"k{(number + step) % 12}", {"by": number}) for step in range(6)])

    await asyncio.gather(*map(one, range(12)))
    assert len(await store.search(("a",), limit=100)) == 12


# --- scope ----------------------------------------------------------------------------------------


async def test_users_and_tenants_see_their_own_items_only(sqlite_url: str, postgres_url: str):
    for url in (sqlite_url, postgres_url):
        spaces = [
            dalsegno.connect(url, tenant=tenant, user=user)
            for tenant in ("acme", "other") for user in (None, "u1", "u2")
        ]  # fmt: skip
        for number, ds in enumerate(spaces):
            ds.store.put(("a",), "k", {"n": number, "text": f"tea number{number}"})
        for number, ds in enumerate(spaces):
            assert ds.store.get(("a",), "k").value["n"] == number
            assert [item.value["n"] for item in ds.store.search(())] == [number]
            assert [item.value["n"] for item in ds.store.search((), query="tea")] == [number]
        spaces[1].store.delete(("a",), "k")
        assert [len(ds.store.search(())) for ds in spaces] == [1, 0, 1, 1, 1, 1]
        assert [ds.store.list_namespaces() for ds in spaces][1] == []
        for ds in spaces:
            ds.close()


async def test_items_are_still_there_in_another_process_of_the_program(sqlite_url: str):
    with dalsegno.connect(sqlite_url) as first:
        first.store.put(("a",), "k", {"text": "绿茶"})
    with dalsegno.connect(sqlite_url, create=False) as second:
        assert names(second.store.search((), query="绿茶")) == ["k"]
    with dalsegno.connect(sqlite_url, tenant="new", create=False) as third, pytest.raises(Misuse):
        third.store.put(("a",), "k", {})


# --- graphs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("waits", [True, False])
async def test_a_graph_compiled_with_the_store_runs_both_ways(ads, waits: bool):
    def remember(state: MessagesState, runtime: Runtime) -> dict:
        runtime.store.put(("users", "u1"), "said", {"text": state["messages"][-1].content})
        return {}

    async def aremember(state: MessagesState, runtime: Runtime) -> dict:
        await runtime.store.aput(("users", "u1"), "said", {"text": state["messages"][-1].content})
        return {}

    builder = StateGraph(MessagesState)
    builder.add_node("remember", remember if waits else aremember)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", END)
    graph = builder.compile(checkpointer=ads.checkpointer, store=ads.store)
    config = {"configurable": {"thread_id": "t"}}
    given = {"messages": [HumanMessage("I like green tea")]}
    if waits:
        graph.invoke(given, config)
    else:
        await graph.ainvoke(given, config)
    assert [item.value["text"] for item in await ads.store.asearch((), query="tea")] == ["I like green tea"]
