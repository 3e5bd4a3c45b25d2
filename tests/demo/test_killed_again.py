"""Killed once in every turn, each time in the process that came after the last one, the conversation ends the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import dalsegno
from dalsegno.demo import BUILT_IN, Script
from dalsegno.demo.child import Job
from dalsegno.demo.errands import ledger_of
from dalsegno.demo.measure import spoken, undisturbed
from dalsegno.demo.script import said
from dalsegno.demo.world import World
from dalsegno.imports import read_transcript


def run(process, *, strike: bool) -> list[dict]:
    """A process's reports; it is killed at its strike."""
    reports = []
    with process:
        for report in process.reports():
            reports.append(report)
            if report.get("struck"):
                process.kill()
        assert process.wait()[0] == (-9 if strike else 0)
    return reports


@pytest.mark.parametrize("seed", range(4))
def test_a_chain_of_kills(seed, fork, sqlite_url, tmp_path: Path):
    script = Script(read_transcript(BUILT_IN))
    moments = script.moments()
    turns = sorted({moment.turn for moment in moments})
    kills = [random.Random(f"{seed} {turn}").choice([m for m in moments if m.turn == turn]) for turn in turns]
    base = {
        "url": sqlite_url, "tenant": "default", "user": None, "thread_id": "t", "transcript": str(BUILT_IN),
        "index": None, "world": str(tmp_path / "world.db"),
    }  # fmt: skip
    known: set[tuple[str, int]] = set()
    for number, moment in enumerate(kills):
        strike = (moment.node, moment.position, moment.phase)
        opened, *steps = run(fork(Job(name=str(number), strike=strike, **base)), strike=True)
        finished = {tuple(each) for each in opened["finished"]}
        began = {(report["node"], report["position"]) for report in steps if report["phase"] != "rest"}
        assert known <= finished, "what was once in the store is there for every later process"
        assert not began & finished, "what was in the store does not run again"
        known = finished
    run(fork(Job(name="last", **base)), strike=False)

    calm = undisturbed(script, tmp_path)
    with dalsegno.connect(sqlite_url) as ds:
        assert [said(message) for message in ds.threads.state("t")["messages"]] == calm.messages
        assert spoken(ds.journal, "t") == calm.events
        assert ds.threads.check().clean
        done = [entry.tool for entry in ledger_of(ds, "t") if entry.state == "succeeded"]
    acts = [effect for effect in World(tmp_path / "world.db").effects() if not effect.reads]
    assert {effect.times for effect in acts} == {1}
    assert sorted(done) == sorted(effect.tool for effect in acts)
