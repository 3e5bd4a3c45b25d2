"""A call of compaction that cannot be meant is refused at once, and told what to write instead."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

import dalsegno
from dalsegno.core.compaction import CompactionPolicy
from dalsegno.errors import Damaged, Misuse
from dalsegno.langgraph.compaction import (
    acompact,
    compact,
    compaction_node,
    regenerate,
    render_summary,
    who_said,
)
from dalsegno.langgraph.summarizer import ChatSummarizer
from dalsegno.services.compaction import Writing


def middleware(*policy: Any, **how: Any) -> Any:
    """The middleware, where LangChain is installed."""
    pytest.importorskip("langchain.agents", reason="needs langchain for its agents")
    from dalsegno.langgraph.middleware import ContinuityMiddleware

    return ContinuityMiddleware(*policy, **how)


MESSAGES = [HumanMessage(f"Order A-{at} costs ${at}.50.", id=f"m{at}") for at in range(24)]
FACES = {
    "compact": lambda **how: compact(MESSAGES, **how),
    "acompact": lambda **how: asyncio.run(acompact(MESSAGES, **how)),
    "compaction_node": compaction_node,
    "ContinuityMiddleware": middleware,
}


class Writer:
    """A summarizer that does as it is told."""

    name = "writer-1"
    budget_tokens: Any = 4000

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error

    def summarize(self, piece: Any) -> str:
        if self.error is not None:
            raise self.error
        return ""

    async def asummarize(self, piece: Any) -> str:
        return self.summarize(piece)


def no_number(text: str) -> str:
    return text


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"summariser": 42}, ["summariser", "summarizer="]),
        ({"fallbak": True}, ["fallbak", "fallback="]),
        ({"polcy": CompactionPolicy()}, ["polcy", "policy="]),
        ({"max_messages": 9}, ["max_messages", "policy=CompactionPolicy(max_messages=9)"]),
        ({"max_messages": 5, "keep_recent": 2}, ["policy=CompactionPolicy(max_messages=5, keep_recent=2)"]),
        ({"max_messages": 5}, ["policy=CompactionPolicy(max_messages=5, keep_recent=2)"]),
        ({"policy": 5}, ["policy=5", "CompactionPolicy(max_messages=5, keep_recent=2)"]),
        ({"policy": 1}, ["policy=1", "CompactionPolicy(max_messages=20)"]),
        ({"max_mesages": 9}, ["max_mesages", "policy=CompactionPolicy(max_messages=9)"]),
        ({"keep": 5}, ["keep", "CompactionPolicy(keep_recent="]),
        ({"trigger": ("tokens", 1)}, ["trigger", "CompactionPolicy(max_tokens="]),
        ({"model": 1}, ["model", "summarizer="]),
        ({"zebra": 1}, ["zebra", "timeout", "pending"]),
        ({"timeout": "60"}, ["timeout", "timedelta", "seconds"]),
        ({"timeout": 0}, ["timeout"]),
        ({"timeout": -1.5}, ["timeout"]),
        ({"timeout": True}, ["timeout", "timedelta"]),
        ({"timeout": float("nan")}, ["timeout"]),
        ({"timeout": float("inf")}, ["timeout"]),
        ({"timeout": None}, ["timeout", "timedelta"]),
        ({"fallback": "no"}, ["fallback", "True or False"]),
        ({"pending": 3}, ["pending", "function"]),
        ({"count": 3}, ["count", "function"]),
        ({"count": no_number}, ["count", "number"]),
        ({"policy": 20}, ["policy=20", "CompactionPolicy(max_messages=20)"]),
        ({"policy": {"max_messages": 10}}, ["policy", "CompactionPolicy(max_messages=10)"]),
        ({"summarizer": "gpt-4o"}, ["summarizer", "chat model"]),
    ],
    ids=lambda each: str(each) if isinstance(each, list) else ",".join(each),
)
def test_options(face: str, given: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(Misuse) as raised:
        FACES[face](**given)
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("timeout", [5, 0.5, timedelta(seconds=5), 10**12, timedelta.max], ids=str)
def test_a_timeout_is_seconds_or_a_timedelta(face: str, timeout: Any) -> None:
    FACES[face](timeout=timeout)
    if face == "compact":
        assert compact(MESSAGES, timeout=timeout, summarizer=Writer(), fallback=True).changed


def test_the_first_argument_of_a_node_or_middleware_is_a_policy() -> None:
    for call in (compaction_node, middleware):
        with pytest.raises(Misuse, match=r"CompactionPolicy\(max_messages=10\)"):
            call(10)  # type: ignore[arg-type]


@pytest.mark.parametrize("call", [compaction_node, middleware])
@pytest.mark.parametrize("wrong", ["x", 3, "the checkpointer"], ids=str)
def test_a_database_is_what_connect_returns(call: Any, wrong: Any) -> None:
    with dalsegno.connect("memory://") as ds:
        given = ds.checkpointer if wrong == "the checkpointer" else wrong
        with pytest.raises(Misuse, match=r"dalsegno\.connect") as raised:
            call(ds=given)
        assert ("ds=ds" in str(raised.value)) == (wrong == "the checkpointer")
        call(ds=ds)
        for read in (who_said, regenerate):
            with pytest.raises(Misuse, match=r"dalsegno\.connect"):
                read(given, "t", 1 if read is who_said else (1, 2))


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        (None, "list"),
        ("hello", "list"),
        (5, "list"),
        ({"messages": MESSAGES}, r"\['messages'\]"),
        (iter(MESSAGES), "list"),
    ],
    ids=["None", "text", "number", "state", "iterator"],
)
def test_messages_are_a_list(messages: Any, words: str) -> None:
    with pytest.raises(Misuse, match=words):
        compact(messages)


def test_instructions_and_tools_have_their_types() -> None:
    for given in ({"system": 3}, {"system": None}, {"tools": None}, {"tools": "search"}):
        for call in (lambda how: compact(MESSAGES, **how), lambda how: compaction_node(**how)):
            with pytest.raises(Misuse, match=next(iter(given))):
                call(given)


@pytest.mark.parametrize("wrong", ["text", {"a": 1}, [1], [], 5, {"text": "my own"}], ids=str)
def test_what_is_no_summary_at_all_is_the_callers_to_mend(wrong: Any) -> None:
    for call in (
        lambda: compact(MESSAGES, summary=wrong),
        lambda: render_summary(wrong),
        lambda: compaction_node().invoke({"messages": MESSAGES, "summary": wrong}, {}),
        lambda: (
            compaction_node().invoke({"messages": MESSAGES[:3], "summary": wrong}, {})
            if not isinstance(wrong, dict)
            else render_summary(wrong)
        ),
    ):
        with pytest.raises(Misuse, match="summary"):
            call()


def test_a_summary_that_is_broken_is_damaged() -> None:
    tree = compact(MESSAGES).summary.to_json()
    with pytest.raises(Damaged):
        compact(MESSAGES, summary={**tree, "spans": 3})


def test_other_words_of_a_call() -> None:
    with pytest.raises(Misuse, match="fact_tokens"):
        render_summary(None, "many")  # type: ignore[arg-type]
    for key in ("messages_key", "summary_key"):
        for wrong in ("", 3, None):
            with pytest.raises(Misuse, match=key):
                compaction_node(**{key: wrong})  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="summary_key"):
        compaction_node(messages_key="talk", summary_key="talk")


@pytest.mark.parametrize("span", [(1,), 5, None, ("1", "2"), (1, 2, 3), (0, 2), (True, 2), "12", (1.0, 2)], ids=str)
def test_a_span_is_two_numbers(span: Any) -> None:
    with dalsegno.connect("memory://") as ds, pytest.raises(Misuse, match="first and the last"):
        regenerate(ds, "t", span)


def test_a_number_is_one_and_a_writing_is_one() -> None:
    with dalsegno.connect("memory://") as ds:
        ds.journal.append("t", "note", "ana", "hello")
        for wrong in ("1", "#1", None, 0, -1, True, 1.0):
            with pytest.raises(Misuse, match="number"):
                who_said(ds, "t", wrong)  # type: ignore[arg-type]
        with pytest.raises(Misuse, match=r"Writing\(summarizer="):
            regenerate(ds, "t", (1, 1), writing=Writer())  # type: ignore[arg-type]
        with pytest.raises(Misuse, match="CompactionPolicy"):
            regenerate(ds, "t", (1, 1), 20)  # type: ignore[arg-type]
        with pytest.raises(Misuse, match="count"):
            regenerate(ds, "t", (1, 1), count=3)  # type: ignore[arg-type]
        for call in (lambda: who_said(ds, "t", 99), lambda: regenerate(ds, "t", (90, 99))):
            with pytest.raises(dalsegno.errors.Missing, match="`dalsegno show"):
                call()


# --- summarizers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [None, "4000", 0, -1, True, 2.5, float("nan")], ids=str)
@pytest.mark.parametrize("face", FACES)
def test_a_summarizer_says_how_much_it_takes(face: str, budget: Any) -> None:
    writer = Writer()
    writer.budget_tokens = budget
    with pytest.raises(Misuse, match="budget_tokens"):
        FACES[face](summarizer=writer)
    with pytest.raises(Misuse, match="budget_tokens"):
        Writing(summarizer=writer)


def test_a_summarizer_without_its_parts_is_refused_when_it_is_given() -> None:
    class Half:
        name = "half"

        async def asummarize(self, piece: Any) -> str:
            return ""

    with pytest.raises(Misuse, match="budget_tokens"):
        compaction_node(summarizer=type("NoBudget", (Half,), {"summarize": lambda self, piece: ""})())
    with pytest.raises(Misuse, match="summarize"):
        compaction_node(summarizer=type("NoSync", (Half,), {"budget_tokens": 4000})())
    with pytest.raises(Misuse, match="instance"):
        compaction_node(summarizer=Writer)  # type: ignore[typeddict-item]
    from langchain_core.language_models import FakeListChatModel

    with pytest.raises(Misuse, match="budget_tokens"):
        ChatSummarizer(FakeListChatModel(responses=["x"]), budget_tokens=0)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("fallback", [True, False])
def test_who_wants_to_stop_is_let_stop(error: type[BaseException], fallback: bool) -> None:
    with pytest.raises(error):
        compact(MESSAGES, summarizer=Writer(error()), fallback=fallback)

    async def later() -> type[BaseException] | None:
        try:
            await acompact(MESSAGES, summarizer=Writer(error()), fallback=fallback)
        except BaseException as raised:  # noqa: BLE001 - it is what is looked at
            return type(raised)
        return None

    assert asyncio.run(later()) is error


def test_a_summarizer_that_cancels_itself_is_no_timeout() -> None:
    done = compact(MESSAGES, summarizer=Writer(asyncio.CancelledError()))
    assert not done.changed
    assert "CancelledError" in done.reason


@pytest.mark.parametrize("face", ["sync", "async"])
def test_the_warning_says_that_there_is_a_fallback(face: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "dalsegno.compaction"):
        if face == "sync":
            compact(MESSAGES, summarizer=Writer(ConnectionError("gone")))
        else:
            asyncio.run(acompact(MESSAGES, summarizer=Writer(ConnectionError("gone"))))
    assert "fallback=True" in caplog.text
