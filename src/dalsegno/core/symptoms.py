"""What is wrong with a thread that lives: rules over what was read of it.

Rules of this module:

* Each rule is a function from facts to symptoms. A symptom says what is seen, with coordinates and numbers, and what to
  do next. What is only likely is said to be so.
* A rule stays silent where the facts do not carry it: a healthy thread has no symptoms.
* Pure: facts are collected elsewhere (`faces/doctor.py`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Final, TypeAlias

from dalsegno.core.effects import is_effect

__all__ = [
    "ActionFacts",
    "BesideFacts",
    "CallFacts",
    "LostFacts",
    "StepFacts",
    "Symptom",
    "TextFacts",
    "ThreadFacts",
    "examine",
]

MOST_MESSAGES: Final = 60
"""Three times the messages at which compaction sets in by default."""
MOST_TOKENS: Final = 24_000
"""Three times the tokens at which it does."""
FEWEST_STEPS: Final = 12
"""Fewer steps show no trend."""
RISE: Final = 4
"""How many times as much the last third of the steps has to bring as the first."""
LEAST_BYTES: Final = 4096
"""A step that brings less is no burden, whatever it grew from."""
NEAR: Final = timedelta(minutes=30)
"""Between two threads that may be one conversation."""
LEFT: Final = timedelta(minutes=5)
"""After which a run that nobody holds counts as left behind."""
_TURNS: Final = 3
_OPENING: Final = 8
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LostFacts:
    """What one task wrote to a list and the next checkpoint does not have, while it has what a sibling wrote.

    Attributes:
        field: the list.
        lost: the task whose elements are missing, by its node or path.
        kept: the sibling whose elements are there.
        elements: how many are missing.
    """

    field: str
    lost: str
    kept: str
    elements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """One checkpoint of the root graph.

    Attributes:
        checkpoint_id: its id.
        step: LangGraph's number.
        at: when it was made.
        new_bytes: what it brought, by field; None for the oldest that was read, whose parent was not.
        messages: how many messages its lists hold.
        waiting: nodes that wait to run.
        asks: questions that wait for an answer.
        failed: tasks that raised.
        lost: what its own step lost on the way into it.
    """

    checkpoint_id: str
    step: int | None
    at: datetime
    new_bytes: Mapping[str, int] | None = None
    messages: int = 0
    waiting: Sequence[str] = ()
    asks: int = 0
    failed: int = 0
    lost: Sequence[LostFacts] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """A tool call in the journal.

    Attributes:
        coordinate: of its event.
        name: of the tool.
        arguments: in canonical form.
        results: coordinates of the results that it has.
        failed: whether the last of them tells of an error, so that the call may well be made again.
    """

    coordinate: str
    name: str
    arguments: str
    results: Sequence[str] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionFacts:
    """An action in the ledger: its id, name, arguments in canonical form, where it stands, and since when."""

    action_id: str
    name: str
    arguments: str
    state: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideFacts:
    """Another thread of the same owner, made near this one in time.

    Attributes:
        thread_id: its id.
        created_at, updated_at: its first and last write.
        events: how many it has.
        opening: its first words.
    """

    thread_id: str
    created_at: datetime
    updated_at: datetime
    events: int
    opening: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFacts:
    """A text that stands in the newest state outside of what was said.

    Attributes:
        place: where.
        text: what it says.
        is_rule: whether it is a system message, which holds a program's own rules.
    """

    place: str
    text: str
    is_rule: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadFacts:
    """A thread, as far as it was read.

    Attributes:
        thread_id: its id.
        owner: its user, if it has one.
        now: the database's clock.
        created_at, updated_at: its first and last write.
        events: how many it has.
        opening: its first words.
        leased: whether a run holds it.
        steps: checkpoints of the root graph, oldest first, the newest of them all.
        message_tokens: of the messages in the newest state, about.
        summaries: how many there are.
        calls: tool calls in the journal, oldest first.
        actions: of the ledger.
        beside: threads near it.
        texts: of the newest state.
    """

    thread_id: str
    now: datetime
    created_at: datetime
    updated_at: datetime
    owner: str | None = None
    events: int = 0
    opening: str = ""
    leased: bool = False
    steps: Sequence[StepFacts] = ()
    message_tokens: int = 0
    summaries: int = 0
    calls: Sequence[CallFacts] = ()
    actions: Sequence[ActionFacts] = ()
    beside: Sequence[BesideFacts] = ()
    texts: Sequence[TextFacts] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """One thing that is wrong, or likely is.

    Attributes:
        rule: id of the rule.
        what: what is seen and what it leads to.
        evidence: coordinates, checkpoints and numbers that show it.
        step: what to do next.
    """

    rule: str
    what: str
    evidence: Sequence[str] = field(default_factory=tuple)
    step: str


Rule: TypeAlias = Callable[[ThreadFacts], Iterator[Symptom]]


def examine(thread: ThreadFacts) -> list[Symptom]:
    """Every symptom of a thread, the gravest first."""
    return [symptom for rule in RULES for symptom in rule(thread)]


def _unknown(thread: ThreadFacts) -> Iterator[Symptom]:
    found = [each for each in thread.actions if each.state == "unknown"]
    if found:
        first = found[0].action_id[:12]
        yield Symptom(
            rule="unknown-action",
            what=f"of {_counted(len(found), 'action')} nobody knows whether it was done, and its branch waits for that",
            evidence=[f"{each.name} {each.action_id[:12]}, since {_time(each.at)}" for each in found[:_SHOWN]],
            step=f"`dalsegno actions show {first}`, then `dalsegno actions resolve {first} succeeded|failed|retry`",
        )


def _twice(thread: ThreadFacts) -> Iterator[Symptom]:
    done: dict[tuple[str, str], list[ActionFacts]] = defaultdict(list)
    for each in thread.actions:
        if each.state == "succeeded":
            done[each.name, each.arguments].append(each)
    for (name, arguments), same in done.items():
        if len(same) > 1:
            yield Symptom(
                rule="same-effect-twice",
                what=f"{name} was done {len(same)} times with the same arguments, each as an action of its own",
                evidence=[
                    _cut(arguments),
                    *(f"action {each.action_id[:12]}, {_time(each.at)}" for each in same[:_SHOWN]),
                ],
                step="if once a thread is meant, give it scope='thread' or a business key (docs/actions.md)",
            )
    known = {each.name for each in thread.actions}
    calls: dict[tuple[str, str], list[CallFacts]] = defaultdict(list)
    for call in thread.calls:
        if is_effect(call.name) and call.name not in known and not call.failed:
            calls[call.name, call.arguments].append(call)
    for (name, arguments), same_calls in calls.items():
        again = [call for call in same_calls if len(call.results) > 1]
        if len(same_calls) > 1 or again:
            ran = f"asked for {len(same_calls)} times with the same arguments"
            if again:
                ran = f"answered {len(again[0].results)} times for one call"
            places = [at for call in same_calls for at in (call.coordinate, *(call.results if again else ()))]
            yield Symptom(
                rule="same-effect-twice",
                what=f"{name} was {ran}, and no ledger keeps it from being done each time",
                evidence=[_cut(arguments), *places[: _SHOWN + 1]],
                step=f"make {name} an action: ActionToolNode(…, actions={{{name!r}: ActionPolicy(kind=…)}})",
            )


def _lost(thread: ThreadFacts) -> Iterator[Symptom]:
    by_field: dict[str, list[tuple[StepFacts, LostFacts]]] = defaultdict(list)
    for step in thread.steps:
        for each in step.lost:
            by_field[each.field].append((step, each))
    for name, found in by_field.items():
        yield Symptom(
            rule="lost-in-parallel",
            what=f"`{name}` lost what nodes wrote side by side: only one of them is in the next checkpoint",
            evidence=[
                f"checkpoint {step.checkpoint_id}: {_counted(each.elements, 'element')} of {each.lost} gone, those of "
                f"{each.kept} there"
                for step, each in found[:_SHOWN]
            ],
            step=f"let its reducer keep both (`{name}: Annotated[list, operator.add]`) and nodes return only what is "
            "new; `dalsegno lint` finds such fields",
        )


def _left(thread: ThreadFacts) -> Iterator[Symptom]:
    if not thread.steps:
        return
    head = thread.steps[-1]
    age = thread.now - max(head.at, thread.updated_at)
    if not head.waiting or head.asks or thread.leased or age < LEFT:
        return
    why = f"{_counted(head.failed, 'task')} raised" if head.failed else "the run was stopped or died"
    yield Symptom(
        rule="unfinished-run",
        what=f"{', '.join(map(repr, head.waiting))} still to run for {_span(age)}, and no run holds the thread: {why}",
        evidence=[f"checkpoint {head.checkpoint_id}, step {head.step}, {_time(head.at)}"],
        step=f"dalsegno.resume(graph, {thread.thread_id!r}); a new input would discard what waits",
    )


def _growing(thread: ThreadFacts) -> Iterator[Symptom]:
    counts = [step.messages for step in thread.steps]
    if not counts or thread.summaries or any(b < a for a, b in pairwise(counts)):
        return
    tokens = thread.message_tokens
    if counts[-1] <= MOST_MESSAGES and tokens <= MOST_TOKENS:
        return
    yield Symptom(
        rule="growing-history",
        what=f"the state holds {counts[-1]} messages, about {tokens:,} tokens, and nothing was ever taken out: each "
        "call costs more than the last, and one day the window is full",
        evidence=[
            f"{counts[0]} messages at checkpoint {thread.steps[0].checkpoint_id}",
            f"{counts[-1]} messages at checkpoint {thread.steps[-1].checkpoint_id}",
            "no summary of this thread",
        ],
        step="add dalsegno.compaction_node(ds=ds) or ContinuityMiddleware (docs/compaction.md); the journal keeps all",
    )


def _rising(thread: ThreadFacts) -> Iterator[Symptom]:
    steps = [step for step in thread.steps if step.new_bytes is not None]
    if len(steps) < FEWEST_STEPS:
        return
    third = len(steps) // 3
    for name in sorted({name for step in steps for name in step.new_bytes or ()}):
        sizes = [(step.new_bytes or {}).get(name, 0) for step in steps]
        first, last = (median([size for size in part if size] or [0]) for part in (sizes[:third], sizes[-third:]))
        middle = median([size for size in sizes[third:-third] if size] or [0])
        if last < LEAST_BYTES or last < RISE * max(first, 1) or not first <= middle <= last:
            continue
        yield Symptom(
            rule="rising-bytes",
            what=f"`{name}` is written anew in whole and grows: a step brought {int(first):,} bytes of it at first and "
            f"{int(last):,} of late",
            evidence=[
                f"checkpoint {step.checkpoint_id}, step {step.step}: {(step.new_bytes or {}).get(name, 0):,} bytes"
                for step in (steps[0], steps[len(steps) // 2], steps[-1])
            ],
            step=f"make `{name}` a list that is appended to, or keep its body elsewhere and a reference in the state "
            "(docs/state-contract.md)",
        )


def _moved(thread: ThreadFacts) -> Iterator[Symptom]:
    opening = _folded(thread.opening)
    same = [
        each
        for each in thread.beside
        if len(opening) >= _OPENING and _folded(each.opening) == opening and _near(thread, each)
    ]
    if same:
        yield Symptom(
            rule="thread-id-changed",
            what="another thread of the same owner begins with the same words: the conversation may go on under a new "
            "id, where nothing of this one is known",
            evidence=[f"{_cut(thread.opening)}", *(_told(each) for each in same[:_SHOWN])],
            step="let the client keep one thread_id for a conversation; to go on here, send the next turn to "
            f"{thread.thread_id!r}",
        )
        return
    short = [each for each in thread.beside if each.events <= _TURNS and _near(thread, each)]
    if thread.owner is not None and thread.events <= _TURNS and len(short) >= _TURNS:
        yield Symptom(
            rule="thread-id-changed",
            what=f"{thread.owner!r} has {len(short) + 1} threads of a single turn within {_span(NEAR)}: the id may be "
            "made anew with each turn",
            evidence=[_told(each) for each in short[:_SHOWN]],
            step="make the thread_id once for a conversation and keep it with the client",
        )


_SOMEONE: Final = re.compile(
    r"\b(?:i|user|customer|client|she|he|they)\s+(?:really\s+|strongly\s+|always\s+)?"
    r"(?:prefers?|likes?|dislikes?|hates?|wants?\s+(?:all|every))\b"
    r"|\bplease (?:call|address) me\b|(?:用户|客户|我)(?:更)?(?:喜欢|偏好|希望以后|不喜欢|讨厌)",
    re.IGNORECASE,
)
"""What is true of someone."""
_ORDER: Final = re.compile(
    r"\b(?:always|never)\s+(?:answer|reply|respond|write|call|address|use|send|speak)\b"
    r"|\b(?:from now on|in (?:the )?future|going forward),?\s"
    r"|(?:以后|今后|从现在起)(?:都|请|一律|每次)|请(?:总是|始终|一直|永远)",
    re.IGNORECASE,
)
"""What is to be so for good; in a system message it is more likely the program's own rule."""
_KEY: Final = re.compile(
    r"(?:^|[._\[])(?:user_)?(?:preferences?|prefs|user_profile|likes|dislikes)(?:$|[.\[])", re.IGNORECASE
)


def _preference(thread: ThreadFacts) -> Iterator[Symptom]:
    found = [each for each in thread.texts if each.text and _prefers(each)]
    if found:
        yield Symptom(
            rule="preference-in-state",
            what="the state holds what seems to be true of the person beyond this conversation; the next thread will "
            "not know it, and this one will never learn that it changed",
            evidence=[f"{each.place}: {_cut(each.text)}" for each in found[:_SHOWN]],
            step="keep it in long-term memory under the user, and read it into the call from there",
        )


def _prefers(each: TextFacts) -> bool:
    if _SOMEONE.search(each.text) is not None:
        return True
    return not each.is_rule and bool(_KEY.search(each.place) or _ORDER.search(each.text))


RULES: Final[Sequence[Rule]] = (_unknown, _twice, _lost, _left, _growing, _rising, _moved, _preference)


# --- wording -----------------------------------------------------------------------------------------


def _near(thread: ThreadFacts, other: BesideFacts) -> bool:
    """Whether the gap between two threads, where they do not overlap, is short."""
    return other.created_at - thread.updated_at <= NEAR and thread.created_at - other.updated_at <= NEAR


def _told(other: BesideFacts) -> str:
    return f"thread {other.thread_id!r}, from {_time(other.created_at)}, {_counted(other.events, 'event')}"


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else f"{line[:119]}…"  # noqa: PLR2004 - a line of a terminal


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%SZ")


def _span(length: timedelta) -> str:
    minutes = int(length.total_seconds() // 60)
    if minutes < 120:  # noqa: PLR2004 - longer is said in hours
        return f"{minutes} minutes"
    return f"{minutes // 60} hours" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
