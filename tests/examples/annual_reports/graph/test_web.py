"""The web page: steps as they come, sources to follow, hostile text as text, questions from its own page alone."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip("starlette", reason="the web page is an extra")
from starlette.testclient import TestClient

from examples.annual_reports import pages
from examples.annual_reports.jobs import Decided, Said
from examples.annual_reports.sample import PAGES, Leaf
from examples.annual_reports.web import AT_ONCE, HEADERS, app_of

from .conftest import Desk
from .test_graph import REVENUE, Asking

OUT_OF_SCOPE = Decided(is_out_of_scope=True, needs_retrieval=False, needs_news=False, needs_clarification=False)
HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'


def client_of(analyst: Any) -> TestClient:
    return TestClient(app_of(analyst), base_url="http://127.0.0.1")


def ask(client: TestClient, text: str, thread: str = "web", **headers: str) -> list[dict[str, Any]]:
    answer = client.post("/ask", json={"thread": thread, "text": text}, headers=headers)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_question_gives_its_steps_and_then_an_answer_with_sources_to_follow(desk: Desk) -> None:
    client = client_of(desk.analyst())
    assert "Ask about a company" in client.get("/").text
    lines = ask(client, "Plot the revenue trend of Alder Mining, please")
    steps = [(line["step"], line["about"]) for line in lines[:-1]]
    assert steps[:3] == [("compress_context", ""), ("memory", ""), ("retrieve_decision", "")]
    assert ("grade_docs", "Alder Mining") in steps
    assert steps[-1] == ("reply", "")
    assert lines[-1] == {"done": True}
    page = client.get("/").text
    assert '<a href="/source?id=alder-2024-p12-table">[1]</a>' in page
    assert "<polyline" in page
    followed = client.get("/source", params={"id": "alder-2024-p12-table"}).text
    assert "Revenue | 5,460" in followed
    assert client.get("/source", params={"id": "nothing"}).status_code == 404


def test_what_was_asked_back_waits_on_the_page(desk: Desk) -> None:
    client = client_of(desk.analyst())
    ask(client, "How much was it?")
    assert "Which company" in client.get("/").text
    assert "Your reply" in client.get("/").text
    ask(client, "revenue of Alder in FY2024")
    page = client.get("/").text
    assert "5,460" in page
    assert "Which company" in page  # it was said


def test_hostile_text_is_text_everywhere(desk: Desk) -> None:
    corpus = PAGES.with_leaf(
        Leaf(
            id=HOSTILE,
            company="Alder Mining",
            fiscal_year=2024,
            page=9,
            text=f"Revenue 5,460 {HOSTILE}",
            source=HOSTILE,
        )
    )
    mind = Asking(
        corpus,
        draft=lambda given: Said(text=f"Revenue 5,460 {HOSTILE} [1]."),
        answer=lambda given: Said(text=f"{HOSTILE} [1]"),
    )
    client = client_of(desk.analyst(mind, corpus))
    ask(client, f"revenue of Alder in FY2024 {HOSTILE}")
    for page in (client.get("/").text, client.get("/source", params={"id": HOSTILE}).text):
        assert "alert(1)" in page
        assert "<script>" not in page
        assert "<img" not in page
    assert '"><img' not in client.get("/", params={"thread": "x"}).text


def test_a_chart_is_sound_svg_with_escaped_words() -> None:
    points = [{"label": HOSTILE, "value": -1.5}, {"label": "FY2024", "value": 3.0}]
    drawn = ET.fromstring(pages.chart({"title": HOSTILE, "unit": "&", "points": points}))
    assert drawn.get("aria-label") == f"{HOSTILE} (&)"
    assert [each.text for each in drawn.iter("text")][2] == HOSTILE


def test_every_answer_carries_the_policy_and_no_page_a_script_of_its_own(desk: Desk) -> None:
    client = client_of(desk.analyst())
    for path in ("/", "/source?id=x", "/static/app.js", "/static/style.css", "/nothing"):
        answer = client.get(path)
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    page = client.get("/").text
    assert page.count("<script") == page.count('<script src="/static/app.js"></script>') == 1
    assert "style=" not in page
    script = client.get("/static/app.js").text
    assert not any(word in script for word in ("innerHTML", "insertAdjacentHTML", "document.write", "eval("))


@pytest.fixture(scope="module")
def shared() -> Iterator[TestClient]:
    made = Desk("memory://")
    yield client_of(made.analyst())
    made.opened.pop().close()


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"headers": {"origin": "http://evil.example"}}, 403),
        ({"headers": {"origin": "null"}}, 403),
        ({"headers": {"origin": "http://127.0.0.1"}}, 200),
        ({"headers": {"content-type": "text/plain"}}, 415),
        ({"headers": {"host": "evil.example"}}, 400),
        ({"content": b"{"}, 400),
        ({"content": json.dumps({"thread": "../x", "text": "y"}).encode()}, 400),
        ({"content": json.dumps({"thread": "x", "text": " "}).encode()}, 400),
        ({"content": json.dumps({"thread": "x", "text": "y" * 2_001}).encode()}, 400),
        ({"content": b" " * 20_000}, 400),
        ({"content": json.dumps(["x"]).encode()}, 400),
        ({"content": b"[" * 15_000}, 400),
        ({"content": b'{"thread": "x", "text": "\\ud800"}'}, 400),
    ],
)
def test_questions_come_from_the_page_alone_and_have_a_shape(
    change: dict[str, Any], status: int, shared: TestClient
) -> None:
    given = {"content": json.dumps({"thread": "x", "text": "write a poem"}).encode(), "headers": {}, **change}
    headers = {"content-type": "application/json", **given["headers"]}
    assert shared.post("/ask", content=given["content"], headers=headers).status_code == status
    assert shared.get("/ask").status_code == 405


def test_an_error_is_said_and_the_thread_goes_on(desk: Desk, caplog) -> None:
    broken = iter([True])

    def answer(given: Any) -> Said:
        if next(broken, False):
            raise ConnectionError("secret-host is away")
        return Said(text="Revenue was 5,460 [1].")

    client = client_of(desk.analyst(Asking(desk.corpus, answer=answer)))
    lines = ask(client, REVENUE)
    assert "error" in lines[-1]
    assert "secret-host" not in json.dumps(lines)
    assert "secret-host" in caplog.text
    assert ask(client, "write a poem")[-1] == {"done": True}
    assert client.get("/").status_code == 200


def test_many_questions_at_once_are_bounded_and_the_page_still_answers(desk: Desk) -> None:
    let_go = threading.Event()
    mind = Asking(desk.corpus, decide=lambda given: [let_go.wait(30), OUT_OF_SCOPE][1])
    client = client_of(desk.analyst(mind))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = [pool.submit(ask, client, "write a poem", f"t-{number}") for number in range(AT_ONCE)]
        until = time.monotonic() + 30
        while len(mind.seen) < AT_ONCE and time.monotonic() < until:
            time.sleep(0.01)
        given = {"thread": "one-more", "text": "write a poem"}
        assert client.post("/ask", json=given).status_code == 503
        assert client.post("/ask", json={**given, "thread": "t-0"}).status_code == 409
        assert client.get("/").status_code == 200
        let_go.set()
        assert all(each.result()[-1] == {"done": True} for each in asked)
    assert ask(client, "write a poem", "one-more")[-1] == {"done": True}


def test_without_a_web_server_the_page_says_what_it_needs(monkeypatch, capsys, tmp_path) -> None:
    import sys

    from examples.annual_reports.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "examples.annual_reports.web", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "--store", "memory://"]) == 2
    assert "pip install '.[examples]'" in capsys.readouterr().out
