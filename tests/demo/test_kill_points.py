"""Whatever the moment at which the process is killed, the conversation ends as if nobody had touched it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dalsegno.demo import BUILT_IN, Script, perform
from dalsegno.demo.measure import Undisturbed, undisturbed
from dalsegno.demo.world import only_reads
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
    assert outcome.doubled == ()
    assert outcome.accounted
    in_mid_effect = outcome.killed_at.phase == "effect" and not only_reads(outcome.killed_at.tool)
    assert [entry.tool for entry in outcome.ledger if entry.asked] == [outcome.killed_at.tool] * in_mid_effect
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


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_an_effect_before_its_record_does_not_come_twice(store, calm, fork, request, tmp_path):
    url = request.getfixturevalue(f"{store}_url")
    moment = next(m for m in MOMENTS if m.tool == "refund" and m.phase == "effect")
    outcome = perform(url=url, folder=tmp_path, kill_at=moment.number, calm=calm, launch=fork)
    assert {effect.times for effect in outcome.effects if not effect.reads} == {1}
    (refund,) = [entry for entry in outcome.ledger if entry.tool == "refund"]
    assert [move for move, _ in refund.moves] == ["record", "start", "lose", "find_succeeded"]
    assert (refund.state, refund.attempts, refund.moves[-1][1]) == ("succeeded", 1, "reconciler")
    assert outcome.holds


def test_an_effect_that_comes_twice_or_is_not_on_record_breaks_the_verdict(calm, fork, sqlite_url, tmp_path):
    outcome = perform(url=sqlite_url, folder=tmp_path, calm=calm, launch=fork)
    *others, last = outcome.effects
    assert not replace(outcome, effects=(*others, replace(last, times=2, reads=False))).holds
    assert not replace(outcome, ledger=outcome.ledger[1:]).holds


def test_what_ran_again_was_lost_or_differs_breaks_the_verdict(calm, fork, sqlite_url, tmp_path):
    outcome = perform(url=sqlite_url, folder=tmp_path, calm=calm, launch=fork)
    assert outcome.holds
    for wrong in (
        {"finished_again": outcome.executions[:1]},
        {"lost": (("tool", 3),)},
        {"first_difference": 0},
        {"events_identical": False},
    ):
        assert not replace(outcome, **wrong).holds, wrong


def test_a_tool_killed_before_its_effect_acts_once(calm, fork, sqlite_url, tmp_path):
    moment = next(m for m in MOMENTS if m.tool == "refund" and m.phase == "start")
    outcome = perform(url=sqlite_url, folder=tmp_path, kill_at=moment.number, calm=calm, launch=fork)
    assert {effect.times for effect in outcome.effects} == {1}


def test_finished_siblings_are_there_on_reopening(calm, fork, sqlite_url, tmp_path):
    outcome = perform(url=sqlite_url, folder=tmp_path, calm=calm, launch=fork)
    assert outcome.killed_at.tool == "send_email"
    assert outcome.reopened.siblings == (("tool", outcome.killed_at.position - 1),)
    assert outcome.reopened.pending == ("tool", "tool")
    assert outcome.reopened.messages == outcome.killed_at.position - 1
    resumed = [one.position for one in outcome.executions if one.process == 2]
    assert resumed[0] == outcome.killed_at.position
