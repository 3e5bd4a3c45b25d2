"""Five checks that the desk keeps what it promises; the same on every database.

1. A long conversation is compacted: the newest six messages word for word, one digest with coordinates and speakers
   for the others, attachments identical to the byte. A shorter but heavy one is compacted as well.
2. A run that stopped before its executors is found as it was by a new program, and ends with one reply more; the mind
   is asked once for each task that waited, and for nothing else.
3. What waits is in the checkpoint: three `Send`s with node and full arguments.
4. A fork from the same checkpoint with another sentence has other tasks, and none of the main line's.
5. A state of version 1 reads right after migration, and without migration is refused with the path.
"""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

import dalsegno
from dalsegno import Dalsegno, StateSchema, Summary
from dalsegno.errors import StateShapeError
from dalsegno.testing import connect_over
from examples.support_desk.graph import POLICY, build
from examples.support_desk.mind import Mind, Rules
from examples.support_desk.shop import Shop
from examples.support_desk.state import SCHEMA, Attachment

__all__ = ["CHECKS", "Desk", "Result", "run"]

ATTACHMENTS: list[Attachment] = [
    {"id": "att-1", "kind": "image", "ref": "blob://tickets/2026/att-1.png", "caption": "外箱破损"},
    {"id": "att-2", "kind": "file", "ref": "blob://tickets/2026/invoice.pdf"},
]
THREE = "订单 SO20260902 现在什么状态？物流到哪了？请退款。"
OTHER = "Please send an e-mail about SO20260901."


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a check.

    Attributes:
        number: of the check.
        title: what is checked.
        facts: what was found.
        problem: what is wrong, or nothing.
    """

    number: int
    title: str
    facts: dict[str, Any]
    problem: str = ""


class Desk:
    """A database that can be left and opened anew, with a shop beside it."""

    def __init__(self, url: str, folder: Path, mind: Callable[[], Mind] = Rules) -> None:
        """Take the place and the kind of mind."""
        self._url = url
        self._mind = mind
        self._own = uuid.uuid4().hex[:8]
        self.in_memory = url.startswith("memory:")
        self.shop = Shop(folder / "shop.db")
        self.ds = dalsegno.connect(url, schema=SCHEMA)
        self.mind = mind()

    def thread(self, name: str) -> str:
        """The id of a thread that no other desk has."""
        return f"{name}-{self._own}"

    def leave(self, schema: StateSchema | None = SCHEMA) -> None:
        """Forget everything but what is stored; a database in memory is all that there is of it, so it stays open."""
        if not self.in_memory:
            self.ds.close()
            self.ds = dalsegno.connect(self._url, schema=schema)
        self.mind = self._mind()

    def graph(self, **options: Any) -> Any:
        """A graph made anew."""
        return build(self.ds, self.shop, self.mind, **options)


def _config(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


def _conversation(messages: int, words: int) -> list[Any]:
    made: list[Any] = []
    for number in range(1, messages + 1):
        text = f"第 {number} 句：订单 SO20260901，金额 {number}.50 元。" + "补充说明。" * words
        made.append(HumanMessage(text) if number % 2 else AIMessage(text))
    return made


def _require(holds: object, problem: str) -> None:
    if not holds:
        raise AssertionError(problem)


def compaction(desk: Desk) -> dict[str, Any]:
    """The newest messages stay, one digest stands for the others, attachments are untouched."""
    facts: dict[str, Any] = {}
    for name, count, words in (("long", 23, 0), ("heavy", 17, 200)):
        said = _conversation(count, words)
        thread = desk.thread(f"compaction-{name}")
        state = desk.graph().invoke({"messages": said, "attachments": ATTACHMENTS}, _config(thread))
        kept = state["messages"][:-1]
        summary = Summary.from_json(state["summary"])
        newest = [message.text for message in said[-POLICY.keep_recent :]]
        told = [str(line) for line in summary.lines]
        _require([message.text for message in kept] == newest, f"{name}: kept {len(kept)} messages, not the newest six")
        _require(len(summary.spans) == 1, f"{name}: {len(summary.spans)} spans instead of one digest")
        for number in range(1, count - POLICY.keep_recent + 1):
            author = "user" if number % 2 else "assistant"
            _require(
                any(f"#{number} {author}" in line for line in told), f"{name}: the digest has no #{number} {author}"
            )
        before, after = json.dumps(ATTACHMENTS), json.dumps(state["attachments"])
        _require(before == after, f"{name}: the attachments changed")
        facts[name] = f"{count} messages became {len(kept)} and a digest of {count - len(kept)}"
    return facts


def resumption(desk: Desk) -> dict[str, Any]:
    """Stopped before the executors, found by a new program as it was, and finished."""
    config = _config(desk.thread("stopped"))
    stopped = desk.graph(interrupt_before=["execute"])
    stopped.invoke({"messages": [HumanMessage(THREE)], "attachments": ATTACHMENTS}, config)
    before = stopped.get_state(config)
    desk.leave()
    graph = desk.graph()
    after = graph.get_state(config)
    _require(after.values == before.values, "the state is not what it was")
    _require(after.next == before.next, "what waits is not what it was")
    waiting = len(after.next)
    state = dalsegno.resume(graph, desk.thread("stopped"))
    said = len(before.values["messages"])
    _require(len(state["messages"]) == said + 1, f"{said} messages became {len(state['messages'])}")
    _require(desk.mind.calls == {"work": waiting}, f"{dict(desk.mind.calls)} for {waiting} waiting tasks")
    return {"waiting": waiting, "calls": dict(desk.mind.calls), "reply": state["messages"][-1].text}


def pending(desk: Desk) -> dict[str, Any]:
    """Three executors wait in the checkpoint, with their arguments."""
    config = _config(desk.thread("pending"))
    desk.graph(interrupt_before=["execute"]).invoke({"messages": [HumanMessage(THREE)]}, config)
    desk.leave()
    head = desk.ds.threads.checkpoints(desk.thread("pending"))[0]
    _require(head.next == ["execute"] * 3, f"waiting: {head.next}")
    found = desk.ds.checkpointer.get_tuple(config)
    sends = found.checkpoint["channel_values"]["__pregel_tasks"] if found else []
    told = [{"node": send.node, "args": send.arg} for send in sends]
    _require([each["node"] for each in told] == ["execute"] * 3, f"in the checkpoint: {told}")
    for each in told:
        task = each["args"]["task"]
        _require(set(task) == {"id", "kind", "goal", "order", "status", "tool_calls", "findings", "reasons"}, f"{task}")
        _require(task["status"] == "pending" and task["order"] == "SO20260902", f"{task}")
    return {"sends": [each["args"]["task"]["id"] for each in told]}


def forking(desk: Desk) -> dict[str, Any]:
    """Back to the planner with another sentence."""
    config = _config(desk.thread("forked"))
    graph = desk.graph()
    main = graph.invoke({"messages": [HumanMessage(THREE, id="m1")]}, config)
    moment = next(each for each in graph.get_state_history(config) if each.next == ("plan",))
    checkpoint = moment.config["configurable"]["checkpoint_id"]
    desk.leave()
    graph = desk.graph()
    other = dalsegno.fork(graph, desk.thread("forked"), checkpoint, update={"messages": [HumanMessage(OTHER, id="m1")]})
    kinds = [task["kind"] for task in other["workspace"].values()]
    _require(kinds == ["email"], f"the fork's tasks are {kinds}")
    _require(not set(other["workspace"]) & set(main["workspace"]), "the fork has tasks of the main line")
    _require(other["messages"][-1].text != main["messages"][-1].text, "both lines say the same")
    return {"main": list(main["workspace"]), "fork": list(other["workspace"])}


class _OldState(TypedDict, total=False):
    attachments: list[dict[str, Any]]
    workspace: dict[str, dict[str, Any]]


def migration(desk: Desk) -> dict[str, Any]:
    """A version-1 state, read with and without migration."""
    old = StateGraph(_OldState)
    old.add_node("plan", lambda state: {})
    old.add_edge(START, "plan")
    task = {"id": "t-1-order", "kind": "order", "goal": "", "order": "SO20260901", "status": "accepted", "findings": {}}
    with _opened(desk, None) as ds:
        old.compile(checkpointer=ds.checkpointer).invoke(
            {
                "attachments": [{"id": "old", "kind": "image", "url": "blob://tickets/2025/att-old.png"}],
                "workspace": {"t-1-order": {**task, "reasons": []}},
            },
            _config(desk.thread("old")),
        )
    with _opened(desk, SCHEMA) as ds:
        values = build(ds, desk.shop, Rules()).get_state(_config(desk.thread("old"))).values
    references = [each["ref"] for each in values["attachments"]]
    calls = [each["tool_calls"] for each in values["workspace"].values()]
    _require(references == ["blob://tickets/2025/att-old.png"], f"references: {references}")
    _require(calls == [0], f"tool calls: {calls}")
    unmigrated = StateSchema(version=SCHEMA.version, required=SCHEMA.required)
    with _opened(desk, unmigrated) as ds:
        try:
            build(ds, desk.shop, Rules()).get_state(_config(desk.thread("old")))
        except StateShapeError as error:
            refused = str(error)
        else:
            raise AssertionError("a state without its references was read as if nothing were missing")
    _require("attachments[" in refused and "ref" in refused, f"the refusal names no path: {refused}")
    return {"references": references, "tool_calls": calls, "refused": refused}


@contextmanager
def _opened(desk: Desk, schema: StateSchema | None) -> Iterator[Dalsegno]:
    """The desk's database under another schema."""
    if desk.in_memory:
        yield connect_over(desk.ds.store_backend, schema=schema)
    else:
        desk.leave(schema)
        yield desk.ds


CHECKS: tuple[tuple[str, Callable[[Desk], dict[str, Any]]], ...] = (
    ("a long conversation is compacted, attachments are untouched", compaction),
    ("stopped before the executors, resumed by a new program", resumption),
    ("what waits is in the checkpoint, with its arguments", pending),
    ("a fork has tasks of its own", forking),
    ("a state of version 1 is migrated, or refused", migration),
)


def run(url: str) -> list[Result]:
    """Run the checks on a database that is empty or not; each uses threads of its own.

    Returns:
        A result for each check, failed ones included.
    """
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (title, check) in enumerate(CHECKS, start=1):
            desk = Desk(url, Path(folder))
            try:
                facts, problem = check(desk), ""
            except Exception as error:  # noqa: BLE001 - a check that breaks is a result too
                facts, problem = {}, f"{type(error).__name__}: {error}"
            finally:
                desk.ds.close()
            results.append(Result(number=number, title=title, facts=facts, problem=problem))
    return results
