"""A transcript is read whole and exactly as it was recorded, or refused with file, place, and what was expected there."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)

from dalsegno.errors import TranscriptError
from dalsegno.imports import Transcript, files, read_transcript

CALL = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"单号": "SO1", "n": 2}'}}
CHAT = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "退款 please", "name": "张三"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": "done", "tool_call_id": "c1"},
    {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
]


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Write a value, text or bytes to a file and read it as a transcript."""

    def read(content: Any, index: int | None = None, name: str = "chat.json") -> Transcript:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), "utf-8")
        return read_transcript(path, index)

    return read


# --- OpenAI chat ----------------------------------------------------------------------------------


def test_openai_messages_become_langchain_messages(read: Any) -> None:
    transcript = read(CHAT)
    assert transcript.format == "openai"
    assert list(transcript) == [
        SystemMessage("You help."),
        HumanMessage("退款 please", name="张三"),
        AIMessage("", tool_calls=[{"name": "refund", "args": {"单号": "SO1", "n": 2}, "id": "c1"}]),
        ToolMessage("done", tool_call_id="c1", name="refund"),
        AIMessage([{"type": "text", "text": "Done."}]),
    ]
    assert transcript.times == (None,) * 5


@pytest.mark.parametrize("key", ["messages", "traj", "history", "conversation"])
def test_the_list_may_stand_in_an_object(read: Any, key: str) -> None:
    for content in ({key: CHAT, "model": "m"}, {"values": {key: CHAT}}):
        assert list(read(content)) == list(read(CHAT))


def test_one_of_several_is_chosen_by_index_and_none_is_taken_silently(read: Any) -> None:
    several = [{"task_id": 7, "traj": CHAT[:2]}, {"task_id": 8, "traj": CHAT}]
    assert len(read(several, 0)) == 2
    assert read(several, 1).source.endswith("chat.json [1].traj")
    assert list(read([CHAT[:2], CHAT], 1)) == list(read(CHAT))
    assert list(read([several[1]])) == list(read(CHAT))
    for index in (None, 2, -1, True):
        with pytest.raises(TranscriptError, match="holds 2 conversations; choose one by its index from 0 to 1"):
            read(several, index)
    with pytest.raises(TranscriptError, match="holds one conversation"):
        read(CHAT, 1)


@pytest.mark.parametrize("name", ["chat.jsonl", "chat.ndjson", "chat.JSONL", "chat.json", "chat"])
def test_json_lines_hold_a_message_a_line_or_a_conversation_a_line(read: Any, name: str) -> None:
    lines = "\r\n\n".join(json.dumps(message, ensure_ascii=False) for message in CHAT) + "\n"
    assert list(read(lines, name=name)) == list(read(CHAT))
    records = json.dumps({"messages": CHAT[:2]}) + "\n" + json.dumps({"messages": CHAT})
    assert list(read(records, 1, name=name)) == list(read(CHAT))


def test_a_line_separator_inside_a_text_ends_no_line(read: Any) -> None:
    lines = "\n".join(json.dumps({"role": "user", "content": text}, ensure_ascii=False) for text in ("a\u2028b", "c"))
    assert [message.content for message in read(lines, name="chat.jsonl")] == ["a\u2028b", "c"]


def test_a_single_line_is_a_conversation_of_one_message(read: Any) -> None:
    assert list(read(json.dumps(CHAT[1]), name="chat.jsonl")) == [HumanMessage("退款 please", name="张三")]
    assert list(read(CHAT[1])) == [HumanMessage("退款 please", name="张三")]


def test_the_legacy_function_call_is_a_tool_call(read: Any) -> None:
    ask = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    call, result, again, other = read(
        [ask, {"role": "function", "name": "f", "content": "1"}, ask, {"role": "function", "name": "f", "content": "2"}]
    )
    assert call.tool_calls == [{"name": "f", "args": {}, "id": "call_0_0", "type": "tool_call"}]
    assert result == ToolMessage("1", tool_call_id="call_0_0", name="f")
    assert (again.tool_calls[0]["id"], other.tool_call_id) == ("call_2_0", "call_2_0")


@pytest.mark.parametrize("arguments", ["{broken", "[1, 2]", "7", "[" * 100_000])
def test_arguments_that_are_no_object_are_kept_in_an_invalid_call(read: Any, arguments: str) -> None:
    call = {"id": "c1", "function": {"name": "f", "arguments": arguments}}
    ask, result = read(
        [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1", "content": ""}]
    )
    assert ask.tool_calls == []
    assert [(bad["name"], bad["args"], bad["id"]) for bad in ask.invalid_tool_calls] == [("f", arguments, "c1")]
    assert result.name == "f"


@pytest.mark.parametrize(
    ("arguments", "args"), [(None, {}), ("", {}), ({"x": 1}, {"x": 1}), ('{"x": NaN}', None), ("{}", {})]
)
def test_arguments_come_as_text_as_an_object_or_not_at_all(read: Any, arguments: Any, args: Any) -> None:
    [ask] = read(
        [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": arguments}}]}]
    )
    assert list(ask.tool_calls[0]["args"]) == ["x"] if args is None else ask.tool_calls[0]["args"] == args


def test_nothing_of_a_message_is_lost(read: Any) -> None:
    refused, developer, odd = read(
        [
            {"role": "assistant", "content": None, "refusal": "I will not"},
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": "x", "id": "m1", "weight": 0, "reasoning_content": "hm"},
        ]
    )
    assert refused.content == [{"type": "refusal", "refusal": "I will not"}]
    assert developer == SystemMessage("Be brief.", additional_kwargs={"__openai_role__": "developer"})
    assert odd == HumanMessage("x", id="m1", additional_kwargs={"weight": 0, "reasoning_content": "hm"})


def test_null_content_is_empty_for_every_role(read: Any) -> None:
    roles = ["system", "user", "assistant"]
    assert [message.content for message in read([{"role": role, "content": None} for role in roles])] == [""] * 3
    assert [message.content for message in read([{"role": role} for role in roles])] == [""] * 3


# --- pairs of calls and results -------------------------------------------------------------------


def ask(*calls: tuple[str | None, str]) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": i, "function": {"name": name}} for i, name in calls]}


def answer(call_id: str | None, name: str | None = None, **extra: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": "", **extra}


def test_ids_that_are_used_again_pair_with_the_nearest_unanswered_call(read: Any) -> None:
    messages = read([ask(("a", "f"), ("a", "g")), answer("a"), answer("a"), ask(("a", "h")), answer("a")])
    assert [message.name for message in messages] == [None, "f", "g", None, "h"]


def test_a_call_left_unanswered_does_not_take_a_later_calls_result(read: Any) -> None:
    messages = read([ask(("a", "old")), {"role": "user", "content": "again"}, ask(("a", "new")), answer("a")])
    assert messages[3].name == "new"


def test_where_ids_are_missing_the_order_decides(read: Any) -> None:
    messages = read([ask((None, "f"), (None, "g"), (None, "f")), answer(None, "g"), answer(None), answer(None, "f")])
    assert [call["id"] for call in messages[0].tool_calls] == ["call_0_0", "call_0_1", "call_0_2"]
    assert [message.tool_call_id for message in messages[1:]] == ["call_0_1", "call_0_0", "call_0_2"]
    assert len({call["id"] for call in messages[0].tool_calls}) == 3


def test_a_list_of_one_call_id_is_an_id(read: Any) -> None:
    assert read([ask(("a", "f")), {"role": "tool", "tool_call_ids": ["a"], "content": "x"}])[1].tool_call_id == "a"


@pytest.mark.parametrize(
    "messages",
    [
        [answer("a")],
        [ask(("b", "f")), answer("a")],
        [ask(("a", "f")), answer("a"), answer("a")],
        [ask((None, "f")), answer(None, "g")],
        [answer("a"), ask(("a", "f"))],
    ],
)
def test_a_result_without_a_call_before_it_is_refused(read: Any, messages: list[Any]) -> None:
    orphan = next(at for at in reversed(range(len(messages))) if messages[at]["role"] == "tool")
    with pytest.raises(
        TranscriptError, match=rf"chat\.json: \[{orphan}\]: expected the result of a call made before it"
    ):
        read(messages)


# --- LangChain messages ---------------------------------------------------------------------------

LANGCHAIN: list[BaseMessage] = [
    SystemMessage("You help.", id="m0"),
    HumanMessage([{"type": "text", "text": "退款"}, {"type": "image_url", "image_url": {"url": "data:x"}}], id="m1"),
    AIMessage(
        "",
        id="m2",
        name="planner",
        tool_calls=[{"name": "refund", "args": {"lc": 1, "深": [{"lc": 2}]}, "id": "c1"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model": "m"},
    ),
    ToolMessage("no", tool_call_id="c1", name="refund", status="error", artifact={"rows": [1]}, id="m3"),
    ChatMessage("and then?", role="moderator", id="m4"),
]


@pytest.mark.parametrize(
    "write",
    [
        lambda messages: [dumpd(message) for message in messages],
        dumpd,
        lambda messages: dumpd({"messages": messages}),
        messages_to_dict,
        lambda messages: [message.model_dump() for message in messages],
        lambda messages: {"values": {"messages": [message.model_dump(mode="json") for message in messages]}},
    ],
)
def test_langchain_messages_come_back_as_they_were(read: Any, write: Any) -> None:
    transcript = read(write(LANGCHAIN))
    assert transcript.format == "langchain"
    assert list(transcript) == LANGCHAIN
    assert [type(message) for message in transcript] == [type(message) for message in LANGCHAIN]


def test_a_chunk_becomes_its_message(read: Any) -> None:
    chunk = AIMessageChunk("hello", id="m1")
    for content in ([dumpd(chunk)], messages_to_dict([chunk]), [chunk.model_dump()]):
        [message] = read(content)
        assert type(message) is AIMessage
        assert (message.content, message.id) == ("hello", "m1")


def test_an_object_inside_a_message_stays_data(read: Any) -> None:
    hidden = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "HumanMessage"], "kwargs": {}}
    message = dumpd(ToolMessage("x", tool_call_id="c"))
    message["kwargs"]["artifact"] = hidden
    asked = dumpd(AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}]))
    assert read([asked, message])[1].artifact == hidden


@pytest.mark.parametrize(
    "path",
    [
        ["os", "system"],
        ["langchain", "schema", "messages", "RemoveMessage"],
        ["langchain", "llms", "OpenAI"],
        ["evil", "HumanMessage"],
        ["subprocess", "Popen"],
        [],
        "HumanMessage",
        [["langchain"], "HumanMessage"],
        None,
    ],
)
def test_a_class_that_is_no_message_is_refused_and_not_imported(
    read: Any, path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TranscriptError, match=r"\[0\]\.id: expected the path of one of AIMessage"):
        read([{"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": "x"}}])
    assert "evil" not in sys.modules


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (RemoveMessage(id="m1").model_dump(), r"\[0\]: expected a message"),
        ({"type": "human", "data": {"content": 3}}, r"\[0\]\.data\.content"),
        ({"type": "human", "content": {"a": 1}}, r"\[0\]\.content"),
        ({"type": "tool", "data": {"content": "x"}}, r"\[0\]\.data"),
        ({"type": "ai", "content": "x", "tool_calls": [{"name": 1, "args": {}, "id": "c"}]}, r"\[0\]\.tool_calls"),
        ({"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"]}, r"\[0\]\.kwargs"),
        ({"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": []}, r"\[0\]\.kwargs"),
    ],
)
def test_what_a_message_class_refuses_is_refused_with_its_place(read: Any, raw: Any, place: str) -> None:
    with pytest.raises(TranscriptError, match=rf"chat\.json: \.messages{place}"):
        read({"messages": [raw]})


def test_two_messages_of_one_id_are_refused(read: Any) -> None:
    with pytest.raises(TranscriptError, match=r"\[2\]\.id: expected another id than that of \[0\], found \"m1\""):
        read(
            [
                message.model_dump()
                for message in (HumanMessage("a", id="m1"), HumanMessage("b"), AIMessage("c", id="m1"))
            ]
        )


# --- times ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "moment"),
    [
        ("2026-09-01T12:00:00Z", datetime(2026, 9, 1, 12, tzinfo=UTC)),
        ("2026-09-01T20:00:00+08:00", datetime(2026, 9, 1, 12, tzinfo=UTC)),
        ("2026-09-01 12:00:00", datetime(2026, 9, 1, 12, tzinfo=UTC)),
        (1788264000, datetime(2026, 9, 1, 12, tzinfo=UTC)),
        (1788264000000, datetime(2026, 9, 1, 12, tzinfo=UTC)),
        (1788264000.5, datetime(2026, 9, 1, 12, 0, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_times_are_read_where_a_recording_tells_them(read: Any, told: Any, moment: datetime) -> None:
    for key in ("timestamp", "created_at", "ts"):
        transcript = read([{"role": "user", "content": "x", key: told}, {"role": "user", "content": "y"}])
        assert transcript.times == (moment, None)
        assert transcript.times[0].tzinfo is UTC
        assert transcript[0].additional_kwargs == {}
    assert read([{"type": "human", "data": {"content": "x", "additional_kwargs": {"timestamp": told}}}]).times == (
        moment,
    )


@pytest.mark.parametrize(
    "told", ["yesterday", 3, -1, True, None, 1e300, [], {}, "9999-99-99", "0001-01-01T00:00:00+23:00"]
)
def test_what_is_no_time_stays_a_field(read: Any, told: Any) -> None:
    transcript = read([{"role": "user", "content": "x", "time": told}])
    assert transcript.times == (None,)
    assert transcript[0].additional_kwargs == {"time": told}


# --- what is no transcript ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ([], "the file: expected chat messages"),
        ({}, "the file: expected chat messages.*found an empty object"),
        ("7", "the file: expected chat messages.*found 7"),
        ('"text"', 'the file: expected chat messages.*found "text"'),
        ("null", "the file: expected chat messages.*found null"),
        ([1, 2], r"\[0\]: expected chat messages.*found 1"),
        ([{"question": "?", "answer": "!"}], r"\[0\]: expected chat messages.*an object with 'question', 'answer'"),
        ({"messages": []}, r"\.messages: expected at least one message, found a list of 0"),
        ({"messages": {}}, "the file: expected chat messages"),
        ([*CHAT, 3], r"\[5\]: expected a message with a `role`.*found 3"),
        ([*CHAT, {"content": "who?"}], r"\[5\]: expected a message with a `role`"),
        ({"messages": [*CHAT, None]}, r"\.messages\[5\]: expected a message"),
        ([{"role": "narrator", "content": ""}], r"\[0\]\.role: expected one of system.*found \"narrator\""),
        ([{"role": ["user"], "content": ""}], r"\[0\]\.role"),
        (
            [{"role": "user", "content": 5}],
            r"\[0\]\.content: expected text, null, or a list of content blocks, found 5",
        ),
        ([{"role": "user", "content": ["a", 5]}], r"\[0\]\.content\[1\]: expected text or a content block, found 5"),
        ([{"role": "user", "content": "", "name": {}}], r"\[0\]\.name: expected text"),
        ([{"role": "assistant", "tool_calls": {}}], r"\[0\]\.tool_calls: expected a list"),
        ([{"role": "assistant", "tool_calls": [7]}], r"\[0\]\.tool_calls\[0\]: expected a call with a function"),
        ([{"role": "assistant", "tool_calls": [{"function": {}}]}], r"\[0\]\.tool_calls\[0\]\.function\.name"),
        (
            [{"role": "assistant", "tool_calls": [{"id": [], "function": {"name": "f"}}]}],
            r"\[0\]\.tool_calls\[0\]\.id: expected text",
        ),
        (
            [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 5}}]}],
            r"\[0\]\.tool_calls\[0\]\.function\.arguments",
        ),
        ([{"role": "assistant", "function_call": "f"}], r"\[0\]\.function_call"),
        ('[{"role": "user"', r"line 1 column \d+: not JSON"),
        ('{"role": "user", "content": "a"}\n{"role": "user", "content": \n', "line 2: not JSON"),
        ("", "line 1 column 1: not JSON"),
        ("Dear Sir", "line 1 column 1: not JSON"),
        ("[" * 200_000, "the file: not JSON"),
        ('[{"role": "user", "content": ' + "9" * 5000 + "}]", "the file: not JSON"),
    ],
)
def test_what_is_no_transcript_is_refused_with_its_place(read: Any, content: Any, place: str) -> None:
    with pytest.raises(TranscriptError, match=rf"chat\.json: ({place})"):
        read(content)


def test_a_wrong_line_is_named_by_its_number(read: Any) -> None:
    lines = '{"role": "user", "content": "a"}\n\n{"role": "nobody", "content": "b"}\n'
    with pytest.raises(TranscriptError, match=r"line 3\.role: expected one of"):
        read(lines)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_text_with_a_byte_order_mark_is_read(read: Any, encoding: str) -> None:
    assert list(read(json.dumps(CHAT, ensure_ascii=False).encode(encoding))) == list(read(CHAT))


def test_text_in_another_encoding_is_refused_and_not_guessed(read: Any) -> None:
    for encoding in ("gb18030", "big5", "latin-1"):
        text = "[\n" + json.dumps(
            {"role": "user", "content": "é" if encoding == "latin-1" else "退款"}, ensure_ascii=False
        )
        with pytest.raises(TranscriptError, match=r"line 2, byte \d+: not UTF-8 text; save the file as UTF-8"):
            read(f"{text}]".encode(encoding))
    with pytest.raises(TranscriptError, match="not UTF-16 text"):
        read(b"\xff\xfe[\x00]")


@pytest.mark.parametrize(
    ("start", "what"),
    [(b"SQLite format 3\0", "SQLite"), (b"\x1f\x8b\x08", "gzip"), (b"PK\x03\x04", "zip"), (b"%PDF-1.7", "PDF")],
)
def test_other_kinds_of_file_are_named(read: Any, start: bytes, what: str) -> None:
    with pytest.raises(TranscriptError, match=what):
        read(start + b"\x00" * 100)


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json", tmp_path / "chat.json" / "x"):
        with pytest.raises(TranscriptError, match="cannot be read"):
            read_transcript(path)
    with pytest.raises(TranscriptError, match="cannot be read"):
        read_transcript(str(tmp_path / "none.json"))


def test_a_file_too_large_is_refused_before_it_is_read(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 100)
    with pytest.raises(TranscriptError, match=r"at most 100 are read at once; split it"):
        read(CHAT)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "type",
                    "content",
                    "data",
                    "lc",
                    "id",
                    "kwargs",
                    "messages",
                    "tool_calls",
                    "function",
                    "name",
                    "args",
                ]
            )
            | st.text(max_size=3),
            inner
            | st.sampled_from(["user", "assistant", "tool", "human", "ai", "AIMessageChunk", "constructor", "chat"]),
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(json_values)
def test_any_json_is_a_transcript_or_a_transcript_error(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(value))
    try:
        transcript = read_transcript(path)
    except TranscriptError:
        return
    assert len(transcript) == len(transcript.times) > 0
