"""`play`, and `sit` for one sitting of it."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import dalsegno
from dalsegno.errors import DalsegnoError
from examples.reopened_topic.agent import ChatMind, Mind
from examples.reopened_topic.mind import Rules
from examples.reopened_topic.post import Post
from examples.reopened_topic.story import SITTINGS, THREAD, Reopened, Story, verdict

__all__ = ["main"]

_LATER = {
    "decide": "The topic is opened.",
    "edit": "The same evening, in another process.",
    "return": "Three days later, in a third process.",
    "why": "In a fourth.",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is its verdict."""
    parser = argparse.ArgumentParser(prog="python -m examples.reopened_topic", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    play = commands.add_parser("play", help="the whole story, each sitting in a process of its own")
    play.add_argument("--store", help="an empty database; a new SQLite file if left out")
    sit = commands.add_parser("sit", help="one sitting")
    sit.add_argument("sitting", choices=SITTINGS)
    sit.add_argument("--store", required=True)
    sit.add_argument("--post", type=Path, required=True, help="the post office's file")
    for one in (play, sit):
        one.add_argument("--turns", type=int, default=150, help="turns of small talk between decision and leaving")
        one.add_argument("--model", metavar="PROVIDER:NAME", help="a chat model (pip install langchain)")
    asked = parser.parse_args(argv)
    try:
        if asked.command == "play":
            with tempfile.TemporaryDirectory() as folder:
                return _play(asked, Path(folder))
        story = Story(store=asked.store, post=asked.post, mind=_mind(asked.model), turns=asked.turns, say=_say)
        story.sit(asked.sitting)
    except DalsegnoError as error:
        print(f"error: {error}")
        return 2
    return 0


def _play(asked: argparse.Namespace, folder: Path) -> int:
    store, post = asked.store or f"sqlite:///{folder / 'topic.db'}", folder / "post.db"
    with dalsegno.connect(store) as ds:
        if any(thread.thread_id == THREAD for thread in ds.threads.list()):
            raise DalsegnoError(f"{store} has a thread {THREAD!r} already; name an empty database")
    for sitting in SITTINGS:
        print(f"\n── {_LATER[sitting]}", flush=True)
        command = [sys.executable, "-m", "examples.reopened_topic", "sit", sitting, "--store", store]
        command += ["--post", str(post), "--turns", str(asked.turns)]
        command += ["--model", asked.model] if asked.model else []
        status = subprocess.run(command, cwd=Path(__file__).parents[2], check=False).returncode  # noqa: S603 - itself
        if status:
            return status
    with dalsegno.connect(store) as ds:
        return _tell(verdict(ds, Post(post)))


def _tell(found: Reopened) -> int:
    print(f"\n── In the end, of {found.events} events")
    print(f"decided: {'; '.join(found.decisions)}")
    print(f"limits: {'; '.join(found.constraints)}")
    print(f"letters sent: {len(found.letters)}; asked for by the agent: {found.asked_for}")
    print(f"still open: {'; '.join(found.pending) or 'nothing'}")
    print(f"the next request costs {found.tokens} tokens")
    for problem in found.problems:
        print(f"NOT as it must be: {problem}")
    return int(bool(found.problems))


def _say(line: str) -> None:
    print(line.replace("\n", "\n       "))


def _mind(model: str | None) -> Mind:
    if model is None:
        return Rules()
    try:
        from langchain.chat_models import init_chat_model  # noqa: PLC0415 - only with a model
    except ImportError:
        raise DalsegnoError("a model needs LangChain: pip install langchain and the provider's package") from None
    return ChatMind(init_chat_model(model))
