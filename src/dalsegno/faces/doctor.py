"""Reading a thread for its symptoms: how far, and in how many statements.

Rules of this module:

* A bounded number of statements, whatever the thread's length: the newest `STEPS` checkpoints of the root graph, the
  newest `EVENTS` events, `ACTIONS` actions, and as many threads beside it as `BESIDE`. What is older is not looked at.
* Only trees are read, and no class has to be known; nothing is written.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.items import (
    POOL,
    Range,
    elements_of,
    is_message,
    last_places,
    needs_of,
    places_of,
    put_back,
    ranges_over,
    size_of,
)
from dalsegno.core.journal import Kind, text_of_tree
from dalsegno.core.rights import GRANTED
from dalsegno.core.symptoms import (
    NEAR,
    ActionFacts,
    BesideFacts,
    CallFacts,
    LostFacts,
    StepFacts,
    Symptom,
    TextFacts,
    ThreadFacts,
    examine,
)
from dalsegno.core.tokens import estimate
from dalsegno.core.tree import canonical
from dalsegno.faces.checkpoints import infos_of
from dalsegno.services import inspect, reading
from dalsegno.services.access import admit_all
from dalsegno.services.action_rows import row_of
from dalsegno.services.frames import from_micros
from dalsegno.services.ids import pack_name, unpack_name
from dalsegno.services.lines import spans_of
from dalsegno.services.loading import Loaded, json_text, load
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope, find_thread

__all__ = ["Diagnosis", "diagnose"]

STEPS: Final = 60
EVENTS: Final = 400
ACTIONS: Final = 200
BESIDE: Final = 20
_TAIL: Final = 400
_FIRST: Final = 3
_TEXTS: Final = 300
_LONG: Final = 4000
_PUSH: Final = "~__pregel_push"
_ERROR: Final = re.compile(r"\W*(?:error|failed|failure|exception|traceback|错误|失败)\b", re.IGNORECASE)
_PULL: Final = "~__pregel_pull, "


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What was found of a thread.

    Attributes:
        thread_id: the thread.
        findings: the gravest first; none for a thread that is well.
        checkpoints, events, actions, threads: how many were read.
    """

    thread_id: str
    findings: Sequence[Symptom]
    checkpoints: int = 0
    events: int = 0
    actions: int = 0
    threads: int = 0

    @property
    def healthy(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


@sound
def diagnose(scope: Scope, name: str) -> Op[Diagnosis]:
    """Read a thread and say what is wrong with it; see `Threads.doctor`."""
    thread = yield from inspect.get_thread(scope, name)
    row = yield from find_thread(scope, name)
    clock = yield Step("now", {})
    rows = yield from reading.page(scope, name, ns="", before=None, limit=STEPS + 1)
    yield from reading.writes_of(rows)
    infos = yield from infos_of(rows)
    loaded, new = yield from _news(rows)
    lost = yield from _losses(rows, loaded)
    counts = [_messages(each, loaded) for each in rows]
    steps = [
        StepFacts(
            checkpoint_id=info.checkpoint_id,
            step=info.step,
            at=info.created_at,
            new_bytes=new.get(each.ckpt),
            messages=sum(size_of(ranges) for ranges in found.values()),
            waiting=tuple(info.next),
            asks=len(info.interrupts),
            failed=info.failed,
            lost=lost.get(each.ckpt, ()),
        )
        for each, info, found in zip(rows, infos, counts, strict=True)
    ][::-1]
    tokens = (yield from _tokens(rows[0], counts[0], loaded)) if rows else 0
    summaries = yield Step("summaries_count", row.key)
    calls, opening, events = yield from _journal(scope, name, thread.events)
    actions = yield from _ledger(scope, name)
    beside = yield from _beside(scope, name, thread)
    texts = (yield from _texts(rows[0], counts[0])) if rows else []
    facts = ThreadFacts(
        thread_id=name,
        owner=thread.owner,
        now=from_micros(clock[0][0]),
        created_at=thread.created_at,
        updated_at=thread.updated_at,
        events=thread.events,
        opening=opening,
        leased=thread.leased_to is not None,
        steps=steps,
        message_tokens=tokens,
        summaries=int(summaries[0][0]),
        calls=calls,
        actions=actions,
        beside=beside,
        texts=texts,
    )
    return Diagnosis(
        thread_id=name,
        findings=examine(facts),
        checkpoints=len(rows),
        events=events,
        actions=len(actions),
        threads=len(beside),
    )


# --- what each step brought ----------------------------------------------------------------------------


def _own(name: str) -> bool:
    """Whether a channel is the program's own."""
    return not name.startswith(("__", "branch:", "join:"))


def _news(rows: Sequence[reading.Row]) -> Op[tuple[Loaded, dict[int, dict[str, int]]]]:
    """What was loaded, and the bytes that each checkpoint brought, by number and channel; nothing of the oldest."""
    loaded = Loaded(references=True)
    seen: set[tuple[int, int]] = set()
    before: dict[int, Mapping[str, Any]] = {}
    fresh: dict[int, dict[str, list[tuple[int, int]]]] = {}
    inline: dict[int, dict[str, int]] = {}
    for row in reversed(rows):
        nodes = {name: node for name, node in row.state.items() if _own(name)}
        known = before.get(row.parent) if row.parent is not None else None
        for name, node in nodes.items():
            ranges: list[Range] = []
            blobs: set[bytes] = set()
            needs_of(node, ranges, blobs)
            places = [place for place in places_of(ranges) if place not in seen]
            seen.update(places)
            if known is not None and known.get(name) != node:
                fresh.setdefault(row.ckpt, {})[name] = places
                inline.setdefault(row.ckpt, {})[name] = len(orjson.dumps(node))
        if known is not None:
            inline.setdefault(row.ckpt, {})
        before[row.ckpt] = nodes
    if rows:
        wanted = [place for parts in fresh.values() for places in parts.values() for place in places]
        roots: list[Any] = [{"$ref": pos} for lane, pos in wanted if lane == POOL]
        if listed := sorted(place for place in wanted if place[0] != POOL):
            roots.append({"$list": ranges_over(listed)})
        yield from load(rows[0].tenant, rows[0].thread, roots, loaded)
    new = {
        ckpt: {
            name: size + sum(_weight(place, loaded) for place in fresh.get(ckpt, {}).get(name, ()))
            for name, size in parts.items()
        }
        for ckpt, parts in inline.items()
    }
    return loaded, new


def _weight(place: tuple[int, int], loaded: Loaded) -> int:
    """Bytes of an item, with the long texts that it points to."""
    ranges: list[Range] = []
    blobs: set[bytes] = set()
    needs_of(loaded.trees.get(place), ranges, blobs)
    inside = [each for each in places_of(ranges) if each != place]
    own = len(loaded.bodies.get(place, b"")) + 32_768 * len(blobs)
    return own + sum(len(loaded.bodies.get(each, b"")) for each in inside)


def _messages(row: reading.Row, loaded: Loaded) -> dict[str, list[Range]]:
    """The channels of a checkpoint that hold messages, with where these stand."""
    found = {}
    for name, node in row.state.items():
        ranges = elements_of(node) if _own(name) and isinstance(node, dict) and "$list" in node else None
        if ranges is None:
            continue
        known = [loaded.trees[place] for place in last_places(ranges, _TAIL) if place in loaded.trees]
        if any(map(is_message, known)) or (not known and name == "messages"):
            found[name] = ranges
    return found


def _tokens(row: reading.Row, messages: Mapping[str, Sequence[Range]], loaded: Loaded) -> Op[int]:
    """About how many tokens the messages of a state are; of a long list, as many as its end suggests."""
    total = 0
    for ranges in messages.values():
        places = last_places(ranges, _TAIL)
        node = {"$list": ranges_over(places)}
        yield from load(row.tenant, row.thread, [node], loaded)
        trees: Any = put_back(node, loaded.trees, loaded.blobs)
        held = sum(estimate(text_of_tree(tree)) for tree in trees)
        total += held * size_of(ranges) // max(1, len(places))
    return total


# --- what a step lost ----------------------------------------------------------------------------------


def _losses(rows: Sequence[reading.Row], loaded: Loaded) -> Op[dict[int, list[LostFacts]]]:
    """What siblings wrote to a list and the next checkpoint lacks, by the number of that checkpoint."""
    by_number = {row.ckpt: row for row in rows}
    lost: dict[int, list[LostFacts]] = {}
    for child in rows:
        parent = by_number.get(child.parent) if child.parent is not None else None
        if parent is None:
            continue
        for name, tasks in _siblings(parent).items():
            ranges = elements_of(child.state.get(name))
            if name not in child.state or (ranges is not None and "$dict" in child.state[name]):
                continue
            tail = child.state[name] if ranges is None else {"$list": ranges_over(last_places(ranges, _TAIL))}
            yield from load(
                child.tenant, child.thread, [tail, *(tree for parts in tasks.values() for tree in parts)], loaded
            )
            held = put_back(tail, loaded.trees, loaded.blobs)
            if isinstance(held, list) and (ranges is None or size_of(ranges) <= _TAIL):
                found = _lost(name, held, tasks, loaded)
                if found is not None:
                    lost.setdefault(child.ckpt, []).append(found)
    return lost


def _siblings(row: reading.Row) -> dict[str, dict[str, list[Any]]]:
    """Writes of the tasks of one step, by channel and task, where several wrote to one channel."""
    by_channel: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for write in row.writes:
        if write.slot >= 0 and _own(write.channel) and write.path:
            by_channel[write.channel][_task(write.path)].append(write.tree)
    return {name: dict(tasks) for name, tasks in by_channel.items() if len(tasks) > 1}


def _task(path: str) -> str:
    """A task in words: its node, or its place among the step's sends."""
    return path.partition(_PULL)[2] or (
        f"send {path.partition(_PUSH)[2].strip(', ')[:10].lstrip('0') or '0'}" if _PUSH in path else path
    )


def _lost(name: str, held: list[Any], tasks: Mapping[str, Sequence[Any]], loaded: Loaded) -> LostFacts | None:
    there = {canonical(each) for each in held}
    ids = {each.get("id") for each in held if is_message(each)} - {None}
    missing: dict[str, int] = {}
    kept: list[str] = []
    for task, trees in tasks.items():
        elements: list[Any] = []
        for tree in trees:
            whole = put_back(tree, loaded.trees, loaded.blobs)
            if isinstance(whole, dict) and not is_message(whole):
                return None  # an order such as Overwrite, or no list at all
            elements += whole if isinstance(whole, list) else [whole]
        if any(is_message(each) and each.get("$m") == "remove" for each in elements):
            return None
        gone = [
            each
            for each in elements
            if canonical(each) not in there and not (is_message(each) and each.get("id") in ids)
        ]
        if elements and len(gone) == len(elements):
            missing[task] = len(gone)
        elif elements and not gone:
            kept.append(task)
    if not missing or not kept:
        return None
    task, count = next(iter(missing.items()))
    return LostFacts(field=name, lost=repr(task), kept=repr(kept[0]), elements=count)


# --- journal, ledger, neighbours -----------------------------------------------------------------------


def _journal(scope: Scope, name: str, last: int) -> Op[tuple[list[CallFacts], str, int]]:
    """The newest tool calls with their results, the first words, and how many events were read."""
    row = yield from find_thread(scope, name)
    head = yield Step("head_branch", row.key)
    spans = yield from spans_of(row, head[0][0] if head else 0, 2**62)
    told = json_text([[span.branch, span.up_to] for span in spans])
    page = {**row.key, "spans": told}
    rows = yield Step("events_page", {**page, "after": max(0, last - EVENTS), "limit": EVENTS})
    first = rows if last <= EVENTS else (yield Step("events_page", {**page, "after": 0, "limit": _FIRST}))
    trees = {columns[0]: orjson.loads(columns[8]) for columns in (*first, *rows) if columns[8] is not None}
    loaded = yield from load(row.tenant, row.thread, trees.values(), Loaded(references=True))
    whole: dict[int, Any] = {seq: put_back(tree, loaded.trees, loaded.blobs) for seq, tree in trees.items()}
    calls = _calls([(f"#{seq} {author}", kind, whole.get(seq)) for seq, kind, author, *_ in rows])
    return calls, _opening(whole[columns[0]] for columns in first if columns[0] in whole), len(rows)


def _calls(events: Iterable[tuple[str, int, Any]]) -> list[CallFacts]:
    """Tool calls with their results. Ids repeat in a conversation: a result belongs to the last call of its id."""
    calls: list[CallFacts] = []
    results: dict[int, list[str]] = defaultdict(list)
    failed: dict[int, bool] = {}
    newest: dict[str, int] = {}
    for coordinate, kind, tree in events:
        if not isinstance(tree, dict):
            continue
        if kind == Kind.TOOL_RESULT.code and (at := newest.get(str(tree.get("tool_call_id")))) is not None:
            results[at].append(coordinate)
            failed[at] = _says_error(tree)
        for call in tree.get("tool_calls") or () if kind == Kind.TOOL_CALL.code else ():
            newest[str(call.get("id"))] = len(calls)
            arguments = json.dumps(_bare(call.get("args")), sort_keys=True, ensure_ascii=False)
            calls.append(CallFacts(coordinate=coordinate, name=str(call.get("name")), arguments=arguments))
    return [replace(call, results=tuple(results[at]), failed=failed.get(at, False)) for at, call in enumerate(calls)]


def _says_error(tree: Any) -> bool:
    """Whether a tool's result tells of a failure: by its status, or by its first word."""
    return tree.get("status") == "error" or _ERROR.match(text_of_tree(tree)) is not None


def _ledger(scope: Scope, name: str) -> Op[list[ActionFacts]]:
    rows = yield Step(
        "actions_of",
        {"tenant": scope.tenant, "owner": None, "thread": pack_name(name), "state": None, "limit": ACTIONS},
    )
    found = [row_of(columns[1:]) for columns in rows]
    return [
        ActionFacts(
            action_id=each.key.hex(),
            name=each.name,
            arguments=json.dumps([each.recipient, each.arguments], sort_keys=True, ensure_ascii=False),
            state=str(each.state),
            at=from_micros(each.updated_at),
        )
        for each in found
    ]


def _beside(scope: Scope, name: str, thread: inspect.Thread) -> Op[list[BesideFacts]]:
    """Threads of the same owner that were made about the time of this one; none for whom a share lets in."""
    if thread.role in GRANTED:
        return []
    found = yield Step(
        "threads_beside",
        {
            "tenant": scope.tenant,
            "name": pack_name(name),
            "owner": thread.owner,
            "first": _micros(thread.created_at - NEAR),
            "last": _micros(thread.updated_at + NEAR),
            "limit": BESIDE,
        },
    )
    if not found:
        return []
    yield from admit_all(scope, [unpack_name(columns[1]) for columns in found])
    numbers = json_text([columns[0] for columns in found])
    rows = yield Step("openings", {"tenant": scope.tenant, "threads": numbers, "events": _FIRST})
    openings: dict[int, list[Any]] = defaultdict(list)
    for number, body in rows:
        if body is None:
            continue
        tree = orjson.loads(body)
        loaded = yield from load(scope.tenant, number, [tree], Loaded(references=True))
        openings[number].append(put_back(tree, loaded.trees, loaded.blobs))
    return [
        BesideFacts(
            thread_id=unpack_name(other),
            created_at=from_micros(created_at),
            updated_at=from_micros(updated_at),
            events=events,
            opening=_opening(openings.get(number, ())),
        )
        for number, other, created_at, updated_at, events in found
    ]


def _opening(trees: Iterable[Any]) -> str:
    """The first words that a person said."""
    return next((text_of_tree(tree) for tree in trees if isinstance(tree, dict) and tree.get("$m") == "human"), "")


def _micros(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000)


def _bare(tree: Any) -> Any:
    """A tree without the codec's note on the order of keys."""
    if isinstance(tree, dict):
        return {key: _bare(part) for key, part in tree.items() if key != "$keys"}
    return list(map(_bare, tree)) if isinstance(tree, list) else tree


# --- texts of the state --------------------------------------------------------------------------------


def _texts(row: reading.Row, messages: Mapping[str, Sequence[Range]]) -> Op[list[TextFacts]]:
    """Texts in the newest state's own fields, and its system messages; those of a long list at its two ends."""
    nodes = {name: node for name, node in row.state.items() if _own(name)}
    for name, ranges in messages.items():
        places = list(places_of(list(ranges)))
        ends = places if len(places) <= 2 * _FIRST else [*places[:_FIRST], *places[-_FIRST:]]
        nodes[name] = {"$list": [[lane, pos, pos] for lane, pos in ends]}
    small = {name: _first_of(node) for name, node in nodes.items()}
    loaded = yield from load(row.tenant, row.thread, small.values(), Loaded(references=True))
    found: list[TextFacts] = []
    for name, node in small.items():
        tree = _bare(put_back(node, loaded.trees, loaded.blobs))
        if name in messages:
            system = [each for each in tree if is_message(each) and each["$m"] == "system"]
            found += [
                TextFacts(place=f"system message in {name}", text=text_of_tree(each)[:_LONG], is_rule=True)
                for each in system
            ]
        elif name != "summary":
            found += [TextFacts(place=place, text=text[:_LONG]) for place, text in _strings(tree, name)]
    return found[:_TEXTS]


def _first_of(node: Any) -> Any:
    """A node, of a long list or mapping only its last part."""
    ranges = elements_of(node)
    if ranges is None or size_of(ranges) <= _TAIL:
        return node
    return {next(iter(node)): ranges_over(last_places(ranges, _TAIL))}


def _strings(tree: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(tree, str):
        yield place, tree
    elif isinstance(tree, dict):
        if is_message(tree):
            return
        for key, part in tree.items():
            yield from _strings(part, place if key.startswith("$") else f"{place}.{key}")
    elif isinstance(tree, list):
        for at, part in enumerate(tree):
            yield from _strings(part, f"{place}[{at}]")
