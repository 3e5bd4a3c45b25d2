"""Claim: Pydantic AI's messages come back from a thread as they were, whole runs or nothing, and card and tools see them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    CompactionPart,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    SpeechPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage
from typer.testing import CliRunner

import dalsegno
from dalsegno import errors
from dalsegno.cli import app
from dalsegno.pydantic_ai import History, with_card

AT = datetime(2026, 11, 30, 8, 15, 30, 123456, UTC)


class Forecast(BaseModel):
    sky: str


PICTURE = BinaryContent(b"\x89PNG\xff", media_type="image/png")
MESSAGES: list[Any] = [
    ModelRequest(parts=[SystemPromptPart("You plan."), UserPromptPart("Let's go with Oslo, budget under $500.", timestamp=AT)], instructions="i " * 100, timestamp=AT, run_id="r", conversation_id="c", metadata={"k": b"\xff", "t": (1, 2)}),
    ModelResponse(parts=[ThinkingPart("hidden", signature="sealed"), TextPart("Two calls."), ToolCallPart("weather", {"city": "Oslo"}, tool_call_id="1"), ToolCallPart("weather", '{"city": ', tool_call_id="2"), NativeToolCallPart("web", {"q": 1}, tool_call_id="3"), NativeToolReturnPart("web", ["x"], tool_call_id="3")], usage=RequestUsage(input_tokens=5, output_tokens=7), model_name="m", timestamp=AT, provider_details={"n": 2**70}, finish_reason="tool_call"),
    ModelRequest(parts=[ToolReturnPart("weather", {"sky": "rain", "at": AT, "raw": b"\xff", "days": (1, 2)}, tool_call_id="1", metadata={"why": None}), ToolReturnPart("weather", "no such city", tool_call_id="2", outcome="failed"), UserPromptPart(["see", TextContent("this"), ImageUrl(url="https://x.example/y.png"), PICTURE, DocumentUrl(url="https://x.example/plan.pdf"), CachePoint()])]),
    ModelResponse(parts=[ThinkingPart("only a thought of fjords")], timestamp=AT),
    ModelRequest(parts=[RetryFeedbackPart("say something", retry=RetryInfo("no_output"))]),
    ModelResponse(parts=[FilePart(PICTURE), SpeechPart(speaker="assistant", transcript="spoken")], timestamp=AT, state="interrupted"),
    ModelRequest(parts=[]),
    ModelRequest(parts=[CompactionPart("what was before"), SpeechPart(speaker="user", transcript=None), ToolReturnPart("draw", PICTURE, tool_call_id="9")]),
    ModelResponse(parts=[], timestamp=AT),
]  # fmt: skip


def loaded(messages: list[Any]) -> list[Any]:
    """What Pydantic AI itself makes of messages that it writes down and reads again."""
    return ModelMessagesTypeAdapter.validate_python(ModelMessagesTypeAdapter.dump_python(messages))


def dumped(messages: list[Any]) -> Any:
    return ModelMessagesTypeAdapter.dump_python(messages)


def agent_of(ds: Any, model: Any) -> Agent[None, str]:
    agent = Agent(model, instructions=with_card(ds, "t", "You plan journeys."))

    @agent.tool_plain
    def weather(city: str) -> Forecast:
        return Forecast(sky=f"rain in {city}")

    return agent


async def test_every_kind_of_part_comes_back(ads):
    history = History(ads, "t")
    assert await history.aload() == []
    assert await history.asave(MESSAGES) == len(MESSAGES)
    found = await history.aload()
    assert found == loaded(MESSAGES)
    assert dumped(found) == dumped(loaded(MESSAGES))
    assert found[0] == MESSAGES[0]
    assert found[2].parts[0].content == MESSAGES[2].parts[0].content
    assert await history.asave(found) == 0
    assert await history.asave(MESSAGES) == 0
    assert [len(await history.aload(limit)) for limit in (0, 1, 3, 5)] == [0, 0, 3, 5]
    assert (await ads.threads.acheck()).clean


async def test_parts_are_events_of_their_kind_and_author(ads):
    await History(ads, "t").asave(MESSAGES)
    told = [(event.coordinate, str(event.kind), event.text) for event in await ads.journal.aread("t")]
    assert told[:6] == [
        ("#1 system", "message", "You plan."),
        ("#2 user", "message", "Let's go with Oslo, budget under $500."),
        ("#3 assistant", "tool_call", 'Two calls.\nweather({"city": "Oslo"})\nweather({"city": )'),
        ("#4 weather", "tool_result", '{"sky":"rain","at":"2026-11-30T08:15:30.123456Z","raw":"_w==","days":[1,2]}'),
        ("#5 weather", "tool_result", told[4][2]),
        (
            "#6 user",
            "message",
            "see\nthis\n[image]\n[document-url: https://x.example/plan.pdf]".replace(
                "\n[document", "\n[image/png]\n[document"
            ),
        ),
    ]
    assert "no such city" in told[4][2]
    assert [(number, kind) for number, kind, _ in told[6:]] == [
        ("#7 assistant", "note"),
        ("#8 assistant", "note"),
        ("#9 assistant", "message"),
        ("#10 assistant", "note"),
        ("#11 assistant", "note"),
        ("#12 user", "message"),
        ("#13 draw", "tool_result"),
        ("#14 assistant", "note"),
    ]
    assert [event.seq for event in await ads.journal.asearch("t", "fjords")] == [7]
    assert [entry.coordinates for entry in (await ads.handover.acard("t")).decisions] == [("#2 user",)]


async def test_a_conversation_over_two_connections(store_url):
    if store_url == "memory://":
        pytest.skip("every connection to memory is a database of its own")
    async with dalsegno.connect(store_url) as ds:
        agent = agent_of(ds, TestModel(custom_output_text="Rain."))
        history = History(ds, "t")
        text = "Let's go with Oslo, the budget is under $500. What is the weather?"
        first = await agent.run(text, message_history=await history.aload())
        assert first.all_messages()[0].instructions == "You plan journeys."
        assert await history.asave(first.all_messages()) == 4
    seen: list[Any] = []

    def answer(messages: list[Any], _: Any) -> ModelResponse:
        seen.extend(messages)
        return ModelResponse(parts=[TextPart("For the fjord.")])

    async with dalsegno.connect(store_url) as ds:
        history = History(ds, "t")
        before = await history.aload()
        assert dumped(before) == dumped(first.all_messages())
        second = await agent_of(ds, FunctionModel(answer)).run("Go on as agreed.", message_history=before)
        assert second.output == "For the fjord."
        assert "Decided:" in seen[-1].instructions
        assert await history.asave(second.all_messages()) == 2
        assert [message.kind for message in await history.aload()] == ["request", "response"] * 3
        assert (await ds.journal.asearch("t", "rain in a"))[0].coordinate == "#3 weather"
        search, _ = ds.handover.tools("t")
        assert "rain in a" in await search.ainvoke({"text": "rain"})
        request = await ds.handover.apack("t")
        assert [message.type for message in request.messages] == ["system", "human", "ai", "tool", "ai", "human", "ai"]
    with dalsegno.connect(store_url) as ds:
        shown = CliRunner().invoke(app, ["export", "t", "--format", "openai", "--store", store_url])
        assert [each["role"] for each in json.loads(shown.stdout)] == [
            "user", "assistant", "tool", "assistant", "user", "assistant",
        ]  # fmt: skip
        ds.erasure.thread("t")
        assert ds.threads.check().clean


async def test_a_run_that_fails_leaves_nothing(sqlite_url):
    async with dalsegno.connect(sqlite_url) as ds:
        history = History(ds, "t")
        agent = Agent(TestModel())

        @agent.tool_plain
        def fails() -> str:
            raise RuntimeError("the tool's process died")

        with pytest.raises(RuntimeError, match="died"):
            await history.asave((await agent.run("Do it.", message_history=history.load())).all_messages())
        assert history.load() == []
        with pytest.raises(errors.ThreadNotFound):
            ds.threads.get("t")


async def test_runs_side_by_side_overwrite_nothing(sqlite_url):
    async with dalsegno.connect(sqlite_url) as ds:
        history = History(ds, "t")
        agent = Agent(TestModel(call_tools=[]))
        history.save((await agent.run("Hello.")).all_messages())
        before = history.load()
        mine, yours = [await agent.run(text, message_history=before) for text in ("Mine.", "Yours.")]
        assert history.save(mine.all_messages()) == 2
        with pytest.raises(errors.HistoryMoved, match="Another run saved first"):
            history.save(yours.all_messages())
        history.append(yours.new_messages())
        assert history.load() == [*mine.all_messages(), *yours.new_messages()]
        assert history.save(before, replace=True) == 0
        assert history.load() == before
        assert [event.text for event in ds.journal.search("t", "Yours")] == ["Yours."]
        assert history.clear() == 2
        assert history.load() == []


def test_what_cannot_come_back_is_refused(sqlite_url):
    with dalsegno.connect(sqlite_url) as ds:
        history = History(ds, "t")
        with pytest.raises(errors.NotSerializable, match="content"):
            history.append([ModelRequest(parts=[ToolReturnPart("f", object(), tool_call_id="1")])])
        with pytest.raises(errors.Misuse, match="cannot write and read them again"):
            history.append(["hello"])
        with pytest.raises(errors.Misuse, match="open database"):
            History("sqlite:///agents.db", "t")
        assert history.load() == []
        history.append([ModelRequest(parts=[ToolReturnPart("f", Forecast(sky="rain"), tool_call_id="1")])])
        assert history.load()[0].parts[0].content == {"sky": "rain"}  # as Pydantic AI's own adapter reads it
        ds.histories.add("u", "pydantic-ai", [])
        with pytest.raises(errors.OtherKeeper):
            ds.histories.items("t", "openai-agents")
