"""Workers that are killed at random, or fall asleep, leave every run finished and every effect done exactly once.

The long run of this is `python -m bench.workers`.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

import dalsegno
from bench.workers import measure
from dalsegno.testing import snapshot


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_every_effect_is_done_once_whoever_is_killed(store, request, monkeypatch):
    if store == "postgres":
        monkeypatch.setenv("DALSEGNO_TEST_POSTGRES", request.getfixturevalue("postgres_server"))
    row, bounds, tally = measure(store, seconds=5, threads=12, workers=3, seed=7)
    assert not [bound for bound in bounds if not bound.kept], tally.faults
    assert row["kills"] > 5
    assert row["taken over"] > 5
    assert row["turns"] > 12


SLEEPER = """
import os, signal, sys, time
from datetime import timedelta
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict
import dalsegno

class State(TypedDict, total=False):
    by: str

url, out = sys.argv[1], os.pipe()

def forked(name):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            job(name)
            status = 0
        finally:
            os._exit(status)
    return pid

def job(name):
    def work(state):
        os.write(out[1], b"w")
        time.sleep(0.5)
        return {"by": name}

    builder = StateGraph(State)
    builder.add_node("work", work)
    builder.add_node("rest", lambda state: {})
    builder.add_edge(START, "work")
    builder.add_edge("work", "rest")
    with dalsegno.connect(url) as ds:
        if name == "seed":
            lease = ds.runs.lease("t")
            builder.compile(checkpointer=ds.checkpointer).update_state(lease.config, {"by": name}, as_node="__start__")
            lease.hand_over()
            return
        dalsegno.Worker(
            ds, builder.compile(), lease=timedelta(milliseconds=700), tell=lambda told: print(name, told.what, flush=True)
        ).run(once=True)

os.waitpid(forked("seed"), 0)
sleeper = forked("sleeper")
os.read(out[0], 1)
os.kill(sleeper, signal.SIGSTOP)
time.sleep(0.9)
os.waitpid(forked("another"), 0)
print("asleep", flush=True)
sys.stdin.readline()
os.kill(sleeper, signal.SIGCONT)
os.waitpid(sleeper, 0)
"""


def test_a_worker_that_sleeps_longer_than_its_lease_is_refused_when_it_wakes(scene):
    program = [sys.executable, "-c", SLEEPER, scene._url]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        said = []
        while not said or said[-1] != "asleep":
            said.append(running.stdout.readline().strip())
            assert said[-1], "it died; its traceback is in the captured stderr"
        assert said == ["sleeper took", "another took", "another finished", "asleep"]
        with dalsegno.connect(scene._url) as ds:
            before = snapshot(ds, "t")
        rest, _ = running.communicate("go on\n", timeout=60)
    assert (rest.split("\n")[0], running.returncode) == ("sleeper lost", 0)
    with dalsegno.connect(scene._url) as ds:
        assert snapshot(ds, "t") == before
        assert ds.threads.state("t") == {"by": "another"}
        assert ds.threads.check().clean
