"""Every test of LangGraph's public conformance suite passes, on each store, through both faces of one object."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

import dalsegno

FACES = ("sync", "async")


class SyncFace(BaseCheckpointSaver[int]):
    """The suite only awaits; this shows it the sync methods."""

    def __init__(self, saver: Any) -> None:
        super().__init__()
        self.saver = saver

    async def aget_tuple(self, config):
        return await asyncio.to_thread(self.saver.get_tuple, config)

    async def alist(self, config, *, filter=None, before=None, limit=None):  # noqa: A002 - LangGraph's name
        for found in await asyncio.to_thread(
            lambda: list(self.saver.list(config, filter=filter, before=before, limit=limit))
        ):
            yield found

    async def aput(self, *args):
        return await asyncio.to_thread(self.saver.put, *args)

    async def aput_writes(self, config, writes, task_id, task_path=""):
        return await asyncio.to_thread(self.saver.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, *args):
        return await asyncio.to_thread(self.saver.delete_thread, *args)

    async def adelete_for_runs(self, *args):
        return await asyncio.to_thread(self.saver.delete_for_runs, *args)

    async def acopy_thread(self, *args):
        return await asyncio.to_thread(self.saver.copy_thread, *args)

    async def aprune(self, thread_ids, *, strategy="keep_latest"):
        return await asyncio.to_thread(self.saver.prune, thread_ids, strategy=strategy)


@pytest.mark.parametrize("face", FACES)
async def test_the_public_suite_passes_whole(store_url: str, face: str) -> None:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        async with dalsegno.connect(store_url) as ds:
            yield ds.checkpointer if face == "async" else SyncFace(ds.checkpointer)

    @checkpointer_test(name=f"dalsegno-{face}")
    async def saver():
        async with opened() as it:
            yield it

    report = await validate(saver)
    results = dict(report.results.items())
    assert set(results) == {capability.value for capability in Capability}
    failures = {name: result.failures for name, result in results.items() if result.failures or not result.passed}
    assert not failures
    assert sum(result.tests_passed for result in results.values()) >= 80
