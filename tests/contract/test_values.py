"""Any supported value, anywhere in a checkpoint, comes back equal and of equal type; any other is refused by its path."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

import dalsegno
from dalsegno.errors import NotSerializable
from dalsegno.services.memo import Memo

pytest.register_assert_rewrite("tests.property.test_codec")
from tests.property.test_codec import same, values  # noqa: E402 - the codec's own values and its sense of equality

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


def test_every_supported_value_survives_in_state_metadata_and_writes(ds, put):
    numbers = iter(range(10**9))

    @settings(
        max_examples=max(settings.default.max_examples // 2, 10), suppress_health_check=list(HealthCheck), deadline=None
    )
    @given(st.lists(values, min_size=1, max_size=5))
    def survives(drawn: list[Any]) -> None:
        thread = f"t{next(numbers)}"
        given_values = {f"v{n}": value for n, value in enumerate(drawn)}
        given_values |= {
            "list": drawn,
            "deep": {"list": [drawn], "pad": "x" * 2000},
            "messages": [HumanMessage("m"), *drawn],
        }
        writes = [(f"w{n}", value) for n, value in enumerate(drawn)]
        metadata = {"source": "loop", "step": 1, "value": drawn[0], "many": drawn}
        config = put(ds, thread, metadata=metadata, **given_values)
        ds.checkpointer.put_writes(config, writes, "task")
        again = put(ds, thread, config, metadata=metadata, **given_values)
        for memo in (ds.checkpointer._memo, Memo()):
            ds.checkpointer._memo = ds.checkpointer._rebuilder._memo = memo
            for at in (config, again):
                found = ds.checkpointer.get_tuple(at)
                assert same(
                    found.checkpoint["channel_values"], ordered(given_values, found.checkpoint["channel_values"])
                )
                assert same({key: found.metadata[key] for key in metadata}, metadata)
            written = ds.checkpointer.get_tuple(config).pending_writes
            assert same([(channel, value) for _, channel, value in written], writes)
            listed = list(ds.checkpointer.list({"configurable": {"thread_id": thread}}))
            for found in listed:
                assert same(
                    found.checkpoint["channel_values"], ordered(given_values, found.checkpoint["channel_values"])
                )
        event = ds.journal.append(thread, "note", "someone", drawn)
        assert same(event.payload, drawn)
        assert ds.threads.check(thread).findings == []
        ds.checkpointer.delete_thread(thread)

    survives()


def ordered(channels: dict[str, Any], like: dict[str, Any]) -> dict[str, Any]:
    """Channels have no order."""
    return {name: channels[name] for name in like} | channels


class Unknown:
    """A class nobody registered, of a kind that cannot be looked into."""

    __slots__ = ("x",)

    def __reduce__(self) -> Any:
        raise AssertionError("pickled")


REFUSED: list[Any] = [
    threading.Lock(),
    open,
    lambda: 1,
    (n for n in ()),
    Unknown(),
    type("Local", (list,), {})(),
    memoryview(b"x"),
    collections.UserDict(),
]


async def test_what_cannot_be_stored_is_refused_with_its_path_and_nothing_is_written(ads, checkpoint, put, call):
    config = put(ads, "t", fine=1)
    at = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for bad in REFUSED:
        made = checkpoint(fine=2, deep={"list": [1, {"key": bad}]})
        with pytest.raises(NotSerializable, match=r"^state\.deep\.list\[1\]\.key \(") as told:
            await call(ads.checkpointer, "put", config, made, {}, made["channel_versions"])
        assert told.value.path == "state.deep.list[1].key"
        made = checkpoint(messages=[HumanMessage("x"), AIMessage("y", additional_kwargs={"bad": bad})])
        with pytest.raises(NotSerializable, match=r"^state\.messages\[1\]\.additional_kwargs\.bad \("):
            await call(ads.checkpointer, "put", config, made, {}, made["channel_versions"])
        with pytest.raises(NotSerializable, match=r"^metadata\.bad\[0\] \("):
            await call(ads.checkpointer, "put", config, checkpoint(fine=2), {"bad": [bad]}, {"fine": 2})
        with pytest.raises(NotSerializable, match=r"^writes\.channel\[0\] \("):
            await call(ads.checkpointer, "put_writes", config, [("fine", 1), ("channel", [bad])], "task")
        with pytest.raises(NotSerializable, match=r"^payload\[0\] \("):
            await call(ads.journal, "append", "t", "note", "someone", [bad])
    assert [found.checkpoint["channel_values"] for found in ads.checkpointer.list(at)] == [{"fine": 1}]
    assert ads.checkpointer.get_tuple(CONFIG).pending_writes == []
    assert ads.journal.read("t") == []
    assert ads.threads.check().clean


def test_a_refused_message_does_not_spoil_the_next_put(ds, put):
    config = put(ds, "t", messages=[HumanMessage("one", id="1")])
    messages = ds.checkpointer.get_tuple(config).checkpoint["channel_values"]["messages"]
    with pytest.raises(NotSerializable):
        put(ds, "t", config, messages=[*messages, HumanMessage("two", id="2", additional_kwargs={"bad": open})])
    put(ds, "t", config, messages=[*messages, HumanMessage("two", id="2")])
    assert [message.content for message in ds.threads.state("t")["messages"]] == ["one", "two"]
    assert [event.text for event in ds.journal.read("t")] == ["one", "two"]


@dalsegno.register
@dataclasses.dataclass
class Order:
    lines: list[Any]
    total: decimal.Decimal
    at: dt.datetime


def test_a_value_grows_from_small_to_large_and_back_without_changing_type(ds, put):
    at = dt.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=dt.UTC)
    parent = None
    for count in (0, 1, 3, 100, 1000, 70, 64, 63, 2, 0):
        drawn = {
            "order": Order([{"n": n, "text": "x" * (n % 300)} for n in range(count)], decimal.Decimal("1.10"), at),
            "tuple": tuple(range(count)),
            "set": set(range(count)),
            "list": list(range(count)),
            "floats": [n / 7 for n in range(count)],
            "mixed": [n if n % 2 else None for n in range(count)],
            "table": {f"key {n}": (n, [n]) for n in range(count)},
            "numbers": {n: str(n) for n in range(count)},
            "text": "é" * count * 20,
            "bytes": bytes(count * 40),
        }
        parent = put(ds, "t", parent, **drawn)
        ds.checkpointer._memo = ds.checkpointer._rebuilder._memo = Memo()
        found = ds.threads.state("t")
        assert same(found, ordered(drawn, found))
    assert ds.threads.check().clean
