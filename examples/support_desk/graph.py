"""The graph: compact when due, plan, execute side by side, review, reply.

    START ─ due? ─ compact ─┐
              └─────────── plan ─ Send ─ execute × n ─ review ─ Send ─ execute …   (sent back, with reasons)
                             └──────────── reply ────────┘                         (accepted, or rounds are used up)

Rules of this module:

* The mind proposes (`mind.py`); what is taken up, how often and whether it will do is decided here, by pure functions
  over the state.
* A wish counts for an order that the customer named; a task uses the tools of its kind. So a plan or steps that went
  wrong, whoever led them astray, pay no other order back, and nothing back unasked.
* A task makes at most `BUDGET` tool calls in all its rounds; the critic looks at most `ROUNDS` times. What is not
  accepted by then is said to be open: the reply is degraded, not wrong.
* The reply is put together from findings. It states no figure that no tool answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite, Send

from dalsegno import CompactionPolicy, Dalsegno, Summary, compact, compaction_node, render_summary
from examples.support_desk.mind import Assignment, Mind, Plan, Question, orders_in
from examples.support_desk.shop import Shop
from examples.support_desk.state import Executing, State, Task
from examples.support_desk.tools import Findings, Tools, tools_of

__all__ = ["BUDGET", "POLICY", "ROUNDS", "after_plan", "after_review", "build", "judged", "tasks_of"]

BUDGET = 5
ROUNDS = 2
POLICY = CompactionPolicy(max_messages=20, max_tokens=8000, keep_recent=6, begin_with_user=False)
"""The planner is shown the messages as text, so they may begin with an answer."""

_GOALS = {
    "order": "find the order's stage",
    "shipping": "find where the parcel is and when it comes",
    "refund": "pay the order back",
    "email": "send the customer a written confirmation",
}
_NEEDED = {
    "order": ("stage",),
    "shipping": ("place", "due"),
    "refund": ("receipt",),
    "email": ("letter",),
}
_USED = {
    "order": ("look_up_order",),
    "shipping": ("look_up_order", "track_parcel", "ask_carrier"),
    "refund": ("look_up_order", "refund"),
    "email": ("look_up_order", "track_parcel", "send_email"),
}


def build(
    ds: Dalsegno,
    shop: Shop,
    mind: Mind,
    *,
    interrupt_before: Sequence[str] = (),
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph over a database, a shop and a mind.

    Args:
        ds: keeps the conversation and the ledger.
        shop: what the tools act on.
        mind: plans and works.
        interrupt_before: names of nodes to stop before.
        checkpointer: another keeper of the conversation, to compare with.
    """
    tools = tools_of(ds, shop)

    def plan(state: State) -> dict[str, Any]:
        question = Question(text=_newest_words(state), record=_record(state), orders=_named_before(state))
        return {
            "workspace": Overwrite(tasks_of(mind.plan(question), {*orders_in(question.text), *question.orders})),
            "review_rounds": 0,
            "degraded": False,
            "budget": Overwrite(0),
        }

    def execute(state: Executing) -> dict[str, Any]:
        task = state["task"]
        steps = mind.work(
            Assignment(kind=task["kind"], goal=task["goal"], order=task["order"], reasons=task["reasons"])  # type: ignore[arg-type] # a task's kind is one of the plan's
        )
        done = executed(task, [step.tool for step in steps.steps], tools)
        return {"workspace": {task["id"]: done}, "budget": done["tool_calls"] - task["tool_calls"]}

    builder = StateGraph(State)
    builder.add_node("compact", compaction_node(POLICY, ds=ds))
    builder.add_node("plan", plan)
    builder.add_node("execute", execute, input_schema=Executing)
    builder.add_node("review", review)
    builder.add_node("reply", reply)
    builder.add_conditional_edges(START, at_start, ["compact", "plan"])
    builder.add_edge("compact", "plan")
    builder.add_conditional_edges("plan", after_plan, ["execute", "reply"])
    builder.add_edge("execute", "review")
    builder.add_conditional_edges("review", after_review, ["execute", "reply"])
    builder.add_edge("reply", END)
    return builder.compile(checkpointer=checkpointer or ds.checkpointer, interrupt_before=list(interrupt_before))


# --- routing and judging: pure functions ------------------------------------------------------------


def at_start(state: State) -> Literal["compact", "plan"]:
    """Whether the messages are to be compacted first."""
    return "compact" if compact(state["messages"], POLICY, summary=state.get("summary")).changed else "plan"


def tasks_of(plan: Plan, named: Collection[str]) -> dict[str, Task]:
    """The tasks of a plan by id, each wish once; a wish for an order that nobody named is none."""
    wishes = list({(wish.kind, wish.order): wish for wish in plan.wishes if wish.order in named}.values())
    return {
        f"t-{number}-{wish.kind}": Task(
            id=f"t-{number}-{wish.kind}",
            kind=wish.kind,
            goal=_GOALS[wish.kind],
            order=wish.order,
            status="pending",
            tool_calls=0,
            findings={},
            reasons=[],
        )
        for number, wish in enumerate(wishes, start=1)
    }


def after_plan(state: State) -> list[Send] | str:
    """An executor for each task; nothing to do goes straight to the reply."""
    return _sends(state) or "reply"


def executed(task: Task, tools: Sequence[str], known: Tools) -> Task:
    """A task after its tool calls: those of its kind, as many of them as its budget has left."""
    allowed = [name for name in tools if name in _USED[task["kind"]]][: max(0, BUDGET - task["tool_calls"])]
    findings: Findings = dict(task["findings"])
    for name in allowed:
        findings |= known[name](task["order"], findings)
    return {**task, "status": "done", "findings": findings, "tool_calls": task["tool_calls"] + len(allowed)}


def judged(task: Task) -> Task:
    """A task after the critic has looked: accepted, or with the reasons why not."""
    findings = task["findings"]
    if "missing" in findings or "refused" in findings:
        return {**task, "status": "accepted", "reasons": []}  # that there is no such order, or a refusal, is an answer
    reasons = [f"{field} is not known" for field in _NEEDED[task["kind"]] if field not in findings]
    return {**task, "status": "done" if reasons else "accepted", "reasons": reasons}


def review(state: State) -> dict[str, Any]:
    """The critic: accept, or send back with reasons while rounds are left."""
    rounds = state.get("review_rounds", 0) + 1
    looked_at = {name: judged(task) for name, task in state["workspace"].items()}
    stuck = [task for task in looked_at.values() if task["status"] != "accepted"]
    degraded = bool(stuck) and (rounds >= ROUNDS or all(task["tool_calls"] >= BUDGET for task in stuck))
    return {"workspace": looked_at, "review_rounds": rounds, "degraded": degraded}


def after_review(state: State) -> list[Send] | str:
    """Back to executors while something is open and rounds are left."""
    return "reply" if state["degraded"] else (_sends(state) or "reply")


def _sends(state: State) -> list[Send]:
    tasks = state.get("workspace", {}).values()
    return [Send("execute", Executing(task=task)) for task in tasks if task["status"] != "accepted"]


# --- what is shown and said -------------------------------------------------------------------------


def _newest_words(state: State) -> str:
    said = [message for message in state["messages"] if isinstance(message, HumanMessage)]
    return said[-1].text if said else ""


def _record(state: State) -> str:
    """What was said before the newest words: the summary, then the messages that are still there."""
    summary = state.get("summary")
    older: list[AnyMessage] = state["messages"][:-1]
    told = [render_summary(summary)] if summary else []
    return "\n".join([*told, *(f"{message.type}: {message.text}" for message in older)])


def _named_before(state: State) -> list[str]:
    """The orders that the customer named before the newest words."""
    summary = Summary.from_json(state["summary"]) if state.get("summary") else Summary()
    told = [line.text for line in summary.lines if line.authors == ("user",)]
    said = [message.text for message in state["messages"] if isinstance(message, HumanMessage)][:-1]
    newest_first = [order for text in reversed([*told, *said]) for order in reversed(orders_in(text))]
    return list(reversed(dict.fromkeys(newest_first)))


_CJK = re.compile(r"[\u4e00-\u9fff]")

_SAID: Mapping[str, Mapping[str, Callable[[Task, Findings], str]]] = {
    "zh": {
        "order": lambda task, found: f"订单 {task['order']}（{found['item']}）目前：{found['stage']}。",
        "shipping": lambda task, found: (
            f"订单 {task['order']} 的包裹 {found['number']}（{found['carrier']}）：{found['place']}，"
            f"预计 {found['due']} 送达。"
        ),
        "refund": lambda task, found: f"订单 {task['order']} 已退款 {found['total']}，凭证 {found['receipt']}。",
        "email": lambda task, found: f"确认邮件已发到 {found['email']}，编号 {found['letter']}。",
        "missing": lambda task, found: f"没有找到订单 {found['missing']}。",
        "refused": lambda task, found: f"订单 {task['order']} 的退款没有获批。",
        "open": lambda task, found: f"订单 {task['order']} 还有一项没有查到（{task['kind']}），查到后再告诉您。",
        "nothing": lambda task, found: "您好！请告诉我订单号，以及要查状态、物流、退款还是发确认邮件。",
    },
    "en": {
        "order": lambda task, found: f"Order {task['order']} ({found['item']}) is {found['stage']}.",
        "shipping": lambda task, found: (
            f"The parcel of {task['order']}, {found['number']} with {found['carrier']}: {found['place']}; due "
            f"{found['due']}."
        ),
        "refund": lambda task, found: (
            f"{found['total']} for {task['order']} was paid back, receipt {found['receipt']}."
        ),
        "email": lambda task, found: f"A confirmation went to {found['email']}, number {found['letter']}.",
        "missing": lambda task, found: f"There is no order {found['missing']}.",
        "refused": lambda task, found: f"The refund for {task['order']} was not approved.",
        "open": lambda task, found: (
            f"One thing about {task['order']} is still open ({task['kind']}); you will hear from us."
        ),
        "nothing": lambda task, found: (
            "Hello! Tell me the order, and whether it is about its stage, parcel, a refund or a written confirmation."
        ),
    },
}


def reply(state: State) -> dict[str, Any]:
    """What the customer hears, from the findings alone."""
    phrases = _SAID["zh" if _CJK.search(_newest_words(state)) else "en"]
    tasks = list(state.get("workspace", {}).values())
    lines = [_line(task, phrases) for task in tasks]
    if not lines:
        lines = [phrases["nothing"]({}, {})]  # type: ignore[typeddict-item] # it looks at no task
    return {"messages": [AIMessage(" ".join(dict.fromkeys(lines)))]}


def _line(task: Task, phrases: Mapping[str, Callable[[Task, Findings], str]]) -> str:
    for answer in ("missing", "refused"):
        if answer in task["findings"]:
            return phrases[answer](task, task["findings"])
    return phrases[task["kind"] if task["status"] == "accepted" else "open"](task, task["findings"])
