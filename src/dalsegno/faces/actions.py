"""`ds.actions`: effects on the world that are done once, and what became of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any, ParamSpec, TypeAlias, TypeVar

from dalsegno.contracts import Store
from dalsegno.core import codec
from dalsegno.core.action_policy import ActionPolicy, Approval, Reconciler
from dalsegno.core.actions import ActionKind, Move, Role, State
from dalsegno.core.arguments import ActionScope, Call, call_arguments
from dalsegno.errors import ActionMoved, ActionOutcomeUnknown, Misuse
from dalsegno.faces.face import Face
from dalsegno.faces.performance import Performance
from dalsegno.faces.runs import Lease
from dalsegno.langgraph.acting import Actor
from dalsegno.langgraph.injected import injected, tool_call_id_of
from dalsegno.langgraph.place import here, within
from dalsegno.services import actions, audit
from dalsegno.services.action_rows import Action, version_in
from dalsegno.services.audit import AuditVerdict
from dalsegno.services.ids import thread_name
from dalsegno.services.performing import ANSWERS, Job, reconciling, told_of
from dalsegno.services.threads_row import Scope

__all__ = ["Actions"]

P = ParamSpec("P")
R = TypeVar("R")

KEY = "idempotency_key"
"""Parameter that gets the key, in functions that have it."""
_NO_ARGUMENTS = frozenset({KEY, "self", "cls"})

Found: TypeAlias = list[Action]


class Actions(Face):
    """The ledger of a tenant's actions."""

    def __init__(self, store: Store, scope: Callable[[], Scope], *, tenant: str, user: str | None) -> None:
        """Take the store and on whose behalf to act."""
        super().__init__(store, scope)
        self.actor = Actor(store, scope, tenant=tenant, user=user)
        self._policies: dict[str, ActionPolicy] = {}

    # --- doing

    def action(
        self,
        *,
        kind: ActionKind | str,
        name: str | None = None,
        scope: ActionScope | str = ActionScope.STEP,
        key: str | Callable[[Mapping[str, Any]], Any] | None = None,
        recipient: str | Callable[[Mapping[str, Any]], Any] | None = None,
        reconcile: Reconciler | None = None,
        reconcile_within: timedelta = timedelta(seconds=30),
        approve: bool | Approval = False,
        lease: timedelta = timedelta(seconds=60),
        unclear: tuple[type[Exception], ...] = (),
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Make the calls of a function actions; a decorator for functions and coroutine functions.

        See `dalsegno.ActionPolicy` for the arguments. `name` is the function's own if left out. A function with a
        parameter `idempotency_key` is given the key; its callers leave it out.

        Raises:
            Misuse: a send without a recipient, an unknown kind or scope, or a `key` or `recipient` that names none of
                the function's parameters.
        """
        policy = ActionPolicy(
            kind=kind,
            scope=scope,
            key=key,
            recipient=recipient,
            reconcile=reconcile,
            reconcile_within=reconcile_within,
            approve=approve,
            lease=lease,
            unclear=unclear,
        )

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            made: Callable[P, R] = self._wrapped(function, policy, name or function.__name__)
            return made

        return decorate

    def _wrapped(self, function: Callable[..., Any], policy: ActionPolicy, name: str) -> Any:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            msg = f"{name} is a generator: what it does has no one end to write down; return the result instead"
            raise Misuse(msg)
        signature = inspect.signature(function)
        hidden = injected(function)
        takes_key = KEY in signature.parameters
        policy.check(name, [each for each in signature.parameters if each not in _NO_ARGUMENTS | set(hidden)])
        self._policies[name] = policy

        def prepared(args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
            if takes_key and kwargs.setdefault(KEY, "") != "":
                msg = f"{name}: {KEY} is given by the ledger; leave it out"
                raise Misuse(msg)
            place = here(tool_call_id_of(signature, hidden, args, kwargs))
            job = self.actor.job(
                policy, name, call_arguments(function, args, kwargs, without=_NO_ARGUMENTS | set(hidden)), place
            )
            return job, {**kwargs, KEY: job.key.hex()} if takes_key else kwargs

        @functools.wraps(function)
        def sync(*args: Any, **kwargs: Any) -> Any:
            job, full = prepared(args, kwargs)
            return self.actor.perform(job, lambda: function(*args, **full))

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            job, full = prepared(args, kwargs)
            return await self.actor.aperform(job, lambda: function(*args, **full))

        wrapper: Any = coroutine if inspect.iscoroutinefunction(function) else sync
        shown = [parameter for parameter in signature.parameters.values() if parameter.name != KEY]
        wrapper.__signature__ = signature.replace(parameters=shown)
        wrapper.__annotations__ = {key: kind for key, kind in function.__annotations__.items() if key != KEY}
        wrapper.__dalsegno_action__ = name
        return wrapper

    def perform(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        policy: ActionPolicy | None = None,
        thread_id: str | None = None,
        step: str | None = None,
        under: Lease | None = None,
        **settings: Any,
    ) -> Performance:
        """Do an action in plain code, under `with` or `async with`.

        Inside, do the effect if `.due` and set `.result`; it is stored at the end. When the action was done before,
        `.due` is False and `.result` is what it came back with. `.key` is for outside services that take one.

        Args:
            name: the action's name.
            arguments: what it is done with, by name; plain data.
            policy: how it is an action; or give the fields of `ActionPolicy` by name (`kind="send"`, …).
            thread_id: the thread; in a run, or inside `within`, that one if left out.
            step: what makes an equal call the same action under scope `step`; in a run its task if left out.
            under: the lease on the thread to write under, while one is live.
            settings: fields of `ActionPolicy`.

        Raises:
            Misuse: no thread or step is known, or a setting is wrong.
        """
        if policy is not None and settings:
            msg = f"give either a policy or its fields, not both: {', '.join(settings)}"
            raise Misuse(msg)
        rule = policy or ActionPolicy(**settings)
        self._policies.setdefault(name, rule)
        with within(
            None if thread_id is None else thread_name(thread_id),
            step=step,
            fence=None if under is None else under.token,
        ):
            return Performance(self.actor, self.actor.job(rule, name, arguments or {}, here()))

    def within(
        self, thread_id: str, *, step: str | None = None, under: Lease | None = None
    ) -> AbstractContextManager[None]:
        """Say for the calls inside a `with` which thread, and which step of it, they belong to."""
        return within(thread_name(thread_id), step=step, fence=None if under is None else under.token)

    # --- looking

    def get(self, action_id: str) -> Action:
        """One action, by its id or enough of its beginning.

        Raises:
            ActionNotFound: there is none, or it is another user's.
        """
        return self._run(lambda scope: actions.find(scope, action_id))

    async def aget(self, action_id: str) -> Action:
        """Async face of `get`."""
        return await self._arun(lambda scope: actions.find(scope, action_id))

    def list(
        self, thread_id: str | None = None, *, state: State | str | None = None, limit: int | None = None
    ) -> Found:
        """Actions, the oldest first.

        Args:
            thread_id: those of this thread only.
            state: those in this state only.
            limit: at most so many.
        """
        wanted = _state(state)
        return self._run(lambda scope: actions.page(scope, thread=thread_id, state=wanted, limit=limit))

    async def alist(
        self, thread_id: str | None = None, *, state: State | str | None = None, limit: int | None = None
    ) -> Found:
        """Async face of `list`."""
        wanted = _state(state)
        return await self._arun(lambda scope: actions.page(scope, thread=thread_id, state=wanted, limit=limit))

    def verify(self, kept: Mapping[int, tuple[int, str]] | None = None) -> AuditVerdict:
        """Follow every chain of the audit; see `docs/audit.md` for what that can notice.

        Args:
            kept: the `heads` of an earlier verdict, kept where whoever writes to the database cannot; every chain must
                still hold what it held then.
        """
        ends = _ends(kept)
        return self._run(lambda scope: audit.verify_all(scope, ends))

    async def averify(self, kept: Mapping[int, tuple[int, str]] | None = None) -> AuditVerdict:
        """Async face of `verify`."""
        ends = _ends(kept)
        return await self._arun(lambda scope: audit.verify_all(scope, ends))

    # --- deciding

    def know(self, name: str, policy: ActionPolicy) -> None:
        """Say how actions of a name are to be reconciled; a decorated function has said so already."""
        self._policies[name] = policy

    def reconcile(self, action_id: str) -> Action:
        """Let the reconciler of an action look at it, when its end is unknown; nothing is run.

        Returns:
            The action as it stands then: still `unknown` when the reconciler cannot tell.

        Raises:
            ActionNotFound: there is no such action.
            Misuse: nobody has said in this process how actions of its name are reconciled.
            ActionOutcomeUnknown: the reconciler raised or took too long, which is chained; the ledger is as it was.
        """
        seen = self.get(action_id)
        job = self._job_of(seen)
        seen = self.actor.transact(lambda scope: actions.notice(scope, seen.thread_id, job.key), seen.thread_id)
        if seen.state is State.UNKNOWN:
            _raise_from(self.actor.play(reconciling(job, seen), job), seen)
        return self.get(seen.action_id)

    async def areconcile(self, action_id: str) -> Action:
        """Async face of `reconcile`."""
        seen = await self.aget(action_id)
        job = self._job_of(seen)
        seen = await self.actor.atransact(lambda scope: actions.notice(scope, seen.thread_id, job.key), seen.thread_id)
        if seen.state is State.UNKNOWN:
            _raise_from(await self.actor.aplay(reconciling(job, seen), job), seen)
        return await self.aget(seen.action_id)

    def _job_of(self, action: Action) -> Job:
        policy = self._policies.get(action.name)
        if policy is None or policy.reconcile is None:
            msg = f"no reconciler for {action.name!r} is known in this process"
            raise Misuse(
                msg,
                step="give one to its decorator or to ds.actions.know()",
                command="name one with --using MODULE:FUNCTION",
            )
        call = Call(name=action.name, scope=action.scope, anchor=action.anchor, arguments=None, recipient=None)
        key = bytes.fromhex(action.action_id)
        return Job(thread=action.thread_id, call=call, key=key, policy=policy, ask=False, holder="", outside=True)

    def approve(self, action_id: str, *, by: str | None = None, why: str | None = None, reject: bool = False) -> Action:
        """Approve an action that waits for it, with exactly the arguments it has; or reject it.

        Raises:
            IllegalMove: it does not wait for approval.
            ActionMoved: it moved while it was decided on.
        """
        return self.resolve(action_id, "reject" if reject else "approve", by=by, why=why)

    async def aapprove(
        self, action_id: str, *, by: str | None = None, why: str | None = None, reject: bool = False
    ) -> Action:
        """Async face of `approve`."""
        return await self.aresolve(action_id, "reject" if reject else "approve", by=by, why=why)

    def resolve(
        self, action_id: str, decision: str, *, by: str | None = None, result: Any = None, why: str | None = None
    ) -> Action:
        """Write down what a person decides.

        Args:
            action_id: the action; its `ticket` instead makes the decision count for what was seen alone.
            decision: `succeeded`, `failed` or `retry` of one whose end is unknown; `approve` or `reject`.
            by: who decides; the connection's user if left out.
            result: of one that succeeded, what it came back with.
            why: how that is known, or a reason.

        Raises:
            ActionNotFound: there is no such action.
            IllegalMove: it is not where this decision applies; nothing was changed.
            ActionMoved: it is not as the ticket says any more; nothing was changed.
        """
        move, who, kept = self._decision(decision, by, result)
        seen = self.get(action_id.partition(":")[0])
        version = _version(action_id, seen)
        return self._run(
            lambda scope: actions.decide(
                scope, seen.thread_id, bytes.fromhex(seen.action_id), move, Role.PERSON, who, version=version,
                result=kept, why=why, outside=True,
            ),
            write=True,
            key=seen.thread_id,
        )  # fmt: skip

    async def aresolve(
        self, action_id: str, decision: str, *, by: str | None = None, result: Any = None, why: str | None = None
    ) -> Action:
        """Async face of `resolve`."""
        move, who, kept = self._decision(decision, by, result)
        seen = await self.aget(action_id.partition(":")[0])
        version = _version(action_id, seen)
        return await self._arun(
            lambda scope: actions.decide(
                scope, seen.thread_id, bytes.fromhex(seen.action_id), move, Role.PERSON, who, version=version,
                result=kept, why=why, outside=True,
            ),
            write=True,
            key=seen.thread_id,
        )  # fmt: skip

    def _decision(self, decision: str, by: str | None, result: Any) -> tuple[Move, str, Any]:
        move = ANSWERS.get(decision)
        if move is None:
            msg = f"decision={decision!r}: use one of {', '.join(ANSWERS)}"
            raise Misuse(msg)
        who = by or self.actor.user
        if who is None:
            msg = "nobody is named who decides, and that goes on record"
            raise Misuse(msg, step="say who, with by=…", command="say who, with --by NAME or --user NAME")
        return move, who, [codec.encode(result, "result")] if move is Move.FIND_SUCCEEDED else None


def _ends(kept: Mapping[int, tuple[int, str]] | None) -> dict[int, tuple[int, bytes]]:
    try:
        return {int(thread): (int(seq), bytes.fromhex(end)) for thread, (seq, end) in (kept or {}).items()}
    except (AttributeError, TypeError, ValueError) as error:
        msg = f"what was kept is no verdict's heads ({error})"
        raise Misuse(
            msg,
            step="give the heads of an earlier verdict, {thread: (row, hash)}",
            command="keep what `dalsegno audit verify --json` writes",
        ) from error


def _raise_from(cause: BaseException | None, action: Action) -> None:
    if cause is not None:
        raise ActionOutcomeUnknown(
            action.name, action_id=action.action_id, known=action.error or "", reconciler=told_of(cause)
        ) from cause


def _version(asked: str, seen: Action) -> int:
    """The version a decision counts for: the ticket's, or the one that was just read."""
    if ":" not in asked:
        return seen.version
    version = version_in(asked)
    if version is None:
        msg = f"{asked!r} is no ticket; copy it as it was shown"
        raise Misuse(msg)
    if version != seen.version:
        raise ActionMoved(seen.name, action_id=seen.action_id, state=seen.state, why="it has moved since it was shown")
    return version


def _state(state: State | str | None) -> State | None:
    if state is None:
        return None
    try:
        return State(state)
    except ValueError:
        msg = f"state={state!r}: an action is {', '.join(State)}"
        raise Misuse(msg) from None
