"""Any supported value, at any depth, comes back equal and of equal type, from text and from a jsonb column."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import functools
import ipaddress
import json
import math
import pathlib
import re
import struct
import zoneinfo
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import psycopg
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from langchain_core import documents, messages
from langgraph import errors as graph_errors
from langgraph import types as graph_types

import dalsegno.langgraph.types  # noqa: F401 - registers messages and LangGraph's types
from dalsegno.core import codec

# --- classes of a program -------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "r"
    BLUE = ("b", 2)
    CRIMSON = "r"  # noqa: PIE796 - an alias


class Word(enum.StrEnum):
    ONE = "one"
    TWO = "two"


class Grade(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Right(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    ALL = READ | WRITE


class Bits(enum.IntFlag):
    A = 1
    B = 4


class Outer:
    class Inner(enum.Enum):
        DEEP = 1.5


class Point(NamedTuple):
    x: Any
    y: Any = None


@dataclasses.dataclass
class Person:
    name: Any
    tags: list[Any] = dataclasses.field(default_factory=list)
    age: int = dataclasses.field(default=3, init=False)
    made: Any = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.made = ["made", self.name]
        self.beside = "an attribute that is no field"


@dataclasses.dataclass(kw_only=True)
class Worker(Person):
    wage: Any = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Fixed:
    one: Any
    two: Any = (1, 2)


@dataclasses.dataclass(slots=True)
class Fuller(Worker):
    extra: Any = None


class Item(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    name: Any = "n"
    parts: list[Any] = pydantic.Field(default_factory=list)
    _secret: Any = pydantic.PrivateAttr(default=None)
    _bare: int

    @functools.cached_property
    def cached(self) -> str:
        return "cached"


class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", frozen=True)
    first: Any = 1


class Box(pydantic.BaseModel, Generic[TypeVar("T")]):
    held: Any
    inner: Item | None = None


class Root(pydantic.RootModel[Any]):
    pass


class Trouble(ValueError):
    def __init__(self, code: Any, why: str = "because") -> None:
        super().__init__(f"{why}: {code!r:.20}")
        self.code = code


class Denied(PermissionError):
    pass


@codec.register
class Name(str):
    __slots__ = ("origin",)


@codec.register
class Numbers(list):
    pass


@codec.register
class Index(dict):
    pass


@codec.register
class Count(int):
    pass


@codec.register
class Pair(tuple):  # noqa: SLOT001 - with attributes
    pass


@codec.register
class Plain:
    __slots__ = ("__dict__", "__private", "unset")

    def __init__(self, one: Any, two: Any) -> None:
        self.one = one
        self.__private = two


class Celsius:
    def __init__(self, degrees: Any) -> None:
        self.degrees = degrees


codec.register(Celsius, "celsius", encode=lambda value: [value.degrees], decode=lambda held: Celsius(*held))

# --- equal in value and type ----------------------------------------------------------------------


def same(one: Any, other: Any) -> bool:
    """Stricter than ==: types, order of dicts, bits of floats, fold, zones, set fields, attributes."""
    return spelled(one) == spelled(other)


def spelled(value: Any) -> Any:
    """A value written out as its type, what it holds, and its attributes."""
    if isinstance(value, enum.Enum | type | zoneinfo.ZoneInfo):
        return id(value)
    return type(value), held(value), attributes(value)


def all_spelled(values: Any) -> Any:
    return tuple(map(spelled, values))


def is_of_a_program(value: Any) -> bool:
    return type(value).__module__ in {Point.__module__, graph_types.__name__, graph_errors.__name__}


def attributes(value: Any) -> Any:
    found = dict(getattr(value, "__dict__", {}))
    if is_of_a_program(value):
        names = {name for base in type(value).__mro__ for name in getattr(base, "__slots__", ())} - {"__weakref__"}
        found |= {name: getattr(value, name) for name in names if hasattr(value, name)}
    return tuple((name, spelled(found[name])) for name in sorted(found))


@functools.singledispatch
def held(value: Any) -> Any:
    """What a value holds besides attributes."""
    return None if is_of_a_program(value) else value


@held.register
def _(value: str) -> Any:
    return str.__str__(value)


@held.register
def _(value: float) -> Any:
    return struct.pack("d", value)


@held.register
def _(value: complex) -> Any:
    return struct.pack("dd", value.real, value.imag)


@held.register
def _(value: Decimal) -> Any:
    return value.as_tuple()


@held.register(dt.datetime)
@held.register(dt.time)
def _(value: Any) -> Any:
    return value.replace(tzinfo=None).isoformat(), value.fold, spelled(value.tzinfo)


@held.register
def _(value: dt.timezone) -> Any:
    return value.utcoffset(None), value.tzname(None)


@held.register(range)
@held.register(slice)
def _(value: Any) -> Any:
    return all_spelled((value.start, value.stop, value.step))


@held.register
def _(value: bytearray) -> Any:
    return bytes(value)


@held.register(list)
@held.register(tuple)
@held.register(deque)
def _(value: Any) -> Any:
    return getattr(value, "maxlen", None), all_spelled(value)


@held.register(set)
@held.register(frozenset)
def _(value: Any) -> Any:
    return frozenset(Counter(map(spelled, value)).items())


@held.register
def _(value: dict) -> Any:
    factory = getattr(value, "default_factory", None)
    return factory and id(factory), all_spelled(value.keys()), all_spelled(value.values())


@held.register
def _(value: ChainMap) -> Any:
    return all_spelled(value.maps)


@held.register
def _(value: np.ndarray) -> Any:
    layout = value.dtype.str, value.dtype.num, value.shape, value.flags.c_contiguous, value.flags.f_contiguous
    if value.dtype.hasobject or value.dtype.fields:  # between fields lies what was in memory
        return layout, repr(value.dtype.fields), all_spelled(value.ravel().tolist())
    return layout, value.tobytes()


@held.register
def _(value: np.generic) -> Any:
    return value.dtype.str, spelled(value.item()) if value.dtype.fields or value.dtype.kind in "SU" else value.tobytes()


@held.register
def _(value: pydantic.BaseModel) -> Any:
    return all_spelled((value.model_fields_set, value.model_extra, value.__pydantic_private__))


@held.register
def _(value: BaseException) -> Any:
    known = ("args", "__cause__", "__suppress_context__", "errno", "filename", "filename2", "name", "value", "code")
    return all_spelled(getattr(value, name, None) for name in known)


# --- a jsonb column, by its documented rules ------------------------------------------------------


def jsonb(text: bytes) -> str:
    """What PostgreSQL gives back for a JSON text: keys in its order, numbers as decimals, odd characters refused."""
    return render(json.loads(text, parse_float=Decimal, object_pairs_hook=dict))


def render(tree: Any) -> str:
    if isinstance(tree, dict):
        keys = sorted(tree, key=lambda key: (len(key.encode()), key.encode()))
        return "{" + ", ".join(f"{render(key)}: {render(tree[key])}" for key in keys) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(render, tree)) + "]"
    if isinstance(tree, Decimal):
        return format(tree or abs(tree), "f")
    if isinstance(tree, str):
        if "\0" in tree:
            raise ValueError("\\u0000 cannot be converted to text")
        tree.encode()
    return json.dumps(tree, ensure_ascii=False)


# --- values ---------------------------------------------------------------------------------------

text = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    ["", "\0", "a\0b", "\ud800", "\udfff\ud83d", "\ud83d\ude00", "\\u0000", "$m", "$keys", "é", "名前", "1e5"]
)
floats = st.floats() | st.sampled_from([0.0, -0.0, 1e22, 1e16, 9999999999999998.0, 1e-4, 9.9e-5, 5e-324, math.inf])
integers = (
    st.integers()
    | st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1])
    | st.integers(-9999, 9999).map(lambda bits: -(2**-bits) if bits < 0 else 2**bits)
)
offsets = st.timedeltas(dt.timedelta(hours=-23, minutes=-59), dt.timedelta(hours=23, minutes=59))
fixed_zones = st.one_of(
    st.just(dt.UTC), st.builds(dt.timezone, offsets), st.builds(dt.timezone, offsets, st.text(min_size=1, max_size=4))
)
zones = st.sampled_from(["UTC", "Europe/Berlin", "Asia/Shanghai", "America/St_Johns"]).map(zoneinfo.ZoneInfo)
tz = st.none() | fixed_zones | zones
folds = st.sampled_from([0, 1])
datetimes = st.builds(lambda when, fold, zone: when.replace(fold=fold, tzinfo=zone), st.datetimes(), folds, tz)
times = st.builds(lambda when, fold, zone: when.replace(fold=fold, tzinfo=zone), st.times(), folds, tz)
decimals = st.decimals() | st.sampled_from([*map(Decimal, ("sNaN12", "-NaN", "-0", "1E+500", "0E-30", "-Infinity"))])
paths = st.builds(
    lambda kind, parts: kind(*parts),
    st.sampled_from([pathlib.Path, pathlib.PurePosixPath, pathlib.PureWindowsPath]),
    st.lists(st.sampled_from(["", "/", "a", "..", "C:", "C:\\", "ü", "\udcff"]), max_size=3),
)
patterns = st.sampled_from(
    [
        re.compile("a+"),
        re.compile("(?i)ä", re.MULTILINE),
        re.compile(b"\x00.", re.DOTALL),
        re.compile("x # y", re.VERBOSE),
    ]
)
addresses = st.one_of(
    st.ip_addresses(),
    st.ip_addresses(v=4).map(lambda ip: ipaddress.ip_interface(f"{ip}/24")),
    st.ip_addresses(v=6).map(lambda ip: ipaddress.ip_network(f"{ip}/64", strict=False)),
    st.just(ipaddress.IPv6Address("fe80::1%eth0")),
)
members = st.sampled_from(
    [*Colour, *Word, *Grade, *Right, Right(0), Right.READ | Right.WRITE, Bits.A | Bits.B, Bits(0), Outer.Inner.DEEP]
)
scalar_kinds = (
    npst.boolean_dtypes()
    | npst.integer_dtypes()
    | npst.unsigned_integer_dtypes()
    | npst.floating_dtypes(endianness="=")
    | npst.complex_number_dtypes(endianness="=")
    | npst.datetime64_dtypes()
    | npst.timedelta64_dtypes()
    | npst.unicode_string_dtypes()
    | npst.byte_string_dtypes()
)
numpy_scalars = st.one_of(
    scalar_kinds.flatmap(lambda kind: npst.arrays(kind, ()).map(lambda array: array[()])),
    st.sampled_from([np.longlong(3), np.ulonglong(4), np.longdouble("1e-4000"), np.str_("a\0"), np.bytes_(b"b\0")]),
    npst.arrays(np.dtype([("a", "i4"), ("b", "f8", (2,))]), ()).map(lambda array: array[()]),
)
array_kinds = st.one_of(
    npst.scalar_dtypes(),
    npst.array_dtypes(npst.scalar_dtypes(), max_size=3),
    st.sampled_from([np.dtype("q"), np.dtype([("a", "i1"), ("b", "f8")], align=True), np.dtype("g")]),
)
arrays = st.builds(
    lambda array, fortran: np.asfortranarray(array) if fortran and array.ndim else array,
    array_kinds.flatmap(lambda kind: npst.arrays(kind, npst.array_shapes(min_dims=0, min_side=0, max_dims=3))),
    st.booleans(),
) | st.just(np.array([b"abc", b"d"], "V3"))

hashable_scalars = st.one_of(
    st.none(),
    st.booleans(),
    integers,
    floats,
    text,
    st.binary(max_size=8),
    st.complex_numbers(),
    datetimes,
    st.dates(),
    times,
    st.timedeltas(),
    decimals.filter(lambda number: not number.is_snan()),
    st.fractions(),
    st.uuids(),
    paths,
    patterns,
    st.builds(range, st.integers(-9, 9), st.integers(), st.integers(1, 9)),
    addresses,
    members,
    fixed_zones,
    zones,
    text.map(Name),
    st.integers().map(Count),
    st.sampled_from([int, dict, Colour, Person, Item, ValueError, Decimal]),
)


def short_named(strategy: Any) -> Any:
    """The same strategy without its description, which grows with each level it is used at."""

    @st.composite
    def draw_value(draw: Any) -> Any:
        return draw(strategy)

    return draw_value()


hashable_scalars = short_named(hashable_scalars)
hashables = short_named(
    st.recursive(
        hashable_scalars,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(tuple),
            st.frozensets(inner, max_size=3),
            st.builds(Point, inner, inner),
            st.builds(Fixed, inner, inner),
            st.lists(inner, max_size=2).map(Pair),
        ),
        max_leaves=4,
    )
)
other_scalars = short_named(
    st.one_of(
        st.binary(max_size=8).map(bytearray),
        decimals,
        numpy_scalars,
        arrays,
        st.builds(slice, st.integers(), st.none(), st.integers()),
    )
)


def person(kind: type, name: Any, tags: list[Any], forgotten: bool) -> Any:
    value = kind(name, tags)
    if forgotten:
        del value.made
    return value


def item(name: Any, parts: Any, secret: Any, how: str) -> Item:
    value = Item(name=name, parts=[]) if how == "set" else Item(name=name)
    value.__dict__["parts"] = parts
    value._secret = secret
    if how == "absent":
        del value.__dict__["parts"]
    assert value.cached == "cached"  # stands among the attributes now, and is no field
    return value


def trouble(kind: type, code: Any, notes: list[str], cause: Any, hidden: bool) -> BaseException:
    value = kind(code)
    for note in notes:
        value.add_note(note)
    if cause is not None:
        value.__cause__ = cause
    value.__suppress_context__ = hidden
    return value


def blocks(inner: Any) -> Any:
    block = st.one_of(
        st.builds(lambda said: {"type": "text", "text": said}, text),
        st.builds(lambda said: {"text": said, "type": "text"}, text),
        st.builds(lambda url: {"type": "image_url", "image_url": {"url": url}}, text),
    )
    return text | st.lists(block | text, max_size=3)


calls = st.one_of(
    st.builds(
        lambda name, args, key: {"name": name, "args": args, "id": key, "type": "tool_call"},
        text,
        st.dictionaries(text, text, max_size=2),
        st.none() | text,
    ),
    st.builds(
        lambda name, args: {"id": "i", "args": args, "name": name},
        text,
        st.dictionaries(text, st.integers(), max_size=2),
    ),
    st.builds(lambda name: {"name": name, "args": {}, "id": "1", "type": "other"}, text),
)
usage = st.none() | st.sampled_from(
    [
        {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        {"input_tokens": 1, "total_tokens": 3, "output_tokens": 2},
        {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "input_token_details": {"cache_read": 1}},
    ]
)


def chat(inner: Any) -> Any:
    common = {"additional_kwargs": st.dictionaries(text, inner, max_size=2), "id": st.none() | text}
    kinds = [messages.HumanMessage, messages.SystemMessage, messages.HumanMessageChunk, messages.SystemMessageChunk]
    return st.one_of(
        said(st.sampled_from(kinds), blocks(inner), **common),
        said(st.sampled_from([*kinds, messages.AIMessageChunk]), text),
        st.builds(spoken, blocks(inner), st.lists(calls, max_size=2), usage, st.dictionaries(text, inner, max_size=1)),
        said(st.just(messages.ToolMessage), text, tool_call_id=text, artifact=inner, **common),
        said(st.just(messages.ChatMessage), text, role=text),
        said(st.just(messages.FunctionMessage), text, name=text),
        text.map(lambda key: messages.RemoveMessage(id=key)),
        said(st.just(messages.HumanMessage), text, beyond=inner),
        said(st.just(documents.Document), text, metadata=st.dictionaries(text, inner, max_size=2)),
    )


def said(kind: Any, content: Any, **fields: Any) -> Any:
    return st.builds(lambda make, *given, **named: make(*given, **named), kind, content, **fields)


def spoken(content: Any, tool_calls: Any, counts: Any, metadata: Any) -> messages.AIMessage:
    value = messages.AIMessage(content)
    value.tool_calls = tool_calls
    value.usage_metadata = counts
    value.response_metadata.update(metadata)  # changed in place: not among the fields set
    return value


def containers(inner: Any) -> dict[str, Any]:
    """Every kind of value that holds others."""
    dicts = st.dictionaries(hashables, inner, max_size=3) | st.dictionaries(text, inner, max_size=4)
    lists = st.lists(inner, max_size=3)
    troubles = st.sampled_from([Trouble, Denied, ValueError, KeyError, Exception, SystemExit])
    return {
        "list": lists,
        "tuple": lists.map(tuple),
        "set": st.sets(hashables, max_size=3),
        "frozenset": st.frozensets(hashables, max_size=3),
        "dict": dicts,
        "defaultdict": st.builds(defaultdict, st.sampled_from([None, list, int, Counter, Person]), dicts),
        "OrderedDict": st.builds(OrderedDict, dicts),
        "Counter": st.dictionaries(hashables, st.integers(), max_size=3).map(Counter),
        "deque": st.builds(
            lambda parts, room: deque(parts, room and len(parts) + room), lists, st.sampled_from([None, 1])
        ),
        "ChainMap": st.lists(dicts, min_size=1, max_size=2).map(lambda maps: ChainMap(*maps)),
        "subclass of list": lists.map(Numbers),
        "subclass of dict": dicts.map(Index),
        "named tuple": st.builds(Point, inner, inner),
        "plain class": st.builds(Plain, inner, inner),
        "by functions": st.builds(Celsius, inner),
        "dataclass": st.builds(person, st.sampled_from([Person, Worker, Fuller]), inner, lists, st.booleans()),
        "frozen dataclass": st.builds(Fixed, inner),
        "model": st.builds(item, inner, inner, inner, st.sampled_from(["set", "unset", "absent"])),
        "open model": st.builds(opened, inner, st.dictionaries(st.sampled_from("abc"), inner), st.booleans()),
        "generic model": st.builds(lambda held: Box[int](held=held, inner=Item()), inner),
        "root model": inner.map(Root),
        "exception": st.builds(
            trouble, troubles, inner, st.lists(text, max_size=1), st.none() | st.builds(Trouble, inner), st.booleans()
        ),
        "array of objects": st.lists(inner, min_size=1, max_size=3).map(objects),
        "message": chat(inner),
        "Send": st.builds(graph_types.Send, text, inner),
        "Command": st.builds(graph_types.Command, goto=text, update=inner, resume=inner),
        "Interrupt": st.builds(graph_types.Interrupt, inner, text),
        "Overwrite": st.builds(graph_types.Overwrite, inner),
        "GraphInterrupt": inner.map(lambda asked: graph_errors.GraphInterrupt((graph_types.Interrupt(asked, "i"),))),
    }


def opened(first: Any, beyond: Any, forgotten: bool) -> Open:
    value = Open(first=first, **beyond)
    if forgotten:
        value.model_fields_set.clear()
    return value


def objects(parts: list[Any]) -> np.ndarray[Any, Any]:
    array = np.empty((1, len(parts)), object)
    for place, each in enumerate(parts):
        array[0, place] = each
    return array


values = short_named(
    st.recursive(
        hashables | other_scalars,
        lambda inner: short_named(st.one_of(*containers(inner).values())),
        max_leaves=6,
    )
)
KINDS = containers(hashables | other_scalars) | {"anything": values, "scalar": hashables | other_scalars}
slow = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

# --- claims ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@slow
def test_a_value_comes_back_equal_and_of_equal_type(kind: str, data: st.DataObject) -> None:
    value = data.draw(KINDS[kind])
    tree = codec.encode(value)
    stored = codec.loads(jsonb(codec.dumps(tree)))
    assert same(codec.decode(tree), value)
    assert same(codec.decode(codec.loads(codec.dumps(tree))), value)
    assert same(codec.decode(stored), value)
    assert same(codec.clone(value), value)
    assert codec.canonical(stored) == codec.canonical(tree)
    assert codec.digest(stored) == codec.digest(codec.encode(codec.decode(stored)))


@given(st.lists(st.text("ab$é中𝄞", max_size=4), unique=True, max_size=8))
@settings(max_examples=300)
def test_keys_keep_their_order_through_a_column_that_has_an_order_of_its_own(keys: list[str]) -> None:
    value = dict.fromkeys(keys, 1)
    assert list(codec.decode(codec.loads(jsonb(codec.dumps(codec.encode(value)))))) == keys
    assert list(codec.decode(codec.encode(value))) == keys


@given(values)
@slow
def test_a_clone_shares_nothing_changeable(value: Any) -> None:
    assert not changeable(value) & changeable(codec.clone(value))


def changeable(value: Any) -> set[int]:
    """Identities of everything in a value that can be changed in place."""
    found: set[int] = set()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if id(each) in found or isinstance(each, type | enum.Enum | np.generic) or type(each).__module__ == "ipaddress":
            continue
        parts = list(getattr(each, "__dict__", {}).values())
        if isinstance(each, dict):
            parts += [*each, *each.values()]
        elif isinstance(each, list | tuple | set | frozenset | deque):
            parts += each
        elif isinstance(each, BaseException):
            parts += each.args
        if parts or isinstance(each, list | dict | set | deque | bytearray | np.ndarray | pydantic.BaseModel):
            if not isinstance(each, tuple | frozenset | str | int):
                found.add(id(each))
            waiting += parts
    return found


@given(st.lists(values, min_size=1, max_size=8))
@settings(suppress_health_check=list(HealthCheck), max_examples=25)
def test_postgresql_itself_agrees(postgres_admin: psycopg.Connection, samples: list[Any]) -> None:
    texts = [codec.dumps(codec.encode(value)).decode() for value in samples]
    found = postgres_admin.execute("SELECT each::jsonb::text FROM unnest(%s::text[]) AS each", [texts]).fetchall()
    for value, sent, (text,) in zip(samples, texts, found, strict=True):
        assert text == jsonb(sent.encode())
        assert same(codec.decode(codec.loads(text)), value)
