"""Replayed over real agents' runs: every resend after a success is blocked, every repeat after an error allowed, nothing else.

Each conversation is a thread, each call that changes the world an action under scope `thread`. What the call came back with
then is what it comes back with now. What ought to happen is told by the arguments' plain JSON, without the ledger.
"""

from __future__ import annotations

import ast
import contextlib
import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import dalsegno

pytestmark = pytest.mark.data

WRITES = re.compile(
    r"\.(send|delete|forward|reply|create|update|add|complete)_|^(book|cancel|update)_reservation|^send_certificate"
)
FAILED = re.compile(r"^error|not found|not provided|invalid|missing|must be|failed|cannot|can't", re.IGNORECASE)
RECIPIENTS = ("recipient", "email", "email_id", "user_id")


class Recorded(NamedTuple):
    """One call as it was recorded."""

    name: str
    arguments: dict[str, Any]
    result: str
    failed: bool

    def again(self) -> str:
        """What it came back with."""
        if self.failed:
            raise RuntimeError(self.result)
        return self.result


def workbench(folder: Path) -> Iterator[list[Recorded]]:
    """The runs of the two result files, whose column holds Python's own notation."""
    csv.field_size_limit(sys.maxsize)
    for file in sorted((folder / "workbench").glob("*.csv")):
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                yield list(_steps(row["full_response"] or "None"))


def _steps(notation: str) -> Iterator[Recorded]:
    for node in ast.walk(ast.parse(notation, mode="eval")):
        if not (isinstance(node, ast.Tuple) and node.elts and isinstance(node.elts[0], ast.Call)):
            continue
        given = {each.arg: each.value for each in node.elts[0].keywords}
        name, arguments = ast.literal_eval(given["tool"]), ast.literal_eval(given["tool_input"])
        result = ast.unparse(node.elts[1])
        if isinstance(arguments, dict) and WRITES.search(name):
            yield Recorded(name, arguments, result, bool(FAILED.search(result.strip("'\""))))


def airline(folder: Path) -> Iterator[list[Recorded]]:
    for record in json.loads((folder / "tau_bench" / "airline.json").read_text(encoding="utf-8")):
        found, waiting = [], None
        for message in record["traj"]:
            if message["role"] == "assistant" and message.get("tool_calls"):
                waiting = message["tool_calls"][0]["function"]
            elif message["role"] == "tool" and waiting is not None:
                if WRITES.search(waiting["name"]):
                    result = message["content"] or ""
                    failed = bool(FAILED.search(result))
                    found.append(Recorded(waiting["name"], json.loads(waiting["arguments"]), result, failed))
                waiting = None
        yield found


def replay(ds: Any, thread: str, calls: list[Recorded], counts: Counter[str]) -> None:
    done: set[str] = set()
    tried: set[str] = set()
    for call in calls:
        mark = json.dumps([call.name, call.arguments], sort_keys=True)
        ran = []
        to = next((name for name in RECIPIENTS if call.arguments.get(name)), None)
        kind = "send" if to and re.search("send|forward|reply", call.name) else "update"
        settings = {
            "kind": kind,
            "scope": "thread",
            "thread_id": thread,
            **({"recipient": to} if kind == "send" else {}),
        }
        with (
            contextlib.suppress(RuntimeError),
            ds.actions.perform(call.name, call.arguments, **settings) as action,
        ):
            if action.due:
                ran.append(1)
                action.result = call.again()
        assert bool(ran) is (mark not in done), (thread, call)
        counts["calls"] += 1
        counts["resends blocked"] += mark in done
        counts["repeats after an error allowed"] += mark in tried and mark not in done
        counts["first calls allowed"] += mark not in tried
        tried.add(mark)
        if ran and not call.failed:
            done.add(mark)


@pytest.mark.parametrize(("source", "least"), [(workbench, 300), (airline, 140)], ids=["workbench", "airline"])
def test_resends_are_blocked_and_nothing_else(source, least, transcripts: Path, capsys):
    counts: Counter[str] = Counter()
    with dalsegno.connect("memory://") as ds:
        for number, calls in enumerate(source(transcripts)):
            replay(ds, f"{source.__name__} {number}", calls, counts)
        states = Counter(action.state for action in ds.actions.list())
        assert set(states) <= {"succeeded", "failed"}
        assert ds.actions.verify().sound
    with capsys.disabled():
        sys.stdout.write(f"\n{source.__name__}: {dict(counts)}, {dict(states)}\n")
    assert counts["calls"] >= least
    assert (
        counts["first calls allowed"] + counts["repeats after an error allowed"] + counts["resends blocked"]
        == counts["calls"]
    )
