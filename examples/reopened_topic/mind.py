"""What stands for the model when there is none: it knows nothing but the request that it is given.

Rules of this module:

* Goal, decision, limits, open matters and past actions are read from the card in the request, original words from the
  tools. Nothing is kept between two calls.
* It is careless on purpose: going on, it sends the plan's letter again. That nothing comes twice is not its merit.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool

__all__ = ["GO_ON", "WHY", "Rules"]

GO_ON = "按上次定的方案继续。"
WHY = "为什么选 B？"

_PLANS = (
    "方案A：店内开业仪式，费用 2.6 万元，场面小\n"
    "方案B：店内仪式加周边三个小区的路演，费用 3.8 万元，周边住户都能看到\n"
    "方案C：商场中庭的大型活动，费用 6.5 万元，超出预算\n"
    "您看选哪个？"
)
_DECIDES = re.compile(r"就按方案(?P<label>[A-C]).*?(?P<to>[\w.]+@[\w.]+)")
_LINE = re.compile(r"^- (?P<text>.*?)(?P<notes>(?: \[[^\[\]]*\])?) \((?P<where>#[^()]*)\)$", re.MULTILINE)
_NUMBER = re.compile(r"#(\d+)")


class Rules:
    """Answers by rules."""

    def answer(self, messages: Sequence[BaseMessage], tools: Sequence[BaseTool]) -> AIMessage:
        """The next message of the conversation."""
        del tools
        asked = max(place for place, message in enumerate(messages) if isinstance(message, HumanMessage))
        text, results = messages[asked].text, [each for each in messages[asked:] if isinstance(each, ToolMessage)]
        card = next((message.text for message in messages if "\n已决定" in message.text), "")
        if text == GO_ON:
            return _go_on(card, results)
        if text == WHY:
            return _why(card, results)
        if found := _DECIDES.search(text):
            return _send(found["label"], found["to"], _PLANS, results)
        if "方案" in text and "帮我" in text:
            return AIMessage(_PLANS)
        if text.startswith("要不要"):
            return AIMessage(f"可以考虑{text[3:].rstrip('？')}，大约 800 元，您定。")
        return AIMessage("好的，记下了。")


def _send(label: str, to: str, plans: str, results: Sequence[ToolMessage]) -> AIMessage:
    if not results:
        return _calls("send_email", to=to, subject=f"开业活动方案{label}", body=_plan(label, plans))
    return AIMessage(f"方案{label}已经发给 {to}，编号 {results[-1].text}。我会在周五前给您补充风险清单。")


def _go_on(card: str, results: Sequence[ToolMessage]) -> AIMessage:
    """Look up what was decided, send its letter (again), do what is open, tell."""
    decided, where = _entry(card, "已决定")
    promised, when = _entry(card, "待办")
    found = _DECIDES.search(decided)
    if found is None:
        return AIMessage("还没有定下任何方案。您指的是哪一个？")
    match results:
        case []:
            return _calls("read_events", first=min(where), last=max(where))
        case [words]:
            return _send(found["label"], found["to"], words.text, ())
        case [_, _] if promised:
            return _calls("finish", number=when[0])
    limits, _ = _entry(card, "约束")
    risks = "风险清单：一、周六下雨则路演改到室内；二、三个小区的场地要在周三前确认；三、音量按物业要求控制。"
    sent = f"邮件之前已经发给 {found['to']}，编号 {results[1].text}，没有再发。"
    return AIMessage(f"好，按方案{found['label']}继续（#{where[0]}）。限制：{limits}{sent}\n{risks}")


def _why(card: str, results: Sequence[ToolMessage]) -> AIMessage:
    if not results:
        _, where = _entry(card, "已决定")
        return _calls("read_events", first=min(where), last=max(where))
    return AIMessage(f"因为当时是这样说的：\n{results[-1].text}")


def _entry(card: str, heading: str) -> tuple[str, list[int]]:
    """The newest line under a heading of the card, and the numbers of its evidence."""
    _, _, after = card.partition(f"\n{heading}")
    lines = list(_LINE.finditer(re.split(r"\n(?!- )", after, maxsplit=1)[0] if after else ""))
    if not lines:
        return "", []
    return lines[-1]["text"], [int(number) for number in _NUMBER.findall(lines[-1]["where"])]


def _plan(label: str, plans: str) -> str:
    found = re.search(rf"方案{label}：[^\n]*", plans)
    return "" if found is None else found[0]


def _calls(name: str, **arguments: object) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{uuid.uuid4().hex[:12]}"}])
