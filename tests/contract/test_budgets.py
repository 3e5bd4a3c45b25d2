"""Claim: a budget is kept by graphs and agents, in one transaction with its account; parallel branches add up exactly; the end is the one that was defined."""

from __future__ import annotations

import logging
import operator
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send

import dalsegno
from dalsegno import Budget, Limits, Price, Spending, Spent
from dalsegno.errors import LeaseHeld, Misuse, ThreadNotFound
from dalsegno.langgraph.budget_middleware import BudgetMiddleware
from dalsegno.services.spending import Account, forget_thread

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


class Model(BaseChatModel):
    """Answers, and says what it used: 100 in, 50 out."""

    calls: list[int] = []  # noqa: RUF012 - shared by copies on purpose
    tool: str = ""
    silent: bool = False
    fails: bool = False

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        self.calls.append(len(messages))
        if self.fails:
            raise ConnectionError("gone")
        asked = [{"name": self.tool, "args": {}, "id": f"c{len(self.calls)}"}] if self.tool else []
        usage = None if self.silent else {"input_tokens": 100, "output_tokens": 50, "total_tokens": 150}
        message = AIMessage(
            f"answer {len(self.calls)}", tool_calls=asked, usage_metadata=usage, response_metadata={"model_name": "m-1"}
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


class State(MessagesState):
    budget: Spending
    ends: Annotated[list[str], operator.add]


def looping(budget: Budget, model: Model, ds: Any = None, face: str = "sync") -> Any:
    """A graph that asks its model again and again, until its budget is spent."""
    if face == "sync":

        @budget.node
        def ask(state: State) -> dict[str, Any]:
            return {"messages": [model.invoke(state["messages"])]}
    else:

        @budget.node
        async def ask(state: State) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(State)
    builder.add_node("begin", budget.begin)
    builder.add_node("ask", ask)
    builder.add_node("stop", lambda state: {"ends": ["spent: " + ", ".join(budget.spent_up(state))]})
    builder.add_edge(START, "begin")
    builder.add_edge("begin", "ask")
    builder.add_conditional_edges("ask", budget.route("ask", exhausted="stop"), ["ask", "stop"])
    return builder.compile(checkpointer=None if ds is None else ds.checkpointer)


def spent_of(state: Any) -> Spent:
    return Spent.from_json(state["budget"]["spent"])


@pytest.mark.parametrize(
    ("limits", "calls", "named"),
    [
        (Limits(calls=3), 3, "run: calls"),
        (Limits(tokens=450), 3, "run: tokens"),
        (Limits(steps=2), 2, "run: steps"),
        (Limits(money="0.00075"), 3, "run: money"),
    ],
)
async def test_a_loop_ends_where_it_was_defined_to(ds, face, call, limits, calls, named) -> None:
    model = Model(calls=[])
    budget = Budget(run=limits, prices={"m": Price(input=1, output=3)}, ds=ds)
    for turn in (1, 2):  # each run has a budget of its own
        state = await call(looping(budget, model, ds, face), "invoke", {"messages": [HumanMessage("go")]}, CONFIG)
        assert len(model.calls) == calls * turn
        assert state["ends"] == [f"spent: {named}"] * turn
        assert spent_of(state).calls == calls
    runs = await call(ds.budgets, "runs", "t")
    assert [run.spent.calls for run in runs] == [calls, calls]
    assert runs[-1].run == state["budget"]["run"]
    assert runs[-1].spent == spent_of(state)
    total = await call(ds.budgets, "spent", "t")
    assert total == sum((run.spent for run in runs), Spent())
    assert (total.input_tokens, total.output_tokens) == (200 * calls, 100 * calls)
    assert total.nanos == 2 * calls * (100 * 1000 + 50 * 3000)
    assert await call(ds.budgets, "tenant") == total
    assert await call(ds.budgets, "spent", "t", run=runs[0].run) == runs[0].spent
    assert ds.threads.check().clean


def test_time_is_a_budget_too(ds) -> None:
    budget = Budget(run=Limits(seconds=timedelta(milliseconds=30)), ds=ds)

    class Slow(Model):
        def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
            threading.Event().wait(0.02)
            return super()._generate(*args, **kwargs)

    slow = Slow(calls=[])
    state = looping(budget, slow, ds).invoke({"messages": [HumanMessage("go")]}, CONFIG)
    assert 1 <= len(slow.calls) <= 2
    assert spent_of(state).seconds >= 0.03
    assert state["ends"] == ["spent: run: seconds"]


def test_without_a_database_the_state_keeps_the_run(caplog) -> None:
    model = Model(calls=[])
    with caplog.at_level(logging.WARNING, "dalsegno.budgets"):
        state = looping(Budget(run=Limits(tokens=450, soft=0.5)), model).invoke({"messages": [HumanMessage("go")]})
    assert len(model.calls) == 3
    assert state["ends"] == ["spent: run: tokens"]
    assert state["budget"]["near"] == ["run: tokens"]
    assert [record.message.split(";")[0] for record in caplog.records if "near" in record.message] == [
        f"budget near its limit: run: tokens of run '{state['budget']['run']}'"
    ]


def test_thread_and_tenant_have_budgets_over_all_their_runs(ds) -> None:
    model = Model(calls=[])
    budget = Budget(
        run=Limits(calls=2), thread=Limits(calls=3), tenant=Limits(calls=4), ds=ds, period=lambda: "2026-12"
    )
    graph = looping(budget, model, ds)
    ends = []
    for thread in ("t", "t", "t", "u", "u"):
        state = graph.invoke({"messages": [HumanMessage("go")]}, {"configurable": {"thread_id": thread}})
        ends.append((len(model.calls), state["ends"][-1]))
    assert ends == [
        (2, "spent: run: calls"),
        (3, "spent: thread: calls"),
        (3, "spent: thread: calls"),
        (4, "spent: tenant: calls"),
        (4, "spent: tenant: calls"),
    ]
    assert ds.budgets.tenant("2026-12").calls == 4
    assert ds.budgets.tenant().calls == 0


def test_parallel_branches_add_up_exactly(ds) -> None:
    model = Model(calls=[])
    budget = Budget(run=Limits(calls=100), prices={"m": Price(input="0.075", output="0.3")}, ds=ds)
    builder = StateGraph(State)
    builder.add_node("begin", budget.begin)
    builder.add_node("one", budget.node(lambda state: {"ends": [str(model.invoke("hi").text)]}))
    builder.add_edge(START, "begin")
    builder.add_conditional_edges(
        "begin", lambda _: [Send("one", {"messages": [], "budget": {}}) for _ in range(20)], ["one"]
    )
    state = builder.compile(checkpointer=ds.checkpointer).invoke({"messages": []}, CONFIG)
    spent = spent_of(state)
    assert (spent.calls, spent.steps, spent.tokens, spent.nanos) == (20, 20, 3000, 20 * (100 * 75 + 50 * 300))
    assert ds.budgets.spent("t").nanos == spent.nanos


def test_calls_side_by_side_never_exceed_together_what_each_alone_was_allowed(ds) -> None:
    account = Account(thread="t", run="r", limits={"run": Limits(calls=7), "tenant": Limits(calls=7)})
    others = Account(thread="u", limits={"tenant": Limits(calls=7)})
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda at: ds.budgets.reserve((account, others)[at % 2], Spent(calls=1)), range(30)))
    assert sum(1 for standing in found if not standing.refused) == 7
    assert ds.budgets.tenant().calls == 7


def test_a_run_that_was_interrupted_goes_on_with_what_is_left(ds) -> None:
    model = Model(calls=[])
    budget = Budget(run=Limits(calls=3), ds=ds)
    graph = looping(budget, model, ds)
    graph.interrupt_after_nodes = ["ask"]
    graph.invoke({"messages": [HumanMessage("go")]}, CONFIG)
    assert len(model.calls) == 1
    graph.interrupt_after_nodes = []
    state = dalsegno.resume(graph, "t")
    assert len(model.calls) == 3
    assert state["ends"] == ["spent: run: calls"]


def test_a_call_that_fails_is_charged_and_the_next_run_of_the_node_knows(ds) -> None:
    budget = Budget(run=Limits(calls=2), ds=ds, answer_tokens=500)
    graph = looping(budget, Model(calls=[], fails=True), ds)
    for start in ({"messages": [HumanMessage("go")]}, None):
        with pytest.raises(ConnectionError):
            graph.invoke(start, CONFIG)
    spent = ds.budgets.spent("t")
    assert (spent.calls, spent.output_tokens) == (2, 0)
    assert spent.input_tokens > 0
    state = dalsegno.resume(graph, "t")
    assert state["ends"] == ["spent: run: calls"]


def test_what_was_set_aside_is_settled_by_what_is_reported(ds) -> None:
    for silent, tokens in ((False, (100, 50)), (True, None)):
        budget = Budget(run=Limits(calls=1), ds=ds, answer_tokens=10_000)
        thread = {"configurable": {"thread_id": f"silent {silent}"}}
        state = looping(budget, Model(calls=[], silent=silent), ds).invoke({"messages": [HumanMessage("go")]}, thread)
        spent = spent_of(state)
        if tokens:
            assert (spent.input_tokens, spent.output_tokens) == tokens
        else:
            assert 0 < spent.output_tokens < 20
            assert 0 < spent.input_tokens < 20


def test_an_answer_that_might_exceed_is_not_asked_for(ds) -> None:
    model = Model(calls=[])
    state = looping(Budget(run=Limits(tokens=1000), ds=ds, answer_tokens=2000), model, ds).invoke(
        {"messages": [HumanMessage("go")]}, CONFIG
    )
    assert model.calls == []
    assert state["ends"] == ["spent: run: tokens"]
    assert spent_of(state).tokens == 0


def test_a_run_that_ends_anyway_ends_as_it_would(ds) -> None:
    budget = Budget(run=Limits(calls=1), ds=ds)
    choose = budget.route(lambda _: END, exhausted="stop")
    assert choose({"budget": {"spent": {"calls": 1}}}) == END
    assert choose({"budget": {"spent": {"calls": 1}, "exhausted": ["run: calls"]}}) == "stop"
    assert budget.route("on", exhausted="stop")({"budget": {"spent": {"calls": 1}}}) == "stop"
    assert budget.route("on")({}) == "on"
    assert budget.left({"budget": {"spent": {"calls": 1}}}) == {"calls": 0}


def ping() -> str:
    """Say pong."""
    return "pong"


async def test_an_agent_ends_with_a_closing_message_and_no_call_without_its_result(ds, face, call) -> None:
    model = Model(calls=[], tool="ping")
    budget = Budget(run=Limits(tokens=300), thread=Limits(calls=3), ds=ds)
    agent = create_agent(model, [ping], middleware=[BudgetMiddleware(budget)], checkpointer=ds.checkpointer)
    state = await call(agent, "invoke", {"messages": [HumanMessage("go")]}, {**CONFIG, "recursion_limit": 40})
    assert [message.type for message in state["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert state["messages"][-1].text == "The budget of this run is spent; it ends here."
    assert state["budget"]["exhausted"] == ["run: tokens"]
    assert (spent_of(state).calls, spent_of(state).steps, spent_of(state).tokens) == (2, 2, 300)
    state = await call(agent, "invoke", {"messages": [HumanMessage("go")]}, {**CONFIG, "recursion_limit": 40})
    assert state["budget"]["exhausted"] == ["thread: calls"]
    assert len(model.calls) == 3
    assert ds.budgets.spent("t").calls == 3


def test_an_agent_may_close_in_its_own_words_and_be_without_a_database() -> None:
    agent = create_agent(
        Model(calls=[], tool="ping"),
        [ping],
        middleware=[BudgetMiddleware(Budget(run=Limits(steps=2)), closing="; ".join)],
    )
    state = agent.invoke({"messages": [HumanMessage("go")]}, {"recursion_limit": 40})
    assert state["messages"][-1].text == "run: steps"
    assert spent_of(state).steps == 2


def test_accounts_go_with_their_thread_but_the_tenant_gets_nothing_back(ds) -> None:
    looping(Budget(run=Limits(calls=2), ds=ds), Model(calls=[]), ds).invoke({"messages": [HumanMessage("go")]}, CONFIG)
    ds.threads.copy("t", "copy")
    assert ds.budgets.runs("copy") == []
    ds.threads.delete("t")
    with pytest.raises(ThreadNotFound):
        ds.budgets.spent("t")
    assert ds.budgets.tenant().calls == 2
    assert ds.threads.check().clean
    looping(Budget(run=Limits(calls=2), ds=ds), Model(calls=[]), ds).invoke(
        {"messages": [HumanMessage("go")]}, {"configurable": {"thread_id": "u"}}
    )
    ds.store_backend.run(lambda: forget_thread(ds.scope(), "u"), write=True)
    assert ds.budgets.spent("u") == Spent()
    assert ds.budgets.tenant().calls == 4


def test_a_check_finds_an_account_that_holds_less_than_its_runs(ds, execute) -> None:
    looping(Budget(run=Limits(calls=2), ds=ds), Model(calls=[]), ds).invoke({"messages": [HumanMessage("go")]}, CONFIG)
    execute("UPDATE ds_spending SET calls = 1 WHERE run = '' AND thread > 0")
    assert [(finding.kind, finding.place) for finding in ds.threads.check("t").findings] == [("counter", "spending")]


def test_under_anothers_lease_nothing_is_spent(ds) -> None:
    ds.budgets.reserve(Account(thread="t"), Spent(calls=1))
    with ds.runs.lease("t", timedelta(seconds=60)) as lease:
        with pytest.raises(LeaseHeld):
            ds.budgets.reserve(Account(thread="t"), Spent(calls=1))
        ds.budgets.reserve(Account(thread="t", fence=lease.token), Spent(calls=1))
    assert ds.budgets.spent("t").calls == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "limits nothing"),
        ({"run": Limits()}, "limits nothing"),
        ({"run": 500}, "run=500 is no limit"),
        ({"run": Limits(money="1")}, "needs prices"),
        ({"thread": Limits(calls=1)}, "needs the database"),
        ({"run": Limits(calls=1), "answer_tokens": -1}, "answer_tokens=-1"),
        ({"run": Limits(calls=1), "prices": {"m": 3}}, "the price of 'm'"),
    ],
)
def test_nonsense_is_no_budget(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Misuse, match=said):
        Budget(**given)


def test_a_node_under_a_budget_returns_updates() -> None:
    budget = Budget(run=Limits(calls=1))
    node = budget.node(lambda state: [1])
    with pytest.raises(Misuse, match="returned list"):
        node({})
    assert budget.node(lambda state: None)({}).keys() == {"budget"}
    with pytest.raises(Misuse, match="whose key is 'budget'"):
        BudgetMiddleware(Budget(run=Limits(calls=1), key="money"))
