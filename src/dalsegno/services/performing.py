"""One effect from its record to its end, as a script that two drivers play.

Rules of this module:

* The script yields what is to be done next (`Work`) and receives what came of it, so that waiting and awaiting are not
  told apart here. The ledger's operations are each one transaction; between them nothing is held.
* The effect is played only after `begin` has committed, and at most once for each time that it has.
* Whoever cannot tell is not asked twice: a reconciler that fails, hangs or does not know leaves the ledger as it was,
  and a person is asked.
* A person's answer carries the ticket of the question. It counts for that action at that moment alone, whoever
  receives it: an answer to something else is put where it belongs, and an old one is passed over.
* An answer that was given elsewhere, at a shell or by another program, counts as one that the run was given: the task
  that asked is told the same, each time it is run again.
* Why a reconciler could not tell is told to whoever is asked next, and logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from dalsegno.contracts import Op
from dalsegno.core import codec
from dalsegno.core.action_policy import ActionPolicy, Happened, NotHappened
from dalsegno.core.actions import ActionKind, Move, Role
from dalsegno.core.arguments import Call
from dalsegno.core.failures import named, wording
from dalsegno.core.journal import Undecoded
from dalsegno.core.tree import Json
from dalsegno.errors import (
    ActionFailed,
    ActionMoved,
    ActionNotFound,
    ActionOutcomeUnknown,
    ActionRejected,
    ActionResultLost,
    ApprovalRequired,
    DalsegnoError,
    IllegalMove,
    NotSerializable,
)
from dalsegno.services.action_rows import Action, version_in
from dalsegno.services.actions import Begun, Ending, Turn, begin, decide, find, finish, withdraw
from dalsegno.services.threads_row import Scope

__all__ = [
    "ANSWERS",
    "Ask",
    "Effect",
    "Job",
    "Look",
    "Script",
    "Transact",
    "Work",
    "closing",
    "ended_badly",
    "opening",
    "performing",
    "reconciling",
    "stored_result",
    "told_of",
]

_log = logging.getLogger("dalsegno.actions")

_TOLD = 500
_CANNOT_TELL = "it was asked, and cannot tell"

ANSWERS: Mapping[str, Move] = {
    "approve": Move.APPROVE,
    "reject": Move.REJECT,
    "succeeded": Move.FIND_SUCCEEDED,
    "failed": Move.FIND_FAILED,
    "retry": Move.RETRY,
}
"""What a person may say, and the move it makes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A call on its way through the ledger.

    Attributes:
        thread: the thread's id.
        call: what is called.
        key: its idempotency key.
        policy: how it is an action.
        ask: whether someone has to approve it.
        holder: who runs it; no other job has the same.
        fence: the run's fencing token, when it has a lease on the thread.
        user: who decides when an answer does not say who.
        can_ask: whether a person can be asked here and now.
        task: the task of a run that makes the call, where a person can be asked; an answer given elsewhere reaches it.
        outside: whether the job is no call of a run but somebody's look at an action from outside.
    """

    thread: str
    call: Call
    key: bytes
    policy: ActionPolicy
    ask: bool
    holder: str
    fence: int | None = None
    user: str | None = None
    can_ask: bool = False
    task: str | None = None
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Transact:
    """Run an operation of the ledger in a transaction of its own."""

    make: Callable[[Scope], Op[Any]]


@dataclass(frozen=True, slots=True)
class Effect:
    """Do what the action is about, and keep its lease alive meanwhile."""

    token: int


@dataclass(frozen=True, slots=True)
class Look:
    """Let the reconciler look, for a limited time."""

    action: Action
    within: timedelta


@dataclass(frozen=True, slots=True)
class Ask:
    """Put a question to a person, who may answer much later, in another process."""

    question: dict[str, Any]


Work: TypeAlias = Transact | Effect | Look | Ask
Script: TypeAlias = Generator[Work, Any, Any]


def performing(job: Job) -> Script:
    """Do an action, or return what it came back with when it was done.

    Raises:
        ActionRejected, ActionFailed: a person said so in answer to this very call.
        ApprovalRequired, ActionOutcomeUnknown: a person has to decide and cannot be asked here.
    """
    begun = yield from opening(job)
    if begun.turn is Turn.DONE:
        return stored_result(begun.action)
    try:
        result = yield Effect(begun.token)
    except GeneratorExit:
        raise
    except BaseException as error:
        yield from ended_badly(job, begun.token, error)
        raise
    yield from closing(job, begun.token, result)
    return result


def opening(job: Job) -> Generator[Work, Any, Begun]:
    """Come to where the effect may start, or is done."""
    while True:
        begun: Begun = yield from _begun(job)
        if begun.turn is Turn.WAIT:
            if not job.can_ask:
                raise ApprovalRequired(job.call.name, action_id=begun.action.action_id)
            yield from _asked(job, question_of(begun.action, "approval", ("approve", "reject")))
        elif begun.turn is Turn.LOST:
            yield from _lost(job, begun.action)
        elif begun.verdict is not None:
            raise _decided_against(job, *begun.verdict)
        else:
            return begun


def _begun(job: Job) -> Generator[Work, Any, Begun]:
    try:
        begun: Begun = yield Transact(
            lambda scope: begin(
                scope, job.thread, job.call, ActionKind(job.policy.kind), job.key, holder=job.holder,
                ttl=job.policy.lease, ask=job.ask, lasts=job.policy.expires, fence=job.fence, task=job.task,
            )
        )  # fmt: skip
    except (Exception, GeneratorExit):
        raise
    except BaseException as error:
        # Cancelled while the record was being written. The effect has not begun, and nobody has to find out whether.
        try:
            yield Transact(lambda scope: withdraw(scope, job.thread, job.key, job.holder, fence=job.fence))
        except DalsegnoError as lost:
            error.add_note(f"and the ledger did not take that down: {lost}")
        raise
    return begun


def closing(job: Job, token: int, result: Any) -> Script:
    """Write down that an effect came back, and with what."""
    why = None
    kept: Json
    try:
        kept = [codec.encode(result, "result")]
    except NotSerializable as error:
        kept, why = {"lost": codec.encode(str(error))}, f"its result could not be stored: {error}"
    ending = Ending(move=Move.SUCCEED, result=kept, why=why)
    try:
        yield Transact(lambda scope: finish(scope, job.thread, job.key, token, ending, fence=job.fence))
    except DalsegnoError as error:
        error.add_note(f"action {job.call.name!r} had come back with {result!r:.200}")
        raise


def ended_badly(job: Job, token: int, error: BaseException) -> Script:
    """Write down that an effect raised: it failed, or nobody knows."""
    open_end = isinstance(error, job.policy.unclear) or not isinstance(error, Exception)
    said = named(error)
    why = f"it was left with {said}, which does not say whether it happened" if open_end else said
    ending = Ending(move=Move.LOSE if open_end else Move.FAIL, why=why)
    try:
        yield Transact(lambda scope: finish(scope, job.thread, job.key, token, ending, fence=job.fence))
    except DalsegnoError as lost:
        error.add_note(f"and the ledger did not take that down: {lost}")


def stored_result(action: Action) -> Any:
    """What a finished action came back with.

    Raises:
        ActionResultLost: it could not be stored, or is of a class that is not registered here.
    """
    if isinstance(action.result, Undecoded):
        raise ActionResultLost(action.name, action_id=action.action_id, why=action.result.reason)
    return action.result


# --- what became of it


def reconciling(job: Job, action: Action) -> Generator[Work, Any, BaseException | None]:
    """Let the reconciler look at a lost action, and write down what it found.

    Returns:
        Why it could not tell, or None: it was heard, or said itself that it cannot tell.
    """
    try:
        found = yield Look(action, job.policy.reconcile_within)
    except Exception as error:  # noqa: BLE001 - the reconciler's own; it is chained to what is raised next
        return _no_word(action, error)
    if found is None:
        return None
    if not isinstance(found, Happened | NotHappened):
        odd = TypeError(f"a reconciler returns Happened, NotHappened or None, not {type(found).__name__}")
        return _no_word(action, odd)
    move, result = Move.FIND_FAILED, None
    if isinstance(found, Happened):
        try:
            move, result = Move.FIND_SUCCEEDED, [codec.encode(found.result, "result")]
        except NotSerializable as error:
            return _no_word(action, error)
    with suppress(ActionMoved, IllegalMove):  # someone else found out first; look again
        yield Transact(
            lambda scope: decide(
                scope, job.thread, job.key, move, Role.RECONCILER, "reconciler", version=action.version, result=result,
                why=found.why, fence=job.fence, outside=job.outside,
            )
        )  # fmt: skip
    return None


def _no_word(action: Action, error: Exception) -> Exception:
    _log.warning(
        "the reconciler of action %r (%s) of thread %r could not tell: %s; the ledger is as it was",
        action.name, action.action_id[:12], action.thread_id, told_of(error),
    )  # fmt: skip
    return error


def told_of(error: BaseException) -> str:
    """A reconciler's failure in words that pass through logs, questions and messages on one line."""
    said = " ".join(wording(error).split())
    return f"{type(error).__name__}: {said}"[:_TOLD] if said else type(error).__name__


def _lost(job: Job, action: Action) -> Script:
    cause: BaseException | None = None
    told: str | None = None
    if job.policy.reconcile is not None:
        cause = yield from reconciling(job, action)
        now: Action = yield Transact(lambda scope: find(scope, job.key.hex()))
        if now.version != action.version:
            return
        told = _CANNOT_TELL if cause is None else told_of(cause)
    if not job.can_ask:
        raise ActionOutcomeUnknown(
            job.call.name, action_id=action.action_id, known=action.error or "", reconciler=told
        ) from cause
    question = question_of(action, "unknown_outcome", ("succeeded", "failed", "retry"))
    yield from _asked(job, question if told is None else {**question, "reconciler": told})


# --- asking a person


def question_of(action: Action, kind: str, decisions: tuple[str, ...]) -> dict[str, Any]:
    """What a person is shown, as plain data."""
    return {
        "type": kind,
        "ticket": action.ticket,
        "action_id": action.action_id,
        "action": action.name,
        "kind": str(action.kind),
        "arguments": action.arguments,
        "recipient": action.recipient,
        "attempts": action.attempts,
        "known": action.error,
        "decisions": list(decisions),
        "answer": {"ticket": action.ticket, "decision": "|".join(decisions), "by": "who decides"},
    }


def _asked(job: Job, question: dict[str, Any]) -> Script:
    """Put a question and write the answer down; an answer that says nothing is asked for once more."""
    while True:
        answer = yield Ask(question)
        problem = _problem(answer, job)
        if problem is None:
            break
        question = {**question, "problem": problem}
    action_id, version = str(answer["ticket"]).rpartition(":")[0], version_in(answer["ticket"])
    move, by = ANSWERS[answer["decision"]], str(answer.get("by") or job.user)
    result = [codec.encode(answer.get("result"), "result")] if move is Move.FIND_SUCCEEDED else None
    why = answer.get("why")
    try:
        yield Transact(
            lambda scope: decide(
                scope, job.thread, bytes.fromhex(action_id), move, Role.PERSON, by, version=version,
                result=result, why=None if why is None else str(why), fence=job.fence,
            )
        )  # fmt: skip
    except (ActionMoved, ActionNotFound, IllegalMove):
        return  # an answer to a question of the past
    if bytes.fromhex(action_id) == job.key and move in (Move.REJECT, Move.FIND_FAILED):
        raise _decided_against(job, move, by)


def _decided_against(job: Job, move: Move, by: str) -> Exception:
    kind = ActionRejected if move is Move.REJECT else ActionFailed
    return kind(job.call.name, action_id=job.key.hex(), by=by)


def _problem(answer: Any, job: Job) -> str | None:
    """Why an answer says nothing; None when it does."""
    if not isinstance(answer, Mapping):
        return "answer with the question's ticket, a decision and who decides"
    action_id, _, _ = str(answer.get("ticket")).rpartition(":")
    known = len(action_id) == 2 * len(job.key) and not set(action_id) - set("0123456789abcdef")
    if not known or version_in(answer["ticket"]) is None:
        return "the answer's ticket is missing or wrong; copy the question's"
    if answer.get("decision") not in [*ANSWERS]:  # a list, since an answer may be of any shape
        return f"the answer's decision is none of {', '.join(ANSWERS)}"
    if not str(answer.get("by") or job.user or "").strip():
        return "the answer does not say who decides; give 'by'"
    return None
