"""Real conversations opened again: under budget by real tokenizers, actions as they were made, latest values as the users left them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph

from dalsegno.core.tokens import MESSAGE_TOKENS, conservative, estimate

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def runs(transcripts: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((transcripts / "tau_bench" / "airline.json").read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def real() -> Callable[[str], int]:
    tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken and bpe-openai for a vocabulary")
    spec = importlib.util.spec_from_file_location("tokens_of_data", Path(__file__).with_name("test_tokens.py"))
    assert tiktoken is not None
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    raw = module._vocabulary("bpe_openai", "data", "o200k_base.tiktoken.gz")
    counter: Callable[[str], int] = module._tokenizer("o200k", module._O200K, raw)
    return counter


def messages_of(run: dict[str, Any], at: int) -> list[Any]:
    found: list[Any] = []
    for place, message in enumerate(run["traj"]):
        id_, text = f"{at}-{place}", message.get("content") or ""
        match message["role"]:
            case "user":
                found.append(HumanMessage(text, id=id_))
            case "system":
                found.append(SystemMessage(text, id=id_))
            case "tool":
                found.append(ToolMessage(text, id=id_, tool_call_id=message["tool_call_id"], name=message["name"]))
            case _:
                calls = [
                    {"name": one["function"]["name"], "args": json.loads(one["function"]["arguments"]), "id": one["id"]}
                    for one in message.get("tool_calls") or ()
                ]
                found.append(AIMessage(text, id=id_, tool_calls=calls))
    return found


def stored(ds: Any, thread: str, messages: list[Any]) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("assistant", lambda state: {})
    builder.add_edge(START, "assistant")
    graph = builder.compile(checkpointer=ds.checkpointer)
    config: Any = {"configurable": {"thread_id": thread}}
    for start in range(0, len(messages), 8):
        graph.update_state(config, {"messages": messages[start : start + 8]}, as_node="assistant")


@pytest.mark.parametrize("budget", [900, 4000])
def test_a_first_request_fits_by_any_count(ds, store_url, runs, real, budget):
    if store_url == "memory://":
        pytest.skip("the same as on SQLite")
    for at, run in enumerate(runs[:12]):
        stored(ds, str(at), messages_of(run, at))
        for count in (real, estimate, conservative):
            packed = ds.handover.pack(str(at), budget if count is not conservative else 4 * budget, count=count)
            spent = sum(count(message.text) + MESSAGE_TOKENS for message in packed.messages)
            assert spent <= packed.tokens <= (budget if count is not conservative else 4 * budget)
            calls = [call["id"] for message in packed.messages for call in getattr(message, "tool_calls", ())]
            answers = [message.tool_call_id for message in packed.messages if isinstance(message, ToolMessage)]
            assert sorted(calls) == sorted(answers)


def test_nothing_a_recording_says_is_decided_by_anyone_but_its_user(ds, store_url, runs):
    if store_url != "memory://":
        pytest.skip("a matter of rules, not of stores")
    decided = 0
    for at, run in enumerate(runs[:40]):
        messages = messages_of(run, at)
        stored(ds, str(at), messages)
        card = ds.handover.card(str(at))
        assert card.goal is not None
        roles = {number: message.type for number, message in enumerate(messages, 1)}
        for entry in (*card.decisions, *card.constraints):
            assert roles[entry.evidence[0].number] == "human"
        decided += len(card.decisions)
    assert decided >= 30
