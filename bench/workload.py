"""The work that is measured: seeded text, an unmodified chat graph, a request of six checkpoints.

Rules of this module:

* The same arguments give the same text in every run, on every machine, for every saver.
* Text is never repetitive enough to flatter a store that compresses or shares: English words follow Zipf's law
  over a vocabulary of 4,000, Chinese characters over one of 500 with no regard for real words, which gives more
  distinct pairs than real text has.
* Graphs are what a user of LangGraph writes; nothing in them knows which saver they run on.
"""

from __future__ import annotations

import base64
import operator
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph

HANZI = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都"
    "同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由"
    "问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论"
    "处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治"
    "展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导"
    "争运笔合同款项付账单订票航班改签退费客户服务审批合规风险控制季度报表毛利营收成本预算供应商交付物流仓储库存盘点签收发票税率折扣"
)
SERDE = JsonPlusSerializer()


# --- text -----------------------------------------------------------------------------------------


@cache
def _vocabulary() -> tuple[Sequence[str], Sequence[float]]:
    source = random.Random(7)
    syllables = [
        first + vowel + last for first in "bcdfghlmnprstvw" for vowel in "aeiou" for last in ("", "n", "r", "s")
    ]
    found = dict.fromkeys("".join(source.choices(syllables, k=source.choice((1, 2, 2, 3)))) for _ in range(8000))
    chosen = list(found)[:4000]
    return chosen, _zipf(len(chosen))


def _zipf(size: int) -> Sequence[float]:
    total = 0.0
    return [total := total + 1 / rank for rank in range(1, size + 1)]


def english(seed: int, size_bytes: int) -> str:
    """Sentences of about (never over) this many UTF-8 bytes."""
    source = random.Random(seed)
    chosen, weights = _vocabulary()
    picked = source.choices(chosen, cum_weights=weights, k=size_bytes // 3)
    for place in range(9, len(picked), 11):
        picked[place] = f"{source.randrange(10**5)}."
    return " ".join(picked)[:size_bytes]


def chinese(seed: int, size_bytes: int) -> str:
    """Sentences of about (never over) this many UTF-8 bytes, three to a character."""
    source = random.Random(seed)
    picked = source.choices(HANZI, cum_weights=_zipf(len(HANZI)), k=size_bytes // 3)
    picked[11::12] = "，" * len(picked[11::12])
    return "".join(picked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A kind of conversation: who writes how, and how many bytes of text a turn brings."""

    name: str
    write: Callable[[int, int], str]
    turn_bytes: int

    def question(self, turn: int) -> str:
        """What the user says: a fifth of the turn."""
        return self.write(2 * turn, self.turn_bytes // 5)

    def answer(self, turn: int) -> str:
        """What the model says: the rest of it."""
        return self.write(2 * turn + 1, self.turn_bytes - self.turn_bytes // 5)


TEXTS = {
    text.name: text
    for text in (
        Text(name="en-2.8k", write=english, turn_bytes=2800),
        Text(name="en-1k", write=english, turn_bytes=1000),
        Text(name="zh-2.8k", write=chinese, turn_bytes=2800),
    )
}


# --- a conversation -------------------------------------------------------------------------------


class Chat:
    """One thread of an unmodified `MessagesState` graph with a single model node.

    Attributes:
        turns: how many the thread has.
        messages: all its messages, as the last invoke returned them.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], text: Text, thread_id: str = "chat") -> None:
        self.text = text
        self.turns = 0
        self.messages: list[AnyMessage] = []
        self.config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
        self.graph = self._compiled(saver)

    def _compiled(self, saver: BaseCheckpointSaver[Any]) -> CompiledStateGraph[Any]:
        def model(state: MessagesState) -> dict[str, list[AnyMessage]]:
            return {"messages": [AIMessage(self.text.answer(len(state["messages"]) // 2))]}

        graph = StateGraph(MessagesState)
        graph.add_node("model", model)
        graph.add_edge(START, "model")
        graph.add_edge("model", END)
        return graph.compile(checkpointer=saver)

    def on(self, saver: BaseCheckpointSaver[Any]) -> Chat:
        """The same thread through another saver, as a new process would open it."""
        twin = Chat(saver, self.text, self.config["configurable"]["thread_id"])
        twin.turns = self.turns
        return twin

    def turn(self) -> None:
        """Say one thing and hear one thing."""
        said = self.graph.invoke({"messages": [HumanMessage(self.text.question(self.turns))]}, self.config)
        self.messages = said["messages"]
        self.turns += 1
        assert len(self.messages) == 2 * self.turns, "the saver lost or doubled a message"

    def reach(self, turns: int) -> None:
        """Take turns until there are this many."""
        while self.turns < turns:
            self.turn()

    def prefill(self, turns: int) -> None:
        """Put this many turns into the thread with one update, for savers that would need minutes to get there."""
        pairs = ((HumanMessage(self.text.question(n)), AIMessage(self.text.answer(n))) for n in range(turns))
        self.graph.update_state(
            self.config, {"messages": [message for pair in pairs for message in pair]}, as_node="model"
        )
        self.turns = turns

    @property
    def text_bytes(self) -> int:
        """UTF-8 bytes of what was said, and nothing else."""
        return sum(len(str(message.content).encode()) for message in self.messages)

    @property
    def message_bytes(self) -> int:
        """Bytes of the messages, each once, as LangGraph's own serializer writes them."""
        return sum(len(SERDE.dumps_typed(message)[1]) for message in self.messages)


# --- a request with attachments -------------------------------------------------------------------


class Desk(TypedDict, total=False):
    """State of a small multi-step request: input, four nodes, six checkpoints."""

    question: str
    attachments: list[dict[str, str]]
    constant: str
    plan: list[str]
    documents: Annotated[list[str], operator.add]
    draft: str
    review: dict[str, Any]
    messages: Annotated[list[AnyMessage], add_messages]


def references(seed: int) -> list[dict[str, str]]:
    """Three attachments as they belong into a state: id, kind, where the body is, caption."""
    kinds = (("image", "png"), ("table", "csv"), ("document", "pdf"))
    return [
        {
            "id": f"att-{seed}-{number}",
            "kind": kind,
            "ref": f"s3://reports/2024/{seed:06}/{number}.{suffix}",
            "caption": english(seed * 3 + number, 60),
        }
        for number, (kind, suffix) in enumerate(kinds)
    ]


def image(seed: int, size_bytes: int = 384 * 1024) -> str:
    """A base64 text of exactly this many bytes over bytes that do not compress."""
    return base64.b64encode(random.Random(seed).randbytes(size_bytes * 3 // 4)).decode()


def desk(saver: BaseCheckpointSaver[Any]) -> CompiledStateGraph[Any]:
    """The request's graph: plan, retrieve, write, review."""

    def plan(state: Desk) -> Desk:
        return {"plan": [english(len(state["question"]) + step, 50) for step in range(3)]}

    def retrieve(state: Desk) -> Desk:
        return {"documents": [f"doc-{len(step)}-{number}" for number, step in enumerate(state["plan"])]}

    def write(state: Desk) -> Desk:
        return {"draft": english(len(state["documents"]), 600)}

    def review(state: Desk) -> Desk:
        return {"review": {"passed": True, "score": 0.93, "notes": []}, "messages": [AIMessage(state["draft"])]}

    graph = StateGraph(Desk)
    nodes = (("plan_step", plan), ("retrieve", retrieve), ("write", write), ("review_step", review))
    previous = START
    for name, node in nodes:
        graph.add_node(name, node)
        graph.add_edge(previous, name)
        previous = name
    graph.add_edge(previous, END)
    return graph.compile(checkpointer=saver)
