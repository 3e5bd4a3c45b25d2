"""The same conversation without a kill: what it says, and what it costs to keep.

Rules of this module:

* Both sides do the same work in the same order: the same graph, the same messages, no ledger, one new SQLite file
  each, closed before it is measured (so that the log is folded in). What is compared is by how much the files grew;
  their empty tables are told apart, since a short conversation is small beside either.
* LangGraph's own saver is not needed to run dalsegno. Where it is not installed its size is None, and whoever shows
  the number says so.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalsegno.connect import connect
from dalsegno.core.journal import Kind
from dalsegno.demo.agent import agent
from dalsegno.demo.play import head_of, play
from dalsegno.demo.script import Phase, Script, said

if TYPE_CHECKING:
    from pathlib import Path

    from langgraph.checkpoint.base import BaseCheckpointSaver

    from dalsegno.faces.journal import Journal

__all__ = ["FileSize", "Undisturbed", "spoken", "undisturbed"]

_THREAD = "undisturbed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSize:
    """What a database file takes.

    Attributes:
        empty_bytes: with its tables, before the run.
        full_bytes: after it.
    """

    empty_bytes: int
    full_bytes: int

    @property
    def run_bytes(self) -> int:
        """What the run added."""
        return self.full_bytes - self.empty_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Undisturbed:
    """A run that nobody disturbed.

    Attributes:
        messages: what was said (`said`), in order.
        events: (author, kind, text) of each event that was said, in order.
        stored: size of dalsegno's file.
        stored_by_langgraph: size of the file of LangGraph's own SQLite saver; None where that is not installed.
    """

    messages: list[dict[str, Any]]
    events: list[tuple[str, str, str]]
    stored: FileSize
    stored_by_langgraph: FileSize | None


def undisturbed(script: Script, folder: Path) -> Undisturbed:
    """Play a script from beginning to end, twice: kept by dalsegno, and by LangGraph's own SQLite saver.

    Args:
        script: what is said.
        folder: an existing folder; `undisturbed.db` and `langgraph.db` are made in it.
    """
    path = folder / "undisturbed.db"
    with connect(f"sqlite:///{path}"):
        pass
    empty = _size(path)
    with connect(f"sqlite:///{path}") as ds:
        messages = _play_through(script, ds.checkpointer)
        events = spoken(ds.journal, _THREAD)
    return Undisturbed(
        messages=messages,
        events=events,
        stored=FileSize(empty_bytes=empty, full_bytes=_size(path)),
        stored_by_langgraph=_stock(script, folder / "langgraph.db"),
    )


def spoken(journal: Journal, thread_id: str) -> list[tuple[str, str, str]]:
    """Author, kind and text of each event of a thread that was said, in order; the ledger's moves are none."""
    return [
        (event.author, str(event.kind), event.text) for event in journal.read(thread_id) if event.kind != Kind.ACTION
    ]


def _stock(script: Script, path: Path) -> FileSize | None:
    if importlib.util.find_spec("langgraph.checkpoint.sqlite") is None:
        return None
    from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415 - optional, only measured against

    with SqliteSaver.from_conn_string(str(path)) as saver:
        saver.setup()
    empty = _size(path)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        _play_through(script, saver)
    return FileSize(empty_bytes=empty, full_bytes=_size(path))


def _size(path: Path) -> int:
    """Bytes of a database file and of the log beside it, if there is one."""
    files = path, path.with_name(path.name + "-wal")
    return sum(file.stat().st_size for file in files if file.exists())


def _play_through(script: Script, saver: BaseCheckpointSaver[Any]) -> list[dict[str, Any]]:
    graph = agent(script, lambda _errand, landed: landed(), _unobserved, saver)
    play(graph, script, _THREAD)
    return [said(message) for message in head_of(graph, _THREAD).messages]


def _unobserved(node: str, position: int, phase: Phase, *, step: int, sibling: int = 0) -> None:
    """Nobody is looking."""
