"""Every prefix of every recorded conversation is cut without orphaning a call or a result; the last N alone are not."""

from __future__ import annotations

import ast
import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dalsegno.core.cuts import Turn, cut

pytestmark = pytest.mark.data

Conversation = list[Turn]


def _openai(messages: Sequence[dict[str, Any]]) -> Conversation:
    return [
        Turn(
            role=message["role"],
            text=str(message.get("content") or ""),
            calls=tuple(call["id"] for call in message.get("tool_calls") or ()),
            answers=tuple(filter(None, [message.get("tool_call_id")])) if message["role"] == "tool" else (),
        )
        for message in messages
    ]


def airline(root: Path) -> Iterator[Conversation]:
    for run in json.loads((root / "tau_bench" / "airline.json").read_text(encoding="utf-8")):
        yield _openai(run["traj"])


def coding(root: Path) -> Iterator[Conversation]:
    for path in sorted((root / "swe_agent").glob("*.traj")):
        turns = []
        for message in json.loads(path.read_text(encoding="utf-8"))["history"]:
            answers = message.get("tool_call_ids") or ()
            calls = tuple(call["id"] for call in message.get("tool_calls") or ())
            turns.append(Turn(role=message["role"], calls=calls, answers=tuple(answers)))
        yield turns


def office(root: Path) -> Iterator[Conversation]:
    """Runs over e-mail and calendar: a task, then a call and its result for each function called."""
    for path in sorted((root / "workbench").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as rows:
            for row in csv.DictReader(rows):
                turns = [Turn(role="user", text=row["query"])]
                for at, call in enumerate(ast.literal_eval(row["function_calls"] or "[]")):
                    turns.append(Turn(role="assistant", text=str(call), calls=(f"call-{at}",)))
                    turns.append(Turn(role="tool", answers=(f"call-{at}",)))
                yield [*turns, Turn(role="assistant")]


SOURCES = {"tau_bench": (airline, 100), "swe_agent": (coding, 2), "workbench": (office, 300)}


def pairs(turns: Sequence[Turn]) -> list[tuple[int, int]]:
    """Call and result, by looking back from each result for the newest call of its id that has none."""
    found: list[tuple[int, int]] = []
    taken: set[tuple[int, str]] = set()
    for at, turn in enumerate(turns):
        for id_ in turn.answers:
            before = [call for call in range(at - 1, -1, -1) if id_ in turns[call].calls]
            call = next((call for call in before if (call, id_) not in taken), None)
            if call is not None:
                taken.add((call, id_))
                found.append((call, at))
    return found


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("keep_recent", [1, 4, 6])
def test_every_prefix_is_cut_safely(source: str, keep_recent: int, transcripts: Path) -> None:
    read, at_least = SOURCES[source]
    conversations = list(read(transcripts))
    assert len(conversations) >= at_least
    for turns in conversations:
        together = pairs(turns)
        for end in range(len(turns) + 1):
            prefix = turns[:end]
            where = cut(prefix, keep_recent)
            kept = set(where.kept)
            assert sorted(where.kept + where.evicted) == list(range(end))
            answered = set()
            for call, result in together:
                if result < end:
                    assert (call in kept) == (result in kept)
                    answered.add(call)
            assert kept >= {at for at in range(end) if prefix[at].calls and at not in answered}
            assert kept >= set(range(end)[-keep_recent:])
            assert kept >= set([at for at in range(end) if prefix[at].role == "user"][-1:])
            assert not end or prefix[0].role != "system" or 0 in kept


@pytest.mark.parametrize("source", ["tau_bench", "swe_agent"])
def test_the_last_n_alone_orphan_results_in_these_conversations(source: str, transcripts: Path) -> None:
    parted = total = 0
    for turns in SOURCES[source][0](transcripts):
        together = pairs(turns)
        for end in range(7, len(turns) + 1):
            first = end - 6
            total += 1
            parted += any(call < first <= result < end for call, result in together)
    assert parted > 0.15 * total


def test_enough_goes_to_be_worth_it(transcripts: Path) -> None:
    for turns in airline(transcripts):
        if len(turns) > 20:
            assert len(cut(turns, 6).kept) <= 10  # six, the instructions, the newest user message, a pair's other half
