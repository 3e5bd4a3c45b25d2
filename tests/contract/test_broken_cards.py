"""Claim: whatever is wrong with a card, no checkpoint, no event and no thread is lost by it; it is told of, and the card heals."""

from __future__ import annotations

import logging
import sqlite3
from functools import partial
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

import dalsegno
from dalsegno import errors
from dalsegno.connect import open_store
from dalsegno.core.card.advancing import hear
from dalsegno.core.card.listening import stirs
from dalsegno.services import arrivals, cards, journal
from dalsegno.testing import FaultyStore, RaiseError, connect_over

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}
CHOICE = "Let's go with option B, the budget is $5,000."


def graph_of(ds: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("assistant", lambda state: {"messages": [AIMessage("Noted.")]})
    builder.add_edge(START, "assistant")
    return builder.compile(checkpointer=ds.checkpointer)


def said(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def decisions(ds: Any) -> list[str]:
    return [entry.text for entry in ds.handover.card("t").decisions]


BREAKS = {
    "unreadable": (["ALTER TABLE ds_cards RENAME TO ds_away"], ["ALTER TABLE ds_away RENAME TO ds_cards"]),
    "unwritable": (
        {
            "sqlite": ["CREATE TRIGGER full BEFORE INSERT ON ds_cards BEGIN SELECT RAISE(ABORT, 'no'); END"],
            "postgres": ["ALTER TABLE ds_cards ADD CONSTRAINT full_ CHECK (version < 0) NOT VALID"],
        },
        {"sqlite": ["DROP TRIGGER full"], "postgres": ["ALTER TABLE ds_cards DROP CONSTRAINT full_"]},
    ),
}


def alter(ds: Any, url: str, change: Any) -> None:
    """Change the tables behind dalsegno's back."""
    kind = "postgres" if url.startswith("postgresql") else "sqlite"
    for sql in change[kind] if isinstance(change, dict) else change:
        if kind == "postgres":
            with psycopg.connect(url, autocommit=True) as shell:
                shell.execute(sql)
        else:
            ds.store_backend._main().execute(sql)


@pytest.mark.parametrize("how", sorted(BREAKS))
def test_a_statement_of_the_card_that_fails_costs_nobody_a_checkpoint(ds, store_url, caplog, how):
    graph, (broken, mended) = graph_of(ds), BREAKS[how]
    graph.invoke(said("hello"), CONFIG)
    alter(ds, store_url, broken)
    with caplog.at_level(logging.WARNING, "dalsegno.handover"):
        graph.invoke(said(CHOICE), CONFIG)
        ds.journal.append("t", "note", "ana", "still here")
        ds.journal.append("t", "approval", "ana", "yes")
    assert caplog.text.count("the card of thread 't' stays behind") == 2
    alter(ds, store_url, mended)
    assert len(graph.get_state(CONFIG).values["messages"]) == 4
    assert [event.text for event in ds.journal.read("t")][2:] == [CHOICE, "Noted.", "still here", "yes"]
    assert ds.threads.check("t").findings == []
    caplog.clear()
    graph.invoke(said("I choose option C."), CONFIG)
    assert "stays behind" not in caplog.text
    assert ds.handover.card("t").version == 1
    assert any("option C" in text for text in decisions(ds))


async def test_the_same_on_the_event_loop(ads, store_url, caplog):
    graph, (broken, mended) = graph_of(ads), BREAKS["unwritable"]
    await graph.ainvoke(said("hello"), CONFIG)
    alter(ads, store_url, broken)
    await graph.ainvoke(said(CHOICE), CONFIG)
    assert "stays behind" in caplog.text
    alter(ads, store_url, mended)
    await graph.ainvoke(said("I choose option C."), CONFIG)
    assert (await ads.handover.acard("t")).version == 1


def test_wherever_in_a_put_the_card_fails(put, caplog):
    """Each step of the card in turn, as a driver would fail it; the steps of the put itself still fail the put."""
    store = FaultyStore(open_store("memory://"))
    fault = RaiseError(lambda: sqlite3.OperationalError("disk I/O error"))
    with connect_over(store) as ds:

        def broken_at(*armed: Any) -> list[str]:
            store.arm(*armed)
            try:
                put(ds, f"t{armed[:1]}", messages=[HumanMessage(CHOICE, id="m")])
            finally:
                store.disarm()
            return [point.step for point in store.trail]

        put(ds, "first", messages=[HumanMessage("so that the forms are there", id="m")])
        trail = broken_at()
        first, last = trail.index("part_begin") + 1, trail.index("part_end") + 1
        assert "card_save" in trail[first:last]
        for number in range(first + 1, last):
            caplog.clear()
            broken_at(number, fault)
            assert "stays behind (OperationalError: disk I/O error)" in caplog.text, trail[number - 1]
            (event,) = ds.journal.read(f"t({number},)")
            assert event.text == CHOICE
            assert ds.threads.check(f"t({number},)").findings == []
        with pytest.raises(errors.StoreError):
            broken_at(first - 1, fault)
        with pytest.raises(errors.ThreadNotFound):
            ds.journal.read(f"t({first - 1},)")


def test_what_the_rules_break_on_is_passed_over(ds, monkeypatch, caplog):
    """One event that cannot be heard stops neither the card nor its readers."""

    def fragile(notes: Any, told: Any, deciders: Any) -> Any:
        if any("poison" in one.text for one in told):
            raise RecursionError("too deep")
        return hear(notes, told, deciders)

    monkeypatch.setattr(cards, "hear", fragile)
    graph = graph_of(ds)
    graph.invoke(said("Let's go with option A."), CONFIG)
    graph.invoke(said("Let's go with poison."), CONFIG)
    graph.invoke(said(CHOICE), CONFIG)
    assert "event #3 of thread 't' could not be heard for its card (RecursionError: too deep)" in caplog.text
    assert decisions(ds) == [CHOICE]
    assert ds.handover.card("t").last_event_id == 6


@pytest.mark.parametrize("module", [arrivals, journal])
def test_a_quick_look_that_breaks_costs_nobody_a_write(ds, monkeypatch, caplog, module):
    def broken(text: str) -> bool:
        raise RecursionError("too deep")

    graph = graph_of(ds)
    graph.invoke(said("hello"), CONFIG)
    with monkeypatch.context() as patch:
        patch.setattr(module, "stirs", broken)
        graph.invoke(said(CHOICE), CONFIG)
        event = journal.NewEvent(kind=journal.Kind.MESSAGE, author="user", tree="hi", text="hi")
        op = partial(journal.append, ds.scope(), "t", [event], create=False, fence=None)
        ds.store_backend.run(op, write=True)
    assert "was not looked at for its card (RecursionError: too deep)" in caplog.text
    assert len(ds.journal.read("t")) == 5
    assert stirs(CHOICE)


ODD = {
    "a lone surrogate": f"{CHOICE} \ud800\udfff",
    "NUL and controls": f"{CHOICE} \x00\x1a\x1b[31m",
    "huge": CHOICE + " word" * 400_000,
    "deep brackets": f"{CHOICE} " + "[({" * 3000,
}


@pytest.mark.parametrize("name", sorted(ODD))
def test_a_decision_in_odd_text_is_heard(name, caplog):
    with dalsegno.connect("memory://") as ds:
        graph_of(ds).invoke(said(ODD[name]), CONFIG)
        assert [text for text in decisions(ds) if text.startswith("Let's go with option B")]
        assert ds.handover.card("t").version == 1
        assert ds.threads.check("t").findings == []
    assert not caplog.records


def test_what_a_card_keeps_of_one_text_is_bounded(ds):
    """Also where the tokens of a text say nothing of its length, and of names that others chose."""
    graph = graph_of(ds)
    block = {"type": "file", "file": {"filename": "x" * 100_000, "file_id": "f-1"}}
    graph.invoke({"messages": [HumanMessage([{"type": "text", "text": "\x1b" * 100_000}, block])]}, CONFIG)
    graph.invoke(said(CHOICE), CONFIG)
    ds.journal.append("t", "todo", "ana", {"text": "a list", "owner": "o" * 100_000, "due": "d" * 100_000})
    ds.handover.refresh("t")
    (body,) = [columns[-1] for columns in ds.store_backend.run(all_cards, write=False)]
    assert len(body) < 10_000


def all_cards() -> Any:
    return (yield dalsegno.contracts.Step("cards_all", {"tenant": 1, "thread": 1}))


def test_a_card_reads_so_much_at_once_and_the_rest_later(monkeypatch):
    """Many long messages in one checkpoint do not hold the thread for as long as it takes to hear them all."""
    monkeypatch.setattr(cards, "READS", 3000)
    with dalsegno.connect("memory://") as ds:
        graph = graph_of(ds)
        graph.invoke({"messages": [HumanMessage("We need 12,500 EUR. " * 25) for _ in range(50)]}, CONFIG)
        ((_, cursor, *_),) = ds.store_backend.run(all_cards, write=False)
        assert cursor == 6
        graph.invoke(said("x" * 10_000 + CHOICE), CONFIG)
        ds.handover.refresh("t")
        ((_, cursor, *_),) = ds.store_backend.run(all_cards, write=False)
        assert cursor == 53
