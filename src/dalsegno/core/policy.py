"""When a conversation is compacted, and whether it is worth it.

Rules of this module:

* Two triggers, either suffices: more messages than `max_messages`, or more tokens than the limit. Tokens are those of
  the *whole* request: instructions, summary and tool schemas count. A share of the model's window may stand in for
  the number.
* A compaction takes everything it may take (`core/cuts.py`), so that the next one is far off; a second one straight
  after it finds nothing to take.
* One that would take too little does not run: it must take at least `min_saving` of what pulled the trigger, of the
  messages or of the tokens. So a huge message that has to stay does not make every turn compact.
* Values are checked when a policy is built. No clock, no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from dalsegno.core.cuts import Cut, Turn, cut
from dalsegno.errors import Misuse

__all__ = ["CompactionPolicy", "Plan", "Trigger", "plan", "triggers"]


class Trigger(StrEnum):
    """What called for a compaction."""

    MESSAGES = "messages"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPolicy:
    """When to compact and how much to keep.

    Attributes:
        max_messages: more messages than this call for a compaction; None for no such trigger.
        max_tokens: more tokens of the whole request than this do; None for no such trigger.
        keep_recent: how many of the newest messages stay word for word, at least.
        begin_with_user: whether what stays begins with the user message that opened its first turn, one more than
            `keep_recent` where that is an answer; several providers refuse a list that begins with one.
        window: tokens the model takes in all; given together with `share`.
        share: part of the window, above 0 and at most 1, that stands in for `max_tokens`.
        min_saving: part of what pulled the trigger that a compaction must take, from 0 to 1.
        digest_tokens: what the text of a summary may cost in a request.
        fact_tokens: what the facts shown beside it may cost; the table itself keeps them all.
    """

    max_messages: int | None = 20
    max_tokens: int | None = 8000
    keep_recent: int = 6
    begin_with_user: bool = True
    window: int | None = None
    share: float | None = None
    min_saving: float = 0.1
    digest_tokens: int = 1500
    fact_tokens: int = 1000

    def __post_init__(self) -> None:
        for name in ("max_messages", "max_tokens", "window"):
            _check_count(name, getattr(self, name), least=1, optional=True)
        for name, least in (("keep_recent", 1), ("digest_tokens", 100), ("fact_tokens", 0)):
            _check_count(name, getattr(self, name), least=least)
        _check_part("min_saving", self.min_saving)
        if not isinstance(self.begin_with_user, bool):
            raise Misuse(f"begin_with_user={self.begin_with_user!r}: give True or False.")
        if (self.window is None) != (self.share is None):
            raise Misuse("window and share go together: give both, or neither and max_tokens.")
        if self.share is not None:
            _check_part("share", self.share)
            if self.token_limit == 0:
                raise Misuse(f"share={self.share} of window={self.window} is no token at all; give more.")
        if self.max_messages is None and self.token_limit is None:
            raise Misuse("a policy without max_messages, max_tokens and window never compacts; give one of them.")
        if self.max_messages is not None and self.max_messages <= self.keep_recent:
            raise Misuse(
                f"max_messages={self.max_messages} with keep_recent={self.keep_recent} leaves nothing to take; "
                "keep fewer than call for a compaction."
            )

    @property
    def token_limit(self) -> int | None:
        """More tokens than this call for a compaction: the share of the window, or `max_tokens`."""
        if self.window is not None and self.share is not None:
            return int(self.window * self.share)
        return self.max_tokens

    def to_json(self) -> dict[str, Any]:
        """The policy as plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> CompactionPolicy:
        """The policy that `to_json` wrote; settings of a later version are let pass.

        Raises:
            Misuse: a value that no policy may have.
        """
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in tree.items() if name in known})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A compaction that is worth it.

    Attributes:
        cut: what stays and what goes.
        by: what called for it, at least one.
        tokens: of the whole request before.
        evicted_tokens: of what goes.
        saving: fewest tokens it must save once the new summary is counted; None when messages, not tokens, are to be
            fewer.
    """

    cut: Cut
    by: tuple[Trigger, ...]
    tokens: int
    evicted_tokens: int
    saving: int | None


def triggers(policy: CompactionPolicy, *, messages: int, tokens: int) -> tuple[Trigger, ...]:
    """What calls for a compaction.

    Args:
        policy: the limits.
        messages: how many there are.
        tokens: of the whole request.
    """
    limits = {Trigger.MESSAGES: (messages, policy.max_messages), Trigger.TOKENS: (tokens, policy.token_limit)}
    return tuple(trigger for trigger, (found, limit) in limits.items() if limit is not None and found > limit)


def plan(turns: Sequence[Turn], policy: CompactionPolicy, *, other_tokens: int = 0, force: bool = False) -> Plan | None:
    """Decide whether and where to compact.

    Args:
        turns: the whole conversation, each with its tokens.
        policy: limits and amounts.
        other_tokens: of the request beside these messages: instructions, summary, tool schemas.
        force: compact without a trigger and however little it takes, as when a person asks for it.

    Returns:
        The plan; None when nothing calls for it, nothing may go, or too little would.
    """
    tokens = other_tokens + sum(turn.tokens for turn in turns)
    by = triggers(policy, messages=len(turns), tokens=tokens)
    if not by and not force:
        return None
    where = cut(turns, policy.keep_recent, begin_with_user=policy.begin_with_user)
    gone = sum(turns[at].tokens for at in where.evicted)
    enough = {
        Trigger.MESSAGES: len(where.evicted) >= policy.min_saving * len(turns),
        Trigger.TOKENS: gone >= policy.min_saving * tokens,
    }
    if not where.evicted or not (force or any(enough[trigger] for trigger in by)):
        return None
    saves = Trigger.TOKENS in by and not (Trigger.MESSAGES in by and enough[Trigger.MESSAGES]) and not force
    return Plan(
        cut=where,
        by=by,
        tokens=tokens,
        evicted_tokens=gone,
        saving=max(1, int(policy.min_saving * tokens)) if saves else None,
    )


def _check_count(name: str, value: object, *, least: int, optional: bool = False) -> None:
    if optional and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise Misuse(f"{name}={value!r}: give a whole number of at least {least}{' or None' if optional else ''}.")


def _check_part(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise Misuse(f"{name}={value!r}: give a part between 0 and 1.")
