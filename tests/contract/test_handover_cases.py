"""Claim: in an agent with the middleware, too, the model sees what holds now: with a fresh card, one that is behind, an action that was cut off, and words that were changed."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage

from dalsegno.core.compaction import CompactionPolicy
from dalsegno.langgraph.middleware import ContinuityMiddleware
from dalsegno.services import checkpoints

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "launch"}}
OFFER = "方案A：一次性发布，费用4万元\n方案B：分两批发布，费用4.8万元\n您看选哪个？"
CHOICE = "就按第二个方案来，预算不超过 5 万元。"
DECIDED = f"{CHOICE} ← #2 model: B: 分两批发布，费用4.8万元"


class Recording(GenericFakeChatModel):
    """A model that says what it is told to and remembers what it was asked."""

    seen: list[Any] = []  # noqa: RUF012 - a pydantic field

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(messages)
        return super()._generate(messages, *args, **kwargs)


class Talk:
    """An agent and its model."""

    def __init__(self, ds: Any) -> None:
        said = [AIMessage("我来写。"), AIMessage(OFFER), *(AIMessage("收到。") for _ in range(20))]
        self.model = Recording(messages=iter(said[1:]), seen=[])
        policy = CompactionPolicy(max_messages=400)  # nothing is taken out here
        self.agent = create_agent(
            self.model,
            tools=[],
            middleware=[ContinuityMiddleware(policy, ds=ds, handover=True)],
            checkpointer=ds.checkpointer,
        )

    def say(self, text: str) -> None:
        self.agent.invoke({"messages": [HumanMessage(text)]}, CONFIG)

    @property
    def messages(self) -> list[Any]:
        return self.agent.get_state(CONFIG).values["messages"]

    @property
    def card(self) -> str:
        """What the model was shown of the card in the last call."""
        return self.model.seen[-1][0].text

    def begun(self) -> Talk:
        self.say("帮我做一份产品发布方案。")
        self.say(CHOICE)
        return self


@pytest.fixture
def talk(ds: Any) -> Talk:
    return Talk(ds).begun()


def test_a_fresh_card_is_shown(talk):
    talk.say("为什么选它？")
    assert DECIDED in talk.card
    assert talk.messages[-1].text == "收到。"


@pytest.mark.parametrize("count", [1, 4, 40])
def test_a_card_that_is_behind_is_shown_with_what_came_since(talk, monkeypatch, count):
    def follow(*_: Any, **__: Any) -> Any:
        return
        yield

    monkeypatch.setattr(checkpoints, "follow", follow)
    since = [HumanMessage(f"第{at}条：预留{at}号会议室。") for at in range(1, count)]
    talk.agent.update_state(CONFIG, {"messages": [*since, HumanMessage("还是改用方案A吧。")]})
    talk.say("继续。")
    assert "还是改用方案A吧。" in talk.card.partition("提议")[0]
    assert DECIDED not in talk.card
    seen = {message.text for message in talk.model.seen[-1]}
    assert {message.text for message in since} <= seen


def test_a_card_that_was_never_made_is_made(ds, monkeypatch):
    def follow(*_: Any, **__: Any) -> Any:
        return
        yield

    monkeypatch.setattr(checkpoints, "follow", follow)
    talk = Talk(ds).begun()
    talk.say("继续。")
    assert DECIDED in talk.card


def test_an_action_that_was_cut_off_is_shown_as_one_whose_end_nobody_knows(ds, talk):
    class Killed(BaseException):
        """The process is gone in the middle of the effect."""

    @ds.action(kind="send", recipient="to")
    def send_mail(to: str, subject: str) -> str:
        raise Killed

    with pytest.raises(Killed), ds.actions.within("launch", step="s1"):
        send_mail(to="team@example.com", subject="发布")
    talk.say("继续。")
    _, _, after = talk.card.partition("结果未知")
    assert "team@example.com" in after.partition("已执行的动作")[0]


def test_an_edited_key_message_is_shown_as_it_reads_now(talk):
    edited = HumanMessage("就按第一个方案来，预算不超过 4 万元。", id=talk.messages[2].id)
    talk.agent.update_state(CONFIG, {"messages": [edited]})
    talk.say("继续。")
    assert f"{edited.text} ← #2 model: A: 一次性发布，费用4万元" in talk.card
    assert "5 万元" not in talk.card


def test_a_deleted_key_message_is_shown_no_more(talk):
    talk.agent.update_state(CONFIG, {"messages": [RemoveMessage(id=talk.messages[2].id)]})
    talk.say("继续。")
    assert "5 万元" not in talk.card
    assert "第二个方案" not in talk.card
