"""Real conversations to shorten: agents with tools, Chinese bookings and team chat, English meetings, a prospectus.

They lie beside the repository (`../shared/data`, or `DALSEGNO_TEST_DATA`); nothing of them is in it.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from dalsegno.imports import read_transcript

__all__ = ["SOURCES", "Conversation", "folder"]

Conversation: TypeAlias = list[BaseMessage]


def folder() -> Path:
    """Where the recordings are."""
    beside = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    return Path(os.environ.get("DALSEGNO_TEST_DATA", beside))


def airline(root: Path) -> Iterator[Conversation]:
    """Twenty customer-service runs of an agent with tools, joined by fours."""
    path = root / "tau_bench" / "airline.json"
    for first in range(0, 20, 4):
        yield _named(message for at in range(first, first + 4) for message in list(read_transcript(path, at))[1:])


def bookings(root: Path) -> Iterator[Conversation]:
    """Chinese dialogues about restaurants, hotels and sights, forty at a time."""
    with zipfile.ZipFile(root / "crosswoz" / "test.json.zip") as archive:
        dialogues = list(json.loads(archive.read("test.json")).values())
    for first in (0, 40):
        yield _named(
            (HumanMessage if said["role"] == "usr" else AIMessage)(said["content"])
            for dialogue in dialogues[first : first + 40]
            for said in dialogue["messages"]
        )


def meetings(root: Path) -> Iterator[Conversation]:
    """The first 400 turns of three English meetings."""
    with (root / "qmsum" / "meetings.jsonl").open(encoding="utf-8") as lines:
        for _, line in zip(range(3), lines, strict=False):
            turns = json.loads(line)["meeting_transcripts"][:400]
            yield _named(HumanMessage(turn["content"], name=turn["speaker"]) for turn in turns if turn["content"])


def team_chat(root: Path) -> Iterator[Conversation]:
    """A Chinese team's chat of five hundred messages."""
    record = json.loads((root / "evermem_zh" / "team_chat_zh.json").read_text(encoding="utf-8"))
    yield _named(HumanMessage(said["content"], name=said["sender_name"]) for said in record["conversation_list"])


def prospectus(root: Path) -> Iterator[Conversation]:
    """An agent that reads 150 pages of a Chinese prospectus, one tool call for each."""
    pages: dict[int, list[str]] = {}
    with (root / "finqwen_zh" / "shenhua_coal_prospectus.txt").open(encoding="utf-8") as lines:
        for row in map(json.loads, filter(str.strip, lines)):
            pages.setdefault(int(row["page"]), []).append(str(row["inside"]))
    messages: list[BaseMessage] = [HumanMessage("请通读招股意向书，记下发行条款和主要财务数据。")]
    for page in sorted(pages)[:150]:
        call = {"name": "read_page", "args": {"page": page}, "id": f"page-{page}", "type": "tool_call"}
        messages.append(AIMessage("", tool_calls=[call]))
        messages.append(ToolMessage("\n".join(pages[page]), tool_call_id=f"page-{page}", name="read_page"))
    yield _named(messages)


def _named(messages: Iterable[Any]) -> Conversation:
    """The messages with ids of their own."""
    return [message.model_copy(update={"id": f"m{at}"}) for at, message in enumerate(messages, 1)]


SOURCES: dict[str, Callable[[Path], Iterator[Conversation]]] = {
    "tau_bench": airline,
    "crosswoz": bookings,
    "qmsum": meetings,
    "evermem_zh": team_chat,
    "prospectus": prospectus,
}
