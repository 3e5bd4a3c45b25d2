"""A thread's id may be any text but a blank one, and is the same thread on every store."""

from __future__ import annotations

import uuid

import pytest

from dalsegno.errors import Misuse, NotSerializable

ODD = [
    "plain",
    " spaces around ",
    "new\nline",
    "tab\tand\rreturn",
    "emoji 🧵 👩‍👩‍👧",
    "nul \x00 inside",
    "\x00",
    "escape \x1a inside",
    "\x1a00",
    "lone \ud800 surrogate",
    "\udfff",
    "'; DROP TABLE ds_threads; --",
    '"double" `back` \\slash\\',
    "percent %s %(name)s %% _",
    "$1 :name ?1 {brace}",
    "中文 用户",
    "שלום \u202e right to left",
    "caf\u00e9",
    "cafe\u0301",
    "ﬁ ligature",
    "fi ligature",
    "UPPER",
    "upper",
    "ı i İ I",
    "a" * 1000,
    "é" * 500,
    "\ufeffbom",
    "zero\u200bwidth",
    "\ue000 private",
    "\U0010ffff last",
]
BLANK = ["", " ", "\t\n", "\u3000", "\u2003 "]


async def test_each_odd_id_is_a_thread_of_its_own(ads, checkpoint, call):
    for number, name in enumerate(ODD):
        config = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}
        stored = await call(ads.checkpointer, "put", config, checkpoint(number=number), {"step": 1}, {"number": 1})
        assert stored["configurable"]["thread_id"] == name
        await call(ads.checkpointer, "put_writes", stored, [("number", name)], f"task {name}", f"path {name}")
        await call(ads.journal, "append", name, "note", "someone", name)
    for number, name in enumerate(ODD):
        found = await call(ads.checkpointer, "get_tuple", {"configurable": {"thread_id": name}})
        assert found.checkpoint["channel_values"] == {"number": number}
        assert found.config["configurable"]["thread_id"] == name
        assert found.pending_writes == [(f"task {name}", "number", name)]
        assert [event.text for event in await call(ads.journal, "read", name)] == [name]
        assert [event.text for event in await call(ads.journal, "search", name, "note")] in ([], [name])
        assert ads.threads.get(name).thread_id == name
    assert {thread.thread_id for thread in ads.threads.list()} == set(ODD)
    assert len(ads.threads.list()) == len(ODD)
    assert ads.threads.check().clean


def test_pages_of_threads_join_up_whatever_their_ids(ds, put):
    for name in ODD:
        put(ds, name, x=1)
    seen: list[str] = []
    while page := ds.threads.list(limit=4, after=seen[-1] if seen else None):
        seen += [thread.thread_id for thread in page]
    assert seen == [thread.thread_id for thread in ds.threads.list()]
    assert sorted(seen) == sorted(ODD)


def test_odd_ids_are_copied_deleted_and_reopened_alone(ds, put):
    for name in ODD:
        put(ds, name, x=name)
    for name in ODD[::2]:
        ds.threads.copy(name, f"{name[:200]} copy")
        ds.threads.delete(name)
    left = {thread.thread_id for thread in ds.threads.list()}
    assert left == set(ODD[1::2]) | {f"{name[:200]} copy" for name in ODD[::2]}
    for name in ODD[::2]:
        ds.threads.reopen(name)
        assert ds.checkpointer.get_tuple({"configurable": {"thread_id": name}}) is None
        assert ds.threads.state(f"{name[:200]} copy") == {"x": name}
    for name in ODD[1::2]:
        assert ds.threads.state(name) == {"x": name}


async def test_a_blank_id_is_refused_wherever_it_is_given(ads, checkpoint, call):
    for name in BLANK:
        config = {"configurable": {"thread_id": name, "checkpoint_ns": "", "checkpoint_id": "1"}}
        for method, arguments in (
            ("get_tuple", [config]),
            ("put", [config, checkpoint(x=1), {}, {}]),
            ("put_writes", [config, [("x", 1)], "task"]),
            ("delete_thread", [name]),
            ("copy_thread", [name, "b"]),
            ("copy_thread", ["a", name]),
            ("prune", [[name]]),
        ):
            with pytest.raises(Misuse, match="blank"):
                await call(ads.checkpointer, method, *arguments)
        with pytest.raises(Misuse, match="blank"):
            await call(ads.journal, "append", name, "note", "someone", "x")
        with pytest.raises(Misuse, match="blank"):
            ads.threads.get(name)
    assert ads.threads.list(deleted=True) == []


def test_what_is_no_text_is_refused(ds, put):
    for name in (None, 1.5, b"bytes", True, ["list"]):
        with pytest.raises(Misuse, match="thread_id must be text"):
            put(ds, name, x=1)


def test_a_missing_id_is_refused(ds):
    with pytest.raises(Misuse, match="thread_id"):
        ds.checkpointer.get_tuple({"configurable": {}})


def test_a_number_or_uuid_is_its_text(ds, put):
    name = uuid.UUID(int=7)
    put(ds, name, x=1)
    put(ds, 42, x=2)
    assert ds.threads.state(str(name)) == {"x": 1}
    assert ds.threads.state("42") == {"x": 2}


def test_an_id_that_is_too_long_is_refused_with_its_length(ds, put):
    for name in ("a" * 1001, "é" * 501, "\x00" * 100_000, "🧵" * 300):
        with pytest.raises(Misuse, match=f"{len(name.encode())} bytes is too long"):
            put(ds, name, x=1)
    assert ds.threads.list() == []


def test_odd_namespaces_checkpoint_ids_and_tasks_are_kept_apart(ds, put):
    put(ds, "t", x=0)
    for ns in ("a|b:c", "nul \x00", "lone \ud800", "🧵", "%s'\"\\", "x" * 900):
        values = {"channel": ns, "$ref": 1, "$list": [[1, 2, 3]]}
        stored = put(ds, "t", ns=ns, checkpoint_id=f"id {ns}", **values)
        ds.checkpointer.put_writes(stored, [(f"channel {ns}", ns), ("$ref", ns)], f"task {ns}", f"path {ns}")
        found = ds.checkpointer.get_tuple({"configurable": {"thread_id": "t", "checkpoint_ns": ns}})
        assert found.config["configurable"] == {"thread_id": "t", "checkpoint_ns": ns, "checkpoint_id": f"id {ns}"}
        assert found.checkpoint["channel_values"] == values
        assert found.pending_writes == [(f"task {ns}", f"channel {ns}", ns), (f"task {ns}", "$ref", ns)]
        large = {f"key {number}": number for number in range(300)}
        ds.checkpointer.put_writes(stored, [(f"channel {ns}", large), ("channel", large)], "a large one")
        again = ds.checkpointer.get_tuple(stored)
        assert [write[1:] for write in again.pending_writes[:2]] == [(f"channel {ns}", large), ("channel", large)]
        assert again.checkpoint == found.checkpoint
        assert ds.threads.state("t") == {"x": 0}
    assert ds.threads.check().clean


def test_a_channel_name_that_json_cannot_hold_is_refused_with_its_path(ds, put):
    for channel in ("nul \x00", "lone \ud800"):
        with pytest.raises(NotSerializable, match=r"state\['(nul|lone)"):
            put(ds, "t", **{channel: 1})
    assert ds.threads.list() == []
