"""Each kind of write a store has to take, on a thread that has everything in it.

Rules of this module:

* `prepare` makes one thread, `SONG`, with every kind of row: messages in two namespaces and on two branches, long and
  very long strings, a large object, pending writes, writes that came before their checkpoint, direct events, two runs,
  actions that ended well and badly with their audit, tags. A second, `ETUDE`, has come to rest and may be pruned.
* An `Operation` is one call of the public API on that thread, sync or async. It is the same call each time, ids and
  times included, so that what it leaves can be compared by `snapshots.snapshot`.
* Whoever interrupts an operation at any of its points finds the thread as before or as after, and can repeat it.
  `again` says what the repetition of one that was done already comes to.
* An operation of several transactions, such as an erasure, does to a thread what it does in one of them; the others
  change nothing of that thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint

from dalsegno.connect import Dalsegno
from dalsegno.core.actions import ActionKind, Move
from dalsegno.core.arguments import ActionScope, Call
from dalsegno.core.retention import RetentionPolicy
from dalsegno.langgraph.checkpointer import FORK
from dalsegno.services import actions
from dalsegno.services.actions import Ending

__all__ = ["COPY", "ETUDE", "GONE", "OPERATIONS", "SONG", "Operation", "prepare"]

SONG, COPY, GONE, ETUDE = "song 歌", "song's copy", "song of old", "étude"

Service = Literal["checkpointer", "journal", "threads", "runs", "retention", "erasure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One write through the public API.

    Attributes:
        name: word to pick it by.
        service: which part of a `Dalsegno` takes it.
        method: the sync method; the async one is called the same with an `a` before it.
        arguments, settings: positional and by name.
        threads: the threads that may look different afterwards.
        again: what a second call after a first one comes to: `same` nothing more, `more` another row, `refused` a
            `Refused` or a `Conflict`.
        twin: whether there is an async method.
        transactions: how many it takes: 1, or more where `None`.
    """

    name: str
    service: Service
    method: str
    arguments: tuple[Any, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    threads: tuple[str, ...] = (SONG,)
    again: Literal["same", "more", "refused"] = "same"
    twin: bool = True
    transactions: Literal[1] | None = 1

    def act(self, ds: Dalsegno) -> None:
        """Do it."""
        getattr(getattr(ds, self.service), self.method)(*self.arguments, **self.settings)

    async def aact(self, ds: Dalsegno) -> None:
        """Do it through the async face."""
        await getattr(getattr(ds, self.service), f"a{self.method}")(*self.arguments, **self.settings)


# --- the thread -----------------------------------------------------------------------------------

_BEGAN = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)
_LONG = "The invoice of March differs from the contract by 1,200.50 €. 三月的发票与合同相差一千二百欧元五十分。" * 6
_IMAGE = "iVBORw0KGgo" * 3000
_TABLE = {f"clause {n}": {"text": f"§{n} " + "shall ・ 应当 " * 13, "signed": n % 2 == 0} for n in range(4)}

_SAID: tuple[AnyMessage, ...] = (
    HumanMessage("Compare the invoice with the contract. 请核对发票。", id="m1"),
    AIMessage("", id="m2", tool_calls=[{"name": "read", "args": {"file": "invoice.pdf"}, "id": "c1"}]),
    ToolMessage(_LONG, id="m3", tool_call_id="c1"),
    AIMessage("They differ by 1,200.50 €.", id="m4", name="auditor"),
    HumanMessage(
        [{"type": "text", "text": "And this page?"}, {"type": "image", "base64": _IMAGE}], id="m5", name="mara"
    ),
    AIMessage(_LONG.upper(), id="m6", name="auditor"),
)
_EDITED: tuple[AnyMessage, ...] = (
    HumanMessage("Compare the invoice of March with the contract. 请核对三月的发票。", id="m1"),
    *_SAID[3:],
)


def _id(number: int) -> str:
    return str(UUID(int=(0x1F0 << 116) | (6 << 76) | (2 << 62) | number))


def _config(checkpoint: int | None, ns: str = "", thread: str = SONG, **more: Any) -> RunnableConfig:
    conf: dict[str, Any] = {"thread_id": thread, "checkpoint_ns": ns, **more}
    if checkpoint is not None:
        conf["checkpoint_id"] = _id(checkpoint)
    return {"configurable": conf}


def _checkpoint(number: int, values: dict[str, Any]) -> Checkpoint:
    versions: dict[str, str | int | float] = dict.fromkeys(values, number)
    return {
        "v": 4,
        "id": _id(number),
        "ts": (_BEGAN + timedelta(seconds=number)).isoformat(),
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": {"auditor": dict.fromkeys(values, number - 1)},
        "updated_channels": sorted(values),
    }


def _state(messages: tuple[AnyMessage, ...], **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), "contract": _TABLE, "goal": "Find the difference", **more}


def _put(
    number: int,
    parent: int | None,
    values: dict[str, Any],
    *,
    step: int,
    run: str,
    ns: str = "",
    thread: str = SONG,
    **conf: Any,
) -> tuple[Any, ...]:
    """Arguments of a `put`."""
    checkpoint = _checkpoint(number, values)
    metadata: dict[str, Any] = {"source": "input" if step < 0 else "loop", "step": step, "run_id": run, "parents": {}}
    return _config(parent, ns, thread, **conf), checkpoint, metadata, checkpoint["channel_versions"]


def _writes(checkpoint: int, task: int, *writes: tuple[str, Any]) -> tuple[Any, ...]:
    """Arguments of a `put_writes`."""
    return _config(checkpoint), list(writes), _id(1000 + task), f"~__pregel_pull, task{task}"


_HEAD, _EARLY = 4, 6


def prepare(ds: Dalsegno) -> None:
    """Make the thread `SONG`, and `GONE` as the tombstone of another."""
    saver = ds.checkpointer
    saver.put(*_put(1, None, {"__start__": {"messages": [_SAID[0]]}}, step=-1, run="run-1"))
    saver.put(*_put(2, 1, _state(_SAID[:1]), step=0, run="run-1"))
    saver.put_writes(*_writes(2, 1, ("messages", [_SAID[1]]), ("note", _LONG)))
    saver.put(*_put(101, None, {"messages": list(_SAID[:1]), "page": 1}, step=0, run="run-1", ns="reader:7"))
    saver.put(*_put(3, 2, _state(_SAID[:2], page=_IMAGE[:-1]), step=1, run="run-2"))
    ds.journal.append(SONG, "approval", "mara", {"approved": _LONG}, at=_BEGAN)
    saver.put(*_put(9, 2, _state((*_SAID[:1], _SAID[5])), step=1, run="run-3", **{FORK: _id(2)}))
    saver.put(*_put(_HEAD, 3, _state(_SAID[:4]), step=2, run="run-2", **{FORK: _id(3)}))
    saver.put_writes(*_writes(_HEAD, 2, ("messages", [_SAID[4]])))
    saver.put_writes(*_writes(_EARLY, 3, ("messages", [_SAID[5]]), ("page", _IMAGE)))
    saver.put(*_put(1, None, {"page": _IMAGE}, step=-1, run="run-1", thread=GONE))
    saver.delete_thread(GONE)
    for number in range(1, 5):
        said = _state(_SAID[:number], page=_IMAGE[:-number])
        saver.put(*_put(number, number - 1 or None, said, step=number - 2, run="run-6", thread=ETUDE))
    _act(ds, b"1" * 32, Ending(move=Move.SUCCEED, result=["letter 4711"]))
    _act(ds, b"2" * 32, Ending(move=Move.FAIL, why=_LONG))
    ds.threads.tag(SONG, "music", "音乐")
    ds.threads.share(SONG, "bo", "writer")


def _act(ds: Dalsegno, key: bytes, ending: Ending) -> None:
    """An action of `SONG` as the ledger writes it, under a name and a key that are the same in every process."""
    scope = ds.scope()
    call = Call(name="mail", scope=ActionScope.STEP, anchor=key.hex(), arguments={"text": _LONG}, recipient=["mara"])
    ttl = timedelta(hours=1)
    begun = ds.store_backend.run(
        lambda: actions.begin(scope, SONG, call, ActionKind.SEND, key, holder="first", ttl=ttl), write=True
    )
    ds.store_backend.run(lambda: actions.finish(scope, SONG, key, begun.token, ending), write=True)


def _operation(
    name: str, service: Service, method: str, *arguments: Any, settings: Mapping[str, Any] | None = None, **more: Any
) -> Operation:
    return Operation(name=name, service=service, method=method, arguments=arguments, settings=settings or {}, **more)


def _all(make: Callable[..., Operation] = _operation) -> tuple[Operation, ...]:
    grown, edited = _state(_SAID, page=_IMAGE), _state(_EDITED, page=_IMAGE)
    return (
        make("put", "checkpointer", "put", *_put(5, _HEAD, grown, step=3, run="run-2")),
        make("put edited", "checkpointer", "put", *_put(5, _HEAD, edited, step=3, run="run-2")),
        make("put announced", "checkpointer", "put", *_put(_EARLY, _HEAD, grown, step=3, run="run-2")),
        make("put again", "checkpointer", "put", *_put(_HEAD, 3, edited, step=2, run="run-2")),
        make("put fork", "checkpointer", "put", *_put(8, 2, edited, step=1, run="run-4", **{FORK: _id(2)})),
        make(
            "put first", "checkpointer", "put", *_put(1, None, grown, step=-1, run="run-5", thread=COPY),
            threads=(COPY,),
        ),
        make("put nested", "checkpointer", "put", *_put(102, None, grown, step=0, run="run-2", ns="writer:8")),
        make(
            "put_writes", "checkpointer", "put_writes",
            *_writes(_HEAD, 4, ("messages", [_SAID[5]]), ("page", _IMAGE)),
        ),
        make(
            "put_writes more", "checkpointer", "put_writes",
            *_writes(_HEAD, 2, ("x", 1), ("y", _LONG), ("__error__", "E")),
        ),
        make("put_writes early", "checkpointer", "put_writes", *_writes(7, 5, ("messages", [_SAID[4]]))),
        make(
            "append", "journal", "append", SONG, "decision", "mara", {"why": _LONG, "page": _IMAGE},
            settings={"at": _BEGAN}, again="more",
        ),
        make("copy", "checkpointer", "copy_thread", SONG, COPY, threads=(SONG, COPY), again="refused"),
        make("delete", "checkpointer", "delete_thread", SONG),
        make("delete_for_runs", "checkpointer", "delete_for_runs", ["run-1", "run-3"]),
        make("prune", "checkpointer", "prune", [SONG]),
        make("prune all", "checkpointer", "prune", [SONG], settings={"strategy": "delete"}),
        make("lease", "runs", "lease", SONG, settings={"holder": "first"}, again="refused"),
        make("reopen", "threads", "reopen", GONE, threads=(GONE,)),
        make("tag", "threads", "tag", SONG, "slow", "fast"),
        make(
            "retention", "retention", "run", RetentionPolicy(keep_latest=2), threads=(SONG, ETUDE), transactions=None,
        ),
        make("erase", "erasure", "thread", SONG, transactions=None),
    )  # fmt: skip


OPERATIONS: Mapping[str, Operation] = {operation.name: operation for operation in _all()}
"""Every operation by its name."""
