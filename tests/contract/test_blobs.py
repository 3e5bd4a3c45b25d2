"""A very long text is stored once per tenant, read in one statement with its fellows, and lives as long as anyone needs it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from langgraph.checkpoint.base.id import uuid6

import dalsegno
from dalsegno.contracts import Step


def put(ds: Any, thread: str, **values: Any) -> None:
    checkpoint = {
        "v": 4, "id": str(uuid6()), "ts": "2026-01-01T00:00:00+00:00", "channel_values": values,
        "channel_versions": dict.fromkeys(values, 1), "versions_seen": {}, "updated_channels": None,
    }  # fmt: skip
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    ds.checkpointer.put(config, checkpoint, {"source": "loop", "step": 0, "parents": {}}, dict.fromkeys(values, 1))


def blobs(ds: Any) -> int:
    seen = 0
    for thread in ds.threads.list():
        seen += ds.threads.check(thread.thread_id).blobs
    return seen


def test_many_blobs_are_read_in_one_statement(ds, monkeypatch):
    texts = {f"page{n}": f"{n}" * 40_000 for n in range(9)}
    put(ds, "t", **texts)
    asked: list[str] = []
    run = ds.store_backend.run

    def counting(factory, **how):
        def op():
            inner = factory()
            answer = None
            while True:
                try:
                    step = inner.send(answer)
                except StopIteration as end:
                    return end.value
                asked.extend([step.name] if isinstance(step, Step) else [one.name for one in step])
                answer = yield step

        return run(op, **how)

    monkeypatch.setattr(ds.store_backend, "run", counting)
    assert ds.threads.state("t") == texts
    assert asked.count("blobs_in") == 1


def test_a_blob_goes_with_the_last_thread_that_needs_it(ds):
    put(ds, "a", page="x" * 50_000)
    put(ds, "b", page="x" * 50_000, other="y" * 50_000)
    ds.threads.delete("a")
    assert ds.threads.state("b")["page"] == "x" * 50_000
    assert ds.threads.check().clean
    ds.threads.delete("b")
    put(ds, "c", page="w" * 50_000)
    assert blobs(ds) == 1


def test_deleting_one_thread_while_another_takes_the_same_text_leaves_it_there(postgres_url):
    text = "z" * 60_000
    with dalsegno.connect(postgres_url) as ds:
        for turn in range(12):
            put(ds, f"a{turn}", page=text)
            go = threading.Barrier(2)
            failed: list[BaseException] = []

            def run(work, go=go, failed=failed):
                try:
                    go.wait()
                    work()
                except BaseException as error:  # noqa: BLE001 - asserted on in the main thread
                    failed.append(error)

            workers = [
                threading.Thread(target=run, args=(lambda turn=turn: ds.threads.delete(f"a{turn}"),)),
                threading.Thread(target=run, args=(lambda turn=turn: put(ds, f"b{turn}", page=text),)),
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            assert not failed
            assert ds.threads.state(f"b{turn}")["page"] == text
            assert ds.threads.check(f"b{turn}").clean
            ds.threads.delete(f"b{turn}")


@pytest.mark.parametrize("size", [255, 256, 32 * 1024 - 1, 32 * 1024])
def test_a_text_of_any_size_comes_back(ds, size):
    for text in ("é" * (size // 2), "x" * size):
        put(ds, f"t{text[0]}", page=text, inside={"deep": [text, {"er": text}]})
        assert ds.threads.state(f"t{text[0]}") == {"page": text, "inside": {"deep": [text, {"er": text}]}}
    assert ds.threads.check().clean
