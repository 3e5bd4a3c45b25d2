"""How a function's calls are actions: what they do, which of them are the same, who has to approve, who can look.

Rules of this module:

* A send always has its recipient in the key. One whose recipient nobody named is refused where it is declared.
* A business key is text that the caller's data has; a blank one would make all calls one action, so it is refused.
* Values are checked when a policy is built. Pure values: no clock, no I/O.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from dalsegno.core.actions import ActionKind
from dalsegno.core.arguments import ActionScope, Call, canonical_tree
from dalsegno.errors import Misuse

__all__ = ["ActionPolicy", "Approval", "Found", "Happened", "NotHappened", "Reconciler", "call_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """A reconciler's word: the outside system has it.

    Attributes:
        result: what the call came back with, or as much of it as can be found out.
        why: how that is known.
    """

    result: Any = None
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotHappened:
    """A reconciler's word: the outside system does not have it and will not get it any more; it may be done.

    Attributes:
        why: how that is known.
    """

    why: str | None = None


Found: TypeAlias = Happened | NotHappened | None
"""What a reconciler found out; None when it cannot tell."""

Reconciler: TypeAlias = Callable[[Any], Found | Awaitable[Found]]
"""Takes the `Action` whose end is unknown and asks the outside system about it. It changes nothing there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """When someone has to approve an action before it is done.

    Attributes:
        when: takes the arguments by name; None asks always.
        expires: how long an approval counts after it was given; None for ever.
    """

    when: Callable[[Mapping[str, Any]], bool] | None = None
    expires: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionPolicy:
    """How calls of one function or tool are actions.

    Attributes:
        kind: what they do to the world: `create`, `send`, `update` or `delete`.
        scope: `step` (the tool call; in a node without one, the node's task) or `thread` (once a thread and arguments).
        key: the caller's business key instead of a scope: the name of a parameter, or a function of the arguments.
        recipient: of a send, who gets it: the name of a parameter, or a function of the arguments.
        reconcile: asks the outside system about an action whose end is unknown.
        reconcile_within: how long it may take; then it counts as one that cannot tell.
        approve: whether someone has to approve first: True, or an `Approval`.
        lease: how long a start counts as alive when its process falls silent. A longer call is kept alive.
        unclear: exceptions that leave open whether the effect happened, such as a time-out; the action is then unknown.
    """

    kind: ActionKind | str
    scope: ActionScope | str = ActionScope.STEP
    key: str | Callable[[Mapping[str, Any]], Any] | None = None
    recipient: str | Callable[[Mapping[str, Any]], Any] | None = None
    reconcile: Reconciler | None = None
    reconcile_within: timedelta = timedelta(seconds=30)
    approve: bool | Approval = False
    lease: timedelta = timedelta(seconds=60)
    unclear: tuple[type[Exception], ...] = ()

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "kind", ActionKind(self.kind))
        except ValueError:
            msg = f"kind={self.kind!r}: an action is one of {', '.join(ActionKind)}; reading is none"
            raise Misuse(msg) from None
        if self.scope not in (ActionScope.STEP, ActionScope.THREAD):
            msg = f"scope={self.scope!r}: use 'step' or 'thread', or give a business key with key="
            raise Misuse(msg)
        if self.kind == ActionKind.SEND and self.recipient is None:
            msg = "a send has its recipient in its key; say who gets it with recipient='name of the parameter'"
            raise Misuse(msg)
        for name in ("key", "recipient"):
            pick: object = getattr(self, name)
            if not (pick is None or isinstance(pick, str) or callable(pick)):
                msg = f"{name}={pick!r}: give the name of a parameter, or a function of the arguments"
                raise Misuse(msg)
        for name in ("lease", "reconcile_within"):
            if not isinstance(getattr(self, name), timedelta) or getattr(self, name) <= timedelta(0):
                msg = f"{name}={getattr(self, name)!r}: give a timedelta longer than nothing"
                raise Misuse(msg)

    def check(self, name: str, parameters: Collection[str]) -> None:
        """Refuse a policy that names a parameter which a function does not have.

        Args:
            name: the action's name.
            parameters: what the function takes, without what callers do not give.

        Raises:
            Misuse: `key` or `recipient` names none of them.
        """
        for what in ("key", "recipient"):
            pick = getattr(self, what)
            if isinstance(pick, str) and pick not in parameters:
                has = f"its parameters are {', '.join(parameters)}" if parameters else "it has no parameters"
                msg = f"{what}={pick!r}: action {name!r} takes nothing of that name; {has}"
                raise Misuse(msg)

    def asks(self, arguments: Mapping[str, Any]) -> bool:
        """Whether someone has to approve a call with these arguments."""
        if isinstance(self.approve, Approval):
            return self.approve.when is None or bool(self.approve.when(arguments))
        return self.approve

    @property
    def expires(self) -> timedelta | None:
        """How long an approval counts."""
        return self.approve.expires if isinstance(self.approve, Approval) else None


def call_of(policy: ActionPolicy, name: str, arguments: Mapping[str, Any], step: str | None) -> Call:
    """The call that a function's arguments make.

    Args:
        policy: how its calls are actions.
        name: the action's name.
        arguments: by parameter, defaults filled in.
        step: the id of the step that makes the call, where there is one.

    Raises:
        Misuse: the step, the business key or the recipient is missing.
        NotCanonical: an argument has no canonical form.
    """
    recipient = None
    if policy.recipient is not None:
        found = _picked(policy.recipient, arguments, name, "recipient")
        if found is None or found in ("", []):
            msg = f"action {name!r}: its recipient is empty; nothing was recorded"
            raise Misuse(msg)
        recipient = [canonical_tree(found, "recipient")]
    scope, anchor = ActionScope(policy.scope), None
    if policy.key is not None:
        scope, anchor = ActionScope.KEY, _picked(policy.key, arguments, name, "key")
        if not isinstance(anchor, str) or not anchor.strip():
            msg = f"action {name!r}: its business key is {anchor!r}; a key is text that is not blank"
            raise Misuse(msg)
    elif scope is ActionScope.STEP:
        if step is None:
            msg = f"action {name!r}: no step is known here; say ds.actions.within(thread_id, step=…), or scope='thread'"
            raise Misuse(msg)
        anchor = step
    return Call(name=name, scope=scope, anchor=anchor, arguments=canonical_tree(dict(arguments)), recipient=recipient)


def _picked(pick: str | Callable[[Mapping[str, Any]], Any], arguments: Mapping[str, Any], name: str, what: str) -> Any:
    if callable(pick):
        return pick(arguments)
    if pick not in arguments:
        msg = f"action {name!r}: {what}={pick!r} names no argument; it has {', '.join(arguments) or 'none'}"
        raise Misuse(msg)
    return arguments[pick]
