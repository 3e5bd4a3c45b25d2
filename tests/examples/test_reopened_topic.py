"""A topic left for three days is gone on with by one sentence: by rules on every database, and by a chat model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

import dalsegno
from dalsegno import ActionPolicy
from examples.reopened_topic import agent, story
from examples.reopened_topic.agent import BUDGET, RULES, ChatMind
from examples.reopened_topic.cli import main
from examples.reopened_topic.mind import GO_ON, Rules
from examples.reopened_topic.post import Post
from examples.reopened_topic.story import RECIPIENT, SITTINGS, THREAD, Story, verdict


@pytest.fixture
def told(tmp_path):
    def tell(ds: Any, *, turns: int = 12, sittings=tuple(SITTINGS)) -> story.Reopened:
        one = Story(store="", post=tmp_path / "post.db", mind=Rules(), turns=turns)
        for sitting in sittings:
            one.sit(sitting, ds)
        return verdict(ds, Post(tmp_path / "post.db"))

    return tell


@pytest.mark.parametrize("store", ["memory", "sqlite", "postgres"])
def test_one_sentence_goes_on_with_what_was_decided(store: str, request, told) -> None:
    url = "memory://" if store == "memory" else request.getfixturevalue(f"{store}_url")
    with dalsegno.connect(url) as ds:
        found = told(ds)
        assert ds.threads.check().clean
    assert found.problems == []
    assert found.letters == [RECIPIENT]
    assert found.asked_for == 2  # once too often, and the ledger knew
    assert found.tokens <= BUDGET


@pytest.mark.parametrize(
    ("left_out", "problem"),
    [
        ("edit", "the limit is not the corrected one"),
        ("return", "the promise is still open"),
        ("why", "the answer to why lacks the original words"),
    ],
)
def test_the_verdict_misses_what_did_not_happen(left_out: str, problem: str, told) -> None:
    with dalsegno.connect("memory://") as ds:
        found = told(ds, turns=1, sittings=[each for each in SITTINGS if each != left_out])
    assert problem in found.problems


def test_without_a_ledger_the_careless_agent_writes_twice(told, monkeypatch) -> None:
    anew = lambda *given, **more: replace(ActionPolicy(*given, **more), scope="step")  # noqa: E731
    monkeypatch.setattr(agent, "ActionPolicy", anew)
    with dalsegno.connect("memory://") as ds:
        found = told(ds, turns=1)
    assert found.letters == [RECIPIENT, RECIPIENT]
    assert found.problems == ["the letter did not go out exactly once"]


def test_each_sitting_is_a_process_of_its_own(sqlite_url, capfd) -> None:
    assert main(["play", "--store", sqlite_url, "--turns", "1"]) == 0
    said = capfd.readouterr().out
    assert f"user: {GO_ON}" in said
    assert "letters sent: 1; asked for by the agent: 2" in said
    assert main(["play", "--store", sqlite_url]) == 2
    assert "name an empty database" in capfd.readouterr().out


class Recorded(GenericFakeChatModel):
    """A chat model that answers as it was told, and keeps what it was asked."""

    asked: list[Any] = []  # noqa: RUF012 - a field of a model
    given: list[Any] = []  # noqa: RUF012

    def bind_tools(self, tools: Any, **_more: Any) -> Any:
        self.given.append([each.name for each in tools])
        return self

    def _generate(self, messages: Any, *given: Any, **more: Any) -> Any:
        self.asked.append(messages)
        return super()._generate(messages, *given, **more)


def test_a_chat_model_is_given_rules_card_and_tools(told, tmp_path) -> None:
    model = Recorded(messages=iter([AIMessage("方案B，4 万元以内。")]))
    with dalsegno.connect("memory://") as ds:
        told(ds, turns=1, sittings=["decide"])
        Story(store="", post=tmp_path / "post.db", mind=ChatMind(model)).sit("return", ds)
        assert ds.threads.state(THREAD)["messages"][-1].text == "方案B，4 万元以内。"
    (asked,) = model.asked
    assert asked[0].text == "\n".join(RULES) or all(rule in asked[0].text for rule in RULES)
    assert "已决定" in asked[1].text
    assert asked[-1].text == GO_ON
    assert model.given == [["send_email", "finish", "search_history", "read_events"]]
