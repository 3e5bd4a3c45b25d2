"""Claim: what is stored follows what is new: equal values once, whoever holds them; a changed list its changed elements."""

from __future__ import annotations

import copy
import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.base.id import uuid6
from langgraph.graph import START, StateGraph

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


@pytest.fixture
def kept(ds: Any, execute: Any) -> Any:
    """Puts a channel's values one after the other; returns items and bytes that each one brought."""

    def put(values: Sequence[Any]) -> list[tuple[int, int]]:
        sizes, parent = [(0, 0)], None
        for version, value in enumerate(values, 1):
            made = str(uuid6())
            checkpoint = {
                "v": 4, "id": made, "ts": "2026-01-01T00:00:00+00:00", "channel_values": {"a": value},
                "channel_versions": {"a": version}, "versions_seen": {}, "updated_channels": ["a"],
            }  # fmt: skip
            conf = CONFIG["configurable"] if parent is None else {**CONFIG["configurable"], "checkpoint_id": parent}
            ds.checkpointer.put({"configurable": conf}, checkpoint, {"source": "loop", "step": version}, {"a": version})
            parent = made
            assert ds.threads.state("t") == {"a": value}
            sizes.append(
                tuple(execute("SELECT count(*), coalesce(sum(length(CAST(body AS text))), 0) FROM ds_items")[0])
            )
        assert ds.threads.check().clean
        return [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(sizes)]

    return put


def test_input_write_and_state_share_one_item(ds, execute):
    class State(TypedDict, total=False):
        question: str
        attachments: list[dict[str, str]]
        plan: list[str]

    def plan(state: State) -> State:
        return {"plan": [f"step {n}: look at attachment {n} and write down what it says" for n in range(5)]}

    builder = StateGraph(State).add_node(plan).add_edge(START, "plan")
    graph = builder.compile(checkpointer=ds.checkpointer)
    given = {
        "question": "What do the three attachments say about the second quarter, and where do they contradict each other?",
        "attachments": [{"id": f"a{n}", "kind": "table", "ref": f"s3://reports/2024/{n}.csv"} for n in range(3)],
    }
    graph.invoke(given, CONFIG)
    bodies = [row[0] if isinstance(row[0], str) else str(row[0]) for row in execute("SELECT body FROM ds_items")]
    assert len(bodies) == 3  # the question, the attachments, the plan
    texts = "".join(
        str(row) for row in execute("SELECT body FROM ds_writes") + execute("SELECT state FROM ds_checkpoints")
    )
    assert "s3://" not in texts
    assert "contradict" not in texts
    assert "look at" not in texts


def test_a_record_that_changes_is_stored_alone(kept):
    todo = [{"text": f"look at document number {n} and sum it up", "done": False, "id": n} for n in range(40)]
    states = [todo]
    for place in (3, 17, 39):
        states.append(copy.deepcopy(states[-1]))
        states[-1][place]["done"] = True
    first, *changes = kept(states)
    assert first[0] == 40
    assert [items for items, _ in changes] == [1, 1, 1]


def test_a_list_of_scalars_that_shifts_keeps_its_chunks(kept):
    words = [f"word number {n}" for n in range(400)]
    first, *changes = kept([words, words[1:], words[2:], ["new", *words[2:]], [*words[2:200], "mid", *words[200:]]])
    assert first[0] < 12
    assert all(items <= 2 for items, _ in changes)
    assert sum(size for _, size in changes) < 3 * 1024 + first[1] // 4


@pytest.mark.parametrize(
    "element", [7, "a word", {"n": 1, "text": "a record"}, "long " * 60], ids=["int", "word", "record", "long"]
)
def test_a_list_that_grows_costs_what_is_new(kept, element):
    grown = kept([[_other(element, n) for n in range(length)] for length in range(1, 120)])
    late = sum(size for _, size in grown[60:]) / 59
    early = sum(size for _, size in grown[20:60]) / 40
    assert late <= 2 * early + 64


def _other(element: Any, number: int) -> Any:
    """One like it that differs."""
    return (
        element + number
        if isinstance(element, int)
        else {**element, "n": number}
        if isinstance(element, dict)
        else f"{element}{number}"
    )


def test_many_references_to_one_text_share_items(kept):
    ((items, size),) = kept([["the same long text " * 20] * 20_000])
    assert items < 400
    assert size < 20_000 * 14


def test_equal_elements_in_ever_other_numbers_are_stored_in_time(kept):
    zeros = [0] * 30_000
    kept([zeros, [int(n % 400 == 0) for n in range(30_000)], zeros])


def test_what_a_reducer_adds_is_stored_once_more_at_most(ds, execute):
    class State(TypedDict):
        log: Annotated[list[str], operator.add]

    def note(state: State) -> Any:
        return {"log": [f"entry {len(state['log'])}: " + "what happened " * 4]}

    builder = StateGraph(State).add_node(note).add_edge(START, "note")
    graph = builder.compile(checkpointer=ds.checkpointer)
    for _ in range(60):
        graph.invoke({"log": []}, CONFIG)
    state = graph.get_state(CONFIG).values["log"]
    ((size,),) = execute("SELECT sum(length(CAST(body AS text))) FROM ds_items")
    assert size <= 2 * sum(len(entry) + 2 for entry in state) + 2048


def test_a_large_value_that_a_node_writes_again_costs_its_changes(ds, execute):
    class State(TypedDict, total=False):
        book: dict[str, Any]

    def write(state: State) -> State:
        book = copy.deepcopy(
            state.get("book") or {"rows": [{"n": n, "text": f"row {n}: " + "word " * 12} for n in range(200)]}
        )
        book["rows"][len(book["rows"]) // 2]["n"] += 1
        book["rows"].append({"n": len(book["rows"]), "text": f"row {len(book['rows'])}: " + "word " * 12})
        return {"book": book}

    builder = StateGraph(State).add_node(write).add_edge(START, "write")
    graph = builder.compile(checkpointer=ds.checkpointer)
    for _ in range(2):
        graph.invoke({}, CONFIG)
    weigh = (
        "SELECT (SELECT sum(length(CAST(body AS text))) FROM ds_items) + (SELECT sum(length(body)) FROM ds_writes)"
        " + (SELECT sum(length(state)) FROM ds_checkpoints)"
    )
    before = execute(weigh)[0][0]
    for _ in range(20):
        graph.invoke({}, CONFIG)
    # Two records and the list's ranges, in the write and in the state; the whole value is 20 KB.
    assert (execute(weigh)[0][0] - before) / 20 < 4096
    book = graph.get_state(CONFIG).values["book"]
    assert (len(book["rows"]), book["rows"][-1]["n"]) == (222, 221)
    writes = [
        each
        for each in ds.checkpointer.get_tuple(graph.get_state(CONFIG).parent_config).pending_writes
        if each[1] == "book"
    ]
    assert writes[0][2] == book
    ds.checkpointer.prune(["t"])
    assert graph.get_state(CONFIG).values["book"] == book
    assert ds.threads.check().clean
