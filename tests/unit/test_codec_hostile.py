"""A tree written by hand builds nothing but built-in and registered types: nothing is imported, nothing is called."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Self

import pydantic
import pytest

import dalsegno.langgraph.types  # noqa: F401 - registers messages and LangGraph's types
from dalsegno.core import codec
from dalsegno.errors import Damaged, StateShapeError, UnknownType

NAME = __name__
CALLS: list[Any] = []


class Trap:
    """Registered, and says so when any of its code runs."""

    def __new__(cls, *args: Any) -> Self:
        CALLS.append("__new__")
        return object.__new__(cls)

    def __init__(self, *args: Any) -> None:
        CALLS.append("__init__")

    def __setattr__(self, name: str, value: Any) -> None:
        CALLS.append("__setattr__")

    def __setstate__(self, state: Any) -> None:
        CALLS.append("__setstate__")

    def __reduce__(self) -> Any:
        CALLS.append("__reduce__")
        return (Trap, ())


class Guarded(pydantic.BaseModel):
    name: str

    def __init__(self, **fields: Any) -> None:
        CALLS.append("__init__")
        super().__init__(**fields)

    @pydantic.field_validator("name")
    @classmethod
    def check(cls, value: str) -> str:
        CALLS.append("validator")
        return value

    def model_post_init(self, context: Any) -> None:
        CALLS.append("model_post_init")


class Failure(Exception):
    def __init__(self, *args: Any) -> None:
        CALLS.append("__init__")
        super().__init__(*args)


codec.register_types(Trap, Guarded, Failure)
UNREGISTERED = [
    "os:system",
    "os.system",
    "builtins:eval",
    "eval",
    "subprocess:Popen",
    "posix:system",
    "this:Zen",
    "antigravity:geohash",
    "dalsegno.core.codec:register",
    f"{NAME}:CALLS",
    "",
    ":",
    "a:b:c",
    "__main__:",
    "..:x",
]


@pytest.mark.parametrize("tag", ["$type", "$class", "$error", "$enum", "$m"])
@pytest.mark.parametrize("name", UNREGISTERED)
def test_a_name_that_is_not_registered_is_unknown_and_nothing_is_imported(tag: str, name: str) -> None:
    before = set(sys.modules)
    beside = {} if tag == "$class" else {"$value": "true", "args": ["true"], "member": "X"}
    for tree in ({tag: name}, {tag: name, **beside}, [{"a": {tag: name}}]):
        with pytest.raises(UnknownType):
            codec.decode(tree)
    assert set(sys.modules) == before


@pytest.mark.parametrize("tag", ["$type", "$error", "$enum", "$m"])
@pytest.mark.parametrize("name", ["int", "list", "type", "dict", f"{NAME}:Trap", "ValueError", "human"])
def test_a_tag_reads_only_the_types_that_are_written_with_it(tag: str, name: str) -> None:
    if (tag, name) in [("$type", f"{NAME}:Trap"), ("$error", "ValueError"), ("$m", "human")]:
        return
    with pytest.raises(Damaged):
        codec.decode({tag: name, "args": [1], "content": "", "$value": 1})


@pytest.mark.parametrize(
    "tree",
    [
        {"$type": f"{NAME}:Trap", "a": 1},
        {"$type": f"{NAME}:Guarded", "name": 5},
        {"$error": f"{NAME}:Failure", "args": [1]},
        {"$defaultdict": {"a": 1}, "factory": {"$class": f"{NAME}:Trap"}},
        {"$class": f"{NAME}:Trap"},
    ],
)
def test_no_code_of_a_registered_class_runs(tree: Any) -> None:
    CALLS.clear()
    codec.encode(codec.decode(tree))
    codec.clone(codec.decode(tree))
    assert CALLS == []


MALFORMED = [
    *(
        {tag: content}
        for tag in ("$tuple", "$set", "$frozenset", "$deque", "$chainmap", "$map")
        for content in (1, "a", {}, None)
    ),
    *(
        {tag: content}
        for tag in ("$str", "$int", "$float", "$bytes", "$datetime", "$uuid", "$ip")
        for content in (1, [], None)
    ),
    *(
        {tag: content}
        for tag in ("$range", "$fraction", "$timedelta", "$timezone", "$complex")
        for content in (1, "a", [], ["a", 1, 2], None)
    ),
    *({tag: [1]} for tag in ("$ref", "$list", "$dict", "$blob", "$chunk", "$unknown", "$", "$unset", "$private")),
    {"$str": "\\"},
    {"$str": "\\uD800"},
    {"$int": "1e5"},
    {"$int": " 1"},
    {"$int": "१"},
    {"$float": "1_0.0"},
    {"$float": "nan:00"},
    {"$bytes": "a"},
    {"$bytes": "a\nGk="},
    {"$tuple": [1], "also": 2},
    {"$tuple": [1], "$set": [1]},
    {"$set": [[]]},
    {"$set": [1, 1]},
    {"$set": [1, 1.0]},
    {"$map": [[1, 2], [1, 3]]},
    {"$map": [[1]]},
    {"$map": [[[], 1]]},
    {"$map": ["ab"]},
    {"$keys": [0]},
    {"$keys": [0, 0], "a": 1, "b": 2},
    {"$keys": [0, -1], "a": 1, "b": 2},
    {"$keys": [0, 2], "a": 1, "b": 2},
    {"$keys": [False, True], "a": 1, "b": 2},
    {"$keys": ["a", "b"], "a": 1, "b": 2},
    {"$keys": "0", "a": 1, "b": 2},
    {"$keys": "00", "a": 1, "b": 2},
    {"$keys": "02", "a": 1, "b": 2},
    {"$keys": "0z", "a": 1, "b": 2},
    {"$keys": "0-", "a": 1, "b": 2},
    {"$keys": "", "a": 1},
    {"$keys": 10, "a": 1, "b": 2},
    {"$keys": [0, 1], "a": 1, "$b": 2},
    {"$deque": [1, 2], "maxlen": 1},
    {"$deque": [], "maxlen": True},
    {"$defaultdict": {"a": 1}},
    {"$defaultdict": {"a": 1}, "factory": "list"},
    {"$defaultdict": [], "factory": None},
    {"$counter": [1]},
    {"$ordereddict": {"$tuple": [1]}},
    {"$chainmap": [1]},
    {"$chainmap": []},
    {"$datetime": "2024-01-01"},
    {"$datetime": "20240101T000000"},
    {"$datetime": "2024-13-01T00:00:00"},
    {"$datetime": "2024-01-01T00:00:00", "fold": 2},
    {"$datetime": "2024-01-01T00:00:00", "zone": 5},
    {"$datetime": "2024-01-01T00:00:00", "tz": "UTC"},
    {"$date": "2024-W01-1"},
    {"$timezone": [2, 0, 0]},
    {"$timezone": [0, 0, 0, 5]},
    {"$timedelta": [10**12, 0, 0]},
    {"$timedelta": [1.5, 0, 0]},
    {"$decimal": " 1"},
    {"$decimal": 1},
    {"$fraction": [1, 0]},
    {"$uuid": "00000000000000000000000000000001"},
    {"$slice": [1, 2]},
    {"$slice": 1},
    {"$range": [0, 1, 0]},
    {"$path": 5},
    {"$path": [1]},
    {"$purepath": "a", "kind": "os"},
    {"$purepath": "a", "kind": []},
    {"$pattern": "(", "flags": 0},
    {"$pattern": "a", "flags": 128},
    {"$pattern": "a", "flags": "i"},
    {"$pattern": {"a": 1}, "flags": 0},
    {"$ip": "10.0.0.0/8"},
    {"$network": "10.0.0.1/8"},
    {"$type": "pydantic.networks:HttpUrl", "$value": "http://A.b"},
    {"$type": "pydantic.networks:HttpUrl", "$value": "ftp://a.b/"},
    {"$type": "pydantic.networks:HttpUrl", "$value": [1]},
    {"$class": 5},
    {"$class": ["int"]},
    {"$type": {"a": 1}},
    {"$type": None},
    {"$enum": "langgraph:ErrorCode"},
    {"$enum": "langgraph:ErrorCode", "value": "GRAPH_RECURSION_LIMIT"},
    {"$enum": "langgraph:ErrorCode", "member": []},
    {"$error": "ValueError", "args": "a"},
    {"$error": "ValueError", "attributes": [1]},
    {"$error": "ValueError", "attributes": {"a": 1}, "cause": "text"},
    {"$error": "ValueError", "hidden": [1], "extra": 1},
    {"$error": "OSError", "args": [2, "x"]},
    {"$error": "UnicodeDecodeError", "args": [1]},
    {"$error": "ExceptionGroup", "args": ["m", []]},
    {"$m": "human", "content": "a", "$evil": 1},
    {"$m": "human", "content": "a", "$unset": "content"},
    {"$m": "human", "content": "a", "$unset": [1]},
    {"$m": "human", "content": "a", "$extra": [1]},
    {"$m": "human", "content": "a", "$private": 5},
    {"$m": "human", "content": "a", "$attributes": "x"},
    {"$m": 5, "content": "a"},
    {"$m": ["human"]},
    {"$m": "ai", "content": "a", "tool_calls": [{"name": "f", "args": {}, "id": "1", "$x": 1}]},
    {"$array": "AA==", "dtype": "|O", "shape": [1]},
    {"$array": "AAAAAAAAAAA=", "dtype": "|O", "shape": [1]},
    {"$array": "AA==", "dtype": "|u1", "shape": [2]},
    {"$array": "AA==", "dtype": "|u1", "shape": [-1]},
    {"$array": "", "dtype": "|u1", "shape": [10**12]},
    {"$array": "AA==", "dtype": "|u1", "shape": [1], "order": "K"},
    {"$array": "AA==", "dtype": "u1", "shape": [1]},
    {"$array": "AA==", "dtype": {"a": 1}, "shape": [1]},
    {"$array": "AA==", "dtype": "os:system", "shape": [1]},
    {"$array": "AA==", "dtype": [["a", "|O"]], "shape": [1]},
    {"$objects": [1], "shape": [2]},
    {"$objects": [1], "shape": "a"},
    {"$number": "a", "dtype": "<i8"},
    {"$number": 1, "dtype": "|O"},
    {"$number": 300, "dtype": "|u1"},
    {"$number": True, "dtype": "<i8"},
    {"$number": 1, "dtype": "<f8"},
    {"$number": 1.5, "dtype": "<M8[D]"},
    {"$number": "a", "dtype": "S"},
    {"$void": [1]},
]


@pytest.mark.parametrize("tree", MALFORMED, ids=[json.dumps(tree)[:60] for tree in MALFORMED])
def test_an_envelope_no_encoder_writes_is_damage(tree: Any) -> None:
    for each in (tree, [tree], {"a": {"$tuple": [tree]}}):
        with pytest.raises(Damaged, match="dalsegno check"):
            codec.decode(each)


@pytest.mark.parametrize("failure", [lambda held: held.missing, lambda held: held["a"], lambda held: 1 / 0])
def test_a_value_the_programs_own_function_cannot_read_is_damage_with_its_cause(failure: Any) -> None:
    class Odd:
        pass

    codec.register(Odd, "odd", encode=lambda value: 1, decode=failure)
    with pytest.raises(Damaged) as damaged:
        codec.decode({"$type": "odd", "$value": 1})
    assert damaged.value.__cause__ is not None


def test_a_message_without_what_it_must_have_is_refused_by_name() -> None:
    with pytest.raises(StateShapeError, match=r"human\.content is required"):
        codec.decode({"$m": "human", "id": "1"})


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"$tuple":[', '{"$type":"langgraph:Overwrite","value":'])
def test_nesting_no_encoder_writes_is_damage_in_text_and_in_memory(opening: str) -> None:
    closing = "".join("}" if sign == "{" else "]" for sign in reversed([each for each in opening if each in "[{"]))
    with pytest.raises(Damaged):
        codec.loads(opening * 10_000 + "1" + closing * 10_000)
    tree: Any = 1
    for _ in range(10_000):
        tree = {"$tuple": [tree]} if "tuple" in opening else {"a": tree} if "a" in opening else [tree]
    with pytest.raises(Damaged, match="levels"):
        codec.decode(tree)


def test_a_zone_is_never_looked_for_outside_the_list_of_zones() -> None:
    before = set(sys.modules)
    for zone in ("../../etc/passwd", "/etc/localtime", "os", "this", "..", "", "Europe"):
        for tree in ({"$zone": zone}, {"$datetime": "2024-01-01T00:00:00", "zone": zone}):
            with pytest.raises(UnknownType, match="time zone"):
                codec.decode(tree)
    assert set(sys.modules) - before <= {name for name in sys.modules if name.split(".")[0] in ("tzdata", "importlib")}


def test_a_fresh_process_imports_nothing_for_a_name_it_reads() -> None:
    script = f"""
import sys, io, contextlib
from dalsegno.core import codec
from dalsegno.errors import DalsegnoError
before = set(sys.modules)
for name in {UNREGISTERED!r}:
    for tag in ("$type", "$class", "$error", "$enum", "$m"):
        try:
            codec.decode({{tag: name, "args": [], "$value": "x"}})
        except DalsegnoError:
            continue
        print("read", tag, name)
print(sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
