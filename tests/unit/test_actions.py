"""Claim: the table of actions is the whole truth: each of its moves leads where it says, every other changes nothing."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from dalsegno.core.actions import TABLE, ActionKind, Move, Role, State, diagram, moved
from dalsegno.errors import IllegalMove, Refused

LEGAL = {
    (None, "record", "ledger"): "pending",
    ("pending", "ask", "ledger"): "awaiting_approval",
    ("awaiting_approval", "approve", "person"): "pending",
    ("awaiting_approval", "reject", "person"): "failed",
    ("pending", "start", "ledger"): "running",
    ("running", "succeed", "ledger"): "succeeded",
    ("running", "fail", "ledger"): "failed",
    ("running", "lose", "ledger"): "unknown",
    ("failed", "again", "ledger"): "pending",
    ("unknown", "find_succeeded", "reconciler"): "succeeded",
    ("unknown", "find_succeeded", "person"): "succeeded",
    ("unknown", "find_failed", "reconciler"): "failed",
    ("unknown", "find_failed", "person"): "failed",
    ("unknown", "retry", "reconciler"): "pending",
    ("unknown", "retry", "person"): "pending",
}


@pytest.mark.parametrize(("state", "move", "role"), list(itertools.product([None, *State], Move, Role)))
def test_every_state_move_and_role(state: State | None, move: Move, role: Role):
    expected = LEGAL.get((state, str(move), str(role)))
    if expected is not None:
        assert moved(state, move, role) == expected
        return
    with pytest.raises(IllegalMove, match="nothing was changed") as caught:
        moved(state, move, role)
    assert (caught.value.move, caught.value.state) == (move, state)
    assert isinstance(caught.value, Refused)


def test_only_a_reconciler_or_a_person_leads_out_of_unknown():
    out = [way for way in TABLE.values() if way.source is State.UNKNOWN]
    assert out
    assert all(Role.LEDGER not in way.by for way in out)


def test_nothing_leads_out_of_succeeded_and_one_way_into_running():
    assert not [way for way in TABLE.values() if way.source is State.SUCCEEDED]
    assert [move for move, way in TABLE.items() if way.target is State.RUNNING] == [Move.START]


def test_words_of_states_are_those_that_stand_in_databases():
    assert list(State) == ["pending", "awaiting_approval", "running", "succeeded", "failed", "unknown"]


def test_reading_is_no_kind_of_action():
    assert set(ActionKind) == {"create", "send", "update", "delete"}


def test_the_diagram_has_every_way_and_no_other():
    drawn = set(re.findall(r"^    (\S+) --> (\S+): (\S+) \((.*)\)$", diagram(), re.MULTILINE))
    ways = {
        (str(way.source or "[*]"), str(way.target), str(move), ", ".join(sorted(way.by))) for move, way in TABLE.items()
    }
    assert drawn == ways


def test_the_page_shows_the_diagram_of_the_table():
    page = Path(__file__).resolve().parents[2] / "docs" / "actions.md"
    (shown,) = re.findall(r"```mermaid\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert shown == diagram()
