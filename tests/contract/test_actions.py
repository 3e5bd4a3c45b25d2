"""Claim: what `ds.actions` did is not done again, through both faces; who may decide and who can look is asked first."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import timedelta
from typing import Any

import pytest

import dalsegno
from dalsegno import ActionPolicy, Approval, Happened, NotHappened
from dalsegno.errors import (
    ActionInFlight,
    ActionMoved,
    ActionNotFound,
    ActionOutcomeUnknown,
    ActionResultLost,
    ApprovalRequired,
    IllegalMove,
    KeyReused,
    Misuse,
    NotCanonical,
)

SHORT = timedelta(milliseconds=80)


class World:
    """What was done, and what to do about it."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.error: BaseException | None = None

    def do(self, what: Any) -> Any:
        if self.error is not None:
            raise self.error
        self.done.append(what)
        return {"id": f"r-{len(self.done)}", "what": what}


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def act(ads: Any, face: str, world: World) -> Any:
    """A decorated function, called through the face of the moment: `await act(kind=…)(order="A-1")`."""

    def make(**settings: Any) -> Any:
        settings = {"kind": "update", "name": "refund", **settings}
        if face == "sync":

            @ads.action(**settings)
            def refund(order: str, amount: float = 1.0, *, idempotency_key: str) -> Any:
                return world.do((order, amount, idempotency_key))

            async def call(*args: Any, **kwargs: Any) -> Any:
                return await asyncio.to_thread(refund, *args, **kwargs)
        else:

            @ads.action(**settings)
            async def arefund(order: str, amount: float = 1.0, *, idempotency_key: str) -> Any:
                await asyncio.sleep(0)
                return world.do((order, amount, idempotency_key))

            call = arefund

        async def within(*args: Any, thread: str = "t", step: str | None = "s1", **kwargs: Any) -> Any:
            with ads.actions.within(thread, step=step):
                return await call(*args, **kwargs)

        return within

    return make


def lost(ads: Any, name: str = "refund", **arguments: Any) -> Any:
    """An action of this call whose process died in the middle of it."""
    performance = ads.actions.perform(
        name, {"order": "A-1", "amount": 1.0, **arguments}, kind="update", lease=SHORT, thread_id="t", step="s1"
    )
    job = performance._job
    from dalsegno.services.performing import opening

    ads.actions.actor.play(opening(job), job)
    time.sleep(0.12)
    return ads.actions.list()[0]


async def test_a_call_is_done_once_whatever_form_it_takes(act, ads, world):
    refund = act()
    first = await refund("A-1")
    assert await refund(order="A-1", amount=1) == first
    (action,) = ads.actions.list()
    assert world.done == [("A-1", 1.0, action.action_id)]
    assert (action.state, action.attempts, action.arguments) == ("succeeded", 1, {"order": "A-1", "amount": 1})
    assert await refund("A-2") != first
    assert await refund("A-1", step="s2") != first
    assert await refund("A-1", thread="u") != first
    assert len(world.done) == 4


async def test_scope_thread_reaches_over_steps_and_not_over_threads(act, world):
    refund = act(scope="thread")
    first = await refund("A-1", step=None)
    assert await refund("A-1", step="s2") == first
    assert await refund("A-1", thread="u") != first


async def test_a_business_key_stands_for_its_arguments(act, world):
    refund = act(key="order")
    first = await refund("A-1", 5)
    assert await refund("A-1", 5.0, step="s9") == first
    with pytest.raises(KeyReused) as caught:
        await refund("A-1", 6)
    assert (caught.value.recorded["amount"], caught.value.given["amount"]) == (5, 6)
    with pytest.raises(Misuse, match="business key"):
        await refund(" ")
    assert len(world.done) == 1


async def test_a_call_that_failed_may_run_again(act, ads, world):
    refund = act()
    world.error = ValueError("no such order")
    with pytest.raises(ValueError, match="no such order"):
        await refund("A-1")
    assert (ads.actions.list()[0].state, ads.actions.list()[0].error) == ("failed", "ValueError: no such order")
    world.error = None
    await refund("A-1")
    assert (ads.actions.list()[0].state, ads.actions.list()[0].attempts) == ("succeeded", 2)


@pytest.mark.parametrize("error", [TimeoutError("slow"), KeyboardInterrupt()])
async def test_an_error_that_leaves_it_open_is_unknown(ads, face, world, error):
    async def attempt() -> None:
        policy = ActionPolicy(kind="update", unclear=(TimeoutError,))
        if face == "sync":
            with ads.actions.perform("refund", {}, policy=policy, thread_id="t", step="s"):
                raise error
        async with ads.actions.perform("refund", {}, policy=policy, thread_id="t", step="s"):
            raise error

    with pytest.raises(type(error)):
        await attempt()
    (action,) = ads.actions.list()
    assert action.state == "unknown"
    assert type(error).__name__ in action.error
    with pytest.raises(ActionOutcomeUnknown):
        await attempt()


async def test_a_cancelled_call_is_unknown(ads):
    started = asyncio.Event()

    @ads.action(kind="update")
    async def slow() -> None:
        started.set()
        await asyncio.sleep(60)

    with ads.actions.within("t", step="s"):
        task = asyncio.create_task(slow())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ads.actions.list()[0].state == "unknown"


async def test_a_call_that_is_called_off_before_its_effect_is_not_unknown(act, ads, face, world, monkeypatch):
    actor = ads.actions.actor
    plain, waiting, first = (actor.transact, actor.atransact, [True])

    def transact(make: Any, thread: str) -> Any:
        done = plain(make, thread)
        if first:
            first.clear()
            raise KeyboardInterrupt
        return done

    async def atransact(make: Any, thread: str) -> Any:
        done = await waiting(make, thread)
        if first:
            first.clear()
            raise asyncio.CancelledError
        return done

    monkeypatch.setattr(actor, "transact", transact)
    monkeypatch.setattr(actor, "atransact", atransact)

    def sync() -> None:
        with ads.actions.perform("refund", {"order": "A-1", "amount": 1}, kind="update", thread_id="t", step="s1"):
            world.do(1)

    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        sync() if face == "sync" else await act()("A-1")
    assert (ads.actions.list()[0].state, ads.actions.list()[0].error) == ("failed", "it was called off before it began")
    assert world.done == []
    await act()("A-1")
    assert len(world.done) == 1


def test_a_generator_is_no_action(ds):
    with pytest.raises(Misuse, match="generator"):

        @ds.action(kind="update")
        def stream() -> Any:
            yield 1


# --- in flight, dead, reconciled


async def test_a_call_longer_than_its_lease_keeps_it(ads, face):
    calls = []

    def long(n: int) -> int:
        calls.append(n)
        time.sleep(0.7)
        return n

    @ads.action(kind="update", lease=timedelta(milliseconds=300))
    def sync_long(n: int) -> int:
        return long(n)

    @ads.action(kind="update", lease=timedelta(milliseconds=300), name="sync_long")
    async def async_long(n: int) -> int:
        return await asyncio.to_thread(long, n)

    async def first() -> Any:
        return await asyncio.to_thread(sync_long, 1) if face == "sync" else await async_long(1)

    with ads.actions.within("t", step="s"):
        running = asyncio.create_task(first())
        await asyncio.sleep(0.5)
        with pytest.raises(ActionInFlight):
            await first()
        assert await running == 1
        assert await first() == 1
    assert calls == [1]


async def test_a_dead_call_without_a_reconciler_is_not_repeated(act, ads, world):
    lost(ads)
    refund = act()
    for _ in range(2):
        with pytest.raises(ActionOutcomeUnknown, match="its lease ran out") as caught:
            await refund("A-1")
    assert ads.actions.get(caught.value.action_id).state == "unknown"
    assert world.done == []


@pytest.mark.parametrize("coroutine", [False, True])
async def test_a_reconciler_decides_on_a_dead_call(act, ads, world, coroutine):
    seen = []

    def look(action: Any) -> Any:
        seen.append((action.name, action.arguments))
        return Happened(result="r-0", why="their list")

    async def alook(action: Any) -> Any:
        return look(action)

    lost(ads)
    assert await act(reconcile=alook if coroutine else look)("A-1") == "r-0"
    assert seen == [("refund", {"order": "A-1", "amount": 1})]
    assert world.done == []
    assert ads.actions.list()[0].state == "succeeded"


async def test_what_has_not_happened_is_done(act, ads, world):
    lost(ads)
    await act(reconcile=lambda action: NotHappened())("A-1")
    assert len(world.done) == 1
    assert ads.actions.list()[0].attempts == 2


def hang(action: Any) -> None:
    time.sleep(0.5)


def broken(action: Any) -> None:
    raise ConnectionError("their server is down")


async def ahang(action: Any) -> None:
    await asyncio.sleep(5)


@pytest.mark.parametrize(
    ("reconcile", "told"),
    [
        (lambda action: None, "it was asked, and cannot tell"),
        (broken, "ConnectionError: their server is down"),
        (hang, "TimeoutError: it has not answered within 0.15 s"),
        (ahang, "TimeoutError: it has not answered within 0.15 s"),
        (lambda action: "yes", "TypeError: a reconciler returns Happened, NotHappened or None, not str"),
        (lambda action: Happened(result=print), "NotSerializable: result (builtin_function_or_method)"),
    ],
)
async def test_a_reconciler_that_cannot_tell_leaves_the_ledger_as_it_was(act, ads, world, reconcile, told, caplog):
    lost(ads)
    refund = act(reconcile=reconcile, reconcile_within=timedelta(milliseconds=150))
    with pytest.raises(ActionOutcomeUnknown):
        await refund("A-1")
    before = ads.actions.list()
    with pytest.raises(ActionOutcomeUnknown) as caught:
        await refund("A-1")
    assert (caught.value.__cause__ is None) == (reconcile.__name__ == "<lambda>" and reconcile(None) is None)
    assert ads.actions.list() == before
    assert world.done == []
    assert caught.value.reconciler.startswith(told)
    assert told in str(caught.value)
    assert "its lease ran out" in caught.value.known
    said = [record.getMessage() for record in caplog.records if record.name == "dalsegno.actions"]
    assert (len(said) == 2) == (caught.value.__cause__ is not None)  # None is an answer, and no failure
    assert all(told in line and "'refund'" in line and "\n" not in line for line in said)


async def test_an_action_is_reconciled_by_hand(act, ads, call, world):
    act(reconcile=lambda action: Happened(result=7))
    action = lost(ads)
    found = await call(ads.actions, "reconcile", action.action_id[:16])
    assert (found.state, found.result) == ("succeeded", 7)
    assert await call(ads.actions, "reconcile", action.action_id) == found
    lost(ads, name="other")
    (unknown,) = [each for each in ads.actions.list() if each.name == "other"]
    with pytest.raises(Misuse, match="no reconciler"):
        await call(ads.actions, "reconcile", unknown.action_id)


async def test_a_person_decides_on_a_dead_call(act, ads, call, world):
    lost(ads)
    refund = act()
    with pytest.raises(ActionOutcomeUnknown) as caught:
        await refund("A-1")
    with pytest.raises(Misuse, match="who decides"):
        await call(ads.actions, "resolve", caught.value.action_id, "succeeded")
    with pytest.raises(IllegalMove):
        await call(ads.actions, "approve", caught.value.action_id, by="mara")
    decided = await call(ads.actions, "resolve", caught.value.action_id, "succeeded", by="mara", result={"id": 9})
    assert decided.state == "succeeded"
    assert await refund("A-1") == {"id": 9}
    assert world.done == []
    assert [event.author for event in ads.journal.read("t") if event.kind == "action"][-1] == "mara"


# --- approval


async def test_nothing_is_done_before_it_is_approved(act, ads, call, world):
    refund = act(approve=True)
    with pytest.raises(ApprovalRequired) as caught:
        await refund("A-1")
    assert world.done == []
    ticket = ads.actions.get(caught.value.action_id).ticket
    approved = await call(ads.actions, "approve", ticket, by="mara")
    assert (approved.state, approved.approved_by) == ("pending", "mara")
    with pytest.raises(ActionMoved):
        await call(ads.actions, "approve", ticket, by="mara")
    await refund("A-1")
    assert len(world.done) == 1
    with pytest.raises(ApprovalRequired):
        await refund("A-1", 99)


async def test_approval_for_some_arguments_alone(act, world):
    refund = act(approve=Approval(when=lambda arguments: arguments["amount"] > 100))
    await refund("A-1")
    with pytest.raises(ApprovalRequired):
        await refund("A-1", 101)


# --- wrong calls


async def test_a_call_without_a_place_is_refused(ads, world):
    @ads.action(kind="update")
    def refund() -> None:
        world.do(1)

    with pytest.raises(Misuse, match="no thread"):
        refund()
    with ads.actions.within("t"), pytest.raises(Misuse, match="no step"):
        refund()
    assert world.done == []


async def test_arguments_without_a_canonical_form_are_refused(act, ads, world):
    with pytest.raises(NotCanonical, match=r"arguments\.order"):
        await act()(object())
    assert (world.done, ads.actions.list()) == ([], [])


def test_a_send_needs_a_recipient(ds):
    with pytest.raises(Misuse, match="recipient"):
        ds.action(kind="send")
    for wrong in ({"kind": "read"}, {"kind": "update", "scope": "key"}, {"kind": "update", "lease": timedelta(0)}):
        with pytest.raises(Misuse):
            ds.action(**wrong)


@pytest.mark.parametrize(
    "settings",
    [{"kind": "update", "key": "ordr"}, {"kind": "send", "recipient": "whom"}, {"kind": "update", "key": "self"}],
)
def test_a_parameter_that_is_not_there_is_noticed_at_decoration(ds, settings):
    def refund(self, order, amount=1, *, idempotency_key): ...

    with pytest.raises(Misuse, match=r"its parameters are order, amount$"):
        ds.action(**settings)(refund)
    with pytest.raises(Misuse, match="name of a parameter"):
        ds.action(kind="update", key=5)
    assert "refund" not in ds.actions._policies


def test_true_and_one_are_two_arguments(ds):
    @ds.action(kind="update", key="order")
    def pay(order: str, what: Any) -> str:
        return repr(what)

    with ds.actions.within("t"):
        for number, (first, same, other) in enumerate(
            [(1, 1.0, True), ([False], [False], [0]), ({"a": 0}, {"a": -0.0}, {"a": False})]
        ):
            paid = pay(str(number), first)
            assert pay(str(number), same) == paid
            with pytest.raises(KeyReused):
                pay(str(number), other)


def test_the_recipient_of_a_send_is_in_its_key(ds):
    sent = []

    @ds.action(kind="send", scope="thread", recipient=lambda arguments: arguments["to"].lower())
    def mail(to: str, text: str) -> int:
        sent.append(to)
        return len(sent)

    with ds.actions.within("t"):
        assert [mail("ana", "hi"), mail("ana", "hi"), mail("bob", "hi")] == [1, 1, 2]
        with pytest.raises(Misuse, match="recipient is empty"):
            mail("", "hi")
    assert [action.recipient for action in ds.actions.list()] == ["ana", "bob"]


def test_the_key_is_not_the_callers_to_give(ds):
    @ds.action(kind="update")
    def refund(order: str, idempotency_key: str = "") -> str:
        return idempotency_key

    with ds.actions.within("t", step="s"):
        assert refund("A-1") == ds.actions.list()[0].action_id
        with pytest.raises(Misuse, match="leave it out"):
            refund("A-1", idempotency_key="mine")


def test_a_result_that_cannot_be_stored_is_given_once_and_never_done_again(ds):
    done = []

    @ds.action(kind="create")
    def make() -> Any:
        done.append(1)
        return threading.Lock()

    with ds.actions.within("t", step="s"):
        assert make() is not None
        with pytest.raises(ActionResultLost, match="lock"):
            make()
    assert done == [1]
    assert ds.actions.list()[0].state == "succeeded"


def test_unknown_ids_states_and_decisions(ds):
    with pytest.raises(ActionNotFound):
        ds.actions.get("abc")
    with pytest.raises(Misuse, match="state="):
        ds.actions.list(state="done")
    with pytest.raises(Misuse, match="decision="):
        ds.actions.resolve("abc", "yes", by="me")


def test_a_method_and_what_is_done_in_plain_code(ds):
    class Desk:
        @ds.action(kind="update", scope="thread")
        def close(self, ticket: str) -> str:
            return f"closed {ticket}"

    with ds.actions.within("t"):
        assert Desk().close("7") == Desk().close("7") == "closed 7"
    for due in (True, False):
        with ds.actions.perform("charge", {"sum": 3}, kind="create", scope="thread", thread_id="t") as action:
            assert action.due is due
            if action.due:
                action.result = action.key
        assert action.result == ds.actions.list()[1].action_id
    assert ds.actions.verify().sound


async def test_of_many_at_once_one_does_it(store_url, face):
    if store_url == "memory://":
        pytest.skip("every connection to memory is a database of its own")
    done, refused = [], []
    with dalsegno.connect(store_url) as one, dalsegno.connect(store_url) as two:

        def attempt(ds: Any) -> None:
            @ds.action(kind="update", scope="thread", name="refund")
            def refund() -> None:
                time.sleep(0.05)
                done.append(1)

            with ds.actions.within("t"):
                try:
                    refund()
                except ActionInFlight:
                    refused.append(1)

        await asyncio.gather(*(asyncio.to_thread(attempt, ds) for ds in (one, two) * 4))
    assert done == [1]
