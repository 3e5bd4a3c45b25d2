"""What compaction is told, checked when it is told: each wrong word is refused with the right one.

Rules of this module:

* An option that does not exist is refused, never let pass: a misspelt `summarizer=` would mean no summarizer at all.
* Values are checked where they are given, not when a compaction is due some hundred messages later.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from difflib import get_close_matches
from numbers import Real
from typing import Any, TypedDict

from langchain_core.runnables import Runnable
from langgraph.checkpoint.base import BaseCheckpointSaver

from dalsegno.contracts import Summarizer, TokenCounter
from dalsegno.core.compaction import CompactionPolicy
from dalsegno.core.summary import Summary
from dalsegno.errors import Misuse
from dalsegno.langgraph.turns import Pending

__all__ = [
    "How",
    "check_count",
    "check_database",
    "check_how",
    "check_keys",
    "check_kind",
    "check_messages",
    "check_options",
    "check_policy",
    "check_request",
    "check_tokens",
    "how_with",
    "summary_of",
]


class How(TypedDict, total=False):
    """Who writes digests and how messages are counted.

    Attributes:
        summarizer: writes digests: a chat model, or a `Summarizer`. Left out, the one that `dalsegno.connect` was given
            writes them where there is a `ds`; without one, or for None, they are the messages' own words.
        timeout: for all pieces of one digest, in seconds or as a timedelta; 60 seconds.
        fallback: tell a span in its own words when the summarizer fails, instead of leaving all as it was.
        count: tokens of a text.
        pending: tells whether a message awaits an approval and has to stay.
    """

    summarizer: Summarizer | Runnable[Any, Any] | None
    timeout: timedelta | float
    fallback: bool
    count: TokenCounter
    pending: Pending | None


_POLICY = tuple(field.name for field in fields(CompactionPolicy))
_ELSEWHERE = {
    "keep": "policy=CompactionPolicy(keep_recent=…)",
    "model": "summarizer=",
    "token_counter": "count=",
    "trigger": "policy=CompactionPolicy(max_tokens=…) or CompactionPolicy(max_messages=…)",
}
"""What others call it."""


def check_options(face: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Refuse options that a face does not have.

    Args:
        face: the function that takes them, beside its own parameters.
        given: its further keyword arguments.

    Raises:
        Misuse: one is unknown; the nearest right one is named.
    """
    own = [
        name
        for name, parameter in inspect.signature(face).parameters.items()
        if name != "self" and parameter.kind is not parameter.VAR_KEYWORD
    ]
    known = [*own, *How.__annotations__]
    for name in given:
        if name not in How.__annotations__:
            raise Misuse(f"unknown option {name!r}; {_instead(name, given, known)}.")


def _instead(name: str, given: Mapping[str, Any], known: Sequence[str]) -> str:
    if name in _POLICY:
        settings = {each: value for each, value in given.items() if each in _POLICY}
        return f"it is part of the policy: policy={_written(settings)}"
    if name in _ELSEWHERE:
        return f"write {_ELSEWHERE[name]}"
    near = next(iter(get_close_matches(name, [*known, *_POLICY], n=1)), None)
    if near is None:
        return f"there are {', '.join(known)}"
    return f"write {near}=" if near in known else f"write policy={_written({near: given[name]})}"


def _written(settings: Mapping[str, Any]) -> str:
    """The policy with these settings, as it is written; one that keeps fewer where they leave nothing to take."""
    least, most = CompactionPolicy().keep_recent, settings.get("max_messages")
    if isinstance(most, int) and 1 < most <= least and "keep_recent" not in settings:
        settings = {**settings, "keep_recent": most // 2}
    return f"CompactionPolicy({', '.join(f'{name}={value!r}' for name, value in settings.items())})"


def check_policy(policy: Any) -> CompactionPolicy:
    """The policy, or the default one for None.

    Raises:
        Misuse: it is something else.
    """
    if policy is None:
        return CompactionPolicy()
    if isinstance(policy, CompactionPolicy):
        return policy
    settings: Mapping[str, Any] = {"max_messages": 20}
    if isinstance(policy, int) and not isinstance(policy, bool) and policy > 1:
        settings = {"max_messages": policy}
    elif isinstance(policy, Mapping) and policy and policy.keys() <= set(_POLICY):
        settings = policy
    raise Misuse(f"policy={policy!r} is no policy; write {_written(settings)}.")


def check_database(ds: Any) -> None:
    """Refuse what is no open database.

    Raises:
        Misuse: it has no journal to read.
    """
    journal = getattr(ds, "journal", None)
    if callable(getattr(journal, "read", None)) and callable(getattr(journal, "aread", None)):
        return
    if isinstance(ds, BaseCheckpointSaver):
        raise Misuse(
            f"ds is given a checkpointer ({type(ds).__name__}), not a database; with ds = dalsegno.connect(…), write "
            "ds=ds here and checkpointer=ds.checkpointer when the graph is compiled."
        )
    raise Misuse(f"ds={ds!r} is no open database; give what dalsegno.connect(url) returns.")


def how_with(ds: Any, how: How) -> How:
    """The options, with the database's summarizer where they name none; `summarizer=None` names none on purpose.

    Args:
        ds: an open database, or None.
        how: what was given.

    Raises:
        Misuse: no database.
    """
    if ds is None:
        return how
    check_database(ds)
    if "summarizer" in how or (summarizer := getattr(ds, "summarizer", None)) is None:
        return how
    return {**how, "summarizer": summarizer}


def check_how(how: How) -> None:
    """Refuse values that no option may have; time and summarizer are checked by `Writing`.

    Raises:
        Misuse: a value of the wrong kind.
    """
    check_count(how.get("count"))
    given: Mapping[str, Any] = how
    if (pending := given.get("pending")) is not None and not callable(pending):
        raise Misuse(f"pending={pending!r}: give a function from a message to True or False.")
    if not isinstance(fallback := given.get("fallback", False), bool):
        raise Misuse(f"fallback={fallback!r}: give True or False.")


def check_count(count: Any) -> None:
    """Refuse what does not count tokens; None stands for the estimate.

    Raises:
        Misuse: no function from text to a number.
    """
    if count is None:
        return
    if not callable(count):
        raise Misuse(f"count={count!r}: give a function from a text to its number of tokens.")
    found = count("tokens")
    if isinstance(found, bool) or not isinstance(found, Real):
        raise Misuse(f"count answers with {type(found).__name__}; give a function from a text to a number of tokens.")


def check_messages(messages: Any) -> Sequence[Any]:
    """The messages.

    Raises:
        Misuse: no list of them.
    """
    if isinstance(messages, Mapping) and "messages" in messages:
        raise Misuse("this is a whole state; give its list, state['messages'].")
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
        raise Misuse(f"the messages are {type(messages).__name__}; give a list of messages, oldest first.")
    return messages


def check_request(system: Any, tools: Any) -> None:
    """Refuse instructions and tools that cannot be counted.

    Raises:
        Misuse: instructions that are no text, tools that are no list.
    """
    if not isinstance(system, str):
        raise Misuse(f"system={system!r}: give the instructions as text, or leave it out.")
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Sequence):
        raise Misuse(f"tools={tools!r}: give a list of tool schemas, or leave it out.")


def check_tokens(name: str, given: Any) -> None:
    """Refuse what is no number of tokens.

    Raises:
        Misuse: no whole number, or one below 0.
    """
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise Misuse(f"{name}={given!r}: give a whole number of tokens, 0 or more.")


def check_keys(messages_key: Any, summary_key: Any) -> None:
    """Refuse names that no two channels can have.

    Raises:
        Misuse: no name, or one name for both.
    """
    for name, key in (("messages_key", messages_key), ("summary_key", summary_key)):
        if not isinstance(key, str) or not key:
            raise Misuse(f"{name}={key!r}: give the name of a channel of the graph's state.")
    if messages_key == summary_key:
        raise Misuse(f"messages_key and summary_key are both {summary_key!r}; the summary needs a channel of its own.")


def summary_of(value: Any, place: str = "summary") -> Summary:
    """A summary, or the JSON of one; an empty one for None.

    Args:
        value: what stands where a summary belongs.
        place: where that is, for the error.

    Raises:
        Misuse: it is no summary at all. Whatever stands there is nobody's to overwrite.
        Damaged: it is one that cannot be read.
    """
    if isinstance(value, Summary):
        return value
    check_kind(value, place)
    if value and "version" not in value:
        raise Misuse(
            f"{place} holds {', '.join(sorted(map(str, value))[:4])} and is no summary; give a Summary, or the JSON "
            "that its to_json() wrote."
        )
    return Summary.from_json(value)


def check_kind(value: object, place: str = "summary") -> None:
    """Refuse what is no summary at first sight, without reading it.

    Raises:
        Misuse: it is neither a summary nor a mapping.
    """
    if value is not None and not isinstance(value, (Summary, Mapping)):
        raise Misuse(f"{place} is {type(value).__name__}; give a Summary, or the JSON that its to_json() wrote.")
