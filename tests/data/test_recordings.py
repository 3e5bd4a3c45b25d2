"""Real recordings are read whole, and what was said in them is found, in Chinese and in English."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from dalsegno.core.messages import text_of
from dalsegno.core.search import query, signature
from dalsegno.imports import Transcript, read_transcript

pytestmark = pytest.mark.data


def airline(transcripts: Path) -> list[Transcript]:
    path = transcripts / "tau_bench" / "airline.json"
    return [read_transcript(path, index) for index in range(len(json.loads(path.read_text())))]


def test_every_airline_conversation_is_read_as_recorded(transcripts: Path) -> None:
    raw = json.loads((transcripts / "tau_bench" / "airline.json").read_text())
    read = airline(transcripts)
    assert len(read) == 100
    for record, transcript in zip(raw, read, strict=True):
        assert len(transcript) == len(record["traj"])
        for told, message in zip(record["traj"], transcript, strict=True):
            assert message.content == (told["content"] or "")
            calls = told.get("tool_calls") or []
            assert [call["id"] for call in getattr(message, "tool_calls", [])] == [call["id"] for call in calls]
            assert [call["args"] for call in getattr(message, "tool_calls", [])] == [
                json.loads(call["function"]["arguments"]) for call in calls
            ]


def test_every_airline_result_names_the_call_before_it_though_ids_repeat(transcripts: Path) -> None:
    repeated = 0
    for transcript in airline(transcripts):
        ids: Counter[str] = Counter()
        for before, message in itertools.pairwise(transcript):
            if isinstance(message, ToolMessage):
                assert isinstance(before, AIMessage)
                assert (message.tool_call_id, message.name) in [(c["id"], c["name"]) for c in before.tool_calls]
                ids[message.tool_call_id] += 1
        repeated += any(count > 1 for count in ids.values())
    assert repeated == 25


@pytest.mark.parametrize(("name", "count"), [("demonstrations__function_calling_simple", 12), ("replay__", 24)])
def test_coding_agents_with_large_outputs_are_read(transcripts: Path, name: str, count: int) -> None:
    [path] = (transcripts / "swe_agent").glob(f"{name}*.traj")
    transcript = read_transcript(path)
    assert len(transcript) == count
    assert all(message.name for message in transcript if isinstance(message, ToolMessage))


def test_every_word_of_the_airline_conversations_is_found_where_it_was_said(transcripts: Path) -> None:
    texts = [text_of(message.model_dump()) for message in airline(transcripts)[3]]
    marks = [signature(text) for text in texts]
    for text in texts:
        for word in {*re.findall(r"\w+", text), *text.split()}:
            asked = query(word)
            found = [at for at, mark in enumerate(marks) if asked.matches(mark) and asked.score(texts[at]) >= 1]
            assert texts.index(text) in found, word


def chinese(transcripts: Path) -> list[str]:
    record = json.loads((transcripts / "evermem_zh" / "team_chat_zh.json").read_text())
    return [message["content"] for message in record["conversation_list"]]


def test_every_two_characters_of_a_chinese_team_chat_are_found_where_they_were_said(transcripts: Path) -> None:
    texts = chinese(transcripts)
    assert len(texts) > 500
    marks = [signature(text) for text in texts]
    for at, text in enumerate(texts):
        for pair in set(re.findall(r"(?=([\u4e00-\u9fff]{2}))", text)):
            asked = query(pair)
            assert asked.matches(marks[at]), pair
            assert asked.score(text) == 3


def test_a_signature_lets_few_texts_through_that_do_not_answer(transcripts: Path) -> None:
    texts = chinese(transcripts)
    marks = [signature(text) for text in texts]
    words = sorted({pair for text in texts for pair in re.findall(r"[\u4e00-\u9fff]{2}", text)})
    let_through = answered = 0
    for word in random.Random(1).sample(words, 300):
        asked = query(word)
        passed = [at for at, mark in enumerate(marks) if asked.matches(mark)]
        let_through += len(passed)
        answered += sum(asked.score(texts[at]) >= 1 for at in passed)
    assert answered >= 0.9 * let_through


def test_signatures_are_small_beside_the_texts(transcripts: Path) -> None:
    texts = [text_of(message.model_dump()) for transcript in airline(transcripts)[:20] for message in transcript]
    assert sum(len(signature(text)) for text in texts) < 0.35 * sum(len(text.encode()) for text in texts)
    texts = chinese(transcripts)
    assert sum(len(signature(text)) for text in texts) < 0.85 * sum(len(text.encode()) for text in texts)
