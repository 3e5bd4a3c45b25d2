"""Claim: in a graph an action knows its thread and tool call, is not repeated by a resume, and asks a person by interrupt."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.types import Command

from dalsegno import ActionPolicy, Happened
from dalsegno.errors import KeyReused, Misuse
from dalsegno.langgraph.tools import ActionToolNode

CONFIG: Any = {"configurable": {"thread_id": "t"}}
SHORT = timedelta(milliseconds=80)


class Outside:
    """The world: what was done to it, and whether it dies in the middle."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.error: Exception | None = None

    def do(self, *what: Any) -> str:
        if self.error is not None:
            raise self.error
        self.done.append(what)
        return f"done {len(self.done)}"


@pytest.fixture
def outside() -> Outside:
    return Outside()


def calls(*named: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    made = [{"name": name, "args": args, "id": f"c{n}"} for n, (name, args) in enumerate(named)]
    return {"messages": [HumanMessage("do it", id="h"), AIMessage("", tool_calls=made, id="a")]}


def graph(ds: Any, node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("tools", node)
    builder.add_edge(START, "tools")
    return builder.compile(checkpointer=ds.checkpointer)


def refund_tool(outside: Outside) -> Any:
    @tool
    def refund(order: str, amount: float = 1.0, idempotency_key: Annotated[str, InjectedToolArg] = "") -> str:
        """Refund an order."""
        return outside.do(order, amount, idempotency_key)

    return refund


def look_tool(outside: Outside) -> Any:
    @tool
    def look(order: str) -> str:
        """Look at an order."""
        return f"{order} is fine {len(outside.done)}"

    return look


@pytest.fixture
def node(ads: Any, outside: Outside) -> Any:
    def make(**settings: Any) -> Any:
        policy = ActionPolicy(**{"kind": "update", **settings})
        return ActionToolNode([refund_tool(outside), look_tool(outside)], ds=ads, actions={"refund": policy})

    return make


def answers(state: Any) -> list[tuple[str, str, str]]:
    return [(m.tool_call_id, m.content, m.status) for m in state["messages"] if isinstance(m, ToolMessage)]


def asked(state: Any) -> list[Any]:
    return [each.value for each in state.get("__interrupt__", ())]


async def test_a_tool_call_is_an_action_of_its_thread_and_step(ads, node, outside, call):
    state = await call(
        graph(ads, node()), "invoke", calls(("refund", {"order": "A-1"}), ("look", {"order": "A-1"})), CONFIG
    )
    assert answers(state)[0][1] == "done 1"
    (action,) = ads.actions.list()
    assert (action.thread_id, action.anchor, action.arguments) == ("t", "call c0", {"order": "A-1", "amount": 1})
    assert outside.done == [("A-1", 1.0, action.action_id)]


async def test_the_model_does_not_see_the_key(outside):
    assert set(refund_tool(outside).tool_call_schema.model_json_schema()["properties"]) == {"order", "amount"}


async def test_a_resend_in_the_thread_gets_the_stored_result_under_its_own_id(ads, node, outside, call):
    both = calls(("refund", {"order": "A-1"}), ("refund", {"amount": 1, "order": "A-1"}))
    chain = graph(ads, node(scope="thread"))
    state = await call(chain, "invoke", calls(("refund", {"order": "A-1"})), CONFIG)
    state = await call(
        chain,
        "invoke",
        {
            "messages": [
                AIMessage("", tool_calls=[{"name": "refund", "args": {"order": "A-1", "amount": 1}, "id": "c9"}])
            ]
        },
        CONFIG,
    )
    assert answers(state) == [("c0", "done 1", "success"), ("c9", "done 1", "success")]
    assert len(outside.done) == 1
    await call(graph(ads, node()), "invoke", both, {"configurable": {"thread_id": "u"}})
    assert len(outside.done) == 3


async def test_a_resumed_node_does_not_repeat_what_it_did(ads, outside, call):
    failing = [ConnectionError("the database of orders is away")]

    @ads.action(kind="update")
    def refund(order: str) -> str:
        return outside.do(order)

    def work(state: Any) -> Any:
        said = refund("A-1")
        if failing:
            raise failing.pop()
        return {"messages": [AIMessage(said)]}

    chain = graph(ads, work)
    with pytest.raises(ConnectionError):
        await call(chain, "invoke", {"messages": [HumanMessage("go")]}, CONFIG)
    state = await call(chain, "invoke", None, CONFIG)
    assert state["messages"][-1].content == "done 1"
    assert outside.done == [("A-1",)]
    await call(chain, "invoke", {"messages": [HumanMessage("and again")]}, CONFIG)
    assert len(outside.done) == 2


@pytest.mark.parametrize("how", ["id", "runtime"])
async def test_a_decorated_tool_in_a_plain_node_knows_its_call(ads, outside, call, how):
    if how == "id":

        @tool
        @ads.action(kind="update")
        def refund(order: str, mine: Annotated[str, InjectedToolCallId], *, idempotency_key: str) -> str:
            """Refund an order."""
            return outside.do(order, mine)
    else:

        @tool
        @ads.action(kind="update")
        def refund(order: str, runtime: ToolRuntime, *, idempotency_key: str) -> str:
            """Refund an order."""
            return outside.do(order, runtime.tool_call_id)

    assert set(refund.tool_call_schema.model_json_schema()["properties"]) == {"order"}
    await call(
        graph(ads, ToolNode([refund])), "invoke", calls(("refund", {"order": "A"}), ("refund", {"order": "A"})), CONFIG
    )
    assert {action.anchor for action in ads.actions.list()} == {"call c0", "call c1"}
    assert sorted(outside.done) == [("A", "c0"), ("A", "c1")]
    assert ads.actions.list()[0].arguments == {"order": "A"}


async def test_a_tool_that_failed_is_told_to_the_model_and_may_run_again(ads, outside, call):
    policy = ActionPolicy(kind="update", scope="thread")
    chain = graph(
        ads, ActionToolNode([refund_tool(outside)], ds=ads, actions={"refund": policy}, handle_tool_errors=True)
    )
    outside.error = ValueError("no such order")
    state = await call(chain, "invoke", calls(("refund", {"order": "A-1"})), CONFIG)
    assert answers(state)[0][2] == "error"
    assert ads.actions.list()[0].state == "failed"
    outside.error = None
    state = await call(
        chain,
        "invoke",
        {"messages": [AIMessage("", tool_calls=[{"name": "refund", "args": {"order": "A-1"}, "id": "c9"}])]},
        CONFIG,
    )
    assert answers(state)[-1] == ("c9", "done 1", "success")
    assert ads.actions.list()[0].attempts == 2


# --- approval


async def test_an_approval_is_an_interrupt_bound_to_what_was_shown(ads, node, outside, call):
    chain = graph(ads, node(approve=True))
    state = await call(chain, "invoke", calls(("refund", {"order": "A-1", "amount": 9})), CONFIG)
    (question,) = asked(state)
    assert (question["type"], question["arguments"], question["decisions"]) == (
        "approval", {"order": "A-1", "amount": 9}, ["approve", "reject"],
    )  # fmt: skip
    assert outside.done == []
    state = await call(
        chain, "invoke", Command(resume={"ticket": question["ticket"], "decision": "approve", "by": "mara"}), CONFIG
    )
    assert answers(state) == [("c0", "done 1", "success")]
    (action,) = ads.actions.list()
    assert (action.approved_by, action.state) == ("mara", "succeeded")
    assert [event.author for event in ads.journal.read("t") if event.kind == "action"] == [
        "ledger", "ledger", "mara", "ledger", "ledger",
    ]  # fmt: skip


async def test_an_approval_by_hand_lets_the_run_go_on(ads, node, outside, call):
    chain = graph(ads, node(approve=True))
    await call(chain, "invoke", calls(("refund", {"order": "A-1"})), CONFIG)
    ads.actions.approve(ads.actions.list()[0].action_id, by="mara")
    state = await call(chain, "invoke", None, CONFIG)
    assert answers(state) == [("c0", "done 1", "success")]


async def test_a_rejection_goes_to_the_model(ads, node, outside, call):
    chain = graph(ads, node(approve=True))
    (question,) = asked(await call(chain, "invoke", calls(("refund", {"order": "A-1"})), CONFIG))
    no = {"ticket": question["ticket"], "decision": "reject", "by": "mara", "why": "too much"}
    state = await call(chain, "invoke", Command(resume=no), CONFIG)
    ((_, content, status),) = answers(state)
    assert ("rejected by 'mara'" in content, status) == (True, "error")
    assert (outside.done, ads.actions.list()[0].error) == ([], "rejected by mara: too much")


@pytest.mark.parametrize(
    "answer", ["approve", {"decision": "approve", "by": "mara"}, {"ticket": "x:1", "decision": "approve"}]
)
async def test_an_answer_that_names_no_question_is_asked_again(ads, node, outside, call, answer):
    chain = graph(ads, node(approve=True))
    await call(chain, "invoke", calls(("refund", {"order": "A-1"})), CONFIG)
    (question,) = asked(await call(chain, "invoke", Command(resume=answer), CONFIG))
    assert "ticket" in question["problem"]
    assert outside.done == []
    yes = {"ticket": question["ticket"], "decision": "approve", "by": "mara"}
    assert answers(await call(chain, "invoke", Command(resume=yes), CONFIG))[0][1] == "done 1"


async def test_an_answer_needs_someone_who_gives_it(ads, node, outside, call):
    chain = graph(ads, node(approve=True))
    (question,) = asked(await call(chain, "invoke", calls(("refund", {"order": "A-1"})), CONFIG))
    (question,) = asked(
        await call(chain, "invoke", Command(resume={"ticket": question["ticket"], "decision": "approve"}), CONFIG)
    )
    assert "who decides" in question["problem"]
    assert outside.done == []


async def test_of_several_calls_each_gets_its_own_answer(ads, node, outside, call):
    """Whatever order they are asked and answered in: the answers of A, B and C go to A, B and C."""
    chain = graph(ads, node(approve=True))
    orders = ["A", "B", "C"]
    state = await call(chain, "invoke", calls(*(("refund", {"order": order}) for order in orders)), CONFIG)
    decisions = {"A": "approve", "B": "reject", "C": "approve"}
    for _ in range(12):
        questions = asked(state)
        if not questions:
            break
        question = questions[-1]
        answer = {"ticket": question["ticket"], "decision": decisions[question["arguments"]["order"]], "by": "mara"}
        state = await call(chain, "invoke", Command(resume=answer), CONFIG)
    assert sorted(order for order, _, _ in outside.done) == ["A", "C"]
    assert [status for _, _, status in answers(state)] == ["success", "error", "success"]


async def test_equal_calls_of_one_message_are_one_action(ads, node, outside, call):
    both = calls(("refund", {"order": "A-1"}), ("refund", {"order": "A-1", "amount": 1.0}))
    state = await call(graph(ads, node(scope="thread")), "invoke", both, CONFIG)
    assert answers(state) == [("c0", "done 1", "success"), ("c1", "done 1", "success")]


# --- unknown


def die(ads: Any, **settings: Any) -> None:
    """Leave a record of call c0 as a process that was killed in the middle of it would."""
    from dalsegno.services.performing import opening

    with ads.actions.within("t", step="call c0"):
        job = ads.actions.perform("refund", {"order": "A-1", "amount": 1.0}, kind="update", lease=SHORT)._job
    ads.actions.actor.play(opening(job), job)
    time.sleep(0.12)


@pytest.mark.parametrize(
    ("decision", "done", "said"), [("succeeded", 0, "r-7"), ("failed", 0, "has not happened"), ("retry", 1, "done 1")]
)
async def test_an_unknown_end_is_an_interrupt_with_three_ways_out(ads, node, outside, call, decision, done, said):
    chain = graph(ads, node())
    await asyncio.to_thread(die, ads)
    (question,) = asked(await call(chain, "invoke", calls(("refund", {"order": "A-1"})), CONFIG))
    assert (question["type"], question["decisions"]) == ("unknown_outcome", ["succeeded", "failed", "retry"])
    assert "its lease ran out" in question["known"]
    assert outside.done == []
    result = ToolMessage("r-7", tool_call_id="c0")
    answer = {"ticket": question["ticket"], "decision": decision, "by": "mara", "result": result}
    state = await call(chain, "invoke", Command(resume=answer), CONFIG)
    assert said in answers(state)[0][1]
    assert len(outside.done) == done


async def test_what_a_person_says_is_the_tools_result(ads, node, outside, call):
    chain = graph(ads, node())
    await asyncio.to_thread(die, ads)
    (question,) = asked(await call(chain, "invoke", calls(("refund", {"order": "A-1"})), CONFIG))
    answer = {"ticket": question["ticket"], "decision": "succeeded", "by": "mara", "result": {"id": 7}}
    assert answers(await call(chain, "invoke", Command(resume=answer), CONFIG)) == [("c0", '{"id": 7}', "success")]


async def test_an_old_retry_is_no_retry_of_what_was_lost_since(ads, node, outside, call):
    """The resume value of an earlier answer is played back with the node; it must not decide a second time."""
    chain = graph(ads, node(unclear=(TimeoutError,)))
    await asyncio.to_thread(die, ads)
    (question,) = asked(await call(chain, "invoke", calls(("refund", {"order": "A-1"})), CONFIG))
    outside.error = TimeoutError("slow")
    with pytest.raises(TimeoutError):
        await call(
            chain, "invoke", Command(resume={"ticket": question["ticket"], "decision": "retry", "by": "mara"}), CONFIG
        )
    outside.error = None
    (again,) = asked(await call(chain, "invoke", None, CONFIG))
    assert again["ticket"] != question["ticket"]
    assert outside.done == []


async def test_a_reconciler_spares_the_question(ads, node, outside, call):
    chain = graph(ads, node(reconcile=lambda action: Happened(result=f"found {action.arguments['order']}")))
    await asyncio.to_thread(die, ads)
    state = await call(chain, "invoke", calls(("refund", {"order": "A-1"})), CONFIG)
    assert (answers(state), outside.done) == ([("c0", "found A-1", "success")], [])


# --- agents


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_an_agents_tools_act_through_the_middleware(ads, outside, call):
    agents = pytest.importorskip("langchain.agents", reason="needs langchain for its agents")
    from langchain_core.language_models import BaseChatModel
    from langchain_core.outputs import ChatGeneration, ChatResult

    from dalsegno.langgraph.middleware import ContinuityMiddleware

    class Model(BaseChatModel):
        left: int = 2

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            if self.left:
                self.left -= 1
                made = [
                    {"name": "refund", "args": {"order": "A-1"}, "id": f"r{self.left}"},
                    {"name": "look", "args": {"order": "A-1"}, "id": f"l{self.left}"},
                ]
                return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=made))])
            return ChatResult(generations=[ChatGeneration(message=AIMessage("Refunded."))])

    policy = ActionPolicy(kind="update", scope="thread", approve=True)
    agent = agents.create_agent(
        Model(),
        [refund_tool(outside), look_tool(outside)],
        middleware=[ContinuityMiddleware(ds=ads, actions={"refund": policy})],
        checkpointer=ads.checkpointer,
    )
    (question,) = asked(await call(agent, "invoke", {"messages": [HumanMessage("refund A-1")]}, CONFIG))
    yes = {"ticket": question["ticket"], "decision": "approve", "by": "mara"}
    state = await call(agent, "invoke", Command(resume=yes), CONFIG)
    assert state["messages"][-1].content == "Refunded."
    assert len(outside.done) == 1
    assert [(each[0], each[1]) for each in answers(state) if each[0].startswith("r")] == [
        ("r1", "done 1"),
        ("r0", "done 1"),
    ]
    assert ads.actions.list()[0].anchor is None


# --- wrong calls


def test_a_policy_for_a_tool_that_is_not_there_is_refused(ds, outside):
    policy = ActionPolicy(kind="update")
    with pytest.raises(Misuse, match="'refnd'"):
        ActionToolNode([refund_tool(outside)], ds=ds, actions={"refnd": policy})
    with pytest.raises(Misuse, match="ActionPolicy"):
        ActionToolNode([refund_tool(outside)], ds=ds, actions={"refund": "update"})


async def test_a_reused_business_key_stops_the_run(ads, node, outside, call):
    chain = graph(ads, node(key="order"))
    await call(chain, "invoke", calls(("refund", {"order": "A-1"})), CONFIG)
    with pytest.raises(KeyReused):
        await call(
            chain, "invoke", calls(("refund", {"order": "A-1", "amount": 2})), {"configurable": {"thread_id": "t"}}
        )
    assert len(outside.done) == 1
