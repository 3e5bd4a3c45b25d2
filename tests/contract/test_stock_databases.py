"""A thread written by LangGraph's own savers is read as those savers read it, and nothing it names is imported."""

from __future__ import annotations

import ast
import json
import operator
import shutil
import sqlite3
import sys
from collections import deque
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Network
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import ormsgpack
import psycopg
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Interrupt, Overwrite, Send, interrupt
from pydantic import BaseModel

from dalsegno.errors import StoreUnavailable, TranscriptError
from dalsegno.imports import StockCheckpoint, StockThread, read_postgres, read_sqlite
from dalsegno.imports.stock_values import Decoder, Unreadable

# --- threads as LangGraph writes them ---------------------------------------------------------------


@dataclass(frozen=True)
class Ticket:
    number: int
    reason: str


class Colour(Enum):
    RED = "red"


class Order(BaseModel):
    id: str
    lines: list[int] = []


CLASSES = [Ticket, Colour, Order]


class Stock:
    """A database of LangGraph's own: its saver, and the reader under test."""

    def __init__(self, kind: str, address: Any) -> None:
        self.kind, self.address = kind, address

    @contextmanager
    def saver(self, **options: Any) -> Any:
        serde = JsonPlusSerializer(allowed_msgpack_modules=CLASSES, **options)
        if self.kind == "sqlite":
            with closing(sqlite3.connect(self.address, check_same_thread=False)) as connection:
                saver = SqliteSaver(connection, serde=serde)
                saver.setup()
                yield saver
        else:
            with PostgresSaver.from_conn_string(self.address) as saver:
                saver.serde = serde
                saver.setup()
                yield saver

    def read(self, types: Any = CLASSES) -> tuple[StockThread, ...]:
        return (read_sqlite if self.kind == "sqlite" else read_postgres)(self.address, types)

    def execute(self, statement: str, *values: Any) -> None:
        if self.kind == "sqlite":
            with closing(sqlite3.connect(self.address)) as connection:
                connection.execute(
                    statement.replace("checkpoint_writes", "writes").replace("blob =", "value ="), values
                )
                connection.commit()
        else:
            with psycopg.connect(self.address) as connection:
                connection.execute(statement.replace("?", "%s"), values)


@pytest.fixture(params=["sqlite", "postgres"])
def stock(request: pytest.FixtureRequest, tmp_path: Path) -> Stock:
    if request.param == "sqlite":
        return Stock("sqlite", tmp_path / "stock.db")
    return Stock("postgres", request.getfixturevalue("postgres_url"))


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    found: Annotated[list[str], operator.add]
    count: int
    note: str
    things: dict[str, Any]


THINGS = {
    "ticket": Ticket(7, "退款"),
    "colour": Colour.RED,
    "order": Order(id="SO1", lines=[1]),
    "set": {1, 2},
    "deque": deque([1, 2]),
    "when": datetime(2026, 9, 1, 12, 30, tzinfo=UTC),
    "local": datetime(2026, 9, 1, 12, 30, tzinfo=timezone(timedelta(hours=8))),
    "day": date(2026, 9, 1),
    "hour": time(12, 30, fold=1),
    "zone": ZoneInfo("Asia/Shanghai"),
    "span": timedelta(days=1, microseconds=5),
    "amount": Decimal("1200.50"),
    "uuid": UUID(int=7),
    "path": Path("a/b"),
    "address": IPv4Address("10.0.0.1"),
    "network": IPv6Network("fd00::/8"),
    "bytes": b"\x00\xff",
    "document": Document("text", metadata={"page": 3}),
    "send": Send("work", {"x": [Ticket(1, "y")]}),
    "overwrite": Overwrite([1]),
    "command": Command(goto="work", update={"count": 1}),
    "nested": [{"deep": [{"set": frozenset({1})}]}],
    "none": None,
    "float": 1.5,
    "chunk": AIMessageChunk("c", id="k"),
}


def agent(saver: Any) -> Any:
    """Messages, a fan-out by `Send` one branch of which stops for a person, a subgraph with a state of its own."""

    def model(state: State) -> dict[str, Any]:
        call = {"name": "look", "args": {"城市": "上海"}, "id": "c1"}
        return {"messages": [AIMessage("", tool_calls=[call])], "count": state.get("count", 0) + 1, "things": THINGS}

    def tool(state: State) -> dict[str, Any]:
        return {"messages": [ToolMessage("晴", tool_call_id="c1", name="look")], "note": "ok"}

    def fan(state: State) -> list[Send]:
        return [Send("work", {"place": place}) for place in ("a", "b", "c")]

    def work(argument: dict[str, str]) -> dict[str, Any]:
        if argument["place"] == "b":
            interrupt({"question": "上海还是北京?"})
        return {"found": [argument["place"]]}

    inner = StateGraph(State)
    inner.add_node("first", lambda state: {"note": "inside"})
    inner.add_node("second", lambda state: {"messages": [SystemMessage("from within")]})
    inner.add_edge(START, "first")
    inner.add_edge("first", "second")

    outer = StateGraph(State)
    outer.add_node("model", model)
    outer.add_node("tool", tool)
    outer.add_node("inner", inner.compile(checkpointer=True))
    outer.add_node("work", work)
    outer.add_edge(START, "model")
    outer.add_edge("model", "tool")
    outer.add_edge("tool", "inner")
    outer.add_conditional_edges("inner", fan, ["work"])
    outer.add_edge("work", END)
    return outer.compile(checkpointer=saver)


def play(stock: Stock) -> dict[str, list[CheckpointTuple]]:
    """Fill a database; return what its own saver reads from it, oldest first."""
    with stock.saver() as saver:
        graph = agent(saver)
        for thread in ("first", "第二", "fork"):
            config = {"configurable": {"thread_id": thread}}
            graph.invoke({"messages": [HumanMessage("天气?", name="张三")]}, config)
        graph.invoke(Command(resume="上海"), {"configurable": {"thread_id": "第二"}})
        past = list(graph.get_state_history({"configurable": {"thread_id": "fork"}}))[3]
        graph.invoke(None, graph.update_state(past.config, {"note": "otherwise"}))
        found: dict[str, list[CheckpointTuple]] = {}
        for each in saver.list(None):
            found.setdefault(each.config["configurable"]["thread_id"], []).insert(0, each)
        return found


def same(value: Any, other: Any) -> bool:
    """Equal in value and type, all the way down."""
    if isinstance(value, np.ndarray):
        return type(other) is np.ndarray and value.dtype == other.dtype and np.array_equal(value, other)
    if type(value) is not type(other):
        return False
    if isinstance(value, dict):
        return list(value) == list(other) and all(same(value[key], other[key]) for key in value)
    if isinstance(value, (list, tuple, deque)):
        return len(value) == len(other) and all(map(same, value, other))
    if isinstance(value, (Send, Interrupt, Command, Overwrite)):
        return value == other
    return bool(value == other)


# --- the same thread --------------------------------------------------------------------------------


def test_a_stock_thread_is_read_as_its_own_saver_reads_it(stock: Stock) -> None:
    expected = play(stock)
    threads = stock.read()
    assert [thread.thread_id for thread in threads] == ["first", "第二", "fork"]
    for thread in threads:
        read = list(thread.checkpoints())
        theirs = sorted(expected[thread.thread_id], key=lambda each: each.config["configurable"]["checkpoint_id"])
        assert thread.count == len(read) == len(theirs)
        for ours, stocks in zip(read, theirs, strict=True):
            compare(ours, stocks)
    everything = [each for thread in threads for each in thread.checkpoints()]
    assert any(each.ns.startswith("inner") for each in everything)
    assert any(write.channel == "__interrupt__" for each in everything for write in each.writes)
    assert any("__pregel_tasks" in each.checkpoint["channel_values"] for each in everything)
    assert any(same(each.checkpoint["channel_values"].get("things"), THINGS) for each in everything)


def compare(ours: StockCheckpoint, stocks: CheckpointTuple) -> None:
    place = stocks.config["configurable"]
    assert (ours.ns, ours.checkpoint_id) == (place["checkpoint_ns"], place["checkpoint_id"])
    parent = (stocks.parent_config or {"configurable": {"checkpoint_id": None}})["configurable"]["checkpoint_id"]
    assert ours.parent_id == parent
    assert same(ours.metadata, stocks.metadata)
    assert [(write.task_id, write.channel) for write in ours.writes] == [write[:2] for write in stocks.pending_writes]
    assert same([write.value for write in ours.writes], [write[2] for write in stocks.pending_writes])
    mine, theirs = dict(ours.checkpoint), dict(stocks.checkpoint)
    seen, versions = mine.pop("versions_seen"), mine.pop("channel_versions")
    assert same(mine.pop("channel_values"), theirs.pop("channel_values"))
    assert seen == {
        node: {channel: int(version.split(".")[0]) for channel, version in channels.items()}
        for node, channels in theirs.pop("versions_seen").items()
    }
    assert versions == {name: int(version.split(".")[0]) for name, version in theirs.pop("channel_versions").items()}
    assert same(mine, theirs)


def test_integer_versions_keep_the_order_of_every_channel(stock: Stock) -> None:
    expected = play(stock)["第二"]
    text: dict[str, set[tuple[str, int]]] = {}
    for thread in stock.read():
        if thread.thread_id == "第二":
            for ours in thread.checkpoints():
                [stocks] = [each for each in expected if each.checkpoint["id"] == ours.checkpoint_id]
                for channel, version in stocks.checkpoint["channel_versions"].items():
                    pair = (version, ours.checkpoint["channel_versions"][channel])
                    text.setdefault(f"{ours.ns} {channel}", set()).add(pair)
    for pairs in text.values():
        assert [number for _, number in sorted(pairs)] == sorted({number for _, number in pairs})


def test_task_paths_and_positions_of_writes_are_told(stock: Stock) -> None:
    play(stock)
    [thread] = [thread for thread in stock.read() if thread.thread_id == "first"]
    last = [each for each in thread.checkpoints() if not each.ns][-1]
    assert [(write.channel, write.idx, write.value) for write in last.writes if write.channel == "found"] == [
        ("found", 0, ["a"]),
        ("found", 0, ["c"]),
    ]
    assert len({write.task_path for write in last.writes}) == 3
    assert all(write.task_path.startswith("~__pregel_push") for write in last.writes)
    assert [write.idx for write in last.writes if write.channel == "__interrupt__"] == [-3]


def test_each_reading_starts_anew_and_readings_do_not_disturb_each_other(stock: Stock) -> None:
    play(stock)
    thread, other = stock.read()[:2]
    one, two = thread.checkpoints(), thread.checkpoints()
    assert next(one).checkpoint_id == next(two).checkpoint_id
    next(two)
    assert next(other.checkpoints()).checkpoint_id != next(one).checkpoint_id
    assert len(list(one)) == thread.count - 2


def test_reading_writes_nothing(tmp_path: Path) -> None:
    stock = Stock("sqlite", tmp_path / "stock.db")
    play(stock)
    with closing(sqlite3.connect(stock.address)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = stock.address.read_bytes()
    for thread in stock.read():
        list(thread.checkpoints())
    assert stock.address.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["stock.db"]


def test_what_a_killed_writer_left_in_its_log_is_read_and_left_there(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    live = Stock("sqlite", tmp_path / "live" / "stock.db")
    with live.saver() as saver:
        put(saver, {"a": [1]})
        for name in ("stock.db", "stock.db-wal"):
            shutil.copy(tmp_path / "live" / name, tmp_path / name)
    before = {name: (tmp_path / name).read_bytes() for name in ("stock.db", "stock.db-wal")}
    assert before["stock.db-wal"]
    [read] = Stock("sqlite", tmp_path / "stock.db").read()[0].checkpoints()
    assert read.checkpoint["channel_values"] == {"a": [1]}
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_arrays_come_back(stock: Stock) -> None:
    arrays = {
        "flat": np.arange(6),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "text": np.array(["退"]),
    }
    with stock.saver() as saver:
        put(saver, {"arrays": arrays})
    [read] = stock.read()[0].checkpoints()
    assert same(read.checkpoint["channel_values"]["arrays"], arrays)


def test_delta_channels_keep_their_snapshots_and_writes(stock: Stock) -> None:
    class Grown(TypedDict):
        items: Annotated[list[str], DeltaChannel(lambda old, writes: old + [w for many in writes for w in many], list)]

    with stock.saver() as saver:
        graph = StateGraph(Grown)
        graph.add_node("grow", lambda state: {"items": [str(len(state["items"]))]})
        graph.add_edge(START, "grow")
        compiled = graph.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "t"}}
        for _ in range(3):
            compiled.invoke({"items": ["x"]}, config)
        theirs = sorted(saver.list(None), key=lambda each: each.config["configurable"]["checkpoint_id"])
    for ours, stocks in zip(stock.read()[0].checkpoints(), theirs, strict=True):
        compare(ours, stocks)


def put(saver: Any, values: dict[str, Any], *, thread: str = "t", **changes: Any) -> dict[str, Any]:
    """Store one checkpoint with these channels; return its config."""
    checkpoint = {**empty_checkpoint(), "channel_values": values}
    versions = {name: saver.get_next_version(None, None) for name in values}
    checkpoint["channel_versions"] = dict(versions)
    checkpoint.update(changes)
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    return saver.put(config, checkpoint, {"source": "loop", "step": 0, "parents": {}}, versions)


# --- older formats ----------------------------------------------------------------------------------


def test_sends_of_an_older_format_stand_in_their_channel(stock: Stock) -> None:
    with stock.saver() as saver:
        config = put(saver, {"a": [1]}, v=1)
        writes = [("a", [2]), ("__pregel_tasks", Send("work", {"n": 2}))]
        saver.put_writes(config, writes, "task-2", "~2")
        saver.put_writes(config, [("__pregel_tasks", Send("work", {"n": 1}))], "task-1", "~1")
        child = {**empty_checkpoint(), "v": 1, "channel_versions": {"a": saver.get_next_version(None, None)}}
        saver.put(config, child, {}, {})
    first, second = stock.read()[0].checkpoints()
    assert "__pregel_tasks" not in first.checkpoint["channel_values"]
    assert second.checkpoint["channel_values"]["__pregel_tasks"] == [Send("work", {"n": 1}), Send("work", {"n": 2})]
    assert second.checkpoint["channel_versions"]["__pregel_tasks"] == 1


def test_a_database_from_before_task_paths_is_read(stock: Stock) -> None:
    with stock.saver() as saver:
        config = put(saver, {"a": [1]})
        saver.put_writes(config, [("a", [2])], "task", "~1")
    stock.execute("ALTER TABLE checkpoint_writes DROP COLUMN task_path")
    [read] = stock.read()[0].checkpoints()
    assert [(write.task_path, write.value) for write in read.writes] == [("", [2])]


def test_integer_versions_stay_as_they_are(stock: Stock) -> None:
    with stock.saver() as saver:
        put(saver, {"a": "x"}, channel_versions={"a": 3}, versions_seen={"n": {"a": 2}})
    [read] = stock.read()[0].checkpoints()
    assert read.checkpoint["channel_versions"] == {"a": 3}
    assert read.checkpoint["versions_seen"] == {"n": {"a": 2}}


def test_a_channel_marked_empty_by_an_older_saver_has_no_value(postgres_url: str) -> None:
    stock = Stock("postgres", postgres_url)
    with stock.saver() as saver:
        put(saver, {"a": [1], "b": [2]})
    stock.execute("UPDATE checkpoint_blobs SET type = 'empty', blob = NULL WHERE channel = 'a'")
    [read] = stock.read()[0].checkpoints()
    assert read.checkpoint["channel_values"] == {"b": [2]}


OLD_JSON = {
    "message": {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "HumanMessage"],
        "kwargs": {"content": "hi", "type": "human"},
    },
    "uuid": {"lc": 2, "type": "constructor", "id": ["uuid", "UUID"], "method": None, "args": [UUID(int=7).hex]},
    "when": {
        "lc": 2,
        "type": "constructor",
        "id": ["datetime", "datetime"],
        "method": "fromisoformat",
        "args": ["2026-09-01T12:00:00+00:00"],
    },
    "set": {"lc": 2, "type": "constructor", "id": ["builtins", "set"], "args": [[1, 2]], "kwargs": {}},
    "send": {"lc": 2, "type": "constructor", "id": ["langgraph", "types", "Send"], "kwargs": {"node": "n", "arg": 1}},
    "ticket": {"lc": 2, "type": "constructor", "id": [__name__, "Ticket"], "kwargs": {"number": 7, "reason": "x"}},
    "plain": {"lc": 3, "type": "constructor"},
}


def test_values_of_the_json_format_before_msgpack_are_read(stock: Stock) -> None:
    with stock.saver() as saver:
        saver.put_writes(put(saver, {}), [("a", {})], "task")
    stock.execute("UPDATE checkpoint_writes SET type = 'json', blob = ?", json.dumps(OLD_JSON).encode())
    [read] = stock.read()[0].checkpoints()
    assert same(
        read.writes[0].value,
        {
            "message": HumanMessage("hi"),
            "uuid": UUID(int=7),
            "when": datetime(2026, 9, 1, 12, tzinfo=UTC),
            "set": {1, 2},
            "send": Send("n", 1),
            "ticket": Ticket(7, "x"),
            "plain": {"lc": 3, "type": "constructor"},
        },
    )


# --- nothing is trusted -----------------------------------------------------------------------------


def hostile(code: int, *envelope: Any) -> bytes:
    """A msgpack value that asks for a class by name."""
    return ormsgpack.packb({"x": [ormsgpack.Ext(code, ormsgpack.packb(envelope))]})


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that cannot be imported without a trace."""
    (tmp_path / "trapdoor.py").write_text("def spring(*a, **k): return 'sprung'\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "trapdoor"
    assert "trapdoor" not in sys.modules


ENVELOPES = [
    (0, ["trapdoor", "spring", "x"], "trapdoor.spring"),
    (1, ["trapdoor", "spring", ["x"]], "trapdoor.spring"),
    (2, ["trapdoor", "spring", {"x": 1}], "trapdoor.spring"),
    (3, ["trapdoor", "spring", "x", "y"], "trapdoor.spring"),
    (4, ["trapdoor", "spring", {"x": 1}], "trapdoor.spring"),
    (5, ["trapdoor", "spring", {"x": 1}, "z"], "trapdoor.spring"),
    (0, ["builtins", "eval", "1"], "builtins.eval"),
    (0, ["os", "system", "true"], "os.system"),
    (3, ["datetime", "datetime", "2026-09-01", "strptime"], "datetime.datetime"),
    (3, ["pathlib", "Path", "/etc/passwd", "read_text"], "pathlib.Path"),
    (0, [["builtins"], "set", [1]], "torn"),
    (0, [], "torn"),
    (0, ["uuid", "UUID", "no uuid"], "uuid.UUID"),
    (6, ["O", [1], "C", b"\x00" * 8], "torn"),
    (6, ["<i8", [3], "C", b"\x00" * 8], "torn"),
    (9, ["uuid", "UUID", "0" * 32], "uuid.UUID"),
]


@pytest.mark.parametrize(("code", "envelope", "named"), ENVELOPES)
def test_a_class_nobody_handed_over_is_named_and_not_imported(
    stock: Stock, trap: str, code: int, envelope: list[Any], named: str
) -> None:
    with stock.saver() as saver:
        saver.put_writes(put(saver, {"a": [1]}), [("a", {})], "task-1")
    stock.execute("UPDATE checkpoint_writes SET type = 'msgpack', blob = ?", hostile(code, *envelope))
    with pytest.raises(TranscriptError, match=rf"thread 't', checkpoint \S+, write 0 of task task-1 to a: .*{named}"):
        list(stock.read()[0].checkpoints())


@pytest.mark.parametrize(
    "name", [[["trapdoor"], "spring"], ["trapdoor", "spring"], ["os", "system"], ["langchain", "X"]]
)
@pytest.mark.parametrize("lc", [1, 2])
def test_the_json_format_builds_nothing_it_names_either(stock: Stock, trap: str, name: list[Any], lc: int) -> None:
    with stock.saver() as saver:
        saver.put_writes(put(saver, {}), [("a", {})], "task")
    body = {"lc": lc, "type": "constructor", "id": name, "kwargs": {"x": 1}}
    stock.execute("UPDATE checkpoint_writes SET type = 'json', blob = ?", json.dumps([body]).encode())
    with pytest.raises(TranscriptError, match="does not know and does not import"):
        list(stock.read()[0].checkpoints())


def test_the_programs_own_classes_must_be_handed_over(stock: Stock) -> None:
    with stock.saver() as saver:
        put(saver, {"things": {"order": Order(id="1"), "ticket": Ticket(1, "x")}})
    with pytest.raises(TranscriptError, match=rf"holds a {__name__}\.Order, a class this reader does not know"):
        list(stock.read(types=())[0].checkpoints())
    with pytest.raises(TranscriptError, match=rf"{__name__}\.Ticket"):
        list(stock.read(types=[Order])[0].checkpoints())
    [read] = stock.read(types=[Order, Ticket])[0].checkpoints()
    assert read.checkpoint["channel_values"]["things"] == {"order": Order(id="1"), "ticket": Ticket(1, "x")}


def test_a_failure_is_not_remembered_for_the_next_value() -> None:
    decoder = Decoder()
    with pytest.raises(Unreadable, match="Ticket"):
        decoder.decode(*JsonPlusSerializer().dumps_typed([Ticket(1, "x")]))
    with pytest.raises(Unreadable, match="torn"):
        decoder.decode("msgpack", b"\xc1")
    assert decoder.decode(*JsonPlusSerializer().dumps_typed([1])) == [1]


@pytest.mark.parametrize(
    ("kind", "data", "what"),
    [
        ("pickle", b"cos\nsystem\n(S'true'\ntR.", "is a pickle, which is never loaded"),
        ("msgpack+aes", b"\x00", "encrypted"),
        ("yaml", b"a: 1", "not a kind LangGraph writes"),
        ("msgpack", b"\xc1", "is torn"),
        ("msgpack", b"", "is torn"),
        ("json", b"{", "is torn"),
        ("json", b"\xff", "is torn"),
        ("json", b"[" * 100_000, "is torn"),
    ],
)
def test_what_cannot_be_rebuilt_is_refused_with_its_place(stock: Stock, kind: str, data: bytes, what: str) -> None:
    with stock.saver() as saver:
        saver.put_writes(put(saver, {}), [("a", {})], "task-1")
    stock.execute("UPDATE checkpoint_writes SET type = ?, blob = ?", kind, data)
    with pytest.raises(TranscriptError, match=rf"write 0 of task task-1 to a: .*{what}.* Nothing was written"):
        list(stock.read()[0].checkpoints())


def test_a_torn_checkpoint_is_refused_with_its_place(tmp_path: Path) -> None:
    stock = Stock("sqlite", tmp_path / "stock.db")
    for column, value, what in [
        ("checkpoint", ormsgpack.packb([1]), "is list, not an object"),
        (
            "checkpoint",
            ormsgpack.packb({"channel_versions": {"a": "x.1"}}),
            r"channel_versions: holds what is no version",
        ),
        (
            "checkpoint",
            ormsgpack.packb({"channel_versions": {"a": None}}),
            r"channel_versions: holds what is no version",
        ),
        ("checkpoint", ormsgpack.packb({"versions_seen": {"n": 3}}), r"versions_seen\.n: is int, not an object"),
        ("checkpoint", ormsgpack.packb({"channel_values": 3}), r"channel_values: is int, not an object"),
        ("checkpoint", None, "is torn"),
        ("type", None, "is of kind None"),
        ("metadata", b"{", "metadata: is not JSON"),
        ("metadata", b"[]", "metadata: is list, not an object"),
    ]:
        stock.address.unlink(missing_ok=True)
        with stock.saver() as saver:
            put(saver, {"a": [1]})
        stock.execute(f"UPDATE checkpoints SET {column} = ?", value)
        with pytest.raises(TranscriptError, match=rf"thread 't', checkpoint \S*{what}|thread 't', .*: {what}"):
            list(stock.read()[0].checkpoints())


# --- what is no stock database ----------------------------------------------------------------------


def test_an_empty_stock_database_has_no_threads(stock: Stock) -> None:
    with stock.saver():
        pass
    assert stock.read() == ()


def test_a_database_of_something_else_is_refused(tmp_path: Path, postgres_url: str) -> None:
    other = Stock("sqlite", tmp_path / "other.db")
    other.execute("CREATE TABLE checkpoints (thread_id TEXT, checkpoint_id TEXT)")
    with pytest.raises(TranscriptError, match=r"no LangGraph checkpoint database, it lacks checkpoints\.checkpoint_ns"):
        other.read()
    with pytest.raises(TranscriptError, match=r"no LangGraph checkpoint database, it lacks checkpoint_writes\.channel"):
        read_postgres(postgres_url)


def test_a_file_that_is_no_sqlite_database_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "chat.json"
    text.write_text("[]")
    torn = tmp_path / "torn.db"
    torn.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    for path, what in [
        (text, "is not a SQLite database"),
        (tmp_path, "there is no such file"),
        (tmp_path / "none.db", "there is no such file"),
        (torn, "cannot be read as a SQLite database"),
    ]:
        with pytest.raises(TranscriptError, match=what):
            read_sqlite(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chat.json", "torn.db"]


def test_a_locked_file_is_unavailable_not_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stock = Stock("sqlite", tmp_path / "stock.db")
    play(stock)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "timeout": 0}))
    with closing(connect(stock.address)) as holder:
        holder.execute("PRAGMA journal_mode=DELETE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnavailable, match="locked by another program"):
            stock.read()


def test_a_server_that_is_not_there_is_unavailable_and_its_password_is_not_told() -> None:
    with pytest.raises(StoreUnavailable) as refused:
        read_postgres("postgresql://ann:secret@127.0.0.1:1/agents?connect_timeout=2")
    assert "secret" not in str(refused.value)
    assert "postgresql://127.0.0.1:1/agents" in str(refused.value)


def test_the_readers_import_no_saver() -> None:
    """The savers are no dependency of the package; only these tests have them."""
    import dalsegno.imports

    for path in Path(dalsegno.imports.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not [
                name
                for name in names
                if name.startswith(("langgraph.checkpoint.sqlite", "langgraph.checkpoint.postgres"))
            ]
