"""Messages and LangGraph's own values: short in the row, and what the constructor would have made when read."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from langchain_core import documents, messages
from langgraph import errors, types

import dalsegno.langgraph.types as known
from dalsegno.core import codec
from dalsegno.errors import NotSerializable

CALL = {"name": "f", "args": {"b": 1}, "id": "c", "type": "tool_call"}
COUNTS = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}

WRITTEN: list[tuple[Any, str]] = [
    (messages.HumanMessage("hi", id="1"), '{"$m":"human","content":"hi","id":"1"}'),
    (messages.HumanMessage("hi", name=None), '{"$m":"human","content":"hi","name":null}'),
    (messages.HumanMessage("hi", seen=True), '{"$m":"human","content":"hi","$extra":{"seen":true}}'),
    (messages.SystemMessage("s"), '{"$m":"system","content":"s"}'),
    (
        messages.HumanMessage([{"type": "text", "text": "t"}, {"text": "t", "type": "text"}, {"type": "x", "a": 1}]),
        '{"$m":"human","content":[{"type":"text","text":"t"},{"$keys":"01","text":"t","type":"text"},{"$keys":"10","type":"x","a":1}]}',
    ),
    (
        messages.AIMessage("", tool_calls=[CALL], usage_metadata=COUNTS),
        '{"$m":"ai","content":"","tool_calls":[{"name":"f","args":{"b":1},"id":"c"}],"usage_metadata":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}',
    ),
    (
        messages.ToolMessage("r", tool_call_id="c", artifact={1}),
        '{"$m":"tool","content":"r","tool_call_id":"c","artifact":{"$set":[1]}}',
    ),
    (
        messages.ToolMessage("r", tool_call_id="c", status="error"),
        '{"$m":"tool","content":"r","tool_call_id":"c","status":"error"}',
    ),
    (messages.FunctionMessage("r", name="f"), '{"$m":"function","content":"r","name":"f"}'),
    (messages.ChatMessage("r", role="u"), '{"$m":"chat","content":"r","role":"u"}'),
    (messages.RemoveMessage(id="1"), '{"$m":"remove","content":"","id":"1"}'),
    (messages.AIMessageChunk("a"), '{"$m":"ai+","content":"a"}'),
    (documents.Document("p", metadata={"a": 1}), '{"$m":"document","metadata":{"a":1},"page_content":"p"}'),
    (types.Send("n", {"a": 1}), '{"$type":"langgraph:Send","node":"n","arg":{"a":1},"timeout":null}'),
    (types.Overwrite([1]), '{"$type":"langgraph:Overwrite","value":[1],"type":"__overwrite__"}'),
    (types.Interrupt("q", "i"), '{"$type":"langgraph:Interrupt","value":"q","id":"i","response_schema":null}'),
    (types.Command(goto="n"), '{"$type":"langgraph:Command","graph":null,"update":null,"resume":null,"goto":"n"}'),
    (errors.GraphRecursionError("deep"), '{"$error":"langgraph:GraphRecursionError","args":["deep"]}'),
]


@pytest.mark.parametrize(("value", "text"), WRITTEN, ids=[text[:40] for _, text in WRITTEN])
def test_the_written_form_is_part_of_the_format_and_has_no_defaults(value: Any, text: str) -> None:
    assert codec.dumps(codec.encode(value)).decode() == text
    assert codec.dumps(codec.encode(codec.decode(codec.loads(text)))).decode() == text
    assert codec.dumps(codec.encode(codec.clone(value))).decode() == text


MESSAGES = [value for value, _ in WRITTEN if isinstance(value, messages.BaseMessage | documents.Document)]


@pytest.mark.parametrize(
    "value", MESSAGES, ids=[f"{number} {type(each).__name__}" for number, each in enumerate(MESSAGES)]
)
def test_a_read_or_cloned_message_is_the_one_its_constructor_makes(value: Any) -> None:
    made = type(value)(**{name: getattr(value, name) for name in value.model_fields_set})
    for found in (codec.decode(codec.encode(value)), codec.clone(value)):
        assert found == made
        assert found.__dict__ == made.__dict__
        assert list(found.__dict__) == list(made.__dict__)
        assert found.model_fields_set == made.model_fields_set
        assert found.model_extra == made.model_extra
        assert found.__pydantic_private__ == made.__pydantic_private__
        assert found.model_dump_json() == made.model_dump_json()
        assert found.model_copy(update={"id": "new"}).id == "new"


def test_every_message_class_of_langchain_has_a_short_form() -> None:
    for cls in vars(messages).values():
        if inspect.isclass(cls) and issubclass(cls, messages.BaseMessage) and not cls.__name__.startswith("Base"):
            tree = codec.encode(cls.model_construct(content="x"))
            assert "$m" in tree, cls
            assert type(codec.decode(tree)) is cls


def test_a_field_changed_in_place_is_stored_though_nobody_set_it() -> None:
    value = messages.AIMessage("a")
    value.additional_kwargs["x"] = 1
    tree = codec.encode(value)
    assert tree == {"$m": "ai", "content": "a", "additional_kwargs": {"x": 1}, "$unset": ["additional_kwargs"]}
    assert codec.decode(tree).model_fields_set == {"content"}


def test_a_tool_call_of_another_shape_keeps_its_keys_and_their_order() -> None:
    value = messages.AIMessage("")
    odd = [
        {"id": "1", "args": {}, "name": "f"},
        {"name": "f", "args": {}, "id": "1"},
        {**CALL, "type": "other"},
        {**CALL, "index": 0},
    ]
    value.tool_calls = odd
    found = codec.decode(codec.loads(codec.canonical(codec.encode(value)))).tool_calls
    assert found == odd
    assert [list(call) for call in found[:2]] == [list(call) for call in odd[:2]]


def test_a_tool_call_with_keys_of_another_type_keeps_them() -> None:
    value = messages.AIMessage("")
    value.tool_calls = [{np.str_(key): item for key, item in CALL.items()}]
    (found,) = codec.decode(codec.encode(value)).tool_calls
    assert [type(key) for key in found] == [np.str_] * 4


def test_a_class_a_program_derives_from_a_message_is_itself() -> None:
    class Noted(messages.HumanMessage):
        note: str = ""

    found = codec.decode(codec.encode(Noted("a", note="b")))
    assert type(found) is Noted
    assert found == Noted("a", note="b")


def test_values_written_before_the_short_form_was_known_are_read() -> None:
    tree = {"$type": "langchain_core.messages.human:HumanMessage", "content": "a", "$unset": []}
    assert codec.decode(tree) == messages.HumanMessage("a")
    assert "$m" in codec.encode(codec.decode(tree))


def test_a_field_of_a_newer_langchain_stays_with_the_message() -> None:
    found = codec.decode({"$m": "human", "content": "a", "brand_new": [1]})
    assert found.brand_new == [1]
    assert codec.decode(codec.encode(found)).brand_new == [1]


def test_the_path_of_a_refused_artifact_leads_into_the_message() -> None:
    bad = messages.ToolMessage("r", tool_call_id="c", artifact={"file": open})
    with pytest.raises(NotSerializable, match=r"^messages\[1\]\.artifact\.file \(builtin_function"):
        codec.encode(["", bad], "messages")
    call = messages.AIMessage("", tool_calls=[{**CALL, "args": {"a": {"b": print}}}])
    with pytest.raises(NotSerializable, match=r"^state\.tool_calls\[0\]\.args\.a\.b "):
        codec.encode(call)


def test_an_error_that_cannot_be_stored_is_told_of() -> None:
    class Driver(Exception):
        pass

    good, bad = Driver("lost"), Driver("lost")
    bad.connection = open
    assert known.storable(good) is good
    told = codec.decode(codec.encode(known.storable(bad)))
    assert type(told) is known.RecordedError
    assert str(told) == f"{__name__}.test_an_error_that_cannot_be_stored_is_told_of.<locals>.Driver: lost"
