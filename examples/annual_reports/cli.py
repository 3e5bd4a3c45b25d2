"""`chat`, `ask`, `trace`, `serve`, `ingest`, `search`, `measure` and `selftest`."""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dalsegno.errors import DalsegnoError
from examples.annual_reports import answering, killed, selftest
from examples.annual_reports.chat import ModelFailed
from examples.annual_reports.corpus import IndexMismatch
from examples.annual_reports.corpus import cli as corpus
from examples.annual_reports.measure import cli as measure
from examples.annual_reports.session import Analyst, Turn, opened
from examples.annual_reports.trace import told, trace
from examples.running import legible

__all__ = ["main"]

INDEX = Path("annual_reports.index")
_PORTS = 1 << 16


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is its verdict."""
    given = list(sys.argv[1:] if argv is None else argv)
    asked = _parser().parse_args(given)
    try:
        return int(asked.run(asked))
    except BrokenPipeError:  # `run` of `running.py` ends it
        raise
    except (DalsegnoError, IndexMismatch, ValueError, OSError) as error:
        print(f"error: {legible(str(error))}")
        return 2
    except sqlite3.DatabaseError as error:  # a store's errors are DalsegnoErrors
        print(f"error: the index cannot be read: {error}; ingest the reports into a new one")
        return 2
    except ModelFailed as error:
        print(f"error: {legible(str(error))}\nThe conversation is kept: start again, and it goes on from there.")
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.annual_reports", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    talking = argparse.ArgumentParser(add_help=False)
    talking.add_argument("--store", default="sqlite:///annual_reports.db", help="the database of the conversations")
    talking.add_argument("--index", type=Path, help=f"the reports; {INDEX} if it is there, else made-up pages")
    talking.add_argument("--thread", default="analyst-1", help="the conversation")
    talking.add_argument("--model", metavar="PROVIDER:NAME", help="a chat model; rules if left out")
    talking.add_argument(
        "--news", type=Path, metavar="FILE", help="news as JSON lines: company, date, title, text, url"
    )

    def command(name: str, help: str, run: Any, *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:  # noqa: A002 - argparse's word
        made = commands.add_parser(name, help=help, parents=list(parents))
        made.set_defaults(run=run)
        return made

    command("chat", "talk; a thread goes on where it was left", _chat, talking)
    ask = command("ask", "one question, or the answer to what was asked back", _ask, talking)
    ask.add_argument("question")
    tracing = command("trace", "the fourteen steps of a request, with what was sent in each call", _trace, talking)
    tracing.add_argument("question", nargs="?", help="asked first; the thread's newest request if left out")
    tracing.add_argument("--whole", action="store_true", help="also why each part was withheld")
    serving = command("serve", "a web page, for this machine only", _serve, talking)
    serving.add_argument("--host", default="127.0.0.1")
    serving.add_argument("--port", type=_port, default=8017)
    checks = command("selftest", "what the program promises, checked offline", _selftest)
    checks.add_argument("--store", default="memory://", help="the database")
    child = commands.add_parser(killed.CHILD)
    child.add_argument("store")
    child.set_defaults(run=lambda asked: killed.child(asked.store))
    _mount(commands)
    return parser


def _port(given: str) -> int:
    if not given.isdecimal() or not 0 < int(given) < _PORTS:
        raise argparse.ArgumentTypeError(f"{given} is no port from 1 to {_PORTS - 1}")
    return int(given)


def _mount(commands: Any) -> None:
    """The commands of the corpus and of the measurements."""
    corpus.add_to(commands)
    measure.add_to(commands)


def _opened(asked: argparse.Namespace) -> Any:
    index = asked.index or (INDEX if INDEX.exists() else None)
    if index is None:
        print("(no index here: these are made-up pages; `ingest DIR` reads real reports)", file=sys.stderr)
    return opened(asked.store, index, asked.model, asked.news)


def _say(analyst: Analyst, thread_id: str, text: str) -> None:
    _show(analyst.say(thread_id, text))


def _show(turn: Turn) -> None:
    if turn.outcome is None:
        print(legible(f"analyst? {turn.question}"))
        return
    print(legible(f"analyst> {answering.shown(turn.outcome)}"))
    chart = turn.outcome["chart"]
    if chart:
        print(legible("\n" + answering.drawn(chart)))


def _chat(asked: argparse.Namespace) -> int:
    with _opened(asked) as analyst:
        status = analyst.status(asked.thread)
        print(f"thread {asked.thread}: {status}. An empty line ends the conversation, not the thread.")
        if status in ("unfinished", "failed"):
            _show(analyst.go_on(asked.thread))
        elif status == "interrupted":
            _show(analyst.turn(asked.thread))
        while text := _line("you> "):
            _say(analyst, asked.thread, text)
    return 0


def _line(prompt: str) -> str:
    """What is typed; nothing at the end of the input."""
    try:
        return input(prompt).strip()
    except EOFError:
        return ""


def _ask(asked: argparse.Namespace) -> int:
    with _opened(asked) as analyst:
        _say(analyst, asked.thread, asked.question)
    return 0


def _trace(asked: argparse.Namespace) -> int:
    with _opened(asked) as analyst:
        if asked.question:
            _say(analyst, asked.thread, asked.question)
            print()
        print(legible(told(trace(analyst.ds, asked.thread), whole=asked.whole)))
    return 0


def _serve(asked: argparse.Namespace) -> int:
    from examples.annual_reports.web import serve  # noqa: PLC0415 - needs a web server's packages

    with _opened(asked) as analyst:
        return serve(analyst, asked.host, asked.port)


def _selftest(asked: argparse.Namespace) -> int:
    results = selftest.run(asked.store)
    for result in results:
        print(f"{'ok  ' if not result.problem else 'FAIL'} {result.number}. {result.title}")
        for name, fact in result.facts.items():
            print(f"        {name}: {fact}")
        if result.problem:
            print(f"        {result.problem}")
    return int(any(result.problem for result in results))
