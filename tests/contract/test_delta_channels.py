"""Delta channels are rebuilt from what is stored: after hundreds of turns, forks, restarts and pruning."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Overwrite, interrupt

import dalsegno
from dalsegno.contracts import Step
from dalsegno.errors import Refused

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}

pytestmark = pytest.mark.filterwarnings("ignore:.*[Bb]eta.*")


def joined(state: list[Any], writes: Sequence[Any]) -> list[Any]:
    return [*state, *(item for write in writes for item in write)]


def graph_of(saver: Any, *, frequency: int = 20, ask: bool = False) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        messages = Annotated[list[Any], DeltaChannel(joined, snapshot_frequency=frequency)]
        rare = Annotated[list[Any], DeltaChannel(joined, snapshot_frequency=3)]
        schema: Any = TypedDict("State", {"messages": messages, "rare": rare, "turn": int}, total=False)

        def answer(state: Any) -> Any:
            count = len(state["messages"])
            told = [interrupt("?")] if ask else []
            update: dict[str, Any] = {"messages": [AIMessage(f"answer {count} " + "word " * 20, id=f"a{count}"), *told]}
            if count % 20 == 1:
                update["rare"] = [count]
            return update

        builder = StateGraph(schema)
        builder.add_node("answer", answer)
        builder.add_edge(START, "answer")
        return builder.compile(checkpointer=saver)


def say(graph: Any, turns: range, config: Any = CONFIG, **settings: Any) -> Any:
    found = None
    for turn in turns:
        found = graph.invoke(
            {"messages": [HumanMessage(f"turn {turn}", id=f"h{turn}")], "turn": turn}, config, **settings
        )
    return found


def shown(snapshot: Any) -> Any:
    return snapshot.values, snapshot.next, (snapshot.metadata or {}).get("step")


def test_two_hundred_and_fifty_turns_end_as_with_the_in_memory_saver(ds, store_url):
    turns = range(250 if store_url.startswith("sqlite") else 45)  # the same code: one store goes the whole way
    ours, stock = graph_of(ds.checkpointer), graph_of(InMemorySaver())
    assert say(ours, turns) == say(stock, turns)
    assert shown(ours.get_state(CONFIG)) == shown(stock.get_state(CONFIG))
    assert len(ours.get_state(CONFIG).values["messages"]) == 2 * len(turns)
    some = list(zip(ours.get_state_history(CONFIG, limit=40), stock.get_state_history(CONFIG, limit=40), strict=True))
    assert [shown(one) for one, _ in some] == [shown(two) for _, two in some]
    assert ds.threads.check().clean


def test_a_new_process_reads_any_point_and_goes_on(store_url):
    ds = dalsegno.connect(store_url)
    stock = graph_of(InMemorySaver(), frequency=7)
    say(graph_of(ds.checkpointer, frequency=7), range(30))
    say(stock, range(30))
    if store_url != "memory://":
        ds.close()
        ds = dalsegno.connect(store_url)
    ours = graph_of(ds.checkpointer, frequency=7)
    for one, two in zip(ours.get_state_history(CONFIG), stock.get_state_history(CONFIG), strict=True):
        assert shown(one) == shown(two)
    assert say(ours, range(30, 34)) == say(stock, range(30, 34))
    ds.close()


async def test_histories_are_those_of_the_in_memory_saver(ads, call):
    saver = InMemorySaver()
    ours, stock = graph_of(ads.checkpointer, frequency=5), graph_of(saver, frequency=5)
    say(ours, range(12))
    say(stock, range(12))
    for one, two in zip(list(ours.get_state_history(CONFIG)), list(stock.get_state_history(CONFIG)), strict=True):
        for channels in (["messages"], ["messages", "rare"], ["rare", "unknown"]):
            found = await call(ads.checkpointer, "get_delta_channel_history", config=one.config, channels=channels)
            expected = saver.get_delta_channel_history(config=two.config, channels=channels)
            assert {name: sorted(entry) for name, entry in found.items()} == {
                name: sorted(entry) for name, entry in expected.items()
            }
            for name, entry in expected.items():
                assert [(channel, value) for _, channel, value in found[name]["writes"]] == [
                    (channel, value) for _, channel, value in entry["writes"]
                ]
                assert found[name].get("seed") == entry.get("seed")
    assert await call(ads.checkpointer, "get_delta_channel_history", config=CONFIG, channels=[]) == {}
    nowhere = await call(
        ads.checkpointer, "get_delta_channel_history", config={"configurable": {"thread_id": "none"}}, channels=["x"]
    )
    assert nowhere == {"x": {"writes": []}}


def test_a_history_takes_a_bounded_number_of_statements(ds):
    graph = graph_of(ds.checkpointer, frequency=1000)

    def statements() -> int:
        counted = 0
        real = ds.store_backend.run

        def counting(factory: Any, **kwargs: Any) -> Any:
            def op() -> Any:
                nonlocal counted
                inner, answer = factory(), None
                try:
                    while True:
                        step = inner.send(answer)
                        counted += 1 if isinstance(step, Step) else len(step)
                        answer = yield step
                except StopIteration as end:
                    return end.value

            return real(op, **kwargs)

        ds.store_backend.run = counting
        try:
            graph.get_state(CONFIG)
        finally:
            del ds.store_backend.run
        return counted

    say(graph, range(5))
    few = statements()
    say(graph, range(5, 40))
    assert statements() <= few


def test_forks_have_histories_of_their_own(ds):
    ours, stock = graph_of(ds.checkpointer, frequency=6), graph_of(InMemorySaver(), frequency=6)
    for graph in (ours, stock):
        say(graph, range(10))
        past = list(graph.get_state_history(CONFIG))[11]
        graph.invoke({"messages": [HumanMessage("forked", id="f")]}, past.config)
        say(graph, range(20, 24))
        graph.update_state(CONFIG, {"messages": Overwrite([HumanMessage("all new", id="n")])})
        say(graph, range(30, 33))
    for one, two in zip(ours.get_state_history(CONFIG), stock.get_state_history(CONFIG), strict=True):
        assert shown(one) == shown(two)
    assert ds.threads.check().clean


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_an_interrupted_run_goes_on_with_its_whole_list(ds, durability):
    graph = graph_of(ds.checkpointer, frequency=4, ask=True)
    for turn in range(6):
        say(graph, range(turn, turn + 1), durability=durability)
        answer = dalsegno.resume(graph, "t", f"told {turn}")
    assert [item for item in answer["messages"] if isinstance(item, str)] == [f"told {turn}" for turn in range(6)]
    assert len(answer["messages"]) == 18
    assert graph.get_state(CONFIG).values["messages"] == answer["messages"]


async def test_pruning_keeps_what_the_last_state_is_rebuilt_from(ads, call):
    graph = graph_of(ads.checkpointer, frequency=8)
    say(graph, range(21))
    before = shown(graph.get_state(CONFIG))
    count = len(ads.threads.checkpoints("t"))
    await call(ads.checkpointer, "prune", ["t"])
    left = len(ads.threads.checkpoints("t"))
    assert left < count
    ads.checkpointer._memo.forget("t")
    assert shown(graph.get_state(CONFIG)) == before
    assert ads.threads.check().clean
    answer = say(graph, range(21, 25))
    assert [message.id for message in answer["messages"] if message.id.startswith("h")] == [f"h{n}" for n in range(25)]
    await call(ads.checkpointer, "prune", ["t"])
    assert shown(graph.get_state(CONFIG))[0]["messages"] == answer["messages"]


async def test_deleting_a_run_that_others_are_rebuilt_from_is_refused(ads, call):
    graph = graph_of(ads.checkpointer, frequency=100)
    for turn in range(4):
        say(graph, range(turn, turn + 1), {**CONFIG, "metadata": {"run_id": f"run {turn}"}})
    before = shown(graph.get_state(CONFIG))
    with pytest.raises(Refused, match="nothing was deleted"):
        await call(ads.checkpointer, "delete_for_runs", ["run 1"])
    assert shown(graph.get_state(CONFIG)) == before
    await call(ads.checkpointer, "delete_for_runs", ["run 3"])
    assert len(graph.get_state(CONFIG).values["messages"]) == 6
    assert ads.threads.check().clean


def test_a_copied_thread_has_its_own_history(ds):
    graph = graph_of(ds.checkpointer, frequency=9)
    say(graph, range(14))
    ds.threads.copy("t", "u")
    ds.threads.delete("t")
    copied = {"configurable": {"thread_id": "u"}}
    assert len(graph.get_state(copied).values["messages"]) == 28
    assert len(say(graph, range(14, 18), copied)["messages"]) == 36
    assert ds.threads.check().clean
