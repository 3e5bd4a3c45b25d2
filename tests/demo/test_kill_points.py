"""Whatever the moment at which the process is killed, the conversation ends as if nobody had touched it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dalsegno.demo import BUILT_IN, Script, perform
from dalsegno.demo.measure import Undisturbed, undisturbed
from dalsegno.imports import read_transcript

if TYPE_CHECKING:
    from dalsegno.demo import Outcome

MOMENTS = Script(read_transcript(BUILT_IN)).moments()


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed(Script(read_transcript(BUILT_IN)), tmp_path_factory.mktemp("calm"))


def check(outcome: Outcome) -> None:
    """The claims of the demo, each by itself so that a failure says which one broke."""
    assert outcome.first_difference is None
    assert outcome.messages == outcome.messages_expected
    assert outcome.events_identical
    assert outcome.finished_again == ()
    assert outcome.lost == ()
    acted_before_its_record = outcome.killed_at.phase in {"effect", "return"} and outcome.killed_at.node == "tool"
    assert len(outcome.doubled) <= acted_before_its_record
    assert outcome.holds


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda m: f"{m.number}-{m.node}-{m.position}-{m.phase}")
def test_every_moment_on_sqlite(moment, calm, fork, sqlite_url, tmp_path):
    outcome = perform(url=sqlite_url, folder=tmp_path, kill_at=moment.number, calm=calm, launch=fork)
    check(outcome)
    assert outcome.killed_at == moment


@pytest.mark.parametrize("number", [1, 6, 25, 26, 27, 30, len(MOMENTS)])
def test_moments_on_postgres(number, calm, fork, postgres_url, tmp_path):
    check(perform(url=postgres_url, folder=tmp_path, kill_at=number, calm=calm, launch=fork))


@pytest.mark.data
@pytest.mark.parametrize("index", [0, 3, 8, 15, 60])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_recorded_conversations_on_sqlite(index, share, fork, sqlite_url, transcripts, tmp_path):
    recording = transcripts / "tau_bench" / "airline.json"
    moments = Script(read_transcript(recording, index=index)).moments()
    number = 1 + int(share * (len(moments) - 1))
    check(perform(url=sqlite_url, folder=tmp_path, transcript=recording, index=index, kill_at=number, launch=fork))


def test_an_effect_before_its_record_happens_twice_and_is_counted(calm, fork, sqlite_url, tmp_path):
    moment = next(m for m in MOMENTS if m.tool == "refund" and m.phase == "effect")
    outcome = perform(url=sqlite_url, folder=tmp_path, kill_at=moment.number, calm=calm, launch=fork)
    assert [(effect.tool, effect.times) for effect in outcome.doubled] == [("refund", 2)]
    assert outcome.holds


def test_a_tool_killed_before_its_effect_acts_once(calm, fork, sqlite_url, tmp_path):
    moment = next(m for m in MOMENTS if m.tool == "refund" and m.phase == "start")
    outcome = perform(url=sqlite_url, folder=tmp_path, kill_at=moment.number, calm=calm, launch=fork)
    assert outcome.doubled == ()
    assert {effect.times for effect in outcome.effects} == {1}


def test_finished_siblings_are_there_on_reopening(calm, fork, sqlite_url, tmp_path):
    outcome = perform(url=sqlite_url, folder=tmp_path, calm=calm, launch=fork)
    assert outcome.killed_at.tool == "send_email"
    assert outcome.reopened.siblings == (("tool", outcome.killed_at.position - 1),)
    assert outcome.reopened.pending == ("tool", "tool")
    assert outcome.reopened.messages == outcome.killed_at.position - 1
    resumed = [one.position for one in outcome.executions if one.process == 2]
    assert resumed[0] == outcome.killed_at.position
