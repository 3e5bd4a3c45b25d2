"""The story in four sittings, each of which may be a process of its own, and what must be true in the end.

Rules of this module:

* A sitting opens the database, does its part, and closes it. Between two of them nothing is kept but the database.
* The verdict is read from the database, the post office and the requests, not from what should have happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

import dalsegno
from dalsegno import Dalsegno
from examples.reopened_topic.agent import BUDGET, RULES, Mind, build
from examples.reopened_topic.mind import GO_ON, WHY
from examples.reopened_topic.post import Post

__all__ = ["SITTINGS", "THREAD", "Reopened", "Story", "verdict"]

THREAD = "opening"
RECIPIENT = "li.na@example.com"
WISH = "帮我做一份新店开业活动的方案，预算不超过 5 万元。"
CORRECTED = "帮我做一份新店开业活动的方案，预算不超过 4 万元。"
CHOICE = f"就按方案B，把方案发给 {RECIPIENT}。"
SMALL_TALK = (
    "海报用蓝色还是绿色，我再想想。",
    "要不要加一个抽奖？",
    "Our sign is 2.4 m wide, just so you know.",
    "要不要请乐队？",
    "停车位大概有 12 个。",
)


@dataclass(slots=True, kw_only=True)
class Story:
    """Where the story takes place.

    Attributes:
        store: URL of the database.
        post: the post office's file.
        mind: what answers.
        turns: how many turns of small talk lie between the decision and the leaving.
        say: told each line, for a person.
    """

    store: str
    post: Path
    mind: Mind
    turns: int = 150
    say: Callable[[str], None] = lambda _line: None

    def sit(self, sitting: str, ds: Dalsegno | None = None) -> None:
        """Play one sitting, on an open database or by opening its own."""
        if ds is None:
            with dalsegno.connect(self.store) as opened:
                self.sit(sitting, opened)
                return
        post = Post(self.post)
        SITTINGS[sitting](self, ds, build(ds, post, self.mind, THREAD))

    def turn(self, graph: Any, text: str, *, aloud: bool = True) -> str:
        """One turn; the answer."""
        done = graph.invoke({"messages": [HumanMessage(text)]}, _CONFIG, durability="sync")
        answer = str(done["messages"][-1].text)
        if aloud:
            self.say(f"user: {text}")
            self.say(f"agent: {answer}")
        return answer


_CONFIG: Any = {"configurable": {"thread_id": THREAD}}


def _decide(story: Story, _ds: Dalsegno, graph: Any) -> None:
    story.turn(graph, WISH)
    story.turn(graph, CHOICE)
    for number in range(story.turns):
        story.turn(graph, SMALL_TALK[number % len(SMALL_TALK)], aloud=False)
    story.say(f"… {story.turns} more turns, in which much is suggested and nothing is decided")


def _edit(story: Story, ds: Dalsegno, graph: Any) -> None:
    first = graph.get_state(_CONFIG).values["messages"][0]
    graph.update_state(_CONFIG, {"messages": [HumanMessage(CORRECTED, id=first.id)]}, as_node="assistant")
    story.say(f"the user edits the first message: {CORRECTED}")
    stale = [entry.text for entry in ds.handover.card(THREAD).history if entry.stale]
    story.say(f"no longer on the card: {'; '.join(stale)}")


def _return(story: Story, _ds: Dalsegno, graph: Any) -> None:
    story.turn(graph, GO_ON)


def _ask_why(story: Story, _ds: Dalsegno, graph: Any) -> None:
    story.turn(graph, WHY)


SITTINGS: Mapping[str, Callable[[Story, Dalsegno, Any], None]] = {
    "decide": _decide,
    "edit": _edit,
    "return": _return,
    "why": _ask_why,
}
"""By name, in the order in which they are played."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """What is there in the end.

    Attributes:
        events: how many events the thread's journal holds.
        letters: whom the post office sent letters to.
        asked_for: how often the agent asked for the letter.
        decisions, constraints, pending: what the card says.
        went_on, why: what the agent said when it was told to go on, and when it was asked why.
        tokens: what the first request of the next sitting costs.
        problems: what is not as it must be.
    """

    events: int
    letters: list[str]
    asked_for: int
    decisions: list[str]
    constraints: list[str]
    pending: list[str]
    went_on: str
    why: str
    tokens: int
    problems: list[str]


def verdict(ds: Dalsegno, post: Post) -> Reopened:
    """Look at the end of the story."""
    card = ds.handover.card(THREAD)
    messages = ds.threads.state(THREAD)["messages"]
    calls = [call for message in messages if message.type == "ai" for call in message.tool_calls]
    found = Reopened(
        events=ds.threads.get(THREAD).events,
        letters=post.recipients(),
        asked_for=sum(call["name"] == "send_email" for call in calls),
        decisions=[entry.text for entry in card.decisions],
        constraints=[entry.text for entry in card.constraints],
        pending=[entry.text for entry in card.pending],
        went_on=_answer(messages, GO_ON),
        why=_answer(messages, WHY),
        tokens=ds.handover.pack(THREAD, BUDGET, RULES).tokens,
        problems=[],
    )
    found.problems.extend(told for told, wrong in _problems(found).items() if wrong)
    return found


def _problems(found: Reopened) -> dict[str, bool]:
    limits = " ".join(found.constraints)
    return {
        "the letter did not go out exactly once": found.letters != [RECIPIENT],
        "not exactly one decision, for B": [*("方案B" in text for text in found.decisions)] != [True],
        "the limit is not the corrected one": "4 万元" not in limits or "5 万元" in limits,
        "the promise is still open": any("风险清单" in text for text in found.pending),
        "the answer does not go on with B within the corrected limit": not all(
            word in found.went_on for word in ("方案B", "4 万元", "风险清单")
        ),
        "the answer to why lacks the original words": "周边住户都能看到" not in found.why or CHOICE not in found.why,
        "a request is over its budget": found.tokens > BUDGET,
    }


def _answer(messages: Sequence[BaseMessage], asked: str) -> str:
    """The last words of the agent in the turn that a sentence began."""
    answer, mine = "", False
    for message in messages:
        if message.type == "human":
            mine = message.text == asked
        elif message.type == "ai" and mine:
            answer = message.text
    return answer
