"""`dalsegno worker` and `dalsegno runs`: found, finished, parked, tried again; signals; clear words for a wrong graph."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import dalsegno

MODULE = """
import operator, os, time
from pathlib import Path
from typing import Annotated
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]

def node(name):
    def run(state):
        if name == "b":
            if Path("broken").exists():
                raise ValueError("no such order")
            Path("begun").touch()
            while Path("slow").exists():
                time.sleep(0.01)
        return {"log": [name]}
    return run

builder = StateGraph(State)
for name, before in (("a", START), ("b", "a"), ("c", "b")):
    builder.add_node(name, node(name))
    builder.add_edge(before, name)
graph = builder.compile()
elsewhere = builder.compile(checkpointer=InMemorySaver())

def made(ds):
    return builder.compile(checkpointer=ds.checkpointer)

def made_of_nothing():
    return graph

def made_of_two(a, b):
    return graph

def broken():
    raise ValueError("no")

async def later():
    return graph

class Model:
    name, budget_tokens, timeout = "model", 3000, 60

    def propose(self, passage):
        return {"entries": []}

    async def apropose(self, passage):
        return self.propose(passage)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> str:
    """A folder with a module of graphs, of a name of its own; `orphan` is a thread that was left before its node a."""
    name = f"agents_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / f"{name}_wrong.py").write_text("import nothing_of_this_name")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    leave(url, name, "orphan")
    return name


def leave(url: str, module: str, thread: str) -> None:
    import importlib

    with dalsegno.connect(url) as ds:
        lease = ds.runs.lease(thread, timedelta(seconds=60), holder="dead")
        importlib.import_module(module).made(ds).update_state(lease.config, {"log": ["in"]}, as_node="__start__")
        lease.hand_over()


def log(url: str, thread: str = "orphan") -> list[str]:
    with dalsegno.connect(url) as ds:
        return ds.threads.state(thread)["log"]


@pytest.mark.parametrize("target", ["graph", "made", "made_of_nothing"])
def test_once_brings_every_orphan_to_its_end(here, run, url, target):
    listed = run("runs", "--status", "orphaned", "--json").json
    assert [(each["thread_id"], each["status"], each["holder"]) for each in listed] == [("orphan", "orphaned", "dead")]
    answer = run("worker", f"{here}:{target}", "--once")
    assert answer.code == 0
    assert [line.split()[2:4] for line in answer.out.splitlines()] == [["took", "orphan"], ["finished", "orphan"]]
    assert log(url) == ["in", "a", "b", "c"]
    assert run("runs", "--status", "orphaned").err == "no runs that are orphaned\n"


@pytest.mark.parametrize("target", ["model", "Model"])
def test_an_extractor_looks_at_what_was_said(here, run, url, tmp_path, target):
    with dalsegno.connect(url) as ds:
        ds.journal.append("talk", "message", "user", "Please book a hall.")
    with (tmp_path / f"{here}.py").open("a") as module:
        module.write("\nmodel = Model()\n")
    sys.modules.pop(here)
    answer = run("worker", f"{here}:graph", "--once", "--extractor", f"{here}:{target}")
    if target == "Model":
        assert (answer.code, "give an instance" in answer.err) == (2, True)
        return
    assert "upkeep cards: 4 threads" in answer.out
    with dalsegno.connect(url) as ds:
        assert ds.handover.card("talk").extraction.cursor == 1


def test_lines_for_programs_are_json(here, run):
    answer = run("worker", f"{here}:graph", "--once", "--json")
    lines = [json.loads(line) for line in answer.out.splitlines()]
    assert [(line["what"], line["thread_id"]) for line in lines] == [("took", "orphan"), ("finished", "orphan")]
    assert set(lines[0]) == {"at", "what", "thread_id", "why", "attempts", "seconds"}


def test_a_run_that_fails_is_parked_shown_and_tried_again(here, run, url, tmp_path):
    (tmp_path / "broken").touch()
    assert "failed orphan (attempt 1, again in" in run("worker", f"{here}:graph", "--once", "--backoff", "1h").out
    (found,) = run("runs", "--status", "orphaned", "--json").json
    assert (found["attempts"], found["error"]) == (1, "ValueError: no such order")
    assert run("runs", "retry", "orphan", "--json").json["attempts"] == 0
    said = run("worker", f"{here}:graph", "--once", "--attempts", "1").out
    assert "parked orphan (attempt 1) ValueError: no such order" in said
    shown = run("runs").out
    assert "orphan" in shown
    assert "parked" in shown
    assert "ValueError: no such order" in shown
    told = run("runs", "show", "orphan").out
    assert f"{here}:node.<locals>.run" in told
    (tmp_path / "broken").unlink()
    assert run("worker", f"{here}:graph", "--once").out == ""
    assert "orphaned" in run("runs", "retry", "orphan").out
    assert "finished orphan" in run("worker", f"{here}:graph", "--once").out
    wrong = run("runs", "retry", "orphan")
    assert (wrong.code, wrong.err.count("\n")) == (5, 1)
    assert "is finished, not parked" in wrong.err
    assert run("runs", "retry", "nobody").code == 3


def test_runs_without_a_lease_are_for_idle(here, run, url, tmp_path):
    with dalsegno.connect(url) as ds:
        import importlib

        config = {"configurable": {"thread_id": "plain"}}
        importlib.import_module(here).made(ds).update_state(config, {"log": ["in"]}, as_node="__start__")
    assert "plain" not in run("worker", f"{here}:graph", "--once").out
    assert "plain" not in run("worker", f"{here}:graph", "--once", "--idle", "1h").out
    assert [each["thread_id"] for each in run("runs", "--status", "unfinished", "--json").json] == ["plain"]
    assert "finished plain" in run("worker", f"{here}:graph", "--once", "--idle", "1ms").out


def test_a_page_of_runs_names_the_next(here, run):
    answer = run("runs", "--limit", 1, "--status", "finished")
    assert "runs --status finished --after forked --limit 1" in answer.err


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("{}", "module:graph"),
        ("nothing_here:graph", "no module 'nothing_here'"),
        ("{}.sub:graph", "no module"),
        ("{}_wrong:graph", "importing it failed with ModuleNotFoundError"),
        ("{}:nothing", "has no 'nothing'"),
        ("{}:builder", "builder.compile"),
        ("{}:State", "no compiled graph"),
        ("{}:elsewhere", "another checkpointer (InMemorySaver)"),
        ("{}:made_of_two", "takes 2 arguments"),
        ("{}:broken", "making the graph failed with ValueError: no"),
        ("{}:later", "coroutine function"),
    ],
)
def test_a_graph_that_cannot_be_used_is_one_line(here, run, target, why):
    answer = run("worker", target.format(here), "--once")
    assert (answer.code, answer.out) == (2, "")
    assert why in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("words", [("--poll", "0s"), ("--lease", "5"), ("--idle", "soon"), ("--backoff", "9e9d")])
def test_a_wrong_time_is_one_line(here, run, words):
    answer = run("worker", f"{here}:graph", "--once", *words)
    assert answer.code == 2
    assert "give a length of time" in answer.err


def test_a_wrong_status_is_one_line(run):
    answer = run("runs", "--status", "dead")
    assert answer.code == 2
    assert "running, orphaned, waiting, parked, unfinished, finished" in answer.err


PROGRAM = [sys.executable, "-c", "from dalsegno.cli import main; main()", "worker"]


def started(here: str, url: str, tmp_path: Path) -> Any:
    """A worker that is in the middle of node b."""
    (tmp_path / "slow").touch()
    program = subprocess.Popen(
        [*PROGRAM, f"{here}:graph", "--store", url, "--json"], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert json.loads(program.stdout.readline())["what"] == "took"
    while not (tmp_path / "begun").exists():
        assert program.poll() is None
    return program


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_step_finish_and_hands_the_run_over(here, url, tmp_path, run, number):
    with started(here, url, tmp_path) as program:
        os.kill(program.pid, number)
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(0.3)  # it waits for the step
        (tmp_path / "slow").unlink()
        (line,) = program.stdout.read().splitlines()
    assert (program.returncode, json.loads(line)["what"]) == (0, "handed over")
    assert log(url) == ["in", "a", "b"]
    assert "finished orphan" in run("worker", f"{here}:graph", "--once").out  # at once, though the lease was a minute


def test_a_second_signal_ends_it_at_once(here, url, tmp_path):
    with started(here, url, tmp_path) as program:
        os.kill(program.pid, signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(0.3)
        os.kill(program.pid, signal.SIGTERM)
        assert program.wait(10) == 128 + signal.SIGTERM
    assert log(url) == ["in", "a"]
    with dalsegno.connect(url) as ds:
        assert ds.runs.get("orphan").status == "running"  # its lease runs out, and then it is an orphan
