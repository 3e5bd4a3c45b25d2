"""Rows written by another hand never import or call anything, never hang, and are reported as what they are."""

from __future__ import annotations

import builtins
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

import dalsegno
from dalsegno.errors import Damaged, StateShapeError, UnknownType
from dalsegno.services.memo import Memo

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}
REPORTED = (UnknownType, Damaged, StateShapeError)


@contextmanager
def nothing_imported_or_called(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a hostile row would like to have happen, made an error of its own kind."""
    before = set(sys.modules)

    def caught(name: str, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"called: {name} {args}")

    with monkeypatch.context() as patched:
        for module, name in (
            ("os", "system"),
            ("subprocess", "Popen"),
            ("builtins", "eval"),
            ("builtins", "exec"),
            ("shutil", "rmtree"),
        ):
            if module != "builtins" or name not in ("eval", "exec"):
                patched.setattr(f"{module}.{name}", lambda *args, name=name, **kwargs: caught(name, *args))
        real = builtins.__import__

        def importing(name: str, *args: Any, **kwargs: Any) -> Any:
            assert name.partition(".")[0] not in ("antigravity", "this", "wsgiref", "turtledemo"), name
            return real(name, *args, **kwargs)

        patched.setattr(builtins, "__import__", importing)
        yield
    assert not {"antigravity", "this", "turtledemo"} & (set(sys.modules) - before)


@contextmanager
def soon_and_small() -> Iterator[None]:
    """Within seconds and without hundreds of megabytes."""
    started, peak = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert time.monotonic() - started < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 200_000


TAGS = [
    {"$obj": "os:system", "args": ["touch /tmp/pwned"]},
    {"$type": "os:system", "$value": "touch /tmp/pwned"},
    {"$type": "builtins:eval", "$value": "__import__('antigravity')"},
    {"$type": "antigravity:fly"},
    {"$type": "subprocess:Popen", "args": ["ls"]},
    {"$type": "langgraph:Send", "node": {"$type": "os:system"}, "arg": 1},
    {"$class": "os:system"},
    {"$class": "turtledemo"},
    {"$enum": "os:system", "name": "x"},
    {"$data": "shutil:rmtree", "path": "/tmp/x"},
    {"$model": "this:x"},
    {"$exc": "os:system"},
    {"$pickle": "gASVJQAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjApscyAvdG1wL3iUhZRSlC4="},
    {"$m": "os:system", "content": "x"},
    {"$m": "human"},
    {"$m": ["human"]},
    {"$unknown": 1},
    {"$": 1},
    {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "ls"}, "$x": 1},
    {"$ndarray": "x", "dtype": "O", "shape": [10**12]},
    {"$np": {"dtype": "V1000000000000", "data": ""}},
    {"$set": 7},
    {"$tuple": "no"},
    {"$int": "x" * 10},
    {"$keys": [5], "a": 1},
    {"$keys": "a", "a": 1},
    {"$re": "(" * 200},
]
POINTERS = [
    {"$ref": 10**6},
    {"$ref": -1},
    {"$ref": 10**30},
    {"$ref": "1"},
    {"$ref": None},
    {"$ref": [1]},
    {"$ref": 1.5},
    {"$ref": True},
    {"$list": [[1, 1, 10**9]]},
    {"$list": [[1, 1, 2**31 - 1]]},
    {"$list": [[1, -(10**9), 10**9]]},
    {"$list": [[1, 1, 10**18]]},
    {"$list": [[10**18, 1, 1]]},
    {"$list": [[1, 2, 1]]},
    {"$list": [[77, 1, 1]]},
    {"$list": [[1]]},
    {"$list": [1]},
    {"$list": 1},
    {"$list": "abc"},
    {"$list": {"a": 1}},
    {"$list": None},
    {"$list": [["1", "1", "1"]]},
    {"$list": [[1.0, 1.5, 2.5]]},
    {"$list": [[None, None, None]]},
    {"$dict": [[1, 1, 10**9]]},
    {"$dict": [[1, 1, 1]]},
    {"$dict": 7},
    {"$blob": "00"},
    {"$blob": "zz"},
    {"$blob": 7},
    {"$blob": "00" * 32},
    {"$chunk": [1, 2]},
    {"$chunk": 7},
]
SHAPES = [7, "text", [], [1, 2], None, True, {"messages": 1, "deep": "x"}]


def filled(ds: Any, put: Any) -> dict[str, Any]:
    config = put(
        ds,
        "t",
        metadata={"source": "loop", "step": 1, "note": {"deep": "x" * 400}},
        messages=[HumanMessage(f"message {n}", id=str(n)) for n in range(4)],
        other={"text": "long " * 100},
    )
    ds.checkpointer.put_writes(config, [("other", {"text": "short"})], "task")
    ds.journal.append("t", "note", "someone", {"text": "note"})
    return config


def readers(ds: Any) -> list[Callable[[], Any]]:
    saver = ds.checkpointer
    return [
        lambda: saver.get_tuple(CONFIG),
        lambda: list(saver.list(CONFIG)),
        lambda: ds.threads.state("t"),
    ]


def fresh(ds: Any) -> None:
    ds.checkpointer._memo = ds.checkpointer._rebuilder._memo = Memo()


def must_fail(ds: Any, reads: list[Callable[[], Any]], planted: Any = None) -> None:
    for read in reads:
        fresh(ds)
        with soon_and_small():
            try:
                found = read()
            except REPORTED:
                continue
        pytest.fail(f"{str(planted)[:200]} was read as {str(found)[:200]}")


def test_a_channel_with_a_hostile_tag_is_refused(ds, put, execute, monkeypatch):
    filled(ds, put)
    (state,) = execute("SELECT state FROM ds_checkpoints")[0]
    *others, _ = nodes = json.loads(state)
    with nothing_imported_or_called(monkeypatch):
        for hostile in TAGS:
            for planted in (hostile, [hostile], {"deep": [{"er": hostile}]}):
                execute("UPDATE ds_checkpoints SET state = ?", json.dumps([*others, planted]))
                must_fail(ds, readers(ds), planted)
    execute("UPDATE ds_checkpoints SET state = ?", json.dumps(nodes))
    fresh(ds)
    assert ds.threads.state("t")["other"] == {"text": "long " * 100}


def test_a_pointer_that_leads_nowhere_or_everywhere_is_damage(ds, put, execute):
    filled(ds, put)
    (state,) = execute("SELECT state FROM ds_checkpoints")[0]
    *others, _ = json.loads(state)
    for hostile in POINTERS:
        for planted in (hostile, [hostile], {"deep": [{"er": hostile}]}):
            execute("UPDATE ds_checkpoints SET state = ?", json.dumps([*others, planted]))
            must_fail(ds, readers(ds), planted)
            with soon_and_small():
                assert not ds.threads.check("t").clean, hostile


def test_a_state_or_frame_of_another_shape_is_damage(ds, put, execute):
    filled(ds, put)
    (state, frame) = execute("SELECT state, frame FROM ds_checkpoints")[0]
    state, frame = (each if isinstance(each, str) else json.dumps(each) for each in (state, frame))
    for column, real in (("state", state), ("frame", frame)):
        for hostile in (*SHAPES[:-1], {"a": 1}, [1, 2, 3, 4, 5, 6], [None, [1], [[2]], "x"], [4, {}, {}, {}]):
            if column == "state" and hostile == [1, 2]:  # two channels, two nodes
                continue
            execute(f"UPDATE ds_checkpoints SET {column} = ?", json.dumps(hostile))
            must_fail(ds, readers(ds)[:2] if column == "frame" else readers(ds))
            assert not ds.threads.check("t").clean, (column, hostile)
        execute(f"UPDATE ds_checkpoints SET {column} = ?", real)
    fresh(ds)
    assert ds.threads.check("t").clean


def test_an_item_with_a_hostile_body_is_refused(ds, put, execute, monkeypatch):
    filled(ds, put)
    (body,) = execute("SELECT body FROM ds_items WHERE lane = 1 AND pos = 1")[0]
    body = body if isinstance(body, str) else json.dumps(body)
    with nothing_imported_or_called(monkeypatch):
        for hostile in [*TAGS, *POINTERS]:
            execute("UPDATE ds_items SET body = ? WHERE lane = 1 AND pos = 1", json.dumps(hostile))
            if hostile != {"$chunk": [1, 2]}:  # which may stand there
                must_fail(ds, readers(ds), hostile)
            with soon_and_small():
                ds.threads.check("t")
    execute("UPDATE ds_items SET body = ? WHERE lane = 1 AND pos = 1", body)
    fresh(ds)
    assert len(ds.threads.state("t")["messages"]) == 4


def test_items_that_lead_in_circles_or_explode_are_damage(ds, put, execute):
    filled(ds, put)
    here = {"$list": [[1, 1, 1]]}
    cases = [
        [here, 1],
        {"a": here},
        {"$list": [[1, 1, 1]]},
        [{"$list": [[1, 2, 2]] * 1000}],
        [{"$list": [[1, 2, 4]] * 3000}],
    ]
    for case in cases:
        execute("UPDATE ds_items SET body = ? WHERE lane = 1", json.dumps(case))
        must_fail(ds, readers(ds), case)
        with soon_and_small():
            ds.threads.check("t")
    # Each item a thousand times the next one: a thousand to the fourth in the end.
    for pos in (1, 2, 3):
        execute(
            "UPDATE ds_items SET body = ? WHERE lane = 1 AND pos = ?",
            json.dumps([{"$list": [[1, pos + 1, pos + 1]] * 1000}]),
            pos,
        )
    must_fail(ds, readers(ds))
    with soon_and_small():
        ds.threads.check("t")
    # Strings in the pool that are no strings, each ten thousand times the next.
    positions = [pos for (pos,) in execute("SELECT pos FROM ds_items WHERE lane = 0 ORDER BY pos")]
    for one, two in zip(positions, positions[1:] + positions[:1], strict=True):
        execute("UPDATE ds_items SET body = ? WHERE lane = 0 AND pos = ?", json.dumps([{"$ref": two}] * 3000), one)
    must_fail(ds, readers(ds))
    with soon_and_small():
        ds.threads.check("t")


def test_metadata_and_writes_of_another_hand_are_refused(ds, put, execute, monkeypatch):
    filled(ds, put)
    meta = execute("SELECT meta FROM ds_checkpoints")[0][0]
    (body,) = execute("SELECT body FROM ds_items WHERE lane = 0 AND pos = ?", meta)[0]
    (written,) = execute("SELECT body FROM ds_writes")[0]
    body, written = (each if isinstance(each, str) else json.dumps(each) for each in (body, written))
    with nothing_imported_or_called(monkeypatch):
        for hostile in [*TAGS, *POINTERS[:30]]:
            execute("UPDATE ds_items SET body = ? WHERE lane = 0 AND pos = ?", json.dumps({"note": hostile}), meta)
            must_fail(ds, readers(ds)[:2], hostile)
            with soon_and_small(), pytest.raises(REPORTED):
                list(ds.checkpointer.list(CONFIG, filter={"note": 1}))
        execute("UPDATE ds_items SET body = ? WHERE lane = 0 AND pos = ?", body, meta)
        for hostile in [*TAGS, *POINTERS[:30]]:
            execute("UPDATE ds_writes SET body = ?", json.dumps({"writes": [[0, "other", hostile]]}))
            must_fail(ds, readers(ds)[:2], hostile)
        for shape in [*(shape for shape in SHAPES if shape != []), {"writes": 7}, {"writes": [7]}, {"writes": [[1, 2]]}, {"writes": [["0", "x", 1]]},
                      {"writes": [[0, 7, 1]]}, {"writes": [], "task": 7}, {"writes": [], "path": "zz"}]:  # fmt: skip
            execute("UPDATE ds_writes SET body = ?", json.dumps(shape))
            must_fail(ds, readers(ds)[:2], shape)
            assert not ds.threads.check("t").clean, shape
    execute("UPDATE ds_writes SET body = ?", written)
    fresh(ds)
    assert ds.checkpointer.get_tuple(CONFIG).pending_writes == [("task", "other", {"text": "short"})]


def test_events_of_another_hand_are_refused(ds, put, execute, monkeypatch):
    filled(ds, put)
    lane, pos = execute("SELECT lane, pos FROM ds_events ORDER BY seq DESC LIMIT 1")[0]
    with nothing_imported_or_called(monkeypatch):
        for hostile in [*TAGS, *POINTERS]:
            execute("UPDATE ds_items SET body = ? WHERE lane = ? AND pos = ?", json.dumps(hostile), lane, pos)
            with soon_and_small():
                try:
                    *before, last = ds.journal.read("t")
                except REPORTED:
                    continue
            # An event of a type that is not known here keeps the others readable, and says what it is.
            assert last.payload.tree == hostile
            assert [event.text for event in before] == [f"message {n}" for n in range(4)]
    execute("UPDATE ds_events SET kind = 99")
    with pytest.raises(Damaged):
        ds.journal.read("t")
    assert "kind" in {finding.kind for finding in ds.threads.check("t").findings}


def test_a_graph_reports_a_hostile_row_and_writes_nothing(ds, execute):
    builder = StateGraph(MessagesState)
    builder.add_node("work", lambda _: {"messages": [HumanMessage("done")]})
    builder.add_edge(START, "work")
    graph = builder.compile(checkpointer=ds.checkpointer)
    graph.invoke({"messages": [HumanMessage("one")]}, CONFIG)
    count = len(ds.threads.checkpoints("t"))
    execute(
        "UPDATE ds_items SET body = ? WHERE lane > 0 AND pos = 1", json.dumps({"$type": "os:system", "$value": "ls"})
    )
    fresh(ds)
    with pytest.raises(UnknownType, match="os:system"):
        graph.invoke({"messages": [HumanMessage("two")]}, CONFIG)
    assert len(ds.threads.checkpoints("t")) == count


def test_a_blob_that_is_gone_or_changed_is_found(ds, put, execute):
    put(ds, "t", image="i" * 100_000)
    execute("UPDATE ds_blobs SET body = ?", "changed")
    assert {finding.kind for finding in ds.threads.check("t").findings} == {"digest"}
    execute("DELETE FROM ds_blobs")
    with pytest.raises(Damaged, match="blob"):
        ds.threads.state("t")
    assert "dangling" in {finding.kind for finding in ds.threads.check("t").findings}


def test_json_that_is_none_is_damage(ds, put, execute, store_url):
    if store_url.startswith("postgres"):
        pytest.skip("a jsonb column holds JSON")
    filled(ds, put)
    for statement in ("UPDATE ds_writes SET body = ?", "UPDATE ds_items SET body = ? WHERE lane = 1",
                      "UPDATE ds_checkpoints SET frame = ?", "UPDATE ds_checkpoints SET state = ?"):  # fmt: skip
        for text in ("", "{", "[1,", "\x00", "nul", "[" * 100_000, "1" * 10_000):
            execute(statement, text)
            fresh(ds)
            with soon_and_small(), pytest.raises(REPORTED):
                list(ds.checkpointer.list(CONFIG))
            with soon_and_small():
                assert not ds.threads.check("t").clean


def test_damage_names_its_place():
    with dalsegno.connect("memory://") as ds:
        ds.journal.append("t", "note", "someone", "x")
        ds.store_backend._writer.execute("DELETE FROM ds_items")
        (finding, *_) = ds.threads.check("t").findings
        assert (finding.thread_id, finding.kind, finding.place) == ("t", "dangling", "event #1")
