"""What the demo says when something is not as it should be."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from dalsegno.demo import BUILT_IN, Script, perform
from dalsegno.demo.handover import BUDGET
from dalsegno.demo.measure import undisturbed
from dalsegno.demo.process import family_of, spawn
from dalsegno.demo.shortening import POLICY, shortened
from dalsegno.errors import DalsegnoError, Damaged, HeadMoved, Misuse, StoreError, StoreFull
from dalsegno.imports import read_transcript


class Scripted:
    """A process that says what it is told to say."""

    def __init__(self, *reports, status=0):
        self._reports, self._status = reports, status

    def reports(self):
        yield from self._reports

    def kill(self):
        self._status = -9

    def wait(self):
        return self._status, "Segmentation fault"

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


def play(url, folder, *processes):
    waiting = list(processes)
    return perform(url=url, folder=folder, launch=lambda job: waiting.pop(0))


@pytest.mark.parametrize("family", [Misuse, StoreError, Damaged, DalsegnoError])
def test_an_error_of_the_child_keeps_its_family(sqlite_url, tmp_path, family):
    failed = {"event": "failed", "family": family.__name__, "message": "the disk is full"}
    with pytest.raises(family, match="the disk is full"):
        play(sqlite_url, tmp_path, Scripted(failed, status=1))


def test_families_are_named_for_every_error():
    assert family_of(StoreFull("x")) == "StoreError"
    assert family_of(HeadMoved("t", expected=None, found=None)) == "Conflict"
    assert family_of(DalsegnoError("x")) == "DalsegnoError"


def test_a_child_that_was_not_killed_is_no_proof(sqlite_url, tmp_path):
    with pytest.raises(DalsegnoError, match="was to be killed"):
        play(sqlite_url, tmp_path, Scripted({"event": "open"}, status=0))


def test_a_child_that_crashed_says_its_last_words(sqlite_url, tmp_path):
    struck = {"event": "moment", "node": "model", "position": 2, "phase": "start", "step": 1, "struck": True}
    with pytest.raises(DalsegnoError, match=r"was to end well.*Segmentation fault"):
        play(sqlite_url, tmp_path, Scripted(struck), Scripted({"event": "open"}, status=-11))


def test_a_new_interpreter_plays_too(sqlite_url, tmp_path):
    """Everything else here forks; this is the demo as it is started."""
    assert perform(url=sqlite_url, folder=tmp_path, kill_at=9, launch=spawn).holds


@pytest.mark.parametrize("number", [0, -1, 67])
def test_a_kill_point_that_is_not_there(sqlite_url, tmp_path, number):
    with pytest.raises(Misuse, match="1 to 66"):
        perform(url=sqlite_url, folder=tmp_path, kill_at=number)


def test_memory_dies_with_its_process(tmp_path):
    with pytest.raises(Misuse, match="dies with its process"):
        perform(url="memory://", folder=tmp_path)


def test_langgraphs_saver_is_measured_only_where_it_is_installed(tmp_path, monkeypatch):
    script = Script(read_transcript(BUILT_IN))
    (tmp_path / "with").mkdir()
    with_it = undisturbed(script, tmp_path / "with")
    assert with_it.stored_by_langgraph.run_bytes > with_it.stored.run_bytes > 0
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if "sqlite" in name else real(name, *more)
    )
    (tmp_path / "without").mkdir()
    assert undisturbed(script, tmp_path / "without").stored_by_langgraph is None


def test_the_conversation_is_compacted_in_the_end_and_the_report_is_part_of_the_verdict(sqlite_url, tmp_path):
    outcome = perform(url=sqlite_url, folder=tmp_path, kill_at=2)
    found = outcome.shortened
    assert found is not None
    assert (found.messages, found.evicted) == (outcome.messages, outcome.messages - found.messages_after)
    assert POLICY.keep_recent <= found.messages_after <= POLICY.max_messages
    assert (found.covered, found.facts_kept, found.invented) == (found.evicted, found.facts, 0)
    assert found.facts > 50
    assert found.tokens_after < found.tokens
    assert outcome.holds
    assert not replace(outcome, shortened=replace(found, holds=False)).holds
    assert replace(outcome, shortened=None).holds


def test_the_thread_is_handed_over_in_the_end_and_what_its_card_lacks_is_part_of_the_verdict(sqlite_url, tmp_path):
    outcome = perform(url=sqlite_url, folder=tmp_path, kill_at=2)
    found = outcome.handed_over
    assert (found.actions, found.actions_of_ledger, len(found.card.actions)) == (7, 7, 7)
    assert found.quoted == found.evidence > 10
    assert found.shown == found.since
    assert 0 < found.tokens <= BUDGET
    assert found.card.goal is not None
    assert found.holds
    for wrong in (
        {"actions": 6},
        {"quoted": found.evidence - 1},
        {"since": found.shown + 1},
        {"tokens": BUDGET + 1},
        {"card": replace(found.card, actions=found.card.actions[1:])},
    ):
        assert not replace(outcome, handed_over=replace(found, **wrong)).holds


def test_a_short_conversation_is_left_as_it_is():
    assert shortened([HumanMessage("Hello"), AIMessage("Hello")]) is None
