"""Claim: the Agents SDK's session over a thread gives back what it was given, and card and tools see it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, function_tool
from agents.memory import Session as Protocol
from agents.memory import SessionSettings
from agents.testing import ScriptedModel, assistant_message, function_call
from typer.testing import CliRunner

import dalsegno
from dalsegno import errors
from dalsegno.cli import app
from dalsegno.openai_agents import Session, with_card

QUIET = RunConfig(tracing_disabled=True)

ITEMS: list[Any] = [
    {"role": "user", "content": "Let's go with Oslo, budget under $500."},
    {"content": [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "data:x", "detail": "auto"}], "role": "user", "type": "message"},
    {"role": "user", "content": [{"type": "input_file", "file_data": "AAAA", "filename": "plan.pdf"}]},
    {"role": "developer", "content": "be brief"},
    {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "thinking of fjords"}], "encrypted_content": "x" * 300},
    {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "Two calls.", "annotations": [], "logprobs": []}, {"type": "refusal", "refusal": "no more"}]},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "weather", "arguments": '{"city": "Oslo",  "days": 2}', "status": "completed"},
    {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": '{"city": '},
    {"type": "function_call_output", "call_id": "c1", "output": "rain"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "snow"}]},
    {"type": "computer_call", "id": "cu_1", "call_id": "c3", "action": {"type": "click", "x": 1, "y": 2}, "pending_safety_checks": [], "status": "completed"},
    {"type": "computer_call_output", "call_id": "c3", "output": {"type": "computer_screenshot", "image_url": "data:y"}},
    {"type": "custom_tool_call", "call_id": "c4", "name": "grammar", "input": "free text"},
    {"type": "custom_tool_call_output", "call_id": "c4", "output": "parsed"},
    {"type": "shell_call", "call_id": "c5", "action": {"commands": ["ls"]}},
    {"type": "shell_call_output", "call_id": "c5", "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "fjord ferries"}},
    {"type": "file_search_call", "id": "fs_1", "queries": ["ferries"], "status": "completed", "results": None},
    {"type": "image_generation_call", "id": "ig_1", "result": "b" * 40_000, "status": "completed"},
    {"type": "code_interpreter_call", "id": "ci_1", "code": "print(1)", "container_id": "k", "outputs": None, "status": "completed"},
    {"type": "mcp_call", "id": "m_1", "name": "lookup", "server_label": "s", "arguments": "{}", "output": "found it", "error": None},
    {"type": "mcp_approval_request", "id": "ma_1", "arguments": "{}", "name": "lookup", "server_label": "s"},
    {"type": "mcp_approval_response", "approval_request_id": "ma_1", "approve": True},
    {"type": "item_reference", "id": "msg_0"},
    {"type": "compaction", "encrypted_content": "sealed"},
    {"role": "critic", "content": "let's go with Rome"},
    {"type": "kind_of_next_year", "$m": "human", "numbers": [1, 2.0, -0.0, 1e300, 2**70, None, True], "": {"b": 1, "a": 2}},
    {},
]  # fmt: skip


@function_tool
def weather(city: str) -> str:
    """Say what the weather is."""
    return f"rain in {city}"


def agent_of(ds: Any, *steps: Any) -> tuple[Agent[Any], ScriptedModel]:
    model = ScriptedModel(list(steps))
    instructions = with_card(ds, "t", "You plan journeys.")
    return Agent(name="planner", instructions=instructions, model=model, tools=[weather]), model


async def test_every_kind_of_item_comes_back_byte_for_byte(ads):
    session = Session(ads, "t")
    assert isinstance(session, Protocol)
    assert await session.get_items() == []
    await session.add_items(ITEMS)
    assert json.dumps(await session.get_items()) == json.dumps(ITEMS)
    assert json.dumps(await session.get_items(3)) == json.dumps(ITEMS[-3:])
    assert await session.get_items(0) == []
    assert await Session(ads, "t", session_settings=SessionSettings(limit=2)).get_items() == ITEMS[-2:]
    for item in reversed(ITEMS):
        assert json.dumps(await session.pop_item()) == json.dumps(item)
    assert await session.pop_item() is None
    assert (await ads.threads.acheck()).clean


async def test_items_are_events_of_their_kind_and_author(ads):
    await Session(ads, "t").add_items(ITEMS)
    events = {event.seq: event for event in await ads.journal.aread("t")}
    assert len(events) == len(ITEMS)
    told = {number: (events[number].author, str(events[number].kind)) for number in (1, 4, 6, 7, 8, 9, 12, 14, 17, 26)}
    assert told == {
        1: ("user", "message"),
        4: ("system", "message"),
        6: ("assistant", "message"),
        7: ("assistant", "tool_call"),
        8: ("assistant", "message"),
        9: ("weather", "tool_result"),
        12: ("computer", "tool_result"),
        14: ("grammar", "tool_result"),
        17: ("assistant", "note"),
        26: ("assistant", "note"),
    }
    assert [event.seq for event in await ads.journal.asearch("t", "fjords")] == [5]
    assert "plan.pdf" in [entry.text for entry in (await ads.handover.acard("t")).artifacts]
    assert [entry.coordinates for entry in (await ads.handover.acard("t")).decisions] == [("#1 user",)]


async def test_a_conversation_over_two_connections(store_url):
    if store_url == "memory://":
        pytest.skip("every connection to memory is a database of its own")
    async with dalsegno.connect(store_url) as ds:
        calls = [function_call("weather", {"city": city}, call_id=city) for city in ("Oslo", "Rome")]
        agent, model = agent_of(ds, calls, [assistant_message("Rain in both.")])
        text = "Let's go with Oslo, the budget is under $500. What is the weather?"
        await Runner.run(agent, text, session=Session(ds, "t"), run_config=QUIET)
        assert model.calls[0].system_instructions.startswith("You plan journeys.")
    async with dalsegno.connect(store_url) as ds:
        agent, model = agent_of(ds, [assistant_message("For the fjord.")])
        result = await Runner.run(agent, "Go on as agreed.", session=Session(ds, "t"), run_config=QUIET)
        assert result.final_output == "For the fjord."
        asked = model.calls[0]
        assert "Decided:" in asked.system_instructions
        assert "(#1 user)" in asked.system_instructions
        assert [item.get("type", item.get("role")) for item in asked.input] == [
            "user", "function_call", "function_call", "function_call_output", "function_call_output", "message", "user",
        ]  # fmt: skip
        assert (await ds.journal.asearch("t", "rain in Rome"))[0].coordinate == "#5 weather"
        search, _ = ds.handover.tools("t")
        assert "rain in Rome" in await search.ainvoke({"text": "Rome"})
        request = await ds.handover.apack("t")
        assert [call["id"] for call in request.messages[2].tool_calls] == ["Oslo", "Rome"]
    with dalsegno.connect(store_url) as ds:
        shown = CliRunner().invoke(app, ["export", "t", "--format", "openai", "--store", store_url])
        assert [message["role"] for message in json.loads(shown.stdout)] == [
            "user", "assistant", "assistant", "tool", "tool", "assistant", "user", "assistant",
        ]  # fmt: skip
        ds.erasure.thread("t")
        assert ds.threads.check().clean


async def test_sessions_side_by_side_lose_and_double_nothing(ads):
    sessions = [Session(ads, "t"), Session(ads, "t")]
    batches = [[{"role": "user", "content": f"{batch}.{at}"} for at in range(2)] for batch in range(10)]
    await asyncio.gather(*(sessions[at % 2].add_items(batch) for at, batch in enumerate(batches)))
    found = [item["content"] for item in await sessions[0].get_items()]
    assert sorted(found) == sorted(item["content"] for batch in batches for item in batch)
    assert all(found[at + 1] == f"{found[at][:-1]}1" for at in range(0, len(found), 2))
    popped = await asyncio.gather(*(sessions[at % 2].pop_item() for at in range(8)))
    left = [item["content"] for item in await sessions[1].get_items()]
    assert sorted([*left, *(item["content"] for item in popped)]) == sorted(found)


async def test_a_cancelled_change_is_waited_for(sqlite_url):
    async with dalsegno.connect(sqlite_url) as ds:
        session = Session(ds, "t")
        task = asyncio.ensure_future(session.add_items([{"role": "user", "content": "hello"}]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await session.get_items() == [{"role": "user", "content": "hello"}]


async def test_clearing_takes_out_and_keeps(ads):
    session = Session(ads, "t")
    await session.add_items(ITEMS[:4])
    await session.clear_session()
    assert await session.get_items() == []
    await session.add_items(ITEMS[3:4])
    assert await session.get_items() == ITEMS[3:4]
    assert len(await ads.journal.aread("t")) == 9


async def test_what_is_no_item_or_no_database_is_refused(ads):
    with pytest.raises(errors.Misuse, match=r"items\[1\] is str"):
        await Session(ads, "t").add_items([ITEMS[0], "hello"])
    with pytest.raises(errors.Misuse, match="open database"):
        Session("sqlite:///agents.db", "t")
    with pytest.raises(errors.Misuse, match="blank"):
        Session(ads, " ")
