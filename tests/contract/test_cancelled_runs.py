"""A cancelled run leaves a last write on its way; who goes on with the thread waits for it, in whichever loop or thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph

import dalsegno
from dalsegno.langgraph import going

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}
TOLD = {"messages": [("user", "go")]}


def chain(ds: Any) -> Any:
    async def node(_: Any) -> Any:
        await asyncio.sleep(0)
        return {"messages": [AIMessage("a" * 500)]}

    def told(_: Any) -> Any:
        return {"messages": [AIMessage("a" * 500)]}

    both = RunnableLambda(told, afunc=node)
    builder = StateGraph(MessagesState)
    builder.add_sequence([("a", both), ("b", both), ("c", both)]).add_edge(START, "a")
    return builder.compile(checkpointer=ds.checkpointer)


@contextlib.contextmanager
def loop_in_a_thread() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that runs in a thread of its own, as a server's does."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


async def cancelled_after(app: Any, seconds: float, durability: str) -> bool:
    run = asyncio.create_task(app.ainvoke(TOLD, CONFIG, durability=durability))
    await asyncio.sleep(seconds)
    run.cancel()
    try:
        await run
    except asyncio.CancelledError:
        return True
    return False


def go_on(app: Any, how: str) -> None:
    if how == "thread":
        app.invoke(None, CONFIG)
    else:
        asyncio.run(app.ainvoke(None, CONFIG))


@pytest.mark.parametrize("how", ["thread", "loop"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_another_loop_goes_on_at_once(request, kind, how):
    url = request.getfixturevalue(f"{kind}_url")
    cancelled = 0
    with loop_in_a_thread() as loop, dalsegno.connect(url, on_input_over_unfinished="allow") as ds:
        app = chain(ds)
        app.invoke(TOLD, CONFIG)
        for turn in range(24):
            work = cancelled_after(app, 0.002 * (turn + 1), ("sync", "async")[turn % 2])
            cancelled += asyncio.run_coroutine_threadsafe(work, loop).result(60)
            go_on(app, how)
        assert ds.threads.check().clean
        asyncio.run_coroutine_threadsafe(ds.aclose(), loop).result(60)
    assert cancelled


@pytest.mark.parametrize("how", ["thread", "loop"])
def test_it_waits_for_a_write_that_is_slow(sqlite_url, how, monkeypatch):
    with loop_in_a_thread() as loop, dalsegno.connect(sqlite_url) as ds:
        app, begun = chain(ds), threading.Event()
        store, real = ds.store_backend, ds.store_backend.run

        def slow(op: Any, *, write: bool, key: Any = None) -> Any:
            if write and begun.is_set() is False and len(ds.threads.list()) and threading.current_thread() is not main:
                begun.set()
                time.sleep(0.5)
            return real(op, write=write, key=key)

        main = threading.current_thread()
        monkeypatch.setattr(store, "run", slow)

        async def cut() -> None:
            run = asyncio.create_task(app.ainvoke(TOLD, CONFIG, durability="async"))
            await asyncio.to_thread(begun.wait)
            run.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await run

        asyncio.run_coroutine_threadsafe(cut(), loop).result(60)
        go_on(app, how)
        assert len(app.get_state(CONFIG).values["messages"]) == 4


def test_a_loop_that_does_not_run_is_not_waited_for_without_end(sqlite_url, monkeypatch):
    """A loop that was stopped in mid-write, or that itself waits for the caller, must not hang it."""
    monkeypatch.setattr(going, "PATIENCE", 0.2)
    with dalsegno.connect(sqlite_url) as ds:
        tracker = ds.checkpointer._going
        stopped = asyncio.new_event_loop()

        async def begin() -> None:
            tracker.write(1, "t").__enter__()

        stopped.run_until_complete(begin())
        started = time.monotonic()
        tracker.over_here(1, "t")  # not running: not waited for at all
        with loop_in_a_thread() as busy:
            asyncio.run_coroutine_threadsafe(begin(), busy).result(10)
            busy.call_soon_threadsafe(time.sleep, 1)
            tracker.over_here(1, "t")
            asyncio.run(tracker.over(1, "t"))
        assert time.monotonic() - started < 3
        stopped.close()
        tracker.over_here(1, "t")


def test_a_loops_own_thread_does_not_wait_for_itself(sqlite_url):
    """An async node that reads in a blocking way stands in the way of the very writes it would wait for."""
    with dalsegno.connect(sqlite_url) as ds:

        async def node(_: Any) -> Any:
            return {"messages": [AIMessage(str(len(app.get_state(CONFIG).values.get("messages", []))))]}

        builder = StateGraph(MessagesState).add_sequence([("a", node), ("b", node)]).add_edge(START, "a")
        app = builder.compile(checkpointer=ds.checkpointer)
        started = time.monotonic()
        asyncio.run(app.ainvoke(TOLD, CONFIG, durability="async"))
        assert time.monotonic() - started < going.PATIENCE
