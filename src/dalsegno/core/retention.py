"""How long what is kept: policies, and what they say of a thread.

Rules of this module:

* A policy says what may go; any of its rules suffices, so adding a rule never keeps more. `at_least` holds against all
  of them.
* Of several policies the first that a thread's tags match decides about it, and no other is asked.
* The newest checkpoints of each namespace, the tip of each branch and the checkpoint it left from, and whatever is
  announced and not there yet stay, whatever a policy says. What a thread is still used for is asked elsewhere.
* Pure values: no clock, no I/O. Ages are told from the times that are given.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Final

from dalsegno.errors import Misuse

__all__ = ["CheckpointFact", "RetentionPolicy", "Thin", "duration", "leaving", "policy_for", "read_policies"]

_UNITS: Final = {
    "second": 1, "sec": 1, "s": 1, "minute": 60, "min": 60, "m": 60, "hour": 3600, "h": 3600, "day": 86400, "d": 86400,
    "week": 604800, "w": 604800,
}  # fmt: skip
_DURATION: Final = re.compile(r"\s*(an?|one|\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*(?:idle|old)?\s*", re.IGNORECASE)
_THIN: Final = re.compile(
    r"\s*(?:keep\s+)?(?:one|1)\s+(?:(?:every|per|each)\s+)?(.+?)\s+after\s+(.+?)\s*", re.IGNORECASE
)


def duration(text: object) -> timedelta:
    """A span of time in words: `30 days`, `an hour`, `12h`.

    Raises:
        Misuse: it is none, or not longer than nothing.
    """
    if isinstance(text, timedelta):
        return text
    found = _DURATION.fullmatch(text) if isinstance(text, str) else None
    unit = None if found is None else _UNITS.get(found[2].lower(), _UNITS.get(found[2].lower() + "s"))
    if found is None or unit is None:
        msg = f"{text!r} is no span of time; write it as 30 days, an hour, 12h or 2 weeks"
        raise Misuse(msg)
    count = 1.0 if found[1].lower() in ("a", "an", "one") else float(found[1])
    if not count:
        msg = f"{text!r} is no time at all; write it as 30 days, an hour, 12h or 2 weeks"
        raise Misuse(msg)
    try:
        return timedelta(seconds=count * unit)
    except OverflowError:
        msg = f"{text!r} is longer than time is counted here; leave the rule out"
        raise Misuse(msg) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thin:
    """From an age on, one checkpoint an interval stays: the newest in it.

    Attributes:
        after: from this age on.
        every: the interval; intervals are counted from 1970-01-01 UTC, so that they are the same on every run.
    """

    after: timedelta
    every: timedelta

    def __post_init__(self) -> None:
        """Check the spans."""
        _positive("after", self.after)
        _positive("every", self.every)

    @classmethod
    def of(cls, told: object) -> Thin:
        """A rule in words, such as `one an hour after a day`, or as a mapping with `every` and `after`.

        Raises:
            Misuse: it is none.
        """
        if isinstance(told, Thin):
            return told
        if isinstance(told, Mapping) and told.keys() == {"every", "after"}:
            return cls(after=duration(told["after"]), every=duration(told["every"]))
        found = _THIN.fullmatch(told) if isinstance(told, str) else None
        if found is None:
            msg = f"{told!r} is no rule for thinning; write it as: one an hour after a day"
            raise Misuse(msg)
        return cls(after=duration(found[2]), every=duration(found[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """What may go, and of which threads.

    Attributes:
        name: for reports.
        tags: only threads with one of these tags; none means every thread.
        without_tags: no thread with one of these tags.
        keep_latest: all checkpoints but this many newest of each namespace go.
        max_age: checkpoints older than this go.
        thin: of checkpoints from an age on, all but one an interval go.
        expire_after: a thread that nothing was written to for so long goes whole.
        at_least: so many of the newest checkpoints of each namespace stay, whatever the other rules say.
    """

    name: str = "policy"
    tags: frozenset[str] = frozenset()
    without_tags: frozenset[str] = frozenset()
    keep_latest: int | None = None
    max_age: timedelta | None = None
    thin: tuple[Thin, ...] = ()
    expire_after: timedelta | None = None
    at_least: int = 1

    def __post_init__(self) -> None:
        """Check every value."""
        for field in ("tags", "without_tags"):
            value = getattr(self, field)
            if isinstance(value, str) or not all(isinstance(each, str) and each.strip() for each in value):
                msg = f"{field}={value!r}: give a set of words that are not blank"
                raise Misuse(msg)
            object.__setattr__(self, field, frozenset(value))
        if self.tags and self.tags <= self.without_tags:
            both = ", ".join(map(repr, sorted(self.tags)))
            msg = f"policy {self.name!r} is about no thread at all: tags and without_tags both name {both}"
            raise Misuse(msg, step="take it out of one of them", command="leave one of them out")
        for field in ("keep_latest", "at_least"):
            value = getattr(self, field)
            if value is not None and (type(value) is not int or value < 1):
                msg = f"{field}={value!r}: the newest checkpoint always stays, so 1 or more"
                raise Misuse(msg)
        for field in ("max_age", "expire_after"):
            if getattr(self, field) is not None:
                _positive(field, getattr(self, field))
        object.__setattr__(self, "thin", tuple(sorted(map(Thin.of, self.thin), key=lambda each: each.after)))
        if self.keep_latest is None and self.max_age is None and not self.thin and self.expire_after is None:
            msg = f"policy {self.name!r} has no rule"
            raise Misuse(msg, step="give keep_latest, max_age, thin or expire_after")

    @classmethod
    def of(cls, told: Mapping[str, Any], name: str = "policy") -> RetentionPolicy:
        """A policy as a file tells it: the same words, spans of time and thinning in words.

        Raises:
            Misuse: a word is unknown or a value is wrong.
        """
        known = {field.name for field in fields(cls)}
        if unknown := told.keys() - known:
            msg = f"policy {told.get('name', name)!r}: unknown {min(unknown)!r}; use {', '.join(sorted(known))}"
            raise Misuse(msg)
        values = {"name": name, **told}
        for field in ("max_age", "expire_after"):
            if values.get(field) is not None:
                values[field] = duration(values[field])
        thin = values.get("thin", ())
        values["thin"] = (thin,) if isinstance(thin, (str, Mapping)) else tuple(thin)
        for field in ("tags", "without_tags"):
            value = values.get(field, ())
            values[field] = frozenset([value] if isinstance(value, str) else value)
        return cls(**values)

    def covers(self, tags: Iterable[str]) -> bool:
        """Whether the policy is about a thread with these tags."""
        found = set(tags)
        return (not self.tags or bool(self.tags & found)) and not self.without_tags & found


def _positive(name: str, span: object) -> None:
    if not isinstance(span, timedelta) or span <= timedelta(0):
        msg = f"{name}={span!r}: give a timedelta longer than nothing, such as timedelta(days=30)"
        raise Misuse(msg)


def read_policies(text: str, *, kind: str = "toml") -> tuple[RetentionPolicy, ...]:
    """Policies from the text of a file: tables `[[policy]]`, or in JSON `{"policy": [{…}, …]}`.

    Args:
        text: the file's text.
        kind: `toml` or `json`.

    Raises:
        Misuse: the text is not of its kind, or says something else.
    """
    try:
        told = tomllib.loads(text) if kind == "toml" else json.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        msg = f"no {kind.upper()}: {error}"
        raise Misuse(msg) from error
    entries = told.get("policy") if isinstance(told, dict) else None
    entries = [entries] if isinstance(entries, dict) else entries
    if not isinstance(entries, list) or not entries or not all(isinstance(each, dict) for each in entries):
        msg = "no policies in it; write [[policy]] above each, with keep_latest, max_age, thin or expire_after below"
        raise Misuse(msg)
    if unknown := told.keys() - {"policy"}:
        msg = f"unknown {min(unknown)!r} beside the policies; write [[policy]] above each"
        raise Misuse(msg)
    return tuple(RetentionPolicy.of(each, f"policy {number}") for number, each in enumerate(entries, 1))


def policy_for(policies: Sequence[RetentionPolicy], tags: Iterable[str]) -> RetentionPolicy | None:
    """The first policy that is about a thread with these tags."""
    found = frozenset(tags)
    return next((policy for policy in policies if policy.covers(found)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFact:
    """A checkpoint as a policy sees it.

    Attributes:
        number: rises in the order of putting.
        namespace: number of its namespace.
        branch: number of its branch.
        at: its time.
        stored: False for one that is announced and not there yet.
    """

    number: int
    namespace: int
    branch: int
    at: datetime
    stored: bool = True


def leaving(
    policy: RetentionPolicy, checkpoints: Iterable[CheckpointFact], now: datetime, forks: Iterable[int] = ()
) -> dict[int, str]:
    """Numbers of the checkpoints that may go, each with the reason.

    Args:
        policy: what may go.
        checkpoints: all of a thread.
        now: the time to tell ages by.
        forks: numbers of checkpoints that a branch left from.
    """
    rows = sorted((each for each in checkpoints if each.stored), key=lambda each: each.number, reverse=True)
    gone: dict[int, str] = {}
    ranks: dict[int, int] = {}
    tips: set[tuple[int, int]] = set()
    taken: set[tuple[int, int, int]] = set()
    roots = frozenset(forks)
    for row in rows:
        rank = ranks[row.namespace] = ranks.get(row.namespace, 0) + 1
        tip = (row.namespace, row.branch) not in tips
        tips.add((row.namespace, row.branch))
        reason = _reason(policy, row, now, rank, taken)
        if reason is not None and rank > policy.at_least and not tip and row.number not in roots:
            gone[row.number] = reason
    return gone


def _reason(
    policy: RetentionPolicy, row: CheckpointFact, now: datetime, rank: int, taken: set[tuple[int, int, int]]
) -> str | None:
    """Why a checkpoint may go; notes in `taken` which intervals have their newest. Rows come newest first."""
    age = now - row.at
    if policy.max_age is not None and age > policy.max_age:
        return f"older than {_told(policy.max_age)}"
    thin = next((each for each in reversed(policy.thin) if age > each.after), None)
    if thin is not None:
        interval = (
            row.namespace,
            int(thin.every.total_seconds() * 1000),
            int(row.at.timestamp() / thin.every.total_seconds()),
        )
        if interval in taken:
            return f"one per {_told(thin.every)} after {_told(thin.after)}"
        taken.add(interval)
    if policy.keep_latest is not None and rank > policy.keep_latest:
        return f"beyond the newest {policy.keep_latest}"
    return None


def _told(span: timedelta) -> str:
    seconds = span.total_seconds()
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size and seconds % size == 0:
            count = int(seconds // size)
            return f"{count} {unit}" + ("s" if count > 1 else "")
    return f"{seconds:g} s"
