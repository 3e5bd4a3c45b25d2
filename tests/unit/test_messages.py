"""A message's author is one line by a fixed rule, and its text is what a person would see, whatever its shape."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ToolMessage

from dalsegno.core.messages import author_of, text_of

PIXELS = base64.b64encode(bytes(range(256))).decode()


# --- authors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "name", "node", "author"),
    [
        ("human", None, None, "user"),
        ("ai", None, None, "assistant"),
        ("system", None, None, "system"),
        ("developer", None, None, "system"),
        ("tool", None, None, "tool"),
        ("function", None, None, "tool"),
        ("tool", "book_flight", "tools", "book_flight"),
        ("human", "张三", "__start__", "张三"),
        ("human", None, "__start__", "user"),
        ("human", None, "__input__", "user"),
        ("ai", None, "planner", "planner"),
        ("ai", "critic", "planner", "critic"),
        ("AIMessageChunk", None, None, "assistant"),
        ("moderator", None, None, "moderator"),
        ("", None, None, "unknown"),
        ("human", " \n ", None, "user"),
        ("human", "Ann\nB.\x00 #7", None, "Ann B. #7"),
    ],
)
def test_name_then_node_then_role(role: str, name: str | None, node: str | None, author: str) -> None:
    assert author_of(role=role, name=name, node=node) == author


@given(st.text(max_size=20), st.none() | st.text(), st.none() | st.text())
def test_an_author_is_one_short_line(role: str, name: str | None, node: str | None) -> None:
    author = author_of(role=role, name=name, node=node)
    assert author == author.strip()
    assert author.isprintable()
    assert 1 <= len(author) <= 120


# --- texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "退款 please"}, "退款 please"),
        ({"content": None}, ""),
        ({}, ""),
        ({"content": []}, ""),
        ({"content": ["a", {"type": "text", "text": "b"}, {"type": "output_text", "text": "c"}]}, "a\nb\nc"),
        ({"content": [{"type": "refusal", "refusal": "I cannot"}]}, "I cannot"),
        ({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "reasoning", "reasoning": "so"}]}, "hm\nso"),
        ({"content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "in short"}]}]}, "in short"),
        ({"content": [{"type": "redacted_thinking", "data": PIXELS}]}, "[reasoning]"),
        ({"content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXELS}"}}]}, "[image]"),
        ({"content": [{"type": "image", "base64": PIXELS, "mime_type": "image/png"}]}, "[image]"),
        ({"content": [{"type": "image", "source": {"type": "base64", "data": PIXELS}}, "see"]}, "[image]\nsee"),
        ({"content": [{"type": "input_audio", "input_audio": {"data": PIXELS}}]}, "[audio]"),
        ({"content": [{"type": "file", "file": {"filename": "合同.pdf", "file_data": PIXELS}}]}, "[file 合同.pdf]"),
        ({"content": [{"type": "document", "title": "a\nb", "source": {}}]}, "[file a b]"),
        ({"content": [{"type": "something_new", "x": 1}]}, "[something_new]"),
        ({"content": [{"x": 1}]}, "[block]"),
        ({"content": [{"type": "tool_result", "content": [{"type": "text", "text": "ok"}]}]}, "ok"),
        ({"content": [b"\x00", 7]}, "[bytes]\n7"),
        ({"content": {"type": "text", "text": "bare block"}}, "bare block"),
        (
            {"content": "", "tool_calls": [{"name": "book", "args": {"城市": "上海", "n": 2}, "id": "1"}]},
            'book({"城市": "上海", "n": 2})',
        ),
        ({"content": "ok", "tool_calls": [{"name": "a", "args": {}}, {"name": "b", "args": {}}]}, "ok\na({})\nb({})"),
        ({"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"x": 1}'}}]}, 'f({"x": 1})'),
        ({"invalid_tool_calls": [{"name": "f", "args": "{broken", "error": "no"}]}, "f({broken)"),
        ({"invalid_tool_calls": [{"name": None, "args": None}]}, "tool(null)"),
        ({"content": "", "additional_kwargs": {"function_call": {"name": "f", "arguments": "{}"}}}, "f({})"),
        ({"content": [{"type": "tool_use", "name": "f", "input": {"x": 1}}]}, 'f({"x": 1})'),
    ],
)
def test_text_is_what_a_person_would_see(message: dict[str, Any], text: str) -> None:
    assert text_of(message) == text


def test_calls_repeated_as_content_blocks_are_told_once() -> None:
    message = AIMessage(
        content=[{"type": "text", "text": "one moment"}, {"type": "tool_use", "id": "1", "name": "f", "input": {}}],
        tool_calls=[{"name": "f", "args": {}, "id": "1"}],
    )
    assert text_of(dict(message)) == "one moment\nf({})"


def test_fields_of_real_message_objects_are_read() -> None:
    assert text_of(ToolMessage("done", tool_call_id="1").model_dump()) == "done"


json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "tool_calls", "name", "args", "file", "filename", "function"]),
            inner,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["content", "tool_calls", "invalid_tool_calls", "additional_kwargs"]), json))
def test_no_shape_of_message_is_an_error(message: dict[str, Any]) -> None:
    assert isinstance(text_of(message), str)
