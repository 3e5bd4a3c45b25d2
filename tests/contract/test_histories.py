"""Claim: a framework's message list in a thread is exact, append-only and nobody else's; no item is lost or doubled."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph

import dalsegno
from dalsegno import errors
from dalsegno.connect import open_store
from dalsegno.faces.histories import Share, calling
from dalsegno.testing import FaultyStore, RaiseError, connect_over

KEEPER = "somebodys-sdk"
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


def said(text: str) -> list[Share]:
    return [Share(message=HumanMessage(text), value={"z": text, "a": [1, 2.5, None, {"$ref": 1}]})]


def turn() -> list[list[Share]]:
    """A question, an item of two calls, their results, a note, an answer."""
    calls = [AIMessage("", **calling(name, '{"q": 1}', name)) for name in ("search", "look")]
    return [
        said("Let's go with plan B, budget under $500."),
        [Share(message=calls[0], value={"calls": 1}), Share(message=calls[1], value=["and", "another"])],
        [Share(message=ToolMessage("found", tool_call_id="search", name="search"), value=1)],
        [Share(message=ToolMessage("seen", tool_call_id="look", name="look"), value=2)],
        [Share(message=AIMessage("a thought about zebras"), value=3, note=True)],
        [Share(message=AIMessage("done " * 40), value={"long": "done " * 40, "blob": "b" * 40_000})],
    ]


def graph_of(ds: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("listen", lambda state: {})
    builder.add_edge(START, "listen")
    return builder.compile(checkpointer=ds.checkpointer)


def values(items: list[list[Share]]) -> list[list[Any]]:
    return [[share.value for share in item] for item in items]


def test_items_come_back_as_they_were(ds):
    given = turn()
    ds.histories.add("t", KEEPER, given[:2])
    ds.histories.add("t", KEEPER, given[2:])
    assert ds.histories.items("t", KEEPER) == values(given)
    assert list(ds.histories.items("t", KEEPER)[0][0]) == ["z", "a"]
    assert ds.histories.items("t", KEEPER, 2) == values(given)[-2:]
    assert ds.histories.items("t", KEEPER, 0) == []
    assert ds.histories.items("nobody", KEEPER) == []
    assert ds.threads.check().clean


async def test_the_async_face_does_the_same(ads):
    given = turn()
    await ads.histories.aadd("t", KEEPER, given)
    assert await ads.histories.apop("t", KEEPER) == [given[-1][0].value]
    assert await ads.histories.aitems("t", KEEPER) == values(given)[:-1]
    assert await ads.histories.asave("t", KEEPER, given) == 1
    assert await ads.histories.aclear("t", KEEPER) == len(given)


def test_what_is_taken_out_stays_in_the_journal(ds):
    ds.histories.add("t", KEEPER, turn())
    assert ds.histories.pop("t", KEEPER) == values(turn())[-1]
    assert ds.histories.pop("t", KEEPER) == [3]
    assert ds.histories.clear("t", KEEPER) == 4
    assert ds.histories.items("t", KEEPER) == []
    assert ds.histories.pop("t", KEEPER) is None
    ds.histories.add("t", KEEPER, [said("anew")])
    assert ds.histories.items("t", KEEPER) == values([said("anew")])
    events = ds.journal.read("t")
    assert [event.kind for event in events].count("delete") == 7
    assert len(events) == 15
    card = ds.handover.card("t")
    assert card.decisions == ()
    assert card.version == 4
    search, _ = ds.handover.tools("t")
    assert "removed at #14" in search.invoke({"text": "plan B"})
    assert ds.threads.check().clean


def test_card_pack_search_and_export_know_the_items(ds):
    ds.histories.add("t", KEEPER, turn())
    card = ds.handover.card("t")
    assert [entry.text for entry in card.decisions] == ["Let's go with plan B, budget under $500."]
    assert card.version == 1
    assert [event.coordinate for event in ds.journal.search("t", "found")] == ["#4 search"]
    assert ds.journal.search("t", "zebras")[0].kind == "note"
    request = ds.handover.pack("t")
    asked, calls, first, second, answer = request.messages[1:]
    assert asked.text == "Let's go with plan B, budget under $500."
    assert [call["name"] for call in calls.tool_calls] == ["search", "look"]
    assert [first.text, second.text] == ["found", "seen"]
    assert answer.text == "done " * 40
    assert not any(message.response_metadata for message in request.messages)
    assert [message.type for message in ds.histories.messages("t")] == ["human", "ai", "ai", "tool", "tool", "ai", "ai"]


def test_a_copied_message_is_no_item(ds):
    ds.histories.add("t", KEEPER, [said("hello")])
    (event,) = ds.journal.read("t")
    assert event.payload.response_metadata["dalsegno"]["keeper"] == KEEPER
    copied = ds.journal.append("t", "message", "user", event.payload)
    assert copied.payload.response_metadata == {}
    assert ds.histories.items("t", KEEPER) == values([said("hello")])
    graph_of(ds).invoke({"messages": [event.payload]}, {"configurable": {"thread_id": "g"}})
    assert ds.threads.check().clean


def test_a_list_is_saved_when_it_goes_on_from_what_is_stored(ds):
    given = turn()
    assert ds.histories.save("t", KEEPER, given[:3]) == 3
    assert ds.histories.save("t", KEEPER, given) == 3
    assert ds.histories.save("t", KEEPER, given) == 0
    before = ds.journal.read("t")
    for other in ([*given[:2], said("other"), *given[3:]], given[:2], []):
        with pytest.raises(errors.HistoryMoved) as caught:
            ds.histories.save("t", KEEPER, other)
        assert (caught.value.stored, caught.value.same) == (6, min(2, len(other)))
    assert ds.journal.read("t") == before
    assert ds.histories.save("t", KEEPER, [*given[:2], said("other")], replace=True) == 1
    assert ds.histories.items("t", KEEPER) == values([*given[:2], said("other")])


def test_a_thread_has_one_keeper(ds):
    ds.histories.add("t", KEEPER, [said("hello")])
    with pytest.raises(errors.OtherKeeper, match=r"'t' are kept by somebodys-sdk.*LangGraph"):
        graph_of(ds).invoke({"messages": [HumanMessage("hi")]}, CONFIG)
    for call in (ds.histories.items, ds.histories.pop, ds.histories.clear):
        with pytest.raises(errors.OtherKeeper, match="kept by somebodys-sdk"):
            call("t", "another-sdk")
    with pytest.raises(errors.OtherKeeper):
        ds.histories.add("t", "another-sdk", [said("hello")])
    assert [event.text for event in ds.journal.read("t")] == ["hello"]
    assert ds.threads.get("t").checkpoints == 0
    assert ds.threads.check().clean
    ds.journal.append("g", "note", "me", "a note keeps nobody out")
    config = {"configurable": {"thread_id": "g"}}
    graph_of(ds).invoke({"messages": [HumanMessage("hi")]}, config)
    with pytest.raises(errors.OtherKeeper, match="'g' are kept by a LangGraph graph"):
        ds.histories.add("g", KEEPER, [said("hello")])
    with pytest.raises(errors.OtherKeeper):
        ds.histories.items("g", KEEPER)
    assert ds.histories.messages("g") is None


def test_a_pending_write_does_not_come_into_a_kept_thread_either(ds):
    ds.histories.add("t", KEEPER, [said("hello")])
    config = {
        "configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1f0d0000-0000-6000-8000-000000000000"}
    }
    with pytest.raises(errors.OtherKeeper):
        ds.checkpointer.put_writes(config, [("messages", [])], "task")
    ds.histories.add("t", KEEPER, [said("still mine")])


def test_a_thread_that_was_reopened_is_anybodys(ds):
    graph_of(ds).invoke({"messages": [HumanMessage("hi")]}, CONFIG)
    ds.threads.delete("t")
    with pytest.raises(errors.ThreadDeleted):
        ds.histories.add("t", KEEPER, [said("late")])
    ds.threads.reopen("t")
    ds.histories.add("t", KEEPER, [said("hello")])
    with pytest.raises(errors.OtherKeeper):
        graph_of(ds).invoke({"messages": [HumanMessage("hi")]}, CONFIG)
    ds.threads.delete("t")
    assert ds.threads.check().clean
    ds.threads.reopen("t")
    graph_of(ds).invoke({"messages": [HumanMessage("hi")]}, CONFIG)


def test_a_copy_takes_the_list_along_and_an_erasure_takes_it_away(ds):
    ds.histories.add("t", KEEPER, turn())
    ds.threads.copy("t", "u")
    ds.histories.pop("u", KEEPER)
    assert len(ds.histories.items("u", KEEPER)) == 5
    assert ds.histories.items("t", KEEPER) == values(turn())
    ds.erasure.thread("t")
    assert ds.histories.items("t", KEEPER) == []
    assert ds.threads.check().clean


def test_another_users_list_is_not_there(store_url):
    if store_url == "memory://":
        pytest.skip("every connection to memory is a database of its own")
    with dalsegno.connect(store_url, user="ana") as hers, dalsegno.connect(store_url, user="ben") as his:
        hers.histories.add("t", KEEPER, [said("secret")])
        assert his.histories.items("t", KEEPER) == []
        assert his.histories.pop("t", KEEPER) is None
        with pytest.raises(errors.ThreadNotFound):
            his.histories.add("t", KEEPER, [said("mine?")])
        assert hers.histories.items("t", KEEPER) == values([said("secret")])


def test_two_writers_lose_and_double_nothing(store_url, ds):
    others = [ds] if store_url == "memory://" else [dalsegno.connect(store_url), dalsegno.connect(store_url)]

    def talk(writer: int) -> None:
        for batch in range(6):
            texts = [f"{writer}.{batch}.{at}" for at in range(3)]
            others[writer % len(others)].histories.add("t", KEEPER, [said(text) for text in texts])

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(talk, range(3)))
    found = [item["z"] for (item,) in ds.histories.items("t", KEEPER)]
    assert sorted(found) == sorted(
        f"{writer}.{batch}.{at}" for writer in range(3) for batch in range(6) for at in range(3)
    )
    assert all(
        found[at : at + 3] == [f"{found[at][:-1]}{place}" for place in range(3)] for at in range(0, len(found), 3)
    )
    with ThreadPoolExecutor(3) as pool:
        popped = list(pool.map(lambda at: others[at % len(others)].histories.pop("t", KEEPER), range(12)))
    left = [item["z"] for (item,) in ds.histories.items("t", KEEPER)]
    assert sorted([*left, *(item[0]["z"] for item in popped)]) == sorted(found)
    for other in others:
        if other is not ds:
            other.close()


def test_a_value_that_cannot_be_stored_leaves_nothing(ds):
    with pytest.raises(errors.NotSerializable, match=r"items\[1\]\.deep"):
        ds.histories.add("t", KEEPER, [said("hello"), [Share(message=AIMessage("x"), value={"deep": object()})]])
    assert ds.histories.items("t", KEEPER) == []
    with pytest.raises(errors.ThreadNotFound):
        ds.threads.get("t")


def test_a_failure_at_any_point_leaves_all_or_nothing(tmp_path):
    store = FaultyStore(open_store(f"sqlite:///{tmp_path}/t.db"))
    ds = connect_over(store)
    ds.histories.add("t", KEEPER, turn()[:3])
    works = {
        "add": lambda: ds.histories.add("t", KEEPER, turn()[3:]),
        "pop": lambda: ds.histories.pop("t", KEEPER),
        "save": lambda: ds.histories.save("t", KEEPER, [said("other"), *turn()[1:]], replace=True),
        "clear": lambda: ds.histories.clear("t", KEEPER),
    }
    for name, work in works.items():
        before = ds.histories.items("t", KEEPER)
        number = 0
        while ds.histories.items("t", KEEPER) == before:
            number += 1
            store.arm(number, RaiseError(lambda: sqlite3.OperationalError("disk I/O error")))
            try:
                work()
            except (errors.StoreError, sqlite3.OperationalError):
                continue
            finally:
                store.disarm()
        assert number > 4, name
    assert ds.histories.items("t", KEEPER) == []
    assert ds.threads.check().clean
    ds.close()


def test_a_counter_that_counts_what_is_not_there_is_damage(ds):
    ds.histories.add("t", KEEPER, [said("hello")])

    def op() -> Any:
        yield dalsegno.contracts.Step("history_save", {"tenant": 1, "thread": 1, "keeper": KEEPER, "items": 2})

    ds.store_backend.run(op, write=True)
    with pytest.raises(errors.Damaged, match="2 items"):
        ds.histories.items("t", KEEPER)
    (finding,) = ds.threads.check().findings
    assert (finding.kind, finding.expected, finding.found) == ("counter", "1 items", "2")
