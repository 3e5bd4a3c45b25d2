"""What the contract tests share: checkpoints written by hand, and both faces of one object."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import uuid6


@pytest.fixture
def checkpoint() -> Callable[..., dict[str, Any]]:
    """Make a checkpoint as LangGraph hands it to a saver: `checkpoint(messages=[…])`."""

    def make(checkpoint_id: str | None = None, /, **values: Any) -> dict[str, Any]:
        return {
            "v": 4,
            "id": checkpoint_id or str(uuid6()),
            "ts": "2026-01-02T03:04:05.678901+00:00",
            "channel_values": values,
            "channel_versions": dict.fromkeys(values, 1),
            "versions_seen": {},
            "updated_channels": list(values),
        }

    return make


@pytest.fixture
def put(checkpoint: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Put one checkpoint by hand and return its config: `put(ds, "t", parent=config, messages=[…])`."""

    def write(
        ds: Any,
        thread: str,
        parent: dict[str, Any] | None = None,
        /,
        *,
        ns: str = "",
        checkpoint_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        **values: Any,
    ) -> dict[str, Any]:
        config = parent or {"configurable": {"thread_id": thread, "checkpoint_ns": ns}}
        made = checkpoint(checkpoint_id, **values)
        told = {"source": "loop", "step": 1} if metadata is None else metadata
        return ds.checkpointer.put(config, made, told, made["channel_versions"])

    return write


@pytest.fixture(params=["sync", "async"])
def face(request: pytest.FixtureRequest) -> str:
    """Each face of one object in turn."""
    return request.param


@pytest.fixture
def call(face: str) -> Callable[..., Any]:
    """Call a method through the face of the moment: `await call(graph, "invoke", …)` is `invoke` or `ainvoke`."""

    async def through(target: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if face == "sync":
            return await asyncio.to_thread(getattr(target, method), *args, **kwargs)
        return await getattr(target, f"a{method}")(*args, **kwargs)

    return through


@pytest.fixture
def execute(ds: Any, store_url: str) -> Callable[..., list[Any]]:
    """Run a statement in the database behind `ds`, past all of dalsegno."""

    def run(statement: str, *values: Any) -> list[Any]:
        if store_url == "memory://":
            return ds.store_backend._writer.execute(statement, values).fetchall()
        if store_url.startswith("sqlite"):
            with sqlite3.connect(store_url.removeprefix("sqlite:///"), isolation_level=None) as connection:
                found = connection.execute(statement, values).fetchall()
            connection.close()
            return found
        with psycopg.connect(store_url, autocommit=True) as connection:
            cursor = connection.execute(statement.replace("?", "%s"), values)
            return cursor.fetchall() if cursor.description else []

    return run
