"""A very long text is stored once per tenant, read in one statement with its fellows, and lives as long as anyone needs it."""

from __future__ import annotations

import asyncio
import base64
import re
import threading
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base.id import uuid6

import dalsegno
from dalsegno.contracts import Step
from dalsegno.errors import BlobNotFound, Misuse, ThreadNotFound


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


# --- references -----------------------------------------------------------------------------------


TEXT, IMAGE, BYTES = "long " * 10_000, "aGk=" * 20_000, bytes(60_000)
URL = f"data:image/png;base64,{IMAGE}"


def big(ds: Any) -> None:
    message = HumanMessage([{"type": "image_url", "image_url": {"url": URL}}], id="m")
    put(ds, "t", text=TEXT, inner={"raw": BYTES, "n": 1}, messages=[message], short="blob://short")


@pytest.fixture(params=["sync", "async"])
def asked(request: pytest.FixtureRequest) -> Any:
    """Calls a method of `ds.threads` by its name, or its async twin."""

    def ask(ds: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        if request.param == "sync":
            return getattr(ds.threads, name)(*args, **kwargs)
        return asyncio.run(getattr(ds.threads, f"a{name}")(*args, **kwargs))

    return ask


def test_references_stand_for_what_is_not_read_and_lead_to_it(ds, asked):
    big(ds)
    found = asked(ds, "state", "t", references=True)
    assert found["short"] == "blob://short"
    assert found["inner"]["n"] == 1
    image = found["messages"][0].content[0]["image_url"]["url"]
    for reference, text in (
        (found["text"], TEXT),
        (image, URL),
        (found["inner"]["raw"], base64.b64encode(BYTES).decode()),
    ):
        assert re.fullmatch("blob://[0-9a-f]{64}", reference)
        assert asked(ds, "blob", "t", reference) == text
    tree = asked(ds, "tree", "t", references=True)
    assert (tree["text"], tree["inner"]["raw"]) == (found["text"], {"$bytes": found["inner"]["raw"]})
    # Who reads on gets the values, whatever was looked at before.
    assert ds.threads.state("t")["messages"][0].content[0]["image_url"]["url"] == URL
    assert ds.threads.state("t")["inner"] == {"raw": BYTES, "n": 1}


def test_references_cost_no_read_of_the_texts(ds):
    big(ds)
    names: list[str] = []
    op = ds.checkpointer.referring({"configurable": {"thread_id": "t"}})

    def watched():
        inner, answer = op(), None
        while True:
            try:
                step = inner.send(answer)
            except StopIteration as end:
                return end.value
            names.append(step.name)
            answer = yield step

    assert ds.store_backend.run(watched, write=False)["text"].startswith("blob://")
    assert "items_in" in names
    assert "blobs_in" not in names


def test_only_what_a_thread_points_to_is_handed_out(ds, asked):
    big(ds)
    put(ds, "other", text="another " * 9_000)
    theirs = ds.threads.state("other", references=True)["text"]
    with pytest.raises(BlobNotFound):
        asked(ds, "blob", "t", theirs)
    for wrong in ("", "blob://", f"blob://{'A' * 64}", f"{theirs}0", "s3://x"):
        with pytest.raises(Misuse, match="no reference"):
            asked(ds, "blob", "t", wrong)
    with pytest.raises(ThreadNotFound):
        asked(ds, "blob", "nobody", theirs)
    with pytest.raises(ThreadNotFound):
        asked(ds, "state", "nobody", references=True)


@pytest.mark.parametrize("store_url", ["sqlite", "postgres"], indirect=True)
def test_an_older_state_is_migrated_around_its_references(store_url):
    with dalsegno.connect(store_url) as ds:
        put(ds, "t", page=TEXT, scan=BYTES)
    schema = dalsegno.StateSchema(version=2, migrations=[dalsegno.Rename("page", "text", since=2)])
    with dalsegno.connect(store_url, schema=schema) as ds:
        found = ds.threads.state("t", references=True)
        assert set(found) == {"text", "scan"}
        assert ds.threads.blob("t", found["text"]) == TEXT
