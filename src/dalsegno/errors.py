"""One tree of errors, grouped by what the caller should do.

Rules of this module:

* A family answers "what now?": `Misuse` fix the call, `Conflict` reload and retry, `Missing` look for the
  right id, `Refused` ask for the right or change the data, `Damaged` stop and run `dalsegno check`,
  `StoreError` look at the database.
* A message names the place and ends with the next step. Data a program may want is an attribute. Where the next step is
  another one at a shell than in a program, the error carries both.
* Driver errors never leave the store: they are chained as `__cause__` of one of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = [
    "ActionFailed",
    "ActionInFlight",
    "ActionMoved",
    "ActionNotFound",
    "ActionOutcomeUnknown",
    "ActionRejected",
    "ActionResultLost",
    "AnswerNotFound",
    "ApprovalRequired",
    "BlobNotFound",
    "BudgetSpent",
    "BudgetTooSmall",
    "CheckpointNotFound",
    "Conflict",
    "DalsegnoError",
    "Damaged",
    "EmbedderChanged",
    "GraphChanged",
    "HeadMoved",
    "IllegalMove",
    "InputOnResume",
    "InputOverUnfinished",
    "KeyReused",
    "LeaseHeld",
    "LeaseLost",
    "MemoryNotFound",
    "MemoryRefused",
    "Missing",
    "Misuse",
    "NotADatabase",
    "NotCanonical",
    "NotOwner",
    "NotSerializable",
    "Refused",
    "SchemaNewer",
    "StateFromFuture",
    "StateShapeError",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "SubgraphShared",
    "ThreadDeleted",
    "ThreadExists",
    "ThreadNotFound",
    "TranscriptError",
    "UnfinishedWarning",
    "Ungrounded",
    "UnknownType",
]


class DalsegnoError(Exception):
    """Root of every error raised on purpose by this package.

    Attributes:
        problem: what is wrong; the whole message where the next step was not given apart.
        step: the next step as a program takes it; "" where it is part of the problem's text.
        command: the next step as someone at a shell takes it.
    """

    def __init__(self, problem: str = "", *, step: str = "", command: str = "") -> None:
        super().__init__(f"{problem}; {step}" if step else problem)
        self.problem = problem
        self.step = step
        self.command = command or step

    @property
    def for_a_shell(self) -> str:
        """The message with its next step in the words of a shell."""
        return f"{self.problem}; {self.command}" if self.command else self.problem


# --- fix the call -------------------------------------------------------------------------------


class Misuse(DalsegnoError, ValueError):
    """The call itself is wrong; nothing was read or written."""


class InputOnResume(Misuse):
    """A resume was given a fresh input; it would have been stacked on the interrupted state."""


class InputOverUnfinished(Misuse):
    """A new input was given to a thread whose head still has steps to run."""


class NotSerializable(Misuse, TypeError):
    """A value in the state, metadata or a write cannot be stored exactly; nothing was written.

    Attributes:
        path: where the value stands, such as `state.sender` or `messages[3].content`.
        type_name: the value's type.
    """

    def __init__(self, path: str, type_name: str, hint: str) -> None:
        super().__init__(f"{path} ({type_name}): {hint}")
        self.path = path
        self.type_name = type_name


class NotCanonical(NotSerializable):
    """An argument of an action has no canonical form, so calls with it could not be told apart; nothing was written."""


class KeyReused(Misuse):
    """A business key came back with other arguments; nothing was run and the ledger is as it was.

    Attributes:
        action: name of the action.
        key: the caller's key.
        recorded: canonical arguments that the key stands for.
        given: canonical arguments of this call.
    """

    def __init__(self, action: str, key: str, *, recorded: object, given: object) -> None:
        super().__init__(
            f"action {action!r}: key {key!r} stands for {recorded!r:.300} and came back with {given!r:.300}; nothing "
            "was run. Use another key for another deed, or make the same call"
        )
        self.action = action
        self.key = key
        self.recorded = recorded
        self.given = given


class BudgetTooSmall(Misuse):
    """What must go into a call does not fit into its budget; nothing was sent.

    Attributes:
        budget_tokens: what the call may cost.
        minimum: what it takes at the least, in tokens.
        least: what that least consists of, tokens by part.
    """

    def __init__(self, *, budget_tokens: int, minimum: int, least: Mapping[str, int]) -> None:
        largest = sorted(least.items(), key=lambda pair: -pair[1])
        parts = ", ".join(f"{name} {tokens:,}" for name, tokens in largest[:8])
        alone = f" {largest[0][0]!r} alone is over it." if largest and largest[0][1] > budget_tokens else ""
        super().__init__(
            f"what must stay takes {minimum:,} tokens and the budget is {budget_tokens:,}: "
            f"{minimum - budget_tokens:,} too many ({parts}).{alone} Allow {minimum:,} or more, shorten one of "
            "them, or give it a ladder by which it may give way."
        )
        self.budget_tokens = budget_tokens
        self.minimum = minimum
        self.least = dict(least)

    @property
    def over_tokens(self) -> int:
        """By how much the least is too large."""
        return self.minimum - self.budget_tokens


class EmbedderChanged(Misuse):
    """The stored vectors are another embedder's, and two embedders' vectors mean nothing beside each other.

    Attributes:
        stored: name and dimension of the embedder whose vectors are stored.
        given: name and dimension of the one that was used now.
    """

    def __init__(
        self,
        *,
        stored: tuple[str, int],
        given: tuple[str, int],
        step: str = "connect with the embedder of the stored vectors, or make them anew with ds.store.reindex()",
    ) -> None:
        dims = f" ({given[1]} numbers)" if given[1] else ""
        super().__init__(
            f"the stored vectors are of {stored[0]!r} ({stored[1]} numbers), the embedder of this connection is "
            f"{given[0]!r}{dims}; nothing was written",
            step=step,
        )
        self.stored = stored
        self.given = given


class TranscriptError(Misuse):
    """A file to import is not a transcript this version can read; nothing was written."""


# --- reload and retry -----------------------------------------------------------------------------


class Conflict(DalsegnoError):
    """Someone else wrote first; nothing of this write was stored. Reload and decide again."""


class HeadMoved(Conflict):
    """The head the writer saw is no longer the thread's head.

    Attributes:
        thread_id: the thread written to.
        expected: checkpoint id the writer started from, or None for a new thread.
        found: checkpoint id that is the head now.
    """

    def __init__(self, thread_id: str, *, expected: str | None, found: str | None) -> None:
        super().__init__(
            f"thread {thread_id!r}: this writer continued from checkpoint {expected or '(none)'}, but the head is "
            f"{found or '(none)'} now; nothing of this write was stored. Another run wrote first, or the last write of "
            "one that was cancelled came late: load the thread again and repeat the call."
        )
        self.thread_id = thread_id
        self.expected = expected
        self.found = found


class SubgraphShared(HeadMoved):
    """Several calls wrote to a subgraph that keeps one history for a thread; this one would have undone another.

    Attributes:
        ns: the subgraph's namespace.
    """

    def __init__(self, thread_id: str, *, ns: str, expected: str | None, found: str | None) -> None:
        super().__init__(thread_id, expected=expected, found=found)
        self.ns = ns
        self.problem = (
            f"thread {thread_id!r}: several calls wrote to the subgraph {ns!r} at once. Compiled with "
            "checkpointer=True, it keeps one history for the thread, and each call would undo the other's; nothing of "
            "this write was stored"
        )
        self.step = self.command = (
            "compile it without checkpointer=True, so that each `Send` or call has a history of its own, or call it "
            "from one task of a run at a time"
        )
        self.args = (f"{self.problem}; {self.step}.",)


class LeaseHeld(Conflict):
    """Another run holds the lease on this thread."""


class LeaseLost(Conflict):
    """The writer's lease has passed to someone else; its writes are refused."""


class ActionInFlight(Conflict):
    """Another call is in the middle of this very action; nothing was run.

    Attributes:
        action_id: the action.
        holder: who runs it.
        seconds: how long its lease lasts unless it is kept alive.
    """

    def __init__(self, action: str, *, action_id: str, holder: str, seconds: float) -> None:
        super().__init__(
            f"action {action!r} ({action_id[:12]}) is being run by {holder!r}, whose lease lasts another "
            f"{seconds:.1f} s; wait for it, then make the call again"
        )
        self.action_id = action_id
        self.holder = holder
        self.seconds = seconds


class ActionMoved(Conflict):
    """The action went on without this writer, so what it has to say is refused; the ledger is as it was.

    Attributes:
        action_id: the action.
        state: where it stands now.
    """

    def __init__(self, action: str, *, action_id: str, state: str, why: str) -> None:
        super().__init__(
            f"action {action!r} ({action_id[:12]}) is {state} now: {why}; look at it with ds.actions.get() "
            "and decide anew"
        )
        self.action_id = action_id
        self.state = state


# --- look for the right id ------------------------------------------------------------------------


class Missing(DalsegnoError, LookupError):
    """What was asked for is not there (or not yours, which reads the same)."""


class ThreadNotFound(Missing):
    """No thread of this id for this tenant and user."""


class CheckpointNotFound(Missing):
    """The thread has no checkpoint of this id."""


class MemoryNotFound(Missing):
    """There is no such memory here, or it is another user's."""


class AnswerNotFound(Missing):
    """The cache has no answer of this id or to this question, or it is another user's."""


class BlobNotFound(Missing):
    """The thread points to no blob of this reference."""


class ActionNotFound(Missing):
    """No action of this id for this tenant and user."""


# --- rights, ownership, gates ---------------------------------------------------------------------


class Refused(DalsegnoError):
    """Understood and not allowed; nothing was changed."""


class IllegalMove(Refused):
    """The table of actions has no such move; the action is as it was.

    Attributes:
        move: what was to happen.
        state: where the action stands; None when it is not recorded.
    """

    def __init__(
        self, move: str, *, state: str | None, needs: str | None, role: str, may: list[str] | None = None
    ) -> None:
        here = state or "not recorded"
        if may is None:
            problem = f"{str(move)!r} is for an action that is {needs or 'not recorded'}, and this one is {here}"
        else:
            problem = f"{move!r} is not for the {role} to make, only for: {', '.join(may)}"
        super().__init__(f"{problem}; nothing was changed. docs/actions.md has the table")
        self.move = move
        self.state = state


class ApprovalRequired(Refused):
    """The action waits for someone to approve it; nothing was run.

    Attributes:
        action_id: what to approve.
    """

    def __init__(self, action: str, *, action_id: str) -> None:
        super().__init__(
            f"action {action!r} ({action_id[:12]}) waits for approval; nothing was run",
            step="approve it with ds.actions.approve() and make the call again",
            command=f"`dalsegno actions approve {action_id[:12]}`, then run it again",
        )
        self.action_id = action_id


class ActionRejected(Refused):
    """Someone decided that the action is not to be done; nothing was run.

    Attributes:
        action_id: the action.
        by: who decided.
    """

    def __init__(self, action: str, *, action_id: str, by: str) -> None:
        super().__init__(
            f"action {action!r} ({action_id[:12]}) was rejected by {by!r}; nothing was run. The same call asks again"
        )
        self.action_id = action_id
        self.by = by


class ActionFailed(Refused):
    """Someone found out that an action whose end was unknown has not happened; it was not run again.

    Attributes:
        action_id: the action.
        by: who found it out.
    """

    def __init__(self, action: str, *, action_id: str, by: str) -> None:
        super().__init__(
            f"action {action!r} ({action_id[:12]}) has not happened, says {by!r}; it was not run again. The same call "
            "may run it"
        )
        self.action_id = action_id
        self.by = by


class ActionOutcomeUnknown(Refused):
    """Nobody knows whether the effect happened: its process ended in the middle. It is not run again on a guess.

    Attributes:
        action_id: the action.
        known: what is known, in words.
    """

    def __init__(self, action: str, *, action_id: str, known: str) -> None:
        super().__init__(
            f"action {action!r} ({action_id[:12]}): {known}. Whether it happened is unknown, so nothing was run; look "
            "at the outside system",
            step="and say what you found with ds.actions.resolve()",
            command=f"and say what you found with `dalsegno actions resolve {action_id[:12]}`",
        )
        self.action_id = action_id
        self.known = known


class ActionResultLost(Refused):
    """The action was done and is not done again, but its result could not be stored.

    Attributes:
        action_id: the action.
    """

    def __init__(self, action: str, *, action_id: str, why: str) -> None:
        super().__init__(
            f"action {action!r} ({action_id[:12]}) was done, but its result could not be stored ({why}); let it return "
            "plain data, such as the outside system's id"
        )
        self.action_id = action_id


class MemoryRefused(Refused):
    """Something is not to be remembered; nothing was written.

    Attributes:
        reason: one word: see `dalsegno.core.memory_gate.Reason`.
        subject, attribute: what it would have been about.
        found: the words that decided.
    """

    def __init__(self, problem: str, *, reason: str, subject: str, attribute: str, found: str, step: str) -> None:
        super().__init__(f"{subject!r}, {attribute!r} is not remembered ({reason}): {problem}", step=step)
        self.reason = reason
        self.subject = subject
        self.attribute = attribute
        self.found = found


class BudgetSpent(Refused):
    """A model call or a step would exceed a budget, so it was not begun.

    Attributes:
        scope: whose budget: `run`, `thread` or `tenant`.
        limits: names of the limits it would exceed.
    """

    def __init__(self, scope: str, limits: Sequence[str]) -> None:
        super().__init__(
            f"the {scope}'s budget has no room for this ({', '.join(limits)}); it was not begun. Raise the limit, or "
            "let the run end"
        )
        self.scope = scope
        self.limits = tuple(limits)

    @property
    def names(self) -> tuple[str, ...]:
        """The limits as a state's budget field has them, such as `run: tokens`."""
        return tuple(f"{self.scope}: {name}" for name in self.limits)


class ThreadDeleted(Refused):
    """The thread was deleted; a late write does not bring it back."""


class ThreadExists(Refused):
    """The target thread of a copy or import already holds something."""


class GraphChanged(Refused):
    """The run waits for a node that the graph no longer has; resuming would silently do nothing."""


class NotOwner(Refused, RuntimeError):
    """A node wrote a field that another node owns; nothing of its writes was stored.

    A `RuntimeError` too, which LangGraph's default retry policy does not try again: the node would do the same.

    Attributes:
        field: the field.
        node: who wrote it.
        owners: who may.
    """

    def __init__(self, field: str, *, node: str, owners: tuple[str, ...]) -> None:
        super().__init__(
            f"node {node!r} wrote {field!r}, which {' and '.join(map(repr, owners))} "
            f"own{'s' if len(owners) == 1 else ''}; nothing of its writes was stored. Let the owner write it, or name "
            f"{node!r} in Field({field!r}, owner=…)"
        )
        self.field = field
        self.node = node
        self.owners = owners


class StateFromFuture(Refused):
    """The stored state was written by a newer schema version than this code knows."""


class StateShapeError(Refused, RuntimeError):
    """A state, or what is written to it, has not its schema's shape: a field is missing, or holds something else.

    A `RuntimeError` too, as `NotOwner` is.

    Attributes:
        path: the field, such as `attachments[0].ref`.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


class Ungrounded(Refused):
    """An entry of a card states what its evidence does not; nothing was written."""


class UnknownType(Refused):
    """Stored data names a type that is not registered in this process; it is never imported by name."""


# --- stop and check -------------------------------------------------------------------------------


class Damaged(DalsegnoError):
    """Stored data contradicts itself.

    Attributes:
        place: what is damaged (thread, checkpoint, item).
        expected: what should stand there.
        found: what stands there.
    """

    def __init__(self, place: str, *, expected: object = None, found: object = None) -> None:
        super().__init__(
            f"{place}: expected {expected!r}, found {found!r}; stop writing and run `dalsegno check` on this database."
        )
        self.place = place
        self.expected = expected
        self.found = found


# --- the database ---------------------------------------------------------------------------------


class StoreError(DalsegnoError):
    """The database refused or failed."""


class StoreUnavailable(StoreError):
    """The database could not be reached or went away; the outcome of a write is unknown: read before repeating."""


class NotADatabase(StoreError):
    """The file or server at this URL is not a database dalsegno can use."""


class StoreFull(StoreError):
    """The disk is full; the write was rolled back whole."""


class SchemaNewer(StoreError):
    """The database was written by a newer dalsegno; this one will not touch it."""


# --- warnings --------------------------------------------------------------------------------------


class UnfinishedWarning(UserWarning):
    """A new input was given to a thread whose head still had steps to run; they are discarded."""
