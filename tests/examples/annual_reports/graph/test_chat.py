"""A chat model behind a recorded server makes the nine calls: two clients, structured judgements, fenced material."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

import dalsegno
from dalsegno.errors import Misuse
from examples.annual_reports.cli import main
from examples.annual_reports.session import opened

pytest.importorskip("langchain_openai", reason="needs the client of a provider")

ANSWERS: dict[str, Any] = {
    "Decided": {"is_out_of_scope": False, "needs_retrieval": True, "needs_news": False, "needs_clarification": False},
    "Rewritten": {"query": "revenue FY2024 FY2023 income statement"},
    "Graded": {"relevant": [1]},
    "Checked": {"grounded": "yes", "unsupported": []},
    "Figured": {"needs_calculation": True},
}
DRAFT = "Alder Mining's revenue was US$ 5,460 million in FY2024 and US$ 5,200 million in FY2023 [1]."
FINAL = "Revenue grew 5% in FY2024, from US$ 5,200 million to US$ 5,460 million [1]."
DIGEST = "\n".join(f"#{number} user: asked about revenue" for number in range(1, 20))


class Recorded(BaseHTTPRequestHandler):
    """Answers as an OpenAI-compatible server does."""

    asked: ClassVar[list[dict[str, Any]]] = []
    instead: ClassVar[dict[str, Any]] = {}  # by kind of call: a status, or the message that it answers with

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(body)
        other = self.instead.get(kind_of(body))
        status = other if isinstance(other, int) else 200
        message = {
            "role": "assistant",
            "content": None,
            "refusal": None,
            **(other if isinstance(other, dict) else self.reply(body)),
        }
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        answer = json.dumps(
            {
                "id": "r-1",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
            }
        ).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    @staticmethod
    def reply(body: dict[str, Any]) -> dict[str, Any]:
        if "response_format" in body:
            return {"content": json.dumps(ANSWERS[body["response_format"]["json_schema"]["name"]])}
        if body.get("tools"):
            if body["messages"][-1]["role"] == "tool":
                return {"content": "percent"}
            function = {"name": "calculate", "arguments": json.dumps({"expression": "(5460 - 5200) / 5200 * 100"})}
            return {"tool_calls": [{"id": "c-1", "type": "function", "function": function}]}
        rules = body["messages"][0]["content"]
        return {
            "content": DIGEST if rules.startswith("Write a digest") else FINAL if rules.startswith("Answer") else DRAFT
        }

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def recorded(monkeypatch) -> Iterator[type[Recorded]]:
    Recorded.asked, Recorded.instead = [], {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorded)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    yield Recorded
    server.shutdown()
    server.server_close()


def kind_of(body: dict[str, Any]) -> str:
    if "response_format" in body:
        return str(body["response_format"]["json_schema"]["name"])
    return "Calculated" if body.get("tools") else "Said"


def call(arguments: str) -> dict[str, Any]:
    return {"id": "c-1", "type": "function", "function": {"name": "calculate", "arguments": arguments}}


def limit_of(body: dict[str, Any]) -> int:
    return int(body.get("max_completion_tokens") or body["max_tokens"])


KINDS = ["Decided", "Rewritten", "Graded", "Said", "Checked", "Figured", "Calculated", "Calculated", "Said"]
QUESTION = "How much did Alder Mining's revenue grow in FY2024?"


def test_a_chat_model_makes_the_calls_through_its_own_client(recorded, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path}/reports.db"
    assert main(["ask", QUESTION, "--store", url, "--model", "openai:gpt-4o-mini"]) == 0
    said = capsys.readouterr().out
    assert FINAL in said
    assert "[1] Alder Mining FY2024, p.12 [table]" in said
    kinds = [kind_of(body) for body in recorded.asked]
    assert kinds == KINDS
    assert {body["model"] for body in recorded.asked} == {"gpt-4o-mini"}
    assert all(body["temperature"] == 0 for body in recorded.asked)
    assert {kind: limit_of(body) for kind, body in zip(kinds, recorded.asked, strict=True)} == {
        **dict.fromkeys(("Decided", "Rewritten", "Graded", "Checked", "Figured", "Calculated"), 1000),
        "Said": 5000,
    }
    answer = recorded.asked[-1]["messages"]
    assert "5 percent" in answer[1]["content"] or "= 5" in answer[1]["content"]
    assert [message["role"] for message in answer] == ["system", "user", "user"]
    with dalsegno.connect(url) as ds:
        nodes = [row.call.node for row in ds.context.manifests("analyst-1")]
        assert len(nodes) == len(recorded.asked)  # what is on record is what was sent
        assert nodes.count("calculator") == 2


def test_the_agents_own_record_of_calls_grows_in_its_context(recorded, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path}/reports.db"
    assert main(["ask", QUESTION, "--store", url, "--model", "openai:gpt-4o-mini"]) == 0
    first, second = [body["messages"] for body in recorded.asked if body.get("tools")]
    assert second[: len(first)] == first
    assert [message["role"] for message in second[len(first) :]] == ["assistant", "tool"]
    assert "third_party" in first[1]["content"]
    with dalsegno.connect(url) as ds:
        rows = [row for row in ds.context.manifests("analyst-1") if row.call.node == "calculator"]
        assert [row.manifest["tool record"].messages for row in rows] == [0, 2]


def test_a_long_conversation_is_digested_by_the_model_in_a_declared_call(recorded, tmp_path) -> None:
    url = f"sqlite:///{tmp_path}/reports.db"
    with opened(url, None, "openai:gpt-4o-mini") as analyst:
        for _ in range(6):
            analyst.say("analyst-1", QUESTION)
    digests = [body for body in recorded.asked if body["messages"][0]["content"].startswith("Write a digest")]
    assert len(digests) == 1
    assert limit_of(digests[0]) == 1000
    with dalsegno.connect(url) as ds:
        assert ds.summaries.of("analyst-1")[0].writer == "openai:gpt-4o-mini"
        assert any(row.call.node == "compress_context" for row in ds.context.manifests("analyst-1"))


FAILURES: dict[str, dict[str, Any]] = {
    "refused for a while": {"Graded": 429},
    "broken": {"Said": 500},
    "no answer": {"Decided": {"content": ""}},
    "prose": {"Checked": {"content": "looks fine"}},
    "a wrong form": {"Graded": {"content": '{"relevant": "all"}'}},
    "a refusal": {"Decided": {"refusal": "no"}},
    "wrong arguments": {"Calculated": {"tool_calls": [call("[1]")]}},
}


@pytest.mark.parametrize("how", FAILURES)
def test_a_model_that_fails_is_one_line_and_what_was_done_is_not_done_again(
    how: str, recorded, tmp_path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.01)
    asked = ["--store", f"sqlite:///{tmp_path}/reports.db", "--model", "openai:gpt-4o-mini"]
    recorded.instead = FAILURES[how]
    assert main(["ask", QUESTION, *asked]) == 2
    assert capsys.readouterr().out.startswith("error: the model gave no ")
    (failed,) = FAILURES[how]
    before = [kind_of(body) for body in recorded.asked]
    recorded.instead, recorded.asked = {}, []
    monkeypatch.setattr("builtins.input", lambda prompt: "")
    assert main(["chat", *asked]) == 0
    assert FINAL in capsys.readouterr().out
    after = [kind_of(body) for body in recorded.asked]
    assert after == KINDS[KINDS.index(failed) :]
    assert set(before[: before.index(failed)]) == set(KINDS[: KINDS.index(failed)])


ODD: dict[str, dict[str, Any]] = {
    "numbers of nothing": {"Graded": {"content": '{"relevant": [0, -1, 99, 1, 1, 100000000000000000000000]}'}},
    "half a character": {"Said": {"content": "Revenue \ud800 was US$ 5,460 million\x00\x1b[2J [1]."}},
    "more than it may": {"Said": {"content": "Revenue was US$ 5,460 million [1]. " * 20_000}},
    "nothing": {"Said": {"content": ""}},
    "no arguments": {"Calculated": {"tool_calls": [call("{}")]}},
    "broken arguments": {"Calculated": {"tool_calls": [call('{"expression": ')]}},
    "another tool": {"Calculated": {"tool_calls": [{**call("{}"), "function": {"name": "rm", "arguments": "{}"}}]}},
    "no id": {"Calculated": {"tool_calls": [{**call('{"expression": "5460 - 5200"}'), "id": None}]}},
    "no end": {"Calculated": {"tool_calls": [call('{"expression": "5460 - 5200"}')] * 50}},
    "a power without end": {"Calculated": {"tool_calls": [call('{"expression": "9 ** 9 ** 9 ** 9"}')]}},
}


@pytest.mark.parametrize("how", ODD)
def test_whatever_a_model_answers_there_is_a_reply(how: str, recorded, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    recorded.instead = ODD[how]
    url = f"sqlite:///{tmp_path}/reports.db"
    assert main(["ask", QUESTION, "--store", url, "--model", "openai:gpt-4o-mini"]) == 0
    said = capsys.readouterr().out
    assert "analyst> " in said
    assert "\x1b" not in said
    assert len(said) < 100_000
    assert sum(kind_of(body) == "Calculated" for body in recorded.asked) <= 6


def test_a_provider_that_is_not_there_is_one_line(monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["ask", QUESTION, "--store", "memory://", "--model", "nobody:model"]) == 2
    assert capsys.readouterr().out.startswith("error: ")


def test_langchain_that_is_not_there_is_said(monkeypatch) -> None:
    import sys

    from examples.annual_reports.chat import clients

    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(Misuse, match="pip install langchain"):
        clients("openai:x")
