"""The written form of every type, and what is refused with which words."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import datetime as dt
import enum
import ipaddress
import logging
import pathlib
import re
import socket
import subprocess
import sys
import textwrap
import threading
import types
import zoneinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pydantic
import pytest

from dalsegno.core import codec
from dalsegno.core.walk import DECODERS
from dalsegno.errors import Damaged, Misuse, NotSerializable, StateShapeError, UnknownType


class Colour(enum.Enum):
    RED = 1


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclasses.dataclass
class Person:
    name: str
    age: int = 3


class Item(pydantic.BaseModel):
    name: str
    parts: list[int] = []
    _seen: int = 0


class Bare(pydantic.BaseModel):
    held: Any


class Slotted(pydantic.BaseModel):
    __slots__ = ("beside",)


class Trouble(Exception):
    pass


NAME = __name__
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")

# --- the written form -----------------------------------------------------------------------------

WRITTEN = [
    (None, "null"),
    (True, "true"),
    (1, "1"),
    (1.0, "1.0"),
    ("é", '"é"'),
    ([1, [2]], "[1,[2]]"),
    ({"a": 1, "bb": 2}, '{"a":1,"bb":2}'),
    ({"bb": 2, "a": 1}, '{"$keys":"10","bb":2,"a":1}'),
    ({"$a": 1}, '{"$map":[["$a",1]]}'),
    ({1: 2, "1": 3}, '{"$map":[[1,2],["1",3]]}'),
    ({"\0": 1}, r'{"$map":[[{"$str":"\\u0000"},1]]}'),
    ("a\0\\\ud800", r'{"$str":"a\\u0000\\u005c\\ud800"}'),
    (2**63, '{"$int":"9223372036854775808"}'),
    (2**4096, f'{{"$int":"{2**4096:#x}"}}'),
    (-0.0, '{"$float":"-0.0"}'),
    (1e22, '{"$float":"1e+22"}'),
    (9999999999999998.0, "9999999999999998.0"),
    (0.0001, "0.0001"),
    (0.00001, '{"$float":"1e-05"}'),
    (float("nan"), '{"$float":"nan"}'),
    (float("-inf"), '{"$float":"-inf"}'),
    (complex(1, -0.0), '{"$complex":[1.0,{"$float":"-0.0"}]}'),
    (b"hi", '{"$bytes":"aGk="}'),
    (bytearray(b"hi"), '{"$bytearray":"aGk="}'),
    ((1, "a"), '{"$tuple":[1,"a"]}'),
    ({1, 10, 9, "a"}, '{"$set":["a",1,10,9]}'),
    (frozenset({(1,)}), '{"$frozenset":[{"$tuple":[1]}]}'),
    (collections.deque([1], 3), '{"$deque":[1],"maxlen":3}'),
    (collections.defaultdict(list, a=[]), '{"$defaultdict":{"a":[]},"factory":{"$class":"list"}}'),
    (collections.Counter("aab"), '{"$counter":{"a":2,"b":1}}'),
    (collections.OrderedDict(b=1, a=2), '{"$ordereddict":{"$keys":"10","b":1,"a":2}}'),
    (collections.ChainMap({"a": 1}), '{"$chainmap":[{"a":1}]}'),
    (dt.datetime.fromisoformat("2024-01-02T03:04:05.000006"), '{"$datetime":"2024-01-02T03:04:05.000006"}'),
    (dt.datetime(2024, 1, 2, tzinfo=dt.UTC), '{"$datetime":"2024-01-02T00:00:00+00:00"}'),
    (
        dt.datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN, fold=1),
        '{"$datetime":"2024-10-27T02:30:00","zone":"Europe/Berlin","fold":1}',
    ),
    (
        dt.time(1, tzinfo=dt.timezone(dt.timedelta(hours=-1), "X")),
        '{"$time":"01:00:00","tz":{"$timezone":[-1,82800,0,"X"]}}',
    ),
    (  # an offset that Python's own parser reads as none
        dt.time(1, tzinfo=dt.timezone(dt.timedelta(microseconds=1))),
        '{"$time":"01:00:00","tz":{"$timezone":[0,0,1]}}',
    ),
    (
        dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(microseconds=-1))),
        '{"$datetime":"2026-01-01T00:00:00","tz":{"$timezone":[-1,86399,999999]}}',
    ),
    (dt.date(2024, 1, 2), '{"$date":"2024-01-02"}'),
    (dt.timedelta(days=-1, microseconds=5), '{"$timedelta":[-1,0,5]}'),
    (BERLIN, '{"$zone":"Europe/Berlin"}'),
    (Decimal("1.50"), '{"$decimal":"1.50"}'),
    (Fraction(1, 3), '{"$fraction":[1,3]}'),
    (UUID(int=1), '{"$uuid":"00000000-0000-0000-0000-000000000001"}'),
    (range(1, 9, 2), '{"$range":[1,9,2]}'),
    (slice(None, 2), '{"$slice":[null,2,null]}'),
    (pathlib.Path("a/b"), '{"$path":"a/b"}'),
    (pathlib.PureWindowsPath("C:/a"), r'{"$purepath":"C:\\a","kind":"windows"}'),
    (re.compile("a", re.IGNORECASE), '{"$pattern":"a","flags":34}'),
    (ipaddress.ip_address("::1"), '{"$ip":"::1"}'),
    (ipaddress.ip_interface("10.0.0.1/8"), '{"$interface":"10.0.0.1/8"}'),
    (ipaddress.ip_network("10.0.0.0/8"), '{"$network":"10.0.0.0/8"}'),
    (int, '{"$class":"int"}'),
    (Colour.RED, f'{{"$enum":"{NAME}:Colour","member":"RED"}}'),
    (Right.READ | Right.WRITE, f'{{"$enum":"{NAME}:Right","value":3}}'),
    (Point(1), f'{{"$type":"{NAME}:Point","x":1,"y":0}}'),
    (Person("Ann"), f'{{"$type":"{NAME}:Person","name":"Ann","age":3}}'),
    (Item(name="n"), f'{{"$type":"{NAME}:Item","name":"n","parts":[],"$unset":["parts"],"$private":{{"_seen":0}}}}'),
    (KeyError("k"), '{"$error":"KeyError","args":["k"]}'),
    (pydantic.HttpUrl("http://a.b/c"), '{"$type":"pydantic.networks:HttpUrl","$value":"http://a.b/c"}'),
    (np.float32(1.5), '{"$number":1.5,"dtype":"<f4"}'),
    (np.datetime64("2024-01-02"), '{"$number":19724,"dtype":"<M8[D]"}'),
    (np.longlong(3), '{"$number":3,"dtype":"q"}'),
    (np.str_("a\0"), r'{"$number":{"$str":"a\\u0000"},"dtype":"U"}'),
    (np.bytes_(b"a\0"), '{"$number":{"$bytes":"YQA="},"dtype":"S"}'),
    (np.array([1], "q"), '{"$array":"AQAAAAAAAAA=","dtype":"q","shape":[1]}'),
    (np.array([[1, 2], [3, 4]], "u1", order="F"), '{"$array":"AQMCBA==","dtype":"|u1","shape":[2,2],"order":"F"}'),
    (
        np.array([(1, 2)], np.dtype([("a", "u1"), ("b", "<u2")], align=True)),
        '{"$array":"AQACAA==","dtype":[{"$tuple":["a","|u1"]},{"$tuple":["","|V1"]},{"$tuple":["b","<u2"]}],"shape":[1]}',
    ),
    (np.array([[1, 2]], "u1"), '{"$array":"AQI=","dtype":"|u1","shape":[1,2]}'),
    (np.array([1, "a"], object), '{"$objects":[1,"a"],"shape":[2]}'),
]


@pytest.mark.parametrize(("value", "text"), WRITTEN, ids=[text[:40] for _, text in WRITTEN])
def test_the_written_form_of_a_type_is_part_of_the_format(value: Any, text: str) -> None:
    assert codec.dumps(codec.encode(value)).decode() == text
    assert codec.dumps(codec.encode(codec.decode(codec.loads(text)))).decode() == text
    assert codec.dumps(codec.encode(codec.clone(value))).decode() == text


def test_a_nan_keeps_the_bits_it_carries() -> None:
    tree = codec.encode(np.frombuffer(bytes.fromhex("010000000000f87f"), "<f8")[0].item())
    assert tree == {"$float": "nan:7ff8000000000001"}
    assert codec.encode(codec.decode(tree)) == tree


def test_a_numpy_scalar_wider_than_any_built_in_type_keeps_its_bits() -> None:
    value = np.nextafter(np.longdouble(1), np.longdouble(2))
    found = codec.decode(codec.encode(value))
    assert type(found) is np.longdouble
    assert found == value != 1


def test_what_lies_between_the_fields_of_an_array_is_not_written() -> None:
    dtype = np.dtype([("a", "u1"), ("b", "<u2")], align=True)
    dirty = np.frombuffer(b"\x01\xff\x02\x00", dtype)
    assert codec.encode(dirty)["$array"] == "AQACAA=="
    assert codec.encode(dirty[0])["$void"]["$array"] == "AQACAA=="
    nested = np.dtype([("x", "u1"), ("inner", dtype, (2,)), ("y", "<u4")], align=True)
    clean, dirty = (
        np.zeros((2, 1), nested, "F"),
        np.frombuffer(bytearray(b"\xff") * 2 * nested.itemsize, nested).reshape(2, 1),
    )
    for found in (clean, dirty):
        found["x"], found["y"] = 1, 2
        found["inner"]["a"], found["inner"]["b"] = 3, 4
    assert codec.encode(dirty) == codec.encode(clean)
    assert codec.decode(codec.encode(dirty)).tobytes() == clean.tobytes()
    assert codec.encode(dirty[0, 0]) == codec.encode(clean[0, 0])


def test_notes_cause_and_attributes_of_an_exception_are_kept_but_not_its_traceback() -> None:
    error = Trouble("a", 1)
    error.__cause__ = OSError(2, "gone", "file")
    error.code = 7
    error.add_note("noted")
    with contextlib.suppress(Trouble):
        raise error
    found = codec.decode(codec.encode(error))
    assert (type(found), found.args, found.__notes__, found.code) == (Trouble, ("a", 1), ["noted"], 7)
    assert (type(found.__cause__), found.__cause__.filename) == (FileNotFoundError, "file")
    assert found.__traceback__ is None


def test_the_type_a_failed_import_or_lookup_names_is_kept() -> None:
    found = codec.decode(codec.encode(ImportError("no", name="module", path="/p")))
    assert (found.msg, found.name, found.path) == ("no", "module", "/p")
    assert codec.decode(codec.encode(NameError("no", name="x"))).name == "x"


@pytest.mark.parametrize(
    "stored",
    [["b", "z", "aa", "é", "中", "zzz"], ["", "a", "ab", "ba", "abc"], ["~", "é", "€", "𝄞", "aaaa", "zzzz"]],
)
def test_the_stored_order_of_keys_is_that_of_a_jsonb_column(stored: list[str]) -> None:
    # by bytes in UTF-8, then bytewise: what `SELECT '{...}'::jsonb` shows
    stored = sorted(stored, key=lambda key: (len(key.encode()), key.encode()))
    assert "$keys" not in codec.encode(dict.fromkeys(stored, 1))
    backwards = codec.encode(dict.fromkeys(stored[::-1], 1))
    assert backwards["$keys"] == "543210"[-len(stored) :]
    shuffled = {key: backwards[key] for key in ("$keys", *stored)}
    assert list(codec.decode(shuffled)) == stored[::-1]


def test_a_key_of_a_subclass_of_str_is_not_taken_for_a_string() -> None:
    assert codec.encode({"key": 1}) == {"key": 1}
    with pytest.raises(NotSerializable, match="Shout"):
        codec.encode({Shout("key"): 1})
    found = codec.decode(codec.encode({np.str_("key"): 1}))
    assert [type(key) for key in found] == [np.str_]


def test_a_path_whose_text_reads_as_another_path_is_kept_or_refused() -> None:
    odd = pathlib.PureWindowsPath("./c:a")  # a file `c:a` here, not `a` on drive c
    if pathlib.PureWindowsPath(str(odd)) == odd:
        assert codec.decode(codec.encode(odd)) == odd
    else:
        with pytest.raises(NotSerializable, match="reads as another path"):
            codec.encode(odd)


# --- what is refused when written -----------------------------------------------------------------


class Handle:
    def close(self) -> None: ...


class Shout(str):
    __slots__ = ()


class Loose:
    pass


@dataclasses.dataclass
class Node:
    next: Any = None


def cycle() -> list[Any]:
    loop: list[Any] = [1, {"back": None}]
    loop[1]["back"] = loop
    return loop


def chain(kind: Any, length: int) -> Any:
    value = None
    for _ in range(length):
        value = kind(value)
    return value


class Wide(Point):
    """Has room for attributes beside its parts."""


def with_attribute(value: Any) -> Any:
    value.beside = 1
    return value


REFUSED = [
    ({"sender": Handle()}, r"state\.sender \(.*Handle\): keep an id in the state and open it when needed"),
    ({"s": socket.socket}, r"state\.s \(class socket\): a class is stored by its registered name"),
    ([threading.Lock()], r"state\[0\] \(_thread\.lock\): keep an id"),
    ({"a": (1, {"b c": lambda: 1})}, r"state\.a\[1\]\['b c'\] \(function\): code is not state"),
    ({"f": Person("x", lambda: 1)}, r"state\.f\.age \(function\)"),
    ({"m": Item.model_construct(name=Loose())}, r"state\.m\.name \(.*Loose\): not a type that is stored unasked"),
    ({1: {(2, 3): Loose()}}, r"state\[1\]\[\(2, 3\)\] \(.*Loose\)"),
    ({Loose(): 1}, r"state\[<.*Loose"),
    (Shout("a"), r"state \(.*Shout\): a subclass is stored when it is registered: dalsegno\.register\(Shout\)"),
    (Wide(1), r"state \(.*Wide\): a subclass is stored when it is registered: .*, or convert it to tuple"),
    ({"a": np.ma.array([1])}, r"state\.a \(numpy\.ma.*MaskedArray\): only a plain numpy array"),
    ({"a": np.array([Loose()], object)}, r"state\.a\[0\] \(.*Loose\)"),
    (np.array(["a"], np.dtypes.StringDType()), r"state \(numpy.ndarray\): dtype StringDType"),
    (collections.defaultdict(lambda: 1), r"state \(collections.defaultdict\): its default_factory is a function"),
    (collections.defaultdict(Loose), r"state\.default_factory \(class Loose\)"),
    (with_attribute(collections.Counter()), r"state \(collections\.Counter\): has attributes of its own \(beside\)"),
    (re.compile("a", re.DEBUG), r"re\.DEBUG"),
    (ValueError(Loose()), r"state\.args\[0\] \(.*Loose\)"),
    (memoryview(b""), r"state \(memoryview\)"),
    ((each for each in ()), r"state \(generator\): keep an id"),
    (sys, r"state \(module\)"),
    (types.SimpleNamespace(), r"state \(types\.SimpleNamespace\)"),
    (logging.getLogger(), r"state \(logging\.RootLogger\)"),
    (cycle(), r"state\[1\]\.back \(list\): contains itself, and a cycle has no end to store"),
    (chain(lambda value: [value], 500), r"nested too deeply"),
    (chain(lambda value: (value,), 500), r"nested too deeply"),
    (chain(lambda value: {1: value}, 500), r"nested too deeply"),
    (chain(lambda value: {"a": value}, 100_000), r"nested too deeply"),
    (chain(Node, 500), r"state(\.next)+ \(.*Node\): nested too deeply"),
    (chain(ValueError, 500), r"nested too deeply"),
    (chain(Point, 500), r"nested too deeply"),
    (Slotted(), r"state \(.*Slotted\): not a type that is stored unasked"),
    (chain(lambda value: Bare.model_construct(held=value), 500), r"nested too deeply"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
@pytest.mark.filterwarnings("ignore")  # a class made to be refused may warn
def test_what_cannot_be_kept_is_refused_with_its_path_and_a_way_out(value: Any, message: str) -> None:
    with pytest.raises(NotSerializable, match=message) as refused:
        codec.encode(value)
    assert refused.value.path.startswith("state")


UNKNOWN = [(value, message) for value, message in REFUSED if not re.search("deep|DEBUG|of its own", message)]


@pytest.mark.parametrize(("value", "message"), UNKNOWN, ids=[message[:40] for _, message in UNKNOWN])
def test_a_clone_refuses_the_same_with_the_same_words(value: Any, message: str) -> None:
    with pytest.raises(NotSerializable, match=message):
        codec.clone(value)


def test_nesting_without_end_is_no_reason_for_a_clone_to_crash() -> None:
    with pytest.raises(NotSerializable, match="nested too deeply"):
        codec.clone(chain(lambda value: [value], 100_000))


def test_a_message_by_pydantic_about_bad_input_is_refused_because_its_data_is_out_of_sight() -> None:
    try:
        Item.model_validate({})
    except pydantic.ValidationError as error:
        with pytest.raises(NotSerializable, match="ValidationError"):
            codec.encode(error)


def test_the_path_starts_with_the_name_the_caller_gives() -> None:
    with pytest.raises(NotSerializable, match=r"^messages\[1\] \("):
        codec.encode([1, Loose()], "messages")


def test_values_down_to_the_limit_can_be_written_and_read() -> None:
    for kind in (lambda value: [value], lambda value: {"b": 1, "a": value}, Node, lambda value: (value,)):
        depth = 1
        while depth < 400:
            try:
                codec.encode(chain(kind, depth))
            except NotSerializable:
                break
            depth += 1
        assert 60 <= depth - 1 <= codec.MAX_DEPTH
        value = chain(kind, depth - 1)
        text = codec.dumps(codec.encode(value))
        assert codec.dumps(codec.encode(codec.decode(codec.loads(text)))) == text


# --- names and classes ----------------------------------------------------------------------------


def fresh_class(**fields: Any) -> type:
    cls = dataclasses.make_dataclass("Fresh", [(name, Any, default) for name, default in fields.items()])
    cls.__module__ = NAME
    return cls


def test_writing_a_value_registers_its_class_and_the_newest_class_of_a_name_wins() -> None:
    first, second = fresh_class(a=1), fresh_class(a=2)
    tree = codec.encode(first())
    assert type(codec.decode(tree)) is first
    codec.encode(second())
    assert type(codec.decode(tree)) is second
    assert type(codec.clone(first())) is first
    assert type(codec.decode(codec.encode(second()))) is second
    assert type(codec.decode(codec.encode(first()))) is first


def test_a_name_given_by_hand_is_not_taken_by_a_class_that_merely_appears() -> None:
    moved = fresh_class(a=1)
    moved.__qualname__ = "Moved"
    codec.register(moved, f"{NAME}:Old")
    pretender = fresh_class(a=1)
    pretender.__qualname__ = "Old"
    with pytest.raises(NotSerializable):
        codec.encode(pretender())
    assert type(codec.decode({"$type": f"{NAME}:Old", "a": 2})) is moved


def test_earlier_names_of_a_class_are_read() -> None:
    cls = codec.register(fresh_class(a=1), "thing", aliases=["old.module:Thing"])
    assert codec.encode(cls()) == {"$type": "thing", "a": 1}
    assert codec.decode({"$type": "old.module:Thing", "a": 5}) == cls(5)


def test_registering_works_as_a_decorator_with_and_without_arguments() -> None:
    @codec.register
    class One:
        pass

    @codec.register(name="two")
    class Two:
        pass

    assert type(codec.decode(codec.encode(One()))) is One
    assert codec.encode(Two()) == {"$type": "two"}


def test_a_module_registers_what_it_defines_and_nothing_it_imports() -> None:
    module = types.ModuleType("shop")
    own = fresh_class(a=1)
    own.__module__, own.__qualname__ = "shop", "Own"
    foreign = fresh_class(a=1)
    foreign.__module__, foreign.__qualname__ = "elsewhere", "Foreign"
    module.Own, module.Foreign = own, foreign
    codec.register_module(module)
    assert codec.decode({"$type": "shop:Own", "a": 2}) == own(2)
    with pytest.raises(UnknownType):
        codec.decode({"$type": "elsewhere:Foreign", "a": 2})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((int, "number"), "cannot be taken"),
        ((Person, "int"), "cannot be taken"),
        ((Person, "nul\0"), "cannot be taken"),
        ((socket.socket,), "give encode and decode"),
        (("Person",), "takes a class"),
    ],
)
def test_what_cannot_be_registered_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(Misuse, match=message):
        codec.register(*arguments)


def test_half_a_pair_of_functions_is_refused() -> None:
    with pytest.raises(Misuse, match="both encode and decode"):
        codec.register(Loose, encode=str)


def test_a_process_that_did_not_register_a_class_is_told_what_to_call() -> None:
    script = f"""
    import dalsegno.core.codec as codec
    from dalsegno.errors import UnknownType
    try:
        codec.decode({codec.encode(Person("Ann"))!r})
    except UnknownType as error:
        print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert f"'{NAME}:Person'" in done.stdout
    assert "call dalsegno.register(Person) before reading" in done.stdout


# --- classes that changed since -------------------------------------------------------------------


def test_a_field_added_since_takes_its_default() -> None:
    assert codec.decode({"$type": codec.encode(Person("a"))["$type"], "name": "Bo"}) == Person("Bo", 3)
    assert codec.decode({"$type": codec.encode(Point(1))["$type"], "x": 4}) == Point(4, 0)
    old = codec.decode({"$type": codec.encode(Item(name="a"))["$type"], "name": "Bo"})
    assert (old.parts, old.model_fields_set, old._seen) == ([], {"name"}, 0)


@pytest.mark.parametrize("value", [Person("a"), Point(1), Item(name="a")])
def test_a_required_field_that_is_not_stored_is_an_error_with_its_path(value: Any) -> None:
    tree = codec.encode(value)
    field = "x" if isinstance(value, Point) else "name"
    del tree[field]
    with pytest.raises(StateShapeError, match=rf":{type(value).__name__}\.{field} is required"):
        codec.decode(tree)


def test_a_field_that_is_gone_stays_with_the_object_and_is_written_again() -> None:
    for value in (Person("a"), Item(name="a")):
        tree = codec.encode(value) | {"gone": [1]}
        found = codec.decode(tree)
        assert found.gone == [1]
        assert codec.decode(codec.encode(found)).gone == [1]


def test_a_field_or_member_that_is_gone_and_has_no_place_is_an_error() -> None:
    codec.encode([Point(1), Colour.RED])
    with pytest.raises(StateShapeError, match=r"Point\.z is stored"):
        codec.decode({"$type": f"{NAME}:Point", "x": 1, "z": 2})
    with pytest.raises(StateShapeError, match=r"Colour\.GREEN is stored"):
        codec.decode({"$enum": f"{NAME}:Colour", "member": "GREEN"})


# --- bytes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "{", b"\xff", "[" * 2000 + "]" * 2000, '"\\ud800"', "NaN"])
def test_text_that_is_not_json_is_damage(text: Any) -> None:
    with pytest.raises(Damaged):
        codec.loads(text)


HOLDERS: list[tuple[Any, Any]] = [
    (lambda inner: [inner], lambda value: value[0]),
    (lambda inner: (1, inner), lambda value: value[1]),
    (lambda inner: {"a": inner}, lambda value: value["a"]),
    (lambda inner: {1: (inner,)}, lambda value: value[1][0]),
    (lambda inner: collections.deque([inner], 5), lambda value: value[0]),
    (lambda inner: collections.defaultdict(list, a=inner), lambda value: value["a"]),
    (lambda inner: collections.OrderedDict(a=inner), lambda value: value["a"]),
    (lambda inner: collections.Counter(a=inner), lambda value: value["a"]),
    (lambda inner: collections.ChainMap({"a": inner}), lambda value: value["a"]),
    (lambda inner: slice(inner, None), lambda value: value.start),
    (Point, lambda value: value.x),
    (Person, lambda value: value.name),
    (lambda inner: Item.model_construct(name=inner), lambda value: value.name),
    (ValueError, lambda value: value.args[0]),
    (lambda inner: np.array([inner, None], object), lambda value: value[0]),
    (lambda inner: frozenset({Hashed(inner)}), lambda value: next(iter(value)).held),
    (lambda inner: {(1, Hashed(inner)): 1}, lambda value: next(iter(value))[1].held),
]


@codec.register
class Hashed:
    def __init__(self, held: Any) -> None:
        self.held = held


@pytest.mark.parametrize(("make", "look"), HOLDERS)
def test_a_clone_holds_a_copy_of_what_can_change(make: Any, look: Any) -> None:
    inner = [1]
    value = make(inner)
    copy = codec.clone(value)
    assert type(copy) is type(value)
    assert look(copy) == inner
    assert look(copy) is not inner
    assert look(value) is inner


def test_a_clone_of_a_model_has_its_own_extra_private_and_set_fields() -> None:
    class Wide(pydantic.BaseModel, extra="allow"):
        _seen: list[int] = [1]

    value = Wide(more=[1])
    copy = codec.clone(value)
    copy.more.append(2)
    copy._seen.append(2)
    copy.model_fields_set.add("x")
    assert (value.more, value._seen, value.model_fields_set) == ([1], [1], {"more"})


def test_a_clone_shares_what_cannot_change() -> None:
    for value in ("text", (1, ("a",)), frozenset({(1, 2)}), dt.UTC, Colour.RED, Decimal(1), re.compile("a")):
        assert codec.clone(value) is value


def test_clones_of_a_list_are_independent() -> None:
    values = [{"a": [1]}, "text", Person("x")]
    copies = codec.clone_list(values)
    assert copies == values
    copies[0]["a"].append(2)
    assert values[0] == {"a": [1]}
    with pytest.raises(NotSerializable, match=r"state\[0\]"):
        codec.clone_list([Loose()])


def test_no_note_beside_a_tag_can_be_taken_for_a_tag() -> None:
    notes = {"$absent", "$attributes", "$extra", "$given", "$private", "$unset", "$value"}
    assert notes.isdisjoint(DECODERS)
    item = Item(name="a")
    item.model_fields_set.add("else\0where")
    tree = codec.encode(item)
    assert tree["$given"] == [{"$str": "else\\u0000where"}, "name"]
    assert codec.decode(dict(sorted(tree.items()))).model_fields_set == {"else\0where", "name"}
