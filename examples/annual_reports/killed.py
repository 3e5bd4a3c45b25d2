"""The program killed in the middle of retrieval: one company is done, one is being searched. A new process goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dalsegno
from dalsegno import Dalsegno
from examples.annual_reports.graph import build
from examples.annual_reports.rules import Rules
from examples.annual_reports.sample import PAGES, Hit, Shelf
from examples.annual_reports.state import SCHEMA, asked

__all__ = ["CHILD", "Killed", "child", "play"]

CHILD = "_play"
THREAD = "killed"
QUESTION = "Compare the revenue of Alder Mining and Birch Metals in FY2024"
DONE, DYING = "Alder Mining", "Birch Metals"
_PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """What was there after the kill, and in the end.

    Attributes:
        signal: what ended the first process.
        finished: branches that had finished when it died.
        waiting: nodes that still had to run.
        searched: searches by company in the second process.
        outcome: the answer.
        found: the companies' flags in the end.
    """

    signal: int
    finished: int
    waiting: list[str]
    searched: Counter[str]
    outcome: Mapping[str, Any]
    found: Mapping[str, bool]

    @property
    def holds(self) -> bool:
        """The finished company was not searched again, and both are in the answer."""
        return (
            self.signal == -signal.SIGKILL
            and self.finished == 1
            and not self.searched[DONE]
            and self.searched[DYING] == 1
            and self.found == {DONE: True, DYING: True}
            and all(figure in self.outcome["text"] for figure in ("5,460", "2,310"))
        )


class _Dying:
    """A corpus whose search of one company kills the process, once the other company's branch is stored as done."""

    def __init__(self, shelf: Shelf, ds: Dalsegno) -> None:
        self._shelf, self._ds = shelf, ds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shelf, name)

    def search(self, company: str, query: str, *, years: Sequence[int] | None = None) -> list[Hit]:
        if company == DYING:
            until = time.monotonic() + _PATIENCE_SECONDS
            while time.monotonic() < until:
                head = self._ds.threads.checkpoints(THREAD, 1, ns="")
                if head and head[0].finished and set(head[0].next) == {"retrieval"}:
                    os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(0.01)
        return self._shelf.search(company, query, years=years)


class _Counting:
    """A corpus that counts its searches."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self.searched: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shelf, name)

    def search(self, company: str, query: str, *, years: Sequence[int] | None = None) -> list[Hit]:
        self.searched[company] += 1
        return self._shelf.search(company, query, years=years)


def child(store: str) -> int:
    """Ask, and die in the middle."""
    with dalsegno.connect(store, schema=SCHEMA) as ds:
        graph = build(ds, _Dying(PAGES, ds), Rules(PAGES.company_of))
        graph.invoke(asked(QUESTION), {"configurable": {"thread_id": THREAD}})
    return 0


def play(store: str) -> Killed:
    """Start the program in a process of its own, which is killed, and go on here.

    Args:
        store: a database on disk without a thread `killed`.
    """
    paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}  # here, so that a file's path means the same to both
    command = [sys.executable, "-m", "examples.annual_reports", CHILD, store]
    ended = subprocess.run(command, env=found, check=False, capture_output=True)  # noqa: S603 - itself
    corpus = _Counting(PAGES)
    with dalsegno.connect(store, schema=SCHEMA) as ds:
        graph = build(ds, corpus, Rules(PAGES.company_of))
        head = ds.threads.checkpoints(THREAD, 1, ns="")[0]
        state = dalsegno.resume(graph, THREAD)
    return Killed(
        signal=ended.returncode,
        finished=head.finished,
        waiting=head.next,
        searched=corpus.searched,
        outcome=state["outcome"],
        found=state["found"],
    )
