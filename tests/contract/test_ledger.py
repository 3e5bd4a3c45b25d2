"""Claim: the ledger moves an action by its table alone, each move with its event and its audit, and never guesses."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import Any

import pytest

import dalsegno
from dalsegno.core.actions import ActionKind, Move, Role, State
from dalsegno.core.arguments import ActionScope, Call, canonical_tree, key_of
from dalsegno.errors import (
    ActionInFlight,
    ActionMoved,
    ActionNotFound,
    IllegalMove,
    KeyReused,
    LeaseHeld,
    LeaseLost,
    Misuse,
    StoreUnavailable,
    ThreadDeleted,
    ThreadNotFound,
)
from dalsegno.services import actions, audit
from dalsegno.services.actions import Ending, Turn
from dalsegno.testing import differences, snapshot

LONG, SHORT = timedelta(seconds=60), timedelta(milliseconds=60)


class Ledger:
    """The operations, on one database, for one call."""

    def __init__(self, ds: Any, thread: str = "t", **changed: Any) -> None:
        self.ds, self.thread = ds, thread
        fields: dict[str, Any] = {"name": "refund", "scope": ActionScope.STEP, "anchor": "c1", "recipient": None}
        arguments = canonical_tree(changed.pop("arguments", {"order": "A-1", "amount": 12.5}))
        self.call = Call(**(fields | changed), arguments=arguments)
        self.key = key_of(ds.tenant, thread, self.call)

    def _run(self, make: Any) -> Any:
        scope = self.ds.scope()
        return self.ds.store_backend.run(lambda: make(scope), write=True, key=self.thread)

    def begin(self, holder: str = "one", ttl: timedelta = LONG, **more: Any) -> Any:
        return self._run(
            lambda scope: actions.begin(
                scope, self.thread, self.call, ActionKind.UPDATE, self.key, holder=holder, ttl=ttl, **more
            )
        )

    def finish(
        self, token: int, move: Move = Move.SUCCEED, result: Any = None, why: str | None = None, **more: Any
    ) -> Any:
        ending = Ending(move=move, result=[result] if move is Move.SUCCEED else None, why=why)
        return self._run(lambda scope: actions.finish(scope, self.thread, self.key, token, ending, **more))

    def keep(self, token: int, ttl: timedelta) -> None:
        self._run(lambda scope: actions.keep(scope, self.thread, self.key, token, ttl))

    def decide(self, move: Move, role: Role = Role.PERSON, by: str = "mara", **more: Any) -> Any:
        return self._run(lambda scope: actions.decide(scope, self.thread, self.key, move, role, by, **more))

    def now(self) -> Any:
        return self._run(lambda scope: actions.find(scope, self.key.hex()))

    def all(self, **more: Any) -> list[Any]:
        how = {"thread": None, "state": None, "limit": None, **more}
        return self._run(lambda scope: actions.page(scope, **how))

    def verdict(self) -> Any:
        return self._run(audit.verify_all)

    def moves(self) -> list[tuple[str, str]]:
        return [
            (event.payload["move"], event.author)
            for event in self.ds.journal.read(self.thread)
            if event.kind == "action" and event.payload["action"] == self.key.hex()
        ]

    def lost(self) -> Any:
        """Start, and let the lease run out."""
        begun = self.begin(ttl=SHORT)
        time.sleep(0.1)
        return begun


@pytest.fixture
def ledger(ds: Any) -> Ledger:
    return Ledger(ds)


def test_a_call_is_recorded_run_and_ended(ledger):
    begun = ledger.begin()
    assert (begun.turn, begun.action.state, begun.action.attempts) == (Turn.RUN, "running", 1)
    assert begun.action.lease_until is not None
    ended = ledger.finish(begun.token, result={"id": "r-7"})
    assert (ended.state, ended.result, ended.lease_until) == ("succeeded", {"id": "r-7"}, None)
    assert ended.arguments == {"order": "A-1", "amount": 12.5}
    assert ended == ledger.now()
    assert ended.started_at is not None
    assert ended.created_at <= ended.started_at <= ended.ended_at
    assert ledger.moves() == [("record", "ledger"), ("start", "ledger"), ("succeed", "ledger")]
    assert (ledger.verdict().rows, ledger.verdict().breaks) == (3, [])
    assert ledger.ds.threads.check().findings == []


def test_a_move_is_told_in_the_journal_and_found_there(ledger):
    ledger.finish(ledger.begin().token, Move.FAIL, why="ValueError: no such order")
    events = ledger.ds.journal.read("t")
    assert [event.text for event in events] == [
        "refund: pending (record by ledger)",
        "refund: running (start by ledger)",
        "refund: failed (fail by ledger): ValueError: no such order",
    ]
    assert events[0].payload["arguments"] == {"order": "A-1", "amount": 12.5}
    assert [event.seq for event in ledger.ds.journal.search("t", "no such order")] == [3]


def test_what_succeeded_is_not_run_again(ledger):
    ledger.finish(ledger.begin().token, result="done")
    again = ledger.begin()
    assert (again.turn, again.action.result, again.action.attempts) == (Turn.DONE, "done", 1)
    assert len(ledger.moves()) == 3


def test_what_failed_runs_again_and_is_counted(ledger):
    ledger.finish(ledger.begin().token, Move.FAIL, why="ValueError: no")
    assert (ledger.now().state, ledger.now().error) == ("failed", "ValueError: no")
    again = ledger.begin()
    assert (again.turn, again.action.attempts, again.action.error) == (Turn.RUN, 2, None)
    assert [move for move, _ in ledger.moves()] == ["record", "start", "fail", "again", "start"]


def test_what_is_running_under_a_live_lease_is_refused(ledger):
    ledger.begin()
    before = ledger.now()
    with pytest.raises(ActionInFlight, match="'one'") as caught:
        ledger.begin(holder="two")
    assert 50 < caught.value.seconds <= 60
    assert ledger.now() == before


def test_what_ran_under_a_dead_lease_is_unknown_and_stays_so(ledger):
    ledger.lost()
    for _ in range(2):
        found = ledger.begin(holder="two")
        assert (found.turn, found.action.state, found.action.attempts) == (Turn.LOST, "unknown", 1)
    assert "attempt 1 by 'one' began at" in found.action.error
    assert [move for move, _ in ledger.moves()] == ["record", "start", "lose"]


def test_a_lease_is_kept_by_its_holder_alone(ledger):
    begun = ledger.begin(ttl=timedelta(milliseconds=300))
    for _ in range(3):
        time.sleep(0.15)
        ledger.keep(begun.token, timedelta(milliseconds=300))
    with pytest.raises(ActionInFlight):
        ledger.begin(holder="two")
    with pytest.raises(ActionMoved):
        ledger.keep(begun.token - 1, LONG)
    assert [move for move, _ in ledger.moves()] == ["record", "start"]


def test_a_writer_that_was_called_lost_is_refused(ledger):
    begun = ledger.lost()
    ledger.begin(holder="two")
    before = ledger.now()
    with pytest.raises(ActionMoved, match="unknown"):
        ledger.finish(begun.token)
    with pytest.raises(ActionMoved):
        ledger.keep(begun.token, LONG)
    ledger.decide(Move.RETRY)
    second = ledger.begin(holder="two")
    with pytest.raises(ActionMoved):
        ledger.finish(begun.token)
    assert before.attempts == 1
    assert ledger.finish(second.token, result=2).result == 2


def test_a_writer_that_is_late_and_was_not_missed_is_heard(ledger):
    begun = ledger.lost()
    assert ledger.finish(begun.token, result="truth").result == "truth"


@pytest.mark.parametrize("role", [Role.RECONCILER, Role.PERSON])
@pytest.mark.parametrize(
    ("move", "state", "turn"),
    [
        (Move.FIND_SUCCEEDED, "succeeded", Turn.DONE),
        (Move.FIND_FAILED, "failed", Turn.RUN),
        (Move.RETRY, "pending", Turn.RUN),
    ],
)
def test_ways_out_of_unknown(ledger, role, move, state, turn):
    ledger.lost()
    ledger.begin()
    decided = ledger.decide(
        move, role, "mara", result=["r-7"] if move is Move.FIND_SUCCEEDED else None, why="asked them"
    )
    assert decided.state == state
    assert ledger.moves()[-1] == (str(move), "mara")
    begun = ledger.begin()
    assert (begun.turn, begun.action.attempts) == (turn, 1 + (turn is Turn.RUN))
    assert begun.action.result == ("r-7" if turn is Turn.DONE else None)


def test_an_illegal_decision_changes_nothing(ledger):
    ledger.begin()
    before, verdict = ledger.now(), ledger.verdict().heads
    for move in (Move.APPROVE, Move.REJECT, Move.RETRY, Move.FIND_FAILED, Move.FIND_SUCCEEDED):
        with pytest.raises(IllegalMove):
            ledger.decide(move)
    assert ledger.now() == before
    assert ledger.verdict().heads == verdict
    ledger.finish(ledger.now().attempts)
    with pytest.raises(IllegalMove):
        ledger.decide(Move.RETRY)


def test_the_ledger_and_a_reconciler_do_not_approve(ledger):
    ledger.begin(ask=True)
    for role in (Role.LEDGER, Role.RECONCILER):
        with pytest.raises(IllegalMove, match="not for the"):
            ledger.decide(Move.APPROVE, role)


def test_a_snapshot_has_the_ledger(ledger):
    ledger.begin()
    before = snapshot(ledger.ds, "t")
    ledger.finish(1, result="r")
    (line, *_) = [each for each in differences(before, snapshot(ledger.ds, "t")) if each.startswith("actions")]
    assert "running" in line


@pytest.mark.parametrize(("setting", "flushes"), [("NORMAL", 1), ("FULL", 0)])
def test_a_record_is_on_disk_before_the_effect_whatever_the_setting(setting, flushes, tmp_path, monkeypatch):
    """Under FULL, SQLite flushes each commit itself."""
    flushed = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: flushed.append(os.fstat(number).st_ino) or fsync(number))
    with dalsegno.connect(f"sqlite:///{tmp_path / 'a.db'}?synchronous={setting}") as ds:
        ledger = Ledger(ds)
        ds.journal.append("t", "note", "me", "x")
        assert flushed == []
        begun = ledger.begin()
        assert flushed == [(tmp_path / "a.db-wal").stat().st_ino] * flushes
        ledger.finish(begun.token)
        assert len(flushed) == flushes


def test_a_disk_that_fails_to_take_a_record_stops_the_call(tmp_path, monkeypatch):
    def fail(number: int) -> None:
        raise OSError(5, "Input/output error")

    with dalsegno.connect(f"sqlite:///{tmp_path / 'a.db'}?synchronous=NORMAL") as ds:
        ledger = Ledger(ds)
        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(StoreUnavailable, match="disk failed"):
            ledger.begin()


# --- approval


def test_an_approval_is_asked_for_given_and_used(ledger):
    waiting = ledger.begin(ask=True)
    assert (waiting.turn, waiting.action.state, waiting.action.attempts) == (Turn.WAIT, "awaiting_approval", 0)
    assert ledger.begin(ask=True).turn is Turn.WAIT
    approved = ledger.decide(Move.APPROVE, why="small sum")
    assert (approved.state, approved.approved_by, approved.approved_until) == ("pending", "mara", None)
    assert approved.approved_at is not None
    assert ledger.begin(ask=True).turn is Turn.RUN
    assert ledger.moves() == [
        ("record", "ledger"), ("ask", "ledger"), ("approve", "mara"), ("start", "ledger"),
    ]  # fmt: skip


def test_a_rejected_action_asks_again(ledger):
    ledger.begin(ask=True)
    assert ledger.decide(Move.REJECT, why="too much").error == "rejected by mara: too much"
    again = ledger.begin(ask=True)
    assert (again.turn, again.action.approved_by) == (Turn.WAIT, None)


def test_an_approval_ends_when_it_was_asked_to(ledger):
    ledger.begin(ask=True, lasts=SHORT)
    assert ledger.decide(Move.APPROVE).approved_until is not None
    time.sleep(0.1)
    again = ledger.begin(ask=True, lasts=LONG)
    assert (again.turn, again.action.approved_by) == (Turn.WAIT, None)
    ledger.decide(Move.APPROVE)
    assert ledger.begin(ask=True, lasts=LONG).turn is Turn.RUN


def test_an_approval_is_for_the_arguments_that_were_shown(ds, ledger):
    ledger.begin(ask=True)
    ledger.decide(Move.APPROVE)
    other = Ledger(ds, arguments={"order": "A-1", "amount": 1250})
    assert other.begin(ask=True).turn is Turn.WAIT
    assert ledger.begin(ask=True).turn is Turn.RUN


def test_an_answer_to_an_earlier_question_is_refused(ledger):
    version = ledger.begin(ask=True).action.version
    ledger.decide(Move.REJECT, version=version)
    ledger.begin(ask=True)
    with pytest.raises(ActionMoved, match="since the question"):
        ledger.decide(Move.APPROVE, version=version)
    assert ledger.now().state is State.AWAITING_APPROVAL


def test_a_decision_has_someone_who_made_it(ledger):
    ledger.begin(ask=True)
    with pytest.raises(Misuse, match="who decides"):
        ledger.decide(Move.APPROVE, by="  ")


# --- keys and scopes


def test_a_business_key_with_other_arguments_is_refused_with_both(ds):
    first = Ledger(ds, scope=ActionScope.KEY, anchor="invoice-7", arguments={"sum": 1})
    first.finish(first.begin().token)
    before = first.now()
    with pytest.raises(KeyReused) as caught:
        Ledger(ds, scope=ActionScope.KEY, anchor="invoice-7", arguments={"sum": 2}).begin()
    assert (caught.value.recorded, caught.value.given) == ({"sum": 1}, {"sum": 2})
    assert first.now() == before
    assert Ledger(ds, scope=ActionScope.KEY, anchor="invoice-7", arguments={"sum": 1.0}).begin().turn is Turn.DONE


def test_the_same_call_in_another_thread_is_another_action(ds, ledger):
    ledger.finish(ledger.begin().token)
    assert Ledger(ds, "u").begin().turn is Turn.RUN


# --- threads, tenants, users


def test_a_run_that_lost_its_lease_on_the_thread_writes_nothing(ds, ledger):
    lease = ds.runs.lease("t", timedelta(milliseconds=300))
    with pytest.raises(LeaseHeld):
        ledger.begin()
    begun = ledger.begin(fence=lease.token)
    time.sleep(0.35)
    with pytest.raises(LeaseLost):
        ledger.finish(begun.token, fence=lease.token)
    with pytest.raises(LeaseLost):
        Ledger(ds, anchor="c2").begin(fence=lease.token)
    assert ledger.now().state == "running"


def test_a_deleted_thread_takes_its_actions_along_and_leaves_the_audit(ds, ledger):
    begun = ledger.begin()
    ds.threads.delete("t")
    with pytest.raises(ThreadDeleted):
        ledger.finish(begun.token)
    with pytest.raises(ActionNotFound):
        ledger.now()
    assert ds.threads.check().findings == []
    assert (ledger.verdict().rows, ledger.verdict().breaks) == (2, [])
    ds.threads.reopen("t")
    ledger.begin()
    assert (ledger.verdict().rows, ledger.verdict().breaks) == (4, [])


def test_an_action_of_a_deleted_thread_that_was_left_is_found(ds, ledger):
    ds.journal.append("t", "note", "me", "x")
    ds.threads.delete("t")
    scope = ds.scope()

    def plant() -> Any:
        found = yield dalsegno.contracts.Step("thread_find", {"tenant": scope.tenant, "name": "t", "owner": None})
        columns = {"tenant": scope.tenant, "thread": found[0][0], "key": b"k" * 32, "name": "n", "kind": "send"}
        more = {"scope": "thread", "anchor": None, "recipient": None, "arguments": "{}", "state": "running"}
        yield dalsegno.contracts.Step("action_add", {**columns, **more, "version": 1, "created_at": 1})

    ds.store_backend.run(plant, write=True)
    (finding,) = ds.threads.check().findings
    assert (finding.thread_id, finding.kind) == ("t", "orphan")


def test_what_is_another_users_reads_as_missing(store_url):
    if store_url == "memory://":
        pytest.skip("every connection to memory is a database of its own")
    with dalsegno.connect(store_url, user="ana") as ana, dalsegno.connect(store_url, user="bob") as bob:
        mine, theirs = Ledger(ana), Ledger(bob)
        mine.begin(ask=True)
        assert theirs.all() == []
        with pytest.raises(ActionNotFound):
            theirs.now()
        with pytest.raises(ThreadNotFound):
            theirs.begin()
        with pytest.raises(ThreadNotFound):
            theirs.decide(Move.APPROVE)
        assert [action.state for action in mine.all()] == ["awaiting_approval"]


def test_what_is_another_tenants_reads_as_missing(store_url):
    if store_url == "memory://":
        pytest.skip("every connection to memory is a database of its own")
    with dalsegno.connect(store_url, tenant="a") as one, dalsegno.connect(store_url, tenant="b") as two:
        Ledger(one).begin()
        assert Ledger(two).all() == []
        assert Ledger(two).verdict().rows == 0
        assert Ledger(two).begin().turn is Turn.RUN


def test_actions_are_listed_and_found_by_the_beginning_of_their_id(ds):
    each = [Ledger(ds, thread, anchor=str(n)) for thread in ("t", "u") for n in range(3)]
    for one in each:
        one.begin()
    each[0].finish(1)
    assert {action.action_id for action in each[0].all()} == {one.key.hex() for one in each}
    assert len(each[0].all(thread="u")) == 3
    assert [action.state for action in each[0].all(state=State.SUCCEEDED)] == ["succeeded"]
    assert len(each[0].all(limit=2)) == 2
    find = lambda text: each[0]._run(lambda scope: actions.find(scope, text))  # noqa: E731
    assert find(each[3].key.hex()[:16]).thread_id == "u"
    for wrong in ("", "xyz", "0" * 65, "ff" * 32):
        with pytest.raises(ActionNotFound):
            find(wrong)


HOSTILE = "a\x00b\ud800 \x1a"


def test_hostile_text_everywhere(ds):
    one = Ledger(
        ds,
        f"thread {HOSTILE}",
        name=HOSTILE,
        anchor=HOSTILE,
        recipient=[canonical_tree(HOSTILE)],
        arguments={HOSTILE: HOSTILE},
    )
    begun = one.begin(holder=HOSTILE, ask=True)
    assert (begun.action.name, begun.action.arguments) == (HOSTILE, {HOSTILE: HOSTILE})
    assert one.decide(Move.APPROVE, by=HOSTILE).approved_by == HOSTILE
    ended = one.finish(one.begin(holder=HOSTILE).token, Move.FAIL, why=HOSTILE)
    assert (ended.error, ended.holder, ended.anchor, ended.recipient) == (HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    assert one.verdict().breaks == []
    assert ds.threads.check().findings == []
