"""However a state grows, shrinks, is reordered, forked, pruned or copied: every checkpoint reads back what was put."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import uuid6

import dalsegno
from dalsegno.langgraph.checkpointer import FORK
from dalsegno.services.memo import Memo

WORDS = ["a", "b", "中文", "", "x" * 40, "long " * 60, "長い" * 50, "nul \x00", "blob " * 7000]
KEYS = ["k", "key", "$ref", "$list", "$keys", "$m", "中文", "", "a much longer key than the others", "nul \x00"]

words = st.integers(0, len(WORDS) - 1).map(lambda n: WORDS[n])
atoms = st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.sampled_from([2**63, -0.0, 1e22]), words)
small = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4), st.tuples(inner, inner)
    ),
    max_leaves=6,
)
messages = st.builds(
    lambda kind, text, number, extra: kind(content=text, id=number, additional_kwargs=extra),
    st.sampled_from([HumanMessage, AIMessage]),
    st.one_of(words, words.map(lambda word: [{"type": "text", "text": word}])),
    st.sampled_from([None, "1", "2", "3"]),
    st.sampled_from([{}, {}, {"nested": {"list": list(range(80))}}]),
)
big = st.one_of(
    st.integers(0, 200).map(lambda n: list(range(n))),
    st.integers(60, 140).map(lambda n: [f"word {k}" * 4 for k in range(n)]),
    st.integers(60, 140).map(lambda n: [k / 7 for k in range(n)]),
    st.integers(0, 60).map(lambda n: {f"key {k}": f"value {k} " * 5 for k in range(n)}),
    st.integers(0, 12).map(lambda n: {f"key {k}": [{"n": k, "text": "deep " * 30}] * 3 for k in range(n)}),
    st.lists(small, max_size=12).map(lambda part: {"inner": part * 4, "other": {"deep": [part, part]}}),
)
elements = st.one_of(small, messages, big)
values = st.one_of(elements, st.lists(elements, max_size=8), st.lists(messages, max_size=8))

EDITS = st.one_of(
    st.tuples(st.just("append"), st.lists(elements, min_size=1, max_size=4)),
    st.tuples(st.just("insert"), st.tuples(st.integers(0, 20), elements)),
    st.tuples(st.just("replace"), st.tuples(st.integers(0, 20), elements)),
    st.tuples(st.just("delete"), st.integers(0, 20)),
    st.tuples(st.just("repeat"), st.tuples(st.integers(0, 20), st.integers(0, 20))),
    st.tuples(st.just("swap"), st.tuples(st.integers(0, 20), st.integers(0, 20))),
    st.tuples(st.just("reverse"), st.none()),
    st.tuples(st.just("double"), st.none()),
    st.tuples(st.just("inside"), st.tuples(st.integers(0, 20), elements)),
    st.tuples(st.just("key"), st.tuples(st.sampled_from([*KEYS, "key 1", "key 7"]), elements)),
    st.tuples(st.just("turn"), st.none()),
    st.tuples(st.just("whole"), values),
)


def edited(value: Any, edit: tuple[str, Any]) -> Any:  # noqa: C901, PLR0912 - a table of edits
    """A value after an edit; lists and dicts are changed in place, as nodes of a graph do."""
    how, what = edit
    what = copy.deepcopy(what)
    if how == "whole":
        return what
    if isinstance(value, list):
        length = len(value)
        if how == "append":
            value.extend(what)
        elif how == "insert":
            value.insert(what[0], what[1])
        elif how == "reverse":
            value.reverse()
        elif how == "double" and length < 100:
            value.extend(copy.deepcopy(value))
        elif length and how == "replace":
            value[what[0] % length] = what[1]
        elif length and how == "delete":
            del value[what % length]
        elif length and how == "repeat":
            value.insert(what[0] % length, copy.deepcopy(value[what[1] % length]))
        elif length and how == "swap":
            a, b = what[0] % length, what[1] % length
            value[a], value[b] = value[b], value[a]
        elif length and how == "inside":
            inner = value[what[0] % length]
            if isinstance(inner, list):
                inner.append(what[1])
            elif isinstance(inner, dict):
                inner["inside"] = what[1]
            elif isinstance(inner, HumanMessage):
                inner.additional_kwargs["inside"] = what[1]
    elif isinstance(value, dict):
        if how == "key":
            value[what[0]] = what[1]
        elif how == "delete" and value:
            del value[list(value)[what % len(value)]]
        elif how == "turn":  # the same pairs in another order
            for key in sorted(value, reverse=True):
                value[key] = value.pop(key)
        elif how == "inside" and value:
            inner = value[list(value)[what[0] % len(value)]]
            if isinstance(inner, list):
                inner.append(what[1])
    elif how == "append":
        return what
    return value


class Splitting(RuleBasedStateMachine):
    """One thread, put by hand; `self.put` says what every checkpoint must read back as."""

    ds: dalsegno.Dalsegno
    count = 0

    @initialize()
    def begin(self) -> None:
        type(self).count += 1
        self.thread = f"t{self.count}"
        self.put: dict[str, dict[str, Any]] = {}
        self.runs: dict[str, str] = {}
        self.writes: dict[str, list[tuple[str, str, Any]]] = {}
        self.live: dict[str, Any] = {}
        self.versions: dict[str, int] = {}
        self.dirty: set[str] = set()

    def config(self, checkpoint_id: str | None = None, *, fork: bool = False) -> dict[str, Any]:
        conf: dict[str, Any] = {"thread_id": self.thread, "checkpoint_ns": ""}
        if checkpoint_id is not None:
            conf["checkpoint_id"] = checkpoint_id
            if fork:
                conf[FORK] = checkpoint_id
        return {"configurable": conf}

    def store(self, parent: str | None, *, fork: bool, run: str) -> None:
        made = str(uuid6())
        new = {name: self.versions[name] for name in self.dirty}
        self.ds.checkpointer.put(
            self.config(parent, fork=fork),
            {"v": 4, "id": made, "ts": "2026-01-02T03:04:05+00:00", "channel_values": self.live,
             "channel_versions": dict(self.versions), "versions_seen": {}, "updated_channels": sorted(self.dirty)},
            {"source": "loop", "step": len(self.put), "run_id": run, "note": copy.deepcopy(self.live.get("a"))},
            new,
        )  # fmt: skip
        self.dirty.clear()
        self.put[made], self.runs[made], self.writes[made] = copy.deepcopy(self.live), run, []

    def change(self, channel: str, edits: list[Any], *, fresh: bool) -> None:
        if fresh:
            self.live = copy.deepcopy(self.live)
        for edit in edits:
            self.live[channel] = edited(self.live.get(channel, []), edit)
        self.versions[channel] = self.versions.get(channel, 0) + 1
        self.dirty.add(channel)

    @property
    def head(self) -> str | None:
        return next(reversed(self.put), None)

    @rule(
        channel=st.sampled_from("ab"),
        edits=st.lists(EDITS, min_size=1, max_size=3),
        fresh=st.booleans(),
        run=st.sampled_from(["r1", "r2", "r3"]),
    )
    def go_on(self, channel: str, edits: list[Any], fresh: bool, run: str) -> None:
        self.change(channel, edits, fresh=fresh)
        self.store(self.head, fork=False, run=run)

    @precondition(lambda self: self.put)
    @rule(data=st.data(), channel=st.sampled_from("ab"), edits=st.lists(EDITS, min_size=1, max_size=3))
    def fork(self, data: st.DataObject, channel: str, edits: list[Any]) -> None:
        parent = data.draw(st.sampled_from(list(self.put)))
        self.live = self.ds.checkpointer.get_tuple(self.config(parent)).checkpoint["channel_values"]
        self.versions = dict.fromkeys(self.live, max(self.versions.values(), default=0) + 1)
        self.dirty = set(self.live)
        self.change(channel, edits, fresh=False)
        self.store(parent, fork=True, run="fork")

    @precondition(lambda self: self.put)
    @rule(data=st.data(), value=values)
    def write(self, data: st.DataObject, value: Any) -> None:
        at = data.draw(st.sampled_from(list(self.put)))
        task = f"task {len(self.writes[at])}"
        self.ds.checkpointer.put_writes(self.config(at), [("a", value)], task)
        self.writes[at].append((task, "a", copy.deepcopy(value)))

    @rule()
    def forget(self) -> None:
        """What another process knows: nothing."""
        self.ds.checkpointer._memo = self.ds.checkpointer._rebuilder._memo = Memo()

    def drop(self, gone: set[str]) -> None:
        for each in gone:
            del self.put[each], self.runs[each], self.writes[each]
        # What goes on now is what a reader of the head would hold.
        if self.head is None:
            self.live, self.versions = {}, {}
        else:
            self.live = copy.deepcopy(self.put[self.head])
            self.versions = {name: 1000 + len(self.put) for name in self.live}
        self.dirty = set(self.live)

    @precondition(lambda self: len(self.put) > 2)
    @rule()
    def prune(self) -> None:
        self.ds.checkpointer.prune([self.thread])
        self.drop(set(self.put) - {self.head})

    @precondition(lambda self: len(self.put) > 2)
    @rule(run=st.sampled_from(["r1", "r2"]))
    def delete_run(self, run: str) -> None:
        self.ds.checkpointer.delete_for_runs([run])
        self.drop({each for each in self.put if self.runs[each] == run})

    @precondition(lambda self: self.put)
    @rule()
    def copy(self) -> None:
        """Go on in a copy; the original must not notice."""
        copied = f"{self.thread}+"
        self.ds.checkpointer.copy_thread(self.thread, copied)
        self.ds.checkpointer.delete_thread(self.thread)
        self.thread = copied
        self.dirty = set(self.live)

    @invariant()
    def reads_back(self) -> None:
        if not hasattr(self, "put"):
            return
        found = list(self.ds.checkpointer.list({"configurable": {"thread_id": self.thread}}))
        assert [each.checkpoint["id"] for each in found] == list(reversed(self.put))
        for each in found:
            at = each.checkpoint["id"]
            assert_same(each.checkpoint["channel_values"], self.put[at])
            assert_same([each.metadata["note"]], [self.put[at].get("a")])
            assert_same(each.pending_writes, self.writes[at])
        if self.head is not None:
            assert_same(self.ds.threads.state(self.thread), self.put[self.head])

    def teardown(self) -> None:
        for thread in self.ds.threads.list():  # this example's own, whatever became of it
            assert self.ds.threads.check(thread.thread_id).findings == []
            self.ds.checkpointer.delete_thread(thread.thread_id)


def assert_same(found: Any, put: Any) -> None:
    assert found == put
    if isinstance(put, dict):  # channels have no order
        found, put = sorted(found.items()), sorted(put.items())
    assert repr(found) == repr(put)


@pytest.mark.parametrize("store_url", ["memory", "postgres"], indirect=True)
def test_every_checkpoint_reads_back_what_was_put(store_url):
    with dalsegno.connect(store_url) as ds:
        machine = type("Splitting", (Splitting,), {"ds": ds, "count": 0})
        base = settings()
        run_state_machine_as_test(
            machine,
            settings=settings(
                base,
                max_examples=max(base.max_examples // (2 if store_url == "memory://" else 6), 8),
                stateful_step_count=20,
                suppress_health_check=list(HealthCheck),
            ),
        )
