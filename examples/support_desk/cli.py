"""`chat`, `selftest`, `kill-and-resume` and `cost`."""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

import dalsegno
from dalsegno.errors import DalsegnoError
from examples.running import legible
from examples.support_desk import cost, killed, selftest
from examples.support_desk.graph import build
from examples.support_desk.mind import ChatMind, Mind, ModelFailed, Rules
from examples.support_desk.shop import Shop
from examples.support_desk.state import SCHEMA

__all__ = ["main"]

_MOST_REQUESTS = 100_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is its verdict."""
    parser = argparse.ArgumentParser(prog="python -m examples.support_desk", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    chat = commands.add_parser("chat", help="talk to the desk; a thread goes on where it was left")
    chat.add_argument("--store", default="sqlite:///support_desk.db", help="the database")
    chat.add_argument("--shop", type=Path, default=Path("shop.db"), help="the shop's own file")
    chat.add_argument("--thread", default="desk-1", help="the conversation")
    chat.add_argument(
        "--model", metavar="PROVIDER:NAME", help="a chat model (pip install langchain); rules if left out"
    )
    checks = commands.add_parser("selftest", help="five checks, the same on every database")
    checks.add_argument("--store", default="memory://", help="the database")
    kill = commands.add_parser("kill-and-resume", help="kill the desk in the middle of a refund, and go on")
    kill.add_argument("--store", help="the database; a new SQLite file if left out")
    costs = commands.add_parser("cost", help="bytes and milliseconds of a request, beside LangGraph's own savers")
    costs.add_argument("--requests", type=_count, default=50)
    costs.add_argument("--postgres", metavar="URL", help="measure on this empty database too")
    child = commands.add_parser(killed.CHILD)
    child.add_argument("store")
    child.add_argument("shop", type=Path)
    child.add_argument("--hold", action="store_true")
    asked = parser.parse_args(argv)
    try:
        return _run(asked)
    except DalsegnoError as error:
        print(f"error: {error}")
        return 2
    except sqlite3.Error as error:  # a store's errors are DalsegnoErrors
        print(f"error: the shop's books cannot be used: {error}; name a file in a folder that is there with --shop")
        return 2
    except ModelFailed as error:
        print(f"error: {legible(str(error))}\nThe conversation is kept: start `chat` again, and it goes on from there.")
        return 2


def _run(asked: argparse.Namespace) -> int:
    match asked.command:
        case "chat":
            return _chat(asked)
        case "selftest":
            return _selftest(asked.store)
        case "kill-and-resume":
            with tempfile.TemporaryDirectory() as folder:
                return killed.tell(killed.play(Path(folder), asked.store))
        case "cost":
            return cost.tell(cost.measure(asked.requests, asked.postgres))
        case _:
            return killed.child(asked.store, asked.shop, hold=asked.hold)


def _selftest(store: str) -> int:
    results = selftest.run(store)
    for result in results:
        print(f"{'ok  ' if not result.problem else 'FAIL'} {result.number}. {result.title}")
        for name, fact in result.facts.items():
            print(f"        {name}: {fact}")
        if result.problem:
            print(f"        {result.problem}")
    return int(any(result.problem for result in results))


def _mind(model: str | None) -> Mind:
    if model is None:
        return Rules()
    try:
        from langchain.chat_models import init_chat_model  # noqa: PLC0415 - needed for real models only
    except ImportError as missing:
        msg = "--model needs LangChain and the provider's package: pip install langchain langchain-openai"
        raise dalsegno.errors.Misuse(msg) from missing
    try:
        return ChatMind(init_chat_model(model, temperature=0))
    except Exception as error:  # each provider's client has errors of its own: no such provider, no package, no key
        raise dalsegno.errors.Misuse(f"--model {model} cannot be used: {error}") from error


def _chat(asked: argparse.Namespace) -> int:
    config: Any = {"configurable": {"thread_id": asked.thread}}
    with dalsegno.connect(asked.store, schema=SCHEMA) as ds:
        graph = build(ds, Shop(asked.shop), _mind(asked.model))
        try:
            status = str(ds.threads.status(asked.thread)[asked.thread])
        except dalsegno.errors.ThreadNotFound:
            status = "new"
        print(f"thread {asked.thread}: {status}. An empty line ends the conversation, not the thread.")
        if status in ("unfinished", "failed"):
            killed.gone_on(graph, asked.thread)
        going_on = status in ("unfinished", "failed", "interrupted")
        while True:
            if going_on and not _answered(graph, asked.thread, config):
                return 0
            if not (text := _line("you> ")):
                return 0
            graph.invoke({"messages": [HumanMessage(text)]}, config, durability="sync")
            going_on = True


def _answered(graph: Any, thread_id: str, config: Any) -> bool:
    """Put waiting questions, such as a refund that needs approval, to whoever is there, and say the reply.

    Returns:
        False when nobody decided; the thread waits with its question.
    """
    while questions := [each for task in graph.get_state(config).tasks for each in task.interrupts]:
        question = questions[0].value
        decisions = question["decisions"]
        print(legible(f"desk? {question['action']} {question['arguments']}: one of {', '.join(decisions)}"))
        if not (decision := _line("decide> ")):
            return False
        if decision in decisions:
            answer = {"ticket": question["ticket"], "decision": decision, "by": "the desk's lead"}
            dalsegno.resume(graph, thread_id, {questions[0].id: answer})
    print(legible(f"desk> {graph.get_state(config).values['messages'][-1].text}"))
    return True


def _line(prompt: str) -> str:
    """What is typed, bytes that are no text as question marks; nothing at the end of the input."""
    try:
        return input(prompt).strip().encode("utf-8", "replace").decode()
    except EOFError:
        return ""


def _count(given: str) -> int:
    if not given.isdecimal() or not 0 < int(given) <= _MOST_REQUESTS:
        raise argparse.ArgumentTypeError(f"{given} is no number from 1 to {_MOST_REQUESTS:,}")
    return int(given)
