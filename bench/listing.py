"""Reading back a long thread: its newest checkpoints, and a copy of it.

`list(limit=50)` is called as LangGraph's `get_state_history` calls it and every tuple is taken, values decoded.
dalsegno takes every turn for real; the stock savers are prefilled by one `update_state` and then take enough real
turns for the fifty newest checkpoints to be real ones (`bench.turns` says why).

The stock savers do not offer `copy_thread`; what a user must do instead is measured: read every checkpoint and put
it again under the other id.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from bench.harness import PEERS, Bound, Report, opened, options, timed
from bench.workload import TEXTS, Chat, Text

LIST_MS = 500.0
COPY_MS = 200.0
REAL_TURNS = 20  # three checkpoints each: more than the fifty that are listed


def list_ms(name: str, text: Text, turns: int, limit: int, *, repeat: int) -> float:
    """Milliseconds, the least of several, to list the newest checkpoints of a thread of this many turns."""
    with opened(name) as subject:
        chat = Chat(subject.saver, text)
        if name in PEERS and turns > REAL_TURNS:
            chat.prefill(turns - REAL_TURNS)
        chat.reach(turns)

        def listed() -> None:
            found = list(subject.saver.list(chat.config, limit=limit))
            assert len(found) == min(limit, 3 * turns), len(found)

        return min(timed(listed) for _ in range(repeat))


def copy_ms(name: str, text: Text, turns: int) -> float:
    """Milliseconds to copy a thread of this many real turns."""
    with opened(name) as subject:
        chat = Chat(subject.saver, text)
        chat.reach(turns)
        copy = subject.saver.copy_thread if name not in PEERS else lambda a, b: copied_by_hand(subject.saver, a, b)
        spent = timed(lambda: copy("chat", "copy"))
        twin = Chat(subject.saver, text, thread_id="copy")
        assert len(twin.graph.get_state(twin.config).values["messages"]) == 2 * turns, "the copy is not whole"
        return spent


def copied_by_hand(saver: BaseCheckpointSaver[Any], source: str, target: str) -> None:
    """Copy a thread through the saver's public methods, oldest checkpoint first."""
    for found in reversed(list(saver.list({"configurable": {"thread_id": source}}))):
        parent = found.parent_config["configurable"]["checkpoint_id"] if found.parent_config else None
        namespace = found.config["configurable"]["checkpoint_ns"]
        config: RunnableConfig = {
            "configurable": {"thread_id": target, "checkpoint_ns": namespace, "checkpoint_id": parent}
        }
        saved = saver.put(config, found.checkpoint, found.metadata, found.checkpoint["channel_versions"])
        for task_id, channel, value in found.pending_writes or ():
            saver.put_writes(saved, [(channel, value)], task_id)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement; exit code 1 when a bound is broken."""
    parser = options(__doc__)
    parser.add_argument("--turns", type=int, default=1000, help="length of the thread that is listed")
    parser.add_argument("--repeat", type=int, default=3, help="times it is listed; the least counts")
    parser.add_argument("--limit", type=int, default=50, help="checkpoints listed")
    parser.add_argument("--copy-turns", type=int, default=300, help="length of the thread that is copied; 0 for none")
    parser.add_argument("--peer-copy-turns", type=int, default=100, help="the same for the peers, which are slow at it")
    parser.add_argument("--text", choices=tuple(TEXTS), default="en-2.8k", help="kind of text")
    asked = parser.parse_args(argv)
    text = TEXTS[asked.text]
    report = Report(title="Listing and copying a thread", notes=(f"text {text.name}",))
    for name in (*asked.savers, *asked.peers):
        ours = name in asked.savers
        spent = list_ms(name, text, asked.turns, asked.limit, repeat=asked.repeat)
        row: dict[str, object] = {"saver": name, "turns": asked.turns, f"list({asked.limit}) ms": spent}
        if ours:
            report.bounds.append(
                Bound(claim=f"{name}: list(limit={asked.limit}) at {asked.turns} turns, ms", limit=LIST_MS, found=spent)
            )
        if turns := asked.copy_turns if ours else asked.peer_copy_turns:
            spent = copy_ms(name, text, turns)
            row |= {"copied turns": turns, "copy ms": spent, "copy ms/turn": spent / turns}
            if ours:
                report.bounds.append(
                    Bound(claim=f"{name}: copy_thread of {turns} turns, ms", limit=COPY_MS, found=spent)
                )
        report.rows.append(row)
    return report.close(as_json=asked.json)


if __name__ == "__main__":
    sys.exit(main())
